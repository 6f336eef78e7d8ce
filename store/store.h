/* SPDX-License-Identifier: MIT */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bide/types.h"
#include "server/base/limits.h"

/*
 * All that the server knows of storage. Nothing here says which database
 * stands behind it: no SQL, connection, transaction or row order leaves the
 * room; lock time-outs, busy files and lost connections neither.
 * Source: docs/design.md, "Tasks in the store".
 *
 * Writing. An operation is a struct store_op: kind, arguments, a 128-bit
 * operation id and a deadline. It can be run again and knows its own earlier
 * effect. Each is atomic alone; the store commits several together, keeping
 * the order of one task's. Its callback comes after its commit, on a thread of
 * the store: be brief, take no lock below RANK_STORE, do not block.
 * Pointers in the arguments are borrowed until the callback has run.
 *
 * Reading. A read is one snapshot, runs on the caller's thread on a read-only
 * connection, and is never in the write path.
 */

#define STORE_TOKEN_BYTES                                                      \
	40 /* public task id with its NUL; >= 128 random bits */
#define STORE_OP_ID_BYTES 16

enum store_state {
#define STATE(name, number, shown) STORE_##name = number,
#define MOVE(from, to, why)
#include "store/states.def"
#undef STATE
#undef MOVE
};
bool store_state_may_move(enum store_state from, enum store_state to);
const char *store_state_name(enum store_state s); /* "READY" .. */
bool store_state_ended(enum store_state s);

/* How the creating request is answered; for the life of the task. Frozen. */
enum store_flow {
	STORE_FLOW_HANDLE = 1, /* 2026-07-28 without the extension: rounds */
	STORE_FLOW_TASKS =
		2, /* 2026-07-28 with io.modelcontextprotocol/tasks */
};

/* Who holds a task: every later write of a claim carries it. */
struct store_fence {
	int64_t task; /* internal id, never shown to a caller */
	int64_t epoch;
	int64_t claim; /* random, drawn at each claim */
};

enum store_outcome {
	STORE_DONE = 1, /* committed */
	STORE_REFUSED =
		2, /* true, committed, nothing changed: see the answer */
	STORE_NOT_DONE =
		3, /* certain: no effect (deadline, disk full, closing) */
	STORE_UNKNOWN = 4 /* cannot be known now; run again, same op id */
};

/* The answers of all operations; each lists its own below. */
enum store_answer {
	STORE_OK = 1,
	STORE_LOST, /* the fence is not the row's any more */
	STORE_CREATED,
	STORE_SAME,     /* this very thing happened before */
	STORE_CONFLICT, /* same idempotency key, other arguments */
	STORE_LIMIT,    /* the principal's ceiling */
	STORE_PARKED,
	STORE_GO_ON, /* answers came first: load them and go on, still held */
	STORE_ACCEPTED,
	STORE_ALREADY, /* answered before, differently */
	STORE_NOT_OPEN,
	STORE_REASKED, /* did not fit; asked again under a new key */
	STORE_CANCELLED_NOW,
	STORE_ENDED,   /* it had ended before */
	STORE_NO_SUCH, /* unknown, or another principal's: no difference */
	STORE_STORED,
	STORE_EARLIER,
	STORE_CHANGED_MEANWHILE
};

enum store_input_kind { /* frozen */
			STORE_INPUT_FORM = 1,
			STORE_INPUT_URL = 2,
			STORE_INPUT_SAMPLING = 3,
			STORE_INPUT_ROOTS = 4
};
enum store_input_state { /* frozen */
			 STORE_INPUT_OPEN = 1,
			 STORE_INPUT_ANSWERED = 2,
			 STORE_INPUT_EXPIRED = 3, /* its deadline passed; the
						     handler decides */
			 STORE_INPUT_WITHDRAWN =
				 4 /* dropped, superseded, or the task ended */
};

