/* SPDX-License-Identifier: MIT */
#include "store/sqlite_txn.h"

/*
 * Answers. The answer to the last open question and READY are one transaction:
 * docs/design.md, rule 5.
 */

static int64_t next_wake(struct txn *t, const struct row *r,
			 const struct tally *y)
{
	int64_t deadline = input_next_deadline(t, y);

	if (r->timer_at == 0 || (deadline != 0 && deadline < r->timer_at))
		return deadline;
	return r->timer_at;
}

bool answer_apply(struct txn *t, const struct row *r, const struct tally *y,
		  const struct store_op *op)
{
	bool ready = r->state == STORE_WAITING && y->open == 0 && y->unseen > 0;
	bool waiting = r->state == STORE_WAITING && !ready;
	int64_t state = ready ? STORE_READY : r->state;
	int64_t ready_at = ready ? t->now_ms : r->ready_at;

	if (ready)
		txn_move(t, r->state, STORE_READY);
	if (sql_run(t->c, SQL_TASK_ANSWERED, "iiiioooibi", r->id, state,
		    y->open, y->unseen, ready_at,
		    waiting ? next_wake(t, r, y) : (int64_t)0,
		    waiting ? r->timer_at : (int64_t)0, t->now_ms, op->id,
		    STORE_OP_ID_BYTES, (int64_t)r->state) == 0)
		t->c->rc = SQLITE_INTERNAL; /* nobody else is writing */
	txn_changed(t, r->id);
	if (ready)
		txn_ready(t, r->tool_hash);
	return ready;
}

static void none_open(struct store_answer_op *u)
{
	for (size_t i = 0; i < u->n; i++)
		u->answers[i].ret = STORE_NOT_OPEN;
}

void op_answer(struct txn *t, struct store_op *op)
{
	struct store_answer_op *u = &op->u.answer;
	struct tally y = {0};
	struct row r;

	none_open(u);
	u->ret_ready = false;
	u->ret_open = 0;
	op->answer = STORE_NO_SUCH;
	if (!row_by_token(t, u->token, u->principal, op, &r))
		return;
	op->answer = STORE_ENDED;
	if (store_state_ended(r.state))
		return;
	op->answer = STORE_OK;
	y.task = r.id;
	y.open = r.open;
	y.unseen = r.unseen;
	for (size_t i = 0; i < u->n; i++)
		input_answer(t, &y, r.epoch, &u->answers[i], u->by);
	if (y.changed)
		u->ret_ready = answer_apply(t, &r, &y, op);
	if (u->caller)
		sql_run(t->c, SQL_TASK_CALLER, "isb", r.id, u->caller, op->id,
			STORE_OP_ID_BYTES);
	u->ret_open = (int)y.open;
}
