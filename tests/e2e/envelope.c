/* SPDX-License-Identifier: MIT */
/*
 * The envelope and the headers over real HTTP. S and F with a number are the
 * rows of docs/conformance.md.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/e2e/lib/pair.h"

#define META                                                                     \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"

static int setup(void **state)
{
	static const char *const args[] = {"--test-identity", NULL};

	(void)state;
	return pair_one(args);
}

static struct ask plain(void)
{
	struct ask a = {.url = one->url};

	return a;
}

static struct reply *raw(const char *method, const char *name,
			 const char *const *headers, const char *body)
{
	struct ask a = plain();

	a.body = body;
	a.headers = headers;
	return rpc(&a, method, name, NULL);
}

static void refused(struct reply *r, int status, int code)
{
	if (r->status != status || error_code(r) != code)
		fail_msg("status %d code %d, wanted %d %d: %s", r->status,
			 error_code(r), status, code, r->raw);
	assert_true(json_is_object(json_object_get(r->message, "error")));
	assert_false(json_is_null(json_object_get(r->message, "id")) &&
		     json_object_get(r->message, "id") != NULL);
	reply_free(r);
}

/* S1 */
static void test_origin__a_bad_one_is_403(void **unused)
{
	static const char *const bad[] = {"Origin: https://evil.example.com",
					  NULL};
	static const char *const host[] = {"Host: evil.example.com", NULL};
	char own[160];
	const char *const good[] = {own, NULL};
	struct reply *r;

	(void)unused;
	(void)snprintf(own, sizeof(own), "Origin: %s", one->base);
	r = raw("tools/list", NULL, bad,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\","
		"\"params\":{" META "}}");
	assert_int_equal(r->status, 403);
	reply_free(r);
	r = raw("tools/list", NULL, host,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\","
		"\"params\":{" META "}}");
	assert_int_equal(r->status, 403);
	reply_free(r);
	r = raw("tools/list", NULL, good,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\","
		"\"params\":{" META "}}");
	assert_int_equal(r->status, 200);
	reply_free(r);
}

/* S2 */
static void test_notification__is_202_or_refused(void **unused)
{
	struct reply *r = raw("notifications/cancelled", NULL, NULL,
			      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
			      "cancelled\",\"params\":{\"requestId\":1}}");

	(void)unused;
	assert_int_equal(r->status, 202);
	assert_true(r->raw == NULL || r->raw[0] == '\0');
	reply_free(r);
	r = raw("x", NULL, NULL, "{\"jsonrpc\":\"2.0\",\"method\":7}");
	assert_int_equal(r->status, 400);
	reply_free(r);
}

/* S3, S14 */
static void test_version__header_and_meta(void **unused)
{
	static const char *const none[] = {"MCP-Protocol-Version:", NULL};
	static const char *const v999[] = {"MCP-Protocol-Version: v999.0.0",
					   NULL};
	struct ask a = plain();
	struct reply *r;
	json_t *data;

	(void)unused;
	a.headers = none;
	refused(rpc(&a, "tools/list", NULL, NULL), 400, -32020);
	a.headers = v999;
	refused(rpc(&a, "tools/list", NULL, NULL), 400, -32020);
	a.headers = NULL;
	a.version = "v999.0.0";
	r = rpc(&a, "tools/list", NULL, NULL);
	assert_int_equal(r->status, 400);
	assert_int_equal(error_code(r), -32022);
	data = json_object_get(json_object_get(r->message, "error"), "data");
	assert_string_equal(
		json_string_value(json_object_get(data, "requested")),
		"v999.0.0");
	assert_string_equal(json_string_value(json_array_get(
				    json_object_get(data, "supported"), 0)),
			    "2026-07-28");
	reply_free(r);
	a.version = "2025-11-25";
	refused(rpc(&a, "tools/list", NULL, NULL), 400, -32022);
	refused(rpc(&a, "tasks/get", "x", json_pack("{s:s}", "taskId", "x")),
		400, -32022);
}

