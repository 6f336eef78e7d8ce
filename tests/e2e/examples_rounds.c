/* SPDX-License-Identifier: MIT */
/*
 * The seeds' own examples (SEP-2322 and the porting guide) that ask, round by
 * round over two instances.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/e2e/examples_call.h"

#define CAN_SAMPLE "{\"sampling\":{}}"
#define CAN_BOTH   "{\"elicitation\":{\"form\":{}},\"sampling\":{}}"
#define CAN_ROOTS  "{\"roots\":{}}"

#define MESSAGE(content)                                                       \
	"{\"role\":\"assistant\",\"model\":\"m-1\",\"content\":" content "}"
#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"

/* What both instances wrote so far of @line, after all they were asked: a work
 * item of its own is changed at each, and its line waited for. */
static int both_wrote(const char *line)
{
	static int number = 100000;
	struct server *const both[] = {one, two};
	int n = 0;

	for (size_t i = 0; i < 2; i++) {
		char args[128];
		char mark[64];
		struct call c = {"update_work_item", CAN_NOTHING, args};

		(void)snprintf(args, sizeof(args),
			       "{\"workItemId\":%d,\"fields\":"
			       "{\"System.State\":\"Active\"}}",
			       ++number);
		(void)snprintf(mark, sizeof(mark), "work item %d is Active",
			       number);
		assert_ends(begin(both[i], &c), "set to Active", false);
		assert_true(server_saw(both[i], mark));
		n += server_count(both[i], line);
	}
	return n;
}

/* ---- summarize_incidents ---- */
static const struct call summary = {"summarize_incidents", CAN_SAMPLE,
				    "{\"since\":\"2026-11-09\"}"};
#define RECORDED "recorded a summary"

static void test_summary__is_what_the_model_wrote(void **state)
{
	struct reply *r = begin(one, &summary);
	const json_t *params;

	(void)state;
	assert_asks(r, 1, "summary");
	params = json_object_get(asked(r, "summary"), "params");
	assert_int_equal(
		json_integer_value(json_object_get(params, "maxTokens")), 400);
	assert_non_null(json_object_get(params, "systemPrompt"));
	r = next(two, &summary, r,
		 "{\"summary\":" MESSAGE(TEXT("three bullets")) "}");
	assert_ends(r, "three bullets", false);
}

static void test_summary__content_is_a_block_or_an_array(void **state)
{
	struct reply *r = next(
		one, &summary, begin(two, &summary),
		"{\"summary\":" MESSAGE("[{\"type\":\"image\",\"data\":\"\","
					"\"mimeType\":\"image/png\"}," TEXT(
						"the second block") "]") "}");

	(void)state;
	assert_ends(r, "the second block", false);
}

/* The porting guide's listing waits for {"action":"accept",..}: that is no
 * CreateMessageResult, so the question is asked again, and nothing is lost. */
static void test_summary__has_no_action(void **state)
{
	struct reply *r =
		next(two, &summary, begin(one, &summary),
		     "{\"summary\":{\"action\":\"accept\",\"content\":" TEXT(
			     "as the guide has it") "}}");

	(void)state;
	assert_asks(r, 1, "summary");
	r = next(one, &summary, r, "{\"summary\":" DECLINE "}");
	assert_asks(r, 1, "summary");
	r = next(one, &summary, r,
		 "{\"summary\":" MESSAGE(TEXT("as the schema has it")) "}");
	assert_ends(r, "as the schema has it", false);
}

static void
test_summary__is_recorded_once_and_only_if_there_is_one(void **state)
{
	int before = both_wrote(RECORDED);
	struct reply *r = begin(one, &summary);
	struct ask ask = {.url = two->url, .can = CAN_SAMPLE};
	struct reply *s;

	(void)state;
	for (int i = 0; i < 2; i++) {
		ask.url = i == 0 ? two->url : one->url;
		s = again(&ask, summary.tool, parsed(summary.args), state_of(r),
			  parsed("{\"summary\":" MESSAGE(TEXT("once")) "}"));
		assert_ends(s, "once", false);
	}
	assert_int_equal(both_wrote(RECORDED), before + 1);
	reply_free(r);
	r = next(two, &summary, begin(one, &summary),
		 "{\"summary\":" MESSAGE("[]") "}");
	assert_ends(r, "Nothing was recorded", true);
	assert_int_equal(both_wrote(RECORDED), before + 1);
}

