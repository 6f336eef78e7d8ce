/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/jsontext.h"
#include "server/base/limits.h"

#define FUZZ_ROUNDS 40000

static json_t *good(const char *text)
{
	struct bide_error e = {0};
	json_t *v = NULL;

	if (jsontext_parse(text, strlen(text), &v, &e) != BIDE_OK)
		fail_msg("%s: %s", text, e.text);
	assert_non_null(v);
	return v;
}

static void bad(const char *text, size_t len, const char *what, size_t at)
{
	struct bide_error e = {0};
	char want[128];
	json_t *v = NULL;

	snprintf(want, sizeof(want), "invalid JSON: %s at byte %zu", what, at);
	assert_int_equal(jsontext_parse(text, len, &v, &e), BIDE_INVALID);
	assert_null(v);
	assert_int_equal(e.rc, BIDE_INVALID);
	assert_string_equal(e.text, want);
}

#define BAD(text, what, at) bad(text, sizeof(text) - 1, what, at)

static void test_parse__every_kind_of_value(void **state)
{
	json_t *v = good(" {\"a\" : [ 1 , -2.5 , true , false , null , \"x\" ] "
			 ", \"b\":{}, \"c\":[]}\r\n\t");
	json_t *a = json_object_get(v, "a");

	(void)state;
	assert_int_equal(json_array_size(a), 6);
	assert_int_equal(json_integer_value(json_array_get(a, 0)), 1);
	assert_true(json_real_value(json_array_get(a, 1)) == -2.5);
	assert_true(json_is_true(json_array_get(a, 2)));
	assert_true(json_is_false(json_array_get(a, 3)));
	assert_true(json_is_null(json_array_get(a, 4)));
	assert_string_equal(json_string_value(json_array_get(a, 5)), "x");
	assert_int_equal(json_object_size(json_object_get(v, "b")), 0);
	assert_int_equal(json_array_size(json_object_get(v, "c")), 0);
	json_decref(v);
}

static void test_parse__object_keeps_insertion_order(void **state)
{
	json_t *v = good("{\"z\":1,\"a\":2,\"m\":3}");
	char *text = jsontext_dup(v, NULL);

	(void)state;
	assert_string_equal(text, "{\"z\":1,\"a\":2,\"m\":3}");
	free(text);
	json_decref(v);
}

static void check_string(const char *text, const char *want, size_t len)
{
	json_t *v = good(text);

	assert_true(json_is_string(v));
	assert_int_equal(json_string_length(v), len);
	assert_memory_equal(json_string_value(v), want, len);
	json_decref(v);
}

