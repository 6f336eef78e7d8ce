/* SPDX-License-Identifier: MIT */
/*
 * The migration checklist of the guide "Porting MCP servers off
 * server-initiated calls": a test for each of its items, named after it. (Both
 * eras are tested once there is a second.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/e2e/lib/pair.h"

#define ELICIT        "test_input_required_result_elicitation"
#define INVALID       (-32602)
#define NO_CAPABILITY (-32021)
#define MINUTE_MS     (INT64_C(60) * 1000)
#define SECRET        "hunter2-the-password"
#define CAN_SAMPLE    "{\"sampling\":{}}"
#define CAN_ROOTS     "{\"roots\":{}}"

static struct server *demo; /* the examples' tools */

static int setup(void **state)
{
	static const char *const args[] = {"--test-identity", NULL};
	char path[320];

	(void)state;
	pair_clock();
	(void)pair_both(args);
	(void)snprintf(path, sizeof(path), "%s/project", scratch->dir);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(setenv("ALLOWED_ROOTS", path, 1), 0);
	server_use("examples/demo_server");
	demo = server_start(scratch, NULL);
	return 0;
}

static int teardown(void **state)
{
	server_free(demo);
	return pair_end(state);
}

/* ---- whatever may ask ---- */
struct what {
	const char *method, *name;
};

/* One request of it; @answers: stolen. */
static struct reply *request(const struct ask *a, struct what w,
			     const char *state, json_t *answers)
{
	const char *member =
		strcmp(w.method, "resources/read") == 0 ? "uri" : "name";
	json_t *p = json_pack("{s:s}", member, w.name);

	if (state != NULL)
		(void)json_object_set_new(p, "requestState",
					  json_string(state));
	if (answers != NULL)
		(void)json_object_set_new(p, "inputResponses", answers);
	return rpc(a, w.method, w.name, p);
}

static void asks(const struct reply *r)
{
	if (strcmp(result_type(r), "input_required") != 0)
		fail_msg("it does not ask: %d %s", r->status, r->raw);
}

/* The text of a complete result, whosever it is. */
static const char *says(const struct reply *r)
{
	const json_t *message =
		json_array_get(json_object_get(result(r), "messages"), 0);
	const json_t *contents =
		json_array_get(json_object_get(result(r), "contents"), 0);
	const char *text = json_string_value(json_object_get(
		message != NULL ? json_object_get(message, "content")
				: contents,
		"text"));

	if (strcmp(result_type(r), "complete") != 0)
		fail_msg("it does not end: %d %s", r->status, r->raw);
	return text != NULL ? text : result_text(r);
}

/* ---- the items ---- */
/* "Eligible methods only: input_required is returned exclusively from
 * tools/call, resources/read, and prompts/get." */
static void test_eligible_methods_only(void **unused)
{
	static const struct what may[] = {{"tools/call", "ask_name"},
					  {"prompts/get", "ask_name"},
					  {"resources/read", "fixture://name"}};
	static const char *const others[] = {"server/discover",
					     "tools/list",
					     "prompts/list",
					     "resources/list",
					     "resources/templates/list",
					     "completion/complete"};
	struct ask a = as_can(one, "alice", CAN_ALL);

	(void)unused;
	for (size_t i = 0; i < 3; i++) {
		struct reply *r = request(&a, may[i], NULL, NULL);

		asks(r);
		for (size_t k = 0; k < 6; k++) {
			json_t *p = json_pack(
				"{s:s,s:{},s:{s:s,s:s},s:{s:s,s:s}}",
				"requestState", state_of(r), "inputResponses",
				"ref", "type", "ref/prompt", "name",
				"test_prompt_with_arguments", "argument",
				"name", "arg1", "value", "te");
			struct reply *s = rpc(&a, others[k], NULL, p);

			(void)says(s);
			reply_free(s);
		}
		reply_free(r);
	}
}

/* What @can must have for a question, as the pages on elicitation, sampling and
 * roots say. */
