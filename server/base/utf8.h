/* SPDX-License-Identifier: MIT */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H
#include <stdbool.h>
#include <stddef.h>
/*
 * RFC 3629: the length of the sequence at @s (1..4), 0 when the @len bytes do
 * not begin with one (overlong forms, surrogates and beyond U+10FFFF are
 * none). @len is at least 1.
 */
size_t utf8_sequence(const char *s, size_t len);
bool utf8_valid(const char *s, size_t len);
/* The length of the longest valid prefix. */
size_t utf8_prefix(const char *s, size_t len);
#endif
