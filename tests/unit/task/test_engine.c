/* SPDX-License-Identifier: MIT */
/* One engine on a real store: what a handler may do, and what becomes of it. */
#include "tests/unit/task/rig.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bide/call.h"
#include "bide/content.h"
#include "server/base/clock.h"
#include "server/base/fault.h"

#define HELLO "{\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]}"
#define SCHEMA                                                                 \
	"{\"type\":\"object\",\"properties\":{\"v\":{\"type\":\"string\"}}}"
#define ACCEPT(v) "{\"action\":\"accept\",\"content\":{\"v\":\"" v "\"}}"

static struct stage stage;
/* What handlers count on the stage. */
enum { ENTERED, STEPPED, INSIDE, TOLD, SEEN };

static enum bide_rc hello(struct bide_call *c, void *user)
{
	(void)user;
	stage_mark(&stage, ENTERED);
	return bide_text(c, "hello");
}

static enum bide_rc fails(struct bide_call *c, void *user)
{
	(void)user;
	return bide_fail(c, -32000, "no luck", NULL);
}

/* A step, then two questions. */
static enum bide_rc asks(struct bide_call *c, void *user)
{
	const json_t *plan = NULL;
	enum bide_rc rc;

	(void)user;
	stage_mark(&stage, ENTERED);
	rc = bide_step_begin(c, "plan", &plan);
	if (rc == BIDE_RUN) {
		stage_mark(&stage, STEPPED);
		rc = bide_step_commit(c, json_string("p"), &plan);
	}
	BIDE_TRY(rc);
	BIDE_TRY(bide_ask_form(c, "one", "first?", SCHEMA));
	BIDE_TRY(bide_ask_form(c, "two", "second?", SCHEMA));
	BIDE_TRY(bide_await(c));
	return bide_text(c, "%s %s %s", json_string_value(plan),
			 bide_answer_string(bide_answer(c, "one"), "v"),
			 bide_answer_string(bide_answer(c, "two"), "v"));
}

static enum bide_rc asks_late(struct bide_call *c, void *user)
{
	(void)user;
	BIDE_TRY(bide_ask_form(c, "one", "first?", SCHEMA));
	BIDE_TRY(bide_ask_deadline(c, "one", 60));
	BIDE_TRY(bide_await(c));
	return bide_text(
		c, "%s",
		bide_action_name(bide_answer_action(bide_answer(c, "one"))));
}

/* Makes its question visible, and is answered before it waits. */
static enum bide_rc publishes(struct bide_call *c, void *user)
{
	(void)user;
	stage_mark(&stage, ENTERED);
	BIDE_TRY(bide_ask_form(c, "one", "first?", SCHEMA));
	BIDE_TRY(bide_publish(c));
	stage_mark(&stage, INSIDE);
	stage_wait_open(&stage);
	BIDE_TRY(bide_await(c));
	return bide_text(c, "%s",
			 bide_answer_string(bide_answer(c, "one"), "v"));
}

static enum bide_rc needs_url(struct bide_call *c, void *user)
{
	(void)user;
	BIDE_TRY(bide_ask_url(c, "u", "go there", "https://example.com/"));
	return bide_await(c);
}

static enum bide_rc sleeps(struct bide_call *c, void *user)
{
	(void)user;
	stage_mark(&stage, ENTERED);
	BIDE_TRY(bide_sleep(c, "s", 80));
	return bide_text(c, "hello");
}

static enum bide_rc yields(struct bide_call *c, void *user)
{
	(void)user;
	stage_mark(&stage, ENTERED);
	BIDE_TRY(bide_yield(c, "y"));
	return bide_text(c, "hello");
}

/* Busy until told, by its descriptor; says when it was. */
static _Atomic int64_t told_us;
static enum bide_rc busy(struct bide_call *c, void *user)
{
	struct pollfd p = {.fd = bide_cancel_fd(c), .events = POLLIN};

	(void)user;
	stage_mark(&stage, INSIDE);
	if (poll(&p, 1, RIG_WAIT_MS) == 1) {
		told_us = clock_boot_us();
		stage_mark(&stage, TOLD);
	}
	return BIDE_CANCELLED;
}

