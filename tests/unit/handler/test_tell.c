/* SPDX-License-Identifier: MIT */
#include "server/base/limits.h"
#include "server/base/thread.h"
#include "tests/unit/handler/lib/fake.h"
#include <math.h>
#include <poll.h>
#include <stdatomic.h>

static double told(const struct fake *f, size_t i)
{
	return json_real_value(
		json_array_get(json_array_get(f->progress, i), 0));
}

static enum bide_rc progresses(struct bide_call *call, void *user)
{
	(void)user;
	bide_progress(call, 1, 10, "one");
	bide_progress(call, 1, 10, "again");
	bide_progress(call, 0.5, 10, "less");
	bide_progress(call, NAN, 10, "none");
	bide_progress(call, INFINITY, 10, "all");
	bide_progress(call, 2.5, NAN, "\xff");
	return BIDE_OK;
}

/* S37, S38. */
static void test_progress__only_rises_also_over_entries(void **state)
{
	struct fake *f = fake_of(progresses);

	(void)state;
	assert_true(isnan(run_last_progress(f->call)));
	fake_enter(f);
	assert_int_equal(json_array_size(f->progress), 2);
	assert_true(told(f, 0) == 1);
	assert_true(told(f, 1) == 2.5);
	/* An unknown total, and a message that is no text. */
	assert_true(json_real_value(json_array_get(
			    json_array_get(f->progress, 1), 1)) == 0);
	assert_true(json_is_null(
		json_array_get(json_array_get(f->progress, 1), 2)));
	fake_enter(f);
	fake_next_request(f);
	assert_true(run_last_progress(f->call) == 2.5);
	fake_enter(f);
	assert_int_equal(json_array_size(f->progress), 2);
	run_set_last_progress(f->call, 1.5);
	fake_enter(f);
	assert_int_equal(json_array_size(f->progress), 3);
	fake_free(f);
}

/* ---- from several threads ---- */

#define TELLERS 4
#define TELLS   2000

struct teller {
	struct thread t;
	struct bide_call *call;
	int first;
};

static void tell(void *arg)
{
	struct teller *t = arg;

	for (int i = 0; i < TELLS; i++)
		bide_progress(t->call, t->first + i * TELLERS, 0, "m");
}

static enum bide_rc tells_from_threads(struct bide_call *call, void *user)
{
	struct teller tellers[TELLERS];

	(void)user;
	for (int i = 0; i < TELLERS; i++) {
		tellers[i] = (struct teller){.call = call, .first = i};
		if (thread_start(&tellers[i].t, "teller", tell, &tellers[i]))
			return BIDE_IO;
	}
	for (int i = 0; i < TELLERS; i++)
		thread_join(&tellers[i].t);
	return BIDE_OK;
}

/* The fake appends without a lock: it would also show two tellers at once. */
static void test_progress__of_threads_leaves_in_order(void **state)
{
	struct fake *f = fake_of(tells_from_threads);
	size_t n;

	(void)state;
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	n = json_array_size(f->progress);
	assert_true(n > 0);
	for (size_t i = 1; i < n; i++)
		assert_true(told(f, i) > told(f, i - 1));
	/* The highest of all always gets through. */
	assert_true(told(f, n - 1) == TELLERS * TELLS - 1);
	fake_free(f);
}

/* ---- log, status ---- */

static enum bide_rc logs(struct bide_call *call, void *user)
{
	char *much = calloc(1, LIMIT_LOG_DATA_BYTES + 1);

	(void)user;
	bide_log(call, BIDE_LOG_INFO, "here", json_pack("{s:i}", "n", 1));
	bide_log(call, (enum bide_log_level)99, NULL, json_string("x"));
	bide_log(call, (enum bide_log_level)(-1), "\xff", json_string("y"));
	bide_log(call, BIDE_LOG_INFO, NULL, NULL);
	bide_log(call, BIDE_LOG_INFO, NULL, json_stringn_nocheck("\xff", 1));
	memset(much, 'x', LIMIT_LOG_DATA_BYTES);
	bide_log(call, BIDE_LOG_INFO, NULL, json_string(much));
	free(much);
	return BIDE_OK;
}

