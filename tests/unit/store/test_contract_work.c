/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/store/lib/contract.h"

/* What a claim writes, and how it ends; written against store.h alone. */

#define REQUEST "{\"method\":\"elicitation/create\"}"

static enum store_answer park_set(struct store *s, const struct store_fence *f,
				  const struct store_ask *asks, size_t n)
{
	struct store_op op;

	store_op_init(&op, STORE_OP_PARK, DRAW_MS);
	op.u.park.fence = *f;
	op.u.park.asks = asks;
	op.u.park.nasks = n;
	return must_run(s, &op);
}

static enum store_answer ask_set(struct store *s, const struct store_fence *f,
				 const struct store_ask *asks, size_t n)
{
	struct store_op op;

	store_op_init(&op, STORE_OP_ASK, DRAW_MS);
	op.u.park.fence = *f;
	op.u.park.asks = asks;
	op.u.park.nasks = n;
	return must_run(s, &op);
}

static const struct store_input *input(const struct store_task *t,
				       const char *wire_key)
{
	for (size_t i = 0; i < t->ninputs; i++)
		if (strcmp(t->inputs[i].wire_key, wire_key) == 0)
			return &t->inputs[i];
	fail_msg("no input %s", wire_key);
	return NULL;
}

static enum store_answer note(struct store *s, const struct store_fence *f,
			      double progress, const char *status)
{
	struct store_op op;

	store_op_init(&op, STORE_OP_NOTE, DRAW_MS);
	op.u.note.fence = *f;
	op.u.note.progress = progress;
	op.u.note.total = (double)NAN;
	op.u.note.status = status;
	return must_run(s, &op);
}

/* ---- fences ---- */

/* Every write of a claim with fence @f is refused. */
static void all_lost(struct store *s, const struct store_fence *f)
{
	const struct store_ask ask = {"q2", STORE_INPUT_FORM, REQUEST, 0};

	assert_int_equal(step_one(s, f, "new", "1"), STORE_LOST);
	assert_int_equal(ask_set(s, f, &ask, 1), STORE_LOST);
	assert_int_equal(park_set(s, f, &ask, 1), STORE_LOST);
	assert_int_equal(note(s, f, 0.5, "x"), STORE_LOST);
	assert_int_equal(finish_with(s, f, "{}"), STORE_LOST);
	assert_int_equal(release_for(s, f, STORE_RELEASE_CRASH, 0), STORE_LOST);
}

static void unchanged(struct store *s, const struct store_task *was)
{
	struct store_task *t = look(s, was->token);

	assert_int_equal(t->state, was->state);
	assert_int_equal(t->epoch, was->epoch);
	assert_int_equal(t->claim, was->claim);
	assert_int_equal(t->crashes, was->crashes);
	assert_int_equal(t->version, was->version);
	assert_int_equal(t->nsteps, was->nsteps);
	assert_int_equal(t->ninputs, was->ninputs);
	assert_int_equal(t->nevents, was->nevents);
	store_task_free(t);
}

static void test_fence__another_epoch_writes_nothing(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1"), old = f;
	struct store_task *t;

	assert_int_equal(release_for(p->a, &f, STORE_RELEASE_YIELD, 0),
			 STORE_OK);
	f = claim_one(p->b);
	t = look(p->a, "1");
	all_lost(p->a, &old);
	unchanged(p->a, t);
	store_task_free(t);
	assert_int_equal(step_one(p->b, &f, "new", "1"), STORE_OK);
}

/* A restored backup hands the same epoch out twice: the number tells. */
static void test_fence__another_claim_number_writes_nothing(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");
	struct store_task *t = look(p->a, "1");

	f.claim ^= 1;
	all_lost(p->b, &f);
	unchanged(p->a, t);
	store_task_free(t);
}

static void test_fence__a_cancelled_claim_writes_nothing(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");
	struct store_task *t;

	assert_int_equal(cancel_task(p->b, "1", "alice"), STORE_CANCELLED_NOW);
	t = look(p->a, "1");
	all_lost(p->a, &f);
	unchanged(p->a, t);
	store_task_free(t);
}

static void test_fence__no_task_is_lost(void **state)
{
	struct pair *p = *state;
	struct store_fence f = {.task = 4711, .epoch = 1, .claim = 1};

	all_lost(p->a, &f);
}

/* ---- step, note ---- */

