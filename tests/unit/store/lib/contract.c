/* SPDX-License-Identifier: MIT */
#include "contract.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void draw_create(struct store_op *op, const char *token)
{
	struct store_create *u = &op->u.create;

	store_op_init(op, STORE_OP_CREATE, DRAW_MS);
	u->token = token;
	u->principal = "alice";
	u->tool = "t";
	u->tool_version = "1";
	u->flow = STORE_FLOW_TASKS;
	u->args = "{\"a\":1}";
	u->args_digest = "digest-1";
	u->caller = "{\"era\":\"2026-07-28\"}";
	u->ttl_ms = -1;
	u->retention_ms = 60000;
	u->abandon_ms = -1;
	u->grace_ms = 1000;
	u->max_live = 1000;
}

enum store_answer must_run(struct store *s, struct store_op *op)
{
	assert_int_equal(store_run(s, op), BIDE_OK);
	assert_in_range(op->outcome, STORE_DONE, STORE_REFUSED);
	return op->answer;
}

int64_t make_task(struct store *s, const char *token)
{
	struct store_op op;

	draw_create(&op, token);
	assert_int_equal(must_run(s, &op), STORE_CREATED);
	return op.u.create.ret_fence.task;
}

struct store_fence make_held(struct store *s, const char *token)
{
	struct store_op op;

	draw_create(&op, token);
	op.u.create.claim = true;
	assert_int_equal(must_run(s, &op), STORE_CREATED);
	assert_int_equal(op.u.create.ret_state, STORE_RUNNING);
	return op.u.create.ret_fence;
}

size_t claim_n(struct store *s, struct store_fence *out, size_t n)
{
	struct store_op op;

	store_op_init(&op, STORE_OP_CLAIM, DRAW_MS);
	op.u.claim.n = n;
	op.u.claim.ret_fences = out;
	assert_int_equal(must_run(s, &op), STORE_OK);
	return op.u.claim.ret_n;
}

struct store_fence claim_one(struct store *s)
{
	struct store_fence f = {0};

	assert_int_equal(claim_n(s, &f, 1), 1);
	return f;
}

enum store_answer park_on(struct store *s, const struct store_fence *f,
			  const char *key)
{
	struct store_ask ask = {.key = key,
				.kind = STORE_INPUT_FORM,
				.request =
					"{\"method\":\"elicitation/create\"}"};
	struct store_op op;

	store_op_init(&op, STORE_OP_PARK, DRAW_MS);
	op.u.park.fence = *f;
	op.u.park.asks = &ask;
	op.u.park.nasks = key ? 1 : 0;
	return must_run(s, &op);
}

enum store_answer park_until(struct store *s, const struct store_fence *f,
			     int64_t wake_at_ms)
{
	struct store_op op;

	store_op_init(&op, STORE_OP_PARK, DRAW_MS);
	op.u.park.fence = *f;
	op.u.park.wake_at_ms = wake_at_ms;
	return must_run(s, &op);
}

enum store_answer answer_one(struct store *s, const char *token,
			     const char *wire_key, const char *text)
{
	struct store_answer_in in = {.wire_key = wire_key, .answer = text};
	struct store_op op;

	store_op_init(&op, STORE_OP_ANSWER, DRAW_MS);
	op.u.answer.token = token;
	op.u.answer.principal = "alice";
	op.u.answer.by = "alice";
	op.u.answer.answers = &in;
	op.u.answer.n = 1;
	if (must_run(s, &op) != STORE_OK)
		return op.answer;
	return in.ret;
}

enum store_answer finish_with(struct store *s, const struct store_fence *f,
			      const char *payload)
{
	struct store_op op;

	store_op_init(&op, STORE_OP_FINISH, DRAW_MS);
	op.u.finish.fence = *f;
	op.u.finish.state = STORE_COMPLETED;
	op.u.finish.payload = payload;
	return must_run(s, &op);
}

enum store_answer step_one(struct store *s, const struct store_fence *f,
			   const char *key, const char *result)
{
	struct store_op op;

	store_op_init(&op, STORE_OP_STEP, DRAW_MS);
	op.u.step.fence = *f;
	op.u.step.step.key = key;
	op.u.step.step.result = result;
	must_run(s, &op);
	free(op.u.step.ret_result);
	return op.answer;
}

enum store_answer cancel_task(struct store *s, const char *token,
			      const char *principal)
{
	struct store_op op;

	store_op_init(&op, STORE_OP_CANCEL, DRAW_MS);
	op.u.cancel.token = token;
	op.u.cancel.principal = principal;
	op.u.cancel.reason = "no longer wanted";
	return must_run(s, &op);
}

struct store_task *look(struct store *s, const char *token)
{
	struct store_task *t = NULL;

	assert_int_equal(store_get(s, token, NULL,
				   STORE_GET_PAYLOAD | STORE_GET_REPLAY |
					   STORE_GET_EVENTS | STORE_GET_LOGS,
				   0, &t),
			 BIDE_OK);
	return t;
}
