/* SPDX-License-Identifier: MIT */
/*
 * subscriptions/listen for lists and resources, across instances: what a
 * handler, a thread of the program's or the operator says has changed reaches
 * whoever asked for it.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/e2e/lib/client.h"
#include "tests/e2e/lib/listener.h"
#include "tests/e2e/lib/probe.h"
#include "tests/e2e/lib/raw.h"
#include "tests/e2e/lib/server.h"

#define AWAIT_S   60
#define TOOLS     "notifications/tools/list_changed"
#define PROMPTS   "notifications/prompts/list_changed"
#define RESOURCES "notifications/resources/list_changed"
#define UPDATED   "notifications/resources/updated"
#define ONE       "test://static-text"

static struct scratch *scratch;
static struct server *at[3];

static int setup(void **state)
{
	(void)state;
	scratch = scratch_new();
	for (int i = 0; i < 3; i++)
		at[i] = server_start(scratch, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		server_free(at[i]);
	scratch_free(scratch);
	return 0;
}

/* ---- saying ---- */
static struct ask ask_of(const struct server *v)
{
	struct ask a = {.url = v->url};

	return a;
}

static void announce(const struct server *v, const char *name, json_t *args)
{
	struct ask a = ask_of(v);
	struct reply *r = tool(&a, name, args);

	assert_string_equal(result_text(r), "announced");
	reply_free(r);
}

static void announce_list(const struct server *v, const char *what)
{
	announce(v, "announce", json_pack("{s:s}", "what", what));
}

static void announce_uri(const struct server *v, const char *uri)
{
	announce(v, "announce", json_pack("{s:s}", "uri", uri));
}

static void operator_says(const char *what, const char *uri)
{
	const char *const list[] = {"signal", what, "--db", scratch->db, NULL};
	const char *const one[] = {"signal", what,        uri,
				   "--db",   scratch->db, NULL};
	char *out = NULL;

	assert_int_equal(run_fixture(uri != NULL ? one : list, &out), 0);
	free(out);
}

/* ---- hearing ---- */
static void listen_as(struct listener *l, const struct server *v, json_t *id,
		      json_t *filter)
{
	struct ask a = ask_of(v);

	a.id = id;
	listener_start(l, a, filter);
	json_decref(id);
	assert_non_null(listener_await(l, NULL, NULL));
}

static void listen_to(struct listener *l, const struct server *v,
		      json_t *filter)
{
	listen_as(l, v, NULL, filter);
}

static bool is(const json_t *m, const char *method, const char *uri)
{
	const char *s = json_string_value(json_object_get(m, "method"));
	const char *u = json_string_value(
		json_object_get(json_object_get(m, "params"), "uri"));

	return s != NULL && strcmp(s, method) == 0 &&
	       (uri == NULL || (u != NULL && strcmp(u, uri) == 0));
}

static size_t count_locked(const struct listener *l, const char *method,
			   const char *uri)
{
	size_t n = 0;
	size_t i;
	json_t *m;

	json_array_foreach (l->messages, i, m)
		n += is(m, method, uri);
	return n;
}

static size_t count(struct listener *l, const char *method, const char *uri)
{
	size_t n;

	pthread_mutex_lock(&l->lock);
	n = count_locked(l, method, uri);
	pthread_mutex_unlock(&l->lock);
	return n;
}

/* Waits until it was told so @n times. */
static void hears(struct listener *l, const char *method, const char *uri,
		  size_t n)
{
	struct timespec until;
	size_t got;
	bool late = false;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += AWAIT_S;
	pthread_mutex_lock(&l->lock);
	while ((got = count_locked(l, method, uri)) < n && !l->over && !late)
		late = pthread_cond_timedwait(&l->more, &l->lock, &until) != 0;
	pthread_mutex_unlock(&l->lock);
	if (got != n)
		fail_msg("%s %s: heard %zu times, not %zu", method,
			 uri != NULL ? uri : "", got, n);
}

/* The client goes; whatever comes next is what makes it see that. */
static void go(struct listener *l, const struct server *v, const char *what)
{
	listener_leave(l);
	announce_list(v, what);
	listener_end(l);
}

/* ---- who says so ---- */
/* S34, S74, S76: each listener, on whatever instance, is told what it asked
 * for, under its own id, and nothing else. */
