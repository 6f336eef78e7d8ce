/* SPDX-License-Identifier: MIT */
#ifndef BIDE_CALL_H
#define BIDE_CALL_H
#include <bide/tool.h>
#include <bide/types.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/*
 * Inside a handler. All functions take the handler's own call on the handler's
 * own thread, except bide_progress, bide_log and bide_cancelled, which any
 * thread may call until the handler returns. What a function hands out is
 * borrowed until the handler returns.
 *
 * An error sticks: after one, later functions do nothing and return it, so a
 * handler that checks late does no harm. BIDE_PENDING sticks as well, until the
 * next entry (bide_fail() alone may still end the call), and what sticks wins
 * over what the handler returns. BIDE_NO_CAPABILITY does not stick.
 */
#define BIDE_TRY(expr)                                                         \
	do {                                                                   \
		enum bide_rc bide_try_rc_ = (expr);                            \
		if (bide_try_rc_ != BIDE_OK)                                   \
			return bide_try_rc_;                                   \
	} while (0)

/* ---- the request ---- */
BIDE_API const json_t *
bide_args(const struct bide_call *call); /* an object, validated */
BIDE_API const char *bide_arg_string(const struct bide_call *call,
				     const char *name); /* NULL: absent */
BIDE_API int64_t bide_arg_int(const struct bide_call *call, const char *name,
			      int64_t absent);
BIDE_API double bide_arg_real(const struct bide_call *call, const char *name,
			      double absent);
BIDE_API bool bide_arg_bool(const struct bide_call *call, const char *name,
			    bool absent);
BIDE_API const char *
bide_principal(const struct bide_call *call); /* "": anonymous */
/* The task's public id, the same in every entry; NULL while ephemeral. */
BIDE_API const char *bide_task_id(const struct bide_call *call);
/* The claim's epoch: rises each time a worker takes the task. A fencing token
 * for what you call: let it refuse a lower one. 0 while ephemeral. */
BIDE_API int64_t bide_epoch(const struct bide_call *call);
/* A value that is the same in all entries and rounds of this call, and in no
 * other: for idempotency keys of your own. */
BIDE_API const char *bide_chain_id(const struct bide_call *call);
/* The URI that is read; NULL: no resource is. */
BIDE_API const char *bide_uri(const struct bide_call *call);
/* What this request's client declared (for a task: the latest that came). */
BIDE_API bool bide_client_can(const struct bide_call *call, enum bide_can what);

/* ---- asking ---- */
/*
 * An ask registers a question under a key of the handler's; bide_await() waits
 * for all that are open, so several travel together. Asking again under a key
 * that is answered does nothing. Keys: 1 to 96 of A-Z a-z 0-9 _ - . only. All
 * texts are UTF-8 and copied.
 *
 * Returns BIDE_OK; BIDE_NO_CAPABILITY when the client did not declare it:
 * fall back (and bide_ask_withdraw() if you go on to await others), or return
 * it, and the client gets -32021; BIDE_INVALID (schema, URL), BIDE_LIMIT.
 *
 * Forms must not ask for secrets (client/elicitation): use a URL for those.
 * @schema: JSON text, the flat restricted form of client/elicitation.
 */
BIDE_API enum bide_rc bide_ask_form(struct bide_call *call, const char *key,
				    const char *message, const char *schema);
/* Accepting a URL is consent to open it, not completion. http(s) only, no
 * credentials in it. */
BIDE_API enum bide_rc bide_ask_url(struct bide_call *call, const char *key,
				   const char *message, const char *url);
/* @params: CreateMessageRequestParams, stolen. Deprecated by the specification.
 */
BIDE_API enum bide_rc bide_ask_sampling(struct bide_call *call, const char *key,
					json_t *params);
/* Deprecated by the specification. */
BIDE_API enum bide_rc bide_ask_roots(struct bide_call *call, const char *key);
/* Between the ask and the await: this question's own deadline, from when it is
 * first waited for; 0: the tool's. BIDE_MISUSE: not asked in this entry. */
BIDE_API enum bide_rc bide_ask_deadline(struct bide_call *call, const char *key,
					int64_t ms);
/* Takes back what is open; otherwise nothing. */
BIDE_API enum bide_rc bide_ask_withdraw(struct bide_call *call,
					const char *key);
/* Persistent: make what is open visible now, and go on working. Ephemeral: OK,
 * nothing. */
BIDE_API enum bide_rc bide_publish(struct bide_call *call);
/* BIDE_OK when nothing is open; else BIDE_PENDING: return it.
 * BIDE_NO_CAPABILITY: an ask was refused so and not withdrawn. */
BIDE_API enum bide_rc bide_await(struct bide_call *call) BIDE_NODISCARD;

enum bide_action {
	BIDE_UNANSWERED = 0,
	BIDE_ACCEPT,
	BIDE_DECLINE,
	BIDE_CANCEL,
	BIDE_CLIENT_ERROR, /* the client could not ask */
	BIDE_TIMED_OUT     /* its deadline passed */
};
struct bide_answer;
BIDE_API const struct bide_answer *
bide_answer(struct bide_call *call, const char *key); /* never NULL */
BIDE_API enum bide_action bide_answer_action(const struct bide_answer *a);
BIDE_API const char *bide_action_name(
	enum bide_action action); /* "accepted", "declined", "cancelled", .. */
/* The accepted form's content, the sampling result, or {"roots":[..]}; NULL
 * otherwise. */
