/* SPDX-License-Identifier: MIT */
#ifndef BASE_BUF_H
#define BASE_BUF_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * struct buf - a growing byte string that names its ceiling.
 *
 * Always NUL-terminated once non-empty; @len excludes the NUL. When an append
 * would pass @max or memory is short, @failed sticks and later appends do
 * nothing, so a caller checks once, at the end. One thread at a time.
 */
struct buf {
	char *data;
	size_t len;
	size_t cap;
	size_t max;
	bool failed;
};

void buf_init(struct buf *b, size_t max_bytes);
void buf_fini(struct buf *b); /* accepts a zeroed one */
void buf_reset(struct buf *b); /* keeps the memory */
bool buf_add(struct buf *b, const void *bytes, size_t len);
bool buf_addstr(struct buf *b, const char *s);
bool buf_addc(struct buf *b, char c);
bool buf_addf(struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Moves the string out (free() it); NULL when the buffer failed. */
char *buf_take(struct buf *b, size_t *ret_len);
#endif
