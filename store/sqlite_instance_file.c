/* SPDX-License-Identifier: MIT */
#include "store/sqlite_instance_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "server/base/limits.h"

_Static_assert(offsetof(struct instance_header, lease_until_ms) == 160 &&
		       offsetof(struct instance_header, watched) == 184 &&
		       sizeof(struct instance_header) == 696,
	       "the layout of inst-N.lock is frozen");

/* Somebody who probes a dead one's file holds its lock for a moment. */
#define PROBE_TRIES  20
#define PROBE_NAP_MS 5

void instance_file_name(int64_t instance, const char *end,
			char name[SQLITE_DIR_NAME])
{
	snprintf(name, SQLITE_DIR_NAME, "inst-%" PRId64 ".%s", instance, end);
}

int64_t instance_file_number(const char *name)
{
	char again[SQLITE_DIR_NAME];
	int64_t n = 0;

	if (sscanf(name, "inst-%" SCNd64 ".lock", &n) != 1 || n <= 0)
		return 0;
	instance_file_name(n, "lock", again);
	return strcmp(name, again) ? 0 : n;
}

static size_t file_bytes(uint32_t ntools)
{
	return sizeof(struct instance_header) + ntools * sizeof(uint64_t);
}

/* ---- the own file ---- */

static void sign(struct instance_header *h)
{
	struct proc_id me;

	proc_self(&me);
	h->magic = INSTANCE_FILE_MAGIC;
	h->version = INSTANCE_FILE_VERSION;
	h->pid = me.pid;
	h->start = me.start;
	h->pid_ns = me.pid_ns;
	memcpy(h->boot_id, me.boot_id, sizeof(h->boot_id));
}

/* Written, not only made longer: a full disk is an error here and not a SIGBUS
 * at the first beat. */
static int fill(int fd, const struct instance_header *first,
		const uint64_t *tools)
{
	size_t bytes = file_bytes(first->ntools);
	struct instance_header *h = calloc(1, bytes);
	ssize_t n;

	if (!h)
		return -ENOMEM;
	memcpy(h, first, sizeof(*first));
	sign(h);
	if (first->ntools)
		memcpy(h->tools, tools, first->ntools * sizeof(*tools));
	n = pwrite(fd, h, bytes, 0);
	free(h);
	if (n < 0)
		return -errno;
	return n == (ssize_t)bytes ? 0 : -ENOSPC;
}

static int prepare(int fd, const struct instance_header *first,
		   const uint64_t *tools, struct instance_file *ret)
{
	struct stat st;
	int err;

	if (flock(fd, LOCK_EX | LOCK_NB))
		return -errno;
	err = fill(fd, first, tools);
	if (err)
		return err;
	if (fstat(fd, &st))
		return -errno;
	ret->fd = fd;
	ret->ino = st.st_ino;
	ret->bytes = file_bytes(first->ntools);
	ret->h = sqlite_dir_map(fd, ret->bytes);
	return ret->h ? 0 : -errno;
}

static int publish(int dirfd, const char *temp, int64_t instance)
{
	char name[SQLITE_DIR_NAME];
	const struct timespec nap = {0, PROBE_NAP_MS * 1000000};
	int err;

	instance_file_name(instance, "lock", name);
	for (int i = 0; i < PROBE_TRIES; i++) {
		err = instance_file_bury(dirfd, instance);
		if (!err)
			return sqlite_dir_publish(dirfd, temp, name);
		if (err != -EBUSY)
			break;
		nanosleep(&nap, NULL);
	}
	unlinkat(dirfd, temp, 0);
	return err == -EBUSY ? -EEXIST : err;
}

int instance_file_make(int dirfd, const struct instance_header *first,
		       const uint64_t *tools, struct instance_file *ret)
{
	struct instance_file f = {.fd = -1};
	char temp[SQLITE_DIR_NAME];
	int fd = sqlite_dir_temp(dirfd, temp), err;

	if (fd < 0)
		return fd;
	err = prepare(fd, first, tools, &f);
	if (err)
		unlinkat(dirfd, temp, 0);
	else
		err = publish(dirfd, temp, first->instance);
	if (err) {
		instance_file_unmap(&f);
		sqlite_fd_close(fd);
		return err;
	}
	*ret = f;
	return 0;
}

static void remove_both(int dirfd, int64_t instance)
{
	char name[SQLITE_DIR_NAME];

	instance_file_name(instance, "sock", name);
	unlinkat(dirfd, name, 0);
	instance_file_name(instance, "lock", name);
	unlinkat(dirfd, name, 0);
}

