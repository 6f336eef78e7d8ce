/* SPDX-License-Identifier: MIT */
#include "server/base/limits.h"
#include "tests/unit/handler/lib/fake.h"

/* Enters @fn once; the result's text must be @expected. */
static void gives(bide_handler_fn fn, const char *expected)
{
	fake_gives(fake_of(fn), RUN_COMPLETE, expected);
}

/* The same; it must end with a JSON-RPC error. */
static void fails(bide_handler_fn fn, const char *expected)
{
	fake_gives(fake_of(fn), RUN_ERROR, expected);
}

static enum bide_rc says_hello(struct bide_call *call, void *user)
{
	(void)user;
	return bide_text(call, "Hello, %s \"%d\"\n", "J\xc3\xb6rg", 7);
}

static enum bide_rc says_nothing(struct bide_call *call, void *user)
{
	(void)call;
	(void)user;
	return BIDE_OK;
}

static enum bide_rc says_error(struct bide_call *call, void *user)
{
	(void)user;
	return bide_error_text(call, "no %s", "way");
}

static void test_text__is_formatted_and_escaped(void **state)
{
	(void)state;
	gives(says_hello, "{\"content\":[{\"type\":\"text\",\"text\":"
			  "\"Hello, J\xc3\xb6rg \\\"7\\\"\\n\"}]}");
}

static void test_nothing__gives_an_empty_array(void **state)
{
	(void)state;
	gives(says_nothing, "{\"content\":[]}");
}

static void test_error_text__sets_is_error(void **state)
{
	struct fake *f = fake_of(says_error);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	assert_true(f->result.is_error);
	assert_string_equal(fake_text(f),
			    "{\"content\":[{\"type\":\"text\",\"text\":"
			    "\"no way\"}],\"isError\":true}");
	fake_free(f);
}

static enum bide_rc says_much(struct bide_call *call, void *user)
{
	struct fake *f = user;

	memset(f->note, 'x', sizeof(f->note) - 1);
	return bide_text(call, "%s%s%s", f->note, f->note, f->note);
}

static void test_text__longer_than_the_stack_buffer(void **state)
{
	struct fake *f = fake_of(says_much);
	json_t *v = NULL;
	const char *s = NULL;

	(void)state;
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	assert_int_equal(json_unpack(v = fake_json(fake_text(f)), "{s:[{s:s}]}",
				     "content", "text", &s),
			 0);
	assert_int_equal(strlen(s), 3 * 255);
	json_decref(v);
	fake_free(f);
}

static enum bide_rc adds_all(struct bide_call *call, void *user)
{
	(void)user;
	bide_add_text(call, "t");
	bide_add_image(call, "\x01\x02\x03", 3, "image/png");
	bide_add_audio(call, "", 0, "audio/wav");
	bide_add_resource_text(call, "test://a", "text/plain", "body");
	bide_add_resource_text(call, "test://b", NULL, "");
	bide_add_resource_blob(call, "test://c", "x/y", "\xff", 1);
	bide_add_resource_link(call, "test://d", "name", NULL, "about", NULL);
	return bide_add_content(
		call, json_pack("{s:s,s:s}", "type", "text", "text", "own"));
}

static void test_builders__write_the_blocks_of_the_schema(void **state)
{
	(void)state;
	gives(adds_all,
	      "{\"content\":[{\"type\":\"text\",\"text\":\"t\"},"
	      "{\"type\":\"image\",\"data\":\"AQID\",\"mimeType\":\"image/"
	      "png\"},"
	      "{\"type\":\"audio\",\"data\":\"\",\"mimeType\":\"audio/wav\"},"
	      "{\"type\":\"resource\",\"resource\":{\"uri\":\"test://a\","
	      "\"mimeType\":\"text/plain\",\"text\":\"body\"}},"
	      "{\"type\":\"resource\",\"resource\":{\"uri\":\"test://b\","
	      "\"text\":\"\"}},"
	      "{\"type\":\"resource\",\"resource\":{\"uri\":\"test://c\","
	      "\"mimeType\":\"x/y\",\"blob\":\"/w==\"}},"
	      "{\"type\":\"resource_link\",\"uri\":\"test://d\",\"name\":"
	      "\"name\",\"description\":\"about\"},"
	      "{\"type\":\"text\",\"text\":\"own\"}]}");
}

static enum bide_rc says_bytes(struct bide_call *call, void *user)
{
	(void)user;
	assert_int_equal(bide_text(call, "%s", "\xff"), BIDE_INVALID);
	/* It sticks: what comes later does nothing and says the same. */
	assert_int_equal(bide_text(call, "fine"), BIDE_INVALID);
	assert_int_equal(bide_add_image(call, "", 0, "a/b"), BIDE_INVALID);
	return BIDE_OK;
}

static void test_text__not_utf8_is_an_error_at_once(void **state)
{
	(void)state;
	fails(says_bytes, "{\"code\":-32603,\"message\":\"text is not "
			  "UTF-8\"}");
}

static enum bide_rc adds_bad_link(struct bide_call *call, void *user)
{
	(void)user;
	return bide_add_resource_link(call, "x:y", "\xc3", NULL, NULL, NULL);
}

