/* SPDX-License-Identifier: MIT */
#include "server/task/wake.h"

#include <stdlib.h>

#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/thread.h"
#include "server/task/wake_heap.h"

#define BUCKETS       1024
#define READ_AGAIN_MS 20
#define SCAN_REST     4 /* after a scan, rest for so many times its length */
#define SCAN_REST_MS  250
#define GONE          INT64_MIN

/* How much is known of a watcher's task: nothing, that it may have changed
 * (somebody rang without saying what), that it very likely has. */
enum dirty { CLEAN = 0, MAYBE, SURELY };

struct wake {
	struct store *store;
	struct thread thread;
	struct mutex lock; /* all below */
	struct cond more;
	pthread_t self;
	bool stopping;
	struct wake_heap timers;
	struct wake_watcher **bucket;
	size_t nbuckets, nwatchers;
	struct wake_watcher *dhead, *dtail;
	bool scan, scanning;
	int64_t scan_began_ms, scan_after_ms;
	int64_t dirty_after_ms; /* a read failed: not before */
	/* The walk that tells one task's watchers; see wake_unwatch(). */
	bool walking;
	struct wake_watcher *cursor, *calling;
};

/* What one round asks the store. */
struct look {
	int64_t task;
	unsigned what;
	int64_t logs_after;
	bool sure;
	bool same_seen; /* all its watchers saw @seen */
	int64_t seen;
};

static size_t hash(int64_t task, size_t nbuckets)
{
	return (size_t)((uint64_t)task * UINT64_C(0x9e3779b97f4a7c15) >> 32) %
	       nbuckets;
}

static struct wake_watcher **bucket_of(struct wake *w, int64_t task)
{
	return &w->bucket[hash(task, w->nbuckets)];
}

/* ---- the dirty list ---- */

static void dirty_drop(struct wake *w, struct wake_watcher *x)
{
	if (x->dirty == CLEAN)
		return;
	x->dirty = CLEAN;
	if (x->dprev)
		x->dprev->dnext = x->dnext;
	else
		w->dhead = x->dnext;
	if (x->dnext)
		x->dnext->dprev = x->dprev;
	else
		w->dtail = x->dprev;
}

static void dirty_mark(struct wake *w, struct wake_watcher *x, enum dirty how)
{
	if (x->dirty != CLEAN) {
		if (x->dirty < (int)how)
			x->dirty = (int)how;
		return;
	}
	x->dirty = (int)how;
	x->dnext = NULL;
	x->dprev = w->dtail;
	if (w->dtail)
		w->dtail->dnext = x;
	else
		w->dhead = x;
	w->dtail = x;
}

static bool mark_task(struct wake *w, int64_t task, enum dirty how)
{
	bool any = false;

	for (struct wake_watcher *x = *bucket_of(w, task); x; x = x->next)
		if (x->task == task) {
			dirty_mark(w, x, how);
			any = true;
		}
	return any;
}

static void mark_all(struct wake *w)
{
	for (size_t i = 0; i < w->nbuckets; i++)
		for (struct wake_watcher *x = w->bucket[i]; x; x = x->next)
			dirty_mark(w, x, MAYBE);
}

/* ---- the hash ---- */

static void link_in(struct wake_watcher **head, struct wake_watcher *x)
{
	x->prev = NULL;
	x->next = *head;
	if (x->next)
		x->next->prev = x;
	*head = x;
}

/* More buckets when there is memory for them; longer chains when not. */
static void grow(struct wake *w)
{
	size_t n = w->nbuckets * 4;
	struct wake_watcher **bucket, *x, *next;

	if (w->walking || w->nwatchers < w->nbuckets * 2)
		return;
	bucket = calloc(n, sizeof(struct wake_watcher *));
	if (!bucket)
		return;
	for (size_t i = 0; i < w->nbuckets; i++)
		for (x = w->bucket[i]; x; x = next) {
			next = x->next;
			link_in(&bucket[hash(x->task, n)], x);
		}
	free(w->bucket);
	w->bucket = bucket;
	w->nbuckets = n;
}

void wake_watch(struct wake *w, struct wake_watcher *x)
{
	store_interest_add(w->store, x->task);
	mutex_lock(&w->lock);
	grow(w);
	x->added = true;
	x->picked = false;
	x->dirty = CLEAN;
	link_in(bucket_of(w, x->task), x);
	w->nwatchers++;
	dirty_mark(w, x, SURELY);
	cond_signal(&w->more);
	mutex_unlock(&w->lock);
}

