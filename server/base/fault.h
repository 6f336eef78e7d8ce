/* SPDX-License-Identifier: MIT */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H
#include <stdbool.h>
/*
 * Countdown faults for tests. A program arms them itself (the fixture's
 * --fault option; a product binary has no way in). Spec:
 *   point[@detail]:n:action[,...]   action: kill (SIGKILL self), stop
 *   (SIGSTOP self), fail (fault_hit returns true), delayMS (sleep, as in
 *   delay250), stamp (a line with CLOCK_MONOTONIC in ns on standard error).
 * The n-th passage of the point acts; n=0 means every one. @detail, when
 * given, must equal the detail passed (for instance a tool's name); passages
 * with another detail are not counted. Several entries may name one point:
 * each counts for itself. Counting is per process and thread-safe; arming is
 * not: arm before the threads that pass the points start.
 * Disarmed cost: one load and a branch.
 */
extern bool fault_armed;
/* Adds to what is armed; all of @spec or, on an error, none of it. 0 or -1. */
int fault_arm(const char *spec, char *errtext, unsigned errcap);
void fault_disarm(void); /* forgets all points and counts */
bool fault_hit_slow(const char *point, const char *detail);
#define FAULT(point) FAULT_ON(point, "")
#define FAULT_ON(point, detail)                                                \
	(__builtin_expect(fault_armed, 0) && fault_hit_slow((point), (detail)))
#endif
