/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/jsontext.h"
#include "server/base/limits.h"
#include "server/security/keyring.h"
#include "tests/unit/catalog/lib/registering.h"

static int setup_keys(void **state)
{
	return security_init() ? setup(state) : -1;
}

/* ---- lists made while serving ---- */

/* What a template's list does; it is asked for "t://NAME/0" and so on. */
struct plan {
	const char *name;
	int total;       /* entries in all */
	int page;        /* entries of a page; 0: as many as there is room */
	int empty_first; /* empty pages before the first entry */
	bool endless;    /* says for ever that there is more */
	bool stands;     /* gives the cursor it was given */
	const char *odd; /* a URI beside */
	enum bide_rc rc; /* what it returns */
	int calls;
};

static enum bide_rc add(struct bide_list *l, const char *uri)
{
	const struct bide_resource r = {BIDE_RESOURCE, .uri = uri, .name = "n"};

	return bide_list_add(l, &r);
}

static enum bide_rc more(struct bide_list *l, int empty, int at)
{
	char cursor[64];

	(void)snprintf(cursor, sizeof(cursor), "%d %d \xc3\xa9", empty, at);
	return bide_list_more(l, cursor);
}

static enum bide_rc list(struct bide_list *l, void *user)
{
	struct plan *p = user;
	const char *cursor = bide_list_cursor(l);
	int empty = p->empty_first;
	int at = 0;
	int n = 0;
	char uri[64];

	p->calls++;
	if (p->stands)
		return bide_list_more(l, *cursor ? cursor : "here");
	if (*cursor && sscanf(cursor, "%d %d \xc3\xa9", &empty, &at) != 2)
		return BIDE_INVALID;
	if (empty > 0 || p->endless)
		return more(l, empty - 1, at);
	if (p->odd)
		(void)add(l, p->odd);
	for (; at < p->total && (p->page == 0 || n < p->page); at++, n++) {
		(void)snprintf(uri, sizeof(uri), "t://%s/%d", p->name, at);
		if (add(l, uri) != BIDE_OK)
			break;
	}
	if (at < p->total)
		assert_int_equal(more(l, 0, at), BIDE_OK);
	return p->rc;
}

static void add_plan(struct registry *r, struct plan *p)
{
	char uri[64];
	const struct bide_resource def = {
		BIDE_RESOURCE,  .uri = uri,   .name = "n", .mime_type = "a/b",
		.handler = nop, .list = list, .user = p,
	};

	(void)snprintf(uri, sizeof(uri), "t://%s/{n}", p->name);
	assert_int_equal(registry_add_resource(r, &def, true, NULL), BIDE_OK);
}

static void add_resource(struct registry *r, bool template, const char *form,
			 int i)
{
	char uri[64] = "";
	const struct bide_resource def = {BIDE_RESOURCE, .uri = uri,
					  .name = "n", .handler = nop};

	(void)snprintf(uri, sizeof(uri), "%s%d%s", form, i,
		       template ? "/{x}" : "");
	assert_int_equal(registry_add_resource(r, &def, template, NULL),
			 BIDE_OK);
}

/* ---- reading lists ---- */

static const char *member_of(enum registry_list which)
{
	switch (which) {
	case REGISTRY_TOOLS:
	case REGISTRY_PROMPTS:
		return "name";
	case REGISTRY_RESOURCES:
		return "uri";
	case REGISTRY_TEMPLATES:
		break;
	}
	return "uriTemplate";
}

static const struct registry_reader kim = {.principal = "kim"};

/* Appends what names the entries of a page to @names. */
static enum bide_rc one_page(const struct registry *r, enum registry_list which,
			     const char *cursor, json_t *names,
			     char next[REGISTRY_CURSOR_BYTES])
{
	struct buf b = {0};
	json_t *page = NULL;
	const json_t *entry = NULL;
	size_t i;
	enum bide_rc rc;

	buf_addc(&b, '[');
	rc = registry_page(r, which, &kim, cursor, &b, next);
	buf_addc(&b, ']');
	if (rc == BIDE_OK)
		assert_int_equal(jsontext_parse(b.data, b.len, &page, NULL),
				 BIDE_OK);
	json_array_foreach (page, i, entry)
		json_array_append(names,
				  json_object_get(entry, member_of(which)));
	json_decref(page);
	buf_fini(&b);
	return rc;
}

