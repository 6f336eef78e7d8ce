/* SPDX-License-Identifier: MIT */
#ifndef STORE_SQLITE_DIR_H
#define STORE_SQLITE_DIR_H
#include "bide/types.h"
#include <stdbool.h>
#include <stddef.h>
/*
 * The one directory beside the database, <realpath(db)>.d/, and the files in
 * it. Source: docs/design.md, "One directory beside the database".
 *
 * Mode and owner follow the database file. A class of users (group, others)
 * gets into the directory only when it may read and write the database: who
 * may only read it could otherwise flock the gate and stop every writer. When
 * root opens a service's database, what it makes here is the service's.
 */

/**
 * sqlite_dir_open - opens the directory.
 * @create: make it when missing, and put right its mode and owner.
 * Returns a descriptor (O_CLOEXEC, the caller's to close), or -1 with @reterr
 * filled (BIDE_NOT_FOUND when missing and not to be created; BIDE_INVALID when
 * it is a link, no directory, or belongs to neither the database's owner nor
 * this user; BIDE_IO).
 */
int sqlite_dir_open(const char *realpath_db, bool create,
		    struct bide_error *reterr);
#define SQLITE_DIR_NAME 64 /* longest name used in it, with its NUL */
/*
 * Opens a file of the directory, read-write, never through a link, with
 * O_CLOEXEC and closed in a forked child; one that is missing is made with
 * @create, with the directory's owner and its mode without the x bits. Close
 * with sqlite_fd_close(). Returns a descriptor or -errno.
 */
int sqlite_dir_file(int dirfd, const char *name, bool create);
/* The same for one that is there, read-only (enough for an flock). */
int sqlite_dir_look(int dirfd, const char *name);
/*
 * A file that nobody knows yet (its name in @name begins with "tmp-"), to be
 * filled and then given its name: publish returns 0, or -errno (-EEXIST when
 * the name is taken) with the file removed. The descriptor stays open.
 */
int sqlite_dir_temp(int dirfd, char name[SQLITE_DIR_NAME]);
int sqlite_dir_publish(int dirfd, const char *temp, const char *name);
/* Removes "tmp-" files that their makers left behind by dying. */
void sqlite_dir_sweep(int dirfd);
/* Owner and mode as above for what was made by name (a socket). 0 or -errno. */
int sqlite_dir_fit(int dirfd, const char *name);

/*
 * Maps @bytes of an open file, shared, readable and writable, through an open
 * file description of the mapping's own: a mapping pins the one it is made
 * from, and with it an flock. A forked child does not get it. NULL on failure
 * (errno). The file must be long enough: beyond its end lies SIGBUS.
 */
void *sqlite_dir_map(int fd, size_t bytes);

/*
 * Descriptors that a child which forks and does not exec must not keep: it
 * would keep its parent's flock alive, and its sockets. An atfork hook closes
 * them in the child. Any thread.
 */
void sqlite_fd_close(int fd); /* accepts < 0 */
/*
 * fork() waits while this is held: around the making of a descriptor that is
 * given to sqlite_fd_keep_locked(), so that no child is born between.
 */
void sqlite_fd_lock(void);
void sqlite_fd_unlock(void);
int sqlite_fd_keep_locked(int fd);
#endif
