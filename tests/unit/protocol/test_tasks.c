/* SPDX-License-Identifier: MIT */
/* The tasks extension: creating, getting, updating, cancelling, listening. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/base/limits.h"
#include "tests/unit/protocol/lib/task_tools.h"

static int set_up(void **state)
{
	*state = wire_new(NULL, task_tools_add);
	return 0;
}

static int tear_down(void **state)
{
	task_tools_release();
	wire_free(*state);
	return 0;
}

static bool is_iso(const char *s)
{
	return s != NULL && strlen(s) == 24 && s[10] == 'T' && s[23] == 'Z';
}

/* ---- creating ---- */
/* S40, S41, S45, S49; tasks.md "Task Creation". */
static void test_create__answers_with_the_flat_task(void **state)
{
	struct fake *f = fake_call(*state, CALL_TASK("slow"));
	char *id = strdup(fake_string(f, "result/taskId"));
	char *created = strdup(fake_string(f, "result/createdAt"));

	assert_int_equal(f->status, 200);
	assert_true(strlen(id) >= 22);
	assert_string_equal(fake_string(f, "result/resultType"), "task");
	assert_string_equal(fake_string(f, "result/status"), "working");
	assert_true(is_iso(created));
	assert_true(is_iso(fake_string(f, "result/lastUpdatedAt")));
	assert_true(json_is_null(fake_get(f, "result/ttlMs")));
	assert_true(json_integer_value(fake_get(f, "result/pollIntervalMs")) >
		    0);
	assert_null(fake_get(f, "result/requestState"));
	assert_null(fake_get(f, "result/inputRequests"));
	assert_null(fake_get(f, "result/result"));
	fake_free(f);
	f = task_until(*state, id, "completed");
	assert_string_equal(fake_string(f, "result/resultType"), "complete");
	assert_string_equal(fake_string(f, "result/createdAt"), created);
	assert_string_equal(fake_string(f, "result/result/content/0/text"),
			    "done");
	assert_true(json_integer_value(fake_get(f, "result/ttlMs")) > 0);
	fake_free(f);
	free(created);
	free(id);
}

static void test_create__is_there_at_once(void **state)
{
	int i;

	for (i = 0; i < 20; i++) {
		char *id = task_start(*state, CALL_TASK("slow"));
		struct fake *f = task_method(*state, "tasks/get", id, NULL);

		assert_non_null(fake_string(f, "result/status"));
		fake_free(f);
		free(id);
	}
}

/* basic/index: on HTTP the status is 400, also when it is the handler, already
 * a task, that misses it. */
static void test_create__a_handler_that_cannot_ask_is_a_400(void **state)
{
	struct post p = CALL_PLAIN("confirm");
	struct fake *f;

	p.caps = "{}";
	f = fake_call(*state, p);
	assert_int_equal(f->status, 400);
	assert_int_equal(fake_error(f), -32021);
	fake_free(f);
	f = fake_call(*state, CALL_PLAIN("failing"));
	assert_int_equal(f->status, 200);
	assert_non_null(fake_get(f, "error"));
	fake_free(f);
}

/* tasks.md "Capability Negotiation"; S46. */
static void test_create__needs_the_extension_where_demanded(void **state)
{
	struct fake *f = fake_call(*state, CALL_PLAIN("demands"));
	json_t *ext = fake_get(f, "error/data/requiredCapabilities/extensions");

	assert_int_equal(f->status, 400);
	assert_int_equal(fake_error(f), -32021);
	assert_non_null(json_object_get(ext, "io.modelcontextprotocol/tasks"));
	fake_free(f);
	f = fake_call(*state, CALL_PLAIN("slow"));
	assert_string_equal(fake_string(f, "result/resultType"), "complete");
	assert_string_equal(fake_text(f), "done");
	fake_free(f);
}

