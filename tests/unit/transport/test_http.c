/* SPDX-License-Identifier: MIT */
/* Starting and stopping, pages, connections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/base/metrics.h"
#include "tests/unit/transport/lib/client.h"
#include "tests/unit/transport/lib/fake.h"

/* ---- starting ---- */
static struct http_options base_options(const char *listen)
{
	return (struct http_options){
		.listen = listen,
		.path = "/mcp",
		.threads = 1,
		.max_body = 4096,
		.max_connections = 100,
		.max_suspended = 100,
		.head_timeout_ms = 10000,
		.body_timeout_ms = 10000,
		.idle_timeout_ms = 10000,
		.keep_alive_ms = 10000,
	};
}

static void test_listen__says_what_is_wrong(void **state)
{
	static const struct {
		const char *listen, *text;
	} rows[] = {
		{"", "expected ADDR:PORT"},
		{"8585", "expected ADDR:PORT"},
		{":8585", "expected ADDR:PORT"},
		{"127.0.0.1", "expected ADDR:PORT"},
		{"127.0.0.1:", "expected ADDR:PORT"},
		{"127.0.0.1:http", "expected ADDR:PORT"},
		{"127.0.0.1:65536", "expected ADDR:PORT"},
		{"127.0.0.1:99999", "expected ADDR:PORT"},
		{"::1:8585", "expected ADDR:PORT"},
		{"[::1:8585", "expected ADDR:PORT"},
		{"192.0.2.1:0", "listen 192.0.2.1:0: "}, /* not ours */
		{"0.0.0.0:0", "--allow-anonymous"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_options o = base_options(rows[i].listen);
		struct bide_error err = {0};
		struct http *h = NULL;

		assert_int_not_equal(http_start(&o, &h, &err), BIDE_OK);
		assert_null(h);
		if (strstr(err.text, rows[i].text) == NULL)
			fail_msg("row %zu: %s", i, err.text);
	}
}

static void test_path__one_that_nobody_could_ask_for_is_refused(void **state)
{
	static const char *const paths[] = {
		"", "mcp", "/a b", "/mcp?x", "/mcp#x", "/%6dcp", "/healthz"};
	const struct http_page page = {"/healthz", "text/plain", NULL, NULL};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct http_options o = base_options("127.0.0.1:0");
		struct bide_error err = {0};
		struct http *h = NULL;

		o.path = paths[i];
		o.pages = &page;
		o.npages = 1;
		assert_int_equal(http_start(&o, &h, &err), BIDE_INVALID);
		assert_null(h);
		assert_non_null(strstr(err.text, "path "));
	}
}

static void test_listen__says_that_the_address_is_in_use(void **state)
{
	struct http *h = fake_start(NULL);
	struct bide_error err = {0};
	struct http *second = NULL;
	char listen[32];
	struct http_options o;

	(void)state;
	(void)snprintf(listen, sizeof(listen), "127.0.0.1:%d", http_port_of(h));
	o = base_options(listen);
	assert_int_equal(http_start(&o, &second, &err), BIDE_IO);
	assert_non_null(strstr(err.text, "address in use: choose another with "
					 "--listen"));
	fake_stop(h);
}

/* The server of the test below: 0, when descriptors were left for it. */
static int few_descriptors(int port_fd, int go_fd)
{
	struct rlimit lim = {128, 128};
	struct http_options o = base_options("127.0.0.1:0");
	struct bide_error err = {0};
	struct http *h = NULL;
	char go;
	int port;

	o.max_connections = 1000;
	if (setrlimit(RLIMIT_NOFILE, &lim) != 0 ||
	    http_start(&o, &h, &err) != BIDE_OK)
		return 2;
	port = http_port_of(h);
	if (write(port_fd, &port, sizeof(port)) != sizeof(port) ||
	    read(go_fd, &go, 1) != 1)
		return 3;
	for (int i = 0; i < 16; i++)
		if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
			return 4;
	return 0;
}

