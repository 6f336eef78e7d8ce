/* SPDX-License-Identifier: MIT */
/* A rolling restart under load: nobody sends anything again. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "tests/e2e/behind/behind.h"
#include "tests/e2e/lib/effects.h"

#define TURNS      2
#define TURNS_FULL 10

/* Drains it, starts it again, and sees it in use before the next one's turn. */
static void restart(struct fleet *f, struct load *l, size_t i)
{
	int status = server_signal_wait(f->server[i], SIGTERM);
	char by[64];

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	fleet_start_again(f, i);
	(void)snprintf(by, sizeof(by), " %d half", (int)f->server[i]->pid);
	assert_true(effects_await(f->scratch, by, 1));
	load_await_each(l);
}

void test_restart__drops_no_call(void **state)
{
	struct fleet *f = behind_start(NULL);
	struct load *l = load_start(f->balancer->url, (1U << KINDS) - 1, false);
	int turns = behind_full() ? TURNS_FULL : TURNS;
	long calls = 0;
	char why[256];

	(void)state;
	for (int i = 0; i < turns; i++)
		for (size_t k = 0; k < FLEET_SERVERS; k++)
			restart(f, l, k);
	load_stop(l);
	for (int i = 0; i < KINDS; i++)
		calls += load_calls(l, (enum kind)i);
	print_message("  %d restarts, %ld calls, none dropped\n",
		      turns * FLEET_SERVERS, calls);
	if (!effects_once(f->scratch, why))
		fail_msg("%s", why);
	load_free(l);
	fleet_free(f);
}
