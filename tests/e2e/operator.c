/* SPDX-License-Identifier: MIT */
/* What an operator does from the command line is noticed at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tests/e2e/lib/client.h"
#include "tests/e2e/lib/server.h"

static long ms_since(const struct timespec *t0)
{
	struct timespec t1;

	(void)clock_gettime(CLOCK_MONOTONIC, &t1);
	return (t1.tv_sec - t0->tv_sec) * 1000 +
	       (t1.tv_nsec - t0->tv_nsec) / 1000000;
}

/* The poll is a minute here: only the bell can be as quick as this. */
static void test_operator__rings_the_instances(void **unused)
{
	static const char *const slow_poll[] = {"--store-poll", "60000", NULL};
	struct scratch *s = scratch_new();
	struct server *v = server_start(s, slow_poll);
	struct ask a = {.url = v->url, .can = CAN_TASKS};
	struct timespec t0;
	struct reply *r;
	char id[64];

	(void)unused;
	r = tool(&a, "approve", NULL);
	(void)snprintf(id, sizeof(id), "%s", task_id(r));
	reply_free(r);
	reply_free(task_await(&a, id, "input_required"));
	(void)clock_gettime(CLOCK_MONOTONIC, &t0);
	{
		const char *const args[] = {
			"tasks",         "answer", id,    "approval",
			"{\"ok\":true}", "--db",   s->db, NULL};

		assert_int_equal(run_fixture(args, NULL), 0);
	}
	r = task_await(&a, id, "completed");
	assert_non_null(r);
	assert_non_null(strstr(r->raw, "approved: yes"));
	reply_free(r);
	assert_true(ms_since(&t0) < 20000);

	r = tool(&a, "busy", json_pack("{s:i}", "ms", 60000));
	(void)snprintf(id, sizeof(id), "%s", task_id(r));
	reply_free(r);
	(void)clock_gettime(CLOCK_MONOTONIC, &t0);
	{
		const char *const args[] = {"tasks", "cancel", id,
					    "--db",  s->db,    NULL};
		struct lines l;
		bool told = false;

		assert_int_equal(run_fixture(args, NULL), 0);
		/* the handler itself hears of it, long before its minute */
		while (!told && ms_since(&t0) < 20000) {
			const struct timespec nap = {0, 5 * 1000 * 1000};

			l = lines_read(s->effects);
			for (size_t i = 0; i < l.n; i++)
				told |= strstr(l.line[i], " cancelled") != NULL;
			lines_free(&l);
			(void)nanosleep(&nap, NULL);
		}
		assert_true(told);
	}
	server_free(v);
	scratch_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operator__rings_the_instances),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
