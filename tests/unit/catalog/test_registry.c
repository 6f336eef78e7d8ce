/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/jsontext.h"
#include "server/base/limits.h"
#include "tests/unit/catalog/lib/registering.h"

static enum bide_rc add(struct registry *r, const char *name)
{
	const struct bide_tool t = {BIDE_TOOL, .name = name, .handler = nop};

	return registry_add_tool(r, &t, false, NULL);
}

/* @def is refused as invalid, with a text that holds @text. */
static void refused(void **state, struct bide_tool def, const char *text)
{
	struct bide_error e = {0};

	assert_int_equal(registry_add_tool(*state, &def, false, &e),
			 BIDE_INVALID);
	says(&e, text);
	assert_int_equal(registry_tools(*state), 0);
}

static void accepted(void **state, struct bide_tool def)
{
	struct bide_error e = {0};

	is_accepted(registry_add_tool(*state, &def, false, &e), &e);
}

#define NAMED(n, ...)                                                          \
	((struct bide_tool){BIDE_TOOL, .name = n, .handler = nop, __VA_ARGS__})
#define TOOL(...) NAMED("t", __VA_ARGS__)

static void test_name__characters_and_length(void **state)
{
	char longest[LIMIT_NAME_BYTES + 2];

	memset(longest, 'n', sizeof(longest));
	longest[LIMIT_NAME_BYTES + 1] = '\0';
	refused(state, NAMED(longest, .title = NULL), "longer");
	refused(state, NAMED("", .title = NULL), "no name");
	refused(state, NAMED(NULL, .title = NULL), "no name");
	refused(state, NAMED("a b", .title = NULL), "at 1");
	refused(state, NAMED("caf\xc3\xa9", .title = NULL), "at 3");
	refused(state, NAMED("a/b", .title = NULL), "at 1");
	longest[LIMIT_NAME_BYTES] = '\0';
	accepted(state, NAMED(longest, .title = NULL));
	accepted(state, NAMED("A.b-c_9", .title = NULL));
}

static void test_name__taken_is_a_conflict(void **state)
{
	assert_int_equal(add(*state, "one"), BIDE_OK);
	assert_int_equal(add(*state, "one"), BIDE_CONFLICT);
	assert_int_equal(registry_tools(*state), 1);
}

static void test_times__negative_ones_are_refused(void **state)
{
	refused(state, TOOL(.mode = BIDE_EITHER, .ttl_ms = -1), "ttl_ms");
	refused(state, TOOL(.retention_ms = -1), "retention_ms");
	refused(state, TOOL(.input_deadline_ms = -1), "input_deadline_ms");
	refused(state, TOOL(.wait_budget_ms = -2), "wait_budget_ms");
	refused(state, TOOL(.poll_interval_ms = -1), "poll_interval_ms");
	refused(state, TOOL(.max_run_ms = -1), "max_run_ms");
	accepted(state, TOOL(.wait_budget_ms = -1));
}

static void test_settings__contradictions_are_refused(void **state)
{
	refused(state, TOOL(.mode = BIDE_PERSISTENT, .runs_inline = true),
		"runs_inline");
	refused(state, TOOL(.mode = BIDE_EITHER, .runs_inline = true),
		"runs_inline");
	refused(state, TOOL(.mode = BIDE_PERSISTENT, .single_use = true),
		"single_use");
	refused(state, TOOL(.mode = BIDE_EITHER, .single_use = true),
		"single_use");
	refused(state, TOOL(.without_tasks = BIDE_DEMAND_TASKS),
		"without_tasks");
	refused(state, TOOL(.on_close = BIDE_CLOSE_GOES_ON), "on_close");
	refused(state, TOOL(.mode = (enum bide_mode)7), "mode");
	refused(state, TOOL(.needs = 1U << 20), "needs");
	refused(state, ((struct bide_tool){BIDE_TOOL, .name = "t"}), "handler");
	accepted(state, NAMED("a", .runs_inline = true));
	accepted(state, NAMED("b", .single_use = true));
	accepted(state, NAMED("c", .mode = BIDE_PERSISTENT,
			      .without_tasks = BIDE_DEMAND_TASKS,
			      .on_close = BIDE_CLOSE_GOES_ON));
}

