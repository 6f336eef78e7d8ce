/* SPDX-License-Identifier: MIT */
#include "server/dispatch/answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/fault.h"
#include "server/base/jsontext.h"

static bool take(struct answers *a, const struct store_input *in,
		 const json_t *response)
{
	struct store_answer_in *out = &a->in[a->n];
	json_t *fit = NULL;
	enum answer_fit how =
		answer_check(in->kind, in->request, response, &fit, NULL);
	char *text = jsontext_dup(how == ANSWER_FITS ? fit : response, NULL);

	json_decref(fit);
	if (text == NULL)
		return false;
	out->answer = text;
	out->misfit = how == ANSWER_MISFIT;
	out->wire_key = strdup(in->wire_key);
	a->n++;
	return out->wire_key != NULL;
}

static bool take_all(struct answers *a, const struct store_task *t,
		     const json_t *responses)
{
	size_t i;

	if (json_object_size(responses) == 0 || t->ninputs == 0)
		return true;
	a->in = calloc(t->ninputs, sizeof(*a->in));
	if (a->in == NULL)
		return false;
	for (i = 0; i < t->ninputs; i++) {
		const json_t *response =
			json_object_get(responses, t->inputs[i].wire_key);

		if (t->inputs[i].state == STORE_INPUT_OPEN &&
		    response != NULL && !take(a, &t->inputs[i], response))
			return false;
	}
	return true;
}

/* The task keeps what the latest request that brought answers declared. */
static bool take_caller(struct answers *a, const struct store_task *t)
{
	struct caller was = {0};

	if (store_state_ended(t->state))
		return true;
	if (t->caller != NULL && caller_load(&was, t->caller) &&
	    was.era == a->rq->caller.era && was.can == a->rq->caller.can)
		return true;
	a->caller = caller_dump(&a->rq->caller);
	return a->caller != NULL;
}

struct answers *answers_new(struct dispatch *d, struct request *rq,
			    const struct store_task *t, const json_t *responses)
{
	struct answers *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->d = d;
	a->rq = rq;
	memcpy(a->token, t->token, sizeof(a->token));
	(void)snprintf(a->tool, sizeof(a->tool), "%s", t->tool);
	if (!take_all(a, t, responses) || !take_caller(a, t)) {
		answers_free(a);
		return NULL;
	}
	return a;
}

void answers_free(struct answers *a)
{
	size_t i;

	if (a == NULL)
		return;
	for (i = 0; i < a->n; i++) {
		free((char *)(uintptr_t)a->in[i].wire_key);
		free((char *)(uintptr_t)a->in[i].answer);
	}
	free(a->in);
	free(a->caller);
	free(a);
}

bool answers_empty(const struct answers *a)
{
	return a->n == 0 && a->caller == NULL;
}

static void stored(struct store_op *op, void *user)
{
	struct answers *a = user;

	(void)op;
	(void)FAULT_ON("dispatch.answered", a->tool);
	a->done(a);
}

void answers_submit(struct answers *a, void (*done)(struct answers *a),
		    void *user)
{
	struct store_answer_op *u = &a->op.u.answer;

	a->done = done;
	a->user = user;
	store_op_init(&a->op, STORE_OP_ANSWER, CORE_STORE_TIMEOUT_MS);
	u->token = a->token;
	u->principal = a->rq->principal;
	u->answers = a->in;
	u->n = a->n;
	u->by = a->rq->caller.client;
	u->caller = a->caller;
	a->op.done = stored;
	a->op.user = a;
	store_submit(a->d->store, &a->op);
}

bool request_responses_valid(const json_t *responses)
{
	const char *key;
	json_t *v;

	if (responses == NULL || json_is_null(responses))
		return true;
	if (!json_is_object(responses))
		return false;
	json_object_foreach ((json_t *)(uintptr_t)responses, key, v)
		if (!json_is_object(v))
			return false;
	return true;
}
