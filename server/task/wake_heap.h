/* SPDX-License-Identifier: MIT */
#ifndef TASK_WAKE_HEAP_H
#define TASK_WAKE_HEAP_H
/* The timers of wake.c, earliest first; nobody else includes it. */
#include "server/task/wake.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wake_heap {
	struct wake_timer **at; /* a binary heap by at_ms */
	size_t len, cap;
	struct wake_timer *spill; /* those that found no memory for a slot */
};
void wake_heap_fini(struct wake_heap *h);
void wake_heap_add(struct wake_heap *h, struct wake_timer *t);
void wake_heap_remove(struct wake_heap *h, struct wake_timer *t);
/* The earliest one, or NULL. */
struct wake_timer *wake_heap_first(const struct wake_heap *h);
#endif
