/* SPDX-License-Identifier: MIT */
/* completion/complete: utilities/completion. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bide/content.h"
#include "server/base/clock.h"
#include "server/base/limits.h"
#include "server/dispatch/core.h"
#include "tests/unit/protocol/lib/fake_exchange.h"

static atomic_int entered;
static atomic_int told;

static enum bide_rc nothing(struct bide_call *call, void *user)
{
	(void)user;
	return bide_text(call, "x");
}

/* ---- suggestions ---- */
static enum bide_rc languages(struct bide_completion *c, void *user)
{
	static const char *const all[] = {"python", "pytorch", "c"};
	const char *typed = bide_complete_value(c);
	size_t i;

	assert_string_equal(user, "mine");
	atomic_fetch_add(&entered, 1);
	if (strcmp(bide_complete_name(c), "framework") == 0)
		return bide_complete_add(
			c, bide_complete_arg(c, "language") ? "flask" : "any");
	for (i = 0; i < 3; i++)
		if (strncmp(all[i], typed, strlen(typed)) == 0)
			BIDE_TRY(bide_complete_add(c, all[i]));
	return BIDE_OK;
}

/* As many as the value says; "+" and there are a thousand. */
static enum bide_rc numbers(struct bide_completion *c, void *user)
{
	const char *value = bide_complete_value(c);
	long n = strtol(value, NULL, 10);
	char text[32];
	long i;

	(void)user;
	for (i = 0; i < n; i++) {
		(void)snprintf(text, sizeof(text), "n%ld", i);
		BIDE_TRY(bide_complete_add(c, text));
	}
	if (strchr(value, '+') != NULL)
		bide_complete_total(c, 1000);
	return BIDE_OK;
}

static enum bide_rc who(struct bide_completion *c, void *user)
{
	(void)user;
	assert_int_equal(bide_complete_add(c, NULL), BIDE_INVALID);
	assert_int_equal(bide_complete_add(c, "\xff"), BIDE_INVALID);
	return bide_complete_add(c, bide_complete_principal(c));
}

static enum bide_rc fails(struct bide_completion *c, void *user)
{
	(void)user;
	(void)bide_complete_add(c, "x");
	return BIDE_IO;
}

static enum bide_rc too_much(struct bide_completion *c, void *user)
{
	size_t n = LIMIT_RESULT_BYTES;
	char *big = malloc(n + 1);

	(void)user;
	memset(big, 'x', n);
	big[n] = '\0';
	assert_int_equal(bide_complete_add(c, big), BIDE_LIMIT);
	free(big);
	return BIDE_OK;
}

static enum bide_rc until_left(struct bide_completion *c, void *user)
{
	(void)user;
	atomic_fetch_add(&entered, 1);
	while (bide_complete_add(c, "x") == BIDE_OK)
		(void)usleep(1000);
	atomic_fetch_add(&told, bide_complete_add(c, "x") == BIDE_CANCELLED);
	return BIDE_CANCELLED;
}

static void add_prompt(struct registry *r, const char *name,
		       bide_complete_fn complete)
{
	static const struct bide_prompt_arg args[] = {
		{"language", NULL, NULL, true},
		{"framework", NULL, NULL, false},
	};
	static char mine[] = "mine";

	wire_prompt(r, (struct bide_prompt){BIDE_PROMPT, .name = name,
					    .args = args, .n_args = 2,
					    .handler = nothing, .user = mine,
					    .complete = complete});
}

static void add(struct registry *r)
{
	add_prompt(r, "review", languages);
	add_prompt(r, "numbers", numbers);
	add_prompt(r, "fails", fails);
	add_prompt(r, "too_much", too_much);
	add_prompt(r, "waits", until_left);
	add_prompt(r, "silent", NULL);
	wire_template(r, (struct bide_resource){
				 BIDE_RESOURCE, .uri = "test://{who}/data",
				 .name = "data", .handler = nothing,
				 .complete = who});
	wire_template(
		r, (struct bide_resource){BIDE_RESOURCE, .uri = "mute://{who}",
					  .name = "mute", .handler = nothing});
	wire_resource(
		r, (struct bide_resource){BIDE_RESOURCE, .uri = "fixed:one",
					  .name = "one", .handler = nothing});
	wire_resource(r, (struct bide_resource){
				 BIDE_RESOURCE, .uri = "test://fixed/data",
				 .name = "data", .handler = nothing});
}

static int set_up(void **state)
{
	*state = wire_new(NULL, add);
	return 0;
}

