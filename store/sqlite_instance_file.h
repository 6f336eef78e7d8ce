/* SPDX-License-Identifier: MIT */
#ifndef STORE_SQLITE_INSTANCE_FILE_H
#define STORE_SQLITE_INSTANCE_FILE_H
#include "store/sqlite_dir.h"
#include "store/sqlite_proc.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/*
 * inst-N.lock: flocked by its process for life, mapped by it and by its peers.
 * The file appears complete and flocked, so whoever meets it free meets a dead
 * one. The layout is shared by processes of different versions: what is here
 * is frozen, and another layout is another version, which is not read.
 */
#define INSTANCE_FILE_MAGIC   UINT64_C(0x74736e6965646962) /* "bideinst" */
#define INSTANCE_FILE_VERSION 1
#define INSTANCE_FILE_BITS    4096 /* of the filter of watched tasks */

enum instance_flag {
	INSTANCE_READY = 1,    /* its socket is there */
	INSTANCE_DRAINING = 2, /* its death is no crash */
	INSTANCE_LEFT = 4      /* it released all it had and went */
};

struct instance_header {
	uint64_t magic;
	uint32_t version;
	uint32_t ntools;
	int64_t instance;
	int64_t joined_ms; /* clock_boot_ms() */
	int64_t pid;
	uint64_t start;
	uint64_t pid_ns;
	char boot_id[40];
	char name[64];
	/* by its process alone */
	_Atomic int64_t lease_until_ms; /* clock_boot_ms() */
	_Atomic int32_t idle;
	_Atomic uint32_t flags; /* enum instance_flag */
	/* set by peers whose datagram found its queue full */
	_Atomic uint32_t overflow;
	uint32_t unused;
	_Atomic uint64_t watched[INSTANCE_FILE_BITS / 64];
	uint64_t tools[]; /* ntools hashes, rising */
};

struct instance_file {
	struct instance_header *h; /* mapped; NULL: not open */
	size_t bytes;
	int fd; /* own: holds the flock; a peer's: -1 */
	uint64_t ino;
};

/* "inst-N.lock", "inst-N.sock". */
void instance_file_name(int64_t instance, const char *end,
			char name[SQLITE_DIR_NAME]);
/* The number in "inst-N.lock", or 0. */
int64_t instance_file_number(const char *name);

/**
 * instance_file_make - makes this process's file, flocked, under its number.
 * @first: the header to begin with; magic, version, pid and so on are filled
 *         in here. @tools: hashes, rising.
 * A dead one's file under the same number is replaced. 0; -EEXIST when a live
 * one has it; -errno.
 */
int instance_file_make(int dirfd, const struct instance_header *first,
		       const uint64_t *tools, struct instance_file *ret);
/* Removes the own file and socket and lets go of the lock. */
void instance_file_unmake(int dirfd, struct instance_file *f);

/* A peer's, mapped: 0; -ENOENT; -EPROTO (another layout); -errno. */
int instance_file_map(int dirfd, int64_t instance, struct instance_file *ret);
void instance_file_unmap(struct instance_file *f);

/* 1: its process holds it; 0: nobody does; -ENOENT; -errno. */
int instance_file_held(int dirfd, int64_t instance);
/* Removes the files of one whose lock is free, while holding that lock. 0 (also
 * when there are none); -EBUSY when it is held; -errno. */
int instance_file_bury(int dirfd, int64_t instance);
/* Inode of the file that has the name now; 0 when none has. */
uint64_t instance_file_ino(int dirfd, int64_t instance);
/* A copy of the header without mapping; needs only the right to read. */
int instance_file_read(int dirfd, int64_t instance,
		       struct instance_header *ret);

void instance_file_who(const struct instance_header *h, struct proc_id *ret);
bool instance_file_has_tool(const struct instance_header *h, uint64_t tool);
/* The four bits of a task in the filter. */
#define INSTANCE_FILE_HASHES 4
void instance_file_bits(int64_t task, unsigned ret[INSTANCE_FILE_HASHES]);
bool instance_file_may_watch(const struct instance_header *h, int64_t task);
#endif
