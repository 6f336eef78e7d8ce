/* SPDX-License-Identifier: MIT */
/* What each request must carry, the statuses of what does not, and the lists.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bide/content.h"
#include "tests/unit/protocol/lib/fake_exchange.h"

#define LIST .method = "tools/list"

static enum bide_rc nothing(struct bide_call *call, void *user)
{
	(void)user;
	return bide_text(call, "ok");
}

static void add(struct registry *r)
{
	char name[32];
	int i;

	for (i = 0; i < 130; i++) {
		(void)snprintf(name, sizeof(name), "tool_%03d", i);
		wire_tool(r, (struct bide_tool){BIDE_TOOL, .name = name,
						.description = "a tool",
						.handler = nothing,
						.runs_inline = true});
	}
}

static int set_up(void **state)
{
	*state = wire_new(NULL, add);
	return 0;
}

static void is(struct fake *f, int status, int code)
{
	if (f->status != status || fake_error(f) != code)
		fail_msg("wanted %d %d, got %d %s", status, code, f->status,
			 f->text);
	fake_free(f);
}

/* ---- messages ---- */
static struct fake *raw(void **state, const char *body)
{
	struct fake *f = fake_raw(*state, "POST", body, (struct post){LIST});

	fake_wait(f);
	return f;
}

/* S6, S7: no id where none can be read, or where it was not one. */
static void test_message__must_be_one_request(void **state)
{
	static const struct {
		const char *body;
		int code;
	} bad[] = {
		{"{", -32700},
		{"", -32700},
		{"{\"a\":\"\xff\"}", -32700},
		{"{\"id\":1,\"id\":2}", -32700},
		{"[]", -32600},
		{"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}]", -32600},
		{"7", -32600},
		{"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}", -32600},
		{"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"x\"}", -32600},
		{"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"x\"}", -32600},
		{"{\"jsonrpc\":\"2.0\",\"method\":\"tools/list\"}", -32600},
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fake *f = raw(state, bad[i].body);

		assert_string_equal(f->content_type, "application/json");
		assert_string_equal(fake_string(f, "jsonrpc"), "2.0");
		assert_null(fake_get(f, "id"));
		is(f, 400, bad[i].code);
	}
	is(raw(state, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"), 400,
	   -32600);
	is(raw(state, "{\"id\":1,\"method\":\"tools/list\"}"), 400, -32600);
	is(raw(state, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}"), 400,
	   -32600);
	is(raw(state, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\","
		      "\"params\":[]}"),
	   400, -32602);
}

/* S8: value and type. */
static void test_id__is_echoed_with_its_type(void **state)
{
	static const char *const ids[] = {
		"0",
		"1785542400123",
		"-7",
		"9223372036854775807",
		"\"1\"",
		"\"\"",
		"\"a \\\"quoted\\\" one\"",
	};
	size_t i;

	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		char want[80];
		struct fake *f =
			fake_call(*state, (struct post){LIST, .id = ids[i]});

		(void)snprintf(want, sizeof(want), "\"id\":%s,", ids[i]);
		assert_non_null(strstr(f->text, want));
		assert_int_equal(f->status, 200);
		fake_free(f);
		f = fake_call(*state, (struct post){.method = "unknown/method",
						    .id = ids[i]});
		assert_non_null(strstr(f->text, want));
		is(f, 404, -32601);
	}
}

/* S2. */
static void test_notification__is_accepted_with_nothing(void **state)
{
	struct fake *f = raw(state, "{\"jsonrpc\":\"2.0\",\"method\":"
				    "\"notifications/cancelled\",\"params\":"
				    "{\"requestId\":1}}");

	assert_int_equal(f->status, 202);
	assert_null(f->text);
	fake_free(f);
	f = fake_raw(*state, "POST",
		     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}",
		     (struct post){LIST, .version = "2025-11-25"});
	fake_wait(f);
	assert_null(fake_get(f, "id"));
	is(f, 400, -32022);
}

/* S21. */
static void test_method__get_and_delete_are_not_here(void **state)
{
	static const char *const methods[] = {"GET", "DELETE", "PUT"};
	size_t i;

	for (i = 0; i < 3; i++) {
		struct fake *f =
			fake_raw(*state, methods[i], "", (struct post){LIST});

		fake_wait(f);
		assert_int_equal(f->status, 405);
		assert_string_equal(f->allow, "POST");
		fake_free(f);
	}
}