#define PROMPT(name)   "{\"type\":\"ref/prompt\",\"name\":\"" name "\"}"
#define RESOURCE(uri)  "{\"type\":\"ref/resource\",\"uri\":\"" uri "\"}"
#define ARG(name, val) "{\"name\":\"" name "\",\"value\":\"" val "\"}"

static struct post of(const char *ref, const char *arg, const char *context)
{
	static char params[1024];

	(void)snprintf(params, sizeof(params),
		       "{\"ref\":%s,\"argument\":%s%s%s}", ref, arg,
		       context != NULL ? ",\"context\":" : "",
		       context != NULL ? context : "");
	return (struct post){.method = "completion/complete", .params = params};
}

/* "a,b total more" */
static void gives(struct wire *w, struct post p, const char *expected)
{
	struct fake *f = fake_call(w, p);
	json_t *values = fake_get(f, "result/completion/values");
	char got[512] = "";
	json_t *v;
	size_t n = 0;
	size_t i;

	json_array_foreach (values, i, v)
		n += (size_t)snprintf(got + n, sizeof(got) - n, "%s%s",
				      i > 0 ? "," : "", json_string_value(v));
	(void)snprintf(
		got + n, sizeof(got) - n, " %d %s",
		(int)json_integer_value(fake_get(f, "result/completion/total")),
		json_is_true(fake_get(f, "result/completion/hasMore")) ? "more"
								       : "all");
	if (strcmp(got, expected) != 0)
		fail_msg("%s, not %s: %s", got, expected, f->text);
	fake_free(f);
}

static void test_complete__gives_what_the_function_adds(void **state)
{
	gives(*state, of(PROMPT("review"), ARG("language", "py"), NULL),
	      "python,pytorch 2 all");
	gives(*state, of(PROMPT("review"), ARG("language", ""), NULL),
	      "python,pytorch,c 3 all");
	gives(*state, of(PROMPT("review"), ARG("language", "z"), NULL),
	      " 0 all");
	gives(*state,
	      of(PROMPT("review"), ARG("framework", "fla"),
		 "{\"arguments\":{\"language\":\"python\"}}"),
	      "flask 1 all");
	gives(*state, of(PROMPT("review"), ARG("framework", ""), "{}"),
	      "any 1 all");
	gives(*state, of(PROMPT("review"), ARG("framework", ""), "null"),
	      "any 1 all");
	gives(*state,
	      of(PROMPT("review"), ARG("framework", ""),
		 "{\"arguments\":null}"),
	      "any 1 all");
}

/* A template is named by its text or by a URI that it matches. */
static void test_complete__of_a_template(void **state)
{
	gives(*state, of(RESOURCE("test://{who}/data"), ARG("who", ""), NULL),
	      "alice 1 all");
	gives(*state, of(RESOURCE("test://a/data"), ARG("who", ""), NULL),
	      "alice 1 all");
}

static void test_complete__where_nothing_is_suggested(void **state)
{
	gives(*state, of(PROMPT("silent"), ARG("language", "py"), NULL),
	      " 0 all");
	gives(*state, of(RESOURCE("mute://{who}"), ARG("who", ""), NULL),
	      " 0 all");
	gives(*state, of(RESOURCE("fixed:one"), ARG("any", ""), NULL),
	      " 0 all");
	/* A template would match it, but does not read it. */
	gives(*state, of(RESOURCE("test://fixed/data"), ARG("who", ""), NULL),
	      " 0 all");
}

static void numbers_are(struct wire *w, const char *value, size_t sent,
			int total, bool more)
{
	char arg[64];
	struct fake *f;

	(void)snprintf(arg, sizeof(arg),
		       "{\"name\":\"language\",\"value\":\"%s\"}", value);
	f = fake_call(w, of(PROMPT("numbers"), arg, NULL));
	assert_int_equal(
		json_array_size(fake_get(f, "result/completion/values")), sent);
	assert_int_equal(
		json_integer_value(fake_get(f, "result/completion/total")),
		total);
	assert_true(json_is_true(fake_get(f, "result/completion/hasMore")) ==
		    more);
	fake_free(f);
}

/* S70. */
static void test_values__are_a_hundred_at_most(void **state)
{
	struct wire *w = *state;

	numbers_are(w, "99", 99, 99, false);
	numbers_are(w, "100", 100, 100, false);
	numbers_are(w, "101", 100, 101, true);
	numbers_are(w, "5+", 5, 1000, true);
	numbers_are(w, "100+", 100, 1000, true);
	numbers_are(w, "2000+", 100, 2000, true);
}

