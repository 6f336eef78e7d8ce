/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/store/lib/contract.h"

/* Creating tasks and claiming them; written against store.h alone. */

static enum store_answer create(struct store *s, struct store_op *op)
{
	return must_run(s, op);
}

static void test_create__is_found_with_all_it_was_given(void **state)
{
	struct pair *p = *state;
	struct store_op op;
	struct store_task *t = NULL;

	draw_create(&op, "tok");
	op.u.create.idem_key = "idem";
	op.u.create.chain_id = "chain";
	op.u.create.ttl_ms = 5000;
	op.u.create.flow = STORE_FLOW_HANDLE;
	op.u.create.goes_on = true;
	assert_int_equal(create(p->a, &op), STORE_CREATED);
	assert_int_equal(op.outcome, STORE_DONE);
	assert_true(op.u.create.ret_fence.task > 0);
	assert_string_equal(op.u.create.ret_token, "tok");
	t = look(p->b, "tok");
	assert_int_equal(t->id, op.u.create.ret_fence.task);
	assert_string_equal(t->principal, "alice");
	assert_string_equal(t->tool, "t");
	assert_string_equal(t->tool_version, "1");
	assert_string_equal(t->args, "{\"a\":1}");
	assert_string_equal(t->caller, "{\"era\":\"2026-07-28\"}");
	assert_string_equal(t->idem_key, "idem");
	assert_string_equal(t->chain_id, "chain");
	assert_int_equal(t->state, STORE_READY);
	assert_int_equal(t->flow, STORE_FLOW_HANDLE);
	assert_int_equal(t->ttl_ms, 5000);
	assert_true(t->goes_on);
	assert_int_equal(t->created_ms, op.u.create.ret_created_ms);
	assert_int_equal(t->ended_ms, 0);
	assert_true(t->progress != t->progress); /* NAN */
	assert_null(t->payload);
	assert_true(has_event(t, "created"));
	store_task_free(t);
}

static void test_create__run_again_finds_itself(void **state)
{
	struct pair *p = *state;
	struct store_op op;
	struct store_fence first;

	draw_create(&op, "tok");
	op.u.create.claim = true;
	assert_int_equal(create(p->a, &op), STORE_CREATED);
	first = op.u.create.ret_fence;
	assert_int_equal(create(p->a, &op), STORE_CREATED);
	assert_memory_equal(&op.u.create.ret_fence, &first, sizeof first);
	/* Elsewhere the claim is not to be had. */
	assert_int_equal(create(p->b, &op), STORE_SAME);
	assert_int_equal(op.u.create.ret_fence.task, first.task);
	assert_int_equal(op.u.create.ret_fence.epoch, 0);
}

static void test_create__same_idempotency_key_is_the_same_task(void **state)
{
	struct pair *p = *state;
	struct store_op op;
	int64_t id;

	draw_create(&op, "first");
	op.u.create.idem_key = "k";
	assert_int_equal(create(p->a, &op), STORE_CREATED);
	id = op.u.create.ret_fence.task;
	draw_create(&op, "second");
	op.u.create.idem_key = "k";
	assert_int_equal(create(p->b, &op), STORE_SAME);
	assert_int_equal(op.u.create.ret_fence.task, id);
	assert_string_equal(op.u.create.ret_token, "first");
	assert_int_equal(op.u.create.ret_state, STORE_READY);
	assert_int_equal(op.u.create.ret_flow, STORE_FLOW_TASKS);
}

static void test_create__same_key_other_work_is_a_conflict(void **state)
{
	struct pair *p = *state;
	struct store_op op;

	draw_create(&op, "first");
	op.u.create.idem_key = "k";
	assert_int_equal(create(p->a, &op), STORE_CREATED);
	draw_create(&op, "second");
	op.u.create.idem_key = "k";
	op.u.create.args_digest = "digest-2";
	assert_int_equal(create(p->a, &op), STORE_CONFLICT);
	assert_int_equal(op.outcome, STORE_REFUSED);
	assert_string_equal(op.u.create.ret_token, "");
	draw_create(&op, "third");
	op.u.create.idem_key = "k";
	op.u.create.tool = "u";
	assert_int_equal(create(p->a, &op), STORE_CONFLICT);
}

