/* SPDX-License-Identifier: MIT */
/* What is let in and what is not; each request on a connection of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/transport/lib/client.h"
#include "tests/unit/transport/lib/fake.h"

#define JSON_TYPE "Content-Type: application/json\r\n"

struct row {
	const char *what, *request;
	int status;
	int reached; /* how many requests the protocol may see */
};

static const struct row rows[] = {
	{"plain", POST_EMPTY, 200, 1},
	{"HTTP/1.0", "POST /mcp HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}", 200,
	 1},
	{"no body", POST_HEAD "\r\n", 200, 1},
	{"another method", "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n",
	 200, 1},
	{"another path", "POST /mcpx HTTP/1.1\r\nHost: localhost\r\n\r\n", 404,
	 0},
	{"no Host", "POST /mcp HTTP/1.1\r\n\r\n", 400, 0},
	{"bad Host", "POST /mcp HTTP/1.1\r\nHost: evil.example.com\r\n\r\n",
	 403, 0},
	{"bad Origin", POST_HEAD "Origin: http://evil.example.com\r\n\r\n", 403,
	 0},
	{"good Origin", POST_HEAD "Origin: http://localhost:6274\r\n\r\n", 200,
	 1},
	{"both framings",
	 POST_HEAD "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
		   "0\r\n\r\n",
	 400, 0},
	{"both framings, turned",
	 POST_HEAD "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n"
		   "0\r\n\r\n",
	 400, 0},
	{"two lengths",
	 POST_HEAD "Content-Length: 2\r\nContent-Length: 4\r\n\r\n{}{}", 400,
	 0},
	{"the same length twice",
	 POST_HEAD "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 400, 0},
	{"two codings",
	 POST_HEAD "Transfer-Encoding: chunked\r\n"
		   "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	 400, 0},
	{"a coding that is not chunked",
	 POST_HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400, 0},
	{"identity", POST_HEAD "Transfer-Encoding: identity\r\n\r\n{}", 400, 0},
	{"chunks in HTTP/1.0",
	 "POST /mcp HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	 400, 0},
	{"a length over the ceiling", POST_HEAD "Content-Length: 4097\r\n\r\n",
	 413, 0},
	{"two Hosts", POST_HEAD "Host: localhost\r\n\r\n", 400, 0},
	{"two Origins",
	 POST_HEAD "Origin: http://localhost\r\nOrigin: http://localhost\r\n"
		   "\r\n",
	 400, 0},
	{"two Authorizations",
	 POST_HEAD "Authorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n",
	 400, 0},
	{"two Content-Types", POST_HEAD JSON_TYPE JSON_TYPE "\r\n", 400, 0},
	{"two Mcp-Methods", POST_HEAD "Mcp-Method: a\r\nMCP-METHOD: b\r\n\r\n",
	 400, 0},
	{"two of an Mcp header not known",
	 POST_HEAD "Mcp-Param-Q: a\r\nX-Other: 1\r\nmcp-param-q: a\r\n\r\n",
	 400, 0},
	{"two different Mcp headers",
	 POST_HEAD "Mcp-Method: a\r\nMcp-Name: b\r\n\r\n", 200, 1},
	{"two of another header", POST_HEAD "X-A: 1\r\nX-A: 2\r\n\r\n", 200, 1},
	{"a fold", POST_HEAD "X-A: 1\r\n 2\r\n\r\n", 400, 0},
	{"a fold with a tab", POST_HEAD "X-A: 1\r\n\t2\r\n\r\n", 400, 0},
	{"a fold that makes a name", POST_HEAD "Mcp-Metho: x\r\n d\r\n\r\n",
	 400, 0},
	{"a fold first", POST_HEAD " X-A: 1\r\n\r\n", 400, 0},
	{"a fold of nothing", POST_HEAD "X-A: 1\r\n \r\n\r\n", 400, 0},
	{"a blank before the colon", POST_HEAD "X-A : 1\r\n\r\n", 400, 0},
	{"a name that is no token", POST_HEAD "X(A): 1\r\n\r\n", 400, 0},
	{"no name", POST_HEAD ": 1\r\n\r\n", 400, 0},
	{"no colon", POST_HEAD "X-A\r\n\r\n", 400, 0},
	{"a bare CR in a value", POST_HEAD "X-A: 1\r2\r\n\r\n", 400, 0},
	{"a control character", POST_HEAD "X-A: 1\x01\r\n\r\n", 400, 0},
	{"a tab in a value", POST_HEAD "X-A: 1\t2\r\n\r\n", 200, 1},
	{"no blank after the colon", POST_HEAD "X-A:1\r\n\r\n", 200, 1},
	{"an empty value", POST_HEAD "X-A:\r\nX-B: \r\n\r\n", 200, 1},
	{"blanks around a value", POST_HEAD "X-A: \t 1 \t \r\n\r\n", 200, 1},
	{"bare LF everywhere", "POST /mcp HTTP/1.1\nHost: localhost\n\n", 400,
	 0},
	{"bare LF after the request line",
	 "POST /mcp HTTP/1.1\nHost: localhost\r\n\r\n", 400, 0},
	{"bare LF after a header", POST_HEAD "X-A: 1\nX-B: 2\r\n\r\n", 400, 0},
	{"bare LF at the end", POST_HEAD "X-A: 1\r\n\n", 400, 0},
	{"no headers, bare LF", "POST /mcp HTTP/1.0\n\n", 400, 0},
	{"a blank in the target",
	 "POST /mcp?x y HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, 0},
	{"a tab in the target",
	 "POST /mcp?x\ty HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, 0},
	{"an encoded NUL in the target",
	 "POST /mcp%00/x HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, 0},
	{"no version", "POST /mcp\r\n\r\n", 400, 0},
	{"HTTP/2.0", "POST /mcp HTTP/2.0\r\nHost: localhost\r\n\r\n", 505, 0},
	{"a method that is no token",
	 "P(ST /mcp HTTP/1.1\r\nHost: localhost"
	 "\r\n\r\n",
	 400, 0},
	{"empty lines first", "\r\n\r\n" POST_EMPTY, 200, 1},
	{"a query", "POST /mcp?a=b HTTP/1.1\r\nHost: localhost\r\n\r\n", 200,
	 1},
};

static void run(const struct http *h, const struct row *row, size_t i)
{
	struct client c;
	struct reply r = {0};
	int before = atomic_load(&fake.requests);

	client_open(&c, h);
	client_send(&c, row->request);
	client_reply(&c, &r);
	if (r.status != row->status)
		fail_msg("row %zu, %s: %d", i, row->what, r.status);
	/* What cannot be told from a request is the last of its line. */
	if (r.status == 400 || r.status == 413)
		client_expect_end(&c, true);
	if (fake.requests - before != row->reached)
		fail_msg("row %zu, %s: reached %d times", i, row->what,
			 fake.requests - before);
	reply_fini(&r);
	client_close(&c);
}

static void test_head__follows_the_table(void **state)
{
	struct http *h = fake_start(NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		run(h, &rows[i], i);
	fake_stop(h);
}

/*
 * libmicrohttpd 0.9.75 answers a bad Content-Length by itself, and writes the
 * response's head twice. The connection ends with it, so no harm is done.
 */
static void test_length__is_a_number(void **state)
{
	static const struct row bad[] = {
		{"a negative length", POST_HEAD "Content-Length: -1\r\n\r\n",
		 400, 0},
		{"a signed length", POST_HEAD "Content-Length: +2\r\n\r\n{}",
		 400, 0},
		{"a length with more", POST_HEAD "Content-Length: 2x\r\n\r\n{}",
		 400, 0},
		{"a list of lengths",
		 POST_HEAD "Content-Length: 2, 2\r\n\r\n{}", 400, 0},
		{"an empty length", POST_HEAD "Content-Length:\r\n\r\n", 400,
		 0},
		{"a length beyond 64 bits",
		 POST_HEAD "Content-Length: 99999999999999999999999\r\n\r\n",
		 413, 0},
	};
	struct http *h = fake_start(NULL);
	struct client c;
	struct reply r;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		client_open(&c, h);
		client_send(&c, bad[i].request);
		client_reply(&c, &r);
		assert_int_equal(r.status, bad[i].status);
		reply_fini(&r);
		client_skip_to_end(&c);
		client_close(&c);
	}
	assert_int_equal(fake.requests, 0);
	fake_stop(h);
}

/* The same, in two pieces at every place: parsing resumes. */
static void test_head__may_come_in_pieces(void **state)
{
	static const char request[] = POST_HEAD
		"X-Test: seen\r\nX-Other:\r\nContent-Length: 2\r\n\r\n{}";
	struct http *h = fake_start(NULL);
	struct client c;
	struct reply r;

	(void)state;
	fake.request = fake_echo;
	client_open(&c, h);
	for (size_t cut = 1; cut < sizeof(request) - 1; cut++) {
		client_send_n(&c, request, cut);
		client_send(&c, request + cut);
		client_reply(&c, &r);
		assert_string_equal(r.body.data, "POST||127.0.0.1|seen|{}");
		reply_fini(&r);
	}
	client_close(&c);
	fake_stop(h);
}

static void test_nul__never_gets_in(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} bad[] = {
#define ROW(text) {text, sizeof(text) - 1}
		ROW(POST_HEAD "X-A: 1\0002\r\n\r\n"),
		ROW(POST_HEAD "\0X-A: 1\r\n\r\n"),
		ROW(POST_HEAD "X-A: 1\0\0X-B\0 2\r\n\r\n"),
		ROW(POST_HEAD "X-A\0: 1\r\n\r\n"),
		ROW(POST_HEAD "X-A: 1\r\n\0\0"
			      "POST /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		ROW("POST /mcp HTTP/1.1\0\r\nHost: localhost\r\n\r\n"),
#undef ROW
	};
	struct http *h = fake_start(NULL);
	struct client c;
	struct reply r;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		client_open(&c, h);
		client_send_n(&c, bad[i].bytes, bad[i].len);
		client_reply(&c, &r);
		assert_int_equal(r.status, 400);
		reply_fini(&r);
		client_expect_end(&c, true);
		client_close(&c);
	}
	assert_int_equal(fake.requests, 0);
	fake_stop(h);
}

static void test_errors__are_json_without_an_id(void **state)
{
	struct http *h = fake_start(NULL);
	struct client c;
	struct reply r;

	(void)state;
	client_open(&c, h);
	client_send(&c, POST_HEAD "Origin: null\r\n\r\n");
	client_reply(&c, &r);
	assert_int_equal(r.status, 403);
	assert_string_equal(reply_header(&r, "Content-Type"),
			    "application/json");
	assert_non_null(strstr(r.body.data, "\"error\":{\"code\":-32600,"));
	assert_null(strstr(r.body.data, "\"id\""));
	reply_fini(&r);
	client_close(&c);
	fake_stop(h);
}

/* A refusal that says nothing about the framing keeps the connection. */
static void test_refusal__keeps_the_connection_where_it_can(void **state)
{
	struct http *h = fake_start(NULL);
	struct client c;

	(void)state;
	client_open(&c, h);
	assert_int_equal(client_ask(&c,
				    "POST /no HTTP/1.1\r\nHost: localhost\r\n"
				    "Content-Length: 5\r\n\r\nhello"),
			 404);
	assert_int_equal(client_ask(&c, POST_HEAD "Origin: null\r\n\r\n"), 403);
	assert_int_equal(client_ask(&c, POST_EMPTY), 200);
	client_close(&c);
	fake_stop(h);
}

static void test_headers__have_ceilings(void **state)
{
	struct http *h = fake_start(NULL);
	struct buf b = {0};

	(void)state;
	/* Nearly 16 KiB in one header are well, with a body behind it. */
	(void)buf_addf(&b,
		       POST_HEAD "X-A: %016000d\r\nContent-Length: 4096\r\n\r\n"
				 "%04096d",
		       1, 2);
	assert_int_equal(client_once(h, b.data), 200);
	/* So they are in many. */
	buf_reset(&b);
	(void)buf_addstr(&b, POST_HEAD);
	for (int i = 0; i < 100; i++)
		(void)buf_addf(&b, "X-%d: %0150d\r\n", i, i);
	(void)buf_addf(&b, "Content-Length: 4096\r\n\r\n%04096d", 3);
	assert_int_equal(client_once(h, b.data), 200);
	/* A little more is too much. */
	buf_reset(&b);
	(void)buf_addf(&b, POST_HEAD "X-A: %016000d\r\nX-B: %0500d\r\n\r\n", 1,
		       2);
	assert_int_equal(client_once(h, b.data), 431);
	/* Nor without end. */
	buf_reset(&b);
	(void)buf_addf(&b, POST_HEAD "X-A: %065000d", 1);
	assert_int_equal(client_once(h, b.data), 431);
	/* As many as a proxy chain may add, and more than that. */
	buf_reset(&b);
	(void)buf_addstr(&b, POST_HEAD);
	for (int i = 0; i < 100; i++)
		(void)buf_addf(&b, "X-%d: 1\r\n", i);
	(void)buf_addstr(&b, "\r\n");
	assert_int_equal(client_once(h, b.data), 200);
	buf_reset(&b);
	(void)buf_addstr(&b, POST_HEAD);
	for (int i = 0; i < 200; i++)
		(void)buf_addf(&b, "X-%d: 1\r\n", i);
	(void)buf_addstr(&b, "\r\n");
	assert_int_equal(client_once(h, b.data), 431);
	buf_fini(&b);
	fake_stop(h);
}

static void accept_of(struct exchange *ex)
{
	fake_answer(ex, 200, ex->ops->header(ex, "ACCEPT"));
}

static void test_accept__may_stand_in_several_lines(void **state)
{
	struct http *h = fake_start(NULL);
	struct client c;
	struct reply r;

	(void)state;
	fake.request = accept_of;
	client_open(&c, h);
	client_send(&c, POST_HEAD "Accept: application/json\r\nX-A: 1\r\n"
				  "accept: text/event-stream \r\n\r\n");
	client_reply(&c, &r);
	assert_string_equal(r.body.data, "application/json, text/event-stream");
	reply_fini(&r);
	client_close(&c);
	fake_stop(h);
}

/* ---- bodies ---- */
static void test_body__comes_whole(void **state)
{
	struct http_options opt = {.max_body = 100000};
	struct http *h = fake_start(&opt);
	struct buf b = {0};
	struct client c;
	struct reply r;

	(void)state;
	fake.request = fake_echo;
	client_open(&c, h);
	(void)buf_addf(&b, POST_HEAD "Content-Length: 100000\r\n\r\n%0100000d",
		       7);
	client_send(&c, b.data);
	client_reply(&c, &r);
	assert_int_equal(r.body.len, strlen("POST||127.0.0.1|-|") + 100000);
	reply_fini(&r);
	/* And a small one after it. */
	assert_int_equal(client_ask(&c, POST_EMPTY), 200);
	client_close(&c);
	buf_fini(&b);
	fake_stop(h);
}

static void test_body__of_another_method_is_dropped(void **state)
{
	struct http *h = fake_start(NULL);
	struct client c;
	struct reply r;

	(void)state;
	fake.request = fake_echo;
	client_open(&c, h);
	for (int i = 0; i < 2; i++) {
		client_send(&c, "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n"
				"Content-Length: 2\r\n\r\n{}");
		client_reply(&c, &r);
		assert_string_equal(r.body.data, "DELETE||127.0.0.1|-|");
		reply_fini(&r);
	}
	client_close(&c);
	fake_stop(h);
}

static void test_chunks__are_taken_and_are_the_last(void **state)
{
	struct http *h = fake_start(NULL);
	struct client c;
	struct reply r;

	(void)state;
	fake.request = fake_echo;
	client_open(&c, h);
	client_send(&c, POST_HEAD
		    "Transfer-Encoding: chunked\r\n\r\n"
		    "2\r\nab\r\n3;x=y\r\ncde\r\n0\r\nX-Test: t\r\n\r\n");
	client_reply(&c, &r);
	/* A trailer is no header. */
	assert_string_equal(r.body.data, "POST||127.0.0.1|-|abcde");
	assert_string_equal(reply_header(&r, "Connection"), "close");
	reply_fini(&r);
	client_expect_end(&c, false);
	client_close(&c);
	fake_stop(h);
}

static void test_chunks__are_counted(void **state)
{
	struct http *h = fake_start(NULL);
	struct client c;
	struct reply r;
	char piece[1100];

	(void)state;
	(void)snprintf(piece, sizeof(piece), "400\r\n%01024d\r\n", 1);
	client_open(&c, h);
	client_send(&c, POST_HEAD "Transfer-Encoding: chunked\r\n\r\n");
	for (int i = 0; i < 4; i++)
		client_send(&c, piece);
	client_send(&c, "1\r\nx\r\n"); /* 4097 */
	client_reply(&c, &r);
	assert_int_equal(r.status, 413);
	assert_string_equal(reply_header(&r, "Connection"), "close");
	reply_fini(&r);
	client_expect_end(&c, true);
	client_close(&c);
	assert_int_equal(fake.requests, 0);
	fake_stop(h);
}

static void test_expect__is_answered_before_the_body(void **state)
{
	struct http *h = fake_start(NULL);
	struct client c;
	struct reply r;

	(void)state;
	fake.request = fake_echo;
	client_open(&c, h);
	client_send(&c, POST_HEAD "Expect: 100-continue\r\n"
				  "Content-Length: 2\r\n\r\n");
	client_head(&c, &r);
	assert_int_equal(r.status, 100);
	reply_fini(&r);
	client_send(&c, "{}");
	client_reply(&c, &r);
	assert_string_equal(r.body.data, "POST||127.0.0.1|-|{}");
	reply_fini(&r);
	/* What is refused gets no 100. */
	client_send(&c, POST_HEAD "Expect: 100-continue\r\nOrigin: null\r\n"
				  "Content-Length: 2\r\n\r\n");
	client_head(&c, &r);
	assert_int_equal(r.status, 403);
	reply_fini(&r);
	client_close(&c);
	fake_stop(h);
}

/* ---- who is calling ---- */
static enum bide_rc who(const struct bide_peer *peer, char *principal,
			size_t cap, void *user)
{
	const char *token = bide_peer_header(peer, "AUTHORIZATION");

	assert_ptr_equal(user, &fake);
	assert_int_equal(cap, 257);
	assert_string_equal(bide_peer_address(peer), "127.0.0.1");
	if (token == NULL)
		return BIDE_NOT_FOUND;
	if (strcmp(token, "broken") == 0)
		return BIDE_IO;
	if (strcmp(token, "quiet") == 0)
		return BIDE_OK; /* anonymous */
	(void)snprintf(principal, cap, "%s", token);
	return BIDE_OK;
}

static void test_identity__is_asked_once_a_request(void **state)
{
	struct http_options opt = {.identity = who, .identity_user = &fake};
	struct http *h = fake_start(&opt);
	struct client c;
	struct reply r;

	(void)state;
	fake.request = fake_echo;
	client_open(&c, h);
	client_send(&c, POST_HEAD "Authorization: alice\r\n\r\n");
	client_reply(&c, &r);
	assert_string_equal(r.body.data, "POST|alice|127.0.0.1|-|");
	reply_fini(&r);
	/* Nothing is remembered from the request before. */
	client_send(&c, POST_EMPTY);
	client_reply(&c, &r);
	assert_int_equal(r.status, 401);
	assert_string_equal(reply_header(&r, "WWW-Authenticate"), "Bearer");
	assert_null(strstr(r.body.data, "\"id\""));
	reply_fini(&r);
	assert_int_equal(
		client_ask(&c, POST_HEAD "Authorization: broken\r\n\r\n"), 500);
	client_send(&c, POST_HEAD "Authorization: bob\r\n\r\n");
	client_reply(&c, &r);
	assert_string_equal(r.body.data, "POST|bob|127.0.0.1|-|");
	reply_fini(&r);
	client_send(&c, POST_HEAD "Authorization: quiet\r\n\r\n");
	client_reply(&c, &r);
	assert_string_equal(r.body.data, "POST||127.0.0.1|-|");
	reply_fini(&r);
	client_close(&c);
	assert_int_equal(fake.requests, 3);
	fake_stop(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_head__follows_the_table),
		cmocka_unit_test(test_length__is_a_number),
		cmocka_unit_test(test_head__may_come_in_pieces),
		cmocka_unit_test(test_nul__never_gets_in),
		cmocka_unit_test(test_errors__are_json_without_an_id),
		cmocka_unit_test(
			test_refusal__keeps_the_connection_where_it_can),
		cmocka_unit_test(test_headers__have_ceilings),
		cmocka_unit_test(test_accept__may_stand_in_several_lines),
		cmocka_unit_test(test_body__comes_whole),
		cmocka_unit_test(test_body__of_another_method_is_dropped),
		cmocka_unit_test(test_chunks__are_taken_and_are_the_last),
		cmocka_unit_test(test_chunks__are_counted),
		cmocka_unit_test(test_expect__is_answered_before_the_body),
		cmocka_unit_test(test_identity__is_asked_once_a_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
