/* SPDX-License-Identifier: MIT */
#ifndef TASK_ENGINE_H
#define TASK_ENGINE_H
#include "server/catalog/registry.h"
#include "server/handler/caller.h"
#include "server/handler/run.h"
#include "server/task/pool.h"
#include "server/task/topic.h"
#include "server/task/wake.h"
#include "store/store.h"
#include <jansson.h>
/*
 * Background tasks: claims, workers, parking, resuming, cancelling, sweeping,
 * draining, by the rules of docs/design.md ("Tasks in the store"). The engine
 * knows nothing of the wire.
 */
struct engine_options {
	struct store *store; /* opened; the engine joins it */
	const struct registry *registry;
	size_t call_workers, task_workers;
	int64_t input_deadline_ms, retention_ms, disconnect_grace_ms,
		undelivered_grace_ms;
	int64_t sweep_interval_ms, lease_ms;
	int64_t max_live; /* tasks per principal */
	bool reenter;     /* debug-reenter */
	const char *name; /* of this instance, for people */
};
struct engine;
enum bide_rc engine_start(const struct engine_options *opt, struct engine **ret,
			  struct bide_error *reterr) BIDE_NODISCARD;
struct store *engine_store(struct engine *e);
struct wake *engine_wake(struct engine *e);
struct topics *engine_topics(struct engine *e);
struct pool *
engine_calls(struct engine *e); /* the pool of calls answered at once */
/* Draining, step one: claims nothing more; running handlers yield at their next
 * step. */
void engine_drain(struct engine *e);
bool engine_draining(const struct engine *e);
/* True once no handler and no other function of the program runs, of tasks and
 * of calls, and nothing is left to write, within @ms. */
bool engine_drained(struct engine *e, int64_t ms);
/*
 * After the transport is closed. False: a function of the program still runs.
 * Its task is left claimed, and the process must end without freeing anything
 * that it may look at: the engine, the dispatcher, the protocol, the store.
 */
bool engine_stop(struct engine *e);
size_t engine_running(const struct engine *e);

/* A task to be made. Asynchronous: @done comes on a store thread after the
 * commit. */
struct engine_create {
	const struct tool *tool;
	json_t *args; /* copied before engine_create_task() returns */
	const char *args_digest, *principal, *idem_key,
		*chain_id; /* borrowed until done; idem_key, chain_id may be
			      NULL */
	const struct caller *caller;
	enum store_flow flow;
	int64_t waiting_ms; /* the request waits for it this long; 0: does not
			     */
	const struct bide_call *from; /* bide_persist(): its steps and answers
					 are carried over; may be NULL */
	void (*done)(struct engine_create *c);
	void *user;
	/* out */
	enum store_outcome outcome;
	enum store_answer answer; /* CREATED SAME CONFLICT LIMIT */
	int64_t task;
	char token[STORE_TOKEN_BYTES];
	enum store_flow ret_flow;
	int64_t created_ms; /* of the task; CREATED and SAME */
	void *priv;         /* the engine's */
};
void engine_create_task(struct engine *e, struct engine_create *c);
/* A cancel was committed (locally or elsewhere): tell the handler if it runs
 * here. Also from store signals. */
void engine_notice(struct engine *e, int64_t task);
/* Defaults resolved for one tool. */
int64_t engine_input_deadline_ms(const struct engine *e,
				 const struct target *t);
int64_t engine_retention_ms(const struct engine *e, const struct tool *t);
int64_t engine_grace_ms(const struct engine *e);
#endif
