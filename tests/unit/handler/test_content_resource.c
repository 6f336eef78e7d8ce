/* SPDX-License-Identifier: MIT */
/* What a resource's handler gives: server/resources "Resource Contents". */
#include "tests/unit/handler/lib/fake.h"

#define INTERNAL "{\"code\":-32603,\"message\":\"Internal error\"}"
#define PLAIN    "{\"uri\":\"test://r\",\"mimeType\":\"text/plain\","

static void gives(bide_handler_fn fn, const char *expected)
{
	fake_gives(fake_resource(fn), RUN_COMPLETE, expected);
}

static enum bide_rc says_hello(struct bide_call *call, void *user)
{
	(void)user;
	assert_string_equal(bide_uri(call), "test://r");
	bide_text(call, "Hello, %d\n", 7);
	return bide_add_text(call, "");
}

static void test_text__is_of_what_was_read(void **state)
{
	(void)state;
	gives(says_hello,
	      "{\"contents\":[" PLAIN "\"text\":\"Hello, 7\\n\"}," PLAIN
	      "\"text\":\"\"}]}");
}

static enum bide_rc adds_all(struct bide_call *call, void *user)
{
	(void)user;
	bide_add_resource_text(call, NULL, NULL, "a");
	bide_add_resource_text(call, "test://r/b", "text/html", "b");
	bide_add_resource_blob(call, NULL, NULL, "\xff", 1);
	bide_add_resource_blob(call, "test://r/c", "x/y", NULL, 0);
	return bide_add_content(call, json_pack("{s:s,s:s,s:{s:i}}", "uri",
						"test://r/d", "text", "d",
						"_meta", "x/y", 1));
}

static void test_contents__say_themselves_or_what_was_read(void **state)
{
	(void)state;
	gives(adds_all,
	      "{\"contents\":[" PLAIN "\"text\":\"a\"},"
	      "{\"uri\":\"test://r/b\",\"mimeType\":\"text/html\","
	      "\"text\":\"b\"}," PLAIN "\"blob\":\"/w==\"},"
	      "{\"uri\":\"test://r/c\",\"mimeType\":\"x/y\",\"blob\":\"\"},"
	      "{\"uri\":\"test://r/d\",\"text\":\"d\","
	      "\"_meta\":{\"x/y\":1}}]}");
}

static enum bide_rc adds_half(struct bide_call *call, void *user)
{
	(void)user;
	return bide_add_content(call, json_pack("{s:s}", "uri", "test://r"));
}

static enum bide_rc adds_a_block(struct bide_call *call, void *user)
{
	(void)user;
	return bide_add_content(
		call, json_pack("{s:s,s:s}", "type", "text", "text", "own"));
}

static void test_contents__of_ones_own_are_checked(void **state)
{
	(void)state;
	fake_gives(fake_resource(adds_half), RUN_ERROR,
		   "{\"code\":-32603,\"message\":\"a content block has no "
		   "text or blob\"}");
	fake_gives(fake_resource(adds_a_block), RUN_ERROR,
		   "{\"code\":-32603,\"message\":\"a content block has no "
		   "uri\"}");
}

static enum bide_rc says_nothing(struct bide_call *call, void *user)
{
	(void)call;
	(void)user;
	return BIDE_OK;
}

/* S64: an empty array could mean that it does not exist. */
static void test_contents__are_never_empty(void **state)
{
	(void)state;
	fake_gives(fake_resource(says_nothing), RUN_ERROR,
		   "{\"code\":-32603,\"message\":"
		   "\"The resource gave no contents\"}");
}

static enum bide_rc finds_nothing(struct bide_call *call, void *user)
{
	(void)user;
	bide_text(call, "a");
	assert_int_equal(bide_not_found(call), BIDE_FAILED);
	return BIDE_OK;
}

static void test_not_found__names_the_uri(void **state)
{
	(void)state;
	fake_gives(fake_resource(finds_nothing), RUN_ERROR,
		   "{\"code\":-32602,\"message\":\"Resource not found\","
		   "\"data\":{\"uri\":\"test://r\"}}");
}

static enum bide_rc says_error(struct bide_call *call, void *user)
{
	(void)user;
	return bide_error_text(call, "no %s", "way");
}

static void test_error_text__is_an_error_of_the_request(void **state)
{
	(void)state;
	fake_gives(fake_resource(says_error), RUN_ERROR,
		   "{\"code\":-32603,\"message\":\"no way\"}");
}

