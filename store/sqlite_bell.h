/* SPDX-License-Identifier: MIT */
#ifndef STORE_SQLITE_BELL_H
#define STORE_SQLITE_BELL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/*
 * The bell: one datagram socket an instance, inst-N.sock, reached through a
 * descriptor of the directory, for real paths are longer than the 107 bytes of
 * a socket address. Source: docs/design.md, "Wake-ups".
 */
#define BELL_TASKS 100 /* ids one datagram carries */
#define BELL_MAGIC UINT32_C(0x6c6c6562)

enum bell_flag {
	BELL_WORK = 1,      /* something may be claimable */
	BELL_EVERYTHING = 2 /* more than can be told */
};

/* What travels; native order, one machine. Frozen with the instance file. */
struct bell_message {
	uint32_t magic;
	uint16_t flags; /* enum bell_flag */
	uint16_t ntasks;
	int64_t tasks[BELL_TASKS];
};

/* What was drained. */
struct bell_heard {
	int64_t *tasks; /* room for @cap */
	size_t cap;
	size_t n;
	bool work;
	bool everything;
	size_t datagrams;
};

/* Binds the socket of @instance, replacing one left behind. A descriptor for
 * sqlite_fd_close(), or -errno. */
int bell_open(int dirfd, int64_t instance);
/* One that only sends; the same. */
int bell_open_sender(void);
/* Zeroed message with the magic; add turns it to everything when full. */
void bell_message_init(struct bell_message *m);
void bell_message_add(struct bell_message *m, int64_t task);
/*
 * Never blocks. 0; -EAGAIN when the receiver's queue is full; -ECONNREFUSED or
 * -ENOENT when nobody is there; -errno. Fault point "bell.send": the datagram
 * is lost.
 */
int bell_send(int fd, int dirfd, int64_t instance,
	      const struct bell_message *m);
/* Takes what is in the queue (all of it, unless more keeps coming). What does
 * not fit @heard, or is no message, makes it everything. */
void bell_drain(int fd, struct bell_heard *heard);
#endif