/* A question that a claim wants open. */
struct store_ask {
	const char *key; /* the handler's */
	enum store_input_kind kind;
	const char *request; /* JSON text: {"method":..,"params":{..}} */
	int64_t deadline_ms; /* from now; 0: none */
};

struct store_answer_in {
	const char *wire_key;  /* as published: the key, or key~2, key~3 ... */
	const char *answer;    /* JSON text of the client's result */
	bool misfit;           /* did not fit its schema: ask again, new key */
	enum store_answer ret; /* ACCEPTED SAME ALREADY NOT_OPEN REASKED */
};

struct store_step_in {
	const char *key;
	const char *result; /* JSON text */
};

struct store_log_in {
	int level;          /* 0 debug .. 7 emergency, RFC 5424 reversed */
	const char *logger; /* may be NULL */
	const char *data;   /* JSON text */
};

enum store_op_kind {
	STORE_OP_CREATE = 1,
	STORE_OP_CLAIM,
	STORE_OP_KEEP,
	STORE_OP_STEP,
	STORE_OP_ASK,
	STORE_OP_PARK,
	STORE_OP_NOTE,
	STORE_OP_ANSWER,
	STORE_OP_FINISH,
	STORE_OP_RELEASE,
	STORE_OP_CANCEL,
	STORE_OP_TOUCH,
	STORE_OP_CONSUME,
	STORE_OP_REAP,
	STORE_OP_SWEEP,
	STORE_OP_STEER,
	STORE_OP_KEY,
	STORE_OP_ANNOUNCE,
};

/* create: answers CREATED, SAME, CONFLICT, LIMIT. Rings one capable idle
 * instance unless claimed at once. */
struct store_create {
	const char *token; /* public id, drawn by the caller */
	const char *principal;
	const char *tool;
	const char *tool_version;
	enum store_flow flow;
	const char *args;        /* JSON text */
	const char *args_digest; /* printable */
	const char *caller;   /* JSON text: era, capabilities, trace context */
	const char *idem_key; /* may be NULL; per principal */
	const char *chain_id; /* may be NULL; unique */
	int64_t ttl_ms;       /* while it lives; -1: none */
	int64_t retention_ms; /* after its end */
	int64_t abandon_ms;   /* abandoned unless delivered or waited on within;
				 -1: never */
	int64_t waiting_ms; /* >0: the creating request waits this long (a JOIN)
			     */
	int64_t grace_ms;   /* added to waits, and begun when the last leaves */
	bool goes_on;       /* a closed connection does not end it */
	bool claim;         /* claim at once for this instance */
	int64_t max_live;   /* the principal's ceiling of tasks not ended */
	const struct store_step_in *steps; /* carried over by persist */
	size_t nsteps;
	const struct store_ask
		*answered_asks;     /* questions with their answers, */
	const char *const *answers; /* carried over by persist */
	size_t nanswered;
	/* out */
	struct store_fence
		ret_fence; /* task always; epoch, claim when claimed */
	char ret_token[STORE_TOKEN_BYTES]; /* the earlier task's on SAME */
	enum store_flow ret_flow;
	enum store_state ret_state;
	int64_t ret_created_ms;
};

/* claim: up to n READY tasks, or WAITING ones whose timer is due, oldest
 * first, for the tools given at join. Questions past their deadline become
 * EXPIRED in the same transaction. Answer OK. */
struct store_claim {
	size_t n;
	struct store_fence *ret_fences; /* room for n */
	size_t ret_n;
	int64_t ret_next_due_ms; /* store time; INT64_MAX: none */
	bool ret_more;           /* more could have been claimed */
};

/* keep: claims of this instance that are not in the list go back to READY
 * (no crash counted). Answer OK. */
struct store_keep {
	const struct store_fence *held;
	size_t n;
	size_t ret_returned;
};

/* step: OK, LOST; SAME when the key is recorded already (ret_result: the
 * recorded text, malloc()ed, the caller's). Ends the series of crashes. */
