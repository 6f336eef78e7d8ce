/* SPDX-License-Identifier: MIT */
#ifndef TESTS_E2E_BEHIND_H
#define TESTS_E2E_BEHIND_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "tests/e2e/lib/balancer.h"
#include "tests/e2e/lib/client.h"
/*
 * Three servers behind a balancer, as docs/fleet.md has it. All tests run once
 * for each balancer.
 */
extern const char *behind_which; /* "nginx" or "haproxy" */

/* It is installed, or the test is skipped. */
void behind_need(void);
/* A fleet that serves. */
struct fleet *behind_start(const char *const *args);
bool behind_full(void);      /* BIDE_FULL: more of each */
bool behind_sanitized(void); /* fewer: servers start slowly */

/* ---- load.c: one thread for each kind of call, on and on ---- */
enum kind {
	KIND_ROUNDS, /* an ephemeral tool that asks twice */
	KIND_HANDLE, /* a persistent one, for a client without tasks */
	KIND_TASK,   /* the same with tasks */
	KIND_STREAM, /* a persistent one that tells its progress */
	KIND_SHED,   /* an ephemeral one that yields, and logs who it was */
	KIND_LISTEN, /* a task, and a subscription to it */
	KINDS
};
struct load;
/* @kinds: a bit for each. @repeats: what gets no answer is sent again. */
struct load *load_start(const char *url, unsigned kinds, bool repeats);
/* Waits until each thread has ended the call that it is on now. */
void load_await_each(struct load *l);
/* Waits for the calls to end; fails the test when one did not end right. */
void load_stop(struct load *l);
long load_calls(const struct load *l, enum kind kind);
long load_repeats(const struct load *l);
void load_free(struct load *l);

/* Begins what test_budget__...() ends. */
int patience_setup(void **state);

void test_flow__every_one_ends_right(void **state);
void test_rounds__spread_over_all(void **state);
void test_event__is_seen_before_the_next_is_made(void **state);
void test_listener__sees_each_change_at_once(void **state);
void test_close__cancels(void **state);
void test_wait_for_task__brings_the_result(void **state);
void test_header__passes_whatever_its_name(void **state);
void test_budget__is_less_than_the_time_outs(void **state);
void test_examples__end_right(void **state);
void test_kill__in_every_round(void **state);
void test_restart__drops_no_call(void **state);
#endif
