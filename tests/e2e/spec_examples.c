/* SPDX-License-Identifier: MIT */
/*
 * The specification's own example messages of 2026-07-28, read as data from
 * $BIDE_SHARED/protocol/examples-2026-07-28 (default ../shared): what a client
 * may send is accepted as it stands, and what a server may ask can be asked.
 * Skipped, saying so, where they are absent.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/e2e/lib/pair.h"

#define CAN_EVERYTHING                                                         \
	"{\"elicitation\":{\"form\":{},\"url\":{}},\"sampling\":{\"tools\":"   \
	"{},\"context\":{}},\"roots\":{}}"

static size_t sent;

static int setup(void **state)
{
	(void)state;
	return pair_one(NULL);
}

static void folder(char path[512], const char *type)
{
	const char *shared = getenv("BIDE_SHARED");

	(void)snprintf(path, 512, "%s/protocol/examples-2026-07-28/%s",
		       shared != NULL ? shared : "../shared", type);
}

/* Calls @fn with each example of a type; how many there were. */
static size_t each(const char *type, void (*fn)(const char *name, json_t *m))
{
	char path[512];
	char file[1024];
	struct dirent *e;
	size_t n = 0;
	DIR *d;

	folder(path, type);
	d = opendir(path);
	while (d != NULL && (e = readdir(d)) != NULL) {
		json_t *m;

		if (strstr(e->d_name, ".json") == NULL)
			continue;
		(void)snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
		m = json_load_file(file, 0, NULL);
		assert_non_null(m);
		fn(e->d_name, m);
		json_decref(m);
		n++;
	}
	if (d != NULL)
		(void)closedir(d);
	sent += n;
	return n;
}

static bool there(void)
{
	char path[512];
	DIR *d;

	folder(path, "");
	d = opendir(path);
	if (d == NULL) {
		print_message("skipped: the specification's examples are not "
			      "in $BIDE_SHARED/protocol\n");
		return false;
	}
	(void)closedir(d);
	return true;
}

/* ---- requests, as they stand ---- */
static bool close_at_once(void *user, json_t *message)
{
	*(json_t **)user = json_incref(message);
	return false;
}

static const char *name_of(const json_t *m)
{
	const json_t *p = json_object_get(m, "params");
	const char *name = json_string_value(json_object_get(p, "name"));

	return name != NULL ? name
			    : json_string_value(json_object_get(p, "uri"));
}

/* Its bytes, and its headers as its body has them. */
static struct reply *send(const json_t *m, json_t **event)
{
	const char *method = json_string_value(json_object_get(m, "method"));
	char *body = json_dumps(m, JSON_INDENT(2));
	struct ask a = {.url = one->url, .body = body};
	struct reply *r;

	if (event != NULL) {
		a.event = close_at_once;
		a.user = (void *)event;
	}
	r = rpc(&a, method, name_of(m), json_object());
	free(body);
	return r;
}

static void accepted(const char *name, json_t *m)
{
	struct reply *r = send(m, NULL);

	if (r->status != 200 || result(r) == NULL)
		fail_msg("%s: %d %s", name, r->status, r->raw);
	assert_string_equal(result_type(r), "complete");
	assert_true(json_equal(json_object_get(r->message, "id"),
			       json_object_get(m, "id")));
	reply_free(r);
}

static void listened(const char *name, json_t *m)
{
	json_t *event = NULL;
	struct reply *r = send(m, &event);
	const json_t *p = json_object_get(event, "params");

	if (event == NULL)
		fail_msg("%s: %d %s", name, r->status, r->raw);
	assert_string_equal(json_string_value(json_object_get(event, "method")),
			    "notifications/subscriptions/acknowledged");
	/* all that it wants is honoured */
	assert_true(json_equal(json_object_get(p, "notifications"),
			       json_object_get(json_object_get(m, "params"),
					       "notifications")));
	json_decref(event);
	reply_free(r);
}

static void noted(const char *name, json_t *m)
{
	struct reply *r = send(m, NULL);

	if (r->status != 202)
		fail_msg("%s: %d %s", name, r->status, r->raw);
	reply_free(r);
}

static void test_requests__of_the_examples_are_served(void **unused)
{
	static const char *const types[] = {
		"DiscoverRequest",     "ListToolsRequest",
		"CallToolRequest",     "ListResourcesRequest",
		"ReadResourceRequest", "ListResourceTemplatesRequest",
		"ListPromptsRequest",  "GetPromptRequest",
		"CompleteRequest",
	};

	(void)unused;
	if (!there())
		skip();
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (each(types[i], accepted) == 0)
			fail_msg("no example of %s", types[i]);
	assert_true(each("SubscriptionsListenRequest", listened) > 0);
	assert_true(each("CancelledNotification", noted) > 0);
}

/* ---- params alone ---- */
static const char *method;

static void with_params(const char *name, json_t *params)
{
	json_t *m = json_pack("{s:s,s:i,s:s,s:O}", "jsonrpc", "2.0", "id", 1,
			      "method", method, "params", params);

	accepted(name, m);
	json_decref(m);
}