/* All pages; how many there were. */
static int all_pages(const struct registry *r, enum registry_list which,
		     json_t *names)
{
	char cursor[REGISTRY_CURSOR_BYTES] = "";
	char next[REGISTRY_CURSOR_BYTES] = "";
	int pages = 0;

	do {
		memcpy(cursor, next, sizeof(cursor));
		assert_int_equal(
			one_page(r, which, pages ? cursor : NULL, names, next),
			BIDE_OK);
		pages++;
	} while (*next && pages < 10000);
	assert_string_equal(next, "");
	return pages;
}

/* @form: with "%d" for @n. */
static void name_is(const json_t *names, size_t i, const char *form, int n)
{
	const char *d = strstr(form, "%d");
	char want[64];

	(void)snprintf(want, sizeof(want), "%.*s%d%s", (int)(d - form), form, n,
		       d + 2);
	assert_string_equal(json_string_value(json_array_get(names, i)), want);
}

/* ---- what does not change ---- */

static void fill(struct registry *r, int n)
{
	for (int i = 0; i < n; i++) {
		char name[32];
		const struct bide_prompt p = {BIDE_PROMPT, .name = name,
					      .handler = nop};
		const struct bide_tool t = {BIDE_TOOL, .name = name,
					    .handler = nop};

		(void)snprintf(name, sizeof(name), "x_%d", i);
		assert_int_equal(registry_add_prompt(r, &p, NULL), BIDE_OK);
		assert_int_equal(registry_add_tool(r, &t, false, NULL),
				 BIDE_OK);
		add_resource(r, false, "x:", i);
		add_resource(r, true, "x:", i);
	}
}

static const enum registry_list lists[] = {REGISTRY_TOOLS, REGISTRY_PROMPTS,
					   REGISTRY_RESOURCES,
					   REGISTRY_TEMPLATES};

/* S68: paging ends and covers everything, of each list. */
static void test_pages__of_each_list_cover_all_in_order(void **state)
{
	static const int counts[] = {0, 1, LIMIT_PAGE_ITEMS,
				     LIMIT_PAGE_ITEMS + 1,
				     3 * LIMIT_PAGE_ITEMS};
	static const char *const forms[] = {"x_%d", "x_%d", "x:%d", "x:%d/{x}"};

	for (size_t k = 0; k < sizeof(counts) / sizeof(*counts); k++) {
		int have = counts[k];
		int pages = have ? (have - 1) / LIMIT_PAGE_ITEMS + 1 : 1;

		*state = (registry_free(*state), registry_new());
		fill(*state, have);
		for (size_t l = 0; l < 4; l++) {
			json_t *names = json_array();

			assert_int_equal(all_pages(*state, lists[l], names),
					 pages);
			assert_int_equal(json_array_size(names), have);
			for (int i = 0; i < have; i++)
				name_is(names, (size_t)i, forms[l], i);
			json_decref(names);
		}
	}
}

static void expect_page(const struct registry *r, enum registry_list which,
			const char *cursor, enum bide_rc want)
{
	char next[REGISTRY_CURSOR_BYTES] = "kept";
	json_t *names = json_array();

	assert_int_equal(one_page(r, which, cursor, names, next), want);
	if (want != BIDE_OK) {
		assert_int_equal(json_array_size(names), 0);
		assert_string_equal(next, "kept");
	}
	json_decref(names);
}

/* utilities/pagination "Error Handling"; S22. */
static void test_cursor__belongs_to_its_list_and_version(void **state)
{
	char next[4][REGISTRY_CURSOR_BYTES];
	json_t *names = json_array();

	fill(*state, 150);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(
			one_page(*state, lists[i], NULL, names, next[i]),
			BIDE_OK);
	json_decref(names);
	for (size_t i = 0; i < 4; i++)
		for (size_t k = 0; k < 4; k++)
			expect_page(*state, lists[i], next[k],
				    i == k ? BIDE_OK : BIDE_INVALID);
	/* Another version of the program, with one more of each. */
	for (size_t i = 0; i < 4; i++) {
		struct registry *other = registry_new();

		fill(other, 151);
		expect_page(other, lists[i], next[i], BIDE_INVALID);
		registry_free(other);
	}
	/* The same again, on another instance. */
	for (size_t i = 0; i < 4; i++) {
		struct registry *other = registry_new();

		fill(other, 150);
		expect_page(other, lists[i], next[i], BIDE_OK);
		registry_free(other);
	}
}

