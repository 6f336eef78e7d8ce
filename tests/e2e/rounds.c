/* SPDX-License-Identifier: MIT */
/*
 * Ephemeral tools that ask, over real HTTP and two instances on one database:
 * the state travels sealed. docs/conformance.md: F1 to F4, F7 to F17, S23, S25
 * to S31.
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

#include "tests/e2e/lib/balancer.h"
#include "tests/e2e/lib/pair.h"

#define ELICIT  "test_input_required_result_elicitation"
#define REFUSED (-32602)

static int setup(void **state)
{
	static const char *const args[] = {"--test-identity", NULL};

	(void)state;
	(void)pair_both(args);
	balancer_behind_start(args, one, two);
	return 0;
}

static int teardown(void **state)
{
	balancer_behind_end();
	return pair_end(state);
}

static struct reply *ask_first(struct ask *a, const char *name)
{
	struct reply *r = tool(a, name, json_object());

	assert_int_equal(r->status, 200);
	assert_string_equal(result_type(r), "input_required");
	assert_non_null(state_of(r));
	return r;
}

static void test_round__continues_on_another_instance(void **unused)
{
	struct ask a = as(one, "alice");
	struct ask b = as(two, "alice");
	struct reply *r = ask_first(&a, ELICIT);
	struct reply *s;

	(void)unused;
	assert_non_null(asked(r, "user_name"));
	s = again(&b, ELICIT, json_object(), state_of(r),
		  accept_string("user_name", "name", "Ada"));
	assert_string_equal(result_type(s), "complete");
	assert_string_equal(result_text(s), "Hello, Ada!");
	/* S26: input_required carries no caching hints */
	assert_null(json_object_get(result(r), "ttlMs"));
	assert_null(json_object_get(result(r), "cacheScope"));
	reply_free(r);
	reply_free(s);
}

/* F1: another principal's state is answered as garbage is. */
static void test_state__of_another_is_like_garbage(void **unused)
{
	struct ask a = as(one, "alice");
	struct ask b = as(one, "bob");
	struct reply *r = ask_first(&a, ELICIT);
	struct reply *s = again(&b, ELICIT, json_object(), state_of(r), NULL);
	struct reply *g = again(&b, ELICIT, json_object(), "garbage", NULL);

	(void)unused;
	assert_int_equal(s->status, 200);
	assert_int_equal(g->status, 200);
	assert_int_equal(error_code(s), REFUSED);
	assert_int_equal(error_code(g), REFUSED);
	assert_string_equal(error_text(s), error_text(g));
	assert_string_equal(error_text(g), "requestState was not accepted");
	reply_free(r);
	reply_free(s);
	reply_free(g);
}

/* F2, F10: bound to tool and arguments; key order does not matter. */
static void test_state__is_bound_to_tool_and_arguments(void **unused)
{
	struct ask a = as(one, "alice");
	json_t *args =
		json_pack("{s:i,s:{s:b,s:s}}", "x", 1, "y", "p", 1, "q", "z");
	struct reply *r = tool(&a, ELICIT, json_incref(args));
	struct reply *s;

	(void)unused;
	s = again(&a, "effect_after_answer", args, state_of(r), NULL);
	assert_int_equal(error_code(s), REFUSED);
	reply_free(s);
	s = again(&a, ELICIT, json_pack("{s:i}", "x", 2), state_of(r), NULL);
	assert_int_equal(error_code(s), REFUSED);
	reply_free(s);
	s = again(
		&a, ELICIT,
		json_pack("{s:{s:s,s:b},s:f}", "y", "q", "z", "p", 1, "x", 1.0),
		state_of(r), accept_string("user_name", "name", "Ada"));
	assert_string_equal(result_text(s), "Hello, Ada!");
	reply_free(s);
	reply_free(r);
}

/* F3 */
static void test_state__null_is_absent(void **unused)
{
	struct ask a = as(one, "alice");
	json_t *p = json_pack("{s:s,s:{},s:n}", "name", ELICIT, "arguments",
			      "requestState");
	struct reply *r = rpc(&a, "tools/call", ELICIT, p);

	(void)unused;
	assert_string_equal(result_type(r), "input_required");
	reply_free(r);
	p = json_pack("{s:s,s:{},s:i}", "name", ELICIT, "arguments",
		      "requestState", 7);
	r = rpc(&a, "tools/call", ELICIT, p);
	assert_int_equal(error_code(r), REFUSED);
	reply_free(r);
}