/* S52: a legacy task member is nothing here. */
static void test_create__ignores_the_legacy_task_member(void **state)
{
	struct post p = CALL_TASK("slow");
	struct fake *f;

	p.params = "{\"task\":{\"ttl\":1}}";
	f = fake_call(*state, p);
	assert_true(json_is_null(fake_get(f, "result/ttlMs")));
	fake_free(f);
}

/* F32. */
static void test_create__one_key_makes_one_task(void **state)
{
	struct post p = CALL_TASK("slow");
	struct fake *f;
	char *a;
	char *b;

	p.idem_key = "one";
	a = task_start(*state, p);
	b = task_start(*state, p);
	assert_string_equal(a, b);
	free(b);
	/* The same key without the extension: the same task's result. */
	p.caps = CAPS_FORM;
	f = fake_call(*state, p);
	assert_string_equal(fake_text(f), "done");
	fake_free(f);
	p.args = "{\"ms\":1}";
	f = fake_call(*state, p);
	assert_int_equal(fake_error(f), -32602);
	fake_free(f);
	p = CALL_TASK("held");
	p.idem_key = "one";
	f = fake_call(*state, p);
	assert_int_equal(fake_error(f), -32602);
	fake_free(f);
	p = CALL_TASK("slow");
	p.idem_key = "one";
	p.principal = "bob";
	b = task_start(*state, p);
	assert_string_not_equal(a, b);
	free(b);
	free(a);
}

/* ---- ends ---- */
static void test_end__a_protocol_error_is_failed(void **state)
{
	char *id = task_start(*state, CALL_TASK("failing"));
	struct fake *f = task_until(*state, id, "failed");

	assert_int_equal(json_integer_value(fake_get(f, "result/error/code")),
			 -31000);
	assert_string_equal(fake_string(f, "result/error/message"), "It broke");
	assert_int_equal(json_integer_value(fake_get(f, "result/error/data/n")),
			 1);
	assert_null(fake_get(f, "result/result"));
	fake_free(f);
	free(id);
	f = fake_call(*state, CALL_PLAIN("failing"));
	assert_int_equal(fake_error(f), -31000);
	assert_int_equal(f->status, 200);
	fake_free(f);
}

static void test_end__a_tool_error_is_completed(void **state)
{
	char *id = task_start(*state, CALL_TASK("is_error"));
	struct fake *f = task_until(*state, id, "completed");

	assert_true(json_is_true(fake_get(f, "result/result/isError")));
	fake_free(f);
	free(id);
}

/* S42; F20, F21. */
static void test_cancel__ends_it_and_acknowledges_again(void **state)
{
	char *id;
	struct fake *f;

	task_tools_hold();
	id = task_start(*state, CALL_TASK("held"));
	f = task_method(*state, "tasks/cancel", id, NULL);
	assert_string_equal(fake_string(f, "result/resultType"), "complete");
	assert_null(fake_get(f, "result/taskId"));
	assert_null(fake_get(f, "result/status"));
	fake_free(f);
	f = task_until(*state, id, "cancelled");
	assert_null(fake_get(f, "result/result"));
	assert_null(fake_get(f, "result/error"));
	fake_free(f);
	f = task_method(*state, "tasks/cancel", id, NULL);
	assert_string_equal(fake_string(f, "result/resultType"), "complete");
	fake_free(f);
	free(id);
	id = task_start(*state, CALL_TASK("slow"));
	fake_free(task_until(*state, id, "completed"));
	fake_free(task_method(*state, "tasks/cancel", id, NULL));
	f = task_method(*state, "tasks/get", id, NULL);
	assert_string_equal(fake_string(f, "result/status"), "completed");
	fake_free(f);
	free(id);
}

