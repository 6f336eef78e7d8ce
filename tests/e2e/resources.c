/* SPDX-License-Identifier: MIT */
/*
 * Prompts, resources and completions over real HTTP and two instances on one
 * database. docs/conformance.md: S62 to S71.
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
#include "tests/e2e/lib/raw.h"

#define REFUSED (-32602)
#define NOTES   250

static const char *const identity[] = {"--test-identity", NULL};

static int setup(void **state)
{
	(void)state;
	return pair_both(identity);
}

/* ---- one request ---- */
static json_t *with(json_t *params, const char *state, json_t *answers)
{
	if (state != NULL)
		(void)json_object_set_new(params, "requestState",
					  json_string(state));
	if (answers != NULL)
		(void)json_object_set_new(params, "inputResponses", answers);
	return params;
}

static struct reply *get(const struct ask *a, const char *name,
			 const char *state, json_t *answers)
{
	return rpc(a, "prompts/get", name,
		   with(json_pack("{s:s}", "name", name), state, answers));
}

static struct reply *read_it(const struct ask *a, const char *uri,
			     const char *state, json_t *answers)
{
	return rpc(a, "resources/read", uri,
		   with(json_pack("{s:s}", "uri", uri), state, answers));
}

static const char *at(const struct reply *r, const char *list, size_t i,
		      const char *member)
{
	const json_t *e = json_array_get(json_object_get(result(r), list), i);
	const char *s;

	if (strcmp(list, "messages") == 0 && strcmp(member, "role") != 0)
		e = json_object_get(e, "content");
	s = json_string_value(json_object_get(e, member));
	return s != NULL ? s : "";
}

static const char *message(const struct reply *r)
{
	return at(r, "messages", 0, "text");
}

static const char *contents(const struct reply *r)
{
	return at(r, "contents", 0, "text");
}

static void hint_is(const struct reply *r, json_int_t ms, const char *scope)
{
	assert_int_equal(
		json_integer_value(json_object_get(result(r), "ttlMs")), ms);
	assert_string_equal(
		json_string_value(json_object_get(result(r), "cacheScope")),
		scope);
}

static void refused(struct reply *r, int status, int code)
{
	if (r->status != status || error_code(r) != code)
		fail_msg("wanted %d %d, got %d %s", status, code, r->status,
			 r->raw);
	reply_free(r);
}

/* The first round, which asks; its state, free(). */
static char *begin(struct reply *r, const char *key)
{
	char *state;

	assert_int_equal(r->status, 200);
	assert_string_equal(result_type(r), "input_required");
	assert_non_null(asked(r, key));
	assert_null(json_object_get(result(r), "ttlMs"));
	assert_null(json_object_get(result(r), "cacheScope"));
	state = strdup(state_of(r));
	reply_free(r);
	return state;
}

/* ---- rounds ---- */
/* Three rounds on three instances, one of which is gone by the end. */
static void test_prompt__goes_on_elsewhere(void **unused)
{
	struct server *third = server_start(scratch, identity);
	struct ask a = as(third, "alice");
	struct ask b = as(two, "alice");
	struct ask c = as(one, "alice");
	size_t before = effects(" between");
	char *s = begin(get(&a, "ask_twice", NULL, NULL), "first");
	char *t;
	struct reply *r;

	(void)unused;
	server_kill(third, SIGKILL);
	t = begin(
		get(&b, "ask_twice", s, accept_string("first", "name", "Ada")),
		"second");
	r = get(&c, "ask_twice", t, accept_string("second", "name", "Bo"));
	assert_string_equal(result_type(r), "complete");
	assert_string_equal(message(r), "Ada, kept, Bo");
	assert_string_equal(at(r, "messages", 0, "role"), "assistant");
	assert_string_equal(
		json_string_value(json_object_get(result(r), "description")),
		"for a test of ours");
	assert_int_equal(effects(" between"), before + 1);
	reply_free(r);
	free(s);
	free(t);
	server_free(third);
}

static void test_prompt__learns_of_a_refusal(void **unused)
{
	struct ask a = as(one, "alice");
	struct ask b = as(two, "alice");
	char *s = begin(get(&a, "ask_name", NULL, NULL), "name");
	struct reply *r =
		get(&b, "ask_name", s,
		    json_pack("{s:{s:s}}", "name", "action", "decline"));

	(void)unused;
	assert_string_equal(message(r), "It was declined.");
	reply_free(r);
	r = get(&b, "ask_name", s,
		json_pack("{s:{s:s}}", "name", "action", "cancel"));
	assert_string_equal(message(r), "It was cancelled.");
	reply_free(r);
	free(s);
}