/* F7: A gets SIGKILL after round 1; round 2 on B goes on. */
static void test_round__survives_its_instance(void **unused)
{
	static const char *const args[] = {"--test-identity", NULL};
	struct server *a_server = server_start(scratch, args);
	struct ask a = as(a_server, "alice");
	struct ask b = as(two, "alice");
	struct reply *r = ask_first(&a, ELICIT);
	struct reply *s;

	(void)unused;
	server_kill(a_server, SIGKILL);
	s = again(&b, ELICIT, json_object(), state_of(r),
		  accept_string("user_name", "name", "Bo"));
	assert_string_equal(result_text(s), "Hello, Bo!");
	reply_free(r);
	reply_free(s);
	server_free(a_server);
}

/* F11, F13, F14: what does not fit is asked again; shapes are -32602. */
static void test_answer__that_does_not_fit_is_asked_again(void **unused)
{
	static const char *const misfits[] = {
		"{\"user_name\":{\"action\":\"accept\",\"content\":{\"name\":7}}}",
		"{\"user_name\":{\"action\":\"accept\",\"content\":7}}",
		"{\"user_name\":{\"action\":\"accept\",\"content\":{\"name\":{}}}}",
		"{\"user_name\":{\"action\":\"accept\"}}",
		"{\"user_name\":{\"action\":\"maybe\"}}",
		"{\"user_name\":{}}",
		"{\"other\":{\"action\":\"accept\",\"content\":{}}}",
		"{}",
	};
	static const char *const wrong[] = {
		"[]", "\"x\"", "7", "{\"user_name\":7}", "{\"user_name\":[]}"};
	struct ask a = as(one, "alice");
	struct reply *r = ask_first(&a, ELICIT);

	(void)unused;
	for (size_t i = 0; i < sizeof(misfits) / sizeof(misfits[0]); i++) {
		struct reply *s = again(&a, ELICIT, json_object(), state_of(r),
					json_loads(misfits[i], 0, NULL));

		assert_string_equal(result_type(s), "input_required");
		assert_int_equal(asked_count(s), 1);
		reply_free(s);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct reply *s =
			again(&a, ELICIT, json_object(), state_of(r),
			      json_loads(wrong[i], JSON_DECODE_ANY, NULL));

		assert_int_equal(error_code(s), REFUSED);
		reply_free(s);
	}
	reply_free(r);
}

/* F12, F13; S30: decline and cancel reach the handler as such. */
static void test_answer__decline_and_cancel_reach_the_handler(void **unused)
{
	static const struct {
		const char *answer, *text;
	} all[] = {
		{"{\"user_name\":{\"action\":\"decline\"}}",
		 "declined by user"},
		{"{\"user_name\":{\"action\":\"cancel\"}}",
		 "cancelled by user"},
		{"{\"user_name\":{\"action\":\"decline\",\"content\":null}}",
		 "declined by user"},
		{"{\"user_name\":{\"action\":\"decline\",\"content\":{"
		 "\"name\":7}}}",
		 "declined by user"},
	};
	struct ask a = as(one, "alice");
	struct reply *r = ask_first(&a, ELICIT);

	(void)unused;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct reply *s = again(&a, ELICIT, json_object(), state_of(r),
					json_loads(all[i].answer, 0, NULL));

		assert_string_equal(result_text(s), all[i].text);
		reply_free(s);
	}
	reply_free(r);
}

/* F15: accept with a false value is a refusal, not a loop. */
static void test_answer__accept_false_is_a_refusal(void **unused)
{
	struct ask a = as(one, "alice");
	struct reply *r = ask_first(&a, "effect_after_answer");
	struct reply *s =
		again(&a, "effect_after_answer", json_object(), state_of(r),
		      accept_bool("confirm", "ok", false));

	(void)unused;
	assert_string_equal(result_text(s), "refused");
	reply_free(r);
	reply_free(s);
}

