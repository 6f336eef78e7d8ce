/* SPDX-License-Identifier: MIT */
/* Background tasks for callers without the extension: the wait, the handle,
 * the rounds, detaching, coming back, going away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/protocol/lib/task_tools.h"

#define PATIENT  60000 /* outlasts the slowest machine */
#define BRIEF    50    /* where the wait is to end without a result */
#define SEEN     1000  /* so that a wait is counted before it ends */
#define GRACE_MS 60000

static int set_up(void **state)
{
	struct wire_options opt = {.wait_budget_ms = PATIENT};

	task_tools_hold();
	*state = wire_new(&opt, task_tools_add);
	return 0;
}

static int tear_down(void **state)
{
	task_tools_release();
	wire_free(*state);
	return 0;
}

static struct wire *brief(int64_t budget_ms, int64_t grace_ms)
{
	struct wire_options opt = {.wait_budget_ms = budget_ms,
				   .grace_ms = grace_ms};

	return wire_new(&opt, task_tools_add);
}

static struct fake *come_back(struct wire *w, const char *name,
			      const char *sealed, const char *responses)
{
	struct post p = CALL_PLAIN(name);

	p.state = sealed;
	p.responses = responses;
	return fake_call(w, p);
}

/* A round with a handle alone; the next state. */
static char *state_only(struct fake *f)
{
	char *sealed = state_of(f);

	assert_true(json_is_object(fake_get(f, "result/inputRequests")));
	assert_int_equal(json_object_size(fake_get(f, "result/inputRequests")),
			 0);
	fake_free(f);
	return sealed;
}

/* The only task that stands open, as an operator sees it. */
static struct store_task *last_task(struct wire *w)
{
	struct store_filter filter = {.limit = 1, .what = STORE_GET_ALL_INPUTS};
	struct store_task **list = NULL;
	struct store_task *t;
	size_t n = 0;

	assert_int_equal(store_list(w->store, &filter, &list, &n), BIDE_OK);
	assert_int_equal(n, 1);
	t = list[0];
	list[0] = NULL;
	store_list_free(list, 1);
	return t;
}

static enum store_state wait_state(struct wire *w, enum store_state want)
{
	enum store_state s = want;
	int i;

	for (i = 0; i < 12000; i++) {
		struct store_task *t = last_task(w);

		s = t->state;
		store_task_free(t);
		if (s == want)
			break;
		(void)usleep(5000);
	}
	return s;
}

/* ---- within the budget ---- */
static void test_wait__the_result_comes_on_the_same_request(void **state)
{
	struct fake *f = fake_call(*state, CALL_PLAIN("slow"));

	assert_string_equal(fake_string(f, "result/resultType"), "complete");
	assert_string_equal(fake_text(f), "done");
	assert_null(fake_get(f, "result/taskId"));
	fake_free(f);
}

static void test_wait__questions_come_with_a_handle(void **state)
{
	struct fake *f = fake_call(*state, CALL_PLAIN("two"));
	char *sealed = state_of(f);
	char *next;

	assert_int_equal(json_object_size(fake_get(f, "result/inputRequests")),
			 2);
	assert_null(fake_get(f, "result/taskId"));
	fake_free(f);
	/* A part: the rest is asked again, at once (F16). */
	f = come_back(*state, "two", sealed, "{\"first\":" NAME("A") "}");
	assert_int_equal(json_object_size(fake_get(f, "result/inputRequests")),
			 1);
	next = state_of(f);
	fake_free(f);
	/* Any round that has not expired is accepted: the first state too. */
	f = come_back(*state, "two", sealed, "{\"second\":" NAME("B") "}");
	assert_string_equal(fake_text(f), "A and B");
	fake_free(f);
	/* The result can be read again. */
	f = come_back(*state, "two", next, NULL);
	assert_string_equal(fake_text(f), "A and B");
	fake_free(f);
	free(next);
	free(sealed);
}

