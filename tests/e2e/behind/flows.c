/* SPDX-License-Identifier: MIT */
/* Each flow, end to end, with every request at another instance. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tests/e2e/behind/behind.h"
#include "tests/e2e/lib/effects.h"
#include "tests/e2e/lib/listener.h"

#define ROUNDS      100
#define GATES       5 /* of the tool: tests/fixture/fleet.c */
#define CORK_MS     40.0
#define TRIES       8
#define GIVES_UP_MS 40000.0 /* and a little: timeout server, 50 s */

static struct ask through(const struct fleet *f, const char *can)
{
	struct ask a = {.url = f->balancer->url, .can = can};

	return a;
}

static json_t *form(const char *key)
{
	json_t *content = json_pack("{s:b,s:b,s:s,s:s}", "ok", 1, "confirm", 1,
				    "name", "Ada", "color", "blue");

	(void)key;
	return json_pack("{s:s,s:o}", "action", "accept", "content", content);
}

/* An answer to any question of the fixture's, by its key. */
static json_t *answer(const char *key)
{
	if (strcmp(key, "client_roots") == 0)
		return json_pack("{s:[{s:s}]}", "roots", "uri", "file:///w");
	if (strcmp(key, "capital_question") == 0 ||
	    strcmp(key, "greeting") == 0)
		return json_pack("{s:s,s:s,s:{s:s,s:s}}", "role", "assistant",
				 "model", "m", "content", "type", "text",
				 "text", "Paris");
	return form(key);
}

static void ends_as(const struct ask *a, const char *name, json_t *args,
		    const char *text)
{
	struct reply *r = drive(a, name, args, answer, ROUNDS);

	if (strcmp(result_text(r), text) != 0)
		fail_msg("%s: %d %s", name, r->status,
			 r->raw != NULL ? r->raw : "-");
	reply_free(r);
}

void test_flow__every_one_ends_right(void **state)
{
	struct fleet *f = behind_start(NULL);
	struct ask a = through(f, CAN_ALL);
	struct load *l;

	(void)state;
	ends_as(&a, "test_simple_text", json_object(),
		"This is a simple text response for testing.");
	ends_as(&a, "test_input_required_result_elicitation", json_object(),
		"Hello, Ada!");
	ends_as(&a, "test_input_required_result_sampling", json_object(),
		"Paris");
	ends_as(&a, "test_input_required_result_list_roots", json_object(),
		"1 roots");
	ends_as(&a, "test_input_required_result_multiple_inputs", json_object(),
		"got all three");
	ends_as(&a, "effect_after_answer", json_object(), "plan 7 done");
	ends_as(&a, "once", json_object(), "plan 7 done");
	ends_as(&a, "nap", json_pack("{s:i}", "ms", 50), "rested");
	ends_as(&a, "two_step", json_object(), "two steps done");
	ends_as(&a, "shed", json_object(), "done");
	ends_as(&a, "publisher", json_pack("{s:i}", "ms", 10), "Hello, Ada!");
	ends_as(&a, "multi_input", json_object(), "Ada and Ada");
	ends_as(&a, "confirm_delete", json_pack("{s:s}", "filename", "f"),
		"f deleted");
	/* And those that have a thread each. */
	l = load_start(f->balancer->url, (1U << KINDS) - 1, false);
	load_await_each(l);
	load_stop(l);
	load_free(l);
	fleet_free(f);
}

void test_rounds__spread_over_all(void **state)
{
	struct fleet *f = behind_start(NULL);
	struct ask a = through(f, CAN_FORM);
	char text[32];

	(void)state;
	for (int i = 0; i < 2 * FLEET_SERVERS; i++)
		ends_as(&a, "handed_over", json_object(), "42");
	for (size_t i = 0; i < FLEET_SERVERS; i++) {
		(void)snprintf(text, sizeof(text), " %d ",
			       (int)f->server[i]->pid);
		/* Of two rounds in each of six calls, by turns. */
		assert_in_range(effects_count(f->scratch, text), 1, 6);
	}
	fleet_free(f);
}

/* ---- events ---- */
struct gate {
	const char *path;
	int opened;
	double at_ms;    /* the last one was opened */
	double least_ms; /* from there to the next event */
};

static double now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool open_gate(void *user, json_t *m)
{
	struct gate *g = user;
	FILE *file;

	/* The response ends the stream, and so is sent in any case. */
	if (json_object_get(m, "method") == NULL)
		return true;
	if (g->opened > 0 && now_ms() - g->at_ms < g->least_ms)
		g->least_ms = now_ms() - g->at_ms;
	g->at_ms = now_ms();
	file = fopen(g->path, "ae");
	if (file == NULL || fputc('.', file) == EOF || fclose(file) != 0)
		return false;
	g->opened++;
	return true;
}

