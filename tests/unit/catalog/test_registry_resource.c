/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/limits.h"
#include "tests/unit/catalog/lib/registering.h"

static enum bide_rc list(struct bide_list *l, void *user)
{
	(void)l;
	(void)user;
	return BIDE_OK;
}

static void refused(void **state, struct bide_resource def, bool template,
		    const char *text)
{
	struct bide_error e = {0};

	assert_int_equal(registry_add_resource(*state, &def, template, &e),
			 BIDE_INVALID);
	says(&e, text);
	assert_int_equal(registry_resources(*state), 0);
	assert_int_equal(registry_templates(*state), 0);
}

static void accepted(void **state, struct bide_resource def, bool template)
{
	struct bide_error e = {0};

	is_accepted(registry_add_resource(*state, &def, template, &e), &e);
}

#define CALLED(u, n, ...)                                                      \
	((struct bide_resource){BIDE_RESOURCE, .uri = u, .name = n,            \
				.handler = nop, __VA_ARGS__})
#define AT(u, ...)    CALLED(u, "n", __VA_ARGS__)
#define FIXED(...)    AT("t://x", __VA_ARGS__)
#define TEMPLATE(...) AT("t://{x}", __VA_ARGS__)

static void test_uri__absolute_and_well_formed(void **state)
{
	static const char *const bad[] = {
		"",        "x",        "/x",       "//h/x",
		"1t:x",    "t",        ":x",       "t x:y",
		"t://a b", "t://a\nb", "t:%",      "t:%4",
		"t:%4g",   "t://a<b",  "t://a\"b", "t://a\\b",
		"t://{a}", "t://a^b",  "t://a`b",  "t://a|b",
		"t:a#b#c", "t://h:8a", "t://[::1", "t://[::g]/",
		"t:a[b]",  "t:\x7f",   "t:\x01",   "t:caf\xc3\xa9"};
	static const char *const good[] = {"t:",
					   "t:x",
					   "t+a-b.c1:x",
					   "file:///etc/motd",
					   "https://u:p@h:8/a",
					   "urn:isbn:0451450523",
					   "t://[::1]:80/",
					   "test://static-text",
					   "t:a?b=c&d#e/f?g",
					   "T:%C3%A9",
					   "mailto:a@b.c",
					   "t:a;b,c=(d)!*'$"};
	char longest[LIMIT_URI_BYTES + 2] = "t:";

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (registry_uri_valid(bad[i]))
			fail_msg("%s was taken", bad[i]);
		assert_null(registry_resource(*state, bad[i], NULL));
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		if (!registry_uri_valid(good[i]))
			fail_msg("%s was not taken", good[i]);
	memset(longest + 2, 'x', LIMIT_URI_BYTES - 1);
	assert_false(registry_uri_valid(longest));
	longest[LIMIT_URI_BYTES] = '\0';
	assert_true(registry_uri_valid(longest));
}

static void test_resource__is_checked(void **state)
{
	refused(state, AT(NULL, .title = NULL), false, "no URI");
	refused(state, AT("", .title = NULL), false, "no URI");
	refused(state, AT("x/y", .title = NULL), false, "absolute");
	refused(state, AT("t://{x}", .title = NULL), false, "absolute");
	refused(state, CALLED("t://x", NULL, .title = NULL), false, "no name");
	refused(state, CALLED("t://x", "", .title = NULL), false, "no name");
	refused(state, CALLED("t://x", "\xff", .title = NULL), false,
		"name is not UTF-8");
	refused(state, FIXED(.title = "\xff"), false, "title");
	refused(state, FIXED(.description = "\xff"), false, "description");
	refused(state, FIXED(.mime_type = "\xff"), false, "mime_type");
	refused(state,
		((struct bide_resource){BIDE_RESOURCE, .uri = "t:x",
					.name = "n"}),
		false, "handler");
	refused(state,
		((struct bide_resource){
			.uri = "t:x", .name = "n", .handler = nop}),
		false, "size");
	refused(state, FIXED(.bytes = -1), false, "bytes");
	refused(state, FIXED(.cache_ms = -1), false, "cache_ms");
	refused(state, FIXED(.scope = (enum bide_scope)7), false, "scope");
	refused(state, FIXED(.needs = 1U << 20), false, "needs");
	refused(state, FIXED(.max_run_ms = -1), false, "max_run_ms");
	refused(state, FIXED(.list = list), false, "list is for templates");
	refused(state, FIXED(.complete = suggest), false,
		"complete is for templates");
	refused(state, FIXED(.icons = "{}"), false, "icons");
}

static void test_template__is_checked(void **state)
{
	refused(state, AT(NULL, .title = NULL), true, "no URI");
	refused(state, AT("t://x", .title = NULL), true, "no variable");
	refused(state, AT("t://{x", .title = NULL), true, "no }");
	refused(state, AT("\xff{x}", .title = NULL), true, "UTF-8");
	refused(state, TEMPLATE(.bytes = 1), true, "bytes");
	refused(state, CALLED("t://{x}", NULL, .title = NULL), true, "no name");
	refused(state,
		((struct bide_resource){BIDE_RESOURCE, .uri = "t:{x}",
					.name = "n"}),
		true, "handler");
	accepted(state, TEMPLATE(.list = list, .complete = suggest), true);
}

