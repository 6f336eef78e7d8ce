/* SPDX-License-Identifier: MIT */
#ifndef TASK_TOPIC_H
#define TASK_TOPIC_H
#include "bide/call.h"
#include "server/task/wake.h"
#include "store/store.h"
#include <stdbool.h>
#include <stdint.h>
/*
 * What somebody said has changed: a list, a resource. It is announced in the
 * store, by any process, and told to the watchers of its topic in all of them.
 *
 * After each signal of the store one read tells what was announced since the
 * last one; then those whose topic rose are told, on the wake thread, without
 * locks. However often a topic is announced between two looks, its watchers
 * are told once.
 */
struct topics;
struct topics *topics_new(struct store *s, struct wake *w); /* NULL: cannot */
/* In this order around wake_free(); no watcher may be left. Accept NULL. */
void topics_stop(struct topics *t);
void topics_free(struct topics *t);
/* Of the store's signals: STORE_TOPICS, or 0: anything. Any thread. */
void topics_signal(struct topics *t, int64_t task);

/* The caller's memory, zeroed before its first use. */
struct topic_watcher {
	/* On the wake thread; may watch and unwatch, itself too. */
	void (*fn)(struct topic_watcher *x);
	const char *name; /* borrowed while it watches */
	/*
	 * Told of what was announced after it: store_topic_last() before the
	 * client hears that it is subscribed, and nothing that comes later is
	 * missed, however late the watching begins. Rises with what was told.
	 */
	int64_t since;
	/* the module's own */
	uint64_t hash;
	struct topic_watcher *prev, *next;   /* of its bucket */
	struct topic_watcher *rprev, *rnext; /* of those to be told */
	bool risen;
};
/* Any thread. */
void topic_watch(struct topics *t, struct topic_watcher *x);
/* On the wake thread only, so it is not being called elsewhere: @x is free. */
void topic_unwatch(struct topics *t, struct topic_watcher *x);

/* ---- announce.c ---- */
/* The topic of the resource @uri, or, without one, of the list @what.
 * malloc()ed; NULL: no memory. */
char *topic_name(enum bide_changed what, const char *uri);
/*
 * Announces it. Stored when it returns BIDE_OK; BIDE_INVALID: no such list, no
 * absolute URI; BIDE_BUSY, BIDE_IO: it was not stored, or that cannot be
 * known; BIDE_NOMEM. Any thread without locks; blocks for a commit.
 */
enum bide_rc topic_announce(struct store *s, enum bide_changed what,
			    const char *uri);
/* The same without blocking: what then cannot be stored is logged. */
enum bide_rc topic_announce_soon(struct store *s, enum bide_changed what,
				 const char *uri);
#endif