/* Its handler is not entered without what it requires. */
static void test_prompt__demands_its_arguments(void **unused)
{
	static const char name[] = "test_prompt_with_arguments";
	struct ask a = as(one, "alice");
	struct reply *r =
		rpc(&a, "prompts/get", name, json_pack("{s:s}", "name", name));

	(void)unused;
	assert_int_equal(r->status, 200);
	assert_int_equal(error_code(r), -32602);
	assert_non_null(strstr(error_text(r), "arg1, arg2"));
	reply_free(r);
	r = rpc(&a, "prompts/get", name,
		json_pack("{s:s,s:{s:s,s:s}}", "name", name, "arguments",
			  "arg1", "a", "arg2", "b"));
	assert_string_equal(message(r),
			    "Prompt with arguments: arg1='a', arg2='b'");
	reply_free(r);
}

/* And what the answers made of it is not to be kept. */
static void test_resource__goes_on_elsewhere(void **unused)
{
	struct ask a = as(one, "alice");
	struct ask b = as(two, "alice");
	char *s = begin(read_it(&a, "fixture://name", NULL, NULL), "name");
	struct reply *r = read_it(&b, "fixture://name", s,
				  accept_string("name", "name", "Ada"));

	(void)unused;
	assert_string_equal(result_type(r), "complete");
	assert_string_equal(contents(r), "It is Ada's.");
	assert_string_equal(at(r, "contents", 0, "uri"), "fixture://name");
	assert_string_equal(at(r, "contents", 0, "mimeType"), "text/plain");
	hint_is(r, 0, "private");
	reply_free(r);
	r = read_it(&a, "fixture://name", s,
		    json_pack("{s:{s:s}}", "name", "action", "decline"));
	assert_string_equal(contents(r), "It was declined.");
	hint_is(r, 0, "private");
	reply_free(r);
	/* One that asks nothing keeps its own hint. */
	r = read_it(&a, "fixture://fixed", NULL, NULL);
	assert_string_equal(contents(r), "Always the same.");
	hint_is(r, 60000, "public");
	reply_free(r);
	free(s);
}

static void test_question__wants_its_capability(void **unused)
{
	struct ask a = as(one, "alice");

	(void)unused;
	a.can = CAN_NOTHING;
	refused(get(&a, "ask_name", NULL, NULL), 400, -32021);
	refused(read_it(&a, "fixture://name", NULL, NULL), 400, -32021);
}

static json_t *ada(void)
{
	return accept_string("name", "name", "Ada");
}

/* A state is good for one method, name and caller; no handler is entered with
 * another. */
static void test_state__of_another_is_refused(void **unused)
{
	struct ask a = as(one, "alice");
	struct ask b = as(two, "alice");
	struct ask bob = as(two, "bob");
	size_t before = effects(" named");
	char *prompt = begin(get(&a, "ask_name", NULL, NULL), "name");
	char *resource =
		begin(read_it(&a, "fixture://name", NULL, NULL), "name");
	char *called = begin(tool(&a, "ask_name", json_object()), "name");

	(void)unused;
	refused(get(&b, "ask_name", called, ada()), 200, REFUSED);
	refused(get(&b, "ask_name", resource, ada()), 200, REFUSED);
	refused(get(&b, "ask_twice", prompt, ada()), 200, REFUSED);
	refused(again(&b, "ask_name", json_object(), prompt, ada()), 200,
		REFUSED);
	refused(read_it(&b, "fixture://name/too", resource, ada()), 200,
		REFUSED);
	refused(read_it(&b, "fixture://name", prompt, ada()), 200, REFUSED);
	refused(get(&bob, "ask_name", prompt, ada()), 200, REFUSED);
	refused(read_it(&bob, "fixture://name", resource, ada()), 200, REFUSED);
	assert_int_equal(effects(" named"), before);
	free(prompt);
	free(resource);
	free(called);
}