/* schema.ts Annotations. */
static void test_annotations__are_checked(void **state)
{
	refused(state, FIXED(.annotations = "[]"), false, "an object");
	refused(state, FIXED(.annotations = "{\"audience\":\"user\"}"), false,
		"audience");
	refused(state, FIXED(.annotations = "{\"audience\":[\"model\"]}"),
		false, "audience");
	refused(state, FIXED(.annotations = "{\"audience\":[1]}"), false,
		"audience");
	refused(state, FIXED(.annotations = "{\"priority\":1.5}"), false,
		"priority");
	refused(state, FIXED(.annotations = "{\"priority\":-0.1}"), false,
		"priority");
	refused(state, FIXED(.annotations = "{\"priority\":\"1\"}"), false,
		"priority");
	refused(state, FIXED(.annotations = "{\"lastModified\":1}"), false,
		"lastModified");
	accepted(state,
		 FIXED(.annotations =
			       "{\"audience\":[\"user\",\"assistant\"],"
			       "\"priority\":1,\"lastModified\":\"2025-01-"
			       "12T15:00:58Z\",\"more\":{}}"),
		 false);
}

/* schema.ts Icon. */
static void test_icons__are_checked(void **state)
{
	refused(state, FIXED(.icons = "[7]"), false, "src");
	refused(state, FIXED(.icons = "[{\"src\":1}]"), false, "src");
	refused(state, FIXED(.icons = "[{\"src\":\"s\",\"sizes\":\"48x48\"}]"),
		false, "sizes");
	refused(state, FIXED(.icons = "[{\"src\":\"s\",\"sizes\":[48]}]"),
		false, "sizes");
	refused(state, FIXED(.icons = "[{\"src\":\"s\",\"theme\":\"blue\"}]"),
		false, "theme");
	refused(state, FIXED(.icons = "[{\"src\":\"s\",\"theme\":1}]"), false,
		"theme");
	refused(state, FIXED(.icons = "[{\"src\":\"s\",\"mimeType\":1}]"),
		false, "mimeType");
	refused(state, FIXED(.icons = "[{\"src\":\"s\"},{}]"), false, "src");
	accepted(state,
		 FIXED(.icons = "[{\"src\":\"data:,\",\"mimeType\":\"image/"
				"png\",\"sizes\":[\"any\"],\"theme\":"
				"\"light\"}]"),
		 false);
}

static const struct resource *found(void **state, const char *uri)
{
	json_t *vars = NULL;
	const struct resource *res = registry_resource(*state, uri, &vars);

	json_decref(vars);
	return res;
}

static void test_listing__has_all_members(void **state)
{
	accepted(state,
		 FIXED(.title = "T", .description = "D", .mime_type = "a/b",
		       .bytes = 12, .annotations = "{\"priority\":\n0.5}",
		       .icons = "[]"),
		 false);
	accepted(state, TEMPLATE(.mime_type = "a/b"), true);
	assert_string_equal(
		found(state, "t://x")->listing,
		"{\"uri\":\"t://x\",\"name\":\"n\",\"title\":\"T\","
		"\"description\":\"D\",\"mimeType\":\"a/b\",\"size\":12,"
		"\"annotations\":{\"priority\": 0.5},\"icons\":[]}");
	assert_string_equal(found(state, "t://y")->listing,
			    "{\"uriTemplate\":\"t://{x}\",\"name\":\"n\","
			    "\"mimeType\":\"a/b\"}");
}

static void test_resource__everything_is_copied(void **state)
{
	char uri[] = "t://gone";
	char name[] = "name";
	int user = 7;
	const struct resource *res = NULL;

	accepted(state,
		 CALLED(uri, name, .user = &user, .mime_type = "text/plain",
			.cache_ms = 5, .scope = BIDE_PUBLIC,
			.needs = BIDE_CAN_SAMPLE, .runs_inline = true),
		 false);
	memset(uri, 0, sizeof(uri));
	memset(name, 0, sizeof(name));
	res = found(state, "t://gone");
	assert_non_null(res);
	assert_string_equal(res->def.name, "name");
	assert_int_equal(res->def.cache_ms, 5);
	assert_int_equal(res->def.scope, BIDE_PUBLIC);
	assert_int_equal(res->target.kind, TARGET_RESOURCE);
	assert_string_equal(res->target.name, "t://gone");
	assert_string_equal(res->target.mime_type, "text/plain");
	assert_ptr_equal(res->target.user, &user);
	assert_int_equal(res->target.needs, BIDE_CAN_SAMPLE);
	assert_true(res->target.runs_inline);
	assert_ptr_equal(target_resource(&res->target), res);
}

