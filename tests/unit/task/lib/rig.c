/* SPDX-License-Identifier: MIT */
#include "tests/unit/task/lib/rig.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/jsontext.h"
#include "server/base/log.h"
#include "server/security/keyring.h"

#define ALL                                                                    \
	(STORE_GET_PAYLOAD | STORE_GET_ALL_INPUTS | STORE_GET_ARGS |           \
	 STORE_GET_STEPS | STORE_GET_EVENTS | STORE_GET_LOGS)

/* ---- the stage ---- */

void stage_init(struct stage *s)
{
	*s = (struct stage){0};
	mutex_init(&s->lock, RANK_LEAF);
	cond_init(&s->changed);
}

void stage_fini(struct stage *s)
{
	cond_fini(&s->changed);
	mutex_fini(&s->lock);
}

void stage_mark(struct stage *s, int which)
{
	mutex_lock(&s->lock);
	s->mark[which]++;
	cond_broadcast(&s->changed);
	mutex_unlock(&s->lock);
}

int stage_read(struct stage *s, int which)
{
	int n;

	mutex_lock(&s->lock);
	n = s->mark[which];
	mutex_unlock(&s->lock);
	return n;
}

static void wait_a_little(struct stage *s, int64_t until)
{
	int64_t left = until - clock_boot_ms();

	if (left <= 0) {
		mutex_unlock(&s->lock);
		fail_msg("nobody came to the stage");
	}
	cond_wait_ms(&s->changed, &s->lock, left);
}

void stage_await(struct stage *s, int which, int at_least)
{
	int64_t until = 0;
	int seen = -1;

	mutex_lock(&s->lock);
	while (s->mark[which] < at_least) {
		if (s->mark[which] != seen)
			until = clock_boot_ms() + RIG_WAIT_MS;
		seen = s->mark[which];
		wait_a_little(s, until);
	}
	mutex_unlock(&s->lock);
}

void stage_open(struct stage *s)
{
	mutex_lock(&s->lock);
	s->open = true;
	cond_broadcast(&s->changed);
	mutex_unlock(&s->lock);
}

void stage_wait_open(struct stage *s)
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

void rig_init(struct rig *r, const struct bide_tool *tools, size_t ntools)
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

void rig_start(struct rig *r, size_t engines)
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

void rig_stop(struct rig *r, size_t i)
{
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

void rig_end(struct rig *r)
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

struct rig_task rig_create_as(struct rig *r, size_t at, const char *tool,
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

struct rig_task rig_create(struct rig *r, size_t at, const char *tool)
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

struct store_task *rig_get(struct rig *r, size_t at, int64_t task)
{
	struct store_task *t = NULL;

	assert_int_equal(store_get_id(r->store[at], task, ALL, 0, &t), BIDE_OK);
	return t;
}

/* The watcher lives on until rig_end(): its callback may be running. */
struct store_task *rig_await(struct rig *r, size_t at, int64_t task,
			     rig_ok_fn ok)
{
	struct rig_wait *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	stage_init(&w->stage);
	w->watch.fn = changed;
	w->watch.task = task;
	w->ok = ok;
	w->next = r->waits;
	r->waits = w;
	wake_watch(engine_wake(r->engine[at]), &w->watch);
	stage_await(&w->stage, 0, 1);
	wake_unwatch(engine_wake(r->engine[at]), &w->watch);
	return rig_get(r, at, task);
}

bool rig_is_ready(const struct store_task *t)
{
	return t->state == STORE_READY;
}

bool rig_is_waiting(const struct store_task *t)
{
	return t->state == STORE_WAITING;
}

bool rig_has_ended(const struct store_task *t)
{
	return store_state_ended(t->state);
}

void rig_ends(struct rig *r, size_t at, int64_t task, enum store_state state,
	      const char *payload)
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

enum store_answer rig_answer(struct rig *r, size_t at, const char *token,
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

enum store_answer rig_cancel(struct rig *r, size_t at, const char *token)
{
	struct store_op op;

	store_op_init(&op, STORE_OP_CANCEL, RIG_WAIT_MS);
	op.u.cancel.token = token;
	assert_int_equal(store_run(r->store[at], &op), BIDE_OK);
	return op.answer;
}

size_t rig_events(const struct store_task *t, const char *kind)
{
	size_t n = 0;

	for (size_t i = 0; i < t->nevents; i++)
		n += !strcmp(t->events[i].kind, kind);
	return n;
}
