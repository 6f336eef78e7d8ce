/* SPDX-License-Identifier: MIT */
#include "store/sqlite_read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/log.h"

/*
 * Reads, on the caller's thread, on read-only connections that are lent out
 * one to a caller. A read is one snapshot: the statement that found the task
 * stays on its row, which keeps the snapshot, until the others are through.
 * None stays open longer than the call, so no reader holds the WAL back.
 */

struct sql *reader_borrow(struct store *s)
{
	struct bide_error err = {0};
	struct sql *c;

	mutex_lock(&s->readers_lock);
	c = s->readers;
	if (c) {
		s->readers = c->next;
		s->nreaders--;
	}
	mutex_unlock(&s->readers_lock);
	if (c)
		return c;
	c = malloc(sizeof *c);
	if (c && sql_open(c, s->path, SQLITE_OPEN_READONLY, &err) == BIDE_OK)
		return c;
	log_error("store.cannot_read", "text=%s", err.text);
	free(c);
	return NULL;
}

void reader_return(struct store *s, struct sql *c)
{
	bool keep;

	if (c->rc != SQLITE_OK)
		log_error("store.read_failed", "rc=%d at=%s text=%s", c->rc,
			  c->at < SQL_COUNT ? sql_name_of(c->at) : "",
			  sqlite3_errmsg(c->db));
	mutex_lock(&s->readers_lock);
	keep = c->rc == SQLITE_OK && s->nreaders < STORE_READERS_KEPT;
	if (keep) {
		c->next = s->readers;
		s->readers = c;
		s->nreaders++;
	}
	mutex_unlock(&s->readers_lock);
	if (keep)
		return;
	sql_close(c);
	free(c);
}

void readers_close(struct store *s)
{
	struct sql *c;

	while ((c = s->readers)) {
		s->readers = c->next;
		sql_close(c);
		free(c);
	}
}

/* ---- packing: a row and its texts in one allocation ---- */

static size_t text_bytes(sqlite3_stmt *st, int from, int n)
{
	size_t sum = 0;

	for (int i = from; i < from + n; i++)
		if (sqlite3_column_type(st, i) != SQLITE_NULL)
			sum += (size_t)sqlite3_column_bytes(st, i) + 1;
	return sum;
}

/* Copies columns to @at, in order, and points @ret[i] at them; NULL stays. */
static void copy_texts(sqlite3_stmt *st, int from, int n, char *at, char ***ret)
{
	for (int i = 0; i < n; i++) {
		const char *s = sql_str(st, from + i);
		size_t len = (size_t)sqlite3_column_bytes(st, from + i) + 1;

		*ret[i] = NULL;
		if (!s)
			continue;
		memcpy(at, s, len);
		*ret[i] = at;
		at += len;
	}
}

#define FIRST_TEXT 23 /* of GET_BY_*: principal */
#define TEXTS      10

static double real_or_nan(sqlite3_stmt *st, int i)
{
	if (sqlite3_column_type(st, i) == SQLITE_NULL)
		return (double)NAN;
	return sqlite3_column_double(st, i);
}

static void unpack_numbers(sqlite3_stmt *st, struct store_task *t)
{
	int64_t retention;
	int i = 0;

	t->id = sql_i64(st, i++);
	t->state = (enum store_state)sql_i32(st, i++);
	t->flow = (enum store_flow)sql_i32(st, i++);
	t->epoch = sql_i64(st, i++);
	t->claim = sql_i64(st, i++);
	t->owner = sql_i64(st, i++);
	t->open = sql_i32(st, i++);
	t->unseen = sql_i32(st, i++);
	t->claims = sql_i32(st, i++);
	t->crashes = sql_i32(st, i++);
	t->waiters = sql_i32(st, i++);
	t->goes_on = sql_i32(st, i++) != 0;
	t->created_ms = sql_i64(st, i++);
	t->updated_ms = sql_i64(st, i++);
	t->ended_ms = sql_i64(st, i++);
	t->ttl_ms = sql_i64(st, i++);
	retention = sql_i64(st, i++);
	t->wake_at_ms = sql_i64(st, i++);
	t->abandon_at_ms = sql_i64(st, i++);
	t->version = sql_i64(st, i++);
	t->progress = real_or_nan(st, i++);
	t->total = real_or_nan(st, i++);
	snprintf(t->token, sizeof t->token, "%s", sql_str(st, i));
	/* docs/design.md, "States": its age plus the retention. */
	if (t->ended_ms)
		t->ttl_ms = retention < 0
				    ? -1
				    : t->ended_ms - t->created_ms + retention;
}

