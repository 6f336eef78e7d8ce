/* SPDX-License-Identifier: MIT */
/*
 * What strict HTTP clients do with a connection: they use it again, send
 * several requests in one write, write the names of headers as they like, send
 * chunks, wait for "100 Continue", and close their side when they have asked
 * (docs/design.md, section 2: that cancels). lib/raw.c believes only answers
 * that are whole and framed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tests/e2e/lib/pair.h"
#include "tests/e2e/lib/probe.h"
#include "tests/e2e/lib/raw.h"

#define ELICIT   "test_input_required_result_elicitation"
#define NAP_MS   40000 /* less than a request waits */
#define HOUR_MS  3600000
#define GRACE_MS 120000 /* the default of --disconnect-grace */

static int setup(void **state)
{
	static const char *const args[] = {"--test-identity",
					   "--sweep-interval", "50", NULL};

	(void)state;
	pair_clock();
	return pair_one(args);
}

static void nap(void)
{
	const struct timespec ms = {0, 5 * 1000 * 1000};

	(void)nanosleep(&ms, NULL);
}

static void await_rows(const char *what, long n)
{
	if (!probe_await_rows(scratch->db, what, n))
		fail_msg("never %ld of %s", n, what);
}

/* ---- a line of a pipeline: what is asked, and what must come ---- */
struct line {
	const char *method, *tool, *params; /* tool: of tools/call */
	struct shape shape;
	const char *header;
	const char *body;
	bool progress;
	int status, code;
	const char *holds; /* what the answer holds */
};

static const struct line mixed[] = {
	{.method = "server/discover", .status = 200, .holds = "2026-07-28"},
	{.tool = "nap",
	 .params = "{\"ms\":150}",
	 .status = 200,
	 .holds = "rested"},
	{.tool = "greet",
	 .params = "{\"name\":\"Ada\"}",
	 .shape = {.odd_case = true},
	 .status = 200,
	 .holds = "Ada"},
	{.tool = "greet",
	 .params = "{\"name\":\"Bob\"}",
	 .header = "Mcp-Name: other",
	 .status = 400,
	 .code = -32020},
	{.method = "no/such", .status = 404, .code = -32601},
	{.tool = "two_step", .status = 200, .holds = "two steps done"},
	{.tool = "test_tool_with_progress",
	 .progress = true,
	 .status = 200,
	 .holds = "notifications/progress"},
	{.method = "tools/list",
	 .header = "Origin: https://evil.example.com",
	 .status = 403,
	 .code = -32600},
	{.tool = ELICIT, .status = 200, .holds = "user_name"},
	{.tool = "greet",
	 .params = "{\"name\":\"Eve\"}",
	 .shape = {.odd_case = true, .expect = true},
	 .status = 200,
	 .holds = "Eve"},
	{.method = "tools/list",
	 .body = "{\"jsonrpc\":",
	 .status = 400,
	 .code = -32700},
	{.method = "tools/list",
	 .header = "Accept: application/json",
	 .status = 406,
	 .code = -32600},
	{.tool = "no_such_tool", .status = 200, .code = -32602},
	{.tool = "greet",
	 .params = "{\"name\":\"Zoe\"}",
	 .status = 200,
	 .holds = "Zoe"},
};
#define MIXED (sizeof(mixed) / sizeof(mixed[0]))

static char *line_text(const struct line *l, json_int_t id)
{
	const char *const headers[] = {l->header, NULL};
	const char *method = l->tool != NULL ? "tools/call" : l->method;
	struct ask a = {.url = one->url,
			.headers = headers,
			.body = l->body,
			.progress = l->progress ? "p" : NULL,
			.id = json_integer(id)};
	json_t *params = json_object();
	char *text;

	if (l->tool != NULL)
		(void)json_object_set_new(params, "name", json_string(l->tool));
	if (l->params != NULL)
		(void)json_object_set_new(params, "arguments",
					  json_loads(l->params, 0, NULL));
	text = raw_request(&a, method, l->tool, params, &l->shape);
	json_decref((json_t *)a.id);
	return text;
}

/* The next answer is the one of this line and no other's. */
static void assert_answer(struct raw *c, const struct line *l, json_int_t id)
{
	const char *method = l->tool != NULL ? "tools/call" : l->method;
	struct reply *r = raw_reply(c, method);
	const json_t *said;

	if (r == NULL) {
		fail_msg("no answer to %lld", (long long)id);
		return;
	}
	if (r->status != l->status || error_code(r) != l->code ||
	    (l->holds != NULL && strstr(r->raw, l->holds) == NULL))
		fail_msg("to %lld: %d %s", (long long)id, r->status, r->raw);
	said = json_object_get(r->message, "id");
	/* left out where it could not be read, or was not */
	if (said != NULL ? json_integer_value(said) != id
			 : l->body == NULL && l->status != 403)
		fail_msg("to %lld: %s", (long long)id, r->raw);
	reply_free(r);
}