/* F16: only what is missing is asked again; what was given is kept. */
static void test_answer__partial_is_kept(void **unused)
{
	struct ask a = as(one, "alice");
	struct ask b = as(two, "alice");
	struct reply *r = ask_first(&a, "upgrade");
	json_t *half = accept_string("github_login", "name", "octo");
	struct reply *s;
	struct reply *t;

	(void)unused;
	assert_int_equal(asked_count(r), 2);
	(void)json_object_set_new(half, "unknown",
				  json_pack("{s:s}", "action", "accept"));
	s = again(&b, "upgrade", json_object(), state_of(r), half);
	assert_string_equal(result_type(s), "input_required");
	assert_int_equal(asked_count(s), 1);
	assert_non_null(asked(s, "google_login"));
	t = again(&a, "upgrade", json_object(), state_of(s),
		  accept_string("google_login", "name", "goo"));
	assert_string_equal(result_text(t), "octo goo");
	reply_free(r);
	reply_free(s);
	reply_free(t);
}

/* Rolling upgrade: one question kept, one dropped, one added. */
static void test_upgrade__keeps_the_answer_that_still_counts(void **unused)
{
	static const char *const args[] = {"--test-identity", "--upgrade", "2",
					   NULL};
	struct server *young = server_start(scratch, args);
	struct ask a = as(one, "alice");
	struct ask b = as(young, "alice");
	struct reply *r = ask_first(&a, "upgrade");
	json_t *both = accept_string("github_login", "name", "octo");
	struct reply *s;
	struct reply *t;

	(void)unused;
	(void)json_object_update_new(
		both, accept_string("google_login", "name", "goo"));
	s = again(&b, "upgrade", json_object(), state_of(r), both);
	assert_int_equal(asked_count(s), 1);
	assert_non_null(asked(s, "microsoft_login"));
	t = again(&b, "upgrade", json_object(), state_of(s),
		  accept_string("microsoft_login", "name", "ms"));
	assert_string_equal(result_text(t), "octo ms");
	reply_free(r);
	reply_free(s);
	reply_free(t);
	server_free(young);
}

/* S23: nothing is asked that this request did not declare. */
static void test_capability__decides_what_is_asked(void **unused)
{
	static const struct {
		const char *can, *key;
	} all[] = {
		{"{\"elicitation\":{\"form\":{}}}", "user_name"},
		{"{\"elicitation\":{}}", "user_name"},
		{"{\"elicitation\":{\"url\":{}}}", "consent"},
		{"{\"sampling\":{}}", "greeting"},
	};
	struct ask a = as(one, "alice");
	struct reply *r;

	(void)unused;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		a.can = all[i].can;
		r = tool(&a, "test_input_required_result_capabilities",
			 json_object());
		assert_int_equal(asked_count(r), 1);
		assert_non_null(asked(r, all[i].key));
		reply_free(r);
	}
	a.can = "{}";
	r = tool(&a, "test_input_required_result_capabilities", NULL);
	assert_string_equal(result_type(r), "complete");
	reply_free(r);
	/* S13: a handler that asks all the same: -32021 with what is missing */
	r = tool(&a, "test_streaming_elicitation", NULL);
	assert_int_equal(error_code(r), -32021);
	assert_int_equal(r->status, 400);
	assert_non_null(json_object_get(
		json_object_get(
			json_object_get(json_object_get(r->message, "error"),
					"data"),
			"requiredCapabilities"),
		"elicitation"));
	reply_free(r);
}

/* F8: single use: the effect happens once, also when sent twice. */
static void test_single_use__has_one_effect(void **unused)
{
	struct ask a = as(one, "alice");
	struct ask b = as(two, "alice");
	struct reply *r = ask_first(&a, "once");
	size_t had = effects(" effect");
	struct reply *s = again(&a, "once", json_object(), state_of(r),
				accept_bool("confirm", "ok", true));
	struct reply *t = again(&b, "once", json_object(), state_of(r),
				accept_bool("confirm", "ok", true));

	(void)unused;
	assert_string_equal(result_text(s), "plan 7 done");
	assert_string_equal(result_text(t), "plan 7 done");
	assert_int_equal(effects(" effect"), had + 1);
	reply_free(r);
	reply_free(s);
	reply_free(t);
}

/* A step's result travels sealed: it is not run again on the next round. */
static void test_step__is_kept_over_rounds(void **unused)
{
	struct ask a = as(one, "alice");
	struct ask b = as(two, "alice");
	size_t had = effects(" plan");
	struct reply *r = ask_first(&a, "effect_after_answer");
	struct reply *s =
		again(&b, "effect_after_answer", json_object(), state_of(r),
		      accept_bool("confirm", "ok", true));

	(void)unused;
	assert_string_equal(result_text(s), "plan 7 done");
	assert_int_equal(effects(" plan"), had + 1);
	reply_free(r);
	reply_free(s);
}