struct store_step {
	struct store_fence fence;
	struct store_step_in step;
	char *ret_result;
};

/* ask: publish without parking. OK, LOST. Same key and request: nothing. Same
 * key, other request: the old one is withdrawn, the new one gets key~n. */
/* park: @asks is the whole set that must stay open: others are withdrawn.
 * PARKED, LOST; GO_ON when nothing is open and answers are unseen, or wake_at
 * is due. Ends the series of crashes. @wait_inputs false: only the timer
 * (and a change of the answers) wakes it. */
struct store_park {
	struct store_fence fence;
	const struct store_ask *asks;
	size_t nasks;
	int64_t wake_at_ms; /* store time; 0: no timer */
};

/* note: progress, status, log lines. OK, LOST. NULL / NAN: unchanged. */
struct store_note {
	struct store_fence fence;
	double progress; /* NAN: none */
	double total;    /* NAN: unknown */
	const char *progress_message;
	const char *status;
	const struct store_log_in *logs;
	size_t nlogs;
};

/* answer: per key; the whole is OK, ENDED, NO_SUCH. The answer to the last open
 * question and READY are one transaction. Rings one instance, watchers. */
struct store_answer_op {
	const char *token;
	const char *principal; /* NULL: the operator */
	struct store_answer_in *answers;
	size_t n;
	const char *by;     /* who, for the history */
	const char *caller; /* new snapshot; NULL: unchanged */
	bool ret_ready;     /* the task became READY by this */
	int ret_open;       /* how many are still open */
};

/* finish: OK, SAME, LOST. */
struct store_finish {
	struct store_fence fence;
	enum store_state state; /* COMPLETED or FAILED */
	const char *payload;    /* JSON text: the result, or the error object */
	const char *status;     /* may be NULL */
};

enum store_release_why {
	STORE_RELEASE_YIELD = 1,
	STORE_RELEASE_DRAIN,
	STORE_RELEASE_NO_WORKER,
	STORE_RELEASE_CRASH
};
/* release: RUNNING to READY. OK, LOST. CRASH counts; LIMIT_CRASHES in a row
 * without a step or a park between them is FAILED. */
struct store_release {
	struct store_fence fence;
	enum store_release_why why;
	int64_t not_before_ms; /* from now: when it may be claimed again */
};

/* cancel: CANCELLED_NOW, ENDED, NO_SUCH. Raises the epoch, withdraws open
 * questions, rings the owner and watchers. */
struct store_cancel {
	const char *token;
	const char *principal; /* NULL: the operator or the engine itself */
	const char *reason;    /* statusMessage; may be NULL */
};

enum store_touch_what {
	STORE_TOUCH_DELIVERED =
		1, /* the handle left whole: abandoned after @ms; -1: never */
	STORE_TOUCH_JOIN,  /* one more waits, for at most @ms */
	STORE_TOUCH_LEAVE, /* one left with an answer: abandoned after @ms; -1
			      never */
	STORE_TOUCH_GONE   /* one's connection closed: when it was the last, the
			      grace begins */
};
/* touch: OK, ENDED, NO_SUCH. */
struct store_touch {
	int64_t task;
	enum store_touch_what what;
	int64_t ms;
};

/* consume: first one wins. STORED, EARLIER (ret_outcome: malloc()ed). */
struct store_consume {
	const char *id;      /* <= 128 bytes */
	const char *digest;  /* what it was for; EARLIER with another digest:
				CONFLICT */
	const char *outcome; /* JSON text */
	int64_t keep_ms;
	char *ret_outcome;
};

/* reap: instance's claims go back to READY. @crashed counts. OK. */
struct store_reap {
	int64_t instance;
	bool crashed;
	size_t ret_returned;
};

