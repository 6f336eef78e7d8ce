/* SPDX-License-Identifier: MIT */
/*
 * What the specification demands of requests, rounds and streams and the
 * official suite does not look at, over real HTTP. docs/conformance.md is the
 * whole list and says which test shows what.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "tests/e2e/lib/client.h"
#include "tests/e2e/lib/effects.h"
#include "tests/e2e/lib/server.h"

#define ELICIT "test_input_required_result_elicitation"
#define TASKS  "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}"

static struct scratch *scratch;
static struct server *one;
static struct server *brief; /* one that waits for nothing long */

static int setup(void **state)
{
	static const char *const args[] = {"--test-identity", "--careless",
					   NULL};
	static const char *const soon[] = {"--test-identity", "--wait-budget",
					   "100", NULL};

	(void)state;
	scratch = scratch_new();
	one = server_start(scratch, args);
	brief = server_start(scratch, soon);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	server_free(one);
	server_free(brief);
	scratch_free(scratch);
	return 0;
}

static struct ask who_can(const char *can)
{
	struct ask a = {.url = one->url, .principal = "alice", .can = can};

	return a;
}

static json_t *parsed(const char *text)
{
	json_t *j = json_loads(text, JSON_DECODE_ANY, NULL);

	assert_non_null(j);
	return j;
}

static void equals(const json_t *got, const char *want)
{
	json_t *w = parsed(want);
	char *text;

	if (!json_equal(got, w)) {
		text = got != NULL ? json_dumps(got, JSON_ENCODE_ANY) : NULL;
		fail_msg("%s, wanted %s", text != NULL ? text : "nothing",
			 want);
	}
	json_decref(w);
}

static const json_t *error_data(const struct reply *r, const char *name)
{
	return json_object_get(
		json_object_get(json_object_get(r->message, "error"), "data"),
		name);
}

static json_t *kind(const char *k)
{
	return json_pack("{s:s}", "kind", k);
}

/* ---- capabilities ---- */
static void lacks(struct reply *r, const char *want)
{
	if (r->status != 400 || error_code(r) != -32021)
		fail_msg("%d %s", r->status, r->raw);
	assert_true(header_is(r, "Content-Type", "application/json"));
	equals(error_data(r, "requiredCapabilities"), want);
	reply_free(r);
}

static void test_capability__the_missing_are_named_exactly(void **unused)
{
	static const struct {
		const char *kind, *can, *want;
	} all[] = {
		{"form", "{}", "{\"elicitation\":{\"form\":{}}}"},
		{"form", "{\"elicitation\":{\"url\":{}}}",
		 "{\"elicitation\":{\"form\":{}}}"},
		{"url", "{\"elicitation\":{}}",
		 "{\"elicitation\":{\"url\":{}}}"},
		{"url", "{\"elicitation\":{\"form\":{}},\"roots\":{}}",
		 "{\"elicitation\":{\"url\":{}}}"},
		{"sampling", "{\"elicitation\":{}}", "{\"sampling\":{}}"},
		{"sampling_tools", "{\"sampling\":{}}",
		 "{\"sampling\":{\"tools\":{}}}"},
		{"sampling_context", "{\"sampling\":{\"tools\":{}}}",
		 "{\"sampling\":{\"context\":{}}}"},
		{"roots", "{\"sampling\":{}}", "{\"roots\":{}}"},
	};
	struct ask a;
	struct reply *r;

	(void)unused;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		a = who_can(all[i].can);
		lacks(tool(&a, "ask_anyway", kind(all[i].kind)), all[i].want);
	}
	a = who_can("{\"sampling\":{}}");
	lacks(tool(&a, "needs_much", NULL),
	      "{\"elicitation\":{\"url\":{}},\"sampling\":{\"tools\":{}},"
	      "\"roots\":{}}");
	a = who_can("{\"elicitation\":{\"url\":{}},\"sampling\":{\"tools\":{}}"
		    ",\"roots\":{}}");
	r = tool(&a, "needs_much", NULL);
	assert_string_equal(result_text(r), "nothing");
	reply_free(r);
}

/* The extension, on every path that needs it: also before an id is looked
 * up, and for a client that declares the earlier revision's tasks. */
