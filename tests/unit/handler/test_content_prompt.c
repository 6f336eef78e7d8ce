/* SPDX-License-Identifier: MIT */
/* What a prompt's handler gives: server/prompts "PromptMessage". */
#include "tests/unit/handler/lib/fake.h"

#define INTERNAL "{\"code\":-32603,\"message\":\"Internal error\"}"

static void gives(bide_handler_fn fn, const char *expected)
{
	fake_gives(fake_prompt(fn, NULL), RUN_COMPLETE, expected);
}

static enum bide_rc says_hello(struct bide_call *call, void *user)
{
	(void)user;
	return bide_text(call, "Hello, %d\n", 7);
}

static enum bide_rc says_nothing(struct bide_call *call, void *user)
{
	(void)call;
	(void)user;
	return BIDE_OK;
}

#define HELLO                                                                  \
	"\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","     \
	"\"text\":\"Hello, 7\\n\"}}]}"

static void test_message__is_the_users_at_first(void **state)
{
	(void)state;
	gives(says_hello, "{" HELLO);
	gives(says_nothing, "{\"messages\":[]}");
}

static void test_description__goes_along(void **state)
{
	(void)state;
	fake_gives(fake_prompt(says_hello, "Says \"hello\""), RUN_COMPLETE,
		   "{\"description\":\"Says \\\"hello\\\"\"," HELLO);
	fake_gives(fake_prompt(says_nothing, "x"), RUN_COMPLETE,
		   "{\"description\":\"x\",\"messages\":[]}");
}

static enum bide_rc talks(struct bide_call *call, void *user)
{
	(void)user;
	bide_role(call, BIDE_ASSISTANT);
	bide_text(call, "a");
	bide_add_image(call, "\x01\x02\x03", 3, "image/png");
	bide_role(call, BIDE_USER);
	bide_add_resource_text(call, "test://a", "text/plain", "b");
	bide_add_resource_link(call, "test://d", "d", NULL, NULL, NULL);
	bide_add_audio(call, "", 0, "audio/wav");
	return bide_add_content(
		call, json_pack("{s:s,s:s}", "type", "text", "text", "own"));
}

static void test_role__holds_until_it_is_said_again(void **state)
{
	(void)state;
#define USER(block)      "{\"role\":\"user\",\"content\":" block "}"
#define ASSISTANT(block) "{\"role\":\"assistant\",\"content\":" block "}"
	gives(talks,
	      "{\"messages\":[" ASSISTANT("{\"type\":\"text\",\"text\":\"a\"}") "," ASSISTANT(
		      "{\"type\":\"image\",\"data\":\"AQID\","
		      "\"mimeType\":\"image/png\"}") "," USER("{\"type\":\"resource\",\"resource\":{\"uri\":\"test://a\","
							      "\"mimeType\":\"text/plain\",\"text\":\"b\"}}") "," USER("{\"type\":\"resource_link\",\"uri\":\"test://d\","
														       "\"name\":\"d\"}") "," USER("{\"type\":\"audio\",\"data\":\"\","
																		   "\"mimeType\":\"audio/wav\"}") "," USER("{\"type\":\"text\",\"text\":\"own\"}") "]}");
}

static enum bide_rc annotates(struct bide_call *call, void *user)
{
	(void)user;
	bide_text(call, "a");
	bide_annotate(call, json_pack("{s:i}", "priority", 1));
	return bide_text(call, "b");
}

static void test_annotations__are_the_blocks(void **state)
{
	(void)state;
	gives(annotates,
	      "{\"messages\":[" USER(
		      "{\"type\":\"text\",\"text\":\"a\","
		      "\"annotations\":{\"priority\":1}}") "," USER("{\"type\":\"text\",\"text\":\"b\"}") "]}");
}

static enum bide_rc asks_then_talks(struct bide_call *call, void *user)
{
	(void)user;
	bide_role(call, BIDE_ASSISTANT);
	bide_text(call, "before");
	bide_ask_form(call, "q", "?", FORM);
	BIDE_TRY(bide_await(call));
	return bide_text(call, "after");
}

/* What an earlier entry said is gone, its role too. */
static void test_entry__begins_anew(void **state)
{
	struct fake *f = fake_prompt(asks_then_talks, NULL);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	fake_next_request(f);
	fake_answer(f, "q", "{\"action\":\"decline\"}");
	fake_gives(
		f, RUN_COMPLETE,
		"{\"messages\":[" ASSISTANT(
			"{\"type\":\"text\",\"text\":"
			"\"before\"}") "," ASSISTANT("{\"type\":\"text\",\"text\":\"after\"}") "]}");
}

static enum bide_rc says_error(struct bide_call *call, void *user)
{
	(void)user;
	bide_text(call, "a");
	assert_int_equal(bide_error_text(call, "no %s", "way"), BIDE_FAILED);
	return BIDE_OK;
}

static void test_error_text__is_an_error_of_the_request(void **state)
{
	(void)state;
	fake_gives(fake_prompt(says_error, NULL), RUN_ERROR,
		   "{\"code\":-32603,\"message\":\"no way\"}");
}

/* What a prompt cannot say. */
static enum bide_rc structures(struct bide_call *call, void *user)
{
	(void)user;
	return bide_structured(call, json_object());
}

static enum bide_rc sets_is_error(struct bide_call *call, void *user)
{
	(void)user;
	return bide_set_is_error(call);
}

static enum bide_rc caches(struct bide_call *call, void *user)
{
	(void)user;
	return bide_cache(call, 1, BIDE_PUBLIC);
}

static enum bide_rc finds_nothing(struct bide_call *call, void *user)
{
	(void)user;
	return bide_not_found(call);
}

static enum bide_rc persists(struct bide_call *call, void *user)
{
	(void)user;
	return bide_persist(call);
}

static void test_misuse__ends_in_an_error(void **state)
{
	static const bide_handler_fn wrong[] = {
		structures, sets_is_error, caches, finds_nothing, persists};
	struct fake *f;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		f = fake_prompt(wrong[i], NULL);
		assert_int_equal(wrong[i](f->call, NULL), BIDE_MISUSE);
		fake_gives(f, RUN_ERROR, INTERNAL);
	}
}

static enum bide_rc sets_role(struct bide_call *call, void *user)
{
	(void)user;
	return bide_role(call, BIDE_ASSISTANT);
}

static void test_role__is_of_prompts_only(void **state)
{
	(void)state;
	fake_gives(fake_of(sets_role), RUN_ERROR, INTERNAL);
	fake_gives(fake_of(caches), RUN_ERROR, INTERNAL);
	fake_gives(fake_of(finds_nothing), RUN_ERROR, INTERNAL);
	fake_gives(fake_resource(sets_role), RUN_ERROR, INTERNAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_message__is_the_users_at_first),
		cmocka_unit_test(test_description__goes_along),
		cmocka_unit_test(test_role__holds_until_it_is_said_again),
		cmocka_unit_test(test_annotations__are_the_blocks),
		cmocka_unit_test(test_entry__begins_anew),
		cmocka_unit_test(test_error_text__is_an_error_of_the_request),
		cmocka_unit_test(test_misuse__ends_in_an_error),
		cmocka_unit_test(test_role__is_of_prompts_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
