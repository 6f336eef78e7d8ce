/* SPDX-License-Identifier: MIT */
#ifndef HANDLER_RUN_H
#define HANDLER_RUN_H
#include "bide/call.h"
#include "bide/resource.h"
#include "server/base/buf.h"
#include "server/catalog/registry.h"
#include "server/handler/caller.h"
#include "store/store.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
/*
 * Running a handler: one struct bide_call holds what one call asked and did so
 * far (its record), run_enter() enters the handler once and tells how it left.
 * Where the record is kept is the back end's: in memory and then sealed, for
 * an ephemeral call; in the store, for a task. This room knows neither.
 */

/* One question in a call's record. */
enum run_question_state {
	RUN_Q_NEW = 0,
	/* asked in this entry, not yet seen by anybody */ RUN_Q_OPEN,
	RUN_Q_ANSWERED,
	RUN_Q_EXPIRED
};
struct run_question {
	char *key;
	enum store_input_kind kind;
	char *request; /* JSON text {"method":..,"params":{..}} */
	enum run_question_state state;
	json_t *answer;      /* the client's result; ANSWERED */
	int64_t deadline_ms; /* relative, as asked; 0: the tool's */
	int64_t expires_ms;  /* absolute, back end's clock; 0: none */
	bool asked_now;      /* the handler asked it in this entry */
	bool refused;        /* the client cannot; await says NO_CAPABILITY */
	bool seen_now;       /* the handler learnt its outcome in this entry */
	struct bide_answer *view; /* this room's own */
};

/* Where a call's record is kept. All on the handler's thread unless said. */
struct run_backend {
	/* A step, made durable (or not) before it returns: OK, LOST,
	 * UNKNOWN->LOST. */
	enum bide_rc (*step)(struct bide_call *c, const char *key,
			     const char *result);
	/* Publish the open questions without parking; NULL: not offered. */
	enum bide_rc (*publish)(struct bide_call *c);
	/* Any thread. NULL: nobody listens. */
	void (*progress)(struct bide_call *c, double progress, double total,
			 const char *message);
	void (*log)(struct bide_call *c, int level, const char *logger,
		    const char *data);
	void (*status)(struct bide_call *c, const char *text);
	/* Tells listeners that the resource @uri, or without one the list
	 * @what, has changed: as bide_changed(). */
	enum bide_rc (*announce)(struct bide_call *c, enum bide_changed what,
				 const char *uri);
	int64_t (*now_ms)(
		struct bide_call *c); /* the clock of sleeps and deadlines */
	bool (*draining)(struct bide_call *c);
};

struct run_options {
	const struct target *target; /* outlives the call */
	const struct run_backend *backend;
	void *backend_data;
	const char *uri;       /* a resource that is read; copied; NULL */
	json_t *args;          /* borrowed; constant for the call's life */
	const char *principal; /* these four are copied */
	const char *chain_id;
	const char *task_id; /* NULL: ephemeral */
	int64_t epoch;       /* of the claim; 0: ephemeral */
	const struct caller *caller;
	int64_t default_deadline_ms; /* of questions: the tool's, or the
					option's */
	bool reenter;                /* debug: enter twice, compare */
};
struct bide_call *run_new(const struct run_options *opt); /* NULL: no memory */
void run_free(struct bide_call *c);
void *run_backend_data(const struct bide_call *c);

/* What a client is told of a resource that is not there, be it by us or by a
 * handler (server/resources "Error Handling"): -32602, its URI in the data. */
#define RUN_NOT_FOUND "Resource not found"

/* How a handler left. */
enum run_left {
	RUN_COMPLETE,    /* the members of a CallToolResult, GetPromptResult or
			    ReadResourceResult but resultType and hints: JSON text
			    "{...}" */
	RUN_ERROR,       /* a JSON-RPC error object, JSON text */
	RUN_NEEDS_INPUT, /* it awaits; see run_questions() */
	RUN_SLEEPS,      /* until wake_ms (back end's clock) */
	RUN_YIELDS,
	RUN_PERSISTS,
	RUN_NO_CAPABILITY, /* missing: enum bide_can bits */
	RUN_STOPPED        /* cancelled or lost: write nothing */
};
struct run_result {
	enum run_left left;
	struct buf text; /* RUN_COMPLETE, RUN_ERROR; run_result_fini() */
	bool is_error;
	int64_t cache_ms; /* RUN_COMPLETE of a resource: for how long and whom
			     it may be kept */
	enum bide_scope scope;
	int64_t wake_ms; /* RUN_SLEEPS; and with NEEDS_INPUT the earliest
			    deadline, 0: none */
	unsigned missing;
};
/* Enters the handler once. Checks the result: UTF-8, size, output schema. */
void run_enter(struct bide_call *c, struct run_result *ret);
void run_result_fini(struct run_result *r);

/* Any thread: sets the flag and makes the descriptor readable. Idempotent. */
void run_cancel(struct bide_call *c,
		enum bide_rc why /* BIDE_CANCELLED or BIDE_LOST */);
/* Replaces what the client can do (a retry's capabilities replace the
 * snapshot). Between entries. */
void run_set_caller(struct bide_call *c, const struct caller *caller);

/* ---- the record, between entries ---- */
/* All that stand, in the order asked. While the handler runs, those asked_now
 * and not refused are open; once it awaits or sleeps, what it dropped is gone.
 */
size_t run_questions(const struct bide_call *c,
		     const struct run_question **ret);
/* The open ones as an inputRequests object: JSON text appended to @out; count
 * returned. */
size_t run_open_questions(const struct bide_call *c, struct buf *out);
unsigned run_open_needs(
	const struct bide_call *c); /* capability bits the open ones need */
/* Loading (each replaces what stood under the key). @result, @answer: stolen.
 */
enum bide_rc run_load_step(struct bide_call *c, const char *key,
			   json_t *result);
enum bide_rc run_load_question(struct bide_call *c, const char *key,
			       enum store_input_kind kind, const char *request,
			       enum run_question_state state, json_t *answer,
			       int64_t expires_ms);
void run_clear_questions(struct bide_call *c); /* before loading them afresh */
size_t run_steps(const struct bide_call *c);
void run_step_at(const struct bide_call *c, size_t i, const char **key,
		 const json_t **result);
double run_last_progress(const struct bide_call *c); /* NAN: none */
void run_set_last_progress(struct bide_call *c, double progress);
/* The whole record as a JSON value to seal (new reference), and back. */
json_t *run_dump(const struct bide_call *c);
enum bide_rc run_load(struct bide_call *c, const json_t *record);

/* ---- answers ---- */
enum answer_fit { ANSWER_FITS, ANSWER_MISFIT };
/*
 * Does a client's result fit the question? (client/elicitation: content against
 * requestedSchema on accept, ignored otherwise; sampling and roots against the
 * protocol's shapes.) @ret: on FITS the normalised answer, new reference.
 * @why: one sentence for MISFIT.
 */
enum answer_fit answer_check(enum store_input_kind kind, const char *request,
			     const json_t *response, json_t **ret,
			     struct buf *why);
/* Answers an open question of an ephemeral call; false: no such open question
 * or a misfit. */
bool run_answer(struct bide_call *c, const char *key, const json_t *response);
unsigned answer_needs(enum store_input_kind kind,
		      const char *request); /* capability bits */
#endif
