/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "server/dispatch/answers.h"
#include "server/dispatch/core.h"

/*
 * The tasks extension: tasks/get, tasks/update, tasks/cancel. Tasks that a
 * caller without the extension waits for have no public id, so they are
 * unknown here; so are another principal's, in text and in time.
 */
static struct store_task *find(struct dispatch *d, struct request *rq,
			       unsigned what)
{
	const char *token = core_string(rq, "taskId");
	struct store_task *t = NULL;
	enum bide_rc rc = BIDE_NOT_FOUND;

	if (token == NULL) {
		core_error(d, rq, CORE_INVALID,
			   "params.taskId must be a string");
		return NULL;
	}
	if (strlen(token) < STORE_TOKEN_BYTES)
		rc = store_get(d->store, token, rq->principal, what, 0, &t);
	if (rc == BIDE_OK && t->flow == STORE_FLOW_TASKS)
		return t;
	store_task_free(t);
	if (rc == BIDE_OK || rc == BIDE_NOT_FOUND)
		core_error(d, rq, CORE_INVALID, CORE_NO_TASK);
	else
		core_store_failed(d, rq, STORE_NOT_DONE);
	return NULL;
}

static void acknowledge(struct dispatch *d, struct request *rq)
{
	struct outcome o = {.kind = OUTCOME_EMPTY};

	core_done(d, rq, &o);
}

void method_tasks_get(struct dispatch *d, struct request *rq)
{
	struct store_task *t =
		find(d, rq, STORE_GET_PAYLOAD | STORE_GET_OPEN_INPUTS);
	struct outcome o = {.kind = OUTCOME_TASK_STATE, .task = t};

	if (t == NULL)
		return;
	core_done(d, rq, &o);
	store_task_free(t);
}

/* ---- tasks/update ---- */
static void updated(struct answers *a)
{
	struct dispatch *d = a->d;
	struct request *rq = a->rq;
	enum store_outcome outcome = a->op.outcome;
	bool unknown = a->op.answer == STORE_NO_SUCH;

	answers_free(a);
	if (outcome != STORE_DONE && outcome != STORE_REFUSED)
		core_store_failed(d, rq, outcome);
	else if (unknown)
		core_error(d, rq, CORE_INVALID, CORE_NO_TASK);
	else
		acknowledge(d, rq);
}

void method_tasks_update(struct dispatch *d, struct request *rq)
{
	json_t *responses = json_object_get(rq->params, "inputResponses");
	struct store_task *t;
	struct answers *a;

	if (!json_is_object(responses) || !request_responses_valid(responses)) {
		core_error(
			d, rq, CORE_INVALID,
			"params.inputResponses must be an object of objects");
		return;
	}
	t = find(d, rq, STORE_GET_OPEN_INPUTS);
	if (t == NULL)
		return;
	a = answers_new(d, rq, t, responses);
	store_task_free(t);
	if (a == NULL) {
		core_no_memory(d, rq);
	} else if (a->n == 0) {
		answers_free(a);
		acknowledge(d, rq);
	} else {
		answers_submit(a, updated, NULL);
	}
}

/* ---- tasks/cancel ---- */
struct cancelling {
	struct store_op op;
	struct dispatch *d;
	struct request *rq;
	int64_t task;
	char token[STORE_TOKEN_BYTES];
};

static void cancelled(struct store_op *op, void *user)
{
	struct cancelling *c = user;
	struct dispatch *d = c->d;
	struct request *rq = c->rq;
	enum store_outcome outcome = op->outcome;
	enum store_answer answer = op->answer;

	if (outcome == STORE_DONE && answer == STORE_CANCELLED_NOW)
		engine_notice(d->opt.engine, c->task);
	free(c);
	if (outcome != STORE_DONE && outcome != STORE_REFUSED)
		core_store_failed(d, rq, outcome);
	else if (answer == STORE_NO_SUCH)
		core_error(d, rq, CORE_INVALID, CORE_NO_TASK);
	else
		acknowledge(d, rq);
}

static void cancel(struct dispatch *d, struct request *rq,
		   const struct store_task *t)
{
	struct cancelling *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		core_no_memory(d, rq);
		return;
	}
	c->d = d;
	c->rq = rq;
	c->task = t->id;
	memcpy(c->token, t->token, sizeof(c->token));
	store_op_init(&c->op, STORE_OP_CANCEL, CORE_STORE_TIMEOUT_MS);
	c->op.u.cancel.token = c->token;
	c->op.u.cancel.principal = rq->principal;
	c->op.u.cancel.reason = "Cancelled by the client";
	c->op.done = cancelled;
	c->op.user = c;
	store_submit(d->store, &c->op);
}

void method_tasks_cancel(struct dispatch *d, struct request *rq)
{
	struct store_task *t = find(d, rq, 0);

	if (t == NULL)
		return;
	if (store_state_ended(t->state))
		acknowledge(d, rq);
	else
		cancel(d, rq, t);
	store_task_free(t);
}
