/* SPDX-License-Identifier: MIT */
/* The tasks extension, subscriptions and progress. */
#include <pthread.h>
#include <signal.h>
#include <strings.h>
#include <time.h>

#include "tests/e2e/conformance.h"
#include "tests/e2e/lib/listener.h"
#include "tests/e2e/lib/task.h"

#define IDS     160
#define HOUR_MS 3600000

static int setup(void **state)
{
	static const char *const args[] = {"--test-identity",
					   "--sweep-interval", "50", NULL};

	(void)state;
	return pair_both(args);
}

/* ---- the shape in each state ---- */
static void has(struct reply *r, const char *status, bool inputs, bool end,
		bool error)
{
	assert_string_equal(task_status(r), status);
	assert_string_equal(result_type(r), "complete");
	assert_int_equal(member(r, "inputRequests") != NULL, inputs);
	assert_int_equal(member(r, "result") != NULL, end);
	assert_int_equal(member(r, "error") != NULL, error);
	assert_null(member(r, "requestState"));
	assert_true(json_is_string(member(r, "createdAt")));
	assert_true(json_is_string(member(r, "lastUpdatedAt")));
	assert_true(json_is_integer(member(r, "ttlMs")) ||
		    json_is_null(member(r, "ttlMs")));
	reply_free(r);
}

static void test_get__is_complete_in_every_state(void **unused)
{
	struct ask a = as_tasks(one, "alice");
	char id[64];

	(void)unused;
	create(&a, "busy", json_pack("{s:i}", "ms", 60000), id);
	has(await(&a, id, "working"), "working", false, false, false);
	reply_free(task_do(&a, "tasks/cancel", id, NULL));
	has(await(&a, id, "cancelled"), "cancelled", false, false, false);
	create(&a, "approve", NULL, id);
	has(await(&a, id, "input_required"), "input_required", true, false,
	    false);
	reply_free(task_do(&a, "tasks/update", id,
			   accept_bool("approval", "ok", true)));
	has(await(&a, id, "completed"), "completed", false, true, false);
	create(&a, "protocol_error_job", NULL, id);
	has(await(&a, id, "failed"), "failed", false, false, true);
	/* cancelled while it asks: its questions are gone */
	create(&a, "approve", NULL, id);
	reply_free(await(&a, id, "input_required"));
	reply_free(task_do(&a, "tasks/cancel", id, NULL));
	has(await(&a, id, "cancelled"), "cancelled", false, false, false);
}

/* ---- ends ---- */
static json_t *without_meta(const json_t *o)
{
	json_t *c = json_deep_copy(o);

	(void)json_object_del(c, "_meta");
	return c;
}

static void same_end(const char *how, const char *is)
{
	struct ask a = as_tasks(one, "alice");
	struct ask plain = as_tasks(two, "alice");
	json_t *args = json_pack("{s:s}", "how", how);
	struct reply *want;
	struct reply *waited;
	struct reply *got;
	char id[64];
	json_t *x;
	json_t *y;

	plain.can = CAN_FORM;
	want = tool(&plain, "ends", json_incref(args));
	waited = tool(&plain, "ends_as_a_task", json_incref(args));
	create(&a, "ends_as_a_task", args, id);
	if (strcmp(how, "error") == 0) {
		got = await(&a, id, "failed");
		x = json_incref(json_object_get(want->message, "error"));
		assert_true(json_equal(
			x, json_object_get(waited->message, "error")));
		assert_true(json_equal(x, member(got, "error")));
	} else {
		got = await(&a, id, "completed");
		x = without_meta(result(want));
		y = without_meta(result(waited));
		assert_true(json_equal(x, y));
		json_decref(y);
		if (!json_equal(x, member(got, "result")))
			fail_msg("%s, wanted %s", got->raw, want->raw);
	}
	y = json_loads(is, 0, NULL);
	if (!json_equal(x, y))
		fail_msg("%s, wanted %s", want->raw, is);
	json_decref(y);
	json_decref(x);
	reply_free(want);
	reply_free(waited);
	reply_free(got);
}

/* One handler: the plain call's result, the one that was waited for and the
 * one in the task are the same JSON, errors with their data too. */
