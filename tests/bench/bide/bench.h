/* SPDX-License-Identifier: MIT */
#ifndef TESTS_BENCH_BIDE_H
#define TESTS_BENCH_BIDE_H
#include "tests/bench/lib/load.h"
#include "tests/e2e/lib/server.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/*
 * ./dev bench: one table from one run. The parts are interleaved over some
 * rounds, each figure is the median of its rounds, and what is compared is
 * compared within a round, since machines are noisy.
 */
#define ROUNDS_MAX 25
#define WAITING    2000

enum kind { FLOOR, ECHO, POOL, LEGS, GET, CREATE, STEPS, QUIET, BESIDE, KINDS };
#define SIZES 3 /* numbers of connections that a kind is tried with */

struct series {
	double v[ROUNDS_MAX];
};
struct figure {
	struct series per_s, p50_us, p99_us;
	struct series cpu_us; /* the server's, an exchange */
	struct series disk;   /* just before and just after it */
};

struct bench {
	int rounds;
	double seconds; /* of one part */
	bool verbose;
	unsigned kinds; /* bits: which to run */
	struct figure figure[KINDS][SIZES];
	struct series disk;         /* one-row FULL commits a second */
	struct series answer_ms;    /* medians, each over some answers */
	struct series answer_disk;  /* the disk beside them */
	struct series ready_ms;     /* from fork() to the log's line */
	struct series ready_new_ms; /* the same, with a database to make */
	struct series idle_kb;      /* resident, once it is ready */
	double bytes_a_waiter;
	size_t wrong; /* replies that were not what they must be */
};
extern struct bench bench;

/* ---- requests.c ---- */
struct script {
	load_next next;
	void *user;
};
extern struct script script_echo, script_pool, script_legs, script_get,
	script_create, script_steps;
/* A task to be polled by script_get. */
void requests_make_task(const char *url);
/* A call that waits for ten minutes without holding a thread. */
size_t requests_waiting(char *out, size_t cap);

/* ---- parts.c ---- */
struct kind_of {
	const char *label;
	size_t conns[SIZES]; /* 0: no more */
	struct script *script;
};
extern const struct kind_of kinds[KINDS];
/* All sizes of a kind, against @v; of FLOOR against the server on @port. */
void parts_floor(int round, int port, pid_t pid);
int parts_port(const struct server *v);
void parts_run(enum kind k, int round, struct server *v);
/* With the disk measured around each size: it drifts within seconds. */
void parts_durable(enum kind k, int round, struct server *v);
/* One-row FULL commits a second, on the file system of @dir. */
double parts_disk(const char *dir, double seconds);

/* ---- rounds.c: what the whole run is made of ---- */
void rounds_requests(void);
void rounds_waiting(void);
void rounds_answers(void);
void rounds_starting(void);

/* ---- table.c ---- */
double series_median(const struct series *s);
/* The median of a[i] / b[i]. */
double series_ratio(const struct series *a, const struct series *b);
void table_print(void);

#endif
