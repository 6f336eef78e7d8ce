/* SPDX-License-Identifier: MIT */
/* tools/call of ephemeral tools: results, questions, sealed rounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bide/content.h"
#include "server/base/limits.h"
#include "tests/unit/protocol/lib/asking.h"

#define TOOL_CALL .method = "tools/call"

static atomic_int effects;

/* ---- tools ---- */
static enum bide_rc echo(struct bide_call *call, void *user)
{
	(void)user;
	return bide_text(call, "%s", bide_arg_string(call, "text"));
}

static enum bide_rc two(struct bide_call *call, void *user)
{
	const struct bide_answer *a;

	(void)user;
	(void)bide_ask_form(call, "first", "First?", NAME_FORM);
	(void)bide_ask_form(call, "second", "Second?", NAME_FORM);
	BIDE_TRY(bide_await(call));
	a = bide_answer(call, "first");
	return bide_text(
		call, "%s %s", bide_answer_string(a, "name"),
		bide_answer_string(bide_answer(call, "second"), "name"));
}

/* An effect outside, after an answer; used once where it says so. */
static enum bide_rc redeem(struct bide_call *call, void *user)
{
	(void)user;
	(void)bide_ask_form(call, "who", "Who?", NAME_FORM);
	BIDE_TRY(bide_await(call));
	(void)usleep(20000); /* so that two at once do overlap */
	return bide_text(call, "redeemed %d",
			 atomic_fetch_add(&effects, 1) + 1);
}

static enum bide_rc count(struct bide_call *call, void *user)
{
	(void)user;
	return bide_text(call, "%d", atomic_fetch_add(&effects, 1) + 1);
}

static enum bide_rc nap(struct bide_call *call, void *user)
{
	(void)user;
	BIDE_TRY(bide_sleep(call, "nap", bide_arg_int(call, "ms", 0)));
	return bide_text(call, "awake");
}

static enum bide_rc pass_on(struct bide_call *call, void *user)
{
	(void)user;
	BIDE_TRY(bide_yield(call, "elsewhere"));
	return bide_text(call, "went on");
}

static enum bide_rc chatty(struct bide_call *call, void *user)
{
	int i;

	(void)user;
	for (i = 0; i <= 100; i += 50) {
		bide_progress(call, i, 100, "so far");
		bide_progress(call, i, 100, "the same again");
	}
	bide_log(call, BIDE_LOG_INFO, "chat", json_string("fine"));
	bide_log(call, BIDE_LOG_ERROR, "chat", json_string("bad"));
	return bide_text(call, "said");
}

static enum bide_rc big(struct bide_call *call, void *user)
{
	const json_t *kept;
	char *text;

	(void)user;
	if (bide_step_begin(call, "big", &kept) == BIDE_RUN) {
		text = malloc(20001);
		memset(text, 'x', 20000);
		text[20000] = '\0';
		BIDE_TRY(bide_step_commit(call, json_string(text), &kept));
		free(text);
	}
	(void)bide_ask_form(call, "who", "Who?", NAME_FORM);
	BIDE_TRY(bide_await(call));
	return bide_text(call, "kept");
}

static enum bide_rc wrong_code(struct bide_call *call, void *user)
{
	(void)user;
	return bide_fail(call, -32042, "as it was", NULL);
}

static void tool(struct registry *r, const char *name, bide_handler_fn fn,
		 bool runs_inline)
{
	wire_tool(r, (struct bide_tool){BIDE_TOOL, .name = name,
					.description = name, .handler = fn,
					.runs_inline = runs_inline});
}

