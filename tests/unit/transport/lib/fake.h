/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TRANSPORT_FAKE_H
#define TESTS_TRANSPORT_FAKE_H
#include <stdatomic.h>

#include "server/transport/http.h"
/*
 * A protocol for the transport's tests: it defines the three functions that
 * server/protocol/protocol.h declares, so the linker does not look for the real
 * ones. What a test does not set answers {"ok":true} at once.
 */
struct fake {
	void (*request)(struct exchange *ex);
	void (*closed)(struct exchange *ex); /* NULL: the exchange is ended */
	atomic_int requests, closes, finishes, whole;
	_Atomic(struct exchange *) last; /* that came */
};
extern struct fake fake;

/* Answers with a copy of @json. */
void fake_answer(struct exchange *ex, int status, const char *json);
void fake_echo(struct exchange *ex); /* {"method","body","principal"...} */
void fake_keep(struct exchange *ex); /* a request hook: only remembers */
/* Waits until @n is at least @want; fails the test after ten seconds. */
void fake_until(atomic_int *n, int want);
struct exchange *fake_take(void); /* the one that fake_keep() kept */

/* A server on a free loopback port, with options of its own where set. */
struct http *fake_start(const struct http_options *opt);
void fake_stop(struct http *h); /* and what all tests may expect of its end */
#endif
