/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/metrics.h"
#include "server/task/engine_priv.h"

/*
 * Claiming: only as many tasks as there are idle workers, one operation at a
 * time, from whichever thread learns of work first.
 */

/* Workers that neither work nor are promised; those who ring want to know. */
static void idle_locked(struct engine *e, size_t idle)
{
	bool none = atomic_load(&e->draining) || e->claims.shedding > 0;

	mutex_assert_held(&e->lock);
	e->idle = idle;
	store_set_idle(e->store, none ? 0 : (int)idle);
}

static bool may_claim_locked(const struct engine *e)
{
	return e->ntools > 0 && e->idle > 0 && !e->stopping &&
	       !atomic_load(&e->draining);
}

bool claims_reserve(struct engine *e)
{
	bool ok;

	mutex_lock(&e->lock);
	ok = may_claim_locked(e);
	if (ok)
		idle_locked(e, e->idle - 1);
	mutex_unlock(&e->lock);
	return ok;
}

/* ---- the claim ---- */

static void claimed(struct store_op *op, void *user);

/* Half of the idle workers, so that tasks created meanwhile find one too. */
static size_t how_many(size_t idle)
{
	size_t n = (idle + 1) / 2;

	return n < CLAIM_MAX ? n : CLAIM_MAX;
}

static bool due_locked(const struct engine *e)
{
	const struct claims *c = &e->claims;

	return c->due_ms != NEVER && store_now_ms(e->store) >= c->due_ms;
}

static bool prepare_locked(struct engine *e)
{
	struct claims *c = &e->claims;
	int64_t now = clock_boot_ms();

	if (c->in_flight || c->shedding || now < c->after_ms ||
	    !may_claim_locked(e))
		return false;
	if (!c->wanted && now < c->rescan_ms && !due_locked(e))
		return false;
	c->in_flight = true;
	c->wanted = false;
	c->due_ms = NEVER;
	c->rescan_ms = now + RESCAN_MS;
	c->reserved = how_many(e->idle);
	idle_locked(e, e->idle - c->reserved);
	store_op_init(&c->op, STORE_OP_CLAIM, CLAIM_MS);
	c->op.u.claim.n = c->reserved;
	c->op.u.claim.ret_fences = c->fences;
	c->op.done = claimed;
	c->op.user = e;
	return true;
}

/* Unlocks. */
static void kick_unlock(struct engine *e)
{
	bool go = prepare_locked(e);

	mutex_unlock(&e->lock);
	if (go)
		store_submit(e->store, &e->claims.op);
}

void claims_kick(struct engine *e)
{
	mutex_lock(&e->lock);
	kick_unlock(e);
}

void claims_want(struct engine *e)
{
	mutex_lock(&e->lock);
	e->claims.wanted = true;
	if (clock_boot_ms() < e->claims.after_ms)
		engine_kick_locked(e);
	kick_unlock(e);
}

/* Work that came while all were busy was told to others, or to nobody. */
void claims_unreserve(struct engine *e)
{
	mutex_lock(&e->lock);
	if (!e->idle)
		e->claims.wanted = true;
	idle_locked(e, e->idle + 1);
	if (clock_boot_ms() < e->claims.after_ms)
		engine_kick_locked(e);
	kick_unlock(e);
}

/*
 * A handler that yields wants its work done elsewhere, where somebody is idle.
 * So while its task goes back this instance seems busy and another is rung,
 * and it claims nothing itself until that one has had its chance.
 */
void claims_shed_begin(struct engine *e)
{
	mutex_lock(&e->lock);
	e->claims.shedding++;
	idle_locked(e, e->idle);
	mutex_unlock(&e->lock);
}

void claims_shed_end(struct engine *e)
{
	int64_t after = clock_boot_ms() + SHED_MS;

	mutex_lock(&e->lock);
	e->claims.shedding--;
	e->claims.wanted = true;
	if (e->claims.after_ms < after)
		e->claims.after_ms = after;
	idle_locked(e, e->idle);
	engine_kick_locked(e);
	mutex_unlock(&e->lock);
}

void claims_due(struct engine *e, int64_t store_ms)
{
	mutex_lock(&e->lock);
	if (store_ms < e->claims.due_ms) {
		e->claims.due_ms = store_ms;
		engine_kick_locked(e);
	}
	mutex_unlock(&e->lock);
}

/* Not at once: the store leaves young claims alone, whose callback may be on
 * its way. */
static void doubt_locked(struct engine *e)
{
	int64_t at = clock_boot_ms() + DOUBT_MS;

	if (at < e->claims.keep_ms)
		e->claims.keep_ms = at;
	engine_kick_locked(e);
}

