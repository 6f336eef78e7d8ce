/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/jsontext.h"
#include "server/base/log.h"
#include "server/dispatch/once.h"
#include "server/dispatch/tools.h"
#include "server/security/keyring.h"

/*
 * Calls whose record travels in requestState: nothing is written to the
 * database (but for single use and idempotency keys). One entry of the handler
 * runs at a time; between entries the call may sleep on a timer.
 */
struct ephemeral {
	struct pending p;
	bool added; /* p is known to dispatch_closed() and dispatch_drain() */
	struct job job;
	struct dispatch *d;
	struct request *rq;
	const struct target *target;
	struct bide_call *call;
	json_t *args;
	char chain[24];
	int rounds;       /* state-only ones before this */
	int64_t until_ms; /* boot clock: the end of the wait budget */
	int64_t wake_ms;  /* the store's clock: where the handler sleeps to */
	struct once_entry once;
	struct wake_timer limit; /* max_run_ms of the entry that runs */
	atomic_int over; /* of the timer and the handler, who have come by */
	/* The outcome, while it is being kept. */
	struct buf text;
	struct outcome outcome;
	struct continuation next;
	struct once_keeping keeping;
};

static void enter(struct ephemeral *e);

/* ---- where the record is kept: nowhere but in the call itself ---- */
static struct request *request_of(struct bide_call *c)
{
	return ((struct ephemeral *)run_backend_data(c))->rq;
}

static enum bide_rc be_step(struct bide_call *c, const char *key,
			    const char *result)
{
	(void)c;
	(void)key;
	(void)result;
	return BIDE_OK;
}

static void be_progress(struct bide_call *c, double progress, double total,
			const char *message)
{
	struct request *rq = request_of(c);

	if (rq->wants_progress)
		rq->reply->progress(rq, progress, total, message);
}

static void be_log(struct bide_call *c, int level, const char *logger,
		   const char *data)
{
	struct request *rq = request_of(c);

	if (rq->log_level >= 0 && level >= rq->log_level)
		rq->reply->log(rq, level, logger, data);
}

/* What runs inline is on a thread of the transport, which must not wait. */
static enum bide_rc be_announce(struct bide_call *c, enum bide_changed what,
				const char *uri)
{
	struct ephemeral *e = run_backend_data(c);

	if (e->target->runs_inline)
		return topic_announce_soon(e->d->store, what, uri);
	return topic_announce(e->d->store, what, uri);
}

/* The database's clock: sealed here, it must mean the same elsewhere. */
static int64_t be_now(struct bide_call *c)
{
	struct ephemeral *e = run_backend_data(c);

	return store_now_ms(e->d->store);
}

static bool be_draining(struct bide_call *c)
{
	struct ephemeral *e = run_backend_data(c);

	return atomic_load(&e->d->draining);
}

static const struct run_backend backend = {
	.step = be_step,
	.progress = be_progress,
	.log = be_log,
	.announce = be_announce,
	.now_ms = be_now,
	.draining = be_draining,
};

/* What fits no open question is left out, and asked again (mrtr.mdx "Error
 * Handling"). How many were taken. */
static int take_answers(struct bide_call *call, const struct request *rq)
{
	const char *key;
	json_t *response;
	int taken = 0;

	json_object_foreach (rq->input_responses, key, response)
		if (run_answer(call, key, response))
			taken++;
	return taken;
}

/*
 * A first request may bring answers along: keys are the handler's, the same in
 * every call. (The official suite does so.) The record is read back, as the
 * next request would, so that its questions count as asked.
 */
static bool answered_along(struct bide_call *call, const struct request *rq)
{
	json_t *record;
	bool loaded;

	if (rq->resume != NULL || rq->input_responses == NULL)
		return false;
	record = run_dump(call);
	loaded = record != NULL && run_load(call, record) == BIDE_OK;
	json_decref(record);
	return loaded && take_answers(call, rq) > 0;
}

