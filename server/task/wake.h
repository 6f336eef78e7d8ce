/* SPDX-License-Identifier: MIT */
#ifndef TASK_WAKE_H
#define TASK_WAKE_H
#include "store/store.h"
#include <stdbool.h>
#include <stdint.h>
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
 *
 * Timers and watchers are the caller's memory, zeroed before their first use;
 * nothing here allocates on their behalf in a way that could fail.
 */
struct wake;
struct wake *wake_new(struct store *s); /* starts the thread; NULL: it cannot */
void wake_free(struct wake *w);         /* no watcher or timer may be left */
void wake_signal(struct wake *w, int64_t task); /* 0: anything */

struct wake_timer {
	void (*fn)(struct wake_timer *t); /* on the wake thread, once */
	int64_t at_ms;                    /* clock_boot_ms() */
	/* wake's own */
	struct wake_timer *prev, *next;
	unsigned long slot;
	bool armed;
};
/* Arming an armed one moves it. */
void wake_timer_arm(struct wake *w, struct wake_timer *t, int64_t at_boot_ms,
		    void (*fn)(struct wake_timer *));
/* True: it will not fire. False: it has fired, is firing now, or was never
 * armed. Any thread; does not wait. */
bool wake_timer_disarm(struct wake *w, struct wake_timer *t);

struct wake_watcher {
	/*
	 * @t: a fresh read with at least @what; NULL when the task is gone
	 * (told once). Borrowed, shared with the task's other watchers, so its
	 * logs may begin before seen_log: fn skips those, and raises seen_log.
	 */
	void (*fn)(struct wake_watcher *w, const struct store_task *t);
	int64_t task;
	int64_t seen_version; /* last told; set before fn; 0: none yet */
	int64_t seen_log;     /* highest log seq taken; fn raises it */
	unsigned what;        /* store_get flags */
	/* wake's own */
	struct wake_watcher *prev, *next;   /* of its bucket */
	struct wake_watcher *dprev, *dnext; /* of the dirty ones */
	int dirty;
	bool picked, added;
};
/* Any thread, the wake thread too. */
void wake_watch(struct wake *w, struct wake_watcher *x);
/*
 * True: fn will not be called again, @x may be freed. False: fn is being
 * called right now on the wake thread (never so when asked from there); it is
 * the last call, and @x must live until fn has returned.
 */
bool wake_unwatch(struct wake *w, struct wake_watcher *x);
#endif
