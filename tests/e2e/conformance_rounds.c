/* SPDX-License-Identifier: MIT */
/* Questions, rounds and their states. */
#include "tests/e2e/conformance.h"

#define ELICIT "test_input_required_result_elicitation"
#define CAP    1000 /* LIMIT_QUESTIONS_PER_CALL */

static struct server *brief; /* one that waits for nothing long */

static int setup(void **state)
{
	static const char *const args[] = {"--test-identity", "--careless",
					   NULL};
	static const char *const soon[] = {"--test-identity", "--wait-budget",
					   "100", NULL};

	(void)state;
	(void)pair_one(args);
	brief = server_start(scratch, soon);
	return 0;
}

static int teardown(void **state)
{
	server_free(brief);
	return pair_end(state);
}

static struct ask who_can(const char *can)
{
	struct ask a = {.url = one->url, .principal = "alice", .can = can};

	return a;
}

/* ---- questions ---- */
/* What was declared is asked, in the shape that the schema has for it. */
static void test_question__of_each_kind(void **unused)
{
	static const struct {
		const char *kind, *can, *method;
	} all[] = {
		{"form", "{\"elicitation\":{\"form\":{}}}",
		 "elicitation/create"},
		{"sampling", "{\"sampling\":{}}", "sampling/createMessage"},
		{"sampling_tools", "{\"sampling\":{\"tools\":{}}}",
		 "sampling/createMessage"},
		{"sampling_context", "{\"sampling\":{\"context\":{}}}",
		 "sampling/createMessage"},
		{"roots", "{\"roots\":{}}", "roots/list"},
	};
	struct ask a;
	struct reply *r;

	(void)unused;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		a = who_can(all[i].can);
		r = tool(&a, "ask_anyway",
			 json_pack("{s:s}", "kind", all[i].kind));
		assert_int_equal(asked_count(r), 1);
		assert_string_equal(json_string_value(json_object_get(
					    asked(r, "q"), "method")),
				    all[i].method);
		reply_free(r);
	}
	/* no elicitationId in this revision */
	a = who_can("{\"elicitation\":{\"url\":{}}}");
	r = tool(&a, "ask_anyway", json_pack("{s:s}", "kind", "url"));
	equals(asked(r, "q"),
	       "{\"method\":\"elicitation/create\",\"params\":{\"mode\":"
	       "\"url\",\"message\":\"Open this page.\",\"url\":"
	       "\"https://example.com/consent?a=1\"}}");
	reply_free(r);
}

/* ---- sampling with tools ---- */
#define SAYS(role, content) "{\"role\":\"" role "\",\"content\":[" content "]}"
#define TEXT                "{\"type\":\"text\",\"text\":\"x\"}"
#define USES(id)                                                               \
	"{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"t\",\"input\":{}}"
#define GIVES(id)                                                              \
	"{\"type\":\"tool_result\",\"toolUseId\":\"" id "\",\"content\":[]}"

/* The client never sees a tool_use whose result does not come before anything
 * else, whatever a handler asks. */
static void test_sampling__tool_uses_are_answered_first(void **unused)
{
	static const struct {
		const char *messages;
		bool good;
	} all[] = {
		{"[" SAYS("user", TEXT) "," SAYS(
			 "assistant", USES("a")) "," SAYS("user",
							  GIVES("a")) "]",
		 true},
		{"[" SAYS("assistant", USES("a") "," USES("b")) "," SAYS(
			 "user", GIVES("b") "," GIVES("a")) "," SAYS("user",
								     TEXT) "]",
		 true},
		{"[" SAYS("assistant", USES("a")) "]", false},
		{"[" SAYS("assistant", USES("a")) "," SAYS(
			 "user", TEXT) "," SAYS("user", GIVES("a")) "]",
		 false},
		{"[" SAYS("assistant",
			  USES("a")) "," SAYS("user", GIVES("a") "," TEXT) "]",
		 false},
		{"[" SAYS("assistant", USES("a") "," USES("b")) "," SAYS(
			 "user", GIVES("a")) "]",
		 false},
	};
	struct ask a = who_can("{\"sampling\":{\"tools\":{}}}");

	(void)unused;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		json_t *params = json_pack(
			"{s:o,s:i,s:[{s:s,s:{s:s}}]}", "messages",
			parsed(all[i].messages), "maxTokens", 10, "tools",
			"name", "t", "inputSchema", "type", "object");
		struct reply *r = tool(&a, "ask_given",
				       json_pack("{s:s,s:O}", "kind",
						 "sampling", "params", params));

		if (asked_count(r) != all[i].good ||
		    error_code(r) != (all[i].good ? 0 : -32603))
			fail_msg("%s: %s", all[i].messages, r->raw);
		if (all[i].good)
			assert_true(json_equal(
				json_object_get(asked(r, "given"), "params"),
				params));
		reply_free(r);
		json_decref(params);
	}
}

