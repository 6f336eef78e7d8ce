/* SPDX-License-Identifier: MIT */
#include "store/sqlite_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/error.h"
#include "server/base/log.h"

/* Opening and closing. */

#define OPEN_GATE_MS 30000 /* a migration of another process may take long */

static enum bide_rc put_in_order(struct store *s, bool create, bool migrate,
				 struct bide_error *reterr)
{
	enum bide_rc rc;
	int version = 0;

	rc = migrate_check(&s->w, s->path, &version, reterr);
	if (rc != BIDE_OK)
		return rc;
	if (version == migrate_latest())
		return migrate_to_wal(&s->w, s->path, reterr);
	if (!migrate && !(version == 0 && create))
		return error_set(reterr, BIDE_CONFLICT,
				 "%s is of schema %d, this program needs %d: "
				 "run the migrate command",
				 s->path, version, migrate_latest());
	return migrate_run(&s->w, s->path, &version, reterr);
}

static enum bide_rc give_name(struct store *s, struct bide_error *reterr)
{
	unsigned char raw[16];
	char text[33];
	sqlite3_stmt *st;

	sqlite3_randomness(sizeof raw, raw);
	for (size_t i = 0; i < sizeof raw; i++)
		snprintf(text + 2 * i, 3, "%02x", raw[i]);
	if (!s->read_only &&
	    sql_query(&s->w, &st, SQL_META_GET, "s", "name") == SQL_DONE)
		sql_run(&s->w, SQL_META_INIT, "ss", "name", text);
	else
		sql_reset(s->w.stmt[SQL_META_GET]);
	if (sql_query(&s->w, &st, SQL_META_GET, "s", "name") == SQL_ROW) {
		snprintf(s->name, sizeof s->name, "%s", sql_str(st, 0));
		sql_reset(st);
	}
	if (s->w.rc == SQLITE_OK)
		return BIDE_OK;
	return error_set(reterr, BIDE_IO, "%s: %s", s->path,
			 sqlite3_errmsg(s->w.db));
}

/* Everything that must not be done by two at once. */
static enum bide_rc open_in_gate(struct store *s,
				 const struct store_options *opt,
				 struct bide_error *reterr)
{
	enum bide_rc rc;

	rc = sql_open(&s->w, s->path, SQLITE_OPEN_READWRITE, reterr);
	file_remember(s);
	if (rc == BIDE_OK)
		rc = put_in_order(s, opt->create, opt->migrate, reterr);
	if (rc == BIDE_OK && sql_exec(&s->w, "PRAGMA cache_size = -16000") < 0)
		rc = BIDE_IO;
	if (rc == BIDE_OK)
		rc = give_name(s, reterr);
	if (rc == BIDE_OK)
		rc = clock_begin(s, &s->w, reterr);
	return rc;
}

static enum bide_rc open_writer(struct store *s,
				const struct store_options *opt,
				struct bide_error *reterr)
{
	const struct gate_options gopt = {
		.break_after_ms = opt->break_frozen_holder ? 5000 : 0};
	enum bide_rc rc;

	rc = file_create(s->path, reterr);
	if (rc == BIDE_OK)
		rc = gate_open(s->path, &gopt, &s->gate, reterr);
	if (rc == BIDE_OK)
		rc = gate_enter(s->gate, clock_boot_ms() + OPEN_GATE_MS,
				reterr);
	if (rc != BIDE_OK)
		return rc;
	rc = open_in_gate(s, opt, reterr);
	gate_leave(s->gate);
	if (rc == BIDE_OK && writer_start(s) != 0)
		rc = error_set(reterr, BIDE_NOMEM, "cannot start a thread");
	return rc;
}

static enum bide_rc open_reader(struct store *s, struct bide_error *reterr)
{
	enum bide_rc rc;
	int version = 0;