static void add(struct registry *r)
{
	wire_tool(r, (struct bide_tool){
			     BIDE_TOOL, .name = "echo", .handler = echo,
			     .runs_inline = true,
			     .input_schema =
				     "{\"type\":\"object\",\"properties\":{"
				     "\"text\":{\"type\":\"string\"}},"
				     "\"required\":[\"text\"]}"});
	tool(r, "hello", asking_greet, false);
	tool(r, "hello_inline", asking_greet, true);
	tool(r, "two", two, false);
	tool(r, "count", count, true);
	tool(r, "nap", nap, false);
	tool(r, "nap_inline", nap, true);
	tool(r, "pass_on", pass_on, false);
	tool(r, "chatty", chatty, false);
	tool(r, "until_cancelled", asking_wait, false);
	tool(r, "big", big, false);
	tool(r, "wrong_code", wrong_code, true);
	wire_tool(r, (struct bide_tool){BIDE_TOOL, .name = "redeem",
					.handler = redeem, .single_use = true});
	wire_tool(r, (struct bide_tool){
			     BIDE_TOOL, .name = "needs_roots", .handler = count,
			     .needs = BIDE_CAN_ROOTS | BIDE_CAN_SAMPLE});
}

static int set_up(void **state)
{
	struct wire_options opt = {.wait_budget_ms = 300, .max_waits = 3};

	*state = wire_new(&opt, add);
	return 0;
}

/* ---- results ---- */
static void test_call__answers_with_the_result(void **state)
{
	struct fake *f =
		fake_call(*state, (struct post){TOOL_CALL, .tool = "echo",
						.args = "{\"text\":\"x\"}"});

	assert_int_equal(f->status, 200);
	assert_string_equal(f->content_type, "application/json");
	assert_string_equal(fake_text(f), "x");
	assert_string_equal(fake_string(f, "result/resultType"), "complete");
	assert_null(fake_get(f, "result/ttlMs"));
	fake_free(f);
}

/* S16; a name that is cut stays UTF-8. */
static void test_call__an_unknown_tool_is_a_protocol_error(void **state)
{
	struct fake *f =
		fake_call(*state, (struct post){TOOL_CALL, .tool = "nope"});

	assert_int_equal(f->status, 200);
	assert_int_equal(fake_error(f), -32602);
	assert_string_equal(fake_string(f, "error/message"),
			    "Unknown tool: nope");
	fake_free(f);
}

/* server/tools "Error Handling": the model is told what to mend. */
static void test_call__bad_arguments_are_a_tool_error(void **state)
{
	struct fake *f =
		fake_call(*state, (struct post){TOOL_CALL, .tool = "echo",
						.args = "{\"text\":7}"});

	assert_int_equal(f->status, 200);
	assert_true(json_is_true(fake_get(f, "result/isError")));
	assert_non_null(strstr(fake_text(f), "arguments/text"));
	fake_free(f);
	f = fake_call(*state, (struct post){TOOL_CALL, .tool = "echo"});
	assert_true(json_is_true(fake_get(f, "result/isError")));
	fake_free(f);
	f = fake_call(*state,
		      (struct post){TOOL_CALL, .tool = "echo", .args = "[1]"});
	assert_int_equal(fake_error(f), -32602);
	fake_free(f);
}

/* S13, S51: exactly what is missing, with status 400. */
static void test_call__names_the_capabilities_it_lacks(void **state)
{
	struct fake *f = fake_call(
		*state, (struct post){TOOL_CALL, .tool = "needs_roots",
				      .caps = "{\"roots\":{}}"});
	json_t *missing = fake_get(f, "error/data/requiredCapabilities");

	assert_int_equal(f->status, 400);
	assert_int_equal(fake_error(f), -32021);
	assert_int_equal(json_object_size(missing), 1);
	assert_true(json_is_object(json_object_get(missing, "sampling")));
	fake_free(f);
}

/* S15. */
static void test_call__a_handler_cannot_send_a_reserved_code(void **state)
{
	struct fake *f = fake_call(
		*state, (struct post){TOOL_CALL, .tool = "wrong_code"});

	assert_int_equal(fake_error(f), -32603);
	assert_int_equal(f->status, 200);
	fake_free(f);
}

/* ---- rounds ---- */
static char *ask(struct wire *w, const char *name, const char *key)
{
	struct fake *f = fake_call(
		w, (struct post){TOOL_CALL, .tool = name, .caps = CAPS_FORM});

	assert_null(fake_get(f, "result/ttlMs")); /* S26 */
	return asking_state(f, key);
}

