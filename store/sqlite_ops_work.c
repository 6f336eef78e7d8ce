/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "store/sqlite_txn.h"

/*
 * What the holder of a claim writes. Each statement carries task, epoch, claim
 * number and state, and one row changes or the claim is lost: docs/design.md,
 * "Tasks in the store", rule 2.
 */

/* The two ways a step is not recorded: it is already, or the claim is gone. */
static void step_refused(struct txn *t, struct store_op *op)
{
	struct store_step *u = &op->u.step;
	sqlite3_stmt *st;
	struct row r;

	op->answer = STORE_LOST;
	if (!row_by_id(t, u->fence.task, NULL, &r) ||
	    !row_fenced(&r, &u->fence) || r.state != STORE_RUNNING)
		return;
	if (sql_query(t->c, &st, SQL_STEP_GET, "is", u->fence.task,
		      u->step.key) != SQL_ROW)
		return;
	op->answer = STORE_SAME;
	u->ret_result = sql_dup(st, 0);
	if (!u->ret_result)
		t->nomem = true;
	sql_reset(st);
}

void op_step(struct txn *t, struct store_op *op)
{
	struct store_step *u = &op->u.step;
	const struct store_fence *f = &u->fence;

	u->ret_result = NULL;
	op->answer = STORE_OK;
	if (sql_run(t->c, SQL_STEP_ADD, "iiisiis", f->task, f->epoch, f->claim,
		    u->step.key, txn_seq(t), t->s->instance,
		    u->step.result) != 1) {
		step_refused(t, op);
		return;
	}
	sql_run(t->c, SQL_TASK_PROGRESSED, "iii", f->task, f->epoch, f->claim);
}

void op_note(struct txn *t, struct store_op *op)
{
	const struct store_note *u = &op->u.note;
	const struct store_fence *f = &u->fence;

	op->answer = STORE_LOST;
	if (sql_run(t->c, SQL_TASK_NOTE, "iiiddssi", f->task, f->epoch,
		    f->claim, u->progress, u->total, u->progress_message,
		    u->status, t->now_ms) != 1)
		return;
	op->answer = STORE_OK;
	for (size_t i = 0; i < u->nlogs; i++)
		sql_run(t->c, SQL_LOG_ADD, "iiiss", f->task, txn_seq(t),
			(int64_t)u->logs[i].level, u->logs[i].logger,
			u->logs[i].data);
	txn_changed(t, f->task);
}

static bool has_open(struct txn *t, const struct store_fence *f)
{
	sqlite3_stmt *st;

	if (sql_query(t->c, &st, SQL_INPUTS_OPEN_KEYS, "i", f->task) != SQL_ROW)
		return false;
	sql_reset(st);
	return true;
}

/* An end keeps epoch and claim number, so it is known when it is run again. */
static enum store_answer finish_refused(struct txn *t,
					const struct store_fence *f)
{
	struct row r;

	if (row_by_id(t, f->task, NULL, &r) && row_fenced(&r, f) &&
	    store_state_ended(r.state))
		return STORE_SAME;
	return STORE_LOST;
}

void op_finish(struct txn *t, struct store_op *op)
{
	const struct store_finish *u = &op->u.finish;
	const struct store_fence *f = &u->fence;
	sqlite3_stmt *st;

	txn_move(t, STORE_RUNNING, u->state);
	if (sql_query(t->c, &st, SQL_TASK_FINISH, "iiiiis", f->task, f->epoch,
		      f->claim, (int64_t)u->state, t->now_ms,
		      u->status) != SQL_ROW) {
		op->answer = finish_refused(t, f);
		return;
	}
	op->answer = STORE_OK;
	event_add(t, f->task, EVENT_FINISHED, f->epoch,
		  store_state_name(u->state));
	task_ended(t, f->task, sql_str(st, 0), has_open(t, f), u->payload);
	sql_reset(st);
}

/* An own release that was run before raised the epoch by one. */
static enum store_answer release_refused(struct txn *t,
					 const struct store_fence *f)
{
	struct row r;

	if (row_by_id(t, f->task, NULL, &r) && r.claim == f->claim &&
	    r.epoch > f->epoch && r.state == STORE_READY)
		return STORE_OK;
	return STORE_LOST;
}

void op_release(struct txn *t, struct store_op *op)
{
	static const char *const why[] = {
		[STORE_RELEASE_YIELD] = "yield",
		[STORE_RELEASE_DRAIN] = "drain",
		[STORE_RELEASE_NO_WORKER] = "no worker",
		[STORE_RELEASE_CRASH] = "crash",
	};
	const struct store_release *u = &op->u.release;

	if (task_return(t, &u->fence, u->why == STORE_RELEASE_CRASH,
			u->not_before_ms, EVENT_RELEASED, why[u->why]))
		op->answer = STORE_OK;
	else
		op->answer = release_refused(t, &u->fence);
}