static void test_end__is_what_the_plain_call_gives(void **unused)
{
	(void)unused;
	same_end(
		"content",
		"{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\","
		"\"text\":\"a\\nb\"},{\"type\":\"image\",\"data\":\"iVBORw==\","
		"\"mimeType\":\"image/png\"},{\"type\":\"resource_link\","
		"\"uri\":\"file:///x\",\"name\":\"x\",\"mimeType\":"
		"\"text/plain\"}]}");
	same_end("structured",
		 "{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\","
		 "\"text\":\"{\\\"list\\\":[1,0.1,null]}\"}],"
		 "\"structuredContent\":{\"list\":[1,0.1,null]}}");
	same_end("tool_error",
		 "{\"resultType\":\"complete\",\"isError\":true,\"content\":["
		 "{\"type\":\"text\",\"text\":\"no \\\"luck\\\" \\u00e9\"}]}");
	same_end("error",
		 "{\"code\":-31007,\"message\":\"It broke\",\"data\":{\"why\":"
		 "[\"because\",7]}}");
}

/* ---- ids ---- */
static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/*
 * At least 128 random bits: none twice, no two alike for long, each place takes
 * many values. A counter, a time or a UUID of a version that has one fails
 * this.
 */
static void test_ids__cannot_be_guessed(void **unused)
{
	static char ids[IDS][64];
	struct ask a = as_tasks(one, "alice");
	struct ask b = as_tasks(two, "alice");

	(void)unused;
	for (size_t i = 0; i < IDS; i++)
		create(i % 2 ? &a : &b, "ends_as_a_task",
		       json_pack("{s:s}", "how", "structured"), ids[i]);
	for (size_t at = 0; at < 21; at++) {
		bool seen[256] = {false};
		size_t n = 0;

		for (size_t i = 0; i < IDS; i++) {
			assert_true(strlen(ids[i]) >= 22);
			n += !seen[(unsigned char)ids[i][at]];
			seen[(unsigned char)ids[i][at]] = true;
		}
		/* of 64 values 160 draws show 59 on average, never under 40 */
		if (n < 40)
			fail_msg("place %zu has %zu values", at, n);
	}
	qsort(ids, IDS, sizeof(ids[0]), by_text);
	for (size_t i = 1; i < IDS; i++)
		assert_true(strncmp(ids[i - 1], ids[i], 8) != 0);
}

/* ---- acknowledgements ---- */
static void empty(struct reply *r)
{
	const json_t *o = result(r);

	assert_int_equal(r->status, 200);
	assert_string_equal(result_type(r), "complete");
	assert_int_equal(json_object_size(o), 2);
	assert_non_null(json_object_get(o, "_meta"));
	reply_free(r);
}

static void test_acknowledgement__is_empty(void **unused)
{
	struct ask a = as_tasks(one, "alice");
	char id[64];

	(void)unused;
	create(&a, "multi_input", NULL, id);
	reply_free(await(&a, id, "input_required"));
	empty(task_do(&a, "tasks/update", id, json_object()));
	empty(task_do(&a, "tasks/update", id,
		      json_pack("{s:{s:i}}", "never asked", "x", 1)));
	empty(task_do(&a, "tasks/update", id,
		      accept_string("first", "name", "Ada")));
	empty(task_do(&a, "tasks/update", id,
		      accept_string("second", "name", "Bo")));
	reply_free(await(&a, id, "completed"));
	empty(task_do(&a, "tasks/update", id,
		      accept_string("second", "name", "late")));
	empty(task_do(&a, "tasks/cancel", id, NULL));
	create(&a, "approve", NULL, id);
	empty(task_do(&a, "tasks/cancel", id, NULL));
	empty(task_do(&a, "tasks/cancel", id, NULL));
}

static void test_unknown_id__is_invalid_params(void **unused)
{
	static const char *const methods[] = {"tasks/get", "tasks/update",
					      "tasks/cancel"};
	struct ask a = as_tasks(one, "alice");

	(void)unused;
	for (size_t i = 0; i < 3; i++) {
		struct reply *r =
			task_do(&a, methods[i], "AAAAAAAAAAAAAAAAAAAAAA",
				i == 1 ? json_object() : NULL);

		assert_int_equal(r->status, 200);
		assert_int_equal(error_code(r), -32602);
		reply_free(r);
	}
}

