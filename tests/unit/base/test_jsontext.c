/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/jsontext.h"
#include "server/base/limits.h"

#define RANDOM_REALS 20000

static void written(json_t *v, const char *want)
{
	struct buf b = {0};

	assert_true(jsontext_write(v, &b));
	assert_string_equal(b.data, want);
	assert_int_equal(b.len, strlen(want));
	buf_fini(&b);
	json_decref(v);
}

static void not_written(json_t *v, const char *text)
{
	struct bide_error e = {0};
	struct buf b = {0};

	assert_false(jsontext_write(v, &b));
	assert_true(b.failed);
	buf_reset(&b);
	assert_false(jsontext_canonical(v, &b));
	assert_null(jsontext_dup(v, NULL));
	assert_int_equal(jsontext_check(v, &e), BIDE_INVALID);
	assert_string_equal(e.text, text);
	buf_fini(&b);
	json_decref(v);
}

static json_t *value(const char *text)
{
	struct bide_error e = {0};
	json_t *v = NULL;

	if (jsontext_parse(text, strlen(text), &v, &e) != BIDE_OK)
		fail_msg("%s: %s", text, e.text);
	return v;
}

static void test_write__compact_and_in_insertion_order(void **state)
{
	(void)state;
	written(value(" { \"z\" : [ 1 , [ ] , { } , null ] , \"a\" : true , "
		      "\"b\" : false } "),
		"{\"z\":[1,[],{},null],\"a\":true,\"b\":false}");
	written(json_integer(INT64_MIN), "-9223372036854775808");
	written(json_integer(INT64_MAX), "9223372036854775807");
	written(json_integer(0), "0");
	written(json_integer(-10), "-10");
}

static void test_write__appends_to_what_is_there(void **state)
{
	json_t *v = value("[1]");
	struct buf b = {0};

	(void)state;
	buf_addstr(&b, "data: ");
	assert_true(jsontext_write(v, &b));
	assert_string_equal(b.data, "data: [1]");
	buf_fini(&b);
	json_decref(v);
}

static void test_write__escapes_only_what_json_requires(void **state)
{
	(void)state;
	written(json_string("a\"b\\c/d\b\f\n\r\t\x01\x1F\x7F"),
		"\"a\\\"b\\\\c/d\\b\\f\\n\\r\\t\\u0001\\u001f\x7F\"");
	written(json_string("12345678\"12345678"), "\"12345678\\\"12345678\"");
	written(json_string("\xC3\xA9\xE2\x80\xA8\xF0\x9F\x98\x80 and more"),
		"\"\xC3\xA9\xE2\x80\xA8\xF0\x9F\x98\x80 and more\"");
	written(json_string(""), "\"\"");
	written(json_pack("{s:i}", "k\"\n", 1), "{\"k\\\"\\n\":1}");
}

/* Fault: everything after a character beyond ASCII went out as it was. */
static void test_write__escapes_after_what_is_not_ascii(void **state)
{
	(void)state;
	written(json_string("\xC3\xA9\"\\\n\xE2\x80\xA8\"x"),
		"\"\xC3\xA9\\\"\\\\\\n\xE2\x80\xA8\\\"x\"");
}

/* Each byte value at each place of a word, against one written one by one. */
static void test_write__every_byte_at_every_place(void **state)
{
	static const char *const small[32] = {
		[8] = "\\b",  [9] = "\\t",  [10] = "\\n",
		[12] = "\\f", [13] = "\\r",
	};
	char in[20];
	char want[64];
	char esc[8];

	(void)state;
	for (int c = 1; c < 128; c++) {
		for (size_t at = 0; at < 19; at++) {
			memset(in, 'x', 19);
			in[19] = '\0';
			in[at] = (char)c;
			snprintf(esc, sizeof(esc),
				 c < 32                  ? "\\u%04x"
				 : c == '"' || c == '\\' ? "\\%c"
							 : "%c",
				 c);
			snprintf(want, sizeof(want), "\"%.*s%s%s\"", (int)at,
				 in, c < 32 && small[c] ? small[c] : esc,
				 in + at + 1);
			written(json_string(in), want);
		}
	}
}

static void real_is(double d, const char *want)
{
	struct buf b = {0};

	assert_true(jsontext_write_real(d, &b));
	assert_string_equal(b.data, want);
	buf_fini(&b);
}

