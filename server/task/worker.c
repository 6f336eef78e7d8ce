/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/error.h"
#include "server/base/fault.h"
#include "server/base/jsontext.h"
#include "server/base/log.h"
#include "server/base/metrics.h"
#include "server/task/asks.h"
#include "server/task/engine_priv.h"

/*
 * One claim from its beginning to its end, on a thread of the task pool: load,
 * enter, write how the handler left. What is written carries the fence, so a
 * claim that was lost changes nothing (rule 2).
 */

#define NAP_MAX_MS         1000
#define WENT_ON_MAX        16 /* entries in a row before others get their turn */
#define LOAD_AGAIN_MS      1000
#define MISSING_CAPABILITY (-32021)

static const char internal_error[] =
	"{\"code\":-32603,\"message\":\"Internal error\"}";
static const char unreadable_error[] =
	"{\"code\":-32603,\"message\":\"The task's record cannot be read\"}";

/* ---- writing ---- */

static void writing(struct work *w, bool on)
{
	mutex_lock(&w->e->lock);
	w->writing = on;
	if (!on)
		w->wrote_ms = clock_boot_ms();
	mutex_unlock(&w->e->lock);
}

/* Another epoch stands in the row: our operation had no effect, or its effect
 * was passed long ago. */
static bool surely_lost(const struct work *w)
{
	struct store_task *t = NULL;
	enum bide_rc rc = store_get_id(w->e->store, w->fence.task, 0, 0, &t);
	bool lost = rc == BIDE_NOT_FOUND;

	if (!rc)
		lost = t->epoch != w->fence.epoch || t->claim != w->fence.claim;
	store_task_free(t);
	return lost;
}

/* False: no use to go on. */
static bool nap(struct engine *e, int64_t ms)
{
	int64_t until = clock_boot_ms() + ms;
	int64_t now = until - ms;
	bool stopping;

	mutex_lock(&e->lock);
	for (; !e->stopping && now < until; now = clock_boot_ms())
		cond_wait_ms(&e->changed, &e->lock, until - now);
	stopping = e->stopping;
	mutex_unlock(&e->lock);
	return !stopping;
}

static enum bide_rc until_known(struct work *w, struct store_op *op)
{
	int64_t ms = 10;

	if (engine_stopping(w->e))
		return BIDE_LOST; /* left claimed (rule 12) */
	while (store_run(w->e->store, op) != BIDE_OK) {
		log_warn("task.write_again", "task=%lld epoch=%lld outcome=%d",
			 (long long)w->fence.task, (long long)w->fence.epoch,
			 (int)op->outcome);
		if (!nap(w->e, ms) || surely_lost(w))
			return BIDE_LOST;
		ms = ms * 2 < NAP_MAX_MS ? ms * 2 : NAP_MAX_MS;
		op->deadline_ms = clock_boot_ms() + WRITE_MS;
	}
	return op->answer == STORE_LOST ? BIDE_LOST : BIDE_OK;
}

enum bide_rc work_write(struct work *w, struct store_op *op)
{
	enum bide_rc rc;

	writing(w, true);
	rc = until_known(w, op);
	writing(w, false);
	if (!rc)
		return BIDE_OK;
	metric_add(METRIC_TASKS_LOST, 1);
	log_info("task.claim_lost", "task=%lld epoch=%lld",
		 (long long)w->fence.task, (long long)w->fence.epoch);
	return BIDE_LOST;
}

/* ---- how a handler leaves ---- */

/* After an entry: the claim is over, or the handler is entered again. */
enum next { DONE, AGAIN };

static enum next finish(struct work *w, enum store_state state,
			const char *payload)
{
	const char *tool = w->tool ? w->tool->def.name : "";
	struct store_op op;

	store_op_init(&op, STORE_OP_FINISH, WRITE_MS);
	op.u.finish = (struct store_finish){
		.fence = w->fence, .state = state, .payload = payload};
	(void)FAULT_ON("engine.finishing", tool);
	if (work_write(w, &op))
		return DONE;
	(void)FAULT_ON("engine.finished", tool);
	log_info("task.finished", "task=%lld epoch=%lld tool=%s state=%s",
		 (long long)w->fence.task, (long long)w->fence.epoch, tool,
		 store_state_name(state));
	return DONE;
}

