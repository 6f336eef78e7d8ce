/* SPDX-License-Identifier: MIT */
#ifndef STORE_SQLITE_GATE_RECORD_H
#define STORE_SQLITE_GATE_RECORD_H
#include "store/sqlite_proc.h"
#include <stdint.h>
/*
 * Who is inside, written into the gate file. The file is mapped, so writing
 * costs no system call and leaves no dirty inode behind for the next fsync.
 * The record is a note for people and for breaking a frozen holder; the lock
 * is the flock.
 */
struct gate_record; /* mapped */

struct gate_note {
	struct proc_id who;
	int64_t since_ms; /* 0: nobody */
};

/* NULL when it cannot be mapped (a full disk): the gate works without. The
 * mapping neither holds the flock of @fd nor reaches a forked child. */
struct gate_record *gate_record_map(int fd);
void gate_record_unmap(struct gate_record *r); /* accepts NULL */
/* By the holder of the lock only. NULL is accepted. */
void gate_record_set(struct gate_record *r, const struct proc_id *who,
		     int64_t since_ms);
void gate_record_clear(struct gate_record *r);
/* Any thread or process. A note that is being written reads as nobody. */
struct gate_note gate_record_get(const struct gate_record *r);
struct gate_note gate_record_read(int fd);
#endif
