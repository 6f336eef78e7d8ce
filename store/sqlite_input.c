/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/limits.h"
#include "store/sqlite_txn.h"

/*
 * The questions of a task. Clients never answer a wire key twice, so one is
 * used once in a task's life: the handler's key the first time, then key~2,
 * key~3. Source: docs/design.md, section 2; ext-tasks, "inputRequests".
 */

#define WIRE_KEY_BYTES (LIMIT_KEY_BYTES + 16)

bool input_expire_due(struct txn *t, struct tally *y)
{
	int n;

	if (y->open <= 0)
		return false;
	n = sql_run(t->c, SQL_INPUTS_EXPIRE_DUE, "ii", y->task, t->now_ms);
	if (n <= 0)
		return false;
	y->open -= n;
	y->unseen += n;
	y->changed = true;
	return true;
}

struct latest {
	int64_t n; /* 0: never asked */
	char wire_key[WIRE_KEY_BYTES];
	enum store_input_state state;
	bool same; /* the same request text */
};

static void load_latest(struct txn *t, int64_t task, const char *key,
			const char *request, struct latest *ret)
{
	sqlite3_stmt *st;

	memset(ret, 0, sizeof *ret);
	if (sql_query(t->c, &st, SQL_INPUT_LATEST, "iss", task, key, request) !=
	    SQL_ROW)
		return;
	ret->n = sql_i64(st, 0);
	snprintf(ret->wire_key, sizeof ret->wire_key, "%s", sql_str(st, 1));
	ret->state = (enum store_input_state)sql_i32(st, 2);
	ret->same = sql_i32(st, 3) != 0;
	sql_reset(st);
}

/* The next wire key of @key after the n-th; another key of the handler's may
 * look like one of these. */
static int64_t next_wire_key(struct txn *t, int64_t task, const char *key,
			     int64_t n, char out[WIRE_KEY_BYTES])
{
	do {
		n++;
		if (n == 1)
			snprintf(out, WIRE_KEY_BYTES, "%s", key);
		else
			snprintf(out, WIRE_KEY_BYTES, "%s~%lld", key,
				 (long long)n);
	} while (sql_int(t->c, 0, SQL_INPUT_EXISTS, "is", task, out) == 1);
	return n;
}

static void add_open(struct txn *t, struct tally *y, int64_t epoch,
		     const struct store_ask *ask, int64_t after,
		     int64_t deadline_ms, enum event_kind kind)
{
	char wire_key[WIRE_KEY_BYTES];
	int64_t n;

	n = next_wire_key(t, y->task, ask->key, after, wire_key);
	sql_run(t->c, SQL_INPUT_ADD, "issiiiinonsn", y->task, wire_key,
		ask->key, n, (int64_t)STORE_INPUT_OPEN, (int64_t)ask->kind,
		t->now_ms, deadline_ms, ask->request);
	event_add(t, y->task, kind, epoch, wire_key);
	y->open++;
	y->changed = true;
}

static void withdraw(struct txn *t, struct tally *y, int64_t epoch,
		     const char *wire_key)
{
	if (sql_run(t->c, SQL_INPUT_WITHDRAW, "is", y->task, wire_key) != 1)
		return;
	event_add(t, y->task, EVENT_WITHDRAWN, epoch, wire_key);
	y->open--;
	y->changed = true;
}

void input_ask(struct txn *t, struct tally *y, int64_t epoch,
	       const struct store_ask *ask)
{
	struct latest was;

	if (strlen(ask->key) > LIMIT_KEY_BYTES) {
		t->c->rc = SQLITE_TOOBIG; /* the caller's fault: not done */
		return;
	}
	load_latest(t, y->task, ask->key, ask->request, &was);
	if (was.n && was.same && was.state != STORE_INPUT_WITHDRAWN)
		return; /* open, or settled and the handler will see it */
	if (was.n && was.state == STORE_INPUT_OPEN)
		withdraw(t, y, epoch, was.wire_key);
	add_open(t, y, epoch, ask, was.n,
		 ask->deadline_ms > 0 ? t->now_ms + ask->deadline_ms : 0,
		 EVENT_ASKED);
}

