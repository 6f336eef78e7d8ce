/* SPDX-License-Identifier: MIT */
#ifndef STORE_SQLITE_TXN_H
#define STORE_SQLITE_TXN_H
#include "store/sqlite_store.h"

/*
 * One write transaction: what the operations in it see and leave behind. Only
 * the writer thread runs any of this. An operation reads, then writes, through
 * t->c, whose errors stick; when one does the whole transaction is rolled back
 * and each operation is run again alone, so none needs a savepoint.
 */
struct txn {
	struct store *s;
	struct sql *c;
	int64_t now_ms;         /* database time of this operation */
	int64_t changes_before; /* total changes of the connection at BEGIN */
	bool nomem;

	/* to be told after the commit; on no memory: everything */
	int64_t *changed;
	size_t nchanged, changed_cap;
	uint64_t *ready; /* hashes of the tools of tasks that became READY */
	size_t nready, ready_cap;
	bool announced; /* some topic */
	bool everything;
};

/* The kinds of an event. Frozen: they stand in databases. */
enum event_kind {
	EVENT_STEP = 0, /* never stored: a row of step */
	EVENT_CREATED = 1,
	EVENT_CLAIMED = 2,
	EVENT_ASKED = 3,
	EVENT_PARKED = 4,
	EVENT_ANSWERED = 5,
	EVENT_RELEASED = 6,
	EVENT_REAPED = 7,
	EVENT_CANCELLED = 8,
	EVENT_FINISHED = 9,
	EVENT_EXPIRED = 10,
	EVENT_ABANDONED = 11,
	EVENT_CRASHED = 12,
	EVENT_REASKED = 13,
	EVENT_WITHDRAWN = 14,
	EVENT_DEADLINE = 15,
	EVENT_STEERED = 16,
	EVENT_WENT_ON = 17
};
const char *event_name(int kind);

/* A task's row, without its texts. */
struct row {
	int64_t id, epoch, claim, owner;
	enum store_state state;
	int64_t open, unseen, crashes;
	int64_t ready_at, wake_at, timer_at; /* 0: none */
	int64_t waiters, waits_until, abandon_at;
	bool goes_on;
	int64_t created_ms, retention_ms, grace_ms, ttl_ms;
	bool same_op; /* the last fenceless operation was the one asking */
	uint64_t tool_hash;
};

/* sqlite_txn.c */
void txn_fini(struct txn *t);
bool txn_begin(struct txn *t, struct store *s);
/* An operation is about to run: its time. */
void txn_tick(struct txn *t);
int64_t txn_seq(struct txn *t); /* strictly rising microseconds */
bool txn_ok(const struct txn *t);
enum bide_rc txn_commit(struct txn *t); /* OK, or UNKNOWN and rolled back */
void txn_rollback(struct txn *t);
void txn_changed(struct txn *t, int64_t task);
void txn_ready(struct txn *t, uint64_t tool_hash);

/* sqlite_task.c */
/* False: no such task, or another principal's (NULL: the operator), or an
 * error. @op: for row.same_op; may be NULL. */
bool row_by_token(struct txn *t, const char *token, const char *principal,
		  const struct store_op *op, struct row *ret);
bool row_by_id(struct txn *t, int64_t id, const struct store_op *op,
	       struct row *ret);
bool row_fenced(const struct row *r, const struct store_fence *f);
/* The one place where moves are checked against states.def. */
void txn_move(struct txn *t, enum store_state from, enum store_state to);
void event_add(struct txn *t, int64_t task, enum event_kind kind, int64_t epoch,
	       const char *detail);
/* Ends a task by others than its claim; raises the epoch. @error: payload of
 * FAILED. */
bool task_end(struct txn *t, const struct row *r, enum store_state to,
	      const char *status, const char *error, const struct store_op *op);
/* What every end does beside the row. */
void task_ended(struct txn *t, int64_t task, const char *principal,
		bool had_questions, const char *payload);
/* RUNNING to READY, its claim being gone; FAILED when it crashed too often. */
bool task_return(struct txn *t, const struct store_fence *f, bool crashed,
		 int64_t not_before_ms, enum event_kind kind,
		 const char *detail);
int64_t random_claim(void);

/* sqlite_input.c */
/* The counts of a task's questions while an operation changes them. */
struct tally {
	int64_t task;
	int64_t open, unseen;
	bool changed; /* something a caller sees */
};
/* True when some are past their deadline; the caller writes the event. */
bool input_expire_due(struct txn *t, struct tally *y);
/* Publishes @ask if it is not open or answered already. */
void input_ask(struct txn *t, struct tally *y, int64_t epoch,
	       const struct store_ask *ask);
void input_withdraw_others(struct txn *t, struct tally *y, int64_t epoch,
			   const struct store_ask *asks, size_t n);
/* One answer; fills a->ret. */
void input_answer(struct txn *t, struct tally *y, int64_t epoch,
		  struct store_answer_in *a, const char *by);
int64_t input_next_deadline(struct txn *t, const struct tally *y);

/* The operations: each runs in the open transaction and sets op->answer. */
void op_create(struct txn *t, struct store_op *op);
void op_claim(struct txn *t, struct store_op *op);
void op_keep(struct txn *t, struct store_op *op);
void op_step(struct txn *t, struct store_op *op);
void op_ask(struct txn *t, struct store_op *op);
void op_park(struct txn *t, struct store_op *op);
void op_note(struct txn *t, struct store_op *op);
void op_answer(struct txn *t, struct store_op *op);
void op_finish(struct txn *t, struct store_op *op);
void op_release(struct txn *t, struct store_op *op);
void op_cancel(struct txn *t, struct store_op *op);
void op_touch(struct txn *t, struct store_op *op);
void op_consume(struct txn *t, struct store_op *op);
void op_reap(struct txn *t, struct store_op *op);
void op_sweep(struct txn *t, struct store_op *op);
void op_steer(struct txn *t, struct store_op *op);
void op_key(struct txn *t, struct store_op *op);
void op_announce(struct txn *t, struct store_op *op); /* sqlite_topic.c */
void sweep_topics(struct txn *t, struct store_sweep *u);

/* sqlite_ops_answer.c: shared with steer. True when an answer was taken. */
bool answer_apply(struct txn *t, const struct row *r, const struct tally *y,
		  const struct store_op *op);

/* sqlite_signal.c: after the commit. */
void signal_publish(struct store *s, struct txn *t);
#endif
