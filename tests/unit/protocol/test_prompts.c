/* SPDX-License-Identifier: MIT */
/* prompts/get with its rounds, and prompts/list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bide/content.h"
#include "server/base/limits.h"
#include "tests/unit/protocol/lib/asking.h"

#define GET  .method = "prompts/get"
#define MANY 120

/* ---- prompts ---- */
static enum bide_rc simple(struct bide_call *call, void *user)
{
	(void)user;
	return bide_text(call, "Simply.");
}

static enum bide_rc review(struct bide_call *call, void *user)
{
	const char *style = bide_arg_string(call, "style");

	(void)user;
	BIDE_TRY(bide_text(call, "%s, %s, %zu", bide_arg_string(call, "code"),
			   style != NULL ? style : "any",
			   json_object_size(bide_args(call))));
	BIDE_TRY(bide_role(call, BIDE_ASSISTANT));
	return bide_text(call, "Gladly.");
}

static enum bide_rc fails(struct bide_call *call, void *user)
{
	(void)user;
	return bide_error_text(call, "Try %s.", "later");
}

static enum bide_rc naps(struct bide_call *call, void *user)
{
	(void)user;
	BIDE_TRY(bide_sleep(call, "nap", 20));
	return bide_text(call, "Awake.");
}

static void add(struct registry *r)
{
	static const struct bide_prompt_arg args[] = {
		{"code", "Code", "what to look at", true},
		{"language", NULL, NULL, true},
		{"style", NULL, NULL, false},
	};
	char name[32];
	int i;

	wire_prompt(r, (struct bide_prompt){BIDE_PROMPT, .name = "simple",
					    .description = "A simple one",
					    .handler = simple,
					    .runs_inline = true});
	wire_prompt(r, (struct bide_prompt){BIDE_PROMPT, .name = "review",
					    .args = args, .n_args = 3,
					    .handler = review});
	wire_prompt(r, (struct bide_prompt){BIDE_PROMPT, .name = "asks",
					    .handler = asking_greet});
	wire_prompt(r, (struct bide_prompt){BIDE_PROMPT, .name = "asks_too",
					    .handler = asking_greet});
	wire_prompt(r, (struct bide_prompt){BIDE_PROMPT, .name = "fails",
					    .handler = fails});
	wire_prompt(r, (struct bide_prompt){BIDE_PROMPT, .name = "waits",
					    .handler = asking_wait});
	wire_prompt(r, (struct bide_prompt){BIDE_PROMPT, .name = "naps",
					    .handler = naps});
	wire_prompt(r, (struct bide_prompt){BIDE_PROMPT, .name = "samples",
					    .handler = simple,
					    .needs = BIDE_CAN_SAMPLE});
	for (i = 8; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "prompt_%03d", i);
		wire_prompt(r,
			    (struct bide_prompt){BIDE_PROMPT, .name = name,
						 .description = "one of many",
						 .handler = simple});
	}
	wire_tool(r, (struct bide_tool){BIDE_TOOL, .name = "asks",
					.handler = asking_greet});
}

static int set_up(void **state)
{
	*state = wire_new(NULL, add);
	return 0;
}

static struct fake *get(struct wire *w, const char *name, const char *args)
{
	return fake_call(w, (struct post){GET, .tool = name, .args = args,
					  .caps = CAPS_FORM});
}

static const char *said(const struct fake *f)
{
	const char *text = fake_string(f, "result/messages/0/content/text");

	return text != NULL ? text : "";
}

/* ---- getting ---- */
static void test_get__gives_the_messages(void **state)
{
	struct fake *f = get(*state, "simple", NULL);

	assert_string_equal(said(f), "Simply.");
	assert_string_equal(fake_string(f, "result/messages/0/role"), "user");
	assert_string_equal(fake_string(f, "result/description"),
			    "A simple one");
	fake_free(f);
	f = get(*state, "simple", "null");
	assert_string_equal(said(f), "Simply.");
	fake_free(f);
}

/* One that the prompt does not have is left out. */
static void test_get__takes_the_arguments_it_has(void **state)
{
	struct fake *f = get(*state, "review",
			     "{\"code\":\"x\",\"language\":\"c\","
			     "\"unknown\":\"y\"}");

	assert_string_equal(said(f), "x, any, 2");
	assert_string_equal(fake_string(f, "result/messages/1/role"),
			    "assistant");
	fake_free(f);
	f = get(*state, "review",
		"{\"code\":\"x\",\"language\":\"c\",\"style\":\"\"}");
	assert_string_equal(said(f), "x, , 3");
	fake_free(f);
}

