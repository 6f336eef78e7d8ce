/* SPDX-License-Identifier: MIT */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H
#include "bide/types.h"
#include <stdarg.h>
/*
 * Fills a caller-owned error and returns @rc, so that a function can end with
 * "return error_set(reterr, BIDE_INVALID, ...)". @e may be NULL. The text is
 * cut to fit, never in the middle of a UTF-8 sequence. Never a secret.
 */
enum bide_rc error_set(struct bide_error *e, enum bide_rc rc, const char *fmt,
		       ...) __attribute__((format(printf, 3, 4)));
enum bide_rc error_setv(struct bide_error *e, enum bide_rc rc, const char *fmt,
			va_list ap) __attribute__((format(printf, 3, 0)));
/* "BIDE_INVALID" and so on, for logs; "?" for a number that is none. */
const char *error_rc_name(enum bide_rc rc);
#endif
