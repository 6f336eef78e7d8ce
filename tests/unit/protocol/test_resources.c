/* SPDX-License-Identifier: MIT */
/* resources/read with its rounds, and the lists that the program makes. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bide/content.h"
#include "server/base/limits.h"
#include "tests/unit/protocol/lib/asking.h"

#define READ  .method = "resources/read"
#define ITEMS 250

static pthread_t asking; /* the thread that sends the requests */
static atomic_bool elsewhere;

/* ---- resources ---- */
static enum bide_rc says(struct bide_call *call, void *user)
{
	return bide_text(call, "%s", (const char *)user);
}

static enum bide_rc bytes(struct bide_call *call, void *user)
{
	(void)user;
	return bide_add_resource_blob(call, NULL, NULL, "\xff\x00", 2);
}

static enum bide_rc item(struct bide_call *call, void *user)
{
	(void)user;
	return bide_text(call, "%s of %s", bide_arg_string(call, "id"),
			 bide_uri(call));
}

static enum bide_rc fails(struct bide_call *call, void *user)
{
	(void)call;
	(void)user;
	return BIDE_IO;
}

static enum bide_rc gone(struct bide_call *call, void *user)
{
	(void)user;
	return bide_not_found(call);
}

static enum bide_rc empty(struct bide_call *call, void *user)
{
	(void)call;
	(void)user;
	return BIDE_OK;
}

/* Seventy at a time; alice's are fewer. */
static enum bide_rc lists(struct bide_list *list, void *user)
{
	struct bide_resource r = {BIDE_RESOURCE};
	long at = strtol(bide_list_cursor(list), NULL, 10);
	long end = strcmp(bide_list_principal(list), "alice") == 0 ? 10 : ITEMS;
	char uri[64];
	long i;

	(void)user;
	atomic_store(&elsewhere, !pthread_equal(asking, pthread_self()));
	for (i = at; i < end && i < at + 70; i++) {
		(void)snprintf(uri, sizeof(uri), "test://item/%ld", i);
		r.uri = uri;
		r.name = uri;
		BIDE_TRY(bide_list_add(list, &r));
	}
	if (i == end)
		return BIDE_OK;
	(void)snprintf(uri, sizeof(uri), "%ld", i);
	return bide_list_more(list, uri);
}

static void add(struct registry *r)
{
	wire_resource(r, (struct bide_resource){
				 BIDE_RESOURCE, .uri = "test://text",
				 .name = "text", .mime_type = "text/plain",
				 .handler = says, .user = "Hello.",
				 .cache_ms = 60000, .scope = BIDE_PUBLIC,
				 .runs_inline = true});
	wire_resource(r, (struct bide_resource){
				 BIDE_RESOURCE, .uri = "test://bytes",
				 .name = "bytes", .mime_type = "image/png",
				 .handler = bytes});
	wire_resource(r, (struct bide_resource){
				 BIDE_RESOURCE, .uri = "test://asks",
				 .name = "asks", .handler = asking_greet,
				 .cache_ms = 60000, .scope = BIDE_PUBLIC});
	wire_resource(r, (struct bide_resource){
				 BIDE_RESOURCE, .uri = "test://asks/too",
				 .name = "asks too", .handler = asking_greet});
	wire_resource(
		r, (struct bide_resource){BIDE_RESOURCE, .uri = "test://fails",
					  .name = "fails", .handler = fails});
	wire_resource(
		r, (struct bide_resource){BIDE_RESOURCE, .uri = "test://gone",
					  .name = "gone", .handler = gone});
	wire_resource(
		r, (struct bide_resource){BIDE_RESOURCE, .uri = "test://empty",
					  .name = "empty", .handler = empty});
	wire_resource(r, (struct bide_resource){
				 BIDE_RESOURCE, .uri = "test://waits",
				 .name = "waits", .handler = asking_wait});
	wire_resource(r, (struct bide_resource){
				 BIDE_RESOURCE, .uri = "test://samples",
				 .name = "samples", .handler = says,
				 .user = "x", .needs = BIDE_CAN_SAMPLE});
	wire_template(r, (struct bide_resource){
				 BIDE_RESOURCE, .uri = "test://item/{id}",
				 .name = "item", .mime_type = "text/x-item",
				 .handler = item, .list = lists});
	wire_tool(r, (struct bide_tool){BIDE_TOOL, .name = "asks",
					.handler = asking_greet});
}