enum store_sweep_kind {
	STORE_SWEEP_ABANDONED =
		1,             /* abandon_at passed, nobody waits: CANCELLED */
	STORE_SWEEP_EXPIRED,   /* TTL passed; not RUNNING, no unseen answer:
				  FAILED */
	STORE_SWEEP_ENDED,     /* past retention: deleted with all it owns */
	STORE_SWEEP_CONSUMED,  /* consumed ids past keep_ms: deleted */
	STORE_SWEEP_INSTANCES, /* rows of dead instances without claims: deleted
				*/
	STORE_SWEEP_TOPICS     /* announced longer ago than LIMIT_TOPIC_MS:
				  deleted */
};
/* sweep: at most @rows rows or LIMIT_SWEEP_MS. OK. */
struct store_sweep {
	enum store_sweep_kind kind;
	size_t rows;
	size_t ret_done;
	bool ret_more;
};

enum store_move {
	STORE_STEER_CANCEL = 1,
	STORE_STEER_EXPIRE_INPUTS,
	STORE_STEER_ANSWER,
	STORE_STEER_RETRY
};
/* steer: an operator's move with the state and epoch seen. OK, NO_SUCH, ENDED,
 * CHANGED_MEANWHILE. EXPIRE_INPUTS: open questions become EXPIRED, READY. */
struct store_steer {
	const char *token;
	enum store_state seen_state;
	int64_t seen_epoch;
	enum store_move move;
	struct store_answer_in answer; /* of STORE_STEER_ANSWER */
	const char *by;
};

/* key: OK. Inserts the candidate when the ring is empty (or @rotate), then
 * tells the whole ring, newest first. */
#define STORE_KEY_BYTES 32
#define STORE_KEYS_MAX  LIMIT_SEAL_KEYS
struct store_key {
	char kid[16];
	unsigned char key[STORE_KEY_BYTES];
};
struct store_key_op {
	struct store_key candidate;
	bool rotate;
	struct store_key ret_ring[STORE_KEYS_MAX];
	size_t ret_n;
};

/* announce: OK; SAME when this very operation was the topic's last. Rings those
 * with an interest in STORE_TOPICS. */
struct store_announce {
	const char *topic; /* any text */
};

struct store_op {
	enum store_op_kind kind;
	unsigned char id[STORE_OP_ID_BYTES]; /* drawn by store_op_init() */
	int64_t deadline_ms; /* clock_boot_ms(); past it, unstarted: NOT_DONE */
	union {
		struct store_create create;
		struct store_claim claim;
		struct store_keep keep;
		struct store_step step;
		struct store_park park; /* and ASK */
		struct store_note note;
		struct store_answer_op answer;
		struct store_finish finish;
		struct store_release release;
		struct store_cancel cancel;
		struct store_touch touch;
		struct store_consume consume;
		struct store_reap reap;
		struct store_sweep sweep;
		struct store_steer steer;
		struct store_key_op key;
		struct store_announce announce;
	} u;
	/* out, valid in the callback and after store_run() */
	enum store_outcome outcome;
	enum store_answer answer;
	void (*done)(struct store_op *op, void *user); /* may be NULL */
	void *user;
	struct store_op *next; /* the store's while submitted */
	int64_t submitted_ms;  /* the store's: database time */
};

struct store; /* one per process and database */

/* Zeroes, draws the id, sets the deadline @timeout_ms from now. */
void store_op_init(struct store_op *op, enum store_op_kind kind,
		   int64_t timeout_ms);
/* Queues it; never blocks on I/O. The callback always comes, once. */
void store_submit(struct store *s, struct store_op *op);
/* Submits and waits (op->done and op->user are the store's meanwhile).
 * BIDE_OK for DONE and REFUSED; BIDE_BUSY for NOT_DONE; BIDE_UNKNOWN. */
enum bide_rc store_run(struct store *s, struct store_op *op);

