/* SPDX-License-Identifier: MIT */
/* With a store of this file's own, whose reads can be held. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/thread.h"
#include "server/task/topic.h"

#define NAMES 400

struct store {
	struct mutex lock;
	struct cond changed;
	int64_t seq[NAMES]; /* of the topic "0", "1" ..; 0: no row */
	int64_t last;
	int reads, interest;
	int fail;        /* as many reads fail */
	bool hold, held; /* a read has its rows and does not return */
	int told;
};
static struct store fake;
static struct wake *wake;
static struct topics *topics;

static int by_seq(const void *a, const void *b)
{
	int64_t x = ((const struct store_topic *)a)->seq;
	int64_t y = ((const struct store_topic *)b)->seq;

	return (x > y) - (x < y);
}

static size_t rows_locked(struct store *s, int64_t after,
			  struct store_topic *list)
{
	char name[16];
	size_t n = 0;

	for (int i = 0; i < NAMES; i++) {
		if (s->seq[i] <= after)
			continue;
		snprintf(name, sizeof(name), "%d", i);
		list[n++] = (struct store_topic){s->seq[i], strdup(name)};
	}
	qsort(list, n, sizeof(*list), by_seq);
	return n;
}

enum bide_rc store_topics(struct store *s, int64_t seq, size_t limit,
			  struct store_topic **ret, size_t *ret_n)
{
	struct store_topic *list = calloc(NAMES, sizeof(*list));
	size_t n;

	mutex_lock(&s->lock);
	s->reads++;
	if (s->fail > 0) {
		s->fail--;
		cond_broadcast(&s->changed);
		mutex_unlock(&s->lock);
		free(list);
		return BIDE_IO;
	}
	n = rows_locked(s, seq, list);
	for (; n > limit; n--)
		free(list[n - 1].name);
	s->held = s->hold;
	cond_broadcast(&s->changed);
	while (s->hold)
		cond_wait(&s->changed, &s->lock);
	mutex_unlock(&s->lock);
	*ret = list;
	*ret_n = n;
	return BIDE_OK;
}

void store_topics_free(struct store_topic *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(list[i].name);
	free(list);
}

static void interest(struct store *s, int64_t task, int n)
{
	assert_int_equal(task, STORE_TOPICS);
	mutex_lock(&s->lock);
	s->interest += n;
	mutex_unlock(&s->lock);
}

void store_interest_add(struct store *s, int64_t task)
{
	interest(s, task, 1);
}

void store_interest_drop(struct store *s, int64_t task)
{
	interest(s, task, -1);
}

/* wake.c's, which nothing here asks for. */
enum bide_rc store_get_id(struct store *s, int64_t task, unsigned what,
			  int64_t logs_after, struct store_task **ret)
{
	(void)s;
	(void)task;
	(void)what;
	(void)logs_after;
	(void)ret;
	return BIDE_NOT_FOUND;
}

void store_task_free(struct store_task *t)
{
	free(t);
}

static int64_t last(void)
{
	int64_t seq;

	mutex_lock(&fake.lock);
	seq = fake.last;
	mutex_unlock(&fake.lock);
	return seq;
}

static void commit(int name)
{
	mutex_lock(&fake.lock);
	fake.seq[name] = ++fake.last;
	mutex_unlock(&fake.lock);
}

static void announce(int name)
{
	commit(name);
	topics_signal(topics, STORE_TOPICS);
}

static void hold(void)
{
	mutex_lock(&fake.lock);
	fake.hold = true;
	mutex_unlock(&fake.lock);
}

static void await_held(void)
{
	mutex_lock(&fake.lock);
	while (!fake.held)
		cond_wait(&fake.changed, &fake.lock);
	mutex_unlock(&fake.lock);
}

static void let_go(void)
{
	mutex_lock(&fake.lock);
	fake.hold = fake.held = false;
	cond_broadcast(&fake.changed);
	mutex_unlock(&fake.lock);
}

/* ---- watchers ---- */

struct eye {
	struct topic_watcher x; /* first */
	char name[16];
	int n;             /* times it was told; fake.lock */
	struct eye *other; /* goes when this one is told */
	bool leave;
};

static void see(struct topic_watcher *x)
{
	struct eye *e = (struct eye *)x;

	if (e->other) {
		topic_unwatch(topics, &e->other->x);
		e->other->name[0] = '\0';
		e->other = NULL;
	}
	if (e->leave)
		topic_unwatch(topics, x);
	mutex_lock(&fake.lock);
	e->n++;
	fake.told++;
	cond_broadcast(&fake.changed);
	mutex_unlock(&fake.lock);
}

static void begin(struct eye *e, int name, int64_t since)
{
	*e = (struct eye){.x.fn = see, .x.since = since};
	snprintf(e->name, sizeof(e->name), "%d", name);
	e->x.name = e->name;
}

static void open_eye(struct eye *e, int name)
{
	begin(e, name, last());
	topic_watch(topics, &e->x);
}

