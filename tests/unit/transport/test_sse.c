/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "server/base/clock.h"
#include "server/base/limits.h"
#include "server/base/metrics.h"
#include "server/base/thread.h"
#include "tests/unit/transport/lib/client.h"
#include "tests/unit/transport/lib/fake.h"

#define KEEP_ALIVE_MS 100

static bool say(struct exchange *ex, const char *json)
{
	return ex->ops->stream_send(ex, json, strlen(json));
}

static void begin(struct exchange *ex)
{
	ex->ops->stream_begin(ex, true);
	fake_keep(ex);
}

static void leave_it(struct exchange *ex)
{
	(void)ex;
}

/* A stream that has begun; nothing was sent on it. */
static struct exchange *open_stream(struct http *h, struct client *c,
				    struct reply *r)
{
	int n = atomic_load(&fake.requests);

	fake.request = begin;
	client_open(c, h);
	client_send(c, POST_EMPTY);
	client_head(c, r);
	fake_until(&fake.requests, n + 1);
	return fake_take();
}

static void test_stream__has_its_headers_at_once(void **state)
{
	struct http *h = fake_start(NULL);
	struct exchange *ex;
	struct client c;
	struct reply r;

	(void)state;
	/* Before any event: client_head() would wait otherwise. */
	ex = open_stream(h, &c, &r);
	assert_int_equal(r.status, 200);
	assert_string_equal(reply_header(&r, "Content-Type"),
			    "text/event-stream");
	assert_string_equal(reply_header(&r, "Cache-Control"), "no-store");
	assert_string_equal(reply_header(&r, "X-Accel-Buffering"), "no");
	assert_null(reply_header(&r, "Content-Length"));
	ex->ops->stream_end(ex);
	assert_false(client_until(&c, &r, "anything"));
	assert_int_equal(r.body.len, 0);
	reply_fini(&r);
	/* A proper end: the connection goes on. */
	fake.request = NULL;
	assert_int_equal(client_ask(&c, POST_EMPTY), 200);
	client_close(&c);
	fake_until(&fake.whole, 2);
	assert_int_equal(fake.closes, 0);
	fake_stop(h);
}

static void test_event__is_one_line(void **state)
{
	struct http *h = fake_start(NULL);
	struct exchange *ex;
	struct client c;
	struct reply r;

	(void)state;
	ex = open_stream(h, &c, &r);
	assert_true(say(ex, "{\"a\":1}"));
	assert_true(client_until(&c, &r, "\n\n"));
	assert_string_equal(r.body.data, "data: {\"a\":1}\n\n");
	/* Each as it comes, and several at once. */
	assert_true(say(ex, "{\n\"b\":\r\n2\n}"));
	assert_true(say(ex, "3"));
	ex->ops->stream_end(ex);
	assert_false(client_until(&c, &r, "no such text"));
	assert_string_equal(r.body.data, "data: {\"a\":1}\n\n"
					 "data: { \"b\":  2 }\n\n"
					 "data: 3\n\n");
	reply_fini(&r);
	client_close(&c);
	fake_stop(h);
}

static void all_at_once(struct exchange *ex)
{
	ex->ops->stream_begin(ex, true);
	(void)say(ex, "1");
	(void)say(ex, "2");
	ex->ops->stream_end(ex);
}

static void test_stream__may_end_inside_the_call(void **state)
{
	struct http *h = fake_start(NULL);
	struct client c;
	struct reply r;

	(void)state;
	fake.request = all_at_once;
	client_open(&c, h);
	for (int i = 1; i <= 100; i++) {
		client_send(&c, POST_EMPTY);
		client_reply(&c, &r);
		assert_string_equal(r.body.data, "data: 1\n\ndata: 2\n\n");
		reply_fini(&r);
		fake_until(&fake.whole, i);
	}
	client_close(&c);
	fake_stop(h);
}

static void test_stream__may_begin_late(void **state)
{
	struct http *h = fake_start(NULL);
	struct client c;
	struct reply r;

	(void)state;
	fake.request = fake_keep;
	client_open(&c, h);
	for (int i = 1; i <= 100; i++) {
		client_send(&c, POST_EMPTY);
		fake_until(&fake.requests, i);
		all_at_once(fake_take());
		client_reply(&c, &r);
		assert_string_equal(r.body.data, "data: 1\n\ndata: 2\n\n");
		reply_fini(&r);
		fake_until(&fake.whole, i);
	}
	client_close(&c);
	fake_stop(h);
}

