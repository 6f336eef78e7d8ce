/* SPDX-License-Identifier: MIT */
#include "server/task/engine.h"

#include <stdlib.h>

#include "server/base/clock.h"
#include "server/base/error.h"
#include "server/base/log.h"
#include "server/task/engine_priv.h"

#define LATE_MS                                                                \
	1000 /* what engine_stop() waits for callbacks still to come           \
	      */

/* ---- signals ---- */

/*
 * The store signals until it is closed, which is after the engine is gone. So
 * what it signals to stays for the life of the process: a few bytes for each
 * engine ever started.
 */
static struct mutex ears_lock;
static pthread_once_t ears_once = PTHREAD_ONCE_INIT;
static struct ear *ears;

static void ears_init(void)
{
	mutex_init(&ears_lock, RANK_LEAF);
}

static struct ear *ear_new(struct engine *e)
{
	struct ear *ear = calloc(1, sizeof(*ear));

	if (!ear)
		return NULL;
	mutex_init(&ear->lock, RANK_CALL);
	ear->e = e;
	pthread_once(&ears_once, ears_init);
	mutex_lock(&ears_lock);
	ear->next = ears;
	ears = ear;
	mutex_unlock(&ears_lock);
	return ear;
}

static void ear_shut(struct ear *ear)
{
	mutex_lock(&ear->lock);
	ear->e = NULL;
	mutex_unlock(&ear->lock);
}

/* On a thread of the store. */
static void hear(void *user, enum store_signal what, int64_t task)
{
	struct ear *ear = user;

	mutex_lock(&ear->lock);
	if (ear->e) {
		switch (what) {
		case STORE_SIGNAL_WORK:
			claims_want(ear->e);
			break;
		case STORE_SIGNAL_TASK:
			topics_signal(ear->e->topics, task);
			if (task == STORE_TOPICS)
				break;
			wake_signal(ear->e->wake, task);
			guard_look(ear->e, task);
			break;
		}
	}
	mutex_unlock(&ear->lock);
}

void engine_notice(struct engine *e, int64_t task)
{
	guard_look(e, task);
}

/* ---- the engine's thread ---- */

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

bool engine_stopping(struct engine *e)
{
	bool stopping;

	mutex_lock(&e->lock);
	stopping = e->stopping;
	mutex_unlock(&e->lock);
	return stopping;
}

void engine_kick_locked(struct engine *e)
{
	mutex_assert_held(&e->lock);
	e->kicked = true;
	cond_signal(&e->kick);
}

/* What came while the ticks ran is seen by the flag. */
static void rest(struct engine *e, int64_t until)
{
	int64_t now = clock_boot_ms();

	mutex_lock(&e->lock);
	if (!e->kicked && !e->stopping) {
		if (until == NEVER)
			cond_wait(&e->kick, &e->lock);
		else if (until > now)
			cond_wait_ms(&e->kick, &e->lock, until - now);
	}
	e->kicked = false;
	mutex_unlock(&e->lock);
}

static void loop(void *arg)
{
	struct engine *e = arg;
	int64_t now, next;

	while (!engine_stopping(e)) {
		now = clock_boot_ms();
		next = guard_tick(e, now);
		next = earlier(next, create_tick(e, now));
		next = earlier(next, claims_tick(e, now));
		rest(e, next);
	}
	create_tick(e, NEVER);
}

/* ---- start ---- */

/* Whatever was made of it. */
static void engine_free(struct engine *e)
{
	pool_free(e->tasks);
	pool_free(e->calls);
	topics_stop(e->topics);
	wake_free(e->wake);
	topics_free(e->topics);
	cond_fini(&e->changed);
	cond_fini(&e->ending);
	cond_fini(&e->kick);
	mutex_fini(&e->lock);
	free(e);
}

static struct engine *engine_new(const struct engine_options *opt)
{
	struct engine *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->opt = *opt;
	if (!e->opt.call_workers)
		e->opt.call_workers = 1;
	e->store = opt->store;
	mutex_init(&e->lock, RANK_ENGINE);
	cond_init(&e->kick);
	cond_init(&e->ending);
	cond_init(&e->changed);
	e->idle = e->opt.task_workers;
	e->claims.wanted = true;
	e->claims.due_ms = NEVER;
	e->claims.keep_ms = clock_boot_ms() + DOUBT_MS;
	e->wake = wake_new(opt->store);
	e->topics = topics_new(opt->store, e->wake);
	e->calls = pool_new("call", e->opt.call_workers);
	e->tasks = pool_new("task", e->opt.task_workers);
	if (e->wake && e->topics && e->calls && e->tasks)
		return e;
	engine_free(e);
	return NULL;
}

static bool may_be_task(const struct tool *t)
{
	return !t->builtin && t->def.mode != BIDE_EPHEMERAL;
}

static enum bide_rc join(struct engine *e, struct bide_error *reterr)
{
	const struct registry *r = e->opt.registry;
	size_t n = registry_tools(r);
	const char **names = calloc(n + 1, sizeof(*names));
	enum bide_rc rc;

