/* SPDX-License-Identifier: MIT */
/* How large a page of a list may become, and whose fault a list's end is. */
#include <stdio.h>
#include <stdlib.h>

#include "server/base/buf.h"
#include "server/base/limits.h"
#include "server/security/keyring.h"
#include "tests/unit/catalog/lib/registering.h"

static int setup_keys(void **state)
{
	return security_init() ? setup(state) : -1;
}

static char *text_of(size_t n)
{
	char *s = malloc(n + 1);

	assert_non_null(s);
	memset(s, 'd', n);
	s[n] = '\0';
	return s;
}

struct page {
	enum bide_rc rc;
	size_t n, bytes;
	char next[REGISTRY_CURSOR_BYTES];
};

static struct page page_of(const struct registry *r, enum registry_list which,
			   const char *cursor)
{
	const struct registry_reader reader = {.principal = "kim"};
	struct page p = {0};
	struct buf b = {0};

	p.rc = registry_page(r, which, &reader, cursor, &b, p.next);
	p.bytes = b.len;
	for (const char *s = b.data; s && (s = strstr(s, "\"name\":")); s++)
		p.n++;
	buf_fini(&b);
	return p;
}

/* ---- what does not change ---- */
static enum bide_rc add_each(struct registry *r, int i, const char *about,
			     struct bide_error *err)
{
	char name[32];
	const struct bide_tool t = {BIDE_TOOL, .name = name, .handler = nop,
				    .description = about};
	const struct bide_prompt p = {BIDE_PROMPT, .name = name, .handler = nop,
				      .description = about};
	const struct bide_resource x = {BIDE_RESOURCE, .uri = name, .name = "n",
					.handler = nop, .description = about};
	struct bide_resource y = x;
	char uri[40];
	enum bide_rc rc;

	(void)snprintf(name, sizeof(name), "x%d", i);
	rc = registry_add_tool(r, &t, false, err);
	if (registry_add_prompt(r, &p, err) != rc)
		fail_msg("a prompt is not as a tool");
	(void)snprintf(name, sizeof(name), "x:%d", i);
	if (registry_add_resource(r, &x, false, err) != rc)
		fail_msg("a resource is not as a tool");
	(void)snprintf(uri, sizeof(uri), "x:%d/{y}", i);
	y.uri = uri;
	if (registry_add_resource(r, &y, true, err) != rc)
		fail_msg("a template is not as a tool");
	return rc;
}

static const enum registry_list lists[] = {REGISTRY_TOOLS, REGISTRY_PROMPTS,
					   REGISTRY_RESOURCES,
					   REGISTRY_TEMPLATES};

static void test_page__of_large_entries_ends_early(void **state)
{
	char *about = text_of(LIMIT_PAGE_BYTES / 3);

	for (int i = 0; i < 5; i++)
		assert_int_equal(add_each(*state, i, about, NULL), BIDE_OK);
	free(about);
	for (size_t l = 0; l < 4; l++) {
		char cursor[REGISTRY_CURSOR_BYTES] = "";
		size_t n = 0;

		do {
			struct page p = page_of(*state, lists[l],
						*cursor ? cursor : NULL);

			assert_int_equal(p.rc, BIDE_OK);
			assert_in_range(p.n, 1, 2);
			assert_true(p.bytes <= LIMIT_PAGE_BYTES);
			n += p.n;
			memcpy(cursor, p.next, sizeof(cursor));
		} while (*cursor);
		assert_int_equal(n, 5);
	}
}

static void test_entry__larger_than_a_page_is_refused(void **state)
{
	char *about = text_of(LIMIT_PAGE_BYTES);
	struct bide_error err = {0};

	assert_int_equal(add_each(*state, 1, about, &err), BIDE_LIMIT);
	says(&err, "LIMIT_PAGE_BYTES");
	about[LIMIT_PAGE_BYTES - 1000] = '\0';
	assert_int_equal(add_each(*state, 1, about, &err), BIDE_OK);
	for (size_t l = 0; l < 4; l++)
		assert_int_equal(page_of(*state, lists[l], NULL).n, 1);
	free(about);
}

/* ---- what a template lists ---- */
static enum bide_rc list_large(struct bide_list *l, void *user)
{
	int at = atoi(bide_list_cursor(l));
	char uri[32];
	const struct bide_resource one = {BIDE_RESOURCE, .uri = uri,
					  .name = "n", .description = user};

	for (; at < 9; at++) {
		(void)snprintf(uri, sizeof(uri), "t:%d", at);
		if (bide_list_add(l, &one) == BIDE_OK)
			continue;
		assert_int_equal(bide_list_add(l, &one), BIDE_LIMIT);
		(void)snprintf(uri, sizeof(uri), "%d", at);
		return bide_list_more(l, uri);
	}
	return BIDE_OK;
}

static void add_list(struct registry *r, bide_list_fn list, void *user)
{
	const struct bide_resource t = {BIDE_RESOURCE, .uri = "t:{x}",
					.name = "t",   .handler = nop,
					.user = user,  .list = list};

	assert_int_equal(registry_add_resource(r, &t, true, NULL), BIDE_OK);
}

static void test_list__of_large_entries_is_cut_into_pages(void **state)
{
	char *about = text_of(LIMIT_PAGE_BYTES / 2 - 200);
	char cursor[REGISTRY_CURSOR_BYTES] = "";
	size_t n = 0;

	add_list(*state, list_large, about);
	do {
		struct page p = page_of(*state, REGISTRY_RESOURCES,
					*cursor ? cursor : NULL);

		assert_int_equal(p.rc, BIDE_OK);
		assert_true(p.bytes <= 2 * LIMIT_PAGE_BYTES);
		n += p.n;
		memcpy(cursor, p.next, sizeof(cursor));
	} while (*cursor);
	assert_int_equal(n, 9);
	free(about);
}

/* Its first page is in order; the next says badly that there is more. */
static enum bide_rc list_ill(struct bide_list *l, void *user)
{
	char uri[] = "t:0";
	const struct bide_resource one = {BIDE_RESOURCE, .uri = uri,
					  .name = "n"};

	if (*bide_list_cursor(l))
		return bide_list_more(l, user);
	for (int i = 0; i < LIMIT_PAGE_ITEMS; i++)
		assert_int_equal(bide_list_add(l, &one), BIDE_OK);
	return bide_list_more(l, "2");
}

static void test_list__that_ends_badly_is_not_the_clients_fault(void **state)
{
	char *longer = text_of(LIMIT_LIST_CURSOR_BYTES + 1);
	const char *const bad[] = {"", "\xff", longer};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct page p;

		*state = (registry_free(*state), registry_new());
		add_list(*state, list_ill, (char *)bad[i]);
		p = page_of(*state, REGISTRY_RESOURCES, NULL);
		assert_int_equal(p.rc, BIDE_OK);
		assert_true(*p.next);
		assert_int_equal(page_of(*state, REGISTRY_RESOURCES, p.next).rc,
				 BIDE_IO);
	}
	free(longer);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup_keys, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_page__of_large_entries_ends_early),
		T(test_entry__larger_than_a_page_is_refused),
		T(test_list__of_large_entries_is_cut_into_pages),
		T(test_list__that_ends_badly_is_not_the_clients_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
