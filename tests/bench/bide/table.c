/* SPDX-License-Identifier: MIT */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tests/bench/bide/bench.h"

enum sense { AT_LEAST, AT_MOST };

/* A goal of the figures that follow a part: docs/performance.md. */
struct goal {
	enum kind kind;
	size_t conns;
	double goal;
};

static const struct goal goals[] = {
	{ECHO, 16, 0.6},   {ECHO, 64, 0.6},   {POOL, 16, 0.35},
	{POOL, 64, 0.35},  {LEGS, 16, 0.4},   {LEGS, 64, 0.4},
	{GET, 16, 0.5},    {GET, 64, 0.5},    {STEPS, 32, 0.7},
	{CREATE, 64, 2.0}, {BESIDE, 16, 0.8},
};

static int missed;

double series_median(const struct series *s)
{
	struct series c = *s;

	return median(c.v, (size_t)bench.rounds);
}

double series_ratio(const struct series *a, const struct series *b)
{
	struct series c;

	for (int i = 0; i < bench.rounds; i++)
		c.v[i] = b->v[i] > 0 ? a->v[i] / b->v[i] : 0;
	return median(c.v, (size_t)bench.rounds);
}

static double goal_of(enum kind k, size_t conns)
{
	for (size_t i = 0; i < sizeof(goals) / sizeof(goals[0]); i++)
		if (goals[i].kind == k && goals[i].conns == conns)
			return goals[i].goal;
	return 0;
}

static void verdict(enum sense sense, double v, double goal, const char *unit)
{
	int ok = sense == AT_LEAST ? v >= goal : v <= goal;

	missed += !ok;
	(void)printf("  %s %g%s: %s\n",
		     sense == AT_LEAST ? "at least" : "at most", goal, unit,
		     ok ? "reached" : "MISSED");
}

/* What a part is compared with: a number and a word. */
static double compared(enum kind k, size_t i, const char **ret_with)
{
	const struct figure *f = &bench.figure[k][i];

	switch (k) {
	case FLOOR:
	case QUIET:
	case KINDS:
		*ret_with = NULL;
		return 0;
	case ECHO:
	case POOL:
	case GET:
		*ret_with = "of the floor";
		return series_ratio(&f->per_s, &bench.figure[FLOOR][i].per_s);
	case LEGS:
		*ret_with = "of the floor, a leg";
		return 2 *
		       series_ratio(&f->per_s, &bench.figure[FLOOR][i].per_s);
	case CREATE:
	case STEPS:
		*ret_with = "of the disk";
		return series_ratio(&f->per_s, &f->disk);
	case BESIDE:
		*ret_with = "of the quiet one";
		return series_ratio(&f->per_s, &bench.figure[QUIET][0].per_s);
	}
	return 0;
}

static void row(enum kind k, size_t i)
{
	const struct figure *f = &bench.figure[k][i];
	const char *with = NULL;
	double ratio = compared(k, i, &with);
	double goal = goal_of(k, kinds[k].conns[i]);

	(void)printf("%-37s %3zu %9.0f/s %8.0f %8.0f %7.1f", kinds[k].label,
		     kinds[k].conns[i], series_median(&f->per_s),
		     series_median(&f->p50_us), series_median(&f->p99_us),
		     series_median(&f->cpu_us));
	if (with != NULL)
		(void)printf("  %5.2f %-19s", ratio, with);
	if (goal > 0)
		verdict(AT_LEAST, ratio, goal, "");
	else
		(void)putchar('\n');
}

static void rows(enum kind k)
{
	if (!(bench.kinds & 1U << k))
		return;
	for (size_t i = 0; i < SIZES && kinds[k].conns[i] > 0; i++)
		row(k, i);
}

static void disk(void)
{
	double rate = series_median(&bench.disk);

	if (rate > 0)
		(void)printf("%-41s %9.0f/s %8.0f us each\n",
			     "the disk: one-row FULL commits", rate,
			     1e6 / rate);
}

/* ---- single figures ---- */
static void one(const char *label, double v, const char *unit)
{
	(void)printf("%-41s %9.2f %-9s", label, v, unit);
}

/* One client's two-step task, counted in commits. */
static void one_client(void)
{
	struct series commits;

	if (!(bench.kinds & 1U << STEPS))
		return;
	for (int i = 0; i < bench.rounds; i++)
		commits.v[i] = bench.figure[STEPS][0].p50_us.v[i] / 1e6 *
			       bench.figure[STEPS][0].disk.v[i];
	one("one client's two-step task, p50", series_median(&commits),
	    "commits");
	verdict(AT_MOST, series_median(&commits), 8, "");
}

/* Over what two commits take. */
static void answers(void)
{
	struct series over;
	double ms = series_median(&bench.answer_ms);

	if (ms <= 0)
		return;
	for (int i = 0; i < bench.rounds; i++)
		over.v[i] =
			bench.answer_ms.v[i] - 2 * 1e3 / bench.answer_disk.v[i];
	one("an answer's commit to entry elsewhere", ms, "ms");
	(void)printf("  two commits and %.2f ms:", series_median(&over));
	verdict(AT_MOST, series_median(&over), 0.2, " ms");
}

static void head(void)
{
	struct utsname u;

	(void)memset(&u, 0, sizeof(u));
	(void)uname(&u);
	(void)printf("\n%s %s, %ld processors, SQLite %s; medians of %d rounds "
		     "of %.1f s a part\n\n",
		     u.sysname, u.release, sysconf(_SC_NPROCESSORS_ONLN),
		     sqlite3_libversion(), bench.rounds, bench.seconds);
	(void)printf("%-37s %3s %11s %8s %8s %7s  %-25s  %s\n", "", "on",
		     "exchanges", "p50 us", "p99 us", "CPU us", "against",
		     "goal");
}

static void singles(void)
{
	one_client();
	answers();
	if (bench.bytes_a_waiter > 0) {
		one("a waiting caller's connection and task",
		    bench.bytes_a_waiter / 1024, "KiB");
		(void)putchar('\n');
	}
	if (series_median(&bench.idle_kb) <= 0)
		return;
	one("resident memory, idle", series_median(&bench.idle_kb) / 1024,
	    "MiB");
	verdict(AT_MOST, series_median(&bench.idle_kb) * 1024 / 1e6, 20, " MB");
	one("start to ready", series_median(&bench.ready_ms), "ms");
	verdict(AT_MOST, series_median(&bench.ready_ms), 100, " ms");
	one("start to ready, making the database",
	    series_median(&bench.ready_new_ms), "ms");
	verdict(AT_MOST, series_median(&bench.ready_new_ms), 100, " ms");
}

void table_print(void)
{
	head();
	for (int k = 0; k < KINDS; k++) {
		if (k == CREATE)
			disk();
		rows((enum kind)k);
	}
	(void)putchar('\n');
	singles();
	if (missed == 0)
		(void)printf("\nEvery goal is reached.\n");
	else
		(void)printf("\n%d goals are missed; docs/performance.md says "
			     "why.\n",
			     missed);
}