static void test_cursor__of_another_make_is_refused(void **state)
{
	static const char *const bad[] = {"",
					  "1",
					  "====",
					  "AAAA",
					  "\xff",
					  "null",
					  "zzzzzzzzzzzzzzzz",
					  "eyJwYWdlIjogM30="};
	char next[REGISTRY_CURSOR_BYTES];
	char changed[REGISTRY_CURSOR_BYTES];
	char *longest = malloc(100000);
	json_t *names = json_array();

	fill(*state, 150);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		expect_page(*state, REGISTRY_TOOLS, bad[i], BIDE_INVALID);
	assert_non_null(longest);
	memset(longest, 'A', 99999);
	longest[99999] = '\0';
	expect_page(*state, REGISTRY_TOOLS, longest, BIDE_INVALID);
	free(longest);
	assert_int_equal(one_page(*state, REGISTRY_TOOLS, NULL, names, next),
			 BIDE_OK);
	json_decref(names);
	for (size_t i = 0; next[i]; i++) {
		memcpy(changed, next, sizeof(changed));
		changed[i] = changed[i] == 'B' ? 'C' : 'B';
		expect_page(*state, REGISTRY_TOOLS, changed, BIDE_INVALID);
		memcpy(changed, next, sizeof(changed));
		changed[i] = '\0';
		expect_page(*state, REGISTRY_TOOLS, changed, BIDE_INVALID);
	}
	strcpy(changed, next);
	strcat(changed, "AAAA");
	expect_page(*state, REGISTRY_TOOLS, changed, BIDE_INVALID);
}

/* ---- what templates list ---- */

static void test_dynamic__follows_the_fixed_ones(void **state)
{
	struct plan a = {.name = "a", .total = 3};
	struct plan b = {.name = "b", .total = 2};
	json_t *names = json_array();

	add_plan(*state, &a);
	add_resource(*state, true, "silent:", 1);
	add_plan(*state, &b);
	add_resource(*state, true, "silent:", 2);
	add_resource(*state, false, "r:", 0);
	assert_int_equal(all_pages(*state, REGISTRY_RESOURCES, names), 1);
	assert_int_equal(json_array_size(names), 6);
	name_is(names, 0, "r:%d", 0);
	name_is(names, 1, "t://a/%d", 0);
	name_is(names, 4, "t://b/%d", 0);
	assert_int_equal(a.calls, 1);
	assert_int_equal(b.calls, 1);
	json_decref(names);
}

static void test_dynamic__goes_on_where_it_stopped(void **state)
{
	static const int fixed[] = {0, 1, 99, 100, 101};
	static const int pages[] = {0, 1, 7, 100, 1000};

	for (size_t f = 0; f < 5; f++) {
		for (size_t p = 0; p < 5; p++) {
			struct plan a = {
				.name = "a", .total = 350, .page = pages[p]};
			struct plan b = {.name = "b", .total = 5};
			json_t *names = json_array();

			*state = (registry_free(*state), registry_new());
			for (int i = 0; i < fixed[f]; i++)
				add_resource(*state, false, "r:", i);
			add_plan(*state, &a);
			add_plan(*state, &b);
			(void)all_pages(*state, REGISTRY_RESOURCES, names);
			assert_int_equal(json_array_size(names),
					 fixed[f] + 355);
			for (int i = 0; i < 350; i++)
				name_is(names, (size_t)(fixed[f] + i),
					"t://a/%d", i);
			name_is(names, (size_t)fixed[f] + 350, "t://b/%d", 0);
			json_decref(names);
		}
	}
}

