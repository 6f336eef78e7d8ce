/* SPDX-License-Identifier: MIT */
#ifndef STORE_SQLITE_PEERS_IMPL_H
#define STORE_SQLITE_PEERS_IMPL_H
/* What sqlite_peers*.c share; nobody else includes it. */
#include "server/base/limits.h"
#include "server/base/thread.h"
#include "store/sqlite_bell.h"
#include "store/sqlite_instance_file.h"
#include "store/sqlite_peers.h"

enum peer_state {
	PEER_LIVE,
	PEER_SILENT, /* its lease ran out; told, and watched if it comes back */
	PEER_ENDED   /* its process is no more; told until it is buried */
};

enum peer_burial { BURIAL_NONE, BURIAL_DONE, BURIAL_AGAIN };

/* One other instance. Counted: who rings keeps it mapped while it sends. */
struct peer {
	atomic_int refs;
	int64_t instance;
	struct instance_file file;
	atomic_int state;    /* enum peer_state; the bell thread changes it */
	atomic_int burial;   /* enum peer_burial */
	atomic_bool suspect; /* nobody answered at its socket: probe it now */
	/* the bell thread's */
	int pidfd; /* -1: not to be had */
	bool crashed;
	bool told;
	bool seen; /* by the present scan */
};

struct peers {
	/* constant after the join */
	struct peers_options opt; /* strings and tools are not kept */
	char *db;
	char *own_path; /* of the own lock file */
	pid_t pid;
	int dirfd;
	int sock;
	int inotify; /* -1: changes are seen at the next poll */
	int kick;    /* eventfd */
	struct instance_file own;
	struct thread bell;
	struct thread beat;
	atomic_bool stop;

	/* The list: changed by the bell thread alone, under the lock; read by
	 * it without, by others with the lock. */
	struct mutex lock;
	struct peer *list[LIMIT_INSTANCES];
	size_t n;
	atomic_size_t rotation;

	/* For those who change what the own file says. */
	struct mutex own_lock;
	/* How often each bit of its filter is wanted. */
	uint32_t wanted[INSTANCE_FILE_BITS];

	/* Only for the beat thread to sleep on. */
	struct mutex beat_lock;
	struct cond beat_cond;

	/* the bell thread's */
	int64_t last_round_ms;
	int64_t judge_from_ms; /* silence is not judged before */
	int64_t next_poll_ms;
	bool full_reported;
	bool restore_failed;
	int64_t heard[8 * BELL_TASKS];
};

void peers_bell_main(void *arg); /* sqlite_peers_watch.c */
void peers_kick(struct peers *p);
int peers_watch_dir(int dirfd);      /* an inotify, or -1 */
void peers_restore(struct peers *p); /* sqlite_peers_restore.c */
void peer_unref(struct peer *peer);  /* accepts NULL */
#endif
