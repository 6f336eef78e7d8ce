/* SPDX-License-Identifier: MIT */
#ifndef TESTS_E2E_TESTCLOCK_H
#define TESTS_E2E_TESTCLOCK_H
#include <stdint.h>
/*
 * The clock of all servers that were given --test-clock with this file: the
 * machine's, and what a test adds to it. Move it while no request is being
 * read: the servers' deadlines move with it.
 */
struct scratch;
struct testclock {
	char path[320];
	int64_t *offset_ms;
};
struct testclock *testclock_new(const struct scratch *s);
void testclock_forward(struct testclock *c, int64_t ms);
void testclock_free(struct testclock *c);
#endif
