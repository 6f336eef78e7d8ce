/* SPDX-License-Identifier: MIT */
#ifndef BASE_FNV_H
#define BASE_FNV_H
#include <stddef.h>
#include <stdint.h>
/*
 * FNV-1a, 64 bits: for tables and for what is compared with itself, not against
 * somebody who picks what collides. Values stand in databases and in files that
 * processes share: frozen.
 */
#define FNV_BASIS UINT64_C(0xcbf29ce484222325)

static inline uint64_t fnv_mix(uint64_t h, uint64_t value)
{
	return (h ^ value) * UINT64_C(0x100000001b3);
}

static inline uint64_t fnv_bytes(uint64_t h, const void *bytes, size_t len)
{
	const unsigned char *p = (const unsigned char *)bytes;

	for (size_t i = 0; i < len; i++)
		h = fnv_mix(h, p[i]);
	return h;
}

static inline uint64_t fnv_text(uint64_t h, const char *s)
{
	for (; *s; s++)
		h = fnv_mix(h, (unsigned char)*s);
	return h;
}

/* The high bits into the low ones, which choose a slot. */
static inline uint64_t fnv_fold(uint64_t h)
{
	return h ^ (h >> 32);
}
#endif