static void test_accept__must_take_both_types(void **state)
{
	is(fake_call(*state, (struct post){LIST, .accept = "application/json"}),
	   406, -32600);
	is(fake_call(*state,
		     (struct post){LIST, .accept = "text/event-stream"}),
	   406, -32600);
	is(fake_call(*state,
		     (struct post){LIST, .accept = "application/json, "
						   "text/event-stream;q=0"}),
	   406, -32600);
	is(fake_call(*state, (struct post){LIST, .accept = ""}), 406, -32600);
	is(fake_call(*state, (struct post){LIST, .accept = "*/*"}), 200, 0);
	is(fake_call(*state,
		     (struct post){LIST, .accept = "text/event-stream;q=0.5,"
						   "Application/JSON ; q=1"}),
	   200, 0);
}

static void test_content_type__must_be_json(void **state)
{
	is(fake_call(*state, (struct post){LIST, .content_type = "text/plain"}),
	   415, -32600);
	is(fake_call(*state, (struct post){LIST, .content_type = ""}), 415,
	   -32600);
	is(fake_call(*state,
		     (struct post){LIST,
				   .content_type =
					   "application/json; charset=utf-8"}),
	   200, 0);
}

/* ---- _meta, on every method (S11) ---- */
static void test_meta__is_demanded_on_every_method(void **state)
{
	static const char *const methods[] = {
		"server/discover", "tools/list",   "tools/call",
		"tasks/get",       "tasks/update", "subscriptions/listen",
	};
	size_t i;

	for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		struct post p = {.method = methods[i], .no_meta = true};

		is(fake_call(*state, p), 400, -32602);
		p.params = "{\"_meta\":{}}";
		is(fake_call(*state, p), 400, -32602);
		p.params = "{\"_meta\":{\"io.modelcontextprotocol/"
			   "protocolVersion\":\"2026-07-28\"}}";
		is(fake_call(*state, p), 400, -32602);
		p.params = "{\"_meta\":{\"io.modelcontextprotocol/"
			   "clientCapabilities\":{}}}";
		is(fake_call(*state, p), 400, -32602);
	}
}

static void test_meta__client_info_may_be_left_out(void **state)
{
	is(fake_call(*state,
		     (struct post){LIST, .no_meta = true,
				   .params = "{\"_meta\":{\"io."
					     "modelcontextprotocol/"
					     "protocolVersion\":\"2026-07-28\","
					     "\"io.modelcontextprotocol/"
					     "clientCapabilities\":{}}}"}),
	   200, 0);
}

static void test_meta__log_level_and_token_are_checked(void **state)
{
	is(fake_call(*state,
		     (struct post){LIST, .meta = "{\"io.modelcontextprotocol/"
						 "logLevel\":\"loud\"}"}),
	   400, -32602);
	is(fake_call(*state,
		     (struct post){LIST, .meta = "{\"progressToken\":1.5}"}),
	   400, -32602);
	is(fake_call(*state,
		     (struct post){LIST, .meta = "{\"progressToken\":\"a\"}"}),
	   200, 0);
}

/* ---- versions: S3, S14; a mismatch outranks what is not served ---- */
#define CLAIM(v) "{\"io.modelcontextprotocol/protocolVersion\":\"" v "\"}"

static void test_version__header_and_meta_must_agree(void **state)
{
	is(fake_call(*state, (struct post){LIST, .version = ""}), 400, -32020);
	is(fake_call(*state, (struct post){LIST, .version = "2025-11-25"}), 400,
	   -32020);
	is(fake_call(*state, (struct post){LIST, .meta = CLAIM("v999.0.0")}),
	   400, -32020);
}

static void test_version__what_is_not_served_is_named(void **state)
{
	static const char *const methods[] = {"tools/list", "server/discover",
					      "tasks/get", "unknown/method"};
	size_t i;

	for (i = 0; i < 4; i++) {
		struct fake *f =
			fake_call(*state, (struct post){.method = methods[i],
							.version = "v9",
							.meta = CLAIM("v9")});

		assert_string_equal(fake_string(f, "error/data/requested"),
				    "v9");
		assert_string_equal(fake_string(f, "error/data/supported/0"),
				    "2026-07-28");
		assert_int_equal(
			json_array_size(fake_get(f, "error/data/supported")),
			1);
		is(f, 400, -32022);
	}
}

