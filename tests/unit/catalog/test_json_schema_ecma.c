/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/limits.h"
#include "server/catalog/json_schema_pattern.h"

static bool matches(const char *pattern, const char *s)
{
	size_t steps = LIMIT_VALIDATION_STEPS;
	struct pattern_limits limits = {0};
	struct schema_pattern p = {0};
	enum pattern_match m;
	char why[160] = "";

	assert_true(pattern_limits_init(&limits));
	if (pattern_compile(&p, pattern, strlen(pattern), why, sizeof(why)) !=
	    PATTERN_OK)
		fail_msg("%s: %s", pattern, why);
	m = pattern_match(&p, &limits, s, strlen(s), &steps);
	assert_int_not_equal(m, MATCH_LIMIT);
	assert_true(steps < LIMIT_VALIDATION_STEPS);
	pattern_fini(&p);
	pattern_limits_fini(&limits);
	return m == MATCH_YES;
}

static void hits(const char *pattern, const char *s)
{
	if (!matches(pattern, s))
		fail_msg("/%s/ does not match \"%s\"", pattern, s);
}

static void misses(const char *pattern, const char *s)
{
	if (matches(pattern, s))
		fail_msg("/%s/ matches \"%s\"", pattern, s);
}

static void refused(const char *pattern, const char *want)
{
	struct schema_pattern p = {0};
	char why[160] = "";

	if (pattern_compile(&p, pattern, strlen(pattern), why, sizeof(why)) !=
	    PATTERN_BAD)
		fail_msg("/%s/ is taken", pattern);
	if (!strstr(why, want))
		fail_msg("/%s/: \"%s\" is not in \"%s\"", pattern, want, why);
	assert_null(p.code);
}

static void test_ecma__anchors_and_dot(void **state)
{
	(void)state;
	misses("^abc$", "abc\n");
	misses("^abc$", "x\nabc\ny");
	misses("^.$", "\n");
	misses("^.$", "\r");
	misses("^.$", "\xe2\x80\xa8");   /* U+2028 */
	hits("^.$", "\xf0\x9f\x90\xb2"); /* one code point */
	hits("", "");
	hits("a|", "b");
}

static void test_ecma__classes_are_ascii_save_for_space(void **state)
{
	(void)state;
	misses("^\\d$", "\xe0\xa7\xaa");
	misses("^[\\d]$", "\xe0\xa7\xaa");
	hits("^[^\\d]$", "\xe0\xa7\xaa");
	misses("^\\w$", "\xc3\xa9");
	hits("^\\s[\\s]$", "\xef\xbb\xbf\xc2\xa0");
	hits("^[\\S]\\S$", "\xc3\xa9\xe2\x80\x93");
	misses("^[\\S]$", "\xe3\x80\x80");
	misses("^[^\\s]$", "\xe3\x80\x80");
	hits("^[\\s-x]+$", " -x");
	misses("^[\\s-x]+$", "y");
	hits("^[\\w.-]+$", "a.b-c");
	hits("^[[:alpha:]]$", ":]");
	misses("^[[:alpha:]]$", "b");
	hits("^[^]$", "\n");
	misses("[]", "a");
	hits("\\bfoo\\b", "a foo b");
	hits("^[\\b]$", "\b");
}

static void test_ecma__escapes(void **state)
{
	(void)state;
	hits("^\\u0041\\u{1F432}\\x42$", "A\xf0\x9f\x90\xb2"
					 "B");
	hits("^\\ud83d\\udc32*$", "\xf0\x9f\x90\xb2\xf0\x9f\x90\xb2");
	hits("^\\v\\f\\t\\n\\r$", "\v\f\t\n\r");
	hits("^\\cA\\ca$", "\x01\x01");
	hits("^\\/\\-\\@\\_\\ \\.$", "/-@_ .");
	hits("^(a)(b)\\2\\1$", "abba");
	hits("^(?:(a)|b)\\1$", "b"); /* a group that took no part is empty */
	hits("^(?<x>a)\\k<x>$", "aa");
	hits("^\\p{Lu}\\p{Letter}\\P{L}$", "\xc3\x89\xc3\xa9"
					   "1");
	hits("^\\p{Script=Greek}\\p{sc=Latin}\\p{gc=Nd}$", "\xce\xb1"
							   "a1");
	hits("^[\\p{Letter}\\d]+$", "\xc3\xa9"
				    "1");
	hits("^a{,2}$", "a{,2}");
	hits("^{x}]$", "{x}]");
	hits("^a{2}b{1,}c{0,1}?$", "aabb");
	hits("^(?=a)(?!b)a(?<=a)(?<!b)$", "a");
	hits("^#\\s x$", "#  x");
}

