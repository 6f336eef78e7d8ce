/* SPDX-License-Identifier: MIT */
/* Answers now, later and too late; who goes away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "server/base/clock.h"
#include "server/base/metrics.h"
#include "server/base/thread.h"
#include "tests/unit/transport/lib/client.h"
#include "tests/unit/transport/lib/fake.h"

#define RACES 10000
#define MANY  2000

/* ---- answers ---- */
static void with_headers(struct exchange *ex)
{
	static const struct exchange_header extra[] = {{"X-One", "1"},
						       {"X-Two", "zwei"}};

	ex->ops->respond(ex, 418, "text/x", strdup("tea"), 3, extra, 2);
}

static void empty(struct exchange *ex)
{
	ex->ops->respond(ex, 202, NULL, NULL, 0, NULL, 0);
}

static void test_respond__sends_what_it_was_given(void **state)
{
	struct http *h = fake_start(NULL);
	struct client c;
	struct reply r;

	(void)state;
	client_open(&c, h);
	fake.request = with_headers;
	client_send(&c, POST_EMPTY);
	client_reply(&c, &r);
	assert_int_equal(r.status, 418);
	assert_string_equal(r.body.data, "tea");
	assert_string_equal(reply_header(&r, "Content-Type"), "text/x");
	assert_string_equal(reply_header(&r, "X-One"), "1");
	assert_string_equal(reply_header(&r, "X-Two"), "zwei");
	assert_non_null(reply_header(&r, "Date"));
	reply_fini(&r);
	fake.request = empty;
	client_send(&c, POST_EMPTY);
	client_reply(&c, &r);
	assert_int_equal(r.status, 202);
	assert_string_equal(reply_header(&r, "Content-Length"), "0");
	assert_null(reply_header(&r, "Content-Type"));
	reply_fini(&r);
	client_close(&c);
	fake_until(&fake.finishes, 2);
	assert_int_equal(fake.whole, 2);
	assert_int_equal(fake.closes, 0);
	fake_stop(h);
}

static void test_respond__later_resumes(void **state)
{
	struct http *h = fake_start(NULL);
	struct client c;
	struct reply r;

	(void)state;
	fake.request = fake_keep;
	client_open(&c, h);
	for (int i = 1; i <= 50; i++) {
		client_send(&c, POST_EMPTY);
		fake_until(&fake.requests, i);
		fake_answer(fake_take(), 200, "{\"late\":1}");
		client_reply(&c, &r);
		assert_string_equal(r.body.data, "{\"late\":1}");
		reply_fini(&r);
		fake_until(&fake.whole, i);
	}
	client_close(&c);
	fake_stop(h);
}

/* ---- the race between the answer and the suspension ---- */
static atomic_bool stop_answering;
static _Atomic(struct exchange *) to_answer;

static void hand_over(struct exchange *ex)
{
	atomic_store(&to_answer, ex);
}

static void answer_all(void *arg)
{
	struct exchange *ex;
	unsigned n = 0;

	(void)arg;
	while (!atomic_load(&stop_answering)) {
		ex = atomic_exchange(&to_answer, NULL);
		if (ex == NULL) {
			sched_yield();
			continue;
		}
		/* Now before the transport is back from its call, now after. */
		for (unsigned spin = n++ % 64 * 16; spin > 0; spin--)
			atomic_signal_fence(memory_order_seq_cst);
		fake_answer(ex, 200, "{}");
	}
}

static void test_respond__may_race_with_the_suspension(void **state)
{
	struct http *h = fake_start(NULL);
	struct thread t;
	struct client c;

	(void)state;
	atomic_store(&stop_answering, false);
	assert_int_equal(thread_start(&t, "answers", answer_all, NULL), 0);
	fake.request = hand_over;
	client_open(&c, h);
	for (int i = 0; i < RACES; i++)
		assert_int_equal(client_ask(&c, POST_EMPTY), 200);
	fake_until(&fake.whole, RACES);
	assert_int_equal(fake.closes, 0);
	atomic_store(&stop_answering, true);
	thread_join(&t);
	client_close(&c);
	fake_stop(h);
}

/* ---- and between the answer and the client's going ---- */
static void answered_anyway(struct exchange *ex)
{
	(void)ex;
}