static void test_capability__the_extension_is_named(void **unused)
{
	static const char *const cans[] = {
		"{}", "{\"tasks\":{\"list\":{},\"cancel\":{}}}",
		"{\"extensions\":{}}", "{\"tasks\":{},\"elicitation\":{}}"};
	static const char *const methods[] = {"tasks/get", "tasks/update",
					      "tasks/cancel"};

	(void)unused;
	for (size_t i = 0; i < sizeof(cans) / sizeof(cans[0]); i++) {
		struct ask a = who_can(cans[i]);

		for (size_t k = 0; k < 3; k++)
			lacks(task_do(&a, methods[k], "unknown",
				      k == 1 ? json_object() : NULL),
			      "{" TASKS "}");
		lacks(rpc(&a, "subscriptions/listen", NULL,
			  json_pack("{s:{s:[s]}}", "notifications", "taskIds",
				    "unknown")),
		      "{" TASKS "}");
		lacks(tool(&a, "failing_job", NULL), "{" TASKS "}");
	}
}

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
		r = tool(&a, "ask_anyway", kind(all[i].kind));
		assert_int_equal(asked_count(r), 1);
		assert_string_equal(json_string_value(json_object_get(
					    asked(r, "q"), "method")),
				    all[i].method);
		reply_free(r);
	}
	/* no elicitationId in this revision */
	a = who_can("{\"elicitation\":{\"url\":{}}}");
	r = tool(&a, "ask_anyway", kind("url"));
	equals(asked(r, "q"),
	       "{\"method\":\"elicitation/create\",\"params\":{\"mode\":"
	       "\"url\",\"message\":\"Open this page.\",\"url\":"
	       "\"https://example.com/consent?a=1\"}}");
	reply_free(r);
}

/* On one TCP connection: each request is judged by its own envelope. */
static void test_connection__remembers_nothing(void **unused)
{
	struct ask tasks = who_can(CAN_TASKS);
	struct ask sampling = who_can("{\"sampling\":{}}");
	struct ask none = who_can("{}");
	struct reply *r = tool(&tasks, "two_step", NULL);

	(void)unused;
	assert_string_equal(result_type(r), "task");
	reply_free(r);
	r = tool(&none, "two_step", NULL);
	assert_int_equal(r->connects, 0);
	assert_string_equal(result_type(r), "complete");
	assert_null(json_object_get(result(r), "taskId"));
	reply_free(r);
	r = tool(&sampling, "test_missing_capability", NULL);
	assert_int_equal(r->connects, 0);
	assert_string_equal(result_type(r), "complete");
	reply_free(r);
	r = tool(&none, "test_missing_capability", NULL);
	assert_int_equal(r->connects, 0);
	lacks(r, "{\"sampling\":{}}");
	r = tool(&sampling, "ask_anyway", kind("roots"));
	assert_int_equal(r->connects, 0);
	lacks(r, "{\"roots\":{}}");
}

/* ---- the envelope ---- */
static const char *const methods[] = {
	"server/discover",
	"tools/list",
	"tools/call",
	"prompts/list",
	"prompts/get",
	"resources/list",
	"resources/templates/list",
	"resources/read",
	"completion/complete",
	"tasks/get",
	"tasks/update",
	"tasks/cancel",
	"subscriptions/listen",
};
#define METHODS (sizeof(methods) / sizeof(methods[0]))

static json_t *any_params(void)
{
	return json_pack("{s:s,s:s,s:{},s:{}}", "name", "greet", "taskId",
			 "greet", "inputResponses", "notifications");
}

/* A version that is known to others and not served here, on every method. */
static void test_version__not_served_on_any_method(void **unused)
{
	static const char *const versions[] = {"2025-11-25", "2099-01-01"};
	struct ask a = who_can(CAN_TASKS);

	(void)unused;
	for (size_t i = 0; i < METHODS; i++)
		for (size_t k = 0; k < 2; k++) {
			struct reply *r;

			a.version = versions[k];
			r = rpc(&a, methods[i], "greet", any_params());
			if (r->status != 400 || error_code(r) != -32022)
				fail_msg("%s: %d %s", methods[i], r->status,
					 r->raw);
			assert_string_equal(
				json_string_value(error_data(r, "requested")),
				versions[k]);
			equals(error_data(r, "supported"), "[\"2026-07-28\"]");
			reply_free(r);
		}
}

