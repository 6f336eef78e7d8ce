/* SPDX-License-Identifier: MIT */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
/*
 * Named threads, and ranked mutexes that know their owner: taking a lock of a
 * rank not above every lock held by this thread aborts, and so does unlocking
 * or asserting one that this thread does not hold (checked in all builds).
 * Signals are blocked in all threads started here, but for those a fault of
 * the thread itself raises (SIGSEGV and its like).
 */
struct thread {
	pthread_t id;
	bool started;
};
/* @name: cut to 15 characters. 0 or -errno. */
int thread_start(struct thread *t, const char *name, void (*fn)(void *),
		 void *arg);
void thread_join(struct thread *t); /* accepts one that never started */

/* Ranks, taken upward only. */
enum mutex_rank {
	RANK_PROTOCOL = 8,  /* protocol: one request's stream */
	RANK_HTTP = 10,     /* transport: one connection */
	RANK_HTTP_SET = 12, /* transport: the set of waiting connections */
	RANK_DISPATCH = 20,
	RANK_CALL = 30, /* handler: one call */
	RANK_ENGINE = 40,
	RANK_TOPICS = 45, /* task: who listens for what */
	RANK_WAKE = 50,
	RANK_POOL = 60,
	RANK_STORE = 70, /* the writer's queue */
	RANK_STORE_READERS = 72,
	RANK_STORE_PEERS = 74,
	RANK_LEAF = 90 /* nothing is taken while it is held */
};
struct mutex {
	pthread_mutex_t m;
	int rank;
	pthread_t owner;
	bool held;
};
void mutex_init(struct mutex *m, enum mutex_rank rank);
void mutex_fini(struct mutex *m);
void mutex_lock(struct mutex *m);
void mutex_unlock(struct mutex *m);
void mutex_assert_held(const struct mutex *m);
/*
 * On CLOCK_MONOTONIC. The mutex waited with must be the one taken last: a wait
 * that keeps another lock of a higher rank could not take its own back.
 */
struct cond {
	pthread_cond_t c;
};
void cond_init(struct cond *c);
void cond_fini(struct cond *c);
void cond_wait(struct cond *c, struct mutex *m);
/* False on time-out. @ms is from now, through clock_nap_ms(): may be early. */
bool cond_wait_ms(struct cond *c, struct mutex *m, int64_t ms);
void cond_signal(struct cond *c);
void cond_broadcast(struct cond *c);
#endif