static void test_handler__is_heard_on_every_instance(void **unused)
{
	static const char *const tools[] = {"announce", "announce_inline",
					    "announce_task"};
	struct listener lists, one, list;

	(void)unused;
	listen_as(&lists, at[0], json_integer(INT64_C(9007199254740993)),
		  json_pack("{s:b,s:b}", "toolsListChanged", 1,
			    "promptsListChanged", 1));
	listen_as(&one, at[1], json_string("a \"b\" 7"),
		  json_pack("{s:[s]}", "resourceSubscriptions", ONE));
	listen_as(&list, at[2], json_integer(-1),
		  json_pack("{s:b}", "resourcesListChanged", 1));
	for (size_t i = 0; i < 3; i++) {
		announce(at[i], tools[i], json_pack("{s:s}", "uri", ONE));
		hears(&one, UPDATED, ONE, i + 1);
		announce(at[i], tools[i], json_pack("{s:s}", "uri", ONE "/b"));
		announce(at[i], tools[i],
			 json_pack("{s:s}", "what", "prompts"));
		hears(&lists, PROMPTS, NULL, i + 1);
		announce(at[i], tools[i], json_pack("{s:s}", "what", "tools"));
		hears(&lists, TOOLS, NULL, i + 1);
		announce(at[i], tools[i],
			 json_pack("{s:s}", "what", "resources"));
		hears(&list, RESOURCES, NULL, i + 1);
	}
	assert_true(listener_tagged(&lists));
	assert_true(listener_tagged(&one));
	assert_true(listener_tagged(&list));
	/* the acknowledgement, and what is counted above */
	assert_int_equal(json_array_size(lists.messages), 1 + 6);
	assert_int_equal(json_array_size(one.messages), 1 + 3);
	assert_int_equal(json_array_size(list.messages), 1 + 3);
	go(&lists, at[0], "tools");
	go(&list, at[0], "resources");
	listener_leave(&one);
	announce_uri(at[0], ONE);
	listener_end(&one);
}

/* Two on one instance, one client: each by its own id (S74). */
static void test_two_listens__are_told_apart(void **unused)
{
	struct listener tools, prompts;

	(void)unused;
	listen_as(&tools, at[0], json_string("1"),
		  json_pack("{s:b}", "toolsListChanged", 1));
	listen_as(&prompts, at[0], json_integer(1),
		  json_pack("{s:b}", "promptsListChanged", 1));
	announce_list(at[1], "tools");
	announce_list(at[1], "prompts");
	hears(&tools, TOOLS, NULL, 1);
	hears(&prompts, PROMPTS, NULL, 1);
	assert_int_equal(count(&tools, PROMPTS, NULL), 0);
	assert_int_equal(count(&prompts, TOOLS, NULL), 0);
	assert_true(listener_tagged(&tools));
	assert_true(listener_tagged(&prompts));
	go(&tools, at[0], "tools");
	go(&prompts, at[0], "prompts");
}

static void test_operator__is_heard_on_every_instance(void **unused)
{
	struct listener l[3];

	(void)unused;
	for (int i = 0; i < 3; i++)
		listen_to(&l[i], at[i],
			  json_pack("{s:b,s:b,s:b,s:[s]}", "toolsListChanged",
				    1, "promptsListChanged", 1,
				    "resourcesListChanged", 1,
				    "resourceSubscriptions", ONE));
	operator_says("tools", NULL);
	operator_says("prompts", NULL);
	operator_says("resources", NULL);
	operator_says("resource", ONE);
	for (int i = 0; i < 3; i++) {
		hears(&l[i], TOOLS, NULL, 1);
		hears(&l[i], PROMPTS, NULL, 1);
		hears(&l[i], RESOURCES, NULL, 1);
		hears(&l[i], UPDATED, ONE, 1);
	}
	for (int i = 0; i < 3; i++)
		listener_leave(&l[i]);
	operator_says("tools", NULL);
	for (int i = 0; i < 3; i++)
		listener_end(&l[i]);
}

/* Nobody runs: it is stored, and whoever comes later reads anew anyway. */
static void test_operator__needs_no_instance(void **unused)
{
	struct scratch *s = scratch_new();
	const char *const migrate[] = {"migrate", "--db", s->db, NULL};
	const char *const words[] = {"signal", "tools", "--db", s->db, NULL};
	struct server *v;
	struct listener l;
	char *out = NULL;

	(void)unused;
	assert_int_equal(run_fixture(migrate, &out), 0);
	free(out);
	assert_int_equal(run_fixture(words, &out), 0);
	assert_string_equal(out, "tools: announced (no instance is running)\n");
	free(out);
	v = server_start(s, NULL);
	listen_to(&l, v,
		  json_pack("{s:b,s:b}", "toolsListChanged", 1,
			    "promptsListChanged", 1));
	announce_list(v, "prompts");
	hears(&l, PROMPTS, NULL, 1);
	assert_int_equal(count(&l, TOOLS, NULL), 0);
	go(&l, v, "prompts");
	server_free(v);
	scratch_free(s);
}

/* Until it is to stop: something to say at any moment. */
struct scribbler {
	FILE *f;
	atomic_bool stop;
};

