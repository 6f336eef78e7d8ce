/* SPDX-License-Identifier: MIT */
/* What a tool sets for itself: each setting beside the server's default, which
 * a tool without it has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bide/content.h"
#include "server/base/clock.h"
#include "tests/unit/protocol/lib/task_tools.h"

#define FORM "{\"type\":\"object\",\"properties\":{}}"
#define LONG 60000 /* what must not be waited for */

static enum bide_rc ask(struct bide_call *call, void *user)
{
	(void)user;
	BIDE_TRY(bide_ask_form(call, "who", "Who?", FORM));
	BIDE_TRY(bide_await(call));
	return bide_text(
		call, "%s",
		bide_action_name(bide_answer_action(bide_answer(call, "who"))));
}

static enum bide_rc nap(struct bide_call *call, void *user)
{
	(void)user;
	BIDE_TRY(bide_sleep(call, "nap", LONG));
	return bide_text(call, "awake");
}

/* Until it is told to stop, and then it claims to have a result. */
static enum bide_rc stubborn(struct bide_call *call, void *user)
{
	(void)user;
	while (!bide_cancelled(call))
		(void)usleep(1000);
	return bide_text(call, "a result that comes too late");
}

/* Two entries, each within its time, that take longer together. */
static enum bide_rc in_parts(struct bide_call *call, void *user)
{
	(void)user;
	(void)usleep(60000);
	BIDE_TRY(bide_sleep(call, "rest", 1));
	return bide_text(call, "%s",
			 bide_cancelled(call) ? "cancelled" : "in time");
}

static void tool(struct registry *r, struct bide_tool t)
{
	t.size = sizeof(t);
	t.description = t.name;
	wire_tool(r, t);
}

static void add(struct registry *r)
{
	tool(r, (struct bide_tool){.name = "plain",
				   .handler = nap,
				   .mode = BIDE_PERSISTENT});
	tool(r, (struct bide_tool){.name = "no_wait",
				   .handler = nap,
				   .mode = BIDE_PERSISTENT,
				   .wait_budget_ms = -1});
	tool(r, (struct bide_tool){.name = "short_wait",
				   .handler = nap,
				   .mode = BIDE_PERSISTENT,
				   .wait_budget_ms = 50});
	tool(r, (struct bide_tool){.name = "no_wait_round",
				   .handler = nap,
				   .wait_budget_ms = -1});
	tool(r, (struct bide_tool){.name = "polled",
				   .handler = nap,
				   .mode = BIDE_PERSISTENT,
				   .version = "7",
				   .poll_interval_ms = 77});
	tool(r, (struct bide_tool){.name = "hasty",
				   .handler = ask,
				   .mode = BIDE_PERSISTENT,
				   .input_deadline_ms = 50});
	tool(r, (struct bide_tool){.name = "hasty_round",
				   .handler = ask,
				   .input_deadline_ms = 50});
	tool(r, (struct bide_tool){.name = "at_most",
				   .handler = stubborn,
				   .max_run_ms = 50});
	tool(r, (struct bide_tool){.name = "at_most_inline",
				   .handler = stubborn,
				   .runs_inline = true,
				   .max_run_ms = 50});
	tool(r, (struct bide_tool){.name = "in_parts",
				   .handler = in_parts,
				   .max_run_ms = 5000});
}

static int set_up(void **state)
{
	struct wire_options opt = {.wait_budget_ms = LONG};

	*state = wire_new(&opt, add);
	return 0;
}

static void is_state_only(struct fake *f)
{
	char *sealed = state_of(f);

	assert_int_equal(json_object_size(fake_get(f, "result/inputRequests")),
			 0);
	free(sealed);
	fake_free(f);
}

