/* SPDX-License-Identifier: MIT */
#ifndef STORE_SQLITE_PROC_H
#define STORE_SQLITE_PROC_H
#include <stdbool.h>
#include <stdint.h>
/*
 * Which process: a pid alone names whoever has the number now. With the start
 * time, the boot and the PID namespace it names one process for ever. Linux,
 * with /proc mounted.
 */
struct proc_id {
	int64_t pid;
	uint64_t start;  /* field 22 of /proc/PID/stat, in ticks since boot */
	uint64_t pid_ns; /* inode of /proc/self/ns/pid */
	char boot_id[40];
};

enum proc_state {
	PROC_UNKNOWN = 0, /* of another PID namespace, or /proc unreadable */
	PROC_GONE,        /* ended, a zombie, of an earlier boot */
	PROC_RUNS,
	PROC_STOPPED /* T or t: SIGSTOP, a terminal, a debugger */
};

void proc_self(struct proc_id *ret);
/* @ret_char: the letter of /proc/PID/stat, '?' when unknown; may be NULL. */
enum proc_state proc_look(const struct proc_id *id, char *ret_char);
/*
 * A pidfd of exactly that process: O_CLOEXEC, the caller's. -ESRCH when it is
 * gone, -EXDEV when it cannot be seen from here, else -errno.
 */
int proc_open(const struct proc_id *id);
int proc_kill(int pidfd); /* SIGKILL; 0 or -errno */
#endif