static void test_schema__must_be_valid_and_an_object(void **state)
{
	refused(state, TOOL(.input_schema = "{"), "input_schema");
	refused(state, TOOL(.input_schema = "{\"type\":\"string\"}"),
		"not of type object");
	refused(state, TOOL(.input_schema = "{}"), "not of type object");
	refused(state, TOOL(.input_schema = "true"), "not of type object");
	refused(state,
		TOOL(.input_schema = "{\"type\":\"object\",\"properties\":7}"),
		"input_schema");
	/* Nothing outside is ever fetched (F51). */
	refused(state,
		TOOL(.input_schema = "{\"type\":\"object\",\"properties\":"
				     "{\"a\":{\"$ref\":\"https://x.example/"
				     "s\"}}}"),
		"input_schema");
	refused(state, TOOL(.output_schema = "{\"type\":\"nothing\"}"),
		"output_schema");
	/* An output schema may be of any type (S61). */
	accepted(state, TOOL(.output_schema = "{\"type\":\"array\"}"));
}

static void test_annotations_and_icons__are_checked(void **state)
{
	refused(state, TOOL(.annotations = "[]"), "annotations");
	refused(state, TOOL(.annotations = "{\"readOnlyHint\":1}"), "hint");
	refused(state, TOOL(.annotations = "{\"title\":1}"), "title");
	refused(state, TOOL(.icons = "{}"), "icons");
	refused(state, TOOL(.icons = "[{}]"), "src");
	refused(state, TOOL(.title = "\xff"), "title");
	accepted(state, TOOL(.annotations = "{\"readOnlyHint\":true}",
			     .icons = "[{\"src\":\"data:,\"}]"));
}

static void test_size__of_other_versions(void **state)
{
	struct {
		struct bide_tool t;
		long later;
	} big = {.t = NAMED("big", .title = NULL), .later = 0};
	struct bide_tool small = NAMED("small", .max_run_ms = -5);

	refused(state, (struct bide_tool){.name = "t", .handler = nop}, "size");
	small.size = offsetof(struct bide_tool, max_run_ms);
	accepted(state, small); /* what lies behind its size is not read */
	big.t.size = sizeof(big);
	assert_int_equal(registry_add_tool(*state, &big.t, false, NULL),
			 BIDE_OK);
}

static void test_size__unknown_settings_are_refused(void **state)
{
	struct {
		struct bide_tool t;
		long later;
	} big = {.t = NAMED("big", .title = NULL), .later = 1};
	struct bide_error e = {0};

	big.t.size = sizeof(big);
	assert_int_equal(registry_add_tool(*state, &big.t, false, &e),
			 BIDE_INVALID);
	assert_non_null(strstr(e.text, "version of the library"));
}

static void test_listing__keeps_schemas_and_order_of_members(void **state)
{
	const struct tool *t = NULL;
	json_t *v = NULL;

	accepted(
		state,
		NAMED("x", .title = "T\"", .description = "D",
		      .input_schema = "{ \"type\": \"object\",\n\t\"x\":1.50 }",
		      .output_schema = "{\"type\":\"object\"}",
		      .annotations = "{\"readOnlyHint\":true}", .icons = "[]"));
	t = registry_tool(*state, "x");
	assert_string_equal(
		t->listing,
		"{\"name\":\"x\",\"title\":\"T\\\"\",\"description\":\"D\","
		"\"inputSchema\":{ \"type\": \"object\", \t\"x\":1.50 },"
		"\"outputSchema\":{\"type\":\"object\"},"
		"\"annotations\":{\"readOnlyHint\":true},\"icons\":[]}");
	assert_int_equal(t->listing_len, strlen(t->listing));
	assert_int_equal(jsontext_parse(t->listing, t->listing_len, &v, NULL),
			 BIDE_OK);
	json_decref(v);
}

