/* SPDX-License-Identifier: MIT */
#ifndef TESTS_STORE_FAILING_VFS_H
#define TESTS_STORE_FAILING_VFS_H
#include <stdatomic.h>

/*
 * A VFS in front of the default one that fails the WAL on demand. Becomes the
 * default itself, so what is opened afterwards goes through it. Any thread.
 */
struct failing_vfs {
	_Atomic int fail_syncs;  /* the next so many syncs of the WAL fail */
	_Atomic long full_after; /* writes that end past this offset: full */
	_Atomic int syncs;       /* that went well */
	_Atomic int syncs_failed;
};
extern struct failing_vfs failing_vfs;
void failing_vfs_register(void);
#endif