/* A client of an earlier era; versioning "Backward Compatibility". */
static void test_version__legacy_requests_are_told_what_is_served(void **state)
{
	struct post p = {.method = "initialize",
			 .no_meta = true,
			 .params = "{\"protocolVersion\":\"2025-11-25\"}",
			 .version = "",
			 .mcp_method = ""};
	struct fake *f = fake_call(*state, p);

	assert_string_equal(fake_string(f, "error/data/requested"),
			    "2025-11-25");
	is(f, 400, -32022);
	p.version = "2025-11-25";
	is(fake_call(*state, p), 400, -32022);
	p.version = "2026-07-28";
	is(fake_call(*state, p), 400, -32020);
	p = (struct post){LIST, .no_meta = true, .version = ""};
	is(fake_call(*state, p), 400, -32020);
	p.version = "2025-11-25";
	is(fake_call(*state, p), 400, -32022);
}

static void test_method__of_another_era_is_unknown(void **state)
{
	static const char *const methods[] = {
		"initialize",
		"ping",
		"logging/setLevel",
		"resources/subscribe",
		"resources/unsubscribe",
		"tasks/result",
		"tasks/list",
		"completion/complete",
		"resources/list",
		"unknown/method",
	};
	size_t i;

	for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		is(fake_call(*state, (struct post){.method = methods[i],
						   .caps = CAPS_TASKS}),
		   404, -32601);
}

/* ---- mirrored headers: S4, S5 ---- */
static void test_headers__method_must_match(void **state)
{
	is(fake_call(*state, (struct post){LIST, .mcp_method = ""}), 400,
	   -32020);
	is(fake_call(*state, (struct post){LIST, .mcp_method = "TOOLS/LIST"}),
	   400, -32020);
	is(fake_call(*state, (struct post){LIST, .mcp_method = " tools/list "}),
	   200, 0);
}

static void name_is(void **state, const char *header, int code)
{
	is(fake_call(*state, (struct post){.method = "tools/call",
					   .tool = "tool_000",
					   .mcp_name = header}),
	   code == 0 ? 200 : 400, code);
}

static void test_headers__name_must_match(void **state)
{
	name_is(state, "tool_000", 0);
	name_is(state, "  tool_000  ", 0);
	name_is(state, "=?base64?dG9vbF8wMDA=?=", 0);
	name_is(state, "", -32020);
	name_is(state, "tool_001", -32020);
	name_is(state, "TOOL_000", -32020);
	name_is(state, "=?base64?dG9vbF8wMDA?=", -32020);   /* no padding */
	name_is(state, "=?base64?dG9v!bF8wMDA=?=", -32020); /* not base64 */
	name_is(state, "=?base64?dG9vbF8wMDB=?=", -32020);  /* other bits */
	name_is(state, "=?BASE64?dG9vbF8wMDA=?=", -32020);  /* literal */
	name_is(state, "tool_000\x01", -32020);
	name_is(state, "tool_000\xc3\xa9", -32020);
}

static void test_headers__name_is_the_task_id_on_tasks(void **state)
{
	static const char *const methods[] = {"tasks/get", "tasks/update",
					      "tasks/cancel"};
	size_t i;

	for (i = 0; i < 3; i++) {
		struct post p = {.method = methods[i],
				 .task = "t-1",
				 .caps = CAPS_TASKS,
				 .mcp_name = "t-2"};

		is(fake_call(*state, p), 400, -32020);
		p.mcp_name = "";
		is(fake_call(*state, p), 400, -32020);
		/* The capability is missed before the id is looked up. */
		p.mcp_name = NULL;
		p.caps = "{}";
		is(fake_call(*state, p), 400, -32021);
		p.caps = "{\"tasks\":{}}"; /* S51 */
		is(fake_call(*state, p), 400, -32021);
	}
}