/* A page of its own fits whole, whatever stands before it. */
static void test_dynamic__has_room_for_a_page(void **state)
{
	struct plan a = {.name = "a",
			 .total = 2 * LIMIT_PAGE_ITEMS,
			 .page = LIMIT_PAGE_ITEMS};
	char next[REGISTRY_CURSOR_BYTES];
	json_t *names = json_array();

	for (int i = 0; i < LIMIT_PAGE_ITEMS - 1; i++)
		add_resource(*state, false, "r:", i);
	add_plan(*state, &a);
	assert_int_equal(
		one_page(*state, REGISTRY_RESOURCES, NULL, names, next),
		BIDE_OK);
	assert_int_equal(json_array_size(names), 2 * LIMIT_PAGE_ITEMS - 1);
	assert_int_equal(a.calls, 1);
	assert_true(*next);
	json_decref(names);
}

static void test_dynamic__empty_pages_are_passed_over(void **state)
{
	struct plan a = {
		.name = "a", .total = 1, .empty_first = LIMIT_LIST_CALLS - 1};
	struct plan b = {
		.name = "b", .total = 1, .empty_first = 3 * LIMIT_LIST_CALLS};
	json_t *names = json_array();

	add_plan(*state, &a);
	assert_int_equal(all_pages(*state, REGISTRY_RESOURCES, names), 1);
	assert_int_equal(json_array_size(names), 1);
	add_plan(*state, &b);
	assert_true(all_pages(*state, REGISTRY_RESOURCES, names) > 1);
	assert_int_equal(json_array_size(names), 3);
	json_decref(names);
}

static void test_dynamic__an_endless_list_ends_each_page(void **state)
{
	struct plan a = {.name = "a", .endless = true};
	char cursor[REGISTRY_CURSOR_BYTES];
	char next[REGISTRY_CURSOR_BYTES] = "";
	json_t *names = json_array();

	add_plan(*state, &a);
	for (int i = 0; i < 3; i++) {
		memcpy(cursor, next, sizeof(cursor));
		assert_int_equal(one_page(*state, REGISTRY_RESOURCES,
					  i ? cursor : NULL, names, next),
				 BIDE_OK);
		assert_true(*next);
		assert_string_not_equal(next, cursor);
		assert_int_equal(a.calls, (i + 1) * LIMIT_LIST_CALLS);
	}
	assert_int_equal(json_array_size(names), 0);
	json_decref(names);
}

static void test_dynamic__a_cursor_that_stands_still_is_an_error(void **state)
{
	struct plan a = {.name = "a", .stands = true};

	add_plan(*state, &a);
	expect_page(*state, REGISTRY_RESOURCES, NULL, BIDE_IO);
	assert_int_equal(a.calls, 2);
}

static void test_dynamic__its_failure_is_not_the_clients(void **state)
{
	static const enum bide_rc rcs[] = {BIDE_INVALID, BIDE_PENDING,
					   BIDE_NOMEM, BIDE_NOT_FOUND,
					   BIDE_LIMIT};
	struct plan a = {.name = "a", .total = 1};

	add_plan(*state, &a);
	for (size_t i = 0; i < sizeof(rcs) / sizeof(*rcs); i++) {
		a.rc = rcs[i];
		expect_page(*state, REGISTRY_RESOURCES, NULL, BIDE_IO);
	}
}

static char *encoded(const char *text)
{
	return security_base64_encode(text, strlen(text));
}

/* The first part of our own cursor, with another of the template's behind. */
static void test_dynamic__does_not_know_a_made_up_cursor(void **state)
{
	struct plan a = {.name = "a", .total = 250, .page = 100};
	char next[REGISTRY_CURSOR_BYTES];
	json_t *names = json_array();
	char *text = NULL;

	add_plan(*state, &a);
	assert_int_equal(
		one_page(*state, REGISTRY_RESOURCES, NULL, names, next),
		BIDE_OK);
	expect_page(*state, REGISTRY_RESOURCES, next, BIDE_OK);
	/* It would be refused by the list, but does not get there. */
	a.calls = 0;
	text = encoded("0.0.garbage");
	expect_page(*state, REGISTRY_RESOURCES, text, BIDE_INVALID);
	free(text);
	assert_int_equal(a.calls, 0);
	/* Its own word on a cursor goes to the client. */
	a.rc = BIDE_INVALID;
	expect_page(*state, REGISTRY_RESOURCES, next, BIDE_INVALID);
	/* But not when what it refused was its own entry. */
	a.odd = "u:x";
	expect_page(*state, REGISTRY_RESOURCES, next, BIDE_IO);
	json_decref(names);
}

