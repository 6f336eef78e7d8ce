/* SPDX-License-Identifier: MIT */
/*
 * Several processes on one database: freezes, deaths, lost wake-ups, many at
 * once. docs/conformance.md: F35 to F40, F42, F43, F45, F46; docs/design.md,
 * rules 2, 3, 12.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/e2e/lib/client.h"
#include "tests/e2e/lib/effects.h"
#include "tests/e2e/lib/server.h"

#define MANY   16
#define TWENTY 20

static struct ask as(struct server *v)
{
	struct ask a = {.url = v->url, .can = CAN_TASKS};

	return a;
}

static void create(struct server *v, const char *name, json_t *args, char *id)
{
	struct ask a = as(v);
	struct reply *r = tool(&a, name, args);

	if (strcmp(result_type(r), "task") != 0)
		fail_msg("%s: %d %s", name, r->status,
			 r->raw != NULL ? r->raw : "-");
	(void)snprintf(id, 64, "%s", task_id(r));
	reply_free(r);
}

static void completes(struct server *v, const char *id, const char *text)
{
	struct ask a = as(v);
	struct reply *r = task_await(&a, id, "completed");

	if (r == NULL) {
		r = task_do(&a, "tasks/get", id, NULL);
		fail_msg("%s", r->raw);
	}
	assert_non_null(strstr(r->raw, text));
	reply_free(r);
}

static void no_step_twice_in_an_epoch(struct scratch *s)
{
	char why[256];

	if (!effects_once(s, why))
		fail_msg("%s", why);
}

/* The task's row as the operator sees it. */
static json_t *shown(struct scratch *s, const char *id)
{
	const char *const args[] = {"tasks", "show", id,  "--json",
				    "--db",  s->db,  NULL};
	char *out = NULL;
	json_t *t;

	assert_int_equal(run_fixture(args, &out), 0);
	t = json_loads(out, 0, NULL);
	assert_non_null(t);
	free(out);
	return t;
}

/* F35: the process dies: another goes on at once, not after a lease. */
static void test_death__is_noticed_at_once(void **unused)
{
	/* longer than completes() waits */
	static const char *const slow_lease[] = {"--lease", "600000", NULL};
	struct scratch *s = scratch_new();
	struct server *a = server_start(s, slow_lease);
	struct server *b = server_start(s, slow_lease);
	char id[64];

	(void)unused;
	create(a, "counter", json_pack("{s:i,s:i}", "to", 20, "ms", 50), id);
	assert_true(effects_await(s, " n3", 1));
	server_kill(a, SIGKILL);
	completes(b, id, "counted to 20");
	no_step_twice_in_an_epoch(s);
	server_free(a);
	server_free(b);
	scratch_free(s);
}

static bool is_free(struct scratch *s, const char *lock)
{
	const struct timespec nap = {0, 5 * 1000 * 1000};
	char path[320];
	bool ok = false;

	(void)snprintf(path, sizeof(path), "%s.d/%s", s->db, lock);
	for (int i = 0; i < 20 && !ok; i++) {
		int fd = open(path, O_RDWR | O_CLOEXEC);

		assert_true(fd >= 0);
		ok = flock(fd, LOCK_EX | LOCK_NB) == 0;
		(void)close(fd);
		if (!ok)
			(void)nanosleep(&nap, NULL);
	}
	return ok;
}

static bool outside(struct scratch *s)
{
	return is_free(s, "next") && is_free(s, "gate");
}

/* Whoever stops inside the write gate stops all writers, as is documented; here
 * it is about one that holds a claim and nothing else. */
static void freeze(struct scratch *s, struct server *v)
{
	siginfo_t si;

	for (int i = 0; i < 100; i++) {
		(void)kill(v->pid, SIGSTOP);
		assert_int_equal(waitid(P_PID, (id_t)v->pid, &si,
					WSTOPPED | WEXITED | WNOWAIT),
				 0);
		if (outside(s))
			return;
		(void)kill(v->pid, SIGCONT);
		/* or it would be stopped again before it has moved at all */
		(void)outside(s);
	}
	fail_msg("never outside the gate");
}

/* F36: frozen past its lease, then thawed: its writes change nothing. */
static void test_freeze__loses_the_claim(void **unused)
{
	static const char *const lease[] = {"--lease", "500", NULL};
	struct scratch *s = scratch_new();
	struct server *a = server_start(s, lease);
	struct server *b = server_start(s, lease);
	char id[64];
	json_t *t;

	(void)unused;
	/* seconds between the second step and the end, and few commits: it is
	 * frozen in time */
	create(a, "counter", json_pack("{s:i,s:i}", "to", 3, "ms", 1500), id);
	assert_true(effects_await(s, " n2", 1));
	freeze(s, a);
	completes(b, id, "counted to 3");
	(void)kill(a->pid, SIGCONT);
	assert_true(server_saw(a, "lost") || server_saw(a, "stopping"));
	completes(a, id, "counted to 3");
	no_step_twice_in_an_epoch(s);
	/* a freeze is no crash */
	t = shown(s, id);
	assert_int_equal(json_integer_value(json_object_get(t, "crashes")), 0);
	json_decref(t);
	server_free(a);
	server_free(b);
	scratch_free(s);
}