static struct fake *answer(struct wire *w, const char *name, const char *sealed,
			   const char *responses)
{
	return fake_call(w, (struct post){TOOL_CALL, .tool = name,
					  .caps = CAPS_FORM, .state = sealed,
					  .responses = responses});
}

static void round_trip(struct wire *w, const char *name)
{
	char *sealed = ask(w, name, "who");
	struct fake *f = answer(w, name, sealed, "{\"who\":" NAME("Ada") "}");

	assert_string_equal(fake_text(f), "Hello, Ada!");
	fake_free(f);
	free(sealed);
}

static void test_round__an_answer_completes_the_call(void **state)
{
	round_trip(*state, "hello");
	round_trip(*state, "hello_inline");
}

/* The official suite sends the answers with the first request, and others. */
static void test_round__answers_may_come_with_the_first_request(void **state)
{
	struct post p = {TOOL_CALL, .tool = "two", .caps = CAPS_FORM,
			 .responses = "{\"first\":" NAME(
				 "A") ",\"second\":" NAME("B") ",\"x\":{}}"};
	struct fake *f = fake_call(*state, p);

	assert_string_equal(fake_text(f), "A B");
	fake_free(f);
	p.responses = "{\"first\":" NAME("A") "}";
	f = fake_call(*state, p);
	assert_null(fake_get(f, "result/inputRequests/first"));
	assert_non_null(fake_get(f, "result/inputRequests/second"));
	fake_free(f);
}

/* F12, F15; S30. */
static void test_round__declining_is_an_answer(void **state)
{
	char *sealed = ask(*state, "hello", "who");
	struct fake *f = answer(*state, "hello", sealed,
				"{\"who\":{\"action\":\"decline\"}}");

	assert_string_equal(fake_text(f), "declined");
	fake_free(f);
	f = answer(*state, "hello", sealed,
		   "{\"who\":{\"action\":\"cancel\",\"content\":null}}");
	assert_string_equal(fake_text(f), "cancelled");
	fake_free(f);
	free(sealed);
}

/* F16: what is missing is asked again, what came is kept. */
static void test_round__asks_only_for_what_is_missing(void **state)
{
	char *sealed = ask(*state, "two", "first");
	struct fake *f = answer(*state, "two", sealed,
				"{\"second\":" NAME("B") ",\"x\":{}}");
	char *next;

	assert_string_equal(fake_string(f, "result/resultType"),
			    "input_required");
	assert_null(fake_get(f, "result/inputRequests/second"));
	assert_non_null(fake_get(f, "result/inputRequests/first"));
	next = strdup(fake_string(f, "result/requestState"));
	assert_string_not_equal(next, sealed);
	fake_free(f);
	f = answer(*state, "two", next, "{\"first\":" NAME("A") "}");
	assert_string_equal(fake_text(f), "A B");
	fake_free(f);
	free(next);
	free(sealed);
}

/* F11: a misfit is asked again and the handler sees nothing of it. */
static void test_round__a_misfit_is_asked_again(void **state)
{
	static const char *const misfits[] = {
		"{\"who\":{\"action\":\"accept\",\"content\":{\"name\":7}}}",
		"{\"who\":{\"action\":\"accept\",\"content\":7}}",
		"{\"who\":{\"action\":\"accept\"}}",
		"{\"who\":{\"action\":\"maybe\"}}",
		"{\"who\":{}}",
	};
	char *sealed = ask(*state, "hello", "who");
	size_t i;

	for (i = 0; i < sizeof(misfits) / sizeof(misfits[0]); i++) {
		struct fake *f = answer(*state, "hello", sealed, misfits[i]);

		assert_string_equal(fake_string(f, "result/resultType"),
				    "input_required");
		assert_non_null(fake_get(f, "result/inputRequests/who"));
		fake_free(f);
	}
	free(sealed);
}

