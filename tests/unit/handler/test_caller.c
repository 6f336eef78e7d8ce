/* SPDX-License-Identifier: MIT */
#include "server/base/jsontext.h"
#include "tests/unit/handler/lib/fake.h"

static unsigned bits(const char *text)
{
	json_t *v = fake_json(text);
	unsigned b = caller_bits(v);

	json_decref(v);
	return b;
}

static void required(unsigned missing, const char *expected)
{
	json_t *v = caller_required(missing);
	char *text = jsontext_dup(v, NULL);

	fake_is(text, expected);
	free(text);
	json_decref(v);
}

static void test_bits__elicitation_modes(void **state)
{
	(void)state;
	assert_int_equal(bits("{}"), 0);
	assert_int_equal(bits("{\"elicitation\":{}}"), BIDE_CAN_ELICIT_FORM);
	assert_int_equal(bits("{\"elicitation\":{\"form\":{}}}"),
			 BIDE_CAN_ELICIT_FORM);
	/* url alone must not bring forms (S23). */
	assert_int_equal(bits("{\"elicitation\":{\"url\":{}}}"),
			 BIDE_CAN_ELICIT_URL);
	assert_int_equal(bits("{\"elicitation\":{\"url\":{},\"form\":{}}}"),
			 BIDE_CAN_ELICIT_URL | BIDE_CAN_ELICIT_FORM);
	assert_int_equal(bits("{\"elicitation\":null}"), 0);
	assert_int_equal(bits("{\"elicitation\":true}"), 0);
}

static void test_bits__sampling_roots_and_tasks(void **state)
{
	(void)state;
	assert_int_equal(bits("{\"sampling\":{}}"), BIDE_CAN_SAMPLE);
	assert_int_equal(bits("{\"sampling\":{\"tools\":{},\"context\":{}}}"),
			 BIDE_CAN_SAMPLE | BIDE_CAN_SAMPLE_TOOLS |
				 BIDE_CAN_SAMPLE_CONTEXT);
	assert_int_equal(bits("{\"roots\":{\"listChanged\":true}}"),
			 BIDE_CAN_ROOTS);
	assert_int_equal(
		bits("{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}"),
		BIDE_CAN_TASKS);
	/* The capability of 2025-11-25 is not the extension (S51). */
	assert_int_equal(bits("{\"tasks\":{\"requests\":{}}}"), 0);
	assert_int_equal(bits("[]"), 0);
}

static void test_required__lists_exactly_what_is_missing(void **state)
{
	(void)state;
	required(0, "{}");
	required(BIDE_CAN_ELICIT_FORM, "{\"elicitation\":{\"form\":{}}}");
	required(BIDE_CAN_SAMPLE, "{\"sampling\":{}}");
	required(BIDE_CAN_SAMPLE_TOOLS, "{\"sampling\":{\"tools\":{}}}");
	required(BIDE_CAN_TASKS,
		 "{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}");
	required(CAN_ALL,
		 "{\"elicitation\":{\"form\":{},\"url\":{}},"
		 "\"sampling\":{\"tools\":{},\"context\":{}},\"roots\":{},"
		 "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}");
}

static void test_snapshot__comes_back(void **state)
{
	struct caller c = {CALLER_2026_07_28,
			   BIDE_CAN_ELICIT_FORM | BIDE_CAN_TASKS, "x\"/1",
			   "00-ab-cd-01"};
	struct caller back = {0};
	char *text = caller_dump(&c);

	(void)state;
	assert_string_equal(text, "{\"era\":\"2026-07-28\",\"can\":65,"
				  "\"client\":\"x\\\"/1\","
				  "\"trace\":\"00-ab-cd-01\"}");
	assert_true(caller_load(&back, text));
	assert_memory_equal(&c, &back, sizeof(c));
	free(text);
}

static void test_snapshot__without_names_and_broken_ones(void **state)
{
	struct caller c = {CALLER_2026_07_28, 0, "", ""};
	struct caller back = {0};
	char *text = caller_dump(&c);

	(void)state;
	assert_string_equal(text, "{\"era\":\"2026-07-28\",\"can\":0}");
	free(text);
	assert_false(caller_load(&back, NULL));
	assert_false(caller_load(&back, ""));
	assert_false(caller_load(&back, "{}"));
	assert_false(caller_load(&back, "{\"era\":\"1999\",\"can\":0}"));
	assert_false(caller_load(&back, "{\"era\":\"2026-07-28\"}"));
}

static void test_snapshot__long_names_are_cut_at_a_character(void **state)
{
	char text[400];
	struct caller c = {0};

	(void)state;
	/* 126 bytes and then one of two bytes: there is room for 127. */
	snprintf(text, sizeof(text),
		 "{\"era\":\"2026-07-28\",\"can\":0,\"client\":\"%0126d\xc3\xa9"
		 "\"}",
		 0);
	assert_true(caller_load(&c, text));
	assert_int_equal(strlen(c.client), 126);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bits__elicitation_modes),
		cmocka_unit_test(test_bits__sampling_roots_and_tasks),
		cmocka_unit_test(test_required__lists_exactly_what_is_missing),
		cmocka_unit_test(test_snapshot__comes_back),
		cmocka_unit_test(test_snapshot__without_names_and_broken_ones),
		cmocka_unit_test(
			test_snapshot__long_names_are_cut_at_a_character),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
