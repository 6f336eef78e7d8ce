/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/base/clock.h"
#include "server/base/fault.h"
#include "store/sqlite_store.h"
#include "tests/unit/store/lib/contract.h"

/* Opening: what is made, what is migrated, what is refused and why. */

static int setup(void **state)
{
	struct contract *c = calloc(1, sizeof *c);

	contract_make(c);
	*state = c;
	return 0;
}

static int teardown(void **state)
{
	contract_remove(*state);
	free(*state);
	return 0;
}

static const char *path_of(const struct contract *c)
{
	return c->url + strlen("sqlite:");
}

static enum bide_rc try_open(const struct contract *c, struct bide_error *err)
{
	struct store_options opt = {
		.url = c->url, .create = true, .migrate = true};
	struct store *s = NULL;
	enum bide_rc rc;

	memset(err, 0, sizeof *err);
	rc = store_open(&opt, &s, err);
	store_close(s, 100);
	return rc;
}

static void sql(const struct contract *c, const char *text)
{
	sqlite3 *db = NULL;
	char *why = NULL;

	assert_int_equal(
		sqlite3_open_v2(path_of(c), &db,
				SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
				NULL),
		SQLITE_OK);
	if (sqlite3_exec(db, text, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", text, why);
	sqlite3_close(db);
	chmod(path_of(c), 0600);
}

static int64_t number(const struct contract *c, const char *text)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;
	int64_t n = -1;

	assert_int_equal(
		sqlite3_open_v2(path_of(c), &db, SQLITE_OPEN_READONLY, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, text, -1, &st, NULL),
			 SQLITE_OK);
	if (sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return n;
}

static void test_open__makes_a_private_database(void **state)
{
	struct contract *c = *state;
	struct bide_error err;
	struct stat st;

	umask(0);
	assert_int_equal(try_open(c, &err), BIDE_OK);
	assert_int_equal(stat(path_of(c), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(number(c, "PRAGMA application_id"), 0x62696465);
	assert_int_equal(number(c, "PRAGMA user_version"), migrate_latest());
	assert_int_equal(number(c, "SELECT count(*) FROM schema_history"),
			 migrate_latest());
	assert_int_equal(try_open(c, &err), BIDE_OK); /* again */
}

static void test_open__a_missing_one_is_made_only_when_asked(void **state)
{
	struct contract *c = *state;
	struct store_options opt = {.url = c->url, .migrate = true};
	struct bide_error err = {0};
	struct store *s = NULL;

	assert_int_equal(store_open(&opt, &s, &err), BIDE_NOT_FOUND);
	assert_non_null(strstr(err.text, "no database"));
	assert_int_equal(access(path_of(c), F_OK), -1);
}

static void test_open__without_migrate_refuses_an_old_one(void **state)
{
	struct contract *c = *state;
	struct store_options opt = {.url = c->url};
	struct bide_error err = {0};
	struct store *s = NULL;
	int from = -1, to = -1;

	sql(c, "PRAGMA user_version = 0");
	assert_int_equal(store_open(&opt, &s, &err), BIDE_CONFLICT);
	assert_non_null(strstr(err.text, "migrate"));
	opt.read_only = true;
	assert_int_equal(store_open(&opt, &s, &err), BIDE_CONFLICT);
	assert_int_equal(store_migrate(&opt, &from, &to, &err), BIDE_OK);
	assert_int_equal(from, 0);
	assert_int_equal(to, migrate_latest());
	assert_int_equal(store_migrate(&opt, &from, &to, &err), BIDE_OK);
	assert_int_equal(from, to);
	opt.read_only = false;
	assert_int_equal(store_open(&opt, &s, &err), BIDE_OK);
	store_close(s, 100);
}

static void refused(struct contract *c, enum bide_rc rc, const char *word)
{
	struct bide_error err;

	assert_int_equal(try_open(c, &err), rc);
	if (!strstr(err.text, word))
		fail_msg("\"%s\" does not say \"%s\"", err.text, word);
}

static void test_open__refuses_a_newer_database(void **state)
{
	struct contract *c = *state;
	struct bide_error err;

	assert_int_equal(try_open(c, &err), BIDE_OK);
	sql(c, "PRAGMA user_version = 999");
	refused(c, BIDE_CONFLICT, "newer program");
	sql(c, "PRAGMA user_version = -1");
	refused(c, BIDE_INVALID, "schema -1");
}

static void test_open__refuses_an_edited_migration(void **state)
{
	struct contract *c = *state;
	struct bide_error err;

	assert_int_equal(try_open(c, &err), BIDE_OK);
	sql(c, "UPDATE schema_history SET checksum = 'x' WHERE number = 1");
	refused(c, BIDE_CONFLICT, "0001_init.sql");
}

static void test_open__refuses_another_applications_file(void **state)
{
	struct contract *c = *state;

	sql(c, "CREATE TABLE notes (t TEXT)");
	refused(c, BIDE_INVALID, "another application");
	sql(c, "PRAGMA application_id = 252006674");
	refused(c, BIDE_INVALID, "252006674");
	assert_int_equal(number(c, "SELECT count(*) FROM sqlite_schema"), 1);
}

static void test_open__refuses_what_is_no_database(void **state)
{
	struct contract *c = *state;
	FILE *f = fopen(path_of(c), "w");

	assert_non_null(f);
	for (int i = 0; i < 1000; i++)
		fputs("not a database\n", f);
	fclose(f);
	chmod(path_of(c), 0600);
	refused(c, BIDE_INVALID, "not an SQLite database");
}

static void test_open__refuses_wrong_modes_and_places(void **state)
{
	struct contract *c = *state;
	struct bide_error err;
	struct contract other;
	char text[80];

	assert_int_equal(try_open(c, &err), BIDE_OK);
	chmod(path_of(c), 0644);
	refused(c, BIDE_INVALID, "chmod");
	chmod(path_of(c), 0600);
	assert_int_equal(
		fault_arm("store.network_fs:1:fail", text, sizeof text), 0);
	refused(c, BIDE_INVALID, "local disk");
	other = *c;
	snprintf(other.url, sizeof other.url, "postgres://db/bide");
	refused(&other, BIDE_INVALID, "postgres");
	snprintf(other.url, sizeof other.url, "sqlite:%.200s", c->dir);
	refused(&other, BIDE_INVALID, "not a file");
	snprintf(other.url, sizeof other.url, "%.200s/no/such/dir.db", c->dir);
	refused(&other, BIDE_IO, "No such file");
}

static void test_place__network_file_systems_are_known(void **state)
{
	(void)state;
	assert_string_equal(file_network_fs(0x6969), "NFS");
	assert_string_equal(file_network_fs(0xffffffffff534d42u), "CIFS");
	assert_null(file_network_fs(0xef53));     /* ext4 */
	assert_null(file_network_fs(0x01021994)); /* tmpfs */
	assert_null(file_network_fs(0x794c7630)); /* overlay */
}

/* ---- several processes ---- */

/* The child's exit code: 0 when it opened. */
static pid_t open_in_child(const struct contract *c, const char *fault)
{
	pid_t pid = fork();
	struct bide_error err;
	char text[80];

	if (pid != 0)
		return pid;
	if (fault && fault_arm(fault, text, sizeof text) != 0)
		_exit(9);
	_exit(try_open(c, &err) == BIDE_OK ? 0 : 1);
}

static void test_migrate__twenty_at_once_make_one(void **state)
{
	struct contract *c = *state;
	pid_t pid[20];
	int status;

	for (int i = 0; i < 20; i++)
		pid[i] = open_in_child(c, NULL);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	assert_int_equal(number(c, "SELECT count(*) FROM schema_history"),
			 migrate_latest());
	assert_int_equal(number(c, "SELECT count(*) FROM meta "
				   "WHERE key = 'name'"),
			 1);
}

/* Killed at each step, the next start finishes it. */
static void test_migrate__killed_anywhere_is_finished(void **state)
{
	struct contract *c = *state;
	struct bide_error err;
	int killed = 0, status;
	char fault[40];

	for (int n = 1; n < 20; n++) {
		pid_t pid;

		snprintf(fault, sizeof fault, "store.migrate:%d:kill", n);
		pid = open_in_child(c, fault);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			break; /* there is no n-th step */
		assert_true(WIFSIGNALED(status));
		killed++;
		assert_int_equal(try_open(c, &err), BIDE_OK);
		assert_int_equal(
			number(c, "SELECT count(*) FROM schema_history"),
			migrate_latest());
		contract_remove(c);
		contract_make(c);
	}
	assert_in_range(killed, 5, 18);
}

/* ---- older ones ---- */

static void make_old(const struct contract *c, const char *dump)
{
	char text[32768];
	FILE *f = fopen(dump, "r");
	size_t n;

	if (!f)
		fail_msg("%s cannot be read: run this where it is", dump);
	n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	assert_true(n < sizeof text - 1);
	text[n] = '\0';
	sql(c, text);
}

static void test_migrate__keeps_what_schema_1_held(void **state)
{
	struct contract *c = *state;
	struct store_options opt = {.url = c->url};
	struct bide_error err = {0};
	struct store *s = NULL;
	struct store_topic *topics = NULL;
	struct store_task *t;
	struct store_op op;
	size_t n = 0;

	make_old(c, "tests/unit/store/old/schema_1.sql");
	assert_int_equal(store_open(&opt, &s, &err), BIDE_CONFLICT);
	assert_non_null(strstr(err.text, "is of schema 1"));
	s = contract_open(c);
	assert_int_equal(number(c, "PRAGMA user_version"), migrate_latest());
	t = look(s, "RZeeNagGSKcPeTxrOU2iZII");
	assert_int_equal(t->state, STORE_WAITING);
	assert_int_equal(t->open, 1);
	store_task_free(t);
	/* What came with schema 2. */
	store_op_init(&op, STORE_OP_ANNOUNCE, DRAW_MS);
	op.u.announce.topic = "tools";
	assert_int_equal(must_run(s, &op), STORE_OK);
	assert_int_equal(store_topics(s, 0, 10, &topics, &n), BIDE_OK);
	assert_int_equal(n, 1);
	store_topics_free(topics, n);
	store_close(s, 100);
}

/* ---- the clock ---- */

static int64_t now_of(const struct contract *c)
{
	struct store *s = contract_open(c);
	int64_t now = store_now_ms(s);

	store_close(s, 100);
	return now;
}

static void test_clock__goes_on_through_a_reopening(void **state)
{
	struct contract *c = *state;
	int64_t a = now_of(c), b = now_of(c);

	assert_true(b >= a);
	assert_true(b - a < 60000);
	assert_true(llabs(a - clock_wall_ms()) < 60000);
}

/* After a reboot it starts at the wall clock, or where it was if that is set
 * back: no time that was ever written lies ahead. */
static void test_clock__never_goes_backwards_over_a_boot(void **state)
{
	struct contract *c = *state;
	int64_t high;
	char text[200];

	now_of(c);
	high = clock_wall_ms() + 3600000;
	snprintf(text, sizeof text,
		 "UPDATE meta SET value = 'another-boot' WHERE key = 'boot_id';"
		 "REPLACE INTO meta VALUES ('clock_high', %lld)",
		 (long long)high);
	sql(c, text);
	assert_true(now_of(c) >= high);
	assert_true(now_of(c) - high < 60000);
}

static void test_clock__what_is_written_is_below_the_mark(void **state)
{
	struct contract *c = *state;
	struct store *s = contract_open(c);
	int64_t now;

	make_task(s, "1");
	now = store_now_ms(s);
	store_close(s, 100);
	assert_true(number(c, "SELECT value FROM meta "
			      "WHERE key = 'clock_high'") >= now - 1000);
	assert_true(number(c, "SELECT (SELECT value FROM meta WHERE "
			      "key = 'clock_high') >= max(updated_ms) "
			      "FROM task") == 1);
}

/* ---- doctor ---- */

static void collect(void *user, bool good, const char *line)
{
	char *all = user;
	size_t len = strlen(all);

	snprintf(all + len, 4096 - len, "%s%s\n", good ? "" : "BAD ", line);
}

static void test_check__says_what_is_wrong(void **state)
{
	struct contract *c = *state;
	struct store_options opt = {.url = c->url};
	struct bide_error err;
	char all[4096] = "";
	char wal[600];
	struct stat st;

	assert_false(store_check(&opt, collect, all));
	assert_non_null(strstr(all, "BAD there is no database"));
	assert_int_equal(try_open(c, &err), BIDE_OK);
	all[0] = '\0';
	if (!store_check(&opt, collect, all))
		fail_msg("%s", all);
	assert_non_null(strstr(all, "pages: ok"));
	assert_non_null(strstr(all, "gate is free"));
	/* A log that nothing empties: its length is what is looked at. */
	snprintf(wal, sizeof(wal), "%s-wal", path_of(c));
	assert_int_equal(stat(wal, &st), 0);
	assert_int_equal(truncate(wal, (off_t)300 << 20), 0);
	all[0] = '\0';
	assert_false(store_check(&opt, collect, all));
	assert_non_null(strstr(all, "BAD the WAL has 307200 kB: a reader"));
	assert_int_equal(truncate(wal, st.st_size), 0);
	sql(c, "PRAGMA user_version = 999");
	all[0] = '\0';
	assert_false(store_check(&opt, collect, all));
	assert_non_null(strstr(all, "is of schema 999"));
}

#define test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(test_open__makes_a_private_database),
		test(test_open__a_missing_one_is_made_only_when_asked),
		test(test_open__without_migrate_refuses_an_old_one),
		test(test_open__refuses_a_newer_database),
		test(test_open__refuses_an_edited_migration),
		test(test_open__refuses_another_applications_file),
		test(test_open__refuses_what_is_no_database),
		test(test_open__refuses_wrong_modes_and_places),
		test(test_place__network_file_systems_are_known),
		test(test_migrate__twenty_at_once_make_one),
		test(test_migrate__killed_anywhere_is_finished),
		test(test_migrate__keeps_what_schema_1_held),
		test(test_clock__goes_on_through_a_reopening),
		test(test_clock__never_goes_backwards_over_a_boot),
		test(test_clock__what_is_written_is_below_the_mark),
		test(test_check__says_what_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