static bool declared(const json_t *can, const json_t *question)
{
	const char *method =
		json_string_value(json_object_get(question, "method"));
	const json_t *params = json_object_get(question, "params");
	const char *mode = json_string_value(json_object_get(params, "mode"));
	const json_t *elicit = json_object_get(can, "elicitation");
	const json_t *sampling = json_object_get(can, "sampling");

	if (strcmp(method, "roots/list") == 0)
		return json_object_get(can, "roots") != NULL;
	if (strcmp(method, "sampling/createMessage") == 0)
		return sampling != NULL &&
		       (json_object_get(params, "tools") == NULL ||
			json_object_get(sampling, "tools") != NULL);
	if (mode != NULL && strcmp(mode, "url") == 0)
		return json_object_get(elicit, "url") != NULL;
	return elicit != NULL && (json_object_size(elicit) == 0 ||
				  json_object_get(elicit, "form") != NULL);
}

/* How many questions it asks, each of which was declared; none: it was
 * refused, or did without. */
static size_t asks_what_was_declared(const struct ask *a, struct what w,
				     const char *state)
{
	struct reply *r = request(a, w, state, NULL);
	json_t *questions = json_object_get(result(r), "inputRequests");
	json_t *can = json_loads(a->can, 0, NULL);
	size_t n = asked_count(r);
	const char *key;
	json_t *q;

	json_object_foreach (questions, key, q)
		if (!declared(can, q))
			fail_msg("%s asks %s of %s", w.name, key, a->can);
	if (n == 0 && error_code(r) != NO_CAPABILITY)
		(void)says(r);
	json_decref(can);
	reply_free(r);
	return n;
}

/* "Capabilities read per request: every inputRequests entry corresponds to
 * something declared in that request's _meta." Also where the request before
 * it, on the same connection, declared all; and in a later round. */
static void test_capabilities_read_per_request(void **unused)
{
	static const char *const caps[] = {
		"{}",
		"{\"elicitation\":{}}",
		"{\"elicitation\":{\"form\":{}}}",
		"{\"elicitation\":{\"url\":{}}}",
		"{\"sampling\":{}}",
		"{\"roots\":{}}",
		"{\"tasks\":{},\"experimental\":{\"sampling\":{}}}"};
	static const struct what all[] = {
		{"tools/call", ELICIT},
		{"tools/call", "test_input_required_result_sampling"},
		{"tools/call", "test_input_required_result_list_roots"},
		{"tools/call", "test_input_required_result_multiple_inputs"},
		{"tools/call", "test_input_required_result_capabilities"},
		{"prompts/get", "ask_name"},
		{"resources/read", "fixture://name"}};
	static const size_t asked_of[] = {0, 4, 4, 1, 2, 1, 0};

	(void)unused;
	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		size_t n = 0;

		for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
			struct ask rich = as_can(one, "alice", CAN_ALL);
			struct ask a = as_can(one, "alice", caps[i]);
			struct reply *r = request(&rich, all[k], NULL, NULL);

			asks(r);
			n += asks_what_was_declared(&a, all[k], NULL);
			(void)asks_what_was_declared(&a, all[k], state_of(r));
			reply_free(r);
		}
		assert_int_equal(n, asked_of[i]);
	}
}

static void refused(const struct ask *a, struct what w, const char *state)
{
	struct reply *r =
		request(a, w, state, accept_string("name", "name", "Ada"));

	if (r->status != 200 || error_code(r) != INVALID)
		fail_msg("not refused: %d %s", r->status, r->raw);
	reply_free(r);
}

/* "requestState is integrity-protected: HMAC or AEAD, with an expiry and a
 * binding to the original method and arguments." */
