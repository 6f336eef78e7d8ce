/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TASK_RIG_H
#define TESTS_TASK_RIG_H
/* Engines on one database of a test's own, and what tests do with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/jsontext.h"
#include "server/base/log.h"
#include "server/base/thread.h"
#include "server/security/keyring.h"
#include "server/task/engine.h"

#define RIG static __attribute__((unused))

#define RIG_MAX     2
#define RIG_WAIT_MS 20000 /* then a test fails instead of hanging */

struct rig_wait;
struct rig {
	char dir[200], db[240];
	struct registry *registry;
	size_t n;
	struct store *store[RIG_MAX];
	struct engine *engine[RIG_MAX];
	struct engine_options opt; /* may be changed before rig_start() */
	struct caller caller;
	struct rig_wait *waits;
};

RIG void rig_init(struct rig *r, const struct bide_tool *tools, size_t ntools);
RIG void rig_start(struct rig *r, size_t engines);
/* Stops the @i-th engine and closes its store. */
RIG void rig_stop(struct rig *r, size_t i);
RIG void rig_end(struct rig *r);

/* A task as rig_create() made it. */
struct rig_task {
	int64_t id;
	char token[STORE_TOKEN_BYTES];
	enum store_answer answer;
};
RIG struct rig_task rig_create(struct rig *r, size_t at, const char *tool);
/* The same with more said; @c: tool, args, caller, principal are filled. */
RIG struct rig_task rig_create_as(struct rig *r, size_t at, const char *tool,
				  struct engine_create *c);

/* Until @ok says so of the task; store_task_free() it. */
typedef bool (*rig_ok_fn)(const struct store_task *t);
RIG struct store_task *rig_await(struct rig *r, size_t at, int64_t task,
				 rig_ok_fn ok);
/* True: @ok said so within @ms. */
RIG bool rig_within(struct rig *r, size_t at, int64_t task, rig_ok_fn ok,
		    int64_t ms);
RIG bool rig_is_ready(const struct store_task *t);
RIG bool rig_is_waiting(const struct store_task *t);
RIG bool rig_has_ended(const struct store_task *t);
/* Until it has ended: then it is as said. @payload NULL: any. */
RIG void rig_ends(struct rig *r, size_t at, int64_t task,
		  enum store_state state, const char *payload);
RIG struct store_task *rig_get(struct rig *r, size_t at, int64_t task);

/* The per-key answer of STORE_OP_ANSWER. */
RIG enum store_answer rig_answer(struct rig *r, size_t at, const char *token,
				 const char *key, const char *json);
RIG enum store_answer rig_cancel(struct rig *r, size_t at, const char *token);
/* How many events of a kind its history has. */
RIG size_t rig_events(const struct store_task *t, const char *kind);

/* ---- a stage that handlers and tests meet on ---- */
struct stage {
	struct mutex lock; /* RANK_LEAF */
	struct cond changed;
	int mark[8]; /* counters of a test's own */
	bool open;
};
RIG void stage_init(struct stage *s);
RIG void stage_fini(struct stage *s);
RIG void stage_mark(struct stage *s, int which);
RIG int stage_read(struct stage *s, int which);
RIG void stage_await(struct stage *s, int which, int at_least);
RIG bool stage_within(struct stage *s, int which, int at_least, int64_t ms);
RIG void stage_open(struct stage *s);
RIG void stage_wait_open(struct stage *s);

/* ---- how ---- */

#define ALL                                                                    \
	(STORE_GET_PAYLOAD | STORE_GET_ALL_INPUTS | STORE_GET_ARGS |           \
	 STORE_GET_STEPS | STORE_GET_EVENTS | STORE_GET_LOGS)

/* ---- the stage ---- */

RIG void stage_init(struct stage *s)
{
	*s = (struct stage){0};
	mutex_init(&s->lock, RANK_LEAF);
	cond_init(&s->changed);
}

RIG void stage_fini(struct stage *s)
{
	cond_fini(&s->changed);
	mutex_fini(&s->lock);
}

RIG void stage_mark(struct stage *s, int which)
{
	mutex_lock(&s->lock);
	s->mark[which]++;
	cond_broadcast(&s->changed);
	mutex_unlock(&s->lock);
}

RIG int stage_read(struct stage *s, int which)
{
	int n;

	mutex_lock(&s->lock);
	n = s->mark[which];
	mutex_unlock(&s->lock);
	return n;
}