static void test_close__may_race_with_the_answer(void **state)
{
	struct http *h = fake_start(NULL);
	struct linger reset = {.l_onoff = 1};
	struct thread t;
	struct client c;
	int n = RACES / 5;

	(void)state;
	atomic_store(&stop_answering, false);
	assert_int_equal(thread_start(&t, "answers", answer_all, NULL), 0);
	fake.request = hand_over;
	fake.closed = answered_anyway;
	for (int i = 0; i < n; i++) {
		client_open(&c, h);
		client_send(&c, POST_EMPTY);
		if (i % 3 == 0)
			(void)setsockopt(c.fd, SOL_SOCKET, SO_LINGER, &reset,
					 sizeof(reset));
		if (i % 3 == 1)
			(void)shutdown(c.fd, SHUT_WR);
		/* A connection that is gone before it was accepted brings no
		 * request; one answer at a time is all answer_all() can hold.
		 */
		fake_until(&fake.requests, i + 1);
		client_close(&c);
		fake_until(&fake.finishes, i + 1);
	}
	assert_true(fake.closes + fake.whole <= n);
	atomic_store(&stop_answering, true);
	thread_join(&t);
	fake_stop(h);
}

/* ---- who goes away ---- */
enum leaving { CLOSING, HALF_CLOSING, RESETTING };

static void leave(struct client *c, enum leaving how)
{
	struct linger reset = {.l_onoff = 1};

	if (how == HALF_CLOSING) {
		(void)shutdown(c->fd, SHUT_WR);
		return;
	}
	if (how == RESETTING)
		(void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset,
				 sizeof(reset));
	client_close(c);
}

static void check_leaving(struct http *h, enum leaving how)
{
	int n = atomic_load(&fake.requests);
	struct exchange *ex;
	struct client c;
	int64_t gone;

	client_open(&c, h);
	client_send(&c, POST_HEAD "X-Test: mine\r\n\r\n");
	fake_until(&fake.requests, n + 1);
	gone = clock_boot_ms();
	leave(&c, how);
	fake_until(&fake.closes, n + 1);
	/* It is an event, not a round of looking: milliseconds. */
	assert_in_range(clock_boot_ms() - gone, 0, 500);
	/* Nothing is over before the protocol says so. */
	assert_int_equal(fake.finishes, n);
	ex = fake_take();
	assert_string_equal(ex->ops->header(ex, "x-test"), "mine");
	fake_answer(ex, 200, "{}");
	fake_until(&fake.finishes, n + 1);
	if (how == HALF_CLOSING) {
		client_expect_end(&c, true); /* dropped */
		client_close(&c);
	}
}

static void test_leaving__is_noticed_while_suspended(void **state)
{
	struct http *h = fake_start(NULL);

	(void)state;
	fake.request = fake_keep;
	fake.closed = answered_anyway;
	for (int i = 0; i < 10; i++) {
		check_leaving(h, CLOSING);
		check_leaving(h, HALF_CLOSING);
		check_leaving(h, RESETTING);
	}
	assert_int_equal(fake.whole, 0);
	assert_int_equal(fake.closes, 30);
	fake_stop(h);
}

static void test_leaving__before_the_suspension_is_told_after(void **state)
{
	struct http *h = fake_start(NULL);
	struct client c;

	(void)state;
	/* The close and the request come in one piece, or nearly. */
	fake.request = fake_keep;
	for (int i = 1; i <= 200; i++) {
		client_open(&c, h);
		client_send(&c, POST_EMPTY);
		(void)shutdown(c.fd, SHUT_WR);
		fake_until(&fake.closes, i);
		fake_until(&fake.finishes, i);
		client_expect_end(&c, true);
		client_close(&c);
	}
	assert_int_equal(fake.whole, 0);
	fake_stop(h);
}

static void answer_at_once(struct exchange *ex)
{
	fake_answer(ex, 500, "{}");
}

static void test_closed__may_end_the_exchange_in_the_call(void **state)
{
	struct http *h = fake_start(NULL);
	struct client c;

	(void)state;
	fake.request = fake_keep;
	fake.closed = answer_at_once;
	for (int i = 1; i <= 100; i++) {
		client_open(&c, h);
		client_send(&c, POST_EMPTY);
		fake_until(&fake.requests, i);
		client_close(&c);
		fake_until(&fake.finishes, i);
		assert_int_equal(fake.closes, i);
	}
	fake_stop(h);
}

/* The transport is done with it first; still the end comes after the close. */
static void answer_and_wait(struct exchange *ex)
{
	int before = atomic_load(&fake.finishes);

	fake_answer(ex, 500, "{}");
	while (metric_get(METRIC_HTTP_CONNECTIONS) > 0)
		sched_yield();
	assert_int_equal(fake.finishes, before);
}

static void test_finished__comes_after_closed_has_returned(void **state)
{
	struct http *h = fake_start(NULL);
	struct client c;

	(void)state;
	fake.request = fake_keep;
	fake.closed = answer_and_wait;
	for (int i = 1; i <= 20; i++) {
		client_open(&c, h);
		client_send(&c, POST_EMPTY);
		fake_until(&fake.requests, i);
		client_close(&c);
		fake_until(&fake.finishes, i);
	}
	assert_int_equal(fake.whole, 0);
	fake_stop(h);
}

