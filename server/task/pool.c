/* SPDX-License-Identifier: MIT */
#include "server/task/pool.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/base/clock.h"
#include "server/base/thread.h"

struct pool {
	struct mutex lock; /* the queue, waiting, stopping */
	struct cond more;
	struct cond ended; /* signalled once somebody awaits it */
	struct job *head, **tail;
	size_t waiting;
	bool waking; /* one was signalled and has not come yet */
	bool stopping;
	atomic_size_t queued, running;
	atomic_bool awaited;
	size_t nthreads; /* that started */
	struct thread threads[];
};

/*
 * One thread at a time is woken, and wakes the next when there is still work
 * after it took its own: those that are awake take most of a burst meanwhile,
 * without a switch for each job.
 */
static bool should_wake_locked(struct pool *p)
{
	if (!p->head || !p->waiting || p->waking)
		return false;
	p->waking = true;
	return true;
}

/* NULL: stopping, and nothing is left. */
static struct job *take_locked(struct pool *p)
{
	struct job *j;

	while (!p->head) {
		if (p->stopping)
			return NULL;
		p->waiting++;
		cond_wait(&p->more, &p->lock);
		p->waiting--;
		p->waking = false;
	}
	j = p->head;
	p->head = j->next;
	if (!p->head)
		p->tail = &p->head;
	atomic_fetch_add(&p->running, 1);
	atomic_fetch_sub(&p->queued, 1);
	return j;
}

/* Either we see that it is awaited, or who waits sees that we ran to the end.
 */
static void end(struct pool *p)
{
	atomic_fetch_sub(&p->running, 1);
	if (!atomic_load(&p->awaited))
		return;
	mutex_lock(&p->lock);
	cond_broadcast(&p->ended);
	mutex_unlock(&p->lock);
}

static void serve(void *arg)
{
	struct pool *p = arg;
	struct job *j;
	bool wake;

	for (;;) {
		mutex_lock(&p->lock);
		j = take_locked(p);
		wake = should_wake_locked(p);
		mutex_unlock(&p->lock);
		if (wake)
			cond_signal(&p->more);
		if (!j)
			return;
		j->fn(j);
		end(p);
	}
}

static bool start_threads(struct pool *p, const char *name, size_t threads)
{
	char text[32];

	for (size_t i = 0; i < threads; i++) {
		snprintf(text, sizeof(text), "%s-%zu", name, i);
		if (thread_start(&p->threads[i], text, serve, p))
			return false;
		p->nthreads++;
	}
	return true;
}

struct pool *pool_new(const char *name, size_t threads)
{
	struct pool *p;

	p = calloc(1, sizeof(*p) + threads * sizeof(p->threads[0]));
	if (!p)
		return NULL;
	mutex_init(&p->lock, RANK_POOL);
	cond_init(&p->more);
	cond_init(&p->ended);
	p->tail = &p->head;
	if (!start_threads(p, name, threads)) {
		pool_free(p);
		return NULL;
	}
	return p;
}

void pool_submit(struct pool *p, struct job *j)
{
	j->next = NULL;
	mutex_lock(&p->lock);
	*p->tail = j;
	p->tail = &j->next;
	atomic_fetch_add(&p->queued, 1);
	/* Under the lock: once this job is done the pool may be freed. */
	if (p->waiting > 0)
		cond_signal(&p->more);
	mutex_unlock(&p->lock);
}

size_t pool_idle(const struct pool *p)
{
	size_t used = pool_busy(p);

	return used < p->nthreads ? p->nthreads - used : 0;
}

size_t pool_queued(const struct pool *p)
{
	return atomic_load(&p->queued);
}

size_t pool_busy(const struct pool *p)
{
	return atomic_load(&p->running) + atomic_load(&p->queued);
}

bool pool_drained(struct pool *p, int64_t ms)
{
	int64_t now = clock_boot_ms();
	int64_t until = now + ms;
	bool none;

	mutex_lock(&p->lock);
	atomic_store(&p->awaited, true);
	for (; pool_busy(p) > 0 && now < until; now = clock_boot_ms())
		cond_wait_ms(&p->ended, &p->lock, until - now);
	none = pool_busy(p) == 0;
	mutex_unlock(&p->lock);
	return none;
}

void pool_free(struct pool *p)
{
	if (!p)
		return;
	mutex_lock(&p->lock);
	p->stopping = true;
	cond_broadcast(&p->more);
	mutex_unlock(&p->lock);
	for (size_t i = 0; i < p->nthreads; i++)
		thread_join(&p->threads[i]);
	cond_fini(&p->more);
	cond_fini(&p->ended);
	mutex_fini(&p->lock);
	free(p);
}
