/* SPDX-License-Identifier: MIT */
/* x-mcp-header in input schemas: S73. */
#include <stdio.h>
#include <string.h>

#include "server/base/limits.h"
#include "tests/unit/catalog/lib/registering.h"

static enum bide_rc add(void **state, const char *schema, struct bide_error *e)
{
	const struct bide_tool t = {BIDE_TOOL, .name = "t", .handler = nop,
				    .input_schema = schema};

	return registry_add_tool(*state, &t, false, e);
}

/* The text names the tool, @where in the schema, and why. */
static void refused(void **state, const char *schema, const char *where,
		    const char *why)
{
	struct bide_error e = {0};
	char place[128];

	(void)snprintf(place, sizeof(place),
		       "tool \"t\": input_schema/%s: ", where);
	assert_int_equal(add(state, schema, &e), BIDE_INVALID);
	if (!strstr(e.text, place) || !strstr(e.text, why))
		fail_msg("\"%s\" says neither \"%s\" nor \"%s\"", e.text, place,
			 why);
}

static const struct tool *accepted(void **state, const char *schema)
{
	struct bide_error e = {0};

	registry_free(*state);
	*state = registry_new();
	is_accepted(add(state, schema, &e), &e);
	return registry_tool(*state, "t");
}

#define OBJECT(members) "{\"type\":\"object\",\"properties\":{" members "}}"
#define ANNOTATED(type, header)                                                \
	"{\"type\":" type ",\"x-mcp-header\":" header "}"
#define PROP(type, header) OBJECT("\"a\":" ANNOTATED(type, header))
/* Where there is no chain of properties. */
#define UNREACHABLE(rest)                                                      \
	"{\"type\":\"object\",\"properties\":{\"a\":" rest "}}"
#define X ANNOTATED("\"string\"", "\"X\"")

static void test_params__are_read(void **state)
{
	const struct tool *t = accepted(
		state,
		OBJECT("\"region\":" ANNOTATED(
			"\"string\"",
			"\"Region\"") ","
				      "\"plain\":{\"type\":\"string\"},"
				      "\"options\":{\"type\":\"object\",\"properties\":{"
				      "\"limit\":" ANNOTATED(
					      "\"integer\"",
					      "\"Limit\"") ","
							   "\"deep\":{\"properties\":{\"x\":" ANNOTATED(
								   "\"boolean\"",
								   "\"!#$%&'*+-.^_`|~\"") "}}}}"));

	assert_int_equal(t->n_params, 3);
	assert_string_equal(t->params[0].header, "Mcp-Param-Region");
	assert_int_equal(t->params[0].type, PARAM_STRING);
	assert_string_equal(t->params[0].path[0], "region");
	assert_null(t->params[0].path[1]);
	assert_string_equal(t->params[1].header, "Mcp-Param-Limit");
	assert_int_equal(t->params[1].type, PARAM_INTEGER);
	assert_string_equal(t->params[1].path[0], "options");
	assert_string_equal(t->params[1].path[1], "limit");
	assert_null(t->params[1].path[2]);
	assert_string_equal(t->params[2].header, "Mcp-Param-!#$%&'*+-.^_`|~");
	assert_int_equal(t->params[2].type, PARAM_BOOLEAN);
	assert_string_equal(t->params[2].path[1], "deep");
	assert_string_equal(t->params[2].path[2], "x");
	/* The annotation is listed, for clients act on it. */
	assert_non_null(strstr(t->listing, "\"x-mcp-header\":\"Limit\""));
	assert_int_equal(accepted(state, OBJECT(""))->n_params, 0);
	assert_int_equal(accepted(state, NULL)->n_params, 0);
}