/* S11: on any method */
static void test_meta__is_required_on_any_method(void **unused)
{
	static const char *const methods[] = {"server/discover", "tools/list",
					      "tools/call", "tasks/get",
					      "subscriptions/listen"};
	struct ask a = plain();

	(void)unused;
	a.no_meta = true;
	for (size_t i = 0; i < 5; i++)
		refused(rpc(&a, methods[i], "x",
			    json_pack("{s:s,s:s}", "name", "x", "taskId", "x")),
			400, -32602);
	refused(raw("tools/list", NULL, NULL,
		    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\","
		    "\"params\":{\"_meta\":{\"io.modelcontextprotocol/"
		    "protocolVersion\":\"2026-07-28\"}}}"),
		400, -32602);
}

/* S4, S5 */
static void test_name__is_compared_after_decoding(void **unused)
{
	static const struct {
		const char *header;
		int status;
	} all[] = {
		{"Mcp-Name: greet", 200},
		{"Mcp-Name:   greet  ", 200},
		{"mcp-name: greet", 200},
		{"Mcp-Name: =?base64?Z3JlZXQ=?=", 200},
		{"Mcp-Name: =?base64?Z3JlZXQ?=", 400},
		{"Mcp-Name: =?base64?Z3Jl!ZXQ=?=", 400},
		{"Mcp-Name: =?base64?Z3JlZXR=?=", 400},
		{"Mcp-Name: other", 400},
		{"Mcp-Name: GREET", 400},
		{"Mcp-Name:", 400},
		{"Mcp-Name: gr\xc3\xa9"
		 "et",
		 400},
	};
	struct ask a = plain();

	(void)unused;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const char *const h[] = {all[i].header, NULL};
		struct reply *r;

		a.headers = h;
		r = tool(&a, "greet", json_pack("{s:s}", "name", "A"));
		if (r->status != all[i].status ||
		    (r->status == 400 && error_code(r) != -32020))
			fail_msg("%s: %d %s", all[i].header, r->status, r->raw);
		reply_free(r);
	}
	a.headers = NULL;
	a.can = CAN_TASKS;
	refused(rpc(&a, "tasks/update", "wrong",
		    json_pack("{s:s,s:{}}", "taskId", "right",
			      "inputResponses")),
		400, -32020);
	refused(rpc(&a, "tasks/cancel", "wrong",
		    json_pack("{s:s}", "taskId", "right")),
		400, -32020);
	refused(rpc(&a, "tasks/get", NULL,
		    json_pack("{s:s}", "taskId", "right")),
		400, -32020);
}

/* S72: the fixture's tool "regional". */
static void test_param__is_compared_with_its_argument(void **unused)
{
	static const struct {
		const char *args;
		const char *headers[4];
		int status;
	} all[] = {
		{"{\"region\":\"eu\"}", {"Mcp-Param-Region: eu"}, 200},
		{"{\"region\":\"eu\"}", {"mcp-param-REGION:  eu "}, 200},
		{"{\"region\":\"eu\"}",
		 {"Mcp-Param-Region: =?base64?ZXU=?="},
		 200},
		{"{\"region\":\"eu\"}",
		 {"Mcp-Param-Region: =?base64?ZXU?="},
		 400},
		{"{\"region\":\"eu\"}", {"Mcp-Param-Region: us"}, 400},
		{"{\"region\":\"eu\"}", {NULL}, 400},
		{"{\"region\":\"eu\"}",
		 {"Mcp-Param-Region: eu", "Mcp-Param-Limit: 1"},
		 400},
		{"{\"region\":\"eu\"}",
		 {"Mcp-Param-Region: eu", "Mcp-Param-Other: 1"},
		 200},
		{"{\"region\":\"caf\xc3\xa9\"}",
		 {"Mcp-Param-Region: caf\xc3\xa9"},
		 400},
		{"{\"region\":\"eu\",\"limit\":42,\"options\":{\"dry\":false}}",
		 {"Mcp-Param-Region: eu", "Mcp-Param-Limit: 42.0",
		  "Mcp-Param-Dry-Run: false"},
		 200},
		{"{\"region\":\"eu\",\"limit\":42}",
		 {"Mcp-Param-Region: eu", "Mcp-Param-Limit: 43"},
		 400},
		{"{\"region\":\"eu\",\"dry\":true}",
		 {"Mcp-Param-Region: eu", "Mcp-Param-Dry-Run: true"},
		 400},
	};
	struct ask a = plain();

	(void)unused;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct reply *r;

		a.headers = all[i].headers;
		r = tool(&a, "regional", json_loads(all[i].args, 0, NULL));
		if (r->status != all[i].status ||
		    error_code(r) != (all[i].status == 400 ? -32020 : 0))
			fail_msg("%s: %d %s", all[i].args, r->status, r->raw);
		reply_free(r);
	}
}

