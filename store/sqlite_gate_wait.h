/* SPDX-License-Identifier: MIT */
#ifndef STORE_SQLITE_GATE_WAIT_H
#define STORE_SQLITE_GATE_WAIT_H
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
/*
 * flock with ticks: a blocking flock that comes back every so often, so that
 * its caller can look at a deadline. How is said in sqlite_gate.h.
 *
 * Belongs to the calling thread, from begin to end.
 */
struct gate_wait {
	timer_t timer;
	bool timed; /* else no timer was to be had: tries and naps */
	int signo;
	sigset_t mask; /* the thread's, before */
};

void gate_wait_begin(struct gate_wait *w);
void gate_wait_end(struct gate_wait *w);
/* Takes the exclusive flock of @fd: 0; -EINTR at the latest @ms from now, with
 * nothing taken; else -errno. Fault point "gate.wait": just before it blocks.
 */
int gate_wait_flock(struct gate_wait *w, int fd, int64_t ms);
#endif