static void test_parse__escapes_are_decoded(void **state)
{
	(void)state;
	check_string("\"\"", "", 0);
	check_string("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8);
	check_string("\"a\\u0041\\u00e9\\u20AC\"", "aA\xC3\xA9\xE2\x82\xAC", 7);
	check_string("\"\\ud83d\\uDE00!\"", "\xF0\x9F\x98\x80!", 5);
	check_string("\"\\u0001\x7F\"", "\x01\x7F", 2);
	check_string("\"\xF0\x9F\x98\x80 long enough for a word\"",
		     "\xF0\x9F\x98\x80 long enough for a word", 27);
}

static void test_parse__escaped_keys_are_kept_apart_from_values(void **state)
{
	json_t *v = good(
		"{\"\\u0061\":{\"\\u0062\":\"\\u0063\"},\"d\":\"\\u0065\"}");
	char *text = jsontext_dup(v, NULL);

	(void)state;
	assert_string_equal(text, "{\"a\":{\"b\":\"c\"},\"d\":\"e\"}");
	free(text);
	json_decref(v);
}

static void check_integer(const char *text, int64_t want)
{
	json_t *v = good(text);

	assert_true(json_is_integer(v));
	assert_true(json_integer_value(v) == want);
	json_decref(v);
}

static void check_real(const char *text, double want)
{
	json_t *v = good(text);
	double got = json_real_value(v);

	assert_true(json_is_real(v));
	assert_memory_equal(&got, &want, sizeof(want)); /* -0.0 is not 0.0 */
	json_decref(v);
}

static void test_parse__numbers_at_their_limits(void **state)
{
	(void)state;
	check_integer("0", 0);
	check_integer("-0", 0);
	check_integer("9223372036854775807", INT64_MAX);
	check_integer("-9223372036854775808", INT64_MIN);
	check_real("0.1", 0.1);
	check_real("-0.0", -0.0);
	check_real("123456789.012345", 123456789.012345);
	check_real("0.30000000000000004", 0.30000000000000004);
	check_real("1E2", 100.0);
	check_real("1e+2", 100.0);
	check_real("12.5e-1", 1.25);
	check_real("1.7976931348623157e308", 1.7976931348623157e308);
	check_real("5e-324", 5e-324);
	check_real("1e-999", 0.0);
}

static void test_parse__integer_beyond_64_bits_is_refused_in_words(void **state)
{
	(void)state;
	BAD("9223372036854775808", "integer beyond 64 bits", 0);
	BAD("[1,-9223372036854775809]", "integer beyond 64 bits", 3);
	BAD("100000000000000000000000000", "integer beyond 64 bits", 0);
	BAD("[1e400]", "number too large", 1);
	BAD("-1e400", "number too large", 0);
}

static void test_parse__a_real_longer_than_the_stack_is_read(void **state)
{
	char text[1200];
	json_t *v = NULL;

	(void)state;
	memset(text, '0', sizeof(text));
	memcpy(text, "1.", 2);
	memcpy(text + 1190, "1", 2);
	v = good(text);
	assert_true(json_real_value(v) == 1.0);
	json_decref(v);
}

static void test_parse__syntax_errors_name_byte_and_cause(void **state)
{
	(void)state;
	BAD("", "text ends too early", 0);
	BAD("  ", "text ends too early", 2);
	BAD("{", "text ends too early", 1);
	BAD("[1,2", "text ends too early", 4);
	BAD("\"abc", "text ends too early", 4);
	BAD("\"abc\\", "text ends too early", 5);
	BAD("{\"a\" 1}", "expected a colon", 5);
	BAD("{a:1}", "expected a member name", 1);
	BAD("{\"a\":1,}", "expected a member name", 7);
	BAD("{\"a\":1 \"b\":2}", "expected a comma or }", 7);
	BAD("[1,]", "expected a value", 3);
	BAD("[1 2]", "expected a comma or ]", 3);
	BAD("tru", "expected a value", 0);
	BAD("nulL", "expected a value", 0);
	BAD("NaN", "expected a value", 0);
	BAD("'a'", "expected a value", 0);
	BAD("1 2", "more text after the value", 2);
	BAD("{}}", "more text after the value", 2);
	BAD("01", "bad number", 0);
	BAD("-", "bad number", 1);
	BAD("-a", "bad number", 0);
	BAD("1.", "bad number", 2);
	BAD("1.e1", "bad number", 2);
	BAD("1e+", "bad number", 3);
	BAD("+1", "expected a value", 0);
	BAD(".5", "expected a value", 0);
	BAD("\xEF\xBB\xBF{}", "expected a value", 0); /* a byte order mark */
}

static void test_parse__duplicate_member_is_refused(void **state)
{
	(void)state;
	BAD("{\"a\":1,\"b\":2,\"a\":3}", "duplicate member", 13);
	BAD("{\"a\":1,\"\\u0061\":1}", "duplicate member", 7);
	BAD("[{\"x\":{\"y\":1,\"y\":1}}]", "duplicate member", 13);
	json_decref(good("[{\"a\":1},{\"a\":{\"a\":2}}]"));
}

static void test_parse__strings_that_are_not_unicode_are_refused(void **state)
{
	(void)state;
	BAD("\"\xFF\"", "text is not UTF-8", 1);
	BAD("\"ab\xC3\"", "text is not UTF-8", 3);
	BAD("\"\xC0\x80\"", "text is not UTF-8", 1);     /* overlong */
	BAD("\"\xED\xA0\x80\"", "text is not UTF-8", 1); /* a surrogate */
	BAD("\"\xF4\x90\x80\x80\"", "text is not UTF-8", 1);
	BAD("{\"\xFF\":1}", "text is not UTF-8", 2);
	BAD("\"\\ud800\"", "half of a surrogate pair", 3);
	BAD("\"\\udc00\\ud800\"", "half of a surrogate pair", 3);
	BAD("\"\\ud800\\u0041\"", "half of a surrogate pair", 3);
	BAD("\"\\u12G4\"", "bad \\u escape", 3);
	BAD("\"\\u12", "bad \\u escape", 3);
	BAD("\"\\x\"", "unknown escape", 1);
	BAD("\"a\nb\"", "control character in a string", 2);
}

static void test_parse__nul_is_refused_in_every_place(void **state)
{
	(void)state;
	BAD("\"\\u0000\"", "\\u0000 in a string", 3);
	BAD("{\"\\u0000\":1}", "\\u0000 in a string", 4);
	BAD("\0", "a NUL", 0);
	BAD("{}\0", "a NUL", 2);
	BAD("[1\0]", "a NUL", 2);
	BAD("\"a\0b\"", "control character in a string", 2);
	BAD("\"a\\\0b\"", "unknown escape", 2);
}

static void test_parse__reads_exactly_len_bytes(void **state)
{
	struct bide_error e;
	json_t *v = NULL;

	(void)state;
	assert_int_equal(jsontext_parse("12345", 3, &v, &e), BIDE_OK);
	assert_int_equal(json_integer_value(v), 123);
	json_decref(v);
	bad("truemore", 3, "expected a value", 0);
	bad("\"\xC3\xA9\"", 2, "text is not UTF-8", 1);
}

static void nest(char *out, size_t depth, const char *open, const char *shut)
{
	out[0] = '\0';
	for (size_t i = 0; i < depth; i++)
		strcat(out, open);
	strcat(out, "1");
	for (size_t i = 0; i < depth; i++)
		strcat(out, shut);
}

static void test_parse__depth_64_is_read_and_65_refused(void **state)
{
	char text[1024];

	(void)state;
	nest(text, LIMIT_JSON_DEPTH, "[", "]");
	json_decref(good(text));
	nest(text, LIMIT_JSON_DEPTH + 1, "[", "]");
	bad(text, strlen(text), "nesting deeper than 64", 64);
	nest(text, LIMIT_JSON_DEPTH, "{\"[{\":", "}");
	json_decref(good(text));
	nest(text, LIMIT_JSON_DEPTH + 1, "{\"a\":", "}");
	bad(text, strlen(text), "nesting deeper than 64", 64 * 5);
}

static void test_parse__a_megabyte_of_brackets_is_cheap(void **state)
{
	size_t len = 1024 * 1024;
	char *text = malloc(len);

	(void)state;
	memset(text, '[', len);
	bad(text, len, "nesting deeper than 64", 64);
	free(text);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static size_t mutate(char *text, size_t len, uint32_t *seed)
{
	static const char bytes[] = "{}[]:,\"\\u0e.-+19tfn \xC3\xA9\xED\x01";
	uint32_t times = next_random(seed) % 4;
	size_t at;

	for (uint32_t i = 0; i < times && len > 1; i++) {
		at = next_random(seed) % len;
		switch (next_random(seed) % 3) {
		case 0:
			text[at] =
				bytes[next_random(seed) % (sizeof(bytes) - 1)];
			break;
		case 1:
			memmove(text + at, text + at + 1, len - at - 1);
			len--;
			break;
		default:
			memmove(text + at + 1, text + at, len - at);
			len++;
			break;
		}
	}
	return len;
}

/* Where the two readers part, one of them is wrong; depth and NUL, which
 * jansson sees otherwise, do not come up in these texts. */
static void test_parse__agrees_with_jansson_on_mutated_texts(void **state)
{
	static const char *const seeds[] = {
		"{\"jsonrpc\":\"2.0\",\"id\":17,\"params\":{\"a\":[1,2.5e3,-0.125"
		",true,null],\"b\":\"x\\u00e9\\ud83d\\ude00\\n\xC3\xA9 y\"}}",
		"[[],{},\"\",0,-1,1e9,12345678901234567,0.1,\"\\\\\\\"\",false]",
		" { \"k\" : { \"k\" : [ \"k\" , \"\\u006b\" ] } , \"l\" : 1.50 } ",
	};
	uint32_t seed = 2463534242u;
	struct bide_error e;
	json_error_t je;
	char text[512];
	json_t *mine = NULL;
	json_t *theirs = NULL;
	size_t len;
	int accepted = 0;
	enum bide_rc rc;

	(void)state;
	for (int i = 0; i < FUZZ_ROUNDS; i++) {
		strcpy(text, seeds[i % 3]);
		len = mutate(text, strlen(text), &seed);
		theirs = json_loadb(text, len,
				    JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
				    &je);
		rc = jsontext_parse(text, len, &mine, &e);
		if ((rc == BIDE_OK) != (theirs != NULL))
			fail_msg("%.*s: mine %s, jansson %s", (int)len, text,
				 rc == BIDE_OK ? "ok" : e.text,
				 theirs ? "ok" : je.text);
		if (rc != BIDE_OK)
			continue;
		if (!json_equal(mine, theirs))
			fail_msg("%.*s: read as another value", (int)len, text);
		accepted++;
		json_decref(mine);
		json_decref(theirs);
	}
	assert_in_range(accepted, FUZZ_ROUNDS / 5, FUZZ_ROUNDS * 4 / 5);
}

static long allocations_left;

static void *scarce_malloc(size_t n)
{
	return allocations_left-- > 0 ? malloc(n) : NULL;
}

/* Every allocation fails in turn; the sanitizer build looks for leaks. */
static void test_parse__without_memory_is_nomem(void **state)
{
	const char *text =
		"{\"a\":[1,2.5,\"x\",{\"\\u0062\":{}}],\"c\":\"\\n\"}";
	struct bide_error e = {0};
	enum bide_rc rc = BIDE_NOMEM;
	json_t *v = NULL;
	long n;

	(void)state;
	json_set_alloc_funcs(scarce_malloc, free);
	for (n = 0; rc != BIDE_OK && n < 100; n++) {
		allocations_left = n;
		rc = jsontext_parse(text, strlen(text), &v, &e);
		if (rc != BIDE_OK) {
			assert_int_equal(rc, BIDE_NOMEM);
			assert_null(v);
		}
	}
	assert_int_equal(rc, BIDE_OK);
	assert_in_range(n, 10, 99);
	json_decref(v);
	json_set_alloc_funcs(malloc, free);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse__every_kind_of_value),
		cmocka_unit_test(test_parse__object_keeps_insertion_order),
		cmocka_unit_test(test_parse__escapes_are_decoded),
		cmocka_unit_test(
			test_parse__escaped_keys_are_kept_apart_from_values),
		cmocka_unit_test(test_parse__numbers_at_their_limits),
		cmocka_unit_test(
			test_parse__integer_beyond_64_bits_is_refused_in_words),
		cmocka_unit_test(
			test_parse__a_real_longer_than_the_stack_is_read),
		cmocka_unit_test(test_parse__syntax_errors_name_byte_and_cause),
		cmocka_unit_test(test_parse__duplicate_member_is_refused),
		cmocka_unit_test(
			test_parse__strings_that_are_not_unicode_are_refused),
		cmocka_unit_test(test_parse__nul_is_refused_in_every_place),
		cmocka_unit_test(test_parse__reads_exactly_len_bytes),
		cmocka_unit_test(test_parse__depth_64_is_read_and_65_refused),
		cmocka_unit_test(test_parse__a_megabyte_of_brackets_is_cheap),
		cmocka_unit_test(
			test_parse__agrees_with_jansson_on_mutated_texts),
		cmocka_unit_test(test_parse__without_memory_is_nomem),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
