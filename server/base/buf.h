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
 * nothing, so a caller checks once, at the end. A failing append leaves what
 * was there before it. @max counts @len; 0 is no ceiling, so a zeroed buf is
 * a usable one. One thread at a time.
 */
struct buf {
	char *data;
	size_t len;
	size_t cap;
	size_t max;
	bool failed;
};

void buf_init(struct buf *b, size_t max_bytes);
void buf_fini(struct buf *b);  /* accepts a zeroed one */
void buf_reset(struct buf *b); /* empty, not failed; keeps the memory */
bool buf_add(struct buf *b, const void *bytes, size_t len);
bool buf_addstr(struct buf *b, const char *s);
bool buf_addc(struct buf *b, char c);
bool buf_addf(struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
bool buf_addv(struct buf *b, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
/*
 * Room for @more bytes and a NUL at data + len: write there, raise len, write
 * the NUL. NULL (and failed) at the ceiling or without memory.
 */
char *buf_room(struct buf *b, size_t more);
/*
 * Moves the string out (free() it) and leaves an empty buf with the same
 * ceiling; "" for an empty one. NULL when the buffer failed.
 */
char *buf_take(struct buf *b, size_t *ret_len);
#endif
