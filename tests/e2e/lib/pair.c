/* SPDX-License-Identifier: MIT */
#include "tests/e2e/lib/pair.h"

#include <stddef.h>

#define ARGS_MAX 30

struct scratch *scratch;
struct testclock *the_clock;
struct server *one;
struct server *two;

void pair_scratch(void)
{
	if (scratch == NULL)
		scratch = scratch_new();
}

void pair_clock(void)
{
	pair_scratch();
	the_clock = testclock_new(scratch);
}

static struct server *start(const char *const *args)
{
	const char *all[ARGS_MAX + 1] = {NULL};
	size_t n = 0;

	if (the_clock != NULL) {
		all[n++] = "--test-clock";
		all[n++] = the_clock->path;
	}
	for (; args != NULL && *args != NULL && n < ARGS_MAX; args++)
		all[n++] = *args;
	return server_start(scratch, all);
}

int pair_one(const char *const *args)
{
	pair_scratch();
	one = start(args);
	return 0;
}

int pair_both(const char *const *args)
{
	(void)pair_one(args);
	two = start(args);
	return 0;
}

int pair_end(void **state)
{
	(void)state;
	server_free(one);
	server_free(two);
	testclock_free(the_clock);
	scratch_free(scratch);
	one = two = NULL;
	the_clock = NULL;
	scratch = NULL;
	return 0;
}

struct ask as_can(const struct server *v, const char *who, const char *can)
{
	return (struct ask){.url = v->url, .principal = who, .can = can};
}

struct ask as(const struct server *v, const char *who)
{
	return as_can(v, who, NULL);
}

struct ask as_tasks(const struct server *v, const char *who)
{
	return as_can(v, who, CAN_TASKS);
}

size_t effects(const char *step)
{
	return effects_count(scratch, step);
}

bool become_effects(const char *step, size_t n)
{
	return effects_await(scratch, step, n) && effects(step) == n;
}