struct bide_call *ephemeral_load(struct dispatch *d, struct request *rq,
				 const struct target *target, json_t *args,
				 const char *chain, void *backend_data)
{
	struct run_options opt = {
		.target = target,
		.backend = &backend,
		.backend_data = backend_data,
		.uri = target->kind == TARGET_RESOURCE ? request_name(rq)
						       : NULL,
		.args = args,
		.principal = rq->principal,
		.chain_id = chain,
		.caller = &rq->caller,
		.default_deadline_ms =
			engine_input_deadline_ms(d->opt.engine, target),
		.reenter = d->opt.reenter,
	};
	struct bide_call *call = run_new(&opt);

	if (call == NULL || rq->resume == NULL)
		return call;
	if (run_load(call, rq->resume->record) != BIDE_OK) {
		run_free(call);
		return NULL;
	}
	(void)take_answers(call, rq);
	return call;
}

/* ---- the end ---- */
/* Nobody finds it any more, and nothing of the request's JSON is held: the
 * protocol may release that as soon as it has the answer. */
static void leave(struct ephemeral *e)
{
	if (e->added)
		pending_remove(&e->p);
	e->added = false;
	run_free(e->call);
	json_decref(e->args);
	e->call = NULL;
	e->args = NULL;
}

static void ephemeral_free(struct ephemeral *e)
{
	run_free(e->call);
	json_decref(e->args);
	json_decref(e->next.record);
	buf_fini(&e->text);
	once_keeping_fini(&e->keeping);
	free(e);
}

/* Before the answer: it is the last that may touch the dispatcher. */
static void reply(struct ephemeral *e)
{
	once_forget(e->d, &e->once);
	if (e->keeping.earlier != NULL) {
		json_decref(e->next.record);
		e->next.record = NULL;
		once_answer(e->d, e->rq, e->keeping.earlier);
	} else {
		core_done(e->d, e->rq, &e->outcome);
	}
	ephemeral_free(e);
}

static void kept(struct once_keeping *k)
{
	struct ephemeral *e = k->user;

	bool settled =
		k->op.outcome == STORE_DONE || k->op.outcome == STORE_REFUSED;

	if (settled && !k->conflict) {
		reply(e);
		return;
	}
	once_forget(e->d, &e->once);
	json_decref(e->next.record);
	e->next.record = NULL;
	if (settled)
		once_refuse(e->d, e->rq);
	else
		core_store_failed(e->d, e->rq, k->op.outcome);
	ephemeral_free(e);
}

static void finish(struct ephemeral *e, enum outcome_kind kind)
{
	leave(e);
	e->outcome.kind = kind;
	e->outcome.text = e->text.data;
	e->outcome.len = e->text.len;
	if (kind == OUTCOME_NEEDS_INPUT)
		e->outcome.next = &e->next;
	if (e->once.n == 0) {
		reply(e);
		return;
	}
	e->keeping.d = e->d;
	e->keeping.entry = &e->once;
	e->keeping.outcome = &e->outcome;
	e->keeping.done = kept;
	e->keeping.user = e;
	once_keep(&e->keeping);
}

/* Ends without an outcome of the handler's; nothing is kept. */
static void fail(struct ephemeral *e, int code, const char *text)
{
	leave(e);
	once_forget(e->d, &e->once);
	core_error(e->d, e->rq, code, "%s", text);
	ephemeral_free(e);
}

static void miss(struct ephemeral *e, unsigned missing)
{
	leave(e);
	once_forget(e->d, &e->once);
	core_missing(e->d, e->rq, missing, NULL);
	ephemeral_free(e);
}

/* A call that sleeps longer than a continuation lives must be able to wake. */
static int64_t ttl_ms(const struct ephemeral *e, int64_t wake_ms)
{
	int64_t left = wake_ms > 0 ? wake_ms - store_now_ms(e->d->store) : 0;

	return e->d->opt.continuation_ttl_ms + (left > 0 ? left : 0);
}

