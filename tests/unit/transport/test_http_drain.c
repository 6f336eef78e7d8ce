/* SPDX-License-Identifier: MIT */
/*
 * A listening socket that closes under load resets nobody: whoever was let in
 * is served, the others are refused before they sent anything, so that a proxy
 * may ask another instance (docs/fleet.md).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "tests/unit/transport/lib/client.h"
#include "tests/unit/transport/lib/fake.h"

#define TIMES   20
#define PEERS   4
#define BEFORE  200 /* requests before it closes */
#define KNOCK_S 0.1 /* for a handshake; one that is kept out takes a second */

struct peer {
	struct sockaddr_in to;
	pthread_t thread;
	const char *why; /* NULL: all well */
};

static void set_timeout(int fd, int option, double seconds)
{
	struct timeval t = {.tv_sec = (time_t)seconds};

	t.tv_usec =
		(suseconds_t)((seconds - (double)(time_t)seconds) * 1000000);
	(void)setsockopt(fd, SOL_SOCKET, option, &t, sizeof(t));
}

/* -1: nobody lets it in. */
static int knock(const struct peer *p)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	set_timeout(fd, SO_SNDTIMEO, KNOCK_S);
	if (connect(fd, (const struct sockaddr *)&p->to, sizeof(p->to)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* A connection for each request, as proxies make them. */
static void *ask_on(void *arg)
{
	struct peer *p = arg;
	char answer[512];
	int fd;

	while (p->why == NULL && (fd = knock(p)) >= 0) {
		set_timeout(fd, SO_RCVTIMEO, 10);
		if (send(fd, POST_EMPTY, strlen(POST_EMPTY), MSG_NOSIGNAL) < 0)
			p->why = "reset before it was sent";
		else if (recv(fd, answer, sizeof(answer), 0) <= 0)
			p->why = "no answer";
		else if (memcmp(answer, "HTTP/1.1 200 ", 13) != 0)
			p->why = "another answer";
		close(fd);
	}
	return NULL;
}

static void close_under_load(void)
{
	struct http *h = fake_start(NULL);
	struct peer peers[PEERS];

	for (size_t i = 0; i < PEERS; i++) {
		peers[i] = (struct peer){
			.to = {.sin_family = AF_INET,
			       .sin_port = htons((uint16_t)http_port_of(h)),
			       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
		assert_int_equal(pthread_create(&peers[i].thread, NULL, ask_on,
						&peers[i]),
				 0);
	}
	fake_until(&fake.requests, BEFORE);
	http_stop_accepting(h);
	assert_true(http_drained(h, 10000));
	for (size_t i = 0; i < PEERS; i++)
		(void)pthread_join(peers[i].thread, NULL);
	fake_stop(h);
	for (size_t i = 0; i < PEERS; i++)
		if (peers[i].why != NULL)
			fail_msg("peer %zu: %s", i, peers[i].why);
}

static void test_stop_accepting__resets_nobody(void **state)
{
	(void)state;
	for (int i = 0; i < TIMES; i++)
		close_under_load();
}

static void test_drained__waits_for_who_has_connected(void **state)
{
	const int64_t some_ms = 300;
	struct http *h = fake_start(NULL);
	struct client c;
	int64_t began;

	(void)state;
	client_open(&c, h);
	http_stop_accepting(h);
	began = clock_boot_ms();
	assert_true(http_drained(h, some_ms));
	assert_true(clock_boot_ms() - began >= some_ms);
	assert_int_equal(client_ask(&c, POST_EMPTY), 200);
	client_close(&c);
	/* Nobody is left, so there is nothing to wait for. */
	assert_true(http_drained(h, INT64_MAX / 4));
	fake_stop(h);
}

static void test_drained__does_not_wait_for_long(void **state)
{
	struct http *h = fake_start(NULL);
	struct client c;

	(void)state;
	client_open(&c, h);
	http_stop_accepting(h);
	/* It would be a test that never ends. */
	assert_true(http_drained(h, INT64_MAX / 4));
	client_close(&c);
	fake_stop(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stop_accepting__resets_nobody),
		cmocka_unit_test(test_drained__waits_for_who_has_connected),
		cmocka_unit_test(test_drained__does_not_wait_for_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
