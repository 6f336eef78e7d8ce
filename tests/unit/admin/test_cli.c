/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <cmocka.h>

#include "server/admin/admin.h"
#include "server/base/clock.h"
#include "store/sqlite_gate.h"
#include "tests/unit/admin/lib/scene.h"

#define ID_A "aaaaaaaaaaaaaaaaaaaa1111"
#define ID_B "bbbbbbbbbbbbbbbbbbbb2222"
#define ASK  "environment-1"

static json_t *out_json(const struct scene *sc)
{
	json_t *value = json_loads(sc->out, 0, NULL);

	if (value == NULL)
		fail_msg("no JSON: %s", sc->out);
	return value;
}

static const char *member(const json_t *o, const char *name)
{
	const char *s = json_string_value(json_object_get(o, name));

	return s != NULL ? s : "";
}

static void test_list__says_what_waits_for_whom_on_what(void **state)
{
	struct scene *sc = *state;

	assert_int_equal(scene_tasks(sc, "list"), 0);
	assert_string_equal(sc->out, "No task is pending.\n");
	scene_waiting(sc, ID_A, ASK, SCENE_FORM);
	(void)scene_running(sc, ID_B, "");
	assert_int_equal(scene_tasks(sc, "list"), 0);
	assert_non_null(strstr(sc->out, "aaaaaaaaaa  t     alice"));
	assert_non_null(strstr(sc->out, "waiting for an answer"));
	assert_non_null(strstr(sc->out, ASK ": Which environment?"));
	assert_non_null(strstr(sc->out, "anonymous"));
	assert_non_null(strstr(sc->out, "running on instance 1"));
	assert_null(strchr(sc->out, '\033'));
}

static void test_list__filters(void **state)
{
	struct scene *sc = *state;

	scene_waiting(sc, ID_A, ASK, SCENE_FORM);
	scene_ready(sc, ID_B, "other");
	assert_int_equal(scene_tasks(sc, "list", "--state", "waiting"), 0);
	assert_non_null(strstr(sc->out, "aaaaaaaaaa"));
	assert_null(strstr(sc->out, "bbbbbbbbbb"));
	assert_int_equal(scene_tasks(sc, "list", "--tool=other"), 0);
	assert_null(strstr(sc->out, "aaaaaaaaaa"));
	assert_non_null(strstr(sc->out, "bbbbbbbbbb"));
	assert_int_equal(scene_tasks(sc, "list", "--principal", "bob"), 0);
	assert_string_equal(sc->out, "No task is pending.\n");
	assert_int_equal(scene_tasks(sc, "list", "--limit", "1"), 0);
	assert_non_null(strstr(sc->out, "--limit shows more"));
	assert_int_equal(scene_tasks(sc, "list", "--state", "odd"), 2);
	assert_non_null(strstr(sc->err, "waiting"));
	assert_int_equal(scene_tasks(sc, "list", "--limit", "0"), 2);
	assert_int_equal(scene_tasks(sc, "list", "--tool"), 2);
}

static void test_list__json_has_the_same(void **state)
{
	struct scene *sc = *state;
	json_t *root;
	json_t *task;
	json_t *question;

	scene_waiting(sc, ID_A, ASK, SCENE_FORM);
	assert_int_equal(scene_tasks(sc, "list", "--json"), 0);
	root = out_json(sc);
	task = json_array_get(json_object_get(root, "tasks"), 0);
	assert_string_equal(member(task, "taskId"), ID_A);
	assert_string_equal(member(task, "state"), "WAITING");
	assert_string_equal(member(task, "client"), "c/1");
	question = json_array_get(json_object_get(task, "questions"), 0);
	assert_string_equal(member(question, "key"), ASK);
	assert_string_equal(member(question, "message"), "Which environment?");
	json_decref(root);
}

static void test_show__says_who_answered(void **state)
{
	struct scene *sc = *state;

	scene_waiting(sc, ID_A, ASK, SCENE_FORM);
	scene_answer(sc, ID_A, ASK, "{\"action\":\"decline\"}");
	assert_int_equal(scene_tasks(sc, "show", ID_A), 0);
	assert_non_null(strstr(sc->out, "  client  "));
}

/* docs/design.md: they never take the gate. Somebody has it all the while. */
static void test_reading__does_not_wait_for_the_gate(void **state)
{
	struct scene *sc = *state;
	struct gate *gate = NULL;

	scene_waiting(sc, ID_A, ASK, SCENE_FORM);
	assert_int_equal(gate_open(sc->db, NULL, &gate, NULL), BIDE_OK);
	assert_int_equal(gate_enter(gate, clock_boot_ms() + 5000, NULL),
			 BIDE_OK);
	assert_int_equal(scene_tasks(sc, "list"), 0);
	assert_int_equal(scene_tasks(sc, "show", ID_A), 0);
	assert_true(gate_still_mine(gate));
	gate_leave(gate);
	gate_close(gate);
}