/* Busy until the stage opens, whatever is told to it. */
static enum bide_rc deaf(struct bide_call *c, void *user)
{
	(void)user;
	stage_mark(&stage, INSIDE);
	stage_wait_open(&stage);
	return bide_text(c, "hello");
}

static enum bide_rc many_steps(struct bide_call *c, void *user)
{
	char key[16];
	enum bide_rc rc;

	(void)user;
	for (int i = 0; i < 4; i++) {
		snprintf(key, sizeof(key), "s%d", i);
		rc = bide_step_begin(c, key, NULL);
		if (rc == BIDE_RUN) {
			stage_mark(&stage, STEPPED);
			rc = bide_step_commit(c, json_integer(i), NULL);
			if (i == 1) {
				stage_mark(&stage, INSIDE);
				stage_wait_open(&stage);
			}
		}
		BIDE_TRY(rc);
	}
	return bide_text(c, "hello");
}

static enum bide_rc talks(struct bide_call *c, void *user)
{
	(void)user;
	for (int i = 1; i <= 5000; i++)
		bide_progress(c, i, 5000, "so far");
	for (int i = 0; i < 10; i++)
		bide_log(c, BIDE_LOG_INFO, "t", json_integer(i));
	bide_status(c, "nearly there");
	return bide_text(c, "hello");
}

/* The last value told is what it was told before. */
static enum bide_rc talks_twice(struct bide_call *c, void *user)
{
	const json_t *first = NULL;
	enum bide_rc rc;

	(void)user;
	rc = bide_step_begin(c, "first", &first);
	if (rc == BIDE_RUN) {
		bide_progress(c, 50, 100, NULL);
		rc = bide_step_commit(c, json_true(), NULL);
	}
	BIDE_TRY(rc);
	bide_progress(c, 10, 100, NULL); /* from the top again: dropped */
	BIDE_TRY(bide_yield(c, "y"));
	return bide_text(c, "hello");
}

static bool yes = true;

/* Its second entry says "first" again before it says "second", or does not. */
static enum bide_rc says_again(struct bide_call *c, void *user)
{
	bool again = user != NULL;

	if (again || bide_epoch(c) == 1)
		bide_status(c, "first");
	BIDE_TRY(bide_yield(c, "y"));
	bide_status(c, "second");
	return bide_text(c, "hello");
}

static const struct bide_tool tools[] = {
	{BIDE_TOOL, .name = "hello", .handler = hello, .mode = BIDE_PERSISTENT},
	{BIDE_TOOL, .name = "fails", .handler = fails, .mode = BIDE_PERSISTENT},
	{BIDE_TOOL, .name = "asks", .handler = asks, .mode = BIDE_EITHER},
	{BIDE_TOOL, .name = "asks_late", .handler = asks_late,
	 .mode = BIDE_PERSISTENT},
	{BIDE_TOOL, .name = "publishes", .handler = publishes,
	 .mode = BIDE_PERSISTENT},
	{BIDE_TOOL, .name = "needs_url", .handler = needs_url,
	 .mode = BIDE_PERSISTENT},
	{BIDE_TOOL, .name = "sleeps", .handler = sleeps,
	 .mode = BIDE_PERSISTENT},
	{BIDE_TOOL, .name = "yields", .handler = yields,
	 .mode = BIDE_PERSISTENT},
	{BIDE_TOOL, .name = "busy", .handler = busy, .mode = BIDE_PERSISTENT},
	{BIDE_TOOL, .name = "deaf", .handler = deaf, .mode = BIDE_PERSISTENT},
	{BIDE_TOOL, .name = "deaf_short", .handler = deaf,
	 .mode = BIDE_PERSISTENT, .max_run_ms = 60},
	{BIDE_TOOL, .name = "deaf_ttl", .handler = deaf,
	 .mode = BIDE_PERSISTENT, .ttl_ms = 60},
	{BIDE_TOOL, .name = "many_steps", .handler = many_steps,
	 .mode = BIDE_PERSISTENT},
	{BIDE_TOOL, .name = "talks", .handler = talks, .mode = BIDE_PERSISTENT},
	{BIDE_TOOL, .name = "talks_twice", .handler = talks_twice,
	 .mode = BIDE_PERSISTENT},
	{BIDE_TOOL, .name = "says_once", .handler = says_again,
	 .mode = BIDE_PERSISTENT},
	{BIDE_TOOL, .name = "says_again", .handler = says_again,
	 .mode = BIDE_PERSISTENT, .user = &yes},
	{BIDE_TOOL, .name = "ephemeral", .handler = hello},
};

