/* SPDX-License-Identifier: MIT */
/* With a store of this file's own: rows that the tests change by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/thread.h"
#include "server/task/wake.h"

#define ROWS 3000

struct store {
	struct mutex lock;
	struct cond changed;
	int64_t version[ROWS]; /* 0: no such row */
	int reads[ROWS], interest[ROWS];
	unsigned what[ROWS];      /* of the last read */
	int64_t logs_after[ROWS]; /* likewise */
	enum bide_rc fail;        /* answered once, then cleared */
	int fails;
	int told; /* callbacks that have finished */
};
static struct store fake;

enum bide_rc store_get_id(struct store *s, int64_t task, unsigned what,
			  int64_t logs_after, struct store_task **ret)
{
	enum bide_rc rc = BIDE_OK;

	mutex_lock(&s->lock);
	s->reads[task]++;
	s->what[task] = what;
	s->logs_after[task] = logs_after;
	if (s->fail) {
		rc = s->fail;
		s->fail = BIDE_OK;
		s->fails++;
	} else if (!s->version[task]) {
		rc = BIDE_NOT_FOUND;
	} else {
		*ret = calloc(1, sizeof(**ret));
		(*ret)->id = task;
		(*ret)->version = s->version[task];
	}
	mutex_unlock(&s->lock);
	return rc;
}

void store_task_free(struct store_task *t)
{
	free(t);
}

void store_interest_add(struct store *s, int64_t task)
{
	mutex_lock(&s->lock);
	s->interest[task]++;
	mutex_unlock(&s->lock);
}

void store_interest_drop(struct store *s, int64_t task)
{
	mutex_lock(&s->lock);
	s->interest[task]--;
	mutex_unlock(&s->lock);
}

static void set_version(int64_t task, int64_t version)
{
	mutex_lock(&fake.lock);
	fake.version[task] = version;
	mutex_unlock(&fake.lock);
}

static void told(void)
{
	mutex_lock(&fake.lock);
	fake.told++;
	cond_broadcast(&fake.changed);
	mutex_unlock(&fake.lock);
}

static void await_told(int n)
{
	mutex_lock(&fake.lock);
	while (fake.told < n)
		cond_wait(&fake.changed, &fake.lock);
	assert_int_equal(fake.told, n);
	mutex_unlock(&fake.lock);
}

static int setup(void **state)
{
	memset(&fake, 0, sizeof(fake));
	mutex_init(&fake.lock, RANK_LEAF);
	cond_init(&fake.changed);
	*state = wake_new(&fake);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	wake_free(*state);
	for (int i = 0; i < ROWS; i++)
		assert_int_equal(fake.interest[i], 0);
	cond_fini(&fake.changed);
	mutex_fini(&fake.lock);
	return 0;
}

/* ---- timers ---- */

struct ring {
	struct wake_timer t; /* first */
	int order;
};
static int rings;

static void ring(struct wake_timer *t)
{
	((struct ring *)t)->order = ++rings;
	told();
}

/* On the wake thread, so that none fires before all are armed. */
struct armer {
	struct wake_timer t; /* first */
	struct wake *w;
	struct ring *r;
	int first, step, n, range;
	int64_t from;
};

static void arm_all(struct wake_timer *t)
{
	struct armer *a = (struct armer *)t;

	for (int i = a->first; i < a->n; i += a->step)
		wake_timer_arm(a->w, &a->r[i].t, a->from + i * 7919 % a->range,
			       ring);
}

static void test_timers__fire_in_their_order_and_not_before(void **state)
{
	struct ring r[20] = {0};
	int64_t now = clock_boot_ms();
	struct armer a = {.w = *state,
			  .r = r,
			  .step = 1,
			  .n = 20,
			  .range = 20,
			  .from = now + 30};

	rings = 0;
	wake_timer_arm(*state, &a.t, now, arm_all);
	await_told(20);
	for (int i = 0; i < 20; i++)
		for (int j = 0; j < 20; j++)
			if (r[i].t.at_ms < r[j].t.at_ms)
				assert_true(r[i].order < r[j].order);
	assert_true(clock_boot_ms() >= now + 30);
}

static void test_timer__disarmed_in_time_does_not_fire(void **state)
{
	struct ring a = {0}, b = {0}, c = {0};
	int64_t now = clock_boot_ms();

	wake_timer_arm(*state, &a.t, now + 3600000, ring);
	wake_timer_arm(*state, &b.t, now + 3600000, ring);
	wake_timer_arm(*state, &c.t, now, ring);
	await_told(1);
	assert_true(wake_timer_disarm(*state, &a.t));
	assert_false(wake_timer_disarm(*state, &a.t));
	assert_true(wake_timer_disarm(*state, &b.t));
	assert_false(wake_timer_disarm(*state, &c.t));
}

static void test_timer__armed_again_moves(void **state)
{
	struct ring a = {0};

	wake_timer_arm(*state, &a.t, clock_boot_ms() + 3600000, ring);
	wake_timer_arm(*state, &a.t, clock_boot_ms(), ring);
	await_told(1);
	assert_false(wake_timer_disarm(*state, &a.t));
}

