/* SPDX-License-Identifier: MIT */
#ifndef TASK_ENGINE_PRIV_H
#define TASK_ENGINE_PRIV_H
/*
 * What the files of the engine share; nobody else includes it.
 *
 * A claim that this process holds is a struct work. Its worker thread owns it
 * from work_start() to its end; what others may touch meanwhile is grouped
 * below and stands under the engine's lock. A waiting task has none.
 */
#include <stdatomic.h>

#include "server/base/thread.h"
#include "server/task/engine.h"

#define WRITE_MS       30000 /* until an operation of a claim is tried again */
#define CREATE_MS      20000 /* until a caller hears that it could not be made */
#define CLAIM_MS       10000
#define CLAIM_MAX      32
#define CLAIM_AGAIN_MS 100   /* after one that could not be made */
#define RESCAN_MS      10000 /* the net under lost signals of work */
#define KEEP_MS        60000
#define DOUBT_MS       5000 /* until a keep, when a claim may have no holder */
#define LOOK_EVERY_MS  2000 /* at a running task: the net under lost signals */
#define SHED_MS        5    /* what a yielding instance leaves to the others */
#define NEVER          INT64_MAX

/* ---- note.c: what a handler tells while it works ---- */

struct note_log {
	int level;
	char *logger; /* may be NULL */
	char *data;
};
struct note_set {
	bool any;
	double progress, total; /* NAN: nothing new, unknown */
	char *message, *status;
	struct note_log *logs;
	size_t nlogs, caplogs, log_bytes, dropped;
};
struct note {
	struct note_set next; /* not yet sent */
	bool in_flight;
	bool timed;      /* the engine thread knows when to send it */
	int64_t sent_ms; /* clock_boot_ms() of the last one */
	/* of the one in flight; then nobody's but the store's */
	struct note_set sent;
	struct store_log_in *lines;
	struct store_op op;
};

/* ---- worker.c ---- */

struct work {
	struct job job; /* first */
	struct engine *e;
	struct store_fence fence;
	const struct tool *tool; /* NULL until loaded */
	/* Known from its creation here: no row is read then. */
	bool fresh;
	char token[STORE_TOKEN_BYTES];
	json_t *args;
	char *principal, *chain_id;
	struct caller caller;
	int64_t expires_ms; /* store time; 0: no TTL */
	int went_on;        /* entries since the last park in a row */

	/* Under the engine's lock. */
	struct work *prev, *next;
	struct bide_call *call; /* NULL before it is built and after */
	int pins;               /* others that use call or this, unlocked */
	bool inside;            /* a handler is entered, its end undecided */
	enum bide_rc stop;      /* 0, or why its call was cancelled */
	int64_t look_ms;        /* read its row then */
	int64_t wrote_ms;       /* its last own write, or look */
	bool writing;
	int64_t limit_ms; /* of this entry, clock_boot_ms(); NEVER */
	const char *limit_error;
	bool over;             /* past it: the engine ends the task */
	bool over_in_flight;   /* over_op is the store's */
	int64_t over_again_ms; /* over_op is to be run again; NEVER */
	struct store_op over_op;
	struct note note;
};

/* One engine_create_task() under way. */
struct creation {
	struct store_op op;
	struct engine *e;
	struct engine_create *c;
	struct work *work; /* reserved, or NULL */
	char *args, *caller;
	struct store_step_in *steps;
	struct store_ask *asks;
	char **answers;
	int64_t give_up_ms, again_ms;
	struct creation *next; /* of those to be run again */
};

struct claims {
	bool wanted; /* something may be claimable */
	bool in_flight;
	int shedding;      /* releases of handlers that yield, under way */
	int64_t due_ms;    /* store time of the next timer; NEVER */
	int64_t after_ms;  /* clock_boot_ms(): not before */
	int64_t rescan_ms; /* clock_boot_ms() */
	size_t reserved;
	struct store_op op;
	struct store_fence fences[CLAIM_MAX];
	/* keep */
	bool keep_in_flight;
	int64_t keep_ms; /* clock_boot_ms() of the next one */
	struct store_op keep_op;
};