static void test_ecma__refuses_what_only_perl_knows(void **state)
{
	(void)state;
	refused("\\Aabc", "\\A is not an escape");
	refused("abc\\Z", "\\Z is not an escape");
	refused("\\h", "\\h is not an escape");
	refused("\\Qa\\E", "\\Q is not an escape");
	refused("\\C", "\\C is not an escape");
	refused("[\\B]", "\\B is not an escape");
	refused("(?i)a", "ECMA-262 does not know");
	refused("(?>a)", "ECMA-262 does not know");
	refused("(?#a)", "ECMA-262 does not know");
	refused("(?P<n>a)", "ECMA-262 does not know");
	refused("(*UTF)a", "nothing to repeat before *");
	refused("(*NO_JIT)", "nothing to repeat before *");
	refused("a++", "nothing to repeat before +");
	refused("a{1}+", "nothing to repeat before +");
	refused("^*", "nothing to repeat before *");
	refused("(?:*)", "nothing to repeat before *");
}

static void test_ecma__refuses_what_is_malformed(void **state)
{
	(void)state;
	refused("\\", "ends with a backslash");
	refused("[a", "is not closed");
	refused("(a", "closing parenthesis");
	refused("a)", "unmatched closing parenthesis");
	refused("[z-a]", "range out of order");
	refused("\\u12", "four hex digits");
	refused("\\u{110000}", "code point");
	refused("\\u{}", "code point");
	refused("\\u{1", "code point");
	refused("\\ud800", "surrogate");
	refused("\\ud800\\u0041", "surrogate");
	refused("\\xZ", "two hex digits");
	refused("\\p{No-Such}", "is not a property");
	refused("\\p{Nosuch}", "unknown property");
	refused("\\pL", "followed by {Property}");
	refused("\\1", "non-existent");
	refused("\\k<a", "followed by <name>");
	refused("\\01", "not an escape");
	refused("\\c1", "followed by a letter");
	refused("\\\xc3\xa9", "not an escape");
	refused("(((((a{999}){999}){999}){999}){999})", "");
}

static void test_pattern__has_ceilings(void **state)
{
	struct schema_pattern p = {0};
	char *text = calloc(1, LIMIT_PATTERN_BYTES + 2);
	char why[160] = "";

	(void)state;
	memset(text, 'a', LIMIT_PATTERN_BYTES + 1);
	assert_int_equal(pattern_compile(&p, text, LIMIT_PATTERN_BYTES + 1, why,
					 sizeof(why)),
			 PATTERN_BAD);
	assert_non_null(strstr(why, "longer than"));
	/* The longest translation of the longest pattern has room. */
	memset(text, '.', LIMIT_PATTERN_BYTES);
	for (size_t i = 0; i + 1 < LIMIT_PATTERN_BYTES; i += 2)
		memcpy(text + i, "\\S", 2);
	assert_int_not_equal(pattern_compile(&p, text, LIMIT_PATTERN_BYTES, why,
					     sizeof(why)),
			     PATTERN_NOMEM);
	pattern_fini(&p);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ecma__anchors_and_dot),
		cmocka_unit_test(test_ecma__classes_are_ascii_save_for_space),
		cmocka_unit_test(test_ecma__escapes),
		cmocka_unit_test(test_ecma__refuses_what_only_perl_knows),
		cmocka_unit_test(test_ecma__refuses_what_is_malformed),
		cmocka_unit_test(test_pattern__has_ceilings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
