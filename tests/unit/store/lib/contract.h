/* SPDX-License-Identifier: MIT */
#ifndef TESTS_STORE_CONTRACT_H
#define TESTS_STORE_CONTRACT_H
#include <stdbool.h>
#include <stddef.h>

#include "store/store.h"

/*
 * What the contract suite needs of a kind of database. A second database brings
 * another implementation of this header and passes test_contract.c unchanged.
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
/* The task, with everything; asserts that it is there. free it. */
struct store_task *look(struct store *s, const char *token);
#endif
