/* SPDX-License-Identifier: MIT */
/*
 * The tasks extension over real HTTP, two instances on one database.
 * docs/conformance.md: S40 to S50, S52 to S55; F11, F16 to F24, F29, F32, F34.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tests/e2e/lib/pair.h"

#define NO_TASK (-32602)

static const char *const identity[] = {"--test-identity", "--sweep-interval",
				       "50", NULL};

static int setup(void **state)
{
	(void)state;
	return pair_both(identity);
}

/* Creates a task; its id in @id. */
static void create(struct ask *a, const char *name, json_t *args, char *id)
{
	struct reply *r = tool(a, name, args);

	assert_int_equal(r->status, 200);
	assert_string_equal(result_type(r), "task");
	(void)snprintf(id, 64, "%s", task_id(r));
	assert_true(strlen(id) >= 22);
	/* the flat shape; nothing of its end or its questions */
	assert_null(json_object_get(result(r), "result"));
	assert_null(json_object_get(result(r), "error"));
	assert_null(json_object_get(result(r), "inputRequests"));
	assert_null(json_object_get(result(r), "requestState"));
	assert_non_null(json_object_get(result(r), "ttlMs"));
	assert_non_null(json_object_get(result(r), "createdAt"));
	assert_non_null(json_object_get(result(r), "lastUpdatedAt"));
	reply_free(r);
}

static struct reply *await(struct ask *a, const char *id, const char *status)
{
	struct reply *r = task_await(a, id, status);

	if (r == NULL)
		fail_msg("%s never became %s", id, status);
	/* S40, S41: tasks/get is "complete", whatever the task is */
	assert_string_equal(result_type(r), "complete");
	assert_null(json_object_get(result(r), "requestState"));
	return r;
}

static const json_t *member(const struct reply *r, const char *name)
{
	return json_object_get(result(r), name);
}

static void test_task__runs_and_keeps_its_result(void **unused)
{
	struct ask a = as_tasks(one, "alice");
	struct ask b = as_tasks(two, "alice");
	char id[64];
	struct reply *r;

	(void)unused;
	create(&a, "two_step", NULL, id);
	r = await(&b, id, "completed");
	/* S45: exactly what the plain call would give */
	assert_string_equal(
		json_string_value(json_object_get(
			json_array_get(
				json_object_get(member(r, "result"), "content"),
				0),
			"text")),
		"two steps done");
	assert_true(json_integer_value(member(r, "ttlMs")) > 0);
	reply_free(r);
}

static void test_task__error_result_is_completed(void **unused)
{
	struct ask a = as_tasks(one, "alice");
	char id[64];
	struct reply *r;

	(void)unused;
	create(&a, "failing_job", NULL, id);
	r = await(&a, id, "completed");
	assert_true(
		json_is_true(json_object_get(member(r, "result"), "isError")));
	reply_free(r);
	create(&a, "protocol_error_job", NULL, id);
	r = await(&a, id, "failed");
	assert_int_equal(
		json_integer_value(json_object_get(member(r, "error"), "code")),
		-32603);
	assert_null(member(r, "result"));
	reply_free(r);
}

/* S43, S44; F16: partial answers, and the very next tasks/get shows it. */
static void test_questions__partial_answers_count_at_once(void **unused)
{
	struct ask a = as_tasks(one, "alice");
	struct ask b = as_tasks(two, "alice");
	char id[64];
	struct reply *r;

	(void)unused;
	create(&a, "multi_input", NULL, id);
	r = await(&a, id, "input_required");
	assert_int_equal(asked_count(r), 2);
	reply_free(r);
	r = task_do(&b, "tasks/update", id,
		    accept_string("first", "name", "Ada"));
	assert_string_equal(result_type(r), "complete");
	/* S55: an empty acknowledgement */
	assert_null(member(r, "status"));
	assert_null(member(r, "taskId"));
	reply_free(r);
	r = task_do(&b, "tasks/get", id, NULL);
	assert_string_equal(task_status(r), "input_required");
	assert_int_equal(asked_count(r), 1);
	assert_non_null(asked(r, "second"));
	reply_free(r);
	reply_free(task_do(&a, "tasks/update", id,
			   accept_string("second", "name", "Bo")));
	r = await(&b, id, "completed");
	assert_non_null(strstr(r->raw, "Ada and Bo"));
	reply_free(r);
}