static void test_step__is_recorded_once(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");
	struct store_op op;

	assert_int_equal(step_one(p->a, &f, "s", "1"), STORE_OK);
	store_op_init(&op, STORE_OP_STEP, DRAW_MS);
	op.u.step.fence = f;
	op.u.step.step.key = "s";
	op.u.step.step.result = "2";
	assert_int_equal(must_run(p->a, &op), STORE_SAME);
	assert_string_equal(op.u.step.ret_result, "1");
	free(op.u.step.ret_result);
}

static void test_step__survives_into_the_next_claim(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");
	struct store_task *t;

	step_one(p->a, &f, "b", "1");
	step_one(p->a, &f, "a", "2");
	release_for(p->a, &f, STORE_RELEASE_YIELD, 0);
	f = claim_one(p->b);
	assert_int_equal(step_one(p->b, &f, "b", "9"), STORE_SAME);
	assert_int_equal(step_one(p->b, &f, "c", "3"), STORE_OK);
	t = look(p->b, "1");
	assert_int_equal(t->nsteps, 3);
	assert_string_equal(t->steps[0].key, "b"); /* in their order */
	assert_string_equal(t->steps[1].key, "a");
	assert_string_equal(t->steps[2].key, "c");
	assert_int_equal(t->steps[0].epoch, 1);
	assert_int_equal(t->steps[2].epoch, f.epoch);
	assert_true(t->steps[2].at_ms >= t->steps[0].at_ms);
	assert_true(has_event(t, "step"));
	store_task_free(t);
}

static void test_note__keeps_what_it_does_not_say(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");
	const struct store_log_in logs[] = {{1, NULL, "\"one\""},
					    {4, "net", "{\"two\":2}"}};
	struct store_task *t;
	struct store_op op;
	int64_t version, first;

	assert_int_equal(note(p->a, &f, 0.25, "working on it"), STORE_OK);
	t = look(p->b, "1");
	version = t->version;
	store_task_free(t);
	store_op_init(&op, STORE_OP_NOTE, DRAW_MS);
	op.u.note.fence = f;
	op.u.note.progress = 0.5;
	op.u.note.total = 2;
	op.u.note.progress_message = "half";
	op.u.note.logs = logs;
	op.u.note.nlogs = 2;
	assert_int_equal(must_run(p->a, &op), STORE_OK);
	t = look(p->b, "1");
	assert_true(t->version > version);
	assert_true(t->progress == 0.5);
	assert_true(t->total == 2);
	assert_string_equal(t->progress_message, "half");
	assert_string_equal(t->status, "working on it");
	assert_int_equal(t->nlogs, 2);
	assert_null(t->logs[0].logger);
	assert_string_equal(t->logs[1].logger, "net");
	assert_int_equal(t->logs[1].level, 4);
	assert_string_equal(t->logs[1].data, "{\"two\":2}");
	first = t->logs[0].seq;
	store_task_free(t);
	assert_int_equal(
		store_get(p->b, "1", "alice", STORE_GET_LOGS, first, &t),
		BIDE_OK);
	assert_int_equal(t->nlogs, 1);
	assert_string_equal(t->logs[0].data, "{\"two\":2}");
	store_task_free(t);
}

/* ---- ask, park ---- */

static void test_ask__publishes_while_the_handler_runs(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");
	const struct store_ask ask = {"q", STORE_INPUT_URL, REQUEST, 60000};
	struct store_task *t;

	assert_int_equal(ask_set(p->a, &f, &ask, 1), STORE_OK);
	assert_int_equal(ask_set(p->a, &f, &ask, 1),
			 STORE_OK); /* nothing new */
	t = look(p->b, "1");
	assert_int_equal(t->state, STORE_RUNNING);
	assert_int_equal(t->open, 1);
	assert_int_equal(t->ninputs, 1);
	assert_int_equal(t->inputs[0].kind, STORE_INPUT_URL);
	assert_string_equal(t->inputs[0].request, REQUEST);
	assert_true(t->inputs[0].deadline_ms > t->inputs[0].asked_ms);
	store_task_free(t);
	assert_int_equal(answer_one(p->b, "1", "q", "{}"), STORE_ACCEPTED);
	t = look(p->b, "1");
	assert_int_equal(t->state, STORE_RUNNING);
	assert_int_equal(t->open, 0);
	assert_int_equal(t->unseen, 1);
	store_task_free(t);
	/* Parking finds it. */
	assert_int_equal(park_set(p->a, &f, &ask, 1), STORE_GO_ON);
	t = look(p->b, "1");
	assert_int_equal(t->state, STORE_RUNNING);
	assert_int_equal(t->unseen, 0);
	assert_int_equal(t->ninputs, 1);
	store_task_free(t);
	assert_int_equal(finish_with(p->a, &f, "{}"), STORE_OK);
}

