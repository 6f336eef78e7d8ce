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
#include "server/base/utf8.h"
#include "server/catalog/uri.h"
#include "server/catalog/uri_template.h"

static struct uri_template *made(const char *text)
{
	struct uri_template *t = NULL;
	struct bide_error e = {0};

	if (uri_template_new(text, &t, &e) != BIDE_OK)
		fail_msg("%s: %s", text, e.text);
	return t;
}

static void refused(const char *text, enum bide_rc rc, const char *says)
{
	struct uri_template *t = NULL;
	struct bide_error e = {0};

	assert_int_equal(uri_template_new(text, &t, &e), rc);
	assert_null(t);
	if (strstr(e.text, says) == NULL)
		fail_msg("%s: \"%s\" does not say \"%s\"", text, e.text, says);
}

/* @want: "name=value" pairs, parted by "|"; NULL: no match. */
static void match_is(const char *text, const char *uri, const char *want)
{
	struct uri_template *t = made(text);
	json_t *vars = NULL;
	const char *name = NULL;
	json_t *value = NULL;
	char got[512] = "";
	enum bide_rc rc = uri_template_match(t, uri, &vars);

	json_object_foreach (vars, name, value)
		(void)snprintf(got + strlen(got), sizeof(got) - strlen(got),
			       "%s%s=%s", *got ? "|" : "", name,
			       json_string_value(value));
	if (rc != (want ? BIDE_OK : BIDE_NOT_FOUND) ||
	    strcmp(got, want ? want : "") != 0)
		fail_msg("%s against %s: %d, \"%s\"", uri, text, (int)rc, got);
	json_decref(vars);
	uri_template_free(t);
}

static void test_template__what_is_none(void **state)
{
	char many[1024] = "t://x";

	(void)state;
	refused("t://x", BIDE_INVALID, "no variable");
	refused("t://{a", BIDE_INVALID, "no }");
	refused("t://{}", BIDE_INVALID, "neither");
	refused("t://{+}", BIDE_INVALID, "neither");
	refused("t://{a,b}", BIDE_INVALID, "neither");
	refused("t://{a*}", BIDE_INVALID, "neither");
	refused("t://{a:3}", BIDE_INVALID, "neither");
	refused("t://x{?a}", BIDE_INVALID, "neither");
	refused("t://x{#a}", BIDE_INVALID, "neither");
	refused("t://{a-b}", BIDE_INVALID, "neither");
	refused("t://{a{b}}", BIDE_INVALID, "neither");
	refused("t://{a}{b}", BIDE_INVALID, "between");
	refused("t://{a}{+b}", BIDE_INVALID, "between");
	refused("t://{a}/{a}", BIDE_INVALID, "named \"a\"");
	refused("t://{a}/{+a}", BIDE_INVALID, "named \"a\"");
	refused("{a}", BIDE_INVALID, "absolute");
	refused("{a}://x", BIDE_INVALID, "absolute");
	refused("x{a}:y", BIDE_INVALID, "absolute");
	refused("/x/{a}", BIDE_INVALID, "absolute");
	refused("", BIDE_INVALID, "absolute");
	refused("t://{a}/%zz", BIDE_INVALID, "absolute");
	refused("t://{a}/%4", BIDE_INVALID, "absolute");
	refused("t://{a}/b c", BIDE_INVALID, "absolute");
	refused("t://{a}/}", BIDE_INVALID, "absolute");
	refused("t://{a}/caf\xc3\xa9", BIDE_INVALID, "absolute");
	refused("t:%{a}0", BIDE_INVALID, "within an escape");
	refused("t:%2{a}", BIDE_INVALID, "within an escape");
	refused("t:x%{a}0/{b}", BIDE_INVALID, "within an escape");
	refused("t:x/{b}%2{a}", BIDE_INVALID, "within an escape");
	refused("t:/../{a}", BIDE_INVALID, "\"..\"");
	refused("t:./{a}", BIDE_INVALID, "\"..\"");
	refused("t://h/{a}/..", BIDE_INVALID, "\"..\"");
	refused("t://h/./{a}", BIDE_INVALID, "\"..\"");
	refused("t://h/{a}/..?b#c", BIDE_INVALID, "\"..\"");
	refused("t://{a}/.#c", BIDE_INVALID, "\"..\"");
	for (int i = 0; i <= LIMIT_TEMPLATE_VARIABLES; i++)
		(void)snprintf(many + strlen(many), sizeof(many) - strlen(many),
			       "/{v%d}", i);
	refused(many, BIDE_LIMIT, "LIMIT_TEMPLATE_VARIABLES");
	*strrchr(many, '/') = '\0';
	uri_template_free(made(many));
}