/* F38: a live worker is never reaped by others that start. */
static void test_start__reaps_no_live_worker(void **unused)
{
	struct scratch *s = scratch_new();
	struct server *a = server_start(s, NULL);
	struct server *more[4];
	char id[64];
	json_t *t;

	(void)unused;
	create(a, "counter", json_pack("{s:i,s:i}", "to", 20, "ms", 50), id);
	assert_true(effects_await(s, " n1", 1));
	for (size_t i = 0; i < 4; i++)
		more[i] = server_start(s, NULL);
	completes(a, id, "counted to 20");
	t = shown(s, id);
	assert_int_equal(json_integer_value(json_object_get(t, "epoch")), 1);
	json_decref(t);
	assert_int_equal(effects_count(s, " n"), 20);
	for (size_t i = 0; i < 4; i++)
		server_free(more[i]);
	server_free(a);
	scratch_free(s);
}

/* F43: every datagram is dropped: no worse than the slow poll. */
static void test_bell__dropped_is_no_worse_than_the_poll(void **unused)
{
	static const char *const deaf[] = {"--fault", "bell.send:0:fail",
					   "--store-poll", "200", NULL};
	static const char *const idle[] = {
		"--fault", "bell.send:0:fail", "--store-poll",
		"200",     "--task-workers",   "0",
		NULL};
	struct scratch *s = scratch_new();
	struct server *a = server_start(s, idle);
	struct server *b = server_start(s, deaf);
	struct timespec t0;
	struct timespec t1;
	char id[64];

	(void)unused;
	(void)clock_gettime(CLOCK_MONOTONIC, &t0);
	for (int i = 0; i < 5; i++) {
		create(a, "two_step", NULL, id);
		completes(a, id, "two steps done");
	}
	(void)clock_gettime(CLOCK_MONOTONIC, &t1);
	/* five times one poll, with much slack for a busy machine; without the
	 * poll each would wait for the engine's own scan, ten seconds */
	assert_true(t1.tv_sec - t0.tv_sec < 30);
	server_free(a);
	server_free(b);
	scratch_free(s);
}

/* F42: the answer falls while the task is being parked. */
static void test_answer__at_every_point_of_parking(void **unused)
{
	static const char *const slow[] = {"--fault",
					   "engine.parking@publisher:0:delay30,"
					   "engine.parked@publisher:0:delay30",
					   NULL};
	struct scratch *s = scratch_new();
	struct server *a = server_start(s, slow);
	struct server *b = server_start(s, NULL);
	struct ask ask_b = as(b);

	(void)unused;
	for (int i = 0; i < 12; i++) {
		const struct timespec nap = {0, i * 8 * 1000 * 1000};
		char id[64];
		struct reply *r;

		create(a, "publisher", json_pack("{s:i}", "ms", 10), id);
		r = task_await(&ask_b, id, "input_required");
		assert_non_null(r);
		reply_free(r);
		(void)nanosleep(&nap, NULL);
		reply_free(task_do(&ask_b, "tasks/update", id,
				   accept_string("name", "name", "Ada")));
		completes(b, id, "Hello, Ada!");
	}
	server_free(a);
	server_free(b);
	scratch_free(s);
}

/* A server dies with the thread that started it, so these stay to the end. */
struct starter {
	struct scratch *s;
	struct server *v;
	pthread_barrier_t *started, *over;
};

static void *start_thread(void *arg)
{
	struct starter *t = arg;

	t->v = server_try(t->s, NULL, NULL);
	(void)pthread_barrier_wait(t->started);
	(void)pthread_barrier_wait(t->over);
	return NULL;
}

/* F45: twenty start on a new database at once: one migration, all well. */
static void test_twenty__start_at_once(void **unused)
{
	struct scratch *s = scratch_new();
	struct starter t[TWENTY];
	pthread_t threads[TWENTY];
	pthread_barrier_t started;
	pthread_barrier_t over;
	char id[64];

	(void)unused;
	(void)pthread_barrier_init(&started, NULL, TWENTY + 1);
	(void)pthread_barrier_init(&over, NULL, TWENTY + 1);
	for (size_t i = 0; i < TWENTY; i++) {
		t[i] = (struct starter){
			.s = s, .started = &started, .over = &over};
		assert_int_equal(
			pthread_create(&threads[i], NULL, start_thread, &t[i]),
			0);
	}
	(void)pthread_barrier_wait(&started);
	for (size_t i = 0; i < TWENTY; i++)
		assert_non_null(t[i].v);
	create(t[3].v, "two_step", NULL, id);
	completes(t[17].v, id, "two steps done");
	for (size_t i = 0; i < TWENTY; i++)
		server_free(t[i].v);
	(void)pthread_barrier_wait(&over);
	for (size_t i = 0; i < TWENTY; i++)
		(void)pthread_join(threads[i], NULL);
	(void)pthread_barrier_destroy(&started);
	(void)pthread_barrier_destroy(&over);
	scratch_free(s);
}

