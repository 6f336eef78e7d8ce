/* SPDX-License-Identifier: MIT */
#ifndef TASK_POOL_H
#define TASK_POOL_H
#include <stdbool.h>
#include <stddef.h>
/* A pool of named threads and one queue. A job is the caller's memory, borrowed until fn has begun. */
struct job { void (*fn)(struct job *); struct job *next; };
struct pool;
struct pool *pool_new(const char *name, size_t threads);
void pool_submit(struct pool *p, struct job *j); /* any thread; never blocks */
size_t pool_idle(const struct pool *p);   /* threads waiting, minus jobs queued; approximate */
size_t pool_queued(const struct pool *p);
/* Runs what is queued, joins the threads. */
void pool_free(struct pool *p);
#endif
