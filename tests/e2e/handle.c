/* SPDX-License-Identifier: MIT */
/*
 * A persistent tool for a client without the tasks extension: it waits, comes
 * back with a handle, detaches. docs/design.md section 2; docs/conformance.md:
 * F18 to F24, F26, F30.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <cmocka.h>

#include "tests/e2e/lib/pair.h"
#include "tests/e2e/lib/raw.h"

/* A budget that no slow machine outlasts, where the test is not about that. */
static const char *const args_patient[] = {"--test-identity",
					   "--wait-budget",
					   "30000",
					   "--sweep-interval",
					   "50",
					   "--disconnect-grace",
					   "300",
					   "--undelivered-grace",
					   "300",
					   "--drain-grace",
					   "1000",
					   NULL};
static const char *const args_quick[] = {"--test-identity", "--wait-budget",
					 "300", NULL};

static int setup(void **state)
{
	(void)state;
	return pair_both(args_patient);
}

static bool sanitized(void)
{
	return getenv("BIDE_SANITIZED") != NULL;
}

/* How many tasks of @tool stand in state @state, by the operator's list. */
static int tasks_in(const char *tool_name, const char *state)
{
	const char *const args[] = {"tasks", "list",      "--all", "--json",
				    "--db",  scratch->db, NULL};
	char *out = NULL;
	int n = 0;
	json_t *list;
	size_t i;
	json_t *t;

	assert_int_equal(run_fixture(args, &out), 0);
	list = json_loads(out, 0, NULL);
	assert_non_null(list);
	if (json_is_object(list)) {
		json_t *inner = json_incref(json_object_get(list, "tasks"));

		json_decref(list);
		list = inner;
	}
	json_array_foreach (list, i, t) {
		const char *tn = json_string_value(json_object_get(t, "tool"));
		const char *ts = json_string_value(json_object_get(t, "state"));

		n += tn != NULL && ts != NULL && strcmp(tn, tool_name) == 0 &&
		     strcasecmp(ts, state) == 0;
	}
	json_decref(list);
	free(out);
	return n;
}

static bool become(const char *tool_name, const char *state, int n)
{
	const struct timespec nap = {0, 20 * 1000 * 1000};

	for (int i = 0; i < 3000; i++) {
		if (tasks_in(tool_name, state) == n)
			return true;
		(void)nanosleep(&nap, NULL);
	}
	return false;
}

static void test_wait__gives_the_result_in_one_request(void **unused)
{
	struct ask a = as(one, "alice");
	struct reply *r = tool(&a, "two_step", NULL);

	(void)unused;
	assert_string_equal(result_type(r), "complete");
	assert_string_equal(result_text(r), "two steps done");
	reply_free(r);
}

static void test_questions__come_with_a_handle(void **unused)
{
	struct ask a = as(one, "alice");
	struct ask b = as(two, "alice");
	struct reply *r = tool(&a, "approve", NULL);
	struct reply *s;
	struct reply *t;

	(void)unused;
	assert_string_equal(result_type(r), "input_required");
	assert_non_null(asked(r, "approval"));
	assert_non_null(state_of(r));
	assert_null(json_object_get(result(r), "taskId"));
	/* any round that has not expired is accepted: the first, again */
	s = again(&b, "approve", NULL, state_of(r), NULL);
	assert_non_null(asked(s, "approval"));
	t = again(&b, "approve", NULL, state_of(r),
		  accept_bool("approval", "ok", true));
	assert_string_equal(result_text(t), "approved: yes");
	reply_free(t);
	/* the result can be read again, with any handle of the call */
	t = again(&a, "approve", NULL, state_of(s), NULL);
	assert_string_equal(result_text(t), "approved: yes");
	reply_free(t);
	/* a late answer to the ended task changes nothing */
	t = again(&a, "approve", NULL, state_of(s),
		  accept_bool("approval", "ok", false));
	assert_string_equal(result_text(t), "approved: yes");
	reply_free(t);
	reply_free(r);
	reply_free(s);
}

