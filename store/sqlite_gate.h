/* SPDX-License-Identifier: MIT */
#ifndef STORE_SQLITE_GATE_H
#define STORE_SQLITE_GATE_H
#include "bide/types.h"
#include <stdbool.h>
#include <stdint.h>
/*
 * The write gate: all writes and checkpoints of all processes on one database
 * pass two flocks in <realpath(db)>.d/, an anteroom and the gate (take `next`,
 * take `gate`, drop `next`). Source: docs/design.md, "The write gate", "A
 * stopped holder".
 *
 * flock belongs to an open file description: two gate handles of one process
 * exclude each other as two processes do; one handle is used by one thread at
 * a time (checked: MISUSE). A process that dies frees the gate at once. A child
 * that forks and does not exec loses the gate's descriptors in an atfork hook,
 * so it keeps nothing of its parent's; a gate handle is of no use in it.
 *
 * A deadline on flock: the free pair is tried without blocking. Otherwise the
 * caller blocks in flock itself, which keeps the kernel's queue and so the
 * fairness, and a timer aimed at this thread alone breaks the wait with a
 * real-time signal whose empty handler has no SA_RESTART. The timer repeats,
 * so a signal that comes just before the system call costs one more tick and
 * never the deadline. The library takes, once, the highest real-time signal
 * whose disposition is SIG_DFL; it is unblocked in the waiting thread for the
 * wait only.
 */
struct gate;

struct gate_options {
	/* A waiter that has seen one holder stopped (state T) for so long
	 * kills it; 0: never. */
	int64_t break_after_ms;
};

/**
 * gate_open - opens, and makes where missing, the directory and both files.
 * @realpath_db: canonical path of the database, which exists; copied.
 * @opt: may be NULL for the defaults.
 * Returns BIDE_OK; BIDE_IO, BIDE_INVALID (a directory that is another user's),
 * BIDE_NOMEM; the text is for the operator.
 */
enum bide_rc gate_open(const char *realpath_db, const struct gate_options *opt,
		       struct gate **ret, struct bide_error *reterr)
	BIDE_NODISCARD;
/* Leaves if need be. NULL is accepted. No thread may be inside or waiting. */
void gate_close(struct gate *g);

/**
 * gate_enter - waits for the gate; on BIDE_OK the caller holds it.
 * @deadline_ms: on clock_boot_ms(); past already: one try without waiting.
 *
 * Returns BIDE_OK; BIDE_BUSY (the deadline passed: nothing is held and nothing
 * is queued; the text names the holder where it is known); BIDE_CANCELLED
 * (gate_interrupt()); BIDE_IO (the files cannot be opened); BIDE_MISUSE (this
 * handle is inside already, or another thread uses it).
 * Threads: one at a time; no lock held by the caller. Takes its time into
 * METRIC_STORE_GATE_WAIT_US.
 */
enum bide_rc gate_enter(struct gate *g, int64_t deadline_ms,
			struct bide_error *reterr) BIDE_NODISCARD;
/* By the thread that entered, or one that took over from it. */
void gate_leave(struct gate *g);
/*
 * True while what gate_enter() took still is the gate: false after somebody
 * replaced the file under the holder, who then must write nothing more. Two
 * system calls; for use before something that must not be raced.
 */
bool gate_still_mine(const struct gate *g);
/* Makes a waiting gate_enter() come back within about 100 ms, and every later
 * one at once unless the gate is free, until called with false. Any thread. */
void gate_interrupt(struct gate *g, bool on);

enum gate_place {
	GATE_FREE = 0, /* nobody is written down as inside */
	GATE_INSIDE,   /* holds the gate */
	GATE_ANTEROOM  /* holds `next` and waits; the gate itself may be free */
};

/* Who stands in the gate. What a process left written that has ended, in this
 * boot or before it, does not count. */
struct gate_holder {
	enum gate_place place;
	int64_t pid;      /* as that process sees itself */
	int64_t since_ms; /* clock_boot_ms() */
	bool visible;     /* false: of another PID namespace */
	bool stopped;     /* state T or t: SIGSTOP, a debugger, a terminal */
	char state;       /* of /proc/PID/stat; '?' when not visible */
};

/**
 * gate_holder - reads who holds the gate, without taking part in it.
 * @realpath_db: as for gate_open(); nothing is created.
 * When nobody is inside and somebody who is stopped stands in the anteroom,
 * that one is told. The answer is a look: it may be old when it arrives.
 * Returns BIDE_OK (also for GATE_FREE), BIDE_NOT_FOUND (no directory yet),
 * BIDE_IO. Threads: any. Never blocks on the gate.
 */
enum bide_rc gate_holder(const char *realpath_db, struct gate_holder *ret);
#endif
