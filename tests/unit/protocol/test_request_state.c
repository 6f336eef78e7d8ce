/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/protocol/request_state.h"

static const struct store_key key_a = {"ka", {1, 2, 3}};
static const struct store_key key_b = {"kb", {9, 9, 9}};
static const struct request_state_for call_t = {"alice", "tools/call", "deploy",
						"digest-x"};

struct fixture {
	struct keyring *keys;
	struct request_state *state;
};

static void open_with(struct fixture *f, const struct store_key *keys, size_t n,
		      const char *audience, size_t max)
{
	struct request_state_options opt = {.audience = audience,
					    .max_bytes = max};

	assert_int_equal(keyring_from_keys(keys, n, &f->keys), BIDE_OK);
	opt.keys = f->keys;
	f->state = request_state_new(&opt);
	assert_non_null(f->state);
}

static void close_all(struct fixture *f)
{
	request_state_free(f->state);
	keyring_free(f->keys);
}

static struct continuation record(int64_t ttl_ms)
{
	struct continuation c = {.kind = CONTINUATION_RECORD,
				 .id = "id-1",
				 .chain = "chain-1",
				 .rounds = 1,
				 .ttl_ms = ttl_ms};

	c.record = json_pack("{s:{s:i}}", "s", "plan", 7);
	return c;
}

static bool accepted(struct fixture *f, const char *text,
		     const struct request_state_for *as)
{
	struct continuation got = {0};
	bool ok = request_state_open(f->state, text, as, false, &got);

	continuation_fini(&got);
	return ok;
}

static void test_state__opens_for_the_same_request(void **unused)
{
	struct fixture f;
	struct continuation c = record(1000);
	struct continuation got = {0};
	char *text;

	(void)unused;
	open_with(&f, &key_a, 1, "prod", 16384);
	text = request_state_seal(f.state, &c, &call_t);
	assert_non_null(text);
	assert_true(request_state_open(f.state, text, &call_t, false, &got));
	assert_int_equal(got.kind, CONTINUATION_RECORD);
	assert_string_equal(got.chain, "chain-1");
	assert_string_equal(got.id, "id-1");
	assert_int_equal(got.rounds, 1);
	assert_true(json_equal(got.record, c.record));
	continuation_fini(&got);
	continuation_fini(&c);
	free(text);
	close_all(&f);
}

/* F1, F2; S27, S28 */
static void test_state__is_refused_for_another_request(void **unused)
{
	static const struct request_state_for others[] = {
		{"bob", "tools/call", "deploy", "digest-x"},
		{"alice", "prompts/get", "deploy", "digest-x"},
		{"alice", "tools/call", "remove", "digest-x"},
		{"alice", "tools/call", "deploy", "digest-y"},
	};
	struct fixture f;
	struct continuation c = record(1000);
	char *text;

	(void)unused;
	open_with(&f, &key_a, 1, "prod", 16384);
	text = request_state_seal(f.state, &c, &call_t);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(accepted(&f, text, &others[i]));
	assert_true(accepted(&f, text, &call_t));
	continuation_fini(&c);
	free(text);
	close_all(&f);
}

/* S27: every single bit of the text counts. */
static void test_state__every_flipped_bit_is_refused(void **unused)
{
	struct fixture f;
	struct continuation c = record(60000);
	char *text;
	size_t n;

	(void)unused;
	open_with(&f, &key_a, 1, "prod", 16384);
	text = request_state_seal(f.state, &c, &call_t);
	n = strlen(text);
	for (size_t i = 0; i < n * 7; i++) {
		text[i / 7] = (char)(text[i / 7] ^ (1 << (i % 7)));
		if (text[i / 7] != '\0')
			assert_false(accepted(&f, text, &call_t));
		text[i / 7] = (char)(text[i / 7] ^ (1 << (i % 7)));
	}
	for (size_t cut = 0; cut < n; cut++) {
		char *shorter = strndup(text, cut);

		assert_false(accepted(&f, shorter, &call_t));
		free(shorter);
	}
	assert_true(accepted(&f, text, &call_t));
	continuation_fini(&c);
	free(text);
	close_all(&f);
}