static void test_summary__without_sampling_is_the_digest(void **state)
{
	static const struct call none = {"summarize_incidents", CAN_FORM,
					 "{\"since\":\"2026-11-09\"}"};
	static const struct call late = {"summarize_incidents", CAN_SAMPLE,
					 "{\"since\":\"2099-01-01\"}"};

	(void)state;
	assert_ends(begin(one, &none), "login: expired certificate", false);
	/* Capabilities belong to a request: they may be gone at the next. */
	assert_ends(next(two, &none, begin(one, &summary), NULL),
		    "login: expired certificate", false);
	assert_ends(begin(one, &late), "No incidents since", false);
}

/* ---- update_work_item ---- */
#define RESOLVE(id)                                                            \
	"{\"workItemId\":" id ",\"fields\":{\"System.State\":\"Resolved\"}}"
#define RESOLUTION(text)                                                       \
	"{\"resolution\":" ACCEPT("\"resolution\":\"" text "\"") "}"
#define ORIGINAL(id) "{\"duplicate_of\":" ACCEPT("\"duplicateOfId\":" id) "}"

static void test_work_item__takes_three_rounds_anywhere(void **state)
{
	static const struct call c = {"update_work_item", CAN_FORM,
				      RESOLVE("4522")};
	struct reply *r = begin(one, &c);

	(void)state;
	assert_asks(r, 1, "resolution");
	r = next(two, &c, r, RESOLUTION("Duplicate"));
	assert_asks(r, 1, "duplicate_of");
	r = next(one, &c, r, ORIGINAL("4301"));
	assert_ends(r,
		    "Bug #4522 resolved as Duplicate of Bug #4301. State set "
		    "to Resolved and duplicate link created.",
		    false);
	assert_int_equal(both_wrote("work item 4522 "), 1);
}

static void test_work_item__repeated_last_round_writes_once(void **state)
{
	static const struct call c = {"update_work_item", CAN_FORM,
				      RESOLVE("4600")};
	struct reply *r = begin(one, &c);
	struct ask ask = {.can = CAN_FORM};

	(void)state;
	for (int i = 0; i < 3; i++) {
		ask.url = i % 2 == 0 ? two->url : one->url;
		assert_ends(again(&ask, c.tool, parsed(c.args), state_of(r),
				  parsed(RESOLUTION("Fixed"))),
			    "Resolution to Fixed", false);
	}
	assert_int_equal(both_wrote("work item 4600 "), 1);
	reply_free(r);
}

static void test_work_item__declined_or_cancelled_is_unchanged(void **state)
{
	static const struct call c = {"update_work_item", CAN_FORM,
				      RESOLVE("4700")};
	static const char *const no[] = {DECLINE, CANCEL};
	static const char *const word[] = {"declined. Nothing was changed",
					   "cancelled. Nothing was changed"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char first[64];
		char second[64];
		struct reply *r;

		(void)snprintf(first, sizeof(first), "{\"resolution\":%s}",
			       no[i]);
		(void)snprintf(second, sizeof(second), "{\"duplicate_of\":%s}",
			       no[i]);
		assert_ends(next(two, &c, begin(one, &c), first), word[i],
			    false);
		r = next(two, &c, begin(one, &c), RESOLUTION("Duplicate"));
		assert_ends(next(one, &c, r, second), word[i], false);
	}
	assert_int_equal(both_wrote("work item 4700 "), 0);
}

/* What does not fit is asked again; what was given before is kept. */
static void test_work_item__misfit_is_asked_again(void **state)
{
	static const struct call c = {"update_work_item", CAN_FORM,
				      RESOLVE("4800")};
	struct reply *r = next(two, &c, begin(one, &c), RESOLUTION("Perhaps"));

	(void)state;
	assert_asks(r, 1, "resolution");
	r = next(one, &c, r, RESOLUTION("Duplicate"));
	assert_asks(r, 1, "duplicate_of");
	r = next(two, &c, r, ORIGINAL("\"4301\""));
	assert_asks(r, 1, "duplicate_of");
	r = next(one, &c, r, ORIGINAL("4800"));
	assert_ends(r, "cannot be a duplicate of itself", true);
	assert_int_equal(both_wrote("work item 4800 "), 0);
}

