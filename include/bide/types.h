/* SPDX-License-Identifier: MIT */
#ifndef BIDE_TYPES_H
#define BIDE_TYPES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BIDE_API       __attribute__((visibility("default")))
#define BIDE_NODISCARD __attribute__((warn_unused_result))

/**
 * enum bide_rc - what every function that can fail returns.
 *
 * NOT_FOUND and CONFLICT are answers, not failures. PENDING is not an error:
 * it says "return from the handler now, you will be entered again".
 * Only the texts of INVALID and LIMIT may reach a client.
 */
enum bide_rc {
	BIDE_OK = 0,
	BIDE_PENDING = 1,  /* leave the handler; the call goes on later */
	BIDE_RUN = 2,      /* bide_step_begin(): do the work, then commit */
	BIDE_INVALID = -1, /* bad input; the text says what and where */
	BIDE_NOT_FOUND = -2,
	BIDE_CONFLICT = -3,
	BIDE_LIMIT = -4, /* a ceiling was reached; the text names it */
	BIDE_BUSY = -5,  /* try again */
	BIDE_NOMEM = -6,
	BIDE_IO = -7,
	BIDE_LOST = -8, /* the claim on this task is gone: stop */
	BIDE_CANCELLED = -9,
	BIDE_NO_CAPABILITY = -10, /* this request's client did not declare it */
	BIDE_UNKNOWN = -11,       /* may or may not have been stored */
	BIDE_MISUSE = -12,        /* the program broke a rule of the API */
	BIDE_FAILED = -13         /* bide_fail() was called; already recorded */
};

/** struct bide_error - caller-owned, fixed size, no heap; UTF-8, cut to fit.
 * Filled on failure only. Whoever does not want it gives NULL. */
struct bide_error {
	enum bide_rc rc;
	char text[256];
};

#ifdef __cplusplus
}
#endif
#endif
