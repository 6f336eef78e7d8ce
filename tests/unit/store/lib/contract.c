/* SPDX-License-Identifier: MIT */
#include "tests/unit/store/lib/contract.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
	u->retention_ms = 0;
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

enum store_answer release_for(struct store *s, const struct store_fence *f,
			      enum store_release_why why, int64_t not_before_ms)
{
	struct store_op op;

	store_op_init(&op, STORE_OP_RELEASE, DRAW_MS);
	op.u.release.fence = *f;
	op.u.release.why = why;
	op.u.release.not_before_ms = not_before_ms;
	return must_run(s, &op);
}

enum store_answer touch(struct store *s, int64_t task,
			enum store_touch_what what, int64_t ms)
{
	struct store_op op;

	store_op_init(&op, STORE_OP_TOUCH, DRAW_MS);
	op.u.touch.task = task;
	op.u.touch.what = what;
	op.u.touch.ms = ms;
	return must_run(s, &op);
}

size_t sweep(struct store *s, enum store_sweep_kind kind)
{
	struct store_op op;

	store_op_init(&op, STORE_OP_SWEEP, DRAW_MS);
	op.u.sweep.kind = kind;
	op.u.sweep.rows = 100;
	assert_int_equal(must_run(s, &op), STORE_OK);
	return op.u.sweep.ret_done;
}

size_t reap(struct store *s, int64_t instance, bool crashed)
{
	struct store_op op;

	store_op_init(&op, STORE_OP_REAP, DRAW_MS);
	op.u.reap.instance = instance;
	op.u.reap.crashed = crashed;
	assert_int_equal(must_run(s, &op), STORE_OK);
	return op.u.reap.ret_returned;
}

void wait_until(struct store *s, int64_t ms)
{
	while (store_now_ms(s) <= ms)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

bool has_event(const struct store_task *t, const char *kind)
{
	for (size_t i = 0; i < t->nevents; i++)
		if (strcmp(t->events[i].kind, kind) == 0)
			return true;
	return false;
}

static const char *const pair_tools[] = {"t", "u"};

static struct store *join(struct contract *c, const char *const *tools,
			  size_t n, const char *name)
{
	struct store *s = contract_open(c);
	struct bide_error err = {0};

	if (store_join(s, tools, n, name, &err) != BIDE_OK)
		fail_msg("store_join: %s", err.text);
	return s;
}

int pair_setup(void **state)
{
	struct pair *p = calloc(1, sizeof *p);

	contract_make(&p->c);
	p->a = join(&p->c, pair_tools, 2, "a");
	p->b = join(&p->c, pair_tools, 2, "b");
	*state = p;
	return 0;
}

struct store *pair_third(struct pair *p, const char *const *tools, size_t n)
{
	return join(&p->c, tools, n, "third");
}

void close_quietly(struct store *s)
{
	struct store_op op;

	store_op_init(&op, STORE_OP_REAP, DRAW_MS);
	op.u.reap.instance = store_instance(s);
	store_run(s, &op);
	store_close(s, 1000);
}

int pair_teardown(void **state)
{
	struct pair *p = *state;

	if (p->a)
		close_quietly(p->a);
	if (p->b)
		close_quietly(p->b);
	contract_remove(&p->c);
	free(p);
	return 0;
}