static void test_method_header__must_match(void **unused)
{
	static const char *const wrong[] = {"Mcp-Method: tools/call", NULL};
	static const char *const upper[] = {"Mcp-Method: TOOLS/LIST", NULL};
	static const char *const none[] = {"Mcp-Method:", NULL};
	struct ask a = plain();

	(void)unused;
	a.headers = wrong;
	refused(rpc(&a, "tools/list", NULL, NULL), 400, -32020);
	a.headers = upper;
	refused(rpc(&a, "tools/list", NULL, NULL), 400, -32020);
	a.headers = none;
	refused(rpc(&a, "tools/list", NULL, NULL), 400, -32020);
}

/* S6, S7 */
static void test_body__is_one_request(void **unused)
{
	static const struct {
		const char *body;
		int code;
	} all[] = {
		{"[]", -32600},
		{"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}]",
		 -32600},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", -32600},
		{"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"tools/list\","
		 "\"params\":{" META "}}",
		 -32600},
		{"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"tools/list\","
		 "\"params\":{" META "}}",
		 -32600},
		{"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"tools/list\"}",
		 -32600},
		{"{\"jsonrpc\":\"2.0\",\"id\":1}", -32600},
		{"7", -32600},
		{"{", -32700},
		{"", -32700},
		{"{\"a\":1,\"a\":2}", -32700},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct reply *r = raw("tools/list", NULL, NULL, all[i].body);

		if (r->status != 400 || error_code(r) != all[i].code)
			fail_msg("%s: %d %s", all[i].body, r->status, r->raw);
		reply_free(r);
	}
}

/* S8 */
static void test_id__comes_back_as_it_was(void **unused)
{
	static const char *const ids[] = {"1",
					  "0",
					  "-7",
					  "1785000000000",
					  "9007199254740993",
					  "\"1\"",
					  "\"\"",
					  "\"a\\u00e9\""};

	(void)unused;
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		json_t *id = json_loads(ids[i], JSON_DECODE_ANY, NULL);
		struct ask a = plain();
		struct reply *r;

		a.id = id;
		r = rpc(&a, "tools/list", NULL, NULL);
		assert_true(json_equal(json_object_get(r->message, "id"), id));
		reply_free(r);
		r = tool(&a, "no_such_tool", NULL);
		assert_true(json_equal(json_object_get(r->message, "id"), id));
		reply_free(r);
		json_decref(id);
	}
}

/* S21: unknown methods, those of the other era among them */
static void test_method__unknown_is_404(void **unused)
{
	static const char *const methods[] = {
		"unknown/method",   "initialize",          "ping",
		"logging/setLevel", "resources/subscribe", "tasks/result",
		"tasks/list",       "Tools/list"};
	struct ask a = plain();

	(void)unused;
	a.can = CAN_TASKS;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		refused(rpc(&a, methods[i], NULL, NULL), 404, -32601);
}

/* S16 */
static void test_tool__unknown_is_invalid_params(void **unused)
{
	struct ask a = plain();
	struct reply *r = tool(&a, "no_such_tool", NULL);

	(void)unused;
	assert_int_equal(r->status, 200);
	assert_int_equal(error_code(r), -32602);
	reply_free(r);
}

/* Arguments are validated before the handler: an error the model can mend. */
static void test_arguments__that_do_not_fit(void **unused)
{
	struct ask a = plain();
	struct reply *r = tool(&a, "greet", json_pack("{s:i}", "name", 7));

	(void)unused;
	assert_true(json_is_true(json_object_get(result(r), "isError")));
	assert_non_null(strstr(result_text(r), "name"));
	reply_free(r);
	r = tool(&a, "greet", NULL);
	assert_true(json_is_true(json_object_get(result(r), "isError")));
	reply_free(r);
	r = rpc(&a, "tools/call", "greet",
		json_pack("{s:s,s:[]}", "name", "greet", "arguments"));
	assert_int_equal(error_code(r), -32602);
	reply_free(r);
}