/* Each question that is open, answered. */
static void answer_all(const struct ask *a, const char *id, struct reply *r)
{
	json_t *open = json_object_get(result(r), "inputRequests");
	json_t *answers = json_object();
	const char *key;
	json_t *v;

	json_object_foreach (open, key, v)
		(void)json_object_set_new(answers, key,
					  json_pack("{s:[]}", "roots"));
	reply_free(task_do(a, "tasks/update", id, answers));
	reply_free(r);
}

/* A loop that asks on and on ends, and says why. */
static void test_loop__that_asks_is_capped(void **unused)
{
	struct ask a = who_can("{\"roots\":{}," TASKS "}");
	struct reply *r = tool(&a, "asks_on", NULL);
	char id[64];
	size_t n = 0;

	(void)unused;
	(void)snprintf(id, sizeof(id), "%s", task_id(r));
	reply_free(r);
	for (size_t i = 0; i < CAP / 50; i++) {
		r = task_await(&a, id, "input_required");
		assert_non_null(r);
		n += asked_count(r);
		answer_all(&a, id, r);
	}
	assert_int_equal(n, CAP);
	r = task_await(&a, id, "failed");
	assert_non_null(r);
	assert_non_null(strstr(r->raw, "LIMIT_QUESTIONS_PER_CALL"));
	reply_free(r);
}

/* Forms ask for no secrets: said when a tool is registered, and when a form
 * is made. */
static void test_secret__is_warned_about(void **unused)
{
	struct ask a = who_can(CAN_FORM);

	(void)unused;
	assert_true(server_saw(one, "catalog.argument_looks_secret"));
	reply_free(tool(&a, "asks_secret", NULL));
	assert_true(server_saw(one, "handler.form_asks_secret"));
	assert_int_equal(server_count(one, "\"property\":\"api_key\""), 1);
	assert_int_equal(server_count(one, "\"property\":\"password\""), 1);
}

/* ---- rounds ---- */
static bool first_alone(void *user, json_t *m)
{
	(void)user;
	(void)m;
	return false;
}

/* A state in hand makes no other method ask. */
static void test_round__comes_from_three_methods_alone(void **unused)
{
	static const char *const others[] = {"server/discover",
					     "tools/list",
					     "prompts/list",
					     "resources/list",
					     "resources/templates/list",
					     "completion/complete",
					     "tasks/get",
					     "tasks/update",
					     "tasks/cancel"};
	struct ask a = who_can(CAN_TASKS);
	struct reply *r = tool(&a, ELICIT, json_object());
	char *state = strdup(state_of(r));
	char id[64];

	(void)unused;
	reply_free(r);
	r = tool(&a, "approve", NULL);
	(void)snprintf(id, sizeof(id), "%s", task_id(r));
	reply_free(r);
	r = task_await(&a, id, "input_required");
	assert_non_null(r);
	reply_free(r);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		r = rpc(&a, others[i], id,
			json_pack("{s:s,s:s,s:{},s:{s:s,s:s},s:{s:s,s:s}}",
				  "taskId", id, "requestState", state,
				  "inputResponses", "ref", "type",
				  "ref/resource", "uri", "fixture://note/{id}",
				  "argument", "name", "id", "value", ""));
		assert_string_equal(result_type(r), "complete");
		assert_null(member(r, "requestState"));
		if (strcmp(others[i], "tasks/get") != 0)
			assert_int_equal(asked_count(r), 0);
		reply_free(r);
	}
	a.event = first_alone;
	r = rpc(&a, "subscriptions/listen", NULL,
		json_pack("{s:s,s:{},s:{s:b}}", "requestState", state,
			  "inputResponses", "notifications", "toolsListChanged",
			  1));
	assert_null(r->message);
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(r->events, 0), "method")),
			    "notifications/subscriptions/acknowledged");
	reply_free(r);
	free(state);
}