static int setup(void **state)
{
	struct rig *r = malloc(sizeof(*r));

	stage_init(&stage);
	rig_init(r, tools, sizeof(tools) / sizeof(tools[0]));
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	stage_open(&stage);
	rig_end(*state);
	fault_disarm();
	free(*state);
	stage_fini(&stage);
	return 0;
}

/* ---- running ---- */

static void test_created_task__is_run_by_an_idle_worker(void **state)
{
	struct rig *r = *state;
	struct rig_task t;
	struct store_task *row;

	rig_start(r, 1);
	t = rig_create(r, 0, "hello");
	rig_ends(r, 0, t.id, STORE_COMPLETED, HELLO);
	row = rig_get(r, 0, t.id);
	assert_int_equal(row->claims, 1);
	assert_int_equal(row->epoch, 1); /* created and claimed in one */
	assert_string_equal(row->token, t.token);
	assert_true(strlen(t.token) >= 22);
	store_task_free(row);
	assert_int_equal(stage_read(&stage, ENTERED), 1);
}

static void test_created_task__waits_for_a_worker(void **state)
{
	struct rig *r = *state;
	struct rig_task a, b;
	struct store_task *row;

	r->opt.task_workers = 1;
	rig_start(r, 1);
	a = rig_create(r, 0, "deaf");
	stage_await(&stage, INSIDE, 1);
	b = rig_create(r, 0, "hello");
	row = rig_get(r, 0, b.id);
	assert_int_equal(row->state, STORE_READY);
	store_task_free(row);
	stage_open(&stage);
	rig_ends(r, 0, b.id, STORE_COMPLETED, HELLO);
	rig_ends(r, 0, a.id, STORE_COMPLETED, HELLO);
}

static void test_many_tasks__all_end_on_few_workers(void **state)
{
	struct rig *r = *state;
	struct rig_task t[60];
	struct store_task *row;

	rig_start(r, 1);
	for (int i = 0; i < 60; i++)
		t[i] = rig_create(r, 0, i % 2 ? "hello" : "yields");
	for (int i = 0; i < 60; i++) {
		rig_ends(r, 0, t[i].id, STORE_COMPLETED, HELLO);
		row = rig_get(r, 0, t[i].id);
		assert_int_equal(row->claims, i % 2 ? 1 : 2);
		store_task_free(row);
	}
	assert_int_equal(stage_read(&stage, ENTERED), 90);
}

static void test_same_idempotency_key__is_the_same_task(void **state)
{
	struct rig *r = *state;
	struct engine_create c = {.idem_key = "k"};
	struct rig_task a, b;

	rig_start(r, 1);
	a = rig_create_as(r, 0, "hello", &c);
	b = rig_create_as(r, 0, "hello", &c);
	assert_int_equal(a.answer, STORE_CREATED);
	assert_int_equal(b.answer, STORE_SAME);
	assert_int_equal(a.id, b.id);
	assert_string_equal(a.token, b.token);
	c.args_digest = "other";
	b = rig_create_as(r, 0, "hello", &c);
	assert_int_equal(b.answer, STORE_CONFLICT);
	rig_ends(r, 0, a.id, STORE_COMPLETED, HELLO);
	assert_int_equal(stage_read(&stage, ENTERED), 1);
	/* The workers reserved in vain are idle again. */
	for (int i = 0; i < 3; i++)
		rig_ends(r, 0, rig_create(r, 0, "hello").id, STORE_COMPLETED,
			 HELLO);
}

static void test_ceiling__of_a_principal_holds(void **state)
{
	struct rig *r = *state;
	struct engine_create c = {0};

	r->opt.max_live = 1;
	rig_start(r, 1);
	rig_create(r, 0, "deaf");
	assert_int_equal(rig_create_as(r, 0, "hello", &c).answer, STORE_LIMIT);
	c.principal = "bob";
	assert_int_equal(rig_create_as(r, 0, "hello", &c).answer,
			 STORE_CREATED);
}

