/* SPDX-License-Identifier: MIT */
#include "store/sqlite_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/error.h"

/* Times that a file may appear and vanish under us before we give up. */
#define OPEN_TRIES 100
/* A "tmp-" file is somebody's for less than that. */
#define TEMP_MAX_S 60

/* ---- descriptors that a forked child does not keep ---- */

/* A plain mutex and not a ranked one: fork() takes it whatever the forking
 * thread holds, and nothing is taken while it is held. */
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static int *kept;
static size_t nkept, cap_kept;
static pthread_once_t hook_once = PTHREAD_ONCE_INIT;

static void close_in_child(void)
{
	for (size_t i = 0; i < nkept; i++)
		close(kept[i]);
	nkept = 0;
	pthread_mutex_unlock(&kept_lock);
}

static void set_hook(void)
{
	/* No memory for three pointers: nothing else will work either. */
	if (pthread_atfork(sqlite_fd_lock, sqlite_fd_unlock, close_in_child))
		abort();
}

void sqlite_fd_lock(void)
{
	pthread_once(&hook_once, set_hook);
	pthread_mutex_lock(&kept_lock);
}

void sqlite_fd_unlock(void)
{
	pthread_mutex_unlock(&kept_lock);
}

int sqlite_fd_keep_locked(int fd)
{
	if (fd < 0)
		return fd;
	if (nkept == cap_kept) {
		size_t cap = cap_kept ? 2 * cap_kept : 64;
		int *more = realloc(kept, cap * sizeof(*kept));

		if (!more) {
			close(fd);
			return -ENOMEM;
		}
		kept = more;
		cap_kept = cap;
	}
	kept[nkept++] = fd;
	return fd;
}

/* One that is not in the list was closed by the hook, in a child: its number
 * may belong to somebody else by now. */
void sqlite_fd_close(int fd)
{
	size_t i = 0;

	if (fd < 0)
		return;
	sqlite_fd_lock();
	while (i < nkept && kept[i] != fd)
		i++;
	if (i < nkept) {
		kept[i] = kept[--nkept];
		close(fd);
	}
	sqlite_fd_unlock();
}