static void test_create__another_principals_key_is_another_key(void **state)
{
	struct pair *p = *state;
	struct store_op op;

	draw_create(&op, "first");
	op.u.create.idem_key = "k";
	assert_int_equal(create(p->a, &op), STORE_CREATED);
	draw_create(&op, "second");
	op.u.create.idem_key = "k";
	op.u.create.principal = "bob";
	assert_int_equal(create(p->a, &op), STORE_CREATED);
}

static void test_create__a_chain_is_inserted_once(void **state)
{
	struct pair *p = *state;
	struct store_op op;

	draw_create(&op, "first");
	op.u.create.chain_id = "c";
	assert_int_equal(create(p->a, &op), STORE_CREATED);
	draw_create(&op, "second");
	op.u.create.chain_id = "c";
	op.u.create.args_digest = "other"; /* the chain alone decides */
	assert_int_equal(create(p->b, &op), STORE_SAME);
	assert_string_equal(op.u.create.ret_token, "first");
	draw_create(&op, "third");
	op.u.create.chain_id = "c";
	op.u.create.principal = "bob";
	assert_int_equal(create(p->b, &op), STORE_CONFLICT);
	assert_string_equal(op.u.create.ret_token, "");
}

static void test_create__stops_at_the_principals_ceiling(void **state)
{
	struct pair *p = *state;
	struct store_op op;

	make_task(p->a, "one");
	make_task(p->b, "two");
	draw_create(&op, "three");
	op.u.create.max_live = 2;
	assert_int_equal(create(p->a, &op), STORE_LIMIT);
	assert_int_equal(op.outcome, STORE_REFUSED);
	draw_create(&op, "three");
	op.u.create.max_live = 2;
	op.u.create.principal = "bob";
	assert_int_equal(create(p->a, &op), STORE_CREATED);
	/* At the ceiling a repeated call is still recognised. */
	draw_create(&op, "one");
	op.u.create.max_live = 2;
	assert_int_equal(create(p->a, &op), STORE_SAME);
	/* An end makes room. */
	assert_int_equal(cancel_task(p->a, "one", "alice"),
			 STORE_CANCELLED_NOW);
	draw_create(&op, "four");
	op.u.create.max_live = 2;
	assert_int_equal(create(p->a, &op), STORE_CREATED);
}

static void test_create__carries_over_steps_and_answers(void **state)
{
	struct pair *p = *state;
	const struct store_step_in steps[] = {{"s1", "1"}, {"s2", "\"two\""}};
	const struct store_ask ask = {"q", STORE_INPUT_SAMPLING, "{\"m\":1}",
				      0};
	const char *const answers[] = {"{\"action\":\"accept\"}"};
	struct store_task *t;
	struct store_op op;

	draw_create(&op, "tok");
	op.u.create.steps = steps;
	op.u.create.nsteps = 2;
	op.u.create.answered_asks = &ask;
	op.u.create.answers = answers;
	op.u.create.nanswered = 1;
	assert_int_equal(create(p->a, &op), STORE_CREATED);
	t = look(p->b, "tok");
	assert_int_equal(t->nsteps, 2);
	assert_string_equal(t->steps[0].key, "s1");
	assert_string_equal(t->steps[1].result, "\"two\"");
	assert_int_equal(t->ninputs, 1);
	assert_int_equal(t->inputs[0].state, STORE_INPUT_ANSWERED);
	assert_int_equal(t->inputs[0].kind, STORE_INPUT_SAMPLING);
	assert_string_equal(t->inputs[0].answer, answers[0]);
	assert_int_equal(t->open, 0);
	store_task_free(t);
}

static void test_create__claims_at_once(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "tok");
	struct store_task *t = look(p->b, "tok");

	assert_int_equal(t->state, STORE_RUNNING);
	assert_int_equal(t->owner, store_instance(p->a));
	assert_int_equal(t->epoch, f.epoch);
	assert_int_equal(t->claim, f.claim);
	assert_int_equal(t->claims, 1);
	store_task_free(t);
	assert_int_equal(claim_n(p->b, &f, 1), 0);
}

