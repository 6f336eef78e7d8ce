/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/store/lib/contract.h"

/* Answers, exactly once, under two handles; written against store.h alone. */

#define REQUEST "{\"method\":\"elicitation/create\"}"

/* Task "1" of alice, waiting for @n questions q0, q1 ... */
static void waiting_for(struct store *s, const char *token, size_t n)
{
	struct store_fence f = make_held(s, token);
	struct store_ask asks[8];
	char keys[8][24];
	struct store_op op;

	for (size_t i = 0; i < n; i++) {
		snprintf(keys[i], sizeof keys[i], "q%zu", i);
		asks[i] = (struct store_ask){keys[i], STORE_INPUT_FORM, REQUEST,
					     60000};
	}
	store_op_init(&op, STORE_OP_PARK, DRAW_MS);
	op.u.park.fence = f;
	op.u.park.asks = asks;
	op.u.park.nasks = n;
	assert_int_equal(must_run(s, &op), STORE_PARKED);
}

static void test_answer__the_last_one_makes_it_ready(void **state)
{
	struct pair *p = *state;
	struct store_answer_in in[] = {{"q0", "{\"a\":0}", false, 0},
				       {"never asked", "{}", false, 0}};
	struct store_task *t;
	struct store_op op;

	waiting_for(p->a, "1", 2);
	store_op_init(&op, STORE_OP_ANSWER, DRAW_MS);
	op.u.answer.token = "1";
	op.u.answer.principal = "alice";
	op.u.answer.by = "alice";
	op.u.answer.answers = in;
	op.u.answer.n = 2;
	assert_int_equal(must_run(p->b, &op), STORE_OK);
	assert_int_equal(in[0].ret, STORE_ACCEPTED);
	assert_int_equal(in[1].ret, STORE_NOT_OPEN);
	assert_false(op.u.answer.ret_ready);
	assert_int_equal(op.u.answer.ret_open, 1);
	t = look(p->a, "1");
	assert_int_equal(t->state, STORE_WAITING);
	assert_int_equal(t->open, 1);
	store_task_free(t);

	in[0].wire_key = "q1";
	op.u.answer.n = 1;
	assert_int_equal(must_run(p->b, &op), STORE_OK);
	assert_true(op.u.answer.ret_ready);
	assert_int_equal(op.u.answer.ret_open, 0);
	t = look(p->a, "1");
	assert_int_equal(t->state, STORE_READY);
	assert_string_equal(t->inputs[0].by, "alice");
	assert_true(t->inputs[0].answered_ms >= t->inputs[0].asked_ms);
	store_task_free(t);
}

static void test_answer__the_first_one_wins(void **state)
{
	struct pair *p = *state;
	struct store_task *t;

	waiting_for(p->a, "1", 2);
	assert_int_equal(answer_one(p->a, "1", "q0", "1"), STORE_ACCEPTED);
	assert_int_equal(answer_one(p->b, "1", "q0", "1"), STORE_SAME);
	assert_int_equal(answer_one(p->b, "1", "q0", "2"), STORE_ALREADY);
	t = look(p->a, "1");
	assert_int_equal(t->open, 1);
	assert_int_equal(t->unseen, 1);
	assert_string_equal(t->inputs[0].answer, "1");
	store_task_free(t);
}

static void test_answer__unknown_keys_wake_nobody(void **state)
{
	struct pair *p = *state;
	struct store_task *t, *u;
	struct store_fence f;

	waiting_for(p->a, "1", 1);
	t = look(p->a, "1");
	assert_int_equal(answer_one(p->a, "1", "q7", "1"), STORE_NOT_OPEN);
	u = look(p->a, "1");
	assert_int_equal(t->version, u->version);
	assert_int_equal(claim_n(p->a, &f, 1), 0);
	store_task_free(t);
	store_task_free(u);
}

static void test_answer__that_does_not_fit_is_asked_again(void **state)
{
	struct pair *p = *state;
	struct store_answer_in in = {"q0", "{\"wrong\":1}", true, 0};
	struct store_task *t;
	struct store_fence f;
	struct store_op op;

	waiting_for(p->a, "1", 1);
	store_op_init(&op, STORE_OP_ANSWER, DRAW_MS);
	op.u.answer.token = "1";
	op.u.answer.principal = "alice";
	op.u.answer.answers = &in;
	op.u.answer.n = 1;
	assert_int_equal(must_run(p->a, &op), STORE_OK);
	assert_int_equal(in.ret, STORE_REASKED);
	assert_false(op.u.answer.ret_ready);
	assert_int_equal(op.u.answer.ret_open, 1);
	assert_int_equal(claim_n(p->a, &f, 1), 0);
	t = look(p->a, "1");
	assert_int_equal(t->open, 1);
	assert_int_equal(t->ninputs, 2);
	assert_int_equal(t->inputs[0].state, STORE_INPUT_WITHDRAWN);
	assert_string_equal(t->inputs[1].wire_key, "q0~2");
	assert_string_equal(t->inputs[1].key, "q0");
	assert_string_equal(t->inputs[1].request, REQUEST);
	assert_int_equal(t->inputs[1].deadline_ms, t->inputs[0].deadline_ms);
	assert_null(t->inputs[0].answer);
	store_task_free(t);
	assert_int_equal(answer_one(p->b, "1", "q0", "1"), STORE_NOT_OPEN);
	assert_int_equal(answer_one(p->b, "1", "q0~2", "1"), STORE_ACCEPTED);
	claim_one(p->b);
}