static void test_stream__to_http_1_0_ends_with_the_connection(void **state)
{
	struct http *h = fake_start(NULL);
	struct client c;
	struct reply r;

	(void)state;
	fake.request = begin;
	client_open(&c, h);
	client_send(&c, "POST /mcp HTTP/1.0\r\n\r\n");
	client_head(&c, &r);
	assert_false(r.chunked);
	fake_until(&fake.requests, 1);
	assert_true(say(fake_take(), "{}"));
	fake_take()->ops->stream_end(fake_take());
	client_skip_to_end(&c);
	assert_string_equal(c.in.data, "data: {}\n\n");
	reply_fini(&r);
	client_close(&c);
	fake_until(&fake.whole, 1);
	fake_stop(h);
}

/* ---- many messages from another thread ---- */
#define MESSAGES 20000

static void talk(void *arg)
{
	struct exchange *ex = arg;
	char text[32];

	for (int i = 0; i < MESSAGES; i++) {
		(void)snprintf(text, sizeof(text), "%d", i);
		assert_true(say(ex, text));
	}
	ex->ops->stream_end(ex);
}

static void test_events__keep_their_order(void **state)
{
	struct http *h = fake_start(NULL);
	struct thread t;
	struct exchange *ex;
	struct client c;
	struct reply r;
	const char *at;
	char want[32];

	(void)state;
	ex = open_stream(h, &c, &r);
	assert_int_equal(thread_start(&t, "talks", talk, ex), 0);
	assert_false(client_until(&c, &r, "no such text"));
	thread_join(&t);
	at = r.body.data;
	for (int i = 0; i < MESSAGES; i++) {
		int len = snprintf(want, sizeof(want), "data: %d\n\n", i);

		assert_memory_equal(at, want, (size_t)len);
		at += len;
	}
	assert_int_equal(*at, '\0');
	reply_fini(&r);
	client_close(&c);
	fake_stop(h);
}

static void test_event__may_be_larger_than_the_queue(void **state)
{
	const size_t len = 4 << 20;
	struct http *h = fake_start(NULL);
	char *text = malloc(len);
	struct exchange *ex;
	struct client c;
	struct reply r;

	(void)state;
	memset(text, 'x', len);
	ex = open_stream(h, &c, &r);
	assert_true(say(ex, "1"));
	assert_true(ex->ops->stream_send(ex, text, len));
	ex->ops->stream_end(ex);
	assert_false(client_until(&c, &r, "no such text"));
	assert_int_equal(r.body.len, strlen("data: 1\n\n") + len + 8);
	reply_fini(&r);
	free(text);
	client_close(&c);
	fake_until(&fake.whole, 1);
	fake_stop(h);
}

/* What the sockets hold counts as sent: it is under way. */
static void test_unsent__is_what_the_client_has_not_taken(void **state)
{
	const size_t len = 8 << 20;
	struct http *h = fake_start(NULL);
	char *text = malloc(len);
	struct exchange *ex;
	struct client c;
	struct reply r;

	(void)state;
	memset(text, 'x', len);
	ex = open_stream(h, &c, &r);
	assert_int_equal(ex->ops->stream_unsent(ex), 0);
	assert_true(say(ex, "1"));
	assert_true(client_until(&c, &r, "data: 1\n\n"));
	while (ex->ops->stream_unsent(ex) > 0)
		(void)sched_yield();
	assert_true(ex->ops->stream_send(ex, text, len));
	assert_true(ex->ops->stream_unsent(ex) > 0);
	assert_true(client_until(&c, &r, "x\n\n"));
	while (ex->ops->stream_unsent(ex) > 0)
		(void)sched_yield();
	ex->ops->stream_end(ex);
	assert_false(client_until(&c, &r, "no such text"));
	reply_fini(&r);
	free(text);
	client_close(&c);
	fake_stop(h);
}

static void test_client__that_does_not_read_is_closed(void **state)
{
	struct http *h = fake_start(NULL);
	char *text = calloc(1, 65537);
	struct exchange *ex;
	struct client c;
	struct reply r;
	size_t sent = 0;

	(void)state;
	memset(text, 'x', 65536);
	ex = open_stream(h, &c, &r);
	fake.closed = leave_it;
	while (say(ex, text))
		sent += 65536;
	/* The ceiling and what the sockets hold, with room to spare. */
	assert_in_range(sent, LIMIT_STREAM_QUEUE_BYTES, 32 << 20);
	assert_false(say(ex, "{}"));
	fake_until(&fake.closes, 1);
	assert_int_equal(fake.finishes, 0);
	ex->ops->stream_end(ex);
	fake_until(&fake.finishes, 1);
	assert_int_equal(fake.whole, 0);
	reply_fini(&r);
	free(text);
	client_close(&c);
	fake_stop(h);
}