static void test_params__of_the_examples_are_served(void **unused)
{
	static const struct {
		const char *type, *method;
	} all[] = {{"CallToolRequestParams", "tools/call"},
		   {"CompleteRequestParams", "completion/complete"},
		   {"GetPromptRequestParams", "prompts/get"}};

	(void)unused;
	if (!there())
		skip();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		method = all[i].method;
		assert_true(each(all[i].type, with_params) > 0);
	}
}

/* A cursor that is another server's is no cursor of ours (pagination, "Error
 * Handling"). */
static void foreign(const char *name, json_t *params)
{
	json_t *m = json_pack("{s:s,s:i,s:s,s:O}", "jsonrpc", "2.0", "id", 1,
			      "method", "tools/list", "params", params);
	struct reply *r = send(m, NULL);

	if (error_code(r) != -32602)
		fail_msg("%s: %d %s", name, r->status, r->raw);
	json_decref(m);
	reply_free(r);
}

static void test_cursor__of_the_examples_is_not_ours(void **unused)
{
	(void)unused;
	if (!there())
		skip();
	assert_true(each("PaginatedRequestParams", foreign) > 0);
}

/* ---- what a server asks ---- */
static const char *kind;

static struct reply *ask_given(json_t *params, const char *state,
			       json_t *answer)
{
	struct ask a = {.url = one->url, .can = CAN_EVERYTHING};
	json_t *args = json_pack("{s:s,s:O*}", "kind", kind, "params", params);

	if (state == NULL)
		return tool(&a, "ask_given", args);
	return again(&a, "ask_given", args, state,
		     json_pack("{s:O}", "given", answer));
}

static void asked_as_given(const char *name, json_t *params)
{
	struct reply *r = ask_given(params, NULL, NULL);
	const char *key;
	json_t *v;

	if (asked(r, "given") == NULL)
		fail_msg("%s: %d %s", name, r->status, r->raw);
	json_object_foreach (params, key, v) {
		const json_t *is = json_object_get(
			json_object_get(asked(r, "given"), "params"), key);

		if (!json_equal(is, v))
			fail_msg("%s: %s is not as given: %s", name, key,
				 r->raw);
	}
	reply_free(r);
}

static void test_questions__of_the_examples_can_be_asked(void **unused)
{
	(void)unused;
	if (!there())
		skip();
	kind = "sampling";
	assert_true(each("CreateMessageRequestParams", asked_as_given) > 0);
	kind = "form";
	assert_true(each("ElicitRequestFormParams", asked_as_given) > 0);
	kind = "url";
	assert_true(each("ElicitRequestURLParams", asked_as_given) > 0);
}

/* ---- what a client answers ---- */
static json_t *question;

static void taken(const char *name, json_t *answer)
{
	struct reply *r = ask_given(question, NULL, NULL);
	struct reply *s;
	const json_t *given;

	if (asked(r, "given") == NULL)
		fail_msg("%s: %s", name, r->raw);
	s = ask_given(question, state_of(r), answer);
	given = json_object_get(result(s), "structuredContent");
	if (given == NULL ||
	    strcmp(json_string_value(json_object_get(given, "action")),
		   "accepted") != 0)
		fail_msg("%s: %d %s", name, s->status, s->raw);
	reply_free(r);
	reply_free(s);
}

static void taken_form(const char *name, json_t *answer)
{
	static const char form[] =
		"{\"message\":\"Who?\",\"requestedSchema\":{\"type\":\"object\","
		"\"properties\":{\"name\":{\"type\":\"string\"},\"email\":{"
		"\"type\":\"string\",\"format\":\"email\"},\"age\":{\"type\":"
		"\"number\"}},\"required\":[\"name\"]}}";
	static const char page[] =
		"{\"message\":\"Open it.\",\"url\":\"https://example.com/a\"}";
	bool url = json_object_get(answer, "content") == NULL;

	kind = url ? "url" : "form";
	question = json_loads(url ? page : form, 0, NULL);
	taken(name, answer);
	json_decref(question);
}

static void taken_sampling(const char *name, json_t *answer)
{
	static const char wants[] =
		"{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":"
		"\"text\",\"text\":\"What?\"}}],\"maxTokens\":100,\"tools\":[{"
		"\"name\":\"get_weather\",\"inputSchema\":{\"type\":"
		"\"object\"}}]}";

	kind = "sampling";
	question = json_loads(wants, 0, NULL);
	taken(name, answer);
	json_decref(question);
}

static void taken_roots(const char *name, json_t *answer)
{
	kind = "roots";
	question = NULL;
	taken(name, answer);
}

static void test_answers__of_the_examples_are_taken(void **unused)
{
	(void)unused;
	if (!there())
		skip();
	assert_true(each("ElicitResult", taken_form) > 0);
	assert_true(each("CreateMessageResult", taken_sampling) > 0);
	assert_true(each("ListRootsResult", taken_roots) > 0);
	print_message("%zu examples\n", sent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests__of_the_examples_are_served),
		cmocka_unit_test(test_params__of_the_examples_are_served),
		cmocka_unit_test(test_cursor__of_the_examples_is_not_ours),
		cmocka_unit_test(test_questions__of_the_examples_can_be_asked),
		cmocka_unit_test(test_answers__of_the_examples_are_taken),
	};

	return cmocka_run_group_tests(tests, setup, pair_end);
}