static int set_up(void **state)
{
	asking = pthread_self();
	*state = wire_new(NULL, add);
	return 0;
}

static struct fake *read_it(struct wire *w, const char *uri)
{
	return fake_call(w, (struct post){READ, .uri = uri, .caps = CAPS_FORM});
}

static const char *said(const struct fake *f)
{
	const char *text = fake_string(f, "result/contents/0/text");

	return text != NULL ? text : "";
}

static void hint_is(const struct fake *f, json_int_t ms, const char *scope)
{
	assert_int_equal(json_integer_value(fake_get(f, "result/ttlMs")), ms);
	assert_string_equal(fake_string(f, "result/cacheScope"), scope);
}

/* ---- reading ---- */
static void test_read__gives_the_contents(void **state)
{
	struct fake *f = read_it(*state, "test://text");

	assert_string_equal(said(f), "Hello.");
	assert_string_equal(fake_string(f, "result/contents/0/uri"),
			    "test://text");
	assert_string_equal(fake_string(f, "result/contents/0/mimeType"),
			    "text/plain");
	hint_is(f, 60000, "public");
	fake_free(f);
	f = read_it(*state, "test://bytes");
	assert_string_equal(fake_string(f, "result/contents/0/blob"), "/wA=");
	hint_is(f, 0, "private");
	fake_free(f);
}

static void test_read__gives_a_template_its_variables(void **state)
{
	struct fake *f = read_it(*state, "test://item/a%20b");

	assert_string_equal(said(f), "a b of test://item/a%20b");
	assert_string_equal(fake_string(f, "result/contents/0/uri"),
			    "test://item/a%20b");
	assert_string_equal(fake_string(f, "result/contents/0/mimeType"),
			    "text/x-item");
	fake_free(f);
}

/* S15, S64: -32602 with the URI, whoever says so. */
static void test_read__of_what_is_not_there(void **state)
{
	static const char *const uris[] = {"test://nope", "other:x",
					   "test://item/a/b", "test://gone"};
	struct fake *f;
	size_t i;

	for (i = 0; i < sizeof(uris) / sizeof(uris[0]); i++) {
		f = read_it(*state, uris[i]);
		assert_int_equal(f->status, 200);
		assert_int_equal(fake_error(f), -32602);
		assert_string_equal(fake_string(f, "error/message"),
				    "Resource not found");
		assert_string_equal(fake_string(f, "error/data/uri"), uris[i]);
		fake_free(f);
	}
}

static void test_read__wants_an_absolute_uri(void **state)
{
	static const char *const bad[] = {"relative", "/a", "://x",
					  "test://a b", "test://%zz"};
	static const char *const shapes[] = {"{}", "{\"uri\":7}",
					     "{\"uri\":null}"};
	struct fake *f;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		f = read_it(*state, bad[i]);
		assert_string_equal(fake_string(f, "error/message"),
				    "params.uri is not an absolute URI");
		assert_string_equal(fake_string(f, "error/data/uri"), bad[i]);
		fake_is(f, 200, -32602);
	}
	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		fake_is(fake_call(*state,
				  (struct post){READ, .params = shapes[i]}),
			200, -32602);
}

/* S4, S5. */
static void test_read__repeats_the_uri_in_a_header(void **state)
{
	static const struct {
		const char *name;
		int status;
	} all[] = {
		{"", 400}, /* left out */
		{"test://bytes", 400},
		{"TEST://text", 400},
		{" test://text ", 200},
		{"=?base64?dGVzdDovL3RleHQ=?=", 200},
		{"=?base64?dGVzdDovL3RleHR=?=", 400}, /* stray bits */
		{"=?base64?dGVzdDovL3RleHQ?=", 400},  /* no padding */
		{"=?base64?dGVzdDovL2J5dGVz?=", 400}, /* test://bytes */
		{"=?base64?!!!?=", 400},
		{"test://te\xc3\xa4t", 400},
	};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		fake_is(fake_call(*state,
				  (struct post){READ, .uri = "test://text",
						.mcp_name = all[i].name}),
			all[i].status, all[i].status == 200 ? 0 : -32020);
}