static void test_error__fails_the_task(void **state)
{
	struct rig *r = *state;

	rig_start(r, 1);
	rig_ends(r, 0, rig_create(r, 0, "fails").id, STORE_FAILED,
		 "{\"code\":-32000,\"message\":\"no luck\"}");
}

static void test_missing_capability__fails_and_names_it(void **state)
{
	struct rig *r = *state;
	struct store_task *t;

	rig_start(r, 1);
	t = rig_await(r, 0, rig_create(r, 0, "needs_url").id, rig_has_ended);
	assert_int_equal(t->state, STORE_FAILED);
	assert_non_null(strstr(t->payload, "\"code\":-32021"));
	assert_non_null(strstr(t->payload, "\"data\":{\"requiredCapabilities\":"
					   "{\"elicitation\":{\"url\":{}}}}"));
	store_task_free(t);
}

/* ---- asking ---- */

static void test_answers__resume_the_handler_once(void **state)
{
	struct rig *r = *state;
	struct store_task *row;
	struct rig_task t;

	rig_start(r, 1);
	t = rig_create(r, 0, "asks");
	row = rig_await(r, 0, t.id, rig_is_waiting);
	assert_int_equal(row->open, 2);
	store_task_free(row);
	/* A partial answer is kept; the handler is left alone. */
	assert_int_equal(rig_answer(r, 0, t.token, "one", ACCEPT("a")),
			 STORE_ACCEPTED);
	row = rig_get(r, 0, t.id);
	assert_int_equal(row->state, STORE_WAITING);
	assert_int_equal(row->open, 1);
	assert_int_equal(row->claims, 1);
	store_task_free(row);
	assert_int_equal(rig_answer(r, 0, t.token, "nobody_asked", "{}"),
			 STORE_NOT_OPEN);
	assert_int_equal(rig_answer(r, 0, t.token, "two", ACCEPT("b")),
			 STORE_ACCEPTED);
	row = rig_await(r, 0, t.id, rig_has_ended);
	assert_non_null(strstr(row->payload, "p a b"));
	assert_int_equal(row->claims, 2);
	store_task_free(row);
	assert_int_equal(stage_read(&stage, ENTERED), 2);
	assert_int_equal(stage_read(&stage, STEPPED), 1);
}

static void test_answer__that_comes_before_the_wait_is_not_lost(void **state)
{
	struct rig *r = *state;
	struct store_task *row;
	struct rig_task t;

	rig_start(r, 1);
	t = rig_create(r, 0, "publishes");
	stage_await(&stage, INSIDE, 1);
	assert_int_equal(rig_answer(r, 0, t.token, "one", ACCEPT("x")),
			 STORE_ACCEPTED);
	stage_open(&stage);
	row = rig_await(r, 0, t.id, rig_has_ended);
	assert_non_null(strstr(row->payload, "\"x\""));
	assert_int_equal(row->claims, 1); /* it went on under its claim */
	assert_int_equal(rig_events(row, "went_on"), 1);
	assert_int_equal(rig_events(row, "parked"), 0);
	store_task_free(row);
	assert_int_equal(stage_read(&stage, ENTERED), 2);
}

static void test_deadline__of_a_question_wakes_the_handler(void **state)
{
	struct rig *r = *state;
	struct store_task *row;

	rig_start(r, 1);
	row = rig_await(r, 0, rig_create(r, 0, "asks_late").id, rig_has_ended);
	assert_int_equal(row->state, STORE_COMPLETED);
	assert_non_null(strstr(row->payload, bide_action_name(BIDE_TIMED_OUT)));
	assert_int_equal(row->claims, 2);
	store_task_free(row);
}

