/* SPDX-License-Identifier: MIT */
/* The fixture's way to faults and to the test clock: a product has none. */
#include <stdio.h>

#include "server/base/clock.h"
#include "server/base/fault.h"
#include "tests/fixture/hooks.h"

int hooks_arm_fault(const char *spec)
{
	char why[160];

	if (fault_arm(spec, why, sizeof(why)) == 0)
		return 0;
	(void)fprintf(stderr, "--fault: %s\n", why);
	return -1;
}

int hooks_use_clock(const char *path)
{
	if (clock_use_file(path) == 0)
		return 0;
	(void)fprintf(stderr, "--test-clock: %s cannot be mapped\n", path);
	return -1;
}