static void test_ask__another_text_gets_another_key(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");
	struct store_ask ask = {"q", STORE_INPUT_FORM, "{\"v\":1}", 0};
	struct store_task *t;

	ask_set(p->a, &f, &ask, 1);
	ask.request = "{\"v\":2}";
	ask_set(p->a, &f, &ask, 1);
	t = look(p->a, "1");
	assert_int_equal(t->open, 1);
	assert_int_equal(input(t, "q")->state, STORE_INPUT_WITHDRAWN);
	assert_int_equal(input(t, "q~2")->state, STORE_INPUT_OPEN);
	assert_string_equal(input(t, "q~2")->key, "q");
	store_task_free(t);
	assert_int_equal(answer_one(p->a, "1", "q", "{}"), STORE_NOT_OPEN);
	assert_int_equal(answer_one(p->a, "1", "q~2", "{}"), STORE_ACCEPTED);
	/* Also after an answer. */
	ask.request = "{\"v\":3}";
	ask_set(p->a, &f, &ask, 1);
	t = look(p->a, "1");
	assert_int_equal(input(t, "q~2")->state, STORE_INPUT_ANSWERED);
	assert_int_equal(input(t, "q~3")->state, STORE_INPUT_OPEN);
	store_task_free(t);
}

static void test_ask__a_key_that_looks_numbered_is_another_key(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");
	struct store_ask asks[] = {{"q~2", STORE_INPUT_FORM, "{\"v\":1}", 0},
				   {"q", STORE_INPUT_FORM, "{\"v\":1}", 0},
				   {"q", STORE_INPUT_FORM, "{\"v\":2}", 0},
				   {"q~2", STORE_INPUT_FORM, "{\"v\":2}", 0}};
	struct store_task *t;

	for (size_t i = 0; i < 4; i++)
		ask_set(p->a, &f, &asks[i], 1);
	t = look(p->a, "1");
	assert_int_equal(t->ninputs, 4);
	assert_string_equal(input(t, "q~2")->key, "q~2");
	assert_int_equal(input(t, "q~2")->state, STORE_INPUT_WITHDRAWN);
	assert_string_equal(input(t, "q~3")->key, "q");
	assert_string_equal(input(t, "q~2~2")->key, "q~2");
	assert_int_equal(t->open, 2);
	store_task_free(t);
}

static void test_ask__too_long_a_key_is_not_done(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");
	struct store_ask ask = {NULL, STORE_INPUT_FORM, REQUEST, 0};
	struct store_op op;
	char key[300];

	memset(key, 'k', sizeof key);
	key[sizeof key - 1] = '\0';
	ask.key = key;
	store_op_init(&op, STORE_OP_ASK, DRAW_MS);
	op.u.park.fence = f;
	op.u.park.asks = &ask;
	op.u.park.nasks = 1;
	assert_int_equal(store_run(p->a, &op), BIDE_BUSY);
	assert_int_equal(op.outcome, STORE_NOT_DONE);
	assert_int_equal(finish_with(p->a, &f, "{}"), STORE_OK);
}

static void test_park__withdraws_what_is_not_in_its_set(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");
	struct store_ask asks[] = {{"a", STORE_INPUT_FORM, REQUEST, 0},
				   {"b", STORE_INPUT_FORM, REQUEST, 0},
				   {"c", STORE_INPUT_FORM, REQUEST, 0}};
	struct store_task *t;

	ask_set(p->a, &f, asks, 2);
	assert_int_equal(park_set(p->a, &f, &asks[1], 2), STORE_PARKED);
	t = look(p->a, "1");
	assert_int_equal(t->state, STORE_WAITING);
	assert_int_equal(t->owner, 0);
	assert_int_equal(t->open, 2);
	assert_int_equal(input(t, "a")->state, STORE_INPUT_WITHDRAWN);
	assert_int_equal(input(t, "b")->state, STORE_INPUT_OPEN);
	assert_int_equal(input(t, "c")->state, STORE_INPUT_OPEN);
	store_task_free(t);
	assert_int_equal(
		store_get(p->b, "1", "alice", STORE_GET_OPEN_INPUTS, 0, &t),
		BIDE_OK);
	assert_int_equal(t->ninputs, 2);
	store_task_free(t);
}

