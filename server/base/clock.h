/* SPDX-License-Identifier: MIT */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H
#include <stdint.h>
#include <time.h>
/*
 * All time comes from here, so that a test can move it. "boot" is
 * CLOCK_BOOTTIME: it counts through a suspend and no one can set it.
 */
int64_t clock_boot_ms(void);
int64_t clock_boot_us(void);
int64_t clock_wall_ms(void); /* for showing and sealing, never for deciding */
const char *clock_boot_id(void); /* 36 characters; "" when unreadable */
/*
 * Test clock: a file of one int64_t (milliseconds, native order) that is added
 * to every reading above, shared by all processes that map it. 0 or -errno.
 */
int clock_use_file(const char *path);
/* How long a thread may really sleep to be back by @ms from now: the same, or
 * a few milliseconds when a test clock is in force. Never negative. */
int64_t clock_nap_ms(int64_t ms);
/* For pthread_cond_timedwait on a CLOCK_MONOTONIC condition: now + nap. */
struct timespec clock_deadline(int64_t ms);
/* YYYY-MM-DDThh:mm:ss.mmmZ into @out (at least 25 bytes). */
void clock_iso8601(int64_t wall_ms, char *out, size_t cap);
#endif