/* @ms: without any change. */
RIG bool stage_within(struct stage *s, int which, int at_least, int64_t ms)
{
	int64_t until = 0, left = ms;
	int seen = -1;

	mutex_lock(&s->lock);
	while (s->mark[which] < at_least && left > 0) {
		if (s->mark[which] != seen)
			until = clock_boot_ms() + ms;
		seen = s->mark[which];
		cond_wait_ms(&s->changed, &s->lock, until - clock_boot_ms());
		left = until - clock_boot_ms();
	}
	left = s->mark[which] >= at_least;
	mutex_unlock(&s->lock);
	return left;
}

RIG void stage_await(struct stage *s, int which, int at_least)
{
	if (!stage_within(s, which, at_least, RIG_WAIT_MS))
		fail_msg("nobody came to the stage");
}

RIG void stage_open(struct stage *s)
{
	mutex_lock(&s->lock);
	s->open = true;
	cond_broadcast(&s->changed);
	mutex_unlock(&s->lock);
}

RIG void stage_wait_open(struct stage *s)
{
	mutex_lock(&s->lock);
	while (!s->open)
		cond_wait(&s->changed, &s->lock);
	mutex_unlock(&s->lock);
}

/* ---- engines ---- */

static void default_options(struct engine_options *opt)
{
	*opt = (struct engine_options){
		.call_workers = 1,
		.task_workers = 2,
		.input_deadline_ms = 3600000,
		.retention_ms = 3600000,
		.disconnect_grace_ms = 120000,
		.undelivered_grace_ms = 120000,
		.sweep_interval_ms = 3600000,
		.lease_ms = 10000,
		.max_live = 1000000,
		.name = "rig",
	};
}

RIG void rig_init(struct rig *r, const struct bide_tool *tools, size_t ntools)
{
	const char *tmp = getenv("TMPDIR");
	struct bide_error err = {0};

	memset(r, 0, sizeof(*r));
	assert_true(security_init());
	log_set_level(getenv("RIG_LOG") ? LOG_DEBUG : LOG_NONE);
	snprintf(r->dir, sizeof(r->dir), "%s/bide-engine-XXXXXX",
		 tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(r->dir));
	snprintf(r->db, sizeof(r->db), "%s/t.db", r->dir);
	r->registry = registry_new();
	assert_non_null(r->registry);
	for (size_t i = 0; i < ntools; i++)
		if (registry_add_tool(r->registry, &tools[i], false, &err))
			fail_msg("%s", err.text);
	r->caller =
		(struct caller){.era = CALLER_2026_07_28,
				.can = BIDE_CAN_ELICIT_FORM | BIDE_CAN_TASKS};
	default_options(&r->opt);
}

RIG void rig_start(struct rig *r, size_t engines)
{
	struct store_options so = {.url = r->db,
				   .create = true,
				   .migrate = true,
				   .lease_ms = r->opt.lease_ms,
				   .poll_ms = 1000};
	struct bide_error err = {0};

	r->opt.registry = r->registry;
	for (; r->n < engines; r->n++) {
		if (store_open(&so, &r->store[r->n], &err))
			fail_msg("store_open: %s", err.text);
		r->opt.store = r->store[r->n];
		if (engine_start(&r->opt, &r->engine[r->n], &err))
			fail_msg("engine_start: %s", err.text);
	}
}

RIG void rig_stop(struct rig *r, size_t i)
{
	if (r->engine[i]) {
		engine_drain(r->engine[i]);
		engine_drained(r->engine[i], RIG_WAIT_MS);
	}
	engine_stop(r->engine[i]);
	r->engine[i] = NULL;
	if (r->store[i])
		store_close(r->store[i], 1000);
	r->store[i] = NULL;
}

static int remove_one(const char *path, const struct stat *st, int what,
		      struct FTW *ftw)
{
	(void)st;
	(void)what;
	(void)ftw;
	return remove(path);
}

struct rig_wait {
	struct wake_watcher watch; /* first */
	struct stage stage;
	rig_ok_fn ok;
	struct rig_wait *next;
};

