/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "server/base/clock.h"
#include "server/base/limits.h"
#include "server/base/log.h"
#include "server/base/metrics.h"
#include "server/security/keyring.h"
#include "server/task/engine_priv.h"

/*
 * Ends and deletes what nobody will end otherwise (rule 9). One small batch at
 * a time, each behind what is queued then, with a rest between two, so that no
 * request waits for it. One instance sweeps: the one that joined first of those
 * that live. Two at once would do no harm.
 */

#define SWEEP_OP_MS       5000
#define SWEEP_REST_MIN_MS 5
#define SWEEP_REST_MAX_MS 1000
#define LEFT_TO_OTHERS    10 /* rounds; then look for ourselves */

/* False: the engine stops or drains. */
static bool rest(struct engine *e, int64_t ms)
{
	int64_t now = clock_boot_ms();
	int64_t until = now + ms;
	bool go;

	mutex_lock(&e->lock);
	for (; !e->stopping && !atomic_load(&e->draining) && now < until;
	     now = clock_boot_ms())
		cond_wait_ms(&e->ending, &e->lock, until - now);
	go = !e->stopping && !atomic_load(&e->draining);
	mutex_unlock(&e->lock);
	return go;
}

/* Somebody else who joined earlier lives. */
static bool left_to_another(struct engine *e)
{
	struct store_peer *peers = NULL;
	int64_t self = store_instance(e->store);
	bool other = false;
	size_t n = 0;

	if (store_peers(e->store, &peers, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		other |= peers[i].alive && !peers[i].draining &&
			 !peers[i].self && peers[i].number < self &&
			 peers[i].lease_left_ms > 0;
	free(peers);
	return other;
}

/* One batch; true: there is more of the kind. */
static bool batch(struct engine *e, enum store_sweep_kind kind, size_t *done)
{
	struct store_op op;

	store_op_init(&op, STORE_OP_SWEEP, SWEEP_OP_MS);
	op.u.sweep.kind = kind;
	op.u.sweep.rows = LIMIT_SWEEP_ROWS;
	if (store_run(e->store, &op))
		return false;
	*done += op.u.sweep.ret_done;
	metric_add(METRIC_TASKS_SWEPT, (int64_t)op.u.sweep.ret_done);
	return op.u.sweep.ret_more;
}

/* As long as the batch took, so that it has half of the writer at most. */
static int64_t rest_ms(int64_t began)
{
	int64_t ms = clock_boot_ms() - began;

	if (ms < SWEEP_REST_MIN_MS)
		return SWEEP_REST_MIN_MS;
	return ms < SWEEP_REST_MAX_MS ? ms : SWEEP_REST_MAX_MS;
}

static bool sweep_kind(struct engine *e, enum store_sweep_kind kind,
		       size_t *done)
{
	int64_t began;
	bool more = true;

	while (more) {
		began = clock_boot_ms();
		more = batch(e, kind, done);
		if (!rest(e, more ? rest_ms(began) : 0))
			return false;
	}
	return true;
}

static void sweep(struct engine *e)
{
	static const enum store_sweep_kind kinds[] = {
		STORE_SWEEP_ABANDONED, STORE_SWEEP_EXPIRED,
		STORE_SWEEP_ENDED,     STORE_SWEEP_CONSUMED,
		STORE_SWEEP_INSTANCES, STORE_SWEEP_TOPICS,
	};
	int64_t began = clock_boot_ms();
	size_t done = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!sweep_kind(e, kinds[i], &done))
			break;
	if (done)
		log_info("sweeper.swept", "rows=%zu ms=%lld", done,
			 (long long)(clock_boot_ms() - began));
}

/* Give or take a quarter, so that instances do not march in step. */
static int64_t jitter(int64_t ms)
{
	uint32_t r;

	security_random(&r, sizeof(r));
	return ms - ms / 4 + (int64_t)(r % 1000) * (ms / 2) / 1000;
}

void sweeper_loop(void *engine)
{
	struct engine *e = engine;
	int left = 0;

	while (rest(e, jitter(e->opt.sweep_interval_ms))) {
		if (left_to_another(e) && ++left < LEFT_TO_OTHERS)
			continue;
		left = 0;
		sweep(e);
	}
}
