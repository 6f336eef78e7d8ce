/* SPDX-License-Identifier: MIT */
/*
 * The strictest client: it has one connection and keeps it, times a request
 * out after 60 s, gives up at a call's third round that asks nothing, takes a
 * result without inputRequests for the final one, and never answers a key
 * twice (docs/design.md, section 2; docs/conformance.md: F26, F30). Its time is
 * the servers', which the test moves; what it does with its connection is in
 * connection.c.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/e2e/lib/pair.h"
#include "tests/e2e/lib/probe.h"
#include "tests/e2e/lib/raw.h"

#define SECOND_MS   1000
#define MINUTE_MS   60000
#define TIMEOUT_MS  60000 /* of one of its requests */
#define STATE_ONLY  3     /* at so many of a call it gives up */
#define ROUNDS      10    /* and at so many of any kind */
#define HARNESS_MS  60000 /* nothing takes as long as this */
#define GRACE_MS    120000
#define ONE_WAITS   "task WHERE state = 3 AND waiters = 1"
#define NOBODY_ELSE "task WHERE state < 4 AND waiters > 0"

static int setup(void **state)
{
	(void)state;
	pair_clock();
	return 0;
}

static struct server *start(const char *option, const char *value)
{
	const char *const args[] = {option, value, NULL};

	(void)pair_one(args);
	return one;
}

/* ---- the client ---- */
struct strict {
	struct ask a;
	const struct server *at;
	struct raw conn;
	const char *gave_up; /* why; NULL: it did not */
	json_t *answered;    /* the keys that it has answered */
	int state_only;      /* rounds of this call that asked nothing */
	int rounds;          /* of this call */
};

static struct strict strict_client(const struct server *v)
{
	return (struct strict){
		.at = v, .conn = {.fd = -1}, .answered = json_object()};
}

/* Of two servers, at the first. */
static struct strict strict_at_one(void)
{
	(void)pair_both(NULL);
	return strict_client(one);
}

static void strict_end(struct strict *s)
{
	raw_close(&s->conn);
	json_decref(s->answered);
}

static struct reply *give_up(struct strict *s, struct reply *r, const char *why)
{
	s->gave_up = why;
	reply_free(r);
	return NULL;
}

static void strict_send(struct strict *s, const char *method, const char *name,
			json_t *params)
{
	const struct shape odd = {.odd_case = true};
	char *text;

	s->a.url = s->at->url;
	text = raw_request(&s->a, method, name, params, &odd);
	if (s->conn.last)
		raw_close(&s->conn);
	if (s->conn.fd < 0)
		raw_open(&s->conn, s->a.url);
	raw_send(&s->conn, text);
	free(text);
}

/* Until the request is answered, or its task sleeps and it waits: in the
 * database, and on its instance. */
static bool waits(struct strict *s)
{
	for (int ms = 0; ms < HARNESS_MS; ms += 2) {
		if (raw_readable(&s->conn, 2))
			return false;
		if (probe_rows(scratch->db, ONE_WAITS) == 1 &&
		    probe_metric(s->at, "bide_waiters") > 0)
			return true;
	}
	fail_msg("neither an answer nor a wait");
	return false;
}

/*
 * One request. While it waits the clock goes on, to a second before its
 * time-out and in one move: by then it must be answered. Nobody else's request
 * is on the wire, so no other deadline moves along.
 */
static struct reply *one_round(struct strict *s, const char *name, json_t *args,
			       const struct reply *before, json_t *answers)
{
	json_t *p = json_pack("{s:s,s:O}", "name", name, "arguments", args);

	if (before != NULL)
		(void)json_object_set_new(p, "requestState",
					  json_string(state_of(before)));
	if (answers != NULL)
		(void)json_object_set_new(p, "inputResponses", answers);
	/* The last one's leave is written after its answer. */
	assert_true(probe_await_rows(scratch->db, NOBODY_ELSE, 0));
	strict_send(s, "tools/call", name, p);
	if (waits(s))
		testclock_forward(the_clock, TIMEOUT_MS - SECOND_MS);
	return raw_reply(&s->conn, "tools/call");
}

