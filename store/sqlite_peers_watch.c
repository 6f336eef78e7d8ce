/* SPDX-License-Identifier: MIT */
/*
 * The bell thread: hears the bell, watches over the peers, and calls back.
 *
 * A peer goes from LIVE to SILENT when its lease ran out while its process
 * lives, and back when it beats again; from either to ENDED when its pidfd
 * says so or its flock is free. Source: docs/design.md, rule 3.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/log.h"
#include "store/sqlite_peers_impl.h"

/* Rounds a lease: far enough below two, which is what makes a reaper late. */
#define ROUNDS 4

enum { POLL_KICK, POLL_BELL, POLL_DIR, POLL_PEERS };

void peers_kick(struct peers *p)
{
	uint64_t one = 1;
	ssize_t n = write(p->kick, &one, sizeof(one));

	(void)n; /* EAGAIN: it is kicked already */
}

void peer_unref(struct peer *peer)
{
	if (!peer || atomic_fetch_sub(&peer->refs, 1) > 1)
		return;
	instance_file_unmap(&peer->file);
	if (peer->pidfd >= 0)
		close(peer->pidfd);
	free(peer);
}

/* ---- the list ---- */

/* p->n when it is not there. */
static size_t find(const struct peers *p, int64_t instance)
{
	size_t i = 0;

	while (i < p->n && p->list[i]->instance != instance)
		i++;
	return i;
}

static void drop(struct peers *p, size_t i)
{
	struct peer *gone = p->list[i];

	mutex_lock(&p->lock);
	p->list[i] = p->list[--p->n];
	mutex_unlock(&p->lock);
	peer_unref(gone);
}

static void end(struct peer *peer)
{
	unsigned flags = atomic_load(&peer->file.h->flags);
	bool this_boot = !strncmp(peer->file.h->boot_id, clock_boot_id(),
				  sizeof(peer->file.h->boot_id));

	/* What a power cut took down, no task of it did. */
	peer->crashed = this_boot && !(flags & INSTANCE_DRAINING);
	atomic_store(&peer->state, PEER_ENDED);
	/* One that left has nothing that would have to be returned. */
	peer->told = flags & INSTANCE_LEFT;
	if (peer->told)
		atomic_store(&peer->burial, BURIAL_DONE);
}

static struct peer *peer_new(struct peers *p, int64_t instance)
{
	struct peer *peer = calloc(1, sizeof(*peer));
	struct proc_id who;

	if (!peer)
		return NULL;
	peer->pidfd = -1;
	peer->instance = instance;
	atomic_init(&peer->refs, 1);
	if (instance_file_map(p->dirfd, instance, &peer->file)) {
		free(peer);
		return NULL;
	}
	instance_file_who(peer->file.h, &who);
	peer->pidfd = proc_open(&who);
	/* Gone for certain; other failures leave it to the flock. */
	if (peer->pidfd == -ESRCH || !instance_file_held(p->dirfd, instance))
		end(peer);
	return peer;
}

static void add(struct peers *p, int64_t instance)
{
	struct peer *peer;

	if (p->n == LIMIT_INSTANCES) {
		if (!p->full_reported)
			log_error("peers.too_many", "limit=%d",
				  LIMIT_INSTANCES);
		p->full_reported = true;
		return;
	}
	peer = peer_new(p, instance);
	if (!peer)
		return;
	mutex_lock(&p->lock);
	p->list[p->n++] = peer;
	mutex_unlock(&p->lock);
}

/* ---- the directory ---- */

static bool same_file(struct peers *p, const struct peer *peer)
{
	return instance_file_ino(p->dirfd, peer->instance) == peer->file.ino;
}

/* Another file under a known number: made again by its process, or another
 * process's on a restored database. Either way this is the instance now. */
static void replace(struct peers *p, size_t i)
{
	struct peer *old = p->list[i], *peer = peer_new(p, old->instance);

	if (!peer)
		return;
	mutex_lock(&p->lock);
	p->list[i] = peer;
	mutex_unlock(&p->lock);
	peer_unref(old);
}

/* Its file is gone: it left, or another survivor has buried it; or somebody
 * removed the file of a live one, who will make it again and is watched by
 * what is still mapped and by its pidfd. */
