/* SPDX-License-Identifier: MIT */
/* Two engines on one database, and many tasks. */
#include "tests/unit/task/rig.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bide/call.h"
#include "bide/content.h"
#include "server/base/clock.h"

#define SCHEMA                                                                 \
	"{\"type\":\"object\",\"properties\":{\"v\":{\"type\":\"string\"}}}"
#define ACCEPT "{\"action\":\"accept\",\"content\":{\"v\":\"x\"}}"

static struct stage stage;
enum { ENTERED, INSIDE, TOLD };
#define ROAMS 10

static enum bide_rc asks(struct bide_call *c, void *user)
{
	(void)user;
	stage_mark(&stage, ENTERED);
	BIDE_TRY(bide_ask_form(c, "one", "first?", SCHEMA));
	BIDE_TRY(bide_await(c));
	return bide_text(c, "done");
}

static enum bide_rc deaf(struct bide_call *c, void *user)
{
	(void)user;
	stage_mark(&stage, INSIDE);
	stage_wait_open(&stage);
	return bide_text(c, "done");
}

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

static enum bide_rc yields(struct bide_call *c, void *user)
{
	(void)user;
	stage_mark(&stage, ENTERED);
	BIDE_TRY(bide_yield(c, "y1"));
	BIDE_TRY(bide_yield(c, "y2"));
	return bide_text(c, "done");
}

static enum bide_rc roams(struct bide_call *c, void *user)
{
	char key[16];

	(void)user;
	for (int i = 0; i < ROAMS; i++) {
		snprintf(key, sizeof(key), "y%d", i);
		BIDE_TRY(bide_yield(c, key));
	}
	return bide_text(c, "done");
}

static enum bide_rc quick(struct bide_call *c, void *user)
{
	(void)user;
	return bide_text(c, "done");
}

static const struct bide_tool tools[] = {
	{BIDE_TOOL, .name = "asks", .handler = asks, .mode = BIDE_PERSISTENT},
	{BIDE_TOOL, .name = "deaf", .handler = deaf, .mode = BIDE_PERSISTENT},
	{BIDE_TOOL, .name = "busy", .handler = busy, .mode = BIDE_PERSISTENT},
	{BIDE_TOOL, .name = "yields", .handler = yields,
	 .mode = BIDE_PERSISTENT},
	{BIDE_TOOL, .name = "roams", .handler = roams, .mode = BIDE_PERSISTENT},
	{BIDE_TOOL, .name = "brief", .handler = asks, .mode = BIDE_PERSISTENT,
	 .ttl_ms = 100, .retention_ms = 100},
	{BIDE_TOOL, .name = "quick", .handler = quick, .mode = BIDE_PERSISTENT,
	 .retention_ms = 50},
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
	free(*state);
	stage_fini(&stage);
	return 0;
}

/* Claims since it was answered, all of them by @instance. */
static size_t claims_since_answer(const struct store_task *t, int64_t instance)
{
	bool answered = false;
	size_t n = 0;

	for (size_t i = 0; i < t->nevents; i++) {
		if (!strcmp(t->events[i].kind, "answered"))
			answered = true;
		if (!answered || strcmp(t->events[i].kind, "claimed") != 0)
			continue;
		assert_int_equal(t->events[i].instance, instance);
		n++;
	}
	return n;
}

/*
 * Which of the two has no worker left is read off the row: one that looks for
 * work just then, as it begins, has none for what is created beside it.
 */