static void test_work_item__asks_only_what_the_rules_want(void **state)
{
	static const struct call active = {
		"update_work_item", CAN_FORM,
		"{\"workItemId\":1,\"fields\":{\"System.State\":\"New\"}}"};
	static const struct call given = {
		"update_work_item", CAN_NOTHING,
		"{\"workItemId\":2,\"fields\":{\"System.State\":\"Resolved\","
		"\"Resolution\":\"Duplicate\",\"Duplicate Of\":1}}"};
	static const struct call half = {
		"update_work_item", CAN_FORM,
		"{\"workItemId\":3,\"fields\":{\"System.State\":\"Resolved\","
		"\"Resolution\":\"Duplicate\"}}"};
	static const struct call unable = {"update_work_item", CAN_NOTHING,
					   RESOLVE("4")};
	struct reply *r;

	(void)state;
	assert_ends(begin(one, &active), "State set to New", false);
	assert_ends(begin(one, &given), "Duplicate of Bug #1", false);
	r = begin(one, &half);
	assert_asks(r, 1, "duplicate_of");
	reply_free(r);
	assert_ends(begin(one, &unable), "cannot show a form", false);
}

/* ---- get_weather ---- */
static const struct call weather = {"get_weather", CAN_BOTH,
				    "{\"location\":\"New York\"}"};
#define UNIT "\"unit\":" MESSAGE(TEXT("Fahrenheit."))

static void test_weather__asks_two_kinds_in_one_round(void **state)
{
	struct reply *r = begin(one, &weather);

	(void)state;
	assert_asks(r, 2, "github_login");
	assert_string_equal(json_string_value(json_object_get(
				    asked(r, "github_login"), "method")),
			    "elicitation/create");
	assert_string_equal(
		json_string_value(json_object_get(asked(r, "unit"), "method")),
		"sampling/createMessage");
	r = next(two, &weather, r, "{" LOGIN "," UNIT "}");
	assert_ends(r,
		    "Current weather in New York:\nTemperature: 72\u00b0F\n"
		    "Conditions: Partly cloudy",
		    false);
}

/* SEP-2322 "Guidance for Error Handling": what is missing is asked again, what
 * was not asked for is ignored. */
static void test_weather__what_is_missing_is_asked_again(void **state)
{
	struct reply *r = next(
		two, &weather, begin(one, &weather),
		"{\"not_requested_info\":" ACCEPT(
			"\"not_requested_param_name\":\"Information the server "
			"did not request\"") "}");

	(void)state;
	assert_asks(r, 2, "github_login");
	r = next(one, &weather, r, "{" UNIT "}");
	assert_asks(r, 1, "github_login");
	r = next(two, &weather, r, "{" LOGIN "}");
	assert_ends(r, "72\u00b0F", false);
}

static void test_weather__each_answer_counts_on_its_own(void **state)
{
	(void)state;
	assert_ends(next(two, &weather, begin(one, &weather),
			 "{\"github_login\":" DECLINE "," UNIT "}"),
		    "The login was declined", false);
	assert_ends(next(two, &weather, begin(one, &weather),
			 "{\"github_login\":" CANCEL "," UNIT "}"),
		    "The login was cancelled", false);
	assert_ends(next(two, &weather, begin(one, &weather),
			 "{" LOGIN ",\"unit\":" MESSAGE(TEXT("Kelvin")) "}"),
		    "22\u00b0C", false);
}

static void test_weather__goes_without_sampling_but_not_forms(void **state)
{
	static const struct call forms = {"get_weather", CAN_FORM,
					  "{\"location\":\"paris\"}"};
	static const struct call prompts = {"get_weather", CAN_SAMPLE,
					    "{\"location\":\"paris\"}"};
	static const struct call nowhere = {"get_weather", CAN_BOTH,
					    "{\"location\":\"Atlantis\"}"};
	struct reply *r = begin(one, &forms);

	(void)state;
	assert_asks(r, 1, "github_login");
	assert_ends(next(two, &forms, r, "{" LOGIN "}"), "17\u00b0C", false);
	assert_refused(begin(one, &prompts), "elicitation");
	assert_ends(begin(one, &nowhere), "no station in Atlantis", true);
}

