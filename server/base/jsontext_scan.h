/* SPDX-License-Identifier: MIT */
#ifndef BASE_JSONTEXT_SCAN_H
#define BASE_JSONTEXT_SCAN_H
/* Shared by the reader and the writer of jsontext.h; nobody else's. */
#include <stdint.h>
#include <string.h>

#define SCAN_ONES  0x0101010101010101ULL
#define SCAN_HIGHS 0x8080808080808080ULL

/*
 * Not 0 when one of the eight bytes is a control character, a quote, a
 * backslash or not ASCII. (Borrows may set bits in vain, but only after a byte
 * that is one.)
 */
static inline uint64_t scan_special(uint64_t w)
{
	uint64_t quote = w ^ (SCAN_ONES * '"');
	uint64_t back = w ^ (SCAN_ONES * '\\');

	return (w | (w - SCAN_ONES * 0x20) | (quote - SCAN_ONES) |
		(back - SCAN_ONES)) &
	       SCAN_HIGHS;
}

/* How many bytes from @s stand in a JSON string as they are, ASCII only. */
static inline size_t scan_plain(const char *s, size_t len)
{
	size_t i = 0;
	uint64_t w;
	unsigned char c;

	while (len - i >= sizeof(w)) {
		memcpy(&w, s + i, sizeof(w));
		if (scan_special(w))
			break;
		i += sizeof(w);
	}
	for (; i < len; i++) {
		c = (unsigned char)s[i];
		if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\')
			break;
	}
	return i;
}
#endif
