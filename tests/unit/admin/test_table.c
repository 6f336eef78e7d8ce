/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/admin/table.h"

static char *printed(const struct table *t, size_t width)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_true(table_print(t, out, width));
	assert_int_equal(fclose(out), 0);
	return text;
}

static void assert_prints(struct table *t, size_t width, const char *want)
{
	char *text = printed(t, width);

	assert_string_equal(text, want);
	free(text);
	table_fini(t);
}

static void test_table__columns_are_as_wide_as_their_widest_cell(void **state)
{
	struct table t;

	(void)state;
	table_init(&t, "ID|TOOL|ABOUT");
	table_cell(&t, "a");
	table_cell(&t, "checksum_tree");
	table_cell(&t, "x");
	table_cell(&t, "%s-%d", "long", 1);
	table_cell(&t, "t");
	table_cell(&t, "y z");
	assert_prints(&t, 0,
		      "ID      TOOL           ABOUT\n"
		      "a       checksum_tree  x\n"
		      "long-1  t              y z\n");
}

static void test_table__numbers_are_aligned_right(void **state)
{
	struct table t;

	(void)state;
	table_init(&t, ">EPOCH|EVENT");
	table_cell(&t, "7");
	table_cell(&t, "claimed");
	assert_prints(&t, 0, "EPOCH  EVENT\n    7  claimed\n");
}

static void test_table__characters_count_and_not_bytes(void **state)
{
	struct table t;

	(void)state;
	table_init(&t, "A|B");
	table_cell(&t, "\xc3\xa4\xc3\xb6\xe2\x82\xac");
	table_cell(&t, "1");
	table_cell(&t, "xyz");
	table_cell(&t, "2");
	assert_prints(&t, 0,
		      "A    B\n\xc3\xa4\xc3\xb6\xe2\x82\xac  1\nxyz  2\n");
}

#define LONG_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" /* 40 of them */

static void test_table__the_last_column_is_cut_to_the_line(void **state)
{
	struct table t;

	(void)state;
	table_init(&t, "A|B");
	table_cell(&t, "1");
	table_cell(&t, LONG_A);
	assert_prints(&t, 40,
		      "A  B\n1  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\n");
}

static void test_table__a_cut_falls_between_characters(void **state)
{
	struct table t;

	(void)state;
	table_init(&t, "A|B");
	table_cell(&t, "1");
	table_cell(&t, "\xe2\x82\xac" LONG_A);
	assert_prints(&t, 40,
		      "A  B\n1  \xe2\x82\xac"
		      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\n");
}

static void test_table__a_last_column_without_room_stands_below(void **state)
{
	struct table t;

	(void)state;
	table_init(&t, "ID|STATE|ABOUT");
	table_cell(&t, "x");
	table_cell(&t, "waiting");
	table_cell(&t, LONG_A);
	table_cell(&t, "y");
	table_cell(&t, "ready");
	table_cell(&t, "%s", "");
	assert_prints(&t, 30,
		      "ID  STATE\n"
		      "x   waiting\n"
		      "    aaaaaaaaaaaaaaaaaaaaaaa...\n"
		      "y   ready\n");
}

static void test_table__what_a_terminal_would_obey_is_not_shown(void **state)
{
	struct table t;

	(void)state;
	table_init(&t, "A|B");
	table_cell(&t, "\033[2J");
	table_cell(&t, "a\nb\tc\x7f\xc2\x9b"
		       "31m\xff");
	assert_prints(&t, 0, "A     B\n [2J  a b c   31m?\n");
}

static void test_table__a_pipe_is_not_a_terminal(void **state)
{
	FILE *out = tmpfile();

	(void)state;
	assert_non_null(out);
	assert_int_equal(table_line_width(out), 0);
	(void)fclose(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_table__columns_are_as_wide_as_their_widest_cell),
		cmocka_unit_test(test_table__numbers_are_aligned_right),
		cmocka_unit_test(test_table__characters_count_and_not_bytes),
		cmocka_unit_test(
			test_table__the_last_column_is_cut_to_the_line),
		cmocka_unit_test(test_table__a_cut_falls_between_characters),
		cmocka_unit_test(
			test_table__a_last_column_without_room_stands_below),
		cmocka_unit_test(
			test_table__what_a_terminal_would_obey_is_not_shown),
		cmocka_unit_test(test_table__a_pipe_is_not_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
