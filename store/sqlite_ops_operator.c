/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "server/base/clock.h"
#include "server/base/limits.h"
#include "store/sqlite_txn.h"

/* An operator's moves, and the sweeper's. */

static void steered(struct txn *t, const struct row *r, const char *what,
		    const char *by)
{
	char detail[160];

	sqlite3_snprintf(sizeof detail, detail, "%s by %s", what,
			 by ? by : "an operator");
	event_add(t, r->id, EVENT_STEERED, r->epoch, detail);
}

/* Open questions are over; the handler sees that and decides. */
static void expire_inputs(struct txn *t, const struct row *r,
			  const struct store_op *op)
{
	struct tally y = {.task = r->id, .open = 0, .unseen = r->unseen};
	int n = sql_run(t->c, SQL_INPUTS_EXPIRE_ALL, "i", r->id);

	if (n <= 0)
		return;
	y.unseen += n;
	steered(t, r, "questions expired", op->u.steer.by);
	answer_apply(t, r, &y, op);
}

static void answer(struct txn *t, const struct row *r, struct store_op *op)
{
	struct store_steer *u = &op->u.steer;
	struct tally y = {.task = r->id, .open = r->open, .unseen = r->unseen};

	input_answer(t, &y, r->epoch, &u->answer, u->by);
	if (!y.changed)
		return;
	steered(t, r, "answered", u->by);
	answer_apply(t, r, &y, op);
}

static void retry(struct txn *t, const struct row *r, const struct store_op *op,
		  const char *principal)
{
	txn_move(t, r->state, STORE_READY);
	if (sql_run(t->c, SQL_TASK_RETRY, "iiib", r->id, r->epoch, t->now_ms,
		    op->id, STORE_OP_ID_BYTES) != 1)
		return;
	sql_run(t->c, SQL_RESULT_DROP, "i", r->id);
	sql_run(t->c, SQL_QUOTA_ADD, "s", principal);
	steered(t, r, "retried", op->u.steer.by);
	txn_changed(t, r->id);
	txn_ready(t, r->tool_hash);
}

static void retry_row(struct txn *t, const struct row *r,
		      const struct store_op *op)
{
	sqlite3_stmt *st;
	char principal[LIMIT_PRINCIPAL_BYTES + 1];

	if (sql_query(t->c, &st, SQL_ROW_BY_ID, "i", r->id) != SQL_ROW)
		return;
	sqlite3_snprintf(sizeof principal, principal, "%s", sql_str(st, 20));
	sql_reset(st);
	retry(t, r, op, principal);
}

/* True when the move may be made on what is there now. */
static bool may_steer(const struct row *r, struct store_op *op)
{
	const struct store_steer *u = &op->u.steer;
	bool retrying = u->move == STORE_STEER_RETRY;

	op->answer = STORE_OK;
	if (r->same_op)
		return false; /* done before, by this operation */
	op->answer = STORE_ENDED;
	if (store_state_ended(r->state) && !retrying)
		return false;
	op->answer = STORE_CHANGED_MEANWHILE;
	if (r->state != u->seen_state || r->epoch != u->seen_epoch)
		return false;
	if (retrying && r->state != STORE_FAILED) {
		op->answer = store_state_ended(r->state)
				     ? STORE_ENDED
				     : STORE_CHANGED_MEANWHILE;
		return false;
	}
	op->answer = STORE_OK;
	return true;
}

void op_steer(struct txn *t, struct store_op *op)
{
	struct store_steer *u = &op->u.steer;
	struct row r;

	u->answer.ret = STORE_NOT_OPEN;
	op->answer = STORE_NO_SUCH;
	if (!row_by_token(t, u->token, NULL, op, &r) || !may_steer(&r, op))
		return;
	switch (u->move) {
	case STORE_STEER_CANCEL:
		steered(t, &r, "cancelled", u->by);
		task_end(t, &r, STORE_CANCELLED, "Cancelled by the operator.",
			 NULL, op);
		break;
	case STORE_STEER_EXPIRE_INPUTS:
		expire_inputs(t, &r, op);
		break;
	case STORE_STEER_ANSWER:
		answer(t, &r, op);
		break;
	case STORE_STEER_RETRY:
		retry_row(t, &r, op);
		break;
	}
}

/* ---- the sweeper: small batches, docs/design.md, rule 9 ---- */

