/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/dispatch/once.h"
#include "server/dispatch/tools.h"
#include "server/dispatch/wait.h"

/*
 * A call becomes a task: the row is durable before anything of it leaves the
 * server (docs/design.md section 4, rule 1).
 */
static void fail(struct wait *w, int code, const char *text)
{
	struct outcome o = {
		.kind = OUTCOME_ERROR, .code = code, .message = text};

	wait_answer(w, &o);
}

static void failed_store(struct wait *w, enum store_outcome outcome)
{
	struct dispatch *d = w->p.d;
	struct request *rq = w->p.rq;

	pending_remove(&w->p);
	core_store_failed(d, rq, outcome);
	wait_free(w);
}

static void answer_new_task(struct wait *w)
{
	const struct engine_create *c = &w->create;
	struct store_task t = {
		.id = c->task,
		.tool = (char *)(uintptr_t)w->tool->def.name,
		.state = STORE_READY,
		.flow = STORE_FLOW_TASKS,
		.created_ms = c->created_ms,
		.updated_ms = c->created_ms,
		.ttl_ms = w->tool->def.ttl_ms > 0 ? w->tool->def.ttl_ms : -1,
	};
	struct outcome o = {
		.kind = OUTCOME_TASK,
		.task = &t,
		.delivery = {.task = c->task, .abandon_ms = -1},
	};

	memcpy(t.token, c->token, sizeof(t.token));
	wait_answer(w, &o);
}

/* Once a call's flow is rounds it stays so, whatever a repeat declares. */
static void go_on(struct wait *w, bool again)
{
	const struct engine_create *c = &w->create;
	bool tasks = c->ret_flow == STORE_FLOW_TASKS &&
		     (w->p.rq->caller.can & BIDE_CAN_TASKS) != 0;

	if (tasks && !again) {
		answer_new_task(w);
		return;
	}
	w->task = c->task;
	memcpy(w->token, c->token, sizeof(w->token));
	w->created = !again;
	w->joined = !again && c->waiting_ms > 0;
	w->tell_task = tasks;
	w->silent = c->ret_flow == STORE_FLOW_TASKS;
	if (!tasks && !pending_count(&w->p)) {
		fail(w, CORE_INTERNAL, CORE_TOO_MANY_WAITS);
		return;
	}
	wait_start(w);
}

static void limited(struct wait *w)
{
	fail(w, CORE_INTERNAL,
	     "This caller has as many unfinished tasks as it may have; "
	     "try again when some of them have ended");
}

/* On a thread of the store, after the commit. */
static void created(struct engine_create *c)
{
	struct wait *w = c->user;

	run_free(w->from);
	w->from = NULL;
	if (c->outcome != STORE_DONE && c->outcome != STORE_REFUSED) {
		failed_store(w, c->outcome);
		return;
	}
	if (c->answer == STORE_CREATED)
		go_on(w, false);
	else if (c->answer == STORE_SAME)
		go_on(w, true);
	else if (c->answer == STORE_CONFLICT)
		fail(w, CORE_INVALID,
		     "The idempotency key was used with other arguments");
	else if (c->answer == STORE_LIMIT)
		limited(w);
	else
		failed_store(w, STORE_NOT_DONE);
}

static void ask_engine(struct wait *w, json_t *args)
{
	struct dispatch *d = w->p.d;
	struct request *rq = w->p.rq;
	bool tasks = (rq->caller.can & BIDE_CAN_TASKS) != 0;
	bool own = args != json_object_get(rq->params, "arguments");

	if (rq->idem_key != NULL)
		once_digest(rq, &w->tool->target, w->digest);
	w->create = (struct engine_create){
		.tool = w->tool,
		.args = args,
		.args_digest = rq->idem_key != NULL ? w->digest
						    : request_args_digest(rq),
		.principal = rq->principal,
		.idem_key = rq->idem_key,
		.chain_id = w->chain,
		.caller = &rq->caller,
		.flow = tasks ? STORE_FLOW_TASKS : STORE_FLOW_HANDLE,
		.waiting_ms = tasks ? 0 : w->budget_ms,
		.from = w->from,
		.done = created,
		.user = w,
	};
	/* The request may be answered, and its JSON released elsewhere, before
	 * this returns: what it holds itself is not held here. */
	if (!own)
		json_decref(args);
	engine_create_task(d->opt.engine, &w->create);
	if (own)
		json_decref(args);
}

void create_task(struct dispatch *d, struct request *rq,
		 const struct tool *tool, json_t *args, const char *chain,
		 struct bide_call *from, struct pending *old)
{
	struct wait *w = wait_new(tool);

	if (w == NULL) {
		if (old != NULL)
			pending_remove(old);
		run_free(from);
		json_decref(args);
		core_no_memory(d, rq);
		return;
	}
	w->from = from;
	w->budget_ms = core_budget_ms(d, &tool->target);
	(void)snprintf(w->chain, sizeof(w->chain), "%s", chain);
	if (old != NULL)
		pending_replace(old, &w->p, PENDING_WAIT);
	else
		(void)pending_add(&w->p, d, rq, PENDING_WAIT, false);
	/* Before there is a task: who is told to try again must not find that
	 * it ran as well. */
	if (rq->crowded) {
		json_decref(args);
		fail(w, CORE_INTERNAL, core_crowded(d));
		return;
	}
	if ((rq->caller.can & BIDE_CAN_TASKS) == 0 && !pending_count(&w->p)) {
		json_decref(args);
		fail(w, CORE_INTERNAL, CORE_TOO_MANY_WAITS);
		return;
	}
	ask_engine(w, args);
}
