/* SPDX-License-Identifier: MIT */
/*
 * kill -9 of a random instance, again and again, under calls of every kind.
 * Whoever gets a 502 or a broken connection sends the same again under a new
 * id; first rounds carry an idempotency key.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "tests/e2e/behind/behind.h"
#include "tests/e2e/lib/effects.h"

#define ROUNDS           12
#define ROUNDS_FULL      200
#define ROUNDS_SANITIZED 4
#define PHASE_MS         60 /* of a call, in which it may fall */

static int rounds(void)
{
	if (behind_sanitized())
		return ROUNDS_SANITIZED;
	return behind_full() ? ROUNDS_FULL : ROUNDS;
}

/* Each call that was under way then has ended before the next kill, so that
 * none is hit three times: that is another story (LIMIT_CRASHES). */
static void round_of(struct fleet *f, struct load *l, unsigned *seed)
{
	const struct timespec phase = {0, (long)(rand_r(seed) % PHASE_MS) *
						  1000000L};
	size_t i = (size_t)rand_r(seed) % FLEET_SERVERS;

	(void)nanosleep(&phase, NULL);
	server_kill(f->server[i], SIGKILL);
	fleet_start_again(f, i);
	load_await_each(l);
}

void test_kill__in_every_round(void **state)
{
	const unsigned kinds = 1U << KIND_ROUNDS | 1U << KIND_HANDLE |
			       1U << KIND_TASK | 1U << KIND_STREAM |
			       1U << KIND_LISTEN;
	struct fleet *f = behind_start(NULL);
	struct load *l = load_start(f->balancer->url, kinds, true);
	unsigned seed = (unsigned)time(NULL);
	char why[256];
	long approved;
	int n = 0;

	(void)state;
	print_message("  seed %u\n", seed);
	/* Some kills meet nobody; so it goes on until one has. */
	for (; n < rounds() || (load_repeats(l) == 0 && n < ROUNDS_FULL); n++)
		round_of(f, l, &seed);
	load_stop(l);
	print_message("  %d kills, %ld requests sent again\n", n,
		      load_repeats(l));
	assert_true(load_repeats(l) > 0);
	if (!effects_once(f->scratch, why))
		fail_msg("%s", why);
	/* No more tasks than calls, for all that was sent again. */
	approved = load_calls(l, KIND_HANDLE) + load_calls(l, KIND_TASK) +
		   load_calls(l, KIND_LISTEN);
	assert_int_equal(effects_tasks(f->scratch, "before"), approved);
	assert_int_equal(effects_tasks(f->scratch, "after"), approved);
	assert_int_equal(effects_tasks(f->scratch, "part1"),
			 load_calls(l, KIND_STREAM));
	assert_int_equal(effects_tasks(f->scratch, "part5"),
			 load_calls(l, KIND_STREAM));
	load_free(l);
	fleet_free(f);
}