static void test_complete__refuses_what_it_does_not_know(void **state)
{
	static const struct {
		const char *ref, *arg, *context;
	} bad[] = {
		{PROMPT("nope"), ARG("language", ""), NULL},
		{PROMPT("review"), ARG("nope", ""), NULL},
		{PROMPT("silent"), ARG("nope", ""), NULL},
		{RESOURCE("nope://x"), ARG("who", ""), NULL},
		{RESOURCE("test://{who}/data"), ARG("nope", ""), NULL},
		{"{\"type\":\"ref/tool\",\"name\":\"review\"}",
		 ARG("language", ""), NULL},
		{"{\"type\":\"ref/prompt\",\"uri\":\"review\"}",
		 ARG("language", ""), NULL},
		{"{\"type\":\"ref/resource\",\"name\":\"fixed:one\"}",
		 ARG("language", ""), NULL},
		{"{}", ARG("language", ""), NULL},
		{"7", ARG("language", ""), NULL},
		{PROMPT("review"), "{}", NULL},
		{PROMPT("review"), "7", NULL},
		{PROMPT("review"), "{\"name\":\"language\"}", NULL},
		{PROMPT("review"), "{\"name\":\"language\",\"value\":7}", NULL},
		{PROMPT("review"), "{\"name\":7,\"value\":\"\"}", NULL},
		{PROMPT("review"), ARG("language", ""), "7"},
		{PROMPT("review"), ARG("language", ""), "{\"arguments\":[]}"},
		{PROMPT("review"), ARG("language", ""),
		 "{\"arguments\":{\"a\":7}}"},
	};
	int before = atomic_load(&entered);
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		fake_is(fake_call(*state,
				  of(bad[i].ref, bad[i].arg, bad[i].context)),
			200, -32602);
	fake_is(fake_call(*state,
			  (struct post){.method = "completion/complete"}),
		200, -32602);
	assert_int_equal(atomic_load(&entered), before);
}

static void test_function__that_fails_is_an_internal_error(void **state)
{
	fake_is(fake_call(*state,
			  of(PROMPT("fails"), ARG("language", ""), NULL)),
		200, -32603);
	fake_is(fake_call(*state,
			  of(PROMPT("too_much"), ARG("language", ""), NULL)),
		200, -32603);
}

static void test_function__learns_that_the_client_left(void **state)
{
	int before = atomic_load(&entered);
	struct fake *f = fake_post(
		*state, of(PROMPT("waits"), ARG("language", ""), NULL));
	int i;

	for (i = 0; atomic_load(&entered) == before && i < 20000; i++)
		(void)usleep(1000);
	fake_close(f);
	assert_int_equal(atomic_load(&told), 1);
	fake_free(f);
}

static void test_complete__is_refused_where_it_cannot_wait(void **state)
{
	struct post p = of(PROMPT("review"), ARG("language", ""), NULL);
	int before = atomic_load(&entered);

	p.crowded = true;
	fake_is(fake_call(*state, p), 200, -32603);
	assert_int_equal(atomic_load(&entered), before);
}

static void test_discover__declares_completions(void **state)
{
	struct fake *f =
		fake_call(*state, (struct post){.method = "server/discover"});

	assert_true(
		json_is_object(fake_get(f, "result/capabilities/completions")));
	fake_free(f);
}

/* S71: as if this principal had completed all through the next hour. */
static void test_rate__is_each_principals_own(void **state)
{
	struct wire *w = *state;
	struct post p = of(PROMPT("review"), ARG("language", "py"), NULL);
	int before = atomic_load(&entered);
	struct fake *f;

	while (pending_may_complete(w->dispatch, "eager",
				    clock_boot_ms() + 3600000))
		;
	p.principal = "eager";
	f = fake_call(w, p);
	assert_non_null(strstr(fake_string(f, "error/message"), "slow down"));
	fake_is(f, 200, -32603);
	assert_int_equal(atomic_load(&entered), before);
	p.principal = "bob";
	gives(w, p, "python,pytorch 2 all");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_complete__gives_what_the_function_adds),
		cmocka_unit_test(test_complete__of_a_template),
		cmocka_unit_test(test_complete__where_nothing_is_suggested),
		cmocka_unit_test(test_values__are_a_hundred_at_most),
		cmocka_unit_test(test_complete__refuses_what_it_does_not_know),
		cmocka_unit_test(
			test_function__that_fails_is_an_internal_error),
		cmocka_unit_test(test_function__learns_that_the_client_left),
		cmocka_unit_test(
			test_complete__is_refused_where_it_cannot_wait),
		cmocka_unit_test(test_discover__declares_completions),
		cmocka_unit_test(test_rate__is_each_principals_own),
	};

	return cmocka_run_group_tests(tests, set_up, wire_tear_down);
}