/* ---- discover and lists ---- */
/* S20. */
static void test_discover__says_what_is_served(void **state)
{
	struct fake *f =
		fake_call(*state, (struct post){.method = "server/discover"});
	json_t *caps = fake_get(f, "result/capabilities");
	json_t *info = json_object_get(fake_get(f, "result/_meta"),
				       "io.modelcontextprotocol/serverInfo");

	assert_string_equal(fake_string(f, "result/resultType"), "complete");
	assert_string_equal(fake_string(f, "result/cacheScope"), "public");
	assert_true(json_is_integer(fake_get(f, "result/ttlMs")));
	assert_string_equal(fake_string(f, "result/supportedVersions/0"),
			    "2026-07-28");
	assert_string_equal(fake_string(f, "result/instructions"), "Be brief.");
	assert_true(json_is_object(json_object_get(caps, "tools")));
	assert_true(json_is_object(json_object_get(caps, "logging")));
	assert_null(json_object_get(caps, "tasks")); /* S51 */
	assert_true(json_is_object(
		json_object_get(json_object_get(caps, "extensions"),
				"io.modelcontextprotocol/tasks")));
	assert_string_equal(json_string_value(json_at(info, "name")),
			    "wire test");
	assert_string_equal(json_string_value(json_at(info, "title")),
			    "The wire");
	fake_free(f);
}

/* S60: paging ends, covers everything once, in one order; wait_for_task
 * last. */
static void test_list__pages_cover_everything_in_order(void **state)
{
	char cursor[64] = "";
	char last[32] = "";
	size_t n = 0;
	int pages = 0;

	do {
		char params[100];
		struct fake *f;
		json_t *tool;
		size_t i;

		(void)snprintf(params, sizeof(params),
			       *cursor != '\0' ? "{\"cursor\":\"%s\"}" : "{}",
			       cursor);
		f = fake_call(*state, (struct post){LIST, .params = params});
		assert_string_equal(fake_string(f, "result/cacheScope"),
				    "public");
		assert_true(json_is_integer(fake_get(f, "result/ttlMs")));
		json_array_foreach (fake_get(f, "result/tools"), i, tool) {
			char want[32];

			(void)snprintf(want, sizeof(want), "tool_%03zu", n);
			(void)snprintf(
				last, sizeof(last), "%s",
				json_string_value(json_at(tool, "name")));
			if (n < 130)
				assert_string_equal(last, want);
			n++;
		}
		(void)snprintf(cursor, sizeof(cursor), "%s",
			       fake_string(f, "result/nextCursor") != NULL
				       ? fake_string(f, "result/nextCursor")
				       : "");
		fake_free(f);
		assert_true(++pages < 10);
	} while (*cursor != '\0');
	assert_int_equal(n, 131);
	assert_string_equal(last, "wait_for_task");
}

/* S22. */
static void test_list__a_foreign_cursor_is_invalid(void **state)
{
	is(fake_call(*state,
		     (struct post){LIST, .params = "{\"cursor\":\"zz\"}"}),
	   200, -32602);
	is(fake_call(*state, (struct post){LIST, .params = "{\"cursor\":7}"}),
	   200, -32602);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_message__must_be_one_request),
		cmocka_unit_test(test_id__is_echoed_with_its_type),
		cmocka_unit_test(test_notification__is_accepted_with_nothing),
		cmocka_unit_test(test_method__get_and_delete_are_not_here),
		cmocka_unit_test(test_accept__must_take_both_types),
		cmocka_unit_test(test_content_type__must_be_json),
		cmocka_unit_test(test_meta__is_demanded_on_every_method),
		cmocka_unit_test(test_meta__client_info_may_be_left_out),
		cmocka_unit_test(test_meta__log_level_and_token_are_checked),
		cmocka_unit_test(test_version__header_and_meta_must_agree),
		cmocka_unit_test(test_version__what_is_not_served_is_named),
		cmocka_unit_test(
			test_version__legacy_requests_are_told_what_is_served),
		cmocka_unit_test(test_method__of_another_era_is_unknown),
		cmocka_unit_test(test_headers__method_must_match),
		cmocka_unit_test(test_headers__name_must_match),
		cmocka_unit_test(test_headers__name_is_the_task_id_on_tasks),
		cmocka_unit_test(test_discover__says_what_is_served),
		cmocka_unit_test(test_list__pages_cover_everything_in_order),
		cmocka_unit_test(test_list__a_foreign_cursor_is_invalid),
	};

	return cmocka_run_group_tests(tests, set_up, wire_tear_down);
}
