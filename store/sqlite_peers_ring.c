/* SPDX-License-Identifier: MIT */
/* Choosing whom to wake after a commit, and waking them. */
#include <errno.h>

#include "store/sqlite_peers_impl.h"

/* One call's view of the peers; each is held by a reference. */
struct round {
	struct peers *p;
	size_t n;
	struct peer *peer[LIMIT_INSTANCES];
	int promised[LIMIT_INSTANCES]; /* idle workers given work just now */
	bool rung[LIMIT_INSTANCES];
	bool refused[LIMIT_INSTANCES];
	const int64_t *tasks;
	size_t ntasks;
};

/* Taken under the lock, used after it: sending is I/O. */
static void round_begin(struct round *r, struct peers *p)
{
	r->p = p;
	mutex_lock(&p->lock);
	r->n = p->n;
	for (size_t i = 0; i < r->n; i++) {
		r->peer[i] = p->list[i];
		atomic_fetch_add(&r->peer[i]->refs, 1);
		r->promised[i] = 0;
		r->rung[i] = false;
		r->refused[i] = atomic_load(&r->peer[i]->state) == PEER_ENDED;
	}
	mutex_unlock(&p->lock);
}

static void round_end(struct round *r)
{
	for (size_t i = 0; i < r->n; i++)
		peer_unref(r->peer[i]);
}

/* A receiver that drains between our failure and the flag would not look at
 * the flag before its next poll: so the bell is tried once more after it. */
static int send_or_flag(struct peers *p, struct peer *peer,
			const struct bell_message *m)
{
	int err = bell_send(p->sock, p->dirfd, peer->instance, m);

	if (err != -EAGAIN)
		return err;
	atomic_store(&peer->file.h->overflow, 1);
	err = bell_send(p->sock, p->dirfd, peer->instance, m);
	return err == -EAGAIN ? 0 : err;
}

static bool ring_one(struct round *r, size_t i, const struct bell_message *m)
{
	struct peer *peer = r->peer[i];

	if (!send_or_flag(r->p, peer, m)) {
		r->rung[i] = true;
		return true;
	}
	r->refused[i] = true;
	if (!atomic_exchange(&peer->suspect, true))
		peers_kick(r->p);
	return false;
}

static void message_for(const struct round *r, const struct peer *peer,
			struct bell_message *m)
{
	bell_message_init(m);
	for (size_t i = 0; i < r->ntasks; i++)
		if (instance_file_may_watch(peer->file.h, r->tasks[i]))
			bell_message_add(m, r->tasks[i]);
}

/* ---- work: one idle, capable peer ---- */

static bool can_take(const struct round *r, size_t i, uint64_t tool)
{
	const struct peer *peer = r->peer[i];
	const struct instance_header *h = peer->file.h;
	unsigned flags = atomic_load(&h->flags);

	return !r->refused[i] && atomic_load(&peer->state) == PEER_LIVE &&
	       (flags & INSTANCE_READY) &&
	       !(flags & (INSTANCE_DRAINING | INSTANCE_LEFT)) &&
	       atomic_load(&h->idle) > r->promised[i] &&
	       instance_file_has_tool(h, tool);
}

static bool give_work(struct round *r, size_t i)
{
	struct bell_message m;

	if (!r->rung[i]) {
		message_for(r, r->peer[i], &m);
		m.flags |= BELL_WORK;
		if (!ring_one(r, i, &m))
			return false;
	}
	r->promised[i]++;
	return true;
}

static bool ring_for_work(struct round *r, uint64_t tool)
{
	size_t from = atomic_fetch_add(&r->p->rotation, 1);

	for (size_t k = 0; k < r->n; k++) {
		size_t i = (from + k) % r->n;

		if (can_take(r, i, tool) && give_work(r, i))
			return true;
	}
	return false;
}

/* ---- watchers: all of them ---- */

static void ring_watcher(struct round *r, size_t i, struct bell_message *m)
{
	if (!m->ntasks && !m->flags)
		return;
	/* A stopped one would only fill its queue: it looks at everything when
	 * it goes on. */
	if (atomic_load(&r->peer[i]->state) == PEER_SILENT)
		atomic_store(&r->peer[i]->file.h->overflow, 1);
	else
		ring_one(r, i, m);
}

size_t peers_ring(struct peers *p, const int64_t *tasks, size_t ntasks,
		  const uint64_t *work, size_t nwork)
{
	struct round r;
	struct bell_message m;
	size_t given = 0;

	round_begin(&r, p);
	r.tasks = tasks;
	r.ntasks = ntasks;
	for (size_t i = 0; i < nwork; i++)
		given += ring_for_work(&r, work[i]);
	for (size_t i = 0; i < r.n; i++) {
		if (r.rung[i] || r.refused[i])
			continue;
		message_for(&r, r.peer[i], &m);
		ring_watcher(&r, i, &m);
	}
	round_end(&r);
	return given;
}

void peers_ring_all(struct peers *p)
{
	struct round r;
	struct bell_message m;

	round_begin(&r, p);
	bell_message_init(&m);
	m.flags = BELL_EVERYTHING;
	for (size_t i = 0; i < r.n; i++)
		if (!r.refused[i])
			ring_watcher(&r, i, &m);
	round_end(&r);
}
