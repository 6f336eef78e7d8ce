/* SPDX-License-Identifier: MIT */
#include "server/dispatch/wait.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/jsontext.h"
#include "server/security/keyring.h"

#define DAY_MS INT64_C(86400000)

struct wait *wait_new(const struct tool *tool)
{
	struct wait *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->tool = tool;
	w->called = tool;
	w->told_progress = -INFINITY;
	return w;
}

void wait_free(struct wait *w)
{
	if (w == NULL)
		return;
	run_free(w->from);
	free(w);
}

int64_t wait_abandon_ms(const struct dispatch *d, const struct tool *t)
{
	if (t->def.on_close == BIDE_CLOSE_GOES_ON)
		return -1;
	return engine_input_deadline_ms(d->opt.engine, &t->target);
}

static void let_go(struct wait *w)
{
	if (w->watch.task != 0)
		(void)wake_unwatch(w->p.d->wake, &w->watch);
	pending_remove(&w->p);
}

void wait_answer(struct wait *w, const struct outcome *o)
{
	struct dispatch *d = w->p.d;
	struct request *rq = w->p.rq;

	let_go(w);
	core_done(d, rq, o);
	wait_free(w);
}

static struct delivery delivery_of(const struct wait *w, int64_t abandon_ms)
{
	return (struct delivery){.task = w->silent ? 0 : w->task,
				 .joined = w->joined,
				 .abandon_ms = abandon_ms};
}

/* ---- the ways a wait ends ---- */
static void answer_gone(struct wait *w)
{
	struct outcome o = {.kind = OUTCOME_ERROR,
			    .code = CORE_INVALID,
			    .message = DISPATCH_STATE_REFUSED};
	struct dispatch *d = w->p.d;
	struct request *rq = w->p.rq;

	if (rq->resume != NULL) {
		wait_answer(w, &o);
		return;
	}
	/* A handle given to wait_for_task: the model is told in words. */
	let_go(w);
	core_tool_error(d, rq, NULL, CORE_HANDLE_REFUSED);
	wait_free(w);
}

static void answer_ended(struct wait *w, const struct store_task *t)
{
	struct outcome o = {.kind = OUTCOME_RESULT, .text = t->payload};
	struct dispatch *d = w->p.d;
	struct request *rq = w->p.rq;

	if (t->state == STORE_CANCELLED || t->payload == NULL) {
		let_go(w);
		core_tool_error(d, rq, NULL,
				t->status != NULL && *t->status != '\0'
					? t->status
					: "The call was cancelled");
		wait_free(w);
		return;
	}
	if (t->state == STORE_FAILED)
		o.kind = OUTCOME_ERROR_TEXT;
	o.len = strlen(t->payload);
	wait_answer(w, &o);
}

static void fill_handle(const struct wait *w, struct continuation *c,
			enum continuation_kind kind, int rounds)
{
	const struct engine *e = w->p.d->opt.engine;

	memset(c, 0, sizeof(*c));
	c->kind = kind;
	security_token(c->id);
	memcpy(c->chain, w->chain, sizeof(c->chain));
	memcpy(c->token, w->token, sizeof(c->token));
	c->rounds = rounds;
	/* The task's row says how long it lives; this only bounds it. */
	c->ttl_ms = engine_input_deadline_ms(e, &w->tool->target) +
		    engine_retention_ms(e, w->tool) + 30 * DAY_MS;
}

static void send_round(struct wait *w, const char *text, size_t len, int rounds)
{
	struct continuation next;
	struct outcome o = {
		.kind = OUTCOME_NEEDS_INPUT,
		.text = text,
		.len = len,
		.next = &next,
		.delivery = delivery_of(w, wait_abandon_ms(w->p.d, w->tool)),
	};

	fill_handle(w, &next, CONTINUATION_HANDLE, rounds);
	wait_answer(w, &o);
}

unsigned wait_open_needs(const struct store_task *t)
{
	unsigned needs = 0;
	size_t i;

	for (i = 0; i < t->ninputs; i++)
		needs |= answer_needs(t->inputs[i].kind, t->inputs[i].request);
	return needs;
}

static void answer_questions(struct wait *w, const struct store_task *t)
{
	struct dispatch *d = w->p.d;
	struct request *rq = w->p.rq;
	unsigned missing = wait_open_needs(t) & ~rq->caller.can;
	struct delivery v = delivery_of(w, wait_abandon_ms(d, w->tool));
	struct buf b = {0};
	size_t i;

	if (missing != 0) {
		/* The task is left alone (docs/design.md section 2). */
		let_go(w);
		core_missing(d, rq, missing, &v);
		wait_free(w);
		return;
	}
	for (i = 0; i < t->ninputs; i++) {
		const struct store_input *in = &t->inputs[i];

		(void)buf_addc(&b, i == 0 ? '{' : ',');
		(void)jsontext_write_string(in->wire_key, strlen(in->wire_key),
					    &b);
		(void)buf_addc(&b, ':');
		(void)buf_addstr(&b, in->request);
	}
	(void)buf_addc(&b, '}');
	/* Not from 0 again: one official client counts every round that asked
	 * nothing, in a row or not. */
	send_round(w, b.failed ? "{}" : b.data, b.failed ? 2 : b.len,
		   w->rounds);
	buf_fini(&b);
}