static void test_handle__is_bound_to_its_caller(void **unused)
{
	struct ask a = as(one, "alice");
	struct ask bob = as(two, "bob");
	struct reply *r = tool(&a, "approve", NULL);
	struct reply *s = again(&bob, "approve", NULL, state_of(r),
				accept_bool("approval", "ok", true));

	(void)unused;
	assert_int_equal(error_code(s), -32602);
	reply_free(s);
	s = again(&a, "two_step", NULL, state_of(r), NULL);
	assert_int_equal(error_code(s), -32602);
	reply_free(s);
	s = again(&a, "approve", NULL, state_of(r), NULL);
	assert_non_null(asked(s, "approval"));
	reply_free(s);
	reply_free(r);
}

/* A retry that lacks what the open question needs: -32021, the task stays. */
static void test_handle__lacking_capability_leaves_the_task(void **unused)
{
	struct ask a = as(one, "alice");
	struct ask less = as(two, "alice");
	struct reply *r = tool(&a, "approve", NULL);
	struct reply *s;

	(void)unused;
	less.can = "{}";
	s = again(&less, "approve", NULL, state_of(r), NULL);
	assert_int_equal(error_code(s), -32021);
	reply_free(s);
	s = again(&a, "approve", NULL, state_of(r),
		  accept_bool("approval", "ok", true));
	assert_string_equal(result_text(s), "approved: yes");
	reply_free(s);
	reply_free(r);
}

static void test_misfit__is_asked_again_under_a_new_key(void **unused)
{
	struct ask a = as(one, "alice");
	struct reply *r = tool(&a, "approve", NULL);
	struct reply *s =
		again(&a, "approve", NULL, state_of(r),
		      accept_string("approval", "ok", "not a boolean"));
	struct reply *t;

	(void)unused;
	assert_string_equal(result_type(s), "input_required");
	assert_int_equal(asked_count(s), 1);
	assert_non_null(asked(s, "approval~2"));
	t = again(&a, "approve", NULL, state_of(s),
		  accept_bool("approval~2", "ok", true));
	assert_string_equal(result_text(t), "approved: yes");
	reply_free(r);
	reply_free(s);
	reply_free(t);
}

/* S46 turned round: the flow stays what it was, whatever a retry declares. */
static void test_flow__stays_for_the_life_of_the_call(void **unused)
{
	struct ask a = as(one, "alice");
	struct ask more = as(two, "alice");
	struct reply *r = tool(&a, "approve", NULL);
	struct reply *s;

	(void)unused;
	more.can = CAN_TASKS;
	s = again(&more, "approve", NULL, state_of(r), NULL);
	assert_string_equal(result_type(s), "input_required");
	assert_non_null(state_of(s));
	reply_free(s);
	s = again(&more, "approve", NULL, state_of(r),
		  accept_bool("approval", "ok", true));
	assert_string_equal(result_type(s), "complete");
	reply_free(s);
	reply_free(r);
}

static char *handle_in(const struct reply *r)
{
	const json_t *s = json_object_get(result(r), "structuredContent");
	const char *h = json_string_value(json_object_get(s, "handle"));

	return h != NULL ? strdup(h) : NULL;
}