static void test_meta__each_member_on_every_method(void **unused)
{
	static const char *const params[] = {
		"",
		",\"params\":{\"name\":\"greet\",\"taskId\":\"greet\"}",
		",\"params\":{\"name\":\"greet\",\"taskId\":\"greet\",\"_meta\":"
		"{\"io.modelcontextprotocol/clientCapabilities\":{}}}",
		",\"params\":{\"name\":\"greet\",\"taskId\":\"greet\",\"_meta\":"
		"{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}",
		",\"params\":{\"name\":\"greet\",\"taskId\":\"greet\",\"_meta\":"
		"{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
		"\"io.modelcontextprotocol/clientCapabilities\":[]}}",
	};

	(void)unused;
	for (size_t i = 0; i < METHODS; i++)
		for (size_t k = 0; k < sizeof(params) / sizeof(params[0]);
		     k++) {
			struct ask a = who_can(NULL);
			char body[512];
			struct reply *r;

			(void)snprintf(body, sizeof(body),
				       "{\"jsonrpc\":\"2.0\",\"id\":"
				       "\"x\",\"method\":\"%s\"%s}",
				       methods[i], params[k]);
			a.body = body;
			r = rpc(&a, methods[i], "greet", NULL);
			if (r->status != 400 || error_code(r) != -32602)
				fail_msg("%s: %d %s", body, r->status, r->raw);
			equals(json_object_get(r->message, "id"), "\"x\"");
			reply_free(r);
		}
}

/* A handler cannot send what the specification keeps for itself. */
static void test_error__codes_that_are_not_a_handlers(void **unused)
{
	static const int kept[] = {-32002, -32042, -32020, -32021,
				   -32022, -32050, -32099};
	static const int own[] = {-32603, -31000, -32000, 7};
	static const char *const names[] = {"ends", "ends_as_a_task"};
	struct ask a = who_can("{}");

	(void)unused;
	for (size_t k = 0; k < 2; k++) {
		for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
			struct reply *r =
				tool(&a, names[k],
				     json_pack("{s:s,s:i}", "how", "code",
					       "code", kept[i]));

			assert_int_equal(error_code(r), -32603);
			assert_int_equal(r->status, 200);
			reply_free(r);
		}
		for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
			struct reply *r =
				tool(&a, names[k],
				     json_pack("{s:s,s:i}", "how", "code",
					       "code", own[i]));

			assert_int_equal(error_code(r), own[i]);
			reply_free(r);
		}
	}
}

/* What is known at once is a plain response, also where the request would
 * have had a stream. */
static void test_error__known_at_once_is_no_stream(void **unused)
{
	static const struct {
		const char *method, *name, *params;
		int status, code;
	} all[] = {
		{"tools/call", "nope", "{\"name\":\"nope\"}", 200, -32602},
		{"tools/call", "ask_anyway",
		 "{\"name\":\"ask_anyway\",\"arguments\":{\"kind\":\"roots\"}}",
		 400, -32021},
		{"tools/call", "streams",
		 "{\"name\":\"streams\",\"requestState\":\"x\"}", 200, -32602},
		{"subscriptions/listen", NULL, "{\"notifications\":7}", 200,
		 -32602},
		{"subscriptions/listen", NULL,
		 "{\"notifications\":{\"taskIds\":[]}}", 400, -32021},
		{"unknown/method", NULL, "{}", 404, -32601},
	};
	struct ask a = who_can("{}");

	(void)unused;
	a.progress = "t";
	a.log_level = "debug";
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct reply *r = rpc(&a, all[i].method, all[i].name,
				      parsed(all[i].params));

		if (r->status != all[i].status ||
		    error_code(r) != all[i].code ||
		    !header_is(r, "Content-Type", "application/json"))
			fail_msg("%s: %d %s", all[i].params, r->status, r->raw);
		reply_free(r);
	}
}

