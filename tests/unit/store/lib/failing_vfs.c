/* SPDX-License-Identifier: MIT */
#include "tests/unit/store/lib/failing_vfs.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

struct failing_vfs failing_vfs = {.full_after = LONG_MAX};

static sqlite3_vfs *real_vfs;

struct file {
	sqlite3_file base;
	bool wal;
	_Alignas(8) unsigned char real[]; /* the real VFS's file */
};

static sqlite3_file *real(sqlite3_file *f)
{
	return (sqlite3_file *)(void *)((struct file *)(void *)f)->real;
}

static const sqlite3_io_methods *methods(sqlite3_file *f)
{
	return real(f)->pMethods;
}

static bool is_wal(sqlite3_file *f)
{
	return ((struct file *)(void *)f)->wal;
}

static int x_close(sqlite3_file *f)
{
	return methods(f)->xClose(real(f));
}

static int x_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
	return methods(f)->xRead(real(f), p, n, at);
}

static int x_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	if (is_wal(f) && at + n > failing_vfs.full_after)
		return SQLITE_FULL;
	return methods(f)->xWrite(real(f), p, n, at);
}

static int x_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	return methods(f)->xTruncate(real(f), size);
}

static bool take_failure(void)
{
	int left = failing_vfs.fail_syncs;

	while (left > 0)
		if (atomic_compare_exchange_weak(&failing_vfs.fail_syncs, &left,
						 left - 1))
			return true;
	return false;
}

static int x_sync(sqlite3_file *f, int flags)
{
	int rc;

	if (is_wal(f) && take_failure()) {
		failing_vfs.syncs_failed++;
		return SQLITE_IOERR_FSYNC;
	}
	rc = methods(f)->xSync(real(f), flags);
	if (is_wal(f) && rc == SQLITE_OK)
		failing_vfs.syncs++;
	return rc;
}

static int x_size(sqlite3_file *f, sqlite3_int64 *size)
{
	return methods(f)->xFileSize(real(f), size);
}

static int x_lock(sqlite3_file *f, int level)
{
	return methods(f)->xLock(real(f), level);
}

static int x_unlock(sqlite3_file *f, int level)
{
	return methods(f)->xUnlock(real(f), level);
}

static int x_check(sqlite3_file *f, int *out)
{
	return methods(f)->xCheckReservedLock(real(f), out);
}

static int x_control(sqlite3_file *f, int op, void *arg)
{
	return methods(f)->xFileControl(real(f), op, arg);
}

static int x_sector(sqlite3_file *f)
{
	return methods(f)->xSectorSize(real(f));
}

static int x_device(sqlite3_file *f)
{
	return methods(f)->xDeviceCharacteristics(real(f));
}

static int x_shm_map(sqlite3_file *f, int page, int size, int extend,
		     void volatile **ret)
{
	return methods(f)->xShmMap(real(f), page, size, extend, ret);
}

static int x_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
	return methods(f)->xShmLock(real(f), at, n, flags);
}

static void x_shm_barrier(sqlite3_file *f)
{
	methods(f)->xShmBarrier(real(f));
}

static int x_shm_unmap(sqlite3_file *f, int delete)
{
	return methods(f)->xShmUnmap(real(f), delete);
}

static const sqlite3_io_methods failing_methods = {
	.iVersion = 2,
	.xClose = x_close,
	.xRead = x_read,
	.xWrite = x_write,
	.xTruncate = x_truncate,
	.xSync = x_sync,
	.xFileSize = x_size,
	.xLock = x_lock,
	.xUnlock = x_unlock,
	.xCheckReservedLock = x_check,
	.xFileControl = x_control,
	.xSectorSize = x_sector,
	.xDeviceCharacteristics = x_device,
	.xShmMap = x_shm_map,
	.xShmLock = x_shm_lock,
	.xShmBarrier = x_shm_barrier,
	.xShmUnmap = x_shm_unmap,
};

static int x_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f,
		  int flags, int *out)
{
	struct file *file = (struct file *)(void *)f;
	int rc;

	(void)vfs;
	file->wal = (flags & SQLITE_OPEN_WAL) != 0;
	rc = real_vfs->xOpen(real_vfs, name, real(f), flags, out);
	f->pMethods = rc == SQLITE_OK ? &failing_methods : NULL;
	return rc;
}

void failing_vfs_register(void)
{
	static sqlite3_vfs vfs;

	real_vfs = sqlite3_vfs_find(NULL);
	vfs = *real_vfs;
	vfs.zName = "failing";
	vfs.szOsFile = (int)sizeof(struct file) + real_vfs->szOsFile;
	vfs.xOpen = x_open;
	vfs.pNext = NULL;
	sqlite3_vfs_register(&vfs, 1);
}
