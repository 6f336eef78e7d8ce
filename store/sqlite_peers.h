/* SPDX-License-Identifier: MIT */
#ifndef STORE_SQLITE_PEERS_H
#define STORE_SQLITE_PEERS_H
#include "bide/types.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/*
 * The instances on one database: who they are, whether they live, and the bell
 * by which one wakes another. Nothing here opens the database. Source:
 * docs/design.md, "Tasks in the store" rule 3, "One directory beside the
 * database", "Wake-ups".
 *
 * Each instance has two files in <realpath(db)>.d/: inst-N.lock, flocked for
 * the life of the process and mapped shared (its lease deadline, idle workers,
 * flags, watched tasks, tools), and inst-N.sock, a datagram socket. A datagram
 * carries the ids of changed tasks as a hint; it may be lost, and the slow
 * poll is the net under it. Files that somebody removed under a live instance
 * are made again at its next poll.
 *
 * Threads: the "bell" thread (socket, pidfds of peers, watch over leases, the
 * slow poll) runs all callbacks, one at a time, and they may block: the lease
 * is renewed by the "beat" thread, which does nothing else. Both are started
 * by peers_join() and joined by peers_leave(). Callbacks are called with no
 * lock held and may call everything here but peers_leave().
 */
struct peers;

struct peers_options {
	const char *db;   /* canonical path of the database; copied */
	int64_t instance; /* number from the database, > 0, never reused */
	const char *name; /* for people; cut to 63 bytes; copied */
	const char *const *tools; /* what this instance can run; hashed */
	size_t ntools;
	int64_t lease_ms; /* >= 30; the lease is renewed every third of it */
	int64_t poll_ms;  /* >= 1; pause of on_poll, and probe of the flocks */
	/*
	 * All three callbacks are needed.
	 *
	 * Something may have changed: @n tasks by id, @work may be claimable,
	 * and with @everything no telling what (a queue ran over, or the start;
	 * it includes work). Several datagrams are drained into one call. The
	 * first call, right after the join, is for everything.
	 */
	void (*on_bell)(void *user, const int64_t *tasks, size_t n, bool work,
			bool everything);
	/* Every poll_ms: look for yourself. */
	void (*on_poll)(void *user);
	/*
	 * Peer @instance holds its claims no more. @crashed: its process ended
	 * while it was not draining (in this boot; a reboot is no crash).
	 * Otherwise: it ended while draining, or its lease ran out while its
	 * process lives (stopped, starved); if that one beats again it is a
	 * peer as before, and its next silence is told again.
	 * Once per death. The files of one that ended stay until the store has
	 * made its death durable and says so with peers_buried(). One that
	 * left with peers_leave() is not told: it had released its claims.
	 */
	void (*on_dead)(void *user, int64_t instance, bool crashed);
	void *user;
};

/**
 * peers_join - makes the files, starts the threads.
 * Files left behind under the same number by a dead process are replaced;
 * BIDE_CONFLICT when a live one has the number.
 * Beyond LIMIT_INSTANCES files the rest is logged and not watched.
 * Returns BIDE_OK; BIDE_CONFLICT, BIDE_IO, BIDE_INVALID, BIDE_NOT_FOUND (no
 * database), BIDE_NOMEM, BIDE_LIMIT (more than LIMIT_TOOLS tools).
 */
enum bide_rc peers_join(const struct peers_options *opt, struct peers **ret,
			struct bide_error *reterr) BIDE_NODISCARD;
/* Stops and joins the threads, removes the own files, frees. The caller has
 * released its claims before. NULL is accepted. */
void peers_leave(struct peers *p);

/* Any thread, cheap; RANK_STORE_PEERS. Idle is 0 until set: a peer that does
 * not say so is not rung for work. */
void peers_set_idle(struct peers *p, int idle);
void peers_set_draining(struct peers *p);

/* Interest in a task, counted. Any thread. Visible to those who ring before
 * add returns: add, then look at the task, and no change goes unheard (but by
 * a lost datagram). */
void peers_interest_add(struct peers *p, int64_t task);
void peers_interest_drop(struct peers *p, int64_t task);

/* How tools are named in peers_ring(). */
uint64_t peers_tool_hash(const char *tool);

/**
 * peers_ring - after a commit: wakes those it concerns, never this process.
 * @tasks:  ids that changed; peers that may be interested are told theirs.
 * @work:   one tool hash for each task that became claimable and that the
 *          caller does not mean to claim itself; for each, one live, capable
 *          peer with an idle worker is rung, in rotation. Idle workers are
 *          not promised twice within one call.
 * A full queue sets the peer's overflow flag, so its next look is for
 * everything; a dead or missing one is no error and is looked at soon.
 * Returns for how many of @work a peer was rung.
 * Threads: any; RANK_STORE_PEERS is taken for the choice, not for sending.
 */
size_t peers_ring(struct peers *p, const int64_t *tasks, size_t ntasks,
		  const uint64_t *work, size_t nwork);
/* Rings every live peer for everything (keys rotated, a sweep of many). */
void peers_ring_all(struct peers *p);

/*
 * The store's reply to on_dead() of an instance whose process ended: with
 * @durable its claims are returned and its files go; without, on_dead() comes
 * again at the next poll. Of one that is only silent: no effect. Any thread,
 * the callback too.
 */
void peers_buried(struct peers *p, int64_t instance, bool durable);

enum peers_state {
	PEERS_ABSENT = 0, /* no file */
	PEERS_ALIVE,
	PEERS_SILENT, /* its process holds the file, its lease ran out */
	PEERS_DEAD    /* a file nobody holds */
};

struct peers_info {
	int64_t instance;
	enum peers_state state;
	char name[64];
	int64_t pid;           /* as that process sees itself */
	int64_t joined_ms;     /* clock_boot_ms() */
	int64_t lease_left_ms; /* may be negative */
	int idle;
	bool draining;
};

/**
 * peers_list - looks at all instance files; needs no join and creates nothing.
 * @ret: an array to free(), by instance number; NULL when there are none.
 * Returns BIDE_OK (also without a directory), BIDE_IO, BIDE_NOMEM.
 * Threads: any.
 */
enum bide_rc peers_list(const char *realpath_db, struct peers_info **ret,
			size_t *ret_n, struct bide_error *reterr);
/*
 * Rings every instance for everything, from a process that has not joined: the
 * operator's commands. What cannot be reached is left to the slow poll.
 * Threads: any; opens and closes what it needs.
 */
void peers_ring_from_outside(const char *realpath_db);
/* The same for one. For a store that finds a row without a file. */
enum peers_state peers_state(const char *realpath_db, int64_t instance);
#endif