/* ---- questions ---- */
static void test_update__an_answer_resumes_it(void **state)
{
	char *id = task_start(*state, CALL_TASK("confirm"));
	struct fake *f = task_until(*state, id, "input_required");

	assert_string_equal(fake_string(f, "result/resultType"), "complete");
	assert_string_equal(fake_string(f, "result/inputRequests/who/method"),
			    "elicitation/create");
	assert_null(fake_get(f, "result/requestState"));
	fake_free(f);
	f = task_method(*state, "tasks/update", id,
			"{\"who\":" NAME("Eve") "}");
	assert_string_equal(fake_string(f, "result/resultType"), "complete");
	assert_null(fake_get(f, "result/taskId")); /* S55 */
	fake_free(f);
	f = task_until(*state, id, "completed");
	assert_string_equal(fake_string(f, "result/result/content/0/text"),
			    "Eve");
	fake_free(f);
	free(id);
}

/* S44: the rest at the very next get. */
static void test_update__a_part_leaves_the_rest_open(void **state)
{
	char *id = task_start(*state, CALL_TASK("two"));
	struct fake *f = task_until(*state, id, "input_required");

	assert_int_equal(json_object_size(fake_get(f, "result/inputRequests")),
			 2);
	fake_free(f);
	fake_free(task_method(*state, "tasks/update", id,
			      "{\"second\":" NAME("B") "}"));
	f = task_method(*state, "tasks/get", id, NULL);
	assert_string_equal(fake_string(f, "result/status"), "input_required");
	assert_int_equal(json_object_size(fake_get(f, "result/inputRequests")),
			 1);
	assert_non_null(fake_get(f, "result/inputRequests/first"));
	fake_free(f);
	fake_free(task_method(*state, "tasks/update", id,
			      "{\"first\":" NAME("A") "}"));
	f = task_until(*state, id, "completed");
	assert_string_equal(fake_string(f, "result/result/content/0/text"),
			    "A and B");
	fake_free(f);
	free(id);
}

/* S43; F11: a key is never asked twice. */
static void test_update__a_misfit_is_asked_under_a_new_key(void **state)
{
	char *id = task_start(*state, CALL_TASK("confirm"));
	struct fake *f = task_until(*state, id, "input_required");

	fake_free(f);
	f = task_method(*state, "tasks/update", id,
			"{\"who\":{\"action\":\"accept\",\"content\":7}}");
	assert_string_equal(fake_string(f, "result/resultType"), "complete");
	fake_free(f);
	f = task_method(*state, "tasks/get", id, NULL);
	assert_null(fake_get(f, "result/inputRequests/who"));
	assert_non_null(fake_get(f, "result/inputRequests/who~2"));
	fake_free(f);
	/* The old key is answered no more. */
	fake_free(task_method(*state, "tasks/update", id,
			      "{\"who\":" NAME("late") "}"));
	f = task_method(*state, "tasks/get", id, NULL);
	assert_string_equal(fake_string(f, "result/status"), "input_required");
	fake_free(f);
	fake_free(task_method(*state, "tasks/update", id,
			      "{\"who~2\":" NAME("Ann") "}"));
	f = task_until(*state, id, "completed");
	assert_string_equal(fake_string(f, "result/result/content/0/text"),
			    "Ann");
	fake_free(f);
	free(id);
}

/* F17; the official suite sends such a response too. */
static void test_update__unknown_keys_are_acknowledged(void **state)
{
	char *id = task_start(*state, CALL_TASK("confirm"));
	struct fake *f = task_until(*state, id, "input_required");
	char *updated = strdup(fake_string(f, "result/lastUpdatedAt"));

	fake_free(f);
	f = task_method(*state, "tasks/update", id,
			"{\"unknown-key\":{\"ignored\":true}}");
	assert_string_equal(fake_string(f, "result/resultType"), "complete");
	fake_free(f);
	f = task_method(*state, "tasks/get", id, NULL);
	assert_string_equal(fake_string(f, "result/lastUpdatedAt"), updated);
	fake_free(f);
	f = task_method(*state, "tasks/update", id, "[]");
	assert_int_equal(fake_error(f), -32602);
	fake_free(f);
	f = task_method(*state, "tasks/update", id, "{\"who\":1}");
	assert_int_equal(fake_error(f), -32602);
	fake_free(f);
	f = task_method(*state, "tasks/update", id, NULL);
	assert_int_equal(fake_error(f), -32602);
	fake_free(f);
	free(updated);
	free(id);
}