static enum bide_rc check_list(struct bide_list *l, void *user)
{
	struct bide_resource r = {BIDE_RESOURCE, .uri = "t://a/1", .name = "n"};
	char longest[LIMIT_LIST_CURSOR_BYTES + 2];

	(void)user;
	assert_string_equal(bide_list_principal(l), "kim");
	assert_string_equal(bide_list_cursor(l), "");
	r.uri = "t://a/1/2";
	assert_int_equal(bide_list_add(l, &r), BIDE_INVALID);
	r.uri = "t://a/..";
	assert_int_equal(bide_list_add(l, &r), BIDE_INVALID);
	r.uri = "t://a/b c";
	assert_int_equal(bide_list_add(l, &r), BIDE_INVALID);
	r.uri = "x";
	assert_int_equal(bide_list_add(l, &r), BIDE_INVALID);
	r.uri = NULL;
	assert_int_equal(bide_list_add(l, &r), BIDE_INVALID);
	assert_int_equal(bide_list_add(l, NULL), BIDE_INVALID);
	r.uri = "t://a/1";
	r.name = NULL;
	assert_int_equal(bide_list_add(l, &r), BIDE_INVALID);
	r.name = "n";
	r.annotations = "{\"priority\":2}";
	assert_int_equal(bide_list_add(l, &r), BIDE_INVALID);
	r.annotations = NULL;
	r.size = 0;
	assert_int_equal(bide_list_add(l, &r), BIDE_INVALID);
	r.size = sizeof(r);
	r.bytes = 5;
	assert_int_equal(bide_list_add(l, &r), BIDE_OK);
	r.uri = "t://a/fixed"; /* listed already */
	assert_int_equal(bide_list_add(l, &r), BIDE_OK);
	r.uri = "t://a/2";
	r.mime_type = "c/d";
	assert_int_equal(bide_list_add(l, &r), BIDE_OK);
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(bide_list_more(l, longest), BIDE_INVALID);
	assert_int_equal(bide_list_more(l, ""), BIDE_INVALID);
	assert_int_equal(bide_list_more(l, NULL), BIDE_INVALID);
	assert_int_equal(bide_list_more(l, "\xff"), BIDE_INVALID);
	return BIDE_OK;
}

static void test_dynamic__entries_are_checked(void **state)
{
	const struct bide_resource def = {
		BIDE_RESOURCE,  .uri = "t://a/{x}", .name = "n",
		.handler = nop, .list = check_list, .mime_type = "a/b"};
	const struct bide_resource fixed = {BIDE_RESOURCE, .uri = "t://a/fixed",
					    .name = "n", .handler = nop};
	struct buf b = {0};
	char next[REGISTRY_CURSOR_BYTES];

	assert_int_equal(registry_add_resource(*state, &def, true, NULL),
			 BIDE_OK);
	assert_int_equal(registry_add_resource(*state, &fixed, false, NULL),
			 BIDE_OK);
	assert_int_equal(
		registry_page(*state, REGISTRY_RESOURCES, &kim, NULL, &b, next),
		BIDE_OK);
	assert_string_equal(b.data, "{\"uri\":\"t://a/fixed\",\"name\":\"n\"},"
				    "{\"uri\":\"t://a/1\",\"name\":\"n\","
				    "\"mimeType\":\"a/b\",\"size\":5},"
				    "{\"uri\":\"t://a/2\",\"name\":\"n\","
				    "\"mimeType\":\"c/d\",\"size\":5}");
	assert_string_equal(next, "");
	buf_fini(&b);
}

static enum bide_rc overfull(struct bide_list *l, void *user)
{
	char uri[32];

	(void)user;
	for (int i = 0; i < LIMIT_PAGE_ITEMS; i++) {
		(void)snprintf(uri, sizeof(uri), "t://a/%d", i);
		assert_int_equal(add(l, uri), BIDE_OK);
	}
	assert_int_equal(add(l, "t://a/more"), BIDE_LIMIT);
	return BIDE_OK;
}

