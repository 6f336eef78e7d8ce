/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/sqlite_store.h"
#include "tests/unit/store/lib/contract.h"

/*
 * Threads on two instances do what comes into their heads to the same few
 * tasks: claims, steps, parks, answers, cancels, crashes, sweeps. Afterwards
 * the rows must fit together, whatever happened.
 */

#define THREADS 6
#define MOVES   400
#define TASKS   12

struct actor {
	pthread_t id;
	struct store *s;
	unsigned seed;
	struct store_fence held[8];
	size_t nheld;
	int odd; /* outcomes that must not be */
};

static unsigned draw(struct actor *a, unsigned n)
{
	return (unsigned)rand_r(&a->seed) % n;
}

/* The answer, or 0 and one more odd thing. */
static enum store_answer run(struct actor *a, struct store_op *op)
{
	if (store_run(a->s, op) == BIDE_OK)
		return op->answer;
	a->odd++;
	return (enum store_answer)0;
}

static void token_of(struct actor *a, char out[16])
{
	snprintf(out, 16, "task-%u", draw(a, TASKS));
}

static void create(struct actor *a)
{
	struct store_op op;
	char token[16];

	token_of(a, token);
	draw_create(&op, token);
	op.u.create.claim = draw(a, 2) && a->nheld < 8;
	op.u.create.ttl_ms = draw(a, 3) ? -1 : 5;
	op.u.create.abandon_ms = draw(a, 3) ? -1 : 5;
	op.u.create.waiting_ms = draw(a, 3) ? 0 : 5;
	op.u.create.grace_ms = 2;
	if (run(a, &op) == STORE_CREATED && op.u.create.claim)
		a->held[a->nheld++] = op.u.create.ret_fence;
}

static void claim(struct actor *a)
{
	struct store_op op;

	store_op_init(&op, STORE_OP_CLAIM, DRAW_MS);
	op.u.claim.n = 1 + draw(a, 2);
	op.u.claim.ret_fences = &a->held[a->nheld];
	if (a->nheld + op.u.claim.n > 8)
		return;
	if (run(a, &op) == STORE_OK)
		a->nheld += op.u.claim.ret_n;
}

static void drop(struct actor *a, size_t i)
{
	a->held[i] = a->held[--a->nheld];
}

static void park(struct actor *a, enum store_op_kind kind)
{
	size_t i = a->nheld ? draw(a, (unsigned)a->nheld) : 0;
	char keys[2][16], requests[2][24];
	struct store_ask asks[2];
	struct store_op op;

	if (!a->nheld)
		return;
	for (int k = 0; k < 2; k++) {
		snprintf(keys[k], sizeof keys[k], "q%u", draw(a, 3));
		snprintf(requests[k], sizeof requests[k], "{\"v\":%u}",
			 draw(a, 2));
		asks[k] = (struct store_ask){keys[k], STORE_INPUT_FORM,
					     requests[k],
					     draw(a, 2) ? 0 : 1 + draw(a, 9)};
	}
	store_op_init(&op, kind, DRAW_MS);
	op.u.park.fence = a->held[i];
	op.u.park.asks = asks;
	op.u.park.nasks = draw(a, 3);
	if (kind == STORE_OP_PARK && draw(a, 2))
		op.u.park.wake_at_ms = store_now_ms(a->s) + draw(a, 8);
	run(a, &op);
	if (op.answer == STORE_LOST || op.answer == STORE_PARKED)
		drop(a, i);
}

static void write_claim(struct actor *a, unsigned what)
{
	size_t i = a->nheld ? draw(a, (unsigned)a->nheld) : 0;
	struct store_op op;
	char key[16];

	if (!a->nheld)
		return;
	snprintf(key, sizeof key, "s%u", draw(a, 50));
	if (what == 0) {
		store_op_init(&op, STORE_OP_STEP, DRAW_MS);
		op.u.step.fence = a->held[i];
		op.u.step.step.key = key;
		op.u.step.step.result = "1";
	} else if (what == 1) {
		store_op_init(&op, STORE_OP_FINISH, DRAW_MS);
		op.u.finish.fence = a->held[i];
		op.u.finish.state = draw(a, 2) ? STORE_COMPLETED : STORE_FAILED;
		op.u.finish.payload = "{}";
	} else {
		store_op_init(&op, STORE_OP_RELEASE, DRAW_MS);
		op.u.release.fence = a->held[i];
		op.u.release.why =
			draw(a, 2) ? STORE_RELEASE_CRASH : STORE_RELEASE_YIELD;
		op.u.release.not_before_ms = draw(a, 3);
	}
	run(a, &op);
	if (what == 0)
		free(op.u.step.ret_result);
	if (what != 0 || op.answer == STORE_LOST)
		drop(a, i);
}