/* ---- silence ---- */
static void test_comments__keep_a_silent_stream_alive(void **state)
{
	struct http_options o = {.keep_alive_ms = KEEP_ALIVE_MS};
	struct http *h = fake_start(&o);
	struct exchange *silent;
	struct exchange *spoken;
	struct client a;
	struct client b;
	struct reply ra;
	struct reply rb;

	(void)state;
	silent = open_stream(h, &a, &ra);
	spoken = open_stream(h, &b, &rb);
	assert_true(say(spoken, "1"));
	assert_true(client_until(
		&b, &rb, ": keep-alive\n\n: keep-alive\n\n: keep-alive\n\n"));
	/* While three came there, none came here: nothing has begun yet. */
	assert_int_equal(ra.body.len, 0);
	assert_int_equal(a.in.len, 0);
	assert_true(say(silent, "2"));
	assert_true(client_until(&a, &ra, ": keep-alive\n\n"));
	assert_memory_equal(ra.body.data, "data: 2\n\n", 9);
	silent->ops->stream_end(silent);
	spoken->ops->stream_end(spoken);
	assert_false(client_until(&a, &ra, "no such text"));
	assert_false(client_until(&b, &rb, "no such text"));
	reply_fini(&ra);
	reply_fini(&rb);
	client_close(&a);
	client_close(&b);
	fake_stop(h);
}

static void begin_without(struct exchange *ex)
{
	ex->ops->stream_begin(ex, false);
	(void)say(ex, "0");
	fake_keep(ex);
}

static void test_comments__are_not_sent_where_not_wanted(void **state)
{
	struct http_options o = {.keep_alive_ms = KEEP_ALIVE_MS};
	struct http *h = fake_start(&o);
	struct exchange *without;
	struct exchange *with;
	struct client a;
	struct client b;
	struct reply ra;
	struct reply rb;

	(void)state;
	fake.request = begin_without;
	client_open(&a, h);
	client_send(&a, POST_EMPTY);
	client_head(&a, &ra);
	fake_until(&fake.requests, 1);
	without = fake_take();
	with = open_stream(h, &b, &rb);
	assert_true(say(with, "1"));
	assert_true(client_until(&b, &rb, ": keep-alive\n\n: keep-alive\n\n"));
	without->ops->stream_end(without);
	with->ops->stream_end(with);
	assert_false(client_until(&a, &ra, "no such text"));
	assert_string_equal(ra.body.data, "data: 0\n\n");
	reply_fini(&ra);
	reply_fini(&rb);
	client_close(&a);
	client_close(&b);
	fake_stop(h);
}

/* ---- leaving ---- */
static void test_leaving__ends_a_stream(void **state)
{
	struct http *h = fake_start(NULL);
	struct linger reset = {.l_onoff = 1};
	struct exchange *ex;
	struct client c;
	struct reply r;

	(void)state;
	fake.closed = leave_it;
	for (int i = 1; i <= 60; i++) {
		ex = open_stream(h, &c, &r);
		assert_true(say(ex, "{}"));
		if (i % 3 == 0)
			(void)setsockopt(c.fd, SOL_SOCKET, SO_LINGER, &reset,
					 sizeof(reset));
		if (i % 3 == 1)
			(void)shutdown(c.fd, SHUT_WR);
		else
			client_close(&c);
		fake_until(&fake.closes, i);
		assert_int_equal(fake.finishes, i - 1);
		/* Nothing more gets out, and the header still stands. */
		assert_false(say(ex, "{}"));
		assert_string_equal(ex->ops->header(ex, "HOST"), "localhost");
		if (i % 3 == 1) {
			client_skip_to_end(&c);
			client_close(&c);
		}
		ex->ops->stream_end(ex);
		fake_until(&fake.finishes, i);
		reply_fini(&r);
	}
	assert_int_equal(fake.whole, 0);
	fake_stop(h);
}

static void await_connections(int n)
{
	int64_t until = clock_boot_ms() + 10000;

	while (metric_get(METRIC_HTTP_CONNECTIONS) > n &&
	       clock_boot_ms() < until)
		sched_yield();
	assert_int_equal(metric_get(METRIC_HTTP_CONNECTIONS), n);
}

/* Regression: beside an older connection, as a proxy keeps it, libmicrohttpd
 * closed the stream and never its descriptor. */
