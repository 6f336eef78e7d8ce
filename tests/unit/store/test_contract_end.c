/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/store/lib/contract.h"

/* Ends, callers who come and go, the sweeper, the operator's moves; written
 * against store.h alone. */

static enum store_state state_of(struct store *s, const char *token)
{
	struct store_task *t = look(s, token);
	enum store_state st = t->state;

	store_task_free(t);
	return st;
}

static bool exists(struct store *s, const char *token)
{
	struct store_task *t = NULL;
	enum bide_rc rc = store_get(s, token, NULL, 0, 0, &t);

	store_task_free(t);
	return rc == BIDE_OK;
}

/* ---- finish, cancel ---- */

static void test_finish__announces_its_age_plus_the_retention(void **state)
{
	struct pair *p = *state;
	struct store_task *t;
	struct store_op op;

	draw_create(&op, "1");
	op.u.create.claim = true;
	op.u.create.retention_ms = 5000;
	must_run(p->a, &op);
	t = look(p->a, "1");
	assert_int_equal(t->ttl_ms, -1);
	store_task_free(t);
	assert_int_equal(finish_with(p->a, &op.u.create.ret_fence, "{\"r\":1}"),
			 STORE_OK);
	t = look(p->b, "1");
	assert_int_equal(t->ttl_ms, t->ended_ms - t->created_ms + 5000);
	assert_int_equal(t->abandon_at_ms, 0);
	assert_int_equal(t->owner, 0);
	assert_true(has_event(t, "finished"));
	store_task_free(t);
}

static void test_finish__run_again_is_the_same(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");

	assert_int_equal(finish_with(p->a, &f, "{\"r\":1}"), STORE_OK);
	assert_int_equal(finish_with(p->a, &f, "{\"r\":2}"), STORE_SAME);
	f.claim++;
	assert_int_equal(finish_with(p->a, &f, "{\"r\":3}"), STORE_LOST);
}

static void test_finish__withdraws_open_questions(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");
	const struct store_ask ask = {"q", STORE_INPUT_FORM, "{}", 0};
	struct store_task *t;
	struct store_op op;

	store_op_init(&op, STORE_OP_ASK, DRAW_MS);
	op.u.park.fence = f;
	op.u.park.asks = &ask;
	op.u.park.nasks = 1;
	must_run(p->a, &op);
	store_op_init(&op, STORE_OP_FINISH, DRAW_MS);
	op.u.finish.fence = f;
	op.u.finish.state = STORE_FAILED;
	op.u.finish.payload = "{\"code\":-32000,\"message\":\"no\"}";
	op.u.finish.status = "went wrong";
	assert_int_equal(must_run(p->a, &op), STORE_OK);
	t = look(p->a, "1");
	assert_int_equal(t->state, STORE_FAILED);
	assert_string_equal(t->status, "went wrong");
	assert_int_equal(t->open, 0);
	assert_int_equal(t->inputs[0].state, STORE_INPUT_WITHDRAWN);
	store_task_free(t);
}

static void test_cancel__ends_every_living_state(void **state)
{
	struct pair *p = *state;
	struct store_fence f;
	struct store_task *t;

	make_task(p->a, "ready");
	f = make_held(p->a, "running");
	assert_int_equal(cancel_task(p->b, "ready", "alice"),
			 STORE_CANCELLED_NOW);
	assert_int_equal(cancel_task(p->b, "running", "alice"),
			 STORE_CANCELLED_NOW);
	f = make_held(p->a, "waiting");
	park_on(p->a, &f, "q");
	assert_int_equal(cancel_task(p->b, "waiting", NULL),
			 STORE_CANCELLED_NOW);
	t = look(p->a, "waiting");
	assert_int_equal(t->state, STORE_CANCELLED);
	assert_int_equal(t->epoch, f.epoch + 1);
	assert_string_equal(t->status, "no longer wanted");
	assert_int_equal(t->inputs[0].state, STORE_INPUT_WITHDRAWN);
	assert_null(t->payload);
	assert_true(has_event(t, "cancelled"));
	store_task_free(t);
	assert_int_equal(claim_n(p->a, &f, 1), 0);
}

