/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "server/base/clock.h"
#include "server/base/fault.h"
#include "server/base/log.h"
#include "server/base/metrics.h"
#include "store/sqlite_txn.h"

/* How far ahead of the written times "clock_high" is kept: one more row
 * written in so many milliseconds, and the largest step of the clock that a
 * reboot with a slow wall clock can cause. */
#define CLOCK_AHEAD_MS 5000

void txn_fini(struct txn *t)
{
	free(t->changed);
	free(t->ready);
	t->changed = NULL;
	t->ready = NULL;
	t->nchanged = t->changed_cap = 0;
	t->nready = t->ready_cap = 0;
}

/* Empties what an earlier transaction left, keeping the memory. */
static void forget(struct txn *t)
{
	t->nchanged = 0;
	t->nready = 0;
	t->announced = false;
	t->everything = false;
	t->nomem = false;
}

bool txn_begin(struct txn *t, struct store *s)
{
	t->s = s;
	t->c = &s->w;
	forget(t);
	sql_clear(t->c);
	t->changes_before = sqlite3_total_changes64(t->c->db);
	return sql_run(t->c, SQL_TXN_BEGIN, "") >= 0;
}

void txn_tick(struct txn *t)
{
	t->now_ms = store_now_ms(t->s);
}

int64_t txn_seq(struct txn *t)
{
	int64_t now = store_now_us(t->s);

	if (now <= t->s->last_seq)
		now = t->s->last_seq + 1;
	t->s->last_seq = now;
	return now;
}

/*
 * The whole transaction is gone after SQLITE_FULL and I/O errors, whatever
 * statement they struck: sqlite.org/lang_transaction.html, section 4.
 */
bool txn_ok(const struct txn *t)
{
	return t->c->rc == SQLITE_OK && !t->nomem &&
	       !sqlite3_get_autocommit(t->c->db);
}

void txn_rollback(struct txn *t)
{
	sql_clear(t->c);
	if (!sqlite3_get_autocommit(t->c->db))
		sql_run(t->c, SQL_TXN_ROLLBACK, "");
	sql_clear(t->c);
	forget(t);
}

/* No time above clock_high stands in the database: a reboot starts there. */
static int64_t raise_clock(struct txn *t)
{
	int64_t high = t->s->clock_high;

	if (t->now_ms <= high)
		return high;
	high = t->now_ms + CLOCK_AHEAD_MS;
	sql_run(t->c, SQL_META_RAISE, "si", "clock_high", high);
	return high;
}

static bool commit(struct txn *t)
{
	if (FAULT("store.before_commit")) {
		t->c->rc = SQLITE_IOERR;
		return false;
	}
	return sql_run(t->c, SQL_TXN_COMMIT, "") >= 0;
}

/*
 * After a failed COMMIT the frames may stand in the WAL and come back with a
 * crash, though this transaction is rolled back: its outcome is unknown. They
 * are overwritten by the next transaction that writes; until one has, nothing
 * is acknowledged. Source: docs/design.md, "A failed COMMIT".
 */
enum bide_rc txn_commit(struct txn *t)
{
	struct store *s = t->s;
	bool wrote = sqlite3_total_changes64(t->c->db) != t->changes_before;
	int64_t high = s->clock_high;

	if (s->tail_dirty)
		sql_run(t->c, SQL_META_SCRUB, "");
	if (wrote)
		high = raise_clock(t);
	if (!txn_ok(t))
		return BIDE_IO;
	if (!commit(t)) {
		log_error("store.commit_failed", "rc=%d text=%s", t->c->rc,
			  sqlite3_errmsg(t->c->db));
		s->tail_dirty = true;
		return BIDE_UNKNOWN;
	}
	s->tail_dirty = false;
	s->clock_high = high;
	metric_add(METRIC_STORE_COMMITS, 1);
	return BIDE_OK;
}

/* The array with room for one more than @n; NULL without memory. */
static void *grow(void *array, size_t *cap, size_t n, size_t size)
{
	size_t more = *cap ? *cap * 2 : 64;
	void *p;

	if (n < *cap)
		return array;
	p = realloc(array, more * size);
	if (p)
		*cap = more;
	return p;
}

void txn_changed(struct txn *t, int64_t task)
{
	int64_t *p;

	if (t->nchanged && t->changed[t->nchanged - 1] == task)
		return;
	p = grow(t->changed, &t->changed_cap, t->nchanged, sizeof *p);
	if (!p) {
		t->everything = true;
		return;
	}
	t->changed = p;
	p[t->nchanged++] = task;
}

void txn_ready(struct txn *t, uint64_t tool_hash)
{
	uint64_t *p;

	p = grow(t->ready, &t->ready_cap, t->nready, sizeof *p);
	if (!p) {
		t->everything = true;
		return;
	}
	t->ready = p;
	p[t->nready++] = tool_hash;
}
