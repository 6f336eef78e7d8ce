/* SPDX-License-Identifier: MIT */
#ifndef TESTS_STORE_PEER_H
#define TESTS_STORE_PEER_H
#include <pthread.h>
#include <stdatomic.h>

#include "store/sqlite_peers.h"
#include "tests/unit/store/forked.h"
/*
 * For the tests of peers: those in this process, with what each was told, and
 * those in others, which are the test's program again.
 */
#define LEASE_MS 20000 /* where no lease should run out */
#define POLL_MS  50

extern struct place place; /* of the test's database */
extern const char *const tool_x[];

struct ear {
	pthread_mutex_t lock;
	int bells, work, everything, polls;
	int64_t tasks[256];
	size_t ntasks;
	struct {
		int64_t instance;
		bool crashed;
		int64_t at_ms;
	} dead[16];
	size_t ndead;
	atomic_bool block; /* hold the bell thread in its next callback */
	atomic_bool blocked;
};

void ear_init(struct ear *e);
int read_int(struct ear *e, const int *field); /* under its lock */
size_t deaths(struct ear *e);
bool heard_task(struct ear *e, int64_t task);
/* Of a peer with that number and tool_x, heard by @e. */
struct peers_options options(int64_t instance, struct ear *e);
/* Joins, and has had its first look at everything. */
struct peers *join(const struct peers_options *opt);
struct peers *join_as(int64_t instance, struct ear *e);
/* Until @p has seen @n others. */
void wait_for_peers(struct peers *p, size_t n);

/* A peer in another process; zero is the usual. */
struct spec {
	int64_t instance;
	int64_t lease_ms;
	int64_t poll_ms;
	bool draining;
	const char *fault;
	bool forks; /* leaves a child that does not exec */
	bool tells; /* says 'E' when it is to look at everything */
};

void start_peer(struct child *c, struct spec *spec);
/* What main() does where there are arguments: it is such a process. */
int peer_main(char **argv);

/* The place, around each test. */
int setup(void **state);
int teardown(void **state);
#endif