/* ---- how long a request waits ---- */
static void test_wait_budget__of_the_tool(void **state)
{
	struct fake *f;
	int64_t began = clock_boot_ms();

	is_state_only(fake_call(*state, CALL_PLAIN("no_wait")));
	is_state_only(fake_call(*state, CALL_PLAIN("no_wait_round")));
	is_state_only(fake_call(*state, CALL_PLAIN("short_wait")));
	assert_true(clock_boot_ms() - began >= 50);
	assert_true(clock_boot_ms() - began < LONG);
	/* One that sets none waits as the server says. */
	f = fake_post(*state, CALL_PLAIN("plain"));
	(void)usleep(100000);
	assert_false(fake_answered(f));
	fake_close(f);
	fake_free(f);
}

/* ---- what a task says of itself ---- */
static void test_poll_interval__of_the_tool(void **state)
{
	struct fake *f = fake_call(*state, CALL_TASK("polled"));
	struct fake *g;

	assert_int_equal(
		json_integer_value(fake_get(f, "result/pollIntervalMs")), 77);
	g = task_method(*state, "tasks/get", fake_string(f, "result/taskId"),
			NULL);
	assert_int_equal(
		json_integer_value(fake_get(g, "result/pollIntervalMs")), 77);
	fake_free(g);
	fake_free(f);
	f = fake_call(*state, CALL_TASK("plain"));
	assert_int_equal(
		json_integer_value(fake_get(f, "result/pollIntervalMs")), 500);
	fake_free(f);
}

static void test_version__stands_on_the_task(void **state)
{
	struct wire *w = *state;
	char *id = task_start(w, CALL_TASK("polled"));
	struct store_task *t = NULL;

	assert_int_equal(store_get(w->store, id, NULL, 0, 0, &t), BIDE_OK);
	assert_string_equal(t->tool_version, "7");
	store_task_free(t);
	free(id);
}

/* ---- how long a question stands ---- */
static void test_input_deadline__of_the_tool(void **state)
{
	char *id = task_start(*state, CALL_TASK("hasty"));
	struct fake *f = task_until(*state, id, "completed");
	struct post p = CALL_PLAIN("hasty_round");
	char *sealed;

	assert_string_equal(fake_string(f, "result/result/content/0/text"),
			    bide_action_name(BIDE_TIMED_OUT));
	fake_free(f);
	free(id);
	f = fake_call(*state, p);
	sealed = state_of(f);
	fake_free(f);
	(void)usleep(60000);
	p.state = sealed;
	p.responses = "{\"who\":{\"action\":\"accept\",\"content\":{}}}";
	f = fake_call(*state, p);
	assert_string_equal(fake_text(f), bide_action_name(BIDE_TIMED_OUT));
	fake_free(f);
	free(sealed);
}

/* ---- how long an entry may run; a task's: tests/unit/task ---- */
static void ran_too_long(struct wire *w, const char *name)
{
	struct fake *f = fake_call(w, CALL_PLAIN(name));

	assert_int_equal(fake_error(f), -32603);
	assert_non_null(strstr(fake_string(f, "error/message"), "longer"));
	fake_free(f);
}

static void test_max_run__ends_a_call(void **state)
{
	struct post p = CALL_PLAIN("at_most");
	struct fake *f;

	ran_too_long(*state, "at_most");
	ran_too_long(*state, "at_most_inline");
	/* Nothing was kept under its key: it may be tried again. */
	p.idem_key = "k-max-run";
	for (int i = 0; i < 2; i++) {
		f = fake_call(*state, p);
		assert_int_equal(fake_error(f), -32603);
		fake_free(f);
	}
}

static void test_max_run__is_of_each_entry(void **state)
{
	struct fake *f = fake_call(*state, CALL_PLAIN("in_parts"));

	assert_string_equal(fake_text(f), "in time");
	fake_free(f);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, wire_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_wait_budget__of_the_tool),
		TEST(test_poll_interval__of_the_tool),
		TEST(test_version__stands_on_the_task),
		TEST(test_input_deadline__of_the_tool),
		TEST(test_max_run__ends_a_call),
		TEST(test_max_run__is_of_each_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