static enum bide_rc adds_bad_block(struct bide_call *call, void *user)
{
	(void)user;
	return bide_add_content(call, json_pack("{s:s}", "type", "video"));
}

static enum bide_rc adds_no_block(struct bide_call *call, void *user)
{
	(void)user;
	return bide_add_content(call, NULL);
}

static void test_builders__refuse_what_cannot_leave(void **state)
{
	(void)state;
	fails(adds_bad_link,
	      "{\"code\":-32603,\"message\":\"name is not UTF-8\"}");
	fails(adds_bad_block, "{\"code\":-32603,\"message\":\"a content block "
			      "has a type that is not known\"}");
	fails(adds_no_block, "{\"code\":-32603,\"message\":\"a content block "
			     "is missing\"}");
}

static enum bide_rc adds_too_much(struct bide_call *call, void *user)
{
	char *bytes = calloc(1, LIMIT_RESULT_BYTES);
	enum bide_rc rc;

	(void)user;
	rc = bide_add_image(call, bytes, LIMIT_RESULT_BYTES, "a/b");
	free(bytes);
	assert_int_equal(rc, BIDE_LIMIT);
	return rc;
}

static enum bide_rc structures_too_much(struct bide_call *call, void *user)
{
	char *bytes = malloc(LIMIT_RESULT_BYTES);
	json_t *v = NULL;

	(void)user;
	memset(bytes, 'a', LIMIT_RESULT_BYTES);
	v = json_stringn(bytes, LIMIT_RESULT_BYTES);
	free(bytes);
	bide_add_text(call, "x");
	return bide_structured(call, v);
}

static void test_result__ceiling_is_named(void **state)
{
	(void)state;
	fails(adds_too_much,
	      "{\"code\":-32603,\"message\":\"the result is over 4194304 bytes "
	      "(LIMIT_RESULT_BYTES)\"}");
	fails(structures_too_much,
	      "{\"code\":-32603,\"message\":\"The result is too large "
	      "(LIMIT_RESULT_BYTES)\"}");
}

static enum bide_rc structures(struct bide_call *call, void *user)
{
	(void)user;
	return bide_structured(call, json_pack("{s:f}", "n", 0.1));
}

static enum bide_rc structures_with_text(struct bide_call *call, void *user)
{
	(void)user;
	bide_add_text(call, "see below");
	bide_structured(call, json_integer(1));
	return bide_structured(call, json_integer(2));
}

static void test_structured__is_repeated_where_no_content_is(void **state)
{
	(void)state;
	gives(structures,
	      "{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"n\\\":0.1}\"}],"
	      "\"structuredContent\":{\"n\":0.1}}");
	gives(structures_with_text,
	      "{\"content\":[{\"type\":\"text\",\"text\":\"see below\"}],"
	      "\"structuredContent\":2}");
}

static void with_schema(bide_handler_fn fn, const char *schema,
			enum run_left left, const char *holds)
{
	struct fake *f = fake_new(
		(struct bide_tool){.handler = fn, .output_schema = schema});

	assert_int_equal(fake_enter(f), left);
	if (!strstr(fake_text(f), holds))
		fail_msg("%s lacks %s", fake_text(f), holds);
	fake_free(f);
}

static void test_structured__must_fit_the_output_schema(void **state)
{
	const char *fits = "{\"properties\":{\"n\":{\"type\":\"number\"}}}";
	const char *not = "{\"properties\":{\"n\":{\"type\":\"string\"}}}";

	(void)state;
	with_schema(structures, fits, RUN_COMPLETE, "structuredContent");
	with_schema(structures, not, RUN_ERROR, "-32603");
	with_schema(says_hello, fits, RUN_ERROR, "-32603");
	/* An error has no result to describe. */
	with_schema(says_error, fits, RUN_COMPLETE, "isError");
}

static enum bide_rc structures_text(struct bide_call *call, void *user)
{
	(void)user;
	return bide_structured(call, json_stringn_nocheck("\xff", 1));
}

static void test_structured__not_utf8_is_refused(void **state)
{
	(void)state;
	with_schema(structures_text, NULL, RUN_ERROR, "structuredContent");
}

static enum bide_rc fails_with(struct bide_call *call, void *user)
{
	const int *code = ((struct fake *)user)->data;

	assert_int_equal(bide_fail(call, *code, "no \"luck\"",
				   json_pack("{s:i}", "k", 1)),
			 BIDE_FAILED);
	assert_int_equal(bide_text(call, "late"), BIDE_FAILED);
	return BIDE_OK; /* what sticks wins */
}