/* S12: nothing is remembered between requests of one connection. */
static void test_capability__is_each_requests_own(void **unused)
{
	struct ask a = plain();
	struct reply *r;

	(void)unused;
	a.can = "{\"sampling\":{}}";
	r = tool(&a, "test_missing_capability", NULL);
	assert_string_equal(result_type(r), "complete");
	reply_free(r);
	a.can = "{}";
	r = tool(&a, "test_missing_capability", NULL);
	assert_int_equal(r->status, 400);
	assert_int_equal(error_code(r), -32021);
	assert_true(json_is_object(json_object_get(
		json_object_get(
			json_object_get(json_object_get(r->message, "error"),
					"data"),
			"requiredCapabilities"),
		"sampling")));
	reply_free(r);
}

/* S20, S60; F33 */
static void test_discover__says_what_is_served(void **unused)
{
	struct ask a = plain();
	struct reply *r = rpc(&a, "server/discover", NULL, NULL);
	const json_t *can = json_object_get(result(r), "capabilities");

	(void)unused;
	assert_string_equal(result_type(r), "complete");
	assert_true(json_is_integer(json_object_get(result(r), "ttlMs")));
	assert_true(json_is_string(json_object_get(result(r), "cacheScope")));
	assert_non_null(json_object_get(can, "tools"));
	assert_non_null(json_object_get(can, "logging"));
	assert_null(json_object_get(can, "tasks"));
	assert_non_null(json_object_get(can, "prompts"));
	assert_non_null(json_object_get(can, "resources"));
	assert_non_null(json_object_get(can, "completions"));
	assert_non_null(json_object_get(json_object_get(can, "extensions"),
					"io.modelcontextprotocol/tasks"));
	assert_string_equal(
		json_string_value(json_object_get(
			json_object_get(json_object_get(result(r), "_meta"),
					"io.modelcontextprotocol/serverInfo"),
			"name")),
		"bide-fixture");
	assert_non_null(json_object_get(result(r), "instructions"));
	reply_free(r);
}

/* S22, S60: the list is the same each time, and so are its hints */
static void test_tools_list__is_stable_and_paged(void **unused)
{
	struct ask a = plain();
	struct reply *r = rpc(&a, "tools/list", NULL, NULL);
	struct reply *s = rpc(&a, "tools/list", NULL, NULL);
	const json_t *tools = json_object_get(result(r), "tools");
	size_t n = json_array_size(tools);

	(void)unused;
	assert_true(json_equal(tools, json_object_get(result(s), "tools")));
	assert_true(n > 20);
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(tools, n - 1), "name")),
			    "wait_for_task");
	assert_non_null(json_object_get(result(r), "ttlMs"));
	assert_non_null(json_object_get(result(r), "cacheScope"));
	reply_free(r);
	reply_free(s);
	r = rpc(&a, "tools/list", NULL,
		json_pack("{s:s}", "cursor", "not a cursor"));
	assert_int_equal(error_code(r), -32602);
	reply_free(r);
	r = rpc(&a, "tools/list", NULL, json_pack("{s:i}", "cursor", 7));
	assert_int_equal(error_code(r), -32602);
	reply_free(r);
}

/* S37 to S39: progress rises, for the token only; logs by level */
static void test_stream__carries_what_was_asked_for(void **unused)
{
	struct ask a = plain();
	struct reply *r;

	(void)unused;
	a.progress = "progress-1";
	r = tool(&a, "test_tool_with_progress", NULL);
	assert_int_equal(json_array_size(r->events), 3);
	assert_true(header_is(r, "X-Accel-Buffering", "no"));
	assert_true(header_is(r, "Cache-Control", "no-store"));
	assert_string_equal(result_type(r), "complete");
	reply_free(r);
	a.progress = NULL;
	r = tool(&a, "test_tool_with_progress", NULL);
	assert_int_equal(json_array_size(r->events), 0);
	assert_true(header_is(r, "Content-Type", "application/json"));
	reply_free(r);
	r = tool(&a, "test_logging_tool", NULL);
	assert_int_equal(json_array_size(r->events), 0);
	reply_free(r);
	a.log_level = "info";
	r = tool(&a, "test_logging_tool", NULL);
	assert_int_equal(json_array_size(r->events), 3);
	reply_free(r);
	a.log_level = "error";
	r = tool(&a, "test_logging_tool", NULL);
	assert_int_equal(json_array_size(r->events), 0);
	reply_free(r);
	a.log_level = "loud";
	r = tool(&a, "test_logging_tool", NULL);
	assert_int_equal(error_code(r), -32602);
	reply_free(r);
}

