/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/base/clock.h"
#include "server/base/limits.h"
#include "server/base/metrics.h"
#include "tests/unit/store/lib/contract.h"

/* Topics: announcing, reading, sweeping, ringing; written against store.h
 * alone. */

static enum store_answer announce(struct store *s, const char *topic)
{
	struct store_op op;

	store_op_init(&op, STORE_OP_ANNOUNCE, DRAW_MS);
	op.u.announce.topic = topic;
	return must_run(s, &op);
}

static int64_t last(struct store *s)
{
	int64_t seq = -1;

	assert_int_equal(store_topic_last(s, &seq), BIDE_OK);
	return seq;
}

/* The names after @seq as "a b c"; @ret_seq: the last one's. */
static const char *after(struct store *s, int64_t seq, size_t limit,
			 int64_t *ret_seq)
{
	static char text[512];
	struct store_topic *t = NULL;
	size_t n = 0;

	assert_int_equal(store_topics(s, seq, limit, &t, &n), BIDE_OK);
	text[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(text);

		assert_true(t[i].seq > seq);
		seq = t[i].seq;
		snprintf(text + len, sizeof text - len, "%s%s", i ? " " : "",
			 t[i].name);
	}
	store_topics_free(t, n);
	if (ret_seq)
		*ret_seq = seq;
	return text;
}

static void test_announce__is_read_in_order_after_a_seq(void **state)
{
	struct pair *p = *state;
	int64_t seq;

	assert_int_equal(last(p->b), 0);
	assert_string_equal(after(p->b, 0, 10, NULL), "");
	assert_int_equal(announce(p->a, "tools"), STORE_OK);
	seq = last(p->b);
	assert_true(seq > 0);
	announce(p->a, "prompts");
	announce(p->b, "resource:file:///a b");
	assert_string_equal(after(p->a, 0, 10, NULL),
			    "tools prompts resource:file:///a b");
	assert_string_equal(after(p->a, seq, 10, NULL),
			    "prompts resource:file:///a b");
	assert_string_equal(after(p->a, seq, 1, &seq), "prompts");
	assert_string_equal(after(p->a, seq, 1, &seq), "resource:file:///a b");
	assert_int_equal(seq, last(p->a));
	assert_string_equal(after(p->a, seq, 1, NULL), "");
}

static void test_announce__again_is_one_row_that_rose(void **state)
{
	struct pair *p = *state;
	int64_t seq;

	announce(p->a, "tools");
	announce(p->a, "prompts");
	seq = last(p->a);
	for (int i = 0; i < 50; i++)
		announce(i & 1 ? p->a : p->b, "tools");
	assert_string_equal(after(p->a, 0, 10, NULL), "prompts tools");
	assert_string_equal(after(p->a, seq, 10, NULL), "tools");
}

static void test_announce__knows_its_own_effect(void **state)
{
	struct pair *p = *state;
	struct store_op op;
	int64_t seq;

	store_op_init(&op, STORE_OP_ANNOUNCE, DRAW_MS);
	op.u.announce.topic = "tools";
	assert_int_equal(must_run(p->a, &op), STORE_OK);
	seq = last(p->a);
	announce(p->a, "prompts");
	assert_int_equal(must_run(p->b, &op), STORE_SAME);
	assert_string_equal(after(p->a, seq, 10, NULL), "prompts");
	/* Somebody else's meanwhile: told once more does no harm. */
	announce(p->a, "tools");
	assert_int_equal(must_run(p->a, &op), STORE_OK);
	assert_string_equal(after(p->a, 0, 10, NULL), "prompts tools");
}

/* ---- ringing ---- */

struct ear {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	int everything, topics, tasks;
};

static void hear(void *user, enum store_signal what, int64_t task)
{
	struct ear *e = user;

	if (what != STORE_SIGNAL_TASK)
		return;
	pthread_mutex_lock(&e->lock);
	if (task == 0)
		e->everything++;
	else if (task == STORE_TOPICS)
		e->topics++;
	else
		e->tasks++;
	pthread_cond_broadcast(&e->cond);
	pthread_mutex_unlock(&e->lock);
}