static void test_cancel__after_the_end_returns_the_end(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");
	struct store_task *t;

	finish_with(p->a, &f, "{\"r\":1}");
	assert_int_equal(cancel_task(p->b, "1", "alice"), STORE_ENDED);
	t = look(p->a, "1");
	assert_int_equal(t->state, STORE_COMPLETED);
	assert_string_equal(t->payload, "{\"r\":1}");
	store_task_free(t);
}

static void test_cancel__of_another_principal_finds_nothing(void **state)
{
	struct pair *p = *state;

	make_task(p->a, "1");
	assert_int_equal(cancel_task(p->a, "1", "bob"), STORE_NO_SUCH);
	assert_int_equal(cancel_task(p->a, "2", "bob"), STORE_NO_SUCH);
	assert_int_equal(state_of(p->a, "1"), STORE_READY);
}

static void test_cancel__run_again_finds_itself(void **state)
{
	struct pair *p = *state;
	struct store_op op;

	make_task(p->a, "1");
	store_op_init(&op, STORE_OP_CANCEL, DRAW_MS);
	op.u.cancel.token = "1";
	assert_int_equal(must_run(p->a, &op), STORE_CANCELLED_NOW);
	assert_int_equal(must_run(p->b, &op), STORE_CANCELLED_NOW);
	assert_int_equal(cancel_task(p->a, "1", NULL), STORE_ENDED);
}

/* ---- touch and the sweeper ---- */

static int64_t make_abandonable(struct store *s, const char *token,
				int64_t abandon_ms, int64_t waiting_ms,
				bool goes_on)
{
	struct store_op op;

	draw_create(&op, token);
	op.u.create.abandon_ms = abandon_ms;
	op.u.create.waiting_ms = waiting_ms;
	op.u.create.grace_ms = 400;
	op.u.create.goes_on = goes_on;
	must_run(s, &op);
	return op.u.create.ret_fence.task;
}

static void test_abandon__an_undelivered_handle_is_ended(void **state)
{
	struct pair *p = *state;
	struct store_task *t;

	make_abandonable(p->a, "1", 400, 0, false);
	assert_int_equal(sweep(p->a, STORE_SWEEP_ABANDONED), 0);
	wait_until(p->a, store_now_ms(p->a) + 400);
	assert_int_equal(sweep(p->b, STORE_SWEEP_ABANDONED), 1);
	assert_int_equal(sweep(p->a, STORE_SWEEP_ABANDONED), 0);
	t = look(p->a, "1");
	assert_int_equal(t->state, STORE_CANCELLED);
	assert_true(has_event(t, "abandoned"));
	store_task_free(t);
}

static void test_abandon__a_delivered_handle_lives_on(void **state)
{
	struct pair *p = *state;
	int64_t id = make_abandonable(p->a, "1", 20, 0, false);
	struct store_task *t;

	assert_int_equal(touch(p->b, id, STORE_TOUCH_DELIVERED, -1), STORE_OK);
	wait_until(p->a, store_now_ms(p->a) + 20);
	assert_int_equal(sweep(p->a, STORE_SWEEP_ABANDONED), 0);
	t = look(p->a, "1");
	assert_int_equal(t->abandon_at_ms, 0);
	store_task_free(t);
}

static void test_abandon__the_grace_begins_when_the_last_goes(void **state)
{
	struct pair *p = *state;
	int64_t id = make_abandonable(p->a, "1", -1, 60000, false);
	struct store_task *t;

	assert_int_equal(touch(p->b, id, STORE_TOUCH_JOIN, 60000), STORE_OK);
	t = look(p->a, "1");
	assert_int_equal(t->waiters, 2);
	store_task_free(t);
	assert_int_equal(touch(p->a, id, STORE_TOUCH_GONE, 0), STORE_OK);
	wait_until(p->a, store_now_ms(p->a) + 410);
	assert_int_equal(sweep(p->a, STORE_SWEEP_ABANDONED), 0);
	assert_int_equal(touch(p->b, id, STORE_TOUCH_GONE, 0), STORE_OK);
	assert_int_equal(sweep(p->a, STORE_SWEEP_ABANDONED), 0); /* the grace */
	wait_until(p->a, store_now_ms(p->a) + 400);
	assert_int_equal(sweep(p->a, STORE_SWEEP_ABANDONED), 1);
}