static void test_state__other_spellings_are_refused(void **unused)
{
	struct fixture f;
	struct continuation c = record(60000);
	char *text;
	char longer[1024];

	(void)unused;
	open_with(&f, &key_a, 1, "prod", 16384);
	text = request_state_seal(f.state, &c, &call_t);
	(void)snprintf(longer, sizeof(longer), "%s=", text);
	assert_false(accepted(&f, longer, &call_t));
	(void)snprintf(longer, sizeof(longer), "%s\n", text);
	assert_false(accepted(&f, longer, &call_t));
	(void)snprintf(longer, sizeof(longer), " %s", text);
	assert_false(accepted(&f, longer, &call_t));
	assert_false(accepted(&f, "", &call_t));
	assert_false(accepted(&f, "b1..", &call_t));
	continuation_fini(&c);
	free(text);
	close_all(&f);
}

/* F4: the first key seals, all open; unknown keys are refused. */
static void test_state__keys_rotate_and_differ(void **unused)
{
	const struct store_key both[] = {key_b, key_a};
	struct fixture one;
	struct fixture two;
	struct fixture other;
	struct continuation c = record(60000);
	char *old;
	char *young;

	(void)unused;
	open_with(&one, &key_a, 1, "prod", 16384);
	open_with(&two, both, 2, "prod", 16384);
	open_with(&other, &key_b, 1, "prod", 16384);
	old = request_state_seal(one.state, &c, &call_t);
	young = request_state_seal(two.state, &c, &call_t);
	assert_true(accepted(&two, old, &call_t));
	assert_true(accepted(&two, young, &call_t));
	assert_true(accepted(&other, young, &call_t));
	assert_false(accepted(&one, young, &call_t));
	assert_false(accepted(&other, old, &call_t));
	continuation_fini(&c);
	free(old);
	free(young);
	close_all(&one);
	close_all(&two);
	close_all(&other);
}

static void test_state__another_audience_is_refused(void **unused)
{
	struct fixture f;
	struct fixture g;
	struct continuation c = record(60000);
	char *text;

	(void)unused;
	open_with(&f, &key_a, 1, "prod", 16384);
	open_with(&g, &key_a, 1, "staging", 16384);
	text = request_state_seal(f.state, &c, &call_t);
	assert_false(accepted(&g, text, &call_t));
	continuation_fini(&c);
	free(text);
	close_all(&f);
	close_all(&g);
}

/* A sealed life that was over before it began, leeway included. */
static void test_state__expires(void **unused)
{
	struct fixture f;
	struct continuation c = record(-31000);
	char *text;

	(void)unused;
	open_with(&f, &key_a, 1, "prod", 16384);
	text = request_state_seal(f.state, &c, &call_t);
	assert_false(accepted(&f, text, &call_t));
	free(text);
	c.ttl_ms = -1000; /* within the leeway */
	text = request_state_seal(f.state, &c, &call_t);
	assert_true(accepted(&f, text, &call_t));
	continuation_fini(&c);
	free(text);
	close_all(&f);
}

/* Design: a jump of the clock by an hour kills no handle. */
static void test_handle__outlives_a_jump_of_the_clock(void **unused)
{
	struct fixture f;
	struct continuation c = {.kind = CONTINUATION_HANDLE,
				 .id = "id-1",
				 .chain = "chain-1",
				 .token = "tok",
				 .rounds = 2,
				 .ttl_ms = -3600000};
	struct continuation got = {0};
	char *text;

	(void)unused;
	open_with(&f, &key_a, 1, "prod", 16384);
	text = request_state_seal(f.state, &c, &call_t);
	assert_true(request_state_open(f.state, text, &call_t, false, &got));
	assert_string_equal(got.token, "tok");
	assert_int_equal(got.rounds, 2);
	free(text);
	c.ttl_ms = -25 * 3600000LL;
	text = request_state_seal(f.state, &c, &call_t);
	assert_false(accepted(&f, text, &call_t));
	free(text);
	close_all(&f);
}

