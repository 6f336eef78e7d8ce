/* SPDX-License-Identifier: MIT */
/*
 * e2e_behind [nginx|haproxy [TEST]] - the tests of docs/fleet.md, behind both
 * or one of them; TEST is a pattern.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/e2e/behind/behind.h"

const char *behind_which;

void behind_need(void)
{
	if (!balancer_installed(behind_which)) {
		print_message("%s is not installed\n", behind_which);
		skip();
	}
}

struct fleet *behind_start(const char *const *args)
{
	behind_need();
	return fleet_start(behind_which, args);
}

bool behind_full(void)
{
	return getenv("BIDE_FULL") != NULL;
}

bool behind_sanitized(void)
{
	return getenv("BIDE_SANITIZED") != NULL;
}

static int run(const char *which)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flow__every_one_ends_right),
		cmocka_unit_test(test_rounds__spread_over_all),
		cmocka_unit_test(test_event__is_seen_before_the_next_is_made),
		cmocka_unit_test(test_listener__sees_each_change_at_once),
		cmocka_unit_test(test_close__cancels),
		cmocka_unit_test(test_wait_for_task__brings_the_result),
		cmocka_unit_test(test_header__passes_whatever_its_name),
		cmocka_unit_test(test_examples__end_right),
		cmocka_unit_test(test_kill__in_every_round),
		cmocka_unit_test(test_restart__drops_no_call),
		cmocka_unit_test(test_budget__is_less_than_the_time_outs),
	};

	behind_which = which;
	return cmocka_run_group_tests_name(which, tests, patience_setup, NULL);
}

int main(int argc, char **argv)
{
	int failed = 0;

	if (!behind_full()) /* it takes over a minute */
		cmocka_set_skip_filter("*_budget__*");
	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
	if (argc > 1)
		return run(argv[1]);
	failed += run("nginx");
	failed += run("haproxy");
	return failed;
}
