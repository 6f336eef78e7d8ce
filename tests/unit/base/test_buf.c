/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "server/base/buf.h"

static void test_buf__grows_and_is_terminated_after_every_append(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 0);
	for (size_t i = 0; i < 5000; i++) {
		assert_true(buf_addc(&b, (char)('a' + i % 26)));
		assert_int_equal(b.len, i + 1);
		assert_int_equal(b.data[b.len], '\0');
	}
	assert_true(buf_add(&b, "x\0y", 3));
	assert_int_equal(b.len, 5003);
	assert_memory_equal(b.data + 5000, "x\0y", 4);
	buf_fini(&b);
	assert_null(b.data);
}

static void test_buf__max_bytes_fit_and_one_more_does_not(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 10);
	assert_true(buf_addstr(&b, "0123456789"));
	assert_true(buf_add(&b, "", 0));
	assert_false(buf_addc(&b, 'x'));
	assert_true(b.failed);
	assert_string_equal(b.data, "0123456789");
	buf_fini(&b);
	assert_int_equal(b.max, 10);
}

static void test_buf__failure_sticks_until_reset(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 4);
	buf_addstr(&b, "ab");
	assert_false(buf_addstr(&b, "cde"));
	assert_false(buf_addc(&b, 'c'));
	assert_false(buf_addf(&b, "%d", 1));
	assert_null(buf_room(&b, 1));
	assert_string_equal(b.data, "ab");
	buf_reset(&b);
	assert_string_equal(b.data, "");
	assert_true(buf_addstr(&b, "abcd"));
	buf_fini(&b);
}

static void test_buf__a_zeroed_one_is_usable(void **state)
{
	struct buf b = {0};

	(void)state;
	assert_true(buf_addstr(&b, "a"));
	buf_fini(&b);
	buf_fini(&b);
	buf_reset(&b);
	assert_null(b.data);
}

static void test_buf_addf__any_length(void **state)
{
	struct buf b = {0};
	char want[1025];

	(void)state;
	memset(want, ' ', 1024);
	want[1023] = '7';
	want[1024] = '\0';
	assert_true(buf_addf(&b, "%1024d", 7));
	assert_string_equal(b.data, want);
	assert_int_equal(b.len, 1024);
	assert_true(buf_addf(&b, "-%s-", "x"));
	assert_string_equal(b.data + 1024, "-x-");
	buf_fini(&b);
}

static void
test_buf_addf__the_ceiling_counts_though_memory_would_do(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 8);
	assert_true(buf_addf(&b, "%s", "12345678"));
	buf_reset(&b);
	assert_false(buf_addf(&b, "%s", "123456789"));
	assert_true(b.failed);
	assert_int_equal(b.len, 0);
	assert_string_equal(b.data, "");
	buf_fini(&b);
}

static void test_buf_room__is_written_by_the_caller(void **state)
{
	struct buf b = {0};
	char *p = buf_room(&b, 300);

	(void)state;
	assert_non_null(p);
	memset(p, 'z', 300);
	p[300] = '\0';
	b.len += 300;
	assert_true(buf_addc(&b, '!'));
	assert_int_equal(b.data[299], 'z');
	assert_string_equal(b.data + 300, "!");
	assert_null(buf_room(&b, SIZE_MAX));
	assert_true(b.failed);
	buf_fini(&b);
}

static void test_buf_take__moves_the_string_out(void **state)
{
	struct buf b;
	size_t len = 99;
	char *s = NULL;

	(void)state;
	buf_init(&b, 100);
	buf_addstr(&b, "hello");
	s = buf_take(&b, &len);
	assert_string_equal(s, "hello");
	assert_int_equal(len, 5);
	assert_null(b.data);
	assert_int_equal(b.max, 100);
	free(s);
	s = buf_take(&b, &len);
	assert_string_equal(s, "");
	assert_int_equal(len, 0);
	free(s);
}

static void test_buf_take__of_a_failed_one_is_null(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 1);
	buf_addstr(&b, "a");
	buf_addstr(&b, "b");
	assert_null(buf_take(&b, NULL));
	assert_null(b.data);
	assert_false(b.failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_buf__grows_and_is_terminated_after_every_append),
		cmocka_unit_test(test_buf__max_bytes_fit_and_one_more_does_not),
		cmocka_unit_test(test_buf__failure_sticks_until_reset),
		cmocka_unit_test(test_buf__a_zeroed_one_is_usable),
		cmocka_unit_test(test_buf_addf__any_length),
		cmocka_unit_test(
			test_buf_addf__the_ceiling_counts_though_memory_would_do),
		cmocka_unit_test(test_buf_room__is_written_by_the_caller),
		cmocka_unit_test(test_buf_take__moves_the_string_out),
		cmocka_unit_test(test_buf_take__of_a_failed_one_is_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
