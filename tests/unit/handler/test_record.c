/* SPDX-License-Identifier: MIT */
#include "server/base/jsontext.h"
#include "tests/unit/handler/lib/fake.h"

static enum bide_rc does_everything(struct bide_call *call, void *user)
{
	struct fake *f = user;

	bide_progress(call, 1.5, 0, NULL);
	if (bide_step_begin(call, "s1", NULL) == BIDE_RUN)
		BIDE_TRY(bide_step_commit(call, json_pack("{s:f}", "x", 0.1),
					  NULL));
	bide_ask_form(call, "open", "O?", FORM);
	bide_ask_form(call, "done", "D?", FORM);
	bide_ask_roots(call, "late");
	bide_ask_deadline(call, "late", 100);
	f->entries++;
	return bide_await(call);
}

#define REQUEST(text)                                                          \
	"{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\","    \
	"\"message\":\"" text "\",\"requestedSchema\":" FORM "}}"

static void dump_is(const struct fake *f, const char *expected)
{
	json_t *record = run_dump(f->call);
	char *text = jsontext_dup(record, NULL);

	assert_string_equal(text, expected);
	free(text);
	json_decref(record);
}

/* The form is frozen: states that are out there hold it. */
static void test_dump__is_compact_and_frozen(void **state)
{
	struct fake *f =
		fake_new((struct bide_tool){.handler = does_everything});

	(void)state;
	dump_is(f, "{}");
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	fake_next_request(f);
	fake_answer(f, "done", "{\"action\":\"decline\"}");
	f->now += 100;
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	dump_is(f,
		"{\"s\":{\"s1\":{\"x\":0.1}},\"q\":{"
		"\"open\":{\"k\":1,\"r\":" REQUEST(
			"O?") "},"
			      "\"done\":{\"k\":1,\"a\":{\"action\":\"decline\"}},"
			      "\"late\":{\"k\":4,\"t\":true}},\"p\":1.5}");
	fake_free(f);
}

static void test_dump__keeps_expiry_and_the_order_of_steps(void **state)
{
	struct fake *f =
		fake_new((struct bide_tool){.handler = does_everything});

	(void)state;
	run_load_step(f->call, "z", json_integer(1));
	run_load_step(f->call, "a", json_integer(2));
	run_load_question(f->call, "q", STORE_INPUT_ROOTS,
			  "{\"method\":\"roots/list\"}", RUN_Q_OPEN, NULL, 77);
	dump_is(f, "{\"s\":{\"z\":1,\"a\":2},\"q\":{\"q\":{\"k\":4,\"r\":"
		   "{\"method\":\"roots/list\"},\"x\":77}}}");
	fake_next_request(f);
	dump_is(f, "{\"s\":{\"z\":1,\"a\":2},\"q\":{\"q\":{\"k\":4,\"r\":"
		   "{\"method\":\"roots/list\"},\"x\":77}}}");
	fake_free(f);
}

/* A tool that may become a task keeps what the task's history will show. */
static void test_dump__of_a_tool_that_may_persist_keeps_requests(void **state)
{
	struct fake *f = fake_of(does_everything);
	const struct run_question *q = NULL;

	(void)state;
	run_load_question(f->call, "q", STORE_INPUT_ROOTS,
			  "{\"method\":\"roots/list\"}", RUN_Q_ANSWERED,
			  fake_json("{\"roots\":[]}"), 0);
	fake_next_request(f);
	assert_int_equal(run_questions(f->call, &q), 1);
	assert_string_equal(q[0].request, "{\"method\":\"roots/list\"}");
	fake_free(f);
}

static void test_load__replaces_what_stood_under_the_key(void **state)
{
	struct fake *f = fake_of(does_everything);
	const struct run_question *q = NULL;
	const char *key = NULL;
	const json_t *v = NULL;

	(void)state;
	run_load_step(f->call, "s", json_integer(1));
	run_load_step(f->call, "s", json_integer(2));
	assert_int_equal(run_steps(f->call), 1);
	run_step_at(f->call, 0, &key, &v);
	assert_string_equal(key, "s");
	assert_int_equal(json_integer_value(v), 2);
	run_load_question(f->call, "q", STORE_INPUT_FORM, "{\"a\":1}",
			  RUN_Q_ANSWERED, fake_json("{}"), 0);
	run_load_question(f->call, "q", STORE_INPUT_URL, "{\"b\":1}",
			  RUN_Q_OPEN, NULL, 5);
	assert_int_equal(run_questions(f->call, &q), 1);
	assert_int_equal(q[0].state, RUN_Q_OPEN);
	assert_null(q[0].answer);
	assert_string_equal(q[0].request, "{\"b\":1}");
	run_clear_questions(f->call);
	assert_int_equal(run_questions(f->call, &q), 0);
	fake_free(f);
}

static void test_load__refuses_what_is_no_record(void **state)
{
	static const char *const bad[] = {
		"{\"q\":{\"a\":{}}}",
		"{\"q\":{\"a\":{\"k\":1}}}",
		"{\"q\":{\"a\":{\"k\":9,\"t\":true}}}",
		"{\"q\":{\"a\":7}}",
	};
	static const char *const empty[] = {"{}", "{\"s\":[],\"q\":1}"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fake *f = fake_of(does_everything);
		json_t *v = fake_json(bad[i]);

		assert_int_equal(run_load(f->call, v), BIDE_INVALID);
		json_decref(v);
		fake_free(f);
	}
	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
		struct fake *f = fake_of(does_everything);
		json_t *v = fake_json(empty[i]);

		assert_int_equal(run_load(f->call, v), BIDE_OK);
		assert_int_equal(run_steps(f->call), 0);
		json_decref(v);
		fake_free(f);
	}
}

/* Enough of them that keys are found by hash, and some are dropped. */
static enum bide_rc asks_by_round(struct bide_call *call, void *user)
{
	struct fake *f = user;
	char key[16];

	for (int i = f->entries++ ? 20 : 0; i < 40; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		bide_ask_roots(call, key);
	}
	return bide_await(call);
}

static void test_questions__many_are_found_after_some_are_dropped(void **state)
{
	struct fake *f = fake_of(asks_by_round);
	char key[16];

	(void)state;
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	assert_int_equal(fake_open(f), 40);
	fake_next_request(f);
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	assert_int_equal(fake_open(f), 20);
	fake_next_request(f);
	for (int i = 0; i < 40; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		assert_true(fake_try_answer(f, key, "{\"roots\":[]}") ==
			    (i >= 20));
	}
	assert_int_equal(fake_open(f), 0);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dump__is_compact_and_frozen),
		cmocka_unit_test(
			test_dump__keeps_expiry_and_the_order_of_steps),
		cmocka_unit_test(
			test_dump__of_a_tool_that_may_persist_keeps_requests),
		cmocka_unit_test(test_load__replaces_what_stood_under_the_key),
		cmocka_unit_test(test_load__refuses_what_is_no_record),
		cmocka_unit_test(
			test_questions__many_are_found_after_some_are_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