static void test_create__does_not_claim_while_draining(void **state)
{
	struct pair *p = *state;
	struct store_op op;
	struct store_fence f;

	store_set_draining(p->a);
	draw_create(&op, "tok");
	op.u.create.claim = true;
	assert_int_equal(create(p->a, &op), STORE_CREATED);
	assert_int_equal(op.u.create.ret_state, STORE_READY);
	assert_int_equal(claim_n(p->a, &f, 1), 0);
	claim_one(p->b);
}

/* ---- claim ---- */

static void test_claim__takes_the_oldest_first(void **state)
{
	struct pair *p = *state;
	struct store_fence f[3];
	int64_t a = make_task(p->a, "1"), b, c;

	wait_until(p->a, store_now_ms(p->a));
	b = make_task(p->b, "2");
	wait_until(p->a, store_now_ms(p->a));
	c = make_task(p->a, "3");
	assert_int_equal(claim_n(p->b, f, 2), 2);
	assert_int_equal(f[0].task, a);
	assert_int_equal(f[1].task, b);
	assert_int_equal(claim_n(p->b, f, 3), 1);
	assert_int_equal(f[0].task, c);
}

static void test_claim__tells_whether_there_is_more(void **state)
{
	struct pair *p = *state;
	struct store_fence f[2];
	struct store_op op;

	make_task(p->a, "1");
	make_task(p->a, "2");
	store_op_init(&op, STORE_OP_CLAIM, DRAW_MS);
	op.u.claim.n = 1;
	op.u.claim.ret_fences = f;
	must_run(p->a, &op);
	assert_int_equal(op.u.claim.ret_n, 1);
	assert_true(op.u.claim.ret_more);
	must_run(p->a, &op);
	assert_int_equal(op.u.claim.ret_n, 1);
	assert_false(op.u.claim.ret_more);
	assert_true(op.u.claim.ret_next_due_ms == INT64_MAX);
}

static void test_claim__raises_the_epoch_and_draws_a_number(void **state)
{
	struct pair *p = *state;
	struct store_fence one, two;

	make_task(p->a, "1");
	one = claim_one(p->a);
	assert_int_equal(one.epoch, 1);
	assert_int_equal(release_for(p->a, &one, STORE_RELEASE_YIELD, 0),
			 STORE_OK);
	two = claim_one(p->b);
	assert_int_equal(two.task, one.task);
	assert_true(two.epoch > one.epoch);
	assert_true(two.claim != one.claim);
}

static void test_claim__takes_only_tools_it_has(void **state)
{
	static const char *const only_u[] = {"u"};
	struct pair *p = *state;
	struct store *third = pair_third(p, only_u, 1);
	struct store_fence f;
	struct store_op op;
	struct store_task *t;

	draw_create(&op, "of t");
	create(p->a, &op);
	draw_create(&op, "of nobody");
	op.u.create.tool = "zzz";
	create(p->a, &op);
	assert_int_equal(claim_n(third, &f, 1), 0);
	draw_create(&op, "of u");
	op.u.create.tool = "u";
	create(p->a, &op);
	assert_int_equal(claim_n(third, &f, 1), 1);
	assert_int_equal(f.task, op.u.create.ret_fence.task);
	claim_one(p->a);
	assert_int_equal(claim_n(p->a, &f, 1), 0);
	t = look(p->a, "of nobody");
	assert_int_equal(t->state, STORE_READY);
	store_task_free(t);
	close_quietly(third);
}

