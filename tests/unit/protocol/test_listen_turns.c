/* SPDX-License-Identifier: MIT */
/* A listener that is owed more than it is told at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bide/content.h"
#include "server/base/limits.h"
#include "server/task/topic.h"
#include "tests/unit/protocol/lib/fake_exchange.h"

#define TOPICS 400
#define COLD   (TOPICS - 1)
#define WIDTH  200 /* of a URI: some parts are needed for all of them */
#define FORM   "test://%0200d"

static enum bide_rc nothing(struct bide_call *call, void *user)
{
	(void)user;
	return bide_text(call, "nothing");
}

static void add(struct registry *r)
{
	wire_resource(
		r, (struct bide_resource){BIDE_RESOURCE, .uri = "test://one",
					  .name = "one", .handler = nothing});
}

static struct fake *listen_to_all(struct wire *w, const char *id)
{
	char *params = malloc(64 + (size_t)TOPICS * (WIDTH + 16));
	int at = sprintf(params, "{\"notifications\":{"
				 "\"resourceSubscriptions\":[");
	struct fake *f;

	for (int i = 0; i < TOPICS; i++)
		at += sprintf(params + at, "%s\"" FORM "\"", i ? "," : "", i);
	(void)sprintf(params + at, "]}}");
	f = fake_post(w, (struct post){.method = "subscriptions/listen",
				       .id = id,
				       .params = params});
	assert_true(fake_wait_events(f, 1));
	free(params);
	return f;
}

static void announce_soon(struct wire *w, int i)
{
	char uri[WIDTH + 32];

	(void)snprintf(uri, sizeof(uri), FORM, i);
	assert_int_equal(
		topic_announce_soon(w->store, BIDE_CHANGED_RESOURCES, uri),
		BIDE_OK);
}

/* Which one event @i is about. */
static int topic_at(struct fake *f, size_t i)
{
	const char *uri;
	int n;

	assert_true(fake_wait_events(f, i + 1));
	mutex_lock(&f->lock);
	uri = json_string_value(
		json_at(json_array_get(f->events, i), "params/uri"));
	n = uri ? atoi(uri + strlen("test://")) : -1;
	mutex_unlock(&f->lock);
	return n;
}

static void set_unsent(struct fake *f, size_t n)
{
	mutex_lock(&f->lock);
	f->unsent = n;
	f->looks = 0;
	mutex_unlock(&f->lock);
}

static int await_looks(struct fake *f, int n)
{
	int looks;

	mutex_lock(&f->lock);
	while (f->looks < n)
		cond_wait(&f->more, &f->lock);
	looks = f->looks;
	mutex_unlock(&f->lock);
	return looks;
}

/* Whatever is told has changed again. */
static void change_again(struct wire *w, const char *json)
{
	const char *uri = strstr(json, "\"uri\":\"test://");

	if (uri != NULL)
		announce_soon(w, atoi(uri + strlen("\"uri\":\"test://")));
}

static void test_topics__each_have_their_turn(void **state)
{
	struct wire *w = wire_new(NULL, add);
	struct fake *f;
	char cold[WIDTH + 32];
	size_t i = 1;

	(void)state;
	w->on_event = change_again;
	f = listen_to_all(w, "1");
	set_unsent(f, 1);
	(void)snprintf(cold, sizeof(cold), FORM, COLD);
	assert_int_equal(topic_announce(w->store, BIDE_CHANGED_RESOURCES, cold),
			 BIDE_OK);
	(void)await_looks(f, 1); /* it is owed */
	for (int hot = 0; hot < COLD; hot++)
		announce_soon(w, hot);
	set_unsent(f, 0);
	while (i < TOPICS && topic_at(f, i) != COLD)
		i++;
	assert_int_equal(topic_at(f, i), COLD);
	fake_close(f);
	fake_free(f);
	wire_free(w);
}

/* The id stands in each notice, so fewer of them are told at once. */
static void test_parts__count_the_requests_id(void **state)
{
	struct wire *w = wire_new(NULL, add);
	char id[LIMIT_ID_BYTES + 1];
	struct fake *f;

	(void)state;
	memset(id, 'i', sizeof(id));
	id[0] = id[LIMIT_ID_BYTES - 1] = '"';
	id[LIMIT_ID_BYTES] = '\0';
	f = listen_to_all(w, id);
	set_unsent(f, 1);
	for (int i = 0; i < TOPICS; i++)
		announce_soon(w, i);
	assert_int_equal(
		topic_announce(w->store, BIDE_CHANGED_RESOURCES, "test://one"),
		BIDE_OK);
	set_unsent(f, 1);
	(void)await_looks(f, 2); /* by now most of them are owed */
	set_unsent(f, 0);
	assert_true(fake_wait_events(f, TOPICS + 1));
	/* 64 KiB at once; the last part needs no look. */
	assert_true(await_looks(f, 1) >=
		    (TOPICS * (LIMIT_ID_BYTES + WIDTH)) / (64 * 1024));
	fake_close(f);
	fake_free(f);
	wire_free(w);
}

static void test_id__has_a_ceiling(void **state)
{
	struct wire *w = wire_new(NULL, add);
	char id[LIMIT_ID_BYTES + 2];
	struct fake *f;

	(void)state;
	memset(id, 'i', sizeof(id));
	id[0] = id[LIMIT_ID_BYTES] = '"';
	id[LIMIT_ID_BYTES + 1] = '\0';
	f = fake_call(w, (struct post){.method = "resources/list", .id = id});
	assert_int_equal(f->status, 400);
	assert_int_equal(fake_error(f), -32600);
	assert_null(fake_get(f, "id"));
	fake_free(f);
	id[LIMIT_ID_BYTES - 1] = '"';
	id[LIMIT_ID_BYTES] = '\0';
	f = fake_call(w, (struct post){.method = "resources/list", .id = id});
	assert_int_equal(f->status, 200);
	assert_int_equal(strlen(fake_string(f, "id")), LIMIT_ID_BYTES - 2);
	fake_free(f);
	wire_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_topics__each_have_their_turn),
		cmocka_unit_test(test_parts__count_the_requests_id),
		cmocka_unit_test(test_id__has_a_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