static void test_answer_at_one__resumes_at_the_other(void **state)
{
	struct rig *r = *state;
	struct rig_task t;
	struct rig_task stuck;
	struct store_task *row;
	size_t full;

	r->opt.task_workers = 1;
	rig_start(r, 2);
	t = rig_create(r, 0, "asks");
	store_task_free(rig_await(r, 0, t.id, rig_is_waiting));
	assert_true(engine_drained(r->engine[0], RIG_WAIT_MS));
	stuck = rig_create(r, 0, "deaf");
	stage_await(&stage, INSIDE, 1);
	row = rig_get(r, 0, stuck.id);
	full = row->owner == store_instance(r->store[0]) ? 0 : 1;
	assert_int_equal(row->owner, store_instance(r->store[full]));
	store_task_free(row);
	assert_int_equal(rig_answer(r, full, t.token, "one", ACCEPT),
			 STORE_ACCEPTED);
	row = rig_await(r, 0, t.id, rig_has_ended);
	assert_int_equal(row->state, STORE_COMPLETED);
	assert_int_equal(row->claims, 2);
	assert_int_equal(
		claims_since_answer(row, store_instance(r->store[1 - full])),
		1);
	store_task_free(row);
	assert_int_equal(stage_read(&stage, ENTERED), 2);
}

/* The best of three: what else this machine does is not the engine's. */
static void test_cancel_at_one__reaches_the_handler_at_the_other(void **state)
{
	struct rig *r = *state;
	int64_t began, best = INT64_MAX;
	struct rig_task t;

	rig_start(r, 2);
	for (int i = 1; i <= 3; i++) {
		t = rig_create(r, 0, "busy");
		stage_await(&stage, INSIDE, i);
		began = clock_boot_us();
		assert_int_equal(rig_cancel(r, 1, t.token),
				 STORE_CANCELLED_NOW);
		stage_await(&stage, TOLD, i);
		if (told_us - began < best)
			best = told_us - began;
		rig_ends(r, 0, t.id, STORE_CANCELLED, NULL);
	}
	assert_true(best < 100000);
}

/* Load shedding: the other one, which is idle, goes on with it. It has its
 * chance for some milliseconds only, which a loaded machine may take from it.
 */
static void test_yield__goes_to_the_idle_instance(void **state)
{
	struct rig *r = *state;
	struct rig_task t;
	struct store_task *row;
	int64_t at;
	int moves = 0;

	rig_start(r, 2);
	at = store_instance(r->store[0]);
	t = rig_create(r, 0, "roams");
	row = rig_await(r, 0, t.id, rig_has_ended);
	assert_int_equal(row->state, STORE_COMPLETED);
	for (size_t i = 0; i < row->nevents; i++)
		if (!strcmp(row->events[i].kind, "claimed")) {
			moves += row->events[i].instance != at;
			at = row->events[i].instance;
		}
	assert_int_equal(rig_events(row, "claimed"), ROAMS);
	assert_true(moves > ROAMS / 2);
	store_task_free(row);
}

/* Each time it is READY, exactly one of the two claims it. */
static void test_many_tasks__are_claimed_once_each_time(void **state)
{
	enum { N = 60 };
	struct rig *r = *state;
	struct rig_task t[N];
	struct store_task *row;

	rig_start(r, 2);
	for (size_t i = 0; i < N; i++)
		t[i] = rig_create(r, i % 2, "yields");
	for (size_t i = 0; i < N; i++) {
		row = rig_await(r, i % 2, t[i].id, rig_has_ended);
		assert_int_equal(row->state, STORE_COMPLETED);
		assert_int_equal(row->claims, 3);
		store_task_free(row);
	}
	assert_int_equal(stage_read(&stage, ENTERED), 3 * N);
}

static void test_many_answers__resume_each_task_once(void **state)
{
	enum { N = 60 };
	struct rig *r = *state;
	struct rig_task t[N];
	struct store_task *row;

	rig_start(r, 2);
	for (size_t i = 0; i < N; i++)
		t[i] = rig_create(r, i % 2, "asks");
	for (size_t i = 0; i < N; i++)
		store_task_free(rig_await(r, 0, t[i].id, rig_is_waiting));
	for (size_t i = 0; i < N; i++)
		assert_int_equal(
			rig_answer(r, (i + 1) % 2, t[i].token, "one", ACCEPT),
			STORE_ACCEPTED);
	for (size_t i = 0; i < N; i++) {
		row = rig_await(r, 1, t[i].id, rig_has_ended);
		assert_int_equal(row->state, STORE_COMPLETED);
		assert_int_equal(row->claims, 2);
		store_task_free(row);
	}
	assert_int_equal(stage_read(&stage, ENTERED), 2 * N);
}

