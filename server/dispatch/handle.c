/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/dispatch/answers.h"
#include "server/dispatch/tools.h"
#include "server/dispatch/wait.h"

/*
 * Coming back with a handle (docs/design.md section 2): any round is accepted,
 * answers count for what is open now, the reply is the state of affairs now.
 */
static void answered(struct answers *a)
{
	struct wait *w = a->user;
	enum store_outcome outcome = a->op.outcome;

	answers_free(a);
	if (outcome == STORE_DONE || outcome == STORE_REFUSED) {
		wait_start(w);
	} else {
		struct dispatch *d = w->p.d;
		struct request *rq = w->p.rq;

		pending_remove(&w->p);
		core_store_failed(d, rq, outcome);
		wait_free(w);
	}
}

static void begin(struct dispatch *d, struct request *rq, struct wait *w,
		  struct answers *a)
{
	if (!pending_add(&w->p, d, rq, PENDING_WAIT, true)) {
		wait_free(w);
		answers_free(a);
		core_error(d, rq, CORE_INTERNAL, "%s", CORE_TOO_MANY_WAITS);
	} else if (answers_empty(a)) {
		answers_free(a);
		wait_start(w);
	} else {
		answers_submit(a, answered, w);
	}
}

/* Whose times hold: the task's own tool, where this instance has it. */
static const struct tool *times_of(const struct dispatch *d,
				   const struct store_task *t,
				   const struct tool *called)
{
	const struct tool *own = registry_tool(d->opt.registry, t->tool);

	return own != NULL ? own : called;
}

static void come_back(struct dispatch *d, struct request *rq,
		      const struct tool *tool, const struct continuation *c,
		      const struct store_task *t)
{
	unsigned missing = wait_open_needs(t) & ~rq->caller.can;
	struct answers *a;
	struct wait *w;

	if (missing != 0) {
		core_missing(d, rq, missing, NULL);
		return;
	}
	a = answers_new(d, rq, t, rq->input_responses);
	w = wait_new(times_of(d, t, tool));
	if (a == NULL || w == NULL) {
		answers_free(a);
		wait_free(w);
		core_no_memory(d, rq);
		return;
	}
	w->called = tool;
	w->task = t->id;
	w->silent = t->flow == STORE_FLOW_TASKS;
	w->rounds = c->rounds;
	w->budget_ms = core_budget_ms(d, tool->builtin ? &tool->target
						       : &w->tool->target);
	memcpy(w->token, c->token, sizeof(w->token));
	memcpy(w->chain, c->chain, sizeof(w->chain));
	begin(d, rq, w, a);
}

void handle_return(struct dispatch *d, struct request *rq,
		   const struct tool *tool, const struct continuation *c)
{
	struct store_task *t = NULL;
	enum bide_rc rc = store_get(d->store, c->token, rq->principal,
				    STORE_GET_OPEN_INPUTS, 0, &t);

	if (rc == BIDE_OK)
		come_back(d, rq, tool, c, t);
	else if (rc != BIDE_NOT_FOUND)
		core_store_failed(d, rq, STORE_NOT_DONE);
	else if (c->kind == CONTINUATION_WAIT)
		core_tool_error(d, rq, NULL, CORE_HANDLE_REFUSED);
	else
		core_error(d, rq, CORE_INVALID, "%s", DISPATCH_STATE_REFUSED);
	store_task_free(t);
}