/* S65; and empty contents are none. */
static void test_read__that_fails_is_an_internal_error(void **state)
{
	struct fake *f = read_it(*state, "test://fails");

	assert_string_equal(fake_string(f, "error/message"), "Internal error");
	fake_is(f, 200, -32603);
	fake_is(read_it(*state, "test://empty"), 200, -32603);
}

static void test_read__without_a_capability_it_needs(void **state)
{
	struct fake *f = read_it(*state, "test://samples");

	assert_non_null(
		fake_get(f, "error/data/requiredCapabilities/sampling"));
	fake_is(f, 400, -32021);
	f = fake_call(*state, (struct post){READ, .uri = "test://samples",
					    .caps = "{\"sampling\":{}}"});
	assert_string_equal(said(f), "x");
	fake_free(f);
	/* What its handler asks for all the same. */
	fake_is(fake_call(*state, (struct post){READ, .uri = "test://asks"}),
		400, -32021);
}

/* ---- rounds ---- */
/* S67: what an answer made is not to be kept. */
static void test_round__is_answered_and_not_cached(void **state)
{
	char *s = asking_state(read_it(*state, "test://asks"), "who");
	struct fake *f = fake_call(
		*state, (struct post){READ, .uri = "test://asks", .state = s,
				      .responses = ADA, .caps = CAPS_FORM});

	assert_string_equal(said(f), "Hello, Ada!");
	hint_is(f, 0, "private");
	fake_free(f);
	f = fake_call(*state,
		      (struct post){READ, .uri = "test://asks", .state = s,
				    .responses = "{\"who\":{\"action\":"
						 "\"decline\"}}",
				    .caps = CAPS_FORM});
	assert_string_equal(said(f), "declined");
	hint_is(f, 0, "private");
	fake_free(f);
	/* Answers that come with the first request are as little a key. */
	f = fake_call(*state,
		      (struct post){READ, .uri = "test://asks",
				    .responses = ADA, .caps = CAPS_FORM});
	assert_string_equal(said(f), "Hello, Ada!");
	hint_is(f, 0, "private");
	fake_free(f);
	f = fake_call(*state,
		      (struct post){READ, .uri = "test://text",
				    .responses = ADA, .caps = CAPS_FORM});
	hint_is(f, 0, "private");
	fake_free(f);
	free(s);
}

/* S27, S28: a state is good for the URI and the caller it was made for. */
static void test_state__is_bound_to_the_uri(void **state)
{
	char *s = asking_state(read_it(*state, "test://asks"), "who");
	struct fake *f = fake_call(*state, (struct post){.method = "tools/call",
							 .tool = "asks",
							 .caps = CAPS_FORM});
	char *tool = strdup(fake_string(f, "result/requestState"));
	struct post all[] = {
		{READ, .uri = "test://asks/too", .state = s},
		{READ, .uri = "test://asks", .state = tool},
		{READ, .uri = "test://asks", .state = s, .principal = "bob"},
		{READ, .uri = "test://asks", .state = ""},
		{.method = "tools/call", .tool = "asks", .state = s},
	};
	size_t i;

	fake_free(f);
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		all[i].responses = ADA;
		all[i].caps = CAPS_FORM;
		f = fake_call(*state, all[i]);
		assert_string_equal(fake_string(f, "error/message"),
				    "requestState was not accepted");
		fake_is(f, 200, -32602);
	}
	s[strlen(s) / 2] ^= 1;
	fake_is(fake_call(*state,
			  (struct post){READ, .uri = "test://asks", .state = s,
					.responses = ADA, .caps = CAPS_FORM}),
		200, -32602);
	free(s);
	free(tool);
}

static void test_read__ends_when_the_client_goes(void **state)
{
	int before = atomic_load(&asking_entries);
	struct fake *f =
		fake_post(*state, (struct post){READ, .uri = "test://waits"});

	asking_await_entry(before);
	assert_int_equal(atomic_load(&asking_entries), before + 1);
	fake_close(f);
	assert_int_equal(atomic_load(&asking_ended), 1);
	fake_free(f);
}

static void test_read__is_refused_where_it_cannot_wait(void **state)
{
	struct fake *f =
		fake_call(*state, (struct post){READ, .uri = "test://text",
						.crowded = true});

	assert_string_equal(said(f), "Hello."); /* it is inline */
	fake_free(f);
	fake_is(fake_call(*state, (struct post){READ, .uri = "test://bytes",
						.crowded = true}),
		200, -32603);
	fake_is(fake_call(*state, (struct post){.method = "resources/list",
						.crowded = true}),
		200, -32603);
}