static void test_get__refuses_other_arguments(void **state)
{
	static const struct {
		const char *args, *why;
	} all[] = {
		{NULL, "Missing required arguments: code, language"},
		{"{\"code\":\"x\"}", "Missing required arguments: language"},
		{"{\"code\":1,\"language\":\"c\"}",
		 "params.arguments.code must be a string"},
		{"{\"code\":\"x\",\"language\":\"c\",\"style\":null}",
		 "params.arguments.style must be a string"},
		{"[]", "params.arguments must be an object of strings"},
		{"\"code\"", "params.arguments must be an object of strings"},
	};
	struct fake *f;
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		f = get(*state, "review", all[i].args);
		assert_string_equal(fake_string(f, "error/message"),
				    all[i].why);
		fake_is(f, 200, -32602);
	}
}

static void test_get__of_one_that_is_not_there(void **state)
{
	struct fake *f = get(*state, "nope", NULL);

	assert_string_equal(fake_string(f, "error/message"),
			    "Unknown prompt: nope");
	fake_is(f, 200, -32602);
	fake_is(fake_call(*state, (struct post){GET}), 200, -32602);
	fake_is(fake_call(*state, (struct post){GET, .params = "{\"name\":7}"}),
		200, -32602);
}

/* S4, S5. */
static void test_get__repeats_the_name_in_a_header(void **state)
{
	static const struct {
		const char *name;
		int status;
	} all[] = {
		{"", 400},
		/* left out */ {"review", 400},
		{"Simple", 400},
		{"\tsimple ", 200},
		{"=?base64?c2ltcGxl?=", 200},
		{"=?base64?c2ltcGx=?=", 400},
		{"=?base64?c2ltcGxl", 400},
		{"=?base64?cmV2aWV3?=", 400},
		{"=?base64?c2lt cGxl?=", 400},
		{"simpl\x01", 400},
	};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		fake_is(fake_call(*state,
				  (struct post){GET, .tool = "simple",
						.mcp_name = all[i].name}),
			all[i].status, all[i].status == 200 ? 0 : -32020);
}

static void test_get__that_fails_says_so(void **state)
{
	struct fake *f = get(*state, "fails", NULL);

	assert_string_equal(fake_string(f, "error/message"), "Try later.");
	fake_is(f, 200, -32603);
}

static void test_get__without_a_capability_it_needs(void **state)
{
	struct fake *f = get(*state, "samples", NULL);

	assert_non_null(
		fake_get(f, "error/data/requiredCapabilities/sampling"));
	fake_is(f, 400, -32021);
	fake_is(fake_call(*state, (struct post){GET, .tool = "asks"}), 400,
		-32021);
}

static void test_get__may_sleep(void **state)
{
	struct fake *f = get(*state, "naps", NULL);

	assert_string_equal(said(f), "Awake.");
	fake_free(f);
}

/* ---- rounds ---- */
static char *ask(struct wire *w, const char *method, const char *args)
{
	return asking_state(fake_call(w, (struct post){.method = method,
						       .tool = "asks",
						       .args = args,
						       .caps = CAPS_FORM}),
			    "who");
}

static void test_round__reaches_the_handler(void **state)
{
	char *s = ask(*state, "prompts/get", "{\"a\":\"1\"}");
	struct post p = {GET, .tool = "asks", .args = "{\"a\":\"1\"}",
			 .state = s, .caps = CAPS_FORM};
	struct fake *f;

	p.responses = ADA;
	f = fake_call(*state, p);
	assert_string_equal(said(f), "Hello, Ada!");
	fake_free(f);
	p.responses = "{\"who\":{\"action\":\"cancel\"}}";
	f = fake_call(*state, p);
	assert_string_equal(said(f), "cancelled");
	fake_free(f);
	/* What does not fit is asked again. */
	p.responses = "{\"who\":{\"action\":\"accept\",\"content\":{}}}";
	f = fake_call(*state, p);
	assert_string_equal(fake_string(f, "result/resultType"),
			    "input_required");
	fake_free(f);
	p.responses = "{\"who\":7}";
	fake_is(fake_call(*state, p), 200, -32602);
	free(s);
}

/* S27, S28: method, name, arguments and caller are those it was made for;
 * nothing is entered otherwise. */
static void test_state__is_bound_to_the_prompt(void **state)
{
	char *s = ask(*state, "prompts/get", NULL);
	char *tool = ask(*state, "tools/call", NULL);
	struct post all[] = {
		{GET, .tool = "asks", .state = tool},
		{.method = "tools/call", .tool = "asks", .state = s},
		{GET, .tool = "asks_too", .state = s},
		{GET, .tool = "asks", .state = s, .args = "{\"a\":\"1\"}"},
		{GET, .tool = "asks", .state = s, .principal = "bob"},
		{GET, .tool = "asks", .state = "b1.x.y"},
	};
	int before = atomic_load(&asking_entries);
	struct fake *f;
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		all[i].responses = ADA;
		all[i].caps = CAPS_FORM;
		f = fake_call(*state, all[i]);
		assert_string_equal(fake_string(f, "error/message"),
				    "requestState was not accepted");
		fake_is(f, 200, -32602);
	}
	assert_int_equal(atomic_load(&asking_entries), before);
	fake_is(fake_call(*state,
			  (struct post){GET, .tool = "asks",
					.params = "{\"requestState\":7}"}),
		200, -32602);
	free(s);
	free(tool);
}