/* ---- questions ---- */
/* Every key that was ever shown is shown again only while it is open. */
static void test_keys__are_never_used_again(void **unused)
{
	static const char *const misfit =
		"{\"action\":\"accept\",\"content\":{\"ok\":\"what?\"}}";
	struct ask a = as_tasks(one, "alice");
	json_t *seen = json_object();
	char id[64];
	struct reply *r;

	(void)unused;
	create(&a, "approve", NULL, id);
	for (int i = 0; i < 5; i++) {
		json_t *open;
		json_t *answers = json_object();
		const char *key;
		json_t *v;

		r = await(&a, id, "input_required");
		open = json_object_get(result(r), "inputRequests");
		assert_int_equal(json_object_size(open), 1);
		json_object_foreach (open, key, v) {
			assert_null(json_object_get(seen, key));
			(void)json_object_set_new(seen, key, json_true());
			(void)json_object_set_new(answers, key,
						  json_loads(misfit, 0, NULL));
		}
		reply_free(r);
		reply_free(task_do(&a, "tasks/update", id, answers));
	}
	assert_int_equal(json_object_size(seen), 5);
	json_decref(seen);
	reply_free(task_do(&a, "tasks/cancel", id, NULL));
}

/* ---- its life ---- */
static void *create_thread(void *arg)
{
	struct ask a = as_tasks(one, "alice");

	a.url = arg;
	char *id = calloc(1, 64);

	create(&a, "two_step", NULL, id);
	return id;
}

/* The connection that made it is gone with its thread; it is served on others
 * until createdAt + ttlMs, and not for long after. */
static void test_task__is_there_until_its_ttl(void **unused)
{
	struct scratch *s = scratch_new();
	struct testclock *k = testclock_new(s);
	const char *const args[] = {"--test-clock",
				    k->path,
				    "--test-identity",
				    "--sweep-interval",
				    "50",
				    "--retention",
				    "1h",
				    NULL};
	struct server *v = server_start(s, args);
	struct ask a = as_tasks(v, "alice");
	pthread_t t;
	void *id = NULL;
	struct reply *r;
	int64_t ttl;

	(void)unused;
	assert_int_equal(pthread_create(&t, NULL, create_thread, v->url), 0);
	(void)pthread_join(t, &id);
	r = await(&a, id, "completed");
	ttl = json_integer_value(member(r, "ttlMs"));
	assert_true(ttl >= HOUR_MS);
	reply_free(r);
	testclock_forward(k, ttl - 60000);
	for (int i = 0; i < 20; i++) {
		r = task_do(&a, "tasks/get", id, NULL);
		assert_string_equal(task_status(r), "completed");
		assert_non_null(member(r, "result"));
		reply_free(r);
	}
	testclock_forward(k, 120000);
	for (int i = 0; i < 6000; i++) {
		const struct timespec nap = {0, 10 * 1000 * 1000};

		r = task_do(&a, "tasks/get", id, NULL);
		if (error_code(r) == -32602)
			break;
		reply_free(r);
		r = NULL;
		(void)nanosleep(&nap, NULL);
	}
	assert_non_null(r);
	reply_free(r);
	free(id);
	server_free(v);
	testclock_free(k);
	scratch_free(s);
}

/* ---- listeners ---- */
static json_t *bare(const json_t *task)
{
	json_t *c = without_meta(task);

	(void)json_object_del(c, "resultType");
	return c;
}

/* Ends a listener by the last thing that happens to @id. */
static void cancel_and_leave(struct listener *l, struct ask *a, const char *id)
{
	listener_leave(l);
	reply_free(task_do(a, "tasks/cancel", id, NULL));
	listener_join(l);
}

/* A notification carries the whole task, as tasks/get would have it; and
 * nothing of a task that was not named, though it is the caller's own. */
static void test_listener__is_told_what_get_says(void **unused)
{
	struct ask a = as_tasks(one, "alice");
	struct ask b = as_tasks(two, "alice");
	struct listener l;
	const json_t *m;
	struct reply *r;
	char id[64], asks[64], unnamed[64];
	json_t *x;
	json_t *y;
	size_t i;

	(void)unused;
	create(&a, "approve", NULL, id);
	create(&a, "approve", NULL, asks);
	create(&a, "approve", NULL, unnamed);
	r = await(&a, asks, "input_required");
	listener_start(&l, b, json_pack("{s:[s,s]}", "taskIds", id, asks));
	m = listener_await(&l, asks, "input_required");
	x = bare(json_object_get(m, "params"));
	y = bare(result(r));
	assert_true(json_equal(x, y));
	json_decref(x);
	json_decref(y);
	reply_free(r);
	assert_non_null(listener_await(&l, id, "input_required"));
	reply_free(await(&a, unnamed, "input_required"));
	reply_free(task_do(&a, "tasks/update", unnamed,
			   accept_bool("approval", "ok", true)));
	reply_free(await(&a, unnamed, "completed"));
	reply_free(task_do(&a, "tasks/update", id,
			   accept_bool("approval", "ok", true)));
	m = listener_await(&l, id, "completed");
	r = await(&a, id, "completed");
	x = bare(json_object_get(m, "params"));
	y = bare(result(r));
	assert_true(json_equal(x, y));
	json_decref(x);
	json_decref(y);
	reply_free(r);
	cancel_and_leave(&l, &a, asks);
	json_array_foreach (l.messages, i, x) {
		const json_t *p = json_object_get(x, "params");
		const char *t = json_string_value(json_object_get(p, "taskId"));

		if (i > 0)
			assert_true(t != NULL && strcmp(t, unnamed) != 0);
	}
	assert_true(listener_tagged(&l));
	listener_end(&l);
}

