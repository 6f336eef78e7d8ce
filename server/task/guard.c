/* SPDX-License-Identifier: MIT */
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/task/engine_priv.h"

/*
 * What may happen to a task while its handler is busy here: somebody cancels
 * it, its claim is lost, it runs longer than it may. All of it is found and
 * told by the engine's thread; rows are read there, never on a thread of the
 * store.
 */

/* Our own writes ring too: one soon after them is most likely ours. */
#define LOOK_REST_MS  20
#define OVER_AGAIN_MS 100

static const char run_error[] =
	"{\"code\":-32603,\"message\":\"The call ran longer than allowed\"}";
static const char ttl_error[] =
	"{\"code\":-32603,\"message\":\"The task outlived its time to live\"}";

void guard_look(struct engine *e, int64_t task)
{
	int64_t now, at;
	bool any = false;

	if (!atomic_load(&e->nworks))
		return;
	now = clock_boot_ms();
	mutex_lock(&e->lock);
	for (struct work *w = e->works; w; w = w->next) {
		if (task && w->fence.task != task)
			continue;
		at = w->writing ? now : w->wrote_ms;
		at += LOOK_REST_MS;
		if (at < w->look_ms) {
			w->look_ms = at;
			any = true;
		}
	}
	if (any)
		engine_kick_locked(e);
	mutex_unlock(&e->lock);
}

static void pin_locked(struct work *w)
{
	w->pins++;
}

static void unpin_locked(struct work *w)
{
	if (--w->pins == 0)
		cond_broadcast(&w->e->changed);
}

/* ---- cancelled, or lost ---- */

static void stop(struct work *w, enum bide_rc why)
{
	struct engine *e = w->e;
	struct bide_call *call;

	mutex_lock(&e->lock);
	if (!w->stop)
		w->stop = why;
	call = w->call; /* pinned */
	mutex_unlock(&e->lock);
	log_info("task.stopping", "task=%lld epoch=%lld why=%s",
		 (long long)w->fence.task, (long long)w->fence.epoch,
		 why == BIDE_CANCELLED ? "cancelled" : "claim lost");
	if (call)
		run_cancel(call, why);
}

static void look(struct work *w)
{
	struct store_task *t = NULL;
	enum bide_rc rc = store_get_id(w->e->store, w->fence.task, 0, 0, &t);

	if (!rc && t->state == STORE_CANCELLED)
		stop(w, BIDE_CANCELLED);
	else if (rc == BIDE_NOT_FOUND || (!rc && (t->epoch != w->fence.epoch ||
						  t->claim != w->fence.claim)))
		stop(w, BIDE_LOST);
	store_task_free(t);
}

/* ---- ran too long ---- */

/* On a thread of the store. @w may be freed once the lock is dropped. */
static void over_done(struct store_op *op, void *user)
{
	struct work *w = user;
	struct engine *e = w->e;
	bool known = op->outcome == STORE_DONE || op->outcome == STORE_REFUSED;

	if (known)
		log_warn("task.ran_too_long", "task=%lld epoch=%lld lost=%s",
			 (long long)w->fence.task, (long long)w->fence.epoch,
			 op->answer == STORE_LOST ? "yes" : "no");
	mutex_lock(&e->lock);
	w->over_in_flight = false;
	if (!known)
		w->over_again_ms = clock_boot_ms() + OVER_AGAIN_MS;
	engine_kick_locked(e);
	cond_broadcast(&e->changed);
	mutex_unlock(&e->lock);
}

static void over_begin_locked(struct work *w)
{
	struct store_finish *u = &w->over_op.u.finish;

	w->over = true;
	w->limit_ms = NEVER;
	w->over_in_flight = true;
	store_op_init(&w->over_op, STORE_OP_FINISH, WRITE_MS);
	u->fence = w->fence;
	u->state = STORE_FAILED;
	u->payload = w->limit_error;
	w->over_op.done = over_done;
	w->over_op.user = w;
}

static void over_again_locked(struct work *w)
{
	w->over_again_ms = NEVER;
	w->over_in_flight = true;
	w->over_op.deadline_ms = clock_boot_ms() + WRITE_MS;
}

/* ---- entries ---- */

void guard_begin(struct work *w)
{
	int64_t now = clock_boot_ms();
	int64_t run = w->tool->def.max_run_ms;
	int64_t limit = run > 0 ? now + run : NEVER;
	int64_t ttl = NEVER;

	if (w->expires_ms)
		ttl = now + w->expires_ms - store_now_ms(w->e->store);
	mutex_lock(&w->e->lock);
	w->inside = true;
	w->limit_ms = limit < ttl ? limit : ttl;
	w->limit_error = limit < ttl ? run_error : ttl_error;
	if (w->limit_ms != NEVER)
		engine_kick_locked(w->e);
	mutex_unlock(&w->e->lock);
}

bool guard_end(struct work *w)
{
	struct engine *e = w->e;
	bool over;

	mutex_lock(&e->lock);
	w->inside = false;
	over = w->over;
	while (w->over_in_flight || (w->over_again_ms != NEVER && !e->stopping))
		cond_wait(&e->changed, &e->lock);
	mutex_unlock(&e->lock);
	return over;
}

/* ---- the engine's thread ---- */

enum due { DUE_NOTHING, DUE_LOOK, DUE_OVER, DUE_OVER_AGAIN, DUE_NOTE };

static void soonest(int64_t *next, int64_t at)
{
	if (at < *next)
		*next = at;
}

/* What is due of one work, taken; @next: else when. */
static enum due take_locked(struct work *w, int64_t now, int64_t *next)
{
	if (w->look_ms <= now) {
		w->look_ms = now + LOOK_EVERY_MS;
		w->wrote_ms = now;
		return w->inside && !w->stop ? DUE_LOOK : DUE_NOTHING;
	}
	if (w->inside && !w->over && w->limit_ms <= now) {
		over_begin_locked(w);
		return DUE_OVER;
	}
	if (w->over_again_ms <= now) {
		over_again_locked(w);
		return DUE_OVER_AGAIN;
	}
	if (note_due_locked(w) <= now && note_take_locked(w))
		return DUE_NOTE;
	soonest(next, w->look_ms);
	soonest(next, w->inside && !w->over ? w->limit_ms : NEVER);
	soonest(next, w->over_again_ms);
	soonest(next, note_due_locked(w));
	return DUE_NOTHING;
}

static void act(struct work *w, enum due due)
{
	switch (due) {
	case DUE_LOOK:
		look(w);
		break;
	case DUE_OVER:
		if (w->call)
			run_cancel(w->call, BIDE_CANCELLED);
		store_submit(w->e->store, &w->over_op);
		break;
	case DUE_OVER_AGAIN:
		store_submit(w->e->store, &w->over_op);
		break;
	case DUE_NOTE:
		note_send(w);
		break;
	case DUE_NOTHING:
		break;
	}
}

int64_t guard_tick(struct engine *e, int64_t now)
{
	int64_t next = NEVER;
	enum due due;
	struct work *w;

	mutex_lock(&e->lock);
	for (w = e->works; w;) {
		due = take_locked(w, now, &next);
		if (due == DUE_NOTHING) {
			w = w->next;
			continue;
		}
		pin_locked(w);
		mutex_unlock(&e->lock);
		act(w, due);
		mutex_lock(&e->lock);
		unpin_locked(w); /* it stays until the lock is dropped */
	}
	mutex_unlock(&e->lock);
	return next;
}
