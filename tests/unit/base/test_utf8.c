/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "server/base/utf8.h"

/* RFC 3629 by its definition: encode every code point, nothing else is one. */
static size_t encode(uint32_t c, char out[4])
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xC0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3F));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xE0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3F));
		out[2] = (char)(0x80 | (c & 0x3F));
		return 3;
	}
	out[0] = (char)(0xF0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3F));
	out[2] = (char)(0x80 | (c >> 6 & 0x3F));
	out[3] = (char)(0x80 | (c & 0x3F));
	return 4;
}

static void test_sequence__every_code_point_but_surrogates(void **state)
{
	char s[4];
	size_t n;
	size_t want;

	(void)state;
	for (uint32_t c = 0; c < 0x120000; c++) {
		n = encode(c, s);
		want = (c >= 0xD800 && c <= 0xDFFF) || c > 0x10FFFF ? 0 : n;
		if (utf8_sequence(s, n) != want)
			fail_msg("U+%X", c);
		if (n > 1 && utf8_sequence(s, n - 1) != 0)
			fail_msg("U+%X, cut", c);
	}
}

/* Every text of three bytes: as many are valid as there are code points. */
static void test_sequence__no_other_three_bytes(void **state)
{
	unsigned int two = 0;
	unsigned int three = 0;
	char s[3];
	size_t n;

	(void)state;
	for (uint32_t v = 0x800000; v <= 0xFFFFFF; v++) {
		s[0] = (char)(v >> 16);
		s[1] = (char)(v >> 8);
		s[2] = (char)v;
		n = utf8_sequence(s, 3);
		two += n == 2;
		three += n == 3;
	}
	assert_int_equal(two, (0x800 - 0x80) * 256);
	assert_int_equal(three, 0x10000 - 0x800 - 0x800);
}

static void test_valid__wherever_the_fault_stands(void **state)
{
	char s[32];

	(void)state;
	memset(s, 'a', sizeof(s));
	assert_true(utf8_valid(s, sizeof(s)));
	for (size_t i = 0; i < sizeof(s); i++) {
		s[i] = (char)0xFF;
		assert_false(utf8_valid(s, sizeof(s)));
		assert_int_equal(utf8_prefix(s, sizeof(s)), i);
		s[i] = 'a';
	}
	assert_true(utf8_valid("", 0));
	assert_true(utf8_valid("a\0b", 3));
	assert_false(utf8_valid("\xF0\x9F\x98", 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_sequence__every_code_point_but_surrogates),
		cmocka_unit_test(test_sequence__no_other_three_bytes),
		cmocka_unit_test(test_valid__wherever_the_fault_stands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