static void unlink_locked(struct wake *w, struct wake_watcher *x)
{
	if (w->cursor == x)
		w->cursor = x->next;
	dirty_drop(w, x);
	if (x->prev)
		x->prev->next = x->next;
	else
		*bucket_of(w, x->task) = x->next;
	if (x->next)
		x->next->prev = x->prev;
	w->nwatchers--;
	x->added = false;
}

bool wake_unwatch(struct wake *w, struct wake_watcher *x)
{
	int64_t task = x->task;
	bool was, busy;

	mutex_lock(&w->lock);
	was = x->added;
	busy = w->calling == x && !pthread_equal(w->self, pthread_self());
	if (was)
		unlink_locked(w, x);
	mutex_unlock(&w->lock);
	if (was)
		store_interest_drop(w->store, task);
	return !busy;
}

void wake_signal(struct wake *w, int64_t task)
{
	bool any = true;

	mutex_lock(&w->lock);
	if (task)
		any = mark_task(w, task, SURELY);
	else
		w->scan = true;
	if (any)
		cond_signal(&w->more);
	mutex_unlock(&w->lock);
}

/* ---- one round: one task ---- */

static void pick_locked(struct wake *w, struct look *ret)
{
	struct wake_watcher *x = w->dhead;

	*ret = (struct look){.task = x->task,
			     .logs_after = INT64_MAX,
			     .same_seen = true,
			     .seen = x->seen_version};
	for (x = *bucket_of(w, ret->task); x; x = x->next) {
		if (x->task != ret->task || x->dirty == CLEAN)
			continue;
		ret->sure |= x->dirty == SURELY;
		ret->same_seen &= x->seen_version == ret->seen;
		ret->what |= x->what;
		if (x->what & STORE_GET_LOGS && x->seen_log < ret->logs_after)
			ret->logs_after = x->seen_log;
		dirty_drop(w, x);
		x->picked = true;
	}
}

/* After a ring that named nobody, most tasks have not changed: the bare row
 * says so. BIDE_CONFLICT: no news. */
static enum bide_rc read_task(struct wake *w, const struct look *l,
			      struct store_task **ret)
{
	enum bide_rc rc;

	if (!l->sure && l->what && l->same_seen) {
		rc = store_get_id(w->store, l->task, 0, 0, ret);
		if (rc)
			return rc;
		if ((*ret)->version == l->seen)
			return BIDE_CONFLICT;
		store_task_free(*ret);
		*ret = NULL;
	}
	return store_get_id(w->store, l->task, l->what, l->logs_after, ret);
}

static bool news(const struct wake_watcher *x, const struct store_task *t)
{
	return x->seen_version != (t ? t->version : GONE);
}

/* A callback may add and remove any watcher, so the walk's place is kept where
 * wake_unwatch() can move it, and @x is not looked at after its call. */
static void tell_locked(struct wake *w, int64_t task,
			const struct store_task *t)
{
	struct wake_watcher *x;

	w->walking = true;
	w->cursor = *bucket_of(w, task);
	while ((x = w->cursor)) {
		w->cursor = x->next;
		if (x->task != task || !x->picked)
			continue;
		x->picked = false;
		if (!news(x, t))
			continue;
		x->seen_version = t ? t->version : GONE;
		w->calling = x;
		mutex_unlock(&w->lock);
		x->fn(x, t);
		mutex_lock(&w->lock);
		w->calling = NULL;
	}
	w->walking = false;
}

static void unpick_locked(struct wake *w, int64_t task, bool again)
{
	struct wake_watcher *x;

	for (x = *bucket_of(w, task); x; x = x->next) {
		if (x->task != task || !x->picked)
			continue;
		x->picked = false;
		if (again)
			dirty_mark(w, x, SURELY);
	}
}

static void round_locked(struct wake *w)
{
	struct store_task *t = NULL;
	struct look look;
	enum bide_rc rc;

	pick_locked(w, &look);
	mutex_unlock(&w->lock);
	rc = read_task(w, &look, &t);
	mutex_lock(&w->lock);
	if (rc == BIDE_OK || rc == BIDE_NOT_FOUND) {
		tell_locked(w, look.task, rc ? NULL : t);
	} else {
		unpick_locked(w, look.task, rc != BIDE_CONFLICT);
		if (rc != BIDE_CONFLICT)
			w->dirty_after_ms = clock_boot_ms() + READ_AGAIN_MS;
	}
	if (!t)
		return;
	mutex_unlock(&w->lock);
	store_task_free(t);
	mutex_lock(&w->lock);
}

