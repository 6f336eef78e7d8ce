/* SPDX-License-Identifier: MIT */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/bide/bench.h"
#include "tests/e2e/lib/probe.h"

const struct kind_of kinds[KINDS] = {
	[FLOOR] = {"the floor: libmicrohttpd and jansson",
		   {1, 16, 64},
		   &script_echo},
	[ECHO] = {"echo, inline", {1, 16, 64}, &script_echo},
	[POOL] = {"echo, through the worker pool", {1, 16, 64}, &script_pool},
	[LEGS] = {"MRTR exchange of two legs", {1, 16, 64}, &script_legs},
	[GET] = {"tasks/get", {1, 16, 64}, &script_get},
	[CREATE] = {"durable create", {1, 16, 64}, &script_create},
	[STEPS] = {"durable two-step task, one call",
		   {1, 32, 0},
		   &script_steps},
	[QUIET] = {"echo, a server where nobody waits",
		   {16, 0, 0},
		   &script_echo},
	[BESIDE] = {"echo beside 2,000 waiting callers",
		    {16, 0, 0},
		    &script_echo},
};

/* What a part left to do in the background is not to disturb the next. */
static void settle(const struct server *v)
{
	double created = probe_metric(v, "bide_tasks_created_total");

	if (!probe_await_least(v, "bide_tasks_claimed_total", created) ||
	    !probe_await_most(v, "bide_tasks_running", 0)) {
		(void)fprintf(stderr, "bench: the server does not settle\n");
		exit(1);
	}
}

int parts_port(const struct server *v)
{
	const char *colon = strrchr(v->base, ':');

	return colon != NULL ? (int)strtol(colon + 1, NULL, 10) : 0;
}

static void run(enum kind k, size_t i, int round, int port, pid_t pid)
{
	struct figure *f = &bench.figure[k][i];
	double cpu = probe_cpu_ms(pid);
	struct load_result r =
		load_run(port, kinds[k].conns[i], bench.seconds,
			 kinds[k].script->next, kinds[k].script->user);

	cpu = probe_cpu_ms(pid) - cpu;
	f->cpu_us.v[round] = r.done > 0 ? cpu * 1e3 / (double)r.done : 0;
	f->per_s.v[round] = r.per_s;
	f->p50_us.v[round] = r.p50_us;
	f->p99_us.v[round] = r.p99_us;
	bench.wrong += r.wrong;
	if (r.wrong > 0)
		(void)fprintf(stderr, "bench: %s, %zu: %zu wrong\n",
			      kinds[k].label, kinds[k].conns[i], r.wrong);
	if (bench.verbose)
		(void)fprintf(stderr, "  %-36s %2zu %9.0f/s %8.0f us\n",
			      kinds[k].label, kinds[k].conns[i], r.per_s,
			      r.p50_us);
}

void parts_floor(int round, int port, pid_t pid)
{
	if (!(bench.kinds & 1U << FLOOR))
		return;
	for (size_t i = 0; i < SIZES; i++)
		run(FLOOR, i, round, port, pid);
}

void parts_run(enum kind k, int round, struct server *v)
{
	if (!(bench.kinds & 1U << k))
		return;
	for (size_t i = 0; i < SIZES && kinds[k].conns[i] > 0; i++)
		run(k, i, round, parts_port(v), v->pid);
}

void parts_durable(enum kind k, int round, struct server *v)
{
	const char *dir = v->scratch->dir;
	double before;
	double after;

	if (!(bench.kinds & 1U << k))
		return;
	before = parts_disk(dir, bench.seconds / 2);
	for (size_t i = 0; i < SIZES && kinds[k].conns[i] > 0; i++) {
		run(k, i, round, parts_port(v), v->pid);
		settle(v);
		after = parts_disk(dir, bench.seconds / 2);
		bench.figure[k][i].disk.v[round] = (before + after) / 2;
		before = after;
	}
	bench.disk.v[round] = before;
}

static void must(int rc, sqlite3 *db)
{
	if (rc == SQLITE_OK || rc == SQLITE_DONE || rc == SQLITE_ROW)
		return;
	(void)fprintf(stderr, "bench: disk: %s\n", sqlite3_errmsg(db));
	exit(1);
}

double parts_disk(const char *dir, double seconds)
{
	char path[320];
	sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;
	int64_t begun;
	size_t n = 0;
	double took;

	(void)snprintf(path, sizeof(path), "%s/disk.db", dir);
	must(sqlite3_open(path, &db), db);
	must(sqlite3_exec(db,
			  "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
			  "CREATE TABLE IF NOT EXISTS t(a INTEGER PRIMARY KEY,"
			  "b BLOB)",
			  NULL, NULL, NULL),
	     db);
	must(sqlite3_prepare_v2(db, "INSERT INTO t(b) VALUES(zeroblob(200))",
				-1, &st, NULL),
	     db);
	begun = load_now_ns();
	do {
		must(sqlite3_step(st), db);
		must(sqlite3_reset(st), db);
		n++;
		took = (double)(load_now_ns() - begun) / 1e9;
	} while (took < seconds);
	(void)sqlite3_finalize(st);
	(void)sqlite3_close(db);
	return (double)n / took;
}
