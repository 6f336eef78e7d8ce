/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/sqlite_read.h"

/* Reads of more than one task, and of what is no task. */

static enum bide_rc find(struct store *s, enum sql_name name, const char *a,
			 const char *b, struct store_task **ret)
{
	struct sql *c = reader_borrow(s);
	sqlite3_stmt *st;
	enum sql_result r;
	enum bide_rc rc = BIDE_NOT_FOUND;

	if (!c)
		return BIDE_IO;
	if (b)
		r = sql_query(c, &st, name, "ss", a, b);
	else
		r = sql_query(c, &st, name, "s", a);
	if (r == SQL_ROW) {
		rc = read_by_id(c, sql_i64(st, 0), 0, 0, ret);
		sql_reset(st);
	}
	if (c->rc != SQLITE_OK)
		rc = BIDE_IO;
	reader_return(s, c);
	return rc;
}

enum bide_rc store_find_idem(struct store *s, const char *principal,
			     const char *idem_key, struct store_task **ret)
{
	return find(s, SQL_FIND_IDEM, principal, idem_key, ret);
}

enum bide_rc store_find_chain(struct store *s, const char *chain_id,
			      struct store_task **ret)
{
	return find(s, SQL_FIND_CHAIN, chain_id, NULL, ret);
}

enum bide_rc store_consumed(struct store *s, const char *id, char **ret_digest,
			    char **ret_outcome)
{
	struct sql *c = reader_borrow(s);
	char *digest = NULL, *outcome = NULL;
	enum bide_rc rc = BIDE_NOT_FOUND;
	sqlite3_stmt *st;

	if (!c)
		return BIDE_IO;
	if (sql_query(c, &st, SQL_CONSUMED_GET, "s", id) == SQL_ROW) {
		digest = sql_dup(st, 0);
		outcome = sql_dup(st, 1);
		rc = digest && outcome ? BIDE_OK : BIDE_NOMEM;
		sql_reset(st);
	}
	if (c->rc != SQLITE_OK)
		rc = BIDE_IO;
	reader_return(s, c);
	if (rc != BIDE_OK) {
		free(digest);
		free(outcome);
		return rc;
	}
	*ret_digest = digest;
	*ret_outcome = outcome;
	return BIDE_OK;
}

#define LIVE_STATES                                                            \
	(1u << STORE_READY | 1u << STORE_RUNNING | 1u << STORE_WAITING)

static enum sql_result list_query(struct sql *c, sqlite3_stmt **st,
				  const struct store_filter *f)
{
	unsigned states = f->states ? f->states : ~0u;
	int64_t below = f->before_id ? f->before_id : INT64_MAX;
	int64_t limit = f->limit ? (int64_t)f->limit : 100;

	if (f->principal)
		return sql_query(c, st, SQL_LIST_PRINCIPAL, "iisis", below,
				 (int64_t)states, f->tool, limit, f->principal);
	return sql_query(c, st,
			 states & ~LIVE_STATES ? SQL_LIST_ALL : SQL_LIST_LIVE,
			 "iisi", below, (int64_t)states, f->tool, limit);
}

void store_list_free(struct store_task **list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		store_task_free(list[i]);
	free(list);
}

enum bide_rc store_list(struct store *s, const struct store_filter *f,
			struct store_task ***ret, size_t *ret_n)
{
	struct sql *c = reader_borrow(s);
	struct store_task **list;
	enum bide_rc rc = BIDE_OK;
	enum sql_result r;
	sqlite3_stmt *st;
	size_t n = 0;

	list = calloc(f->limit ? f->limit : 100, sizeof *list);
	if (!c || !list) {
		if (c)
			reader_return(s, c);
		free(list);
		return c ? BIDE_NOMEM : BIDE_IO;
	}
	r = list_query(c, &st, f);
	while (r == SQL_ROW && rc == BIDE_OK) {
		rc = read_by_id(c, sql_i64(st, 0), f->what, 0, &list[n]);
		n += rc == BIDE_OK;
		r = rc == BIDE_OK ? sql_next(c, st) : SQL_DONE;
	}
	sql_reset(st);
	if (c->rc != SQLITE_OK)
		rc = BIDE_IO;
	reader_return(s, c);
	if (rc != BIDE_OK) {
		store_list_free(list, n);
		return rc;
	}
	*ret = list;
	*ret_n = n;
	return BIDE_OK;
}

enum bide_rc store_count(struct store *s, struct store_counts *ret)
{
	struct sql *c = reader_borrow(s);
	struct store_counts n = {0};
	sqlite3_stmt *st, *ended;
	enum bide_rc rc;

	if (!c)
		return BIDE_IO;
	/* Its row is held while the others run: one snapshot. */
	if (sql_query(c, &st, SQL_COUNT_READY, "") == SQL_ROW) {
		n.by_state[STORE_READY] = sql_i64(st, 0);
		n.oldest_ready_ms = sql_i64(st, 1);
		n.by_state[STORE_RUNNING] =
			sql_int(c, 0, SQL_COUNT_RUNNING, "");
		n.by_state[STORE_WAITING] =
			sql_int(c, 0, SQL_COUNT_WAITING, "");
		n.questions_open = sql_int(c, 0, SQL_COUNT_QUESTIONS, "");
		if (sql_query(c, &ended, SQL_COUNT_ENDED, "") == SQL_ROW)
			do
				n.by_state[sql_i32(ended, 0) & 7] =
					sql_i64(ended, 1);
			while (sql_next(c, ended) == SQL_ROW);
		sql_reset(st);
	}
	rc = c->rc == SQLITE_OK ? BIDE_OK : BIDE_IO;
	reader_return(s, c);
	if (rc == BIDE_OK)
		*ret = n;
	return rc;
}

static int64_t claims_of(struct sql *c, int64_t instance)
{
	return sql_int(c, 0, SQL_CLAIMS_COUNT, "i", instance);
}

enum bide_rc store_peers(struct store *s, struct store_peer **ret,
			 size_t *ret_n)
{
	int64_t joined = s->clock_offset;
	struct peers_info *info = NULL;
	struct store_peer *v;
	struct sql *c;
	size_t n = 0;
	enum bide_rc rc;

	rc = peers_list(s->path, &info, &n, NULL);
	if (rc != BIDE_OK)
		return rc;
	v = calloc(n ? n : 1, sizeof *v);
	c = reader_borrow(s);
	for (size_t i = 0; v && c && i < n; i++) {
		v[i].number = info[i].instance;
		snprintf(v[i].name, sizeof v[i].name, "%s", info[i].name);
		v[i].pid = info[i].pid;
		v[i].alive = info[i].state == PEERS_ALIVE;
		v[i].draining = info[i].draining;
		v[i].self = info[i].instance == s->instance;
		v[i].lease_left_ms = info[i].lease_left_ms;
		v[i].joined_ms = info[i].joined_ms + joined;
		v[i].claims = claims_of(c, info[i].instance);
	}
	rc = !v ? BIDE_NOMEM : !c || c->rc != SQLITE_OK ? BIDE_IO : BIDE_OK;
	if (c)
		reader_return(s, c);
	free(info);
	if (rc != BIDE_OK) {
		free(v);
		return rc;
	}
	*ret = v;
	*ret_n = n;
	return BIDE_OK;
}
