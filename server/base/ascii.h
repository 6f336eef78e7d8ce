/* SPDX-License-Identifier: MIT */
#ifndef BASE_ASCII_H
#define BASE_ASCII_H
#include <stdbool.h>
#include <string.h>
/* Characters as formats and protocols mean them, whatever the locale is. */
static inline bool ascii_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool ascii_is_alnum(char c)
{
	return ascii_is_digit(c) || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* NUL is of no set. */
static inline bool ascii_one_of(char c, const char *set)
{
	return c != '\0' && strchr(set, c) != NULL;
}

/* Of a hexadecimal digit; -1: it is none. */
static inline int ascii_hex_value(char c)
{
	if (ascii_is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}
#endif
