/* SPDX-License-Identifier: MIT */
#include "store/sqlite_txn.h"

/*
 * Who is told after a commit: the watch function of this process for tasks
 * that interest it, and peers through their bells. Each task that became READY
 * rings one idle instance that can run it; this one first, for it costs
 * nothing. Source: docs/design.md, "Wake-ups".
 */

bool store_has_tool(const struct store *s, uint64_t hash)
{
	if (s->instance == 0)
		return false;
	for (size_t i = 0; i < s->ntools; i++)
		if (s->tool_hash[i] == hash)
			return true;
	return false;
}

static void watch(struct store *s, enum store_signal what, int64_t task)
{
	if (s->watch_fn)
		s->watch_fn(s->watch_user, what, task);
}

static void tell_local(struct store *s, const struct txn *t)
{
	if (!s->watch_fn)
		return;
	if (t->everything)
		watch(s, STORE_SIGNAL_TASK, 0);
	else
		for (size_t i = 0; i < t->nchanged; i++)
			if (interest_has(s, t->changed[i]))
				watch(s, STORE_SIGNAL_TASK, t->changed[i]);
}

/*
 * Keeps for this instance as many as it has idle workers; the others move to
 * the front of t->ready. Returns how many.
 */
static size_t keep_own_work(struct store *s, struct txn *t)
{
	int idle = s->draining ? 0 : s->idle;
	size_t n = 0;
	bool mine = false;

	for (size_t i = 0; i < t->nready; i++) {
		bool can = !s->draining && store_has_tool(s, t->ready[i]);

		mine |= can;
		if (can && idle > 0)
			idle--;
		else
			t->ready[n++] = t->ready[i];
	}
	if (mine || t->everything)
		watch(s, STORE_SIGNAL_WORK, 0);
	return n;
}

void signal_publish(struct store *s, struct txn *t)
{
	struct peers *p = s->peers;
	size_t work;

	if (t->announced)
		txn_changed(t, STORE_TOPICS);
	work = keep_own_work(s, t);

	if (p && t->everything)
		peers_ring_all(p);
	else if (p && (t->nchanged || work))
		peers_ring(p, t->changed, t->nchanged, t->ready, work);
	else if (!p && (t->everything || t->nchanged || work))
		peers_ring_from_outside(s->path);
	tell_local(s, t);
}