static void test_header__is_a_token(void **state)
{
	refused(state, PROP("\"string\"", "\"\""), "properties/a", "token");
	refused(state, PROP("\"string\"", "\"a b\""), "properties/a", "token");
	refused(state, PROP("\"string\"", "\"a:b\""), "properties/a", "token");
	refused(state, PROP("\"string\"", "\"a\\r\\nb\""), "properties/a",
		"token");
	refused(state, PROP("\"string\"", "\"a\\tb\""), "properties/a",
		"token");
	refused(state, PROP("\"string\"", "\"caf\xc3\xa9\""), "properties/a",
		"token");
	refused(state, PROP("\"string\"", "\"(a)\""), "properties/a", "token");
	refused(state, PROP("\"string\"", "7"), "properties/a", "not a string");
	refused(state, PROP("\"string\"", "true"), "properties/a",
		"not a string");
	refused(state, PROP("\"string\"", "null"), "properties/a",
		"not a string");
}

static void test_header__is_unique_whatever_its_case(void **state)
{
	refused(state,
		OBJECT("\"a\":" ANNOTATED("\"string\"",
					  "\"Region\"") ","
							"\"b\":" ANNOTATED(
								"\"string\"",
								"\"rEGION\"")),
		"properties/b", "another property's");
	refused(state,
		OBJECT("\"a\":" ANNOTATED(
			"\"string\"", "\"X\"") ","
					       "\"b\":{\"properties\":{\"c\":" X
					       "}}"),
		"properties/b/properties/c", "another property's");
	(void)accepted(state,
		       OBJECT("\"a\":" ANNOTATED(
			       "\"string\"",
			       "\"X-1\"") ","
					  "\"b\":" ANNOTATED("\"string\"",
							     "\"X-2\"")));
}

static void test_type__is_primitive_and_no_number(void **state)
{
	static const char *const bad[] = {"\"number\"",
					  "\"object\"",
					  "\"array\"",
					  "\"null\"",
					  "[\"string\",\"null\"]",
					  "[\"string\"]",
					  "[\"integer\",\"string\"]"};
	char schema[256];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		(void)snprintf(schema, sizeof(schema),
			       OBJECT("\"a\":{\"type\":%s,\"x-mcp-header\":"
				      "\"X\"}"),
			       bad[i]);
		refused(state, schema, "properties/a", "string, integer and");
	}
	refused(state, OBJECT("\"a\":{\"x-mcp-header\":\"X\"}"), "properties/a",
		"string, integer and");
	refused(state,
		OBJECT("\"a\":{\"enum\":[\"x\"],\"x-mcp-header\":\"X\"}"),
		"properties/a", "string, integer and");
}

