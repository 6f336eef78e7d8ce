/* SPDX-License-Identifier: MIT */
/* Lists, schemas, results and URIs. */
#include "tests/e2e/conformance.h"

#define INVALID   (-32602)
#define INTERNAL  (-32603)
#define PAGES_MAX 100

static struct server *other; /* which has tools alone */

static int setup(void **state)
{
	static const char *const args[] = {"--test-identity", NULL};

	(void)state;
	(void)pair_both(args);
	server_use("examples/readme_tool");
	other = server_start(scratch, NULL);
	return 0;
}

static int teardown(void **state)
{
	server_free(other);
	return pair_end(state);
}

static struct ask at(const struct server *v)
{
	struct ask a = {.url = v->url, .principal = "alice", .can = "{}"};

	return a;
}

/* ---- lists ---- */
static const struct list {
	const char *method, *member, *capability;
} lists[] = {
	{"tools/list", "tools", "tools"},
	{"prompts/list", "prompts", "prompts"},
	{"resources/list", "resources", "resources"},
	{"resources/templates/list", "resourceTemplates", "resources"},
};
#define LISTS (sizeof(lists) / sizeof(lists[0]))

/* All of it, page by page; each page has the hints of the first. */
static json_t *whole(const struct ask *a, const struct list *l)
{
	json_t *all = json_array();
	json_t *hints = NULL;
	char *cursor = NULL;
	size_t pages = 0;

	do {
		struct reply *r = rpc(
			a, l->method, NULL,
			cursor != NULL ? json_pack("{s:s}", "cursor", cursor)
				       : NULL);
		json_t *these = json_pack("[O?,O?]", member(r, "ttlMs"),
					  member(r, "cacheScope"));
		const char *next = json_string_value(member(r, "nextCursor"));

		if (hints == NULL)
			hints = json_incref(these);
		assert_true(json_equal(these, hints));
		assert_true(json_is_integer(json_array_get(these, 0)));
		assert_true(json_is_string(json_array_get(these, 1)));
		(void)json_array_extend(all,
					json_object_get(result(r), l->member));
		free(cursor);
		cursor = next != NULL ? strdup(next) : NULL;
		assert_true(++pages < PAGES_MAX);
		json_decref(these);
		reply_free(r);
	} while (cursor != NULL);
	json_decref(hints);
	return all;
}

static void same(const struct ask *a, json_t *const want[LISTS])
{
	for (size_t i = 0; i < LISTS; i++) {
		json_t *got = whole(a, &lists[i]);

		if (!json_equal(got, want[i]))
			fail_msg("%s is another", lists[i].method);
		json_decref(got);
	}
}

/* What might change a list as a side effect. */
static void do_much(const struct ask *a)
{
	static const char *const tools[] = {
		"two_step", "test_trigger_tool_change",
		"test_trigger_prompt_change", "test_missing_capability",
		"test_input_required_result_elicitation"};

	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		reply_free(tool(a, tools[i], NULL));
	reply_free(rpc(a, "prompts/get", "ask_name",
		       json_pack("{s:s}", "name", "ask_name")));
	reply_free(rpc(a, "resources/read", "test://papers/7",
		       json_pack("{s:s}", "uri", "test://papers/7")));
}

/* No list depends on the connection, on what was done on it, on what its
 * client can, or on the instance; and pages add up to the same. */
static void test_list__depends_on_nothing_else(void **unused)
{
	static const char *const cans[] = {"{}", CAN_ALL, CAN_TASKS};
	static const char *const fresh[] = {"Connection: close", NULL};
	json_t *want[LISTS];
	struct ask a = at(one);

	(void)unused;
	for (size_t i = 0; i < LISTS; i++) {
		want[i] = whole(&a, &lists[i]);
		assert_true(json_array_size(want[i]) > 1);
	}
	/* more than one page */
	assert_true(json_array_size(want[2]) > 500);
	for (size_t i = 0; i < 3; i++) {
		a.can = cans[i];
		do_much(&a);
		same(&a, want);
	}
	a.headers = fresh;
	same(&a, want);
	a = at(two);
	same(&a, want);
	for (size_t i = 0; i < LISTS; i++)
		json_decref(want[i]);
}