/* One bit, cut short, empty, and another key's. */
static void test_state__that_was_tampered_with_is_refused(void **unused)
{
	struct scratch *s = scratch_new();
	struct server *other = server_start(s, identity);
	struct ask a = as(one, "alice");
	struct ask o = as(other, "alice");
	size_t before = effects(" named");
	char *states[2] = {
		begin(get(&a, "ask_name", NULL, NULL), "name"),
		begin(read_it(&a, "fixture://name", NULL, NULL), "name")};
	char *foreign[2] = {
		begin(get(&o, "ask_name", NULL, NULL), "name"),
		begin(read_it(&o, "fixture://name", NULL, NULL), "name")};
	struct reply *(*const send[2])(const struct ask *, const char *,
				       const char *, json_t *) = {get, read_it};
	static const char *const names[2] = {"ask_name", "fixture://name"};

	(void)unused;
	for (size_t i = 0; i < 2; i++) {
		size_t len = strlen(states[i]);

		refused(send[i](&a, names[i], "", ada()), 200, REFUSED);
		refused(send[i](&a, names[i], foreign[i], ada()), 200, REFUSED);
		states[i][len / 2] ^= 1;
		refused(send[i](&a, names[i], states[i], ada()), 200, REFUSED);
		states[i][len / 2] ^= 1;
		states[i][len - 1] = '\0';
		refused(send[i](&a, names[i], states[i], ada()), 200, REFUSED);
		free(states[i]);
		free(foreign[i]);
	}
	assert_int_equal(effects(" named"), before);
	server_free(other);
	scratch_free(s);
}

/* ---- reading ---- */
static void test_template__reads_what_it_matches(void **unused)
{
	struct ask a = as(one, "alice");
	struct ask few = as(one, "few");
	struct reply *r = read_it(&a, "fixture://note/7", NULL, NULL);

	(void)unused;
	assert_string_equal(contents(r), "Note 7.");
	assert_string_equal(at(r, "contents", 0, "uri"), "fixture://note/7");
	hint_is(r, 0, "private");
	reply_free(r);
	refused(read_it(&few, "fixture://note/7", NULL, NULL), 200, REFUSED);
}

/* Never -32002, which earlier revisions had, and never empty contents. */
static void test_read__of_what_is_not_there(void **unused)
{
	static const char *const uris[] = {
		"fixture://nothing", "fixture://note/9999", "fixture://note/x",
		"fixture://note/..", "nowhere:at-all"};
	struct ask a = as(one, "alice");

	(void)unused;
	for (size_t i = 0; i < sizeof(uris) / sizeof(uris[0]); i++) {
		struct reply *r = read_it(&a, uris[i], NULL, NULL);
		const json_t *error = json_object_get(r->message, "error");

		assert_int_equal(r->status, 200);
		assert_int_equal(error_code(r), -32602);
		assert_string_equal(error_text(r), "Resource not found");
		assert_string_equal(
			json_string_value(json_object_get(
				json_object_get(error, "data"), "uri")),
			uris[i]);
		reply_free(r);
	}
	refused(read_it(&a, "no-scheme", NULL, NULL), 200, REFUSED);
	refused(rpc(&a, "resources/read", NULL, json_object()), 200, REFUSED);
}

static void test_read__that_fails(void **unused)
{
	struct ask a = as(one, "alice");
	struct reply *r = read_it(&a, "test://fails", NULL, NULL);

	(void)unused;
	assert_string_equal(error_text(r), "Internal error");
	refused(r, 200, -32603);
}

/* The header that routes a request says what its body says. */
static void test_name__is_repeated_in_a_header(void **unused)
{
	static const struct {
		const char *line;
		bool good;
	} all[] = {
		{"Mcp-Name: fixture://fixed", true},
		{"mcp-name:   fixture://fixed  ", true},
		{"Mcp-Name: =?base64?Zml4dHVyZTovL2ZpeGVk?=", true},
		{"Mcp-Name:", false}, /* left out */
		{"Mcp-Name: fixture://name", false},
		{"Mcp-Name: FIXTURE://fixed", false},
		{"Mcp-Name: =?base64?Zml4dHVyZTovL2ZpeGV=?=", false},
		{"Mcp-Name: =?base64?Zml4dHVyZTovL2ZpeGVk?", false},
		{"Mcp-Name: =?base64?*?=", false},
		{"Mcp-Name: fixture://fix\xc3\xa9", false},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const char *const headers[] = {all[i].line, NULL};
		struct ask a = as(one, "alice");

		a.headers = headers;
		if (all[i].good)
			refused(read_it(&a, "fixture://fixed", NULL, NULL), 200,
				0);
		else
			refused(read_it(&a, "fixture://fixed", NULL, NULL), 400,
				-32020);
	}
	for (size_t i = 0; i < 4; i++) {
		static const char *const lines[] = {
			"Mcp-Name: =?base64?YXNrX25hbWU=?=", "Mcp-Name:",
			"Mcp-Name: ask_twice",
			"Mcp-Name: =?base64?YXNrX25hbWV=?="};
		const char *const headers[] = {lines[i], NULL};
		struct ask a = as(one, "alice");

		a.headers = headers;
		refused(get(&a, "ask_name", NULL, NULL), i == 0 ? 200 : 400,
			i == 0 ? 0 : -32020);
	}
}

