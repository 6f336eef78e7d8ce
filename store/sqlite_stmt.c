/* SPDX-License-Identifier: MIT */
#include "store/sqlite_stmt.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/error.h"

static const struct {
	const char *name;
	const char *text;
} queries[] = {
#define QUERY(name, text) {#name, text},
#include "store/queries_sqlite.inc"
#undef QUERY
};

const char *sql_text_of(enum sql_name name)
{
	return queries[name].text;
}

const char *sql_name_of(enum sql_name name)
{
	return queries[name].name;
}

/*
 * Automatic checkpoints are off and none happens on close: only the holder of
 * the gate checkpoints (docs/design.md, "The write gate").
 */
static const char settings[] = "PRAGMA foreign_keys = OFF;"
			       "PRAGMA synchronous = FULL;"
			       "PRAGMA wal_autocheckpoint = 0;"
			       "PRAGMA journal_size_limit = 67108864;"
			       "PRAGMA temp_store = MEMORY;"
			       "PRAGMA trusted_schema = OFF;"
			       "PRAGMA secure_delete = FAST;";

static enum bide_rc open_failed(struct sql *c, const char *path, int rc,
				struct bide_error *reterr)
{
	enum bide_rc ret = rc == SQLITE_NOMEM ? BIDE_NOMEM : BIDE_IO;

	if (rc == SQLITE_NOTADB)
		ret = error_set(reterr, BIDE_INVALID,
				"%s is not an SQLite database: choose another "
				"path",
				path);
	else
		error_set(reterr, ret, "cannot open the database %s: %s", path,
			  c->db ? sqlite3_errmsg(c->db) : sqlite3_errstr(rc));
	sql_close(c);
	return ret;
}

enum bide_rc sql_open(struct sql *c, const char *path, int flags,
		      struct bide_error *reterr)
{
	int rc;

	memset(c, 0, sizeof *c);
	rc = sqlite3_open_v2(path, &c->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc != SQLITE_OK)
		return open_failed(c, path, rc, reterr);
	sqlite3_extended_result_codes(c->db, 1);
	sqlite3_busy_timeout(c->db, 5000);
	sqlite3_db_config(c->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	if (sql_exec(c, settings) == SQL_ERROR)
		return open_failed(c, path, c->rc, reterr);
	return BIDE_OK;
}

void sql_close(struct sql *c)
{
	for (int i = 0; i < SQL_COUNT; i++)
		sqlite3_finalize(c->stmt[i]);
	sqlite3_close(c->db);
	memset(c, 0, sizeof *c);
}

void sql_clear(struct sql *c)
{
	c->rc = SQLITE_OK;
}

static enum sql_result fail(struct sql *c, enum sql_name at, int rc)
{
	if (c->rc == SQLITE_OK) {
		c->rc = rc;
		c->at = at;
	}
	return SQL_ERROR;
}

enum sql_result sql_exec(struct sql *c, const char *text)
{
	int rc;

	if (c->rc != SQLITE_OK)
		return SQL_ERROR;
	rc = sqlite3_exec(c->db, text, NULL, NULL, NULL);
	return rc == SQLITE_OK
		       ? SQL_DONE
		       : fail(c, SQL_COUNT, sqlite3_extended_errcode(c->db));
}

static sqlite3_stmt *prepared(struct sql *c, enum sql_name name)
{
	int rc;

	if (c->rc != SQLITE_OK)
		return NULL;
	if (!c->stmt[name]) {
		rc = sqlite3_prepare_v3(c->db, queries[name].text, -1,
					SQLITE_PREPARE_PERSISTENT,
					&c->stmt[name], NULL);
		if (rc != SQLITE_OK) {
			fail(c, name, rc);
			return NULL;
		}
	}
	return c->stmt[name];
}

static void bind_real(sqlite3_stmt *st, int i, double d)
{
	if (isnan(d))
		sqlite3_bind_null(st, i);
	else
		sqlite3_bind_double(st, i, d);
}

static void bind_blob(sqlite3_stmt *st, int i, const void *p, int len)
{
	sqlite3_bind_blob(st, i, p, len, SQLITE_STATIC);
}

static void bind(sqlite3_stmt *st, const char *fmt, va_list ap)
{
	int64_t v;
	const void *p;
	const char *s;

	for (int i = 1; *fmt; fmt++, i++) {
		switch (*fmt) {
		case 'i':
			sqlite3_bind_int64(st, i, va_arg(ap, int64_t));
			break;
		case 'o':
			v = va_arg(ap, int64_t);
			if (v)
				sqlite3_bind_int64(st, i, v);
			else
				sqlite3_bind_null(st, i);
			break;
		case 's':
			s = va_arg(ap, const char *);
			sqlite3_bind_text(st, i, s, -1, SQLITE_STATIC);
			break;
		case 'd':
			bind_real(st, i, va_arg(ap, double));
			break;
		case 'b':
			p = va_arg(ap, const void *);
			bind_blob(st, i, p, va_arg(ap, int));
			break;
		case 'n':
			sqlite3_bind_null(st, i);
			break;
		default:
			abort();
		}
	}
}

enum sql_result sql_next(struct sql *c, sqlite3_stmt *st)
{
	int rc = sqlite3_step(st);

	if (rc == SQLITE_ROW)
		return SQL_ROW;
	sqlite3_reset(st);
	if (rc == SQLITE_DONE)
		return SQL_DONE;
	return fail(c, c->at, sqlite3_extended_errcode(c->db));
}

static enum sql_result start(struct sql *c, sqlite3_stmt **ret,
			     enum sql_name name, const char *fmt, va_list ap)
{
	sqlite3_stmt *st = prepared(c, name);
	int rc;

	*ret = NULL;
	if (!st)
		return SQL_ERROR;
	bind(st, fmt, ap);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		*ret = st;
		return SQL_ROW;
	}
	sqlite3_reset(st);
	if (rc == SQLITE_DONE)
		return SQL_DONE;
	return fail(c, name, sqlite3_extended_errcode(c->db));
}

enum sql_result sql_query(struct sql *c, sqlite3_stmt **ret, enum sql_name name,
			  const char *fmt, ...)
{
	enum sql_result r;
	va_list ap;

	va_start(ap, fmt);
	r = start(c, ret, name, fmt, ap);
	va_end(ap);
	return r;
}

void sql_reset(sqlite3_stmt *st)
{
	if (st)
		sqlite3_reset(st);
}

int sql_run(struct sql *c, enum sql_name name, const char *fmt, ...)
{
	enum sql_result r;
	sqlite3_stmt *st;
	va_list ap;

	va_start(ap, fmt);
	r = start(c, &st, name, fmt, ap);
	va_end(ap);
	/* A row from what should give none: run it to its end. */
	while (r == SQL_ROW)
		r = sql_next(c, st);
	return r == SQL_ERROR ? -1 : sqlite3_changes(c->db);
}

int64_t sql_int(struct sql *c, int64_t def, enum sql_name name, const char *fmt,
		...)
{
	sqlite3_stmt *st;
	va_list ap;

	va_start(ap, fmt);
	if (start(c, &st, name, fmt, ap) == SQL_ROW) {
		if (sqlite3_column_type(st, 0) != SQLITE_NULL)
			def = sqlite3_column_int64(st, 0);
		sqlite3_reset(st);
	}
	va_end(ap);
	return def;
}

const char *sql_str(sqlite3_stmt *st, int column)
{
	return (const char *)sqlite3_column_text(st, column);
}

char *sql_dup(sqlite3_stmt *st, int column)
{
	const char *s = sql_str(st, column);

	return s ? strdup(s) : NULL;
}