/* F14. */
static void test_round__responses_must_be_an_object_of_objects(void **state)
{
	static const char *const bad[] = {
		"[]",          "\"x\"",        "7",
		"{\"who\":7}", "{\"who\":[]}", "{\"who\":null}"};
	char *sealed = ask(*state, "hello", "who");
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fake *f = answer(*state, "hello", sealed, bad[i]);

		assert_int_equal(fake_error(f), -32602);
		assert_int_equal(f->status, 200);
		fake_free(f);
	}
	free(sealed);
}

/* F2, F3, F9, F10; S27, S28; F1. */
static void refused(struct wire *w, struct post p)
{
	struct fake *f = fake_call(w, p);

	assert_int_equal(f->status, 200);
	assert_int_equal(fake_error(f), -32602);
	assert_string_equal(fake_string(f, "error/message"),
			    REQUEST_STATE_REFUSED);
	assert_string_equal(REQUEST_STATE_REFUSED, DISPATCH_STATE_REFUSED);
	fake_free(f);
}

static void test_state__is_good_for_its_own_call_only(void **state)
{
	char *sealed = ask(*state, "hello", "who");
	struct post p = {TOOL_CALL, .tool = "hello", .caps = CAPS_FORM,
			 .state = sealed,
			 .responses = "{\"who\":" NAME("A") "}"};
	struct post other = p;

	other.tool = "hello_inline";
	refused(*state, other);
	other = p;
	other.args = "{\"x\":1}";
	refused(*state, other);
	other = p;
	other.principal = "mallory";
	refused(*state, other);
	other = p;
	other.state = "b1.x.garbage";
	refused(*state, other);
	other.state = "";
	refused(*state, other);
	sealed[strlen(sealed) / 2] ^= 1;
	refused(*state, p);
	free(sealed);
}

static void test_state__null_is_absent_and_others_are_invalid(void **state)
{
	struct fake *f =
		fake_call(*state, (struct post){TOOL_CALL, .tool = "hello",
						.caps = CAPS_FORM,
						.params = "{\"requestState\":"
							  "null}"});

	assert_string_equal(fake_string(f, "result/resultType"),
			    "input_required");
	fake_free(f);
	f = fake_call(*state, (struct post){TOOL_CALL, .tool = "hello",
					    .caps = CAPS_FORM,
					    .params = "{\"requestState\":7}"});
	assert_int_equal(fake_error(f), -32602);
	fake_free(f);
}

/* F10: another order of keys is the same call. */
static void test_state__key_order_does_not_matter(void **state)
{
	struct post p = {TOOL_CALL, .tool = "hello", .caps = CAPS_FORM,
			 .args = "{\"a\":1,\"b\":2.0}"};
	struct fake *f = fake_call(*state, p);
	char *sealed = strdup(fake_string(f, "result/requestState"));

	fake_free(f);
	p.args = "{\"b\":2,\"a\":1}";
	p.state = sealed;
	p.responses = "{\"who\":" NAME("A") "}";
	f = fake_call(*state, p);
	assert_string_equal(fake_text(f), "Hello, A!");
	fake_free(f);
	free(sealed);
}

static void test_state__too_large_says_to_persist(void **state)
{
	struct fake *f =
		fake_call(*state, (struct post){TOOL_CALL, .tool = "big",
						.caps = CAPS_FORM});

	assert_int_equal(fake_error(f), -32603);
	assert_non_null(strstr(fake_string(f, "error/message"), "persist"));
	fake_free(f);
}

/* S23: what was not declared is never asked; the handler may fall
 * back, and passing the code on is -32021. S12: nothing is remembered. */
static void test_round__never_asks_what_is_not_declared(void **state)
{
	static const char *const caps[] = {
		"{}", "{\"elicitation\":{\"url\":{}}}", "{\"sampling\":{}}"};
	size_t i;

	for (i = 0; i < 3; i++) {
		struct fake *f = fake_call(
			*state, (struct post){TOOL_CALL, .tool = "hello",
					      .caps = caps[i]});

		assert_int_equal(f->status, 400);
		assert_int_equal(fake_error(f), -32021);
		assert_non_null(fake_get(
			f, "error/data/requiredCapabilities/elicitation"));
		fake_free(f);
	}
}