/* F11; S43: a misfit is asked again under a new key, the rest is kept. */
static void test_questions__misfit_gets_a_new_key(void **unused)
{
	struct ask a = as_tasks(one, "alice");
	char id[64];
	struct reply *r;
	json_t *answers;

	(void)unused;
	create(&a, "multi_input", NULL, id);
	reply_free(await(&a, id, "input_required"));
	answers = accept_string("first", "name", "Ada");
	(void)json_object_set_new(answers, "second",
				  json_pack("{s:s,s:{s:i}}", "action", "accept",
					    "content", "name", 7));
	reply_free(task_do(&a, "tasks/update", id, answers));
	r = task_do(&a, "tasks/get", id, NULL);
	assert_string_equal(task_status(r), "input_required");
	assert_int_equal(asked_count(r), 1);
	assert_non_null(asked(r, "second~2"));
	reply_free(r);
	/* the old key counts no more */
	reply_free(task_do(&a, "tasks/update", id,
			   accept_string("second", "name", "old")));
	r = task_do(&a, "tasks/get", id, NULL);
	assert_string_equal(task_status(r), "input_required");
	reply_free(r);
	reply_free(task_do(&a, "tasks/update", id,
			   accept_string("second~2", "name", "Bo")));
	r = await(&a, id, "completed");
	assert_non_null(strstr(r->raw, "Ada and Bo"));
	reply_free(r);
}

/* F17: an answer to a question never asked: acknowledged, no effect. */
static void test_update__unknown_key_has_no_effect(void **unused)
{
	struct ask a = as_tasks(one, "alice");
	char id[64];
	struct reply *r;

	(void)unused;
	create(&a, "confirm_delete", json_pack("{s:s}", "filename", "f"), id);
	reply_free(await(&a, id, "input_required"));
	r = task_do(&a, "tasks/update", id,
		    json_pack("{s:{s:b}}", "unknown-key", "ignored", 1));
	assert_string_equal(result_type(r), "complete");
	reply_free(r);
	r = task_do(&a, "tasks/get", id, NULL);
	assert_string_equal(task_status(r), "input_required");
	reply_free(r);
	reply_free(task_do(&a, "tasks/cancel", id, NULL));
}

/* An answer is accepted once: the first one wins, on whichever instance. */
static void test_answer__is_accepted_once(void **unused)
{
	struct ask a = as_tasks(one, "alice");
	struct ask b = as_tasks(two, "alice");
	char id[64];
	struct reply *r;

	(void)unused;
	create(&a, "multi_input", NULL, id);
	reply_free(await(&a, id, "input_required"));
	reply_free(task_do(&a, "tasks/update", id,
			   accept_string("first", "name", "early")));
	reply_free(task_do(&b, "tasks/update", id,
			   accept_string("first", "name", "late")));
	reply_free(task_do(&b, "tasks/update", id,
			   accept_string("second", "name", "Bo")));
	r = await(&a, id, "completed");
	assert_non_null(strstr(r->raw, "early and Bo"));
	reply_free(r);
}

/* How long it takes to cancel a task at the other instance. */
static long cancel_ms(void)
{
	struct ask a = as_tasks(one, "alice");
	struct ask b = as_tasks(two, "alice");
	struct timespec t0;
	struct timespec t1;
	char id[64];
	struct reply *r;

	create(&a, "busy", json_pack("{s:i}", "ms", 60000), id);
	(void)clock_gettime(CLOCK_MONOTONIC, &t0);
	r = task_do(&b, "tasks/cancel", id, NULL);
	(void)clock_gettime(CLOCK_MONOTONIC, &t1);
	assert_string_equal(result_type(r), "complete");
	assert_null(member(r, "status"));
	reply_free(r);
	r = await(&a, id, "cancelled");
	assert_null(member(r, "result"));
	assert_null(member(r, "error"));
	reply_free(r);
	return (t1.tv_sec - t0.tv_sec) * 1000 +
	       (t1.tv_nsec - t0.tv_nsec) / 1000000;
}