static bool wanted(const char *key, const struct store_ask *asks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(asks[i].key, key) == 0)
			return true;
	return false;
}

/* The first open question that is not in @asks; "" for none. */
static void find_unwanted(struct txn *t, int64_t task,
			  const struct store_ask *asks, size_t n,
			  char out[WIRE_KEY_BYTES])
{
	sqlite3_stmt *st;
	enum sql_result r;

	out[0] = '\0';
	r = sql_query(t->c, &st, SQL_INPUTS_OPEN_KEYS, "i", task);
	while (r == SQL_ROW && wanted(sql_str(st, 1), asks, n))
		r = sql_next(t->c, st);
	if (r != SQL_ROW)
		return;
	snprintf(out, WIRE_KEY_BYTES, "%s", sql_str(st, 0));
	sql_reset(st);
}

void input_withdraw_others(struct txn *t, struct tally *y, int64_t epoch,
			   const struct store_ask *asks, size_t n)
{
	char wire_key[WIRE_KEY_BYTES];

	while (y->open > 0 && txn_ok(t)) {
		find_unwanted(t, y->task, asks, n, wire_key);
		if (!wire_key[0])
			return;
		withdraw(t, y, epoch, wire_key);
	}
}

/* The answer did not fit: the same question under a new key, for the rest of
 * its time. */
static void ask_again(struct txn *t, struct tally *y, int64_t epoch,
		      sqlite3_stmt *st, const char *wire_key)
{
	struct store_ask ask = {
		.key = sql_str(st, 0),
		.kind = (enum store_input_kind)sql_i32(st, 3),
		.request = sql_str(st, 5),
	};

	if (sql_run(t->c, SQL_INPUT_WITHDRAW, "is", y->task, wire_key) != 1)
		return;
	y->open--;
	add_open(t, y, epoch, &ask, sql_i64(st, 1), sql_i64(st, 4),
		 EVENT_REASKED);
}

static void take_answer(struct txn *t, struct tally *y, int64_t epoch,
			const struct store_answer_in *a, const char *by)
{
	if (sql_run(t->c, SQL_INPUT_ANSWER, "issis", y->task, a->wire_key,
		    a->answer, t->now_ms, by) != 1)
		return;
	event_add(t, y->task, EVENT_ANSWERED, epoch, a->wire_key);
	y->open--;
	y->unseen++;
	y->changed = true;
}

void input_answer(struct txn *t, struct tally *y, int64_t epoch,
		  struct store_answer_in *a, const char *by)
{
	sqlite3_stmt *st;
	const char *before;

	a->ret = STORE_NOT_OPEN;
	if (sql_query(t->c, &st, SQL_INPUT_BY_WIRE, "is", y->task,
		      a->wire_key) != SQL_ROW)
		return;
	switch ((enum store_input_state)sql_i32(st, 2)) {
	case STORE_INPUT_OPEN:
		a->ret = a->misfit ? STORE_REASKED : STORE_ACCEPTED;
		/* The last asking stands, whatever comes for it. */
		if (a->misfit && sql_i64(st, 1) < LIMIT_ASKINGS)
			ask_again(t, y, epoch, st, a->wire_key);
		else if (!a->misfit)
			take_answer(t, y, epoch, a, by);
		break;
	case STORE_INPUT_ANSWERED:
		before = sql_str(st, 6);
		a->ret = before && a->answer && strcmp(before, a->answer) == 0
				 ? STORE_SAME
				 : STORE_ALREADY;
		break;
	case STORE_INPUT_EXPIRED:
	case STORE_INPUT_WITHDRAWN:
		break;
	}
	sql_reset(st);
}

int64_t input_next_deadline(struct txn *t, const struct tally *y)
{
	if (y->open <= 0)
		return 0;
	return sql_int(t->c, 0, SQL_INPUTS_NEXT_DEADLINE, "i", y->task);
}