static const struct line greet = {.tool = "greet",
				  .params = "{\"name\":\"Ada\"}",
				  .status = 200,
				  .holds = "Ada"};

static char *mixed_text(json_int_t from)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	for (size_t i = 0; i < MIXED; i++) {
		char *part = line_text(&mixed[i], from + (json_int_t)i);

		(void)fputs(part, f);
		/* RFC 9112, 2.2: old clients end a body with a line. */
		if (i % 3 == 0)
			(void)fputs("\r\n", f);
		free(part);
	}
	(void)fclose(f);
	return text;
}

static void assert_mixed(struct raw *c, json_int_t from)
{
	for (size_t i = 0; i < MIXED; i++)
		assert_answer(c, &mixed[i], from + (json_int_t)i);
	assert_false(c->last);
}

/* ---- one connection for many requests ---- */

/* Whatever was wrong with the request before, if the answer did not say that
 * the connection closes it serves the next. */
static void test_connection__is_used_again_after_any_answer(void **unused)
{
	struct raw c = {0};

	(void)unused;
	raw_open(&c, one->url);
	for (int turn = 0; turn < 3; turn++) {
		for (size_t i = 0; i < MIXED; i++) {
			json_int_t id = turn * 100 + (json_int_t)i;
			char *text = line_text(&mixed[i], id);

			/* A refusal before the body was asked for closes. */
			raw_send(&c, text);
			assert_answer(&c, &mixed[i], id);
			assert_false(c.last);
			free(text);
		}
	}
	assert_int_equal(c.opened, 1);
	raw_close(&c);
}

static void test_pipeline__each_gets_its_own_answer_in_order(void **unused)
{
	struct raw c = {0};

	(void)unused;
	raw_open(&c, one->url);
	for (json_int_t turn = 1; turn <= 5; turn++) {
		char *text = mixed_text(turn * 1000);

		raw_send(&c, text);
		assert_mixed(&c, turn * 1000);
		free(text);
	}
	raw_close(&c);
}

/* Heads and bodies cut at every byte. */
static void test_pipeline__may_come_byte_by_byte(void **unused)
{
	struct raw c = {0};
	char *text = mixed_text(1);

	(void)unused;
	raw_open(&c, one->url);
	raw_drip(&c, text);
	assert_mixed(&c, 1);
	raw_close(&c);
	free(text);
}

/* More than any buffer for a head holds, in one write. */
static void test_pipeline__may_be_long(void **unused)
{
	enum { N = 300 };
	struct raw c = {0};
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	(void)unused;
	for (json_int_t id = 1; id <= N; id++) {
		char *part = line_text(&greet, id);

		(void)fputs(part, f);
		free(part);
	}
	(void)fclose(f);
	raw_open(&c, one->url);
	raw_send(&c, text);
	for (json_int_t id = 1; id <= N; id++)
		assert_answer(&c, &greet, id);
	raw_close(&c);
	free(text);
}

static char *with_state(const struct ask *a, const char *state)
{
	return raw_request(a, "tools/call", "approve",
			   json_pack("{s:s,s:s}", "name", "approve",
				     "requestState", state),
			   NULL);
}

/* Who asks is a matter of the request, not of its connection. */
static void test_pipeline__each_request_has_its_own_caller(void **unused)
{
	struct ask alice = {.url = one->url, .principal = "alice"};
	struct ask bob = {.url = one->url, .principal = "bob"};
	struct reply *r = tool(&alice, "approve", NULL);
	char *hers = with_state(&alice, state_of(r));
	char *his = with_state(&bob, state_of(r));
	struct raw c = {0};

	(void)unused;
	reply_free(r);
	raw_open(&c, one->url);
	for (int i = 0; i < 4; i++) {
		raw_send(&c, hers);
		raw_send(&c, his);
	}
	for (int i = 0; i < 4; i++) {
		r = raw_reply(&c, "tools/call");
		assert_non_null(asked(r, "approval"));
		reply_free(r);
		r = raw_reply(&c, "tools/call");
		assert_int_equal(error_code(r), -32602);
		reply_free(r);
	}
	raw_close(&c);
	free(hers);
	free(his);
}

/* ---- how a request may look ---- */

