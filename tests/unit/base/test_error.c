/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "server/base/error.h"

static void test_error_set__returns_the_code_and_fills_the_error(void **state)
{
	struct bide_error e = {0};

	(void)state;
	assert_int_equal(error_set(&e, BIDE_LIMIT, "%d of %s", 7, "them"),
			 BIDE_LIMIT);
	assert_int_equal(e.rc, BIDE_LIMIT);
	assert_string_equal(e.text, "7 of them");
	assert_int_equal(error_set(NULL, BIDE_IO, "nobody reads this"),
			 BIDE_IO);
}

static void test_error_set__cuts_between_characters(void **state)
{
	struct bide_error e;
	char text[400];

	(void)state;
	for (size_t start = 0; start < 4; start++) {
		memset(text, 'a', start);
		for (size_t i = start; i + 4 < sizeof(text); i += 4)
			memcpy(text + i, "\xF0\x9F\x98\x80", 5);
		error_set(&e, BIDE_INVALID, "%s", text);
		assert_int_equal(strlen(e.text),
				 start + (sizeof(e.text) - 1 - start) / 4 * 4);
	}
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	error_set(&e, BIDE_INVALID, "%s", text);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
}

static void test_error_rc_name__every_code(void **state)
{
	(void)state;
	assert_string_equal(error_rc_name(BIDE_OK), "BIDE_OK");
	for (int rc = BIDE_FAILED; rc <= BIDE_RUN; rc++)
		assert_int_equal(
			strncmp(error_rc_name((enum bide_rc)rc), "BIDE_", 5),
			0);
	assert_string_equal(error_rc_name((enum bide_rc) - 99), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_error_set__returns_the_code_and_fills_the_error),
		cmocka_unit_test(test_error_set__cuts_between_characters),
		cmocka_unit_test(test_error_rc_name__every_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