static void test_leaving__frees_the_descriptor(void **state)
{
	enum { OLDER = 80, STREAMS = 40 };
	struct http *h = fake_start(NULL);
	struct client older[OLDER];
	struct exchange *ex;
	struct client c;
	struct reply r;

	(void)state;
	for (int i = 0; i < OLDER; i++) {
		client_open(&older[i], h);
		assert_int_equal(client_ask(&older[i], POST_EMPTY), 200);
	}
	for (int i = 0; i < STREAMS; i++) {
		ex = open_stream(h, &c, &r);
		assert_true(say(ex, "{}"));
		client_close(&c);
		fake_until(&fake.closes, i + 1);
		reply_fini(&r);
	}
	await_connections(OLDER);
	for (int i = 0; i < OLDER; i++)
		client_close(&older[i]);
	fake_stop(h);
}

/* The same, while another thread talks as fast as it can. */
static void talk_until_closed(void *arg)
{
	struct exchange *ex = arg;

	while (say(ex, "{\"jsonrpc\":\"2.0\"}"))
		sched_yield();
	ex->ops->stream_end(ex);
}

static void test_leaving__may_race_with_events(void **state)
{
	struct http *h = fake_start(NULL);
	struct exchange *ex;
	struct thread t;
	struct client c;
	struct reply r;

	(void)state;
	fake.closed = leave_it;
	for (int i = 1; i <= 200; i++) {
		ex = open_stream(h, &c, &r);
		assert_int_equal(
			thread_start(&t, "talks", talk_until_closed, ex), 0);
		if (i % 2 == 0)
			assert_true(client_until(&c, &r, "data"));
		client_close(&c);
		thread_join(&t);
		fake_until(&fake.finishes, i);
		reply_fini(&r);
	}
	assert_int_equal(fake.whole, 0);
	/* Or its queue was full first, and the talker ended it. */
	assert_in_range(fake.closes, 1, 200);
	fake_stop(h);
}

static void end_it(struct exchange *ex)
{
	ex->ops->stream_end(ex);
}

static void test_stop__ends_streams(void **state)
{
	struct http *h = fake_start(NULL);
	struct client c[3];
	struct reply r[3];

	(void)state;
	fake.closed = end_it;
	for (size_t i = 0; i < 3; i++) {
		struct exchange *ex = open_stream(h, &c[i], &r[i]);

		assert_true(say(ex, "{}"));
		assert_true(client_until(&c[i], &r[i], "{}"));
	}
	fake_stop(h);
	assert_int_equal(fake.closes, 3);
	for (size_t i = 0; i < 3; i++) {
		/* Cut, not ended: the client must not take it for whole. */
		client_expect_end(&c[i], false);
		reply_fini(&r[i]);
		client_close(&c[i]);
	}
}

/* Rule 12 of the design: the protocol ends its streams while draining. */
static void test_drain__lets_streams_end(void **state)
{
	struct http *h = fake_start(NULL);
	struct exchange *ex;
	struct client c;
	struct reply r;

	(void)state;
	ex = open_stream(h, &c, &r);
	http_stop_accepting(h);
	assert_false(http_drained(h, 0));
	assert_true(say(ex, "1"));
	ex->ops->stream_end(ex);
	assert_false(client_until(&c, &r, "no such text"));
	assert_string_equal(r.body.data, "data: 1\n\n");
	assert_true(http_drained(h, 10000));
	assert_int_equal(fake.whole, 1);
	reply_fini(&r);
	client_close(&c);
	fake_stop(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stream__has_its_headers_at_once),
		cmocka_unit_test(test_event__is_one_line),
		cmocka_unit_test(test_stream__may_end_inside_the_call),
		cmocka_unit_test(test_stream__may_begin_late),
		cmocka_unit_test(
			test_stream__to_http_1_0_ends_with_the_connection),
		cmocka_unit_test(test_events__keep_their_order),
		cmocka_unit_test(test_event__may_be_larger_than_the_queue),
		cmocka_unit_test(test_unsent__is_what_the_client_has_not_taken),
		cmocka_unit_test(test_client__that_does_not_read_is_closed),
		cmocka_unit_test(test_comments__keep_a_silent_stream_alive),
		cmocka_unit_test(test_comments__are_not_sent_where_not_wanted),
		cmocka_unit_test(test_leaving__ends_a_stream),
		cmocka_unit_test(test_leaving__frees_the_descriptor),
		cmocka_unit_test(test_leaving__may_race_with_events),
		cmocka_unit_test(test_stop__ends_streams),
		cmocka_unit_test(test_drain__lets_streams_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