static void test_show__tells_the_whole_story(void **state)
{
	struct scene *sc = *state;
	struct store_fence f = scene_running(sc, ID_A, "alice");

	scene_step(sc, &f, "plan", "{\"n\":1}");
	for (int i = 0; i < 6; i++) {
		char key[24];

		(void)snprintf(key, sizeof(key), "part-%d", i);
		scene_step(sc, &f, key, "1");
	}
	scene_finish(sc, &f, STORE_COMPLETED,
		     "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}");
	assert_int_equal(scene_tasks(sc, "show", "aaaa"), 0);
	assert_non_null(strstr(sc->out, ID_A));
	assert_non_null(strstr(sc->out, "t, version 1"));
	assert_non_null(strstr(sc->out, "alice, c/1, forms, tasks"));
	assert_non_null(strstr(sc->out, "completed"));
	assert_non_null(strstr(sc->out, "created"));
	assert_non_null(strstr(sc->out, "7 steps, to part-5"));
	assert_non_null(strstr(sc->out, "finished"));
	assert_non_null(strstr(sc->out, "\"text\":\"done\""));
	assert_int_equal(scene_tasks(sc, "show", "aaaa", "--steps"), 0);
	assert_non_null(strstr(sc->out, "part-3"));
	assert_int_equal(scene_tasks(sc, "show", "zzzz"), 1);
	assert_non_null(strstr(sc->err, "tasks list"));
}

static void test_show__cuts_big_values(void **state)
{
	struct scene *sc = *state;
	struct store_fence f = scene_running(sc, ID_A, "alice");
	char *big = malloc(100001);
	json_t *root;
	json_t *step;

	assert_non_null(big);
	memset(big, 'x', 100000);
	big[0] = big[99999] = '"';
	big[100000] = '\0';
	scene_step(sc, &f, "big", big);
	scene_finish(sc, &f, STORE_COMPLETED, big);
	free(big);
	assert_int_equal(scene_tasks(sc, "show", ID_A), 0);
	assert_true(strlen(sc->out) < 3000);
	assert_int_equal(scene_tasks(sc, "show", ID_A, "--json"), 0);
	assert_true(strlen(sc->out) < 5000);
	root = out_json(sc);
	step = json_array_get(json_object_get(root, "steps"), 0);
	assert_int_equal(json_integer_value(json_object_get(
				 json_object_get(step, "result"), "bytes")),
			 100000);
	json_decref(root);
}

static void test_steering__is_answered_and_in_the_history(void **state)
{
	struct scene *sc = *state;

	scene_waiting(sc, ID_A, ASK, SCENE_FORM);
	assert_int_equal(scene_tasks(sc, "answer", ID_A, ASK, "{"), 1);
	assert_int_equal(scene_tasks(sc, "answer", ID_A, ASK,
				     "{\"environment\":\"mars\"}"),
			 1);
	assert_non_null(strstr(sc->err, "does not fit"));
	assert_int_equal(scene_tasks(sc, "answer", "aaa", ASK,
				     "{\"environment\":\"staging\"}"),
			 0);
	assert_int_equal(scene_tasks(sc, "show", ID_A), 0);
	assert_non_null(strstr(sc->out, "answered by operator, uid"));
	assert_int_equal(scene_tasks(sc, "cancel", "aaa"), 0);
	assert_non_null(strstr(sc->out, "cancelled"));
	assert_int_equal(scene_tasks(sc, "cancel", "aaa"), 1);
	assert_non_null(strstr(sc->err, "ended"));
}

#define ME "admin_test_cli" /* as it was called */
#define SIGNAL(...)                                                            \
	scene_run(sc, admin_signal,                                            \
		  (const char *const[]){"signal", __VA_ARGS__, NULL})

static void test_signal__announces(void **state)
{
	static const char *const names[] = {"tools", "prompts", "resources",
					    "resource:file:///a"};
	struct scene *sc = *state;
	struct store_topic *t = NULL;
	size_t n = 0;

	assert_int_equal(SIGNAL("tools"), 0);
	assert_string_equal(sc->out, "tools: announced\n");
	assert_int_equal(SIGNAL("prompts", "--json"), 0);
	assert_string_equal(sc->out, "{\"announced\":\"prompts\"}\n");
	assert_int_equal(SIGNAL("resources"), 0);
	assert_int_equal(SIGNAL("resource", "file:///a"), 0);
	assert_string_equal(sc->out, "file:///a: announced\n");
	assert_int_equal(store_topics(sc->s, 0, 10, &t, &n), BIDE_OK);
	assert_int_equal(n, 4);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(t[i].name, names[i]);
	store_topics_free(t, n);
}

static void test_signal__of_what_is_not_there_is_2(void **state)
{
	struct scene *sc = *state;
	int64_t last = -1;

	assert_int_equal(SIGNAL("tasks"), 2);
	assert_non_null(strstr(sc->err, "usage: " ME " signal tools|prompts|"));
	assert_null(strstr(sc->err, "tasks"));
	assert_int_equal(SIGNAL("resource"), 2);
	assert_int_equal(SIGNAL("tools", "more"), 2);
	assert_int_equal(SIGNAL("resource", "hosts"), 2);
	assert_non_null(strstr(sc->err, "\"hosts\" is no absolute URI"));
	assert_int_equal(store_topic_last(sc->s, &last), BIDE_OK);
	assert_int_equal(last, 0);
}

