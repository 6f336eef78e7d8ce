/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "server/catalog/uri.h"

static void resolves(const char *base, const char *ref, const char *want)
{
	char *uri = uri_resolve(base, ref);

	assert_non_null(uri);
	assert_string_equal(uri, want);
	free(uri);
}

/* RFC 3986, 5.4.1 and 5.4.2 */
static void test_uri__resolves_as_the_rfc_says(void **state)
{
	static const char *const cases[][2] = {
		{"g:h", "g:h"},
		{"g", "http://a/b/c/g"},
		{"./g", "http://a/b/c/g"},
		{"g/", "http://a/b/c/g/"},
		{"/g", "http://a/g"},
		{"//g", "http://g"},
		{"?y", "http://a/b/c/d;p?y"},
		{"g?y", "http://a/b/c/g?y"},
		{"#s", "http://a/b/c/d;p?q#s"},
		{"g#s", "http://a/b/c/g#s"},
		{"g?y#s", "http://a/b/c/g?y#s"},
		{";x", "http://a/b/c/;x"},
		{"", "http://a/b/c/d;p?q"},
		{".", "http://a/b/c/"},
		{"./", "http://a/b/c/"},
		{"..", "http://a/b/"},
		{"../", "http://a/b/"},
		{"../g", "http://a/b/g"},
		{"../..", "http://a/"},
		{"../../g", "http://a/g"},
		{"../../../g", "http://a/g"},
		{"/./g", "http://a/g"},
		{"/../g", "http://a/g"},
		{"g.", "http://a/b/c/g."},
		{"..g", "http://a/b/c/..g"},
		{"./../g", "http://a/b/g"},
		{"./g/.", "http://a/b/c/g/"},
		{"g/./h", "http://a/b/c/g/h"},
		{"g/../h", "http://a/b/c/h"},
		{"g;x=1/../y", "http://a/b/c/y"},
		{"g?y/../x", "http://a/b/c/g?y/../x"},
		{"g#s/../x", "http://a/b/c/g#s/../x"},
		{"http:g", "http:g"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		resolves("http://a/b/c/d;p?q", cases[i][0], cases[i][1]);
}

static void test_uri__resolves_without_a_base(void **state)
{
	(void)state;
	resolves("", "#/a", "#/a");
	resolves("", "x/y", "x/y");
	resolves("x/y", "z#f", "x/z#f");
	resolves("urn:uuid:1", "#f", "urn:uuid:1#f");
	resolves("http://a", "b", "http://a/b");
	resolves("", "", "");
}

static void test_uri__cuts_and_decodes_fragments(void **state)
{
	char uri[] = "http://a#/b%20c";
	char bad[] = "%4";
	char nul[] = "a%00";
	char *fragment = uri_cut_fragment(uri);

	(void)state;
	assert_string_equal(uri, "http://a");
	assert_true(uri_decode(fragment));
	assert_string_equal(fragment, "/b c");
	assert_string_equal(uri_cut_fragment(uri), "");
	assert_false(uri_decode(bad));
	assert_false(uri_decode(nul));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uri__resolves_as_the_rfc_says),
		cmocka_unit_test(test_uri__resolves_without_a_base),
		cmocka_unit_test(test_uri__cuts_and_decodes_fragments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