static void *scribble(void *arg)
{
	struct scribbler *s = arg;

	while (!atomic_load(&s->stop)) {
		const struct timespec nap = {0, 1000 * 1000};

		(void)fputs("more", s->f);
		(void)fflush(s->f);
		(void)nanosleep(&nap, NULL);
	}
	return NULL;
}

/* bide_server_changed(), from a thread that is there before the server is and
 * stays until it is gone. */
static void test_program__says_so_from_a_thread(void **unused)
{
	char path[300];
	char uri[320];
	const char *const args[] = {"--watch", path, NULL};
	struct server *v;
	struct scribbler s;
	pthread_t thread;
	struct listener l;
	int status;
	FILE *f;

	(void)unused;
	(void)snprintf(path, sizeof(path), "%s/watched", scratch->dir);
	(void)snprintf(uri, sizeof(uri), "file://%s", path);
	f = fopen(path, "w");
	assert_non_null(f);
	s.f = f;
	atomic_init(&s.stop, false);
	assert_true(fputs("before", f) >= 0 && fflush(f) == 0);
	listen_to(&l, at[0],
		  json_pack("{s:[s]}", "resourceSubscriptions", uri));
	v = server_start(scratch, args);
	for (size_t i = 1; i <= 4; i++) {
		hears(&l, UPDATED, uri, i);
		assert_true(fputs("more", f) >= 0 && fflush(f) == 0);
	}
	hears(&l, UPDATED, uri, 5);
	assert_int_equal(pthread_create(&thread, NULL, scribble, &s), 0);
	status = server_signal_wait(v, SIGTERM);
	atomic_store(&s.stop, true);
	(void)pthread_join(thread, NULL);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	(void)fclose(f);
	listener_leave(&l);
	announce_uri(at[0], uri);
	listener_end(&l);
	server_free(v);
}

/* ---- what goes wrong ---- */
/* The reply says that it is stored: then the death of who said it loses
 * nothing. */
static void test_announcer__may_die_after_its_reply(void **unused)
{
	struct listener l;

	(void)unused;
	listen_to(&l, at[1], json_pack("{s:b}", "toolsListChanged", 1));
	for (size_t i = 0; i < 3; i++) {
		struct server *v = server_start(scratch, NULL);

		announce_list(v, "tools");
		server_kill(v, SIGKILL);
		server_free(v);
		hears(&l, TOOLS, NULL, i + 1);
	}
	go(&l, at[1], "tools");
}

/* It dies between the commit and the bell: nobody was rung, and nobody
 * answered. */
static void test_announcer__may_die_before_it_rings(void **unused)
{
	const char *const args[] = {"--fault", "bell.send:1:kill", NULL};
	struct listener l;
	struct server *v;
	struct ask a;
	struct reply *r;

	(void)unused;
	listen_to(&l, at[1], json_pack("{s:b}", "toolsListChanged", 1));
	v = server_start(scratch, args);
	a = ask_of(v);
	r = tool(&a, "announce", json_pack("{s:s}", "what", "tools"));
	assert_int_equal(r->status, 0);
	reply_free(r);
	assert_true(WIFSIGNALED(server_wait(v)));
	hears(&l, TOOLS, NULL, 1);
	server_free(v);
	go(&l, at[1], "tools");
}

/* Each datagram is lost; the slow poll is the net. */
static void test_signal__that_is_lost_comes_with_the_poll(void **unused)
{
	const char *const args[] = {"--fault", "bell.send:0:fail", NULL};
	struct server *v = server_start(scratch, args);
	struct listener l;

	(void)unused;
	listen_to(&l, at[1],
		  json_pack("{s:b,s:[s]}", "toolsListChanged", 1,
			    "resourceSubscriptions", ONE));
	for (size_t i = 0; i < 3; i++) {
		announce_list(v, "tools");
		hears(&l, TOOLS, NULL, i + 1);
		announce_uri(v, ONE);
		hears(&l, UPDATED, ONE, i + 1);
	}
	server_free(v);
	go(&l, at[1], "tools");
}

/* ---- slow clients, and those that go ---- */
#define FLOOD     300
#define URI_BYTES 8000

static json_t *long_uri(void)
{
	char *uri = malloc(URI_BYTES + 1);
	json_t *s;

	assert_non_null(uri);
	memset(uri, 'x', URI_BYTES);
	memcpy(uri, "test://", 7);
	uri[URI_BYTES] = '\0';
	s = json_string(uri);
	free(uri);
	return s;
}

/* A connection on which little is under way: the system, too, would keep
 * megabytes for a client that does not read. */
static int narrow_open(const struct server *v)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int small = 4096;
	int segment = 536;

	assert_true(fd >= 0);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.sin_port =
		htons((uint16_t)strtol(strrchr(v->base, ':') + 1, NULL, 10));
	assert_int_equal(
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)),
		0);
	assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment,
				    sizeof(segment)),
			 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