/* S42, S53; F20, F21 */
static void test_cancel__ends_it_or_leaves_its_end(void **unused)
{
	struct ask a = as_tasks(one, "alice");
	char id[64];
	struct reply *r;
	int slow = 0;
	long ms;

	(void)unused;
	/* F21: in 100 ms; a busy machine may be slow a few times */
	do
		ms = cancel_ms();
	while (ms >= 100 && ++slow < 20);
	assert_true(ms < 100);
	create(&a, "two_step", NULL, id);
	reply_free(await(&a, id, "completed"));
	r = task_do(&a, "tasks/cancel", id, NULL);
	assert_string_equal(result_type(r), "complete");
	reply_free(r);
	r = task_do(&a, "tasks/get", id, NULL);
	assert_string_equal(task_status(r), "completed");
	assert_non_null(member(r, "result"));
	reply_free(r);
}

static void test_cancelled_notification__leaves_the_task_alone(void **unused)
{
	json_t *maker = json_integer(4711);
	struct ask a = as_tasks(one, "alice");
	char id[64];
	char which[96];
	char body[256];
	struct reply *r;

	(void)unused;
	a.id = maker;
	create(&a, "confirm_delete", json_pack("{s:s}", "filename", "f"), id);
	a.id = NULL;
	reply_free(await(&a, id, "input_required"));
	/* its own id, and that of the request that made it */
	for (size_t i = 0; i < 2; i++) {
		if (i == 0)
			(void)snprintf(which, sizeof(which), "\"%s\"", id);
		else
			(void)snprintf(which, sizeof(which), "4711");
		(void)snprintf(body, sizeof(body),
			       "{\"jsonrpc\":\"2.0\",\"method\":"
			       "\"notifications/cancelled\",\"params\":{"
			       "\"requestId\":%s}}",
			       which);
		a.body = body;
		r = rpc(&a, "notifications/cancelled", NULL, NULL);
		assert_int_equal(r->status, 202);
		assert_true(r->raw == NULL || r->raw[0] == '\0');
		reply_free(r);
	}
	a.body = NULL;
	r = task_do(&a, "tasks/get", id, NULL);
	assert_string_equal(task_status(r), "input_required");
	reply_free(r);
	json_decref(maker);
}

/* S50; F24: another caller's task is like one that does not exist. */
static void test_other_caller__cannot_tell_it_exists(void **unused)
{
	static const char *const methods[] = {"tasks/get", "tasks/update",
					      "tasks/cancel"};
	struct ask a = as_tasks(one, "alice");
	struct ask bob = as_tasks(two, "bob");
	char id[64];
	struct reply *r;

	(void)unused;
	create(&a, "confirm_delete", json_pack("{s:s}", "filename", "f"), id);
	reply_free(await(&a, id, "input_required"));
	for (size_t i = 0; i < 3; i++) {
		json_t *p =
			i == 1 ? accept_bool("confirm", "confirm", true) : NULL;
		json_t *q = i == 1 ? json_deep_copy(p) : NULL;
		struct reply *s = task_do(&bob, methods[i], id, p);
		struct reply *t =
			task_do(&bob, methods[i], "AAAAAAAAAAAAAAAAAAAAAA", q);

		assert_int_equal(error_code(s), NO_TASK);
		assert_int_equal(error_code(t), NO_TASK);
		assert_string_equal(error_text(s), error_text(t));
		assert_int_equal(s->status, t->status);
		reply_free(s);
		reply_free(t);
	}
	r = task_do(&a, "tasks/get", id, NULL);
	assert_string_equal(task_status(r), "input_required");
	reply_free(r);
}

