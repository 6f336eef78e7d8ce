/* SPDX-License-Identifier: MIT */
/* Numbers and texts of a program's that are larger than what can be sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bide/content.h"
#include "server/base/utf8.h"
#include "tests/unit/protocol/lib/fake_exchange.h"

#define EXACT INT64_C(9007199254740991) /* 2^53-1 */
#define ARGS  9

static enum bide_rc cached(struct bide_call *call, void *user)
{
	BIDE_TRY(bide_cache(call, *(int64_t *)user, BIDE_PRIVATE));
	return bide_text(call, "x");
}

static enum bide_rc nothing(struct bide_call *call, void *user)
{
	(void)user;
	return bide_text(call, "x");
}

static enum bide_rc suggest(struct bide_completion *c, void *user)
{
	bide_complete_total(c, *(int64_t *)user);
	return BIDE_OK;
}

static int64_t most[] = {INT64_MAX, EXACT + 1, EXACT, EXACT - 1};

static void add_demanding(struct registry *r)
{
	static char names[ARGS][100];
	static struct bide_prompt_arg args[ARGS];

	for (int i = 0; i < ARGS; i++) {
		/* Two bytes a letter, at odd and at even places. */
		for (int k = 0; k < 90; k += 2)
			memcpy(names[i] + k, "\xc3\xa4", 3);
		(void)snprintf(names[i] + 90, 10, "%d%.*s", i, i % 2, "x");
		args[i] = (struct bide_prompt_arg){names[i], NULL, NULL, true};
	}
	wire_prompt(r, (struct bide_prompt){BIDE_PROMPT, .name = "demanding",
					    .args = args, .n_args = ARGS,
					    .handler = nothing});
}

static void add(struct registry *r)
{
	char uri[32];

	for (int i = 0; i < 4; i++) {
		(void)snprintf(uri, sizeof(uri), "x:%d", i);
		wire_resource(r, (struct bide_resource){
					 BIDE_RESOURCE, .uri = uri, .name = "x",
					 .handler = cached, .user = &most[i]});
		(void)snprintf(uri, sizeof(uri), "x:%d/{y}", i);
		wire_template(r, (struct bide_resource){
					 BIDE_RESOURCE, .uri = uri, .name = "x",
					 .handler = nothing, .user = &most[i],
					 .complete = suggest,
					 .cache_ms = most[i]});
	}
	add_demanding(r);
}

static int64_t number_of(struct wire *w, struct post p, const char *path)
{
	struct fake *f = fake_call(w, p);
	int64_t n = json_integer_value(fake_get(f, path));

	fake_free(f);
	return n;
}

static int64_t ttl_of(struct wire *w, const char *uri)
{
	return number_of(w,
			 (struct post){.method = "resources/read", .uri = uri},
			 "result/ttlMs");
}

static void test_numbers__are_those_that_a_client_can_hold(void **state)
{
	struct wire *w = wire_new(NULL, add);
	char uri[32];
	char params[128];

	(void)state;
	for (int i = 0; i < 4; i++) {
		int64_t want = most[i] < EXACT ? most[i] : EXACT;

		(void)snprintf(uri, sizeof(uri), "x:%d", i);
		assert_int_equal(ttl_of(w, uri), want);
		(void)snprintf(uri, sizeof(uri), "x:%d/y", i);
		assert_int_equal(ttl_of(w, uri), want);
		(void)snprintf(params, sizeof(params),
			       "{\"ref\":{\"type\":\"ref/resource\",\"uri\":"
			       "\"%s\"},\"argument\":{\"name\":\"y\","
			       "\"value\":\"\"}}",
			       uri);
		assert_int_equal(
			number_of(w,
				  (struct post){.method = "completion/complete",
						.params = params},
				  "result/completion/total"),
			want);
	}
	wire_free(w);
}

/* Arguments without end are cut between two characters, and it shows. */
static void test_message__that_is_cut_says_so(void **state)
{
	struct wire *w = wire_new(NULL, add);
	struct fake *f = fake_call(
		w, (struct post){.method = "prompts/get", .tool = "demanding"});
	const char *text = fake_string(f, "error/message");
	size_t len = strlen(text);

	(void)state;
	assert_in_range(len, 500, 511);
	assert_true(utf8_valid(text, len));
	assert_string_equal(text + len - 3, "\xe2\x80\xa6");
	fake_free(f);
	wire_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_numbers__are_those_that_a_client_can_hold),
		cmocka_unit_test(test_message__that_is_cut_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
