/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "store/sqlite_txn.h"

/* What comes from the callers' side: cancel, touch, consume, keys. */

/*
 * Cancel and completion exclude each other in the row. The epoch is raised, so
 * the claim that runs can write nothing more: docs/design.md, rule 6.
 */
void op_cancel(struct txn *t, struct store_op *op)
{
	const struct store_cancel *u = &op->u.cancel;
	struct row r;

	op->answer = STORE_NO_SUCH;
	if (!row_by_token(t, u->token, u->principal, op, &r))
		return;
	op->answer = r.same_op ? STORE_CANCELLED_NOW : STORE_ENDED;
	if (store_state_ended(r.state))
		return;
	op->answer = STORE_CANCELLED_NOW;
	event_add(t, r.id, EVENT_CANCELLED, r.epoch, u->reason);
	task_end(t, &r, STORE_CANCELLED, u->reason, NULL, op);
}

/*
 * Who waits, and when the task is abandoned. A waiter whose instance died never
 * leaves; no count outlives the latest end of a wait (waits_until), and
 * abandon_at lies past that, so nothing hangs on a count.
 */
struct wait {
	int64_t waiters, until, abandon_at;
};

static int64_t after(const struct txn *t, int64_t ms)
{
	return ms < 0 ? 0 : t->now_ms + ms;
}

static void join(const struct txn *t, const struct row *r, int64_t ms,
		 struct wait *w)
{
	int64_t until = t->now_ms + ms;
	int64_t abandon_at = until + r->grace_ms;

	w->waiters++;
	if (until > w->until)
		w->until = until;
	if (w->waiters == 1 || abandon_at > w->abandon_at)
		w->abandon_at = abandon_at;
	if (r->goes_on)
		w->abandon_at = 0;
}

/* One left, to come back or not: others that wait keep what they have. */
static void leave(const struct txn *t, int64_t ms, struct wait *w)
{
	int64_t abandon_at = after(t, ms);

	if (w->waiters > 0)
		w->waiters--;
	if (w->waiters == 0 || abandon_at == 0 ||
	    (w->abandon_at != 0 && abandon_at > w->abandon_at))
		w->abandon_at = abandon_at;
}

static void gone(const struct txn *t, const struct row *r, int64_t ms,
		 struct wait *w)
{
	if (w->waiters > 0)
		w->waiters--;
	if (w->waiters > 0)
		return;
	w->abandon_at = r->goes_on ? 0 : after(t, ms > 0 ? ms : r->grace_ms);
}

static void delivered(const struct txn *t, int64_t ms, struct wait *w)
{
	int64_t abandon_at = after(t, ms);

	if (w->waiters == 0 || abandon_at == 0 ||
	    (w->abandon_at != 0 && abandon_at > w->abandon_at))
		w->abandon_at = abandon_at;
}

void op_touch(struct txn *t, struct store_op *op)
{
	const struct store_touch *u = &op->u.touch;
	struct wait w;
	struct row r;

	op->answer = STORE_NO_SUCH;
	if (!row_by_id(t, u->task, op, &r))
		return;
	op->answer = STORE_ENDED;
	if (store_state_ended(r.state))
		return;
	op->answer = STORE_OK;
	if (r.same_op)
		return;
	w.waiters = r.waits_until > t->now_ms ? r.waiters : 0;
	w.until = r.waits_until;
	w.abandon_at = r.abandon_at;
	switch (u->what) {
	case STORE_TOUCH_DELIVERED:
		delivered(t, u->ms, &w);
		break;
	case STORE_TOUCH_JOIN:
		join(t, &r, u->ms, &w);
		break;
	case STORE_TOUCH_LEAVE:
		leave(t, u->ms, &w);
		break;
	case STORE_TOUCH_GONE:
		gone(t, &r, u->ms, &w);
		break;
	}
	sql_run(t->c, SQL_TASK_TOUCH, "iiiob", r.id, w.waiters, w.until,
		w.abandon_at, op->id, STORE_OP_ID_BYTES);
}

static void consumed_before(struct txn *t, struct store_op *op)
{
	struct store_consume *u = &op->u.consume;
	sqlite3_stmt *st;

	if (sql_query(t->c, &st, SQL_CONSUMED_GET, "s", u->id) != SQL_ROW) {
		t->nomem |= t->c->rc == SQLITE_OK; /* cannot be: roll back */
		return;
	}
	if (strcmp(sql_str(st, 0), u->digest) != 0) {
		op->answer = STORE_CONFLICT;
	} else if (memcmp(sqlite3_column_blob(st, 2), op->id,
			  STORE_OP_ID_BYTES) == 0) {
		op->answer = STORE_STORED;
	} else {
		op->answer = STORE_EARLIER;
		u->ret_outcome = sql_dup(st, 1);
		t->nomem |= !u->ret_outcome;
	}
	sql_reset(st);
}

void op_consume(struct txn *t, struct store_op *op)
{
	struct store_consume *u = &op->u.consume;

	u->ret_outcome = NULL;
	op->answer = STORE_STORED;
	if (sql_run(t->c, SQL_CONSUME, "sbssi", u->id, op->id,
		    STORE_OP_ID_BYTES, u->digest, u->outcome,
		    t->now_ms + u->keep_ms) == 0)
		consumed_before(t, op);
}

static void read_ring(struct txn *t, struct store_key_op *u)
{
	sqlite3_stmt *st;
	enum sql_result r;

	u->ret_n = 0;
	r = sql_query(t->c, &st, SQL_KEY_LIST, "i", (int64_t)STORE_KEYS_MAX);
	for (; r == SQL_ROW; r = sql_next(t->c, st)) {
		struct store_key *k = &u->ret_ring[u->ret_n++];

		memset(k, 0, sizeof *k);
		strncpy(k->kid, sql_str(st, 0), sizeof k->kid - 1);
		if (sqlite3_column_bytes(st, 1) == STORE_KEY_BYTES)
			memcpy(k->key, sqlite3_column_blob(st, 1),
			       STORE_KEY_BYTES);
	}
}

void op_key(struct txn *t, struct store_op *op)
{
	struct store_key_op *u = &op->u.key;

	op->answer = STORE_OK;
	read_ring(t, u);
	if (u->ret_n > 0 && !u->rotate)
		return;
	if (sql_run(t->c, SQL_KEY_ADD, "sbi", u->candidate.kid,
		    u->candidate.key, STORE_KEY_BYTES, t->now_ms) == 1)
		t->everything |= u->rotate;
	read_ring(t, u);
}