static void test_timers__any_number_may_be_taken_out_again(void **state)
{
	struct ring *r = calloc(500, sizeof(*r));
	int64_t now = clock_boot_ms();
	struct armer a = {.w = *state,
			  .r = r,
			  .first = 1,
			  .step = 2,
			  .n = 500,
			  .range = 20,
			  .from = now};

	rings = 0;
	for (int i = 0; i < 500; i++)
		wake_timer_arm(*state, &r[i].t, now + 3600000 + i * 7919 % 1000,
			       ring);
	for (int i = 0; i < 500; i += 2)
		assert_true(wake_timer_disarm(*state, &r[i].t));
	wake_timer_arm(*state, &a.t, now, arm_all);
	await_told(250);
	for (int i = 1; i < 500; i += 2)
		for (int j = 1; j < 500; j += 2)
			if (r[i].t.at_ms < r[j].t.at_ms)
				assert_true(r[i].order < r[j].order);
	free(r);
}

/* ---- watchers ---- */

struct eye {
	struct wake_watcher x; /* first */
	struct wake *w;
	int n;
	int64_t version;   /* last told; -1: gone */
	bool leave;        /* unwatch and free itself when told */
	struct eye *other; /* unwatch this one when told */
};

static void see(struct wake_watcher *x, const struct store_task *t)
{
	struct eye *e = (struct eye *)x;

	e->n++;
	e->version = t ? t->version : -1;
	if (e->other)
		assert_true(wake_unwatch(e->w, &e->other->x));
	e->other = NULL;
	if (e->leave) {
		assert_true(wake_unwatch(e->w, x));
		free(e);
	}
	told();
}

static void open_eye(struct eye *e, struct wake *w, int64_t task)
{
	*e = (struct eye){.x = {.fn = see, .task = task}, .w = w};
}

/* The next round on the thread begins after all that was marked before. */
static void settle(struct wake *w)
{
	struct ring r = {0};
	int before;

	for (int i = 0; i < 2; i++) {
		mutex_lock(&fake.lock);
		before = fake.told;
		mutex_unlock(&fake.lock);
		wake_timer_arm(w, &r.t, clock_boot_ms() + 5, ring);
		mutex_lock(&fake.lock);
		while (fake.told == before)
			cond_wait(&fake.changed, &fake.lock);
		fake.told = before;
		mutex_unlock(&fake.lock);
		wake_timer_disarm(w, &r.t);
	}
}

/* Its last callback has told() of itself but may not have returned yet. */
static void shut(struct wake *w, struct wake_watcher *x)
{
	if (!wake_unwatch(w, x))
		settle(w);
}

static void test_watcher__is_told_at_first_and_at_each_change(void **state)
{
	struct eye e;

	set_version(7, 1);
	open_eye(&e, *state, 7);
	wake_watch(*state, &e.x);
	await_told(1);
	assert_int_equal(e.version, 1);
	set_version(7, 2);
	wake_signal(*state, 7);
	await_told(2);
	assert_int_equal(e.version, 2);
	shut(*state, &e.x);
}

static void test_watcher__is_not_told_what_it_saw(void **state)
{
	struct eye e;

	set_version(7, 5);
	open_eye(&e, *state, 7);
	e.x.seen_version = 5;
	wake_watch(*state, &e.x);
	wake_signal(*state, 7);
	wake_signal(*state, 0);
	settle(*state);
	await_told(0);
	shut(*state, &e.x);
}

static void test_watcher__learns_once_that_its_task_is_gone(void **state)
{
	struct eye e;

	open_eye(&e, *state, 9);
	wake_watch(*state, &e.x);
	await_told(1);
	assert_int_equal(e.version, -1);
	wake_signal(*state, 9);
	settle(*state);
	await_told(1);
	shut(*state, &e.x);
}

static void test_round__reads_once_for_all_watchers_of_a_task(void **state)
{
	struct eye e[5];
	int before;

	set_version(4, 1);
	for (int i = 0; i < 5; i++) {
		open_eye(&e[i], *state, 4);
		e[i].x.what = 1u << i;
		e[i].x.seen_log = 40 - i;
		if (i == 4)
			e[i].x.what |= STORE_GET_LOGS;
		wake_watch(*state, &e[i].x);
	}
	await_told(5);
	settle(*state);
	before = fake.reads[4];
	set_version(4, 2);
	wake_signal(*state, 4);
	await_told(10);
	assert_int_equal(fake.reads[4], before + 1);
	assert_int_equal(fake.what[4], 31 | STORE_GET_LOGS);
	assert_int_equal(fake.logs_after[4], 36);
	for (int i = 0; i < 5; i++)
		shut(*state, &e[i].x);
}

static void test_signal_of_anything__reads_bare_rows_first(void **state)
{
	struct eye e;

	set_version(4, 1);
	open_eye(&e, *state, 4);
	e.x.what = STORE_GET_PAYLOAD;
	wake_watch(*state, &e.x);
	await_told(1);
	settle(*state);
	wake_signal(*state, 0);
	settle(*state);
	assert_int_equal(fake.what[4], 0);
	set_version(4, 2);
	wake_signal(*state, 0);
	await_told(2);
	assert_int_equal(fake.what[4], STORE_GET_PAYLOAD);
	shut(*state, &e.x);
}