/* ---- timers ---- */

void wake_timer_arm(struct wake *w, struct wake_timer *t, int64_t at_boot_ms,
		    void (*fn)(struct wake_timer *))
{
	mutex_lock(&w->lock);
	if (t->armed)
		wake_heap_remove(&w->timers, t);
	t->fn = fn;
	t->at_ms = at_boot_ms;
	t->armed = true;
	wake_heap_add(&w->timers, t);
	if (wake_heap_first(&w->timers) == t)
		cond_signal(&w->more);
	mutex_unlock(&w->lock);
}

bool wake_timer_disarm(struct wake *w, struct wake_timer *t)
{
	bool was;

	mutex_lock(&w->lock);
	was = t->armed;
	if (was)
		wake_heap_remove(&w->timers, t);
	t->armed = false;
	mutex_unlock(&w->lock);
	return was;
}

static bool fire_locked(struct wake *w, int64_t now)
{
	struct wake_timer *t = wake_heap_first(&w->timers);

	if (!t || t->at_ms > now)
		return false;
	wake_heap_remove(&w->timers, t);
	t->armed = false;
	mutex_unlock(&w->lock);
	t->fn(t);
	mutex_lock(&w->lock);
	return true;
}

/* ---- the thread ---- */

/* With thousands of watchers a scan takes milliseconds, and other instances
 * ring for each of their commits: so scans keep to a share of the time. */
static void scan_end_locked(struct wake *w, int64_t now)
{
	int64_t rest = SCAN_REST * (now - w->scan_began_ms);

	w->scanning = false;
	/* Bounded: the clock counts through a suspend. */
	w->scan_after_ms = now + (rest < SCAN_REST_MS ? rest : SCAN_REST_MS);
}

static bool work_locked(struct wake *w, int64_t now)
{
	if (fire_locked(w, now))
		return true;
	if (w->scan && now >= w->scan_after_ms) {
		w->scan = false;
		w->scanning = true;
		w->scan_began_ms = now;
		mark_all(w);
	}
	if (w->dhead && now >= w->dirty_after_ms) {
		round_locked(w);
		return true;
	}
	if (w->scanning && !w->dhead)
		scan_end_locked(w, now);
	return false;
}

static void rest_locked(struct wake *w, int64_t now)
{
	struct wake_timer *t = wake_heap_first(&w->timers);
	int64_t until = t ? t->at_ms : INT64_MAX;

	if (w->scan && w->scan_after_ms < until)
		until = w->scan_after_ms;
	if (w->dhead && w->dirty_after_ms < until)
		until = w->dirty_after_ms;
	if (until == INT64_MAX)
		cond_wait(&w->more, &w->lock);
	else
		cond_wait_ms(&w->more, &w->lock, until - now);
}

static void loop(void *arg)
{
	struct wake *w = arg;
	int64_t now;

	mutex_lock(&w->lock);
	w->self = pthread_self();
	while (!w->stopping) {
		now = clock_boot_ms();
		if (!work_locked(w, now))
			rest_locked(w, now);
	}
	mutex_unlock(&w->lock);
}

struct wake *wake_new(struct store *s)
{
	struct wake *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->store = s;
	w->nbuckets = BUCKETS;
	w->bucket = calloc(BUCKETS, sizeof(struct wake_watcher *));
	mutex_init(&w->lock, RANK_WAKE);
	cond_init(&w->more);
	if (!w->bucket || thread_start(&w->thread, "wake", loop, w)) {
		wake_free(w);
		return NULL;
	}
	return w;
}

void wake_free(struct wake *w)
{
	if (!w)
		return;
	mutex_lock(&w->lock);
	w->stopping = true;
	cond_signal(&w->more);
	mutex_unlock(&w->lock);
	thread_join(&w->thread);
	if (w->nwatchers || wake_heap_first(&w->timers))
		log_error("wake.left", "watchers=%zu timers=%zu", w->nwatchers,
			  w->timers.len);
	wake_heap_fini(&w->timers);
	free(w->bucket);
	cond_fini(&w->more);
	mutex_fini(&w->lock);
	free(w);
}