/* ---- single use and idempotency keys ---- */
static void test_single_use__a_repeat_gets_the_stored_outcome(void **state)
{
	char *sealed = ask(*state, "redeem", "who");
	const char *who = "{\"who\":" NAME("A") "}";
	struct fake *f;
	char first[40];
	int before;

	f = answer(*state, "redeem", sealed, who);
	(void)snprintf(first, sizeof(first), "%s", fake_text(f));
	assert_non_null(strstr(first, "redeemed"));
	fake_free(f);
	before = atomic_load(&effects);
	f = answer(*state, "redeem", sealed, who);
	assert_string_equal(fake_text(f), first);
	fake_free(f);
	assert_int_equal(atomic_load(&effects), before);
	free(sealed);
}

/* F8; S29: both at once. */
static void test_single_use__two_at_once_have_one_effect(void **state)
{
	char *sealed = ask(*state, "redeem", "who");
	struct post p = {TOOL_CALL, .tool = "redeem", .caps = CAPS_FORM,
			 .state = sealed,
			 .responses = "{\"who\":" NAME("A") "}"};
	int before = atomic_load(&effects);
	struct fake *f[6];
	int i;

	for (i = 0; i < 6; i++)
		f[i] = fake_post(*state, p);
	for (i = 0; i < 6; i++) {
		fake_wait(f[i]);
		assert_string_equal(fake_text(f[i]), fake_text(f[0]));
	}
	assert_int_equal(atomic_load(&effects), before + 1);
	for (i = 0; i < 6; i++)
		fake_free(f[i]);
	free(sealed);
}

static void test_idempotency__one_key_is_one_effect(void **state)
{
	struct post p = {TOOL_CALL, .tool = "count", .idem_key = "k-1"};
	struct fake *a = fake_call(*state, p);
	struct fake *b = fake_call(*state, p);
	struct fake *c;

	assert_string_equal(fake_text(a), fake_text(b));
	fake_free(b);
	/* Quoted, as the header's draft has it; and our _meta member. */
	p.idem_key = "\"k-1\"";
	b = fake_call(*state, p);
	assert_string_equal(fake_text(a), fake_text(b));
	fake_free(b);
	p.idem_key = NULL;
	p.meta = "{\"dev.bide/idempotencyKey\":\"k-1\"}";
	b = fake_call(*state, p);
	assert_string_equal(fake_text(a), fake_text(b));
	fake_free(b);
	/* Another caller's key is another key. */
	p.principal = "bob";
	c = fake_call(*state, p);
	assert_string_not_equal(fake_text(a), fake_text(c));
	fake_free(c);
	fake_free(a);
}

/* F32. */
static void test_idempotency__other_arguments_are_a_conflict(void **state)
{
	struct post p = {TOOL_CALL, .tool = "count", .idem_key = "k-2"};
	struct fake *f = fake_call(*state, p);

	fake_free(f);
	p.args = "{\"n\":1}";
	f = fake_call(*state, p);
	assert_int_equal(fake_error(f), -32602);
	fake_free(f);
	p.args = NULL;
	p.tool = "hello";
	f = fake_call(*state, p);
	assert_int_equal(fake_error(f), -32602);
	fake_free(f);
	p.tool = "count";
	p.idem_key = "";
	p.meta = "{\"dev.bide/idempotencyKey\":\"\"}";
	f = fake_call(*state, p);
	assert_int_equal(f->status, 400);
	fake_free(f);
}

