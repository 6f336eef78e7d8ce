/* SPDX-License-Identifier: MIT */
#include "tests/unit/protocol/lib/task_tools.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bide/content.h"

#define FORM                                                                   \
	"{\"type\":\"object\",\n \"properties\":{\"name\":{\"type\":"          \
	"\"string\"}},\"required\":[\"name\"]}"

atomic_int task_tools_runs;
static atomic_bool held = true;

void task_tools_hold(void)
{
	atomic_store(&held, true);
}

void task_tools_release(void)
{
	atomic_store(&held, false);
}

static enum bide_rc wait_release(struct bide_call *call)
{
	while (atomic_load(&held)) {
		if (bide_cancelled(call))
			return BIDE_CANCELLED;
		(void)usleep(1000);
	}
	return BIDE_OK;
}

static enum bide_rc end(struct bide_call *call, const char *text)
{
	atomic_fetch_add(&task_tools_runs, 1);
	return bide_text(call, "%s", text);
}

static enum bide_rc slow(struct bide_call *call, void *user)
{
	(void)user;
	BIDE_TRY(bide_sleep(call, "work", bide_arg_int(call, "ms", 10)));
	return end(call, "done");
}

static enum bide_rc hold(struct bide_call *call, void *user)
{
	(void)user;
	BIDE_TRY(wait_release(call));
	return end(call, "released");
}

static enum bide_rc confirm(struct bide_call *call, void *user)
{
	const struct bide_answer *a;

	(void)user;
	BIDE_TRY(bide_ask_form(call, "who", "Who?", FORM));
	BIDE_TRY(bide_await(call));
	a = bide_answer(call, "who");
	if (bide_answer_action(a) != BIDE_ACCEPT)
		return end(call, bide_action_name(bide_answer_action(a)));
	return end(call, bide_answer_string(a, "name"));
}

static enum bide_rc two(struct bide_call *call, void *user)
{
	const char *first;

	(void)user;
	BIDE_TRY(bide_ask_form(call, "first", "First?", FORM));
	BIDE_TRY(bide_ask_form(call, "second", "Second?", FORM));
	BIDE_TRY(bide_await(call));
	first = bide_answer_string(bide_answer(call, "first"), "name");
	atomic_fetch_add(&task_tools_runs, 1);
	return bide_text(
		call, "%s and %s", first,
		bide_answer_string(bide_answer(call, "second"), "name"));
}

static enum bide_rc failing(struct bide_call *call, void *user)
{
	(void)user;
	return bide_fail(call, -31000, "It broke", json_pack("{s:i}", "n", 1));
}

static enum bide_rc is_error(struct bide_call *call, void *user)
{
	(void)user;
	return bide_error_text(call, "no luck");
}

static enum bide_rc either(struct bide_call *call, void *user)
{
	const char *name;

	(void)user;
	BIDE_TRY(bide_ask_form(call, "who", "Who?", FORM));
	BIDE_TRY(bide_await(call));
	BIDE_TRY(bide_persist(call));
	name = bide_answer_string(bide_answer(call, "who"), "name");
	return end(call, name != NULL ? name : "nobody");
}

static enum bide_rc talker(struct bide_call *call, void *user)
{
	int i;

	(void)user;
	for (i = 1; i <= 3; i++) {
		bide_progress(call, i, 3, "talking");
		bide_log(call, BIDE_LOG_WARNING, "talk", json_integer(i));
		bide_log(call, BIDE_LOG_DEBUG, "talk", json_integer(i));
		(void)usleep(150000);
	}
	return end(call, "talked");
}

static void tool(struct registry *r, struct bide_tool t)
{
	t.size = sizeof(t);
	t.description = t.name;
	if (t.mode == BIDE_EPHEMERAL)
		t.mode = BIDE_PERSISTENT;
	wire_tool(r, t);
}

void task_tools_add(struct registry *r)
{
	tool(r, (struct bide_tool){.name = "slow", .handler = slow});
	tool(r, (struct bide_tool){.name = "held", .handler = hold});
	tool(r, (struct bide_tool){.name = "confirm", .handler = confirm});
	tool(r, (struct bide_tool){.name = "two", .handler = two});
	tool(r, (struct bide_tool){.name = "failing", .handler = failing});
	tool(r, (struct bide_tool){.name = "is_error", .handler = is_error});
	tool(r, (struct bide_tool){.name = "demands",
				   .handler = slow,
				   .without_tasks = BIDE_DEMAND_TASKS});
	tool(r, (struct bide_tool){.name = "goes_on",
				   .handler = hold,
				   .on_close = BIDE_CLOSE_GOES_ON});
	tool(r, (struct bide_tool){.name = "either",
				   .handler = either,
				   .mode = BIDE_EITHER});
	tool(r, (struct bide_tool){.name = "talker", .handler = talker});
	tool(r, (struct bide_tool){.name = "schemed",
				   .handler = hold,
				   .output_schema = "{\"type\":\"object\"}"});
}

/* ---- driving ---- */
char *task_start(struct wire *w, struct post p)
{
	struct fake *f = fake_call(w, p);
	char *id;

	if (fake_string(f, "result/taskId") == NULL)
		fail_msg("no task: %s", f->text);
	assert_int_equal(f->status, 200);
	assert_string_equal(fake_string(f, "result/resultType"), "task");
	id = strdup(fake_string(f, "result/taskId"));
	fake_free(f);
	return id;
}

struct fake *task_method(struct wire *w, const char *method, const char *id,
			 const char *responses)
{
	return fake_call(w, (struct post){.method = method,
					  .task = id,
					  .caps = CAPS_TASKS,
					  .responses = responses});
}

struct fake *task_until(struct wire *w, const char *id, const char *status)
{
	struct fake *f = NULL;
	int i;

	for (i = 0; i < 4000; i++) {
		fake_free(f);
		f = task_method(w, "tasks/get", id, NULL);
		if (fake_string(f, "result/status") == NULL)
			fail_msg("tasks/get: %s", f->text);
		if (strcmp(fake_string(f, "result/status"), status) == 0)
			return f;
		(void)usleep(5000);
	}
	fail_msg("never %s: %s", status, f->text);
	return f;
}

char *state_of(struct fake *f)
{
	if (fake_string(f, "result/requestState") == NULL)
		fail_msg("no state: %s", f->text);
	assert_string_equal(fake_string(f, "result/resultType"),
			    "input_required");
	return strdup(fake_string(f, "result/requestState"));
}