/* ---- other callers: S50, F24 ---- */
static void test_other__cannot_tell_a_task_from_none(void **state)
{
	static const char *const methods[] = {"tasks/get", "tasks/update",
					      "tasks/cancel"};
	char *id = task_start(*state, CALL_TASK("confirm"));
	struct fake *f;
	size_t i;

	fake_free(task_until(*state, id, "input_required"));
	for (i = 0; i < 3; i++) {
		struct post p = {.method = methods[i],
				 .task = id,
				 .caps = CAPS_TASKS,
				 .principal = "mallory",
				 .responses = "{\"who\":" NAME("M") "}"};
		struct fake *other = fake_call(*state, p);
		struct fake *none;

		p.task = "nosuchtasknosuchtask00";
		none = fake_call(*state, p);
		assert_int_equal(fake_error(other), -32602);
		assert_string_equal(other->text, none->text);
		fake_free(other);
		fake_free(none);
	}
	f = task_method(*state, "tasks/get", id, NULL);
	assert_string_equal(fake_string(f, "result/status"), "input_required");
	fake_free(f);
	f = task_method(*state, "tasks/get",
			"an id that is far too long to be one of ours, by far",
			NULL);
	assert_int_equal(fake_error(f), -32602);
	fake_free(f);
	free(id);
}

/* tasks/get of one who lacks what is asked: all that is outstanding. */
static void test_get__shows_all_questions_to_anyone(void **state)
{
	char *id = task_start(*state, CALL_TASK("confirm"));
	struct post p = {.method = "tasks/get",
			 .task = id,
			 .caps = "{\"extensions\":{"
				 "\"io.modelcontextprotocol/tasks\":{}}}"};
	struct fake *f;

	fake_free(task_until(*state, id, "input_required"));
	f = fake_call(*state, p);
	assert_non_null(fake_get(f, "result/inputRequests/who"));
	fake_free(f);
	free(id);
}

/* ---- from rounds to a task ---- */
static void test_either__asks_first_and_then_is_a_task(void **state)
{
	struct post p = CALL_TASK("either");
	struct fake *f = fake_call(*state, p);
	char *sealed = state_of(f);
	char *id;
	char *again;

	assert_null(fake_get(f, "result/taskId"));
	fake_free(f);
	p.state = sealed;
	p.responses = "{\"who\":" NAME("Alice") "}";
	id = task_start(*state, p);
	again = task_start(*state, p); /* the chain is inserted once */
	assert_string_equal(id, again);
	f = task_until(*state, id, "completed");
	assert_string_equal(fake_string(f, "result/result/content/0/text"),
			    "Alice");
	fake_free(f);
	free(again);
	free(id);
	free(sealed);
}

static void test_either__without_the_extension_it_is_waited_for(void **state)
{
	struct post p = CALL_PLAIN("either");
	struct fake *f = fake_call(*state, p);
	char *sealed = state_of(f);

	fake_free(f);
	p.state = sealed;
	p.responses = "{\"who\":" NAME("Bo") "}";
	f = fake_call(*state, p);
	assert_string_equal(fake_text(f), "Bo");
	fake_free(f);
	free(sealed);
}

/* ---- delivery: rule 10 ---- */
static void test_delivery__a_task_nobody_was_told_of_ends(void **state)
{
	struct post p = CALL_TASK("held");
	struct fake *f;
	char *id;

	task_tools_hold();
	f = fake_post(*state, p);
	fake_wait_lost(f);
	id = strdup(fake_string(f, "result/taskId"));
	fake_free(f);
	fake_free(task_until(*state, id, "cancelled"));
	free(id);
	task_tools_release();
}