static enum next release(struct work *w, enum store_release_why why,
			 int64_t not_before_ms)
{
	struct store_op op;

	store_op_init(&op, STORE_OP_RELEASE, WRITE_MS);
	op.u.release = (struct store_release){
		.fence = w->fence, .why = why, .not_before_ms = not_before_ms};
	if (work_write(w, &op))
		return DONE;
	log_debug("task.released", "task=%lld epoch=%lld why=%d",
		  (long long)w->fence.task, (long long)w->fence.epoch,
		  (int)why);
	claims_due(w->e, store_now_ms(w->e->store) + not_before_ms + 1);
	return DONE;
}

static enum next yields(struct work *w)
{
	if (engine_draining(w->e))
		return release(w, STORE_RELEASE_DRAIN, 0);
	claims_shed_begin(w->e);
	release(w, STORE_RELEASE_YIELD, 0);
	claims_shed_end(w->e);
	return DONE;
}

static enum next parked(struct work *w, int64_t wake_ms)
{
	(void)FAULT_ON("engine.parked", w->tool->def.name);
	log_debug("task.parked", "task=%lld epoch=%lld",
		  (long long)w->fence.task, (long long)w->fence.epoch);
	if (wake_ms)
		claims_due(w->e, wake_ms);
	return DONE;
}

/* Answers came first (rule 4): the claim is still ours, load them and go on,
 * but not for ever while others wait for a worker. */
static enum next go_on(struct work *w)
{
	if (++w->went_on >= WENT_ON_MAX)
		return yields(w);
	return load_questions(w, w->call)
		       ? release(w, STORE_RELEASE_NO_WORKER, LOAD_AGAIN_MS)
		       : AGAIN;
}

/* The earliest moment at which the store wakes the task by itself. */
static int64_t wakes_at(const struct engine *e, const struct asks *a,
			int64_t wake_ms)
{
	int64_t now = store_now_ms(e->store);

	for (size_t i = 0; i < a->n; i++) {
		int64_t ms = a->v[i].deadline_ms;

		if (ms > 0 && (!wake_ms || now + ms < wake_ms))
			wake_ms = now + ms;
	}
	return wake_ms;
}

/* @wake_ms: a sleep's; the deadlines of questions are the store's. */
static enum next park(struct work *w, int64_t wake_ms)
{
	struct asks asks = {0};
	struct store_op op;
	int64_t wakes;
	enum bide_rc rc;

	if (asks_of(w->call, engine_input_deadline_ms(w->e, &w->tool->target),
		    &asks))
		return release(w, STORE_RELEASE_NO_WORKER, LOAD_AGAIN_MS);
	store_op_init(&op, STORE_OP_PARK, WRITE_MS);
	op.u.park = (struct store_park){.fence = w->fence,
					.asks = asks.v,
					.nasks = asks.n,
					.wake_at_ms = wake_ms};
	wakes = wakes_at(w->e, &asks, wake_ms);
	(void)FAULT_ON("engine.parking", w->tool->def.name);
	rc = work_write(w, &op);
	asks_fini(&asks);
	if (rc)
		return DONE;
	return op.answer == STORE_GO_ON ? go_on(w) : parked(w, wakes);
}

static enum next incapable(struct work *w, unsigned missing)
{
	json_t *error = json_pack(
		"{s:i, s:s, s:{s:o}}", "code", MISSING_CAPABILITY, "message",
		"The client lacks a capability that this tool requires", "data",
		"requiredCapabilities", caller_required(missing));
	char *text = error ? jsontext_dup(error, NULL) : NULL;

	finish(w, STORE_FAILED, text ? text : internal_error);
	free(text);
	json_decref(error);
	return DONE;
}

static enum next bug(struct work *w, const char *what)
{
	log_error("task.bug", "task=%lld what=%s", (long long)w->fence.task,
		  what);
	return finish(w, STORE_FAILED, internal_error);
}

static bool told_to_stop(struct work *w)
{
	bool told;

	mutex_lock(&w->e->lock);
	told = w->stop != BIDE_OK;
	mutex_unlock(&w->e->lock);
	return told;
}

static enum next leave(struct work *w, const struct run_result *r)
{
	const char *text = r->text.data ? r->text.data : internal_error;

	switch (r->left) {
	case RUN_COMPLETE:
		if (r->text.failed || !r->text.data)
			return bug(w, "a result without text");
		return finish(w, STORE_COMPLETED, text);
	case RUN_ERROR:
		return finish(w, STORE_FAILED, text);
	case RUN_NEEDS_INPUT:
		return park(w, 0);
	case RUN_SLEEPS:
		return park(w, r->wake_ms);
	case RUN_YIELDS:
		return yields(w);
	case RUN_PERSISTS:
		return bug(w, "a task that persists");
	case RUN_NO_CAPABILITY:
		return incapable(w, r->missing);
	case RUN_STOPPED:
		break;
	}
	if (!told_to_stop(w))
		claims_doubt(w->e); /* by itself: the claim may still stand */
	log_debug("task.stopped", "task=%lld epoch=%lld",
		  (long long)w->fence.task, (long long)w->fence.epoch);
	return DONE;
}