static json_t *answer_of(const char *key)
{
	/* The first answer does not fit its form: it is asked again. */
	if (strcmp(key, "approval") == 0)
		return json_pack("{s:s,s:{s:s}}", "action", "accept", "content",
				 "ok", "certainly");
	return json_pack("{s:s,s:{s:b}}", "action", "accept", "content", "ok",
			 1);
}

/* NULL: it was asked what it has answered. */
static json_t *answers_to(struct strict *s, const json_t *requests)
{
	json_t *all = json_object();
	const char *key;
	json_t *v;

	json_object_foreach ((json_t *)requests, key, v) {
		if (json_object_get(s->answered, key) != NULL) {
			json_decref(all);
			return NULL;
		}
		(void)json_object_set_new(s->answered, key, json_true());
		(void)json_object_set_new(all, key, answer_of(key));
	}
	return all;
}

/* A call through the rounds that are left. @r: stolen. NULL: it gave up. */
static struct reply *go_on(struct strict *s, const char *name, json_t *args,
			   struct reply *r)
{
	while (r != NULL) {
		const json_t *requests =
			json_object_get(result(r), "inputRequests");
		json_t *answers;
		struct reply *next;

		if (requests == NULL)
			return r;
		s->state_only += json_object_size(requests) == 0;
		if (s->state_only == STATE_ONLY)
			return give_up(s, r, "a third round asked nothing");
		if (++s->rounds > ROUNDS)
			return give_up(s, r, "too many rounds");
		answers = answers_to(s, requests);
		if (answers == NULL)
			return give_up(s, r, "a key was asked twice");
		next = one_round(s, name, args, r, answers);
		reply_free(r);
		r = next;
	}
	return give_up(s, r, "the connection closed");
}

static struct reply *strict_call(struct strict *s, const char *name,
				 json_t *args)
{
	s->state_only = s->rounds = 0;
	return go_on(s, name, args, one_round(s, name, args, NULL, NULL));
}

static json_t *handle_in(const struct reply *r)
{
	const json_t *s = json_object_get(result(r), "structuredContent");

	return json_pack("{s:O*}", "handle", json_object_get(s, "handle"));
}

/*
 * What a model does with a client of this kind: it calls the tool, and where
 * the result names a handle, wait_for_task, as often as it takes. @ret_calls:
 * how often that was.
 */
static struct reply *see_it_through(struct strict *s, const char *name,
				    json_t *args, int *ret_calls)
{
	struct reply *r = strict_call(s, name, args);
	json_t *handle = r != NULL ? handle_in(r) : json_object();

	*ret_calls = 0;
	while (r != NULL && json_object_size(handle) > 0 &&
	       strstr(result_text(r), "wait_for_task") != NULL) {
		assert_string_equal(result_type(r), "complete");
		assert_true(++*ret_calls <= 10);
		reply_free(r);
		r = strict_call(s, "wait_for_task", handle);
	}
	json_decref(handle);
	if (r == NULL)
		fail_msg("it gave up: %s", s->gave_up);
	return r;
}

/* ---- patience ---- */

/* Each request was answered within its 60 s, on one connection. */
static void test_ten_minutes__are_had_by_wait_for_task(void **unused)
{
	struct server *v = start(NULL, NULL);
	struct strict s = strict_client(v);
	json_t *args = json_pack("{s:i}", "ms", 10 * MINUTE_MS);
	int calls = 0;
	struct reply *r = see_it_through(&s, "long_nap", args, &calls);

	(void)unused;
	assert_string_equal(result_text(r), "rested");
	assert_true(calls > 0);
	assert_int_equal(s.conn.opened, 1);
	assert_int_equal(effects(" lie down"), 1);
	assert_int_equal(effects(" get up"), 1);
	(void)printf("%d calls of wait_for_task\n", calls);
	reply_free(r);
	json_decref(args);
	strict_end(&s);
}

