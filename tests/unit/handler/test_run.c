/* SPDX-License-Identifier: MIT */
#include "server/base/log.h"
#include "tests/unit/handler/lib/fake.h"
#include <unistd.h>

/* ---- the request ---- */

static enum bide_rc reads_args(struct bide_call *call, void *user)
{
	(void)user;
	assert_string_equal(bide_arg_string(call, "s"), "x");
	assert_null(bide_arg_string(call, "i"));
	assert_null(bide_arg_string(call, "none"));
	assert_int_equal(bide_arg_int(call, "i", -1), 7);
	assert_int_equal(bide_arg_int(call, "two", -1), 2); /* 2.0 */
	assert_int_equal(bide_arg_int(call, "r", -1), -1);
	assert_int_equal(bide_arg_int(call, "huge", -1), -1);
	assert_int_equal(bide_arg_int(call, "none", -1), -1);
	assert_true(bide_arg_real(call, "r", -1) == 0.5);
	assert_true(bide_arg_real(call, "i", -1) == 7);
	assert_true(bide_arg_real(call, "s", -1) == -1);
	assert_true(bide_arg_bool(call, "b", false));
	assert_true(bide_arg_bool(call, "none", true));
	assert_int_equal(json_object_size(bide_args(call)), 6);
	assert_string_equal(bide_principal(call), "alice");
	assert_string_equal(bide_chain_id(call), "chain-1");
	assert_null(bide_task_id(call));
	assert_true(bide_client_can(call, BIDE_CAN_ELICIT_FORM));
	assert_false(bide_client_can(call, BIDE_CAN_ROOTS));
	return BIDE_OK;
}

static void test_request__is_what_the_options_said(void **state)
{
	struct fake *f = fake_of(reads_args);

	(void)state;
	f->opt.args = fake_json("{\"s\":\"x\",\"i\":7,\"r\":0.5,\"b\":true,"
				"\"two\":2.0,\"huge\":1e300}");
	f->caller.can = BIDE_CAN_ELICIT_FORM;
	fake_call(f);
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	json_decref(f->opt.args);
	fake_free(f);
}

static enum bide_rc reads_no_args(struct bide_call *call, void *user)
{
	(void)user;
	assert_true(json_is_object(bide_args(call)));
	assert_int_equal(json_object_size(bide_args(call)), 0);
	return BIDE_OK;
}

static void test_request__without_arguments(void **state)
{
	struct fake *f = fake_of(reads_no_args);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	fake_free(f);
}

/* ---- how a handler leaves ---- */

static enum bide_rc returns(struct bide_call *call, void *user)
{
	const enum bide_rc *rc = ((struct fake *)user)->data;

	(void)call;
	return *rc;
}

#define INTERNAL "{\"code\":-32603,\"message\":\"Internal error\"}"

static void test_codes__of_its_own_become_internal_errors(void **state)
{
	static const enum bide_rc codes[] = {
		BIDE_PENDING, /* though nothing is open */
		BIDE_RUN,           BIDE_INVALID, BIDE_NOT_FOUND, BIDE_CONFLICT,
		BIDE_LIMIT,         BIDE_BUSY,    BIDE_NOMEM,     BIDE_IO,
		BIDE_CANCELLED,     BIDE_UNKNOWN, BIDE_MISUSE,    BIDE_FAILED,
		BIDE_NO_CAPABILITY,
	};
	struct fake *f = fake_of(returns);

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		enum bide_rc rc = codes[i];

		f->data = &rc;
		assert_int_equal(fake_enter(f), RUN_ERROR);
		assert_string_equal(fake_text(f), INTERNAL);
	}
	fake_free(f);
}

static void test_codes__lost_is_stopped(void **state)
{
	struct fake *f = fake_of(returns);
	enum bide_rc rc = BIDE_LOST;

	(void)state;
	f->data = &rc;
	assert_int_equal(fake_enter(f), RUN_STOPPED);
	fake_free(f);
}

static enum bide_rc fails_then_goes_on(struct bide_call *call, void *user)
{
	struct fake *f = user;
	const json_t *kept = NULL;