static void test_log__passes_what_can_be_sent(void **state)
{
	struct fake *f = fake_of(logs);
	char *text = NULL;

	(void)state;
	fake_enter(f);
	text = json_dumps(f->logs, JSON_COMPACT);
	fake_is(text, "[[1,\"here\",\"{\\\"n\\\":1}\"],[7,null,\"\\\"x\\\"\"],"
		      "[0,null,\"\\\"y\\\"\"]]");
	free(text);
	fake_free(f);
}

static enum bide_rc states(struct bide_call *call, void *user)
{
	struct fake *f = user;

	bide_status(call, "%s", (const char *)f->data);
	return BIDE_OK;
}

static void test_status__is_cut_at_a_character(void **state)
{
	struct fake *f = fake_of(states);
	char text[LIMIT_STATUS_BYTES + 10];

	(void)state;
	f->data = (void *)(uintptr_t) "at work";
	fake_enter(f);
	assert_string_equal(f->status, "at work");
	memset(text, 'x', sizeof(text));
	memcpy(text + LIMIT_STATUS_BYTES - 1, "\xc3\xa9", 3);
	f->data = text;
	fake_enter(f);
	assert_int_equal(strlen(f->status), LIMIT_STATUS_BYTES - 1);
	fake_free(f);
}

/* ---- cancelling ---- */

static bool readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static enum bide_rc is_cancelled_inside(struct bide_call *call, void *user)
{
	struct fake *f = user;
	int fd = bide_cancel_fd(call);

	assert_true(fd >= 0);
	assert_int_equal(bide_cancel_fd(call), fd);
	assert_false(bide_cancelled(call));
	assert_false(readable(fd));
	run_cancel(call, BIDE_CANCELLED);
	run_cancel(call, BIDE_LOST);
	assert_true(bide_cancelled(call));
	assert_true(readable(fd));
	f->work = (int)bide_step_begin(call, "s", NULL);
	return bide_await(call);
}

static void test_cancel__sets_the_flag_and_the_descriptor(void **state)
{
	struct fake *f = fake_of(is_cancelled_inside);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_STOPPED);
	assert_int_equal(f->work, BIDE_CANCELLED);
	fake_free(f);
}

static enum bide_rc is_cancelled_before(struct bide_call *call, void *user)
{
	(void)user;
	assert_true(bide_cancelled(call));
	assert_true(readable(bide_cancel_fd(call)));
	return bide_sleep(call, "s", 1);
}

static void test_cancel__before_the_descriptor_is_asked_for(void **state)
{
	struct fake *f = fake_of(is_cancelled_before);

	(void)state;
	run_cancel(f->call, BIDE_CANCELLED);
	assert_int_equal(fake_enter(f), RUN_STOPPED);
	fake_free(f);
}

static enum bide_rc finishes_all_the_same(struct bide_call *call, void *user)
{
	(void)user;
	run_cancel(call, BIDE_CANCELLED);
	return bide_text(call, "done");
}

/* A result that is there is let through: who writes it has a fence. */
static void test_cancel__a_result_is_still_a_result(void **state)
{
	struct fake *f = fake_of(finishes_all_the_same);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	fake_free(f);
}

static void cancel_from_outside(void *arg)
{
	run_cancel(arg, BIDE_CANCELLED);
}

static enum bide_rc waits_to_be_cancelled(struct bide_call *call, void *user)
{
	struct pollfd p = {.fd = bide_cancel_fd(call), .events = POLLIN};
	struct thread t = {0};

	(void)user;
	if (thread_start(&t, "canceller", cancel_from_outside, call))
		return BIDE_IO;
	poll(&p, 1, -1);
	thread_join(&t);
	assert_true(bide_cancelled(call));
	return BIDE_CANCELLED;
}

static void test_cancel__from_another_thread_wakes_a_poll(void **state)
{
	(void)state;
	for (int i = 0; i < 200; i++) {
		struct fake *f = fake_of(waits_to_be_cancelled);

		assert_int_equal(fake_enter(f), RUN_STOPPED);
		fake_free(f);
	}
}

/* ---- what has changed ---- */

/* What became of each; and of one more when an error sticks. */
static enum bide_rc announces(struct bide_call *call, void *user)
{
	struct fake *f = user;