/* A wait_for_task handle is no requestState and the other way round. */
static void test_wait_handle__is_a_kind_of_its_own(void **unused)
{
	static const struct request_state_for bob = {"bob", "", "", ""};
	struct fixture f;
	struct continuation c = {.kind = CONTINUATION_WAIT,
				 .id = "id-1",
				 .chain = "chain-1",
				 .token = "tok",
				 .ttl_ms = 60000};
	struct continuation r = record(60000);
	struct continuation got = {0};
	char *text;
	char *rec;

	(void)unused;
	open_with(&f, &key_a, 1, "prod", 16384);
	text = request_state_seal(f.state, &c, &call_t);
	rec = request_state_seal(f.state, &r, &call_t);
	assert_false(accepted(&f, text, &call_t));
	assert_true(request_state_open(f.state, text, &call_t, true, &got));
	assert_false(request_state_open(f.state, text, &bob, true, &got));
	assert_false(request_state_open(f.state, rec, &call_t, true, &got));
	continuation_fini(&r);
	free(text);
	free(rec);
	close_all(&f);
}

static void test_state__larger_than_the_ceiling_is_not_sealed(void **unused)
{
	struct fixture f;
	struct continuation c = record(60000);
	char big[2048];
	char *text;

	(void)unused;
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	open_with(&f, &key_a, 1, "prod", 1024);
	(void)json_object_set_new(c.record, "big", json_string(big));
	text = request_state_seal(f.state, &c, &call_t);
	assert_null(text);
	continuation_fini(&c);
	close_all(&f);
}

/*
 * Vectors: plain texts of this version, sealed with fixed nonces. A later
 * version must still open them. (Times lie far ahead.)
 */
struct vector {
	const char *plain;
	const char *sealed;
	enum continuation_kind kind;
};
static const struct vector vectors[] = {
#include "tests/unit/protocol/state_vectors.inc"
};

static void test_vectors__are_still_opened(void **unused)
{
	static const unsigned char nonce[24] = {'v', 'e', 'c', 't', 'o', 'r'};
	struct fixture f;

	(void)unused;
	open_with(&f, &key_a, 1, "prod", 16384);
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		const struct vector *v = &vectors[i];
		struct continuation got = {0};
		char *again = keyring_seal_with_nonce(f.keys, nonce, v->plain,
						      strlen(v->plain));

		if (getenv("BIDE_PRINT_VECTORS") != NULL)
			print_message("%s\n", again);
		assert_string_equal(again, v->sealed);
		assert_true(request_state_open(f.state, v->sealed, &call_t,
					       v->kind == CONTINUATION_WAIT,
					       &got));
		assert_int_equal(got.kind, v->kind);
		continuation_fini(&got);
		free(again);
	}
	close_all(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_state__opens_for_the_same_request),
		cmocka_unit_test(test_state__is_refused_for_another_request),
		cmocka_unit_test(test_state__every_flipped_bit_is_refused),
		cmocka_unit_test(test_state__other_spellings_are_refused),
		cmocka_unit_test(test_state__keys_rotate_and_differ),
		cmocka_unit_test(test_state__another_audience_is_refused),
		cmocka_unit_test(test_state__expires),
		cmocka_unit_test(test_handle__outlives_a_jump_of_the_clock),
		cmocka_unit_test(test_wait_handle__is_a_kind_of_its_own),
		cmocka_unit_test(
			test_state__larger_than_the_ceiling_is_not_sealed),
		cmocka_unit_test(test_vectors__are_still_opened),
	};

	log_set_level(LOG_NONE);
	if (!security_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