static void await_n(struct eye *e, int n)
{
	mutex_lock(&fake.lock);
	while (e->n < n)
		cond_wait(&fake.changed, &fake.lock);
	assert_int_equal(e->n, n);
	mutex_unlock(&fake.lock);
}

static int told(struct eye *e)
{
	int n;

	mutex_lock(&fake.lock);
	n = e->n;
	mutex_unlock(&fake.lock);
	return n;
}

/* Runs on the wake thread, and is waited for. */
struct errand {
	struct wake_timer t; /* first */
	struct eye *e;
	bool done;
};

static void run_errand(struct wake_timer *t)
{
	struct errand *r = (struct errand *)t;

	if (r->e)
		topic_unwatch(topics, &r->e->x);
	mutex_lock(&fake.lock);
	r->done = true;
	cond_broadcast(&fake.changed);
	mutex_unlock(&fake.lock);
}

/* Afterwards all that was due before has been done. */
static void shut(struct eye *e)
{
	struct errand r = {.e = e};

	/* Later than whatever is due by now. */
	wake_timer_arm(wake, &r.t, clock_boot_ms() + 1, run_errand);
	mutex_lock(&fake.lock);
	while (!r.done)
		cond_wait(&fake.changed, &fake.lock);
	mutex_unlock(&fake.lock);
}

/* Whatever was announced has been told, and no look is due. */
static void settle(void)
{
	struct eye e;
	int64_t seq;

	begin(&e, NAMES - 1, last());
	topic_watch(topics, &e.x);
	commit(NAMES - 1);
	seq = last();
	topics_signal(topics, STORE_TOPICS);
	await_n(&e, 1);
	assert_true(e.x.since >= seq);
	shut(&e);
	shut(NULL);
}

static int setup(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	mutex_init(&fake.lock, RANK_LEAF);
	cond_init(&fake.changed);
	log_set_level(LOG_NONE);
	wake = wake_new(&fake);
	topics = topics_new(&fake, wake);
	return wake && topics ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	topics_stop(topics);
	wake_free(wake);
	topics_free(topics);
	assert_int_equal(fake.interest, 0);
	cond_fini(&fake.changed);
	mutex_fini(&fake.lock);
	return 0;
}

/* ---- what is told ---- */

static void test_watcher__is_told_of_its_own_topic(void **state)
{
	struct eye a, b;

	(void)state;
	open_eye(&a, 1);
	open_eye(&b, 2);
	announce(1);
	await_n(&a, 1);
	announce(2);
	await_n(&b, 1);
	announce(1);
	await_n(&a, 2);
	settle();
	assert_int_equal(told(&a), 2);
	assert_int_equal(told(&b), 1);
	shut(&a);
	shut(&b);
}

static void test_watcher__is_not_told_of_what_came_before(void **state)
{
	struct eye a;

	(void)state;
	announce(1);
	open_eye(&a, 1);
	settle();
	assert_int_equal(told(&a), 0);
	announce(1);
	await_n(&a, 1);
	shut(&a);
}

/* What comes between two looks is one. */
static void test_watcher__is_told_once_of_many(void **state)
{
	struct eye a, b;

	(void)state;
	open_eye(&a, 1);
	open_eye(&b, 2);
	settle();
	hold();
	announce(2);
	await_held();
	for (int i = 0; i < 100; i++)
		announce(1);
	let_go();
	await_n(&b, 1);
	await_n(&a, 1);
	settle();
	assert_int_equal(told(&a), 1);
	shut(&a);
	shut(&b);
}

/* Nobody rings for the second: the slow poll says that anything may be. */
static void test_signal_of_anything__is_enough(void **state)
{
	struct eye a;

	(void)state;
	open_eye(&a, 1);
	commit(1);
	topics_signal(topics, 0);
	await_n(&a, 1);
	shut(&a);
}

static void test_signal_of_a_task__reads_nothing(void **state)
{
	struct eye a;
	int reads;

	(void)state;
	topics_signal(topics, STORE_TOPICS); /* and without a watcher neither */
	shut(NULL);
	assert_int_equal(fake.reads, 0);
	open_eye(&a, 1);
	settle();
	reads = fake.reads;
	topics_signal(topics, 1);
	shut(NULL);
	assert_int_equal(fake.reads, reads);
	shut(&a);
}

static void test_look__takes_more_than_a_page(void **state)
{
	static struct eye e[NAMES - 1];

	(void)state;
	hold();
	for (int i = 0; i < NAMES - 1; i++)
		open_eye(&e[i], i);
	for (int i = 0; i < NAMES - 1; i++)
		commit(i);
	topics_signal(topics, STORE_TOPICS);
	let_go();
	for (int i = 0; i < NAMES - 1; i++)
		await_n(&e[i], 1);
	for (int i = 0; i < NAMES - 1; i++)
		shut(&e[i]);
}