	assert_int_equal(bide_changed(call, BIDE_CHANGED_TOOLS), BIDE_OK);
	assert_int_equal(bide_changed(call, BIDE_CHANGED_PROMPTS), BIDE_OK);
	assert_int_equal(bide_resource_changed(call, "a:b"), BIDE_OK);
	assert_int_equal(bide_resource_changed(call, NULL), BIDE_INVALID);
	f->announce_rc = BIDE_BUSY;
	assert_int_equal(bide_changed(call, BIDE_CHANGED_RESOURCES), BIDE_BUSY);
	f->announce_rc = BIDE_OK;
	assert_int_equal(bide_text(call, "told"), BIDE_OK); /* nothing stuck */
	if (!f->data)
		return BIDE_OK;
	assert_int_equal(bide_text(call, "\xff"), BIDE_INVALID);
	return bide_changed(call, BIDE_CHANGED_TOOLS);
}

#define ANNOUNCED "[[1,null],[2,null],[3,\"a:b\"],[3,null]]"

static void test_changed__goes_to_the_back_end(void **state)
{
	struct fake *f = fake_of(announces);
	json_t *want = fake_json(ANNOUNCED);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	assert_non_null(strstr(fake_text(f), "told"));
	assert_true(json_equal(f->announced, want));
	json_decref(want);
	fake_free(f);
}

static void test_changed__does_nothing_once_an_error_sticks(void **state)
{
	struct fake *f = fake_of(announces);
	json_t *want = fake_json(ANNOUNCED);

	(void)state;
	f->data = f;
	assert_int_equal(fake_enter(f), RUN_ERROR);
	assert_true(json_equal(f->announced, want));
	json_decref(want);
	fake_free(f);
}

static enum bide_rc announces_nonsense(struct bide_call *call, void *user)
{
	struct fake *f = user;

	f->announce_rc = f->data ? BIDE_INVALID : BIDE_BUSY;
	if (f->data)
		return bide_resource_changed(call, f->data);
	return bide_changed(call, BIDE_CHANGED_TOOLS);
}

/* One that is returned says what was wrong; BIDE_BUSY is for the log alone. */
static void test_changed__says_what_was_wrong(void **state)
{
	static char uri[] = "hosts";
	static char bytes[] = "a:\xff";
	struct fake *f = fake_of(announces_nonsense);

	(void)state;
	f->data = uri;
	assert_int_equal(fake_enter(f), RUN_ERROR);
	assert_non_null(strstr(fake_text(f), "\\\"hosts\\\" is no absolute"));
	f->data = bytes;
	assert_int_equal(fake_enter(f), RUN_ERROR);
	assert_non_null(strstr(fake_text(f), "is no absolute URI"));
	f->data = NULL;
	assert_int_equal(fake_enter(f), RUN_ERROR);
	assert_non_null(strstr(fake_text(f), "Internal error"));
	fake_free(f);
}

/* What a handler saw change has changed, whoever waits for it. */
static void test_changed__of_a_cancelled_call_is_told(void **state)
{
	struct fake *f = fake_of(announces);

	(void)state;
	run_cancel(f->call, BIDE_CANCELLED);
	fake_enter(f);
	assert_int_equal(json_array_size(f->announced), 4);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_progress__only_rises_also_over_entries),
		cmocka_unit_test(test_progress__of_threads_leaves_in_order),
		cmocka_unit_test(test_log__passes_what_can_be_sent),
		cmocka_unit_test(test_status__is_cut_at_a_character),
		cmocka_unit_test(test_cancel__sets_the_flag_and_the_descriptor),
		cmocka_unit_test(
			test_cancel__before_the_descriptor_is_asked_for),
		cmocka_unit_test(test_cancel__a_result_is_still_a_result),
		cmocka_unit_test(test_cancel__from_another_thread_wakes_a_poll),
		cmocka_unit_test(test_changed__goes_to_the_back_end),
		cmocka_unit_test(
			test_changed__does_nothing_once_an_error_sticks),
		cmocka_unit_test(test_changed__says_what_was_wrong),
		cmocka_unit_test(test_changed__of_a_cancelled_call_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