static void without_file(struct peers *p, size_t i)
{
	struct peer *peer = p->list[i];
	int state = atomic_load(&peer->state);

	if (state == PEER_ENDED || (state == PEER_SILENT && peer->pidfd < 0) ||
	    (atomic_load(&peer->file.h->flags) & INSTANCE_LEFT))
		drop(p, i);
}

static void scan_entry(struct peers *p, const char *name)
{
	int64_t instance = instance_file_number(name);
	size_t i;

	if (instance == 0 || instance == p->opt.instance)
		return;
	i = find(p, instance);
	if (i == p->n)
		add(p, instance);
	else if (!same_file(p, p->list[i]))
		replace(p, i);
	if (i < p->n)
		p->list[i]->seen = true;
}

static void scan(struct peers *p)
{
	int fd = openat(p->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return; /* no descriptor, no memory: at the next poll */
	}
	for (size_t i = 0; i < p->n; i++)
		p->list[i]->seen = false;
	while ((e = readdir(d)))
		scan_entry(p, e->d_name);
	closedir(d);
	for (size_t i = p->n; i-- > 0;)
		if (!p->list[i]->seen)
			without_file(p, i);
}

static bool dir_changed(struct peers *p)
{
	char events[4096];
	bool changed = false;

	while (p->inotify >= 0 && read(p->inotify, events, sizeof(events)) > 0)
		changed = true;
	return changed;
}

/* ---- life and death ---- */

static void probe(struct peers *p, struct peer *peer)
{
	if (atomic_load(&peer->state) != PEER_ENDED && same_file(p, peer) &&
	    instance_file_held(p->dirfd, peer->instance) == 0)
		end(peer);
}

static void probe_suspects(struct peers *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (atomic_exchange(&p->list[i]->suspect, false))
			probe(p, p->list[i]);
}

static void probe_all(struct peers *p)
{
	for (size_t i = 0; i < p->n; i++)
		probe(p, p->list[i]);
}

static void set_silent(struct peers *p, struct peer *peer)
{
	atomic_store(&peer->state, PEER_SILENT);
	log_warn("peers.silent", "instance=%lld pid=%lld",
		 (long long)peer->instance, (long long)peer->file.h->pid);
	p->opt.on_dead(p->opt.user, peer->instance, false);
}

/* By the time at which the round began and was not late: what has kept this
 * thread since then may have kept the peers. */
static void judge(struct peers *p, int64_t now)
{
	for (size_t i = 0; i < p->n; i++) {
		struct peer *peer = p->list[i];
		int state = atomic_load(&peer->state);
		bool beats = atomic_load(&peer->file.h->lease_until_ms) >= now;

		if (state == PEER_SILENT && beats) {
			atomic_store(&peer->state, PEER_LIVE);
			log_info("peers.back", "instance=%lld",
				 (long long)peer->instance);
		} else if (state == PEER_LIVE && !beats) {
			set_silent(p, peer);
		}
	}
}

static void tell_deaths(struct peers *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct peer *peer = p->list[i];

		if (atomic_load(&peer->state) != PEER_ENDED || peer->told)
			continue;
		peer->told = true;
		atomic_store(&peer->burial, BURIAL_NONE);
		log_warn("peers.ended", "instance=%lld pid=%lld crashed=%d",
			 (long long)peer->instance,
			 (long long)peer->file.h->pid, peer->crashed);
		p->opt.on_dead(p->opt.user, peer->instance, peer->crashed);
	}
}

/* @again: a poll is due, and so is what could not be made durable before. */
static void bury(struct peers *p, bool again)
{
	for (size_t i = p->n; i-- > 0;) {
		struct peer *peer = p->list[i];
		int burial = atomic_load(&peer->burial);

		if (atomic_load(&peer->state) != PEER_ENDED) {
			/* The store's word on a silence. */
			if (burial != BURIAL_NONE)
				atomic_store(&peer->burial, BURIAL_NONE);
		} else if (burial == BURIAL_DONE && peer->told) {
			if (!same_file(p, peer) ||
			    !instance_file_bury(p->dirfd, peer->instance))
				drop(p, i);
		} else if (burial == BURIAL_AGAIN && again) {
			atomic_store(&peer->burial, BURIAL_NONE);
			peer->told = false;
		}
	}
}