static void test_signal_of_anything__reaches_every_watcher(void **state)
{
	struct eye *e = calloc(ROWS, sizeof(*e));

	for (int i = 0; i < ROWS; i++) {
		set_version(i, 1);
		open_eye(&e[i], *state, i);
		wake_watch(*state, &e[i].x);
	}
	await_told(ROWS);
	for (int i = 0; i < ROWS; i++)
		set_version(i, 2);
	wake_signal(*state, 0);
	await_told(2 * ROWS);
	for (int i = 0; i < ROWS; i++) {
		assert_int_equal(e[i].version, 2);
		shut(*state, &e[i].x);
	}
	free(e);
}

static void test_callback__may_remove_and_free_itself_and_others(void **state)
{
	struct eye *e[6];

	set_version(3, 1);
	for (int i = 0; i < 6; i++) {
		e[i] = malloc(sizeof(*e[i]));
		open_eye(e[i], *state, 3);
		e[i]->x.seen_version = 1;
	}
	/* Watchers are told newest first: 5 takes 4 out, 3 goes by itself. */
	e[5]->other = e[4];
	e[3]->leave = true;
	for (int i = 0; i < 6; i++)
		wake_watch(*state, &e[i]->x);
	settle(*state);
	set_version(3, 2);
	wake_signal(*state, 3);
	await_told(5);
	assert_int_equal(e[4]->n, 0);
	for (int i = 0; i < 6; i++)
		if (i != 3) {
			shut(*state, &e[i]->x);
			free(e[i]);
		}
}

struct slow {
	struct wake_watcher x; /* first */
	struct mutex lock;
	struct cond changed;
	bool inside, go;
};

static void see_slowly(struct wake_watcher *x, const struct store_task *t)
{
	struct slow *s = (struct slow *)x;

	(void)t;
	mutex_lock(&s->lock);
	s->inside = true;
	cond_broadcast(&s->changed);
	while (!s->go)
		cond_wait(&s->changed, &s->lock);
	mutex_unlock(&s->lock);
	told();
}

static void test_unwatch__says_when_the_callback_is_running(void **state)
{
	struct slow s = {.x = {.fn = see_slowly, .task = 2}};

	mutex_init(&s.lock, RANK_ENGINE);
	cond_init(&s.changed);
	set_version(2, 1);
	wake_watch(*state, &s.x);
	mutex_lock(&s.lock);
	while (!s.inside)
		cond_wait(&s.changed, &s.lock);
	mutex_unlock(&s.lock);
	assert_false(wake_unwatch(*state, &s.x));
	mutex_lock(&s.lock);
	s.go = true;
	cond_broadcast(&s.changed);
	mutex_unlock(&s.lock);
	await_told(1);
	set_version(2, 2);
	wake_signal(*state, 2);
	settle(*state);
	await_told(1);
	cond_fini(&s.changed);
	mutex_fini(&s.lock);
}

static void test_read__that_fails_is_made_again(void **state)
{
	struct eye e;

	set_version(1, 1);
	fake.fail = BIDE_BUSY;
	open_eye(&e, *state, 1);
	wake_watch(*state, &e.x);
	await_told(1);
	assert_int_equal(fake.fails, 1);
	assert_int_equal(e.version, 1);
	shut(*state, &e.x);
}

/* Last of all: the test clock stays in force for the process. */
static void test_timer__follows_the_test_clock(void **state)
{
	const char *tmp = getenv("TMPDIR");
	struct ring a = {0};
	char path[256];
	int64_t ahead = 3600000;
	int fd;

	snprintf(path, sizeof(path), "%s/bide-wake-XXXXXX", tmp ? tmp : "/tmp");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(clock_use_file(path), 0);
	wake_timer_arm(*state, &a.t, clock_boot_ms() + ahead, ring);
	assert_int_equal(pwrite(fd, &ahead, sizeof(ahead), 0), sizeof(ahead));
	await_told(1);
	close(fd);
	unlink(path);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_timers__fire_in_their_order_and_not_before),
		TEST(test_timer__disarmed_in_time_does_not_fire),
		TEST(test_timer__armed_again_moves),
		TEST(test_timers__any_number_may_be_taken_out_again),
		TEST(test_watcher__is_told_at_first_and_at_each_change),
		TEST(test_watcher__is_not_told_what_it_saw),
		TEST(test_watcher__learns_once_that_its_task_is_gone),
		TEST(test_round__reads_once_for_all_watchers_of_a_task),
		TEST(test_signal_of_anything__reads_bare_rows_first),
		TEST(test_signal_of_anything__reaches_every_watcher),
		TEST(test_callback__may_remove_and_free_itself_and_others),
		TEST(test_unwatch__says_when_the_callback_is_running),
		TEST(test_read__that_fails_is_made_again),
		TEST(test_timer__follows_the_test_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
