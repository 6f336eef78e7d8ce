/* SPDX-License-Identifier: MIT */
/*
 * Hours in seconds: servers on a clock that the test moves. The clock is moved
 * only when nothing is on the wire (everybody waits, or nobody is there), for
 * the servers' deadlines move with it. F18, F19, F26, F50; docs/design.md,
 * "Tasks in the store", rules 3, 9, 13.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tests/e2e/lib/pair.h"
#include "tests/e2e/lib/probe.h"

#define SECOND_MS 1000
#define MINUTE_MS 60000
#define HOUR_MS   3600000
#define BUDGET_MS 45000 /* the default of a request's wait */

static int setup(void **state)
{
	(void)state;
	pair_clock();
	return pair_both(NULL);
}

static void forward(int64_t ms)
{
	testclock_forward(the_clock, ms);
}

static struct ask tasks_of(const struct server *v)
{
	return (struct ask){.url = v->url, .can = CAN_TASKS};
}

/* ---- F26: a client with little patience ---- */
struct patient {
	struct ask a;
	const char *tool_name;
	json_t *args;
	const char *state; /* NULL: the first round */
	struct reply *reply;
	atomic_bool over;
};

static void *call(void *arg)
{
	struct patient *p = arg;

	p->reply = again(&p->a, p->tool_name, json_incref(p->args), p->state,
			 NULL);
	atomic_store(&p->over, true);
	return NULL;
}

static bool waits(const struct server *v, struct patient *p)
{
	const struct timespec nap = {0, 2 * 1000 * 1000};

	while (!atomic_load(&p->over)) {
		if (probe_metric(v, "bide_waiters") > 0)
			return true;
		(void)nanosleep(&nap, NULL);
	}
	return false;
}

/*
 * One request, which waits: once it does, and its task sleeps, the clock goes
 * on by @ms. Or it is answered at once. When the task has been parked, the
 * callback of its creation, in which the first request begins to wait, has
 * run; later requests begin on the thread that also serves the metrics.
 */
static struct reply *wait_round(struct server *v, const char *tool_name,
				json_t *args, const char *state, int64_t ms)
{
	struct patient p = {.a = {.url = v->url},
			    .tool_name = tool_name,
			    .args = args,
			    .state = state};
	size_t down = effects(" lie down");
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, call, &p), 0);
	if (waits(v, &p)) {
		if (state == NULL && strcmp(tool_name, "long_nap") == 0)
			assert_true(become_effects(" lie down", down + 1));
		assert_true(probe_await_rows(scratch->db,
					     "task WHERE state < 3", 0));
		forward(ms);
	}
	(void)pthread_join(t, NULL);
	assert_true(probe_await_most(v, "bide_waiters", 0));
	return p.reply;
}

/* Work of a minute: two rounds, well within ten, and the result. */
static void test_work_of_a_minute__is_had_in_two_rounds(void **unused)
{
	json_t *args = json_pack("{s:i}", "ms", 60 * SECOND_MS);
	size_t had = effects(" get up");
	struct reply *r =
		wait_round(one, "long_nap", args, NULL, BUDGET_MS + 1);
	struct reply *t;

	(void)unused;
	assert_string_equal(result_type(r), "input_required");
	assert_int_equal(asked_count(r), 0);
	t = wait_round(two, "long_nap", args, state_of(r),
		       60 * SECOND_MS - BUDGET_MS);
	assert_string_equal(result_text(t), "rested");
	assert_int_equal(effects(" get up"), had + 1);
	reply_free(r);
	reply_free(t);
	json_decref(args);
}

static char *handle_in(const struct reply *r)
{
	const json_t *s = json_object_get(result(r), "structuredContent");
	const char *h = json_string_value(json_object_get(s, "handle"));

	return h != NULL ? strdup(h) : NULL;
}

/* Rounds as an automatic client makes them until it has a result. */
static struct reply *rounds_until_complete(const char *tool_name, json_t *args,
					   int *ret_rounds)
{
	struct reply *r = wait_round(one, tool_name, args, NULL, BUDGET_MS + 1);
	struct reply *t;

	*ret_rounds = 0;
	while (strcmp(result_type(r), "input_required") == 0) {
		assert_true(++*ret_rounds <= 10);
		t = wait_round(*ret_rounds % 2 ? two : one, tool_name, args,
			       state_of(r), BUDGET_MS + 1);
		reply_free(r);
		r = t;
	}
	return r;
}