static void answer(struct actor *a)
{
	struct store_answer_in in[2];
	char token[16], keys[2][32];
	struct store_op op;

	token_of(a, token);
	for (int k = 0; k < 2; k++) {
		unsigned n = draw(a, 4);

		if (n < 2)
			snprintf(keys[k], sizeof keys[k], "q%u", draw(a, 3));
		else
			snprintf(keys[k], sizeof keys[k], "q%u~%u", draw(a, 3),
				 n);
		in[k] = (struct store_answer_in){keys[k], "1", draw(a, 4) == 0,
						 (enum store_answer)0};
	}
	store_op_init(&op, STORE_OP_ANSWER, DRAW_MS);
	op.u.answer.token = token;
	op.u.answer.principal = draw(a, 5) ? "alice" : "bob";
	op.u.answer.answers = in;
	op.u.answer.n = 1 + draw(a, 2);
	run(a, &op);
}

static void disturb(struct actor *a, unsigned what)
{
	struct store_op op;
	char token[16];

	token_of(a, token);
	if (what == 0) {
		store_op_init(&op, STORE_OP_CANCEL, DRAW_MS);
		op.u.cancel.token = token;
	} else if (what == 1) {
		store_op_init(&op, STORE_OP_SWEEP, DRAW_MS);
		op.u.sweep.kind = (enum store_sweep_kind)(1 + draw(a, 4));
		op.u.sweep.rows = 1 + draw(a, 5);
	} else if (what == 2) {
		store_op_init(&op, STORE_OP_REAP, DRAW_MS);
		op.u.reap.instance = store_instance(a->s);
		op.u.reap.crashed = draw(a, 2);
	} else {
		store_op_init(&op, STORE_OP_STEER, DRAW_MS);
		op.u.steer.token = token;
		op.u.steer.seen_state = (enum store_state)(1 + draw(a, 5));
		op.u.steer.seen_epoch = draw(a, 4);
		op.u.steer.move = (enum store_move)(1 + draw(a, 4));
		op.u.steer.answer.wire_key = "q1";
		op.u.steer.answer.answer = "2";
	}
	run(a, &op);
}

static void touch_some(struct actor *a)
{
	struct store_task *t = NULL;
	struct store_op op;
	char token[16];

	token_of(a, token);
	if (store_get(a->s, token, "alice", STORE_GET_REPLAY, 0, &t) != BIDE_OK)
		return;
	store_op_init(&op, STORE_OP_TOUCH, DRAW_MS);
	op.u.touch.task = t->id;
	op.u.touch.what = (enum store_touch_what)(1 + draw(a, 4));
	op.u.touch.ms = draw(a, 10);
	store_task_free(t);
	run(a, &op);
}

static void *act(void *arg)
{
	struct actor *a = arg;

	for (int i = 0; i < MOVES; i++) {
		unsigned what = draw(a, 24);

		if (what < 5)
			create(a);
		else if (what < 8)
			claim(a);
		else if (what < 11)
			park(a, STORE_OP_PARK);
		else if (what < 12)
			park(a, STORE_OP_ASK);
		else if (what < 17)
			write_claim(a, what < 14 ? 0 : what - 14);
		else if (what < 20)
			answer(a);
		else if (what < 22)
			touch_some(a);
		else
			disturb(a, draw(a, 8));
	}
	return NULL;
}

