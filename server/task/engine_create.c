/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/fault.h"
#include "server/base/jsontext.h"
#include "server/base/log.h"
#include "server/base/metrics.h"
#include "server/security/keyring.h"
#include "server/task/engine_priv.h"

/*
 * Making a task. Where a worker is idle, create and claim are one commit and
 * the worker begins with what is in memory; else whoever is idle claims it.
 */

#define AGAIN_MS 50

static void creation_free(struct creation *n)
{
	if (!n)
		return;
	for (size_t i = 0; n->steps && i < n->op.u.create.nsteps; i++)
		free((void *)(uintptr_t)n->steps[i].result);
	for (size_t i = 0; n->answers && i < n->op.u.create.nanswered; i++)
		free(n->answers[i]);
	free(n->steps);
	free(n->asks);
	free(n->answers);
	free(n->args);
	free(n->caller);
	work_free(n->work);
	free(n);
}

/* ---- what bide_persist() carries over ---- */

static bool carry_steps(struct creation *n, const struct bide_call *from)
{
	struct store_create *u = &n->op.u.create;
	size_t count = run_steps(from);
	const json_t *result = NULL;

	if (!count)
		return true;
	n->steps = calloc(count, sizeof(*n->steps));
	if (!n->steps)
		return false;
	u->steps = n->steps;
	for (; u->nsteps < count; u->nsteps++) {
		struct store_step_in *s = &n->steps[u->nsteps];

		run_step_at(from, u->nsteps, &s->key, &result);
		s->result = jsontext_dup(result, NULL);
		if (!s->result)
			return false;
	}
	return true;
}

static bool carry_answer(struct creation *n, const struct run_question *q)
{
	struct store_create *u = &n->op.u.create;

	if (q->state != RUN_Q_ANSWERED)
		return true;
	n->answers[u->nanswered] = jsontext_dup(q->answer, NULL);
	if (!n->answers[u->nanswered])
		return false;
	n->asks[u->nanswered++] = (struct store_ask){
		.key = q->key, .kind = q->kind, .request = q->request};
	return true;
}

static bool carry_answers(struct creation *n, const struct bide_call *from)
{
	struct store_create *u = &n->op.u.create;
	const struct run_question *q = NULL;
	size_t count = run_questions(from, &q);

	if (!count)
		return true;
	n->asks = calloc(count, sizeof(*n->asks));
	n->answers = calloc(count, sizeof(*n->answers));
	if (!n->asks || !n->answers)
		return false;
	u->answered_asks = n->asks;
	u->answers = (const char *const *)n->answers;
	for (size_t i = 0; i < count; i++)
		if (!carry_answer(n, &q[i]))
			return false;
	return true;
}

/* ---- the operation ---- */

static int64_t abandon_ms(const struct engine *e, const struct engine_create *c)
{
	if (c->flow == STORE_FLOW_TASKS)
		return e->opt.undelivered_grace_ms;
	if (c->tool->def.on_close == BIDE_CLOSE_GOES_ON)
		return -1;
	return c->waiting_ms + e->opt.disconnect_grace_ms;
}

static void fill(struct creation *n)
{
	struct engine_create *c = n->c;
	const struct engine *e = n->e;
	const struct bide_tool *def = &c->tool->def;
	struct store_create *u = &n->op.u.create;

	u->token = c->token;
	u->principal = c->principal;
	u->tool = def->name;
	u->tool_version = def->version ? def->version : "";
	u->flow = c->flow;
	u->args = n->args;
	u->args_digest = c->args_digest;
	u->caller = n->caller;
	u->idem_key = c->idem_key;
	u->chain_id = c->chain_id;
	u->ttl_ms = def->ttl_ms > 0 ? def->ttl_ms : -1;
	u->retention_ms = engine_retention_ms(e, c->tool);
	u->abandon_ms = abandon_ms(e, c);
	u->waiting_ms = c->waiting_ms;
	u->grace_ms = e->opt.disconnect_grace_ms;
	u->goes_on = def->on_close == BIDE_CLOSE_GOES_ON;
	u->max_live = e->opt.max_live;
}

static struct creation *creation_new(struct engine *e, struct engine_create *c)
{
	struct creation *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->e = e;
	n->c = c;
	store_op_init(&n->op, STORE_OP_CREATE, CREATE_MS);
	n->give_up_ms = n->op.deadline_ms;
	n->args = jsontext_dup(c->args, NULL);
	n->caller = caller_dump(c->caller);
	if (!n->args || !n->caller ||
	    (c->from &&
	     (!carry_steps(n, c->from) || !carry_answers(n, c->from)))) {
		creation_free(n);
		return NULL;
	}
	fill(n);
	return n;
}

/* ---- with a worker of ours ---- */