static enum next enter(struct work *w)
{
	struct run_result r = {0};
	int64_t began = clock_boot_us();
	enum next next = DONE;

	guard_begin(w);
	if (w->fence.epoch > 1 || w->went_on)
		note_hold(w);
	metric_add(METRIC_TASKS_RUNNING, 1);
	run_enter(w->call, &r);
	metric_add(METRIC_TASKS_RUNNING, -1);
	metric_observe_us(METRIC_HANDLER_US, clock_boot_us() - began);
	if (!guard_end(w)) {
		note_flush(w);
		next = leave(w, &r);
	}
	note_wait(w);
	run_result_fini(&r);
	return next;
}

/* ---- from claim to end ---- */

/* From here on others may cancel it; who came before left word. */
static void show_call(struct work *w, struct bide_call *c)
{
	enum bide_rc stop;

	mutex_lock(&w->e->lock);
	w->call = c;
	stop = w->stop;
	mutex_unlock(&w->e->lock);
	if (stop)
		run_cancel(c, stop);
}

static void cannot_load(struct work *w, enum bide_rc rc)
{
	if (rc == BIDE_LOST) {
		log_info("task.claim_lost", "task=%lld epoch=%lld",
			 (long long)w->fence.task, (long long)w->fence.epoch);
		metric_add(METRIC_TASKS_LOST, 1);
		return;
	}
	log_error("task.not_loaded", "task=%lld rc=%s",
		  (long long)w->fence.task, error_rc_name(rc));
	if (rc == BIDE_INVALID)
		finish(w, STORE_FAILED, unreadable_error);
	else
		release(w, STORE_RELEASE_NO_WORKER, LOAD_AGAIN_MS);
}

static void serve(struct work *w)
{
	struct bide_call *c = NULL;
	bool answered = false;
	enum bide_rc rc;

	if (engine_draining(w->e)) {
		release(w, STORE_RELEASE_DRAIN, 0);
		return;
	}
	rc = load_call(w, &c, &answered);
	if (rc) {
		cannot_load(w, rc);
		return;
	}
	log_debug("task.claimed", "task=%lld epoch=%lld tool=%s",
		  (long long)w->fence.task, (long long)w->fence.epoch,
		  w->tool->def.name);
	show_call(w, c);
	(void)FAULT_ON("engine.claimed", w->tool->def.name);
	if (answered)
		(void)FAULT_ON("engine.resumed", w->tool->def.name);
	while (enter(w) == AGAIN)
		;
}

static void unlink_locked(struct work *w)
{
	struct engine *e = w->e;

	if (w->prev)
		w->prev->next = w->next;
	else
		e->works = w->next;
	if (w->next)
		w->next->prev = w->prev;
	atomic_fetch_sub(&e->nworks, 1);
	cond_broadcast(&e->changed);
}

/* Nobody else has it, or can find it. */
static void hide(struct work *w)
{
	struct engine *e = w->e;

	mutex_lock(&e->lock);
	while (w->pins)
		cond_wait(&e->changed, &e->lock);
	unlink_locked(w);
	mutex_unlock(&e->lock);
	store_interest_drop(e->store, w->fence.task);
}

static void run(struct job *j)
{
	struct work *w = (struct work *)j;
	struct engine *e = w->e;

	serve(w);
	hide(w);
	run_free(w->call);
	work_free(w);
	claims_unreserve(e);
}

void work_start(struct work *w)
{
	struct engine *e = w->e;

	w->job.fn = run;
	w->wrote_ms = clock_boot_ms();
	w->look_ms = w->wrote_ms + LOOK_EVERY_MS;
	w->limit_ms = NEVER;
	w->over_again_ms = NEVER;
	mutex_lock(&e->lock);
	w->prev = NULL;
	w->next = e->works;
	if (w->next)
		w->next->prev = w;
	e->works = w;
	atomic_fetch_add(&e->nworks, 1);
	mutex_unlock(&e->lock);
	store_interest_add(e->store, w->fence.task);
	pool_submit(e->tasks, &w->job);
}

void work_free(struct work *w)
{
	if (!w)
		return;
	note_fini(&w->note);
	json_decref(w->args);
	free(w->principal);
	free(w->chain_id);
	free(w);
}
