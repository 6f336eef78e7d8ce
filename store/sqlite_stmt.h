/* SPDX-License-Identifier: MIT */
#ifndef STORE_SQLITE_STMT_H
#define STORE_SQLITE_STMT_H
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "bide/types.h"

/*
 * Named statements of one connection. The SQL stands in queries_sqlite.sql; C
 * names it. Each is prepared once a connection, when it is first used.
 *
 * An error sticks to the connection: until sql_clear(), later calls do nothing
 * and say SQL_ERROR, so an operation may check late. A step says row, done or
 * error, never "not a row". One thread at a time uses a connection.
 */
enum sql_name {
#define QUERY(name, text) SQL_##name,
#include "store/queries_sqlite.inc"
#undef QUERY
	SQL_COUNT
};

struct sql {
	sqlite3 *db;
	sqlite3_stmt *stmt[SQL_COUNT];
	int rc;           /* first error since sql_clear(); SQLITE_OK */
	enum sql_name at; /* the statement it happened in */
	struct sql *next; /* the pool's */
};

enum sql_result { SQL_ERROR = -1, SQL_DONE = 0, SQL_ROW = 1 };

/**
 * sql_open - opens one connection with the settings of this store.
 * @flags: SQLITE_OPEN_...; NOMUTEX is added.
 * Returns BIDE_OK, BIDE_IO, BIDE_NOMEM; on failure nothing is left open.
 */
enum bide_rc sql_open(struct sql *c, const char *path, int flags,
		      struct bide_error *reterr) BIDE_NODISCARD;
void sql_close(struct sql *c); /* accepts a zeroed one */
void sql_clear(struct sql *c);
/* Fixed settings (PRAGMA x = y) and migrations; errors stick. */
enum sql_result sql_exec(struct sql *c, const char *text);

/*
 * Binds in order and starts @name anew. @fmt has one letter a parameter:
 *   i int64_t   s const char * (NULL: NULL)   d double (NAN: NULL)
 *   o int64_t, 0 binds NULL   b const void *, int   n NULL
 * Text and blobs are borrowed until the statement is reset.
 */
enum sql_result sql_query(struct sql *c, sqlite3_stmt **ret, enum sql_name name,
			  const char *fmt, ...);
/* The next row of a query that said SQL_ROW. */
enum sql_result sql_next(struct sql *c, sqlite3_stmt *st);
void sql_reset(sqlite3_stmt *st); /* accepts NULL */
/* A statement that gives no row. Returns the rows changed, or -1. */
int sql_run(struct sql *c, enum sql_name name, const char *fmt, ...);
/* One int64_t; @def when there is no row or a NULL; also on an error. */
int64_t sql_int(struct sql *c, int64_t def, enum sql_name name, const char *fmt,
		...);

const char *sql_text_of(enum sql_name name); /* for the tests of plans */
const char *sql_name_of(enum sql_name name);

/* Columns. "" for NULL where said; else NULL for NULL. */
const char *sql_str(sqlite3_stmt *st, int column);
static inline int64_t sql_i64(sqlite3_stmt *st, int column)
{
	return sqlite3_column_int64(st, column);
}
static inline int sql_i32(sqlite3_stmt *st, int column)
{
	return sqlite3_column_int(st, column);
}
char *sql_dup(sqlite3_stmt *st, int column); /* malloc()ed; NULL for NULL */
#endif