static void test_abandon__coming_back_within_the_grace_saves_it(void **state)
{
	struct pair *p = *state;
	int64_t id = make_abandonable(p->a, "1", -1, 60000, false);

	touch(p->a, id, STORE_TOUCH_GONE, 0);
	touch(p->b, id, STORE_TOUCH_JOIN, 60000);
	wait_until(p->a, store_now_ms(p->a) + 410);
	assert_int_equal(sweep(p->a, STORE_SWEEP_ABANDONED), 0);
}

static void test_abandon__leaving_with_an_answer_gives_time(void **state)
{
	struct pair *p = *state;
	int64_t id = make_abandonable(p->a, "1", -1, 60000, false);
	struct store_task *t;

	assert_int_equal(touch(p->a, id, STORE_TOUCH_LEAVE, 50000), STORE_OK);
	t = look(p->a, "1");
	assert_int_equal(t->waiters, 0);
	assert_true(t->abandon_at_ms > store_now_ms(p->a) + 40000);
	store_task_free(t);
	touch(p->a, id, STORE_TOUCH_JOIN, 10);
	touch(p->a, id, STORE_TOUCH_LEAVE, 20);
	wait_until(p->a, store_now_ms(p->a) + 20);
	assert_int_equal(sweep(p->a, STORE_SWEEP_ABANDONED), 1);
}

static void test_abandon__a_task_that_goes_on_is_left(void **state)
{
	struct pair *p = *state;
	int64_t id = make_abandonable(p->a, "1", -1, 10, true);

	touch(p->a, id, STORE_TOUCH_GONE, 0);
	wait_until(p->a, store_now_ms(p->a) + 420);
	assert_int_equal(sweep(p->a, STORE_SWEEP_ABANDONED), 0);
}

/* Its instance died with it: no count keeps the task alive for ever. */
static void test_abandon__a_waiter_that_died_is_not_waited_for(void **state)
{
	struct pair *p = *state;
	int64_t id = make_abandonable(p->a, "1", -1, 20, false);
	struct store_task *t;

	wait_until(p->a, store_now_ms(p->a) + 25);
	touch(p->b, id, STORE_TOUCH_JOIN, 10);
	t = look(p->a, "1");
	assert_int_equal(t->waiters, 1);
	store_task_free(t);
	wait_until(p->a, store_now_ms(p->a) + 420);
	assert_int_equal(sweep(p->a, STORE_SWEEP_ABANDONED), 1);
}

static void test_touch__run_again_counts_once(void **state)
{
	struct pair *p = *state;
	int64_t id = make_task(p->a, "1");
	struct store_task *t;
	struct store_op op;

	store_op_init(&op, STORE_OP_TOUCH, DRAW_MS);
	op.u.touch.task = id;
	op.u.touch.what = STORE_TOUCH_JOIN;
	op.u.touch.ms = 60000;
	assert_int_equal(must_run(p->a, &op), STORE_OK);
	assert_int_equal(must_run(p->a, &op), STORE_OK);
	t = look(p->a, "1");
	assert_int_equal(t->waiters, 1);
	store_task_free(t);
	cancel_task(p->a, "1", NULL);
	assert_int_equal(touch(p->a, id, STORE_TOUCH_GONE, 0), STORE_ENDED);
	assert_int_equal(touch(p->a, 4711, STORE_TOUCH_GONE, 0), STORE_NO_SUCH);
}

static int64_t make_mortal(struct store *s, const char *token, bool claim,
			   struct store_fence *f)
{
	struct store_op op;

