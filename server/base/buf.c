/* SPDX-License-Identifier: MIT */
#include "server/base/buf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUF_FIRST_CAP 256

void buf_init(struct buf *b, size_t max_bytes)
{
	*b = (struct buf){.max = max_bytes};
}

void buf_fini(struct buf *b)
{
	free(b->data);
	*b = (struct buf){.max = b->max};
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->failed = false;
	if (b->data)
		b->data[0] = '\0';
}

/* @need excludes the NUL and is within the ceiling. */
static bool grow(struct buf *b, size_t need)
{
	size_t cap = b->cap ? b->cap : BUF_FIRST_CAP;
	char *p = NULL;

	while (cap <= need)
		cap = cap > SIZE_MAX / 2 ? SIZE_MAX : cap * 2;
	p = realloc(b->data, cap);
	if (!p)
		return false;
	if (!b->data)
		p[0] = '\0';
	b->data = p;
	b->cap = cap;
	return true;
}

char *buf_room(struct buf *b, size_t more)
{
	size_t max = b->max ? b->max : SIZE_MAX - 1;

	if (b->failed)
		return NULL;
	if (b->len > max || more > max - b->len ||
	    (b->len + more >= b->cap && !grow(b, b->len + more))) {
		b->failed = true;
		return NULL;
	}
	return b->data + b->len;
}

bool buf_add(struct buf *b, const void *bytes, size_t len)
{
	char *p = buf_room(b, len);

	if (!p)
		return false;
	if (len)
		memcpy(p, bytes, len);
	b->len += len;
	p[len] = '\0';
	return true;
}

bool buf_addstr(struct buf *b, const char *s)
{
	return buf_add(b, s, strlen(s));
}

bool buf_addc(struct buf *b, char c)
{
	char *p = buf_room(b, 1);

	if (!p)
		return false;
	p[0] = c;
	p[1] = '\0';
	b->len++;
	return true;
}

bool buf_addv(struct buf *b, const char *fmt, va_list ap)
{
	char *p = buf_room(b, 0);
	va_list again;
	size_t room;
	int n;

	if (!p)
		return false;
	room = b->cap - b->len;
	va_copy(again, ap);
	n = vsnprintf(p, room, fmt, ap);
	if (n >= 0 && (size_t)n >= room) {
		*p = '\0';
		p = buf_room(b, (size_t)n);
		if (p)
			n = vsnprintf(p, (size_t)n + 1, fmt, again);
	} else if (n >= 0 && !buf_room(b, (size_t)n)) {
		*p = '\0'; /* it fitted the memory, but not the ceiling */
		p = NULL;
	}
	va_end(again);
	if (!p || n < 0) {
		b->failed = true;
		return false;
	}
	b->len += (size_t)n;
	return true;
}

bool buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	bool ok;

	va_start(ap, fmt);
	ok = buf_addv(b, fmt, ap);
	va_end(ap);
	return ok;
}

char *buf_take(struct buf *b, size_t *ret_len)
{
	char *s = NULL;

	if (!buf_room(b, 0)) {
		buf_fini(b);
		return NULL;
	}
	s = b->data;
	if (ret_len)
		*ret_len = b->len;
	*b = (struct buf){.max = b->max};
	return s;
}