static void test_wait__a_misfit_is_asked_under_a_new_key(void **state)
{
	struct fake *f = fake_call(*state, CALL_PLAIN("confirm"));
	char *sealed = state_of(f);

	fake_free(f);
	f = come_back(*state, "confirm", sealed,
		      "{\"who\":{\"action\":\"accept\",\"content\":{}}}");
	assert_non_null(fake_get(f, "result/inputRequests/who~2"));
	assert_null(fake_get(f, "result/inputRequests/who"));
	fake_free(f);
	f = come_back(*state, "confirm", sealed, "{\"who~2\":" NAME("Z") "}");
	assert_string_equal(fake_text(f), "Z");
	fake_free(f);
	free(sealed);
}

/* Several may wait on one handle. */
static void test_wait__all_who_wait_get_the_result(void **state)
{
	struct fake *f = fake_call(*state, CALL_PLAIN("confirm"));
	char *sealed = state_of(f);
	struct post p = CALL_PLAIN("confirm");
	struct fake *all[4];
	int i;

	fake_free(f);
	p.state = sealed;
	p.responses = "{\"who\":" NAME("all") "}";
	for (i = 0; i < 4; i++)
		all[i] = fake_post(*state, p);
	for (i = 0; i < 4; i++) {
		fake_wait(all[i]);
		assert_string_equal(fake_text(all[i]), "all");
		fake_free(all[i]);
	}
	free(sealed);
}

/* A request that lacks what is asked gets -32021, and the task is left alone;
 * capabilities are those of the latest request. */
static void test_wait__a_lesser_client_leaves_the_task_alone(void **state)
{
	struct fake *f = fake_call(*state, CALL_PLAIN("confirm"));
	char *sealed = state_of(f);
	struct post p = CALL_PLAIN("confirm");

	fake_free(f);
	p.state = sealed;
	p.caps = "{}";
	p.responses = "{\"who\":" NAME("no") "}";
	f = fake_call(*state, p);
	assert_int_equal(f->status, 400);
	assert_int_equal(fake_error(f), -32021);
	fake_free(f);
	assert_int_equal(wait_state(*state, STORE_WAITING), STORE_WAITING);
	f = come_back(*state, "confirm", sealed, "{\"who\":" NAME("yes") "}");
	assert_string_equal(fake_text(f), "yes");
	fake_free(f);
	free(sealed);
}

/* The flow stays rounds, whatever a retry declares. */
static void test_wait__the_flow_stays_for_life(void **state)
{
	struct fake *f = fake_call(*state, CALL_PLAIN("confirm"));
	char *sealed = state_of(f);
	struct post p = CALL_TASK("confirm");

	fake_free(f);
	p.state = sealed;
	f = fake_call(*state, p);
	assert_non_null(fake_get(f, "result/inputRequests/who"));
	assert_string_equal(fake_string(f, "result/resultType"),
			    "input_required");
	fake_free(f);
	p.responses = "{\"who\":" NAME("T") "}";
	f = fake_call(*state, p);
	assert_string_equal(fake_text(f), "T");
	fake_free(f);
	free(sealed);
}

/* A task behind a handle has no id for tasks/get. */
static void test_wait__its_task_is_unknown_to_the_extension(void **state)
{
	struct fake *f = fake_call(*state, CALL_PLAIN("confirm"));
	struct store_task *t = last_task(*state);
	struct fake *g = task_method(*state, "tasks/get", t->token, NULL);

	assert_int_equal(fake_error(g), -32602);
	fake_free(g);
	g = task_method(*state, "tasks/cancel", t->token, NULL);
	assert_int_equal(fake_error(g), -32602);
	fake_free(g);
	store_task_free(t);
	fake_free(f);
}

static void test_wait__a_cancelled_task_is_a_tool_error(void **state)
{
	struct fake *f = fake_call(*state, CALL_PLAIN("confirm"));
	char *sealed = state_of(f);
	struct store_task *t = last_task(*state);
	struct wire *w = *state;
	struct store_op op;

	fake_free(f);
	store_op_init(&op, STORE_OP_CANCEL, 5000);
	op.u.cancel.token = t->token;
	op.u.cancel.reason = "Stopped by an operator";
	assert_int_equal(store_run(w->store, &op), BIDE_OK);
	f = come_back(w, "confirm", sealed, "{\"who\":" NAME("late") "}");
	assert_true(json_is_true(fake_get(f, "result/isError")));
	assert_string_equal(fake_text(f), "Stopped by an operator");
	fake_free(f);
	store_task_free(t);
	free(sealed);
}