/* Slow enough that the close is heard of during the call. */
static void keep_slowly(struct exchange *ex)
{
	const struct timespec ms = {.tv_nsec = 2000000};

	fake_keep(ex);
	(void)nanosleep(&ms, NULL);
}

static void test_leaving__during_the_call_is_told_after_it(void **state)
{
	struct http *h = fake_start(NULL);
	struct client c;
	struct reply r;

	(void)state;
	for (int i = 0; i < 20; i++) {
		int n = atomic_load(&fake.requests);

		client_open(&c, h);
		/* From the first wait on the connection is watched. */
		fake.request = fake_keep;
		client_send(&c, POST_EMPTY);
		fake_until(&fake.requests, n + 1);
		fake_answer(fake_take(), 200, "{}");
		client_reply(&c, &r);
		reply_fini(&r);
		fake.request = keep_slowly;
		client_send(&c, POST_EMPTY);
		(void)shutdown(c.fd, SHUT_WR);
		fake_until(&fake.closes, i + 1);
		fake_until(&fake.finishes, n + 2);
		client_close(&c);
	}
	fake_stop(h);
}

/* A half-close with a second request behind the first. */
static void test_leaving__with_a_pipelined_request(void **state)
{
	struct http *h = fake_start(NULL);
	struct client c;

	(void)state;
	fake.request = fake_keep;
	fake.closed = answered_anyway;
	client_open(&c, h);
	client_send(&c, POST_EMPTY POST_EMPTY);
	(void)shutdown(c.fd, SHUT_WR);
	fake_until(&fake.closes, 1);
	fake_answer(fake_take(), 200, "{}");
	fake_until(&fake.finishes, 1);
	client_expect_end(&c, true);
	client_close(&c);
	assert_int_equal(fake.requests, 1);
	fake_stop(h);
}

static void test_answer__that_is_written_is_whole(void **state)
{
	struct http *h = fake_start(NULL);
	struct client c;

	(void)state;
	/* Leaving right after reading it is no failed delivery. */
	fake.request = fake_keep;
	for (int i = 1; i <= 200; i++) {
		client_open(&c, h);
		client_send(&c, POST_EMPTY);
		fake_until(&fake.requests, i);
		fake_answer(fake_take(), 200, "{}");
		(void)client_ask(&c, "");
		client_close(&c);
		fake_until(&fake.whole, i);
	}
	assert_int_equal(fake.closes, 0);
	fake_stop(h);
}

/* Killed by SIGPIPE, or by what a reset does to a half-written answer? */
static void test_reset__in_the_middle_of_an_answer(void **state)
{
	const size_t len = 8 << 20; /* more than the sockets hold */
	struct http *h = fake_start(NULL);
	struct linger reset = {.l_onoff = 1};
	struct client c;
	struct reply r;

	(void)state;
	fake.request = fake_keep;
	for (int i = 1; i <= 10; i++) {
		struct exchange *ex;

		client_open(&c, h);
		client_send(&c, POST_EMPTY);
		fake_until(&fake.requests, i);
		ex = fake_take();
		ex->ops->respond(ex, 200, "text/plain", calloc(1, len), len,
				 NULL, 0);
		client_head(&c, &r);
		reply_fini(&r);
		(void)setsockopt(c.fd, SOL_SOCKET, SO_LINGER, &reset,
				 sizeof(reset));
		client_close(&c);
		fake_until(&fake.finishes, i);
	}
	assert_int_equal(fake.whole, 0);
	assert_int_equal(client_once(h, "GET /no HTTP/1.1\r\n"
					"Host: localhost\r\n\r\n"),
			 404);
	fake_stop(h);
}

/* ---- many ---- */
static struct exchange *many[MANY];
static atomic_int nmany;

static void collect(struct exchange *ex)
{
	many[atomic_fetch_add(&nmany, 1)] = ex;
}

static void raise_fds(void)
{
	struct rlimit lim;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &lim), 0);
	lim.rlim_cur = lim.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &lim), 0);
	if (lim.rlim_max < 2 * MANY + 200) {
		print_message("too few descriptors here\n");
		skip();
	}
}

static void test_many__wait_and_are_resumed(void **state)
{
	struct client *c = calloc(MANY, sizeof(*c));
	struct http *h;
	struct client other;
	struct reply r;

	(void)state;
	raise_fds();
	h = fake_start(NULL);
	atomic_store(&nmany, 0);
	fake.request = collect;
	for (size_t i = 0; i < MANY; i++) {
		client_open(&c[i], h);
		client_send(&c[i], POST_EMPTY);
	}
	fake_until(&fake.requests, MANY);
	while (metric_get(METRIC_HTTP_SUSPENDED) < MANY)
		sched_yield();
	/* The others go on. */
	fake.request = NULL;
	client_open(&other, h);
	for (int i = 0; i < 100; i++)
		assert_int_equal(client_ask(&other, POST_EMPTY), 200);
	client_close(&other);
	for (size_t i = 0; i < MANY; i++)
		fake_answer(many[i], 200, "{}");
	for (size_t i = 0; i < MANY; i++) {
		client_reply(&c[i], &r);
		assert_int_equal(r.status, 200);
		reply_fini(&r);
		client_close(&c[i]);
	}
	fake_until(&fake.whole, MANY + 100);
	free(c);
	fake_stop(h);
}