void instance_file_unmake(int dirfd, struct instance_file *f)
{
	if (!f->h)
		return;
	/* Somebody else's by now, if the directory was restored meanwhile. */
	if (instance_file_ino(dirfd, f->h->instance) == f->ino)
		remove_both(dirfd, f->h->instance);
	instance_file_unmap(f);
	sqlite_fd_close(f->fd);
	f->fd = -1;
}

/* ---- a peer's ---- */

static bool known(const struct instance_header *h)
{
	return h->magic == INSTANCE_FILE_MAGIC &&
	       h->version == INSTANCE_FILE_VERSION && h->ntools <= LIMIT_TOOLS;
}

static int read_header(int fd, struct instance_header *ret)
{
	if (pread(fd, ret, sizeof(*ret), 0) != (ssize_t)sizeof(*ret) ||
	    !known(ret))
		return -EPROTO;
	return 0;
}

static int map_open(int fd, struct instance_file *ret)
{
	struct instance_header h;
	struct stat st;
	int err = read_header(fd, &h);

	if (err)
		return err;
	if (fstat(fd, &st))
		return -errno;
	if ((size_t)st.st_size < file_bytes(h.ntools))
		return -EPROTO;
	ret->bytes = file_bytes(h.ntools);
	ret->ino = st.st_ino;
	ret->fd = -1;
	ret->h = sqlite_dir_map(fd, ret->bytes);
	return ret->h ? 0 : -errno;
}

int instance_file_map(int dirfd, int64_t instance, struct instance_file *ret)
{
	char name[SQLITE_DIR_NAME];
	int fd, err;

	instance_file_name(instance, "lock", name);
	fd = sqlite_dir_file(dirfd, name, false);
	if (fd < 0)
		return fd;
	err = map_open(fd, ret);
	sqlite_fd_close(fd);
	return err;
}

void instance_file_unmap(struct instance_file *f)
{
	if (f->h)
		munmap(f->h, f->bytes);
	f->h = NULL;
}

/* For looking: without the right to write, and closed in a forked child as
 * all that is flocked. */
static int open_to_look(int dirfd, int64_t instance)
{
	char name[SQLITE_DIR_NAME];

	instance_file_name(instance, "lock", name);
	return sqlite_dir_look(dirfd, name);
}

int instance_file_held(int dirfd, int64_t instance)
{
	int fd = open_to_look(dirfd, instance), held;

	if (fd < 0)
		return fd;
	held = flock(fd, LOCK_EX | LOCK_NB) ? errno == EWOULDBLOCK : 0;
	sqlite_fd_close(fd);
	return held;
}

uint64_t instance_file_ino(int dirfd, int64_t instance)
{
	char name[SQLITE_DIR_NAME];
	struct stat st;

	instance_file_name(instance, "lock", name);
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	return st.st_ino;
}

int instance_file_bury(int dirfd, int64_t instance)
{
	int fd = open_to_look(dirfd, instance), err = 0;
	struct stat st;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (flock(fd, LOCK_EX | LOCK_NB))
		err = errno == EWOULDBLOCK ? -EBUSY : -errno;
	else if (!fstat(fd, &st) &&
		 instance_file_ino(dirfd, instance) == st.st_ino)
		remove_both(dirfd, instance);
	sqlite_fd_close(fd);
	return err;
}

int instance_file_read(int dirfd, int64_t instance, struct instance_header *ret)
{
	int fd = open_to_look(dirfd, instance), err;

	if (fd < 0)
		return fd;
	err = read_header(fd, ret);
	sqlite_fd_close(fd);
	return err;
}

/* ---- what it says ---- */

void instance_file_who(const struct instance_header *h, struct proc_id *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->pid = h->pid;
	ret->start = h->start;
	ret->pid_ns = h->pid_ns;
	memcpy(ret->boot_id, h->boot_id, sizeof(ret->boot_id) - 1);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

bool instance_file_has_tool(const struct instance_header *h, uint64_t tool)
{
	return bsearch(&tool, h->tools, h->ntools, sizeof(tool), compare);
}

/* splitmix64's finisher: every bit of the id reaches every bit of the sum. */
void instance_file_bits(int64_t task, unsigned ret[INSTANCE_FILE_HASHES])
{
	uint64_t z = (uint64_t)task + UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	z ^= z >> 31;
	for (int i = 0; i < INSTANCE_FILE_HASHES; i++)
		ret[i] = (unsigned)(z >> (16 * i)) % INSTANCE_FILE_BITS;
}

bool instance_file_may_watch(const struct instance_header *h, int64_t task)
{
	unsigned bits[INSTANCE_FILE_HASHES];

	instance_file_bits(task, bits);
	for (int i = 0; i < INSTANCE_FILE_HASHES; i++)
		if (!(atomic_load(&h->watched[bits[i] / 64]) >> bits[i] % 64 &
		      1))
			return false;
	return true;
}