/* F26: rounds, then it detaches, and wait_for_task brings the result. */
static void test_detach__and_wait_for_task(void **unused)
{
	struct server *quick_one = server_start(scratch, args_quick);
	struct server *quick_two = server_start(scratch, args_quick);
	struct ask a = as(quick_one, "alice");
	struct ask b = as(quick_two, "alice");
	struct ask bob = as(quick_two, "bob");
	/* three budgets must be over before it is */
	json_t *args = json_pack("{s:i}", "ms", sanitized() ? 8000 : 2500);
	struct reply *r = tool(&a, "busy", json_incref(args));
	struct reply *s;
	char *handle;
	int state_rounds = 0;

	(void)unused;
	while (strcmp(result_type(r), "input_required") == 0) {
		assert_int_equal(asked_count(r), 0);
		assert_non_null(json_object_get(result(r), "inputRequests"));
		s = again(&b, "busy", json_incref(args), state_of(r), NULL);
		reply_free(r);
		r = s;
		assert_true(++state_rounds < 4);
	}
	assert_int_equal(state_rounds, 2);
	assert_string_equal(result_type(r), "complete");
	handle = handle_in(r);
	assert_non_null(handle);
	assert_non_null(strstr(result_text(r), "wait_for_task"));
	reply_free(r);
	json_decref(args);
	/* not for others, whatever they hold */
	r = tool(&bob, "wait_for_task", json_pack("{s:s}", "handle", handle));
	assert_null(strstr(r->raw, "\"done\""));
	reply_free(r);
	r = tool(&b, "wait_for_task", json_pack("{s:s}", "handle", handle));
	for (int i = 0; i < 200 && strstr(r->raw, "\"done\"") == NULL; i++) {
		struct reply *n;

		if (strcmp(result_type(r), "input_required") == 0)
			n = again(&a, "wait_for_task",
				  json_pack("{s:s}", "handle", handle),
				  state_of(r), NULL);
		else
			n = tool(&a, "wait_for_task",
				 json_pack("{s:s}", "handle", handle));
		reply_free(r);
		r = n;
	}
	assert_string_equal(result_text(r), "done");
	reply_free(r);
	free(handle);
	server_free(quick_one);
	server_free(quick_two);
}

/* The client goes once the handler has begun. */
static void call_and_leave(const char *name)
{
	struct ask a = as(one, "alice");
	size_t begun = effects(" begin");
	struct raw c = {0};

	raw_open(&c, a.url);
	raw_call(&c, &a, name, json_pack("{s:i}", "ms", 300000), NULL);
	assert_true(effects_await(scratch, " begin", begun + 1));
	raw_close(&c);
}

/* F30: gone while it waits, nobody comes back: cancelled after the grace.
 */
static void test_gone__is_cancelled_after_the_grace(void **unused)
{
	int had = tasks_in("busy", "CANCELLED");

	(void)unused;
	call_and_leave("busy");
	assert_true(become("busy", "CANCELLED", had + 1));
}

static void test_gone__goes_on_where_the_tool_says_so(void **unused)
{
	int had = tasks_in("busy", "CANCELLED");

	(void)unused;
	call_and_leave("busy_goes_on");
	call_and_leave("busy");
	/* by the time the one is cancelled, the other still runs */
	assert_true(become("busy", "CANCELLED", had + 1));
	assert_int_equal(tasks_in("busy_goes_on", "RUNNING"), 1);
}

/* F30: an ephemeral call is cancelled at once when its client goes. */
static void test_gone__cancels_an_ephemeral_call(void **unused)
{
	(void)unused;
	call_and_leave("hold");
	assert_true(effects_await(scratch, " dropped", 1));
}

/* Progress and logs reach the request that waits, rising, on its own stream. */
static void test_progress__reaches_the_waiting_request(void **unused)
{
	struct ask a = as(one, "alice");
	struct reply *r;
	double last = -1;
	size_t progress = 0;
	size_t logs = 0;
	size_t i;
	json_t *e;

	(void)unused;
	a.progress = "tok-1";
	a.log_level = "info";
	r = tool(&a, "talker", json_pack("{s:i}", "ms", 50));
	assert_string_equal(result_text(r), "said all");
	json_array_foreach (r->events, i, e) {
		const char *m = json_string_value(json_object_get(e, "method"));
		json_t *p = json_object_get(e, "params");

		if (strcmp(m, "notifications/progress") == 0) {
			double v = json_number_value(
				json_object_get(p, "progress"));

			assert_string_equal(json_string_value(json_object_get(
						    p, "progressToken")),
					    "tok-1");
			assert_true(v > last);
			last = v;
			progress++;
		} else if (strcmp(m, "notifications/message") == 0) {
			logs++;
		}
	}
	assert_true(progress > 0);
	assert_true(logs > 0);
	reply_free(r);
	/* none without a token, none without a level */
	a.progress = NULL;
	a.log_level = NULL;
	r = tool(&a, "talker", json_pack("{s:i}", "ms", 20));
	assert_string_equal(result_text(r), "said all");
	assert_int_equal(json_array_size(r->events), 0);
	reply_free(r);
}