/* ---- subscriptions/listen ---- */
static struct fake *listen_to(struct wire *w, const char *filter,
			      const char *caps)
{
	return fake_listen(w, "1785542400123", filter, caps);
}

static void tagged(struct fake *f, size_t i)
{
	json_t *meta = fake_event(f, i, "params/_meta");

	assert_int_equal(
		json_integer_value(json_object_get(
			meta, "io.modelcontextprotocol/subscriptionId")),
		1785542400123);
}

/* S34 to S36, S47, S48. */
static void test_listen__tells_the_state_and_each_change(void **state)
{
	char *id = task_start(*state, CALL_TASK("confirm"));
	char filter[160];
	struct fake *f;
	size_t i;

	fake_free(task_until(*state, id, "input_required"));
	(void)snprintf(filter, sizeof(filter),
		       "{\"taskIds\":[\"%s\",\"nosuch\",\"%s\"],"
		       "\"toolsListChanged\":true}",
		       id, id);
	f = listen_to(*state, filter, CAPS_TASKS);
	assert_true(f->streaming); /* acknowledged before anything else */
	assert_string_equal(json_string_value(fake_event(f, 0, "method")),
			    "notifications/subscriptions/acknowledged");
	assert_int_equal(json_array_size(fake_event(
				 f, 0, "params/notifications/taskIds")),
			 1);
	assert_true(json_is_true(
		fake_event(f, 0, "params/notifications/toolsListChanged")));
	assert_string_equal(json_string_value(fake_event(f, 1, "method")),
			    "notifications/tasks");
	assert_string_equal(
		json_string_value(fake_event(f, 1, "params/taskId")), id);
	assert_string_equal(
		json_string_value(fake_event(f, 1, "params/status")),
		"input_required");
	assert_non_null(fake_event(f, 1, "params/inputRequests/who"));
	fake_free(task_method(*state, "tasks/update", id,
			      "{\"who\":" NAME("L") "}"));
	for (i = 2;; i++) {
		const char *s =
			json_string_value(fake_event(f, i, "params/status"));

		tagged(f, i);
		if (strcmp(s, "completed") == 0)
			break;
		assert_string_equal(s, "working");
	}
	assert_string_equal(json_string_value(fake_event(
				    f, i, "params/result/content/0/text")),
			    "L");
	tagged(f, 0);
	tagged(f, 1);
	assert_false(fake_answered(f));
	fake_close(f);
	fake_free(f);
	free(id);
}

static void test_listen__another_callers_task_is_not_acknowledged(void **state)
{
	struct post p = CALL_TASK("slow");
	char filter[80];
	struct fake *f;
	char *id;

	p.principal = "bob";
	id = task_start(*state, p);
	(void)snprintf(filter, sizeof(filter), "{\"taskIds\":[\"%s\"]}", id);
	f = listen_to(*state, filter, CAPS_TASKS);
	assert_true(json_is_array(
		fake_event(f, 0, "params/notifications/taskIds")));
	assert_int_equal(json_array_size(fake_event(
				 f, 0, "params/notifications/taskIds")),
			 0);
	fake_close(f);
	fake_free(f);
	free(id);
}

static void test_listen__needs_the_extension_for_tasks(void **state)
{
	struct fake *f = listen_to(*state, "{\"taskIds\":[]}", "{}");

	fake_wait(f);
	assert_false(f->streaming);
	assert_int_equal(f->status, 400);
	assert_int_equal(fake_error(f), -32021);
	fake_free(f);
	f = listen_to(*state, "{}", "{}");
	assert_int_equal(
		json_object_size(fake_event(f, 0, "params/notifications")), 0);
	fake_close(f);
	fake_free(f);
	f = listen_to(*state, "7", "{}");
	fake_wait(f);
	assert_int_equal(fake_error(f), -32602);
	fake_free(f);
}