/* Reads on until @text has come; the bytes read. */
static size_t read_until(int fd, const char *text)
{
	static char window[2 * 65536];
	size_t kept = 0;
	size_t all = 0;
	ssize_t n;

	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		n = poll(&p, 1, AWAIT_S * 1000);
		if (n > 0)
			n = recv(fd, window + kept, 65535, 0);
		if (n <= 0)
			fail_msg("the stream ended after %zu bytes", all);
		all += (size_t)n;
		kept += (size_t)n;
		window[kept] = '\0';
		if (strstr(window, text) != NULL)
			return all;
		if (kept > 256) {
			memmove(window, window + kept - 256, 256);
			kept = 256;
		}
	}
}

/* A client that does not read is owed the topic once, however often it is
 * announced: its stream does not run over, and goes on when it reads. */
static void test_slow_client__is_not_cut_off(void **unused)
{
	struct ask a = ask_of(at[0]);
	struct raw c = {.fd = narrow_open(at[0])};
	json_t *uri = long_uri();
	char *request = raw_request(
		&a, "subscriptions/listen", NULL,
		json_pack("{s:{s:b,s:[O]}}", "notifications",
			  "toolsListChanged", 1, "resourceSubscriptions", uri),
		NULL);

	(void)unused;
	raw_send(&c, request);
	(void)read_until(c.fd, "acknowledged");
	announce(at[0], "announce",
		 json_pack("{s:O,s:i}", "uri", uri, "times", FLOOD));
	announce_list(at[0], "tools");
	assert_true(read_until(c.fd, TOOLS) < (size_t)FLOOD * URI_BYTES / 2);
	announce_list(at[0], "tools");
	(void)read_until(c.fd, TOOLS);
	assert_int_equal(server_count(at[0], "http.stream_overflow"), 0);
	raw_close(&c);
	free(request);
	json_decref(uri);
}

/* Whoever has gone is forgotten, though nothing was told meanwhile. */
static void test_client__that_goes_is_forgotten(void **unused)
{
	struct ask a = ask_of(at[2]);
	struct raw c[4];

	(void)unused;
	assert_true(probe_await_most(at[2], "bide_listeners", 0));
	for (size_t i = 0; i < 4; i++) {
		char *request =
			raw_request(&a, "subscriptions/listen", NULL,
				    json_pack("{s:{s:b}}", "notifications",
					      "toolsListChanged", 1),
				    NULL);

		c[i] = (struct raw){0};
		raw_open(&c[i], at[2]->url);
		raw_send(&c[i], request);
		(void)read_until(c[i].fd, "acknowledged");
		free(request);
	}
	assert_true(probe_await_least(at[2], "bide_listeners", 4));
	raw_half_close(&c[0]);
	raw_close(&c[1]);
	assert_true(probe_await_most(at[2], "bide_listeners", 2));
	announce_list(at[2], "tools");
	(void)read_until(c[2].fd, TOOLS);
	(void)read_until(c[3].fd, TOOLS);
	raw_close(&c[0]);
	raw_close(&c[2]);
	raw_close(&c[3]);
	assert_true(probe_await_most(at[2], "bide_listeners", 0));
}

/* patterns/subscriptions, "Graceful Closure"; S78. */
static void test_drain__ends_it_with_its_response(void **unused)
{
	struct server *v = server_start(scratch, NULL);
	struct listener l;
	int status;

	(void)unused;
	listen_as(&l, v, json_string("the end"),
		  json_pack("{s:b,s:[s]}", "toolsListChanged", 1,
			    "resourceSubscriptions", ONE));
	announce_list(at[0], "tools");
	hears(&l, TOOLS, NULL, 1);
	status = server_signal_wait(v, SIGTERM);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	listener_join(&l);
	assert_non_null(l.r->message);
	assert_string_equal(result_type(l.r), "complete");
	assert_string_equal(
		json_string_value(json_object_get(l.r->message, "id")),
		"the end");
	assert_true(listener_tagged(&l));
	assert_int_equal(count(&l, "notifications/cancelled", NULL), 0);
	listener_end(&l);
	server_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handler__is_heard_on_every_instance),
		cmocka_unit_test(test_two_listens__are_told_apart),
		cmocka_unit_test(test_operator__is_heard_on_every_instance),
		cmocka_unit_test(test_operator__needs_no_instance),
		cmocka_unit_test(test_program__says_so_from_a_thread),
		cmocka_unit_test(test_announcer__may_die_after_its_reply),
		cmocka_unit_test(test_announcer__may_die_before_it_rings),
		cmocka_unit_test(test_signal__that_is_lost_comes_with_the_poll),
		cmocka_unit_test(test_slow_client__is_not_cut_off),
		cmocka_unit_test(test_client__that_goes_is_forgotten),
		cmocka_unit_test(test_drain__ends_it_with_its_response),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