/* An ephemeral call that became a task brings its record along. */
static void test_record__is_carried_over_by_persist(void **state)
{
	struct rig *r = *state;
	struct run_options opt = {0};
	struct engine_create c = {.chain_id = "chain"};
	struct bide_call *call;
	struct store_task *row;
	struct rig_task t;

	rig_start(r, 1);
	opt.target = &registry_tool(r->registry, "asks")->target;
	opt.caller = &r->caller;
	call = run_new(&opt);
	run_load_step(call, "plan", json_string("earlier"));
	run_load_question(call, "one", STORE_INPUT_FORM, "{}", RUN_Q_ANSWERED,
			  json_pack("{s:s,s:{s:s}}", "action", "accept",
				    "content", "v", "kept"),
			  0);
	c.from = call;
	t = rig_create_as(r, 0, "asks", &c);
	run_free(call);
	store_task_free(rig_await(r, 0, t.id, rig_is_waiting));
	assert_int_equal(rig_answer(r, 0, t.token, "two", ACCEPT("b")),
			 STORE_ACCEPTED);
	row = rig_await(r, 0, t.id, rig_has_ended);
	assert_non_null(strstr(row->payload, "earlier kept b"));
	store_task_free(row);
	assert_int_equal(stage_read(&stage, STEPPED), 0);
}

/* ---- waiting without being asked ---- */

static void test_sleep__parks_until_its_time(void **state)
{
	struct rig *r = *state;
	int64_t began = clock_boot_ms();
	struct store_task *row;

	rig_start(r, 1);
	row = rig_await(r, 0, rig_create(r, 0, "sleeps").id, rig_has_ended);
	assert_string_equal(row->payload, HELLO);
	assert_int_equal(rig_events(row, "parked"), 1);
	assert_int_equal(row->claims, 2);
	store_task_free(row);
	assert_true(clock_boot_ms() - began >= 80);
	assert_int_equal(stage_read(&stage, ENTERED), 2);
}

static void test_yield__hands_the_task_back(void **state)
{
	struct rig *r = *state;
	struct store_task *row;

	rig_start(r, 1);
	row = rig_await(r, 0, rig_create(r, 0, "yields").id, rig_has_ended);
	assert_string_equal(row->payload, HELLO);
	assert_int_equal(row->claims, 2);
	assert_int_equal(row->crashes, 0);
	store_task_free(row);
}

/* ---- being stopped ---- */

/* The best of three: what else this machine does is not the engine's. */
static void test_cancel__reaches_a_busy_handler_at_once(void **state)
{
	struct rig *r = *state;
	int64_t began, best = INT64_MAX;
	struct rig_task t;

	rig_start(r, 1);
	for (int i = 1; i <= 3; i++) {
		t = rig_create(r, 0, "busy");
		stage_await(&stage, INSIDE, i);
		began = clock_boot_us();
		assert_int_equal(rig_cancel(r, 0, t.token),
				 STORE_CANCELLED_NOW);
		stage_await(&stage, TOLD, i);
		if (told_us - began < best)
			best = told_us - began;
		assert_int_equal(rig_cancel(r, 0, t.token), STORE_ENDED);
		rig_ends(r, 0, t.id, STORE_CANCELLED, NULL);
	}
	assert_true(best < 100000);
	assert_true(engine_drained(r->engine[0], RIG_WAIT_MS));
}

static void test_result__after_a_cancel_changes_nothing(void **state)
{
	struct rig *r = *state;
	struct store_task *row;
	struct rig_task t;

	rig_start(r, 1);
	t = rig_create(r, 0, "deaf");
	stage_await(&stage, INSIDE, 1);
	assert_int_equal(rig_cancel(r, 0, t.token), STORE_CANCELLED_NOW);
	stage_open(&stage);
	assert_true(engine_drained(r->engine[0], RIG_WAIT_MS));
	row = rig_get(r, 0, t.id);
	assert_int_equal(row->state, STORE_CANCELLED);
	assert_null(row->payload);
	store_task_free(row);
}

static void ends_while_busy(struct rig *r, const char *tool, const char *why)
{
	struct store_task *row;
	struct rig_task t;

	r->opt.task_workers = 1;
	rig_start(r, 1);
	t = rig_create(r, 0, tool);
	stage_await(&stage, INSIDE, 1);
	row = rig_await(r, 0, t.id, rig_has_ended);
	assert_int_equal(row->state, STORE_FAILED);
	assert_non_null(strstr(row->payload, "-32603"));
	assert_non_null(strstr(row->payload, why));
	store_task_free(row);
	/* The handler is still inside; what it returns is not written. */
	assert_int_equal(engine_running(r->engine[0]), 1);
	stage_open(&stage);
	rig_ends(r, 0, rig_create(r, 0, "hello").id, STORE_COMPLETED, HELLO);
	rig_ends(r, 0, t.id, STORE_FAILED, NULL);
}