/* A filter of @n ids, none of them anybody's. */
static char *many_ids(int n)
{
	char *filter = malloc(32 + (size_t)n * 8);
	size_t at;

	assert_non_null(filter);
	at = (size_t)sprintf(filter, "{\"taskIds\":[");
	for (int i = 0; i < n; i++)
		at += (size_t)sprintf(filter + at, "%s\"%d\"", i ? "," : "", i);
	(void)sprintf(filter + at, "]}");
	return filter;
}

static void test_listen__names_so_many_tasks_at_most(void **state)
{
	char *filter = many_ids(LIMIT_TASK_IDS_PER_LISTEN);
	struct fake *f = listen_to(*state, filter, CAPS_TASKS);

	assert_string_equal(json_string_value(fake_event(f, 0, "method")),
			    "notifications/subscriptions/acknowledged");
	fake_close(f);
	fake_free(f);
	free(filter);
	filter = many_ids(LIMIT_TASK_IDS_PER_LISTEN + 1);
	f = listen_to(*state, filter, CAPS_TASKS);
	fake_wait(f);
	assert_false(f->streaming);
	assert_int_equal(fake_error(f), -32602);
	fake_free(f);
	free(filter);
	f = listen_to(*state, "{\"taskIds\":[7]}", CAPS_TASKS);
	fake_wait(f);
	assert_int_equal(fake_error(f), -32602);
	fake_free(f);
}

static void test_listen__has_a_ceiling_for_each_caller(void **state)
{
	struct fake *f[101];
	int i;

	for (i = 0; i < 101; i++)
		f[i] = listen_to(*state, "{}", "{}");
	for (i = 0; i < 100; i++)
		assert_true(f[i]->streaming);
	fake_wait(f[100]);
	assert_int_equal(fake_error(f[100]), -32603);
	for (i = 0; i < 100; i++)
		fake_close(f[i]);
	for (i = 0; i < 101; i++)
		fake_free(f[i]);
	f[0] = listen_to(*state, "{}", "{}");
	assert_true(f[0]->streaming);
	fake_close(f[0]);
	fake_free(f[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create__answers_with_the_flat_task),
		cmocka_unit_test(test_create__is_there_at_once),
		cmocka_unit_test(
			test_create__a_handler_that_cannot_ask_is_a_400),
		cmocka_unit_test(
			test_create__needs_the_extension_where_demanded),
		cmocka_unit_test(test_create__ignores_the_legacy_task_member),
		cmocka_unit_test(test_create__one_key_makes_one_task),
		cmocka_unit_test(test_end__a_protocol_error_is_failed),
		cmocka_unit_test(test_end__a_tool_error_is_completed),
		cmocka_unit_test(test_cancel__ends_it_and_acknowledges_again),
		cmocka_unit_test(test_update__an_answer_resumes_it),
		cmocka_unit_test(test_update__a_part_leaves_the_rest_open),
		cmocka_unit_test(
			test_update__a_misfit_is_asked_under_a_new_key),
		cmocka_unit_test(test_update__unknown_keys_are_acknowledged),
		cmocka_unit_test(test_other__cannot_tell_a_task_from_none),
		cmocka_unit_test(test_get__shows_all_questions_to_anyone),
		cmocka_unit_test(test_either__asks_first_and_then_is_a_task),
		cmocka_unit_test(
			test_either__without_the_extension_it_is_waited_for),
		cmocka_unit_test(test_delivery__a_task_nobody_was_told_of_ends),
		cmocka_unit_test(test_listen__tells_the_state_and_each_change),
		cmocka_unit_test(
			test_listen__another_callers_task_is_not_acknowledged),
		cmocka_unit_test(test_listen__needs_the_extension_for_tasks),
		cmocka_unit_test(test_listen__names_so_many_tasks_at_most),
		cmocka_unit_test(test_listen__has_a_ceiling_for_each_caller),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