static void test_request_state_is_integrity_protected(void **unused)
{
	static const struct what tool_of = {"tools/call", "ask_name"};
	static const struct what other = {"tools/call", ELICIT};
	static const struct what prompt = {"prompts/get", "ask_name"};
	struct ask a = as_can(one, "alice", CAN_FORM);
	struct reply *r = request(&a, tool_of, NULL, NULL);
	char *state = strdup(state_of(r));
	size_t n = strlen(state);
	struct reply *s;

	(void)unused;
	refused(&a, other, state);
	refused(&a, prompt, state);
	s = again(&a, tool_of.name, json_pack("{s:i}", "more", 1), state,
		  accept_string("name", "name", "Ada"));
	assert_int_equal(error_code(s), INVALID);
	reply_free(s);
	for (size_t i = 0; i < n; i += n / 24) {
		char was = state[i];

		state[i] = was == 'A' ? 'B' : 'A';
		refused(&a, tool_of, state);
		state[i] = was;
	}
	s = request(&a, tool_of, state, accept_string("name", "name", "Ada"));
	assert_string_equal(says(s), "It is Ada's.");
	reply_free(s);
	testclock_forward(the_clock, 20 * MINUTE_MS);
	refused(&a, tool_of, state);
	free(state);
	reply_free(r);
}

/* "requestState is verified before use: signature, expiry, and binding all
 * checked on every retry, before any field is trusted." Whatever is wrong with
 * it, no handler is entered. */
static void test_request_state_is_verified_before_use(void **unused)
{
	static const struct what w = {"tools/call", "effect_after_answer"};
	static const struct what other = {"tools/call", "once"};
	struct ask a = as_can(one, "alice", CAN_FORM);
	struct ask bob = {.url = two->url, .principal = "bob"};
	struct reply *r = request(&a, w, NULL, NULL);
	char *state = strdup(state_of(r));
	size_t plans = effects(" plan");
	size_t done = effects(" effect");

	(void)unused;
	refused(&a, w, "");
	refused(&a, w, "b1.x.AAAA");
	refused(&a, w, "{\"step\":\"awaiting_env\"}");
	refused(&a, other, state);
	refused(&bob, w, state);
	state[strlen(state) / 2] ^= 1;
	refused(&a, w, state);
	state[strlen(state) / 2] ^= 1;
	testclock_forward(the_clock, 20 * MINUTE_MS);
	refused(&a, w, state);
	assert_int_equal(effects(" plan"), plans);
	assert_int_equal(effects(" effect"), done);
	free(state);
	reply_free(r);
}

static int sextet(char c)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789-_";
	const char *p = c != '\0' ? strchr(alphabet, c) : NULL;

	return p != NULL ? (int)(p - alphabet) : -1;
}

/* The bytes of base64url text up to what is none; their number. */
static size_t decode(const char *text, unsigned char *out)
{
	unsigned bits = 0;
	size_t n = 0;

	for (size_t i = 0; sextet(text[i]) >= 0; i++) {
		bits = (bits << 6 | (unsigned)sextet(text[i])) & 0xffffff;
		if (i % 4 > 0)
			out[n++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
	}
	return n;
}

/* Whether @text stands in a state: as it is, or in one of its pieces. */
static bool holds(const char *state, const char *text)
{
	unsigned char *bytes = malloc(strlen(state) + 1);
	bool found = strstr(state, text) != NULL;

	assert_non_null(bytes);
	for (const char *p = state; p != NULL && !found;) {
		size_t n = decode(p, bytes);

		found = memmem(bytes, n, text, strlen(text)) != NULL;
		p = strchr(p, '.');
		p = p != NULL ? p + 1 : NULL;
	}
	free(bytes);
	return found;
}

static void hides_all(const struct reply *r)
{
	static const char *const secrets[] = {SECRET,    "alice",  "step1",
					      "Colour?", "accept", "tools/call",
					      "before"};

	asks(r);
	assert_non_null(state_of(r));
	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++)
		if (holds(state_of(r), secrets[i]))
			fail_msg("%s is in %s", secrets[i], state_of(r));
}

/* "No secrets in the continuation: nothing in there you would not show the
 * user." Nothing at all can be read: neither arguments nor answers, questions,
 * results of steps, or who it is; nor do two of one call look alike. */