RIG void rig_end(struct rig *r)
{
	struct rig_wait *w;

	for (size_t i = 0; i < r->n; i++)
		rig_stop(r, i);
	while ((w = r->waits)) {
		r->waits = w->next;
		stage_fini(&w->stage);
		free(w);
	}
	registry_free(r->registry);
	nftw(r->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- creating ---- */

struct making {
	struct engine_create c; /* first */
	struct stage stage;
};

static void made(struct engine_create *c)
{
	stage_mark(&((struct making *)c)->stage, 0);
}

RIG struct rig_task rig_create_as(struct rig *r, size_t at, const char *tool,
				  struct engine_create *c)
{
	struct making m = {.c = *c};
	struct rig_task t = {0};
	json_t *args = json_object();

	stage_init(&m.stage);
	m.c.tool = registry_tool(r->registry, tool);
	assert_non_null(m.c.tool);
	if (!m.c.args)
		m.c.args = args;
	if (!m.c.args_digest)
		m.c.args_digest = "digest";
	if (!m.c.principal)
		m.c.principal = "ann";
	if (!m.c.caller)
		m.c.caller = &r->caller;
	if (!m.c.flow)
		m.c.flow = STORE_FLOW_TASKS;
	m.c.done = made;
	engine_create_task(r->engine[at], &m.c);
	stage_await(&m.stage, 0, 1);
	json_decref(args);
	t.id = m.c.task;
	t.answer = m.c.answer;
	memcpy(t.token, m.c.token, sizeof(t.token));
	if (m.c.outcome != STORE_DONE && m.c.outcome != STORE_REFUSED)
		fail_msg("create: outcome %d", (int)m.c.outcome);
	stage_fini(&m.stage);
	return t;
}

RIG struct rig_task rig_create(struct rig *r, size_t at, const char *tool)
{
	struct engine_create c = {0};
	struct rig_task t = rig_create_as(r, at, tool, &c);

	assert_int_equal(t.answer, STORE_CREATED);
	return t;
}

/* ---- waiting ---- */

static void changed(struct wake_watcher *x, const struct store_task *t)
{
	struct rig_wait *w = (struct rig_wait *)x;

	if (t && w->ok(t))
		stage_mark(&w->stage, 0);
}

RIG struct store_task *rig_get(struct rig *r, size_t at, int64_t task)
{
	struct store_task *t = NULL;

	assert_int_equal(store_get_id(r->store[at], task, ALL, 0, &t), BIDE_OK);
	return t;
}

/* The watcher lives on until rig_end(): its callback may be running. */
RIG bool rig_within(struct rig *r, size_t at, int64_t task, rig_ok_fn ok,
		    int64_t ms)
{
	struct wake *wake = engine_wake(r->engine[at]);
	struct rig_wait *w = calloc(1, sizeof(*w));
	bool came;

	assert_non_null(w);
	stage_init(&w->stage);
	w->watch.fn = changed;
	w->watch.task = task;
	w->ok = ok;
	w->next = r->waits;
	r->waits = w;
	wake_watch(wake, &w->watch);
	came = stage_within(&w->stage, 0, 1, ms);
	wake_unwatch(wake, &w->watch);
	return came;
}

RIG struct store_task *rig_await(struct rig *r, size_t at, int64_t task,
				 rig_ok_fn ok)
{
	if (!rig_within(r, at, task, ok, RIG_WAIT_MS))
		fail_msg("the task did not come so far");
	return rig_get(r, at, task);
}

RIG bool rig_is_ready(const struct store_task *t)
{
	return t->state == STORE_READY;
}

RIG bool rig_is_waiting(const struct store_task *t)
{
	return t->state == STORE_WAITING;
}

RIG bool rig_has_ended(const struct store_task *t)
{
	return store_state_ended(t->state);
}

RIG void rig_ends(struct rig *r, size_t at, int64_t task,
		  enum store_state state, const char *payload)
{
	struct store_task *t = rig_await(r, at, task, rig_has_ended);

	if (t->state != state)
		fail_msg("ended as %s with %s", store_state_name(t->state),
			 t->payload ? t->payload : "nothing");
	if (payload)
		assert_string_equal(t->payload, payload);
	store_task_free(t);
}

/* ---- steering ---- */

RIG enum store_answer rig_answer(struct rig *r, size_t at, const char *token,
				 const char *key, const char *json)
{
	struct store_answer_in in = {.wire_key = key, .answer = json};
	struct store_op op;

	store_op_init(&op, STORE_OP_ANSWER, RIG_WAIT_MS);
	op.u.answer.token = token;
	op.u.answer.answers = &in;
	op.u.answer.n = 1;
	op.u.answer.by = "test";
	assert_int_equal(store_run(r->store[at], &op), BIDE_OK);
	return op.answer == STORE_OK ? in.ret : op.answer;
}

RIG enum store_answer rig_cancel(struct rig *r, size_t at, const char *token)
{
	struct store_op op;

	store_op_init(&op, STORE_OP_CANCEL, RIG_WAIT_MS);
	op.u.cancel.token = token;
	assert_int_equal(store_run(r->store[at], &op), BIDE_OK);
	return op.answer;
}

RIG size_t rig_events(const struct store_task *t, const char *kind)
{
	size_t n = 0;

	for (size_t i = 0; i < t->nevents; i++)
		n += !strcmp(t->events[i].kind, kind);
	return n;
}
#endif
