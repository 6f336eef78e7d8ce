/* SPDX-License-Identifier: MIT */
#ifndef TASK_WAKE_H
#define TASK_WAKE_H
#include <stdbool.h>
#include <stdint.h>
#include "store/store.h"
/*
 * Who waits for what: timers, and watchers of tasks. One thread of its own runs
 * all callbacks, without locks, so a callback may add, remove and free. Called
 * from the store's signals on any instance's change. No thread is held by a
 * watcher or a timer.
 *
 * A watcher is told when its task's version differs from the one it saw last:
 * first check right after add, then after each signal and, for lost signals,
 * on the store's slow poll. Reads are batched: one read per task and round,
 * shared by its watchers.
 */
struct wake;
struct wake *wake_new(struct store *s);  /* starts the thread */
void wake_free(struct wake *w);          /* no watcher or timer may be left */
void wake_signal(struct wake *w, int64_t task); /* 0: anything; from store_watch_fn */

struct wake_timer {
	void (*fn)(struct wake_timer *t); /* on the wake thread, once */
	int64_t at_ms;                    /* clock_boot_ms() */
	struct wake_timer *prev, *next;   /* wake's own (or a heap index) */
	unsigned long slot;
	bool armed;
};
void wake_timer_arm(struct wake *w, struct wake_timer *t, int64_t at_boot_ms, void (*fn)(struct wake_timer *));
/* True: it will not fire. False: it has fired or is firing now. Any thread. */
bool wake_timer_disarm(struct wake *w, struct wake_timer *t);

struct wake_watcher {
	/* @t: a fresh read with @what; NULL when the task is gone. Borrowed, shared. */
	void (*fn)(struct wake_watcher *w, const struct store_task *t);
	int64_t task;
	int64_t seen_version;  /* last told */
	int64_t seen_log;      /* highest log seq told */
	unsigned what;         /* store_get flags */
	struct wake_watcher *prev, *next; /* wake's own */
	bool added;
};
void wake_watch(struct wake *w, struct wake_watcher *x);
/* True: fn will not be called again. False: it is being called right now (on the wake thread; never when asked from it). */
bool wake_unwatch(struct wake *w, struct wake_watcher *x);
#endif