/* ---- opening ---- */
struct store_options {
	const char *url; /* path or sqlite:path */
	bool read_only;  /* the operator's looks: no writer, no gate */
	bool create;     /* make the file when missing */
	bool migrate;    /* apply what is missing; else BIDE_CONFLICT */
	int64_t lease_ms;
	int64_t poll_ms; /* the slow poll behind the bell */
	bool break_frozen_holder;
};
/* Errors are for the operator and say what to do. Network file systems, newer
 * databases, other applications' files, wrong modes: refused here. */
enum bide_rc store_open(const struct store_options *opt, struct store **ret,
			struct bide_error *reterr) BIDE_NODISCARD;
/* Stops accepting, runs what is queued for at most @grace_ms, leaves. */
void store_close(struct store *s, int64_t grace_ms);

/* Joins as an instance: takes a number that is never reused, starts the
 * heartbeat, the bell and the watch over peers (which reaps the dead by
 * itself). @tools: what this instance can run (claims ask for these only). */
enum bide_rc store_join(struct store *s, const char *const *tools,
			size_t ntools, const char *name,
			struct bide_error *reterr) BIDE_NODISCARD;
int64_t store_instance(const struct store *s); /* 0 before join */
/* How many workers are idle here now, for those who ring. Any thread, cheap. */
void store_set_idle(struct store *s, int idle);
/* Draining: claims nothing, is rung no more, its death is no crash. */
void store_set_draining(struct store *s);

/* The database's clock, ms since 1970, never backwards, shared by all. */
int64_t store_now_ms(struct store *s);
const char *store_name(struct store *s); /* database id: random, made once */

/* ---- watching ---- */
/*
 * @fn is told that a task may have changed (or, with task 0, that anything
 * may: look at all you care for), or that work may be claimable. It may be
 * called for nothing, may come late, and is never the only way. It runs on a
 * thread of the store: be brief.
 */
enum store_signal { STORE_SIGNAL_TASK = 1, STORE_SIGNAL_WORK = 2 };
typedef void (*store_watch_fn)(void *user, enum store_signal what,
			       int64_t task);
void store_watch(struct store *s, store_watch_fn fn,
		 void *user); /* once, before join */
/* In the place of a task's id, in signals and interest: the topics. */
#define STORE_TOPICS INT64_C(-1)
/* Interest in one task, counted: peers ring this instance for it. */
void store_interest_add(struct store *s, int64_t task);
void store_interest_drop(struct store *s, int64_t task);

/* ---- reading: any thread; results are the caller's ---- */
struct store_input {
	char *key;
	char *wire_key;
	enum store_input_kind kind;
	enum store_input_state state;
	char *request;
	char *answer; /* NULL unless ANSWERED */
	char *by;
	int64_t asked_ms, answered_ms, deadline_ms;
};
struct store_step_row {
	char *key;
	char *result;
	int64_t at_ms;
	int64_t epoch;
};
struct store_log_row {
	int64_t seq;
	int level;
	char *logger;
	char *data;
};
struct store_event {
	int64_t seq;
	int64_t at_ms;
	const char *kind;
	int64_t instance;
	int64_t epoch;
	char *detail;
};
struct store_task {
	int64_t id;
	char token[STORE_TOKEN_BYTES];
	char *principal, *tool, *tool_version;
	enum store_state state;
	enum store_flow flow;
	int64_t epoch, claim, owner;
	int open, unseen, claims, crashes, waiters;
	bool goes_on;
	int64_t created_ms, updated_ms, ended_ms; /* 0: not yet */
	int64_t ttl_ms;                    /* as announced now; -1: null */
	int64_t wake_at_ms, abandon_at_ms; /* 0: none */
	int64_t version;        /* rises with every change a caller can see */
	double progress, total; /* NAN: none */
	char *progress_message, *status;
	char *caller;
	char *args;    /* with STORE_GET_ARGS */
	char *payload; /* result or error; with STORE_GET_PAYLOAD */
	char *chain_id, *idem_key;
	struct store_input *inputs;
	size_t ninputs; /* open ones, or all */
	struct store_step_row *steps;
	size_t nsteps;
	struct store_log_row *logs;
	size_t nlogs;
	struct store_event *events;
	size_t nevents;
};
enum store_get {
	STORE_GET_PAYLOAD = 1,
	STORE_GET_OPEN_INPUTS = 2,
	STORE_GET_ALL_INPUTS = 4,
	STORE_GET_ARGS = 8,
	STORE_GET_STEPS = 16,
	STORE_GET_EVENTS = 32,
	STORE_GET_LOGS = 64, /* of seq above @logs_after */
	STORE_GET_REPLAY = 4 | 8 | 16
};
/* By public id; @principal NULL: the operator. NOT_FOUND for unknown ids and
 * for other principals' alike, in the same time. */