static void test_idempotency__a_key_has_a_ceiling(void **state)
{
	char key[LIMIT_IDEMPOTENCY_KEY_BYTES + 2] = "";
	struct post p = {TOOL_CALL, .tool = "count", .idem_key = key};
	struct fake *f;

	memset(key, 'k', LIMIT_IDEMPOTENCY_KEY_BYTES);
	f = fake_call(*state, p);
	assert_int_equal(f->status, 200);
	fake_free(f);
	key[LIMIT_IDEMPOTENCY_KEY_BYTES] = 'k';
	f = fake_call(*state, p);
	assert_int_equal(f->status, 400);
	assert_int_equal(fake_error(f), -32602);
	fake_free(f);
}

/* ---- sleeping and yielding ---- */
static void test_sleep__within_the_budget_holds_the_request(void **state)
{
	struct post p = {TOOL_CALL, .tool = "nap", .args = "{\"ms\":60}"};
	struct fake *f = fake_call(*state, p);

	assert_string_equal(fake_text(f), "awake");
	fake_free(f);
	p.tool = "nap_inline";
	f = fake_call(*state, p);
	assert_string_equal(fake_text(f), "awake");
	fake_free(f);
}

static void test_sleep__beyond_the_budget_is_sent_round(void **state)
{
	struct post p = {TOOL_CALL, .tool = "nap", .args = "{\"ms\":450}"};
	struct fake *f = fake_call(*state, p);
	char *sealed;

	assert_string_equal(fake_string(f, "result/resultType"),
			    "input_required");
	/* One client takes a result without the member for the final one. */
	assert_true(json_is_object(fake_get(f, "result/inputRequests")));
	assert_int_equal(json_object_size(fake_get(f, "result/inputRequests")),
			 0);
	sealed = strdup(fake_string(f, "result/requestState"));
	fake_free(f);
	p.state = sealed;
	f = fake_call(*state, p);
	assert_string_equal(fake_text(f), "awake");
	fake_free(f);
	free(sealed);
}

static void test_yield__is_a_round_at_once(void **state)
{
	struct post p = {TOOL_CALL, .tool = "pass_on"};
	struct fake *f = fake_call(*state, p);
	char *sealed = strdup(fake_string(f, "result/requestState"));

	assert_int_equal(json_object_size(fake_get(f, "result/inputRequests")),
			 0);
	fake_free(f);
	p.state = sealed;
	f = fake_call(*state, p);
	assert_string_equal(fake_text(f), "went on");
	fake_free(f);
	free(sealed);
}

static void test_wait__a_caller_has_a_ceiling(void **state)
{
	struct post p = {TOOL_CALL, .tool = "nap", .args = "{\"ms\":250}"};
	struct fake *f[5];
	int refusals = 0;
	int i;

	for (i = 0; i < 5; i++)
		f[i] = fake_post(*state, p);
	p.principal = "bob";
	p.args = "{\"ms\":1}";
	fake_free(fake_call(*state, p)); /* others are not held up */
	for (i = 0; i < 5; i++) {
		fake_wait(f[i]);
		if (fake_error(f[i]) == -32603)
			refusals++;
		else
			assert_string_equal(fake_text(f[i]), "awake");
		fake_free(f[i]);
	}
	assert_int_equal(refusals, 2);
}

/* ---- progress, log, cancellation ---- */
static void test_stream__carries_what_was_asked_for(void **state)
{
	struct post p = {TOOL_CALL, .tool = "chatty",
			 .meta = "{\"progressToken\":\"t1\","
				 "\"io.modelcontextprotocol/logLevel\":"
				 "\"error\"}"};
	struct fake *f = fake_call(*state, p);
	double last = -1;
	size_t logs = 0;
	size_t i;

	assert_true(f->streaming);
	assert_true(json_array_size(f->events) >= 3);
	for (i = 0; i + 1 < json_array_size(f->events); i++) {
		json_t *e = json_array_get(f->events, i);
		const char *m = json_string_value(json_object_get(e, "method"));

		assert_null(json_object_get(e, "id")); /* S17 */
		if (strcmp(m, "notifications/message") == 0) {
			assert_string_equal(
				json_string_value(json_at(e, "params/level")),
				"error"); /* S39 */
			logs++;
			continue;
		}
		assert_string_equal(m, "notifications/progress");
		assert_string_equal(
			json_string_value(json_at(e, "params/progressToken")),
			"t1");
		assert_true(json_number_value(json_at(e, "params/progress")) >
			    last); /* S37 */
		last = json_number_value(json_at(e, "params/progress"));
	}
	assert_int_equal(logs, 1);
	assert_true(last >= 100);
	assert_string_equal(fake_text(f), "said");
	fake_free(f);
}