	draw_create(&op, token);
	op.u.create.ttl_ms = 20;
	op.u.create.claim = claim;
	must_run(s, &op);
	if (f)
		*f = op.u.create.ret_fence;
	return op.u.create.ret_fence.task;
}

static void test_expire__ends_what_waits_past_its_ttl(void **state)
{
	struct pair *p = *state;
	struct store_fence running, answered;
	struct store_task *t;

	make_mortal(p->a, "ready", false, NULL);
	make_mortal(p->a, "running", true, &running);
	make_mortal(p->a, "answered", true, &answered);
	park_on(p->a, &answered, "q");
	answer_one(p->a, "answered", "q", "1");
	wait_until(p->a, store_now_ms(p->a) + 20);
	/* Never a running or an answered one. */
	assert_int_equal(sweep(p->b, STORE_SWEEP_EXPIRED), 1);
	t = look(p->a, "ready");
	assert_int_equal(t->state, STORE_FAILED);
	assert_non_null(strstr(t->payload, "time to live"));
	store_task_free(t);
	assert_int_equal(finish_with(p->a, &running, "{}"), STORE_OK);
	assert_int_equal(state_of(p->a, "answered"), STORE_READY);
}

static void test_purge__deletes_all_that_was_kept(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");
	struct store_op op;

	step_one(p->a, &f, "s", "1");
	park_on(p->a, &f, "q");
	cancel_task(p->a, "1", NULL);
	draw_create(&op, "kept");
	op.u.create.retention_ms = 60000;
	must_run(p->a, &op);
	cancel_task(p->a, "kept", NULL);
	make_task(p->a, "alive");
	wait_until(p->a, store_now_ms(p->a) + 1);
	assert_int_equal(sweep(p->b, STORE_SWEEP_ENDED), 1);
	assert_false(exists(p->a, "1"));
	assert_true(exists(p->a, "kept"));
	assert_true(exists(p->a, "alive"));
}

static void test_sweep__works_in_small_batches(void **state)
{
	struct pair *p = *state;
	char token[8];
	struct store_op op;
	size_t done = 0;

	for (int i = 0; i < 7; i++) {
		snprintf(token, sizeof token, "%d", i);
		make_task(p->a, token);
		cancel_task(p->a, token, NULL);
	}
	wait_until(p->a, store_now_ms(p->a) + 1);
	store_op_init(&op, STORE_OP_SWEEP, DRAW_MS);
	op.u.sweep.kind = STORE_SWEEP_ENDED;
	op.u.sweep.rows = 3;
	must_run(p->a, &op);
	assert_true(op.u.sweep.ret_more);
	while (op.u.sweep.ret_done) {
		assert_true(op.u.sweep.ret_done <= 3);
		done += op.u.sweep.ret_done;
		must_run(p->a, &op);
	}
	assert_int_equal(done, 7);
	assert_false(op.u.sweep.ret_more);
}

/* ---- consume, key ---- */

static enum store_answer consume(struct store *s, struct store_op *op,
				 const char *digest, const char *outcome)
{
	store_op_init(op, STORE_OP_CONSUME, DRAW_MS);
	op->u.consume.id = "state-1";
	op->u.consume.digest = digest;
	op->u.consume.outcome = outcome;
	op->u.consume.keep_ms = 20;
	return must_run(s, op);
}