BIDE_API const json_t *bide_answer_json(const struct bide_answer *a);
BIDE_API const char *bide_answer_string(const struct bide_answer *a,
					const char *field); /* NULL: absent */
BIDE_API int64_t bide_answer_int(const struct bide_answer *a, const char *field,
				 int64_t absent);
BIDE_API double bide_answer_real(const struct bide_answer *a, const char *field,
				 double absent);
BIDE_API bool bide_answer_bool(const struct bide_answer *a, const char *field,
			       bool absent);
/* A sampling result's text blocks, the first one; NULL: none. */
BIDE_API const char *bide_answer_text(const struct bide_answer *a);

/* ---- steps, sleep, becoming a task ---- */
/**
 * bide_step_begin - open a step, or learn its kept result.
 * @ret: the kept result on BIDE_OK; may be NULL.
 *
 * Returns BIDE_RUN: do the work, then bide_step_commit(). BIDE_OK: done in an
 * earlier entry. BIDE_PENDING: the instance is draining; return it.
 *
 * In a task a recorded step takes effect exactly once; the outside world sees
 * at-least-once, so hand bide_step_id() to what you call. In an ephemeral call
 * the record travels in the sealed state: at-least-once.
 *
 * Keys (of sleeps and yields too): 1 to 96 bytes of UTF-8 without control
 * characters, not beginning with "~". Nothing that waits may stand between
 * begin and commit: BIDE_MISUSE.
 */
BIDE_API enum bide_rc bide_step_begin(struct bide_call *call, const char *key,
				      const json_t **ret) BIDE_NODISCARD;
/* @result: stolen, also on error; NULL is JSON null. BIDE_LOST: another worker
 * has the task; return it. */
BIDE_API enum bide_rc bide_step_commit(struct bide_call *call, json_t *result,
				       const json_t **ret) BIDE_NODISCARD;
/* The open step's idempotency key: from the chain id, its key and the answers
 * so far. "": no step is open. */
BIDE_API const char *bide_step_id(struct bide_call *call);
/* BIDE_PENDING until @ms after its first passage; then BIDE_OK. Holds no
 * thread. */
BIDE_API enum bide_rc bide_sleep(struct bide_call *call, const char *key,
				 int64_t ms) BIDE_NODISCARD;
/* Hands the work on, to any instance: PENDING the first time, OK when entered
 * again. */
BIDE_API enum bide_rc bide_yield(struct bide_call *call, const char *key)
	BIDE_NODISCARD;
/* The instance is draining: a good moment to bide_yield(). */
BIDE_API bool bide_should_yield(const struct bide_call *call);
/**
 * bide_persist - turn this call into a task (tools of BIDE_EITHER).
 *
 * The first time it returns BIDE_PENDING: return it; the task is inserted with
 * the steps and answers so far and the handler is entered again, from the top,
 * as a task, where it returns BIDE_OK.
 */
BIDE_API enum bide_rc bide_persist(struct bide_call *call) BIDE_NODISCARD;

/* ---- telling ---- */
/* Values that do not rise above the last one told are dropped; of a task's,
 * the newest is written ten times a second at most. @total <= 0: unknown;
 * @message may be NULL. */
BIDE_API void bide_progress(struct bide_call *call, double progress,
			    double total, const char *message);
enum bide_log_level {
	BIDE_LOG_DEBUG = 0,
	BIDE_LOG_INFO,
	BIDE_LOG_NOTICE,
	BIDE_LOG_WARNING,
	BIDE_LOG_ERROR,
	BIDE_LOG_CRITICAL,
	BIDE_LOG_ALERT,
	BIDE_LOG_EMERGENCY
};
/* To the client that asked for this level. @data: stolen. @logger may be NULL.
 * Deprecated by the specification: prefer standard error. */
BIDE_API void bide_log(struct bide_call *call, enum bide_log_level level,
		       const char *logger, json_t *data);
/* What listeners are told (basic/patterns/subscriptions). */
enum bide_changed {
	BIDE_CHANGED_TOOLS = 1, /* a list: clients read it again */
	BIDE_CHANGED_PROMPTS,
	BIDE_CHANGED_RESOURCES
};
/**
 * bide_changed - tell those who listen, on every instance, that a list is not
 *	what it was; bide_resource_changed(), that a resource is not.
 *
 * Stored when it returns BIDE_OK; of an inline handler soon after, maybe after
 * the call was answered, and lost when the process dies before. Those that come
 * close together may be told as one. Between bide_step_begin() and
 * bide_step_commit() it is told once, at least; elsewhere in each entry.
 *
 * BIDE_INVALID: no absolute URI, no enum bide_changed; BIDE_BUSY, BIDE_NOMEM:
 * it was not stored; BIDE_IO: it is not known whether it was. None of these
 * sticks: look at it and go on. Do not BIDE_TRY it, which would end the call
 * in an error although its work is done.
 */
BIDE_API enum bide_rc bide_changed(struct bide_call *call,
				   enum bide_changed what);
BIDE_API enum bide_rc bide_resource_changed(struct bide_call *call,
					    const char *uri);
/* statusMessage of the task; cut at 1024 bytes. Nothing while ephemeral. */
BIDE_API void bide_status(struct bide_call *call, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The caller cancelled, went away, or the claim is lost: stop soon. */
BIDE_API bool bide_cancelled(const struct bide_call *call);
/* Readable once bide_cancelled() is true, for poll(2); never read it. -1: none
 * to be had. */
BIDE_API int bide_cancel_fd(struct bide_call *call);

#ifdef __cplusplus
}
#endif
#endif