/* S25: rounds are of three methods; others take their members for others
 * that they do not know. */
static void test_state__means_nothing_to_other_methods(void **state)
{
	static const char *const methods[] = {"prompts/list", "tools/list",
					      "server/discover"};
	struct fake *f;
	size_t i;

	for (i = 0; i < 3; i++) {
		f = fake_call(*state, (struct post){.method = methods[i],
						    .state = "garbage",
						    .responses = "{\"a\":7}"});
		assert_string_equal(fake_string(f, "result/resultType"),
				    "complete");
		fake_free(f);
	}
}

static void test_get__ends_when_the_client_goes(void **state)
{
	int before = atomic_load(&asking_entries);
	struct fake *f = fake_post(*state, (struct post){GET, .tool = "waits"});

	asking_await_entry(before);
	fake_close(f);
	assert_int_equal(atomic_load(&asking_ended), 1);
	fake_free(f);
}

/* ---- the list ---- */
/* S68. */
static void test_list__pages_cover_everything(void **state)
{
	char params[REGISTRY_CURSOR_BYTES + 32] = "{}";
	const char *cursor = params;
	const char *name;
	struct fake *f;
	json_t *names = json_object();
	json_t *list;
	json_t *e;
	size_t i;

	while (cursor != NULL) {
		f = fake_call(*state, (struct post){.method = "prompts/list",
						    .params = params});
		assert_int_equal(
			json_integer_value(fake_get(f, "result/ttlMs")),
			LIMIT_LIST_CACHE_MS);
		assert_string_equal(fake_string(f, "result/cacheScope"),
				    "public");
		list = fake_get(f, "result/prompts");
		json_array_foreach (list, i, e) {
			name = json_string_value(json_object_get(e, "name"));
			assert_null(json_object_get(names, name));
			(void)json_object_set_new(names, name, json_true());
		}
		cursor = fake_string(f, "result/nextCursor");
		if (cursor != NULL)
			(void)snprintf(params, sizeof(params),
				       "{\"cursor\":\"%s\"}", cursor);
		cursor = cursor != NULL ? params : NULL;
		fake_free(f);
	}
	assert_int_equal(json_object_size(names), MANY);
	json_decref(names);
	fake_is(fake_call(*state,
			  (struct post){.method = "prompts/list",
					.params = "{\"cursor\":\"x\"}"}),
		200, -32602);
}

static void test_list__shows_the_arguments(void **state)
{
	struct fake *f =
		fake_call(*state, (struct post){.method = "prompts/list"});

	assert_string_equal(fake_string(f, "result/prompts/1/arguments/0/name"),
			    "code");
	assert_true(json_is_true(
		fake_get(f, "result/prompts/1/arguments/0/required")));
	fake_free(f);
	f = fake_call(*state, (struct post){.method = "server/discover"});
	assert_true(json_is_true(
		fake_get(f, "result/capabilities/prompts/listChanged")));
	assert_true(json_is_true(
		fake_get(f, "result/capabilities/tools/listChanged")));
	assert_null(fake_get(f, "result/capabilities/resources"));
	assert_null(fake_get(f, "result/capabilities/completions"));
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_get__gives_the_messages),
		cmocka_unit_test(test_get__takes_the_arguments_it_has),
		cmocka_unit_test(test_get__refuses_other_arguments),
		cmocka_unit_test(test_get__of_one_that_is_not_there),
		cmocka_unit_test(test_get__repeats_the_name_in_a_header),
		cmocka_unit_test(test_get__that_fails_says_so),
		cmocka_unit_test(test_get__without_a_capability_it_needs),
		cmocka_unit_test(test_get__may_sleep),
		cmocka_unit_test(test_round__reaches_the_handler),
		cmocka_unit_test(test_state__is_bound_to_the_prompt),
		cmocka_unit_test(test_state__means_nothing_to_other_methods),
		cmocka_unit_test(test_get__ends_when_the_client_goes),
		cmocka_unit_test(test_list__pages_cover_everything),
		cmocka_unit_test(test_list__shows_the_arguments),
	};

	return cmocka_run_group_tests(tests, set_up, wire_tear_down);
}