static void test_answer__of_another_principal_finds_nothing(void **state)
{
	struct pair *p = *state;
	struct store_answer_in in = {"q0", "1", false, 0};
	struct store_task *t, *u;
	struct store_op op;

	waiting_for(p->a, "1", 1);
	t = look(p->a, "1");
	store_op_init(&op, STORE_OP_ANSWER, DRAW_MS);
	op.u.answer.token = "1";
	op.u.answer.principal = "bob";
	op.u.answer.caller = "{\"stolen\":1}";
	op.u.answer.answers = &in;
	op.u.answer.n = 1;
	assert_int_equal(must_run(p->a, &op), STORE_NO_SUCH);
	assert_int_equal(op.outcome, STORE_REFUSED);
	op.u.answer.token = "no such";
	assert_int_equal(must_run(p->a, &op), STORE_NO_SUCH);
	u = look(p->a, "1");
	assert_int_equal(t->version, u->version);
	assert_string_equal(u->caller, t->caller);
	store_task_free(t);
	store_task_free(u);
}

static void test_answer__of_the_operator_needs_no_principal(void **state)
{
	struct pair *p = *state;
	struct store_answer_in in = {"q0", "1", false, 0};
	struct store_op op;

	waiting_for(p->a, "1", 1);
	store_op_init(&op, STORE_OP_ANSWER, DRAW_MS);
	op.u.answer.token = "1";
	op.u.answer.answers = &in;
	op.u.answer.n = 1;
	assert_int_equal(must_run(p->a, &op), STORE_OK);
	assert_int_equal(in.ret, STORE_ACCEPTED);
}

static void test_answer__after_the_end_is_told_so(void **state)
{
	struct pair *p = *state;

	waiting_for(p->a, "1", 1);
	cancel_task(p->a, "1", "alice");
	assert_int_equal(answer_one(p->a, "1", "q0", "1"), STORE_ENDED);
}

static void test_answer__replaces_the_callers_snapshot(void **state)
{
	struct pair *p = *state;
	struct store_task *t;
	struct store_op op;

	waiting_for(p->a, "1", 1);
	store_op_init(&op, STORE_OP_ANSWER, DRAW_MS);
	op.u.answer.token = "1";
	op.u.answer.principal = "alice";
	op.u.answer.caller = "{\"era\":\"x\"}";
	assert_int_equal(must_run(p->a, &op), STORE_OK);
	assert_int_equal(op.u.answer.ret_open, 1);
	t = look(p->b, "1");
	assert_string_equal(t->caller, "{\"era\":\"x\"}");
	assert_int_equal(t->state, STORE_WAITING);
	store_task_free(t);
}

/* ---- races ---- */

struct racer {
	pthread_t id;
	struct store *s;
	const char *wire_key;
	char text[16];
	enum store_answer got;
	bool ready;
	_Atomic int *gate;
};

static void *race(void *arg)
{
	struct racer *r = arg;
	struct store_answer_in in = {r->wire_key, r->text, false, 0};
	struct store_op op;

	store_op_init(&op, STORE_OP_ANSWER, DRAW_MS);
	op.u.answer.token = "1";
	op.u.answer.principal = "alice";
	op.u.answer.answers = &in;
	op.u.answer.n = 1;
	(*r->gate)--;
	while (*r->gate > 0)
		;
	if (store_run(r->s, &op) != BIDE_OK)
		return NULL;
	r->got = in.ret;
	r->ready = op.u.answer.ret_ready;
	return NULL;
}

static void run_racers(struct racer *r, int n)
{
	_Atomic int gate = n;

	for (int i = 0; i < n; i++) {
		r[i].gate = &gate;
		assert_int_equal(pthread_create(&r[i].id, NULL, race, &r[i]),
				 0);
	}
	for (int i = 0; i < n; i++)
		pthread_join(r[i].id, NULL);
}

