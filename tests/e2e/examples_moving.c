/* SPDX-License-Identifier: MIT */
/*
 * The two uses that SEP-2322 has for request state, as examples: a rolling
 * upgrade, where one runs version 1 of the tool and two version 2, and work
 * that is handed on.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/e2e/examples_call.h"

/* ---- rolling_upgrade: one is version 1, two version 2 ---- */
static const struct call logins = {"link_accounts", CAN_FORM, "{}"};
#define GOOGLE    "\"google_login\":" ACCEPT("\"name\":\"at-google\"")
#define MICROSOFT "\"microsoft_login\":" ACCEPT("\"name\":\"at-microsoft\"")

static void test_upgrade__old_to_new(void **state)
{
	struct reply *r = begin(one, &logins);

	(void)state;
	assert_asks(r, 2, "google_login");
	r = next(two, &logins, r, "{" LOGIN "," GOOGLE "}");
	assert_asks(r, 1, "microsoft_login");
	r = next(two, &logins, r, "{" MICROSOFT "}");
	assert_ends(r,
		    "Linked octocat (GitHub) and at-microsoft (Microsoft), by "
		    "version 2",
		    false);
}

static void test_upgrade__new_to_old(void **state)
{
	struct reply *r = begin(two, &logins);

	(void)state;
	assert_asks(r, 2, "microsoft_login");
	r = next(one, &logins, r, "{" LOGIN "," MICROSOFT "}");
	assert_asks(r, 1, "google_login");
	r = next(one, &logins, r, "{" GOOGLE "}");
	assert_ends(r,
		    "Linked octocat (GitHub) and at-google (Google), by "
		    "version 1",
		    false);
}

/* A version that does not ask for an answer keeps it for one that does. */
static void test_upgrade__there_and_back_asks_nobody_twice(void **state)
{
	struct reply *r = next(two, &logins, begin(one, &logins),
			       "{" LOGIN "," GOOGLE "}");

	(void)state;
	assert_asks(r, 1, "microsoft_login");
	r = next(one, &logins, r, "{" MICROSOFT "}");
	assert_ends(r, "at-google (Google), by version 1", false);
}

static void test_upgrade__no_to_a_dropped_question_is_no_matter(void **state)
{
	struct reply *r = next(two, &logins, begin(one, &logins),
			       "{" LOGIN ",\"google_login\":" DECLINE "}");

	(void)state;
	assert_asks(r, 1, "microsoft_login");
	assert_ends(next(two, &logins, r, "{" MICROSOFT "}"),
		    "at-microsoft (Microsoft), by version 2", false);
	r = next(two, &logins, begin(one, &logins),
		 "{\"github_login\":" CANCEL "," GOOGLE "}");
	assert_asks(r, 1, "microsoft_login");
	assert_ends(next(two, &logins, r, "{" MICROSOFT "}"),
		    "The GitHub login was cancelled", false);
}

static void test_upgrade__needs_forms_in_both_versions(void **state)
{
	static const struct call c = {"link_accounts", CAN_NOTHING, "{}"};

	(void)state;
	assert_refused(begin(one, &c), "elicitation");
	assert_refused(begin(two, &c), "elicitation");
}

/* ---- load_shedding ---- */
static const struct call primes = {"count_primes", CAN_NOTHING,
				   "{\"below\":1000000}"};

/* Which process counted part @i. */
static pid_t counted_by(const struct reply *r, size_t i)
{
	const json_t *parts = json_object_get(
		json_object_get(result(r), "structuredContent"), "parts");

	assert_int_equal(json_array_size(parts), 8);
	return (pid_t)json_integer_value(json_array_get(parts, i));
}

static void assert_sheds(const struct reply *r)
{
	assert_string_equal(result_type(r), "input_required");
	/* empty, and there: a client takes a result without it for final */
	assert_non_null(json_object_get(result(r), "inputRequests"));
	assert_int_equal(asked_count(r), 0);
	assert_non_null(state_of(r));
}

static void test_shedding__hands_the_work_on(void **state)
{
	struct server *busy;
	struct reply *r;

	(void)state;
	assert_int_equal(setenv("SHED_ABOVE", "0", 1), 0);
	busy = server_start(scratch, NULL);
	assert_int_equal(unsetenv("SHED_ABOVE"), 0);
	r = begin(busy, &primes);
	assert_sheds(r);
	r = next(two, &primes, r, NULL);
	assert_int_equal(counted_by(r, 0), busy->pid);
	for (size_t i = 1; i < 8; i++)
		assert_int_equal(counted_by(r, i), two->pid);
	assert_ends(r, "There are 78498 primes below 1000000.", false);
	/* A call is shed once: with nobody else there it ends all the same. */
	r = next(busy, &primes, begin(busy, &primes), NULL);
	assert_int_equal(counted_by(r, 7), busy->pid);
	assert_ends(r, "78498", false);
	server_free(busy);
}

/* Ends the server as soon as the first part is done. */
static bool on_progress(void *user, json_t *message)
{
	struct server *v = user;

	(void)message;
	(void)kill(v->pid, SIGTERM);
	return true;
}

/* True: the instance that was told to end handed the call on. False: it was
 * done before it heard. */
static bool drained(const char *below, const char *text)
{
	struct server *old = server_start(scratch, NULL);
	struct call c = {"count_primes", CAN_NOTHING, below};
	struct ask ask = {.url = old->url,
			  .can = CAN_NOTHING,
			  .progress = "p",
			  .event = on_progress,
			  .user = old};
	pid_t pid = old->pid;
	struct reply *r = tool(&ask, c.tool, parsed(below));
	bool handed = strcmp(result_type(r), "input_required") == 0;

	if (handed) {
		assert_sheds(r);
		r = next(two, &c, r, NULL);
		assert_int_equal(counted_by(r, 0), pid);
		assert_int_equal(counted_by(r, 7), two->pid);
	}
	assert_ends(r, text, false);
	assert_int_equal(server_wait(old), 0);
	server_free(old);
	return handed;
}

static void test_shedding__draining_loses_no_work(void **state)
{
	bool handed = false;

	(void)state;
	for (int i = 0; i < 5 && !handed; i++)
		handed = drained("{\"below\":40000000}", "2433654");
	assert_true(handed);
}

/* ---- all ---- */
static int setup(void **state)
{
	(void)state;
	pair_scratch();
	server_use("examples/demo_server");
	assert_int_equal(setenv("TOOL_VERSION", "1", 1), 0);
	one = server_start(scratch, NULL);
	assert_int_equal(setenv("TOOL_VERSION", "2", 1), 0);
	two = server_start(scratch, NULL);
	return 0;
}

#define T(name) cmocka_unit_test(test_##name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(upgrade__old_to_new),
		T(upgrade__new_to_old),
		T(upgrade__there_and_back_asks_nobody_twice),
		T(upgrade__no_to_a_dropped_question_is_no_matter),
		T(upgrade__needs_forms_in_both_versions),
		T(shedding__hands_the_work_on),
		T(shedding__draining_loses_no_work),
	};

	return cmocka_run_group_tests(tests, setup, pair_end);
}