/* The question comes while it waits by its handle; an answer that does not fit
 * is asked for again under another key. Wherever among the rounds that ask
 * nothing it comes, they are never too many. */
static void question_after(json_int_t ms)
{
	struct server *v = start(NULL, NULL);
	struct strict s = strict_client(v);
	json_t *args = json_pack("{s:I}", "ms", ms);
	size_t asked_before = effects("asked");
	size_t approved_before = effects("approved");
	int calls = 0;
	struct reply *r = see_it_through(&s, "long_approval", args, &calls);

	assert_string_equal(result_text(r), "approved");
	assert_true(calls > 0);
	assert_int_equal(json_object_size(s.answered), 2);
	assert_non_null(json_object_get(s.answered, "approval~2"));
	assert_int_equal(effects("asked"), asked_before + 1);
	assert_int_equal(effects("approved"), approved_before + 1);
	reply_free(r);
	json_decref(args);
	strict_end(&s);
}

static void test_question__comes_to_who_waits_for_a_task(void **unused)
{
	(void)unused;
	for (json_int_t ms = 100 * SECOND_MS; ms < 300 * SECOND_MS;
	     ms += 50 * SECOND_MS)
		question_after(ms);
}

/* And it is as strict as that: where no tool waits for tasks, it gives up. */
static void test_rounds__without_end_are_given_up(void **unused)
{
	struct server *v = start("--wait-for-task", "false");
	struct strict s = strict_client(v);
	json_t *args = json_pack("{s:i}", "ms", 10 * MINUTE_MS);

	(void)unused;
	assert_null(strict_call(&s, "long_nap", args));
	assert_string_equal(s.gave_up, "a third round asked nothing");
	json_decref(args);
	strict_end(&s);
}

/* ---- time-outs ---- */

/*
 * A budget longer than the client's time-out: it has no handle when it closes.
 * It asks again under the same key, with another id, and gets the same task,
 * which has gone on meanwhile.
 */
static void test_timeout__is_followed_by_the_same_request(void **unused)
{
	struct server *v = start("--wait-budget", "90000");
	struct strict s = strict_client(v);
	json_t *args = json_pack("{s:i}", "ms", 80 * SECOND_MS);
	struct reply *r;

	(void)unused;
	s.a.idem = "timed-out";
	strict_send(
		&s, "tools/call", "long_nap",
		json_pack("{s:s,s:O}", "name", "long_nap", "arguments", args));
	assert_true(waits(&s));
	testclock_forward(the_clock, TIMEOUT_MS);
	raw_close(&s.conn);
	assert_true(probe_await_rows(
		scratch->db, "task WHERE state = 3 AND waiters = 0", 1));
	r = one_round(&s, "long_nap", args, NULL, NULL);
	assert_string_equal(result_text(r), "rested");
	assert_int_equal(effects(" lie down"), 1);
	assert_int_equal(effects(" get up"), 1);
	assert_int_equal(probe_rows(scratch->db, "task"), 1);
	reply_free(r);
	json_decref(args);
	strict_end(&s);
}

/* ---- a restart ---- */

/* An instance that stops gives it a round, whole, and says that it closes. */
static void test_restart__is_a_round_like_any(void **unused)
{
	struct strict s = strict_at_one();
	json_t *args = json_pack("{s:i}", "ms", 40 * SECOND_MS);
	struct reply *r;

	(void)unused;
	strict_send(
		&s, "tools/call", "long_nap",
		json_pack("{s:s,s:O}", "name", "long_nap", "arguments", args));
	assert_true(waits(&s));
	server_kill(one, SIGTERM);
	r = raw_reply(&s.conn, "tools/call");
	assert_non_null(r);
	assert_true(s.conn.last);
	s.at = two;
	r = go_on(&s, "long_nap", args, r);
	assert_string_equal(result_text(r), "rested");
	assert_int_equal(effects(" get up"), 1);
	assert_int_equal(s.conn.opened, 2);
	reply_free(r);
	json_decref(args);
	strict_end(&s);
}