static void test_no_secrets_in_the_continuation(void **unused)
{
	static const char name[] = "test_input_required_result_multi_round";
	struct ask a = as_can(one, "alice", CAN_FORM);
	json_t *args = json_pack("{s:s}", "password", SECRET);
	struct reply *r = tool(&a, name, json_incref(args));
	struct reply *s = tool(&a, name, json_incref(args));
	struct reply *t;

	(void)unused;
	/* holds() would find them */
	assert_true(holds("v1.eyJkYXRhIjoiaHVudGVyMi10aGUtcGFzc3dvcmQifQ.mac",
			  SECRET));
	assert_true(holds("x.aHVudGVyMi10aGUtcGFzc3dvcmQ", SECRET));
	assert_false(holds("x.aHVudGVyMy10aGUtcGFzc3dvcmQ", SECRET));
	hides_all(r);
	assert_string_not_equal(state_of(r), state_of(s));
	t = again(&a, name, args, state_of(r),
		  accept_string("step1", "name", SECRET));
	assert_non_null(asked(t, "step2"));
	hides_all(t);
	reply_free(t);
	t = tool(&a, "approve", NULL); /* a handle of a task */
	hides_all(t);
	reply_free(t);
	reply_free(r);
	reply_free(s);
}

/* Its last round @state, sent three times, to one and the other. */
static void repeated(struct what w, const char *state, const char *key,
		     const char *end, const char *effect)
{
	size_t before = effects(effect);

	for (int i = 0; i < 3; i++) {
		struct ask a = as_can(i == 1 ? two : one, "alice", CAN_FORM);
		struct reply *r =
			request(&a, w, state, accept_bool(key, "ok", true));

		assert_string_equal(says(r), end);
		reply_free(r);
	}
	assert_int_equal(effects(effect), before + 1);
}

/* "Side effects come last: a duplicated retry cannot deploy, charge, or send
 * twice." Nothing is done before the answer, and then it is done once. */
static void test_side_effects_come_last(void **unused)
{
	static const struct what once = {"tools/call", "once"};
	static const struct what task = {"tools/call", "approve"};
	struct ask a = as_can(one, "alice", CAN_FORM);
	size_t done = effects(" effect");
	size_t after = effects(" after");
	struct reply *r = request(&a, once, NULL, NULL);
	struct reply *s = request(&a, task, NULL, NULL);

	(void)unused;
	asks(r);
	asks(s);
	assert_int_equal(effects(" effect"), done);
	assert_int_equal(effects(" after"), after);
	repeated(once, state_of(r), "confirm", "plan 7 done", " effect");
	repeated(task, state_of(s), "approval", "approved: yes", " after");
	reply_free(r);
	reply_free(s);
}

struct ends {
	struct what what;
	const char *key, *accepted; /* how it begins */
	const char *declined, *cancelled;
	json_t *accept;
};

static void ends_with(const struct ends *e, const char *action,
		      const char *text)
{
	struct ask a = as_can(one, "alice", CAN_FORM);
	struct reply *r = request(&a, e->what, NULL, NULL);
	json_t *answer =
		strcmp(action, "accept") == 0
			? json_incref(e->accept)
			: json_pack("{s:{s:s}}", e->key, "action", action);
	struct reply *s;

	asks(r);
	s = request(&a, e->what, state_of(r), answer);
	if (strncmp(says(s), text, strlen(text)) != 0)
		fail_msg("%s %s: %s", e->what.name, action, says(s));
	reply_free(r);
	reply_free(s);
}

/* "All three actions handled: accept, decline, and cancel have distinct, safe
 * behaviour on every input key." */
