/* SPDX-License-Identifier: MIT */
/*
 * Twenty instances on one database, on whatever machine this is: they start,
 * work and drain, each has its share, and no call is later than a bound that
 * is a third of the time a client waits.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
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

#define TWENTY          20
#define CALLS           20 /* of each client: one at each instance */
#define CALLS_FULL      200
#define BOUND_MS        20000
#define BOUND_SANITIZED 60000
#define STEPS           40
#define STEP_MS         25
#define ROUNDS          10

static const char *const few[] = {"--task-workers", "4", "--call-workers", "4",
				  NULL};
static struct scratch *scratch;
static struct server *servers[TWENTY];

static int64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t bound_ms(void)
{
	return getenv("BIDE_SANITIZED") != NULL ? BOUND_SANITIZED : BOUND_MS;
}

static int setup(void **state)
{
	int64_t began = now_ms();

	(void)state;
	scratch = scratch_new();
	for (size_t i = 0; i < TWENTY; i++)
		servers[i] = server_start(scratch, few);
	print_message("  %d instances serve after %lld ms\n", TWENTY,
		      (long long)(now_ms() - began));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < TWENTY; i++)
		server_free(servers[i]);
	scratch_free(scratch);
	return 0;
}

/* ---- work ---- */
struct client {
	pthread_t thread;
	size_t first; /* instance */
	int64_t worst_ms;
	char why[256];
};

static json_t *yes(const char *key)
{
	(void)key;
	return json_pack("{s:s,s:{s:b}}", "action", "accept", "content", "ok",
			 1);
}

static void call_one(struct client *c, const char *url)
{
	struct ask a = {.url = url, .can = CAN_FORM};
	int64_t began = now_ms();
	struct reply *r = drive(&a, "approve", json_object(), yes, ROUNDS);
	int64_t took = now_ms() - began;

	if (took > c->worst_ms)
		c->worst_ms = took;
	if (strcmp(result_text(r), "approved: yes") != 0)
		(void)snprintf(c->why, sizeof(c->why), "%d %.200s", r->status,
			       r->raw != NULL ? r->raw : "no answer");
	reply_free(r);
}

static int calls(void)
{
	return getenv("BIDE_FULL") != NULL ? CALLS_FULL : CALLS;
}

static void *work(void *arg)
{
	struct client *c = arg;

	for (int i = 0; i < calls() && c->why[0] == '\0'; i++)
		call_one(c, servers[(c->first + (size_t)i) % TWENTY]->url);
	return NULL;
}

static void show_shares(void)
{
	size_t least = SIZE_MAX;
	size_t most = 0;

	for (size_t i = 0; i < TWENTY; i++) {
		char by[32];
		size_t n;

		(void)snprintf(by, sizeof(by), " %d ", (int)servers[i]->pid);
		n = effects_count(scratch, by);
		least = n < least ? n : least;
		most = n > most ? n : most;
	}
	print_message("  each instance did %zu to %zu of %d steps\n", least,
		      most, 2 * TWENTY * calls());
	assert_true(least > 0);
}

static void test_twenty__none_starves(void **state)
{
	struct client c[TWENTY] = {{.first = 0}};
	int64_t worst = 0;
	int64_t began = now_ms();
	char why[256];

	(void)state;
	for (size_t i = 0; i < TWENTY; i++) {
		c[i].first = i;
		assert_int_equal(
			pthread_create(&c[i].thread, NULL, work, &c[i]), 0);
	}
	for (size_t i = 0; i < TWENTY; i++) {
		(void)pthread_join(c[i].thread, NULL);
		if (c[i].why[0] != '\0')
			fail_msg("client %zu: %s", i, c[i].why);
		worst = c[i].worst_ms > worst ? c[i].worst_ms : worst;
	}
	print_message("  %d calls in %lld ms, the latest after %lld ms\n",
		      TWENTY * calls(), (long long)(now_ms() - began),
		      (long long)worst);
	assert_true(worst <= bound_ms());
	show_shares();
	if (!effects_once(scratch, why))
		fail_msg("%s", why);
}

/* ---- draining ---- */
static void create(struct server *v, char id[64])
{
	struct ask a = {.url = v->url, .can = CAN_TASKS};
	struct reply *r =
		tool(&a, "counter",
		     json_pack("{s:i,s:i}", "to", STEPS, "ms", STEP_MS));

	assert_string_equal(result_type(r), "task");
	(void)snprintf(id, 64, "%s", task_id(r));
	reply_free(r);
}

static void ends_well(struct server *v)
{
	int status = server_wait(v);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* All but one go at once, and what they were at goes on there. */
static void test_twenty__drain(void **state)
{
	struct ask a = {.url = servers[0]->url, .can = CAN_TASKS};
	char ids[TWENTY][64];
	int64_t began;

	(void)state;
	for (size_t i = 0; i < TWENTY; i++)
		create(servers[i], ids[i]);
	assert_true(effects_await(scratch, " n1", TWENTY));
	began = now_ms();
	for (size_t i = 1; i < TWENTY; i++)
		assert_int_equal(kill(servers[i]->pid, SIGTERM), 0);
	for (size_t i = 1; i < TWENTY; i++)
		ends_well(servers[i]);
	print_message("  %d instances drained in %lld ms\n", TWENTY - 1,
		      (long long)(now_ms() - began));
	assert_true(now_ms() - began <= bound_ms());
	for (size_t i = 0; i < TWENTY; i++) {
		struct reply *r = task_await(&a, ids[i], "completed");

		assert_non_null(r);
		reply_free(r);
	}
	/* They left between two steps, so none was done twice. */
	assert_int_equal(effects_count(scratch, " n"), TWENTY * STEPS);
	assert_int_equal(kill(servers[0]->pid, SIGTERM), 0);
	ends_well(servers[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_twenty__none_starves),
		cmocka_unit_test(test_twenty__drain),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