static void test_resource__a_fixed_one_comes_before_templates(void **state)
{
	json_t *vars = NULL;

	accepted(state, CALLED("t://{x}", "first", .title = NULL), true);
	accepted(state, CALLED("t://{+y}", "second", .title = NULL), true);
	accepted(state, CALLED("t://x", "fixed", .title = NULL), false);
	assert_string_equal(found(state, "t://x")->def.name, "fixed");
	assert_string_equal(found(state, "t://y")->def.name, "first");
	assert_string_equal(found(state, "t://y/z")->def.name, "second");
	assert_null(found(state, "u://y"));
	assert_null(found(state, "t://y/.."));
	assert_null(found(state, "t://y%"));
	assert_non_null(registry_resource(*state, "t://x", &vars));
	assert_int_equal(json_object_size(vars), 0);
	json_decref(vars);
	vars = NULL;
	assert_non_null(registry_resource(*state, "t://a%20b", &vars));
	assert_string_equal(json_string_value(json_object_get(vars, "x")),
			    "a b");
	json_decref(vars);
}

static void test_template__is_found_by_its_text(void **state)
{
	const struct resource *a = NULL;

	accepted(state, CALLED("t://{x}", "first", .title = NULL), true);
	accepted(state, CALLED("t://{+y}", "second", .title = NULL), true);
	accepted(state, CALLED("t://x", "fixed", .title = NULL), false);
	a = registry_template(*state, "t://{x}");
	assert_non_null(a);
	assert_string_equal(a->def.name, "first");
	assert_true(registry_has_variable(a, "x"));
	assert_false(registry_has_variable(a, "y"));
	assert_string_equal(registry_template(*state, "t://{+y}")->def.name,
			    "second");
	assert_null(registry_template(*state, "t://x"));
	assert_null(registry_template(*state, "t://{z}"));
	assert_false(registry_has_variable(found(state, "t://x"), "x"));
}

static void test_uris__are_taken_once(void **state)
{
	struct bide_resource fixed = FIXED(.title = NULL);
	struct bide_resource template = TEMPLATE(.title = NULL);
	struct bide_error e = {0};

	accepted(state, fixed, false);
	accepted(state, template, true);
	assert_int_equal(registry_add_resource(*state, &fixed, false, &e),
			 BIDE_CONFLICT);
	says(&e, "\"t://x\": the URI is taken");
	assert_int_equal(registry_add_resource(*state, &template, true, &e),
			 BIDE_CONFLICT);
	says(&e, "\"t://{x}\": the URI is taken");
	assert_int_equal(registry_resources(*state), 1);
	assert_int_equal(registry_templates(*state), 1);
}

static void test_registry__says_what_it_has(void **state)
{
	accepted(state, AT("t://{x}", .title = NULL), true);
	assert_false(registry_lists_more(*state));
	assert_false(registry_completes(*state));
	accepted(state, AT("t://{y}", .list = list), true);
	assert_true(registry_lists_more(*state));
	accepted(state, AT("t://{z}", .complete = suggest), true);
	assert_true(registry_completes(*state));
}

static void test_size__of_other_versions(void **state)
{
	struct {
		struct bide_resource r;
		long later;
	} big = {.r = AT("t:big", .title = NULL), .later = 0};
	struct bide_resource small = AT("t:small", .max_run_ms = -5);

	small.size = offsetof(struct bide_resource, max_run_ms);
	accepted(state, small, false);
	big.r.size = sizeof(big);
	assert_int_equal(registry_add_resource(*state, &big.r, false, NULL),
			 BIDE_OK);
	big.later = 1;
	assert_int_equal(registry_add_resource(*state, &big.r, false, NULL),
			 BIDE_INVALID);
}

static void test_resources__have_a_ceiling(void **state)
{
	char uri[32];
	struct bide_resource def = AT(uri, .title = NULL);

	for (int i = 0; i < LIMIT_RESOURCES; i++) {
		(void)snprintf(uri, sizeof(uri), "t:%d", i);
		accepted(state, def, false);
	}
	(void)snprintf(uri, sizeof(uri), "t:more");
	assert_int_equal(registry_add_resource(*state, &def, false, NULL),
			 BIDE_LIMIT);
	/* Templates are counted by themselves. */
	accepted(state, TEMPLATE(.title = NULL), true);
	assert_non_null(found(state, "t:4095"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_uri__absolute_and_well_formed),
		T(test_resource__is_checked),
		T(test_template__is_checked),
		T(test_annotations__are_checked),
		T(test_icons__are_checked),
		T(test_listing__has_all_members),
		T(test_resource__everything_is_copied),
		T(test_resource__a_fixed_one_comes_before_templates),
		T(test_template__is_found_by_its_text),
		T(test_uris__are_taken_once),
		T(test_registry__says_what_it_has),
		T(test_size__of_other_versions),
		T(test_resources__have_a_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