/* The client comes back with the record. @wake_ms: it sleeps until then. */
static void send_round(struct ephemeral *e, int64_t wake_ms, int rounds)
{
	struct continuation *c = &e->next;

	c->kind = CONTINUATION_RECORD;
	security_token(c->id);
	memcpy(c->chain, e->chain, sizeof(c->chain));
	c->record = run_dump(e->call);
	c->wake_ms = wake_ms;
	c->rounds = rounds;
	c->ttl_ms = ttl_ms(e, wake_ms);
	if (c->record == NULL || e->text.failed)
		fail(e, CORE_INTERNAL, "The server is out of memory");
	else
		finish(e, OUTCOME_NEEDS_INPUT);
}

/* A client takes a result without the member for the final one, so the map is
 * there, empty (docs/design.md "State-only rounds"). */
static void send_state_only(struct ephemeral *e, int64_t wake_ms)
{
	buf_reset(&e->text);
	(void)buf_addstr(&e->text, "{}");
	send_round(e, wake_ms, e->rounds + 1);
}

/* ---- sleeping ---- */
static void run_job(struct job *j)
{
	enter((struct ephemeral *)((char *)j -
				   offsetof(struct ephemeral, job)));
}

static void run(struct ephemeral *e)
{
	if (e->target->runs_inline) {
		enter(e);
		return;
	}
	e->job.fn = run_job;
	pool_submit(engine_calls(e->d->opt.engine), &e->job);
}

static void woken(struct pending *p)
{
	struct ephemeral *e = (struct ephemeral *)p;

	if (pending_closed(p))
		fail(e, CORE_INTERNAL, "Cancelled");
	else if (store_now_ms(e->d->store) >= e->wake_ms)
		run(e);
	else
		send_state_only(e, e->wake_ms);
}

static void sleep_on(struct ephemeral *e, int64_t wake_ms)
{
	int64_t left = wake_ms - store_now_ms(e->d->store);
	int64_t now = clock_boot_ms();
	int64_t at = left > 0 ? now + left : now;

	e->wake_ms = wake_ms;
	if (at > e->until_ms)
		at = e->until_ms;
	if (at <= now && left > 0) {
		send_state_only(e, wake_ms);
		return;
	}
	if (e->added ? !pending_count(&e->p)
		     : !pending_add(&e->p, e->d, e->rq, PENDING_CALL, true)) {
		fail(e, CORE_INTERNAL, CORE_TOO_MANY_WAITS);
		return;
	}
	e->added = true;
	e->p.fire = woken;
	pending_arm(&e->p, at);
}

/* What depends on the answers that a request brings is not to be kept
 * (utilities/caching "Cache Key"). */
static void set_hint(struct ephemeral *e, const struct run_result *r)
{
	struct cache_hint *h = &e->outcome.hint;

	if (e->target->kind != TARGET_RESOURCE)
		return;
	h->given = true;
	if (e->rq->resume != NULL || e->rq->input_responses != NULL)
		return;
	h->ms = r->cache_ms;
	h->scope = r->scope;
}

/* ---- entering ---- */
static void persist(struct ephemeral *e)
{
	struct bide_call *call = e->call;
	json_t *args = e->args;

	e->call = NULL;
	e->args = NULL;
	/* A repeat finds the task from here on, by its chain or its key. */
	once_forget(e->d, &e->once);
	create_task(e->d, e->rq, target_tool(e->target), args, e->chain, call,
		    e->added ? &e->p : NULL);
	ephemeral_free(e);
}

static void needs_input(struct ephemeral *e)
{
	buf_reset(&e->text);
	(void)run_open_questions(e->call, &e->text);
	send_round(e, 0, 0);
}

