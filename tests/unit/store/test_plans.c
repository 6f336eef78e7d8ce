/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/sqlite_stmt.h"
#include "tests/unit/store/lib/contract.h"

/*
 * Every named statement is prepared and its query plan read: a SCAN of a table
 * or index, or a sort of what an index should give in order, fails unless the
 * statement is on the list of what is slow on purpose, and says why.
 */
static const struct {
	enum sql_name name;
	const char *why;
} slow[] = {
	{SQL_SCHEMA_COUNT, "a handful of rows, at the opening"},
	{SQL_HISTORY_EXISTS, "the same"},
	{SQL_HISTORY_LIST, "one row a migration, at the opening"},
	{SQL_KEY_LIST, "bounded by LIMIT, newest first"},
	{SQL_GET_DECOY, "the first row"},
	{SQL_LIST_ALL, "an operator's list: from the newest, filtered"},
	{SQL_LIST_LIVE, "an operator's list: all that live"},
	{SQL_COUNT_READY, "counts"},
	{SQL_COUNT_RUNNING, "counts"},
	{SQL_COUNT_WAITING, "counts"},
	{SQL_COUNT_ENDED, "counts"},
	{SQL_COUNT_QUESTIONS, "counts"},
	{SQL_INSTANCE_NEXT_GONE, "few rows"},
	{SQL_INSTANCE_NEXT_LIVE, "few rows"},
	{SQL_SWEEP_TOPICS, "bounded by LIMIT, oldest first"},
};

/* Sorts of a few rows of one task. */
static const enum sql_name sorts[] = {
	SQL_INPUT_LATEST, SQL_GET_INPUTS_OPEN, SQL_GET_INPUTS_ALL,
	SQL_GET_STEPS,    SQL_GET_EVENTS,      SQL_LIST_LIVE,
	SQL_COUNT_ENDED,
};

static bool is_slow(enum sql_name name)
{
	for (size_t i = 0; i < sizeof slow / sizeof *slow; i++)
		if (slow[i].name == name)
			return true;
	return false;
}

static bool may_sort(enum sql_name name)
{
	for (size_t i = 0; i < sizeof sorts / sizeof *sorts; i++)
		if (sorts[i] == name)
			return true;
	return false;
}

static int setup(void **state)
{
	static struct contract c;

	contract_make(&c);
	store_close(contract_open(&c), 1000);
	*state = &c;
	return 0;
}

static int teardown(void **state)
{
	contract_remove(*state);
	return 0;
}

static sqlite3 *database(const struct contract *c)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open_v2(c->url + strlen("sqlite:"), &db,
					 SQLITE_OPEN_READWRITE, NULL),
			 SQLITE_OK);
	return db;
}

static void test_statements__all_prepare(void **state)
{
	sqlite3 *db = database(*state);

	for (int i = 0; i < SQL_COUNT; i++) {
		sqlite3_stmt *st = NULL;
		const char *tail = NULL;

		if (sqlite3_prepare_v2(db, sql_text_of((enum sql_name)i), -1,
				       &st, &tail) != SQLITE_OK)
			fail_msg("%s: %s", sql_name_of((enum sql_name)i),
				 sqlite3_errmsg(db));
		/* One statement a name: the rest would never run. */
		assert_int_equal(strspn(tail, " \n\t;"), strlen(tail));
		sqlite3_finalize(st);
	}
	sqlite3_close(db);
}

static bool is_a_scan(const char *detail)
{
	/* A scan of the rows a sub-select made is none of a table. */
	return strncmp(detail, "SCAN", 4) == 0 &&
	       !strstr(detail, "SCAN (subquery") &&
	       strcmp(detail, "SCAN CONSTANT ROW") != 0;
}

static int bad_lines(sqlite3 *db, enum sql_name name)
{
	sqlite3_stmt *st = NULL;
	int bad = 0;
	char *text;

	text = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sql_text_of(name));
	assert_int_equal(sqlite3_prepare_v2(db, text, -1, &st, NULL),
			 SQLITE_OK);
	while (sqlite3_step(st) == SQLITE_ROW) {
		const char *detail = (const char *)sqlite3_column_text(st, 3);
		bool scan = is_a_scan(detail) && !is_slow(name);
		bool sort = strstr(detail, "TEMP B-TREE") && !may_sort(name);

		if (scan || sort) {
			print_error("%s: %s\n", sql_name_of(name), detail);
			bad++;
		}
	}
	sqlite3_finalize(st);
	sqlite3_free(text);
	return bad;
}

