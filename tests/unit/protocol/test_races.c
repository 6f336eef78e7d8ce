/* SPDX-License-Identifier: MIT */
/*
 * Answers, closed connections and a drain at once. The fake exchange aborts on
 * a second answer; a request without any fails its wait. Run under a thread
 * sanitizer this shows the rest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bide/content.h"
#include "server/base/thread.h"
#include "tests/unit/protocol/lib/task_tools.h"

#define CALLERS 4
#define EACH    60

static enum bide_rc nap(struct bide_call *call, void *user)
{
	(void)user;
	BIDE_TRY(bide_sleep(call, "nap", bide_arg_int(call, "ms", 0)));
	bide_progress(call, 1, 1, NULL);
	return bide_text(call, "awake");
}

static void add(struct registry *r)
{
	task_tools_add(r);
	wire_tool(r,
		  (struct bide_tool){BIDE_TOOL, .name = "nap", .handler = nap});
}

struct caller_thread {
	struct thread thread;
	struct wire *w;
	unsigned seed;
	int answered, closed;
};

static const struct post kinds[] = {
	{.method = "tools/call", .tool = "nap", .args = "{\"ms\":2}"},
	{.method = "tools/call",
	 .tool = "nap",
	 .args = "{\"ms\":1}",
	 .meta = "{\"progressToken\":1}"},
	{.method = "tools/call", .tool = "slow", .args = "{\"ms\":2}"},
	{.method = "tools/call", .tool = "confirm", .caps = CAPS_FORM},
	{.method = "tools/call", .tool = "confirm", .caps = CAPS_TASKS},
	{.method = "tools/call",
	 .tool = "slow",
	 .idem_key = "shared",
	 .caps = CAPS_TASKS},
	{.method = "tools/call", .tool = "nap", .idem_key = "shared too"},
	{.method = "tools/call", .tool = "talker"},
	{.method = "subscriptions/listen", .params = "{\"notifications\":{}}"},
};

static void one(struct caller_thread *c)
{
	unsigned roll = (unsigned)rand_r(&c->seed);
	const struct post *p =
		&kinds[roll % (sizeof(kinds) / sizeof(kinds[0]))];
	bool listens = strcmp(p->method, "subscriptions/listen") == 0;
	struct fake *f = fake_post(c->w, *p);

	if (roll / 16 % 3 == 0 || listens) {
		(void)usleep(roll / 64 % 4000);
		fake_close(f);
		c->closed++;
	} else {
		fake_wait(f);
		c->answered++;
	}
	fake_free(f);
}

static void calls(void *arg)
{
	struct caller_thread *c = arg;
	int i;

	for (i = 0; i < EACH; i++)
		one(c);
}

static void run(struct wire *w, bool drain)
{
	struct caller_thread c[CALLERS] = {0};
	int i;

	task_tools_release();
	for (i = 0; i < CALLERS; i++) {
		c[i].w = w;
		c[i].seed = (unsigned)i + 1;
		assert_int_equal(
			thread_start(&c[i].thread, "caller", calls, &c[i]), 0);
	}
	if (drain) {
		(void)usleep(20000);
		engine_drain(w->engine);
		dispatch_drain(w->dispatch);
	}
	for (i = 0; i < CALLERS; i++) {
		thread_join(&c[i].thread);
		assert_int_equal(c[i].answered + c[i].closed, EACH);
	}
}

static void test_races__each_request_is_answered_once(void **state)
{
	struct wire_options opt = {.wait_budget_ms = 20};
	struct wire *w = wire_new(&opt, add);

	(void)state;
	run(w, false);
	wire_free(w);
}

static void test_races__a_drain_answers_the_rest(void **state)
{
	struct wire_options opt = {.wait_budget_ms = 30000};
	struct wire *w = wire_new(&opt, add);

	(void)state;
	run(w, true);
	wire_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_races__each_request_is_answered_once),
		cmocka_unit_test(test_races__a_drain_answers_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
