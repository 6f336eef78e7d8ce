/* SPDX-License-Identifier: MIT */
/* Content that a handler made itself: schema.ts ContentBlock and the contents
 * of resources. */
#include "tests/unit/handler/lib/fake.h"

static enum bide_rc adds(struct bide_call *call, void *user)
{
	const struct fake *f = user;

	return bide_add_content(call, fake_json(f->data));
}

static struct fake *with(struct fake *f, const char *block)
{
	f->data = (char *)block;
	return f;
}

/* @why: of the message. */
static void refuses(struct fake *f, const char *block, const char *why)
{
	assert_int_equal(fake_enter(with(f, block)), RUN_ERROR);
	if (strstr(f->result.text.data, why) == NULL)
		fail_msg("%s: %s", block, f->result.text.data);
	fake_free(f);
}

static void takes(struct fake *f, const char *member, const char *block)
{
	char want[512];

	(void)snprintf(want, sizeof(want), "{\"%s\":[%s]}", member, block);
	fake_gives(with(f, block), RUN_COMPLETE, want);
}

#define READ(members)  "{\"uri\":\"t:x\"," members "}"
#define INNER(members) "{\"type\":\"resource\",\"resource\":" READ(members) "}"
#define TEXT(members)  "{\"type\":\"text\",\"text\":\"t\"," members "}"
#define LINK(members)  "{\"type\":\"resource_link\",\"name\":\"n\"," members "}"
#define IMAGE(data)                                                            \
	"{\"type\":\"image\",\"mimeType\":\"a/b\",\"data\":\"" data "\"}"

static const struct {
	const char *members, *why;
} bad_contents[] = {
	{"\"mimeType\":\"a/b\"", "no text or blob"},
	{"\"text\":7", "no text or blob"},
	{"\"text\":\"t\",\"blob\":\"\"", "both text and blob"},
	{"\"text\":\"t\",\"mimeType\":5", "mimeType"},
	{"\"text\":\"t\",\"_meta\":5", "_meta"},
	{"\"blob\":\"!!!\"", "Base64"},
	{"\"blob\":\"YQ\"", "Base64"},
};

static void test_contents__are_checked_where_they_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad_contents) / sizeof(*bad_contents);
	     i++) {
		char block[256];

		(void)snprintf(block, sizeof(block), READ("%s"),
			       bad_contents[i].members);
		refuses(fake_resource(adds), block, bad_contents[i].why);
	}
	refuses(fake_resource(adds), "{\"text\":\"t\"}", "no uri");
	refuses(fake_resource(adds), "{\"uri\":\"not uri\",\"text\":\"t\"}",
		"not absolute");
	takes(fake_resource(adds), "contents",
	      READ("\"mimeType\":\"a/b\",\"blob\":\"YQ==\",\"more\":1"));
}

static void test_contents__are_checked_within_a_block(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad_contents) / sizeof(*bad_contents);
	     i++) {
		char block[256];

		(void)snprintf(block, sizeof(block), INNER("%s"),
			       bad_contents[i].members);
		refuses(fake_of(adds), block, bad_contents[i].why);
	}
	takes(fake_of(adds), "content", INNER("\"blob\":\"\""));
}

static void test_blocks__are_checked(void **state)
{
	(void)state;
	refuses(fake_of(adds), TEXT("\"annotations\":{\"priority\":99}"),
		"annotations");
	refuses(fake_of(adds), TEXT("\"annotations\":[]"), "annotations");
	refuses(fake_of(adds), TEXT("\"_meta\":[]"), "_meta");
	refuses(fake_of(adds), IMAGE("!"), "Base64");
	refuses(fake_of(adds), LINK("\"uri\":\"x\""), "not absolute");
	refuses(fake_of(adds), LINK("\"uri\":\"t:x\",\"title\":1"), "title");
	refuses(fake_of(adds), LINK("\"uri\":\"t:x\",\"size\":\"1\""), "size");
	refuses(fake_of(adds), LINK("\"uri\":\"t:x\",\"icons\":[{}]"), "icons");
	takes(fake_of(adds), "content",
	      TEXT("\"annotations\":{\"priority\":1},\"_meta\":{}"));
	takes(fake_of(adds), "content", IMAGE("YQ=="));
	takes(fake_of(adds), "content",
	      LINK("\"uri\":\"t:x\",\"title\":\"T\",\"size\":1,\"icons\":[]"));
}

/* The functions that make content know what a URI is as well. */
static enum bide_rc adds_text_of(struct bide_call *call, void *user)
{
	const struct fake *f = user;

	return bide_add_resource_text(call, f->data, NULL, "t");
}

static enum bide_rc adds_link_to(struct bide_call *call, void *user)
{
	const struct fake *f = user;

	return bide_add_resource_link(call, f->data, "n", NULL, NULL, NULL);
}

static void test_builders__take_absolute_uris(void **state)
{
	(void)state;
	refuses(fake_resource(adds_text_of), "not uri", "not absolute");
	refuses(fake_of(adds_text_of), "\xff", "not absolute");
	refuses(fake_of(adds_link_to), "x", "not absolute");
}

static enum bide_rc caches_for_nobody(struct bide_call *call, void *user)
{
	(void)user;
	return bide_cache(call, 1, (enum bide_scope)9);
}

static void test_cache__is_for_a_scope_that_is_one(void **state)
{
	(void)state;
	refuses(fake_resource(caches_for_nobody), "", "scope");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_contents__are_checked_where_they_are_read),
		cmocka_unit_test(test_contents__are_checked_within_a_block),
		cmocka_unit_test(test_blocks__are_checked),
		cmocka_unit_test(test_builders__take_absolute_uris),
		cmocka_unit_test(test_cache__is_for_a_scope_that_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