/* ---- beyond the budget ---- */
/* F26: two rounds, then it detaches; the result by wait_for_task. */
static char *detach(struct wire *w, const char *name)
{
	struct fake *f = fake_call(w, CALL_PLAIN(name));
	char *one = state_only(f);
	char *two = state_only(come_back(w, name, one, NULL));
	char *handle = NULL;

	assert_string_not_equal(one, two);
	f = come_back(w, name, two, NULL);
	assert_string_equal(fake_string(f, "result/resultType"), "complete");
	assert_non_null(strstr(fake_text(f), "wait_for_task"));
	if (fake_string(f, "result/structuredContent/handle") != NULL)
		handle = strdup(
			fake_string(f, "result/structuredContent/handle"));
	if (handle != NULL)
		assert_non_null(strstr(fake_text(f), handle));
	else
		assert_true(json_is_true(fake_get(f, "result/isError")));
	fake_free(f);
	free(one);
	free(two);
	return handle;
}

static struct fake *wait_for(struct wire *w, const char *handle,
			     const char *principal, const char *caps)
{
	char args[1200];

	(void)snprintf(args, sizeof(args), "{\"handle\":\"%s\"}", handle);
	return fake_call(w, (struct post){.method = "tools/call",
					  .tool = "wait_for_task",
					  .args = args,
					  .caps = caps,
					  .principal = principal});
}

static void test_detach__the_result_is_had_by_wait_for_task(void **state)
{
	struct wire *w = brief(BRIEF, 0);
	char *handle;
	struct fake *f;

	(void)state;
	task_tools_hold();
	handle = detach(w, "held");
	assert_non_null(handle);
	/* Its own rounds, and then it says so again. */
	f = wait_for(w, handle, "alice", "{}");
	free(state_only(f));
	task_tools_release();
	assert_int_equal(wait_state(w, STORE_COMPLETED), STORE_COMPLETED);
	f = wait_for(w, handle, "alice", "{}");
	assert_string_equal(fake_text(f), "released");
	fake_free(f);
	f = wait_for(w, handle, "alice", CAPS_TASKS);
	assert_string_equal(fake_text(f), "released");
	fake_free(f);
	free(handle);
	wire_free(w);
}

/* Bound to the principal; a model is told in words (tools "Stateful Tools"). */
static void test_detach__a_handle_is_good_for_its_caller_only(void **state)
{
	struct wire *w = brief(BRIEF, 0);
	char *handle;
	struct fake *f;

	(void)state;
	task_tools_hold();
	handle = detach(w, "held");
	f = wait_for(w, handle, "mallory", "{}");
	assert_true(json_is_true(fake_get(f, "result/isError")));
	assert_null(fake_get(f, "result/structuredContent"));
	fake_free(f);
	f = wait_for(w, "garbage", "alice", "{}");
	assert_true(json_is_true(fake_get(f, "result/isError")));
	fake_free(f);
	/* A handle is no state, and a state is no handle. */
	f = come_back(w, "held", handle, NULL);
	assert_int_equal(fake_error(f), -32602);
	fake_free(f);
	task_tools_release();
	free(handle);
	wire_free(w);
}

/* A structured result would have to fit the tool's schema. */
static void
test_detach__a_tool_with_an_output_schema_says_it_in_text(void **state)
{
	struct wire *w = brief(BRIEF, 0);

	(void)state;
	task_tools_hold();
	assert_null(detach(w, "schemed"));
	task_tools_release();
	wire_free(w);
}

/* wait_for_task asks the open questions too. */
static void test_detach__wait_for_task_asks(void **state)
{
	struct fake *f = fake_call(*state, CALL_PLAIN("confirm"));
	char *sealed = state_of(f);
	struct store_task *t = last_task(*state);
	struct continuation c = {.kind = CONTINUATION_WAIT,
				 .id = "x",
				 .chain = "y",
				 .ttl_ms = 60000};
	struct request_state_for as = {"alice", "tools/call", "confirm", "d"};
	struct wire *w = *state;
	char args[1200];
	struct post p;
	char *handle;
	char *next;

	fake_free(f);
	memcpy(c.token, t->token, sizeof(c.token));
	handle = request_state_seal(w->state, &c, &as);
	f = wait_for(w, handle, "alice", CAPS_FORM);
	assert_non_null(fake_get(f, "result/inputRequests/who"));
	next = state_of(f);
	fake_free(f);
	(void)snprintf(args, sizeof(args), "{\"handle\":\"%s\"}", handle);
	p = (struct post){.method = "tools/call",
			  .tool = "wait_for_task",
			  .args = args,
			  .caps = CAPS_FORM,
			  .state = next,
			  .responses = "{\"who\":" NAME("W") "}"};
	f = fake_call(w, p);
	assert_string_equal(fake_text(f), "W");
	fake_free(f);
	store_task_free(t);
	free(handle);
	free(next);
	free(sealed);
}