/* S46, S47, S51: a request that does not declare the extension. */
static void test_undeclared__gets_no_task(void **unused)
{
	static const char *const cans[] = {
		"{}", "{\"tasks\":{\"requests\":{}}}",
		"{\"extensions\":{\"com.example/x\":{}}}"};
	struct ask a = as_tasks(one, "alice");
	char id[64];

	(void)unused;
	create(&a, "confirm_delete", json_pack("{s:s}", "filename", "f"), id);
	for (size_t i = 0; i < 3; i++) {
		struct reply *r;

		a.can = cans[i];
		r = task_do(&a, "tasks/get", id, NULL);
		assert_int_equal(error_code(r), -32021);
		assert_int_equal(r->status, 400);
		reply_free(r);
		r = task_do(&a, "tasks/get", "unknown", NULL);
		assert_int_equal(error_code(r), -32021);
		reply_free(r);
		r = tool(&a, "failing_job", NULL);
		assert_int_equal(error_code(r), -32021);
		reply_free(r);
		r = tool(&a, "slow_compute", NULL);
		assert_string_equal(result_type(r), "complete");
		reply_free(r);
		r = rpc(&a, "subscriptions/listen", NULL,
			json_pack("{s:{s:[s]}}", "notifications", "taskIds",
				  id));
		assert_int_equal(error_code(r), -32021);
		reply_free(r);
	}
}

/* S52: the 2025 `task` parameter is ignored, its ttl too. */
static void test_legacy_task_param__is_ignored(void **unused)
{
	struct ask a = as_tasks(one, "alice");
	json_t *p = json_pack("{s:s,s:{s:s},s:{s:i}}", "name", "greet",
			      "arguments", "name", "Ada", "task", "ttl", 5);
	struct reply *r = rpc(&a, "tools/call", "greet", p);

	(void)unused;
	assert_string_equal(result_text(r), "Hello, Ada!");
	reply_free(r);
	p = json_pack("{s:s,s:{s:i}}", "name", "two_step", "task", "ttl", 5);
	r = rpc(&a, "tools/call", "two_step", p);
	assert_string_equal(result_type(r), "task");
	assert_true(json_is_null(member(r, "ttlMs")));
	reply_free(r);
	/* nor does it stand for the extension */
	a.can = CAN_FORM;
	p = json_pack("{s:s,s:{s:i}}", "name", "two_step", "task", "ttl", 5);
	r = rpc(&a, "tools/call", "two_step", p);
	assert_string_equal(result_text(r), "two steps done");
	reply_free(r);
}

/* F32: the same key and arguments: the same task; others conflict. */
static void test_idempotency__finds_the_task(void **unused)
{
	struct ask a = as_tasks(one, "alice");
	struct ask b = as_tasks(two, "alice");
	struct ask bob = as_tasks(two, "bob");
	char id[64];
	struct reply *r;

	(void)unused;
	a.idem = b.idem = bob.idem = "create-1";
	create(&a, "confirm_delete", json_pack("{s:s}", "filename", "f"), id);
	r = tool(&b, "confirm_delete", json_pack("{s:s}", "filename", "f"));
	assert_string_equal(result_type(r), "task");
	assert_string_equal(task_id(r), id);
	reply_free(r);
	r = tool(&b, "confirm_delete", json_pack("{s:s}", "filename", "g"));
	assert_int_not_equal(error_code(r), 0);
	reply_free(r);
	r = tool(&bob, "confirm_delete", json_pack("{s:s}", "filename", "f"));
	assert_string_equal(result_type(r), "task");
	assert_string_not_equal(task_id(r), id);
	reply_free(r);
}