/* All names of headers, those of ours too, in a case that nobody uses. */
static void test_names__are_read_in_any_case(void **unused)
{
	const struct shape odd = {.odd_case = true};
	struct ask a = {.url = one->url,
			.can = CAN_TASKS,
			.principal = "odd",
			.idem = "odd-1"};
	char *text = raw_request(&a, "tools/call", "approve",
				 json_pack("{s:s}", "name", "approve"), &odd);
	struct raw c = {0};
	struct reply *r;
	char *id;

	(void)unused;
	assert_non_null(strstr(text, "\r\nmCp-nAmE: approve\r\n"));
	assert_non_null(strstr(text, "\r\niDeMpOtEnCy-kEy: odd-1\r\n"));
	raw_open(&c, one->url);
	raw_send(&c, text);
	r = raw_reply(&c, "tools/call");
	id = strdup(task_id(r));
	assert_true(*id != '\0');
	reply_free(r);
	raw_send(&c, text);
	r = raw_reply(&c, "tools/call");
	assert_string_equal(task_id(r), id);
	reply_free(r);
	/* and the caller was read: it is nobody else's */
	r = task_do(&a, "tasks/get", id, NULL);
	assert_int_equal(error_code(r), 0);
	reply_free(r);
	a.principal = "even";
	r = task_do(&a, "tasks/get", id, NULL);
	assert_int_equal(error_code(r), -32602);
	reply_free(r);
	raw_close(&c);
	free(text);
	free(id);
}

/* The door lets a chunked request be the last on its connection: what was sent
 * behind it is not begun, and its sender may send it again. */
static void test_chunks__are_the_last_of_a_pipeline(void **unused)
{
	const struct line work = {
		.tool = "two_step", .status = 200, .holds = "two steps done"};
	struct line chunked = work;
	size_t had = effects(" one");
	char *texts[3];
	struct raw c = {0};

	(void)unused;
	chunked.shape = (struct shape){.odd_case = true, .chunked = true};
	texts[0] = line_text(&greet, 1);
	texts[1] = line_text(&chunked, 2);
	texts[2] = line_text(&work, 3);
	raw_open(&c, one->url);
	for (int i = 0; i < 3; i++)
		raw_send(&c, texts[i]);
	assert_answer(&c, &greet, 1);
	assert_false(c.last);
	assert_answer(&c, &chunked, 2);
	assert_true(c.last);
	assert_null(raw_reply(&c, "tools/call"));
	raw_close(&c);
	assert_int_equal(effects(" one"), had + 1);
	raw_open(&c, one->url);
	raw_send(&c, texts[2]);
	assert_answer(&c, &work, 3);
	assert_int_equal(effects(" one"), had + 2);
	raw_close(&c);
	for (int i = 0; i < 3; i++)
		free(texts[i]);
}

static void test_chunks__may_come_byte_by_byte(void **unused)
{
	struct line l = greet;
	struct raw c = {0};
	char *text;

	(void)unused;
	l.shape.chunked = true;
	text = line_text(&l, 1);
	raw_open(&c, one->url);
	raw_drip(&c, text);
	assert_answer(&c, &l, 1);
	assert_null(raw_reply(&c, "tools/call"));
	raw_close(&c);
	free(text);
}

/* A client that waits for "100 Continue" before it sends the body gets it, or
 * the answer at once. */
static void test_expect__is_answered_before_the_body(void **unused)
{
	struct line l = greet;
	struct raw c = {0};
	char *text;

	(void)unused;
	l.shape = (struct shape){.expect = true, .odd_case = true};
	text = line_text(&l, 1);
	raw_open(&c, one->url);
	for (int i = 0; i < 3; i++) {
		assert_true(raw_send_expecting(&c, text));
		assert_answer(&c, &l, 1);
	}
	assert_int_equal(c.opened, 1);
	assert_int_equal(c.continues, 3);
	free(text);
	l.shape.chunked = true;
	text = line_text(&l, 2);
	assert_true(raw_send_expecting(&c, text));
	assert_answer(&c, &l, 2);
	raw_close(&c);
	free(text);
	l.header = "Origin: https://evil.example.com";
	l.status = 403;
	l.code = -32600;
	l.holds = NULL;
	text = line_text(&l, 3);
	raw_open(&c, one->url);
	assert_false(raw_send_expecting(&c, text));
	assert_answer(&c, &l, 3);
	assert_true(c.last);
	raw_close(&c);
	free(text);
}

/* ---- a client that closes its side when it has asked ---- */

/* Nothing is answered, the handler is told, and what was sent behind the
 * request is not begun. */
static void test_half_close__cancels_an_ephemeral_call(void **unused)
{
	const struct line hold = {.tool = "hold"};
	const struct line work = {.tool = "two_step"};
	size_t begun = effects(" begin");
	size_t dropped = effects(" dropped");
	size_t had = effects(" one");
	char *first = line_text(&hold, 1);
	char *second = line_text(&work, 2);
	struct raw c = {0};

	(void)unused;
	raw_open(&c, one->url);
	raw_send(&c, first);
	raw_send(&c, second);
	assert_true(become_effects(" begin", begun + 1));
	raw_half_close(&c);
	assert_null(raw_reply(&c, "tools/call"));
	raw_close(&c);
	assert_true(become_effects(" dropped", dropped + 1));
	assert_int_equal(effects(" one"), had);
	free(first);
	free(second);
}