static void test_listing__without_anything_has_what_is_required(void **state)
{
	accepted(state, NAMED("x", .title = NULL));
	assert_string_equal(registry_tool(*state, "x")->listing,
			    "{\"name\":\"x\",\"description\":\"\","
			    "\"inputSchema\":{\"type\":\"object\"}}");
	assert_string_equal(registry_tool(*state, "x")->def.version, "");
}

static void test_tool__everything_is_copied(void **state)
{
	char name[] = "gone";
	char schema[] = "{\"type\":\"object\"}";

	accepted(state, NAMED(name, .input_schema = schema));
	memset(name, 0, sizeof(name));
	memset(schema, 0, sizeof(schema));
	assert_string_equal(registry_tool(*state, "gone")->def.input_schema,
			    "{\"type\":\"object\"}");
}

static void test_lookup__finds_each_and_no_other(void **state)
{
	char name[32];

	assert_null(registry_tool(*state, "t0"));
	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		assert_int_equal(add(*state, name), BIDE_OK);
	}
	for (size_t i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "t%zu", i);
		assert_int_equal(registry_tool(*state, name)->index, i);
		assert_ptr_equal(registry_tool(*state, name),
				 registry_tool_at(*state, i));
	}
	assert_null(registry_tool(*state, "t500"));
	assert_null(registry_tool_at(*state, 500));
}

static void test_builtin__is_listed_last(void **state)
{
	const struct bide_tool wait = {BIDE_TOOL, .name = "wait_for_task"};
	const struct tool *last = NULL;

	assert_int_equal(add(*state, "a"), BIDE_OK);
	assert_int_equal(registry_add_tool(*state, &wait, true, NULL), BIDE_OK);
	assert_int_equal(add(*state, "b"), BIDE_OK);
	last = registry_tool_at(*state, 2);
	assert_string_equal(last->def.name, "wait_for_task");
	assert_true(last->builtin);
	assert_int_equal(last->index, 2);
	assert_string_equal(registry_tool_at(*state, 1)->def.name, "b");
	assert_ptr_equal(registry_tool(*state, "wait_for_task"), last);
}

/* Where none may, there is no call that names wait_for_task. */
static void test_detaches__when_a_tool_may_become_a_task(void **state)
{
	struct bide_tool t = {
		BIDE_TOOL, .name = "demands", .mode = BIDE_PERSISTENT,
		.without_tasks = BIDE_DEMAND_TASKS, .handler = nop};

	assert_false(registry_detaches(*state));
	assert_int_equal(add(*state, "ephemeral"), BIDE_OK);
	assert_int_equal(registry_add_tool(*state, &t, false, NULL), BIDE_OK);
	assert_false(registry_detaches(*state));
	t.name = "either";
	t.mode = BIDE_EITHER;
	t.without_tasks = BIDE_DETACH;
	assert_int_equal(registry_add_tool(*state, &t, false, NULL), BIDE_OK);
	assert_true(registry_detaches(*state));
}

static void test_tools__have_a_ceiling(void **state)
{
	char name[32];

	for (int i = 0; i < LIMIT_TOOLS; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		assert_int_equal(add(*state, name), BIDE_OK);
	}
	assert_int_equal(add(*state, "more"), BIDE_LIMIT);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_name__characters_and_length),
		T(test_name__taken_is_a_conflict),
		T(test_times__negative_ones_are_refused),
		T(test_settings__contradictions_are_refused),
		T(test_schema__must_be_valid_and_an_object),
		T(test_annotations_and_icons__are_checked),
		T(test_size__of_other_versions),
		T(test_size__unknown_settings_are_refused),
		T(test_listing__keeps_schemas_and_order_of_members),
		T(test_listing__without_anything_has_what_is_required),
		T(test_tool__everything_is_copied),
		T(test_lookup__finds_each_and_no_other),
		T(test_builtin__is_listed_last),
		T(test_detaches__when_a_tool_may_become_a_task),
		T(test_tools__have_a_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
