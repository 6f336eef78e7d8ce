/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TASK_RIG_H
#define TESTS_TASK_RIG_H
/* Engines on one database of a test's own, and what tests do with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/base/thread.h"
#include "server/task/engine.h"

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

void rig_init(struct rig *r, const struct bide_tool *tools, size_t ntools);
void rig_start(struct rig *r, size_t engines);
/* Stops the @i-th engine and closes its store. */
void rig_stop(struct rig *r, size_t i);
void rig_end(struct rig *r);

/* A task as rig_create() made it. */
struct rig_task {
	int64_t id;
	char token[STORE_TOKEN_BYTES];
	enum store_answer answer;
};
struct rig_task rig_create(struct rig *r, size_t at, const char *tool);
/* The same with more said; @c: tool, args, caller, principal are filled. */
struct rig_task rig_create_as(struct rig *r, size_t at, const char *tool,
			      struct engine_create *c);

/* Until @ok says so of the task; store_task_free() it. */
typedef bool (*rig_ok_fn)(const struct store_task *t);
struct store_task *rig_await(struct rig *r, size_t at, int64_t task,
			     rig_ok_fn ok);
bool rig_is_ready(const struct store_task *t);
bool rig_is_waiting(const struct store_task *t);
bool rig_has_ended(const struct store_task *t);
/* Until it has ended: then it is as said. @payload NULL: any. */
void rig_ends(struct rig *r, size_t at, int64_t task, enum store_state state,
	      const char *payload);
struct store_task *rig_get(struct rig *r, size_t at, int64_t task);

/* The per-key answer of STORE_OP_ANSWER. */
enum store_answer rig_answer(struct rig *r, size_t at, const char *token,
			     const char *key, const char *json);
enum store_answer rig_cancel(struct rig *r, size_t at, const char *token);
/* How many events of a kind its history has. */
size_t rig_events(const struct store_task *t, const char *kind);

/* ---- a stage that handlers and tests meet on ---- */
struct stage {
	struct mutex lock; /* RANK_LEAF */
	struct cond changed;
	int mark[8]; /* counters of a test's own */
	bool open;
};
void stage_init(struct stage *s);
void stage_fini(struct stage *s);
void stage_mark(struct stage *s, int which);
int stage_read(struct stage *s, int which);
void stage_await(struct stage *s, int which, int at_least);
void stage_open(struct stage *s);
void stage_wait_open(struct stage *s);
#endif