static enum bide_rc caches_once(struct bide_call *call, void *user)
{
	struct fake *f = user;

	if (f->entries++ == 0)
		bide_cache(call, 1, BIDE_PRIVATE);
	return bide_text(call, "x");
}

/* The registered hint, unless this entry said another. */
static void test_cache__is_the_handlers_or_the_registered_one(void **state)
{
	struct fake *f = fake_resource(caches_once);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	assert_int_equal(f->result.cache_ms, 1);
	assert_int_equal(f->result.scope, BIDE_PRIVATE);
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	assert_int_equal(f->result.cache_ms, 5000);
	assert_int_equal(f->result.scope, BIDE_PUBLIC);
	fake_free(f);
}

static enum bide_rc caches_badly(struct bide_call *call, void *user)
{
	(void)user;
	return bide_cache(call, -1, BIDE_PUBLIC);
}

static void test_cache__is_no_negative_time(void **state)
{
	(void)state;
	fake_gives(fake_resource(caches_badly), RUN_ERROR,
		   "{\"code\":-32603,\"message\":"
		   "\"a time to keep is negative\"}");
}

/* What a resource cannot say. */
static enum bide_rc adds_image(struct bide_call *call, void *user)
{
	(void)user;
	return bide_add_image(call, "x", 1, "image/png");
}

static enum bide_rc adds_audio(struct bide_call *call, void *user)
{
	(void)user;
	return bide_add_audio(call, "x", 1, "audio/wav");
}

static enum bide_rc adds_link(struct bide_call *call, void *user)
{
	(void)user;
	return bide_add_resource_link(call, "test://x", "x", NULL, NULL, NULL);
}

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

static enum bide_rc annotates(struct bide_call *call, void *user)
{
	(void)user;
	bide_text(call, "x");
	return bide_annotate(call, json_object());
}

static enum bide_rc persists(struct bide_call *call, void *user)
{
	(void)user;
	return bide_persist(call);
}

static void test_misuse__ends_in_an_error(void **state)
{
	static const bide_handler_fn wrong[] = {
		adds_image,    adds_audio, adds_link, structures,
		sets_is_error, annotates,  persists};
	struct fake *f;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		f = fake_resource(wrong[i]);
		assert_int_equal(wrong[i](f->call, NULL), BIDE_MISUSE);
		fake_gives(f, RUN_ERROR, INTERNAL);
	}
}

/* A handler's own failure: -32603, and its text stays here (S65). */
static enum bide_rc fails_io(struct bide_call *call, void *user)
{
	(void)call;
	(void)user;
	return BIDE_IO;
}

static enum bide_rc asks(struct bide_call *call, void *user)
{
	(void)user;
	bide_ask_form(call, "q", "?", FORM);
	BIDE_TRY(bide_await(call));
	return bide_text(
		call, "%s",
		bide_action_name(bide_answer_action(bide_answer(call, "q"))));
}

static void test_handler__may_fail_or_ask(void **state)
{
	struct fake *f = fake_resource(asks);

	(void)state;
	fake_gives(fake_resource(fails_io), RUN_ERROR, INTERNAL);
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	fake_next_request(f);
	fake_answer(f, "q", "{\"action\":\"decline\"}");
	fake_gives(f, RUN_COMPLETE,
		   "{\"contents\":[" PLAIN "\"text\":\"declined\"}]}");
}

static enum bide_rc has_no_uri(struct bide_call *call, void *user)
{
	(void)user;
	return bide_text(call, "%s", bide_uri(call) ? "a" : "none");
}

static void test_uri__is_of_resources_only(void **state)
{
	(void)state;
	fake_gives(fake_of(has_no_uri), RUN_COMPLETE,
		   "{\"content\":[{\"type\":\"text\",\"text\":\"none\"}]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text__is_of_what_was_read),
		cmocka_unit_test(
			test_contents__say_themselves_or_what_was_read),
		cmocka_unit_test(test_contents__of_ones_own_are_checked),
		cmocka_unit_test(test_contents__are_never_empty),
		cmocka_unit_test(test_not_found__names_the_uri),
		cmocka_unit_test(test_error_text__is_an_error_of_the_request),
		cmocka_unit_test(
			test_cache__is_the_handlers_or_the_registered_one),
		cmocka_unit_test(test_cache__is_no_negative_time),
		cmocka_unit_test(test_misuse__ends_in_an_error),
		cmocka_unit_test(test_handler__may_fail_or_ask),
		cmocka_unit_test(test_uri__is_of_resources_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