/* F34: a finished task outlives every process. */
static void test_finished__survives_a_restart(void **unused)
{
	struct scratch *s = scratch_new();
	struct server *v = server_start(s, identity);
	struct ask a = as_tasks(v, "alice");
	char id[64];
	struct reply *r;

	(void)unused;
	create(&a, "two_step", NULL, id);
	reply_free(await(&a, id, "completed"));
	server_kill(v, SIGKILL);
	server_free(v);
	v = server_start(s, identity);
	a = as_tasks(v, "alice");
	r = task_do(&a, "tasks/get", id, NULL);
	assert_string_equal(task_status(r), "completed");
	assert_non_null(strstr(r->raw, "two steps done"));
	reply_free(r);
	server_free(v);
	scratch_free(s);
}

/* A question past its deadline wakes the handler, which decides. */
static void test_deadline__wakes_the_handler(void **unused)
{
	struct ask a = as_tasks(one, "alice");
	char id[64];
	struct reply *r;

	(void)unused;
	create(&a, "timed_question", json_pack("{s:i}", "ms", 200), id);
	r = await(&a, id, "completed");
	assert_non_null(strstr(r->raw, "timed out"));
	reply_free(r);
}

/* F19: a TTL that is announced is enforced. */
static void test_ttl__is_enforced(void **unused)
{
	struct ask a = as_tasks(one, "alice");
	char id[64];
	struct reply *r = tool(&a, "short_lived", NULL);

	(void)unused;
	assert_int_equal(json_integer_value(member(r, "ttlMs")), 1500);
	(void)snprintf(id, sizeof(id), "%s", task_id(r));
	reply_free(r);
	r = await(&a, id, "failed");
	assert_non_null(member(r, "error"));
	reply_free(r);
}

static void test_max_run__ends_it(void **unused)
{
	struct ask a = as_tasks(one, "alice");
	char id[64];
	struct reply *r;

	(void)unused;
	create(&a, "busy_at_most", json_pack("{s:i}", "ms", 60000), id);
	r = await(&a, id, "failed");
	assert_non_null(member(r, "error"));
	reply_free(r);
}

static void test_sleep__holds_no_worker(void **unused)
{
	struct ask a = as_tasks(one, "alice");
	char ids[24][64];
	struct reply *r;

	(void)unused;
	/* more sleepers than workers of both, and all are up in time */
	for (size_t i = 0; i < 24; i++)
		create(&a, "long_nap", json_pack("{s:i}", "ms", 300), ids[i]);
	for (size_t i = 0; i < 24; i++) {
		r = await(&a, ids[i], "completed");
		reply_free(r);
	}
}

/* Whether one that works for @ms still did when its answer was taken. */
static bool answered_at_work(int ms)
{
	struct ask a = as_tasks(one, "alice");
	char id[64];
	struct reply *r;
	bool works;

	create(&a, "publisher", json_pack("{s:i}", "ms", ms), id);
	reply_free(await(&a, id, "input_required"));
	reply_free(task_do(&a, "tasks/update", id,
			   accept_string("name", "name", "Ada")));
	r = task_do(&a, "tasks/get", id, NULL);
	works = strcmp(task_status(r), "working") == 0;
	if (!works)
		assert_string_equal(task_status(r), "completed");
	reply_free(r);
	r = await(&a, id, "completed");
	assert_non_null(strstr(r->raw, "Hello, Ada!"));
	reply_free(r);
	return works;
}

static void test_publish__is_answered_while_it_works(void **unused)
{
	int ms = 400;

	(void)unused;
	/* a slow machine needs more time for three requests */
	while (!answered_at_work(ms))
		assert_true((ms *= 3) < 30000);
}

/* A tool that asks by rounds and then becomes a task; a repeat finds it. */
static void test_persist__after_rounds(void **unused)
{
	struct ask a = as_tasks(one, "alice");
	struct ask b = as_tasks(two, "alice");
	struct reply *r = tool(&a, "test_tool_with_task", json_object());
	struct reply *s;
	struct reply *t;
	char id[64];

	(void)unused;
	assert_string_equal(result_type(r), "input_required");
	assert_null(member(r, "taskId"));
	s = again(&b, "test_tool_with_task", json_object(), state_of(r),
		  accept_string("user_name", "name", "Ada"));
	assert_string_equal(result_type(s), "task");
	(void)snprintf(id, sizeof(id), "%s", task_id(s));
	t = again(&a, "test_tool_with_task", json_object(), state_of(r),
		  accept_string("user_name", "name", "Ada"));
	assert_string_equal(result_type(t), "task");
	assert_string_equal(task_id(t), id);
	reply_free(r);
	reply_free(s);
	reply_free(t);
	r = await(&a, id, "completed");
	assert_non_null(strstr(r->raw, "Ada"));
	reply_free(r);
}

