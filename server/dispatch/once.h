/* SPDX-License-Identifier: MIT */
#ifndef DISPATCH_ONCE_H
#define DISPATCH_ONCE_H
#include "server/dispatch/core.h"
/*
 * Outcomes of calls that leave no task, kept for a repeat: under the id of a
 * requestState that may be used once, and under an idempotency key. The first
 * one to be stored wins, on every instance. While a call runs here, its
 * repeats wait for it, so the effect happens once on one instance; on two at
 * the same moment the handler's own step id is the guard.
 */
struct follower;
struct once_key {
	char id[80];
	char digest[44]; /* what it was for; another one is a conflict */
	int64_t keep_ms;
	bool rounds; /* an outcome that asks is kept too */
};
struct once_entry {
	struct once_key keys[2];
	size_t n; /* 0: nothing to keep */
	struct follower *followers;
	struct once_entry *next;
};
/*
 * True: a repeat; it was answered, or will be, perhaps by another thread that
 * is done with @rq already, so *@args was released first and is NULL.
 * False: go on, then once_keep() or once_forget().
 */
bool once_door(struct dispatch *d, struct request *rq,
	       const struct target *target, struct once_entry *e,
	       json_t **args);
/*
 * Stores the outcome, then calls @done with the one to answer with: @earlier
 * is NULL, or another call's that came first; @why: DONE, or it was not stored.
 */
struct once_keeping {
	struct store_op op;
	struct dispatch *d;
	struct once_entry *entry;
	const struct outcome *outcome; /* borrowed until done */
	size_t at;
	char *text;
	char *earlier;
	bool conflict; /* another instance stored it for other arguments */
	void (*done)(struct once_keeping *k);
	void *user;
};
void once_keep(struct once_keeping *k);
void once_keeping_fini(struct once_keeping *k);
/* Refuses a key that was used with other arguments. */
void once_refuse(struct dispatch *d, struct request *rq);
/* Answers with an outcome that was kept. */
void once_answer(struct dispatch *d, struct request *rq, const char *kept);
/* It is over: those who followed go through the door again. */
void once_forget(struct dispatch *d, struct once_entry *e);
#endif
