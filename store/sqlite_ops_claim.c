/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "store/sqlite_txn.h"

/*
 * Claims, and claims given back. An instance claims only tasks of its tools;
 * a tool nobody has leaves its tasks READY: docs/design.md, rule 8.
 */

struct candidate {
	int64_t id;
	int64_t at; /* due since */
	enum store_state state;
};

struct candidates {
	struct candidate *v;
	size_t n, cap;
};

static void add_candidate(struct txn *t, struct candidates *cs,
			  const struct candidate *c)
{
	struct candidate *p;
	size_t cap = cs->cap ? cs->cap * 2 : 16;

	if (cs->n == cs->cap) {
		p = realloc(cs->v, cap * sizeof *p);
		if (!p) {
			t->nomem = true;
			return;
		}
		cs->v = p;
		cs->cap = cap;
	}
	cs->v[cs->n++] = *c;
}

static int by_time(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* What claims need of one state. */
struct shelf {
	enum store_state state;
	enum sql_name from, due, next;
};
static const struct shelf shelves[] = {
	{STORE_READY, SQL_READY_FROM_TOOL, SQL_READY_DUE, SQL_READY_NEXT},
	{STORE_WAITING, SQL_WAITING_FROM_TOOL, SQL_WAITING_DUE,
	 SQL_WAITING_NEXT},
};

/*
 * The first of this instance's tools from the @i-th on that has tasks there; a
 * seek for each step, however many tasks there are. ntools for none.
 */
static size_t next_tool(struct txn *t, const struct shelf *sh, size_t i)
{
	const struct store *s = t->s;
	sqlite3_stmt *st;
	int order = 0;

	while (i < s->ntools) {
		if (sql_query(t->c, &st, sh->from, "s", s->tools[i]) != SQL_ROW)
			return s->ntools;
		while (i < s->ntools &&
		       (order = strcmp(s->tools[i], sql_str(st, 0))) < 0)
			i++;
		sql_reset(st);
		if (i < s->ntools && order == 0)
			return i;
	}
	return i;
}

static void look_at_tool(struct txn *t, const struct shelf *sh,
			 const char *tool, struct store_claim *u,
			 struct candidates *cs)
{
	struct candidate c = {.state = sh->state};
	sqlite3_stmt *st;
	enum sql_result r;
	int64_t next;

	/* One more than wanted tells whether there is more. */
	r = sql_query(t->c, &st, sh->due, "sii", tool, t->now_ms,
		      (int64_t)u->n + 1);
	while (r == SQL_ROW) {
		c.id = sql_i64(st, 0);
		c.at = sql_i64(st, 1);
		add_candidate(t, cs, &c);
		r = sql_next(t->c, st);
	}
	next = sql_int(t->c, INT64_MAX, sh->next, "si", tool, t->now_ms);
	if (next < u->ret_next_due_ms)
		u->ret_next_due_ms = next;
}

static void claim_one(struct txn *t, const struct candidate *c,
		      struct store_fence *ret)
{
	int64_t claim = random_claim();
	struct tally y = {.task = c->id, .open = 1};
	sqlite3_stmt *st;

	input_expire_due(t, &y);
	txn_move(t, c->state, STORE_RUNNING);
	if (sql_query(t->c, &st, SQL_TASK_CLAIM, "iiiii", c->id, claim,
		      t->s->instance, 1 - y.open, t->now_ms) != SQL_ROW) {
		t->nomem |= t->c->rc == SQLITE_OK; /* cannot be: roll back */
		return;
	}
	ret->task = c->id;
	ret->epoch = sql_i64(st, 0);
	ret->claim = claim;
	sql_reset(st);
	event_add(t, c->id, EVENT_CLAIMED, ret->epoch, NULL);
	if (!y.changed)
		return;
	event_add(t, c->id, EVENT_DEADLINE, ret->epoch, NULL);
	txn_changed(t, c->id);
}

void op_claim(struct txn *t, struct store_op *op)
{
	struct store_claim *u = &op->u.claim;
	const struct store *s = t->s;
	struct candidates cs = {0};

	op->answer = STORE_OK;
	u->ret_n = 0;
	u->ret_more = false;
	u->ret_next_due_ms = INT64_MAX;
	if (s->instance == 0 || s->draining)
		return;
	for (size_t k = 0; k < sizeof shelves / sizeof *shelves; k++) {
		const struct shelf *sh = &shelves[k];
		size_t i = next_tool(t, sh, 0);

		for (; i < s->ntools; i = next_tool(t, sh, i + 1))
			look_at_tool(t, sh, s->tools[i], u, &cs);
	}
	if (cs.n)
		qsort(cs.v, cs.n, sizeof *cs.v, by_time);
	u->ret_more = cs.n > u->n;
	while (u->ret_n < u->n && u->ret_n < cs.n && txn_ok(t)) {
		claim_one(t, &cs.v[u->ret_n], &u->ret_fences[u->ret_n]);
		u->ret_n++;
	}
	if (u->ret_more)
		u->ret_next_due_ms = t->now_ms;
	free(cs.v);
}

/* ---- claims given back by others than their holder ---- */

struct held {
	struct store_fence f;
	int64_t claimed_ms;
};

/* The claims of one instance: malloc()ed, NULL for none or on an error. */
static struct held *claims_of(struct txn *t, int64_t instance, size_t *ret_n)
{
	struct held *v = NULL, *p;
	size_t n = 0, cap = 0;
	sqlite3_stmt *st;
	enum sql_result r;

	r = sql_query(t->c, &st, SQL_CLAIMS_OF, "i", instance);
	for (; r == SQL_ROW; r = sql_next(t->c, st)) {
		if (n == cap) {
			cap = cap ? cap * 2 : 32;
			p = realloc(v, cap * sizeof *v);
			if (!p) {
				t->nomem = true;
				sql_reset(st);
				break;
			}
			v = p;
		}
		v[n].f.task = sql_i64(st, 0);
		v[n].f.epoch = sql_i64(st, 1);
		v[n].f.claim = sql_i64(st, 2);
		v[n++].claimed_ms = sql_i64(st, 3);
	}
	*ret_n = n;
	return v;
}

static bool in_list(const struct store_fence *f, const struct store_keep *u)
{
	for (size_t i = 0; i < u->n; i++)
		if (u->held[i].task == f->task &&
		    u->held[i].epoch == f->epoch &&
		    u->held[i].claim == f->claim)
			return true;
	return false;
}

/*
 * A claim whose callback may not have run when the list was made is no orphan:
 * it is left alone until the list must know it.
 */
#define KEEP_SLACK_MS 2000

void op_keep(struct txn *t, struct store_op *op)
{
	struct store_keep *u = &op->u.keep;
	int64_t before =
		op->submitted_ms - KEEP_SLACK_MS - t->s->worst_batch_ms;
	struct held *v;
	size_t n;

	op->answer = STORE_OK;
	u->ret_returned = 0;
	v = claims_of(t, t->s->instance, &n);
	for (size_t i = 0; i < n && txn_ok(t); i++) {
		if (v[i].claimed_ms > before || in_list(&v[i].f, u))
			continue;
		if (task_return(t, &v[i].f, false, 0, EVENT_REAPED, "orphan"))
			u->ret_returned++;
	}
	free(v);
}

void op_reap(struct txn *t, struct store_op *op)
{
	struct store_reap *u = &op->u.reap;
	struct held *v;
	char why[60];
	size_t n;

	sqlite3_snprintf(sizeof why, why, "instance %lld %s", u->instance,
			 u->crashed ? "died" : "was not heard of");
	op->answer = STORE_OK;
	u->ret_returned = 0;
	v = claims_of(t, u->instance, &n);
	for (size_t i = 0; i < n && txn_ok(t); i++)
		if (task_return(t, &v[i].f, u->crashed, 0, EVENT_REAPED, why))
			u->ret_returned++;
	free(v);
}