	assert_int_equal(bide_ask_url(call, "u", "U?", "gopher://x"),
			 BIDE_INVALID);
	assert_int_equal(bide_ask_form(call, "f", "F?", FORM), BIDE_INVALID);
	assert_int_equal(bide_step_begin(call, "s", &kept), BIDE_INVALID);
	assert_int_equal(bide_step_commit(call, json_integer(1), NULL),
			 BIDE_INVALID);
	assert_int_equal(bide_sleep(call, "z", 5), BIDE_INVALID);
	assert_int_equal(bide_yield(call, "y"), BIDE_INVALID);
	assert_int_equal(bide_persist(call), BIDE_INVALID);
	assert_int_equal(bide_publish(call), BIDE_INVALID);
	assert_int_equal(bide_structured(call, json_integer(1)), BIDE_INVALID);
	assert_int_equal(bide_fail(call, 1, "x", json_integer(1)),
			 BIDE_INVALID);
	assert_int_equal(bide_await(call), BIDE_INVALID);
	f->work = (int)bide_answer_action(bide_answer(call, "f"));
	return bide_text(call, "all well");
}

static void test_error__sticks_and_does_no_harm(void **state)
{
	struct fake *f = fake_of(fails_then_goes_on);
	struct buf b = {0};

	(void)state;
	assert_int_equal(fake_enter(f), RUN_ERROR);
	assert_string_equal(fake_text(f),
			    "{\"code\":-32603,\"message\":\"question \\\"u\\\""
			    ": its URL is not http or https\"}");
	assert_int_equal(json_array_size(f->steps), 0);
	assert_int_equal(run_open_questions(f->call, &b), 0);
	assert_string_equal(b.data, "{}");
	assert_int_equal(f->work, BIDE_UNANSWERED);
	buf_fini(&b);
	fake_free(f);
}

/* It sticks to the entry, not to the call. */
static enum bide_rc fails_once(struct bide_call *call, void *user)
{
	struct fake *f = user;

	if (++f->entries == 1)
		bide_text(call, "%s", "\xff");
	return bide_text(call, "fine");
}

static void test_error__is_over_with_the_entry(void **state)
{
	struct fake *f = fake_of(fails_once);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_ERROR);
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	fake_free(f);
}

static enum bide_rc gives_up_waiting(struct bide_call *call, void *user)
{
	(void)user;
	bide_ask_form(call, "q", "Q?", FORM);
	if (bide_await(call) == BIDE_PENDING)
		return bide_fail(call, -32000, "no time to wait", NULL);
	return BIDE_OK;
}

static void test_fail__ends_a_call_that_waits(void **state)
{
	struct fake *f = fake_of(gives_up_waiting);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_ERROR);
	assert_non_null(strstr(fake_text(f), "no time"));
	fake_free(f);
}

/* ---- debug reenter ---- */

static enum bide_rc behaves(struct bide_call *call, void *user)
{
	struct fake *f = user;

	f->entries++;
	if (bide_step_begin(call, "s", NULL) == BIDE_RUN) {
		f->work++;
		BIDE_TRY(bide_step_commit(call, NULL, NULL));
	}
	bide_ask_form(call, "q", "Q?", FORM);
	return bide_await(call);
}

static enum bide_rc forgets_a_step(struct bide_call *call, void *user)
{
	return bide_text(call, "run %d", ++((struct fake *)user)->entries);
}

static void test_reenter__enters_twice_and_steps_once(void **state)
{
	struct fake *f = fake_of(behaves);

	(void)state;
	f->opt.reenter = true;
	fake_call(f);
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	assert_int_equal(f->entries, 2);
	assert_int_equal(f->work, 1);
	assert_int_equal(fake_open(f), 1);
	fake_free(f);
}