static void left_with(struct ephemeral *e, struct run_result *r)
{
	switch (r->left) {
	case RUN_COMPLETE:
	case RUN_ERROR:
		buf_fini(&e->text);
		e->text = r->text;
		memset(&r->text, 0, sizeof(r->text));
		if (r->left == RUN_COMPLETE)
			set_hint(e, r);
		finish(e, r->left == RUN_COMPLETE ? OUTCOME_RESULT
						  : OUTCOME_ERROR_TEXT);
		return;
	case RUN_NEEDS_INPUT:
		needs_input(e);
		return;
	case RUN_SLEEPS:
		sleep_on(e, r->wake_ms);
		return;
	case RUN_YIELDS:
		send_state_only(e, 0);
		return;
	case RUN_PERSISTS:
		persist(e);
		return;
	case RUN_NO_CAPABILITY:
		miss(e, r->missing);
		return;
	case RUN_STOPPED:
		fail(e, CORE_INTERNAL, "Cancelled");
		return;
	}
}

/* An entry that took too long ends with whoever comes last, the timer that
 * tells the handler or the handler that leaves: neither uses the call then. */
static void over_by_one(struct ephemeral *e)
{
	if (atomic_fetch_add(&e->over, 1) == 1)
		fail(e, CORE_INTERNAL, CORE_RAN_TOO_LONG);
}

static void over(struct wake_timer *t)
{
	struct ephemeral *e =
		(struct ephemeral *)((char *)t -
				     offsetof(struct ephemeral, limit));

	log_warn("call.ran_too_long", "kind=%s name=%s",
		 target_kind_name(e->target->kind), e->target->name);
	run_cancel(e->call, BIDE_CANCELLED);
	over_by_one(e);
}

/* False: it took longer than the tool may, and is ended. */
static bool enter_within(struct ephemeral *e, struct run_result *r)
{
	int64_t ms = e->target->max_run_ms;

	if (ms > 0)
		wake_timer_arm(e->d->wake, &e->limit, clock_boot_ms() + ms,
			       over);
	run_enter(e->call, r);
	if (ms <= 0 || wake_timer_disarm(e->d->wake, &e->limit))
		return true;
	run_result_fini(r);
	over_by_one(e);
	return false;
}

static void enter(struct ephemeral *e)
{
	struct run_result r = {0};

	if (e->added && pending_closed(&e->p)) {
		fail(e, CORE_INTERNAL, "Cancelled");
		return;
	}
	if (!enter_within(e, &r))
		return;
	while (r.left == RUN_NEEDS_INPUT && answered_along(e->call, e->rq)) {
		run_result_fini(&r);
		memset(&r, 0, sizeof(r));
		if (!enter_within(e, &r))
			return;
	}
	/* Nobody is there: what is not finished is cancelled. */
	if (e->added && pending_closed(&e->p) && r.left != RUN_COMPLETE &&
	    r.left != RUN_ERROR)
		fail(e, CORE_INTERNAL, "Cancelled");
	else
		left_with(e, &r);
	run_result_fini(&r);
}

void ephemeral_start(struct dispatch *d, struct request *rq,
		     const struct target *target, json_t *args)
{
	struct ephemeral *e = calloc(1, sizeof(*e));

	if (e == NULL) {
		json_decref(args);
		core_no_memory(d, rq);
		return;
	}
	e->d = d;
	e->rq = rq;
	e->target = target;
	e->args = args;
	if (once_door(d, rq, target, &e->once, &e->args)) {
		ephemeral_free(e);
		return;
	}
	e->until_ms = clock_boot_ms() + core_budget_ms(d, target);
	if (rq->resume != NULL) {
		memcpy(e->chain, rq->resume->chain, sizeof(e->chain));
		e->rounds = rq->resume->rounds;
	} else {
		security_token(e->chain);
	}
	e->call = ephemeral_load(d, rq, target, args, e->chain, e);
	if (e->call == NULL) {
		fail(e, CORE_INTERNAL, "The call could not be set up");
		return;
	}
	if (!target->runs_inline) {
		e->added = pending_add(&e->p, d, rq, PENDING_CALL, false);
		pending_set_call(&e->p, e->call);
	}
	if (rq->resume != NULL && rq->resume->wake_ms > 0)
		sleep_on(e, rq->resume->wake_ms);
	else
		run(e);
}