/*
 * Work of ten minutes, for a client that gives up after three rounds and for
 * one that does after ten: it detaches within three, and wait_for_task brings
 * the result, as often as it takes.
 */
static void test_work_of_ten_minutes__detaches(void **unused)
{
	json_t *args = json_pack("{s:i}", "ms", 10 * MINUTE_MS);
	size_t had = effects(" get up");
	int rounds = 0;
	struct reply *r = rounds_until_complete("long_nap", args, &rounds);
	char *handle = handle_in(r);
	json_t *wait = json_pack("{s:s}", "handle", handle);
	int calls = 0;

	(void)unused;
	assert_true(rounds <= 3);
	assert_non_null(handle);
	while (strcmp(result_text(r), "rested") != 0) {
		assert_true(++calls <= 20);
		reply_free(r);
		r = rounds_until_complete("wait_for_task", wait, &rounds);
		assert_true(rounds <= 3);
	}
	(void)printf("detached; %d calls of wait_for_task\n", calls);
	assert_int_equal(effects(" get up"), had + 1);
	reply_free(r);
	free(handle);
	json_decref(wait);
	json_decref(args);
}

/* ---- deadlines, TTLs, retention ---- */
/* That its handle was delivered is written after the reply: until then a jump
 * of the clock makes it one that nobody heard of. */
static char *new_task(const struct ask *a, const char *name, json_t *args)
{
	struct reply *r = tool(a, name, args);
	char *id = strdup(task_id(r));
	char undelivered[128];

	assert_true(*id != '\0');
	reply_free(r);
	(void)snprintf(undelivered, sizeof(undelivered),
		       "task WHERE token = '%s' AND abandon_at IS NOT NULL",
		       id);
	assert_true(probe_await_rows(scratch->db, undelivered, 0));
	return id;
}

static char *new_question(const struct ask *a)
{
	char *id = new_task(a, "approve", json_object());
	struct reply *r = task_await(a, id, "input_required");

	assert_non_null(r);
	reply_free(r);
	return id;
}

static void assert_status(const struct ask *a, const char *id, const char *is)
{
	struct reply *r = task_do(a, "tasks/get", id, NULL);

	assert_string_equal(task_status(r), is);
	reply_free(r);
}

static const char *text_of_task(const struct reply *r)
{
	const json_t *c = json_object_get(json_object_get(result(r), "result"),
					  "content");

	return json_string_value(json_object_get(json_array_get(c, 0), "text"));
}

/* A question lives for 24 hours; then the handler decides. */
static void test_question__has_a_day(void **unused)
{
	struct ask a = tasks_of(one);
	struct ask b = tasks_of(two);
	char *answered = new_question(&a);
	char *left = new_question(&a);
	struct reply *r;

	(void)unused;
	forward(23 * HOUR_MS);
	assert_status(&b, left, "input_required");
	reply_free(task_do(&b, "tasks/update", answered,
			   accept_bool("approval", "ok", true)));
	r = task_await(&a, answered, "completed");
	assert_non_null(r);
	assert_string_equal(text_of_task(r), "approved: yes");
	reply_free(r);
	forward(HOUR_MS + SECOND_MS);
	r = task_await(&a, left, "completed");
	assert_non_null(r);
	assert_string_equal(text_of_task(r), "timed out by user");
	reply_free(r);
	free(answered);
	free(left);
}

/* F18, F19: no default TTL ends a task; retention counts from its end, and
 * what is announced is what happens. */
static void test_retention__counts_from_the_end(void **unused)
{
	struct ask a = tasks_of(one);
	char *id = new_question(&a);
	struct reply *r = task_do(&a, "tasks/get", id, NULL);
	int64_t ttl;

	(void)unused;
	assert_true(json_is_null(json_object_get(result(r), "ttlMs")));
	reply_free(r);
	forward(10 * HOUR_MS);
	reply_free(task_do(&a, "tasks/update", id,
			   accept_bool("approval", "ok", false)));
	r = task_await(&a, id, "completed");
	assert_non_null(r);
	ttl = json_integer_value(json_object_get(result(r), "ttlMs"));
	/* its age and the retention */
	assert_true(ttl >= 11 * HOUR_MS && ttl < 11 * HOUR_MS + MINUTE_MS);
	reply_free(r);
	forward(59 * MINUTE_MS);
	r = task_await(&a, id, "completed");
	assert_non_null(r);
	assert_string_equal(text_of_task(r), "approved: no");
	reply_free(r);
	forward(2 * MINUTE_MS);
	for (;;) {
		r = task_do(&a, "tasks/get", id, NULL);
		if (error_code(r) != 0)
			break;
		reply_free(r);
	}
	assert_int_equal(error_code(r), -32602);
	reply_free(r);
	free(id);
}

