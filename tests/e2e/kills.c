/* SPDX-License-Identifier: MIT */
/*
 * kill -9 of the instance that holds a task, at each point of its life, in
 * both flows, with two and with three instances. Each call ends right, and the
 * external log shows no step twice within one epoch (issue: "Shown by").
 *
 * Three instances: A is armed and holds the task; B (no workers) carries the
 * client's requests when A is gone; C, with workers, starts when A has died.
 * Two: B has workers from the start.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "tests/e2e/lib/client.h"
#include "tests/e2e/lib/effects.h"
#include "tests/e2e/lib/server.h"

#define REPEATS_SANITIZED 2
#define REPEATS           5
#define REPEATS_FULL      100
#define ROUNDS_MAX        200
#define AT_ONCE           3

struct point {
	const char *name;
	const char *fault; /* of A; NULL: killed from outside */
	bool unclaimed;    /* A has no workers */
	bool answer_at_a;  /* the answer goes to A, if it lives */
	bool two;          /* also with two instances */
};

static const struct point points[] = {
	{"before the claim", "engine.created:1:kill", true, false, true},
	{"claimed", "engine.created:1:kill", false, false, true},
	{"in a step", "handler.step_begin@before:1:kill", false, false, true},
	{"between step and commit", "handler.step_commit@before:1:kill", false,
	 false, true},
	{"step committed", "handler.step_committed@before:1:kill", false, false,
	 true},
	{"asking", "engine.parking@approve:1:kill", false, false, true},
	{"waiting", NULL, false, false, true},
	{"answered", "dispatch.answered@approve:1:kill", false, true, true},
	{"resumed", "engine.resumed:1:kill", false, false, false},
	{"in the second step", "handler.step_begin@after:1:kill", false, false,
	 false},
	{"second step not committed", "handler.step_commit@after:1:kill", false,
	 false, false},
	{"finishing", "engine.finishing@approve:1:kill", false, false, false},
	{"finished", "engine.finished@approve:1:kill", false, false, false},
};

struct run {
	const struct point *point;
	struct scratch *s;
	struct server *a, *b, *c;
	char idem[64];
	bool tasks;    /* the extension's flow */
	char why[256]; /* "" when all went well */
	pthread_mutex_t lock;
	bool a_dead;
};

static int repeats(void)
{
	if (getenv("BIDE_SANITIZED") != NULL)
		return REPEATS_SANITIZED;
	return getenv("BIDE_FULL") != NULL ? REPEATS_FULL : REPEATS;
}

static bool a_lives(struct run *r)
{
	bool dead;

	pthread_mutex_lock(&r->lock);
	dead = r->a_dead;
	pthread_mutex_unlock(&r->lock);
	return !dead;
}

/* Under the lock, and A is not reaped before a_dead: the pid is its own. */
static void kill_a(struct run *r)
{
	pthread_mutex_lock(&r->lock);
	if (!r->a_dead)
		(void)kill(r->a->pid, SIGKILL);
	pthread_mutex_unlock(&r->lock);
}

static void bury_a(struct run *r)
{
	siginfo_t si;

	while (waitid(P_PID, (id_t)r->a->pid, &si, WEXITED | WNOWAIT) != 0 &&
	       errno == EINTR)
		;
	pthread_mutex_lock(&r->lock);
	r->a_dead = true;
	pthread_mutex_unlock(&r->lock);
	(void)server_wait(r->a);
}

static struct ask at(struct run *r, struct server *v)
{
	struct ask a = {.url = v->url, .can = r->tasks ? CAN_TASKS : CAN_FORM};

	return a;
}

/* A request that goes to B when A did not answer it. */
static struct reply *first(struct run *r)
{
	struct ask a = at(r, r->a);
	struct reply *got;

	a.idem = r->idem;
	got = tool(&a, "approve", json_object());
	if (got->message != NULL)
		return got;
	reply_free(got);
	a = at(r, r->b);
	a.idem = r->idem;
	return tool(&a, "approve", json_object());
}

static json_t *yes(const struct reply *r)
{
	json_t *all = json_object();
	json_t *map = json_object_get(result(r), "inputRequests");
	const char *key;
	json_t *v;

	json_object_foreach (map, key, v) {
		json_t *one = accept_bool(key, "ok", true);

		(void)json_object_update(all, one);
		json_decref(one);
	}
	return all;
}

static void seen_question(struct run *r)
{
	if (r->point->fault == NULL)
		kill_a(r);
}

static struct reply *answer_rounds(struct run *r, struct reply *got)
{
	bool to_a = r->point->answer_at_a && a_lives(r);
	struct ask a = at(r, to_a ? r->a : r->b);
	struct reply *next =
		again(&a, "approve", json_object(), state_of(got), yes(got));

	if (next->message == NULL && to_a) {
		reply_free(next);
		a = at(r, r->b);
		next = again(&a, "approve", json_object(), state_of(got),
			     yes(got));
	}
	reply_free(got);
	return next;
}

static void drive_rounds(struct run *r)
{
	struct reply *got = first(r);

	for (int i = 0; i < ROUNDS_MAX; i++) {
		if (strcmp(result_type(got), "input_required") != 0)
			break;
		if (asked_count(got) > 0)
			seen_question(r);
		got = answer_rounds(r, got);
	}
	if (strcmp(result_text(got), "approved: yes") != 0)
		(void)snprintf(r->why, sizeof(r->why),
			       "status %d curl %d got %.150s", got->status,
			       got->curl, got->raw != NULL ? got->raw : "-");
	reply_free(got);
}