struct worker {
	struct server *v;
	int done;
	char why[128];
};

static void *work_thread(void *arg)
{
	struct worker *w = arg;
	struct ask a = as(w->v);

	a.can = CAN_FORM;
	for (int i = 0; i < 25 && w->why[0] == '\0'; i++) {
		struct reply *r = drive(&a, "two_step", json_object(), NULL, 5);

		if (strcmp(result_text(r), "two steps done") == 0)
			w->done++;
		else
			(void)snprintf(w->why, sizeof(w->why), "%.120s",
				       r->raw != NULL ? r->raw : "no answer");
		reply_free(r);
	}
	return NULL;
}

/* F46: sixteen processes on one file: nobody sees BUSY, nobody starves. */
static void test_sixteen__work_on_one_file(void **unused)
{
	static const char *const few[] = {"--task-workers", "2",
					  "--call-workers", "2", NULL};
	struct scratch *s = scratch_new();
	struct worker w[MANY];
	pthread_t threads[MANY];
	char wal[320];
	struct stat st;

	(void)unused;
	for (size_t i = 0; i < MANY; i++)
		w[i] = (struct worker){.v = server_start(s, few)};
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, work_thread, &w[i]),
			0);
	for (size_t i = 0; i < MANY; i++)
		(void)pthread_join(threads[i], NULL);
	for (size_t i = 0; i < MANY; i++)
		if (w[i].done != 25)
			fail_msg("process %zu: %d of 25: %s", i, w[i].done,
				 w[i].why);
	no_step_twice_in_an_epoch(s);
	(void)snprintf(wal, sizeof(wal), "%s-wal", s->db);
	assert_int_equal(stat(wal, &st), 0);
	/* checkpoints at 1,000 frames: some multiples of that at the most */
	assert_true(st.st_size < 5000L * 4200);
	for (size_t i = 0; i < MANY; i++) {
		int status = server_signal_wait(w[i].v, SIGTERM);

		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		server_free(w[i].v);
	}
	scratch_free(s);
}

/* F37: N instances, one ready task: exactly one claim. */
static void test_ready__is_claimed_once(void **unused)
{
	static const char *const none[] = {"--task-workers", "0", NULL};
	struct scratch *s = scratch_new();
	struct server *maker = server_start(s, none);
	struct server *v[4];

	(void)unused;
	for (size_t i = 0; i < 4; i++)
		v[i] = server_start(s, NULL);
	for (int i = 0; i < 40; i++) {
		char id[64];
		json_t *t;

		create(maker, "two_step", NULL, id);
		completes(maker, id, "two steps done");
		t = shown(s, id);
		assert_int_equal(
			json_integer_value(json_object_get(t, "claims")), 1);
		json_decref(t);
	}
	assert_int_equal(effects_count(s, " one"), 40);
	assert_int_equal(effects_count(s, " two"), 40);
	for (size_t i = 0; i < 4; i++)
		server_free(v[i]);
	server_free(maker);
	scratch_free(s);
}

/* Load shedding of a task: what yields may be taken by any instance. */
static void test_yield__is_taken_by_another(void **unused)
{
	struct scratch *s = scratch_new();
	struct server *a = server_start(s, NULL);
	struct server *b = server_start(s, NULL);
	char id[64];

	(void)unused;
	for (int i = 0; i < 10; i++) {
		create(a, "shed", NULL, id);
		completes(b, id, "done");
	}
	assert_int_equal(effects_count(s, " half"), 10);
	assert_int_equal(effects_count(s, " rest"), 10);
	server_free(a);
	server_free(b);
	scratch_free(s);
}

/* Rule 12: a draining instance hands its tasks on at their next step. */
static void test_drain__hands_tasks_on(void **unused)
{
	struct scratch *s = scratch_new();
	struct server *a = server_start(s, NULL);
	struct server *b = server_start(s, NULL);
	char id[64];
	int status;
	json_t *t;

	(void)unused;
	create(a, "counter", json_pack("{s:i,s:i}", "to", 20, "ms", 50), id);
	assert_true(effects_await(s, " n3", 1));
	status = server_signal_wait(a, SIGTERM);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	completes(b, id, "counted to 20");
	t = shown(s, id);
	assert_int_equal(json_integer_value(json_object_get(t, "crashes")), 0);
	json_decref(t);
	/* nothing was done twice: it left between two steps */
	assert_int_equal(effects_count(s, " n"), 20);
	server_free(a);
	server_free(b);
	scratch_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_death__is_noticed_at_once),
		cmocka_unit_test(test_freeze__loses_the_claim),
		cmocka_unit_test(test_start__reaps_no_live_worker),
		cmocka_unit_test(test_bell__dropped_is_no_worse_than_the_poll),
		cmocka_unit_test(test_answer__at_every_point_of_parking),
		cmocka_unit_test(test_twenty__start_at_once),
		cmocka_unit_test(test_sixteen__work_on_one_file),
		cmocka_unit_test(test_ready__is_claimed_once),
		cmocka_unit_test(test_yield__is_taken_by_another),
		cmocka_unit_test(test_drain__hands_tasks_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