static char *keyed_nap(const char *key, json_int_t ms)
{
	struct ask a = {.url = one->url, .idem = key};

	return raw_request(&a, "tools/call", "long_nap",
			   json_pack("{s:s,s:{s:I}}", "name", "long_nap",
				     "arguments", "ms", ms),
			   NULL);
}

/* Begins a task and closes its side while it waits: no answer. */
static void half_close_on_a_nap(const char *key, json_int_t ms)
{
	char *text = keyed_nap(key, ms);
	struct raw c = {0};

	raw_open(&c, one->url);
	raw_send(&c, text);
	await_rows("task WHERE tool = 'long_nap' AND state = 3 "
		   "AND waiters = 1",
		   1);
	raw_half_close(&c);
	assert_null(raw_reply(&c, "tools/call"));
	raw_close(&c);
	free(text);
	await_rows("task WHERE tool = 'long_nap' AND state = 3 "
		   "AND waiters = 0",
		   1);
}

/* It was the last that waited. Within the grace it may come back, by its key,
 * for it was told no handle; and the work was done once. */
static void test_half_close__leaves_a_task_for_who_comes_back(void **unused)
{
	size_t up = effects(" get up");
	char *text = keyed_nap("back", NAP_MS);
	struct raw c = {0};
	struct reply *r;

	(void)unused;
	half_close_on_a_nap("back", NAP_MS);
	raw_open(&c, one->url);
	raw_send(&c, text);
	await_rows("task WHERE tool = 'long_nap' AND state = 3 "
		   "AND waiters = 1",
		   1);
	testclock_forward(the_clock, NAP_MS);
	r = raw_reply(&c, "tools/call");
	assert_non_null(r);
	assert_string_equal(result_text(r), "rested");
	assert_int_equal(effects(" get up"), up + 1);
	reply_free(r);
	raw_close(&c);
	free(text);
	await_rows("task WHERE tool = 'long_nap'", 1);
}

static void test_half_close__ends_a_task_that_nobody_comes_for(void **unused)
{
	const char *cancelled = "task WHERE tool = 'long_nap' AND state = 6";
	long had = probe_rows(scratch->db, cancelled);

	(void)unused;
	half_close_on_a_nap("gone", HOUR_MS);
	assert_int_equal(probe_rows(scratch->db, cancelled), had);
	testclock_forward(the_clock, GRACE_MS + 1);
	await_rows(cancelled, had + 1);
}

static void await_fds(long most)
{
	for (int i = 0; i < 12000 && probe_fds(one->pid) > most; i++)
		nap();
	assert_true(probe_fds(one->pid) <= most);
}

/* What is answered at once may have been written before the close was seen. It
 * is whole then, or there is nothing; and what is behind is no different. */
static void test_half_close__right_behind_the_requests(void **unused)
{
	enum { TURNS = 60 };
	long fds = probe_fds(one->pid);
	int answered = 0;

	(void)unused;
	for (json_int_t turn = 1; turn <= TURNS; turn++) {
		char *text = mixed_text(turn * 100);
		struct raw c = {0};
		size_t i = 0;

		raw_open(&c, one->url);
		raw_send(&c, text);
		raw_half_close(&c);
		for (; i < MIXED && !raw_ended(&c); i++)
			assert_answer(&c, &mixed[i],
				      turn * 100 + (json_int_t)i);
		answered += (int)i;
		assert_true(raw_ended(&c));
		raw_close(&c);
		free(text);
	}
	(void)printf("%d of %d were answered\n", answered, TURNS * (int)MIXED);
	assert_true(probe_await_most(one, "bide_http_connections", 1));
	assert_true(probe_await_most(one, "bide_http_suspended", 0));
	await_fds(fds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_connection__is_used_again_after_any_answer),
		cmocka_unit_test(
			test_pipeline__each_gets_its_own_answer_in_order),
		cmocka_unit_test(test_pipeline__may_come_byte_by_byte),
		cmocka_unit_test(test_pipeline__may_be_long),
		cmocka_unit_test(
			test_pipeline__each_request_has_its_own_caller),
		cmocka_unit_test(test_names__are_read_in_any_case),
		cmocka_unit_test(test_chunks__are_the_last_of_a_pipeline),
		cmocka_unit_test(test_chunks__may_come_byte_by_byte),
		cmocka_unit_test(test_expect__is_answered_before_the_body),
		cmocka_unit_test(test_half_close__cancels_an_ephemeral_call),
		cmocka_unit_test(
			test_half_close__leaves_a_task_for_who_comes_back),
		cmocka_unit_test(
			test_half_close__ends_a_task_that_nobody_comes_for),
		cmocka_unit_test(test_half_close__right_behind_the_requests),
	};

	return cmocka_run_group_tests(tests, setup, pair_end);
}