static void test_all_three_actions_handled(void **unused)
{
	struct ends all[] = {
		{{"tools/call", "effect_after_answer"},
		 "confirm",
		 "plan 7 done",
		 "declined by user",
		 "cancelled by user",
		 accept_bool("confirm", "ok", true)},
		{{"tools/call", "approve"},
		 "approval",
		 "approved: yes",
		 "declined by user",
		 "cancelled by user",
		 accept_bool("approval", "ok", true)},
		{{"prompts/get", "ask_name"},
		 "name",
		 "It is Ada's.",
		 "It was declined.",
		 "It was cancelled.",
		 accept_string("name", "name", "Ada")},
		{{"resources/read", "fixture://name"},
		 "name",
		 "It is Ada's.",
		 "It was declined.",
		 "It was cancelled.",
		 accept_string("name", "name", "Ada")},
	};
	size_t effect = effects(" effect");
	size_t after = effects(" after");

	(void)unused;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		ends_with(&all[i], "decline", all[i].declined);
		ends_with(&all[i], "cancel", all[i].cancelled);
	}
	assert_int_equal(effects(" effect"), effect);
	assert_int_equal(effects(" after"), after);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		ends_with(&all[i], "accept", all[i].accepted);
		json_decref(all[i].accept);
	}
	assert_int_equal(effects(" effect"), effect + 1);
	assert_int_equal(effects(" after"), after + 1);
}

/* A result without isError that has @text; @r is freed. */
static void useful(struct reply *r, const char *text)
{
	if (strstr(says(r), text) == NULL ||
	    json_is_true(json_object_get(result(r), "isError")))
		fail_msg("%s, wanted %s", r->raw, text);
	reply_free(r);
}

/* "Fallbacks exist: a client lacking elicitation or sampling gets a useful
 * degraded result, not an error." Also one that lost it between two rounds. */
static void test_fallbacks_exist(void **unused)
{
	struct ask none = as_can(demo, "alice", CAN_NOTHING);
	struct ask samples = as_can(demo, "alice", CAN_SAMPLE);
	json_t *since = json_pack("{s:s}", "since", "2026-11-09");
	struct reply *r =
		tool(&samples, "summarize_incidents", json_incref(since));

	(void)unused;
	asks(r);
	useful(tool(&none, "summarize_incidents", json_incref(since)),
	       "login: expired certificate");
	useful(again(&none, "summarize_incidents", since, state_of(r), NULL),
	       "login: expired certificate");
	reply_free(r);
	useful(tool(&samples, "deploy_service",
		    json_pack("{s:s}", "service", "checkout")),
	       "call deploy_service again with an \"environment\" argument");
	useful(tool(&samples, "deploy_service",
		    json_pack("{s:s,s:s}", "service", "checkout", "environment",
			      "staging")),
	       "Deployed checkout to staging");
}

/* "Roots retired: filesystem boundaries come from configuration or validated
 * arguments, not a runtime request." The client's roots decide nothing. */
static void test_roots_retired(void **unused)
{
	static const char name[] = "list_project_files";
	static const char *const outside[] = {"..", "/etc", "none"};
	struct ask none = as_can(demo, "alice", CAN_NOTHING);
	struct ask roots = as_can(demo, "alice", CAN_ROOTS);
	struct reply *r;

	(void)unused;
	useful(tool(&none, name, json_object()), "Call again with a \"path\"");
	useful(tool(&none, name, json_pack("{s:s}", "path", ".")), "");
	/* who has roots is not asked for them where there is a path */
	useful(tool(&roots, name, json_pack("{s:s}", "path", ".")), "");
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		r = tool(&roots, name, json_pack("{s:s}", "path", outside[i]));
		assert_true(
			json_is_true(json_object_get(result(r), "isError")));
		assert_non_null(strstr(says(r), "not a directory under an "
						"allowed one"));
		reply_free(r);
	}
	r = tool(&roots, name, json_object());
	asks(r);
	useful(again(&roots, name, json_object(), state_of(r),
		     json_pack("{s:{s:[{s:s}]}}", "roots", "roots", "uri",
			       "file:///etc")),
	       "file:///etc: not allowed here");
	reply_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_eligible_methods_only),
		cmocka_unit_test(test_capabilities_read_per_request),
		cmocka_unit_test(test_request_state_is_integrity_protected),
		cmocka_unit_test(test_request_state_is_verified_before_use),
		cmocka_unit_test(test_no_secrets_in_the_continuation),
		cmocka_unit_test(test_side_effects_come_last),
		cmocka_unit_test(test_all_three_actions_handled),
		cmocka_unit_test(test_fallbacks_exist),
		cmocka_unit_test(test_roots_retired),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
