/* SPDX-License-Identifier: MIT */
/* Requests and streams. */
#include <pthread.h>
#include <strings.h>

#include "tests/e2e/conformance.h"
#include "tests/e2e/lib/raw.h"

static int setup(void **state)
{
	static const char *const args[] = {"--test-identity", NULL};

	(void)state;
	return pair_one(args);
}

static struct ask who_can(const char *can)
{
	struct ask a = {.url = one->url, .principal = "alice", .can = can};

	return a;
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
static void test_http_method__get_and_delete_are_405(void **unused)
{
	static const char *const methods[] = {"GET", "DELETE", "PUT"};
	struct raw c = {0};

	(void)unused;
	raw_open(&c, one->url);
	for (size_t i = 0; i < 3; i++) {
		char text[256];
		struct reply *r;

		(void)snprintf(text, sizeof(text),
			       "%s %s HTTP/1.1\r\nHost: %s\r\nAccept: "
			       "application/json, text/event-stream\r\n"
			       "MCP-Protocol-Version: 2026-07-28\r\n\r\n",
			       methods[i], strrchr(one->url, '/'),
			       one->base + strlen("http://"));
		raw_send(&c, text);
		r = raw_reply(&c, methods[i]);
		assert_non_null(r);
		assert_int_equal(r->status, 405);
		assert_true(header_is(r, "Allow", "POST"));
		reply_free(r);
	}
	raw_close(&c);
}

/* A notification that this revision does not have is an error, not a 202. */
static void test_notification__that_is_none_is_refused(void **unused)
{
	static const char *const bodies[] = {
		"{\"jsonrpc\":\"2.0\",\"method\":\"tools/list\"}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"initialized\"}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":"
		"{\"name\":\"greet\",\"arguments\":{\"name\":\"x\"}}}",
	};
	struct ask a = who_can("{}");

	(void)unused;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		struct reply *r;

		a.body = bodies[i];
		r = rpc(&a, "tools/list", NULL, NULL);
		assert_int_equal(r->status, 400);
		assert_null(json_object_get(r->message, "id"));
		reply_free(r);
	}
}

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

/* A handler that begins anew tells nothing twice: four entries of one request,
 * each from 1 on. */
static void test_progress__rises_over_entries(void **unused)
{
	struct ask a = who_can("{}");
	struct order o = {.last = 0};
	struct reply *r;

	(void)unused;
	a.progress = "t";
	a.event = in_order;
	a.user = &o;
	r = tool(&a, "climber_here", json_pack("{s:i}", "ms", 10));
	assert_string_equal(result_text(r), "up");
	assert_false(o.after);
	assert_int_equal(o.told, 7);
	assert_true(o.last >= 7);
	reply_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_capability__the_missing_are_named_exactly),
		cmocka_unit_test(test_capability__the_extension_is_named),
		cmocka_unit_test(test_connection__remembers_nothing),
		cmocka_unit_test(test_http_method__get_and_delete_are_405),
		cmocka_unit_test(test_notification__that_is_none_is_refused),
		cmocka_unit_test(test_version__not_served_on_any_method),
		cmocka_unit_test(test_meta__each_member_on_every_method),
		cmocka_unit_test(test_error__codes_that_are_not_a_handlers),
		cmocka_unit_test(test_error__known_at_once_is_no_stream),
		cmocka_unit_test(test_stream__closing_it_cancels),
		cmocka_unit_test(test_stream__carries_its_own_request_alone),
		cmocka_unit_test(test_stream__has_no_event_ids),
		cmocka_unit_test(test_stream__ends_with_the_response),
		cmocka_unit_test(test_progress__rises_over_entries),
	};

	return cmocka_run_group_tests(tests, setup, pair_end);
}
