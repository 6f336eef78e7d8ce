/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/error.h"
#include "server/base/fault.h"
#include "server/base/fnv.h"
#include "server/base/log.h"
#include "store/sqlite_store.h"

/*
 * Migrations: numbered from 1 without a gap, each in one transaction with its
 * row of schema_history and the file's user_version, all under the gate; so a
 * process that is killed at any point leaves whole ones only, and of twenty
 * that start at once one does the work.
 *
 * The checksum is two FNV-1a hashes of 64 bits. It finds an edited file; it is
 * no protection against somebody who means harm, who could edit the row too.
 */
struct migration {
	int number;
	const char *name;
	const char *text;
};
static const struct migration migrations[] = {
#define MIGRATION(number, name, text) {number, name, text},
#include "migrations/migrations.inc"
#undef MIGRATION
};
#define MIGRATIONS ((int)(sizeof migrations / sizeof *migrations))

int migrate_latest(void)
{
	return MIGRATIONS;
}

static void checksum(const char *text, char out[33])
{
	uint64_t a = fnv_text(FNV_BASIS, text);

	/* The second one starts elsewhere, so the two do not collide alike. */
	snprintf(out, 33, "%016llx%016llx", (unsigned long long)a,
		 (unsigned long long)fnv_text(~a, text));
}

static enum bide_rc failed(struct sql *c, const char *path, const char *what,
			   struct bide_error *reterr)
{
	enum bide_rc rc = error_set(reterr, BIDE_IO, "%s: %s: %s", path, what,
				    sqlite3_errmsg(c->db));

	sql_clear(c);
	if (!sqlite3_get_autocommit(c->db))
		sql_run(c, SQL_TXN_ROLLBACK, "");
	sql_clear(c);
	return rc;
}

/* What an applied migration was must be what this program has under it. */
static enum bide_rc check_history(struct sql *c, const char *path,
				  struct bide_error *reterr)
{
	enum bide_rc rc = BIDE_OK;
	sqlite3_stmt *st;
	enum sql_result r;
	char sum[33];

	r = sql_query(c, &st, SQL_HISTORY_LIST, "");
	for (; r == SQL_ROW && rc == BIDE_OK; r = sql_next(c, st)) {
		int n = sql_i32(st, 0);

		if (n < 1 || n > MIGRATIONS)
			continue;
		checksum(migrations[n - 1].text, sum);
		if (strcmp(sum, sql_str(st, 2)) == 0)
			continue;
		rc = error_set(reterr, BIDE_CONFLICT,
			       "%s: migration %s was applied with other text "
			       "than this program has. Run the program that "
			       "made this database",
			       path, sql_str(st, 1));
		sql_reset(st);
		return rc;
	}
	return c->rc == SQLITE_OK ? rc : failed(c, path, "history", reterr);
}

/* Ours, nobody's yet (version 0), another program's, or a newer one's. */
enum bide_rc migrate_check(struct sql *c, const char *path, int *ret_version,
			   struct bide_error *reterr)
{
	int64_t app = sql_int(c, -1, SQL_APPLICATION_ID, "");
	int64_t version = sql_int(c, -1, SQL_USER_VERSION, "");
	int64_t objects = sql_int(c, -1, SQL_SCHEMA_COUNT, "");

	if (c->rc != SQLITE_OK)
		return failed(c, path, "cannot be read", reterr);
	if (app == 0 && version == 0 && objects == 0) {
		*ret_version = 0;
		return BIDE_OK;
	}
	if (app != STORE_APPLICATION_ID)
		return error_set(reterr, BIDE_INVALID,
				 "%s is another application's database "
				 "(application_id %lld): choose another path",
				 path, (long long)app);
	if (version < 0)
		return error_set(reterr, BIDE_INVALID,
				 "%s is of schema %lld, which no program "
				 "makes: restore a backup",
				 path, (long long)version);
	if (version > MIGRATIONS)
		return error_set(reterr, BIDE_CONFLICT,
				 "%s is of schema %lld, this program knows "
				 "up to %d: run the newer program",
				 path, (long long)version, MIGRATIONS);
	*ret_version = (int)version;
	return check_history(c, path, reterr);
}

static enum bide_rc apply(struct sql *c, const char *path,
			  const struct migration *m, struct bide_error *reterr)
{
	int64_t began = clock_boot_ms();
	char sum[33], pragmas[80];

	checksum(m->text, sum);
	snprintf(pragmas, sizeof pragmas,
		 "PRAGMA application_id = %d; PRAGMA user_version = %d",
		 STORE_APPLICATION_ID, m->number);
	sql_run(c, SQL_TXN_BEGIN, "");
	sql_exec(c, m->text);
	(void)FAULT("store.migrate");
	sql_run(c, SQL_HISTORY_MAKE, "");
	sql_run(c, SQL_HISTORY_ADD, "issiis", (int64_t)m->number, m->name, sum,
		clock_wall_ms(), clock_boot_ms() - began, "bide");
	sql_exec(c, pragmas);
	(void)FAULT("store.migrate");
	sql_run(c, SQL_TXN_COMMIT, "");
	(void)FAULT("store.migrate");
	if (c->rc != SQLITE_OK)
		return failed(c, path, m->name, reterr);
	log_info("store.migrated", "migration=%s ms=%lld", m->name,
		 (long long)(clock_boot_ms() - began));
	return BIDE_OK;
}

/*
 * A backup comes back in another journal mode, and somebody may have changed it
 * with the shell. Cannot be changed inside a transaction; the caller is in the
 * gate.
 */
enum bide_rc migrate_to_wal(struct sql *c, const char *path,
			    struct bide_error *reterr)
{
	sqlite3_stmt *st;
	bool wal = false;

	if (sql_query(c, &st, SQL_JOURNAL_MODE, "") == SQL_ROW) {
		wal = strcmp(sql_str(st, 0), "wal") == 0;
		sql_reset(st);
	}
	if (!wal && sql_exec(c, "PRAGMA journal_mode = WAL") < 0)
		return failed(c, path, "cannot switch to WAL", reterr);
	return BIDE_OK;
}

enum bide_rc migrate_run(struct sql *c, const char *path, int *ret_from,
			 struct bide_error *reterr)
{
	enum bide_rc rc;
	int version = 0;

	rc = migrate_check(c, path, &version, reterr);
	if (rc != BIDE_OK)
		return rc;
	*ret_from = version;
	(void)FAULT("store.migrate");
	rc = migrate_to_wal(c, path, reterr);
	if (rc != BIDE_OK)
		return rc;
	(void)FAULT("store.migrate");
	for (; version < MIGRATIONS; version++) {
		rc = apply(c, path, &migrations[version], reterr);
		if (rc != BIDE_OK)
			return rc;
	}
	return BIDE_OK;
}
