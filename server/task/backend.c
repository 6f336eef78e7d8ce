/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "server/base/log.h"
#include "server/base/metrics.h"
#include "server/task/asks.h"
#include "server/task/engine_priv.h"

/* Where a task's handler keeps its record: in the store, under its claim. */

static struct work *work_of(const struct bide_call *c)
{
	return run_backend_data(c);
}

/*
 * Only this claim can have written the key under this epoch, so SAME is our
 * own operation found again, or a step that was there when the record was read
 * and was then given another result: nothing may go on from that.
 */
static enum bide_rc step_same(struct work *w, struct store_step *u)
{
	bool same = u->ret_result && !strcmp(u->ret_result, u->step.result);

	free(u->ret_result);
	u->ret_result = NULL;
	if (same)
		return BIDE_OK;
	log_error("task.step_differs", "task=%lld epoch=%lld step=%s",
		  (long long)w->fence.task, (long long)w->fence.epoch,
		  u->step.key);
	claims_doubt(w->e);
	return BIDE_LOST;
}

static enum bide_rc step(struct bide_call *c, const char *key,
			 const char *result)
{
	struct work *w = work_of(c);
	struct store_op op;
	enum bide_rc rc;

	store_op_init(&op, STORE_OP_STEP, WRITE_MS);
	op.u.step.fence = w->fence;
	op.u.step.step = (struct store_step_in){key, result};
	rc = work_write(w, &op);
	if (!rc && op.answer == STORE_SAME)
		rc = step_same(w, &op.u.step);
	return rc;
}

static enum bide_rc publish(struct bide_call *c)
{
	struct work *w = work_of(c);
	struct asks asks = {0};
	struct store_op op;
	enum bide_rc rc;

	rc = asks_of(c, engine_input_deadline_ms(w->e, &w->tool->target),
		     &asks);
	if (!rc && asks.n) {
		store_op_init(&op, STORE_OP_ASK, WRITE_MS);
		op.u.park.fence = w->fence;
		op.u.park.asks = asks.v;
		op.u.park.nasks = asks.n;
		rc = work_write(w, &op);
	}
	asks_fini(&asks);
	return rc;
}

static void progress(struct bide_call *c, double value, double total,
		     const char *message)
{
	note_progress(work_of(c), value, total, message);
}

static void log_line(struct bide_call *c, int level, const char *logger,
		     const char *data)
{
	note_log(work_of(c), level, logger, data);
}

static void status(struct bide_call *c, const char *text)
{
	note_status(work_of(c), text);
}

static enum bide_rc announce(struct bide_call *c, enum bide_changed what,
			     const char *uri)
{
	return topic_announce(work_of(c)->e->store, what, uri);
}

static int64_t now_ms(struct bide_call *c)
{
	return store_now_ms(work_of(c)->e->store);
}

static bool draining(struct bide_call *c)
{
	return engine_draining(work_of(c)->e);
}

const struct run_backend backend_task = {
	.step = step,
	.publish = publish,
	.progress = progress,
	.log = log_line,
	.status = status,
	.announce = announce,
	.now_ms = now_ms,
	.draining = draining,
};
