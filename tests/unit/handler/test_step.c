/* SPDX-License-Identifier: MIT */
#include "server/base/fault.h"
#include "server/base/limits.h"
#include "tests/unit/handler/lib/fake.h"

static enum bide_rc steps_twice(struct bide_call *call, void *user)
{
	struct fake *f = user;
	const json_t *a = NULL;
	const json_t *b = NULL;

	f->entries++;
	if (bide_step_begin(call, "a", &a) == BIDE_RUN) {
		f->work++;
		BIDE_TRY(bide_step_commit(call, json_integer(f->work), &a));
	}
	BIDE_TRY(bide_sleep(call, "pause", 1000));
	if (bide_step_begin(call, "b", &b) == BIDE_RUN) {
		f->work++;
		BIDE_TRY(bide_step_commit(call, NULL, &b));
	}
	assert_true(json_is_null(b));
	return bide_text(call, "a=%d", (int)json_integer_value(a));
}

static void test_step__runs_once_and_is_kept(void **state)
{
	struct fake *f = fake_of(steps_twice);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_SLEEPS);
	assert_string_equal(fake_step(f, "a"), "1");
	assert_int_equal(f->work, 1);
	f->now += 1000;
	fake_next_request(f);
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	assert_int_equal(f->work, 2);
	assert_non_null(strstr(fake_text(f), "a=1"));
	assert_string_equal(fake_step(f, "b"), "null");
	fake_free(f);
}

static void test_sleep__has_its_time_from_the_first_passage(void **state)
{
	struct fake *f = fake_of(steps_twice);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_SLEEPS);
	assert_int_equal(f->result.wake_ms, 1001000);
	assert_string_equal(fake_step(f, "~sleep:pause"), "1001000");
	f->now += 999;
	fake_next_request(f);
	assert_int_equal(fake_enter(f), RUN_SLEEPS);
	assert_int_equal(f->result.wake_ms, 1001000);
	f->now += 1;
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	fake_free(f);
}

static enum bide_rc sleeps_not(struct bide_call *call, void *user)
{
	(void)user;
	BIDE_TRY(bide_sleep(call, "a", 0));
	BIDE_TRY(bide_sleep(call, "b", -5));
	return bide_sleep(call, "c", INT64_MAX);
}

static void test_sleep__of_no_time_and_of_all_time(void **state)
{
	struct fake *f = fake_of(sleeps_not);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_SLEEPS);
	assert_null(fake_step(f, "~sleep:a"));
	assert_null(fake_step(f, "~sleep:b"));
	assert_true(f->result.wake_ms > f->now);
	assert_true(f->result.wake_ms < INT64_MAX / 4);
	fake_free(f);
}

static enum bide_rc yields(struct bide_call *call, void *user)
{
	((struct fake *)user)->entries++;
	BIDE_TRY(bide_yield(call, "here"));
	return bide_text(call, "done");
}

static void test_yield__leaves_once(void **state)
{
	struct fake *f = fake_of(yields);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_YIELDS);
	assert_string_equal(fake_step(f, "~yield:here"), "true");
	fake_next_request(f);
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	fake_free(f);
}

/* ---- what the back end says ---- */

static enum bide_rc commits(struct bide_call *call, void *user)
{
	enum bide_rc rc = bide_step_begin(call, "s", NULL);

	(void)user;
	if (rc == BIDE_RUN)
		rc = bide_step_commit(call, json_true(), NULL);
	if (rc)
		return rc;
	return bide_text(call, "done");
}

static void test_commit__lost_is_stopped(void **state)
{
	struct fake *f = fake_of(commits);

	(void)state;
	f->step_rc = BIDE_LOST;
	assert_int_equal(fake_enter(f), RUN_STOPPED);
	assert_int_equal(run_steps(f->call), 0);
	f->step_rc = BIDE_IO;
	assert_int_equal(fake_enter(f), RUN_ERROR);
	assert_string_equal(fake_text(f),
			    "{\"code\":-32603,\"message\":\"Internal error\"}");
	f->step_rc = BIDE_OK;
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	fake_free(f);
}