static void test_read__that_fails_is_made_again(void **state)
{
	struct eye a;

	(void)state;
	open_eye(&a, 1);
	settle();
	mutex_lock(&fake.lock);
	fake.fail = 2;
	mutex_unlock(&fake.lock);
	announce(1);
	await_n(&a, 1);
	assert_int_equal(fake.fail, 0);
	shut(&a);
}

/* ---- who comes and goes ---- */

/* The client hears that it is subscribed before the watching begins: what is
 * announced in between is told, also when others have been told of it. */
static void test_watcher__that_begins_late_misses_nothing(void **state)
{
	struct eye a, b;

	(void)state;
	open_eye(&a, 1);
	begin(&b, 1, last());
	announce(1);
	await_n(&a, 1);
	settle(); /* seen, and behind us */
	topic_watch(topics, &b.x);
	await_n(&b, 1);
	settle();
	assert_int_equal(told(&a), 1); /* it is not told again */
	assert_int_equal(told(&b), 1);
	shut(&a);
	shut(&b);
}

/* A look has its rows when a watcher comes, and one more is announced; and one
 * comes that looks back behind where that look began. */
static void test_watcher__that_begins_during_a_look_misses_nothing(void **state)
{
	struct eye a, b, c;

	(void)state;
	open_eye(&a, 1);
	begin(&c, 2, last());
	announce(2);
	settle();
	hold();
	announce(1);
	await_held();
	begin(&b, 1, last());
	commit(1);
	topic_watch(topics, &b.x);
	topic_watch(topics, &c.x);
	let_go();
	await_n(&b, 1);
	await_n(&c, 1);
	await_n(&a, 2);
	settle();
	assert_int_equal(told(&a), 2);
	assert_int_equal(told(&b), 1);
	assert_int_equal(told(&c), 1);
	shut(&a);
	shut(&b);
	shut(&c);
}

/* The only one goes and another comes while a look is under way. */
static void test_watcher__that_is_the_first_again_misses_nothing(void **state)
{
	struct eye a, b;

	(void)state;
	for (int i = 0; i < 20; i++)
		announce(i);
	open_eye(&a, 1);
	announce(1);
	await_n(&a, 1);
	shut(&a);
	assert_int_equal(fake.interest, 0);
	announce(1);
	open_eye(&b, 1);
	assert_int_equal(fake.interest, 1);
	announce(1);
	await_n(&b, 1);
	settle();
	assert_int_equal(told(&b), 1);
	shut(&b);
}

static void test_callback__may_remove_itself_and_others(void **state)
{
	struct eye a, b, c;

	(void)state;
	open_eye(&a, 1);
	open_eye(&b, 1);
	open_eye(&c, 1);
	settle();
	/* All of them are to be told; the newest is the first. */
	c.other = &b;
	a.leave = true;
	announce(1);
	await_n(&c, 1);
	await_n(&a, 1);
	announce(1);
	await_n(&c, 2);
	settle();
	assert_int_equal(told(&a), 1);
	assert_int_equal(told(&b), 0);
	shut(&c);
}

/* ---- many at once ---- */

#define ROUNDS 300

static void announce_on(void *stop)
{
	for (int i = 0; !atomic_load((atomic_bool *)stop); i++)
		announce(i % 7);
}

/* While others announce: what I announce after I took the seq is told to me. */
static void listen_on(void *arg)
{
	struct eye e;
	int name = *(int *)arg;

	for (int i = 0; i < ROUNDS; i++) {
		begin(&e, name, last());
		if (i & 1)
			topic_watch(topics, &e.x);
		announce(name);
		if (!(i & 1))
			topic_watch(topics, &e.x);
		mutex_lock(&fake.lock);
		while (e.n == 0)
			cond_wait(&fake.changed, &fake.lock);
		mutex_unlock(&fake.lock);
		shut(&e);
	}
}

static void test_races__lose_nothing(void **state)
{
	static int names[3] = {1, 1, 5};
	struct thread talker = {0}, listener[3] = {0};
	atomic_bool stop;

	(void)state;
	atomic_init(&stop, false);
	assert_int_equal(thread_start(&talker, "talk", announce_on, &stop), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(thread_start(&listener[i], "listen", listen_on,
					      &names[i]),
				 0);
	for (int i = 0; i < 3; i++)
		thread_join(&listener[i]);
	atomic_store(&stop, true);
	thread_join(&talker);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_watcher__is_told_of_its_own_topic),
		TEST(test_watcher__is_not_told_of_what_came_before),
		TEST(test_watcher__is_told_once_of_many),
		TEST(test_signal_of_anything__is_enough),
		TEST(test_signal_of_a_task__reads_nothing),
		TEST(test_look__takes_more_than_a_page),
		TEST(test_read__that_fails_is_made_again),
		TEST(test_watcher__that_begins_late_misses_nothing),
		TEST(test_watcher__that_begins_during_a_look_misses_nothing),
		TEST(test_watcher__that_is_the_first_again_misses_nothing),
		TEST(test_callback__may_remove_itself_and_others),
		TEST(test_races__lose_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