/* What is declared is served, and what is not is unknown. */
static void declares(const struct server *v, bool all)
{
	struct ask a = at(v);
	struct reply *r = rpc(&a, "server/discover", NULL, NULL);
	const json_t *can = member(r, "capabilities");
	struct reply *s;

	assert_non_null(json_object_get(can, "tools"));
	assert_non_null(json_object_get(can, "logging"));
	assert_int_equal(json_object_get(can, "completions") != NULL, all);
	for (size_t i = 0; i < LISTS; i++) {
		bool has = json_object_get(can, lists[i].capability) != NULL;

		assert_int_equal(has, all || i == 0);
		s = rpc(&a, lists[i].method, NULL, NULL);
		assert_int_equal(s->status, has ? 200 : 404);
		assert_int_equal(error_code(s), has ? 0 : -32601);
		reply_free(s);
	}
	s = rpc(&a, "completion/complete", NULL, NULL);
	assert_int_equal(error_code(s), all ? INVALID : -32601);
	reply_free(s);
	reply_free(r);
}

static void test_discover__declares_what_is_served(void **unused)
{
	(void)unused;
	declares(one, true);
	declares(other, false);
}

/* ---- arguments ---- */
/* Each keyword of the suite's 2020-12 schema decides. */
static void test_arguments__every_keyword_is_minded(void **unused)
{
	static const struct {
		const char *args;
		bool good;
	} all[] = {
		{"{\"email\":\"a@b\"}", true},
		{"{\"contactMethod\":\"phone\",\"phone\":\"1\"}", true},
		{"{\"email\":\"a\",\"address\":{\"street\":\"s\",\"x\":1}}",
		 true},
		/* allOf, anyOf */
		{"{}", false},
		{"{\"name\":\"n\",\"contactMethod\":\"email\"}", false},
		/* if, then, else */
		{"{\"contactMethod\":\"phone\",\"email\":\"a\"}", false},
		{"{\"contactMethod\":\"email\",\"phone\":\"1\"}", false},
		{"{\"phone\":\"1\"}", false},
		/* additionalProperties */
		{"{\"email\":\"a\",\"more\":1}", false},
		/* $ref into $defs */
		{"{\"email\":\"a\",\"address\":{\"street\":7}}", false},
		{"{\"email\":\"a\",\"address\":\"here\"}", false},
		/* enum, type */
		{"{\"email\":\"a\",\"contactMethod\":\"fax\"}", false},
		{"{\"email\":7}", false},
	};
	struct ask a = at(one);

	(void)unused;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct reply *r = tool(&a, "json_schema_2020_12_tool",
				       json_loads(all[i].args, 0, NULL));

		assert_string_equal(result_type(r), "complete");
		if (json_is_true(member(r, "isError")) == all[i].good ||
		    (strcmp(result_text(r), "ok") == 0) != all[i].good)
			fail_msg("%s: %s", all[i].args, r->raw);
		reply_free(r);
	}
}

/* ---- results ---- */
/* Output schemas and structured content are of any type; content that does not
 * fit never leaves, and what fits is repeated as text, for older readers. */
static void test_structured__is_of_any_type(void **unused)
{
	static const struct {
		const char *tool, *value;
		bool good;
	} all[] = {
		{"gives_array", "[1,2,3]", true},
		{"gives_array", "[]", true},
		{"gives_array", "[1,\"2\"]", false},
		{"gives_array", "{\"0\":1}", false},
		{"gives_number", "0.5", true},
		{"gives_number", "\"0.5\"", false},
		{"gives_null", "null", true},
		{"gives_null", "0", false},
		{"gives_any", "\"a \\\"b\\\"\"", true},
		{"gives_any", "false", true},
		{"gives_any", "{\"a\":[null]}", true},
	};
	struct ask a = at(one);

	(void)unused;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		json_t *v = json_loads(all[i].value, JSON_DECODE_ANY, NULL);
		struct reply *r =
			tool(&a, all[i].tool, json_pack("{s:O}", "value", v));

		if (all[i].good) {
			assert_true(
				json_equal(member(r, "structuredContent"), v));
			assert_string_equal(result_text(r), all[i].value);
		} else if (error_code(r) != INTERNAL || result(r) != NULL) {
			fail_msg("%s %s: %s", all[i].tool, all[i].value,
				 r->raw);
		}
		reply_free(r);
		json_decref(v);
	}
}

/* ---- what is shown ---- */
/* Of all pages of a list, the one whose @name is that. */
static json_t *listed(const struct list *l, const char *name, const char *is)
{
	struct ask a = at(one);
	json_t *all = whole(&a, l);
	json_t *found = NULL;
	size_t i;
	json_t *e;

	json_array_foreach (all, i, e)
		if (strcmp(json_string_value(json_object_get(e, name)), is) ==
		    0)
			found = json_incref(e);
	json_decref(all);
	if (found == NULL)
		fail_msg("%s is not listed", is);
	return found;
}

