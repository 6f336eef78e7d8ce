/* SPDX-License-Identifier: MIT */
#include "store/sqlite_txn.h"

/*
 * Asking and parking. Parking looks for answers in its own transaction, so one
 * that came first is never lost: docs/design.md, "Tasks in the store", rule 4.
 */

static bool held(struct txn *t, const struct store_fence *f, struct row *r)
{
	return row_by_id(t, f->task, NULL, r) && row_fenced(r, f) &&
	       r->state == STORE_RUNNING;
}

static void ask_all(struct txn *t, const struct store_park *u, struct tally *y)
{
	for (size_t i = 0; i < u->nasks; i++)
		input_ask(t, y, u->fence.epoch, &u->asks[i]);
}

static void write_row(struct txn *t, enum sql_name name,
		      const struct store_fence *f, const struct tally *y)
{
	int n;

	if (name == SQL_TASK_GO_ON)
		n = sql_run(t->c, name, "iiiiii", f->task, f->epoch, f->claim,
			    y->open, (int64_t)y->changed, t->now_ms);
	else
		n = sql_run(t->c, name, "iiiiiii", f->task, f->epoch, f->claim,
			    y->open, y->unseen, (int64_t)y->changed, t->now_ms);
	if (n == 0)
		t->c->rc = SQLITE_INTERNAL; /* the fence was checked above */
	if (y->changed)
		txn_changed(t, f->task);
}

void op_ask(struct txn *t, struct store_op *op)
{
	const struct store_park *u = &op->u.park;
	struct tally y = {.task = u->fence.task};
	struct row r;

	op->answer = STORE_LOST;
	if (!held(t, &u->fence, &r))
		return;
	op->answer = STORE_OK;
	y.open = r.open;
	y.unseen = r.unseen;
	ask_all(t, u, &y);
	if (y.changed)
		write_row(t, SQL_TASK_ASKED, &u->fence, &y);
}

static int64_t earlier(int64_t a, int64_t b)
{
	if (a == 0 || (b != 0 && b < a))
		return b;
	return a;
}

/* Nothing left to wait for, or the time has come. */
static bool must_go_on(const struct txn *t, const struct tally *y, bool expired,
		       int64_t wake_at)
{
	if (expired || (wake_at != 0 && wake_at <= t->now_ms))
		return true;
	return y->open == 0 && (y->unseen > 0 || wake_at == 0);
}

static void park_row(struct txn *t, const struct store_park *u,
		     const struct tally *y, int64_t wake_at)
{
	const struct store_fence *f = &u->fence;

	txn_move(t, STORE_RUNNING, STORE_WAITING);
	if (sql_run(t->c, SQL_TASK_PARK, "iiiiooii", f->task, f->epoch,
		    f->claim, y->open, wake_at, u->wake_at_ms,
		    (int64_t)y->changed, t->now_ms) == 0)
		t->c->rc = SQLITE_INTERNAL; /* the fence was checked above */
	event_add(t, f->task, EVENT_PARKED, f->epoch, NULL);
	if (y->changed)
		txn_changed(t, f->task);
}

/* A park that was run before left the fence and took the state away; an answer
 * or the timer may have taken it further, but never under this claim. */
static enum store_answer park_refused(const struct row *r,
				      const struct store_fence *f)
{
	if (row_fenced(r, f) &&
	    (r->state == STORE_WAITING || r->state == STORE_READY))
		return STORE_PARKED;
	return STORE_LOST;
}

void op_park(struct txn *t, struct store_op *op)
{
	const struct store_park *u = &op->u.park;
	struct tally y = {.task = u->fence.task};
	struct row r = {0};
	int64_t wake_at;
	bool expired;

	if (!held(t, &u->fence, &r)) {
		op->answer = park_refused(&r, &u->fence);
		return;
	}
	y.open = r.open;
	y.unseen = r.unseen;
	expired = input_expire_due(t, &y);
	if (expired)
		event_add(t, r.id, EVENT_DEADLINE, r.epoch, NULL);
	input_withdraw_others(t, &y, r.epoch, u->asks, u->nasks);
	ask_all(t, u, &y);
	wake_at = earlier(u->wake_at_ms, input_next_deadline(t, &y));
	if (must_go_on(t, &y, expired, wake_at)) {
		op->answer = STORE_GO_ON;
		write_row(t, SQL_TASK_GO_ON, &u->fence, &y);
		event_add(t, r.id, EVENT_WENT_ON, r.epoch, NULL);
	} else {
		op->answer = STORE_PARKED;
		park_row(t, u, &y, wake_at);
	}
}
