/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "server/base/clock.h"
#include "server/base/fault.h"
#include "server/base/limits.h"
#include "server/base/log.h"
#include "server/base/metrics.h"
#include "store/sqlite_txn.h"

/*
 * The one writer thread: group commit. It waits at the gate first and takes the
 * queue then, so what arrived meanwhile is in the batch. Nothing is told, no
 * refusal either, before the COMMIT that it was computed under.
 * Source: docs/design.md, "Batches break", "A failed COMMIT".
 */

#define WORST_BATCH_MS 60000

static const struct {
	const char *name;
	void (*run)(struct txn *t, struct store_op *op);
} kinds[] = {
	[STORE_OP_CREATE] = {"create", op_create},
	[STORE_OP_CLAIM] = {"claim", op_claim},
	[STORE_OP_KEEP] = {"keep", op_keep},
	[STORE_OP_STEP] = {"step", op_step},
	[STORE_OP_ASK] = {"ask", op_ask},
	[STORE_OP_PARK] = {"park", op_park},
	[STORE_OP_NOTE] = {"note", op_note},
	[STORE_OP_ANSWER] = {"answer", op_answer},
	[STORE_OP_FINISH] = {"finish", op_finish},
	[STORE_OP_RELEASE] = {"release", op_release},
	[STORE_OP_CANCEL] = {"cancel", op_cancel},
	[STORE_OP_TOUCH] = {"touch", op_touch},
	[STORE_OP_CONSUME] = {"consume", op_consume},
	[STORE_OP_REAP] = {"reap", op_reap},
	[STORE_OP_SWEEP] = {"sweep", op_sweep},
	[STORE_OP_STEER] = {"steer", op_steer},
	[STORE_OP_KEY] = {"key", op_key},
	[STORE_OP_ANNOUNCE] = {"announce", op_announce},
};

const char *writer_kind_name(enum store_op_kind kind)
{
	return kind == 0 ? "job" : kinds[kind].name;
}

static void run_one(struct txn *t, struct store_op *op)
{
	txn_tick(t);
	op->answer = STORE_OK;
	if (FAULT_ON("store.op", writer_kind_name(op->kind))) {
		t->c->rc = SQLITE_IOERR;
		return;
	}
	if (op->kind == 0) {
		struct store_job *job = (struct store_job *)op;

		job->run(t, job);
		return;
	}
	kinds[op->kind].run(t, op);
}

enum attempt {
	COMMITTED,
	BROKEN, /* rolled back before COMMIT: certain */
	UNSURE  /* COMMIT failed: rolled back, but may come back with a crash */
};

static enum attempt broken(struct txn *t, const struct store_op *op)
{
	log_warn("store.transaction_broken", "op=%s rc=%d at=%s text=%s",
		 op ? writer_kind_name(op->kind) : "", t->c->rc,
		 t->c->at < SQL_COUNT ? sql_name_of(t->c->at) : "",
		 t->nomem ? "out of memory" : sqlite3_errstr(t->c->rc));
	health_disk(t->s, true, sqlite3_errstr(t->c->rc));
	txn_rollback(t);
	return BROKEN;
}

static enum attempt attempt(struct store *s, struct txn *t,
			    struct store_op *list)
{
	enum bide_rc rc;

	if (!txn_begin(t, s))
		return broken(t, NULL);
	for (struct store_op *op = list; op; op = op->next) {
		run_one(t, op);
		if (!txn_ok(t))
			return broken(t, op);
	}
	rc = txn_commit(t);
	if (rc == BIDE_UNKNOWN) {
		health_disk(s, true, sqlite3_errstr(t->c->rc));
		txn_rollback(t);
		return UNSURE;
	}
	if (rc != BIDE_OK)
		return broken(t, NULL);
	health_disk(s, false, "");
	return COMMITTED;
}

static enum store_outcome outcome_of(enum store_answer a)
{
	switch (a) {
	case STORE_LOST:
	case STORE_CONFLICT:
	case STORE_LIMIT:
	case STORE_ENDED:
	case STORE_NO_SUCH:
	case STORE_CHANGED_MEANWHILE:
		return STORE_REFUSED;
	case STORE_OK:
	case STORE_CREATED:
	case STORE_SAME:
	case STORE_PARKED:
	case STORE_GO_ON:
	case STORE_ACCEPTED:
	case STORE_ALREADY:
	case STORE_NOT_OPEN:
	case STORE_REASKED:
	case STORE_CANCELLED_NOW:
	case STORE_STORED:
	case STORE_EARLIER:
		break;
	}
	return STORE_DONE;
}

