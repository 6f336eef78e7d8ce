/* SPDX-License-Identifier: MIT */
#include "server/base/error.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Removes a sequence that the end of the text has cut through. */
static void trim_utf8(char *s, size_t len)
{
	size_t back = 0;
	unsigned char c = 0;
	size_t want = 1;

	while (back < len && back < 4) {
		c = (unsigned char)s[len - 1 - back];
		back++;
		if ((c & 0xC0) != 0x80)
			break;
	}
	if (c >= 0xF0)
		want = 4;
	else if (c >= 0xE0)
		want = 3;
	else if (c >= 0xC0)
		want = 2;
	if (want > back)
		s[len - back] = '\0';
}

enum bide_rc error_setv(struct bide_error *e, enum bide_rc rc, const char *fmt,
			va_list ap)
{
	int n;

	if (!e)
		return rc;
	e->rc = rc;
	n = vsnprintf(e->text, sizeof(e->text), fmt, ap);
	if (n < 0)
		e->text[0] = '\0';
	else if ((size_t)n >= sizeof(e->text))
		trim_utf8(e->text, sizeof(e->text) - 1);
	return rc;
}

enum bide_rc error_set(struct bide_error *e, enum bide_rc rc, const char *fmt,
		       ...)
{
	va_list ap;

	va_start(ap, fmt);
	error_setv(e, rc, fmt, ap);
	va_end(ap);
	return rc;
}

const char *error_rc_name(enum bide_rc rc)
{
	switch (rc) {
	case BIDE_OK:
		return "BIDE_OK";
	case BIDE_PENDING:
		return "BIDE_PENDING";
	case BIDE_RUN:
		return "BIDE_RUN";
	case BIDE_INVALID:
		return "BIDE_INVALID";
	case BIDE_NOT_FOUND:
		return "BIDE_NOT_FOUND";
	case BIDE_CONFLICT:
		return "BIDE_CONFLICT";
	case BIDE_LIMIT:
		return "BIDE_LIMIT";
	case BIDE_BUSY:
		return "BIDE_BUSY";
	case BIDE_NOMEM:
		return "BIDE_NOMEM";
	case BIDE_IO:
		return "BIDE_IO";
	case BIDE_LOST:
		return "BIDE_LOST";
	case BIDE_CANCELLED:
		return "BIDE_CANCELLED";
	case BIDE_NO_CAPABILITY:
		return "BIDE_NO_CAPABILITY";
	case BIDE_UNKNOWN:
		return "BIDE_UNKNOWN";
	case BIDE_MISUSE:
		return "BIDE_MISUSE";
	case BIDE_FAILED:
		return "BIDE_FAILED";
	}
	return "?";
}