static void test_statements__none_scans_unawares(void **state)
{
	sqlite3 *db = database(*state);
	int bad = 0;

	for (int i = 0; i < SQL_COUNT; i++)
		bad += bad_lines(db, (enum sql_name)i);
	sqlite3_close(db);
	assert_int_equal(bad, 0);
}

/* What must be a seek whatever the table holds: a million ended tasks, a
 * hundred thousand that wait. */
static const struct {
	enum sql_name name;
	const char *plan;
} hot[] = {
	{SQL_READY_FROM_TOOL, "COVERING INDEX task_ready (tool>?)"},
	{SQL_WAITING_FROM_TOOL, "COVERING INDEX task_waiting (tool>?)"},
	{SQL_READY_DUE, "COVERING INDEX task_ready (tool=? AND ready_at<?)"},
	{SQL_WAITING_DUE, "COVERING INDEX task_waiting (tool=? AND wake_at<?)"},
	{SQL_READY_NEXT, "COVERING INDEX task_ready (tool=? AND ready_at>?)"},
	{SQL_WAITING_NEXT,
	 "COVERING INDEX task_waiting (tool=? AND wake_at>?)"},
	{SQL_CLAIMS_OF, "INDEX task_running (owner=?"},
	{SQL_OWNER_NEXT, "COVERING INDEX task_running (owner>?)"},
	{SQL_SWEEP_ABANDONED, "INDEX task_abandon (abandon_at<?)"},
	{SQL_SWEEP_EXPIRED, "INDEX task_expire (expire_at<?)"},
	{SQL_SWEEP_ENDED, "COVERING INDEX task_purge (purge_at<?)"},
	{SQL_GET_INPUTS_OPEN, "INDEX input_open (task=?)"},
	{SQL_INPUTS_NEXT_DEADLINE,
	 "INDEX input_open (task=? AND deadline_ms>?)"},
	{SQL_LIST_PRINCIPAL, "INDEX task_principal (principal=? AND rowid<?)"},
	{SQL_TOPIC_OP, "INDEX sqlite_autoindex_topic_1 (name=?)"},
	{SQL_TOPICS_AFTER, "PRIMARY KEY (rowid>?)"},
};

static void test_statements__hot_ones_seek(void **state)
{
	sqlite3 *db = database(*state);

	for (size_t i = 0; i < sizeof hot / sizeof *hot; i++) {
		sqlite3_stmt *st = NULL;
		bool found = false;
		char *text = sqlite3_mprintf("EXPLAIN QUERY PLAN %s",
					     sql_text_of(hot[i].name));

		assert_int_equal(sqlite3_prepare_v2(db, text, -1, &st, NULL),
				 SQLITE_OK);
		while (sqlite3_step(st) == SQLITE_ROW)
			found |=
				strstr((const char *)sqlite3_column_text(st, 3),
				       hot[i].plan) != NULL;
		if (!found)
			fail_msg("%s: no \"%s\"", sql_name_of(hot[i].name),
				 hot[i].plan);
		sqlite3_finalize(st);
		sqlite3_free(text);
	}
	sqlite3_close(db);
}

/* The reading of plans itself can fail. */
static void test_plans__a_scan_is_seen(void **state)
{
	sqlite3 *db = database(*state);
	sqlite3_stmt *st = NULL;

	assert_int_equal(
		sqlite3_prepare_v2(db,
				   "EXPLAIN QUERY PLAN SELECT id FROM task "
				   "WHERE status = 'x'",
				   -1, &st, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	assert_true(is_a_scan((const char *)sqlite3_column_text(st, 3)));
	sqlite3_finalize(st);
	sqlite3_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statements__all_prepare),
		cmocka_unit_test(test_statements__none_scans_unawares),
		cmocka_unit_test(test_statements__hot_ones_seek),
		cmocka_unit_test(test_plans__a_scan_is_seen),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