/* S18, S37: no token and no level, no stream. */
static void test_stream__does_not_begin_for_nothing(void **state)
{
	struct fake *f =
		fake_call(*state, (struct post){TOOL_CALL, .tool = "chatty"});

	assert_false(f->streaming);
	assert_string_equal(fake_text(f), "said");
	fake_free(f);
	f = fake_call(*state, (struct post){TOOL_CALL, .tool = "nope",
					    .meta = "{\"progressToken\":7}"});
	assert_false(f->streaming);
	assert_int_equal(fake_error(f), -32602);
	fake_free(f);
}

/* S9; F30: a running call, and one that sleeps. */
static void test_close__cancels_the_call(void **state)
{
	int before = atomic_load(&asking_entries);
	int ended = atomic_load(&asking_ended);
	struct fake *f = fake_post(
		*state, (struct post){TOOL_CALL, .tool = "until_cancelled"});

	asking_await_entry(before);
	fake_close(f);
	assert_int_equal(atomic_load(&asking_ended), ended + 1);
	fake_free(f);
	f = fake_post(*state, (struct post){TOOL_CALL, .tool = "nap",
					    .args = "{\"ms\":290}"});
	fake_close(f);
	assert_int_equal(fake_error(f), -32603);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_call__answers_with_the_result),
		cmocka_unit_test(
			test_call__an_unknown_tool_is_a_protocol_error),
		cmocka_unit_test(test_call__bad_arguments_are_a_tool_error),
		cmocka_unit_test(test_call__names_the_capabilities_it_lacks),
		cmocka_unit_test(
			test_call__a_handler_cannot_send_a_reserved_code),
		cmocka_unit_test(test_round__an_answer_completes_the_call),
		cmocka_unit_test(
			test_round__answers_may_come_with_the_first_request),
		cmocka_unit_test(test_round__declining_is_an_answer),
		cmocka_unit_test(test_round__asks_only_for_what_is_missing),
		cmocka_unit_test(test_round__a_misfit_is_asked_again),
		cmocka_unit_test(
			test_round__responses_must_be_an_object_of_objects),
		cmocka_unit_test(test_state__is_good_for_its_own_call_only),
		cmocka_unit_test(
			test_state__null_is_absent_and_others_are_invalid),
		cmocka_unit_test(test_state__key_order_does_not_matter),
		cmocka_unit_test(test_state__too_large_says_to_persist),
		cmocka_unit_test(test_round__never_asks_what_is_not_declared),
		cmocka_unit_test(
			test_single_use__a_repeat_gets_the_stored_outcome),
		cmocka_unit_test(test_single_use__two_at_once_have_one_effect),
		cmocka_unit_test(test_idempotency__one_key_is_one_effect),
		cmocka_unit_test(
			test_idempotency__other_arguments_are_a_conflict),
		cmocka_unit_test(test_idempotency__a_key_has_a_ceiling),
		cmocka_unit_test(
			test_sleep__within_the_budget_holds_the_request),
		cmocka_unit_test(test_sleep__beyond_the_budget_is_sent_round),
		cmocka_unit_test(test_yield__is_a_round_at_once),
		cmocka_unit_test(test_wait__a_caller_has_a_ceiling),
		cmocka_unit_test(test_stream__carries_what_was_asked_for),
		cmocka_unit_test(test_stream__does_not_begin_for_nothing),
		cmocka_unit_test(test_close__cancels_the_call),
	};

	return cmocka_run_group_tests(tests, set_up, wire_tear_down);
}
