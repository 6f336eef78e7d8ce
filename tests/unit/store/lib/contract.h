/* SPDX-License-Identifier: MIT */
#ifndef TESTS_STORE_CONTRACT_H
#define TESTS_STORE_CONTRACT_H
#include <stdbool.h>
#include <stddef.h>

#include "store/store.h"

/*
 * What the contract suite needs of a kind of database. A second database brings
 * another implementation of this header and passes test_contract_*.c unchanged.
 */
struct contract {
	char dir[256];
	char url[512];
};

/* A place for a new, empty database. Aborts when there is none. */
void contract_make(struct contract *c);
void contract_remove(struct contract *c);
/* One more handle on it, not joined. Made and migrated when it is the first. */
struct store *contract_open(const struct contract *c);
struct store *contract_open_read_only(const struct contract *c);

/* ---- helpers over store.h alone ---- */

/* Two handles on one database: two instances, of tools "t" and "u". */
struct pair {
	struct contract c;
	struct store *a, *b;
};
int pair_setup(void **state);
int pair_teardown(void **state);
#define pair_test(f)                                                           \
	cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
/* A third instance on the same database. */
struct store *pair_third(struct pair *p, const char *const *tools, size_t n);
void close_quietly(struct store *s); /* its claims are given back first */

#define DRAW_MS 10000 /* ample for an operation on a slow machine */

/* The defaults of a test's task: tool "t", principal "alice". */
void draw_create(struct store_op *op, const char *token);
/* Runs it; asserts that it was committed or refused; returns the answer. */
enum store_answer must_run(struct store *s, struct store_op *op);
/* Creates task @token, unclaimed. Returns its id. */
int64_t make_task(struct store *s, const char *token);
/* Creates it claimed. */
struct store_fence make_held(struct store *s, const char *token);
/* Claims one; asserts that there is one. */
struct store_fence claim_one(struct store *s);
size_t claim_n(struct store *s, struct store_fence *out, size_t n);
enum store_answer park_on(struct store *s, const struct store_fence *f,
			  const char *key);
enum store_answer park_until(struct store *s, const struct store_fence *f,
			     int64_t wake_at_ms);
/* One answer; returns what became of it, STORE_NO_SUCH or STORE_ENDED. */
enum store_answer answer_one(struct store *s, const char *token,
			     const char *wire_key, const char *text);
enum store_answer finish_with(struct store *s, const struct store_fence *f,
			      const char *payload);
enum store_answer step_one(struct store *s, const struct store_fence *f,
			   const char *key, const char *result);
enum store_answer cancel_task(struct store *s, const char *token,
			      const char *principal);
enum store_answer release_for(struct store *s, const struct store_fence *f,
			      enum store_release_why why,
			      int64_t not_before_ms);
enum store_answer touch(struct store *s, int64_t task,
			enum store_touch_what what, int64_t ms);
size_t sweep(struct store *s, enum store_sweep_kind kind);
size_t reap(struct store *s, int64_t instance, bool crashed);
/* Until the store's clock is past @ms. */
void wait_until(struct store *s, int64_t ms);
bool has_event(const struct store_task *t, const char *kind);
/* The task, with everything; asserts that it is there. free it. */
struct store_task *look(struct store *s, const char *token);
#endif