enum bide_rc store_get(struct store *s, const char *token,
		       const char *principal, unsigned what, int64_t logs_after,
		       struct store_task **ret);
enum bide_rc store_get_id(struct store *s, int64_t task, unsigned what,
			  int64_t logs_after, struct store_task **ret);
void store_task_free(struct store_task *t);
/* By idempotency key. */
enum bide_rc store_find_idem(struct store *s, const char *principal,
			     const char *idem_key, struct store_task **ret);
enum bide_rc store_find_chain(struct store *s, const char *chain_id,
			      struct store_task **ret);
enum bide_rc store_consumed(struct store *s, const char *id, char **ret_digest,
			    char **ret_outcome);

/* A topic by its last announcement. */
struct store_topic {
	int64_t seq;
	char *name;
};
/* Those announced after @seq, in that order, at most @limit. */
enum bide_rc store_topics(struct store *s, int64_t seq, size_t limit,
			  struct store_topic **ret, size_t *ret_n);
void store_topics_free(struct store_topic *list, size_t n);
/* What is announced from now on has a seq above @ret. */
enum bide_rc store_topic_last(struct store *s, int64_t *ret);

struct store_filter {
	unsigned states;       /* bits 1 << state; 0: all */
	const char *tool;      /* NULL: any */
	const char *principal; /* NULL: any */
	int64_t before_id;     /* keyset: ids below; 0: from the newest */
	size_t limit;
	unsigned what; /* store_get flags */
};
enum bide_rc store_list(struct store *s, const struct store_filter *f,
			struct store_task ***ret, size_t *ret_n);
void store_list_free(struct store_task **list, size_t n);
struct store_counts {
	int64_t by_state[8];
	int64_t questions_open;
	int64_t oldest_ready_ms;
};
enum bide_rc store_count(struct store *s, struct store_counts *ret);
struct store_peer {
	int64_t number;
	char name[64];
	int64_t pid;
	bool alive;
	bool draining;
	bool self;
	int64_t lease_left_ms;
	int64_t joined_ms;
	int64_t claims;
};
enum bide_rc store_peers(struct store *s, struct store_peer **ret,
			 size_t *ret_n); /* free() */

/* ---- state of the store ---- */
/* BIDE_OK, or why it should get no traffic (text for the operator). Never
 * blocks. */
enum bide_rc store_ready(struct store *s, struct bide_error *why);
/* For doctor: calls @say for each line; false when something is wrong. */
bool store_check(const struct store_options *opt,
		 void (*say)(void *user, bool good, const char *line),
		 void *user);
/*
 * A copy of the database as it is at one moment, while instances run: whole,
 * synced, mode 0600 (it holds the keys of requestState). @path must not exist.
 * What stands in it was committed; it keeps the tasks' states as they were, so
 * one that ran is claimed anew where the copy is served.
 */
enum bide_rc store_backup(const struct store_options *opt, const char *path,
			  struct bide_error *reterr) BIDE_NODISCARD;
enum bide_rc store_migrate(const struct store_options *opt, int *ret_from,
			   int *ret_to, struct bide_error *reterr);
#endif