/*
 * libmicrohttpd 0.9.75, polling by itself, stood still when exactly 128 events
 * came at once: it went back to wait before it looked at them.
 */
static void test_many__may_speak_at_once(void **state)
{
	const size_t n = 512;
	struct client *c = calloc(n, sizeof(*c));
	struct http *h;

	(void)state;
	raise_fds();
	h = fake_start(NULL);
	for (size_t i = 0; i < n; i++)
		client_open(&c[i], h);
	for (size_t at_once = 128; at_once <= n; at_once += 128)
		for (int round = 0; round < 10; round++) {
			for (size_t i = 0; i < at_once; i++)
				client_send(&c[i], POST_EMPTY);
			for (size_t i = 0; i < at_once; i++)
				assert_int_equal(client_ask(&c[i], ""), 200);
		}
	for (size_t i = 0; i < n; i++)
		client_close(&c[i]);
	free(c);
	fake_stop(h);
}

static void test_many__are_let_go_by_a_stop(void **state)
{
	struct client *c = calloc(MANY, sizeof(*c));
	struct http *h;

	(void)state;
	raise_fds();
	h = fake_start(NULL);
	fake.request = fake_keep;
	for (size_t i = 0; i < MANY; i++) {
		client_open(&c[i], h);
		client_send(&c[i], POST_EMPTY);
	}
	fake_until(&fake.requests, MANY);
	fake_stop(h);
	assert_int_equal(fake.closes, MANY);
	for (size_t i = 0; i < MANY; i++)
		client_close(&c[i]);
	free(c);
}

static void test_waiting__has_a_ceiling(void **state)
{
	struct http_options o = {.max_suspended = 2};
	struct http *h = fake_start(&o);
	struct client c[3];
	struct reply r;

	(void)state;
	atomic_store(&nmany, 0);
	fake.request = collect;
	fake.closed = answered_anyway;
	for (size_t i = 0; i < 3; i++) {
		client_open(&c[i], h);
		client_send(&c[i], POST_EMPTY);
		fake_until(&fake.requests, (int)i + 1);
		while (metric_get(METRIC_HTTP_SUSPENDED) <
		       (i < 2 ? (int)i + 1 : 2))
			sched_yield();
	}
	client_reply(&c[2], &r);
	assert_int_equal(r.status, 503);
	assert_string_equal(reply_header(&r, "Retry-After"), "1");
	reply_fini(&r);
	client_expect_end(&c[2], false);
	fake_until(&fake.closes, 1);
	/* What needs no waiting is still served. */
	fake.request = NULL;
	assert_int_equal(client_once(h, POST_EMPTY), 200);
	/* The protocol ends it long after the connection has gone. */
	client_close(&c[2]);
	fake_answer(many[2], 200, "{}");
	fake_until(&fake.finishes, 2);
	assert_int_equal(fake.whole, 1);
	for (size_t i = 0; i < 2; i++) {
		fake_answer(many[i], 200, "{}");
		client_reply(&c[i], &r);
		assert_int_equal(r.status, 200);
		reply_fini(&r);
		client_close(&c[i]);
	}
	fake_stop(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_respond__sends_what_it_was_given),
		cmocka_unit_test(test_respond__later_resumes),
		cmocka_unit_test(test_respond__may_race_with_the_suspension),
		cmocka_unit_test(test_close__may_race_with_the_answer),
		cmocka_unit_test(test_leaving__is_noticed_while_suspended),
		cmocka_unit_test(
			test_leaving__before_the_suspension_is_told_after),
		cmocka_unit_test(test_closed__may_end_the_exchange_in_the_call),
		cmocka_unit_test(
			test_finished__comes_after_closed_has_returned),
		cmocka_unit_test(
			test_leaving__during_the_call_is_told_after_it),
		cmocka_unit_test(test_leaving__with_a_pipelined_request),
		cmocka_unit_test(test_answer__that_is_written_is_whole),
		cmocka_unit_test(test_reset__in_the_middle_of_an_answer),
		cmocka_unit_test(test_many__wait_and_are_resumed),
		cmocka_unit_test(test_many__may_speak_at_once),
		cmocka_unit_test(test_many__are_let_go_by_a_stop),
		cmocka_unit_test(test_waiting__has_a_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
