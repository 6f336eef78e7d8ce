/* SPDX-License-Identifier: MIT */
/* Absolute deadlines: a peer that is slow, however busily, is let go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "server/base/clock.h"
#include "tests/unit/transport/lib/client.h"
#include "tests/unit/transport/lib/fake.h"

#define SHORT_MS 200
#define SLACK_MS 3000 /* of a busy machine */

/* Sends @byte every few milliseconds until the server has had enough. */
static int64_t trickle(struct client *c, const char *byte)
{
	int64_t began = clock_boot_ms();
	struct pollfd p = {.fd = c->fd, .events = POLLIN};

	/* Readable: the end, or a reset. */
	while (poll(&p, 1, 5) == 0) {
		if (send(c->fd, byte, 1, MSG_NOSIGNAL) != 1)
			break;
		if (clock_boot_ms() - began > 10000)
			fail_msg("nobody minds");
	}
	client_expect_end(c, true);
	return clock_boot_ms() - began;
}

static void test_head__has_a_deadline_from_the_accept(void **state)
{
	struct http_options o = {.head_timeout_ms = SHORT_MS};
	struct http *h = fake_start(&o);
	struct client c;

	(void)state;
	client_open(&c, h);
	assert_in_range(trickle(&c, "X"), SHORT_MS - 20, SHORT_MS + SLACK_MS);
	client_close(&c);
	/* Nothing at all is no head either. */
	client_open(&c, h);
	client_expect_end(&c, true);
	client_close(&c);
	/* The request line alone is not enough. */
	client_open(&c, h);
	client_send(&c, POST_HEAD "X-Long: ");
	assert_in_range(trickle(&c, "x"), SHORT_MS - 20, SHORT_MS + SLACK_MS);
	client_close(&c);
	assert_int_equal(fake.requests, 0);
	fake_stop(h);
}

static void test_body__has_a_deadline(void **state)
{
	struct http_options o = {.body_timeout_ms = SHORT_MS};
	struct http *h = fake_start(&o);
	struct client c;

	(void)state;
	client_open(&c, h);
	client_send(&c, POST_HEAD "Content-Length: 4000\r\n\r\n");
	assert_in_range(trickle(&c, "x"), SHORT_MS - 20, SHORT_MS + SLACK_MS);
	client_close(&c);
	client_open(&c, h);
	client_send(&c, POST_HEAD "Transfer-Encoding: chunked\r\n\r\nfff\r\n");
	assert_in_range(trickle(&c, "x"), SHORT_MS - 20, SHORT_MS + SLACK_MS);
	client_close(&c);
	assert_int_equal(fake.requests, 0);
	fake_stop(h);
}

static void test_idle__has_a_deadline(void **state)
{
	struct http_options o = {.idle_timeout_ms = SHORT_MS};
	struct http *h = fake_start(&o);
	struct client c;
	int64_t began;

	(void)state;
	client_open(&c, h);
	for (int i = 0; i < 3; i++)
		assert_int_equal(client_ask(&c, POST_EMPTY), 200);
	began = clock_boot_ms();
	client_expect_end(&c, true);
	assert_in_range(clock_boot_ms() - began, SHORT_MS - 50,
			SHORT_MS + SLACK_MS);
	client_close(&c);
	fake_stop(h);
}

static void answer_much(struct exchange *ex)
{
	const size_t len = 8 << 20;

	ex->ops->respond(ex, 200, "text/plain", calloc(1, len), len, NULL, 0);
}

static void test_answer__must_be_read_in_time(void **state)
{
	struct http_options o = {.idle_timeout_ms = SHORT_MS};
	struct http *h = fake_start(&o);
	struct client c;

	(void)state;
	fake.request = answer_much;
	client_open(&c, h);
	client_send(&c, POST_EMPTY);
	fake_until(&fake.finishes, 1);
	assert_int_equal(fake.whole, 0);
	client_close(&c);
	fake_stop(h);
}

static void begin(struct exchange *ex)
{
	ex->ops->stream_begin(ex, false);
	fake_keep(ex);
}

/* Waiting is what they are here for. */
static void test_waiting__has_no_deadline(void **state)
{
	struct http_options o = {.head_timeout_ms = SHORT_MS,
				 .body_timeout_ms = SHORT_MS,
				 .idle_timeout_ms = SHORT_MS};
	struct http *h = fake_start(&o);
	struct exchange *waits;
	struct exchange *streams;
	struct client a;
	struct client b;
	struct client idle;
	struct reply r;

	(void)state;
	client_open(&a, h);
	fake.request = fake_keep;
	client_send(&a, POST_EMPTY);
	fake_until(&fake.requests, 1);
	waits = fake_take();
	client_open(&b, h);
	fake.request = begin;
	client_send(&b, POST_EMPTY);
	client_head(&b, &r);
	fake_until(&fake.requests, 2);
	streams = fake_take();
	/* Two that came later run out one after the other. */
	for (int i = 0; i < 2; i++) {
		client_open(&idle, h);
		client_expect_end(&idle, true);
		client_close(&idle);
	}
	assert_true(streams->ops->stream_send(streams, "1", 1));
	assert_true(client_until(&b, &r, "data: 1\n\n"));
	streams->ops->stream_end(streams);
	assert_false(client_until(&b, &r, "no such text"));
	reply_fini(&r);
	fake_answer(waits, 200, "{}");
	client_reply(&a, &r);
	assert_int_equal(r.status, 200);
	reply_fini(&r);
	client_close(&a);
	client_close(&b);
	fake_until(&fake.whole, 2);
	assert_int_equal(fake.closes, 0);
	fake_stop(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_head__has_a_deadline_from_the_accept),
		cmocka_unit_test(test_body__has_a_deadline),
		cmocka_unit_test(test_idle__has_a_deadline),
		cmocka_unit_test(test_answer__must_be_read_in_time),
		cmocka_unit_test(test_waiting__has_no_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