/* Each counts rows that must not be. */
static const char *const invariants[] = {
	"SELECT count(*) FROM task t WHERE open <> (SELECT count(*) FROM input "
	"WHERE task = t.id AND state = 1)",
	"SELECT count(*) FROM task WHERE (state = 1) <> (ready_at IS NOT NULL)",
	"SELECT count(*) FROM task WHERE (state = 2) <> (owner IS NOT NULL)",
	/* Somebody or something wakes it. */
	"SELECT count(*) FROM task WHERE state = 3 AND open = 0 AND "
	"wake_at IS NULL",
	"SELECT count(*) FROM task t WHERE state = 3 AND wake_at IS NOT "
	"(SELECT min(at) FROM (SELECT t.timer_at AS at UNION ALL SELECT "
	"deadline_ms FROM input WHERE task = t.id AND state = 1) WHERE at > 0)",
	"SELECT count(*) FROM task WHERE state <> 3 AND (wake_at IS NOT NULL "
	"OR timer_at IS NOT NULL)",
	"SELECT count(*) FROM task WHERE (state > 3) <> (ended_ms IS NOT NULL)",
	"SELECT count(*) FROM task WHERE (state > 3) <> (purge_at IS NOT NULL)",
	"SELECT count(*) FROM task WHERE state > 3 AND (abandon_at IS NOT NULL "
	"OR expire_at IS NOT NULL OR open > 0)",
	"SELECT count(*) FROM task t WHERE (state IN (4, 5)) <> EXISTS "
	"(SELECT 1 FROM task_result WHERE task = t.id)",
	"SELECT count(*) FROM task WHERE crashes >= 3 AND state < 4",
	"SELECT abs((SELECT coalesce(sum(live), 0) FROM quota) - "
	"(SELECT count(*) FROM task WHERE state < 4))",
	"SELECT count(*) FROM input WHERE task NOT IN (SELECT id FROM task)",
	"SELECT count(*) FROM step WHERE task NOT IN (SELECT id FROM task)",
	"SELECT count(*) FROM event WHERE task NOT IN (SELECT id FROM task)",
	"SELECT count(*) FROM task_data WHERE task NOT IN (SELECT id FROM "
	"task)",
	"SELECT count(*) FROM input WHERE (state = 2) <> (answer IS NOT NULL)",
	/* One claim an epoch, and epochs in their order. */
	"SELECT count(*) FROM (SELECT 1 FROM event WHERE kind = 2 GROUP BY "
	"task, epoch HAVING count(*) > 1)",
	"SELECT count(*) FROM (SELECT epoch - lag(epoch) OVER (PARTITION BY "
	"task ORDER BY seq) AS up FROM event) WHERE up < 0",
};

static void check(const struct contract *c, unsigned seed)
{
	sqlite3 *db = NULL;
	int bad = 0;

	assert_int_equal(sqlite3_open_v2(c->url + strlen("sqlite:"), &db,
					 SQLITE_OPEN_READONLY, NULL),
			 SQLITE_OK);
	for (size_t i = 0; i < sizeof invariants / sizeof *invariants; i++) {
		sqlite3_stmt *st = NULL;

		assert_int_equal(
			sqlite3_prepare_v2(db, invariants[i], -1, &st, NULL),
			SQLITE_OK);
		assert_int_equal(sqlite3_step(st), SQLITE_ROW);
		if (sqlite3_column_int(st, 0) != 0) {
			print_error("seed %u: %d of %s\n", seed,
				    sqlite3_column_int(st, 0), invariants[i]);
			bad++;
		}
		sqlite3_finalize(st);
	}
	sqlite3_close(db);
	assert_int_equal(bad, 0);
}

static void storm(struct pair *p, unsigned seed)
{
	static struct actor a[THREADS];

	memset(a, 0, sizeof a);
	for (unsigned i = 0; i < THREADS; i++) {
		a[i].s = i & 1 ? p->a : p->b;
		a[i].seed = seed * 100 + i;
		assert_int_equal(pthread_create(&a[i].id, NULL, act, &a[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(a[i].id, NULL);
		assert_int_equal(a[i].odd, 0);
	}
	check(&p->c, seed);
}

static void test_storm__leaves_rows_that_fit(void **state)
{
	const char *more = getenv("BIDE_STORM_SEEDS");
	unsigned seeds = more ? (unsigned)strtoul(more, NULL, 10) : 4;
	struct pair *p = *state;

	for (unsigned seed = 1; seed <= seeds; seed++)
		storm(p, seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pair_test(test_storm__leaves_rows_that_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