/* False: the task had said all before it was listened to. */
static bool heard_talking(int ms)
{
	struct ask a = as_tasks(one, "alice");
	struct ask b = as_tasks(two, "alice");
	struct listener l;
	struct reply *r;
	char id[64], last[64];
	size_t i;
	json_t *m;
	bool heard = false;

	create(&b, "approve", NULL, last);
	a.progress = "tok";
	a.log_level = "debug";
	b.log_level = "debug";
	b.progress = "listen-tok";
	r = tool(&a, "talker", json_pack("{s:i}", "ms", ms));
	assert_string_equal(result_type(r), "task");
	assert_int_equal(json_array_size(r->events), 0);
	(void)snprintf(id, sizeof(id), "%s", task_id(r));
	reply_free(r);
	listener_start(&l, b, json_pack("{s:[s,s]}", "taskIds", id, last));
	assert_non_null(listener_await(&l, id, "completed"));
	cancel_and_leave(&l, &a, last);
	json_array_foreach (l.messages, i, m) {
		assert_string_equal(
			json_string_value(json_object_get(m, "method")),
			i == 0 ? "notifications/subscriptions/acknowledged"
			       : "notifications/tasks");
		heard |= listener_is(m, id, "working");
	}
	listener_end(&l);
	return heard;
}

/* A task that talks, made by a request that wanted progress and logs: none of
 * it on the listener's stream, and none of it on the task's creation. */
static void test_listener__hears_no_progress_and_no_log(void **unused)
{
	int ms = 60;

	(void)unused;
	/* a slow machine needs more time to begin to listen */
	while (!heard_talking(ms))
		assert_true((ms *= 4) < 20000);
}

/* The id that tags everything is the request's, a string as a string; two
 * listeners of one caller each have their own, and what each asked for. */
static void test_listener__is_tagged_with_its_own_id(void **unused)
{
	struct ask a = as_tasks(one, "alice");
	struct ask b = as_tasks(two, "alice");
	struct listener l[2];
	json_t *id = json_string("7");
	json_t *id2 = json_integer(7);
	char task[64], other[64];

	(void)unused;
	create(&a, "approve", NULL, task);
	create(&a, "approve", NULL, other);
	a.id = id;
	b.id = id2;
	listener_start(&l[0], a, json_pack("{s:[s]}", "taskIds", task));
	listener_start(&l[1], b,
		       json_pack("{s:[s],s:b,s:b}", "taskIds", other,
				 "toolsListChanged", 1, "promptsListChanged",
				 1));
	assert_non_null(listener_await(&l[0], task, "input_required"));
	assert_non_null(listener_await(&l[1], other, "input_required"));
	a.id = b.id = NULL;
	cancel_and_leave(&l[0], &b, task);
	cancel_and_leave(&l[1], &a, other);
	for (int i = 0; i < 2; i++) {
		const json_t *ack = json_array_get(l[i].messages, 0);
		const json_t *honoured = json_object_get(
			json_object_get(ack, "params"), "notifications");
		json_t *want = i == 0 ? json_pack("{s:[s]}", "taskIds", task)
				      : json_pack("{s:[s],s:b,s:b}", "taskIds",
						  other, "toolsListChanged", 1,
						  "promptsListChanged", 1);

		assert_true(listener_tagged(&l[i]));
		assert_true(json_equal(honoured, want));
		json_decref(want);
		listener_end(&l[i]);
	}
	json_decref(id);
	json_decref(id2);
}