	if (!names)
		return error_set(reterr, BIDE_NOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		const struct tool *t = registry_tool_at(r, i);

		if (may_be_task(t))
			names[e->ntools++] = t->def.name;
	}
	rc = store_join(e->store, names, e->ntools,
			e->opt.name ? e->opt.name : "", reterr);
	free(names);
	return rc;
}

static enum bide_rc begin(struct engine *e, struct bide_error *reterr)
{
	enum bide_rc rc;

	e->ear = ear_new(e);
	if (!e->ear)
		return error_set(reterr, BIDE_NOMEM, "out of memory");
	store_watch(e->store, hear, e->ear);
	rc = join(e, reterr);
	if (rc)
		return rc;
	store_set_idle(e->store, e->ntools ? (int)e->opt.task_workers : 0);
	if (thread_start(&e->thread, "engine", loop, e) ||
	    thread_start(&e->sweeper, "sweeper", sweeper_loop, e))
		return error_set(reterr, BIDE_NOMEM,
				 "the engine's threads cannot be started");
	return BIDE_OK;
}

enum bide_rc engine_start(const struct engine_options *opt, struct engine **ret,
			  struct bide_error *reterr)
{
	struct engine *e = engine_new(opt);
	enum bide_rc rc;

	if (!e)
		return error_set(reterr, BIDE_NOMEM,
				 "the engine's pools cannot be started");
	rc = begin(e, reterr);
	if (rc) {
		engine_stop(e);
		return rc;
	}
	log_info("engine.started", "instance=%lld tools=%zu workers=%zu",
		 (long long)store_instance(e->store), e->ntools,
		 e->opt.task_workers);
	*ret = e;
	return BIDE_OK;
}

/* ---- facts ---- */

struct store *engine_store(struct engine *e)
{
	return e->store;
}

struct wake *engine_wake(struct engine *e)
{
	return e->wake;
}

struct topics *engine_topics(struct engine *e)
{
	return e->topics;
}

struct pool *engine_calls(struct engine *e)
{
	return e->calls;
}

size_t engine_running(const struct engine *e)
{
	return atomic_load(&e->nworks);
}

int64_t engine_input_deadline_ms(const struct engine *e, const struct target *t)
{
	return t->input_deadline_ms ? t->input_deadline_ms
				    : e->opt.input_deadline_ms;
}

int64_t engine_retention_ms(const struct engine *e, const struct tool *t)
{
	return t->def.retention_ms ? t->def.retention_ms : e->opt.retention_ms;
}

int64_t engine_grace_ms(const struct engine *e)
{
	return e->opt.disconnect_grace_ms;
}

/* ---- the end (rule 12) ---- */

void engine_drain(struct engine *e)
{
	if (atomic_exchange(&e->draining, true))
		return;
	log_info("engine.draining", "running=%zu", engine_running(e));
	store_set_draining(e->store);
	mutex_lock(&e->lock);
	store_set_idle(e->store, 0);
	engine_kick_locked(e);
	cond_broadcast(&e->ending);
	cond_broadcast(&e->changed);
	mutex_unlock(&e->lock);
}

bool engine_draining(const struct engine *e)
{
	return atomic_load(&e->draining);
}

/* Callbacks of the store that will still come count as work to be done. */
static bool quiet_locked(const struct engine *e)
{
	return !atomic_load(&e->nworks) && !e->making && !e->again &&
	       !e->claims.in_flight && !e->claims.keep_in_flight;
}

static bool tasks_drained(struct engine *e, int64_t until)
{
	int64_t now = clock_boot_ms();
	bool quiet;

	mutex_lock(&e->lock);
	for (; !quiet_locked(e) && now < until; now = clock_boot_ms())
		cond_wait_ms(&e->changed, &e->lock, until - now);
	quiet = quiet_locked(e);
	mutex_unlock(&e->lock);
	return quiet;
}

bool engine_drained(struct engine *e, int64_t ms)
{
	int64_t until = clock_boot_ms() + ms;
	/* First these: one of them may be about to make a task. */
	bool calls = pool_drained(e->calls, ms);

	return tasks_drained(e, until) && calls;
}

/*
 * A handler that does not come back keeps its claim, its thread and all that
 * it may still look at: the process ends, and its claims go back as those of an
 * instance that was draining.
 */
bool engine_stop(struct engine *e)
{
	if (!e)
		return true;
	if (e->ear)
		ear_shut(e->ear);
	atomic_store(&e->draining, true);
	mutex_lock(&e->lock);
	e->stopping = true;
	engine_kick_locked(e);
	cond_broadcast(&e->ending);
	cond_broadcast(&e->changed);
	mutex_unlock(&e->lock);
	thread_join(&e->thread);
	thread_join(&e->sweeper);
	if (engine_drained(e, LATE_MS)) {
		engine_free(e);
		return true;
	}
	log_warn("engine.left_running", "tasks=%zu calls=%zu",
		 engine_running(e), pool_busy(e->calls));
	return false;
}