/* ---- a client that goes ---- */
static void leave_while_held(const char *method, const char *name,
			     const char *member)
{
	struct ask a = as(one, "alice");
	size_t held = effects(" holding");
	size_t let_go = effects(" let go");
	struct raw c = {0};
	char *text = raw_request(&a, method, name,
				 json_pack("{s:s}", member, name), NULL);

	raw_open(&c, a.url);
	raw_send(&c, text);
	assert_true(effects_await(scratch, " holding", held + 1));
	raw_close(&c);
	assert_true(effects_await(scratch, " let go", let_go + 1));
	free(text);
}

static void test_gone__ends_the_handler(void **unused)
{
	(void)unused;
	leave_while_held("resources/read", "fixture://hold", "uri");
	leave_while_held("prompts/get", "hold", "name");
}

/* ---- lists ---- */
/* All pages, from the instances in turn. The names seen; each page has this
 * hint. */
static json_t *page_through(const char *who, const char *method,
			    const char *list, const char *member, json_int_t ms,
			    const char *scope)
{
	struct ask a[2] = {as(one, who), as(two, who)};
	json_t *seen = json_object();
	char *cursor = NULL;
	size_t pages = 0;

	do {
		json_t *params = cursor != NULL
					 ? json_pack("{s:s}", "cursor", cursor)
					 : NULL;
		struct reply *r = rpc(&a[pages++ % 2], method, NULL, params);
		const char *next = json_string_value(
			json_object_get(result(r), "nextCursor"));
		const json_t *page = json_object_get(result(r), list);

		assert_true(json_is_array(page));
		for (size_t i = 0; i < json_array_size(page); i++)
			(void)json_object_set_new(
				seen,
				json_string_value(json_object_get(
					json_array_get(page, i), member)),
				json_true());
		hint_is(r, ms, scope);
		free(cursor);
		cursor = next != NULL ? strdup(next) : NULL;
		reply_free(r);
		assert_true(pages < 100);
	} while (cursor != NULL);
	return seen;
}

/* A list that its template makes is the caller's own, all pages alike; the
 * cursor of one instance is good at the other. */
static void test_list__of_resources_is_the_callers(void **unused)
{
	json_t *many = page_through("alice", "resources/list", "resources",
				    "uri", 0, "private");
	json_t *few = page_through("few", "resources/list", "resources", "uri",
				   0, "private");
	json_t *again = page_through("alice", "resources/list", "resources",
				     "uri", 0, "private");
	char uri[64];

	(void)unused;
	for (int i = 0; i < NOTES; i++) {
		(void)snprintf(uri, sizeof(uri), "fixture://note/%d", i);
		assert_non_null(json_object_get(many, uri));
		assert_int_equal(json_object_get(few, uri) != NULL, i < 3);
	}
	assert_non_null(json_object_get(many, "fixture://fixed"));
	assert_null(json_object_get(many, "fixture://note/{id}"));
	assert_int_equal(json_object_size(many) - json_object_size(few),
			 NOTES - 3);
	assert_true(json_equal(many, again));
	json_decref(many);
	json_decref(few);
	json_decref(again);
}

static void test_list__that_is_fixed_is_everybodys(void **unused)
{
	json_t *prompts = page_through("alice", "prompts/list", "prompts",
				       "name", 300000, "public");
	json_t *templates = page_through("few", "resources/templates/list",
					 "resourceTemplates", "uriTemplate",
					 300000, "public");

	(void)unused;
	assert_non_null(json_object_get(prompts, "ask_twice"));
	assert_non_null(json_object_get(templates, "fixture://note/{id}"));
	json_decref(prompts);
	json_decref(templates);
}