void claims_doubt(struct engine *e)
{
	mutex_lock(&e->lock);
	doubt_locked(e);
	mutex_unlock(&e->lock);
}

/* A claim whose work finds no memory stays held until the next keep. */
static struct work *make_works(struct engine *e, const struct store_claim *u)
{
	struct work *list = NULL, *w;

	for (size_t i = u->ret_n; i-- > 0;) {
		w = calloc(1, sizeof(*w));
		if (!w) {
			claims_doubt(e);
			continue;
		}
		w->e = e;
		w->fence = u->ret_fences[i];
		w->next = list;
		list = w;
	}
	return list;
}

static void settle_locked(struct engine *e, const struct store_op *op)
{
	struct claims *c = &e->claims;
	const struct store_claim *u = &op->u.claim;

	if (op->outcome != STORE_DONE && op->outcome != STORE_REFUSED) {
		c->wanted = true;
		c->after_ms = clock_boot_ms() + CLAIM_AGAIN_MS;
		if (op->outcome == STORE_UNKNOWN)
			doubt_locked(e);
	} else {
		c->wanted |= u->ret_more;
		if (u->ret_next_due_ms < c->due_ms)
			c->due_ms = u->ret_next_due_ms;
	}
	engine_kick_locked(e);
}

/* On a thread of the store. */
static void claimed(struct store_op *op, void *user)
{
	struct engine *e = user;
	struct work *list = NULL, *next;
	size_t left = e->claims.reserved; /* ours while in flight */
	bool again;

	if (op->outcome == STORE_DONE)
		list = make_works(e, &op->u.claim);
	for (; list; list = next) {
		next = list->next;
		left--;
		metric_add(METRIC_TASKS_CLAIMED, 1);
		work_start(list);
	}
	mutex_lock(&e->lock);
	settle_locked(e, op);
	e->claims.in_flight = false;
	idle_locked(e, e->idle + left);
	again = prepare_locked(e);
	cond_broadcast(&e->changed);
	mutex_unlock(&e->lock);
	/* Else the engine may be gone by now. */
	if (again)
		store_submit(e->store, &e->claims.op);
}

/* ---- keeping: what is held, so that orphans go back (rule 2) ---- */

static void kept(struct store_op *op, void *user)
{
	struct engine *e = user;

	if (op->outcome == STORE_DONE && op->u.keep.ret_returned)
		log_warn("engine.orphans_returned", "claims=%zu",
			 op->u.keep.ret_returned);
	free((void *)(uintptr_t)op->u.keep.held);
	mutex_lock(&e->lock);
	e->claims.keep_in_flight = false;
	if (op->outcome != STORE_DONE && op->outcome != STORE_REFUSED)
		e->claims.keep_ms = clock_boot_ms() + CLAIM_AGAIN_MS;
	cond_broadcast(&e->changed);
	mutex_unlock(&e->lock);
}

static bool keep_locked(struct engine *e, int64_t now)
{
	struct claims *c = &e->claims;
	struct store_fence *held;
	size_t n = 0;

	if (c->keep_in_flight || now < c->keep_ms || e->stopping)
		return false;
	c->keep_ms = now + KEEP_MS;
	held = calloc(atomic_load(&e->nworks) + 1, sizeof(*held));
	if (!held)
		return false;
	for (const struct work *w = e->works; w; w = w->next)
		held[n++] = w->fence;
	store_op_init(&c->keep_op, STORE_OP_KEEP, CLAIM_MS);
	c->keep_op.u.keep.held = held;
	c->keep_op.u.keep.n = n;
	c->keep_op.done = kept;
	c->keep_op.user = e;
	c->keep_in_flight = true;
	return true;
}

/* ---- when again ---- */

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t next_locked(const struct engine *e, int64_t now)
{
	const struct claims *c = &e->claims;
	int64_t at = NEVER;

	if (may_claim_locked(e) && !c->in_flight && !c->shedding) {
		at = c->wanted ? now : c->rescan_ms;
		if (c->due_ms != NEVER)
			at = earlier(at,
				     now + c->due_ms - store_now_ms(e->store));
		if (at < c->after_ms)
			at = c->after_ms;
	}
	return c->keep_in_flight ? at : earlier(at, c->keep_ms);
}

int64_t claims_tick(struct engine *e, int64_t now)
{
	bool keep;
	int64_t next;

	mutex_lock(&e->lock);
	keep = keep_locked(e, now);
	mutex_unlock(&e->lock);
	if (keep)
		store_submit(e->store, &e->claims.keep_op);
	claims_kick(e);
	mutex_lock(&e->lock);
	next = next_locked(e, now);
	mutex_unlock(&e->lock);
	return next;
}