static void test_park__an_answer_that_came_first_is_not_lost(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");
	struct store_ask asks[] = {{"a", STORE_INPUT_FORM, REQUEST, 0},
				   {"b", STORE_INPUT_FORM, REQUEST, 0}};

	ask_set(p->a, &f, asks, 2);
	assert_int_equal(answer_one(p->b, "1", "a", "1"), STORE_ACCEPTED);
	assert_int_equal(park_set(p->a, &f, asks, 2), STORE_PARKED);
	assert_int_equal(answer_one(p->b, "1", "b", "2"), STORE_ACCEPTED);
	f = claim_one(p->a);
	assert_int_equal(finish_with(p->a, &f, "{}"), STORE_OK);
}

static void test_park__never_leaves_a_task_nobody_wakes(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");

	assert_int_equal(park_set(p->a, &f, NULL, 0), STORE_GO_ON);
	assert_int_equal(park_until(p->a, &f, store_now_ms(p->a) - 1),
			 STORE_GO_ON);
	assert_int_equal(finish_with(p->a, &f, "{}"), STORE_OK);
}

static void test_park__a_passed_deadline_goes_on(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");
	struct store_ask ask = {"q", STORE_INPUT_FORM, REQUEST, 20};
	struct store_task *t;

	ask_set(p->a, &f, &ask, 1);
	wait_until(p->a, store_now_ms(p->a) + 20);
	assert_int_equal(park_set(p->a, &f, &ask, 1), STORE_GO_ON);
	t = look(p->a, "1");
	assert_int_equal(t->open, 0);
	assert_int_equal(input(t, "q")->state, STORE_INPUT_EXPIRED);
	store_task_free(t);
}

static void test_park__wakes_at_the_first_deadline(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");
	struct store_ask asks[] = {{"a", STORE_INPUT_FORM, REQUEST, 50000},
				   {"b", STORE_INPUT_FORM, REQUEST, 70000}};
	struct store_task *t;

	assert_int_equal(park_set(p->a, &f, asks, 2), STORE_PARKED);
	t = look(p->a, "1");
	assert_int_equal(t->wake_at_ms, input(t, "a")->deadline_ms);
	store_task_free(t);
	/* The nearer one is answered: the farther counts. */
	assert_int_equal(answer_one(p->a, "1", "a", "{}"), STORE_ACCEPTED);
	t = look(p->a, "1");
	assert_int_equal(t->wake_at_ms, input(t, "b")->deadline_ms);
	store_task_free(t);
}

static void test_park__run_again_finds_itself(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");

	assert_int_equal(park_on(p->a, &f, "q"), STORE_PARKED);
	assert_int_equal(park_on(p->a, &f, "q"), STORE_PARKED);
	answer_one(p->a, "1", "q", "{}");
	assert_int_equal(park_on(p->a, &f, "q"), STORE_PARKED);
	claim_one(p->b);
	assert_int_equal(park_on(p->a, &f, "q"), STORE_LOST);
}

/* ---- release, crashes, reap, keep ---- */

static void test_release__run_again_finds_itself(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");

	assert_int_equal(release_for(p->a, &f, STORE_RELEASE_DRAIN, 0),
			 STORE_OK);
	assert_int_equal(release_for(p->a, &f, STORE_RELEASE_DRAIN, 0),
			 STORE_OK);
	claim_one(p->b);
	assert_int_equal(release_for(p->a, &f, STORE_RELEASE_DRAIN, 0),
			 STORE_LOST);
}

static void crash_times(struct store *s, int n)
{
	for (int i = 0; i < n; i++) {
		claim_one(s);
		assert_int_equal(reap(s, store_instance(s), true), 1);
	}
}

static void test_crash__three_in_a_row_fail_the_task(void **state)
{
	struct pair *p = *state;
	struct store_task *t;

	make_task(p->a, "1");
	crash_times(p->b, 2);
	t = look(p->a, "1");
	assert_int_equal(t->state, STORE_READY);
	assert_int_equal(t->crashes, 2);
	store_task_free(t);
	crash_times(p->b, 1);
	t = look(p->a, "1");
	assert_int_equal(t->state, STORE_FAILED);
	assert_non_null(strstr(t->payload, "-32603"));
	assert_non_null(strstr(t->payload, "3 times"));
	assert_true(has_event(t, "crashed"));
	assert_true(has_event(t, "reaped"));
	store_task_free(t);
}

