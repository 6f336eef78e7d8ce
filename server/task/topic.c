/* SPDX-License-Identifier: MIT */
#include "server/task/topic.h"

#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/fnv.h"
#include "server/base/log.h"
#include "server/base/thread.h"

#define BUCKETS       1024
#define PAGE          100 /* topics one read takes */
#define UNSURE_MS     20  /* for a ring that named nothing: others may follow */
#define READ_AGAIN_MS 100
#define NEVER         INT64_MAX

struct topics {
	struct store *store;
	struct wake *wake;
	struct wake_timer timer; /* the next look */
	struct mutex lock;       /* all below */
	bool stopping;
	int64_t look_ms; /* when the timer fires */
	/* All watchers were told of, or began after, what was announced up to
	 * it. */
	int64_t seen;
	size_t n;
	struct topic_watcher *bucket[BUCKETS];
	struct topic_watcher *first, *last; /* to be told */
};

static uint64_t hash(const char *s)
{
	return fnv_fold(fnv_text(FNV_BASIS, s));
}

/* ---- looking ---- */

static void rise_locked(struct topics *t, struct topic_watcher *x)
{
	if (x->risen)
		return;
	x->risen = true;
	x->rnext = NULL;
	x->rprev = t->last;
	if (t->last)
		t->last->rnext = x;
	else
		t->first = x;
	t->last = x;
}

static void settle_locked(struct topics *t, struct topic_watcher *x)
{
	if (!x->risen)
		return;
	x->risen = false;
	if (x->rprev)
		x->rprev->rnext = x->rnext;
	else
		t->first = x->rnext;
	if (x->rnext)
		x->rnext->rprev = x->rprev;
	else
		t->last = x->rprev;
}

static void announced_locked(struct topics *t, const struct store_topic *a)
{
	uint64_t h = hash(a->name);

	for (struct topic_watcher *x = t->bucket[h % BUCKETS]; x; x = x->next)
		if (x->hash == h && x->since < a->seq &&
		    !strcmp(x->name, a->name)) {
			x->since = a->seq;
			rise_locked(t, x);
		}
}

/* Another one may be told next by then, or none: the list is read afresh. */
static void tell_locked(struct topics *t)
{
	struct topic_watcher *x;

	while ((x = t->first)) {
		settle_locked(t, x);
		mutex_unlock(&t->lock);
		x->fn(x);
		mutex_lock(&t->lock);
	}
}

static void look(struct wake_timer *timer);

/* A timer that has just fired looks after this: it takes the lock first. */
static void look_by_locked(struct topics *t, int64_t at_ms)
{
	if (t->stopping || at_ms >= t->look_ms)
		return;
	t->look_ms = at_ms;
	wake_timer_arm(t->wake, &t->timer, at_ms, look);
}

/* @from: where the read began. A watcher that came meanwhile may have put
 * t->seen elsewhere, and has a look of its own coming. */
static void take_locked(struct topics *t, int64_t from,
			const struct store_topic *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		announced_locked(t, &list[i]);
	if (n && t->seen == from)
		t->seen = list[n - 1].seq;
	if (n == PAGE)
		look_by_locked(t, clock_boot_ms());
	tell_locked(t);
}

static void look(struct wake_timer *timer)
{
	struct topics *t = (struct topics *)((char *)timer -
					     offsetof(struct topics, timer));
	struct store_topic *list = NULL;
	size_t n = 0;
	int64_t from;
	bool any;

	mutex_lock(&t->lock);
	t->look_ms = NEVER;
	from = t->seen;
	any = t->n > 0;
	mutex_unlock(&t->lock);
	if (!any)
		return;
	if (store_topics(t->store, from, PAGE, &list, &n) == BIDE_OK) {
		mutex_lock(&t->lock);
		take_locked(t, from, list, n);
	} else {
		mutex_lock(&t->lock);
		look_by_locked(t, clock_boot_ms() + READ_AGAIN_MS);
	}
	mutex_unlock(&t->lock);
	store_topics_free(list, n);
}

void topics_signal(struct topics *t, int64_t task)
{
	int64_t wait_ms = task == STORE_TOPICS ? 0 : UNSURE_MS;

	if (task != STORE_TOPICS && task != 0)
		return;
	mutex_lock(&t->lock);
	if (t->n > 0)
		look_by_locked(t, clock_boot_ms() + wait_ms);
	mutex_unlock(&t->lock);
}

/* ---- watching ---- */

/* The interest stands before the look: what is announced before it is found,
 * what comes after it rings. */
void topic_watch(struct topics *t, struct topic_watcher *x)
{
	struct topic_watcher **head;

	x->hash = hash(x->name);
	x->risen = false;
	mutex_lock(&t->lock);
	if (t->n == 0)
		store_interest_add(t->store, STORE_TOPICS);
	if (t->n++ == 0 || x->since < t->seen)
		t->seen = x->since;
	head = &t->bucket[x->hash % BUCKETS];
	x->prev = NULL;
	x->next = *head;
	if (x->next)
		x->next->prev = x;
	*head = x;
	look_by_locked(t, clock_boot_ms());
	mutex_unlock(&t->lock);
}

void topic_unwatch(struct topics *t, struct topic_watcher *x)
{
	mutex_lock(&t->lock);
	settle_locked(t, x);
	if (x->prev)
		x->prev->next = x->next;
	else
		t->bucket[x->hash % BUCKETS] = x->next;
	if (x->next)
		x->next->prev = x->prev;
	if (--t->n == 0)
		store_interest_drop(t->store, STORE_TOPICS);
	mutex_unlock(&t->lock);
}

/* ---- life ---- */

struct topics *topics_new(struct store *s, struct wake *w)
{
	struct topics *t = w ? calloc(1, sizeof(*t)) : NULL;

	if (!t)
		return NULL;
	t->store = s;
	t->wake = w;
	t->look_ms = NEVER;
	mutex_init(&t->lock, RANK_TOPICS);
	return t;
}

void topics_stop(struct topics *t)
{
	if (!t)
		return;
	mutex_lock(&t->lock);
	t->stopping = true;
	mutex_unlock(&t->lock);
	(void)wake_timer_disarm(t->wake, &t->timer);
}

void topics_free(struct topics *t)
{
	if (!t)
		return;
	if (t->n)
		log_error("topics.left", "watchers=%zu", t->n);
	mutex_fini(&t->lock);
	free(t);
}
