/* SPDX-License-Identifier: MIT */
#ifndef DISPATCH_CORE_H
#define DISPATCH_CORE_H
#include "server/base/buf.h"
#include "server/base/thread.h"
#include "server/dispatch/dispatch.h"
#include <stdatomic.h>
/*
 * What the files of this room share; nobody else includes it.
 *
 * A request is answered once, through core_done() and its sisters, with no
 * lock held. One that waits (for a handler, a timer, a task, a client that
 * listens) is a struct pending meanwhile, so that a closed connection and a
 * drain find it. Waiting holds no thread: it goes on in a callback of the wake
 * thread, the store or the pool.
 */
#define CORE_INTERNAL   (-32603)
#define CORE_INVALID    (-32602)
#define CORE_CAPABILITY (-32021)
/* One text for ids that are unknown, purged or another principal's, in all
 * methods (tasks.md "Security Considerations"). */
#define CORE_NO_TASK "Task not found"
#define CORE_HANDLE_REFUSED                                                    \
	"This handle was not accepted. It may have been changed, belong to "   \
	"another caller, or its result may have expired; "                     \
	"call the original tool again if the result is still needed"
#define CORE_TOO_MANY_WAITS                                                    \
	"Too many requests of this caller are waiting; "                       \
	"try again when some of them have ended"
#define CORE_RAN_TOO_LONG     "The call ran longer than allowed"
#define CORE_STORE_TIMEOUT_MS 30000

struct seat; /* one principal's share of what waits */

enum pending_kind { PENDING_CALL = 1, PENDING_WAIT, PENDING_LISTEN };
struct pending {
	struct dispatch *d;
	struct request *rq;
	enum pending_kind kind;
	/* A step on the wake thread: the time is up, the client is gone, or the
	 * server drains. */
	void (*fire)(struct pending *p);
	/* Below: d->lock */
	struct bide_call
		*call; /* a handler to be told of a closed connection */
	struct wake_timer timer;
	bool may_fire; /* the timer was armed and has not fired */
	bool closed;
	struct seat *seat; /* where it is counted; NULL: not */
	struct seat *turn; /* where it has a turn, or waits for one; NULL */
	struct pending *prev, *next;
};

struct once_entry;
struct dispatch {
	struct dispatch_options opt;
	struct store *store;
	struct wake *wake;
	struct topics *topics;
	atomic_size_t open; /* requests without their answer */
	atomic_bool draining;
	struct mutex lock;
	struct pending *first; /* lock, all below */
	struct once_entry *once;
	struct seat *seats[256];
};

/* ---- core.c: answering ---- */
void core_done(struct dispatch *d, struct request *rq, const struct outcome *o);
/* The same with what @b holds for its text; finishes @b. */
void core_done_buf(struct dispatch *d, struct request *rq, struct outcome *o,
		   struct buf *b);
void core_error(struct dispatch *d, struct request *rq, int code,
		const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* -32021 for @missing, enum bide_can bits. @v may be NULL. */
void core_missing(struct dispatch *d, struct request *rq, unsigned missing,
		  const struct delivery *v);
/* A result with isError and one text. @v may be NULL. */
void core_tool_error(struct dispatch *d, struct request *rq,
		     const struct delivery *v, const char *text);
void core_no_memory(struct dispatch *d, struct request *rq);
/* An operation that was not DONE: says whether another try may help. */
void core_store_failed(struct dispatch *d, struct request *rq,
		       enum store_outcome outcome);
const char *core_string(const struct request *rq, const char *name);
/* Why a crowded request was not begun. */
const char *core_crowded(const struct dispatch *d);
/* False: answered. @missing: what the client lacks; @waits: it is answered by
 * another thread than this one, for which there must be room. */
bool core_may_call(struct dispatch *d, struct request *rq, unsigned missing,
		   bool waits);
/*
 * Runs @fn on the calls pool, in its turn: a function of the program that is
 * no handler.
 * @p is added meanwhile; @fn removes it, then answers. False: answered.
 */
bool core_run(struct dispatch *d, struct request *rq, struct pending *p,
	      struct job *job, void (*fn)(struct job *job));
/* One more waits for @task, for at most @ms. Off the reply's path. */
void core_join(struct dispatch *d, int64_t task, int64_t ms);
/* The target's wait budget in force; 0: no wait. */
int64_t core_budget_ms(const struct dispatch *d, const struct target *t);

/* ---- pending.c ---- */
/*
 * False: the principal has as many waiting as it may; nothing was done.
 * @counted: it holds a connection for long. From here on dispatch_closed() and
 * dispatch_drain() find it.
 */
bool pending_add(struct pending *p, struct dispatch *d, struct request *rq,
		 enum pending_kind kind, bool counted);
/* The one who calls this answers the request. It will not fire afterwards. */
void pending_remove(struct pending *p);
/* Also counts one that was not counted. */
bool pending_count(struct pending *p);
/* Another structure takes over the request; what happened to it goes along. */
void pending_replace(struct pending *old, struct pending *p,
		     enum pending_kind kind);
/*
 * Fire at the boot time @at_ms, or soon when the client is gone already or the
 * server drains. It may fire before this returns; with d->lock held, not
 * before that is released.
 */
void pending_arm(struct pending *p, int64_t at_ms);
void pending_arm_locked(struct pending *p, int64_t at_ms);
#define PENDING_NO_TIME (INT64_MAX / 2) /* only when closed or drained */
bool pending_closed(struct pending *p);
void pending_set_call(struct pending *p, struct bide_call *call);
void pending_close(struct dispatch *d, struct request *rq);
void pending_drain(struct dispatch *d);
void pending_fini(struct dispatch *d); /* frees the seats */
/*
 * Submits @job to the calls pool: at once, or when enough of the same
 * principal's were removed that LIMIT_LOOKUPS_AT_ONCE are left.
 */
void pending_take_turn(struct pending *p, struct job *job);
/* One more completion of @principal at the boot time @now_ms; false: there were
 * more than LIMIT_COMPLETION_RATE allows. */
bool pending_may_complete(struct dispatch *d, const char *principal,
			  int64_t now_ms);

/* ---- methods (methods.def) ---- */
#define METHOD(name, handler, of, needs)                                       \
	void method_##handler(struct dispatch *d, struct request *rq);
#include "server/dispatch/methods.def"
#undef METHOD
#endif
