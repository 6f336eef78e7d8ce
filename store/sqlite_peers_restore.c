/* SPDX-License-Identifier: MIT */
/*
 * Making the own files again after somebody removed or moved them: without
 * them a live instance would pass for one that never was, and its claims for
 * nobody's. Other threads go on using the mapping and the descriptors, so
 * these keep their address and their numbers: the new ones are moved over
 * them, which the kernel does in one step.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/base/log.h"
#include "store/sqlite_peers_impl.h"

/* By the whole path: a directory that was moved takes its files along. */
static bool own_is_there(const struct peers *p)
{
	struct stat st;

	return !lstat(p->own_path, &st) && st.st_ino == p->own.ino;
}

static void copy_state(struct instance_header *to, struct instance_header *from)
{
	atomic_store(&to->lease_until_ms, atomic_load(&from->lease_until_ms));
	atomic_store(&to->idle, atomic_load(&from->idle));
	atomic_store(&to->flags, atomic_load(&from->flags));
	for (size_t i = 0; i < INSTANCE_FILE_BITS / 64; i++)
		atomic_store(&to->watched[i], atomic_load(&from->watched[i]));
}

/* Under the lock of those who change the state, so that nothing they write
 * goes into the old file between the copy and the move. */
static int move_mapping(struct peers *p, struct instance_file *made)
{
	void *at;

	mutex_lock(&p->own_lock);
	copy_state(made->h, p->own.h);
	at = mremap(made->h, made->bytes, made->bytes,
		    MREMAP_MAYMOVE | MREMAP_FIXED, p->own.h);
	mutex_unlock(&p->own_lock);
	if (at == MAP_FAILED)
		return -errno;
	made->h = NULL;
	p->own.ino = made->ino;
	return 0;
}

static int move_fd(int from, int to)
{
	return dup3(from, to, O_CLOEXEC) < 0 ? -errno : 0;
}

static int restore_file(struct peers *p, int dir)
{
	struct instance_header first = {
		.instance = p->opt.instance,
		.joined_ms = p->own.h->joined_ms,
		.ntools = p->own.h->ntools,
	};
	struct instance_file made;
	int err;

	memcpy(first.name, p->own.h->name, sizeof(first.name));
	err = instance_file_make(dir, &first, p->own.h->tools, &made);
	if (err)
		return err;
	err = move_mapping(p, &made);
	if (!err)
		err = move_fd(made.fd, p->own.fd);
	instance_file_unmap(&made);
	sqlite_fd_close(made.fd);
	return err;
}

static int restore_socket(struct peers *p, int dir)
{
	int fd = bell_open(dir, p->opt.instance), err;

	if (fd < 0)
		return fd;
	err = move_fd(fd, p->sock);
	sqlite_fd_close(fd);
	return err;
}

/* Without it changes are seen at the next poll. */
static void restore_watch(struct peers *p, int dir)
{
	int fd = p->inotify < 0 ? -1 : peers_watch_dir(dir);

	if (fd < 0)
		return;
	move_fd(fd, p->inotify);
	close(fd);
}

static int restore(struct peers *p)
{
	int dir = sqlite_dir_open(p->db, true, NULL), err;

	if (dir < 0)
		return -ENOENT;
	err = restore_file(p, dir);
	if (!err)
		err = move_fd(dir, p->dirfd);
	if (!err)
		err = restore_socket(p, dir);
	if (!err)
		restore_watch(p, dir);
	close(dir);
	return err;
}

void peers_restore(struct peers *p)
{
	int err;

	if (own_is_there(p))
		return;
	err = restore(p);
	if (!err)
		log_warn("peers.files_restored", "instance=%lld",
			 (long long)p->opt.instance);
	else if (!p->restore_failed)
		log_error("peers.files_lost", "instance=%lld reason=%s",
			  (long long)p->opt.instance, strerror(-err));
	p->restore_failed = err != 0;
}