/* ---- lists ---- */
/* All pages; how many entries, and each must have @scope. */
static size_t page_through(struct wire *w, const char *method,
			   const char *member, const char *who,
			   const char *scope)
{
	char params[REGISTRY_CURSOR_BYTES + 32] = "{}";
	const char *cursor;
	struct fake *f;
	char path[64];
	size_t n = 0;
	int pages = 0;

	(void)snprintf(path, sizeof(path), "result/%s", member);
	do {
		f = fake_call(w, (struct post){.method = method,
					       .params = params,
					       .principal = who});
		n += json_array_size(fake_get(f, path));
		assert_string_equal(fake_string(f, "result/cacheScope"), scope);
		cursor = fake_string(f, "result/nextCursor");
		if (cursor != NULL)
			(void)snprintf(params, sizeof(params),
				       "{\"cursor\":\"%s\"}", cursor);
		cursor = cursor != NULL ? params : NULL;
		fake_free(f);
		assert_true(++pages < 50);
	} while (cursor != NULL);
	return n;
}

/* S68; and off the thread that the request came on. */
static void test_list__of_what_templates_list(void **state)
{
	assert_int_equal(page_through(*state, "resources/list", "resources",
				      "bob", "private"),
			 9 + ITEMS);
	assert_true(atomic_load(&elsewhere));
	assert_int_equal(page_through(*state, "resources/list", "resources",
				      "alice", "private"),
			 9 + 10);
	assert_int_equal(page_through(*state, "resources/templates/list",
				      "resourceTemplates", "bob", "public"),
			 1);
}

static void test_list__has_hints(void **state)
{
	struct fake *f = fake_call(
		*state, (struct post){.method = "resources/templates/list"});

	hint_is(f, LIMIT_LIST_CACHE_MS, "public");
	assert_string_equal(
		fake_string(f, "result/resourceTemplates/0/uriTemplate"),
		"test://item/{id}");
	fake_free(f);
	f = fake_call(*state, (struct post){.method = "resources/list"});
	hint_is(f, 0, "private");
	assert_string_equal(fake_string(f, "result/resources/0/uri"),
			    "test://text");
	fake_free(f);
}

/* S22. */
static void test_list__refuses_what_is_no_cursor(void **state)
{
	static const char *const methods[] = {"resources/list",
					      "resources/templates/list"};
	static const char *const cursors[] = {
		"{\"cursor\":\"zz\"}", "{\"cursor\":\"\"}", "{\"cursor\":7}",
		"{\"cursor\":{}}"};
	size_t i;
	size_t k;

	for (i = 0; i < 2; i++)
		for (k = 0; k < sizeof(cursors) / sizeof(cursors[0]); k++)
			fake_is(fake_call(*state,
					  (struct post){.method = methods[i],
							.params = cursors[k]}),
				200, -32602);
}

/* ---- what is declared ---- */
static void add_fixed(struct registry *r)
{
	wire_resource(r, (struct bide_resource){
				 BIDE_RESOURCE, .uri = "test://text",
				 .name = "text", .handler = says, .user = "x"});
}

static void add_none(struct registry *r)
{
	(void)r;
}

/* S20; what is not registered is not served either. */
static void test_offers__are_what_was_registered(void **state)
{
	static const char *const others[] = {
		"tools/list",          "tools/call",
		"prompts/list",        "prompts/get",
		"completion/complete", "resources/list",
		"resources/read",      "resources/templates/list",
	};
	struct wire_options opt = {.no_wait_for_task = true};
	struct wire *w = wire_new(&opt, add_fixed);
	struct fake *f =
		fake_call(w, (struct post){.method = "server/discover"});
	size_t i;

	(void)state;
	assert_true(json_is_true(
		fake_get(f, "result/capabilities/resources/listChanged")));
	assert_true(json_is_true(
		fake_get(f, "result/capabilities/resources/subscribe")));
	assert_null(fake_get(f, "result/capabilities/tools"));
	assert_null(fake_get(f, "result/capabilities/prompts"));
	assert_null(fake_get(f, "result/capabilities/completions"));
	fake_free(f);
	for (i = 0; i < 5; i++)
		fake_is(fake_call(w, (struct post){.method = others[i]}), 404,
			-32601);
	/* One that lists nothing by itself is the same for all. */
	assert_int_equal(
		page_through(w, "resources/list", "resources", "bob", "public"),
		1);
	assert_int_equal(page_through(w, "resources/templates/list",
				      "resourceTemplates", "bob", "public"),
			 0);
	wire_free(w);
	w = wire_new(&opt, add_none);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		fake_is(fake_call(w, (struct post){.method = others[i]}), 404,
			-32601);
	wire_free(w);
}

