/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "server/base/clock.h"
#include "server/base/limits.h"
#include "server/base/metrics.h"
#include "store/sqlite_store.h"

/* The writer's queue: first in, first out, bounded by deadlines. */

void queue_tell(struct store_op *op, enum store_outcome outcome)
{
	op->next = NULL;
	op->outcome = outcome;
	if (outcome == STORE_UNKNOWN)
		metric_add(METRIC_STORE_UNKNOWN, 1);
	if (op->done)
		op->done(op, op->user);
}

void queue_tell_all(struct store_op *list, enum store_outcome outcome)
{
	struct store_op *next;

	for (; list; list = next) {
		next = list->next;
		queue_tell(list, outcome);
	}
}

bool queue_expired(struct store *s, const struct store_op *op)
{
	int64_t now = clock_boot_ms();
	bool over;

	mutex_lock(&s->lock);
	over = s->closing && now >= s->close_by_ms;
	mutex_unlock(&s->lock);
	return over || now >= op->deadline_ms;
}

static void recount_earliest_locked(struct store *s)
{
	mutex_assert_held(&s->lock);
	s->earliest_ms = INT64_MAX;
	for (const struct store_op *op = s->head; op; op = op->next)
		if (op->deadline_ms < s->earliest_ms)
			s->earliest_ms = op->deadline_ms;
}

static bool over_locked(const struct store *s)
{
	return s->closing && clock_boot_ms() >= s->close_by_ms;
}

struct store_op *queue_take_expired_locked(struct store *s)
{
	struct store_op *out = NULL, **tail = &out, **at = &s->head, *op;
	int64_t now = clock_boot_ms();
	bool all = over_locked(s);

	while ((op = *at)) {
		if (!all && op->deadline_ms > now) {
			at = &op->next;
			continue;
		}
		*at = op->next;
		op->next = NULL;
		*tail = op;
		tail = &op->next;
	}
	s->tail = at;
	recount_earliest_locked(s);
	return out;
}

static struct store_op *take_batch_locked(struct store *s)
{
	struct store_op *out = s->head, **at = &s->head;

	for (int n = 0; *at && n < LIMIT_BATCH_OPS; n++)
		at = &(*at)->next;
	s->head = *at;
	*at = NULL;
	if (!s->head)
		s->tail = &s->head;
	recount_earliest_locked(s);
	return out;
}

bool queue_wait(struct store *s, int64_t *ret_gate_by)
{
	bool work;

	mutex_lock(&s->lock);
	while (!s->head && !s->closing)
		cond_wait(&s->more, &s->lock);
	work = s->head != NULL;
	*ret_gate_by = s->earliest_ms;
	if (s->closing && s->close_by_ms < *ret_gate_by)
		*ret_gate_by = s->close_by_ms;
	mutex_unlock(&s->lock);
	return work;
}

struct store_op *queue_take(struct store *s, struct store_op **ret_expired)
{
	struct store_op *batch = NULL;

	*ret_expired = NULL;
	mutex_lock(&s->lock);
	if (s->earliest_ms <= clock_boot_ms() || over_locked(s))
		*ret_expired = queue_take_expired_locked(s);
	if (s->head)
		batch = take_batch_locked(s);
	mutex_unlock(&s->lock);
	return batch;
}

/* ---- submitting ---- */

void store_op_init(struct store_op *op, enum store_op_kind kind,
		   int64_t timeout_ms)
{
	memset(op, 0, sizeof *op);
	op->kind = kind;
	sqlite3_randomness(sizeof op->id, op->id);
	op->deadline_ms = clock_boot_ms() + timeout_ms;
}

void store_submit(struct store *s, struct store_op *op)
{
	bool accepted, first;

	op->next = NULL;
	op->submitted_ms = store_now_ms(s);
	mutex_lock(&s->lock);
	accepted = !s->closing && !s->read_only;
	first = !s->head;
	if (accepted) {
		*s->tail = op;
		s->tail = &op->next;
		if (op->deadline_ms < s->earliest_ms)
			s->earliest_ms = op->deadline_ms;
	}
	mutex_unlock(&s->lock);
	if (!accepted)
		queue_tell(op, STORE_NOT_DONE);
	else if (first)
		cond_signal(&s->more);
}

struct waiting {
	struct mutex lock;
	struct cond cond;
	bool done;
};

static void wake_waiting(struct store_op *op, void *user)
{
	struct waiting *w = user;

	(void)op;
	mutex_lock(&w->lock);
	w->done = true;
	cond_signal(&w->cond);
	mutex_unlock(&w->lock);
}

enum bide_rc store_run(struct store *s, struct store_op *op)
{
	void (*done)(struct store_op *, void *) = op->done;
	void *user = op->user;
	struct waiting w = {.done = false};

	mutex_init(&w.lock, RANK_LEAF);
	cond_init(&w.cond);
	op->done = wake_waiting;
	op->user = &w;
	store_submit(s, op);
	mutex_lock(&w.lock);
	while (!w.done)
		cond_wait(&w.cond, &w.lock);
	mutex_unlock(&w.lock);
	cond_fini(&w.cond);
	mutex_fini(&w.lock);
	op->done = done;
	op->user = user;
	if (op->outcome == STORE_NOT_DONE)
		return BIDE_BUSY;
	return op->outcome == STORE_UNKNOWN ? BIDE_UNKNOWN : BIDE_OK;
}

enum bide_rc writer_job(struct store *s, struct store_job *job,
			int64_t timeout_ms)
{
	void (*run)(struct txn *, struct store_job *) = job->run;

	store_op_init(&job->op, (enum store_op_kind)0, timeout_ms);
	job->run = run;
	return store_run(s, &job->op);
}
