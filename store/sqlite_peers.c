/* SPDX-License-Identifier: MIT */
#include "store/sqlite_peers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/error.h"
#include "server/base/fault.h"
#include "server/base/fnv.h"
#include "store/sqlite_peers_impl.h"

#define LEASE_MIN_MS 30
#define BEATS        3 /* in a lease */

/* Two tools of one hash would only ring in vain. Shared by all processes on the
 * database: frozen. */
uint64_t peers_tool_hash(const char *tool)
{
	return fnv_text(FNV_BASIS, tool);
}

/* ---- the beat ---- */

/* The whole heartbeat is this store: no transaction, so that a slow commit
 * costs no lease. Source: docs/design.md, rule 3. */
static void beat_once(struct peers *p, int64_t now)
{
	if (FAULT("peers.beat"))
		return;
	atomic_store(&p->own.h->lease_until_ms, now + p->opt.lease_ms);
}

static void beat_main(void *arg)
{
	struct peers *p = arg;
	int64_t next = clock_boot_ms(), now;

	mutex_lock(&p->beat_lock);
	while (!atomic_load(&p->stop)) {
		now = clock_boot_ms();
		if (now >= next) {
			beat_once(p, now);
			next = now + p->opt.lease_ms / BEATS;
		}
		cond_wait_ms(&p->beat_cond, &p->beat_lock, next - now);
	}
	mutex_unlock(&p->beat_lock);
}

/* ---- joining ---- */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int make_file(struct peers *p, const struct peers_options *opt)
{
	struct instance_header first = {
		.instance = opt->instance,
		.joined_ms = clock_boot_ms(),
		.ntools = (uint32_t)opt->ntools,
	};
	uint64_t *tools = calloc(opt->ntools + 1, sizeof(*tools));
	int err;

	if (!tools)
		return -ENOMEM;
	for (size_t i = 0; i < opt->ntools; i++)
		tools[i] = peers_tool_hash(opt->tools[i]);
	qsort(tools, opt->ntools, sizeof(*tools), compare);
	snprintf(first.name, sizeof(first.name), "%s",
		 opt->name ? opt->name : "");
	atomic_init(&first.lease_until_ms, first.joined_ms + opt->lease_ms);
	err = instance_file_make(p->dirfd, &first, tools, &p->own);
	free(tools);
	return err;
}

