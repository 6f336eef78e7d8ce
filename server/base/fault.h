/* SPDX-License-Identifier: MIT */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H
#include <stdbool.h>
/*
 * Countdown faults for tests. A program arms them itself (the fixture's
 * --fault option; a product binary has no way in). Spec:
 *   point[@detail]:n:action[,...]   action: kill (SIGKILL self), stop
 *   (SIGSTOP self), fail (fault_hit returns true), delayMS (sleep).
 * The n-th passage of the point acts; n=0 means every one. @detail, when
 * given, must equal the detail passed (for instance a tool's name).
 * Disarmed cost: one load and a branch.
 */
extern bool fault_armed;
int fault_arm(const char *spec, char *errtext, unsigned errcap); /* 0 or -1 */
bool fault_hit_slow(const char *point, const char *detail);
#define FAULT(point) (__builtin_expect(fault_armed, 0) && fault_hit_slow((point), ""))
#define FAULT_ON(point, detail) (__builtin_expect(fault_armed, 0) && fault_hit_slow((point), (detail)))
#endif