/* After a commit: bells first, for they take others the longest. */
static void publish(struct store *s, struct txn *t, struct store_op *list)
{
	struct store_op *next;
	int64_t n = 0;

	(void)FAULT("store.after_commit");
	signal_publish(s, t);
	for (; list; list = next, n++) {
		next = list->next;
		queue_tell(list, outcome_of(list->answer));
	}
	metric_add(METRIC_STORE_OPS, n);
}

/* A transaction that writes and commits puts its frames over the failed one's.
 */
static bool scrub(struct store *s, struct txn *t)
{
	return !s->tail_dirty || attempt(s, t, NULL) == COMMITTED;
}

/* Lets others through for a moment; false when the gate is not had again. */
static bool back_off(struct store *s, int tries)
{
	int64_t ms = tries < 5 ? 10 << tries : 250;

	gate_leave(s->gate);
	mutex_lock(&s->lock);
	cond_wait_ms(&s->slept, &s->lock, ms);
	mutex_unlock(&s->lock);
	while (gate_enter(s->gate, clock_boot_ms() + 1000, NULL) != BIDE_OK) {
		mutex_lock(&s->lock);
		if (s->closing) {
			mutex_unlock(&s->lock);
			return false;
		}
		mutex_unlock(&s->lock);
	}
	return true;
}

/*
 * One operation by itself, after its batch broke. @unsure: a COMMIT with it
 * failed and has not been overwritten since. It is given up when it fails twice
 * although the disk takes other things: full, most likely, so say so at once.
 * False: the gate is lost.
 */
static bool settle_alone(struct store *s, struct txn *t, struct store_op *op,
			 bool unsure)
{
	bool inside = true;

	for (int tries = 0, refused = 0; inside; tries++) {
		enum attempt a = attempt(s, t, op);

		if (a == COMMITTED) {
			publish(s, t, op);
			return true;
		}
		unsure = (unsure || a == UNSURE) && !scrub(s, t);
		refused += !unsure;
		if (refused == 2 || queue_expired(s, op))
			break;
		inside = back_off(s, tries);
	}
	queue_tell(op, unsure ? STORE_UNKNOWN : STORE_NOT_DONE);
	return inside;
}

static bool settle_each(struct store *s, struct txn *t, struct store_op *list,
			bool unsure)
{
	struct store_op *next;
	bool inside = true;

	for (; list && inside; list = next) {
		next = list->next;
		list->next = NULL;
		inside = settle_alone(s, t, list, unsure && s->tail_dirty);
	}
	queue_tell_all(list, unsure && s->tail_dirty ? STORE_UNKNOWN
						     : STORE_NOT_DONE);
	return inside;
}

/*
 * Checkpoints are made here and nowhere else, under the gate and FULL: the only
 * way that SQLite before 3.51.3 loses no commit when several processes write
 * (the WAL-reset bug). docs/design.md, "The write gate".
 */
static bool checkpoint_due(struct store *s)
{
	if (s->wal_frames < s->wal_done)
		s->wal_done = 0; /* the WAL began anew */
	return s->wal_frames - s->wal_done >= LIMIT_WAL_FRAMES_CHECKPOINT;
}

static void checkpoint(struct store *s)
{
	int in_log = 0, done = 0, rc;

	sqlite3_busy_timeout(s->w.db, 0);
	rc = sqlite3_wal_checkpoint_v2(s->w.db, NULL, SQLITE_CHECKPOINT_FULL,
				       &in_log, &done);
	sqlite3_busy_timeout(s->w.db, 1000);
	if (rc != SQLITE_OK && rc != SQLITE_BUSY)
		log_warn("store.checkpoint_failed", "rc=%d text=%s", rc,
			 sqlite3_errmsg(s->w.db));
	s->wal_done = s->wal_frames;
}