static void is_round(struct reply *r, size_t questions)
{
	assert_string_equal(result_type(r), "input_required");
	assert_non_null(state_of(r));
	assert_true(state_of(r)[0] != '\0');
	assert_true(
		json_is_object(json_object_get(result(r), "inputRequests")));
	assert_int_equal(asked_count(r), questions);
	assert_null(json_object_get(result(r), "ttlMs"));
	assert_null(json_object_get(result(r), "cacheScope"));
	assert_null(json_object_get(result(r), "taskId"));
	reply_free(r);
}

/* Each way that a call can be sent round: with questions, handed over, asleep,
 * as a task that asks, as a task that works. */
static void test_round__always_has_a_state(void **unused)
{
	struct ask a = who_can(CAN_FORM);

	(void)unused;
	a.url = brief->url;
	is_round(tool(&a, "upgrade", NULL), 2);
	is_round(tool(&a, "ask_inline", NULL), 1);
	is_round(tool(&a, "handed_over", NULL), 0);
	is_round(tool(&a, "nap", json_pack("{s:i}", "ms", 20000)), 0);
	is_round(tool(&a, "long_nap", json_pack("{s:i}", "ms", 20000)), 0);
	a.url = one->url; /* where there is time for the question */
	is_round(tool(&a, "approve", NULL), 1);
}

static void not_accepted(struct ask *a, const char *state, const char *what,
			 size_t at)
{
	struct reply *r = again(a, ELICIT, json_object(), state,
				accept_string("user_name", "name", "Eve"));

	if (r->status != 200 || error_code(r) != -32602 ||
	    strcmp(error_text(r), "requestState was not accepted") != 0)
		fail_msg("%s at %zu: %d %s", what, at, r->status, r->raw);
	reply_free(r);
}

/* Each character changed to another of the alphabet, each length cut to, and
 * everything that is not ours: refused in the same words. */
static void test_state__any_change_is_refused(void **unused)
{
	static const char *const others[] = {"",       "b1",           "b1..",
					     "b2.x.y", "eyJhIjoxfQ==", "null"};
	struct ask a = who_can(CAN_FORM);
	struct reply *r = tool(&a, ELICIT, json_object());
	char *state = strdup(state_of(r));
	size_t n = strlen(state);
	char longer[4096];

	(void)unused;
	reply_free(r);
	for (size_t i = 0; i < n; i++) {
		char was = state[i];

		state[i] = was == 'A' ? 'B' : 'A';
		not_accepted(&a, state, "changed", i);
		state[i] = was;
	}
	for (size_t cut = 1; cut < n; cut += 7) {
		char *shorter = strndup(state, n - cut);

		not_accepted(&a, shorter, "cut", cut);
		free(shorter);
	}
	(void)snprintf(longer, sizeof(longer), "%sA", state);
	not_accepted(&a, longer, "longer", n);
	(void)snprintf(longer, sizeof(longer), "%s=", state);
	not_accepted(&a, longer, "padded", n);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		not_accepted(&a, others[i], others[i], 0);
	r = again(&a, ELICIT, json_object(), state,
		  accept_string("user_name", "name", "Ada"));
	assert_string_equal(result_text(r), "Hello, Ada!");
	reply_free(r);
	free(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_question__of_each_kind),
		cmocka_unit_test(test_sampling__tool_uses_are_answered_first),
		cmocka_unit_test(test_loop__that_asks_is_capped),
		cmocka_unit_test(test_secret__is_warned_about),
		cmocka_unit_test(test_round__comes_from_three_methods_alone),
		cmocka_unit_test(test_round__always_has_a_state),
		cmocka_unit_test(test_state__any_change_is_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