/* Two wait on one handle, both get the end. */
static void test_two__wait_on_one_handle(void **unused)
{
	struct ask a = as(one, "alice");
	struct ask b = as(two, "alice");
	struct reply *r = tool(&a, "approve", NULL);
	struct reply *s = again(&b, "approve", NULL, state_of(r),
				accept_bool("approval", "ok", true));
	struct reply *t = again(&a, "approve", NULL, state_of(r),
				accept_bool("approval", "ok", true));

	(void)unused;
	assert_string_equal(result_text(s), "approved: yes");
	assert_string_equal(result_text(t), "approved: yes");
	reply_free(r);
	reply_free(s);
	reply_free(t);
}

static void test_idempotency__a_repeated_first_call(void **unused)
{
	struct ask a = as(one, "alice");
	struct ask b = as(two, "alice");
	struct reply *r;
	struct reply *s;

	(void)unused;
	a.idem = b.idem = "first-1";
	r = tool(&a, "approve", NULL);
	s = tool(&b, "approve", NULL);
	assert_non_null(asked(r, "approval"));
	assert_non_null(asked(s, "approval"));
	reply_free(s);
	s = again(&b, "approve", NULL, state_of(r),
		  accept_bool("approval", "ok", true));
	assert_string_equal(result_text(s), "approved: yes");
	reply_free(s);
	s = tool(&b, "approve", NULL);
	assert_string_equal(result_text(s), "approved: yes");
	reply_free(s);
	reply_free(r);
}

/* F21, F22: one handler gives the same with and without tasks. */
static void test_upgrade__between_two_rounds(void **unused)
{
	static const char *const young[] = {
		"--test-identity", "--upgrade", "2",
		"--wait-budget",   "30000",     NULL};
	struct scratch *s = scratch_new();
	struct server *a_server = server_start(s, args_patient);
	struct server *b_server;
	struct ask a = as(a_server, "alice");
	struct ask b;
	struct reply *r = tool(&a, "upgrade_task", NULL);
	struct reply *t;
	char *state = strdup(state_of(r));
	json_t *both;

	(void)unused;
	assert_int_equal(asked_count(r), 2);
	server_kill(a_server, SIGTERM);
	b_server = server_start(s, young);
	b = as(b_server, "alice");
	both = accept_string("github_login", "name", "octo");
	(void)json_object_update_new(
		both, accept_string("google_login", "name", "goo"));
	t = again(&b, "upgrade_task", NULL, state, both);
	assert_string_equal(result_type(t), "input_required");
	assert_int_equal(asked_count(t), 1);
	assert_non_null(asked(t, "microsoft_login"));
	reply_free(r);
	r = again(&b, "upgrade_task", NULL, state_of(t),
		  accept_string("microsoft_login", "name", "ms"));
	assert_string_equal(result_text(r), "octo microsoft_login ms");
	reply_free(r);
	reply_free(t);
	free(state);
	server_free(a_server);
	server_free(b_server);
	scratch_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wait__gives_the_result_in_one_request),
		cmocka_unit_test(test_questions__come_with_a_handle),
		cmocka_unit_test(test_handle__is_bound_to_its_caller),
		cmocka_unit_test(
			test_handle__lacking_capability_leaves_the_task),
		cmocka_unit_test(test_misfit__is_asked_again_under_a_new_key),
		cmocka_unit_test(test_flow__stays_for_the_life_of_the_call),
		cmocka_unit_test(test_detach__and_wait_for_task),
		cmocka_unit_test(test_gone__is_cancelled_after_the_grace),
		cmocka_unit_test(test_gone__goes_on_where_the_tool_says_so),
		cmocka_unit_test(test_gone__cancels_an_ephemeral_call),
		cmocka_unit_test(test_progress__reaches_the_waiting_request),
		cmocka_unit_test(test_two__wait_on_one_handle),
		cmocka_unit_test(test_idempotency__a_repeated_first_call),
		cmocka_unit_test(test_upgrade__between_two_rounds),
	};

	return cmocka_run_group_tests(tests, setup, pair_end);
}