/* ---- going away: S9, F30 ---- */
/* How long the task is kept from now on; 0: while somebody waits; -1: for
 * ever. */
static int64_t kept_for(struct wire *w)
{
	struct store_task *t = last_task(w);
	int64_t ms = -1;

	if (t->waiters > 0)
		ms = 0;
	else if (t->abandon_at_ms > 0)
		ms = t->abandon_at_ms - store_now_ms(w->store);
	store_task_free(t);
	return ms;
}

/* What becomes of a request is written down after its reply. */
static void await_kept_for(struct wire *w, int64_t least, int64_t most)
{
	int64_t ms = kept_for(w);

	for (int i = 0; i < 12000 && (ms < least || ms > most); i++) {
		(void)usleep(5000);
		ms = kept_for(w);
	}
	assert_true(ms >= least && ms <= most);
}

static void call_and_close(struct wire *w, const char *tool)
{
	struct fake *f = fake_post(w, CALL_PLAIN(tool));

	fake_close(f);
	fake_free(f);
}

static void test_close__the_last_to_go_begins_the_grace(void **state)
{
	struct wire *w = brief(BRIEF, 300);

	(void)state;
	task_tools_hold();
	call_and_close(w, "held");
	assert_int_equal(wait_state(w, STORE_CANCELLED), STORE_CANCELLED);
	task_tools_release();
	wire_free(w);
}

static void test_close__somebody_who_comes_back_keeps_it(void **state)
{
	struct wire *w = brief(SEEN, GRACE_MS);
	struct post p = CALL_PLAIN("held");
	struct fake *f;
	char *sealed;

	(void)state;
	task_tools_hold();
	sealed = state_only(fake_call(w, p));
	await_kept_for(w, GRACE_MS * 2, INT64_MAX);
	p.state = sealed;
	f = fake_post(w, p);
	await_kept_for(w, 0, 0);
	fake_close(f);
	fake_free(f);
	await_kept_for(w, 1, GRACE_MS);
	free(state_only(fake_call(w, p)));
	await_kept_for(w, GRACE_MS * 2, INT64_MAX);
	task_tools_release();
	assert_int_equal(wait_state(w, STORE_COMPLETED), STORE_COMPLETED);
	free(sealed);
	wire_free(w);
}

static void test_close__a_tool_may_go_on(void **state)
{
	struct wire *w = brief(BRIEF, 300);

	(void)state;
	task_tools_hold();
	call_and_close(w, "goes_on");
	await_kept_for(w, -1, -1);
	task_tools_release();
	assert_int_equal(wait_state(w, STORE_COMPLETED), STORE_COMPLETED);
	wire_free(w);
}

/* The operator's choice: no such tool, and the rounds never end. */
static void test_detach__is_off_where_the_operator_says_so(void **state)
{
	struct wire_options opt = {.wait_budget_ms = 20,
				   .state_rounds = 1,
				   .no_wait_for_task = true};
	struct wire *w = wire_new(&opt, task_tools_add);
	struct fake *f;
	char *sealed;

	(void)state;
	task_tools_hold();
	f = fake_call(w, (struct post){.method = "tools/list"});
	assert_non_null(strstr(f->text, "\"goes_on\""));
	assert_null(strstr(f->text, "wait_for_task"));
	fake_free(f);
	f = fake_call(w, CALL_PLAIN("wait_for_task"));
	assert_int_equal(fake_error(f), -32602);
	fake_free(f);
	sealed = state_only(fake_call(w, CALL_PLAIN("held")));
	for (int i = 0; i < 6; i++) {
		f = come_back(w, "held", sealed, NULL);
		free(sealed);
		sealed = state_only(f);
	}
	task_tools_release();
	do {
		f = come_back(w, "held", sealed, NULL);
		free(sealed);
		sealed = NULL;
		if (fake_string(f, "result/requestState") != NULL)
			sealed = state_only(f);
	} while (sealed != NULL);
	assert_string_equal(fake_text(f), "released");
	fake_free(f);
	wire_free(w);
}