static void test_draining__a_task_yields_at_its_next_step(void **state)
{
	struct fake *f = fake_of(commits);

	(void)state;
	f->draining = true;
	assert_int_equal(fake_enter(f), RUN_COMPLETE); /* ephemeral: it ends */
	fake_task(f);
	assert_int_equal(fake_enter(f), RUN_YIELDS);
	assert_int_equal(run_steps(f->call), 0);
	/* A step that is kept is no work and does not stop anybody. */
	assert_int_equal(run_load_step(f->call, "s", json_true()), BIDE_OK);
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	fake_free(f);
}

static enum bide_rc asks_to_yield(struct bide_call *call, void *user)
{
	((struct fake *)user)->work = bide_should_yield(call);
	return BIDE_OK;
}

static void test_should_yield__is_the_back_ends_word(void **state)
{
	struct fake *f = fake_of(asks_to_yield);

	(void)state;
	fake_enter(f);
	assert_int_equal(f->work, 0);
	f->draining = true;
	fake_enter(f);
	assert_int_equal(f->work, 1);
	fake_free(f);
}

/* ---- faults ---- */

static void faulty(const char *spec, enum run_left left, bool kept)
{
	struct fake *f = fake_of(commits);

	assert_int_equal(fault_arm(spec, f->note, sizeof(f->note)), 0);
	assert_int_equal(fake_enter(f), left);
	assert_true(kept == (fake_step(f, "s") != NULL));
	fault_disarm();
	fake_free(f);
}

static void test_faults__stand_around_the_work_and_the_commit(void **state)
{
	(void)state;
	faulty("handler.step_begin@s:1:fail", RUN_ERROR, false);
	faulty("handler.step_commit@s:1:fail", RUN_ERROR, false);
	faulty("handler.step_committed@s:1:fail", RUN_ERROR, true);
	faulty("handler.step_begin@other:1:fail", RUN_COMPLETE, true);
}

/* ---- what is refused ---- */

static enum bide_rc commits_first(struct bide_call *call, void *user)
{
	(void)user;
	return bide_step_commit(call, json_true(), NULL);
}

static enum bide_rc begins_two(struct bide_call *call, void *user)
{
	(void)user;
	assert_int_equal(bide_step_begin(call, "a", NULL), BIDE_RUN);
	return bide_step_begin(call, "b", NULL);
}

static enum bide_rc awaits_inside(struct bide_call *call, void *user)
{
	(void)user;
	assert_int_equal(bide_step_begin(call, "a", NULL), BIDE_RUN);
	return bide_await(call);
}

static enum bide_rc sleeps_inside(struct bide_call *call, void *user)
{
	(void)user;
	assert_int_equal(bide_step_begin(call, "a", NULL), BIDE_RUN);
	return bide_sleep(call, "b", 5);
}

static void test_order__begin_then_commit(void **state)
{
	static const bide_handler_fn wrong[] = {commits_first, begins_two,
						awaits_inside, sleeps_inside};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct fake *f = fake_of(wrong[i]);

		assert_int_equal(fake_enter(f), RUN_ERROR);
		fake_free(f);
	}
}

static enum bide_rc begins_and_fails(struct bide_call *call, void *user)
{
	(void)user;
	if (bide_step_begin(call, "a", NULL) == BIDE_RUN)
		return bide_error_text(call, "no luck");
	return BIDE_OK;
}

static void test_order__a_step_may_be_left_open(void **state)
{
	struct fake *f = fake_of(begins_and_fails);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	assert_int_equal(run_steps(f->call), 0);
	fake_free(f);
}

static enum bide_rc steps_under(struct bide_call *call, void *user)
{
	enum bide_rc rc =
		bide_step_begin(call, ((struct fake *)user)->data, NULL);

	if (rc == BIDE_RUN)
		rc = bide_step_commit(call, NULL, NULL);
	return rc;
}

