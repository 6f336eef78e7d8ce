/* SPDX-License-Identifier: MIT */
#include "store/sqlite_gate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/error.h"
#include "server/base/log.h"
#include "server/base/metrics.h"
#include "store/sqlite_dir.h"
#include "store/sqlite_gate_record.h"
#include "store/sqlite_gate_wait.h"
#include "store/sqlite_proc.h"

/* A waiter looks up so often: is the file still the file, is the holder
 * stopped, has somebody interrupted? */
#define TICK_MS 100
/* Files replaced under us so often without a pause are an error. */
#define REOPEN_TRIES 50

/* Internal answers of the steps below, beside 0 and -errno. */
#define REPLACED (-ESTALE)

/* One of the two files. */
struct door {
	char path[PATH_MAX + 16]; /* to compare with fstat after each flock */
	int fd;
	dev_t dev;
	ino_t ino;
	struct gate_record *record;
};

enum use { USE_NONE, USE_ENTERING, USE_INSIDE };

struct gate {
	char *db;
	struct gate_options opt;
	struct proc_id self;
	struct door next;
	struct door door;
	atomic_int use; /* enum use */
	atomic_bool interrupted;
};

/* One wait, of one gate_enter(). */
struct visit {
	struct gate_wait wait;
	int64_t deadline_ms;
	/* the holder that was seen stopped, and since when */
	struct gate_note frozen;
	int64_t frozen_from_ms;
};

/* ---- the files ---- */

static void door_close(struct door *d)
{
	gate_record_unmap(d->record);
	sqlite_fd_close(d->fd);
	d->record = NULL;
	d->fd = -1;
}

static int door_open(struct door *d, int dirfd, const char *name)
{
	struct stat st;
	int fd = sqlite_dir_file(dirfd, name, true);

	if (fd < 0)
		return fd;
	if (fstat(fd, &st)) {
		sqlite_fd_close(fd);
		return -EIO;
	}
	d->fd = fd;
	d->dev = st.st_dev;
	d->ino = st.st_ino;
	d->record = gate_record_map(fd);
	return 0;
}

/* By the whole path: a directory that was moved away takes its files along. */
static bool door_is_there(const struct door *d)
{
	struct stat st;

	return d->fd >= 0 && !lstat(d->path, &st) && st.st_dev == d->dev &&
	       st.st_ino == d->ino;
}

static void close_doors(struct gate *g)
{
	door_close(&g->door);
	door_close(&g->next);
}

static enum bide_rc open_doors(struct gate *g, struct bide_error *reterr)
{
	struct bide_error why = {0};
	int dirfd, err;

	close_doors(g);
	dirfd = sqlite_dir_open(g->db, true, &why);
	if (dirfd < 0)
		return error_set(reterr,
				 why.rc == BIDE_NOT_FOUND ? BIDE_IO : why.rc,
				 "%s", why.text);
	err = door_open(&g->next, dirfd, "next");
	if (!err)
		err = door_open(&g->door, dirfd, "gate");
	close(dirfd);
	if (!err)
		return BIDE_OK;
	close_doors(g);
	return error_set(reterr, BIDE_IO,
			 "cannot open the write gate in %s.d: %s", g->db,
			 strerror(-err));
}

enum bide_rc gate_open(const char *realpath_db, const struct gate_options *opt,
		       struct gate **ret, struct bide_error *reterr)
{
	struct gate *g = calloc(1, sizeof(*g));
	enum bide_rc rc;

	if (!g)
		return error_set(reterr, BIDE_NOMEM, "out of memory");
	g->next.fd = g->door.fd = -1;
	if (opt)
		g->opt = *opt;
	snprintf(g->next.path, sizeof(g->next.path), "%s.d/next", realpath_db);
	snprintf(g->door.path, sizeof(g->door.path), "%s.d/gate", realpath_db);
	proc_self(&g->self);
	g->db = strdup(realpath_db);
	rc = g->db ? open_doors(g, reterr)
		   : error_set(reterr, BIDE_NOMEM, "out of memory");
	if (rc) {
		gate_close(g);
		return rc;
	}
	*ret = g;
	return BIDE_OK;
}

void gate_close(struct gate *g)
{
	if (!g)
		return;
	/* In a forked child the mapping is not there, and the place in memory
	 * may be somebody else's. */
	if (g->self.pid == getpid()) {
		if (atomic_load(&g->use) == USE_INSIDE)
			gate_leave(g);
		close_doors(g);
	}
	free(g->db);
	free(g);
}