/* The log's lines, while @f is entered once. */
static void entered_logs(struct fake *f, const char *says)
{
	FILE *out = tmpfile();
	int kept = dup(STDERR_FILENO);
	char text[4096];
	size_t n;

	assert_non_null(out);
	dup2(fileno(out), STDERR_FILENO);
	log_set_level(LOG_WARN);
	fake_enter(f);
	log_set_level(LOG_NONE);
	dup2(kept, STDERR_FILENO);
	close(kept);
	rewind(out);
	n = fread(text, 1, sizeof(text) - 1, out);
	text[n] = '\0';
	fclose(out);
	if (says && !strstr(text, says))
		fail_msg("\"%s\" does not say %s", text, says);
	if (!says)
		assert_string_equal(text, "");
}

static enum bide_rc asks_another(struct bide_call *call, void *user)
{
	struct fake *f = user;

	bide_ask_form(call, ++f->entries % 2 ? "odd" : "even", "?", FORM);
	return bide_await(call);
}

static void test_reenter__effects_outside_steps_show(void **state)
{
	struct fake *f = fake_of(forgets_a_step);

	(void)state;
	f->opt.reenter = true;
	fake_call(f);
	entered_logs(f, "\"what\":\"result\"");
	fake_free(f);
	f = fake_of(asks_another);
	f->opt.reenter = true;
	fake_call(f);
	entered_logs(f, "\"what\":\"asks_and_steps\"");
	fake_free(f);
}

static enum bide_rc forgets_to_commit(struct bide_call *call, void *user)
{
	(void)user;
	if (bide_step_begin(call, "open", NULL) != BIDE_RUN)
		return BIDE_MISUSE;
	return bide_text(call, "done");
}

static enum bide_rc forgets_to_await(struct bide_call *call, void *user)
{
	(void)user;
	BIDE_TRY(bide_ask_form(call, "unheard", "?", FORM));
	return bide_text(call, "done");
}

static enum bide_rc thinks_better_of_it(struct bide_call *call, void *user)
{
	(void)user;
	BIDE_TRY(bide_ask_form(call, "unheard", "?", FORM));
	BIDE_TRY(bide_ask_withdraw(call, "unheard"));
	return bide_text(call, "done");
}

static void test_end__what_was_begun_and_forgotten_is_logged(void **state)
{
	static const struct {
		bide_handler_fn handler;
		const char *says;
	} all[] = {
		{forgets_to_commit, "\"step\":\"open\""},
		{forgets_to_await, "\"question\":\"unheard\""},
		{thinks_better_of_it, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct fake *f = fake_of(all[i].handler);

		fake_call(f);
		entered_logs(f, all[i].says);
		assert_int_equal(f->result.left, RUN_COMPLETE);
		fake_free(f);
	}
}

static enum bide_rc sleeps(struct bide_call *call, void *user)
{
	struct fake *f = user;

	f->now += 10; /* time passes: the second entry finds it over */
	BIDE_TRY(bide_sleep(call, "s", 10));
	return bide_text(call, "done");
}

static void test_reenter__says_nothing_of_a_good_one(void **state)
{
	static const bide_handler_fn good[] = {behaves, sleeps};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct fake *f = fake_of(good[i]);

		f->opt.reenter = true;
		fake_call(f);
		entered_logs(f, NULL);
		fake_free(f);
	}
}

static void test_bug__pending_with_nothing_open_is_logged(void **state)
{
	struct fake *f = fake_of(returns);
	enum bide_rc rc = BIDE_PENDING;

	(void)state;
	f->data = &rc;
	entered_logs(f, "handler.bug");
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request__is_what_the_options_said),
		cmocka_unit_test(test_request__without_arguments),
		cmocka_unit_test(test_codes__of_its_own_become_internal_errors),
		cmocka_unit_test(test_codes__lost_is_stopped),
		cmocka_unit_test(test_error__sticks_and_does_no_harm),
		cmocka_unit_test(test_error__is_over_with_the_entry),
		cmocka_unit_test(test_fail__ends_a_call_that_waits),
		cmocka_unit_test(test_reenter__enters_twice_and_steps_once),
		cmocka_unit_test(test_reenter__effects_outside_steps_show),
		cmocka_unit_test(test_reenter__says_nothing_of_a_good_one),
		cmocka_unit_test(test_bug__pending_with_nothing_open_is_logged),
		cmocka_unit_test(
			test_end__what_was_begun_and_forgotten_is_logged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