static void drive_task(struct run *r)
{
	struct ask a = at(r, r->b);
	struct reply *got = first(r);
	char id[64];

	(void)snprintf(id, sizeof(id), "%s", task_id(got));
	if (id[0] == '\0') {
		(void)snprintf(r->why, sizeof(r->why), "no task: %.150s",
			       got->raw != NULL ? got->raw : "-");
		reply_free(got);
		return;
	}
	reply_free(got);
	got = task_await(&a, id, "input_required");
	if (got != NULL) {
		json_t *answers = yes(got);
		struct reply *ack;

		seen_question(r);
		if (r->point->answer_at_a && a_lives(r)) {
			struct ask to_a = at(r, r->a);

			reply_free(task_do(&to_a, "tasks/update", id,
					   json_deep_copy(answers)));
		}
		ack = task_do(&a, "tasks/update", id, answers);
		reply_free(ack);
		reply_free(got);
	}
	got = task_await(&a, id, "completed");
	if (got == NULL)
		(void)snprintf(r->why, sizeof(r->why), "never completed");
	reply_free(got);
}

static void *client(void *arg)
{
	const struct timespec nap = {0, 10 * 1000 * 1000};
	struct run *r = arg;

	if (r->tasks)
		drive_task(r);
	else
		drive_rounds(r);
	/* A must have died of the point; do not wait for ever if it did not. */
	for (int ms = 0; ms < 60000 && a_lives(r); ms += 10)
		(void)nanosleep(&nap, NULL);
	if (a_lives(r)) {
		(void)snprintf(r->why, sizeof(r->why),
			       "the point was never reached");
		kill_a(r);
	}
	return NULL;
}

/* What was done, was done once in an epoch, and in two epochs at the most. */
static void check_steps(struct run *r)
{
	size_t before = effects_count(r->s, " before");
	size_t after = effects_count(r->s, " after");

	if (!effects_once(r->s, r->why))
		return;
	if (before < 1 || after < 1 || before > 2 || after > 2)
		(void)snprintf(r->why, sizeof(r->why),
			       "effects: %zu before, %zu after", before, after);
}

static void play(struct run *r, bool three)
{
	static atomic_int number;
	const char *armed[] = {"--fault", r->point->fault,
			       r->point->unclaimed ? "--task-workers" : NULL,
			       "0", NULL};
	const char *carrier[] = {"--task-workers", "0", NULL};
	pthread_t t;

	(void)snprintf(r->idem, sizeof(r->idem), "run-%d",
		       atomic_fetch_add(&number, 1));
	r->s = scratch_new();
	(void)pthread_mutex_init(&r->lock, NULL);
	r->a = server_start(r->s, r->point->fault != NULL ? armed : NULL);
	r->b = server_start(r->s, three ? carrier : NULL);
	if (pthread_create(&t, NULL, client, r) != 0)
		abort();
	bury_a(r);
	if (three)
		r->c = server_start(r->s, NULL);
	(void)pthread_join(t, NULL);
	if (r->why[0] == '\0')
		check_steps(r);
	server_free(r->a);
	server_free(r->b);
	server_free(r->c);
	scratch_free(r->s);
	(void)pthread_mutex_destroy(&r->lock);
}

/* Runs of one point; several go on at once, for each mostly waits. */
struct series {
	const struct point *point;
	bool tasks, three;
	atomic_int left;
	pthread_mutex_t lock;
	char why[300]; /* of the first that went wrong */
};

static void *play_some(void *arg)
{
	struct series *s = arg;

	while (atomic_fetch_sub(&s->left, 1) > 0) {
		struct run r = {.point = s->point, .tasks = s->tasks};

		play(&r, s->three);
		if (r.why[0] == '\0')
			continue;
		pthread_mutex_lock(&s->lock);
		if (s->why[0] == '\0')
			(void)snprintf(s->why, sizeof(s->why), "%s: %s",
				       s->point->name, r.why);
		pthread_mutex_unlock(&s->lock);
	}
	return NULL;
}

static void play_series(struct series *s)
{
	pthread_t t[AT_ONCE];

	(void)pthread_mutex_init(&s->lock, NULL);
	for (size_t i = 0; i < AT_ONCE; i++)
		if (pthread_create(&t[i], NULL, play_some, s) != 0)
			abort();
	for (size_t i = 0; i < AT_ONCE; i++)
		(void)pthread_join(t[i], NULL);
	(void)pthread_mutex_destroy(&s->lock);
	if (s->why[0] != '\0')
		fail_msg("%s", s->why);
}

static void play_all(bool tasks, bool three)
{
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		int n = repeats();
		struct series s = {.point = &points[i],
				   .tasks = tasks,
				   .three = three,
				   .left = n};

		if (!three && !points[i].two)
			continue;
		play_series(&s);
		print_message("  killed %s: %d of %d right\n", points[i].name,
			      n, n);
	}
}

static void test_handle_flow__survives_kill_with_three(void **unused)
{
	(void)unused;
	play_all(false, true);
}

static void test_task_flow__survives_kill_with_three(void **unused)
{
	(void)unused;
	play_all(true, true);
}

static void test_handle_flow__survives_kill_with_two(void **unused)
{
	(void)unused;
	play_all(false, false);
}

static void test_task_flow__survives_kill_with_two(void **unused)
{
	(void)unused;
	play_all(true, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handle_flow__survives_kill_with_three),
		cmocka_unit_test(test_task_flow__survives_kill_with_three),
		cmocka_unit_test(test_handle_flow__survives_kill_with_two),
		cmocka_unit_test(test_task_flow__survives_kill_with_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
