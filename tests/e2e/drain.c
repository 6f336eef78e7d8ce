/* SPDX-License-Identifier: MIT */
/*
 * SIGTERM while a function of the program runs and does not listen: whatever it
 * is, the process ends by itself, in time, and says so to who still waits
 * (docs/running.md "Stopping").
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "server/base/limits.h"
#include "tests/e2e/lib/pair.h"
#include "tests/e2e/lib/raw.h"

#define GRACE_MS 1000
/* For the process to end on a loaded machine: the waits that were in series
 * added eight seconds and more. */
#define SLACK_MS 4000

static int64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* @waits: whoever asked is not answered before the grace is over. */
static void ends(const char *method, const char *name, json_t *params,
		 const char *begun, bool waits)
{
	static const char *const args[] = {"--test-identity", "--deaf",
					   "--drain-grace", "1000", NULL};
	struct scratch *s = scratch_new();
	struct server *v = server_start(s, args);
	struct ask a = as(v, "deaf");
	char *text = raw_request(&a, method, name, params, NULL);
	struct raw c = {0};
	struct reply *r;
	int64_t began;
	int status;

	raw_open(&c, a.url);
	raw_send(&c, text);
	assert_true(server_saw(v, begun));
	began = now_ms();
	status = server_signal_wait(v, SIGTERM);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_in_range(now_ms() - began, GRACE_MS,
			GRACE_MS + LIMIT_DRAIN_LAST_MS + SLACK_MS);
	assert_true(server_saw(v, "serve.handlers_left"));
	assert_int_equal(server_count(v, "Sanitizer"), 0);
	r = raw_reply(&c, method);
	assert_non_null(r);
	if (waits) {
		assert_int_equal(r->status, 503);
		assert_string_equal(error_text(r), "This instance is shutting "
						   "down; try again");
	} else {
		assert_int_equal(r->status, 200);
	}
	reply_free(r);
	raw_close(&c);
	free(text);
	server_free(v);
	scratch_free(s);
}

static void test_drain__ends_under_a_call(void **state)
{
	(void)state;
	ends("tools/call", "deaf",
	     json_pack("{s:s,s:{}}", "name", "deaf", "arguments"),
	     "deaf call begun", true);
}

static void test_drain__ends_under_a_read(void **state)
{
	(void)state;
	ends("resources/read", "deaf://x",
	     json_pack("{s:s}", "uri", "deaf://x"), "deaf read begun", true);
}

static void test_drain__ends_under_a_list(void **state)
{
	(void)state;
	ends("resources/list", NULL, json_object(), "deaf list begun", true);
}

static void test_drain__ends_under_a_completion(void **state)
{
	(void)state;
	ends("completion/complete", NULL,
	     json_pack("{s:{s:s,s:s},s:{s:s,s:s}}", "ref", "type",
		       "ref/resource", "uri", "deaf://{x}", "argument", "name",
		       "x", "value", ""),
	     "deaf completion begun", true);
}

/* Who waits for a task is given its handle as the drain begins. */
static void test_drain__ends_under_a_task(void **state)
{
	(void)state;
	ends("tools/call", "deaf_task",
	     json_pack("{s:s,s:{}}", "name", "deaf_task", "arguments"),
	     "deaf task begun", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drain__ends_under_a_call),
		cmocka_unit_test(test_drain__ends_under_a_read),
		cmocka_unit_test(test_drain__ends_under_a_list),
		cmocka_unit_test(test_drain__ends_under_a_completion),
		cmocka_unit_test(test_drain__ends_under_a_task),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