static struct store_task *unpack(sqlite3_stmt *st)
{
	struct store_task *t;

	t = calloc(1, sizeof *t + text_bytes(st, FIRST_TEXT, TEXTS));
	if (!t)
		return NULL;
	unpack_numbers(st, t);
	copy_texts(st, FIRST_TEXT, TEXTS, (char *)(t + 1),
		   (char **[]){&t->principal, &t->tool, &t->tool_version,
			       &t->progress_message, &t->status, &t->caller,
			       &t->chain_id, &t->idem_key, &t->args,
			       &t->payload});
	return t;
}

/* The first text of each row of a list is NOT NULL and owns the others. */
void store_task_free(struct store_task *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->ninputs; i++)
		free(t->inputs[i].key);
	for (size_t i = 0; i < t->nsteps; i++)
		free(t->steps[i].key);
	for (size_t i = 0; i < t->nlogs; i++)
		free(t->logs[i].data);
	for (size_t i = 0; i < t->nevents; i++)
		free(t->events[i].detail);
	free(t->inputs);
	free(t->steps);
	free(t->logs);
	free(t->events);
	free(t);
}

/* One more zeroed element at the end; NULL without memory. */
static void *push(void **array, size_t *n, size_t size)
{
	bool full = (*n & (*n - 1)) == 0; /* 0, 1, 2, 4, 8 ... */
	size_t cap = *n ? *n * 2 : 1;
	void *p = full ? realloc(*array, cap * size) : *array;
	char *at;

	if (!p)
		return NULL;
	*array = p;
	at = (char *)p + *n * size;
	memset(at, 0, size);
	(*n)++;
	return at;
}

static bool own_texts(sqlite3_stmt *st, int n, char ***ret)
{
	char *block = malloc(text_bytes(st, 0, n) + 1);

	if (block)
		copy_texts(st, 0, n, block, ret);
	return block;
}

static bool add_input(sqlite3_stmt *st, struct store_task *t)
{
	struct store_input *in;
	void *array = t->inputs;

	in = push(&array, &t->ninputs, sizeof *in);
	if (!in)
		return false;
	t->inputs = array;
	if (!own_texts(st, 5,
		       (char **[]){&in->key, &in->wire_key, &in->request,
				   &in->answer, &in->by}))
		return false;
	in->kind = (enum store_input_kind)sql_i32(st, 5);
	in->state = (enum store_input_state)sql_i32(st, 6);
	in->asked_ms = sql_i64(st, 7);
	in->answered_ms = sql_i64(st, 8);
	in->deadline_ms = sql_i64(st, 9);
	return true;
}

static bool add_step(sqlite3_stmt *st, struct store_task *t)
{
	struct store_step_row *row;
	void *array = t->steps;

	row = push(&array, &t->nsteps, sizeof *row);
	if (!row)
		return false;
	t->steps = array;
	if (!own_texts(st, 2, (char **[]){&row->key, &row->result}))
		return false;
	row->at_ms = sql_i64(st, 2) / 1000;
	row->epoch = sql_i64(st, 3);
	return true;
}

static bool add_log(sqlite3_stmt *st, struct store_task *t)
{
	struct store_log_row *row;
	void *array = t->logs;

	row = push(&array, &t->nlogs, sizeof *row);
	if (!row)
		return false;
	t->logs = array;
	if (!own_texts(st, 2, (char **[]){&row->data, &row->logger}))
		return false;
	row->seq = sql_i64(st, 2);
	row->level = sql_i32(st, 3);
	return true;
}

static bool add_event(sqlite3_stmt *st, struct store_task *t)
{
	struct store_event *row;
	void *array = t->events;

	row = push(&array, &t->nevents, sizeof *row);
	if (!row)
		return false;
	t->events = array;
	row->detail = sql_dup(st, 0);
	row->seq = sql_i64(st, 1);
	row->at_ms = row->seq / 1000;
	row->kind = event_name(sql_i32(st, 2));
	row->instance = sql_i64(st, 3);
	row->epoch = sql_i64(st, 4);
	return true;
}

struct part {
	unsigned what;
	enum sql_name name;
	bool (*add)(sqlite3_stmt *st, struct store_task *t);
};

