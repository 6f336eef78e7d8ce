/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/limits.h"
#include "server/base/log.h"
#include "store/sqlite_txn.h"

static void read_row(sqlite3_stmt *st, const struct store_op *op, struct row *r)
{
	int i = 0;

	r->id = sql_i64(st, i++);
	r->state = (enum store_state)sql_i32(st, i++);
	r->epoch = sql_i64(st, i++);
	r->claim = sql_i64(st, i++);
	r->owner = sql_i64(st, i++);
	r->open = sql_i64(st, i++);
	r->unseen = sql_i64(st, i++);
	r->crashes = sql_i64(st, i++);
	r->ready_at = sql_i64(st, i++);
	r->wake_at = sql_i64(st, i++);
	r->timer_at = sql_i64(st, i++);
	r->waiters = sql_i64(st, i++);
	r->waits_until = sql_i64(st, i++);
	r->abandon_at = sql_i64(st, i++);
	r->goes_on = sql_i32(st, i++) != 0;
	r->created_ms = sql_i64(st, i++);
	r->retention_ms = sql_i64(st, i++);
	r->grace_ms = sql_i64(st, i++);
	r->ttl_ms = sql_i64(st, i++);
	r->same_op = op && sqlite3_column_bytes(st, i) == STORE_OP_ID_BYTES &&
		     memcmp(sqlite3_column_blob(st, i), op->id,
			    STORE_OP_ID_BYTES) == 0;
	i += 2; /* last_op, principal */
	r->tool_hash = peers_tool_hash(sql_str(st, i));
}

/*
 * Another principal's task is told from none by nothing, time included: both
 * ways read one row.
 */
bool row_by_token(struct txn *t, const char *token, const char *principal,
		  const struct store_op *op, struct row *ret)
{
	sqlite3_stmt *st;
	bool mine;

	if (sql_query(t->c, &st, SQL_ROW_BY_TOKEN, "s", token) != SQL_ROW) {
		if (sql_query(t->c, &st, SQL_GET_DECOY, "") == SQL_ROW)
			sql_reset(st);
		return false;
	}
	mine = !principal || strcmp(sql_str(st, 20), principal) == 0;
	if (mine)
		read_row(st, op, ret);
	sql_reset(st);
	return mine;
}

bool row_by_id(struct txn *t, int64_t id, const struct store_op *op,
	       struct row *ret)
{
	sqlite3_stmt *st;

	if (sql_query(t->c, &st, SQL_ROW_BY_ID, "i", id) != SQL_ROW)
		return false;
	read_row(st, op, ret);
	sql_reset(st);
	return true;
}

bool row_fenced(const struct row *r, const struct store_fence *f)
{
	return r->id == f->task && r->epoch == f->epoch && r->claim == f->claim;
}

void txn_move(struct txn *t, enum store_state from, enum store_state to)
{
	if (store_state_may_move(from, to))
		return;
	log_error("store.move_forbidden", "from=%s to=%s",
		  store_state_name(from), store_state_name(to));
	t->c->rc = SQLITE_INTERNAL;
}

int64_t random_claim(void)
{
	int64_t v;

	sqlite3_randomness(sizeof v, &v);
	return v;
}

static const char *const event_names[] = {
	[EVENT_STEP] = "step",           [EVENT_CREATED] = "created",
	[EVENT_CLAIMED] = "claimed",     [EVENT_ASKED] = "asked",
	[EVENT_PARKED] = "parked",       [EVENT_ANSWERED] = "answered",
	[EVENT_RELEASED] = "released",   [EVENT_REAPED] = "reaped",
	[EVENT_CANCELLED] = "cancelled", [EVENT_FINISHED] = "finished",
	[EVENT_EXPIRED] = "expired",     [EVENT_ABANDONED] = "abandoned",
	[EVENT_CRASHED] = "crashed",     [EVENT_REASKED] = "reasked",
	[EVENT_WITHDRAWN] = "withdrawn", [EVENT_DEADLINE] = "deadline",
	[EVENT_STEERED] = "steered",     [EVENT_WENT_ON] = "went_on",
};

const char *event_name(int kind)
{
	size_t n = sizeof event_names / sizeof *event_names;

	if (kind < 0 || (size_t)kind >= n)
		return "unknown"; /* a newer program's */
	return event_names[kind];
}

void event_add(struct txn *t, int64_t task, enum event_kind kind, int64_t epoch,
	       const char *detail)
{
	sql_run(t->c, SQL_EVENT_ADD, "iiiiis", task, txn_seq(t), (int64_t)kind,
		t->s->instance, epoch, detail);
}

static void quota_give_back(struct txn *t, const char *principal)
{
	sqlite3_stmt *st;
	int64_t live;

	if (sql_query(t->c, &st, SQL_QUOTA_TAKE, "s", principal) != SQL_ROW)
		return;
	live = sql_i64(st, 0);
	sql_reset(st);
	if (live <= 0)
		sql_run(t->c, SQL_QUOTA_DROP, "s", principal);
}

void task_ended(struct txn *t, int64_t task, const char *principal,
		bool had_questions, const char *payload)
{
	quota_give_back(t, principal);
	if (had_questions)
		sql_run(t->c, SQL_INPUTS_WITHDRAW, "i", task);
	if (payload)
		sql_run(t->c, SQL_RESULT_PUT, "is", task, payload);
	txn_changed(t, task);
}

bool task_end(struct txn *t, const struct row *r, enum store_state to,
	      const char *status, const char *error, const struct store_op *op)
{
	sqlite3_stmt *st;

	txn_move(t, r->state, to);
	if (sql_query(t->c, &st, SQL_TASK_END, "iiiisb", r->id, r->epoch,
		      (int64_t)to, t->now_ms, status, op->id,
		      STORE_OP_ID_BYTES) != SQL_ROW)
		return false;
	task_ended(t, r->id, sql_str(st, 0), r->open > 0, error);
	sql_reset(st);
	return txn_ok(t);
}

static void crashed_out(struct txn *t, const struct store_fence *f,
			const struct store_op *op)
{
	struct row r;
	char error[200];

	snprintf(error, sizeof error,
		 "{\"code\":-32603,\"message\":\"The server process that ran "
		 "this task died %d times in a row without progress.\"}",
		 LIMIT_CRASHES);
	if (!row_by_id(t, f->task, NULL, &r))
		return;
	event_add(t, r.id, EVENT_CRASHED, r.epoch, NULL);
	task_end(t, &r, STORE_FAILED, NULL, error, op);
}

bool task_return(struct txn *t, const struct store_fence *f, bool crashed,
		 int64_t not_before_ms, enum event_kind kind,
		 const char *detail)
{
	static const struct store_op nobody;
	sqlite3_stmt *st;
	struct row r;
	int64_t crashes;

	txn_move(t, STORE_RUNNING, STORE_READY);
	if (sql_query(t->c, &st, SQL_TASK_RELEASE, "iiiii", f->task, f->epoch,
		      f->claim, t->now_ms + not_before_ms,
		      (int64_t)crashed) != SQL_ROW)
		return false;
	crashes = sql_i64(st, 0);
	sql_reset(st);
	event_add(t, f->task, kind, f->epoch, detail);
	if (crashed && crashes >= LIMIT_CRASHES)
		crashed_out(t, f, &nobody);
	else if (row_by_id(t, f->task, NULL, &r))
		txn_ready(t, r.tool_hash);
	return txn_ok(t);
}
