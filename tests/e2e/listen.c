/* SPDX-License-Identifier: MIT */
/*
 * subscriptions/listen with taskIds, across instances; draining.
 * docs/conformance.md: S34 to S36, S48; F24, F27 to F29, F31.
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

#include <cmocka.h>

#include "tests/e2e/lib/listener.h"
#include "tests/e2e/lib/pair.h"
#include "tests/e2e/lib/task.h"

static const char *const quick[] = {"--test-identity", "--keep-alive", "200",
				    NULL};

static int setup(void **state)
{
	(void)state;
	return pair_both(quick);
}

/* F29; S34, S35, S48: a listener on B learns of what happens on A. */
static void test_listener__learns_of_another_instance(void **unused)
{
	struct ask a = as_tasks(one, "alice");
	struct ask b = as_tasks(two, "alice");
	struct ask bob = as_tasks(two, "bob");
	struct listener l;
	char id[64];
	char others[64];
	const json_t *ack;
	const json_t *m;
	const json_t *ids;

	(void)unused;
	create(&a, "confirm_delete", json_pack("{s:s}", "filename", "f"), id);
	create(&bob, "confirm_delete", json_pack("{s:s}", "filename", "f"),
	       others);
	listener_start(&l, b,
		       json_pack("{s:[s,s,s],s:b}", "taskIds", id, others,
				 "AAAAAAAAAAAAAAAAAAAAAA", "toolsListChanged",
				 1));
	assert_non_null(listener_await(&l, NULL, NULL));
	assert_non_null(listener_await(&l, id, "input_required"));
	ack = json_array_get(l.messages, 0);
	assert_string_equal(json_string_value(json_object_get(ack, "method")),
			    "notifications/subscriptions/acknowledged");
	/* F24: another's task and an unknown one are absent alike */
	ids = json_object_get(json_object_get(json_object_get(ack, "params"),
					      "notifications"),
			      "taskIds");
	assert_int_equal(json_array_size(ids), 1);
	m = listener_await(&l, id, "input_required");
	assert_non_null(json_object_get(
		json_object_get(json_object_get(m, "params"), "inputRequests"),
		"confirm"));
	reply_free(task_do(&a, "tasks/update", id,
			   accept_bool("confirm", "confirm", true)));
	m = listener_await(&l, id, "completed");
	assert_non_null(m);
	assert_non_null(
		json_object_get(json_object_get(m, "params"), "result"));
	assert_true(listener_tagged(&l));
	server_kill(two, SIGTERM);
	listener_end(&l);
	server_free(two);
	two = server_start(scratch, quick);
}

/* F27: a silent stream has comments, none before the acknowledgement. */
static void test_listener__silent_stream_has_comments(void **unused)
{
	struct ask b = as_tasks(two, "alice");
	struct listener l;
	const char *data;
	const char *colon;

	(void)unused;
	listener_start(&l, b, json_object());
	assert_non_null(listener_await(&l, NULL, NULL));
	assert_true(listener_await_comment(&l));
	server_kill(two, SIGTERM);
	listener_join(&l);
	assert_true(l.r->comments >= 1);
	data = strstr(l.r->raw, "data: ");
	colon = l.r->raw[0] == ':' ? l.r->raw : strstr(l.r->raw, "\n:");
	assert_true(data != NULL && data < colon);
	assert_true(header_is(l.r, "X-Accel-Buffering", "no"));
	assert_true(header_is(l.r, "Cache-Control", "no-store"));
	/* the server ended it: the listen response, properly tagged */
	assert_non_null(l.r->message);
	assert_string_equal(result_type(l.r), "complete");
	assert_true(listener_tagged(&l));
	listener_end(&l);
	server_free(two);
	two = server_start(scratch, quick);
}

struct caller {
	struct ask a;
	struct reply *r;
	const char *name;
	json_t *args;
};

static void *call_thread(void *arg)
{
	struct caller *c = arg;

	c->r = tool(&c->a, c->name, c->args);
	return NULL;
}

/* F31: SIGTERM with a stream and calls open: answered, ended, exit 0. */
static void test_drain__answers_what_is_open(void **unused)
{
	struct server *v = server_start(scratch, quick);
	struct ask a = as_tasks(v, "alice");
	struct ask form = {.url = v->url, .principal = "alice"};
	struct listener l;
	struct caller eph = {.a = form,
			     .name = "hold",
			     .args = json_pack("{s:i}", "ms", 1500)};
	struct caller waiting = {.a = form,
				 .name = "long_nap",
				 .args = json_pack("{s:i}", "ms", 60000)};
	pthread_t t1;
	pthread_t t2;
	int status;

	(void)unused;
	listener_start(&l, a, json_object());
	assert_non_null(listener_await(&l, NULL, NULL));
	assert_int_equal(pthread_create(&t1, NULL, call_thread, &eph), 0);
	assert_int_equal(pthread_create(&t2, NULL, call_thread, &waiting), 0);
	assert_true(effects_await(scratch, " begin", 1));
	assert_true(effects_await(scratch, " lie down", 1));
	status = server_signal_wait(v, SIGTERM);
	(void)pthread_join(t1, NULL);
	(void)pthread_join(t2, NULL);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_string_equal(result_text(eph.r), "held");
	/* who waited for a task comes back elsewhere with the handle */
	assert_string_equal(result_type(waiting.r), "input_required");
	assert_non_null(state_of(waiting.r));
	listener_end(&l);
	reply_free(eph.r);
	reply_free(waiting.r);
	server_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_listener__learns_of_another_instance),
		cmocka_unit_test(test_listener__silent_stream_has_comments),
		cmocka_unit_test(test_drain__answers_what_is_open),
	};

	return cmocka_run_group_tests(tests, setup, pair_end);
}