static struct work *fresh_work(struct engine *e, const struct engine_create *c)
{
	struct work *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->e = e;
	w->fresh = true;
	w->tool = c->tool;
	memcpy(w->token, c->token, sizeof(w->token));
	/* Not a reference: the request's JSON belongs to another thread. */
	w->args = json_deep_copy(c->args);
	w->caller = *c->caller;
	w->principal = strdup(c->principal ? c->principal : "");
	w->chain_id = c->chain_id ? strdup(c->chain_id) : NULL;
	if (w->args && w->principal && (w->chain_id || !c->chain_id))
		return w;
	work_free(w);
	return NULL;
}

/* A call that was ephemeral brings a record along: its worker reads it back
 * from where every other worker would. */
static void reserve(struct creation *n)
{
	if (!n->c->from)
		n->work = fresh_work(n->e, n->c);
	else
		n->work = calloc(1, sizeof(*n->work));
	if (!n->work)
		return;
	n->work->e = n->e;
	if (claims_reserve(n->e)) {
		n->op.u.create.claim = true;
		return;
	}
	work_free(n->work);
	n->work = NULL;
}

static void start(struct creation *n)
{
	const struct store_create *u = &n->op.u.create;
	struct work *w = n->work;

	if (!w)
		return;
	n->work = NULL;
	if (n->op.outcome != STORE_DONE || n->op.answer != STORE_CREATED ||
	    !u->ret_fence.epoch) {
		work_free(w);
		claims_unreserve(n->e);
		return;
	}
	w->fence = u->ret_fence;
	if (n->c->tool->def.ttl_ms > 0)
		w->expires_ms = u->ret_created_ms + n->c->tool->def.ttl_ms;
	metric_add(METRIC_TASKS_CLAIMED, 1);
	work_start(w);
}

/* ---- outcomes ---- */

static void tell(struct creation *n)
{
	const struct store_create *u = &n->op.u.create;
	struct engine_create *c = n->c;

	c->outcome = n->op.outcome;
	c->answer = n->op.answer;
	c->task = u->ret_fence.task;
	c->ret_flow = u->ret_flow;
	c->created_ms = u->ret_created_ms;
	if (u->ret_token[0])
		memcpy(c->token, u->ret_token, sizeof(c->token));
	if (c->outcome == STORE_DONE && c->answer == STORE_CREATED)
		metric_add(METRIC_TASKS_CREATED, 1);
	c->done(c);
}

static void created(struct store_op *op, void *user);

static void again(struct creation *n)
{
	struct engine *e = n->e;

	mutex_lock(&e->lock);
	n->again_ms = clock_boot_ms() + AGAIN_MS;
	n->next = e->again;
	e->again = n;
	engine_kick_locked(e);
	mutex_unlock(&e->lock);
}

static void settle(struct creation *n)
{
	struct engine *e = n->e;
	bool made =
		n->op.outcome == STORE_DONE && n->op.answer == STORE_CREATED;
	bool ready = made && !n->op.u.create.ret_fence.epoch;

	if (made)
		(void)FAULT_ON("engine.created", n->c->tool->def.name);
	if (n->op.outcome == STORE_UNKNOWN && n->work)
		claims_doubt(e);
	start(n);
	tell(n);
	creation_free(n);
	if (ready)
		claims_want(e);
	mutex_lock(&e->lock);
	e->making--;
	cond_broadcast(&e->changed);
	mutex_unlock(&e->lock);
}

/* On a thread of the store. The same operation is run again until it is known
 * what became of it, so long as the caller may wait. */
static void created(struct store_op *op, void *user)
{
	struct creation *n = user;

	if (op->outcome == STORE_UNKNOWN && !engine_stopping(n->e) &&
	    clock_boot_ms() < n->give_up_ms)
		again(n);
	else
		settle(n);
}

static struct creation *take_due(struct engine *e, int64_t now, int64_t *next)
{
	struct creation **p, *n;

	for (p = &e->again; (n = *p); p = &n->next) {
		if (n->again_ms <= now || e->stopping) {
			*p = n->next;
			return n;
		}
		if (n->again_ms < *next)
			*next = n->again_ms;
	}
	return NULL;
}

int64_t create_tick(struct engine *e, int64_t now)
{
	int64_t next = NEVER;
	struct creation *n;

	for (;;) {
		mutex_lock(&e->lock);
		n = take_due(e, now, &next);
		mutex_unlock(&e->lock);
		if (!n)
			return next;
		store_submit(e->store, &n->op);
	}
}

void engine_create_task(struct engine *e, struct engine_create *c)
{
	struct creation *n = NULL;

	memset(c->token, 0, sizeof(c->token));
	security_token(c->token);
	n = creation_new(e, c);
	if (!n) {
		log_error("task.create_no_memory", "tool=%s",
			  c->tool->def.name);
		c->outcome = STORE_NOT_DONE;
		c->done(c);
		return;
	}
	reserve(n);
	n->op.done = created;
	n->op.user = n;
	mutex_lock(&e->lock);
	e->making++;
	mutex_unlock(&e->lock);
	store_submit(e->store, &n->op);
}