static void test_list__refuses_what_is_no_cursor(void **unused)
{
	static const char *const methods[] = {"prompts/list", "resources/list",
					      "resources/templates/list"};
	struct ask a = as(one, "alice");

	(void)unused;
	for (size_t i = 0; i < 3; i++) {
		refused(rpc(&a, methods[i], NULL,
			    json_pack("{s:s}", "cursor", "not a cursor")),
			200, -32602);
		refused(rpc(&a, methods[i], NULL,
			    json_pack("{s:i}", "cursor", 7)),
			200, -32602);
	}
}

/* ---- completions ---- */
static struct reply *complete(const struct ask *a, const char *uri,
			      const char *name, const char *value)
{
	return rpc(a, "completion/complete", NULL,
		   json_pack("{s:{s:s,s:s},s:{s:s,s:s}}", "ref", "type",
			     "ref/resource", "uri", uri, "argument", "name",
			     name, "value", value));
}

static void completes(const char *who, const char *typed, size_t sent,
		      json_int_t total)
{
	struct ask a = as(one, who);
	struct reply *r = complete(&a, "fixture://note/{id}", "id", typed);
	const json_t *c = json_object_get(result(r), "completion");

	assert_int_equal(json_array_size(json_object_get(c, "values")), sent);
	assert_int_equal(json_integer_value(json_object_get(c, "total")),
			 total);
	assert_int_equal(json_is_true(json_object_get(c, "hasMore")),
			 total > (json_int_t)sent);
	assert_null(json_object_get(result(r), "ttlMs"));
	reply_free(r);
}

static void test_complete__suggests_what_the_caller_may_read(void **unused)
{
	struct ask a = as(one, "alice");

	(void)unused;
	completes("alice", "", 100, NOTES);
	completes("alice", "24", 11, 11); /* 24, 240 to 249 */
	completes("alice", "x", 0, 0);
	completes("few", "", 3, 3);
	refused(complete(&a, "fixture://note/{id}", "nope", ""), 200, -32602);
	refused(complete(&a, "fixture://nothing", "id", ""), 200, -32602);
}

static void test_discover__declares_what_is_offered(void **unused)
{
	struct ask a = as(one, "alice");
	struct reply *r = rpc(&a, "server/discover", NULL, NULL);
	const json_t *c = json_object_get(result(r), "capabilities");
	const json_t *resources = json_object_get(c, "resources");

	(void)unused;
	assert_true(json_is_true(json_object_get(resources, "listChanged")));
	assert_true(json_is_true(json_object_get(resources, "subscribe")));
	assert_true(json_is_true(
		json_object_get(json_object_get(c, "prompts"), "listChanged")));
	assert_true(json_is_true(
		json_object_get(json_object_get(c, "tools"), "listChanged")));
	assert_true(json_is_object(json_object_get(c, "completions")));
	assert_true(json_is_object(json_object_get(c, "logging")));
	reply_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prompt__goes_on_elsewhere),
		cmocka_unit_test(test_prompt__learns_of_a_refusal),
		cmocka_unit_test(test_prompt__demands_its_arguments),
		cmocka_unit_test(test_resource__goes_on_elsewhere),
		cmocka_unit_test(test_question__wants_its_capability),
		cmocka_unit_test(test_state__of_another_is_refused),
		cmocka_unit_test(test_state__that_was_tampered_with_is_refused),
		cmocka_unit_test(test_template__reads_what_it_matches),
		cmocka_unit_test(test_read__of_what_is_not_there),
		cmocka_unit_test(test_read__that_fails),
		cmocka_unit_test(test_name__is_repeated_in_a_header),
		cmocka_unit_test(test_gone__ends_the_handler),
		cmocka_unit_test(test_list__of_resources_is_the_callers),
		cmocka_unit_test(test_list__that_is_fixed_is_everybodys),
		cmocka_unit_test(test_list__refuses_what_is_no_cursor),
		cmocka_unit_test(
			test_complete__suggests_what_the_caller_may_read),
		cmocka_unit_test(test_discover__declares_what_is_offered),
	};

	return cmocka_run_group_tests(tests, setup, pair_end);
}