/* A round of a restart counts as any: where it would be the third, the call
 * detaches. */
static void test_restart__is_no_third_round(void **unused)
{
	struct strict s = strict_at_one();
	json_t *args = json_pack("{s:i}", "ms", 4 * MINUTE_MS);
	struct reply *r = one_round(&s, "long_nap", args, NULL, NULL);
	struct reply *second =
		one_round(&s, "long_nap", args, r, json_object());
	json_t *handle;
	int calls = 0;

	(void)unused;
	assert_string_equal(result_type(second), "input_required");
	strict_send(&s, "tools/call", "long_nap",
		    json_pack("{s:s,s:O,s:s}", "name", "long_nap", "arguments",
			      args, "requestState", state_of(second)));
	reply_free(r);
	reply_free(second);
	assert_true(waits(&s));
	server_kill(one, SIGTERM);
	r = raw_reply(&s.conn, "tools/call");
	assert_non_null(r);
	handle = handle_in(r);
	assert_int_equal(json_object_size(handle), 1);
	reply_free(r);
	s.at = two;
	r = see_it_through(&s, "wait_for_task", handle, &calls);
	assert_string_equal(result_text(r), "rested");
	reply_free(r);
	json_decref(handle);
	json_decref(args);
	strict_end(&s);
}

/* ---- the tasks extension ---- */
static struct reply *task_round(struct strict *s, const char *method,
				const char *task, json_t *answers)
{
	json_t *p = json_pack("{s:s}", "taskId", task);

	if (answers != NULL)
		(void)json_object_set_new(p, "inputResponses", answers);
	strict_send(s, method, task, p);
	return raw_reply(&s->conn, method);
}

/*
 * It polls, and answers what it is asked and has not answered yet: an answered
 * key is never listed again, and what did not fit has another.
 */
static void test_tasks__no_key_is_asked_twice(void **unused)
{
	struct server *v = start(NULL, NULL);
	struct strict s = strict_client(v);
	struct reply *r;
	char *task;

	(void)unused;
	s.a.can = CAN_TASKS;
	strict_send(&s, "tools/call", "approve",
		    json_pack("{s:s}", "name", "approve"));
	r = raw_reply(&s.conn, "tools/call");
	task = strdup(task_id(r));
	for (;;) {
		json_t *answers;

		reply_free(r);
		r = task_round(&s, "tasks/get", task, NULL);
		if (strcmp(task_status(r), "working") == 0)
			continue;
		if (strcmp(task_status(r), "input_required") != 0)
			break;
		answers = answers_to(
			&s, json_object_get(result(r), "inputRequests"));
		if (answers == NULL)
			fail_msg("asked twice: %s", r->raw);
		reply_free(task_round(&s, "tasks/update", task, answers));
	}
	assert_string_equal(task_status(r), "completed");
	assert_non_null(strstr(r->raw, "approved: yes"));
	assert_int_equal(json_object_size(s.answered), 2);
	assert_int_equal(s.conn.opened, 1);
	reply_free(r);
	free(task);
	strict_end(&s);
}

#define STRICT(test) cmocka_unit_test_setup_teardown(test, setup, pair_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STRICT(test_ten_minutes__are_had_by_wait_for_task),
		STRICT(test_question__comes_to_who_waits_for_a_task),
		STRICT(test_rounds__without_end_are_given_up),
		STRICT(test_timeout__is_followed_by_the_same_request),
		STRICT(test_restart__is_a_round_like_any),
		STRICT(test_restart__is_no_third_round),
		STRICT(test_tasks__no_key_is_asked_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
