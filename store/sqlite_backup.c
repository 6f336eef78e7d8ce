/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/base/error.h"
#include "store/sqlite_store.h"

/*
 * A copy of the database at one moment. It is made under another name, synced,
 * and takes its own name last, so a file of that name is always a whole one.
 */

static enum bide_rc failed(struct bide_error *reterr, const char *what,
			   const char *path)
{
	return error_set(reterr, BIDE_IO, "%s %s: %s", what, path,
			 strerror(errno));
}

static enum bide_rc sync_path(const char *path, int flags,
			      struct bide_error *reterr)
{
	int fd = open(path, flags | O_CLOEXEC);
	bool ok = fd >= 0 && fsync(fd) == 0;

	if (fd >= 0)
		close(fd);
	return ok ? BIDE_OK : failed(reterr, "cannot sync", path);
}

static enum bide_rc copy_into(struct sql *c, const char *partial,
			      struct bide_error *reterr)
{
	int fd = open(partial, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0)
		return failed(reterr, "cannot make", partial);
	close(fd);
	if (sql_run(c, SQL_BACKUP_INTO, "s", partial) < 0 || c->rc != SQLITE_OK)
		return error_set(reterr, BIDE_IO, "cannot copy to %s: %s",
				 partial, sqlite3_errmsg(c->db));
	return sync_path(partial, O_RDONLY, reterr);
}

/* link() refuses a name that is taken, which rename() would not. */
static enum bide_rc give_name(const char *partial, const char *path,
			      struct bide_error *reterr)
{
	char dir[PATH_MAX];

	if (link(partial, path) != 0)
		return failed(reterr, "cannot make", path);
	snprintf(dir, sizeof dir, "%s", path);
	return sync_path(dirname(dir), O_RDONLY | O_DIRECTORY, reterr);
}

enum bide_rc store_backup(const struct store_options *opt, const char *path,
			  struct bide_error *reterr)
{
	struct store_options look = *opt;
	struct store_file file = {0};
	struct sql c = {0};
	char partial[PATH_MAX];
	struct stat st;
	int version = 0;
	enum bide_rc rc;

	if (lstat(path, &st) == 0)
		return error_set(reterr, BIDE_CONFLICT,
				 "%s exists; name a file that does not", path);
	if ((size_t)snprintf(partial, sizeof partial, "%s.%ld.partial", path,
			     (long)getpid()) >= sizeof partial)
		return error_set(reterr, BIDE_INVALID, "the name is too long");
	look.create = false;
	rc = file_locate(&look, &file, reterr);
	if (rc == BIDE_OK)
		rc = sql_open(&c, file.path, SQLITE_OPEN_READONLY, reterr);
	if (rc == BIDE_OK)
		rc = migrate_check(&c, file.path, &version, reterr);
	if (rc == BIDE_OK) {
		rc = copy_into(&c, partial, reterr);
		if (rc == BIDE_OK)
			rc = give_name(partial, path, reterr);
		unlink(partial);
	}
	sql_close(&c);
	free(file.path);
	return rc;
}