static void test_crash__a_step_ends_the_series(void **state)
{
	struct pair *p = *state;
	struct store_fence f;
	struct store_task *t;

	make_task(p->a, "1");
	crash_times(p->b, 2);
	f = claim_one(p->a);
	assert_int_equal(step_one(p->a, &f, "s", "1"), STORE_OK);
	assert_int_equal(release_for(p->a, &f, STORE_RELEASE_CRASH, 0),
			 STORE_OK);
	t = look(p->a, "1");
	assert_int_equal(t->state, STORE_READY);
	assert_int_equal(t->crashes, 1);
	store_task_free(t);
	crash_times(p->b, 2);
	t = look(p->a, "1");
	assert_int_equal(t->state, STORE_FAILED);
	store_task_free(t);
}

static void test_crash__a_park_ends_the_series(void **state)
{
	struct pair *p = *state;
	struct store_fence f;
	struct store_task *t;

	make_task(p->a, "1");
	crash_times(p->b, 2);
	f = claim_one(p->a);
	assert_int_equal(park_on(p->a, &f, "q"), STORE_PARKED);
	answer_one(p->a, "1", "q", "{}");
	crash_times(p->b, 2);
	t = look(p->a, "1");
	assert_int_equal(t->state, STORE_READY);
	store_task_free(t);
}

static void test_reap__a_freeze_is_no_crash(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");
	struct store_task *t;

	for (int i = 0; i < 5; i++) {
		assert_int_equal(reap(p->b, store_instance(p->a), false), 1);
		assert_int_equal(step_one(p->a, &f, "s", "1"), STORE_LOST);
		f = claim_one(p->a);
	}
	t = look(p->a, "1");
	assert_int_equal(t->crashes, 0);
	store_task_free(t);
}

static void test_reap__twice_returns_once(void **state)
{
	struct pair *p = *state;

	make_held(p->a, "1");
	make_held(p->a, "2");
	make_held(p->b, "3");
	assert_int_equal(reap(p->b, store_instance(p->a), true), 2);
	assert_int_equal(reap(p->a, store_instance(p->a), true), 0);
	assert_int_equal(reap(p->b, 4711, true), 0);
}

static void test_keep__gives_back_orphans_only(void **state)
{
	struct pair *p = *state;
	struct store_fence kept = make_held(p->a, "kept");
	struct store_fence orphan = make_held(p->a, "orphan");
	struct store_fence other = make_held(p->b, "other");
	struct store_task *t;
	struct store_op op;

	store_op_init(&op, STORE_OP_KEEP, DRAW_MS);
	op.u.keep.held = &kept;
	op.u.keep.n = 1;
	must_run(p->a, &op);
	assert_int_equal(op.u.keep.ret_returned, 0); /* may be on its way */
	while (op.u.keep.ret_returned == 0) {
		wait_until(p->a, store_now_ms(p->a) + 20);
		must_run(p->a, &op);
	}
	assert_int_equal(op.u.keep.ret_returned, 1);
	assert_int_equal(step_one(p->a, &orphan, "s", "1"), STORE_LOST);
	assert_int_equal(step_one(p->a, &kept, "s", "1"), STORE_OK);
	assert_int_equal(step_one(p->b, &other, "s", "1"), STORE_OK);
	t = look(p->a, "orphan");
	assert_int_equal(t->state, STORE_READY);
	assert_int_equal(t->crashes, 0);
	store_task_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pair_test(test_fence__another_epoch_writes_nothing),
		pair_test(test_fence__another_claim_number_writes_nothing),
		pair_test(test_fence__a_cancelled_claim_writes_nothing),
		pair_test(test_fence__no_task_is_lost),
		pair_test(test_step__is_recorded_once),
		pair_test(test_step__survives_into_the_next_claim),
		pair_test(test_note__keeps_what_it_does_not_say),
		pair_test(test_ask__publishes_while_the_handler_runs),
		pair_test(test_ask__another_text_gets_another_key),
		pair_test(test_ask__a_key_that_looks_numbered_is_another_key),
		pair_test(test_ask__too_long_a_key_is_not_done),
		pair_test(test_park__withdraws_what_is_not_in_its_set),
		pair_test(test_park__an_answer_that_came_first_is_not_lost),
		pair_test(test_park__never_leaves_a_task_nobody_wakes),
		pair_test(test_park__a_passed_deadline_goes_on),
		pair_test(test_park__wakes_at_the_first_deadline),
		pair_test(test_park__run_again_finds_itself),
		pair_test(test_release__run_again_finds_itself),
		pair_test(test_crash__three_in_a_row_fail_the_task),
		pair_test(test_crash__a_step_ends_the_series),
		pair_test(test_crash__a_park_ends_the_series),
		pair_test(test_reap__a_freeze_is_no_crash),
		pair_test(test_reap__twice_returns_once),
		pair_test(test_keep__gives_back_orphans_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