static void test_consume__the_first_outcome_stands(void **state)
{
	struct pair *p = *state;
	char *digest = NULL, *outcome = NULL;
	struct store_op op;

	assert_int_equal(store_consumed(p->a, "state-1", &digest, &outcome),
			 BIDE_NOT_FOUND);
	assert_int_equal(consume(p->a, &op, "d", "{\"n\":1}"), STORE_STORED);
	assert_int_equal(must_run(p->b, &op), STORE_STORED); /* run again */
	assert_int_equal(consume(p->b, &op, "d", "{\"n\":2}"), STORE_EARLIER);
	assert_string_equal(op.u.consume.ret_outcome, "{\"n\":1}");
	free(op.u.consume.ret_outcome);
	assert_int_equal(consume(p->b, &op, "other", "{}"), STORE_CONFLICT);
	assert_null(op.u.consume.ret_outcome);
	assert_int_equal(store_consumed(p->a, "state-1", &digest, &outcome),
			 BIDE_OK);
	assert_string_equal(digest, "d");
	assert_string_equal(outcome, "{\"n\":1}");
	free(digest);
	free(outcome);
	wait_until(p->a, store_now_ms(p->a) + 20);
	assert_int_equal(sweep(p->a, STORE_SWEEP_CONSUMED), 1);
	assert_int_equal(sweep(p->a, STORE_SWEEP_CONSUMED), 0);
}

static void draw_key(struct store_op *op, const char *kid, unsigned char fill,
		     bool rotate)
{
	store_op_init(op, STORE_OP_KEY, DRAW_MS);
	snprintf(op->u.key.candidate.kid, sizeof op->u.key.candidate.kid, "%s",
		 kid);
	memset(op->u.key.candidate.key, fill, STORE_KEY_BYTES);
	op->u.key.rotate = rotate;
}

static void test_key__the_first_candidate_is_everybodys(void **state)
{
	struct pair *p = *state;
	unsigned char want[STORE_KEY_BYTES];
	struct store_op op;

	draw_key(&op, "k1", 1, false);
	assert_int_equal(must_run(p->a, &op), STORE_OK);
	assert_int_equal(op.u.key.ret_n, 1);
	draw_key(&op, "k2", 2, false);
	must_run(p->b, &op);
	assert_int_equal(op.u.key.ret_n, 1);
	assert_string_equal(op.u.key.ret_ring[0].kid, "k1");
	memset(want, 1, sizeof want);
	assert_memory_equal(op.u.key.ret_ring[0].key, want, sizeof want);
}

static void test_key__rotation_puts_the_newest_first(void **state)
{
	struct pair *p = *state;
	struct store_op op;
	char kid[8];

	for (int i = 0; i < STORE_KEYS_MAX + 2; i++) {
		snprintf(kid, sizeof kid, "k%d", i);
		draw_key(&op, kid, (unsigned char)i, true);
		must_run(p->a, &op);
		must_run(p->a, &op); /* run again: no second key */
		assert_string_equal(op.u.key.ret_ring[0].kid, kid);
	}
	assert_int_equal(op.u.key.ret_n, STORE_KEYS_MAX);
	assert_string_equal(op.u.key.ret_ring[1].kid, "k8");
}

/* ---- steer ---- */

static enum store_answer steer(struct store *s, const char *token,
			       enum store_move move)
{
	struct store_task *t = look(s, token);
	struct store_op op;

	store_op_init(&op, STORE_OP_STEER, DRAW_MS);
	op.u.steer.token = token;
	op.u.steer.seen_state = t->state;
	op.u.steer.seen_epoch = t->epoch;
	op.u.steer.move = move;
	op.u.steer.by = "root";
	op.u.steer.answer.wire_key = "q";
	op.u.steer.answer.answer = "{\"by\":\"root\"}";
	store_task_free(t);
	return must_run(s, &op);
}

static void test_steer__is_fenced_by_what_was_seen(void **state)
{
	struct pair *p = *state;
	struct store_op op;

	make_task(p->a, "1");
	store_op_init(&op, STORE_OP_STEER, DRAW_MS);
	op.u.steer.token = "1";
	op.u.steer.seen_state = STORE_READY;
	op.u.steer.seen_epoch = 0;
	op.u.steer.move = STORE_STEER_CANCEL;
	claim_one(p->b);
	assert_int_equal(must_run(p->a, &op), STORE_CHANGED_MEANWHILE);
	assert_int_equal(state_of(p->a, "1"), STORE_RUNNING);
	op.u.steer.seen_state = STORE_RUNNING;
	op.u.steer.seen_epoch = 1;
	assert_int_equal(must_run(p->a, &op), STORE_OK);
	assert_int_equal(state_of(p->a, "1"), STORE_CANCELLED);
	assert_int_equal(must_run(p->a, &op), STORE_OK); /* run again */
	assert_int_equal(steer(p->a, "1", STORE_STEER_CANCEL), STORE_ENDED);
	op.u.steer.token = "2";
	assert_int_equal(must_run(p->a, &op), STORE_NO_SUCH);
}