static void test_template__what_only_looks_as_if_it_were_none(void **state)
{
	static const char *const good[] = {
		"t:%20{a}%41",   "t:{a}%20",     "t://h/.{a}",   "t://h/{a}..",
		"t:/{a}.../",    "t://h/...{a}", "t://../x/{a}", "t:?/../{a}",
		"t://h#/../{a}", "t:{a}?..",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		uri_template_free(made(good[i]));
}

static void test_template__knows_its_variables(void **state)
{
	struct uri_template *t = made("t://x/{a.b_1}/{+rest}");

	(void)state;
	assert_true(uri_template_has(t, "a.b_1"));
	assert_true(uri_template_has(t, "rest"));
	assert_false(uri_template_has(t, "+rest"));
	assert_false(uri_template_has(t, "t://x/"));
	assert_false(uri_template_has(t, ""));
	uri_template_free(t);
}

static void test_match__finds_the_values(void **state)
{
	(void)state;
	match_is("test://template/{id}/data", "test://template/123/data",
		 "id=123");
	match_is("test://template/{id}/data", "test://template//data", NULL);
	match_is("test://template/{id}/data", "test://template/a/b/data", NULL);
	match_is("test://template/{id}/data", "test://template/1/data/", NULL);
	match_is("test://template/{id}/data", "test://template/1/Data", NULL);
	match_is("test://template/{id}/data", "test://template/1", NULL);
	match_is("t:{a}", "t:x", "a=x");
	match_is("t:{a}", "t:", NULL);
	match_is("t:{a}", "u:x", NULL);
	match_is("t:{+a}", "t:x/y/z", "a=x/y/z");
	match_is("t:{+a}", "t:x/", "a=x/");
	match_is("t://h:{port}/", "t://h:80/", "port=80");
	match_is("t:{a}#{b}", "t:x?q#y", "a=x?q|b=y");
}

static void test_match__the_first_takes_as_much_as_it_can(void **state)
{
	(void)state;
	match_is("f:{+path}.{ext}", "f:a/b.c.txt", "path=a/b.c|ext=txt");
	match_is("t:{a}-{b}", "t:1-2-3", "a=1-2|b=3");
	match_is("t:{a}-{b}", "t:1--", "a=1|b=-");
	match_is("t:{a}-{b}", "t:--", NULL);
	match_is("t:{a}-{b}", "t:---", "a=-|b=-");
	match_is("t:{+a}-{b}", "t:a-b/c-d", "a=a-b/c|b=d");
	match_is("t:{+a}-{b}", "t:a-b/c", NULL);
	match_is("t:{a}aa{b}", "t:aaaa", "a=a|b=a");
	match_is("t:{+a}/{+b}", "t:x/y/z", "a=x/y|b=z");
}

static void test_match__decodes_values(void **state)
{
	(void)state;
	match_is("t:{a}", "t:caf%C3%A9", "a=caf\xc3\xa9");
	match_is("t:{a}", "t:%61%20b", "a=a b");
	match_is("t:{a}", "t:%2541", "a=%41");
	match_is("t:{a}", "t:%C3", NULL);
	match_is("t:{a}", "t:%ff", NULL);
	match_is("t:{a}", "t:%C0%AF", NULL);
	match_is("t:{a}", "t:x%00", NULL);
	match_is("t:{+a}", "t:x%00y", NULL);
	/* An escape is one character: no literal begins within it. */
	match_is("t:{a}2F", "t:%2F", NULL);
	match_is("t:{a}1", "t:%41", NULL);
	match_is("t:{a}1", "t:%411", "a=A");
	match_is("t:%20{a}", "t:%20x", "a=x");
	match_is("t:%20{a}", "t: x", NULL);
}

/* S66; server/resources "Security Considerations" 5. */
static void test_match__no_path_climbs(void **state)
{
	static const char *const bad[] = {
		"file:///srv/..",
		"file:///srv/.",
		"file:///srv/../etc/passwd",
		"file:///srv/a/../../etc/passwd",
		"file:///srv/a/..",
		"file:///srv/a/./b",
		"file:///srv/%2e%2e/etc/passwd",
		"file:///srv/%2E./etc/passwd",
		"file:///srv/.%2e/etc/passwd",
		"file:///srv/..%2Fetc%2Fpasswd",
		"file:///srv/..%2fetc/passwd",
		"file:///srv/a%2F..%2F..%2Fetc%2Fpasswd",
		"file:///srv/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
		"file:///srv/a%2f%2e%2e",
		"file:///srv/%2e",
		"file:///srv//etc/passwd",
		"file:///srv/%2Fetc/passwd",
		"file:///srv/%2fetc%2fpasswd",
		"file:///srv/ok%00/../x",
		"file:///srv/%00",
		"file:///srv/x%00.txt",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		match_is("file:///srv/{name}", bad[i], NULL);
		match_is("file:///srv/{+path}", bad[i], NULL);
	}
	match_is("file:///srv/{name}", "file:///srv/a%2Fb", NULL);
	match_is("file:///srv/{name}", "file:///srv/%2F", NULL);
	match_is("file:///srv/.{+path}", "file:///srv/../etc", NULL);
	match_is("file:///srv/.{+path}", "file:///srv/./../etc", NULL);
	match_is("file:///srv/{a}.{b}", "file:///srv/...", NULL);
}

static void test_match__what_only_looks_like_climbing(void **state)
{
	(void)state;
	match_is("file:///srv/{+path}", "file:///srv/...", "path=...");
	match_is("file:///srv/{+path}", "file:///srv/..a/b..", "path=..a/b..");
	match_is("file:///srv/{+path}", "file:///srv/.git/x", "path=.git/x");
	match_is("file:///srv/{+path}", "file:///srv/a//b", "path=a//b");
	match_is("file:///srv/{name}", "file:///srv/%252e%252e", "name=%2e%2e");
	/* The template points at the root itself. */
	match_is("file://{+path}", "file:///etc/motd", "path=/etc/motd");
	match_is("file://{+path}", "file:///etc/../x", NULL);
}

/* ---- against every way of splitting ---- */

/* The next character of a variable; NULL: none such. */
static const char *one_char(const char *s, bool path)
{
	char byte = *s;

	if (byte == '%') {
		char code[3] = {s[1], s[2], '\0'};

		byte = (char)strtoul(code, NULL, 16);
	}
	if (byte == '\0' || (byte == '/' && !path))
		return NULL;
	return s + (*s == '%' ? 3 : 1);
}

/* Does @t match @s? The ends of the variables, in order, in @ends. */
static bool try_all(const char *t, const char *s, const char **ends)
{
	bool path = t[0] == '{' && t[1] == '+';
	const char *end = s;
	const char *longest = NULL;

	if (*t == '\0')
		return *s == '\0';
	if (*t != '{')
		return *t == *s && try_all(t + 1, s + 1, ends);
	for (end = one_char(s, path); end; end = one_char(end, path))
		if (try_all(strchr(t, '}') + 1, end, ends + 1))
			longest = end;
	if (!longest)
		return false;
	*ends = longest;
	return try_all(strchr(t, '}') + 1, longest, ends + 1);
}

/* "/../x" has one behind a slash. */
static bool climbs(const char *value)
{
	char framed[256];

	(void)snprintf(framed, sizeof(framed), "/%s/", value);
	return strstr(framed, "/./") || strstr(framed, "/../");
}

/* The same as uri_template_match(), slowly; an object or NULL. */
static json_t *reference(const char *text, const char *uri)
{
	const char *ends[8] = {uri, uri, uri, uri, uri, uri, uri, uri};
	json_t *vars = json_object();
	const char *s = uri;
	size_t n = 0;

	if (!try_all(text, uri, ends))
		goto none;
	for (const char *t = text; *t; t++) {
		char name[16] = "";
		char value[256] = "";
		bool behind_slash = t > text && t[-1] == '/' &&
				    strncmp(t - 3, "://", 3) != 0;
		bool behind_other = t > text && t[-1] != '/';

		if (*t != '{') {
			s++;
			continue;
		}
		(void)sscanf(t + 1 + (t[1] == '+'), "%15[^}]", name);
		(void)snprintf(value, sizeof(value), "%.*s", (int)(ends[n] - s),
			       s);
		if (!uri_decode(value) || !utf8_valid(value, strlen(value)) ||
		    climbs(value) ||
		    (*value == '/' && (behind_slash || behind_other)))
			goto none;
		json_object_set_new(vars, name, json_string(value));
		s = ends[n++];
		t = strchr(t, '}');
	}
	return vars;
none:
	json_decref(vars);
	return NULL;
}

static void glue(char *out, size_t cap, const char *const *pieces, size_t n,
		 int most)
{
	for (int i = 0; i < most; i++)
		(void)snprintf(out + strlen(out), cap - strlen(out), "%s",
			       pieces[(size_t)lrand48() % n]);
}

static void test_match__is_what_trying_all_ways_finds(void **state)
{
	static const char *const literals[] = {"/", "-", ".", "a", "//", "%2e"};
	static const char *const chars[] = {"a",   "a",   "b",   "/",     "-",
					    ".",   "..",  "/",   "%2F",   "%2e",
					    "%00", "%41", "%C3", "%C3%A9"};
	size_t matched = 0;
	struct uri_template *t = NULL;

	(void)state;
	srand48(20260728);
	for (int round = 0; round < 60000; round++) {
		char text[128] = "a:";
		char uri[128] = "a:";
		int vars = 1 + (int)(lrand48() % 3);
		json_t *want = NULL;
		json_t *got = NULL;
		enum bide_rc rc;

		if (lrand48() % 4 == 0)
			strcpy(text, strcpy(uri, "a://"));
		for (int v = 0; v < vars; v++) {
			if (v > 0)
				glue(text, sizeof(text), literals, 6,
				     1 + (int)(lrand48() % 2));
			(void)snprintf(text + strlen(text), 16, "{%sv%d}",
				       lrand48() % 2 ? "+" : "", v);
		}
		if (lrand48() % 2)
			glue(text, sizeof(text), literals, 6, 1);
		glue(uri, sizeof(uri), chars, sizeof(chars) / sizeof(*chars),
		     (int)(lrand48() % 10));
		if (uri_template_new(text, &t, NULL) != BIDE_OK)
			continue; /* "a://-//x:" and its like */
		want = reference(text, uri);
		rc = uri_template_match(t, uri, &got);
		if (rc != (want ? BIDE_OK : BIDE_NOT_FOUND) ||
		    (want && !json_equal(want, got)))
			fail_msg("%s against %s: %d", uri, text, (int)rc);
		matched += want != NULL;
		json_decref(want);
		json_decref(got);
		uri_template_free(t);
	}
	assert_true(matched > 1000);
}

/* Any bytes at all, most of which registry.c would not let through. */
static void test_match__survives_any_bytes(void **state)
{
	struct uri_template *t = made("a:/{x}%20{+y}/{z}.");
	json_t *vars = NULL;
	char uri[64];

	(void)state;
	srand48(1);
	for (int round = 0; round < 20000; round++) {
		size_t len = (size_t)lrand48() % (sizeof(uri) - 3);

		memcpy(uri, "a:/", 3);
		for (size_t i = 3; i < len; i++)
			uri[i] = lrand48() % 3 ? "%20/."[lrand48() % 5]
					       : (char)(lrand48() % 255 + 1);
		uri[len < 3 ? 3 : len] = '\0';
		vars = NULL;
		if (uri_template_match(t, uri, &vars) == BIDE_OK)
			assert_int_equal(json_object_size(vars), 3);
		json_decref(vars);
	}
	uri_template_free(t);
}

/* The worst that regular expressions know: many variables, a long URI, and no
 * match. Try all ways here, and the test does not end. */
static void test_match__a_hostile_uri_costs_little(void **state)
{
	char *uri = malloc(LIMIT_URI_BYTES + 2);
	char text[512] = "t:{+v0}";
	struct uri_template *t = NULL;

	(void)state;
	assert_non_null(uri);
	memset(uri, 'a', LIMIT_URI_BYTES + 1);
	memcpy(uri, "t:", 2);
	uri[LIMIT_URI_BYTES] = '\0';
	for (int i = 1; i < LIMIT_TEMPLATE_VARIABLES; i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
			       "a{+v%d}", i);
	(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "b");
	t = made(text);
	for (int i = 0; i < 20; i++)
		assert_int_equal(uri_template_match(t, uri, NULL),
				 BIDE_NOT_FOUND);
	uri[LIMIT_URI_BYTES - 1] = 'b';
	assert_int_equal(uri_template_match(t, uri, NULL), BIDE_OK);
	/* Longer than any URI may be. */
	uri[LIMIT_URI_BYTES - 1] = 'a';
	uri[LIMIT_URI_BYTES] = 'b';
	uri[LIMIT_URI_BYTES + 1] = '\0';
	assert_int_equal(uri_template_match(t, uri, NULL), BIDE_NOT_FOUND);
	uri_template_free(t);
	free(uri);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_template__what_is_none),
		cmocka_unit_test(
			test_template__what_only_looks_as_if_it_were_none),
		cmocka_unit_test(test_template__knows_its_variables),
		cmocka_unit_test(test_match__finds_the_values),
		cmocka_unit_test(test_match__the_first_takes_as_much_as_it_can),
		cmocka_unit_test(test_match__decodes_values),
		cmocka_unit_test(test_match__no_path_climbs),
		cmocka_unit_test(test_match__what_only_looks_like_climbing),
		cmocka_unit_test(test_match__is_what_trying_all_ways_finds),
		cmocka_unit_test(test_match__survives_any_bytes),
		cmocka_unit_test(test_match__a_hostile_uri_costs_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