/* A program of ephemeral tools has no call that names wait_for_task. */
static void test_weather__alone_needs_no_tool_to_wait_with(void **state)
{
	struct scratch *s = scratch_new();
	struct server *v;
	struct ask ask;
	struct reply *r;
	const json_t *tools;

	(void)state;
	server_use("examples/get_weather");
	v = server_start(s, NULL);
	server_use("examples/demo_server");
	ask = (struct ask){.url = v->url, .can = CAN_NOTHING};
	r = rpc(&ask, "tools/list", NULL, NULL);
	tools = json_object_get(result(r), "tools");
	assert_int_equal(json_array_size(tools), 1);
	reply_free(r);
	assert_int_equal(server_signal_wait(v, SIGTERM), 0);
	server_free(v);
	scratch_free(s);
}

/* ---- list_project_files ---- */
static void test_files__come_by_path(void **state)
{
	static const struct call inside = {"list_project_files", CAN_ROOTS,
					   "{\"path\":\"docs\"}"};
	static const char *const outside[] = {
		"{\"path\":\"..\"}", "{\"path\":\"/etc\"}",
		"{\"path\":\"docs/../..\"}", "{\"path\":\"out\"}",
		"{\"path\":\"none\"}"};

	(void)state;
	assert_ends(begin(one, &inside), "docs:\na b.md", false);
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		struct call c = {"list_project_files", CAN_ROOTS, outside[i]};

		assert_ends(begin(one, &c),
			    "is not a directory under an allowed", true);
	}
}

static void test_files__roots_are_a_hint_and_decide_nothing(void **state)
{
	static const struct call c = {"list_project_files", CAN_ROOTS, "{}"};
	struct reply *r = begin(one, &c);
	const json_t *content;
	char answers[1024];

	(void)state;
	assert_asks(r, 1, "roots");
	(void)snprintf(answers, sizeof(answers),
		       "{\"roots\":{\"roots\":[{\"uri\":\"file:///etc\"},"
		       "{\"uri\":\"file://%s/%%64ocs\"},"
		       "{\"uri\":\"file://%s/docs%%2F..%%2F..\"},"
		       "{\"uri\":\"file://%s/out\"}]}}",
		       scratch->dir, scratch->dir, scratch->dir);
	r = next(two, &c, r, answers);
	content = json_object_get(result(r), "content");
	assert_int_equal(json_array_size(content), 4);
	for (size_t i = 0; i < 4; i++) {
		const char *text = json_string_value(
			json_object_get(json_array_get(content, i), "text"));

		assert_non_null(strstr(text, i == 1 ? "docs:\na b.md"
						    : "not allowed here"));
	}
	reply_free(r);
	assert_ends(next(two, &c, begin(one, &c), "{\"roots\":{\"roots\":[]}}"),
		    "has no roots", false);
}

static void test_files__without_roots_a_path_is_wanted(void **state)
{
	static const struct call c = {"list_project_files", CAN_NOTHING, "{}"};

	(void)state;
	assert_ends(begin(one, &c), "Call again with a \"path\"", false);
}

/* ---- all ---- */
static void make_files(void)
{
	char path[400];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/docs", scratch->dir);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/docs/a b.md", scratch->dir);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fclose(f), 0);
	(void)snprintf(path, sizeof(path), "%s/out", scratch->dir);
	assert_int_equal(symlink("/etc", path), 0);
	assert_int_equal(setenv("ALLOWED_ROOTS", scratch->dir, 1), 0);
}

static int setup(void **state)
{
	(void)state;
	pair_scratch();
	make_files();
	server_use("examples/demo_server");
	return pair_both(NULL);
}

#define T(name) cmocka_unit_test(test_##name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(summary__is_what_the_model_wrote),
		T(summary__content_is_a_block_or_an_array),
		T(summary__has_no_action),
		T(summary__is_recorded_once_and_only_if_there_is_one),
		T(summary__without_sampling_is_the_digest),
		T(work_item__takes_three_rounds_anywhere),
		T(work_item__repeated_last_round_writes_once),
		T(work_item__declined_or_cancelled_is_unchanged),
		T(work_item__misfit_is_asked_again),
		T(work_item__asks_only_what_the_rules_want),
		T(weather__asks_two_kinds_in_one_round),
		T(weather__what_is_missing_is_asked_again),
		T(weather__each_answer_counts_on_its_own),
		T(weather__goes_without_sampling_but_not_forms),
		T(weather__alone_needs_no_tool_to_wait_with),
		T(files__come_by_path),
		T(files__roots_are_a_hint_and_decide_nothing),
		T(files__without_roots_a_path_is_wanted),
	};

	return cmocka_run_group_tests(tests, setup, pair_end);
}