static bool load_part(struct sql *c, const struct part *p, struct store_task *t,
		      int64_t logs_after)
{
	sqlite3_stmt *st;
	enum sql_result r;

	if (p->what == STORE_GET_LOGS)
		r = sql_query(c, &st, p->name, "ii", t->id, logs_after);
	else
		r = sql_query(c, &st, p->name, "i", t->id);
	for (; r == SQL_ROW; r = sql_next(c, st))
		if (!p->add(st, t)) {
			sql_reset(st);
			return false;
		}
	return true;
}

static bool load_parts(struct sql *c, struct store_task *t, unsigned what,
		       int64_t logs_after)
{
	static const struct part parts[] = {
		{STORE_GET_OPEN_INPUTS, SQL_GET_INPUTS_OPEN, add_input},
		{STORE_GET_ALL_INPUTS, SQL_GET_INPUTS_ALL, add_input},
		{STORE_GET_STEPS, SQL_GET_STEPS, add_step},
		{STORE_GET_EVENTS, SQL_GET_EVENTS, add_event},
		{STORE_GET_LOGS, SQL_GET_LOGS, add_log},
	};

	if (t->open == 0 || (what & STORE_GET_ALL_INPUTS))
		what &= ~(unsigned)STORE_GET_OPEN_INPUTS;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if ((what & parts[i].what) &&
		    !load_part(c, &parts[i], t, logs_after))
			return false;
	return true;
}

/* @st stands on a row of GET_BY_* and is reset. */
static enum bide_rc load(struct sql *c, sqlite3_stmt *st, unsigned what,
			 int64_t logs_after, struct store_task **ret)
{
	struct store_task *t = unpack(st);
	bool whole = t && load_parts(c, t, what, logs_after);

	sql_reset(st);
	if (whole && c->rc == SQLITE_OK) {
		*ret = t;
		return BIDE_OK;
	}
	store_task_free(t);
	return c->rc == SQLITE_OK ? BIDE_NOMEM : BIDE_IO;
}

enum bide_rc read_by_id(struct sql *c, int64_t id, unsigned what,
			int64_t logs_after, struct store_task **ret)
{
	sqlite3_stmt *st;
	enum sql_result r;

	r = sql_query(c, &st, SQL_GET_BY_ID, "iii", id,
		      (int64_t)(what & STORE_GET_ARGS),
		      (int64_t)(what & STORE_GET_PAYLOAD));
	if (r == SQL_ROW)
		return load(c, st, what, logs_after, ret);
	return r == SQL_DONE ? BIDE_NOT_FOUND : BIDE_IO;
}

/* Unknown and another caller's: the same answer at the same cost. */
static enum bide_rc nothing(struct sql *c)
{
	sqlite3_stmt *st;

	if (sql_query(c, &st, SQL_GET_DECOY, "") == SQL_ROW)
		sql_reset(st);
	return c->rc == SQLITE_OK ? BIDE_NOT_FOUND : BIDE_IO;
}

static enum bide_rc read_by_token(struct sql *c, const char *token,
				  const char *principal, unsigned what,
				  int64_t logs_after, struct store_task **ret)
{
	sqlite3_stmt *st;
	enum sql_result r;

	r = sql_query(c, &st, SQL_GET_BY_TOKEN, "sii", token,
		      (int64_t)(what & STORE_GET_ARGS),
		      (int64_t)(what & STORE_GET_PAYLOAD));
	if (r == SQL_ERROR)
		return BIDE_IO;
	if (r == SQL_DONE)
		return nothing(c);
	if (!principal || strcmp(sql_str(st, FIRST_TEXT), principal) == 0)
		return load(c, st, what, logs_after, ret);
	sql_reset(st);
	return BIDE_NOT_FOUND;
}

enum bide_rc store_get(struct store *s, const char *token,
		       const char *principal, unsigned what, int64_t logs_after,
		       struct store_task **ret)
{
	struct sql *c = reader_borrow(s);
	enum bide_rc rc;

	if (!c)
		return BIDE_IO;
	rc = read_by_token(c, token, principal, what, logs_after, ret);
	reader_return(s, c);
	return rc;
}

enum bide_rc store_get_id(struct store *s, int64_t task, unsigned what,
			  int64_t logs_after, struct store_task **ret)
{
	struct sql *c = reader_borrow(s);
	enum bide_rc rc;

	if (!c)
		return BIDE_IO;
	rc = read_by_id(c, task, what, logs_after, ret);
	reader_return(s, c);
	return rc;
}