static void test_max_run__ends_the_task_at_once(void **state)
{
	ends_while_busy(*state, "deaf_short", "longer than allowed");
}

static void test_ttl__ends_a_running_task(void **state)
{
	ends_while_busy(*state, "deaf_ttl", "time to live");
}

/* As if this instance had been reaped, three times in a row. */
static void test_crashes__three_in_a_row_fail_the_task(void **state)
{
	struct rig *r = *state;
	struct rig_task t;
	struct store_task *row;
	struct store_op op;

	rig_start(r, 1);
	t = rig_create(r, 0, "busy");
	for (int i = 1; i <= 3; i++) {
		stage_await(&stage, INSIDE, i);
		row = rig_get(r, 0, t.id);
		store_op_init(&op, STORE_OP_RELEASE, RIG_WAIT_MS);
		op.u.release.fence =
			(struct store_fence){t.id, row->epoch, row->claim};
		op.u.release.why = STORE_RELEASE_CRASH;
		assert_int_equal(store_run(r->store[0], &op), BIDE_OK);
		assert_int_equal(op.answer, STORE_OK);
		store_task_free(row);
		engine_notice(r->engine[0], t.id);
		stage_await(&stage, TOLD, i);
	}
	row = rig_await(r, 0, t.id, rig_has_ended);
	assert_int_equal(row->state, STORE_FAILED);
	assert_int_equal(row->claims, 3);
	store_task_free(row);
	assert_int_equal(stage_read(&stage, INSIDE), 3);
}

/* ---- telling ---- */

static void test_progress__is_joined_and_its_last_value_kept(void **state)
{
	struct rig *r = *state;
	struct store_task *row;

	rig_start(r, 1);
	row = rig_await(r, 0, rig_create(r, 0, "talks").id, rig_has_ended);
	assert_true(row->progress == 5000);
	assert_true(row->total == 5000);
	assert_string_equal(row->progress_message, "so far");
	assert_string_equal(row->status, "nearly there");
	assert_int_equal(row->nlogs, 10);
	assert_string_equal(row->logs[9].data, "9");
	assert_true(row->version < 50); /* not 5000 writes */
	store_task_free(row);
}

static void test_progress__never_goes_back_over_entries(void **state)
{
	struct rig *r = *state;
	struct store_task *row;

	rig_start(r, 1);
	row = rig_await(r, 0, rig_create(r, 0, "talks_twice").id,
			rig_has_ended);
	assert_int_equal(row->claims, 2);
	assert_true(row->progress == 50);
	store_task_free(row);
}

/* What was told on the way to where it was is not told again. That takes some
 * microseconds of the pause between two writes; a machine that does not grant
 * them gets another try. */
static void test_status__does_not_go_back_over_entries(void **state)
{
	struct rig *r = *state;
	struct store_task *row;
	int64_t once, again = 0;

	rig_start(r, 1);
	row = rig_await(r, 0, rig_create(r, 0, "says_once").id, rig_has_ended);
	once = row->version;
	store_task_free(row);
	for (int i = 0; i < 5 && again != once; i++) {
		row = rig_await(r, 0, rig_create(r, 0, "says_again").id,
				rig_has_ended);
		assert_string_equal(row->status, "second");
		again = row->version;
		store_task_free(row);
	}
	assert_int_equal(again, once);
}

/* ---- draining ---- */

static void test_drain__yields_at_the_next_step_and_claims_no_more(void **state)
{
	struct rig *r = *state;
	struct store_task *row;
	struct rig_task t, later;

	rig_start(r, 1);
	t = rig_create(r, 0, "many_steps");
	stage_await(&stage, INSIDE, 1);
	engine_drain(r->engine[0]);
	later = rig_create(r, 0, "hello");
	assert_false(engine_drained(r->engine[0], 0));
	stage_open(&stage);
	assert_true(engine_drained(r->engine[0], RIG_WAIT_MS));
	row = rig_get(r, 0, t.id);
	assert_int_equal(row->state, STORE_READY);
	assert_int_equal(row->nsteps, 2);
	assert_int_equal(row->crashes, 0);
	store_task_free(row);
	row = rig_get(r, 0, later.id);
	assert_int_equal(row->state, STORE_READY);
	assert_int_equal(row->claims, 0);
	store_task_free(row);
	/* Another instance goes on where it was. */
	rig_stop(r, 0);
	rig_start(r, 2);
	rig_ends(r, 1, t.id, STORE_COMPLETED, HELLO);
	rig_ends(r, 1, later.id, STORE_COMPLETED, HELLO);
	assert_int_equal(stage_read(&stage, STEPPED), 4);
}

