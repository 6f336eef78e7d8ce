/* SPDX-License-Identifier: MIT */
#ifndef TASK_POOL_H
#define TASK_POOL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/*
 * A pool of named threads and one queue, first in first out. A job is the
 * caller's memory, borrowed until fn has begun: fn may free it.
 */
struct job {
	void (*fn)(struct job *j);
	struct job *next;
};
struct pool;
struct pool *pool_new(const char *name, size_t threads); /* NULL: no memory */
void pool_submit(struct pool *p, struct job *j); /* any thread; never blocks */
/* Threads waiting, minus jobs queued; approximate. */
size_t pool_idle(const struct pool *p);
size_t pool_queued(const struct pool *p);
size_t pool_busy(const struct pool *p); /* jobs running or queued now */
/* True once no job runs or is queued, within @ms. */
bool pool_drained(struct pool *p, int64_t ms);
/* Runs what is queued (and what that submits), joins the threads. */
void pool_free(struct pool *p);
#endif