static void test_key__of_steps(void **state)
{
	static const char *const bad[] = {"", "~sleep:x", "a\nb", "\xff"};
	static const char *const good[] = {"a", "hash:/usr/include/\xc3\xa9.h",
					   "a b"};
	struct fake *f = fake_of(steps_under);
	char longest[98];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		f->data = (void *)(uintptr_t)bad[i];
		assert_int_equal(fake_enter(f), RUN_ERROR);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		f->data = (void *)(uintptr_t)good[i];
		assert_int_equal(fake_enter(f), RUN_COMPLETE);
	}
	memset(longest, 'k', sizeof(longest));
	longest[97] = '\0';
	f->data = longest;
	assert_int_equal(fake_enter(f), RUN_ERROR);
	longest[96] = '\0';
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	fake_free(f);
}

static enum bide_rc commits_bytes(struct bide_call *call, void *user)
{
	(void)user;
	assert_int_equal(bide_step_begin(call, "s", NULL), BIDE_RUN);
	return bide_step_commit(call, json_stringn_nocheck("\xff", 1), NULL);
}

static enum bide_rc commits_much(struct bide_call *call, void *user)
{
	char *bytes = malloc(LIMIT_STEP_BYTES);
	json_t *v = NULL;

	(void)user;
	memset(bytes, 'a', LIMIT_STEP_BYTES);
	v = json_stringn(bytes, LIMIT_STEP_BYTES);
	free(bytes);
	assert_int_equal(bide_step_begin(call, "s", NULL), BIDE_RUN);
	return bide_step_commit(call, v, NULL);
}

static void test_result__must_be_json_of_some_size(void **state)
{
	struct fake *f = fake_of(commits_bytes);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_ERROR);
	assert_non_null(strstr(fake_text(f), "step \\\"s\\\""));
	fake_free(f);
	f = fake_of(commits_much);
	assert_int_equal(fake_enter(f), RUN_ERROR);
	assert_non_null(strstr(fake_text(f), "LIMIT_STEP_BYTES"));
	fake_free(f);
}

/* ---- the idempotency key ---- */

static enum bide_rc notes_ids(struct bide_call *call, void *user)
{
	struct fake *f = user;
	const char *first = NULL;

	assert_string_equal(bide_step_id(call), "");
	bide_ask_form(call, "early", "E?", FORM);
	if (f->data)
		BIDE_TRY(bide_await(call));
	if (bide_step_begin(call, "s", NULL) == BIDE_RUN) {
		first = bide_step_id(call);
		assert_ptr_equal(bide_step_id(call), first);
		snprintf(f->note, sizeof(f->note), "%s", first);
	}
	return bide_error_text(call, "the work did not work");
}

static void test_step_id__is_the_same_in_each_entry(void **state)
{
	struct fake *f = fake_of(notes_ids);
	char first[256];

	(void)state;
	fake_enter(f);
	snprintf(first, sizeof(first), "%s", f->note);
	assert_int_equal(strlen(first), 43);
	f->note[0] = '\0';
	fake_enter(f);
	assert_string_equal(f->note, first);
	/* An answer came in, but this step comes before it is looked at. */
	assert_int_equal(
		run_load_question(f->call, "early", STORE_INPUT_FORM, "{}",
				  RUN_Q_ANSWERED,
				  fake_json("{\"action\":\"decline\"}"), 0),
		BIDE_OK);
	f->note[0] = '\0';
	fake_enter(f);
	assert_string_equal(f->note, first);
	/* Now it is looked at. */
	f->data = f;
	fake_enter(f);
	assert_string_not_equal(f->note, first);
	fake_free(f);
}

static void test_step_id__is_another_for_another_chain(void **state)
{
	struct fake *f = fake_of(notes_ids);
	char first[256];

	(void)state;
	fake_enter(f);
	snprintf(first, sizeof(first), "%s", f->note);
	f->opt.chain_id = "chain-2";
	fake_call(f);
	fake_enter(f);
	assert_string_not_equal(f->note, first);
	fake_free(f);
}