static bool heard(struct ear *e, const int *counter, int at_least, int64_t ms)
{
	struct timespec until;
	int rc = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&e->lock);
	while (*counter < at_least && rc == 0)
		rc = pthread_cond_timedwait(&e->cond, &e->lock, &until);
	pthread_mutex_unlock(&e->lock);
	return rc == 0;
}

static void await(struct ear *e, const int *counter, int at_least)
{
	assert_true(heard(e, counter, at_least, 20000));
}

static int read_count(struct ear *e, const int *counter)
{
	int n;

	pthread_mutex_lock(&e->lock);
	n = *counter;
	pthread_mutex_unlock(&e->lock);
	return n;
}

/*
 * Until it has met @s, the other instance rings nobody, and the slow poll says
 * only that something has changed. The rings on their way then come before the
 * last one.
 */
static void meet(struct pair *p, struct store *s, struct ear *e)
{
	int64_t task = make_task(p->a, "met");
	bool met = false;

	store_interest_add(s, STORE_TOPICS);
	store_interest_add(s, task);
	for (int i = 0; i < 100 && !met; i++) {
		announce(p->a, "met");
		met = heard(e, &e->topics, 1, 200);
	}
	assert_true(met);
	cancel_task(p->a, "met", NULL);
	await(e, &e->tasks, 1);
	store_interest_drop(s, STORE_TOPICS);
	store_interest_drop(s, task);
	pthread_mutex_lock(&e->lock);
	e->topics = e->tasks = 0;
	pthread_mutex_unlock(&e->lock);
}

/* An instance that hears, its first look behind it. */
static struct store *listen(struct pair *p, struct ear *e)
{
	static const char *const tools[] = {"t"};
	struct store *s = contract_open(&p->c);

	*e = (struct ear){.lock = PTHREAD_MUTEX_INITIALIZER,
			  .cond = PTHREAD_COND_INITIALIZER};
	store_watch(s, hear, e);
	assert_int_equal(store_join(s, tools, 1, "ear", NULL), BIDE_OK);
	await(e, &e->everything, 1);
	meet(p, s, e);
	return s;
}

static void test_signal__reaches_those_with_an_interest(void **state)
{
	struct pair *p = *state;
	struct ear e;
	struct store *s = listen(p, &e);
	int64_t task = make_task(p->a, "1");

	store_interest_add(s, task);
	announce(p->a, "tools");
	cancel_task(p->a, "1", NULL);
	await(&e, &e.tasks, 1); /* the same bell, later: nothing came before */
	assert_int_equal(read_count(&e, &e.topics), 0);
	store_interest_add(s, STORE_TOPICS);
	announce(p->a, "tools"); /* of another instance */
	await(&e, &e.topics, 1);
	announce(s, "tools"); /* its own */
	await(&e, &e.topics, 2);
	store_interest_drop(s, STORE_TOPICS);
	store_interest_drop(s, task);
	close_quietly(s);
}

/* What an operator's command announces: it has not joined. */
static void test_signal__comes_from_outside_too(void **state)
{
	struct pair *p = *state;
	struct ear e;
	struct store *s = listen(p, &e), *outside = contract_open(&p->c);
	int before = read_count(&e, &e.everything);

	store_interest_add(s, STORE_TOPICS);
	announce(outside, "resources");
	await(&e, &e.everything, before + 1);
	assert_string_equal(after(s, 0, 10, NULL), "met resources");
	store_interest_drop(s, STORE_TOPICS);
	store_close(outside, 1000);
	close_quietly(s);
}

#define FLOOD 1000

struct flood {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	int done;
};

static void one_done(struct store_op *op, void *user)
{
	struct flood *f = user;

	(void)op;
	pthread_mutex_lock(&f->lock);
	f->done++;
	pthread_cond_signal(&f->cond);
	pthread_mutex_unlock(&f->lock);
}

