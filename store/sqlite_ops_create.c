/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "server/base/metrics.h"
#include "store/sqlite_txn.h"

/* What CREATED_BY_* tells of an earlier task. */
struct earlier {
	bool same_caller;
	bool same_work; /* principal, tool and arguments */
	bool mine;      /* held by this instance since its creation */
	struct store_fence fence;
};

static bool find(struct txn *t, enum sql_name by, const char *a, const char *b,
		 struct store_create *u, struct earlier *ret)
{
	sqlite3_stmt *st;
	enum sql_result r;

	if (b)
		r = sql_query(t->c, &st, by, "ss", a, b);
	else
		r = sql_query(t->c, &st, by, "s", a);
	if (r != SQL_ROW)
		return false;
	ret->fence.task = sql_i64(st, 0);
	snprintf(u->ret_token, sizeof u->ret_token, "%s", sql_str(st, 1));
	u->ret_flow = (enum store_flow)sql_i32(st, 2);
	u->ret_state = (enum store_state)sql_i32(st, 3);
	u->ret_created_ms = sql_i64(st, 4);
	ret->fence.epoch = sql_i64(st, 5);
	ret->fence.claim = sql_i64(st, 6);
	ret->mine = u->ret_state == STORE_RUNNING && ret->fence.epoch == 1 &&
		    sql_i64(st, 7) == t->s->instance;
	ret->same_caller = strcmp(sql_str(st, 8), u->principal) == 0;
	ret->same_work = ret->same_caller &&
			 strcmp(sql_str(st, 9), u->tool) == 0 &&
			 strcmp(sql_str(st, 10), u->args_digest) == 0;
	sql_reset(st);
	return true;
}

/*
 * The task exists already: this very operation run again (its token), a last
 * round repeated (its chain), or a first call repeated (its idempotency key).
 */
static bool existing(struct txn *t, struct store_op *op)
{
	struct store_create *u = &op->u.create;
	struct earlier e;

	if (find(t, SQL_CREATED_BY_TOKEN, u->token, NULL, u, &e)) {
		op->answer = e.same_work ? STORE_SAME : STORE_CONFLICT;
		if (e.same_work && u->claim && e.mine) {
			op->answer = STORE_CREATED;
			u->ret_fence = e.fence;
			return true;
		}
	} else if (u->chain_id &&
		   find(t, SQL_CREATED_BY_CHAIN, u->chain_id, NULL, u, &e)) {
		op->answer = e.same_caller ? STORE_SAME : STORE_CONFLICT;
	} else if (u->idem_key && find(t, SQL_CREATED_BY_IDEM, u->principal,
				       u->idem_key, u, &e)) {
		op->answer = e.same_work ? STORE_SAME : STORE_CONFLICT;
	} else {
		return false;
	}
	if (op->answer == STORE_SAME)
		u->ret_fence.task = e.fence.task;
	else
		u->ret_token[0] = '\0'; /* nothing of it is told */
	return true;
}

static bool at_ceiling(struct txn *t, const struct store_create *u)
{
	return u->max_live > 0 && sql_int(t->c, 0, SQL_QUOTA_GET, "s",
					  u->principal) >= u->max_live;
}

static int64_t abandon_at(const struct txn *t, const struct store_create *u)
{
	if (u->waiting_ms > 0)
		return u->goes_on ? 0 : t->now_ms + u->waiting_ms + u->grace_ms;
	return u->abandon_ms >= 0 ? t->now_ms + u->abandon_ms : 0;
}

static int insert_task(struct txn *t, struct store_op *op, bool claim)
{
	struct store_create *u = &op->u.create;
	int64_t now = t->now_ms;
	int64_t waiting = u->waiting_ms > 0 ? 1 : 0;
	int n;

	u->ret_fence.epoch = claim ? 1 : 0;
	u->ret_fence.claim = claim ? random_claim() : 0;
	u->ret_state = claim ? STORE_RUNNING : STORE_READY;
	n = sql_run(
		t->c, SQL_TASK_INSERT, "iiioioiiooiiiiibsssssss",
		(int64_t)u->ret_state, u->ret_fence.epoch, u->ret_fence.claim,
		claim ? t->s->instance : (int64_t)0, (int64_t)u->flow,
		claim ? (int64_t)0 : now, waiting,
		waiting ? now + u->waiting_ms : (int64_t)0, abandon_at(t, u),
		u->ttl_ms >= 0 ? now + u->ttl_ms : (int64_t)0,
		(int64_t)u->goes_on, now, u->ttl_ms, u->retention_ms,
		u->grace_ms, op->id, STORE_OP_ID_BYTES, u->token, u->principal,
		u->tool, u->tool_version, u->idem_key, u->chain_id, u->caller);
	if (n == 1)
		u->ret_fence.task = sqlite3_last_insert_rowid(t->c->db);
	return n;
}

/* What an ephemeral call knew when it became a task. */
static void carry_over(struct txn *t, const struct store_create *u)
{
	int64_t task = u->ret_fence.task;

	for (size_t i = 0; i < u->nsteps; i++)
		sql_run(t->c, SQL_STEP_CARRY, "isiiis", task, u->steps[i].key,
			txn_seq(t), u->ret_fence.epoch, t->s->instance,
			u->steps[i].result);
	for (size_t i = 0; i < u->nanswered; i++) {
		const struct store_ask *a = &u->answered_asks[i];

		sql_run(t->c, SQL_INPUT_ADD, "issiiiiinsss", task, a->key,
			a->key, (int64_t)1, (int64_t)STORE_INPUT_ANSWERED,
			(int64_t)a->kind, t->now_ms, t->now_ms, u->principal,
			a->request, u->answers[i]);
	}
}

void op_create(struct txn *t, struct store_op *op)
{
	struct store_create *u = &op->u.create;
	struct store *s = t->s;
	bool claim = u->claim && s->instance != 0 && !s->draining;
	int64_t task;

	memset(&u->ret_fence, 0, sizeof u->ret_fence);
	u->ret_token[0] = '\0';
	if (at_ceiling(t, u)) {
		if (!existing(t, op))
			op->answer = STORE_LIMIT;
		return;
	}
	if (insert_task(t, op, claim) != 1) {
		memset(&u->ret_fence, 0, sizeof u->ret_fence);
		if (!existing(t, op) && t->c->rc == SQLITE_OK)
			t->c->rc = SQLITE_INTERNAL;
		return;
	}
	task = u->ret_fence.task;
	op->answer = STORE_CREATED;
	u->ret_flow = u->flow;
	u->ret_created_ms = t->now_ms;
	snprintf(u->ret_token, sizeof u->ret_token, "%s", u->token);
	sql_run(t->c, SQL_TASK_DATA_INSERT, "iss", task, u->args_digest,
		u->args);
	sql_run(t->c, SQL_QUOTA_ADD, "s", u->principal);
	event_add(t, task, EVENT_CREATED, u->ret_fence.epoch,
		  claim ? "claimed" : NULL);
	carry_over(t, u);
	if (!claim)
		txn_ready(t, peers_tool_hash(u->tool));
}
