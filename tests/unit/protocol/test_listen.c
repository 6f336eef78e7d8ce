/* SPDX-License-Identifier: MIT */
/* subscriptions/listen for lists and resources; test_tasks.c has the tasks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bide/content.h"
#include "server/base/limits.h"
#include "server/task/topic.h"
#include "store/sqlite_gate.h"
#include "tests/unit/protocol/lib/fake_exchange.h"
#include "tests/unit/protocol/lib/task_tools.h"

#define ACKNOWLEDGED "notifications/subscriptions/acknowledged"
#define TOOLS        "notifications/tools/list_changed"
#define PROMPTS      "notifications/prompts/list_changed"
#define RESOURCES    "notifications/resources/list_changed"
#define UPDATED      "notifications/resources/updated"

/* Announces what it is told to and says what came of it. */
static enum bide_rc say(struct bide_call *call, void *user)
{
	const char *uri = bide_arg_string(call, "uri");
	enum bide_rc rc =
		uri ? bide_resource_changed(call, uri)
		    : bide_changed(call, (enum bide_changed)bide_arg_int(
						 call, "what", 0));

	(void)user;
	return bide_text(call, "rc %d", (int)rc);
}

static enum bide_rc nothing(struct bide_call *call, void *user)
{
	(void)user;
	return bide_text(call, "nothing");
}

#define ARGS                                                                   \
	"{\"type\":\"object\",\"properties\":{\"what\":{\"type\":"             \
	"\"integer\"},\"uri\":{\"type\":\"string\"}}}"

static void add(struct registry *r)
{
	wire_tool(r, (struct bide_tool){BIDE_TOOL, .name = "say",
					.input_schema = ARGS, .handler = say});
	wire_tool(r, (struct bide_tool){BIDE_TOOL, .name = "say_inline",
					.input_schema = ARGS, .handler = say,
					.runs_inline = true});
	wire_tool(r, (struct bide_tool){BIDE_TOOL, .name = "say_task",
					.input_schema = ARGS, .handler = say,
					.mode = BIDE_PERSISTENT});
	wire_prompt(r, (struct bide_prompt){BIDE_PROMPT, .name = "p",
					    .handler = nothing});
	wire_resource(
		r, (struct bide_resource){BIDE_RESOURCE, .uri = "test://one",
					  .name = "one", .handler = nothing});
}

static int set_up(void **state)
{
	*state = wire_new(NULL, add);
	return 0;
}

/* ---- listening ---- */
static struct fake *listen_to(struct wire *w, const char *filter)
{
	return fake_listen(w, NULL, filter, "{}");
}

static const char *method(struct fake *f, size_t i)
{
	return json_string_value(fake_event(f, i, "method"));
}

static size_t events(struct fake *f)
{
	size_t n;

	mutex_lock(&f->lock);
	n = json_array_size(f->events);
	mutex_unlock(&f->lock);
	return n;
}

static void tagged(struct fake *f, const char *id)
{
	json_t *want = json_loads(id, JSON_DECODE_ANY, NULL);

	for (size_t i = 0; i < events(f); i++) {
		json_t *meta = fake_event(f, i, "params/_meta");

		if (meta == NULL)
			meta = fake_event(f, i, "result/_meta");
		assert_true(json_equal(
			json_object_get(
				meta, "io.modelcontextprotocol/subscriptionId"),
			want));
	}
	json_decref(want);
}

static void leave(struct fake *f)
{
	fake_close(f);
	fake_free(f);
}

static void changed(struct wire *w, enum bide_changed what)
{
	assert_int_equal(topic_announce(w->store, what, NULL), BIDE_OK);
}

static void updated(struct wire *w, const char *uri)
{
	assert_int_equal(topic_announce(w->store, BIDE_CHANGED_RESOURCES, uri),
			 BIDE_OK);
}

/* ---- the acknowledgement ---- */
static void acknowledged(struct wire *w, const char *filter, const char *what)
{
	struct fake *f = listen_to(w, filter);
	json_t *want = json_loads(what, 0, NULL);

	assert_string_equal(method(f, 0), ACKNOWLEDGED);
	if (!json_equal(fake_event(f, 0, "params/notifications"), want))
		fail_msg("%s is acknowledged otherwise", filter);
	json_decref(want);
	leave(f);
}