static void shows(const struct list *l, const char *name, const char *is,
		  const char *want)
{
	json_t *e = listed(l, name, is);

	equals(e, want);
	json_decref(e);
}

static void test_listing__shows_all_that_was_given(void **unused)
{
	struct ask a = at(one);
	struct reply *r = rpc(&a, "server/discover", NULL, NULL);

	(void)unused;
	equals(member(r, "instructions"),
	       "\"Tools for the tests of bide; of no use otherwise.\"");
	reply_free(r);
	shows(&lists[0], "name", "dressed.up-1",
	      "{\"name\":\"dressed.up-1\",\"title\":\"Dressed up\","
	      "\"description\":\"shows all that a listing can show\","
	      "\"inputSchema\":{\"type\":\"object\",\"properties\":{}},"
	      "\"annotations\":{\"title\":\"Shown first\",\"readOnlyHint\":"
	      "true,\"openWorldHint\":false},\"icons\":[{\"src\":"
	      "\"data:image/png;base64,iVBORw0KGgo=\",\"mimeType\":"
	      "\"image/png\",\"sizes\":[\"48x48\"]}]}");
	shows(&lists[1], "name", "dialogue",
	      "{\"name\":\"dialogue\",\"title\":\"A dialogue\","
	      "\"description\":\"a question and the beginning of an "
	      "answer\",\"icons\":[{\"src\":\"https://example.com/talk.svg\","
	      "\"mimeType\":\"image/svg+xml\",\"sizes\":[\"any\"]}],"
	      "\"arguments\":[{\"name\":\"topic\",\"description\":"
	      "\"what to talk of\",\"required\":true},{\"name\":\"tone\","
	      "\"description\":\"how\"}]}");
	shows(&lists[3], "uriTemplate", "test://papers/{number}",
	      "{\"uriTemplate\":\"test://papers/{number}\",\"name\":"
	      "\"papers\",\"title\":\"Papers\",\"mimeType\":\"text/plain\","
	      "\"annotations\":{\"audience\":[\"user\"],\"priority\":0.5}}");
}

static void test_output_schema__is_of_any_type(void **unused)
{
	static const char *const all[][2] = {
		{"gives_array",
		 "{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}"},
		{"gives_number", "{\"type\":\"number\"}"},
		{"gives_null", "{\"type\":\"null\"}"},
		{"gives_any", "{}"},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		json_t *t = listed(&lists[0], "name", all[i][0]);

		equals(json_object_get(t, "outputSchema"), all[i][1]);
		json_decref(t);
	}
}

/* ---- URIs ---- */
static struct reply *read_it(const struct ask *a, const char *uri)
{
	return rpc(a, "resources/read", uri, json_pack("{s:s}", "uri", uri));
}

/* A handler that would give back what it is given sees no path that climbs,
 * however it is spelled, and nothing that is no text. */
static void test_uri__that_climbs_is_not_read(void **unused)
{
	static const char *const bad[] = {
		"test://template/../data",
		"test://template/./data",
		"test://template/%2e%2e/data",
		"test://template/%2E./data",
		"test://template/..%2Fetc/data",
		"test://template/a%2F..%2Fb/data",
		"test://template/%2Fetc/data",
		"test://template/%00/data",
		"test://template/%ff/data",
		"test://template/a/b/data",
		"file:///project/src/../src/main.rs",
		"file:///project/src/%2e%2e/src/main.rs",
		"FILE:///project/src/main.rs",
	};
	struct ask a = at(one);
	struct reply *r = read_it(&a, "test://template/a%20b/data");

	(void)unused;
	assert_non_null(strstr(r->raw, "Data for ID: a b"));
	reply_free(r);
	r = read_it(&a, "file:///project/src/main.rs");
	assert_string_equal(result_type(r), "complete");
	reply_free(r);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		r = read_it(&a, bad[i]);
		if (error_code(r) != INVALID || result(r) != NULL)
			fail_msg("%s: %s", bad[i], r->raw);
		reply_free(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list__depends_on_nothing_else),
		cmocka_unit_test(test_discover__declares_what_is_served),
		cmocka_unit_test(test_arguments__every_keyword_is_minded),
		cmocka_unit_test(test_structured__is_of_any_type),
		cmocka_unit_test(test_listing__shows_all_that_was_given),
		cmocka_unit_test(test_output_schema__is_of_any_type),
		cmocka_unit_test(test_uri__that_climbs_is_not_read),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