static void test_claim__looks_through_many_tools(void **state)
{
	struct pair *p = *state;
	const char *names[50];
	char text[50][8];
	struct store *third;
	struct store_fence f[50];
	struct store_op op;
	char token[16];

	/* Every third tool that has tasks is one of the claimer's. */
	for (int i = 0; i < 50; i++) {
		snprintf(text[i], sizeof text[i], "m%03d", i * 3);
		names[i] = text[i];
	}
	third = pair_third(p, names, 50);
	for (int i = 0; i < 60; i++) {
		char tool[8];

		snprintf(tool, sizeof tool, "m%03d", i);
		snprintf(token, sizeof token, "k%d", i);
		draw_create(&op, token);
		op.u.create.tool = tool;
		create(p->a, &op);
	}
	assert_int_equal(claim_n(third, f, 50), 20);
	close_quietly(third);
}

static void test_claim__waits_for_not_before(void **state)
{
	struct pair *p = *state;
	struct store_fence f, none;
	struct store_op op;
	int64_t due = store_now_ms(p->a) + 500;

	make_task(p->a, "1");
	f = claim_one(p->a);
	release_for(p->a, &f, STORE_RELEASE_YIELD, 500);
	store_op_init(&op, STORE_OP_CLAIM, DRAW_MS);
	op.u.claim.n = 1;
	op.u.claim.ret_fences = &none;
	must_run(p->b, &op);
	assert_int_equal(op.u.claim.ret_n, 0);
	assert_true(op.u.claim.ret_next_due_ms >= due);
	assert_true(op.u.claim.ret_next_due_ms <= store_now_ms(p->a) + 500);
	wait_until(p->a, op.u.claim.ret_next_due_ms);
	claim_one(p->b);
}

static void test_claim__takes_a_due_timer(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1"), none;
	int64_t due = store_now_ms(p->a) + 400;
	struct store_op op;

	assert_int_equal(park_until(p->a, &f, due), STORE_PARKED);
	store_op_init(&op, STORE_OP_CLAIM, DRAW_MS);
	op.u.claim.n = 1;
	op.u.claim.ret_fences = &none;
	must_run(p->b, &op);
	assert_int_equal(op.u.claim.ret_n, 0);
	assert_int_equal(op.u.claim.ret_next_due_ms, due);
	wait_until(p->a, due);
	f = claim_one(p->b);
	assert_int_equal(f.epoch, 2);
}

static void test_claim__finds_questions_past_their_deadline(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");
	struct store_ask asks[] = {{"soon", STORE_INPUT_FORM, "{}", 30},
				   {"late", STORE_INPUT_FORM, "{}", 60000}};
	struct store_op op;
	struct store_task *t;

	store_op_init(&op, STORE_OP_PARK, DRAW_MS);
	op.u.park.fence = f;
	op.u.park.asks = asks;
	op.u.park.nasks = 2;
	assert_int_equal(must_run(p->a, &op), STORE_PARKED);
	wait_until(p->a, store_now_ms(p->a) + 30);
	claim_one(p->b);
	t = look(p->a, "1");
	assert_int_equal(t->open, 1);
	assert_int_equal(t->ninputs, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(t->inputs[i].state,
				 strcmp(t->inputs[i].key, "soon") == 0
					 ? STORE_INPUT_EXPIRED
					 : STORE_INPUT_OPEN);
	assert_true(has_event(t, "deadline"));
	store_task_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pair_test(test_create__is_found_with_all_it_was_given),
		pair_test(test_create__run_again_finds_itself),
		pair_test(test_create__same_idempotency_key_is_the_same_task),
		pair_test(test_create__same_key_other_work_is_a_conflict),
		pair_test(test_create__another_principals_key_is_another_key),
		pair_test(test_create__a_chain_is_inserted_once),
		pair_test(test_create__stops_at_the_principals_ceiling),
		pair_test(test_create__carries_over_steps_and_answers),
		pair_test(test_create__claims_at_once),
		pair_test(test_create__does_not_claim_while_draining),
		pair_test(test_claim__takes_the_oldest_first),
		pair_test(test_claim__tells_whether_there_is_more),
		pair_test(test_claim__raises_the_epoch_and_draws_a_number),
		pair_test(test_claim__takes_only_tools_it_has),
		pair_test(test_claim__looks_through_many_tools),
		pair_test(test_claim__waits_for_not_before),
		pair_test(test_claim__takes_a_due_timer),
		pair_test(test_claim__finds_questions_past_their_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
