/* SPDX-License-Identifier: MIT */
/*
 * Many of everything: tasks that wait hold no thread and no memory; calls leave
 * nothing behind; the sweeper is in nobody's way; what nobody continues is
 * capped and goes. Issue 2 sections 3 and 7, F5, F25, F47.
 *
 * BIDE_FULL raises the numbers to those of the issue; a sanitizer lowers them,
 * and what is then said of memory says nothing, so it is not asked.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/e2e/lib/client.h"
#include "tests/e2e/lib/probe.h"
#include "tests/e2e/lib/server.h"
#include "tests/e2e/lib/testclock.h"

#define CREW    24
#define SAMPLES 100
#define HOUR_MS 3600000

/* The store opens another reader when more read at once than ever before. */
#define FDS_SLACK 8

static bool sanitized(void)
{
	return getenv("BIDE_SANITIZED") != NULL;
}

static long scaled(long normal, long full)
{
	if (sanitized())
		return normal / 10;
	return getenv("BIDE_FULL") != NULL ? full : normal;
}

/* ---- many callers at once ---- */
struct crew {
	const struct server *v;
	const char *can, *principal;
	bool (*one)(const struct ask *a, long i); /* false: went wrong */
	long n;
	atomic_long next, wrong;
};

static void *crew_member(void *arg)
{
	struct crew *c = arg;
	struct ask a = {
		.url = c->v->url, .can = c->can, .principal = c->principal};
	long i;

	while ((i = atomic_fetch_add(&c->next, 1)) < c->n)
		if (!c->one(&a, i))
			atomic_fetch_add(&c->wrong, 1);
	return NULL;
}

static void crew_run(struct crew *c, long n)
{
	pthread_t t[CREW];

	c->n = n;
	atomic_store(&c->next, 0);
	atomic_store(&c->wrong, 0);
	for (int i = 0; i < CREW; i++)
		assert_int_equal(pthread_create(&t[i], NULL, crew_member, c),
				 0);
	for (int i = 0; i < CREW; i++)
		(void)pthread_join(t[i], NULL);
	assert_int_equal(atomic_load(&c->wrong), 0);
}

/*
 * All that was created was entered, and has been parked or has ended. A heap of
 * a hundred thousand takes its time, so what counts is that it goes on. The
 * rows have the last word: between a claim and the handler, and between the
 * handler and the commit of what it came to, bide_tasks_running counts nobody.
 */
static bool settled(const struct server *v)
{
	double created = probe_metric(v, "bide_tasks_created_total");
	double claimed;

	for (;;) {
		claimed = probe_metric(v, "bide_tasks_claimed_total");
		if (claimed >= created)
			return probe_await_rows(v->scratch->db,
						"task WHERE state < 3", 0);
		if (!probe_await_least(v, "bide_tasks_claimed_total",
				       claimed + 1))
			return false;
	}
}