/* ---- trouble below ---- */

static void test_write__that_fails_is_made_again(void **state)
{
	struct rig *r = *state;
	struct store_task *row;
	char why[100];

	assert_int_equal(fault_arm("store.op@step:1:fail,store.op@step:2:fail,"
				   "store.op@step:3:fail,"
				   "store.op@finish:1:fail,"
				   "store.op@finish:2:fail,"
				   "store.op@finish:3:fail",
				   why, sizeof(why)),
			 0);
	stage_open(&stage);
	rig_start(r, 1);
	row = rig_await(r, 0, rig_create(r, 0, "many_steps").id, rig_has_ended);
	assert_string_equal(row->payload, HELLO);
	assert_int_equal(row->nsteps, 4);
	store_task_free(row);
	assert_int_equal(stage_read(&stage, STEPPED), 4);
}

/* Commits that fail, alone and in rows: nothing is lost, nothing done twice. */
static void test_commits__that_fail_cost_nothing(void **state)
{
	enum { N = 20 };
	struct rig *r = *state;
	struct rig_task t[N];
	struct store_task *row;
	char spec[1000] = "", why[100];
	size_t len = 0;

	for (int n = 12; n < 90; n += n % 5 ? 1 : 4)
		len += (size_t)snprintf(spec + len, sizeof(spec) - len,
					"%sstore.before_commit:%d:fail",
					len ? "," : "", n);
	assert_int_equal(fault_arm(spec, why, sizeof(why)), 0);
	rig_start(r, 1);
	for (int i = 0; i < N; i++)
		t[i] = rig_create(r, 0, "asks");
	for (int i = 0; i < N; i++) {
		store_task_free(rig_await(r, 0, t[i].id, rig_is_waiting));
		rig_answer(r, 0, t[i].token, "one", ACCEPT("a"));
		rig_answer(r, 0, t[i].token, "two", ACCEPT("b"));
	}
	for (int i = 0; i < N; i++) {
		row = rig_await(r, 0, t[i].id, rig_has_ended);
		assert_non_null(strstr(row->payload, "p a b"));
		store_task_free(row);
	}
	assert_int_equal(stage_read(&stage, STEPPED), N);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_created_task__is_run_by_an_idle_worker),
		TEST(test_created_task__waits_for_a_worker),
		TEST(test_many_tasks__all_end_on_few_workers),
		TEST(test_same_idempotency_key__is_the_same_task),
		TEST(test_ceiling__of_a_principal_holds),
		TEST(test_error__fails_the_task),
		TEST(test_missing_capability__fails_and_names_it),
		TEST(test_answers__resume_the_handler_once),
		TEST(test_answer__that_comes_before_the_wait_is_not_lost),
		TEST(test_deadline__of_a_question_wakes_the_handler),
		TEST(test_record__is_carried_over_by_persist),
		TEST(test_sleep__parks_until_its_time),
		TEST(test_yield__hands_the_task_back),
		TEST(test_cancel__reaches_a_busy_handler_at_once),
		TEST(test_result__after_a_cancel_changes_nothing),
		TEST(test_max_run__ends_the_task_at_once),
		TEST(test_ttl__ends_a_running_task),
		TEST(test_crashes__three_in_a_row_fail_the_task),
		TEST(test_progress__is_joined_and_its_last_value_kept),
		TEST(test_status__does_not_go_back_over_entries),
		TEST(test_progress__never_goes_back_over_entries),
		TEST(test_drain__yields_at_the_next_step_and_claims_no_more),
		TEST(test_write__that_fails_is_made_again),
		TEST(test_commits__that_fail_cost_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
