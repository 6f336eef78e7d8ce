/* SPDX-License-Identifier: MIT */
#ifndef DISPATCH_WAIT_H
#define DISPATCH_WAIT_H
#include "server/dispatch/core.h"
/*
 * One request that waits for one task: until it ends, asks, or the wait budget
 * is over. All that happens to it while it waits happens on the wake thread.
 */
struct wait {
	struct pending p; /* first */
	struct wake_watcher watch;
	const struct tool *tool;   /* whose times hold */
	const struct tool *called; /* wait_for_task, or the same */
	char token[STORE_TOKEN_BYTES];
	char chain[24];
	int64_t task;
	int64_t budget_ms;
	int rounds;     /* state-only ones before this */
	bool created;   /* by this request: its logs are told from the first */
	bool tell_task; /* answer with the task itself, at once */
	bool joined;    /* counted as waiting in the task's row */
	bool silent;    /* a task of the extension: who waits does not matter */
	bool looked;
	double told_progress;
	/* While the task is being made (create.c). */
	struct engine_create create;
	struct bide_call *from;
	char digest[44];
};
/* The capability bits that a task's open questions need. */
unsigned wait_open_needs(const struct store_task *t);
/* NULL: no memory. Not yet known to anybody. */
struct wait *wait_new(const struct tool *tool);
void wait_free(struct wait *w);
/* w->p was added; task, token, chain and rounds are set. @w is not the
 * caller's any more. */
void wait_start(struct wait *w);
/* The answer is ready: removes and frees @w after it. */
void wait_answer(struct wait *w, const struct outcome *o);
/* How long a delivered handle may lie before its task is abandoned; -1: for
 * ever. */
int64_t wait_abandon_ms(const struct dispatch *d, const struct tool *t);
#endif