static void test_write_real__shortest_and_still_a_real(void **state)
{
	(void)state;
	real_is(0.1, "0.1");
	real_is(1.0, "1.0");
	real_is(-2.25, "-2.25");
	real_is(0.0, "0.0");
	real_is(-0.0, "-0.0");
	real_is(100.0, "100.0");
	real_is(3.14159, "3.14159");
	real_is(0.000001, "1e-6");
	real_is(0.05, "0.05");
	real_is(-0.5, "-0.5");
	real_is(0.30000000000000004, "0.30000000000000004");
	real_is(123456789.125, "123456789.125");
	real_is(1e18, "1000000000000000000.0");
	real_is(-9223372036854775808.0, "-9.223372036854776e18");
	real_is(1e21, "1e21");
	real_is(1e-7, "1e-7");
	real_is(5e-324, "5e-324");
	real_is(1.7976931348623157e308, "1.7976931348623157e308");
}

static void round_trip(double d)
{
	struct bide_error e;
	struct buf b = {0};
	json_t *v = NULL;
	double back;

	assert_true(jsontext_write_real(d, &b));
	assert_int_equal(jsontext_parse(b.data, b.len, &v, &e), BIDE_OK);
	assert_true(json_is_real(v));
	back = json_real_value(v);
	if (memcmp(&back, &d, sizeof(d)) != 0)
		fail_msg("%a is written %s and read %a", d, b.data, back);
	json_decref(v);
	buf_fini(&b);
}

static void test_write_real__every_real_is_read_back(void **state)
{
	uint64_t bits = 88172645463325252ull;
	double d;

	(void)state;
	for (int i = 0; i < RANDOM_REALS; i++) {
		bits ^= bits << 13;
		bits ^= bits >> 7;
		bits ^= bits << 17;
		memcpy(&d, &bits, sizeof(d));
		if (isfinite(d))
			round_trip(d);
		round_trip((double)(int64_t)(bits >> 20) / 1000.0);
		round_trip((double)(int32_t)bits / 128.0);
	}
}

static void test_write_real__nan_and_infinity_are_refused(void **state)
{
	struct buf b = {0};

	(void)state;
	assert_false(jsontext_write_real((double)NAN, &b));
	assert_true(b.failed);
	buf_reset(&b);
	assert_false(jsontext_write_real((double)INFINITY, &b));
	buf_fini(&b);
}

/* jansson makes no such real by json_real(), but by json_real_set(). */
static json_t *real_of(double d)
{
	json_t *v = json_real(0.5);

	if (json_real_set(v, d) != 0) {
		json_decref(v);
		return NULL;
	}
	return v;
}

static void test_check__values_that_cannot_be_written(void **state)
{
	json_t *v = json_object();

	(void)state;
	json_object_set_new_nocheck(v, "name",
				    json_stringn_nocheck("a\xFF", 2));
	not_written(v,
		    "JSON value: a string is not UTF-8 (in member \"name\")");
	not_written(json_stringn_nocheck("\xC3", 1),
		    "JSON value: a string is not UTF-8");
	not_written(json_stringn("a\0b", 3),
		    "JSON value: a string holds U+0000");
	v = json_object();
	json_object_setn_new_nocheck(v, "\xC0\x80", 2, json_true());
	not_written(v, "JSON value: a string is not UTF-8");
	not_written(NULL, "JSON value: a value is missing (NULL)");
	v = real_of((double)NAN);
	if (v)
		not_written(v, "JSON value: a number is not finite");
}

static json_t *nested(int depth)
{
	json_t *v = json_integer(1);

	while (depth--)
		v = depth % 2 ? json_pack("[o]", v)
			      : json_pack("{s:o}", "k", v);
	return v;
}

static void test_write__depth_64_is_written_and_65_refused(void **state)
{
	json_t *v = nested(LIMIT_JSON_DEPTH);
	struct bide_error e;
	char *text = jsontext_dup(v, NULL);

	(void)state;
	assert_non_null(text);
	assert_int_equal(jsontext_check(v, &e), BIDE_OK);
	free(text);
	json_decref(v);
	not_written(nested(LIMIT_JSON_DEPTH + 1),
		    "JSON value: nesting deeper than 64 (in member \"k\")");
}