/* F44: a task that kills its worker fails after three, with the history. */
static void test_crasher__fails_after_three(void **unused)
{
	struct scratch *s = scratch_new();
	struct server *watcher;
	struct server *v[3] = {0};
	static const char *const none[] = {"--task-workers", "0", NULL};
	char id[64];
	struct ask a;
	struct reply *r;

	(void)unused;
	watcher = server_start(s, none);
	for (size_t i = 0; i < 3; i++)
		v[i] = server_start(s, NULL);
	a = as_tasks(watcher, NULL);
	create(&a, "crasher", NULL, id);
	r = await(&a, id, "failed");
	assert_non_null(member(r, "error"));
	reply_free(r);
	for (size_t i = 0; i < 3; i++) {
		(void)server_wait(v[i]);
		server_free(v[i]);
	}
	server_free(watcher);
	scratch_free(s);
}

/* F41: an instance without the tool neither claims nor fails its tasks. */
static void test_missing_tool__leaves_the_task_ready(void **unused)
{
	struct scratch *s = scratch_new();
	static const char *const none[] = {"--task-workers", "0", NULL};
	static const char *const without[] = {"--without", "two_step", NULL};
	struct server *maker = server_start(s, none);
	struct server *lacks = server_start(s, without);
	struct server *has;
	struct ask a = as_tasks(maker, NULL);
	struct ask b = as_tasks(lacks, NULL);
	char id[64];
	char other[64];
	struct reply *r;

	(void)unused;
	create(&a, "two_step", NULL, id);
	/* something it can do, done after: it has looked */
	create(&b, "shed", NULL, other);
	reply_free(await(&a, other, "completed"));
	r = task_do(&a, "tasks/get", id, NULL);
	assert_string_equal(task_status(r), "working");
	reply_free(r);
	has = server_start(s, NULL);
	reply_free(await(&a, id, "completed"));
	server_free(maker);
	server_free(lacks);
	server_free(has);
	scratch_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_task__runs_and_keeps_its_result),
		cmocka_unit_test(test_task__error_result_is_completed),
		cmocka_unit_test(test_questions__partial_answers_count_at_once),
		cmocka_unit_test(test_questions__misfit_gets_a_new_key),
		cmocka_unit_test(test_update__unknown_key_has_no_effect),
		cmocka_unit_test(test_answer__is_accepted_once),
		cmocka_unit_test(test_cancel__ends_it_or_leaves_its_end),
		cmocka_unit_test(
			test_cancelled_notification__leaves_the_task_alone),
		cmocka_unit_test(test_other_caller__cannot_tell_it_exists),
		cmocka_unit_test(test_undeclared__gets_no_task),
		cmocka_unit_test(test_legacy_task_param__is_ignored),
		cmocka_unit_test(test_idempotency__finds_the_task),
		cmocka_unit_test(test_finished__survives_a_restart),
		cmocka_unit_test(test_deadline__wakes_the_handler),
		cmocka_unit_test(test_ttl__is_enforced),
		cmocka_unit_test(test_max_run__ends_it),
		cmocka_unit_test(test_sleep__holds_no_worker),
		cmocka_unit_test(test_publish__is_answered_while_it_works),
		cmocka_unit_test(test_persist__after_rounds),
		cmocka_unit_test(test_crasher__fails_after_three),
		cmocka_unit_test(test_missing_tool__leaves_the_task_ready),
	};

	return cmocka_run_group_tests(tests, setup, pair_end);
}