static void test_fail__gives_the_error_object(void **state)
{
	static const struct {
		int code, sent;
	} facts[] = {{-32602, -32602}, {-32000, -32000}, {1, 1},
		     {-32019, -32019}, {-32100, -32100}, {-32020, -32603},
		     {-32021, -32603}, {-32099, -32603}, {-32002, -32603},
		     {-32042, -32603}, {-32603, -32603}};
	char expected[128];

	(void)state;
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		struct fake *f = fake_of(fails_with);
		int code = facts[i].code;

		f->data = &code;
		assert_int_equal(fake_enter(f), RUN_ERROR);
		snprintf(expected, sizeof(expected),
			 "{\"code\":%d,\"message\":\"no \\\"luck\\\"\","
			 "\"data\":{\"k\":1}}",
			 facts[i].sent);
		assert_string_equal(fake_text(f), expected);
		fake_free(f);
	}
}

static enum bide_rc fails_badly(struct bide_call *call, void *user)
{
	(void)user;
	return bide_fail(call, -32000, "\xff", json_stringn_nocheck("\xff", 1));
}

static void test_fail__keeps_out_what_cannot_leave(void **state)
{
	(void)state;
	fails(fails_badly, "{\"code\":-32000,\"message\":\"Internal error\"}");
}

static enum bide_rc says_more_each_time(struct bide_call *call, void *user)
{
	struct fake *f = user;

	bide_add_text(call, "first");
	f->entries++;
	if (f->entries == 1) {
		bide_set_is_error(call);
		return bide_sleep(call, "s", 5);
	}
	return bide_add_text(call, "second");
}

static void test_content__of_an_earlier_entry_is_gone(void **state)
{
	struct fake *f = fake_of(says_more_each_time);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_SLEEPS);
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	assert_string_equal(fake_text(f),
			    "{\"content\":[{\"type\":\"text\",\"text\":"
			    "\"first\"},{\"type\":\"text\",\"text\":"
			    "\"second\"}]}");
	assert_false(f->result.is_error);
	fake_free(f);
}

/* ---- annotations ---- */
static json_t *for_user(void)
{
	return json_pack("{s:[s],s:f}", "audience", "user", "priority", 0.5);
}

static enum bide_rc annotates(struct bide_call *call, void *user)
{
	(void)user;
	bide_text(call, "a");
	bide_annotate(call, for_user());
	bide_text(call, "b");
	bide_add_resource_text(call, "test://a", NULL, "c");
	return bide_annotate(call, for_user());
}

static void test_annotations__are_those_of_the_content_before(void **state)
{
#define FOR_USER ",\"annotations\":{\"audience\":[\"user\"],\"priority\":0.5}}"
	(void)state;
	gives(annotates,
	      "{\"content\":[{\"type\":\"text\",\"text\":\"a\"" FOR_USER
	      ",{\"type\":\"text\",\"text\":\"b\"},"
	      "{\"type\":\"resource\",\"resource\":{\"uri\":\"test://a\","
	      "\"text\":\"c\"}" FOR_USER "]}");
}

static enum bide_rc annotates_nothing(struct bide_call *call, void *user)
{
	(void)user;
	return bide_annotate(call, for_user());
}

static enum bide_rc annotates_twice(struct bide_call *call, void *user)
{
	bide_text(call, "a");
	bide_annotate(call, for_user());
	return annotates_nothing(call, user);
}

static enum bide_rc annotates_a_block(struct bide_call *call, void *user)
{
	bide_add_content(call,
			 json_pack("{s:s,s:s,s:o}", "type", "text", "text",
				   "own", "annotations", for_user()));
	return annotates_nothing(call, user);
}

static enum bide_rc annotates_wrongly(struct bide_call *call, void *user)
{
	(void)user;
	bide_text(call, "a");
	return bide_annotate(call, json_pack("{s:[s]}", "audience", "nobody"));
}

static void test_annotations__that_do_not_do(void **state)
{
	static const bide_handler_fn misused[] = {
		annotates_nothing, annotates_twice, annotates_a_block};
	struct fake *f;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(misused) / sizeof(misused[0]); i++)
		fails(misused[i],
		      "{\"code\":-32603,\"message\":\"Internal error\"}");
	f = fake_of(annotates_wrongly);
	assert_int_equal(fake_enter(f), RUN_ERROR);
	assert_non_null(strstr(fake_text(f), "audience"));
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text__is_formatted_and_escaped),
		cmocka_unit_test(test_nothing__gives_an_empty_array),
		cmocka_unit_test(test_error_text__sets_is_error),
		cmocka_unit_test(test_text__longer_than_the_stack_buffer),
		cmocka_unit_test(test_builders__write_the_blocks_of_the_schema),
		cmocka_unit_test(test_text__not_utf8_is_an_error_at_once),
		cmocka_unit_test(test_builders__refuse_what_cannot_leave),
		cmocka_unit_test(test_result__ceiling_is_named),
		cmocka_unit_test(
			test_structured__is_repeated_where_no_content_is),
		cmocka_unit_test(test_structured__must_fit_the_output_schema),
		cmocka_unit_test(test_structured__not_utf8_is_refused),
		cmocka_unit_test(test_fail__gives_the_error_object),
		cmocka_unit_test(test_fail__keeps_out_what_cannot_leave),
		cmocka_unit_test(test_content__of_an_earlier_entry_is_gone),
		cmocka_unit_test(
			test_annotations__are_those_of_the_content_before),
		cmocka_unit_test(test_annotations__that_do_not_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
