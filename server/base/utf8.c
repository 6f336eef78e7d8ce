/* SPDX-License-Identifier: MIT */
#include "server/base/utf8.h"

#include <stdint.h>
#include <string.h>

#define HIGH_BITS 0x8080808080808080ULL

static bool is_tail(unsigned char c)
{
	return (c & 0xC0) == 0x80;
}

/* The second byte carries what forbids overlong forms, surrogates and code
 * points beyond U+10FFFF (RFC 3629, section 4). */
static bool second_ok(unsigned char first, unsigned char second)
{
	switch (first) {
	case 0xE0:
		return second >= 0xA0 && second <= 0xBF;
	case 0xED:
		return second >= 0x80 && second <= 0x9F;
	case 0xF0:
		return second >= 0x90 && second <= 0xBF;
	case 0xF4:
		return second >= 0x80 && second <= 0x8F;
	default:
		return is_tail(second);
	}
}

size_t utf8_sequence(const char *s, size_t len)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t want;

	if (u[0] < 0x80)
		return 1;
	if (u[0] < 0xC2 || u[0] > 0xF4)
		return 0;
	want = u[0] < 0xE0 ? 2 : u[0] < 0xF0 ? 3 : 4;
	if (len < want || !second_ok(u[0], u[1]))
		return 0;
	if (want > 2 && !is_tail(u[2]))
		return 0;
	if (want > 3 && !is_tail(u[3]))
		return 0;
	return want;
}

size_t utf8_prefix(const char *s, size_t len)
{
	size_t i = 0;
	size_t n;
	uint64_t word;

	while (i < len) {
		if (len - i >= sizeof(word)) {
			memcpy(&word, s + i, sizeof(word));
			if (!(word & HIGH_BITS)) {
				i += sizeof(word);
				continue;
			}
		}
		n = utf8_sequence(s + i, len - i);
		if (!n)
			break;
		i += n;
	}
	return i;
}

bool utf8_valid(const char *s, size_t len)
{
	return utf8_prefix(s, len) == len;
}