/* ---- the loop ---- */

static int64_t round_ms(const struct peers *p)
{
	int64_t ms = p->opt.lease_ms / ROUNDS;

	return ms < p->opt.poll_ms ? ms : p->opt.poll_ms;
}

/* Marks the peers whose pidfd is readable. */
static void wait_events(struct peers *p)
{
	struct pollfd fds[POLL_PEERS + LIMIT_INSTANCES];
	int64_t left = p->next_poll_ms - clock_boot_ms();
	size_t n = p->n;
	uint64_t kicks;

	fds[POLL_KICK] = (struct pollfd){.fd = p->kick, .events = POLLIN};
	fds[POLL_BELL] = (struct pollfd){.fd = p->sock, .events = POLLIN};
	fds[POLL_DIR] = (struct pollfd){.fd = p->inotify, .events = POLLIN};
	for (size_t i = 0; i < n; i++) {
		bool ended = atomic_load(&p->list[i]->state) == PEER_ENDED;

		fds[POLL_PEERS + i] = (struct pollfd){
			.fd = ended ? -1 : p->list[i]->pidfd, .events = POLLIN};
	}
	if (left > round_ms(p))
		left = round_ms(p);
	if (poll(fds, POLL_PEERS + n, (int)clock_nap_ms(left)) <= 0)
		return;
	if (fds[POLL_KICK].revents && read(p->kick, &kicks, sizeof(kicks)) < 0)
		log_debug("peers.kick", "errno=%d", errno);
	for (size_t i = 0; i < n; i++)
		if (fds[POLL_PEERS + i].revents & POLLIN)
			end(p->list[i]);
}

/*
 * A reaper that was itself late does not reap: whatever kept this thread may
 * have kept the peers, whose beats then need a moment to come. And while it
 * was away, bells may have been missed. Returns whether it was late.
 */
static bool begin_round(struct peers *p, int64_t now)
{
	bool late = now - p->last_round_ms > p->opt.lease_ms / 2;

	if (late)
		p->judge_from_ms = now + p->opt.lease_ms / 2;
	p->last_round_ms = now;
	return late;
}

static void deliver(struct peers *p, bool everything)
{
	struct bell_heard heard = {
		.tasks = p->heard,
		.cap = sizeof(p->heard) / sizeof(p->heard[0]),
		.everything = everything,
	};

	bell_drain(p->sock, &heard);
	/* After draining: a sender that found the queue full sets it first. */
	if (atomic_exchange(&p->own.h->overflow, 0))
		heard.everything = true;
	if (heard.everything || heard.work || heard.n)
		p->opt.on_bell(p->opt.user, heard.tasks, heard.n,
			       heard.work || heard.everything,
			       heard.everything);
}

static void watch_peers(struct peers *p, bool due, int64_t now)
{
	bool changed = dir_changed(p);

	probe_suspects(p);
	if (due) {
		peers_restore(p);
		probe_all(p);
	}
	if (due || changed)
		scan(p);
	if (now >= p->judge_from_ms)
		judge(p, now);
	tell_deaths(p);
	bury(p, due);
}

static void one_round(struct peers *p)
{
	int64_t now = clock_boot_ms();
	bool late = begin_round(p, now);
	bool due = now >= p->next_poll_ms;

	deliver(p, late);
	watch_peers(p, due, now);
	if (!due)
		return;
	p->next_poll_ms = now + p->opt.poll_ms;
	p->opt.on_poll(p->opt.user);
}

void peers_bell_main(void *arg)
{
	struct peers *p = arg;

	/* One that has just come judges nobody by a silence it did not watch:
	 * the peers may have been woken together with it. */
	p->last_round_ms = clock_boot_ms();
	p->judge_from_ms = p->last_round_ms + p->opt.lease_ms / 2;
	p->next_poll_ms = p->last_round_ms + p->opt.poll_ms;
	deliver(p, true);
	scan(p);
	watch_peers(p, true, p->last_round_ms);
	while (!atomic_load(&p->stop)) {
		wait_events(p);
		if (!atomic_load(&p->stop))
			one_round(p);
	}
}