/* ---- detaching ---- */
static void write_detached(const struct wait *w, const char *handle,
			   struct buf *b)
{
	/* A structured result must fit the tool's output schema (server/tools
	 * "Output Schema"), which knows nothing of handles; clients let an
	 * error go without one. */
	bool plain = w->called->output != NULL;
	struct buf text = {0};

	(void)buf_addf(&text,
		       "Not finished yet: the call goes on in the background. "
		       "To wait for its result, call the tool wait_for_task "
		       "with {\"handle\":\"%s\"}, as often as it takes.",
		       handle);
	(void)buf_addstr(b, "{\"content\":[{\"type\":\"text\",\"text\":");
	(void)jsontext_write_string(text.failed ? "" : text.data, text.len, b);
	(void)buf_addstr(b, "}]");
	if (!plain)
		(void)buf_addf(b,
			       ",\"structuredContent\":{\"status\":\"working\","
			       "\"handle\":\"%s\",\"tool\":\"wait_for_task\"}",
			       handle);
	(void)buf_addf(b, ",\"isError\":%s}", plain ? "true" : "false");
	if (text.failed)
		b->failed = true;
	buf_fini(&text);
}

static void detach(struct wait *w)
{
	struct request *rq = w->p.rq;
	struct outcome o = {.kind = OUTCOME_RESULT,
			    .delivery = delivery_of(w, -1)};
	struct continuation c;
	struct buf b = {0};
	char *handle;

	fill_handle(w, &c, CONTINUATION_WAIT, 0);
	handle = rq->reply->seal(rq, &c);
	if (handle != NULL)
		write_detached(w, handle, &b);
	o.text = b.data;
	o.len = b.len;
	if (handle == NULL || b.failed) {
		o.kind = OUTCOME_ERROR;
		o.code = CORE_INTERNAL;
		o.message = "The handle could not be sealed";
	}
	wait_answer(w, &o);
	free(handle);
	buf_fini(&b);
}

static void budget_over(struct pending *p)
{
	struct wait *w = (struct wait *)p;
	struct dispatch *d = p->d;

	if (pending_closed(p)) {
		struct outcome o = {
			.kind = OUTCOME_ERROR,
			.code = CORE_INTERNAL,
			.message = "Cancelled",
			.delivery = delivery_of(w, -1),
		};

		/* Nobody reads it; what counts is that nothing is delivered. */
		wait_answer(w, &o);
	} else if (d->opt.wait_for_task && w->rounds >= d->opt.state_rounds) {
		detach(w);
	} else {
		send_round(w, "{}", 2, w->rounds + 1);
	}
}

/* ---- while it waits ---- */
static void tell_progress(struct wait *w, const struct store_task *t)
{
	struct request *rq = w->p.rq;

	if (!rq->wants_progress || isnan(t->progress) ||
	    t->progress <= w->told_progress)
		return;
	w->told_progress = t->progress;
	rq->reply->progress(rq, t->progress, isnan(t->total) ? 0 : t->total,
			    t->progress_message);
}

/* What was logged before a later round came went to an earlier one. */
static void tell_logs(struct wait *w, const struct store_task *t, bool news)
{
	struct request *rq = w->p.rq;
	size_t i;

	for (i = 0; i < t->nlogs; i++) {
		const struct store_log_row *l = &t->logs[i];

		if (l->seq <= w->watch.seen_log)
			continue;
		w->watch.seen_log = l->seq;
		if (news && rq->log_level >= 0 && l->level >= rq->log_level)
			rq->reply->log(rq, l->level, l->logger, l->data);
	}
}

static void answer_task(struct wait *w, const struct store_task *t)
{
	struct outcome o = {
		.kind = OUTCOME_TASK,
		.task = t,
		.delivery = {.task = t->id, .abandon_ms = -1},
	};

	wait_answer(w, &o);
}

static void changed(struct wake_watcher *x, const struct store_task *t)
{
	struct wait *w =
		(struct wait *)((char *)x - offsetof(struct wait, watch));
	bool first = !w->looked;

	/* Also waits for wait_start() to have let go of it. */
	if (pending_closed(&w->p))
		return; /* the timer ends it */
	if (t == NULL) {
		answer_gone(w);
		return;
	}
	if (w->tell_task) {
		answer_task(w, t);
		return;
	}
	w->looked = true;
	tell_logs(w, t, w->created || !first);
	tell_progress(w, t);
	if (store_state_ended(t->state)) {
		answer_ended(w, t);
	} else if (t->ninputs > 0) {
		answer_questions(w, t);
	} else if (w->budget_ms == 0) {
		budget_over(&w->p);
	} else if (!w->joined && !w->silent) {
		core_join(w->p.d, w->task, w->budget_ms);
		w->joined = true;
	}
}

void wait_start(struct wait *w)
{
	struct dispatch *d = w->p.d;
	/* Without a budget the first look decides. */
	int64_t until = w->budget_ms > 0 ? clock_boot_ms() + w->budget_ms
					 : PENDING_NO_TIME;

	w->watch.fn = changed;
	w->watch.task = w->task;
	w->watch.what = STORE_GET_PAYLOAD | STORE_GET_OPEN_INPUTS;
	if (w->p.rq->log_level >= 0)
		w->watch.what |= STORE_GET_LOGS;
	w->p.fire = budget_over;
	mutex_lock(&d->lock);
	wake_watch(d->wake, &w->watch);
	pending_arm_locked(&w->p, until);
	mutex_unlock(&d->lock);
}