/* Nothing was asked for: acknowledged, and then nothing is told, though
 * everything changes and others hear of it; not even tasks of its own. */
static void test_listener__of_nothing_hears_nothing(void **unused)
{
	static const char *const all_of[][2] = {
		{"tools", "notifications/tools/list_changed"},
		{"prompts", "notifications/prompts/list_changed"},
		{"resources", "notifications/resources/list_changed"}};
	struct scratch *s = scratch_new();
	struct server *v = server_start(s, NULL);
	struct ask a = as_tasks(v, "alice");
	struct listener none, all;
	char id[64];

	(void)unused;
	listener_start(&none, a, json_object());
	assert_non_null(listener_await(&none, NULL, NULL));
	create(&a, "approve", NULL, id);
	listener_start(&all, a,
		       json_pack("{s:[s],s:b,s:b,s:b}", "taskIds", id,
				 "toolsListChanged", 1, "promptsListChanged", 1,
				 "resourcesListChanged", 1));
	assert_non_null(listener_await(&all, id, "input_required"));
	for (size_t i = 0; i < 3; i++) {
		reply_free(tool(&a, "announce",
				json_pack("{s:s}", "what", all_of[i][0])));
		assert_true(listener_await_method(&all, all_of[i][1]));
	}
	reply_free(task_do(&a, "tasks/cancel", id, NULL));
	assert_non_null(listener_await(&all, id, "cancelled"));
	(void)server_signal_wait(v, SIGTERM);
	listener_join(&none);
	listener_join(&all);
	/* the acknowledgement and the response */
	assert_int_equal(json_array_size(none.messages), 2);
	equals(json_object_get(json_object_get(json_array_get(none.messages, 0),
					       "params"),
			       "notifications"),
	       "{}");
	assert_true(listener_tagged(&none));
	listener_end(&none);
	listener_end(&all);
	server_free(v);
	scratch_free(s);
}

/* ---- progress ---- */
struct climb {
	double last;
	size_t told;
	bool wrong;
};

static bool rises(void *user, json_t *m)
{
	struct climb *c = user;
	const json_t *p = json_object_get(m, "params");
	double v = json_number_value(json_object_get(p, "progress"));

	if (json_object_get(m, "id") != NULL)
		return true;
	if (v <= c->last)
		c->wrong = true;
	c->last = v;
	c->told++;
	return true;
}

/* How often a call that climbs was told of it. */
static size_t climb_told(const struct server *v, int ms)
{
	struct climb c = {.last = 0};
	struct ask a = {.url = v->url,
			.can = "{}",
			.progress = "t",
			.event = rises,
			.user = &c};
	struct reply *r = tool(&a, "climber", json_pack("{s:i}", "ms", ms));

	assert_string_equal(result_text(r), "up");
	assert_false(c.wrong);
	assert_true(c.last >= 5);
	reply_free(r);
	return c.told;
}

/* The handler begins anew four times, on the one instance that has workers;
 * who waits at the other is told what rises, and of each part. */
static void test_progress__comes_from_another_instance(void **unused)
{
	static const char *const none[] = {"--task-workers", "0", NULL};
	struct scratch *s = scratch_new();
	struct server *waits = server_start(s, none);
	struct server *works = server_start(s, NULL);
	int ms = 300;

	(void)unused;
	/* at least one of each entry: values may be joined, none is late; a
	 * slow machine needs more time for each */
	while (climb_told(waits, ms) < 3)
		assert_true((ms *= 4) < 20000);
	server_free(waits);
	server_free(works);
	scratch_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_get__is_complete_in_every_state),
		cmocka_unit_test(test_end__is_what_the_plain_call_gives),
		cmocka_unit_test(test_ids__cannot_be_guessed),
		cmocka_unit_test(test_acknowledgement__is_empty),
		cmocka_unit_test(test_unknown_id__is_invalid_params),
		cmocka_unit_test(test_keys__are_never_used_again),
		cmocka_unit_test(test_task__is_there_until_its_ttl),
		cmocka_unit_test(test_listener__is_told_what_get_says),
		cmocka_unit_test(test_listener__hears_no_progress_and_no_log),
		cmocka_unit_test(test_listener__is_tagged_with_its_own_id),
		cmocka_unit_test(test_listener__of_nothing_hears_nothing),
		cmocka_unit_test(test_progress__comes_from_another_instance),
	};

	return cmocka_run_group_tests(tests, setup, pair_end);
}