static void test_steer__answers_and_expires_questions(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");
	struct store_task *t;

	park_on(p->a, &f, "q");
	assert_int_equal(steer(p->b, "1", STORE_STEER_ANSWER), STORE_OK);
	assert_int_equal(state_of(p->a, "1"), STORE_READY);
	f = claim_one(p->a);
	park_on(p->a, &f, "r");
	assert_int_equal(steer(p->b, "1", STORE_STEER_EXPIRE_INPUTS), STORE_OK);
	t = look(p->a, "1");
	assert_int_equal(t->state, STORE_READY);
	assert_int_equal(t->inputs[1].state, STORE_INPUT_EXPIRED);
	assert_true(has_event(t, "steered"));
	store_task_free(t);
}

static void test_steer__retries_what_failed(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");
	struct store_task *t;
	struct store_op op;

	step_one(p->a, &f, "s", "1");
	store_op_init(&op, STORE_OP_FINISH, DRAW_MS);
	op.u.finish.fence = f;
	op.u.finish.state = STORE_FAILED;
	op.u.finish.payload = "{\"code\":1,\"message\":\"no\"}";
	must_run(p->a, &op);
	assert_int_equal(steer(p->b, "1", STORE_STEER_RETRY), STORE_OK);
	wait_until(p->a, store_now_ms(p->a) + 1);
	assert_int_equal(sweep(p->a, STORE_SWEEP_ENDED), 0);
	t = look(p->a, "1");
	assert_int_equal(t->state, STORE_READY);
	assert_int_equal(t->ended_ms, 0);
	assert_int_equal(t->ttl_ms, -1);
	assert_null(t->payload);
	assert_int_equal(t->nsteps, 1);
	store_task_free(t);
	f = claim_one(p->a);
	assert_int_equal(finish_with(p->a, &f, "{}"), STORE_OK);
	assert_int_equal(steer(p->b, "1", STORE_STEER_RETRY), STORE_ENDED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pair_test(test_finish__announces_its_age_plus_the_retention),
		pair_test(test_finish__run_again_is_the_same),
		pair_test(test_finish__withdraws_open_questions),
		pair_test(test_cancel__ends_every_living_state),
		pair_test(test_cancel__after_the_end_returns_the_end),
		pair_test(test_cancel__of_another_principal_finds_nothing),
		pair_test(test_cancel__run_again_finds_itself),
		pair_test(test_abandon__an_undelivered_handle_is_ended),
		pair_test(test_abandon__a_delivered_handle_lives_on),
		pair_test(test_abandon__the_grace_begins_when_the_last_goes),
		pair_test(test_abandon__coming_back_within_the_grace_saves_it),
		pair_test(test_abandon__leaving_with_an_answer_gives_time),
		pair_test(test_abandon__a_task_that_goes_on_is_left),
		pair_test(test_abandon__a_waiter_that_died_is_not_waited_for),
		pair_test(test_touch__run_again_counts_once),
		pair_test(test_expire__ends_what_waits_past_its_ttl),
		pair_test(test_purge__deletes_all_that_was_kept),
		pair_test(test_sweep__works_in_small_batches),
		pair_test(test_consume__the_first_outcome_stands),
		pair_test(test_key__the_first_candidate_is_everybodys),
		pair_test(test_key__rotation_puts_the_newest_first),
		pair_test(test_steer__is_fenced_by_what_was_seen),
		pair_test(test_steer__answers_and_expires_questions),
		pair_test(test_steer__retries_what_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