static int connect_to(int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static void test_limit__descriptors_are_left_for_the_rest(void **state)
{
	struct client c[150] = {0};
	int to[2], from[2], port = 0, status = 0;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	child = fork();
	if (child == 0)
		_exit(few_descriptors(from[1], to[0]));
	assert_int_equal(read(from[0], &port, sizeof(port)), sizeof(port));
	for (int i = 0; i < 150; i++)
		c[i].fd = connect_to(port); /* some wait in the backlog */
	assert_int_equal(client_ask(&c[0], POST_EMPTY), 200);
	assert_int_equal(write(to[1], "", 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	for (int i = 0; i < 150; i++)
		client_close(&c[i]);
	for (int i = 0; i < 2; i++) {
		close(to[i]);
		close(from[i]);
	}
}

static enum bide_rc nobody(const struct bide_peer *peer, char *principal,
			   size_t cap, void *user)
{
	(void)peer;
	(void)user;
	assert_int_not_equal(cap, 0);
	principal[0] = '\0';
	return BIDE_OK;
}

static void test_everywhere__takes_an_identity_or_a_word(void **state)
{
	struct http_options o = {.listen = "0.0.0.0:0",
				 .allow_anonymous = true};
	struct http *h = fake_start(&o);

	(void)state;
	/* Shown as a URL that works from here. */
	assert_memory_equal(http_url(h), "http://127.0.0.1:", 17);
	assert_int_equal(client_once(h, POST_EMPTY), 200);
	assert_int_equal(client_once(h, "POST /mcp HTTP/1.1\r\n"
					"Host: mcp.example.com\r\n\r\n"),
			 403);
	/* This end's own address. */
	assert_int_equal(
		client_once(h,
			    "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n"),
		200);
	fake_stop(h);
	o.allow_anonymous = false;
	o.identity = nobody;
	o.allow_host = "mcp.example.com";
	h = fake_start(&o);
	assert_int_equal(client_once(h, "POST /mcp HTTP/1.1\r\n"
					"Host: mcp.example.com\r\n\r\n"),
			 200);
	fake_stop(h);
}

static void test_v6__has_a_bracketed_url(void **state)
{
	struct sockaddr_in6 lo = {.sin6_family = AF_INET6,
				  .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct http_options o = {.listen = "[::1]:0"};
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool v6 = fd >= 0 && bind(fd, (struct sockaddr *)&lo, sizeof(lo)) == 0;
	struct http *h;

	(void)state;
	if (fd >= 0)
		close(fd);
	if (!v6) {
		print_message("no IPv6 here\n");
		skip();
	}
	h = fake_start(&o);
	assert_memory_equal(http_url(h), "http://[::1]:", 13);
	fake_stop(h);
}

/* ---- pages ---- */
static int page_ok(void *user, struct buf *body)
{
	(void)buf_addstr(body, user);
	return 200;
}

static int page_no(void *user, struct buf *body)
{
	(void)user;
	(void)body;
	return 503;
}

static void test_pages__take_get_only(void **state)
{
	static char text[] = "well\n";
	const struct http_page pages[] = {
		{"/healthz", "text/plain; charset=utf-8", page_ok, text},
		{"/readyz", "text/plain", page_no, NULL},
	};
	struct http_options o = {.pages = pages, .npages = 2};
	struct http *h = fake_start(&o);
	struct client c;
	struct reply r;

	(void)state;
	client_open(&c, h);
	client_send(&c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
	client_reply(&c, &r);
	assert_int_equal(r.status, 200);
	assert_string_equal(r.body.data, "well\n");
	assert_string_equal(reply_header(&r, "Content-Type"),
			    "text/plain; charset=utf-8");
	reply_fini(&r);
	client_send(&c, "POST /healthz HTTP/1.1\r\nHost: localhost\r\n"
			"Content-Length: 2\r\n\r\n{}");
	client_reply(&c, &r);
	assert_int_equal(r.status, 405);
	assert_string_equal(reply_header(&r, "Allow"), "GET");
	reply_fini(&r);
	assert_int_equal(client_ask(&c, "GET /readyz HTTP/1.1\r\n"
					"Host: localhost\r\n\r\n"),
			 503);
	assert_int_equal(client_ask(&c, "GET /metrics HTTP/1.1\r\n"
					"Host: localhost\r\n\r\n"),
			 404);
	client_close(&c);
	assert_int_equal(fake.requests, 0);
	fake_stop(h);
}

/* ---- connections ---- */
static void test_connection__is_kept_and_pipelined(void **state)
{
	struct http *h = fake_start(NULL);
	struct client c;
	struct reply r;

	(void)state;
	fake.request = fake_echo;
	client_open(&c, h);
	for (int i = 0; i < 100; i++) {
		client_send(&c,
			    POST_HEAD "X-Test: 1\r\n"
				      "Content-Length: 1\r\n\r\na" POST_HEAD
				      "X-Test: 2\r\n"
				      "Content-Length: 2\r\n\r\nbb" POST_HEAD
				      "X-Test: 3\r\n\r\n");
		client_reply(&c, &r);
		assert_string_equal(r.body.data, "POST||127.0.0.1|1|a");
		reply_fini(&r);
		client_reply(&c, &r);
		assert_string_equal(r.body.data, "POST||127.0.0.1|2|bb");
		reply_fini(&r);
		client_reply(&c, &r);
		assert_string_equal(r.body.data, "POST||127.0.0.1|3|");
		reply_fini(&r);
	}
	assert_int_equal(metric_get(METRIC_HTTP_CONNECTIONS), 1);
	client_close(&c);
	fake_stop(h);
}

static void test_connection__is_closed_when_the_client_says_so(void **state)
{
	struct http *h = fake_start(NULL);
	struct client c;

	(void)state;
	client_open(&c, h);
	assert_int_equal(client_ask(&c, POST_HEAD "Connection: close\r\n\r\n"),
			 200);
	client_expect_end(&c, false);
	client_close(&c);
	client_open(&c, h);
	assert_int_equal(client_ask(&c, "POST /mcp HTTP/1.0\r\n\r\n"), 200);
	client_expect_end(&c, false);
	client_close(&c);
	fake_stop(h);
}

static void test_threads__share_the_connections(void **state)
{
	struct http_options o = {.threads = 3};
	struct http *h = fake_start(&o);
	struct client c[12];

	(void)state;
	for (size_t i = 0; i < 12; i++)
		client_open(&c[i], h);
	for (int round = 0; round < 20; round++)
		for (size_t i = 0; i < 12; i++)
			assert_int_equal(client_ask(&c[i], POST_EMPTY), 200);
	for (size_t i = 0; i < 12; i++)
		client_close(&c[i]);
	fake_stop(h);
}

static void test_connections__beyond_the_ceiling_wait(void **state)
{
	struct http_options o = {.max_connections = 2};
	struct http *h = fake_start(&o);
	struct client a;
	struct client b;
	struct client c;
	struct reply r;

	(void)state;
	client_open(&a, h);
	client_open(&b, h);
	assert_int_equal(client_ask(&a, POST_EMPTY), 200);
	assert_int_equal(client_ask(&b, POST_EMPTY), 200);
	client_open(&c, h);
	client_send(&c, POST_EMPTY);
	assert_int_equal(client_ask(&a, POST_EMPTY), 200);
	assert_int_equal(fake.requests, 3);
	client_close(&a);
	client_reply(&c, &r);
	assert_int_equal(r.status, 200);
	reply_fini(&r);
	client_close(&b);
	client_close(&c);
	fake_stop(h);
}

/* ---- stopping ---- */
static void test_stop_accepting__lets_what_is_open_end(void **state)
{
	struct http *h = fake_start(NULL);
	struct client idle;
	struct client busy;
	struct client fresh;
	struct client young;
	struct exchange *kept;
	struct reply r;

	(void)state;
	client_open(&idle, h);
	client_open(&busy, h);
	assert_int_equal(client_ask(&idle, POST_EMPTY), 200);
	assert_int_equal(client_ask(&busy, POST_EMPTY), 200);
	fake_until(&fake.finishes, 2);
	fake.request = fake_keep;
	client_send(&busy, POST_EMPTY);
	fake_until(&fake.requests, 3);
	kept = fake_take();
	/* One that came, and has not said a word yet. */
	client_open(&young, h);
	while (metric_get(METRIC_HTTP_CONNECTIONS) < 3)
		sched_yield();
	http_stop_accepting(h);
	fresh = (struct client){.fd = socket(AF_INET, SOCK_STREAM, 0)};
	{
		struct sockaddr_in to = {
			.sin_family = AF_INET,
			.sin_port = htons((uint16_t)http_port_of(h)),
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

		assert_int_equal(
			connect(fresh.fd, (struct sockaddr *)&to, sizeof(to)),
			-1);
		assert_int_equal(errno, ECONNREFUSED);
	}
	client_close(&fresh);
	client_expect_end(&idle, false);
	client_close(&idle);
	fake.request = NULL;
	assert_int_equal(client_ask(&young, POST_EMPTY), 200);
	client_close(&young);
	assert_false(http_drained(h, 0));
	fake_answer(kept, 200, "{}");
	client_reply(&busy, &r);
	assert_int_equal(r.status, 200);
	assert_string_equal(reply_header(&r, "Connection"), "close");
	reply_fini(&r);
	client_expect_end(&busy, false);
	client_close(&busy);
	assert_true(http_drained(h, 10000));
	http_stop_accepting(h); /* again: nothing */
	fake_stop(h);
}

static void test_stop__answers_whoever_waits(void **state)
{
	struct http *h = fake_start(NULL);
	struct client c[5];
	struct reply r;

	(void)state;
	fake.request = fake_keep;
	for (size_t i = 0; i < 5; i++) {
		client_open(&c[i], h);
		client_send(&c[i], POST_EMPTY);
	}
	fake_until(&fake.requests, 5);
	fake_stop(h);
	assert_int_equal(fake.closes, 5);
	assert_int_equal(fake.whole, 0);
	for (size_t i = 0; i < 5; i++) {
		client_reply(&c[i], &r);
		assert_int_equal(r.status, 503);
		assert_string_equal(reply_header(&r, "Connection"), "close");
		reply_fini(&r);
		client_expect_end(&c[i], false);
		client_close(&c[i]);
	}
}

static void test_stop__closes_what_is_half_said(void **state)
{
	struct http *h = fake_start(NULL);
	struct client head;
	struct client body;

	(void)state;
	client_open(&head, h);
	client_send(&head, "POST /mcp HT");
	client_open(&body, h);
	client_send(&body, POST_HEAD "Content-Length: 10\r\n\r\nhal");
	fake_stop(h);
	client_expect_end(&head, true);
	client_expect_end(&body, true);
	client_close(&head);
	client_close(&body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_listen__says_what_is_wrong),
		cmocka_unit_test(
			test_path__one_that_nobody_could_ask_for_is_refused),
		cmocka_unit_test(test_listen__says_that_the_address_is_in_use),
		cmocka_unit_test(test_limit__descriptors_are_left_for_the_rest),
		cmocka_unit_test(test_everywhere__takes_an_identity_or_a_word),
		cmocka_unit_test(test_v6__has_a_bracketed_url),
		cmocka_unit_test(test_pages__take_get_only),
		cmocka_unit_test(test_connection__is_kept_and_pipelined),
		cmocka_unit_test(
			test_connection__is_closed_when_the_client_says_so),
		cmocka_unit_test(test_threads__share_the_connections),
		cmocka_unit_test(test_connections__beyond_the_ceiling_wait),
		cmocka_unit_test(test_stop_accepting__lets_what_is_open_end),
		cmocka_unit_test(test_stop__answers_whoever_waits),
		cmocka_unit_test(test_stop__closes_what_is_half_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