	rc = sql_open(&s->w, s->path, SQLITE_OPEN_READONLY, reterr);
	if (rc == BIDE_OK)
		rc = migrate_check(&s->w, s->path, &version, reterr);
	if (rc == BIDE_OK && version != migrate_latest())
		rc = error_set(reterr, BIDE_CONFLICT,
			       "%s is of schema %d, this program needs %d: run "
			       "the migrate command",
			       s->path, version, migrate_latest());
	if (rc == BIDE_OK)
		rc = give_name(s, reterr);
	if (rc == BIDE_OK)
		rc = clock_load(s, &s->w, reterr);
	return rc;
}

static struct store *new_store(const struct store_options *opt, char *path)
{
	struct store *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->path = path;
	s->read_only = opt->read_only;
	s->lease_ms = opt->lease_ms > 0 ? opt->lease_ms : 15000;
	s->poll_ms = opt->poll_ms > 0 ? opt->poll_ms : 500;
	s->tail = &s->head;
	s->earliest_ms = INT64_MAX;
	mutex_init(&s->lock, RANK_STORE);
	cond_init(&s->more);
	cond_init(&s->slept);
	mutex_init(&s->readers_lock, RANK_STORE_READERS);
	mutex_init(&s->interest.lock, RANK_STORE_READERS);
	health_init(s);
	return s;
}

static void destroy(struct store *s)
{
	readers_close(s);
	sql_close(&s->poll);
	sql_close(&s->w);
	gate_close(s->gate);
	for (size_t i = 0; i < s->ntools; i++)
		free(s->tools[i]);
	free(s->tools);
	free(s->tool_hash);
	interest_fini(s);
	mutex_fini(&s->health.lock);
	mutex_fini(&s->readers_lock);
	mutex_fini(&s->lock);
	cond_fini(&s->slept);
	cond_fini(&s->more);
	free(s->path);
	free(s);
}

enum bide_rc store_open(const struct store_options *opt, struct store **ret,
			struct bide_error *reterr)
{
	struct store_file file = {0};
	struct store *s;
	enum bide_rc rc;

	rc = file_locate(opt, &file, reterr);
	if (rc != BIDE_OK)
		return rc;
	s = new_store(opt, file.path);
	if (!s) {
		free(file.path);
		return error_set(reterr, BIDE_NOMEM, "out of memory");
	}
	rc = opt->read_only ? open_reader(s, reterr)
			    : open_writer(s, opt, reterr);
	if (rc != BIDE_OK) {
		writer_stop(s, 0);
		destroy(s);
		return rc;
	}
	*ret = s;
	return BIDE_OK;
}

void store_close(struct store *s, int64_t grace_ms)
{
	bool left;

	if (!s)
		return;
	left = join_leave(s, grace_ms);
	writer_stop(s, grace_ms);
	/* What still runs stays claimed: this process must end, and its files
	 * tell others when it has. docs/design.md, rule 12. */
	if (left)
		destroy(s);
}

enum bide_rc store_migrate(const struct store_options *opt, int *ret_from,
			   int *ret_to, struct bide_error *reterr)
{
	struct store_file file = {0};
	struct gate *gate = NULL;
	struct sql c = {0};
	enum bide_rc rc;

	rc = file_locate(opt, &file, reterr);
	if (rc == BIDE_OK)
		rc = file_create(file.path, reterr);
	if (rc == BIDE_OK)
		rc = gate_open(file.path, NULL, &gate, reterr);
	if (rc == BIDE_OK)
		rc = gate_enter(gate, clock_boot_ms() + OPEN_GATE_MS, reterr);
	if (rc == BIDE_OK)
		rc = sql_open(&c, file.path, SQLITE_OPEN_READWRITE, reterr);
	if (rc == BIDE_OK)
		rc = migrate_run(&c, file.path, ret_from, reterr);
	if (rc == BIDE_OK)
		*ret_to = migrate_latest();
	sql_close(&c);
	gate_close(gate); /* leaves it */
	free(file.path);
	return rc;
}

const char *store_name(struct store *s)
{
	return s->name;
}

void store_watch(struct store *s, store_watch_fn fn, void *user)
{
	s->watch_fn = fn;
	s->watch_user = user;
}
