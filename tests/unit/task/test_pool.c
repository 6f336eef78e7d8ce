/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <stdlib.h>

#include "server/base/thread.h"
#include "server/task/pool.h"

#define JOBS 1000

struct counted {
	struct job job; /* first */
	atomic_int *n;
	struct pool *pool;
	int again;
};

static void count(struct job *j)
{
	struct counted *c = (struct counted *)j;

	atomic_fetch_add(c->n, 1);
	if (c->again-- > 0)
		pool_submit(c->pool, j);
}

static void test_free__runs_all_that_is_queued(void **state)
{
	struct counted jobs[JOBS];
	struct pool *p = pool_new("t", 3);
	atomic_int n = 0;

	(void)state;
	assert_non_null(p);
	for (int i = 0; i < JOBS; i++) {
		jobs[i] = (struct counted){.job.fn = count, .n = &n};
		pool_submit(p, &jobs[i].job);
	}
	pool_free(p);
	assert_int_equal(n, JOBS);
}

static void test_job__may_submit_itself_again(void **state)
{
	struct pool *p = pool_new("t", 2);
	atomic_int n = 0;
	struct counted c = {.job.fn = count, .n = &n, .pool = p, .again = 9};

	(void)state;
	pool_submit(p, &c.job);
	pool_free(p);
	assert_int_equal(n, 10);
}

/* A door that jobs wait at, and that says how many stand there. */
struct door {
	struct mutex lock;
	struct cond changed;
	int inside;
	bool open;
};
struct guest {
	struct job job; /* first */
	struct door *door;
};

static void stand(struct job *j)
{
	struct door *d = ((struct guest *)j)->door;

	mutex_lock(&d->lock);
	d->inside++;
	cond_broadcast(&d->changed);
	while (!d->open)
		cond_wait(&d->changed, &d->lock);
	mutex_unlock(&d->lock);
}

static void door_wait(struct door *d, int inside)
{
	mutex_lock(&d->lock);
	while (d->inside < inside)
		cond_wait(&d->changed, &d->lock);
	mutex_unlock(&d->lock);
}

static void door_open(struct door *d)
{
	mutex_lock(&d->lock);
	d->open = true;
	cond_broadcast(&d->changed);
	mutex_unlock(&d->lock);
}

static void test_threads__all_work_at_once_and_are_counted(void **state)
{
	struct pool *p = pool_new("t", 3);
	struct door door = {0};
	struct guest guests[5];

	(void)state;
	mutex_init(&door.lock, RANK_LEAF);
	cond_init(&door.changed);
	assert_int_equal(pool_idle(p), 3);
	for (int i = 0; i < 5; i++) {
		guests[i] = (struct guest){.job.fn = stand, .door = &door};
		pool_submit(p, &guests[i].job);
	}
	door_wait(&door, 3);
	assert_int_equal(pool_idle(p), 0);
	assert_int_equal(pool_queued(p), 2);
	assert_int_equal(pool_busy(p), 5);
	assert_false(pool_drained(p, 20));
	door_open(&door);
	/* Also those that had not begun. */
	assert_true(pool_drained(p, INT64_MAX / 4));
	assert_int_equal(door.inside, 5);
	assert_int_equal(pool_busy(p), 0);
	pool_free(p);
	cond_fini(&door.changed);
	mutex_fini(&door.lock);
}

static void free_it(struct job *j)
{
	free(j);
}

static void test_job__may_free_itself(void **state)
{
	struct pool *p = pool_new("t", 1);

	(void)state;
	for (int i = 0; i < 10; i++) {
		struct job *j = calloc(1, sizeof(*j));

		assert_non_null(j);
		j->fn = free_it;
		pool_submit(p, j);
	}
	pool_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_free__runs_all_that_is_queued),
		cmocka_unit_test(test_job__may_submit_itself_again),
		cmocka_unit_test(
			test_threads__all_work_at_once_and_are_counted),
		cmocka_unit_test(test_job__may_free_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