/* ---- many ---- */

static enum bide_rc steps_often(struct bide_call *call, void *user)
{
	struct fake *f = user;
	const json_t *v = NULL;
	char key[32];

	for (int i = 0; i < 20000; i++) {
		snprintf(key, sizeof(key), "file:%d", i);
		v = NULL;
		if (bide_step_begin(call, key, &v) == BIDE_RUN) {
			f->work++;
			BIDE_TRY(bide_step_commit(call, json_integer(i), &v));
		}
		if (json_integer_value(v) != i)
			return BIDE_IO;
	}
	return BIDE_OK;
}

static void test_steps__many_are_found_again(void **state)
{
	struct fake *f = fake_of(steps_often);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	assert_int_equal(f->work, 20000);
	fake_next_request(f);
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	assert_int_equal(f->work, 20000);
	fake_free(f);
}

/* ---- becoming a task ---- */

/* One that is there does not count again. */
static enum bide_rc steps_without_end(struct bide_call *call, void *user)
{
	struct fake *f = user;
	char key[32];

	for (;; f->work++) {
		enum bide_rc rc;

		snprintf(key, sizeof(key), "%d", f->work);
		rc = bide_step_begin(call, key, NULL);
		if (rc != BIDE_RUN)
			return rc;
		BIDE_TRY(bide_step_commit(call, NULL, NULL));
		if (bide_step_begin(call, "0", NULL) != BIDE_OK)
			return BIDE_IO;
	}
}

static void test_steps__ceiling_is_named(void **state)
{
	struct fake *f = fake_of(steps_without_end);

	(void)state;
	f->opt.backend = NULL; /* nobody keeps them: it is quick */
	fake_call(f);
	assert_int_equal(fake_enter(f), RUN_ERROR);
	assert_int_equal(f->work, LIMIT_STEPS_PER_TASK);
	assert_non_null(strstr(f->result.text.data, "LIMIT_STEPS_PER_TASK"));
	fake_free(f);
}

static enum bide_rc persists(struct bide_call *call, void *user)
{
	struct fake *f = user;

	f->entries++;
	BIDE_TRY(bide_persist(call));
	return bide_text(call, "task %s", bide_task_id(call));
}

static void test_persist__leaves_until_it_is_a_task(void **state)
{
	struct fake *f = fake_of(persists);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_PERSISTS);
	fake_task(f);
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	assert_non_null(strstr(fake_text(f), "task task-1"));
	fake_free(f);
}

static void test_persist__in_an_ephemeral_tool_is_misuse(void **state)
{
	struct fake *f = fake_new((struct bide_tool){.handler = persists});

	(void)state;
	assert_int_equal(fake_enter(f), RUN_ERROR);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_step__runs_once_and_is_kept),
		cmocka_unit_test(
			test_sleep__has_its_time_from_the_first_passage),
		cmocka_unit_test(test_sleep__of_no_time_and_of_all_time),
		cmocka_unit_test(test_yield__leaves_once),
		cmocka_unit_test(test_commit__lost_is_stopped),
		cmocka_unit_test(test_draining__a_task_yields_at_its_next_step),
		cmocka_unit_test(test_should_yield__is_the_back_ends_word),
		cmocka_unit_test(
			test_faults__stand_around_the_work_and_the_commit),
		cmocka_unit_test(test_order__begin_then_commit),
		cmocka_unit_test(test_order__a_step_may_be_left_open),
		cmocka_unit_test(test_key__of_steps),
		cmocka_unit_test(test_result__must_be_json_of_some_size),
		cmocka_unit_test(test_step_id__is_the_same_in_each_entry),
		cmocka_unit_test(test_step_id__is_another_for_another_chain),
		cmocka_unit_test(test_steps__many_are_found_again),
		cmocka_unit_test(test_steps__ceiling_is_named),
		cmocka_unit_test(test_persist__leaves_until_it_is_a_task),
		cmocka_unit_test(test_persist__in_an_ephemeral_tool_is_misuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