static void test_place__only_a_chain_of_properties(void **state)
{
	static const struct {
		const char *schema, *where;
	} bad[] = {
		{"{\"type\":\"object\",\"x-mcp-header\":\"X\"}", ""},
		{UNREACHABLE("{\"items\":" X "}"), "properties/a/items"},
		{UNREACHABLE("{\"prefixItems\":[" X "]}"),
		 "properties/a/prefixItems"},
		{UNREACHABLE("{\"contains\":" X "}"), "properties/a/contains"},
		{UNREACHABLE("{\"oneOf\":[true," X "]}"), "properties/a/oneOf"},
		{UNREACHABLE("{\"anyOf\":[" X "]}"), "properties/a/anyOf"},
		{UNREACHABLE("{\"allOf\":[" X "]}"), "properties/a/allOf"},
		{UNREACHABLE("{\"not\":" X "}"), "properties/a/not"},
		{UNREACHABLE("{\"if\":" X "}"), "properties/a/if"},
		{UNREACHABLE("{\"then\":" X "}"), "properties/a/then"},
		{UNREACHABLE("{\"else\":" X "}"), "properties/a/else"},
		{UNREACHABLE("{\"additionalProperties\":" X "}"),
		 "properties/a/additionalProperties"},
		{UNREACHABLE("{\"patternProperties\":{\"p\":" X "}}"),
		 "properties/a/patternProperties/p"},
		{UNREACHABLE("{\"propertyNames\":" X "}"),
		 "properties/a/propertyNames"},
		{UNREACHABLE("{\"dependentSchemas\":{\"d\":" X "}}"),
		 "properties/a/dependentSchemas/d"},
		{UNREACHABLE("{\"unevaluatedItems\":" X "}"),
		 "properties/a/unevaluatedItems"},
		{UNREACHABLE("{\"unevaluatedProperties\":" X "}"),
		 "properties/a/unevaluatedProperties"},
		{UNREACHABLE("{\"x-unknown\":{\"deep\":" X "}}"),
		 "properties/a/x-unknown/deep"},
		{"{\"type\":\"object\",\"$defs\":{\"d\":" X "},\"properties\":"
		 "{\"a\":{\"$ref\":\"#/$defs/d\"}}}",
		 "$defs/d"},
		{"{\"type\":\"object\",\"definitions\":{\"d\":" X "}}",
		 "definitions/d"},
		/* Not reached again by properties below. */
		{UNREACHABLE("{\"allOf\":[{\"properties\":{\"b\":" X "}}]}"),
		 "properties/a/allOf/properties/b"},
		{"{\"type\":\"object\",\"anyOf\":[{\"properties\":{\"b\":" X
		 "}}]}",
		 "anyOf/properties/b"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		refused(state, bad[i].schema, bad[i].where, "properties");
}

static void test_place__what_is_no_annotation(void **state)
{
	static const char *const good[] = {
		/* A property of that name. */
		OBJECT("\"x-mcp-header\":{\"type\":\"number\"}"),
		/* Values, not schemas. */
		OBJECT("\"a\":{\"const\":{\"x-mcp-header\":7}}"),
		OBJECT("\"a\":{\"enum\":[{\"x-mcp-header\":7}]}"),
		OBJECT("\"a\":{\"default\":{\"x-mcp-header\":7}}"),
		OBJECT("\"a\":{\"examples\":[{\"x-mcp-header\":7}]}"),
		"{\"type\":\"object\",\"required\":[\"x-mcp-header\"]}",
		"{\"type\":\"object\",\"$defs\":{\"x-mcp-header\":{}}}",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_int_equal(accepted(state, good[i])->n_params, 0);
	/* Mirrored itself. */
	assert_int_equal(
		accepted(state, OBJECT("\"x-mcp-header\":" X))->n_params, 1);
}

static void test_headers__have_a_ceiling(void **state)
{
	char schema[8192] = "{\"type\":\"object\",\"properties\":{";
	struct bide_error e = {0};
	char last[64];
	size_t len;

	for (int i = 0; i <= LIMIT_TOOL_HEADERS; i++) {
		len = strlen(schema);
		(void)snprintf(schema + len, sizeof(schema) - len,
			       "%s\"p%d\":{\"type\":\"string\","
			       "\"x-mcp-header\":\"X%d\"}",
			       i ? "," : "", i, i);
	}
	strcat(schema, "}}");
	assert_int_equal(add(state, schema, &e), BIDE_LIMIT);
	assert_non_null(strstr(e.text, "LIMIT_TOOL_HEADERS"));
	(void)snprintf(last, sizeof(last), ",\"p%d\"", LIMIT_TOOL_HEADERS);
	strcpy(strstr(schema, last), "}}");
	assert_int_equal(accepted(state, schema)->n_params, LIMIT_TOOL_HEADERS);
}

/* server/tools "x-mcp-header": what is in a header is seen on the way. */
static void test_secret__is_noticed(void **state)
{
	const struct tool *t = accepted(
		state,
		OBJECT("\"region\":" ANNOTATED(
			"\"string\"",
			"\"A\"") ","
				 "\"o\":{\"properties\":{"
				 "\"apiKey\":" ANNOTATED(
					 "\"string\"",
					 "\"B\"") "}},"
						  "\"c\":{\"type\":\"string\",\"format\":\"password\","
						  "\"x-mcp-header\":\"C\"}"));

	assert_false(t->params[0].secret);
	assert_true(t->params[1].secret);
	assert_true(t->params[2].secret);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_params__are_read),
		T(test_header__is_a_token),
		T(test_header__is_unique_whatever_its_case),
		T(test_type__is_primitive_and_no_number),
		T(test_place__only_a_chain_of_properties),
		T(test_place__what_is_no_annotation),
		T(test_headers__have_a_ceiling),
		T(test_secret__is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