/* ---- a stopped holder ---- */

static bool same_note(const struct gate_note *a, const struct gate_note *b)
{
	return a->since_ms == b->since_ms && a->who.pid == b->who.pid &&
	       a->who.start == b->who.start;
}

/* Who keeps others out: in the gate, or stopped in the anteroom. */
static bool find_stopped(const struct gate *g, struct gate_note *ret)
{
	const struct door *doors[] = {&g->door, &g->next};

	for (size_t i = 0; i < 2; i++) {
		*ret = gate_record_get(doors[i]->record);
		if (ret->since_ms && proc_look(&ret->who, NULL) == PROC_STOPPED)
			return true;
	}
	return false;
}

/* The pidfd holds the process, so what is checked after it was opened cannot
 * be another one's. */
static void kill_stopped(struct gate *g, const struct gate_note *frozen)
{
	struct gate_note now;
	int fd = proc_open(&frozen->who), err;

	if (fd < 0)
		return;
	if (!find_stopped(g, &now) || !same_note(&now, frozen)) {
		close(fd);
		return;
	}
	err = proc_kill(fd);
	close(fd);
	if (err)
		log_error("gate.break_failed", "pid=%lld reason=%s",
			  (long long)frozen->who.pid, strerror(-err));
	else
		log_warn("gate.broken", "pid=%lld held_ms=%lld",
			 (long long)frozen->who.pid,
			 (long long)(clock_boot_ms() - frozen->since_ms));
}

static void watch_holder(struct gate *g, struct visit *v)
{
	int64_t now = clock_boot_ms();
	struct gate_note note;

	if (!find_stopped(g, &note)) {
		v->frozen.since_ms = 0;
		return;
	}
	if (!same_note(&note, &v->frozen)) {
		v->frozen = note;
		v->frozen_from_ms = now;
		return;
	}
	if (now - v->frozen_from_ms < g->opt.break_after_ms)
		return;
	kill_stopped(g, &note);
	v->frozen_from_ms = now; /* if it would not die: not at every tick */
}

/* ---- entering ---- */

static int try_door(struct gate *g, struct door *d)
{
	if (flock(d->fd, LOCK_EX | LOCK_NB))
		return -errno;
	gate_record_set(d->record, &g->self, clock_boot_ms());
	return 0;
}

static void drop_door(struct door *d)
{
	if (d->fd < 0)
		return;
	gate_record_clear(d->record);
	flock(d->fd, LOCK_UN);
}

/* 0 to go on waiting. */
static int look_up(struct gate *g, struct visit *v, const struct door *d)
{
	if (atomic_load_explicit(&g->interrupted, memory_order_relaxed))
		return -ECANCELED;
	if (!door_is_there(d))
		return REPLACED;
	if (g->opt.break_after_ms > 0)
		watch_holder(g, v);
	return clock_boot_ms() >= v->deadline_ms ? -ETIMEDOUT : 0;
}

static int wait_door(struct gate *g, struct visit *v, struct door *d)
{
	int err = 0;

	while (!err) {
		int64_t left = v->deadline_ms - clock_boot_ms();

		err = gate_wait_flock(&v->wait, d->fd,
				      left < TICK_MS ? left : TICK_MS);
		if (!err) {
			gate_record_set(d->record, &g->self, clock_boot_ms());
			return 0;
		}
		if (err == -EINTR)
			err = look_up(g, v, d);
	}
	return err;
}

/* Both, the anteroom first and dropped at the end. The second is blocked for
 * only by the one at the head of the queue: that is what makes it fair. */
static int take_doors(struct gate *g, struct visit *v)
{
	int err = v ? wait_door(g, v, &g->next) : try_door(g, &g->next);

	if (err)
		return err;
	err = v ? wait_door(g, v, &g->door) : try_door(g, &g->door);
	drop_door(&g->next);
	return err;
}

static int take_waiting(struct gate *g, int64_t deadline_ms)
{
	struct visit v = {.deadline_ms = deadline_ms};
	int err;

	if (clock_boot_ms() >= deadline_ms)
		return -ETIMEDOUT;
	if (atomic_load(&g->interrupted))
		return -ECANCELED;
	gate_wait_begin(&v.wait);
	err = take_doors(g, &v);
	gate_wait_end(&v.wait);
	return err;
}