/* ---- rounds ---- */
/* A state in hand makes no other method ask. */
static void test_round__comes_from_three_methods_alone(void **unused)
{
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
	for (size_t i = 0; i < METHODS; i++) {
		json_t *p = json_pack(
			"{s:s,s:s,s:s,s:{},s:{s:s,s:s},s:{s:s,s:s}}", "name",
			ELICIT, "taskId", id, "requestState", state,
			"inputResponses", "ref", "type", "ref/resource", "uri",
			"fixture://note/{id}", "argument", "name", "id",
			"value", "");

		if (strcmp(methods[i], "tools/call") == 0 ||
		    strcmp(methods[i], "prompts/get") == 0 ||
		    strcmp(methods[i], "resources/read") == 0 ||
		    strcmp(methods[i], "subscriptions/listen") == 0) {
			json_decref(p);
			continue;
		}
		r = rpc(&a, methods[i], id, p);
		assert_string_equal(result_type(r), "complete");
		assert_null(json_object_get(result(r), "requestState"));
		if (strcmp(methods[i], "tasks/get") != 0)
			assert_int_equal(asked_count(r), 0);
		reply_free(r);
	}
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

/* ---- streams ---- */
static bool two_and_away(void *user, json_t *m)
{
	(void)m;
	return ++*(int *)user < 2;
}

/* Closing the stream is the cancellation: the handler stops. */
static void test_stream__closing_it_cancels(void **unused)
{
	struct ask a = who_can("{}");
	int seen = 0;
	struct reply *r;

	(void)unused;
	a.progress = "t";
	a.event = two_and_away;
	a.user = &seen;
	r = tool(&a, "streams", NULL);
	assert_int_equal(r->status, 200);
	assert_int_equal(seen, 2);
	assert_null(r->message);
	reply_free(r);
	assert_true(effects_await(scratch, " stopped", 1));
}

struct talk {
	struct ask a;
	const char *text;
	struct reply *r;
	pthread_t thread;
};

static void *talk_thread(void *arg)
{
	struct talk *t = arg;

	t->r = tool(&t->a, "meet",
		    json_pack("{s:s,s:i}", "text", t->text, "n", 3));
	return NULL;
}

static size_t own_only(const struct talk *t, const char *method,
		       const char *field)
{
	size_t n = 0;
	size_t i;
	json_t *e;

	json_array_foreach (t->r->events, i, e) {
		const json_t *p = json_object_get(e, "params");

		if (strcmp(json_string_value(json_object_get(e, "method")),
			   method) != 0)
			continue;
		n++;
		assert_string_equal(
			json_string_value(json_object_get(p, field)), t->text);
	}
	return n;
}

/* Three calls at once: each stream carries its own request's messages. One of
 * them asked for logs alone, one for progress alone. */
static void test_stream__carries_its_own_request_alone(void **unused)
{
	struct talk t[3] = {
		{.text = "red"}, {.text = "green"}, {.text = "blue"}};

	(void)unused;
	for (int i = 0; i < 3; i++) {
		t[i].a = who_can("{}");
		t[i].a.progress = i != 1 ? t[i].text : NULL;
		t[i].a.log_level = i != 2 ? "error" : NULL;
		assert_int_equal(
			pthread_create(&t[i].thread, NULL, talk_thread, &t[i]),
			0);
	}
	for (int i = 0; i < 3; i++) {
		(void)pthread_join(t[i].thread, NULL);
		assert_string_equal(result_text(t[i].r), t[i].text);
		assert_int_equal(own_only(&t[i], "notifications/progress",
					  "progressToken"),
				 i != 1 ? 5 : 0);
		assert_int_equal(
			own_only(&t[i], "notifications/message", "data"),
			i != 2 ? 5 : 0);
		reply_free(t[i].r);
	}
}

/* Nothing of the earlier revision: no event ids, no session, no replay. */
static void test_stream__has_no_event_ids(void **unused)
{
	static const char *const h[] = {"Mcp-Session-Id: s1",
					"Last-Event-ID: 7", NULL};
	struct ask a = who_can("{}");
	struct reply *r;

	(void)unused;
	a.headers = h;
	a.progress = "t";
	r = tool(&a, "test_tool_with_progress", NULL);
	assert_int_equal(r->status, 200);
	assert_non_null(strcasestr(r->headers, "text/event-stream"));
	assert_int_equal(json_array_size(r->events), 3);
	assert_null(strstr(r->raw, "\nid:"));
	assert_true(strncmp(r->raw, "id:", 3) != 0);
	assert_null(strstr(r->raw, "retry:"));
	assert_null(strcasestr(r->headers, "mcp-session-id"));
	reply_free(r);
}

struct order {
	double last;
	size_t told;
	bool answered, after;
};

static bool in_order(void *user, json_t *m)
{
	struct order *o = user;
	const json_t *p = json_object_get(m, "params");

	o->after = o->after || o->answered;
	if (json_object_get(m, "id") != NULL) {
		o->answered = true;
	} else {
		double v = json_number_value(json_object_get(p, "progress"));

		if (v <= o->last)
			o->after = true;
		o->last = v;
		o->told++;
	}
	return true;
}

/* The response is the last message of its stream, and progress rises to it. */
static void test_stream__ends_with_the_response(void **unused)
{
	struct ask a = who_can("{}");
	struct order o = {.last = -1};
	struct reply *r;

	(void)unused;
	a.progress = "t";
	a.event = in_order;
	a.user = &o;
	r = tool(&a, "test_tool_with_progress", NULL);
	assert_true(o.answered);
	assert_false(o.after);
	assert_int_equal(o.told, 3);
	assert_true(o.last >= 100);
	reply_free(r);
}

/* ---- what is shown of the server ---- */
static const json_t *listed(const struct reply *r, const char *name)
{
	const json_t *tools = json_object_get(result(r), "tools");
	size_t i;
	json_t *t;

	json_array_foreach (tools, i, t)
		if (strcmp(json_string_value(json_object_get(t, "name")),
			   name) == 0)
			return t;
	return NULL;
}

static void test_listing__shows_all_that_was_given(void **unused)
{
	struct ask a = who_can("{}");
	struct reply *r = rpc(&a, "tools/list", NULL, NULL);

	(void)unused;
	equals(listed(r, "dressed.up-1"),
	       "{\"name\":\"dressed.up-1\",\"title\":\"Dressed up\","
	       "\"description\":\"shows all that a listing can show\","
	       "\"inputSchema\":{\"type\":\"object\",\"properties\":{}},"
	       "\"annotations\":{\"title\":\"Shown first\",\"readOnlyHint\":"
	       "true,\"openWorldHint\":false},\"icons\":[{\"src\":"
	       "\"data:image/png;base64,iVBORw0KGgo=\",\"mimeType\":"
	       "\"image/png\",\"sizes\":[\"48x48\"]}]}");
	assert_non_null(json_object_get(listed(r, "forecast"), "outputSchema"));
	reply_free(r);
	r = rpc(&a, "server/discover", NULL, NULL);
	equals(json_object_get(result(r), "instructions"),
	       "\"Tools for the tests of bide; of no use otherwise.\"");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_capability__the_missing_are_named_exactly),
		cmocka_unit_test(test_capability__the_extension_is_named),
		cmocka_unit_test(test_question__of_each_kind),
		cmocka_unit_test(test_connection__remembers_nothing),
		cmocka_unit_test(test_version__not_served_on_any_method),
		cmocka_unit_test(test_meta__each_member_on_every_method),
		cmocka_unit_test(test_error__codes_that_are_not_a_handlers),
		cmocka_unit_test(test_error__known_at_once_is_no_stream),
		cmocka_unit_test(test_round__comes_from_three_methods_alone),
		cmocka_unit_test(test_round__always_has_a_state),
		cmocka_unit_test(test_state__any_change_is_refused),
		cmocka_unit_test(test_stream__closing_it_cancels),
		cmocka_unit_test(test_stream__carries_its_own_request_alone),
		cmocka_unit_test(test_stream__has_no_event_ids),
		cmocka_unit_test(test_stream__ends_with_the_response),
		cmocka_unit_test(test_listing__shows_all_that_was_given),
		cmocka_unit_test(test_secret__is_warned_about),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