/* Load shedding: a computation handed on in requestState alone. */
static void test_yield__hands_the_call_on(void **unused)
{
	struct ask a = as(one, "alice");
	struct ask b = as(two, "alice");
	struct reply *r = tool(&a, "handed_over", NULL);
	struct reply *s;

	(void)unused;
	assert_string_equal(result_type(r), "input_required");
	assert_int_equal(asked_count(r), 0);
	/* one official client takes a result without the member for final */
	assert_non_null(json_object_get(result(r), "inputRequests"));
	s = again(&b, "handed_over", NULL, state_of(r), NULL);
	assert_string_equal(result_text(s), "42");
	reply_free(r);
	reply_free(s);
}

static void test_sleep__within_the_budget_is_one_request(void **unused)
{
	struct ask a = as(one, "alice");
	struct reply *r = tool(&a, "nap", json_pack("{s:i}", "ms", 50));

	(void)unused;
	assert_string_equal(result_type(r), "complete");
	assert_string_equal(result_text(r), "rested");
	reply_free(r);
}

/* F32: one idempotency key, one result; other arguments conflict. */
static void test_idempotency__of_an_ephemeral_call(void **unused)
{
	struct ask a = as(one, "alice");
	struct ask b = as(two, "alice");
	struct ask bob = as(two, "bob");
	struct reply *r;
	struct reply *s;

	(void)unused;
	a.idem = "key-1";
	b.idem = "key-1";
	bob.idem = "key-1";
	r = tool(&a, "echo_pool", json_pack("{s:s}", "text", "x"));
	s = tool(&b, "echo_pool", json_pack("{s:s}", "text", "x"));
	assert_string_equal(result_text(r), "x");
	assert_string_equal(result_text(s), "x");
	reply_free(s);
	s = tool(&b, "echo_pool", json_pack("{s:s}", "text", "y"));
	assert_int_not_equal(error_code(s), 0);
	reply_free(s);
	s = tool(&bob, "echo_pool", json_pack("{s:s}", "text", "y"));
	assert_string_equal(result_text(s), "y");
	reply_free(s);
	reply_free(r);
}

/* F4: other keys: refused, and the log names the key id. */
static void test_keys__of_another_deployment(void **unused)
{
	struct scratch *elsewhere = scratch_new();
	static const char *const args[] = {"--test-identity", NULL};
	struct server *other = server_start(elsewhere, args);
	struct ask a = as(one, "alice");
	struct ask b = as(other, "alice");
	struct reply *r = ask_first(&a, ELICIT);
	struct reply *s = again(&b, ELICIT, json_object(), state_of(r), NULL);

	(void)unused;
	assert_int_equal(error_code(s), REFUSED);
	assert_true(server_saw(other, "unknown key"));
	reply_free(r);
	reply_free(s);
	server_free(other);
	scratch_free(elsewhere);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round__continues_on_another_instance),
		cmocka_unit_test(test_state__of_another_is_like_garbage),
		cmocka_unit_test(test_state__is_bound_to_tool_and_arguments),
		cmocka_unit_test(test_state__null_is_absent),
		cmocka_unit_test(test_round__survives_its_instance),
		cmocka_unit_test(test_answer__that_does_not_fit_is_asked_again),
		cmocka_unit_test(
			test_answer__decline_and_cancel_reach_the_handler),
		cmocka_unit_test(test_answer__accept_false_is_a_refusal),
		cmocka_unit_test(test_answer__partial_is_kept),
		cmocka_unit_test(
			test_upgrade__keeps_the_answer_that_still_counts),
		cmocka_unit_test(test_capability__decides_what_is_asked),
		cmocka_unit_test(test_single_use__has_one_effect),
		cmocka_unit_test(test_step__is_kept_over_rounds),
		cmocka_unit_test(test_yield__hands_the_call_on),
		cmocka_unit_test(test_sleep__within_the_budget_is_one_request),
		cmocka_unit_test(test_idempotency__of_an_ephemeral_call),
		cmocka_unit_test(test_keys__of_another_deployment),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