static size_t first_ids(struct txn *t, enum sql_name name, size_t rows,
			int64_t ids[LIMIT_SWEEP_ROWS])
{
	sqlite3_stmt *st;
	enum sql_result r;
	size_t n = 0;

	r = sql_query(t->c, &st, name, "ii", t->now_ms, (int64_t)rows);
	for (; r == SQL_ROW; r = sql_next(t->c, st))
		ids[n++] = sql_i64(st, 0);
	return n;
}

static bool end_abandoned(struct txn *t, int64_t id, const struct store_op *op)
{
	struct row r;

	if (!row_by_id(t, id, NULL, &r))
		return false;
	event_add(t, id, EVENT_ABANDONED, r.epoch, NULL);
	return task_end(t, &r, STORE_CANCELLED,
			"Nobody came back for this task.", NULL, op);
}

static bool end_expired(struct txn *t, int64_t id, const struct store_op *op)
{
	struct row r;

	if (!row_by_id(t, id, NULL, &r))
		return false;
	event_add(t, id, EVENT_EXPIRED, r.epoch, NULL);
	return task_end(t, &r, STORE_FAILED, NULL,
			"{\"code\":-32603,\"message\":\"The task reached the "
			"end of its time to live before it was done.\"}",
			op);
}

static bool purge(struct txn *t, int64_t id, const struct store_op *op)
{
	static const enum sql_name rest[] = {SQL_PURGE_DATA,   SQL_RESULT_DROP,
					     SQL_PURGE_STEPS,  SQL_PURGE_INPUTS,
					     SQL_PURGE_EVENTS, SQL_PURGE_LOGS};

	(void)op;
	if (sql_run(t->c, SQL_PURGE_TASK, "i", id) != 1)
		return false;
	for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
		sql_run(t->c, rest[i], "i", id);
	txn_changed(t, id);
	return txn_ok(t);
}

static void sweep_tasks(struct txn *t, struct store_op *op, enum sql_name list,
			bool (*one)(struct txn *, int64_t,
				    const struct store_op *))
{
	struct store_sweep *u = &op->u.sweep;
	int64_t until = clock_boot_ms() + LIMIT_SWEEP_MS;
	int64_t ids[LIMIT_SWEEP_ROWS];
	size_t rows = u->rows < LIMIT_SWEEP_ROWS ? u->rows : LIMIT_SWEEP_ROWS;
	size_t n = first_ids(t, list, rows, ids);
	size_t i = 0;

	while (i < n && txn_ok(t) && clock_boot_ms() < until)
		u->ret_done += one(t, ids[i++], op);
	u->ret_more = i < n || (n == rows && n > 0);
}

static void sweep_consumed(struct txn *t, struct store_sweep *u)
{
	size_t rows = u->rows < LIMIT_SWEEP_ROWS ? u->rows : LIMIT_SWEEP_ROWS;
	int n = sql_run(t->c, SQL_SWEEP_CONSUMED, "ii", t->now_ms,
			(int64_t)rows);

	u->ret_done = n > 0 ? (size_t)n : 0;
	u->ret_more = u->ret_done == rows && rows > 0;
}

static void sweep_instances(struct txn *t, struct store_sweep *u)
{
	int64_t id = 0;

	while (u->ret_done < u->rows && txn_ok(t)) {
		id = sql_int(t->c, 0, SQL_INSTANCE_NEXT_GONE, "i", id);
		if (id == 0)
			return;
		if (sql_run(t->c, SQL_INSTANCE_DELETE, "i", id) == 1)
			u->ret_done++;
	}
	u->ret_more = true;
}

void op_sweep(struct txn *t, struct store_op *op)
{
	struct store_sweep *u = &op->u.sweep;

	op->answer = STORE_OK;
	u->ret_done = 0;
	u->ret_more = false;
	switch (u->kind) {
	case STORE_SWEEP_ABANDONED:
		sweep_tasks(t, op, SQL_SWEEP_ABANDONED, end_abandoned);
		break;
	case STORE_SWEEP_EXPIRED:
		sweep_tasks(t, op, SQL_SWEEP_EXPIRED, end_expired);
		break;
	case STORE_SWEEP_ENDED:
		sweep_tasks(t, op, SQL_SWEEP_ENDED, purge);
		break;
	case STORE_SWEEP_CONSUMED:
		sweep_consumed(t, u);
		break;
	case STORE_SWEEP_INSTANCES:
		sweep_instances(t, u);
		break;
	case STORE_SWEEP_TOPICS:
		sweep_topics(t, u);
		break;
	}
}