/* What was flocked may have lost its name meanwhile: then it is no gate. */
static int take_checked(struct gate *g, int64_t deadline_ms)
{
	int err = take_doors(g, NULL);

	if (err == -EWOULDBLOCK)
		err = take_waiting(g, deadline_ms);
	if (err)
		return err;
	if (door_is_there(&g->door) && door_is_there(&g->next))
		return 0;
	drop_door(&g->door);
	return REPLACED;
}

static enum bide_rc refuse(struct gate *g, int err, struct bide_error *reterr)
{
	struct gate_holder h = {.place = GATE_FREE};

	if (err == -ECANCELED)
		return error_set(reterr, BIDE_CANCELLED,
				 "no longer waiting for the write gate");
	if (err != -ETIMEDOUT)
		return error_set(reterr, BIDE_IO, "the write gate %s: %s",
				 g->door.path, strerror(-err));
	if (gate_holder(g->db, &h) || h.place == GATE_FREE)
		return error_set(reterr, BIDE_BUSY,
				 "the write gate did not get free in time");
	return error_set(reterr, BIDE_BUSY,
			 "process %lld%s has held the write gate for %lld ms",
			 (long long)h.pid, h.stopped ? " (stopped)" : "",
			 (long long)(clock_boot_ms() - h.since_ms));
}

static enum bide_rc enter(struct gate *g, int64_t deadline_ms,
			  struct bide_error *reterr)
{
	enum bide_rc rc = BIDE_OK;
	int err = REPLACED;

	for (int i = 0; err == REPLACED && i < REOPEN_TRIES; i++) {
		if (i > 0 || g->door.fd < 0) {
			log_warn("gate.replaced", "path=%s", g->door.path);
			rc = open_doors(g, reterr);
			if (rc)
				return rc;
		}
		err = take_checked(g, deadline_ms);
	}
	return err ? refuse(g, err, reterr) : BIDE_OK;
}

enum bide_rc gate_enter(struct gate *g, int64_t deadline_ms,
			struct bide_error *reterr)
{
	int64_t from_us = clock_boot_us();
	int none = USE_NONE;
	enum bide_rc rc;

	if (g->self.pid != getpid() ||
	    !atomic_compare_exchange_strong(&g->use, &none, USE_ENTERING))
		return error_set(reterr, BIDE_MISUSE,
				 "the write gate's handle is in use");
	rc = enter(g, deadline_ms, reterr);
	atomic_store(&g->use, rc ? USE_NONE : USE_INSIDE);
	metric_observe_us(METRIC_STORE_GATE_WAIT_US, clock_boot_us() - from_us);
	return rc;
}

void gate_leave(struct gate *g)
{
	drop_door(&g->door);
	atomic_store(&g->use, USE_NONE);
}

bool gate_still_mine(const struct gate *g)
{
	return atomic_load(&g->use) == USE_INSIDE && door_is_there(&g->door);
}

void gate_interrupt(struct gate *g, bool on)
{
	atomic_store(&g->interrupted, on);
}

/* ---- looking ---- */

static void read_holder(int dirfd, const char *name, enum gate_place place,
			struct gate_holder *ret)
{
	struct gate_note note;
	enum proc_state state;
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	*ret = (struct gate_holder){.place = GATE_FREE, .state = '?'};
	if (fd < 0)
		return;
	note = gate_record_read(fd);
	close(fd);
	if (!note.since_ms)
		return;
	state = proc_look(&note.who, &ret->state);
	if (state == PROC_GONE)
		return;
	ret->place = place;
	ret->pid = note.who.pid;
	ret->since_ms = note.since_ms;
	ret->visible = state != PROC_UNKNOWN;
	ret->stopped = state == PROC_STOPPED;
}

enum bide_rc gate_holder(const char *realpath_db, struct gate_holder *ret)
{
	struct bide_error why = {0};
	struct gate_holder waiting;
	int dirfd = sqlite_dir_open(realpath_db, false, &why);

	if (dirfd < 0)
		return why.rc;
	read_holder(dirfd, "gate", GATE_INSIDE, ret);
	read_holder(dirfd, "next", GATE_ANTEROOM, &waiting);
	close(dirfd);
	if (ret->place == GATE_FREE && waiting.stopped)
		*ret = waiting;
	return BIDE_OK;
}
