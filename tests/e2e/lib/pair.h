/* SPDX-License-Identifier: MIT */
#ifndef TESTS_E2E_PAIR_H
#define TESTS_E2E_PAIR_H
#include "tests/e2e/lib/client.h"
#include "tests/e2e/lib/effects.h"
#include "tests/e2e/lib/server.h"
#include "tests/e2e/lib/testclock.h"
/*
 * What most programs stand on: one or two servers on one scratch directory, for
 * all of a program's tests. A setup starts them, pair_end() is the teardown; a
 * program of two other servers or none keeps its own variables.
 */
extern struct scratch *scratch;
extern struct testclock *the_clock; /* after pair_clock() */
extern struct server *one;
extern struct server *two;

/* The scratch directory alone: what stands in it before the servers start. */
void pair_scratch(void);
/* And a clock for them, of which each of the following is told. */
void pair_clock(void);
/* The directory, when there is none yet, and one of them, or both, with @args
 * (NULL: none). 0, for a setup to return. */
int pair_one(const char *const *args);
int pair_both(const char *const *args);
int pair_end(void **state); /* frees all; a test may have freed one of them */

struct ask as(const struct server *v, const char *who);
struct ask as_can(const struct server *v, const char *who, const char *can);
/* One that has the tasks extension. */
struct ask as_tasks(const struct server *v, const char *who);
/* Lines of the effects that hold @step. */
size_t effects(const char *step);
/* Waits until there are @n; false: there are others, or not in a minute. */
bool become_effects(const char *step, size_t n);
#endif