static void test_answer__one_of_many_at_once_is_taken(void **state)
{
	struct pair *p = *state;
	struct racer r[8] = {0};
	int accepted = 0, ready = 0;
	struct store_task *t;

	waiting_for(p->a, "1", 1);
	for (int i = 0; i < 8; i++) {
		r[i].s = i & 1 ? p->a : p->b;
		r[i].wire_key = "q0";
		snprintf(r[i].text, sizeof r[i].text, "%d", i);
	}
	run_racers(r, 8);
	t = look(p->a, "1");
	for (int i = 0; i < 8; i++) {
		ready += r[i].ready;
		if (r[i].got == STORE_ACCEPTED) {
			accepted++;
			assert_string_equal(t->inputs[0].answer, r[i].text);
		} else {
			assert_int_equal(r[i].got, STORE_ALREADY);
		}
	}
	assert_int_equal(accepted, 1);
	assert_int_equal(ready, 1);
	store_task_free(t);
}

/* Two last answers at once must not both see the other's question open. */
static void test_answer__two_last_ones_at_once_wake_it_once(void **state)
{
	struct pair *p = *state;
	struct store_fence f[2];

	for (int round = 0; round < 20; round++) {
		struct racer r[2] = {{.s = p->a, .wire_key = "q0"},
				     {.s = p->b, .wire_key = "q1"}};

		waiting_for(p->a, "1", 2);
		strcpy(r[0].text, "0");
		strcpy(r[1].text, "1");
		run_racers(r, 2);
		assert_int_equal(r[0].got, STORE_ACCEPTED);
		assert_int_equal(r[1].got, STORE_ACCEPTED);
		assert_int_equal(r[0].ready + r[1].ready, 1);
		assert_int_equal(claim_n(p->b, f, 2), 1);
		assert_int_equal(finish_with(p->b, f, "{}"), STORE_OK);
		wait_until(p->a, store_now_ms(p->a) + 2);
		sweep(p->a, STORE_SWEEP_ENDED);
	}
}

static struct store_op park_op(const struct store_fence *f,
			       const struct store_ask *ask)
{
	struct store_op op;

	store_op_init(&op, STORE_OP_PARK, DRAW_MS);
	op.u.park.fence = *f;
	op.u.park.asks = ask;
	op.u.park.nasks = 1;
	return op;
}

/* The answer falls at every point of parking: the task is never left asleep. */
static void test_answer__racing_with_park_is_never_lost(void **state)
{
	struct pair *p = *state;
	const struct store_ask ask = {"q", STORE_INPUT_FORM, REQUEST, 0};
	int went_on = 0, parked = 0;

	for (int round = 0; round < 40; round++) {
		struct racer r = {.s = p->b, .wire_key = "q", .text = "1"};
		struct store_fence f = make_held(p->a, "1");
		_Atomic int gate = 2;
		struct store_op op;

		store_op_init(&op, STORE_OP_ASK, DRAW_MS);
		op.u.park.fence = f;
		op.u.park.asks = &ask;
		op.u.park.nasks = 1;
		assert_int_equal(must_run(p->a, &op), STORE_OK);
		op = park_op(&f, &ask);
		r.gate = &gate;
		assert_int_equal(pthread_create(&r.id, NULL, race, &r), 0);
		gate--;
		while (gate > 0)
			;
		if (must_run(p->a, &op) == STORE_GO_ON) {
			went_on++;
		} else {
			parked++;
			pthread_join(r.id, NULL);
			f = claim_one(p->b);
		}
		if (op.answer == STORE_GO_ON)
			pthread_join(r.id, NULL);
		assert_int_equal(r.got, STORE_ACCEPTED);
		assert_int_equal(finish_with(p->a, &f, "{}"), STORE_OK);
		wait_until(p->a, store_now_ms(p->a) + 2);
		sweep(p->a, STORE_SWEEP_ENDED);
	}
	print_message("went on %d times, parked %d times\n", went_on, parked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pair_test(test_answer__the_last_one_makes_it_ready),
		pair_test(test_answer__the_first_one_wins),
		pair_test(test_answer__unknown_keys_wake_nobody),
		pair_test(test_answer__that_does_not_fit_is_asked_again),
		pair_test(test_answer__of_another_principal_finds_nothing),
		pair_test(test_answer__of_the_operator_needs_no_principal),
		pair_test(test_answer__after_the_end_is_told_so),
		pair_test(test_answer__replaces_the_callers_snapshot),
		pair_test(test_answer__one_of_many_at_once_is_taken),
		pair_test(test_answer__two_last_ones_at_once_wake_it_once),
		pair_test(test_answer__racing_with_park_is_never_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
