/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/base/fnv.h"

/* Vectors of the algorithm's authors; databases and instance files hold its
 * values. */
static void test_fnv__is_fnv1a(void **state)
{
	(void)state;
	assert_true(fnv_text(FNV_BASIS, "") == UINT64_C(0xcbf29ce484222325));
	assert_true(fnv_text(FNV_BASIS, "a") == UINT64_C(0xaf63dc4c8601ec8c));
	assert_true(fnv_text(FNV_BASIS, "foobar") ==
		    UINT64_C(0x85944171f73967e8));
	assert_true(fnv_bytes(FNV_BASIS, "foobar", 6) ==
		    fnv_text(FNV_BASIS, "foobar"));
	assert_true(fnv_fold(UINT64_C(0x1234567800000000)) ==
		    UINT64_C(0x1234567812345678));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fnv__is_fnv1a),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