int peers_watch_dir(int dirfd)
{
	char path[40];
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	if (fd < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dirfd);
	if (inotify_add_watch(fd, path, IN_MOVED_TO | IN_DELETE) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static int keep_paths(struct peers *p, const struct peers_options *opt)
{
	p->db = strdup(opt->db);
	if (asprintf(&p->own_path, "%s.d/inst-%lld.lock", opt->db,
		     (long long)opt->instance) < 0)
		p->own_path = NULL;
	return p->db && p->own_path ? 0 : -ENOMEM;
}

static int start(struct peers *p, const struct peers_options *opt)
{
	int err = keep_paths(p, opt);

	if (err)
		return err;
	p->kick = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (p->kick < 0)
		return -errno;
	sqlite_dir_sweep(p->dirfd);
	p->inotify = peers_watch_dir(p->dirfd);
	err = make_file(p, opt);
	if (err)
		return err;
	p->sock = bell_open(p->dirfd, opt->instance);
	if (p->sock < 0)
		return p->sock;
	atomic_fetch_or(&p->own.h->flags, INSTANCE_READY);
	err = thread_start(&p->beat, "beat", beat_main, p);
	if (err)
		return err;
	return thread_start(&p->bell, "bell", peers_bell_main, p);
}

static enum bide_rc check(const struct peers_options *opt,
			  struct bide_error *reterr)
{
	if (opt->instance <= 0 || opt->lease_ms < LEASE_MIN_MS ||
	    opt->poll_ms < 1)
		return error_set(reterr, BIDE_INVALID,
				 "an instance's number, lease or poll interval "
				 "is out of range");
	if (opt->ntools > LIMIT_TOOLS)
		return error_set(reterr, BIDE_LIMIT,
				 "more than %d tools in one instance",
				 LIMIT_TOOLS);
	return BIDE_OK;
}

static enum bide_rc refuse(const struct peers_options *opt, int err,
			   struct bide_error *reterr)
{
	if (err == -EEXIST)
		return error_set(reterr, BIDE_CONFLICT,
				 "instance %lld is a live process already: is "
				 "the database a restored copy?",
				 (long long)opt->instance);
	return error_set(reterr, err == -ENOMEM ? BIDE_NOMEM : BIDE_IO,
			 "cannot join in %s.d: %s", opt->db, strerror(-err));
}

enum bide_rc peers_join(const struct peers_options *opt, struct peers **ret,
			struct bide_error *reterr)
{
	enum bide_rc rc = check(opt, reterr);
	struct bide_error why = {0};
	struct peers *p = rc ? NULL : calloc(1, sizeof(*p));
	int err;

	if (rc)
		return rc;
	if (!p)
		return error_set(reterr, BIDE_NOMEM, "out of memory");
	p->opt = *opt;
	p->pid = getpid();
	p->sock = p->kick = p->inotify = p->own.fd = -1;
	mutex_init(&p->lock, RANK_STORE_PEERS);
	mutex_init(&p->own_lock, RANK_STORE_PEERS);
	mutex_init(&p->beat_lock, RANK_LEAF);
	cond_init(&p->beat_cond);
	p->dirfd = sqlite_dir_open(opt->db, true, &why);
	err = p->dirfd < 0 ? -EIO : start(p, opt);
	if (!err) {
		*ret = p;
		return BIDE_OK;
	}
	rc = p->dirfd < 0 ? error_set(reterr, why.rc, "%s", why.text)
			  : refuse(opt, err, reterr);
	peers_leave(p);
	return rc;
}

static void stop_threads(struct peers *p)
{
	atomic_store(&p->stop, true);
	if (p->kick >= 0)
		peers_kick(p);
	thread_join(&p->bell);
	/* Locked, so that it cannot fall between its look and its sleep. */
	mutex_lock(&p->beat_lock);
	cond_signal(&p->beat_cond);
	mutex_unlock(&p->beat_lock);
	thread_join(&p->beat);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void peers_leave(struct peers *p)
{
	/* A forked child has neither the threads nor the files. */
	if (!p || p->pid != getpid())
		return;
	stop_threads(p);
	if (p->own.h)
		atomic_fetch_or(&p->own.h->flags, INSTANCE_LEFT);
	instance_file_unmake(p->dirfd, &p->own);
	sqlite_fd_close(p->sock);
	close_fd(p->inotify);
	close_fd(p->kick);
	close_fd(p->dirfd);
	for (size_t i = 0; i < p->n; i++)
		peer_unref(p->list[i]);
	cond_fini(&p->beat_cond);
	mutex_fini(&p->beat_lock);
	mutex_fini(&p->own_lock);
	mutex_fini(&p->lock);
	free(p->own_path);
	free(p->db);
	free(p);
}

/* ---- what peers read of this one ---- */

/* Locked, because the file may be made again meanwhile. */
void peers_set_idle(struct peers *p, int idle)
{
	mutex_lock(&p->own_lock);
	atomic_store(&p->own.h->idle, idle < 0 ? 0 : idle);
	mutex_unlock(&p->own_lock);
}

void peers_set_draining(struct peers *p)
{
	mutex_lock(&p->own_lock);
	atomic_fetch_or(&p->own.h->flags, INSTANCE_DRAINING);
	mutex_unlock(&p->own_lock);
}

void peers_interest_add(struct peers *p, int64_t task)
{
	unsigned bits[INSTANCE_FILE_HASHES];

	instance_file_bits(task, bits);
	mutex_lock(&p->own_lock);
	for (int i = 0; i < INSTANCE_FILE_HASHES; i++)
		if (p->wanted[bits[i]]++ == 0)
			atomic_fetch_or(&p->own.h->watched[bits[i] / 64],
					UINT64_C(1) << bits[i] % 64);
	mutex_unlock(&p->own_lock);
}

void peers_interest_drop(struct peers *p, int64_t task)
{
	unsigned bits[INSTANCE_FILE_HASHES];

	instance_file_bits(task, bits);
	mutex_lock(&p->own_lock);
	for (int i = 0; i < INSTANCE_FILE_HASHES; i++)
		if (p->wanted[bits[i]] && --p->wanted[bits[i]] == 0)
			atomic_fetch_and(&p->own.h->watched[bits[i] / 64],
					 ~(UINT64_C(1) << bits[i] % 64));
	mutex_unlock(&p->own_lock);
}

void peers_buried(struct peers *p, int64_t instance, bool durable)
{
	mutex_lock(&p->lock);
	for (size_t i = 0; i < p->n; i++)
		if (p->list[i]->instance == instance)
			atomic_store(&p->list[i]->burial,
				     durable ? BURIAL_DONE : BURIAL_AGAIN);
	mutex_unlock(&p->lock);
	peers_kick(p);
}
