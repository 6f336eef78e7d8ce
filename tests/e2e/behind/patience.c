/* SPDX-License-Identifier: MIT */
/*
 * What waits is not cut off by the balancer's time-outs, with everybody's
 * defaults. It takes longer than a minute, and goes on while other tests run.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/e2e/behind/behind.h"
#include "tests/e2e/lib/listener.h"

#define LONG_MS 70000 /* longer than the 60 s and the 50 s of theirs */

struct wait {
	struct ask a;
	pthread_t thread;
	struct reply *r;
	int rounds;
};
static struct {
	struct fleet *fleet; /* NULL: not under way */
	struct wait silent, streaming;
	struct listener listener;
	char task[64];
} patience;

static void *wait_for_it(void *arg)
{
	struct wait *w = arg;
	json_t *args = json_pack("{s:i}", "ms", LONG_MS);

	w->r = tool(&w->a, "long_nap", json_incref(args));
	while (strcmp(result_type(w->r), "input_required") == 0) {
		struct reply *next = again(&w->a, "long_nap", json_incref(args),
					   state_of(w->r), NULL);

		w->rounds++;
		reply_free(w->r);
		w->r = next;
	}
	json_decref(args);
	return NULL;
}

static bool begin(struct wait *w, const char *progress)
{
	w->a = (struct ask){.url = patience.fleet->balancer->url,
			    .can = CAN_FORM,
			    .progress = progress};
	w->r = NULL;
	w->rounds = 0;
	return pthread_create(&w->thread, NULL, wait_for_it, w) == 0;
}

int patience_setup(void **state)
{
	struct ask a = {.can = CAN_TASKS};
	struct reply *r;

	(void)state;
	if (!behind_full() || !balancer_installed(behind_which))
		return 0;
	patience.fleet = fleet_start(behind_which, NULL);
	a.url = patience.fleet->balancer->url;
	r = tool(&a, "long_nap", json_pack("{s:i}", "ms", LONG_MS));
	(void)snprintf(patience.task, sizeof(patience.task), "%s", task_id(r));
	reply_free(r);
	listener_start(&patience.listener, a,
		       json_pack("{s:[s]}", "taskIds", patience.task));
	return begin(&patience.silent, NULL) && begin(&patience.streaming, "p")
		       ? 0
		       : -1;
}

static void has_waited(struct wait *w)
{
	(void)pthread_join(w->thread, NULL);
	if (strcmp(result_text(w->r), "rested") != 0)
		fail_msg("%d %s", w->r->status,
			 w->r->raw != NULL ? w->r->raw : "-");
	/* That of the wait budget, 45 s, and no other. */
	assert_int_equal(w->rounds, 1);
	reply_free(w->r);
}

void test_budget__is_less_than_the_time_outs(void **state)
{
	struct fleet *f = patience.fleet;

	(void)state;
	behind_need();
	has_waited(&patience.silent);
	has_waited(&patience.streaming);
	/* Its first stream goes on: it did not ask again. */
	assert_non_null(
		listener_await(&patience.listener, patience.task, "completed"));
	patience.fleet = NULL;
	for (size_t i = 0; i < FLEET_SERVERS; i++)
		(void)server_signal_wait(f->server[i], SIGTERM);
	listener_end(&patience.listener);
	fleet_free(f);
}