/* S18: an error that is known at once is a plain response with its status */
static void test_error__is_no_stream(void **unused)
{
	struct ask a = plain();
	struct reply *r;

	(void)unused;
	a.progress = "p";
	a.can = "{}";
	r = tool(&a, "test_missing_capability", NULL);
	assert_int_equal(r->status, 400);
	assert_true(header_is(r, "Content-Type", "application/json"));
	reply_free(r);
}

/* S59 */
static void test_structured__fits_and_is_repeated_as_text(void **unused)
{
	struct ask a = plain();
	struct reply *r = tool(&a, "forecast", NULL);

	(void)unused;
	assert_true(json_is_object(
		json_object_get(result(r), "structuredContent")));
	assert_non_null(strstr(result_text(r), "temperature"));
	reply_free(r);
	r = tool(&a, "breaks_its_schema", NULL);
	assert_int_equal(error_code(r), -32603);
	reply_free(r);
}

/* S17: nothing of the earlier era is echoed */
static void test_session__is_ignored(void **unused)
{
	static const char *const h[] = {"Mcp-Session-Id: s1",
					"Last-Event-ID: 7", NULL};
	struct ask a = plain();
	struct reply *r;

	(void)unused;
	a.headers = h;
	r = rpc(&a, "tools/list", NULL, NULL);
	assert_int_equal(r->status, 200);
	assert_null(strcasestr(r->headers, "mcp-session-id"));
	assert_null(strstr(r->raw, "\nid:"));
	reply_free(r);
}

static void test_accept__must_list_both(void **unused)
{
	static const char *const json_only[] = {"Accept: application/json",
						NULL};
	static const char *const any[] = {"Accept: */*", NULL};
	static const char *const form[] = {
		"Content-Type: application/x-www-form-urlencoded", NULL};
	struct ask a = plain();
	struct reply *r;

	(void)unused;
	a.headers = json_only;
	r = rpc(&a, "tools/list", NULL, NULL);
	assert_true(r->status == 406 || r->status == 400);
	reply_free(r);
	a.headers = any;
	r = rpc(&a, "tools/list", NULL, NULL);
	assert_int_equal(r->status, 200);
	reply_free(r);
	a.headers = form;
	r = rpc(&a, "tools/list", NULL, NULL);
	assert_true(r->status == 415 || r->status == 400);
	reply_free(r);
}

static void test_identity__refused_is_401(void **unused)
{
	struct ask a = plain();
	struct reply *r;

	(void)unused;
	a.principal = "nobody";
	r = rpc(&a, "tools/list", NULL, NULL);
	assert_int_equal(r->status, 401);
	reply_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_origin__a_bad_one_is_403),
		cmocka_unit_test(test_notification__is_202_or_refused),
		cmocka_unit_test(test_version__header_and_meta),
		cmocka_unit_test(test_meta__is_required_on_any_method),
		cmocka_unit_test(test_name__is_compared_after_decoding),
		cmocka_unit_test(test_param__is_compared_with_its_argument),
		cmocka_unit_test(test_method_header__must_match),
		cmocka_unit_test(test_body__is_one_request),
		cmocka_unit_test(test_id__comes_back_as_it_was),
		cmocka_unit_test(test_method__unknown_is_404),
		cmocka_unit_test(test_tool__unknown_is_invalid_params),
		cmocka_unit_test(test_arguments__that_do_not_fit),
		cmocka_unit_test(test_capability__is_each_requests_own),
		cmocka_unit_test(test_discover__says_what_is_served),
		cmocka_unit_test(test_tools_list__is_stable_and_paged),
		cmocka_unit_test(test_stream__carries_what_was_asked_for),
		cmocka_unit_test(test_error__is_no_stream),
		cmocka_unit_test(test_structured__fits_and_is_repeated_as_text),
		cmocka_unit_test(test_session__is_ignored),
		cmocka_unit_test(test_accept__must_list_both),
		cmocka_unit_test(test_identity__refused_is_401),
	};

	return cmocka_run_group_tests(tests, setup, pair_end);
}