/* F19: a TTL that is announced is kept. */
static void test_ttl__is_enforced(void **unused)
{
	struct ask a = tasks_of(one);
	char *id = new_task(&a, "short_lived", json_object());
	struct reply *r;

	(void)unused;
	forward(2 * SECOND_MS);
	r = task_await(&a, id, "failed");
	assert_non_null(r);
	reply_free(r);
	free(id);
}

/* ---- a jump for all ---- */

/*
 * F50: an hour at once, as after a suspend. What has no timer stays as it
 * was; what was due fires, once.
 */
static void test_jump__ends_nothing_and_fires_once(void **unused)
{
	enum { N = 40 };
	struct ask a = tasks_of(one);
	struct ask b = tasks_of(two);
	char *quiet[N];
	char *napping[N];
	size_t down = effects(" lie down");
	size_t up = effects(" get up");
	struct reply *r;

	(void)unused;
	for (int i = 0; i < N; i++) {
		quiet[i] = new_question(i % 2 ? &a : &b);
		napping[i] = new_task(i % 2 ? &b : &a, "long_nap",
				      json_pack("{s:i}", "ms", 30 * MINUTE_MS));
	}
	assert_true(become_effects(" lie down", down + N));
	assert_true(probe_await_rows(scratch->db, "task WHERE state < 3", 0));
	forward(HOUR_MS);
	for (int i = 0; i < N; i++) {
		r = task_await(&a, napping[i], "completed");
		assert_non_null(r);
		reply_free(r);
	}
	for (int i = 0; i < N; i++)
		assert_status(&b, quiet[i], "input_required");
	assert_int_equal(effects(" lie down"), down + N);
	assert_int_equal(effects(" get up"), up + N);
	for (int i = 0; i < N; i++) {
		reply_free(task_do(&a, "tasks/cancel", quiet[i], NULL));
		free(quiet[i]);
		free(napping[i]);
	}
}

/*
 * Rule 3: the clock jumps over every lease while handlers run. Each instance
 * finds the other silent, and itself late; a reaper that was late does not
 * reap. Each handler is entered once and its result stands.
 */
static void test_jump__takes_no_lease_from_the_living(void **unused)
{
	const struct timespec nap = {0, 25 * 1000 * 1000};
	struct ask a = tasks_of(one);
	struct ask b = tasks_of(two);
	size_t begun = effects(" begin");
	double reaped = probe_metric(one, "bide_peers_reaped_total") +
			probe_metric(two, "bide_peers_reaped_total");
	char *ids[6];
	struct reply *r;

	(void)unused;
	for (int i = 0; i < 6; i++)
		ids[i] = new_task(i % 2 ? &a : &b, "busy",
				  json_pack("{s:i}", "ms", 1500));
	assert_true(become_effects(" begin", begun + 6));
	/* in all less than what has ended is kept */
	for (int i = 0; i < 20; i++) {
		forward(2 * MINUTE_MS);
		/* their watches wake every 5 ms: each finds this jump */
		(void)nanosleep(&nap, NULL);
	}
	for (int i = 0; i < 6; i++) {
		r = task_await(&a, ids[i], "completed");
		assert_non_null(r);
		assert_string_equal(text_of_task(r), "done");
		reply_free(r);
		free(ids[i]);
	}
	assert_int_equal(effects(" begin"), begun + 6);
	assert_true(probe_metric(one, "bide_peers_reaped_total") +
			    probe_metric(two, "bide_peers_reaped_total") ==
		    reaped);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_work_of_a_minute__is_had_in_two_rounds),
		cmocka_unit_test(test_work_of_ten_minutes__detaches),
		cmocka_unit_test(test_question__has_a_day),
		cmocka_unit_test(test_retention__counts_from_the_end),
		cmocka_unit_test(test_ttl__is_enforced),
		cmocka_unit_test(test_jump__ends_nothing_and_fires_once),
		cmocka_unit_test(test_jump__takes_no_lease_from_the_living),
	};

	return cmocka_run_group_tests(tests, setup, pair_end);
}