/* ---- a list that does not end well ---- */
static atomic_int listed;
static atomic_bool release;

static enum bide_rc list_fails(struct bide_list *list, void *user)
{
	(void)list;
	(void)user;
	return BIDE_IO;
}

static enum bide_rc list_waits(struct bide_list *list, void *user)
{
	(void)list;
	(void)user;
	atomic_fetch_add(&listed, 1);
	while (!atomic_load(&release))
		(void)usleep(1000);
	return BIDE_OK;
}

static void add_failing(struct registry *r)
{
	wire_template(r,
		      (struct bide_resource){BIDE_RESOURCE, .uri = "test://{x}",
					     .name = "x", .handler = item,
					     .list = list_fails});
}

static void add_waiting(struct registry *r)
{
	wire_template(r,
		      (struct bide_resource){BIDE_RESOURCE, .uri = "test://{x}",
					     .name = "x", .handler = item,
					     .list = list_waits});
}

static void test_list__that_fails_is_an_internal_error(void **state)
{
	struct wire *w = wire_new(NULL, add_failing);
	struct fake *f =
		fake_call(w, (struct post){.method = "resources/list"});

	(void)state;
	assert_string_equal(fake_string(f, "error/message"), "Internal error");
	fake_is(f, 200, -32603);
	wire_free(w);
}

/* More than run at once: those whose client left first never begin. */
static void test_list__of_a_client_that_left_is_not_made(void **state)
{
	struct wire *w = wire_new(NULL, add_waiting);
	struct fake *f[6];
	int i;

	(void)state;
	for (i = 0; i < 6; i++)
		f[i] = fake_post(w, (struct post){.method = "resources/list"});
	for (i = 0; atomic_load(&listed) < LIMIT_LOOKUPS_AT_ONCE && i < 20000;
	     i++)
		(void)usleep(1000);
	assert_int_equal(atomic_load(&listed), LIMIT_LOOKUPS_AT_ONCE);
	for (i = 0; i < 6; i++) {
		f[i]->gone = true;
		protocol_closed(w->protocol, &f[i]->ex);
	}
	atomic_store(&release, true);
	for (i = 0; i < 6; i++) {
		fake_wait_lost(f[i]);
		fake_free(f[i]);
	}
	assert_int_equal(atomic_load(&listed), LIMIT_LOOKUPS_AT_ONCE);
	wire_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read__gives_the_contents),
		cmocka_unit_test(test_read__gives_a_template_its_variables),
		cmocka_unit_test(test_read__of_what_is_not_there),
		cmocka_unit_test(test_read__wants_an_absolute_uri),
		cmocka_unit_test(test_read__repeats_the_uri_in_a_header),
		cmocka_unit_test(test_read__that_fails_is_an_internal_error),
		cmocka_unit_test(test_read__without_a_capability_it_needs),
		cmocka_unit_test(test_round__is_answered_and_not_cached),
		cmocka_unit_test(test_state__is_bound_to_the_uri),
		cmocka_unit_test(test_read__ends_when_the_client_goes),
		cmocka_unit_test(test_read__is_refused_where_it_cannot_wait),
		cmocka_unit_test(test_list__of_what_templates_list),
		cmocka_unit_test(test_list__has_hints),
		cmocka_unit_test(test_list__refuses_what_is_no_cursor),
		cmocka_unit_test(test_offers__are_what_was_registered),
		cmocka_unit_test(test_list__that_fails_is_an_internal_error),
		cmocka_unit_test(test_list__of_a_client_that_left_is_not_made),
	};

	return cmocka_run_group_tests(tests, set_up, wire_tear_down);
}
