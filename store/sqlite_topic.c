/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "server/base/limits.h"
#include "store/sqlite_txn.h"

/*
 * Topics: what somebody said has changed, for listeners on all instances. The
 * table tells them what, the bell that there is something to look for.
 */

/* ---- writing ---- */

/* The topic's last announcement is this operation's own. */
static bool announced_before(struct txn *t, const struct store_op *op)
{
	sqlite3_stmt *st;
	bool same;

	if (sql_query(t->c, &st, SQL_TOPIC_OP, "s", op->u.announce.topic) !=
	    SQL_ROW)
		return false;
	same = sqlite3_column_bytes(st, 0) == STORE_OP_ID_BYTES &&
	       !memcmp(sqlite3_column_blob(st, 0), op->id, STORE_OP_ID_BYTES);
	sql_reset(st);
	return same;
}

void op_announce(struct txn *t, struct store_op *op)
{
	op->answer = announced_before(t, op) ? STORE_SAME : STORE_OK;
	if (op->answer == STORE_OK)
		sql_run(t->c, SQL_TOPIC_ANNOUNCE, "sib", op->u.announce.topic,
			t->now_ms, op->id, STORE_OP_ID_BYTES);
	/* For one of before, the process may have died before it rang. */
	t->announced = true;
}

void sweep_topics(struct txn *t, struct store_sweep *u)
{
	size_t rows = u->rows < LIMIT_SWEEP_ROWS ? u->rows : LIMIT_SWEEP_ROWS;
	int n = sql_run(t->c, SQL_SWEEP_TOPICS, "ii",
			t->now_ms - LIMIT_TOPIC_MS, (int64_t)rows);

	u->ret_done = n > 0 ? (size_t)n : 0;
	u->ret_more = u->ret_done == rows && rows > 0;
}

/* ---- reading ---- */

void store_topics_free(struct store_topic *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(list[i].name);
	free(list);
}

static enum bide_rc read_topics(struct sql *c, int64_t seq, size_t limit,
				struct store_topic *list, size_t *ret_n)
{
	sqlite3_stmt *st;
	enum sql_result r;

	r = sql_query(c, &st, SQL_TOPICS_AFTER, "ii", seq, (int64_t)limit);
	for (; r == SQL_ROW; r = sql_next(c, st)) {
		list[*ret_n].name = sql_dup(st, 0);
		list[*ret_n].seq = sql_i64(st, 1);
		if (!list[(*ret_n)++].name) {
			sql_reset(st);
			return BIDE_NOMEM;
		}
	}
	return r == SQL_DONE ? BIDE_OK : BIDE_IO;
}

enum bide_rc store_topics(struct store *s, int64_t seq, size_t limit,
			  struct store_topic **ret, size_t *ret_n)
{
	struct store_topic *list = calloc(limit + 1, sizeof *list);
	struct sql *c = list ? reader_borrow(s) : NULL;
	enum bide_rc rc;
	size_t n = 0;

	if (!c) {
		rc = list ? BIDE_IO : BIDE_NOMEM;
	} else {
		rc = read_topics(c, seq, limit, list, &n);
		reader_return(s, c);
	}
	if (rc != BIDE_OK) {
		store_topics_free(list, n);
		return rc;
	}
	*ret = list;
	*ret_n = n;
	return BIDE_OK;
}

enum bide_rc store_topic_last(struct store *s, int64_t *ret)
{
	struct sql *c = reader_borrow(s);
	enum bide_rc rc = BIDE_IO;
	int64_t last;

	if (!c)
		return rc;
	last = sql_int(c, 0, SQL_TOPIC_LAST, "");
	if (c->rc == SQLITE_OK) {
		*ret = last;
		rc = BIDE_OK;
	}
	reader_return(s, c);
	return rc;
}