/* S35: what is honoured of what was asked for. */
static void test_ack__says_what_is_honoured(void **state)
{
	acknowledged(*state, "{}", "{}");
	acknowledged(*state,
		     "{\"toolsListChanged\":true,\"promptsListChanged\":false,"
		     "\"resourcesListChanged\":true,\"somethingElse\":7}",
		     "{\"toolsListChanged\":true,"
		     "\"resourcesListChanged\":true}");
	acknowledged(*state, "{\"promptsListChanged\":true}",
		     "{\"promptsListChanged\":true}");
	acknowledged(*state,
		     "{\"resourceSubscriptions\":[\"test://b\",\"test://a\","
		     "\"test://b\"]}",
		     "{\"resourceSubscriptions\":[\"test://b\",\"test://a\"]}");
	acknowledged(*state, "{\"resourceSubscriptions\":[]}",
		     "{\"resourceSubscriptions\":[]}");
}

/* patterns/subscriptions: a type that the server does not have is omitted. */
static void test_ack__leaves_out_what_the_server_has_not(void **state)
{
	struct wire *w = wire_new(NULL, task_tools_add);

	(void)state;
	acknowledged(w,
		     "{\"toolsListChanged\":true,\"promptsListChanged\":true,"
		     "\"resourcesListChanged\":true,"
		     "\"resourceSubscriptions\":[\"test://a\"]}",
		     "{\"toolsListChanged\":true}");
	wire_free(w);
}

static void refused(struct wire *w, const char *filter)
{
	struct fake *f = listen_to(w, filter);

	fake_wait(f);
	if (f->streaming || fake_error(f) != -32602)
		fail_msg("%.60s is not refused", filter);
	fake_free(f);
}