/* ---- progress and log of a task: S38 ---- */
static void test_stream__a_tasks_progress_reaches_who_waits(void **state)
{
	struct wire_options opt = {.wait_budget_ms = 10000};
	struct wire *w;
	struct post p = CALL_PLAIN("talker");
	struct fake *f;
	double last = 0;
	size_t logs = 0;
	size_t i;

	(void)state;
	w = wire_new(&opt, task_tools_add);
	p.meta = "{\"progressToken\":7,"
		 "\"io.modelcontextprotocol/logLevel\":\"info\"}";
	f = fake_call(w, p);
	assert_true(f->streaming);
	for (i = 0; i + 1 < json_array_size(f->events); i++) {
		json_t *e = json_array_get(f->events, i);
		double v = json_number_value(json_at(e, "params/progress"));

		if (json_at(e, "params/level") != NULL) {
			assert_string_equal(
				json_string_value(json_at(e, "params/level")),
				"warning");
			logs++;
			continue;
		}
		assert_int_equal(
			json_integer_value(json_at(e, "params/progressToken")),
			7);
		assert_true(v > last);
		last = v;
	}
	assert_int_equal(logs, 3);
	assert_true(last > 0);
	assert_string_equal(fake_text(f), "talked");
	fake_free(f);
	wire_free(w);
}

/* ---- ceilings and draining ---- */
static void test_limit__unfinished_tasks_of_one_caller(void **state)
{
	struct wire_options opt = {.max_live = 2, .wait_budget_ms = 50};
	struct wire *w = wire_new(&opt, task_tools_add);
	struct fake *f;
	int i;

	(void)state;
	for (i = 0; i < 2; i++)
		fake_free(fake_call(w, CALL_PLAIN("confirm")));
	f = fake_call(w, CALL_PLAIN("confirm"));
	assert_int_equal(fake_error(f), -32603);
	assert_non_null(strstr(fake_string(f, "error/message"), "tasks"));
	fake_free(f);
	wire_free(w);
}

/* Who is told to try again finds that nothing was begun. */
static void test_limit__a_refused_wait_leaves_no_task(void **state)
{
	struct wire_options opt = {.max_waits = 1, .wait_budget_ms = 60000};
	struct store_filter filter = {.limit = 10};
	struct wire *w = wire_new(&opt, task_tools_add);
	struct store_task **list = NULL;
	struct fake *waiting;
	struct fake *f;
	size_t n = 0;
	int i;

	(void)state;
	task_tools_hold();
	waiting = fake_post(w, CALL_PLAIN("held"));
	for (i = 0; i < 2; i++) {
		f = fake_call(w, CALL_PLAIN("held"));
		assert_int_equal(fake_error(f), -32603);
		assert_non_null(
			strstr(fake_string(f, "error/message"), "waiting"));
		fake_free(f);
	}
	/* Who does not wait is not refused. */
	free(task_start(w, CALL_TASK("held")));
	assert_int_equal(store_list(w->store, &filter, &list, &n), BIDE_OK);
	assert_int_equal(n, 2);
	store_list_free(list, n);
	task_tools_release();
	fake_wait(waiting);
	assert_string_equal(fake_text(waiting), "released");
	fake_free(waiting);
	wire_free(w);
}

