/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "server/base/error.h"
#include "server/base/fault.h"
#include "store/sqlite_store.h"

/* Where the database lies, and whether it may lie there. */

/*
 * File systems that several machines mount: flock and the WAL's shared memory
 * do not reach from one to the other, so two machines would write at once.
 * FUSE may be anything; sshfs and its like are the usual case, so it is
 * refused too. Magic numbers: statfs(2) and the kernel's headers.
 */
static const struct {
	unsigned long magic;
	const char *name;
} network_fs[] = {
	{0x6969, "NFS"},        {0xff534d42, "CIFS"},   {0xfe534d42, "SMB2"},
	{0x517b, "SMB"},        {0x01021997, "9p"},     {0x00c36400, "Ceph"},
	{0x5346414f, "AFS"},    {0x6b414653, "kAFS"},   {0x73757245, "Coda"},
	{0x01161970, "GFS2"},   {0x7461636f, "OCFS2"},  {0x47504653, "GPFS"},
	{0x0bd00bd0, "Lustre"}, {0x564c, "NCP"},        {0x65735546, "FUSE"},
	{0x19830326, "BeeGFS"}, {0x786f4256, "vboxsf"},
};

const char *file_network_fs(unsigned long magic)
{
	for (size_t i = 0; i < sizeof network_fs / sizeof *network_fs; i++)
		if ((magic & 0xffffffffu) == network_fs[i].magic)
			return network_fs[i].name;
	return NULL;
}

static const char *network_fs_of(const char *path)
{
	struct statfs fs;

	if (FAULT("store.network_fs"))
		return "a network file system";
	if (statfs(path, &fs) != 0)
		return NULL;
	return file_network_fs((unsigned long)fs.f_type);
}

static enum bide_rc path_of_url(const char *url, const char **ret,
				struct bide_error *reterr)
{
	const char *colon;

	if (strncmp(url, "sqlite:", 7) == 0)
		url += strncmp(url, "sqlite://", 9) == 0 ? 9 : 7;
	colon = strstr(url, "://");
	if (colon && !memchr(url, '/', (size_t)(colon - url)))
		return error_set(reterr, BIDE_INVALID,
				 "this program keeps its data in SQLite; %.*s "
				 "is not built in: give a path",
				 (int)(colon - url), url);
	if (!*url)
		return error_set(reterr, BIDE_INVALID,
				 "the path of the database is empty");
	*ret = url;
	return BIDE_OK;
}

static enum bide_rc check_file(const char *path, struct bide_error *reterr)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return error_set(reterr, BIDE_IO, "%s: %s", path,
				 strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(
			reterr, BIDE_INVALID,
			"%s is not a file: give the path of a database", path);
	if (st.st_mode & 07)
		return error_set(reterr, BIDE_INVALID,
				 "%s holds keys and may be used by everybody "
				 "(mode %04o): chmod o= it first",
				 path, (unsigned)st.st_mode & 07777u);
	return BIDE_OK;
}

/* The canonical path of a file that need not exist in a directory that must. */
static char *canonical(const char *path)
{
	char dir[PATH_MAX], real[PATH_MAX], name[PATH_MAX], *full;

	full = realpath(path, NULL);
	if (full || errno != ENOENT)
		return full;
	if ((size_t)snprintf(dir, sizeof dir, "%s", path) >= sizeof dir ||
	    (size_t)snprintf(name, sizeof name, "%s", path) >= sizeof name) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	if (!realpath(dirname(dir), real))
		return NULL;
	if (asprintf(&full, "%s/%s", strcmp(real, "/") == 0 ? "" : real,
		     basename(name)) < 0)
		return NULL;
	return full;
}

static enum bide_rc check_place(const char *path, bool existed,
				struct bide_error *reterr)
{
	char dir[PATH_MAX];
	const char *fs;

	snprintf(dir, sizeof dir, "%s", path);
	fs = network_fs_of(existed ? path : dirname(dir));
	if (!fs)
		return BIDE_OK;
	return error_set(reterr, BIDE_INVALID,
			 "%s lies on %s: locks and shared memory do not hold "
			 "between machines there, and tasks would be lost. Put "
			 "the database on a local disk",
			 path, fs);
}

enum bide_rc file_locate(const struct store_options *opt,
			 struct store_file *ret, struct bide_error *reterr)
{
	const char *given = NULL;
	char *path;
	enum bide_rc rc;

	rc = path_of_url(opt->url, &given, reterr);
	if (rc != BIDE_OK)
		return rc;
	path = canonical(given);
	if (!path)
		return error_set(reterr, BIDE_IO, "%s: %s", given,
				 strerror(errno));
	ret->existed = access(path, F_OK) == 0;
	if (!ret->existed && !opt->create)
		rc = error_set(reterr, BIDE_NOT_FOUND,
			       "there is no database %s", path);
	else if (ret->existed)
		rc = check_file(path, reterr);
	if (rc == BIDE_OK)
		rc = check_place(path, ret->existed, reterr);
	if (rc != BIDE_OK) {
		free(path);
		return rc;
	}
	ret->path = path;
	return BIDE_OK;
}

void file_remember(struct store *s)
{
	struct stat st;

	if (stat(s->path, &st) == 0) {
		s->dev = st.st_dev;
		s->ino = st.st_ino;
	}
}

/* SQLite would go on with a file that has no name, and nobody finds again what
 * was committed to it. */
bool file_is_there(const struct store *s)
{
	struct stat st;

	return stat(s->path, &st) == 0 && st.st_dev == s->dev &&
	       st.st_ino == s->ino;
}

/*
 * Made by hand, for SQLite would make it readable to all. Only a missing file
 * is opened here: closing a descriptor of one that SQLite has open in this
 * process would drop its locks (fcntl(2), "Record locks").
 */
enum bide_rc file_create(const char *path, struct bide_error *reterr)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		      0600);

	if (fd >= 0) {
		close(fd);
		return BIDE_OK;
	}
	if (errno == EEXIST)
		return BIDE_OK;
	return error_set(reterr, BIDE_IO, "cannot make %s: %s", path,
			 strerror(errno));
}
