/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/buf.h"
#include "store/sqlite_check.h"
#include "store/sqlite_store.h"

/* What `doctor` says of the store. Nothing here writes or takes the gate. */

void check_say(struct check *r, bool good, const char *fmt, ...)
{
	struct buf line;
	va_list ap;

	buf_init(&line, 0);
	va_start(ap, fmt);
	buf_addv(&line, fmt, ap);
	va_end(ap);
	r->good &= good;
	r->say(r->user, good, line.data ? line.data : "");
	buf_fini(&line);
}

static void check_library(struct check *r)
{
	check_say(r, sqlite3_libversion_number() >= 3040000,
		  "SQLite %s, thread safe: %s", sqlite3_libversion(),
		  sqlite3_threadsafe() ? "yes" : "no");
	/* sqlite.org, "The WAL-reset bug". */
	check_say(r, true,
		  sqlite3_libversion_number() <= 3051002
			  ? "this SQLite has the WAL-reset bug (3.7.0 to "
			    "3.51.2); the write gate closes its window: keep "
			    "the sqlite3 shell and other writers off the file"
			  : "this SQLite is free of the WAL-reset bug");
}

static void check_pages(struct check *r, struct sql *c)
{
	enum sql_result res;
	sqlite3_stmt *st;

	res = sql_query(c, &st, SQL_QUICK_CHECK, "");
	for (; res == SQL_ROW; res = sql_next(c, st)) {
		bool ok = strcmp(sql_str(st, 0), "ok") == 0;

		check_say(r, ok, "pages: %s%s", sql_str(st, 0),
			  ok ? ""
			     : ": stop all instances, keep a copy, and "
			       "go back to a backup");
	}
	check_say(r, true, "%lld pages, %lld of them free",
		  (long long)sql_int(c, 0, SQL_PAGE_COUNT, ""),
		  (long long)sql_int(c, 0, SQL_FREE_PAGES, ""));
}

static void check_schema(struct check *r, struct sql *c, const char *path)
{
	struct bide_error err = {0};
	sqlite3_stmt *st;
	int version = 0;

	if (migrate_check(c, path, &version, &err) != BIDE_OK) {
		check_say(r, false, "%s", err.text);
		return;
	}
	check_say(r, version == migrate_latest(),
		  "schema %d, this program has %d%s", version, migrate_latest(),
		  version == migrate_latest() ? "" : ": run migrate");
	if (sql_query(c, &st, SQL_JOURNAL_MODE, "") == SQL_ROW) {
		bool wal = strcmp(sql_str(st, 0), "wal") == 0;

		check_say(r, wal, "journal mode %s%s", sql_str(st, 0),
			  wal ? ""
			      : ": the next instance that starts sets it "
				"back to WAL");
		sql_reset(st);
	}
	check_pages(r, c);
	if (version == migrate_latest())
		check_work(r, c, path);
	if (c->rc != SQLITE_OK)
		check_say(r, false, "%s", sqlite3_errmsg(c->db));
}

static void check_gate(struct check *r, const char *path)
{
	struct gate_holder h = {0};
	enum bide_rc rc = gate_holder(path, &h);

	if (rc == BIDE_NOT_FOUND || (rc == BIDE_OK && h.place == GATE_FREE))
		check_say(r, true, "the write gate is free");
	else if (rc != BIDE_OK)
		check_say(r, false, "the write gate cannot be read");
	else
		check_say(r, !h.stopped,
			  "the write gate: pid %lld %s since boot + %lld ms%s",
			  (long long)h.pid,
			  h.place == GATE_INSIDE ? "is inside" : "waits first",
			  (long long)h.since_ms,
			  h.stopped ? ". It is STOPPED and so is every writer: "
				      "continue it (kill -CONT) or kill it"
				    : "");
}

static void check_peers(struct check *r, const char *path)
{
	struct peers_info *v = NULL;
	struct bide_error err = {0};
	size_t n = 0;

	if (peers_list(path, &v, &n, &err) != BIDE_OK) {
		check_say(r, false, "instances: %s", err.text);
		return;
	}
	for (size_t i = 0; i < n; i++)
		check_say(r, v[i].state == PEERS_ALIVE,
			  "instance %lld (%s), pid %lld: %s%s",
			  (long long)v[i].instance, v[i].name,
			  (long long)v[i].pid,
			  v[i].state == PEERS_ALIVE ? "alive"
			  : v[i].state == PEERS_SILENT
				  ? "silent, its lease ran out: continue it or "
				    "kill it; its tasks are taken over"
				  : "dead: the next instance that looks, or "
				    "starts, takes its tasks over",
			  v[i].draining ? ", draining" : "");
	if (n == 0)
		check_say(r, true, "no instance is running");
	free(v);
}

bool store_check(const struct store_options *opt,
		 void (*fn)(void *user, bool good, const char *line),
		 void *user)
{
	struct check r = {.say = fn, .user = user, .good = true};
	struct store_options look = *opt;
	struct store_file file = {0};
	struct bide_error err = {0};
	struct sql c = {0};

	look.create = false;
	check_library(&r);
	if (file_locate(&look, &file, &err) != BIDE_OK ||
	    sql_open(&c, file.path, SQLITE_OPEN_READONLY, &err) != BIDE_OK) {
		check_say(&r, false, "%s%s", err.text,
			  err.rc == BIDE_NOT_FOUND
				  ? "; --db or BIDE_DB says where it is"
				  : "");
		free(file.path);
		return false;
	}
	check_say(&r, true, "database %s", file.path);
	check_schema(&r, &c, file.path);
	sql_close(&c);
	check_gate(&r, file.path);
	check_peers(&r, file.path);
	free(file.path);
	return r.good;
}