static void test_limit__what_cannot_wait_is_not_begun(void **state)
{
	struct wire *w = *state;
	struct store_filter filter = {.limit = 1000, .tool = "slow"};
	struct post posts[] = {CALL_PLAIN("slow"), CALL_TASK("slow")};
	struct store_task **list = NULL;
	struct fake *f = fake_call(w, CALL_PLAIN("confirm"));
	char *sealed = state_of(f);
	struct post back = CALL_PLAIN("confirm");
	size_t before = 0;
	size_t n = 0;
	int i;

	fake_free(f);
	assert_int_equal(store_list(w->store, &filter, &list, &before),
			 BIDE_OK);
	store_list_free(list, before);
	for (i = 0; i < 2; i++) {
		posts[i].crowded = true;
		posts[i].args = "{\"ms\":60000}";
		f = fake_call(w, posts[i]);
		assert_int_equal(fake_error(f), -32603);
		assert_non_null(
			strstr(fake_string(f, "error/message"), "try again"));
		fake_free(f);
	}
	assert_int_equal(store_list(w->store, &filter, &list, &n), BIDE_OK);
	assert_int_equal(n, before);
	store_list_free(list, n);
	/* Nor is an answer taken with which nobody could be told the result. */
	back.state = sealed;
	back.responses = "{\"who\":" NAME("A") "}";
	back.crowded = true;
	f = fake_call(w, back);
	assert_int_equal(fake_error(f), -32603);
	fake_free(f);
	f = come_back(w, "confirm", sealed, "{\"who\":" NAME("B") "}");
	assert_string_equal(fake_text(f), "B");
	fake_free(f);
	free(sealed);
}

/* Rule 12, F31: who waits goes elsewhere with its handle, uncounted. */
static void test_drain__answers_everyone_now(void **state)
{
	struct wire_options opt = {.wait_budget_ms = 60000};
	struct wire *w = wire_new(&opt, task_tools_add);
	struct fake *waiting;
	struct fake *sleeping;
	struct fake *listener;
	char *sealed;

	(void)state;
	task_tools_hold();
	waiting = fake_post(w, CALL_PLAIN("held"));
	sleeping = fake_post(w, (struct post){.method = "tools/call",
					      .tool = "slow",
					      .caps = CAPS_FORM,
					      .args = "{\"ms\":50000}"});
	listener =
		fake_post(w, (struct post){.method = "subscriptions/listen",
					   .params = "{\"notifications\":{}}"});
	(void)usleep(100000);
	assert_false(fake_answered(waiting));
	assert_false(fake_answered(sleeping));
	dispatch_drain(w->dispatch);
	fake_wait(waiting);
	fake_wait(sleeping);
	fake_wait(listener);
	sealed = state_only(waiting);
	free(sealed);
	sealed = state_only(sleeping);
	free(sealed);
	assert_string_equal(fake_string(listener, "result/resultType"),
			    "complete");
	assert_int_equal(json_integer_value(json_object_get(
				 fake_get(listener, "result/_meta"),
				 "io.modelcontextprotocol/subscriptionId")),
			 1);
	fake_free(listener);
	task_tools_release();
	wire_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_wait__the_result_comes_on_the_same_request),
		cmocka_unit_test(test_wait__questions_come_with_a_handle),
		cmocka_unit_test(test_wait__a_misfit_is_asked_under_a_new_key),
		cmocka_unit_test(test_wait__all_who_wait_get_the_result),
		cmocka_unit_test(
			test_wait__a_lesser_client_leaves_the_task_alone),
		cmocka_unit_test(test_wait__the_flow_stays_for_life),
		cmocka_unit_test(
			test_wait__its_task_is_unknown_to_the_extension),
		cmocka_unit_test(test_wait__a_cancelled_task_is_a_tool_error),
		cmocka_unit_test(
			test_detach__the_result_is_had_by_wait_for_task),
		cmocka_unit_test(
			test_detach__a_handle_is_good_for_its_caller_only),
		cmocka_unit_test(
			test_detach__a_tool_with_an_output_schema_says_it_in_text),
		cmocka_unit_test(test_detach__wait_for_task_asks),
		cmocka_unit_test(
			test_detach__is_off_where_the_operator_says_so),
		cmocka_unit_test(test_close__the_last_to_go_begins_the_grace),
		cmocka_unit_test(test_close__somebody_who_comes_back_keeps_it),
		cmocka_unit_test(test_close__a_tool_may_go_on),
		cmocka_unit_test(
			test_stream__a_tasks_progress_reaches_who_waits),
		cmocka_unit_test(test_limit__unfinished_tasks_of_one_caller),
		cmocka_unit_test(test_limit__a_refused_wait_leaves_no_task),
		cmocka_unit_test(test_limit__what_cannot_wait_is_not_begun),
		cmocka_unit_test(test_drain__answers_everyone_now),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