static int keep_openat(int dirfd, const char *name, int flags)
{
	int fd;

	sqlite_fd_lock();
	fd = openat(dirfd, name, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
	fd = sqlite_fd_keep_locked(fd < 0 ? -errno : fd);
	sqlite_fd_unlock();
	return fd;
}

/* ---- the directory ---- */

/* Who may write the database may enter: a class without both bits gets none. */
static mode_t dir_mode(mode_t db)
{
	mode_t mode = 0700;

	if ((db & 0060) == 0060)
		mode |= 0070;
	if ((db & 0006) == 0006)
		mode |= 0007;
	return mode;
}

static int put_right(int fd, const struct stat *have, mode_t mode, uid_t uid,
		     gid_t gid)
{
	bool root = geteuid() == 0;

	if (root && (have->st_uid != uid || have->st_gid != gid) &&
	    fchown(fd, uid, gid))
		return -errno;
	if ((root || have->st_uid == geteuid()) &&
	    (have->st_mode & 07777) != mode && fchmod(fd, mode))
		return -errno;
	return 0;
}

static int check_dir(int fd, const char *path, const struct stat *db,
		     bool create, struct bide_error *reterr)
{
	struct stat st;
	int err;

	if (fstat(fd, &st)) {
		error_set(reterr, BIDE_IO, "cannot stat %s: %s", path,
			  strerror(errno));
		return -1;
	}
	if (st.st_uid != db->st_uid && st.st_uid != geteuid() && st.st_uid) {
		error_set(reterr, BIDE_INVALID,
			  "%s belongs to user %u, the database to %u: remove "
			  "it or give it to the database's owner",
			  path, st.st_uid, db->st_uid);
		return -1;
	}
	err = create ? put_right(fd, &st, dir_mode(db->st_mode), db->st_uid,
				 db->st_gid)
		     : 0;
	if (!err)
		return 0;
	error_set(reterr, BIDE_IO, "cannot set the owner and mode of %s: %s",
		  path, strerror(-err));
	return -1;
}

static enum bide_rc open_rc(int err)
{
	if (err == ENOENT)
		return BIDE_NOT_FOUND;
	/* A link (NOFOLLOW) or a plain file in the directory's place. */
	return err == ENOTDIR || err == ELOOP ? BIDE_INVALID : BIDE_IO;
}

int sqlite_dir_open(const char *realpath_db, bool create,
		    struct bide_error *reterr)
{
	char path[PATH_MAX + 3];
	struct stat db;
	int fd;

	if (snprintf(path, sizeof(path), "%s.d", realpath_db) >=
	    (int)sizeof(path)) {
		error_set(reterr, BIDE_INVALID,
			  "the database's path is too long");
		return -1;
	}
	if (stat(realpath_db, &db)) {
		error_set(reterr, open_rc(errno), "cannot stat %s: %s",
			  realpath_db, strerror(errno));
		return -1;
	}
	if (create && mkdir(path, 0700) && errno != EEXIST) {
		error_set(reterr, BIDE_IO, "cannot make %s: %s", path,
			  strerror(errno));
		return -1;
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) {
		error_set(reterr, open_rc(errno), "cannot open %s: %s", path,
			  strerror(errno));
		return -1;
	}
	if (check_dir(fd, path, &db, create, reterr)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* ---- files in it ---- */

static int fit(int dirfd, int fd)
{
	struct stat dir, st;

	if (fstat(dirfd, &dir) || fstat(fd, &st))
		return -errno;
	return put_right(fd, &st, dir.st_mode & 0666, dir.st_uid, dir.st_gid);
}

int sqlite_dir_fit(int dirfd, const char *name)
{
	struct stat dir;

	if (fstat(dirfd, &dir))
		return -errno;
	if (fchmodat(dirfd, name, dir.st_mode & 0666, 0))
		return -errno;
	if (geteuid() == 0 &&
	    fchownat(dirfd, name, dir.st_uid, dir.st_gid, AT_SYMLINK_NOFOLLOW))
		return -errno;
	return 0;
}

int sqlite_dir_temp(int dirfd, char name[SQLITE_DIR_NAME])
{
	static atomic_uint counter;
	int fd, err;

	for (int i = 0; i < OPEN_TRIES; i++) {
		snprintf(name, SQLITE_DIR_NAME, "tmp-%d-%u-%llx", (int)getpid(),
			 atomic_fetch_add(&counter, 1),
			 (unsigned long long)clock_boot_us());
		fd = keep_openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL);
		if (fd != -EEXIST)
			break;
	}
	if (fd < 0)
		return fd;
	err = fit(dirfd, fd);
	if (err) {
		unlinkat(dirfd, name, 0);
		sqlite_fd_close(fd);
		return err;
	}
	return fd;
}

int sqlite_dir_publish(int dirfd, const char *temp, const char *name)
{
	int err;

	if (!renameat2(dirfd, temp, dirfd, name, RENAME_NOREPLACE))
		return 0;
	err = -errno;
	unlinkat(dirfd, temp, 0);
	return err;
}

/* One that is being filled is flocked, or is a moment old. */
static void sweep_one(int dirfd, const char *name)
{
	int fd = sqlite_dir_look(dirfd, name);
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) &&
	    clock_wall_ms() / 1000 - st.st_mtime > TEMP_MAX_S &&
	    !flock(fd, LOCK_EX | LOCK_NB))
		unlinkat(dirfd, name, 0);
	sqlite_fd_close(fd);
}

void sqlite_dir_sweep(int dirfd)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(d)))
		if (!strncmp(e->d_name, "tmp-", 4))
			sweep_one(dirfd, e->d_name);
	closedir(d);
}

/* Made under another name first, so that nobody meets the file while its mode
 * and owner are not yet right. */
int sqlite_dir_file(int dirfd, const char *name, bool create)
{
	char temp[SQLITE_DIR_NAME];
	int fd = -EIO, err;

	for (int i = 0; i < OPEN_TRIES; i++) {
		fd = keep_openat(dirfd, name, O_RDWR);
		if (fd != -ENOENT || !create)
			return fd;
		fd = sqlite_dir_temp(dirfd, temp);
		if (fd < 0)
			return fd;
		err = sqlite_dir_publish(dirfd, temp, name);
		if (!err)
			return fd;
		sqlite_fd_close(fd);
		fd = err;
		if (err != -EEXIST)
			break;
	}
	return fd;
}

int sqlite_dir_look(int dirfd, const char *name)
{
	return keep_openat(dirfd, name, O_RDONLY);
}

void *sqlite_dir_map(int fd, size_t bytes)
{
	char path[40];
	void *p;
	int own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_RDWR | O_CLOEXEC);
	if (own < 0)
		return NULL;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
	close(own);
	if (p == MAP_FAILED)
		return NULL;
	madvise(p, bytes, MADV_DONTFORK);
	return p;
}