/* Outlives the engine, for the store signals until it is closed. */
struct ear {
	struct mutex lock; /* RANK_CALL */
	struct engine *e;
	struct ear *next;
};

struct engine {
	/* Constant after engine_start(). */
	struct engine_options opt;
	struct store *store;
	struct wake *wake;
	struct topics *topics;
	struct pool *calls, *tasks;
	struct ear *ear;
	size_t ntools;
	struct thread thread, sweeper;

	atomic_bool draining;
	atomic_size_t nworks; /* changed under the lock */

	struct mutex lock;   /* RANK_ENGINE: all below, and the works' part */
	struct cond kick;    /* for the engine's thread */
	struct cond ending;  /* for the sweeper: it stops or drains */
	struct cond changed; /* for all others */
	bool stopping, kicked;
	struct work *works;
	size_t idle; /* task workers with no work and not reserved */
	size_t making;
	struct creation *again; /* creations of unknown outcome */
	struct claims claims;
};

/* ---- engine.c ---- */
bool engine_stopping(struct engine *e);
/* The engine's thread has something to look at. */
void engine_kick_locked(struct engine *e);

/* ---- claims.c ---- */
/* Claims if it may and there may be something. Any thread; does not block. */
void claims_kick(struct engine *e);
void claims_want(struct engine *e); /* something is claimable: kick */
/* A timer of one of our own tasks. */
void claims_due(struct engine *e, int64_t store_ms);
/* Some claim may be held by nobody. */
void claims_doubt(struct engine *e);
/* Takes an idle worker, if there is one and more may be claimed. */
bool claims_reserve(struct engine *e);
void claims_unreserve(struct engine *e);
/* Around the release of a task that yields. */
void claims_shed_begin(struct engine *e);
void claims_shed_end(struct engine *e);
/* On the engine's thread: what is due; returns when it is to be called again,
 * clock_boot_ms(). */
int64_t claims_tick(struct engine *e, int64_t now);

/* ---- worker.c ---- */
/* Gives a reserved worker its work. */
void work_start(struct work *w);
void work_free(struct work *w); /* one that never started */
/*
 * Runs a fenced operation until its outcome is known. BIDE_OK: see the answer;
 * BIDE_LOST: the claim is gone, or the engine stops.
 */
enum bide_rc work_write(struct work *w, struct store_op *op);

/* ---- backend.c ---- */
extern const struct run_backend backend_task;

/* ---- load.c ---- */
/* Builds the call; OK, LOST (not ours any more), or why not: then try later. */
enum bide_rc load_call(struct work *w, struct bide_call **ret,
		       bool *ret_answered);
/* Reads the questions again. */
enum bide_rc load_questions(struct work *w, struct bide_call *c);

/* ---- note.c ---- */
void note_progress(struct work *w, double progress, double total,
		   const char *message);
void note_status(struct work *w, const char *text);
void note_log(struct work *w, int level, const char *logger, const char *data);
/* Before a handler is entered again: what it tells on the way to where it was,
 * it told before. The first of it waits its time, and the last one stands. */
void note_hold(struct work *w);
/* Sends what is left, so that it stands before the next operation. */
void note_flush(struct work *w);
/* Until none is in flight. */
void note_wait(struct work *w);
void note_fini(struct note *n);
/* With the lock held: when it wants to be sent, and make it ready for
 * note_send(), which is called without. */
int64_t note_due_locked(const struct work *w);
bool note_take_locked(struct work *w);
void note_send(struct work *w);

/* ---- guard.c: cancels, lost claims and limits, on the engine's thread ---- */
/* Notice that a task (0: any) changed. */
void guard_look(struct engine *e, int64_t task);
/* Does what is due for all works; returns when again. */
int64_t guard_tick(struct engine *e, int64_t now);
void guard_begin(struct work *w); /* an entry begins */
/* It ended: true when the engine ended the task meanwhile, and settled it. */
bool guard_end(struct work *w);

/* ---- engine_create.c ---- */
int64_t create_tick(struct engine *e, int64_t now);

/* ---- sweeper.c ---- */
void sweeper_loop(void *engine);
#endif