/* ---- waiting costs nothing here ---- */

static size_t threads(void)
{
	char line[128];
	FILE *f = fopen("/proc/self/status", "re");
	size_t n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Threads: %zu", &n) == 1)
			break;
	fclose(f);
	return n;
}

static void counted(struct engine_create *c)
{
	if (c->outcome == STORE_DONE && c->answer == STORE_CREATED)
		stage_mark(&stage, TOLD);
}

static void create_some(struct rig *r, size_t n)
{
	struct engine_create *c = calloc(n, sizeof(*c));
	json_t *args = json_object();
	int before = stage_read(&stage, TOLD);

	assert_non_null(c);
	for (size_t i = 0; i < n; i++) {
		c[i] = (struct engine_create){
			.tool = registry_tool(r->registry, "asks"),
			.args = args,
			.args_digest = "d",
			.principal = "ann",
			.caller = &r->caller,
			.flow = STORE_FLOW_TASKS,
			.done = counted};
		engine_create_task(r->engine[0], &c[i]);
	}
	stage_await(&stage, TOLD, before + (int)n);
	json_decref(args);
	free(c);
}

static void await_waiting(struct rig *r, int64_t n)
{
	struct store_counts counts = {0};

	/* Handlers are all in; what is left is their last commits. */
	stage_await(&stage, ENTERED, (int)n);
	assert_true(engine_drained(r->engine[0], RIG_WAIT_MS));
	assert_int_equal(store_count(r->store[0], &counts), BIDE_OK);
	assert_int_equal(counts.by_state[STORE_WAITING], n);
	assert_int_equal(counts.questions_open, n);
}

static size_t heap_bytes(void)
{
	malloc_trim(0);
	return mallinfo2().uordblks;
}

static void park(struct rig *r, size_t n, int64_t total)
{
	for (size_t left = n; left > 0; left -= left < 500 ? left : 500)
		create_some(r, left < 500 ? left : 500);
	await_waiting(r, total);
}

/*
 * What a waiting task would hold, were its work and its call kept, is over
 * 2500 bytes. SQLite's page cache still grows while it is not full: with
 * BIDE_TEST_PARKED=100000 it is, and hardly a byte is left for each.
 */