static void test_filter__that_makes_no_sense_is_refused(void **state)
{
	static const char *const bad[] = {
		"7",
		"null",
		"{\"toolsListChanged\":1}",
		"{\"promptsListChanged\":\"true\"}",
		"{\"resourcesListChanged\":null}",
		"{\"resourceSubscriptions\":true}",
		"{\"resourceSubscriptions\":\"test://a\"}",
		"{\"resourceSubscriptions\":[\"test://a\",7]}",
		"{\"resourceSubscriptions\":[\"a/b\"]}",
		"{\"resourceSubscriptions\":[\"\"]}",
		"{\"resourceSubscriptions\":[\"test://a b\"]}",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refused(*state, bad[i]);
}

/* @n of them, each @len characters long. */
static char *many_uris(size_t n, size_t len)
{
	char *filter = malloc(64 + n * (len + 3));
	size_t at;

	assert_non_null(filter);
	at = (size_t)sprintf(filter, "{\"resourceSubscriptions\":[");
	for (size_t i = 0; i < n; i++)
		at += (size_t)sprintf(filter + at, "%s\"test://%0*zu\"",
				      i ? "," : "", (int)len - 7, i);
	(void)sprintf(filter + at, "]}");
	return filter;
}

static void test_filter__names_so_many_resources_at_most(void **state)
{
	char *most = many_uris(LIMIT_RESOURCES_PER_LISTEN, 12);
	char *more = many_uris(LIMIT_RESOURCES_PER_LISTEN + 1, 12);
	struct fake *f = listen_to(*state, most);

	assert_int_equal(
		json_array_size(fake_event(
			f, 0, "params/notifications/resourceSubscriptions")),
		LIMIT_RESOURCES_PER_LISTEN);
	leave(f);
	refused(*state, more);
	free(most);
	free(more);
}

/* ---- what is told ---- */
/* S34, S74: each its own, tagged with its own id, and nothing else. */
static void test_listeners__are_told_what_each_asked_for(void **state)
{
	static const char *const ids[] = {"9007199254740993", "\"a \\\"b\\\"\"",
					  "-1"};
	struct fake *lists = fake_listen(*state, ids[0],
					 "{\"toolsListChanged\":true,"
					 "\"promptsListChanged\":true}",
					 "{}");
	struct fake *one = fake_listen(
		*state, ids[1],
		"{\"resourceSubscriptions\":[\"test://one\",\"x:y\"]}", "{}");
	struct fake *list = fake_listen(
		*state, ids[2], "{\"resourcesListChanged\":true}", "{}");

	updated(*state, "test://one");
	assert_string_equal(method(one, 1), UPDATED);
	assert_string_equal(json_string_value(fake_event(one, 1, "params/uri")),
			    "test://one");
	updated(*state, "test://one/more");
	changed(*state, BIDE_CHANGED_RESOURCES);
	assert_string_equal(method(list, 1), RESOURCES);
	changed(*state, BIDE_CHANGED_TOOLS);
	assert_string_equal(method(lists, 1), TOOLS);
	changed(*state, BIDE_CHANGED_PROMPTS);
	assert_string_equal(method(lists, 2), PROMPTS);
	updated(*state, "x:y");
	assert_string_equal(json_string_value(fake_event(one, 2, "params/uri")),
			    "x:y");
	changed(*state, BIDE_CHANGED_RESOURCES);
	assert_string_equal(method(list, 2), RESOURCES);
	/* What was told is in the order of what happened: had there been
	 * anything else, it would be there. */
	assert_int_equal(events(lists), 3);
	assert_int_equal(events(one), 3);
	assert_int_equal(events(list), 3);
	tagged(lists, ids[0]);
	tagged(one, ids[1]);
	tagged(list, ids[2]);
	leave(lists);
	leave(one);
	leave(list);
}

static void test_listener__is_not_told_of_what_came_before(void **state)
{
	struct fake *f;

	changed(*state, BIDE_CHANGED_TOOLS);
	f = listen_to(*state, "{\"toolsListChanged\":true,"
			      "\"promptsListChanged\":true}");
	assert_string_equal(method(f, 0), ACKNOWLEDGED);
	changed(*state, BIDE_CHANGED_PROMPTS);
	assert_string_equal(method(f, 1), PROMPTS);
	changed(*state, BIDE_CHANGED_TOOLS);
	assert_string_equal(method(f, 2), TOOLS);
	leave(f);
}

static void change_at_ack(struct wire *w, const char *json)
{
	if (strstr(json, ACKNOWLEDGED) != NULL)
		changed(w, BIDE_CHANGED_TOOLS);
}

/* What is announced as the acknowledgement goes out is told, also when it was
 * told to others before this one's watching begins. */
static void test_listener__misses_nothing_after_the_ack(void **state)
{
	struct wire *w = *state;
	struct fake *other = listen_to(w, "{\"toolsListChanged\":true}");

	w->on_event = change_at_ack;
	for (size_t i = 1; i <= 50; i++) {
		struct fake *f = listen_to(w, "{\"toolsListChanged\":true}");

		assert_string_equal(method(f, 0), ACKNOWLEDGED);
		assert_string_equal(method(f, 1), TOOLS);
		assert_string_equal(method(other, i), TOOLS);
		leave(f);
	}
	w->on_event = NULL;
	leave(other);
}

/* ---- a client that reads slowly ---- */
static void set_unsent(struct fake *f, size_t n)
{
	mutex_lock(&f->lock);
	f->unsent = n;
	f->looks = 0;
	mutex_unlock(&f->lock);
}

static void await_looks(struct fake *f, int n)
{
	mutex_lock(&f->lock);
	while (f->looks < n)
		cond_wait(&f->more, &f->lock);
	mutex_unlock(&f->lock);
}

static void test_slow_listener__is_owed_each_topic_once(void **state)
{
	struct fake *f =
		listen_to(*state, "{\"toolsListChanged\":true,"
				  "\"resourceSubscriptions\":[\"test://a\"]}");
	struct fake *quick = listen_to(*state, "{\"toolsListChanged\":true}");

	assert_string_equal(method(f, 0), ACKNOWLEDGED);
	set_unsent(f, 1);
	changed(*state, BIDE_CHANGED_TOOLS);
	await_looks(f, 1);
	for (int i = 0; i < 30; i++)
		changed(*state, BIDE_CHANGED_TOOLS);
	updated(*state, "test://a");
	assert_string_equal(method(quick, 1), TOOLS); /* it waits for nobody */
	await_looks(f, 3);
	assert_int_equal(events(f), 1);
	set_unsent(f, 0);
	assert_string_equal(method(f, 1), TOOLS);
	assert_string_equal(method(f, 2), UPDATED);
	changed(*state, BIDE_CHANGED_TOOLS);
	assert_string_equal(method(f, 3), TOOLS);
	assert_int_equal(events(f), 4);
	leave(f);
	leave(quick);
}

/* One that never reads again can still be closed. */
static void test_slow_listener__goes(void **state)
{
	struct fake *f = listen_to(*state, "{\"toolsListChanged\":true}");

	assert_string_equal(method(f, 0), ACKNOWLEDGED);
	set_unsent(f, 1);
	changed(*state, BIDE_CHANGED_TOOLS);
	await_looks(f, 2);
	leave(f);
}

/* More than the stream would take at once. */
static void test_listener__is_told_of_many_in_parts(void **state)
{
	char *filter = many_uris(LIMIT_RESOURCES_PER_LISTEN, 200);
	struct fake *f = listen_to(*state, filter);
	char uri[256];

	assert_string_equal(method(f, 0), ACKNOWLEDGED);
	set_unsent(f, 1);
	for (int i = 0; i < LIMIT_RESOURCES_PER_LISTEN; i++) {
		(void)snprintf(uri, sizeof(uri), "test://%0*d", 193, i);
		assert_int_equal(
			topic_announce_soon(((struct wire *)*state)->store,
					    BIDE_CHANGED_RESOURCES, uri),
			BIDE_OK);
	}
	set_unsent(f, 0);
	assert_string_equal(method(f, LIMIT_RESOURCES_PER_LISTEN), UPDATED);
	assert_int_equal(events(f), LIMIT_RESOURCES_PER_LISTEN + 1);
	await_looks(f, 3);
	leave(f);
	free(filter);
}

/* ---- who says so ---- */
static void handler_says(struct wire *w, const char *tool, const char *args,
			 const char *rc)
{
	struct fake *f = fake_call(w, (struct post){.method = "tools/call",
						    .tool = tool,
						    .args = args,
						    .caps = CAPS_FORM});

	assert_string_equal(fake_text(f), rc);
	fake_free(f);
}

static void test_handler__announces(void **state)
{
	static const char *const tools[] = {"say", "say_inline", "say_task"};
	struct fake *f = listen_to(
		*state, "{\"toolsListChanged\":true,"
			"\"promptsListChanged\":true,"
			"\"resourcesListChanged\":true,"
			"\"resourceSubscriptions\":[\"test://one\"]}");
	size_t n = 1;

	for (size_t i = 0; i < 3; i++) {
		handler_says(*state, tools[i], "{\"what\":1}", "rc 0");
		assert_string_equal(method(f, n++), TOOLS);
		handler_says(*state, tools[i], "{\"what\":2}", "rc 0");
		assert_string_equal(method(f, n++), PROMPTS);
		handler_says(*state, tools[i], "{\"what\":3}", "rc 0");
		assert_string_equal(method(f, n++), RESOURCES);
		handler_says(*state, tools[i], "{\"uri\":\"test://one\"}",
			     "rc 0");
		assert_string_equal(method(f, n++), UPDATED);
	}
	leave(f);
}

/* While nobody can commit, an inline handler is through: it runs on a thread
 * of the transport. */
static void test_inline__does_not_wait_for_the_commit(void **state)
{
	struct wire *w = *state;
	struct fake *f = listen_to(w, "{\"toolsListChanged\":true}");
	struct gate *gate = NULL;
	char db[300];

	assert_string_equal(method(f, 0), ACKNOWLEDGED);
	(void)snprintf(db, sizeof(db), "%s/bide.db", w->dir);
	assert_int_equal(gate_open(db, NULL, &gate, NULL), BIDE_OK);
	assert_int_equal(gate_enter(gate, INT64_MAX, NULL), BIDE_OK);
	handler_says(w, "say_inline", "{\"what\":1}", "rc 0");
	assert_int_equal(events(f), 1);
	gate_leave(gate);
	assert_string_equal(method(f, 1), TOOLS);
	gate_close(gate);
	leave(f);
}

/* None of it sticks: the result is the handler's. */
static void test_handler__hears_what_cannot_be_announced(void **state)
{
	static const char *const tools[] = {"say", "say_inline", "say_task"};
	char rc[16];

	(void)snprintf(rc, sizeof(rc), "rc %d", (int)BIDE_INVALID);
	for (size_t i = 0; i < 3; i++) {
		handler_says(*state, tools[i], "{\"what\":0}", rc);
		handler_says(*state, tools[i], "{\"what\":4}", rc);
		handler_says(*state, tools[i], "{\"uri\":\"one\"}", rc);
		handler_says(*state, tools[i], "{\"uri\":\"\"}", rc);
	}
}

/* ---- many at once ---- */
#define COMERS 4
#define VISITS 40

struct comer {
	struct thread thread;
	struct wire *w;
	const char *uri;
};

/* Listens, hears what it says itself while others say theirs, and goes. */
static void come_and_go(void *arg)
{
	const struct comer *c = arg;
	char filter[120];

	(void)snprintf(filter, sizeof(filter),
		       "{\"toolsListChanged\":true,"
		       "\"resourceSubscriptions\":[\"%s\"]}",
		       c->uri);
	for (int i = 0; i < VISITS; i++) {
		struct fake *f = listen_to(c->w, filter);
		size_t at = 0;

		assert_string_equal(method(f, at++), ACKNOWLEDGED);
		updated(c->w, c->uri);
		while (strcmp(method(f, at), UPDATED) != 0)
			assert_string_equal(method(f, at++), TOOLS);
		assert_string_equal(
			json_string_value(fake_event(f, at, "params/uri")),
			c->uri);
		changed(c->w, BIDE_CHANGED_TOOLS);
		leave(f);
	}
}

static void test_listeners__may_come_and_go(void **state)
{
	static const char *const uris[COMERS] = {"test://1", "test://1",
						 "test://2", "test://3"};
	struct comer c[COMERS] = {0};

	for (int i = 0; i < COMERS; i++) {
		c[i].w = *state;
		c[i].uri = uris[i];
		assert_int_equal(
			thread_start(&c[i].thread, "comer", come_and_go, &c[i]),
			0);
	}
	for (int i = 0; i < COMERS; i++)
		thread_join(&c[i].thread);
}

/* ---- the end ---- */
static void test_drain__ends_each_with_its_response(void **state)
{
	struct wire *w = wire_new(NULL, add);
	struct fake *f = fake_listen(w, "\"seven\"",
				     "{\"toolsListChanged\":true}", "{}");

	(void)state;
	changed(w, BIDE_CHANGED_TOOLS);
	assert_string_equal(method(f, 1), TOOLS);
	dispatch_drain(w->dispatch);
	fake_wait(f);
	assert_int_equal(events(f), 3);
	assert_string_equal(json_string_value(fake_event(f, 2, "id")), "seven");
	assert_string_equal(
		json_string_value(fake_event(f, 2, "result/resultType")),
		"complete");
	tagged(f, "\"seven\"");
	fake_free(f);
	wire_free(w);
}

static void test_listen__is_refused_where_it_cannot_wait(void **state)
{
	struct fake *f = fake_call(
		*state, (struct post){.method = "subscriptions/listen",
				      .id = "\"seven\"",
				      .params = "{\"notifications\":{}}",
				      .crowded = true});

	assert_false(f->streaming);
	assert_string_equal(fake_string(f, "id"), "seven");
	assert_string_equal(fake_string(f, "error/message"),
			    "Too many requests are waiting; try again");
	fake_is(f, 200, -32603);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ack__says_what_is_honoured),
		cmocka_unit_test(test_ack__leaves_out_what_the_server_has_not),
		cmocka_unit_test(test_filter__that_makes_no_sense_is_refused),
		cmocka_unit_test(test_filter__names_so_many_resources_at_most),
		cmocka_unit_test(test_listeners__are_told_what_each_asked_for),
		cmocka_unit_test(
			test_listener__is_not_told_of_what_came_before),
		cmocka_unit_test(test_listener__misses_nothing_after_the_ack),
		cmocka_unit_test(test_slow_listener__is_owed_each_topic_once),
		cmocka_unit_test(test_slow_listener__goes),
		cmocka_unit_test(test_listener__is_told_of_many_in_parts),
		cmocka_unit_test(test_handler__announces),
		cmocka_unit_test(test_inline__does_not_wait_for_the_commit),
		cmocka_unit_test(test_handler__hears_what_cannot_be_announced),
		cmocka_unit_test(test_listeners__may_come_and_go),
		cmocka_unit_test(test_listen__is_refused_where_it_cannot_wait),
		cmocka_unit_test(test_drain__ends_each_with_its_response),
	};

	return cmocka_run_group_tests(tests, set_up, wire_tear_down);
}