/* Many at once are few commits, and each rings once, whatever is between. */
static void test_signal__is_one_a_commit(void **state)
{
	static struct store_op ops[2 * FLOOD];
	static char names[FLOOD][16];
	struct pair *p = *state;
	struct ear e;
	struct store *s = listen(p, &e);
	struct flood f = {.lock = PTHREAD_MUTEX_INITIALIZER,
			  .cond = PTHREAD_COND_INITIALIZER};
	int64_t bells, commits;

	store_interest_add(s, STORE_TOPICS);
	bells = metric_get(METRIC_STORE_BELLS_SENT);
	commits = metric_get(METRIC_STORE_COMMITS);
	for (int i = 0; i < FLOOD; i++)
		snprintf(names[i], sizeof names[i], "t%d", i);
	for (int i = 0; i < 2 * FLOOD; i++) {
		store_op_init(&ops[i],
			      i & 1 ? STORE_OP_CANCEL : STORE_OP_ANNOUNCE,
			      60000);
		if (i & 1)
			ops[i].u.cancel.token = "none";
		else
			ops[i].u.announce.topic = names[i / 2];
		ops[i].done = one_done;
		ops[i].user = &f;
		store_submit(p->a, &ops[i]);
	}
	pthread_mutex_lock(&f.lock);
	while (f.done < 2 * FLOOD)
		pthread_cond_wait(&f.cond, &f.lock);
	pthread_mutex_unlock(&f.lock);
	bells = metric_get(METRIC_STORE_BELLS_SENT) - bells;
	commits = metric_get(METRIC_STORE_COMMITS) - commits;
	print_message("%d announcements: %lld commits, %lld bells\n", FLOOD,
		      (long long)commits, (long long)bells);
	assert_true(bells <= commits);
	await(&e, &e.topics, 1);
	store_interest_drop(s, STORE_TOPICS);
	close_quietly(s);
}

/* ---- sweeping ---- */

/* Set up before there are threads, which it moves the clock under. */
static int clock_fd = -1;

static int use_clock(void)
{
	const char *tmp = getenv("TMPDIR");
	char path[256];
	int64_t ahead = 0;
	int err = -1;

	snprintf(path, sizeof path, "%s/bide-clock-XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	clock_fd = mkstemp(path);
	if (clock_fd >= 0 &&
	    pwrite(clock_fd, &ahead, sizeof ahead, 0) == sizeof ahead)
		err = clock_use_file(path);
	unlink(path);
	return err;
}

static void forward(int64_t ms)
{
	assert_int_equal(pwrite(clock_fd, &ms, sizeof ms, 0), sizeof ms);
}

/* The last one of all, for it moves the clock. */
static void test_sweep__removes_what_is_old(void **state)
{
	struct pair *p = *state;
	int64_t seq;

	announce(p->a, "tools");
	announce(p->a, "prompts");
	assert_int_equal(sweep(p->a, STORE_SWEEP_TOPICS), 0);
	forward(LIMIT_TOPIC_MS + 1000);
	announce(p->a, "tools");
	announce(p->a, "resources");
	assert_int_equal(sweep(p->a, STORE_SWEEP_TOPICS), 1);
	assert_string_equal(after(p->a, 0, 10, NULL), "tools resources");
	seq = last(p->a);
	forward(2 * (int64_t)LIMIT_TOPIC_MS + 2000);
	assert_int_equal(sweep(p->a, STORE_SWEEP_TOPICS), 2);
	assert_string_equal(after(p->a, 0, 10, NULL), "");
	/* Numbers never come again: who saw @seq misses nothing. */
	announce(p->a, "tools");
	assert_string_equal(after(p->a, seq, 10, NULL), "tools");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pair_test(test_announce__is_read_in_order_after_a_seq),
		pair_test(test_announce__again_is_one_row_that_rose),
		pair_test(test_announce__knows_its_own_effect),
		pair_test(test_signal__reaches_those_with_an_interest),
		pair_test(test_signal__comes_from_outside_too),
		pair_test(test_signal__is_one_a_commit),
		pair_test(test_sweep__removes_what_is_old),
	};

	if (use_clock()) {
		perror("test clock");
		return 99;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