static double now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median_of(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

static double two_step_ms(const struct server *v)
{
	struct ask a = {.url = v->url};
	double begun = now_ms();
	struct reply *r = tool(&a, "two_step", NULL);

	assert_string_equal(result_text(r), "two steps done");
	reply_free(r);
	return now_ms() - begun;
}

/* ---- tasks that wait ---- */
static char *some[16]; /* tokens, for a later look */

static bool create_waiting(const struct ask *a, long i)
{
	struct reply *r =
		tool(a, "confirm_delete", json_pack("{s:s}", "filename", "f"));
	bool ok = *task_id(r) != '\0';

	if (ok && i < 16) {
		free(some[i]);
		some[i] = strdup(task_id(r));
	}
	if (!ok)
		(void)fprintf(stderr, "e2e: %s\n",
			      r->raw != NULL ? r->raw : "no answer");
	reply_free(r);
	return ok;
}

static void some_free(void)
{
	for (int i = 0; i < 16; i++) {
		free(some[i]);
		some[i] = NULL;
	}
}

static void look_at_some(const struct server *v)
{
	struct ask a = {.url = v->url, .can = CAN_TASKS};
	struct reply *r;

	for (int i = 0; i < 8; i++) {
		reply_free(task_do(&a, "tasks/cancel", some[i], NULL));
		r = task_await(&a, some[i], "cancelled");
		assert_non_null(r);
		reply_free(r);
	}
	for (int i = 8; i < 16; i++) {
		reply_free(task_do(&a, "tasks/update", some[i],
				   accept_bool("confirm", "confirm", true)));
		r = task_await(&a, some[i], "completed");
		assert_non_null(r);
		reply_free(r);
	}
}

/* Big ones: they fill SQLite's page cache, which has a ceiling of 16 MB. */
static bool create_big(const struct ask *a, long i)
{
	char name[8192];
	struct reply *r;
	bool ok;

	(void)i;
	memset(name, 'f', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	r = tool(a, "confirm_delete", json_pack("{s:s}", "filename", name));
	ok = *task_id(r) != '\0';
	reply_free(r);
	return ok;
}

/*
 * "A waiting task holds no thread and no memory": beyond the page cache, which
 * is filled first. With 1 KiB a task this fails.
 */
static void test_waiting_tasks__hold_no_thread_and_no_memory(void **unused)
{
	static const char *const args[] = {"--max-tasks-per-principal",
					   "100000000", NULL};
	long n = scaled(10000, 100000);
	struct scratch *s = scratch_new();
	struct server *v = server_start(s, args);
	struct crew c = {.v = v, .can = CAN_TASKS, .one = create_big};
	long threads = probe_threads(v->pid);
	long fds;
	long kb;

	(void)unused;
	crew_run(&c, scaled(4000, 4000));
	assert_true(settled(v));
	kb = probe_anon_kb(v->pid);
	fds = probe_fds(v->pid);
	c.one = create_waiting;
	crew_run(&c, n);
	assert_true(settled(v));
	assert_int_equal(probe_threads(v->pid), threads);
	/* of the crew's connections some may not have been closed yet */
	assert_true(probe_fds(v->pid) <= fds + CREW + FDS_SLACK);
	kb = probe_anon_kb(v->pid) - kb;
	(void)printf("%ld tasks wait and take %ld KiB: %.0f bytes a task\n", n,
		     kb, (double)kb * 1024 / (double)n);
	if (!sanitized())
		assert_true(kb * 1024 < n * 256);
	look_at_some(v);
	some_free();
	server_free(v);
	scratch_free(s);
}

/* Interleaved with a server that has none, so that the disk is the same. */
static void test_waiting_tasks__leave_claims_as_fast(void **unused)
{
	static const char *const args[] = {"--max-tasks-per-principal",
					   "100000000", NULL};
	struct scratch *s1 = scratch_new();
	struct scratch *s2 = scratch_new();
	struct server *empty = server_start(s1, args);
	struct server *full = server_start(s2, args);
	struct crew c = {.v = full, .can = CAN_TASKS, .one = create_waiting};
	double before[SAMPLES];
	double after[SAMPLES];
	double b;
	double a;

	(void)unused;
	crew_run(&c, scaled(10000, 100000));
	assert_true(settled(full));
	for (int i = 0; i < SAMPLES; i++) {
		before[i] = two_step_ms(empty);
		after[i] = two_step_ms(full);
	}
	b = median_of(before, SAMPLES);
	a = median_of(after, SAMPLES);
	(void)printf("a two-step task: %.2f ms alone, %.2f ms beside %ld that "
		     "wait\n",
		     b, a, scaled(10000, 100000));
	if (!sanitized())
		assert_true(a <= 2 * b);
	some_free();
	server_free(empty);
	server_free(full);
	scratch_free(s1);
	scratch_free(s2);
}

/* ---- calls that leave nothing behind ---- */
static const char *const closing[] = {"Connection: close", NULL};

static bool two_legs(const struct ask *a)
{
	struct reply *r = tool(a, "ask_inline", json_object());
	struct reply *t = again(a, "ask_inline", json_object(), state_of(r),
				accept_bool("confirm", "ok", true));
	bool ok = strcmp(result_text(t), "state-ok") == 0;

	reply_free(r);
	reply_free(t);
	return ok;
}

/* All that a call can be: 96 of a hundred leave no row in the database. */
static bool one_call(const struct ask *base, long i)
{
	struct ask a = *base;
	struct reply *r;
	bool ok;

	if (i % 10 == 3)
		a.headers = closing;
	if (i % 10 == 4)
		return two_legs(&a);
	if (i % 25 == 7) {
		r = tool(&a, "two_step", NULL);
		ok = strcmp(result_text(r), "two steps done") == 0;
	} else if (i % 10 == 5) {
		r = tool(&a, "no_such_tool", NULL);
		ok = error_code(r) != 0;
	} else if (i % 10 == 6) {
		r = tool(&a, "forecast", json_object());
		ok = strcmp(result_type(r), "complete") == 0;
	} else {
		r = tool(&a, i % 2 ? "echo" : "echo_pool",
			 json_pack("{s:s}", "text", "said"));
		ok = strcmp(result_text(r), "said") == 0;
	}
	if (!ok)
		(void)fprintf(stderr, "e2e: call %ld: %s\n", i,
			      r->raw != NULL ? r->raw : "no answer");
	reply_free(r);
	return ok;
}

static void test_calls__leave_nothing_behind(void **unused)
{
	long n = scaled(20000, 100000) / 2;
	struct scratch *s = scratch_new();
	struct server *v = server_start(s, NULL);
	struct crew c = {.v = v};
	long fds;
	long kb;

	(void)unused;
	c.can = CAN_TASKS;
	c.one = create_big; /* or the page cache would grow by their rows */
	crew_run(&c, scaled(4000, 4000));
	c.can = NULL;
	c.one = one_call;
	crew_run(&c, n);
	assert_true(probe_await_most(v, "bide_http_connections", 1));
	fds = probe_fds(v->pid);
	kb = probe_anon_kb(v->pid);
	crew_run(&c, n);
	assert_true(probe_await_most(v, "bide_http_connections", 1));
	assert_true(probe_fds(v->pid) <= fds + FDS_SLACK);
	kb = probe_anon_kb(v->pid) - kb;
	(void)printf("%ld calls; the second half took %ld KiB\n", 2 * n, kb);
	if (!sanitized())
		assert_true(kb < 1024);
	server_free(v);
	scratch_free(s);
}

/* ---- rows that go ---- */
static bool create_ending(const struct ask *a, long i)
{
	struct reply *r = tool(a, "slow_compute", json_object());
	bool ok = *task_id(r) != '\0';

	(void)i;
	reply_free(r);
	return ok;
}

/*
 * F47: claims stay fast while the sweeper works on a heap of rows. It has
 * half of the writer at most, in batches of 50 ms, so an operation waits for
 * one batch at most: four of them, and some for the noise.
 */
static void test_sweeper__is_in_nobodys_way(void **unused)
{
	struct scratch *s = scratch_new();
	struct testclock *k = testclock_new(s);
	const char *const args[] = {"--test-clock", k->path,
				    "--max-tasks-per-principal", "100000000",
				    NULL};
	long n = scaled(10000, 100000);
	struct server *v = server_start(s, args);
	struct crew c = {.v = v, .can = CAN_TASKS, .one = create_ending};
	double *ms = calloc((size_t)n, sizeof(*ms));
	double swept;
	double p50;
	double worst;
	long calls = 0;

	(void)unused;
	assert_non_null(ms);
	crew_run(&c, n);
	assert_true(settled(v));
	assert_true(probe_rows(s->db, "task") >= n);
	swept = probe_metric(v, "bide_tasks_swept_total");
	/* a task that ended after the jump would stay for another hour */
	testclock_forward(k, 2 * HOUR_MS);
	do
		ms[calls++] = two_step_ms(v);
	while (calls < n &&
	       probe_metric(v, "bide_tasks_swept_total") < swept + (double)n);
	assert_true(probe_await_least(v, "bide_tasks_swept_total",
				      swept + (double)n));
	p50 = median_of(ms, (size_t)calls);
	worst = ms[calls - 1];
	(void)printf("%ld calls while %ld tasks were swept: p50 %.1f ms, worst "
		     "%.1f ms\n",
		     calls, n, p50, worst);
	if (!sanitized())
		assert_true(p50 < 4 * 50);
	/* what is left is of the calls just made */
	assert_int_equal(probe_rows(s->db, "task"), calls);
	assert_int_equal(probe_rows(s->db, "task_data"), calls);
	assert_int_equal(probe_rows(s->db, "task_result"), calls);
	free(ms);
	server_free(v);
	testclock_free(k);
	scratch_free(s);
}

static atomic_long taken, refused;

static bool first_round(const struct ask *a, long i)
{
	struct reply *r = tool(a, "approve", json_object());
	bool ok = true;

	(void)i;
	if (asked(r, "approval") != NULL)
		atomic_fetch_add(&taken, 1);
	else if (strstr(error_text(r), "as many unfinished tasks") != NULL)
		atomic_fetch_add(&refused, 1);
	else
		ok = false;
	if (!ok)
		(void)fprintf(stderr, "e2e: %s\n",
			      r->raw != NULL ? r->raw : "no answer");
	reply_free(r);
	return ok;
}

static bool first_round_sealed(const struct ask *a, long i)
{
	struct reply *r = tool(a, "ask_inline", json_object());
	bool ok = state_of(r) != NULL;

	(void)i;
	reply_free(r);
	return ok;
}

/*
 * F5. A persistent tool's first rounds are rows: capped for each caller,
 * and gone after the question's deadline, the retention, and a sweep. An
 * ephemeral tool's are none at all.
 */
static void test_first_rounds__that_nobody_continues_go(void **unused)
{
	static const char *const tables[] = {"task", "task_data", "task_result",
					     "step", "input",     "event"};
	struct scratch *s = scratch_new();
	struct testclock *k = testclock_new(s);
	const char *const args[] = {"--test-clock",
				    k->path,
				    "--test-identity",
				    "--max-tasks-per-principal",
				    "500",
				    NULL};
	long n = scaled(10000, 10000);
	struct server *v = server_start(s, args);
	struct crew c = {.v = v, .principal = "careless", .one = first_round};
	struct ask other = {.url = v->url, .principal = "other"};
	long kb;

	(void)unused;
	atomic_store(&taken, 0);
	atomic_store(&refused, 0);
	crew_run(&c, n / 4);
	kb = probe_anon_kb(v->pid);
	crew_run(&c, n / 4);
	assert_int_equal(atomic_load(&taken), 500);
	assert_int_equal(atomic_load(&refused), n / 4 * 2 - 500);
	assert_int_equal(probe_rows(s->db, "task"), 500);
	/* the cap is a caller's own */
	assert_true(first_round(&other, 0));
	c.one = first_round_sealed;
	crew_run(&c, n / 2);
	assert_int_equal(probe_rows(s->db, "task"), 501);
	kb = probe_anon_kb(v->pid) - kb;
	(void)printf("%ld first rounds: %ld KiB\n", n, kb);
	if (!sanitized())
		assert_true(kb < 4096);
	/* their end: the deadline of the question, or nobody came back */
	testclock_forward(k, 25 * HOUR_MS);
	assert_true(probe_await_rows(s->db, "task WHERE state < 4", 0));
	/* then the retention */
	assert_int_equal(probe_rows(s->db, "task"), 501);
	testclock_forward(k, 2 * HOUR_MS);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		assert_true(probe_await_rows(s->db, tables[i], 0));
	/* and the caller may begin anew */
	assert_true(first_round(
		&(struct ask){.url = v->url, .principal = "careless"}, 0));
	assert_int_equal(atomic_load(&taken), 502);
	server_free(v);
	testclock_free(k);
	scratch_free(s);
}

/* ---- polling ---- */
static char polled[64];

static bool poll_once(const struct ask *a, long i)
{
	struct reply *r = task_do(a, "tasks/get", polled, NULL);
	bool ok = strcmp(task_status(r), "input_required") == 0;

	(void)i;
	reply_free(r);
	return ok;
}

/* F25: polling writes nothing. The slow work of the instance itself (an
 * empty scan, a sweep) is put off, so that every commit would be a poll's. */
static void test_polling__writes_nothing(void **unused)
{
	static const char *const args[] = {"--sweep-interval", "1h", NULL};
	struct scratch *s = scratch_new();
	struct server *v = server_start(s, args);
	struct ask a = {.url = v->url, .can = CAN_TASKS};
	struct reply *r =
		tool(&a, "confirm_delete", json_pack("{s:s}", "filename", "f"));
	struct crew c = {.v = v, .can = CAN_TASKS, .one = poll_once};
	double began = now_ms();
	double operations;
	double commits;

	(void)unused;
	(void)snprintf(polled, sizeof(polled), "%s", task_id(r));
	reply_free(r);
	r = task_await(&a, polled, "input_required");
	assert_non_null(r);
	reply_free(r);
	/* the handle's delivery is written down after its reply */
	assert_true(probe_await_rows(s->db, "task WHERE abandon_at > 0", 0));
	assert_true(settled(v));
	operations = probe_metric(v, "bide_store_operations_total");
	commits = probe_metric(v, "bide_store_commits_total");
	crew_run(&c, 5000);
	operations =
		probe_metric(v, "bide_store_operations_total") - operations;
	commits = probe_metric(v, "bide_store_commits_total") - commits;
	(void)printf("5000 polls in %.0f ms: %.0f operations, %.0f commits\n",
		     now_ms() - began, operations, commits);
	/* the instance's own rescan: one in some seconds */
	assert_true(commits <= 2 + (now_ms() - began) / 500);
	server_free(v);
	scratch_free(s);
}

/* A few megabytes of brackets are hundreds while they are read, and nothing
 * thereafter. */
static void test_bodies__that_are_wide_leave_no_weight(void **unused)
{
	static const char *const none[] = {NULL};
	struct scratch *scratch = scratch_new();
	struct server *v = server_start(scratch, none);
	struct ask a = {.url = v->url, .can = CAN_FORM};
	json_t *args = json_object();
	json_t *wide = json_array();
	long before = probe_rss_kb(v->pid);
	double until;

	(void)unused;
	for (long i = 0; i < scaled(500000, 500000); i++)
		(void)json_array_append_new(wide, json_object());
	(void)json_object_set_new(args, "how", json_string("text"));
	(void)json_object_set_new(args, "wide", wide);
	for (int i = 0; i < 2; i++)
		reply_free(tool(&a, "ends_as_a_task", json_incref(args)));
	json_decref(args);
	until = now_ms() + 30000;
	while (!sanitized() && probe_rss_kb(v->pid) > before + 40 * 1024 &&
	       now_ms() < until)
		(void)usleep(50000);
	if (!sanitized())
		assert_true(probe_rss_kb(v->pid) <= before + 40 * 1024);
	server_free(v);
	scratch_free(scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_waiting_tasks__hold_no_thread_and_no_memory),
		cmocka_unit_test(test_waiting_tasks__leave_claims_as_fast),
		cmocka_unit_test(test_calls__leave_nothing_behind),
		cmocka_unit_test(test_sweeper__is_in_nobodys_way),
		cmocka_unit_test(test_first_rounds__that_nobody_continues_go),
		cmocka_unit_test(test_polling__writes_nothing),
		cmocka_unit_test(test_bodies__that_are_wide_leave_no_weight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