static void watch_wal(struct store *s)
{
	int64_t now = clock_boot_ms();

	metric_set(METRIC_STORE_WAL_FRAMES, s->wal_frames);
	if (s->wal_frames < LIMIT_WAL_FRAMES_ALARM ||
	    now - s->wal_warned_ms < 60000)
		return;
	s->wal_warned_ms = now;
	log_warn("store.wal_too_long", "frames=%d help=%s", s->wal_frames,
		 "a reader keeps the log from starting anew; look for a "
		 "foreign process that has the database open");
}

static int on_wal(void *user, sqlite3 *db, const char *name, int frames)
{
	struct store *s = user;

	(void)db;
	(void)name;
	s->wal_frames = frames;
	return SQLITE_OK;
}

/* ---- the thread ---- */

#define STUCK_US                                                               \
	500000 /* of waiting at the gate, before it counts as stuck            \
		*/

static void run_batch(struct store *s, struct txn *t, struct store_op *batch,
		      int64_t began_us)
{
	enum attempt a = attempt(s, t, batch);

	if (a == UNSURE)
		a = attempt(s, t, batch);
	metric_observe_us(METRIC_STORE_COMMIT_US, clock_boot_us() - began_us);
	if (a != COMMITTED) {
		if (settle_each(s, t, batch, s->tail_dirty))
			gate_leave(s->gate);
		return;
	}
	if (!checkpoint_due(s)) {
		gate_leave(s->gate);
		publish(s, t, batch);
	} else {
		publish(s, t, batch);
		checkpoint(s);
		gate_leave(s->gate);
	}
	watch_wal(s);
}

static void one_round(struct store *s, struct txn *t, int64_t gate_by)
{
	struct store_op *batch, *late;
	struct bide_error err = {0};
	int64_t began_us = clock_boot_us();
	int64_t took_ms;
	enum bide_rc rc;

	rc = gate_enter(s->gate, gate_by, &err);
	/* A short deadline that passed says nothing of the gate. */
	if (rc == BIDE_OK || clock_boot_us() - began_us >= STUCK_US)
		health_gate(s, rc == BIDE_BUSY || rc == BIDE_IO, err.text);
	if (rc == BIDE_OK && !file_is_there(s)) {
		gate_leave(s->gate);
		health_disk(s, true, FILE_GONE);
		rc = BIDE_IO;
	}
	if (rc != BIDE_OK) {
		mutex_lock(&s->lock);
		late = queue_take_expired_locked(s);
		if (!late && rc != BIDE_BUSY) /* not in a tight loop */
			cond_wait_ms(&s->slept, &s->lock, 50);
		mutex_unlock(&s->lock);
		queue_tell_all(late, STORE_NOT_DONE);
		return;
	}
	batch = queue_take(s, &late);
	if (batch)
		run_batch(s, t, batch, began_us);
	else
		gate_leave(s->gate);
	queue_tell_all(late, STORE_NOT_DONE);
	took_ms = (clock_boot_us() - began_us) / 1000;
	/* A machine that slept inside a batch says nothing of batches. */
	if (took_ms > s->worst_batch_ms && took_ms <= WORST_BATCH_MS)
		s->worst_batch_ms = took_ms;
}

static void writer_main(void *arg)
{
	struct store *s = arg;
	struct txn t = {0};
	int64_t gate_by;

	while (queue_wait(s, &gate_by))
		one_round(s, &t, gate_by);
	txn_fini(&t);
	mutex_lock(&s->lock);
	s->stopped = true;
	cond_broadcast(&s->slept);
	mutex_unlock(&s->lock);
}

int writer_start(struct store *s)
{
	s->tail = &s->head;
	s->earliest_ms = INT64_MAX;
	sqlite3_wal_hook(s->w.db, on_wal, s);
	sqlite3_busy_timeout(s->w.db, 1000);
	return thread_start(&s->writer, "bide-writer", writer_main, s);
}

void writer_stop(struct store *s, int64_t grace_ms)
{
	if (!s->writer.started)
		return;
	mutex_lock(&s->lock);
	s->closing = true;
	s->close_by_ms = clock_boot_ms() + grace_ms;
	cond_broadcast(&s->more);
	while (!s->stopped && clock_boot_ms() < s->close_by_ms)
		cond_wait_ms(&s->slept, &s->lock,
			     s->close_by_ms - clock_boot_ms());
	mutex_unlock(&s->lock);
	gate_interrupt(s->gate, true);
	thread_join(&s->writer);
}