static void test_waiting_tasks__hold_no_thread_and_no_memory(void **state)
{
	const char *many = getenv("BIDE_TEST_PARKED");
	size_t n = many ? (size_t)atol(many) : 2000;
	struct rig *r = *state;
	size_t each = n >= 50000 ? 40 : 1500;
	size_t before, after, nthreads;

	rig_start(r, 1);
	park(r, n, (int64_t)n);
	before = heap_bytes();
	nthreads = threads();
	park(r, n, (int64_t)(2 * n));
	after = heap_bytes();
	assert_int_equal(threads(), nthreads);
	assert_int_equal(engine_running(r->engine[0]), 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	if (after > before + n * each)
		fail_msg("%zu tasks hold %zu bytes", n, after - before);
#else
	(void)before;
	(void)after;
	(void)each;
#endif
}

/* ---- the sweeper ---- */

static bool is_gone(struct rig *r, int64_t task)
{
	struct store_task *t = NULL;
	enum bide_rc rc = store_get_id(r->store[0], task, 0, 0, &t);

	store_task_free(t);
	return rc == BIDE_NOT_FOUND;
}

static struct stage gone;

static void see_gone(struct wake_watcher *x, const struct store_task *t)
{
	(void)x;
	if (!t)
		stage_mark(&gone, 0);
}

static void await_gone(struct rig *r, int64_t task)
{
	struct wake_watcher x = {.fn = see_gone, .task = task};
	struct wake *w = engine_wake(r->engine[0]);

	stage_init(&gone);
	wake_watch(w, &x);
	stage_await(&gone, 0, 1);
	while (!wake_unwatch(w, &x))
		;
	assert_true(is_gone(r, task));
	/* Its callback has returned once the thread has run another's. */
	store_task_free(
		rig_await(r, 0, rig_create(r, 0, "quick").id, rig_has_ended));
	stage_fini(&gone);
}

static void test_sweeper__ends_and_deletes_what_nobody_wants(void **state)
{
	struct rig *r = *state;
	struct engine_create c = {.flow = STORE_FLOW_HANDLE};
	struct rig_task left, brief;
	struct store_task *row;

	r->opt.sweep_interval_ms = 40;
	r->opt.disconnect_grace_ms = 100;
	rig_start(r, 2);
	left = rig_create_as(r, 0, "asks", &c);
	brief = rig_create(r, 0, "brief");
	row = rig_await(r, 0, left.id, rig_has_ended);
	assert_int_equal(row->state, STORE_CANCELLED);
	store_task_free(row);
	row = rig_await(r, 1, brief.id, rig_has_ended);
	assert_int_equal(row->state, STORE_FAILED);
	store_task_free(row);
	await_gone(r, brief.id);
}

/* ---- a claim that nobody holds: last, for the test clock stays ---- */

static void jump(struct rig *r, int64_t *at, int64_t ms)
{
	char path[300];
	int fd;

	*at += ms;
	snprintf(path, sizeof(path), "%s/clock", r->dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, at, sizeof(*at), 0), sizeof(*at));
	close(fd);
}

static void test_orphaned_claim__goes_back_by_keep(void **state)
{
	struct rig *r = *state;
	struct store_fence fence = {0};
	struct store_task *row;
	struct rig_task t;
	struct store_op op;
	char path[300];
	int64_t at = 0;

	snprintf(path, sizeof(path), "%s/clock", r->dir);
	jump(r, &at, 0);
	assert_int_equal(clock_use_file(path), 0);
	r->opt.lease_ms = 600000;
	r->opt.task_workers = 1;
	rig_start(r, 1);
	rig_create(r, 0, "deaf");
	stage_await(&stage, INSIDE, 1);
	t = rig_create(r, 0, "quick");
	store_op_init(&op, STORE_OP_CLAIM, RIG_WAIT_MS);
	op.u.claim.n = 1;
	op.u.claim.ret_fences = &fence;
	assert_int_equal(store_run(r->store[0], &op), BIDE_OK);
	assert_int_equal(fence.task, t.id);
	stage_open(&stage);
	assert_true(engine_drained(r->engine[0], RIG_WAIT_MS));
	row = rig_get(r, 0, t.id);
	assert_int_equal(row->state, STORE_RUNNING);
	store_task_free(row);
	/* A batch that is under way during the first jump seems to have taken
	 * that long; the store then leaves claims alone for as long. */
	for (int i = 0; i < 10; i++) {
		jump(r, &at, 120000);
		if (rig_within(r, 0, t.id, rig_has_ended, 500))
			break;
	}
	row = rig_await(r, 0, t.id, rig_has_ended);
	assert_int_equal(row->state, STORE_COMPLETED);
	assert_int_equal(row->crashes, 0);
	store_task_free(row);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_answer_at_one__resumes_at_the_other),
		TEST(test_cancel_at_one__reaches_the_handler_at_the_other),
		TEST(test_yield__goes_to_the_idle_instance),
		TEST(test_many_tasks__are_claimed_once_each_time),
		TEST(test_many_answers__resume_each_task_once),
		TEST(test_waiting_tasks__hold_no_thread_and_no_memory),
		TEST(test_sweeper__ends_and_deletes_what_nobody_wants),
		TEST(test_orphaned_claim__goes_back_by_keep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