/* The shortest time from one event to the next. */
static double pass_each(const struct fleet *f, const char *name)
{
	struct ask a = through(f, CAN_FORM);
	char path[320];
	struct gate g = {.path = path, .least_ms = 1e9};
	struct reply *r;

	(void)snprintf(path, sizeof(path), "%s/%s", f->scratch->dir, name);
	(void)remove(path);
	a.progress = "p";
	a.event = open_gate;
	a.user = &g;
	r = tool(&a, name, json_pack("{s:s}", "gate", path));
	assert_string_equal(result_text(r), "through");
	assert_int_equal(g.opened, GATES);
	reply_free(r);
	return g.least_ms;
}

void test_event__is_seen_before_the_next_is_made(void **state)
{
	struct fleet *f = behind_start(NULL);
	double least = 1e9;

	(void)state;
	(void)pass_each(f, "gated_task");
	/* A corked socket keeps each for 200 ms (tcp(7)), or until the last one
	 * is acknowledged, which takes 40; a busy machine does so with some. */
	for (int i = 0; i < TRIES && least >= CORK_MS; i++)
		least = pass_each(f, "gated");
	assert_true(least < CORK_MS);
	fleet_free(f);
}

void test_listener__sees_each_change_at_once(void **state)
{
	struct fleet *f = behind_start(NULL);
	struct ask a = through(f, CAN_TASKS);
	struct reply *r;
	struct listener l;
	char id[64];

	(void)state;
	r = tool(&a, "approve", json_object());
	(void)snprintf(id, sizeof(id), "%s", task_id(r));
	reply_free(r);
	listener_start(&l, a, json_pack("{s:[s]}", "taskIds", id));
	/* The answer is what makes the next event. */
	assert_non_null(listener_await(&l, id, "input_required"));
	reply_free(task_do(&a, "tasks/update", id,
			   accept_bool("approval", "ok", true)));
	assert_non_null(listener_await(&l, id, "completed"));
	for (size_t i = 0; i < FLEET_SERVERS; i++)
		(void)server_signal_wait(f->server[i], SIGTERM);
	listener_join(&l);
	assert_string_equal(result_type(l.r), "complete");
	assert_true(listener_tagged(&l));
	listener_end(&l);
	fleet_free(f);
}

/* ---- closing ---- */
static bool leave(void *user, json_t *m)
{
	(void)user;
	(void)m;
	return false;
}

/* Sooner than the balancer gives up by itself, which cancels too. */
static void is_told(const struct fleet *f, const char *effect, double at_ms)
{
	assert_true(effects_await(f->scratch, effect, 1));
	assert_true(now_ms() - at_ms < GIVES_UP_MS);
}

void test_close__cancels(void **state)
{
	struct fleet *f = behind_start(NULL);
	struct ask a = through(f, CAN_FORM);
	double at_ms = 0;

	(void)state;
	/* One that waits: its client gives up, the later the slower. */
	for (a.timeout_ms = 500; effects_count(f->scratch, " begin") == 0;
	     a.timeout_ms *= 2) {
		reply_free(tool(&a, "hold", json_object()));
		at_ms = now_ms();
	}
	is_told(f, " dropped", at_ms);
	/* One that streams. */
	a.timeout_ms = 0;
	a.progress = "p";
	a.event = leave;
	reply_free(tool(&a, "streams", json_object()));
	is_told(f, " stopped", now_ms());
	fleet_free(f);
}

/* ---- detaching ---- */
void test_wait_for_task__brings_the_result(void **state)
{
	static const char *const args[] = {"--wait-budget", "300", NULL};
	struct fleet *f = behind_start(args);
	struct ask a = through(f, CAN_FORM);
	struct reply *r = drive(&a, "long_nap", json_pack("{s:i}", "ms", 3000),
				answer, ROUNDS);
	char handle[1024];

	(void)state;
	(void)snprintf(handle, sizeof(handle), "%s",
		       json_string_value(json_object_get(
			       json_object_get(result(r), "structuredContent"),
			       "handle")));
	for (int i = 0; i < ROUNDS && strcmp(result_text(r), "rested") != 0;
	     i++) {
		reply_free(r);
		r = drive(&a, "wait_for_task",
			  json_pack("{s:s}", "handle", handle), answer, ROUNDS);
	}
	assert_string_equal(result_text(r), "rested");
	reply_free(r);
	fleet_free(f);
}

/* ---- headers ---- */
/* Twice is refused by the instance, so it has come there. */
void test_header__passes_whatever_its_name(void **state)
{
	static const char *const twice[] = {"Mcp-Param-a_b.c: 1",
					    "Mcp-Param-a_b.c: 2", NULL};
	struct fleet *f = behind_start(NULL);
	struct ask a = through(f, CAN_FORM);
	struct reply *r;

	(void)state;
	a.headers = twice;
	r = tool(&a, "test_simple_text", json_object());
	assert_int_equal(r->status, 400);
	assert_non_null(strstr(error_text(r), "repeated"));
	reply_free(r);
	fleet_free(f);
}