static void test_write__stops_at_the_ceiling(void **state)
{
	json_t *v = value("[\"0123456789\"]");
	struct buf b;

	(void)state;
	buf_init(&b, 14);
	assert_true(jsontext_write(v, &b));
	buf_reset(&b);
	b.max = 13;
	assert_false(jsontext_write(v, &b));
	assert_true(b.failed);
	buf_fini(&b);
	json_decref(v);
}

static void same_canonical(const char *a, const char *b, const char *want)
{
	json_t *va = value(a);
	json_t *vb = value(b);
	struct buf x = {0};
	struct buf y = {0};

	assert_true(jsontext_canonical(va, &x));
	assert_true(jsontext_canonical(vb, &y));
	assert_string_equal(x.data, want);
	assert_string_equal(y.data, want);
	buf_fini(&x);
	buf_fini(&y);
	json_decref(va);
	json_decref(vb);
}

static void
test_canonical__key_order_and_number_forms_do_not_matter(void **state)
{
	(void)state;
	same_canonical("{\"b\":1,\"a\":{\"d\":1,\"c\":[2,1]}}",
		       "{ \"a\":{\"c\":[2.0,1e0],\"d\":1.0},\"b\":10e-1}",
		       "{\"a\":{\"c\":[2,1],\"d\":1},\"b\":1}");
	same_canonical("-0.0", "0", "0");
	same_canonical("1e2", "100", "100");
	same_canonical("-9007199254740992.0", "-9007199254740992",
		       "-9007199254740992");
	same_canonical("0.10", "1e-1", "0.1");
	same_canonical("\"\\u00e9\"", "\"\xC3\xA9\"", "\"\xC3\xA9\"");
}

static void test_canonical__keys_are_sorted_bytewise(void **state)
{
	(void)state;
	same_canonical("{\"a\":1,\"B\":2,\"aa\":3,\"\":4,\"\xC3\xA9\":5}",
		       "{\"\xC3\xA9\":5,\"\":4,\"aa\":3,\"B\":2,\"a\":1}",
		       "{\"\":4,\"B\":2,\"a\":1,\"aa\":3,\"\xC3\xA9\":5}");
}

static void test_canonical__an_object_larger_than_the_stack(void **state)
{
	json_t *v = json_object();
	struct buf b = {0};
	struct buf want = {0};
	char key[16];

	(void)state;
	for (int i = 99; i >= 0; i--) {
		snprintf(key, sizeof(key), "k%02d", i);
		json_object_set_new(v, key, json_integer(i));
	}
	for (int i = 0; i < 100; i++)
		buf_addf(&want, "%c\"k%02d\":%d", i ? ',' : '{', i, i);
	buf_addc(&want, '}');
	assert_true(jsontext_canonical(v, &b));
	assert_string_equal(b.data, want.data);
	buf_fini(&b);
	buf_fini(&want);
	json_decref(v);
}

static void test_numbers__a_host_program_with_a_comma_locale(void **state)
{
	const char *names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8",
			       "nl_NL.UTF-8"};
	bool set = false;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !set; i++)
		set = setlocale(LC_NUMERIC, names[i]) != NULL;
	if (!set) {
		print_message("no locale with a decimal comma here\n");
		skip();
	}
	real_is(0.30000000000000004, "0.30000000000000004");
	round_trip(1.2345678901234567e-10);
	setlocale(LC_NUMERIC, "C");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write__compact_and_in_insertion_order),
		cmocka_unit_test(test_write__appends_to_what_is_there),
		cmocka_unit_test(test_write__escapes_only_what_json_requires),
		cmocka_unit_test(test_write__escapes_after_what_is_not_ascii),
		cmocka_unit_test(test_write__every_byte_at_every_place),
		cmocka_unit_test(test_write_real__shortest_and_still_a_real),
		cmocka_unit_test(test_write_real__every_real_is_read_back),
		cmocka_unit_test(test_write_real__nan_and_infinity_are_refused),
		cmocka_unit_test(test_check__values_that_cannot_be_written),
		cmocka_unit_test(
			test_write__depth_64_is_written_and_65_refused),
		cmocka_unit_test(test_write__stops_at_the_ceiling),
		cmocka_unit_test(
			test_canonical__key_order_and_number_forms_do_not_matter),
		cmocka_unit_test(test_canonical__keys_are_sorted_bytewise),
		cmocka_unit_test(
			test_canonical__an_object_larger_than_the_stack),
		cmocka_unit_test(
			test_numbers__a_host_program_with_a_comma_locale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