static enum bide_rc longest_cursor(struct bide_list *l, void *user)
{
	char cursor[LIMIT_LIST_CURSOR_BYTES + 1];

	memset(cursor, '\x01', sizeof(cursor));
	cursor[sizeof(cursor) - 1] = '\0';
	if (!*bide_list_cursor(l)) {
		assert_int_equal(bide_list_more(l, cursor), BIDE_OK);
		return overfull(l, NULL);
	}
	assert_string_equal(bide_list_cursor(l), cursor);
	++*(int *)user;
	return BIDE_OK;
}

static void test_dynamic__full_pages_and_long_cursors(void **state)
{
	int again = 0;
	const struct bide_resource def = {
		BIDE_RESOURCE,  .uri = "t://a/{x}",     .name = "n",
		.handler = nop, .list = longest_cursor, .user = &again};
	json_t *names = json_array();

	assert_int_equal(registry_add_resource(*state, &def, true, NULL),
			 BIDE_OK);
	assert_int_equal(all_pages(*state, REGISTRY_RESOURCES, names), 2);
	assert_int_equal(json_array_size(names), LIMIT_PAGE_ITEMS);
	assert_int_equal(again, 1);
	json_decref(names);
}

static enum registry_wish wished(void *user)
{
	return *(enum registry_wish *)user;
}

/* Gives one entry and a next page, for ever. */
static enum bide_rc goes_on(struct bide_list *l, void *user)
{
	int *calls = user;

	enum bide_rc rc = add(l, "t://a/b");

	return rc ? rc : more(l, 0, ++*calls);
}

/* A page for one who wishes @wish; how often the list was asked. */
static void page_for(struct registry *r, enum registry_wish wish,
		     enum bide_rc rc, const char *next_is, int *calls)
{
	const struct registry_reader reader = {
		.principal = "kim", .wish = wished, .user = &wish};
	struct buf b = {0};
	char next[REGISTRY_CURSOR_BYTES] = "";

	*calls = 0;
	assert_int_equal(
		registry_page(r, REGISTRY_RESOURCES, &reader, NULL, &b, next),
		rc);
	if (next_is)
		assert_string_equal(next, next_is);
	else
		assert_string_not_equal(next, "");
	buf_fini(&b);
}

static void test_dynamic__is_asked_as_long_as_somebody_waits(void **state)
{
	int calls = 0;
	const struct bide_resource def = {BIDE_RESOURCE,   .uri = "t://a/{x}",
					  .name = "n",     .handler = nop,
					  .list = goes_on, .user = &calls};

	assert_int_equal(registry_add_resource(*state, &def, true, NULL),
			 BIDE_OK);
	page_for(*state, REGISTRY_ALL, BIDE_OK, NULL, &calls);
	assert_int_equal(calls, LIMIT_LIST_CALLS);
	/* Another instance goes on at the cursor. */
	page_for(*state, REGISTRY_SOON, BIDE_OK, NULL, &calls);
	assert_int_equal(calls, 1);
	/* The first entry is refused already. */
	page_for(*state, REGISTRY_NONE, BIDE_CANCELLED, "", &calls);
	assert_int_equal(calls, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup_keys, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_pages__of_each_list_cover_all_in_order),
		T(test_cursor__belongs_to_its_list_and_version),
		T(test_cursor__of_another_make_is_refused),
		T(test_dynamic__follows_the_fixed_ones),
		T(test_dynamic__goes_on_where_it_stopped),
		T(test_dynamic__has_room_for_a_page),
		T(test_dynamic__empty_pages_are_passed_over),
		T(test_dynamic__an_endless_list_ends_each_page),
		T(test_dynamic__a_cursor_that_stands_still_is_an_error),
		T(test_dynamic__its_failure_is_not_the_clients),
		T(test_dynamic__does_not_know_a_made_up_cursor),
		T(test_dynamic__entries_are_checked),
		T(test_dynamic__full_pages_and_long_cursors),
		T(test_dynamic__is_asked_as_long_as_somebody_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
