/* SPDX-License-Identifier: MIT */
#ifndef STORE_SQLITE_STORE_H
#define STORE_SQLITE_STORE_H
#include <stdatomic.h>
#include <sys/types.h>

#include "server/base/thread.h"
#include "store/sqlite_gate.h"
#include "store/sqlite_peers.h"
#include "store/sqlite_stmt.h"
#include "store/store.h"

/*
 * What the files of the SQLite store share. Fields are grouped by who may
 * touch them.
 */
#define STORE_APPLICATION_ID 0x62696465 /* "bide", in the file's header */
#define STORE_READERS_KEPT   16         /* connections kept for reuse */

/* Work for the writer that is none of the public operations. */
struct txn;
struct store_job {
	struct store_op op; /* kind 0 */
	void (*run)(struct txn *t, struct store_job *job);
};

/* The answer to store_ready(); LEAF lock. */
struct store_health {
	struct mutex lock;
	bool gate_stuck; /* the last wait for the gate timed out */
	bool disk;       /* the last write failed */
	char gate_text[200], disk_text[100];
};

/* Local interest in tasks: open addressing, counts. */
struct store_interest {
	struct mutex lock; /* below RANK_STORE_PEERS */
	int64_t *task;
	int *count;
	size_t cap, used; /* used: slots ever taken since the last growth */
	int blind;        /* interests that found no memory */
};

struct store {
	/* constant after store_open() */
	char *path; /* canonical */
	dev_t dev;  /* which file that was; writers only */
	ino_t ino;
	char name[40];
	bool read_only;
	int64_t lease_ms, poll_ms;
	int64_t clock_offset; /* database time = clock_boot_ms() + this */
	struct gate *gate;
	store_watch_fn watch_fn;
	void *watch_user;

	/* constant after store_join(), which publishes them by the last two */
	char **tools; /* sorted */
	uint64_t *tool_hash;
	size_t ntools;
	_Atomic int64_t instance;
	_Atomic(struct peers *) peers;

	/* any thread */
	_Atomic int64_t clock_last; /* store_now_ms() never goes below */
	_Atomic int idle;
	_Atomic bool draining;
	_Atomic bool leaving; /* store_close() has begun */
	struct store_health health;
	struct store_interest interest;

	/* the queue: RANK_STORE */
	struct mutex lock;
	struct cond more;  /* the writer waits for work */
	struct cond slept; /* short pauses, and the end of the writer */
	struct store_op *head, **tail;
	int64_t earliest_ms; /* of the deadlines in the queue */
	bool closing, stopped;
	int64_t close_by_ms; /* clock_boot_ms() */

	/* the writer thread alone */
	struct thread writer;
	struct sql w;
	int64_t last_seq;
	int64_t clock_high;    /* durable: no time above it was ever written */
	int wal_frames;        /* after the last commit */
	int64_t wal_warned_ms; /* clock_boot_ms() */
	int64_t worst_batch_ms;
	int wal_done;    /* frames at the last checkpoint */
	bool tail_dirty; /* frames of a failed COMMIT may stand in the WAL */

	/* readers: RANK_STORE_READERS */
	struct mutex readers_lock;
	struct sql *readers;
	int nreaders;

	/* the peers' bell thread alone */
	struct sql poll;
	int64_t poll_version;
	int64_t reckoned_ms; /* clock_boot_ms() */
};

/* sqlite_file.c: where the database lies and whether it may lie there. */
struct store_file {
	char *path;   /* canonical, malloc()ed */
	bool existed; /* before this open */
};
enum bide_rc file_locate(const struct store_options *opt,
			 struct store_file *ret, struct bide_error *reterr);
enum bide_rc file_create(const char *path, struct bide_error *reterr);
/* Whether the store's path still leads to the file that it opened. */
void file_remember(struct store *s);
bool file_is_there(const struct store *s);
#define FILE_GONE "its file was removed or replaced: stop this program"
/* NULL, or the name of the network file system with this statfs() magic. */
const char *file_network_fs(unsigned long magic);

/* sqlite_migrate.c: under the gate. */
enum bide_rc migrate_check(struct sql *c, const char *path, int *ret_version,
			   struct bide_error *reterr);
enum bide_rc migrate_to_wal(struct sql *c, const char *path,
			    struct bide_error *reterr);
enum bide_rc migrate_run(struct sql *c, const char *path, int *ret_from,
			 struct bide_error *reterr);
int migrate_latest(void);

/* sqlite_clock.c */
enum bide_rc clock_load(struct store *s, struct sql *c,
			struct bide_error *reterr); /* no gate needed */
enum bide_rc clock_begin(struct store *s, struct sql *c,
			 struct bide_error *reterr); /* under the gate */
int64_t store_now_us(struct store *s);

/* sqlite_writer.c */
int writer_start(struct store *s);
/* Runs what is queued, no longer than @grace_ms; joins the thread. */
void writer_stop(struct store *s, int64_t grace_ms);
/* Waits for a job; BIDE_OK when it was committed. */
enum bide_rc writer_job(struct store *s, struct store_job *job,
			int64_t timeout_ms);
const char *writer_kind_name(enum store_op_kind kind);

/* sqlite_queue.c */
/* Waits. False: closed and nothing left to do. @ret_by: the first deadline. */
bool queue_wait(struct store *s, int64_t *ret_by);
/* A batch, and apart from it those whose time is over; lists by next. */
struct store_op *queue_take(struct store *s, struct store_op **ret_expired);
struct store_op *queue_take_expired_locked(struct store *s);
bool queue_expired(struct store *s, const struct store_op *op);
/* Outcome and callback, which may free the operation. */
void queue_tell(struct store_op *op, enum store_outcome outcome);
void queue_tell_all(struct store_op *list, enum store_outcome outcome);

/* sqlite_join.c: leaves; false when claims are left, which stay. */
bool join_leave(struct store *s, int64_t grace_ms);

/* sqlite_health.c */
void health_init(struct store *s);
void health_gate(struct store *s, bool stuck, const char *text);
void health_disk(struct store *s, bool bad, const char *text);

/* sqlite_interest.c */
bool interest_has(struct store *s, int64_t task);
void interest_publish(struct store *s, struct peers *p);
void interest_fini(struct store *s);
bool store_has_tool(const struct store *s, uint64_t hash);

/* sqlite_read.c: a connection to read with; NULL without one. */
struct sql *reader_borrow(struct store *s);
void reader_return(struct store *s, struct sql *c);
void readers_close(struct store *s);
#endif