static void test_usage__is_2_and_says_how(void **state)
{
	struct scene *sc = *state;

	assert_int_equal(scene_run(sc, admin_tasks,
				   (const char *const[]){"tasks", NULL}),
			 2);
	assert_non_null(strstr(sc->err, "tasks list"));
	assert_int_equal(scene_tasks(sc, "show"), 2);
	assert_non_null(
		strstr(sc->err, "usage: " ME " tasks show ID [--steps]\n"));
	assert_null(strstr(sc->err, "tasks list"));
	assert_int_equal(scene_tasks(sc, "dance"), 2);
	assert_non_null(strstr(sc->err, "no command \"dance\""));
	assert_int_equal(scene_run(sc, admin_doctor,
				   (const char *const[]){"doctor", "x", NULL}),
			 2);
}

static void test_database__that_is_missing_is_said(void **state)
{
	struct scene *sc = *state;
	struct config *other = config_new();
	struct config *own = sc->config;

	assert_int_equal(config_set(other, "db", "/nowhere/at/all.db",
				    CONFIG_FROM_ARGS, NULL),
			 BIDE_OK);
	sc->config = other;
	assert_int_equal(scene_tasks(sc, "list"), 1);
	assert_non_null(strstr(sc->err, "/nowhere/at/all.db"));
	assert_int_equal(scene_tasks(sc, "cancel", "x"), 1);
	sc->config = own;
	config_free(other);
}

static void test_doctor__is_content_with_a_good_database(void **state)
{
	struct scene *sc = *state;
	json_t *root;

	assert_int_equal(scene_run(sc, admin_doctor,
				   (const char *const[]){"doctor", NULL}),
			 0);
	assert_non_null(strstr(sc->out, "SQLite 3."));
	assert_non_null(strstr(sc->out, "WAL-reset"));
	assert_non_null(strstr(sc->out, "instance 1 (scene)"));
	assert_non_null(strstr(sc->out, "keys for requestState: 0"));
	assert_non_null(strstr(sc->out, "the WAL has"));
	assert_non_null(strstr(sc->out, "All is well."));
	assert_int_equal(
		scene_run(sc, admin_doctor,
			  (const char *const[]){"doctor", "--json", NULL}),
		0);
	root = out_json(sc);
	assert_true(json_is_true(json_object_get(root, "good")));
	json_decref(root);
}

static void test_doctor__names_a_tool_that_nobody_has(void **state)
{
	struct scene *sc = *state;

	scene_ready(sc, ID_A, "orphan");
	scene_ready(sc, ID_B, "t");
	assert_int_equal(scene_run(sc, admin_doctor,
				   (const char *const[]){"doctor", NULL}),
			 1);
	assert_non_null(strstr(sc->out, "BAD  ready tasks of the tool orphan"));
	assert_null(strstr(sc->out, "tool t,"));
}

static void test_migrate__says_what_it_did(void **state)
{
	struct scene *sc = *state;

	assert_int_equal(scene_run(sc, admin_migrate,
				   (const char *const[]){"migrate", NULL}),
			 0);
	assert_non_null(strstr(sc->out, "nothing to do"));
}

static void test_set_aside__takes_the_commands_own_options(void **state)
{
	char *argv[] = {"bide",  "--db",     "x",       "tasks",
			"list",  "--json",   "--state", "ready",
			"--all", "--tool=t", "--limit", NULL};
	char *aside[12] = {0};
	int argc = 11;

	(void)state;
	assert_int_equal(admin_set_aside(&argc, argv, aside), 6);
	assert_int_equal(argc, 5);
	assert_string_equal(argv[4], "list");
	assert_null(argv[5]);
	assert_string_equal(aside[1], "--state");
	assert_string_equal(aside[2], "ready");
	assert_string_equal(aside[5], "--limit");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scene_test(test_list__says_what_waits_for_whom_on_what),
		scene_test(test_list__filters),
		scene_test(test_list__json_has_the_same),
		scene_test(test_show__says_who_answered),
		scene_test(test_reading__does_not_wait_for_the_gate),
		scene_test(test_show__tells_the_whole_story),
		scene_test(test_show__cuts_big_values),
		scene_test(test_steering__is_answered_and_in_the_history),
		scene_test(test_signal__announces),
		scene_test(test_signal__of_what_is_not_there_is_2),
		scene_test(test_usage__is_2_and_says_how),
		scene_test(test_database__that_is_missing_is_said),
		scene_test(test_doctor__is_content_with_a_good_database),
		scene_test(test_doctor__names_a_tool_that_nobody_has),
		scene_test(test_migrate__says_what_it_did),
		cmocka_unit_test(
			test_set_aside__takes_the_commands_own_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
