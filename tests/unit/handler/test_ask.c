/* SPDX-License-Identifier: MIT */
#include "server/base/jsontext.h"
#include "server/base/limits.h"
#include "tests/unit/handler/lib/fake.h"

/* ---- one question ---- */

static enum bide_rc asks_name(struct bide_call *call, void *user)
{
	const struct bide_answer *a = NULL;

	((struct fake *)user)->entries++;
	bide_ask_form(call, "name", "Your \"name\"?", FORM);
	BIDE_TRY(bide_await(call));
	a = bide_answer(call, "name");
	if (bide_answer_action(a) != BIDE_ACCEPT)
		return bide_text(call, "It was %s.",
				 bide_action_name(bide_answer_action(a)));
	return bide_text(call, "Hello, %s!", bide_answer_string(a, "n"));
}

static void test_form__is_asked_and_answered(void **state)
{
	struct fake *f = fake_of(asks_name);
	struct buf b = {0};

	(void)state;
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	assert_int_equal(run_open_questions(f->call, &b), 1);
	assert_string_equal(
		b.data,
		"{\"name\":{\"method\":\"elicitation/create\",\"params\":{"
		"\"mode\":\"form\",\"message\":\"Your \\\"name\\\"?\","
		"\"requestedSchema\":" FORM "}}}");
	assert_int_equal(run_open_needs(f->call), BIDE_CAN_ELICIT_FORM);
	fake_next_request(f);
	fake_answer(f, "name",
		    "{\"action\":\"accept\",\"content\":{\"n\":\"Ann\"}}");
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	assert_non_null(strstr(fake_text(f), "Hello, Ann!"));
	assert_int_equal(f->entries, 2);
	buf_fini(&b);
	fake_free(f);
}

static void ends(const char *answer, const char *says)
{
	struct fake *f = fake_of(asks_name);

	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	fake_next_request(f);
	fake_answer(f, "name", answer);
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	if (!strstr(fake_text(f), says))
		fail_msg("%s lacks %s", fake_text(f), says);
	fake_free(f);
}

/* F12, F13. */
static void test_form__refusals_reach_the_handler(void **state)
{
	(void)state;
	ends("{\"action\":\"decline\"}", "declined");
	ends("{\"action\":\"cancel\",\"content\":null}", "cancelled");
	ends("{\"action\":\"decline\",\"content\":{\"n\":\"secret\"}}",
	     "declined");
}

/* F11: the question stays, under its key here. */
static void test_form__a_misfit_is_asked_again(void **state)
{
	struct fake *f = fake_of(asks_name);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	fake_next_request(f);
	assert_false(fake_try_answer(
		f, "name", "{\"action\":\"accept\",\"content\":{\"n\":7}}"));
	assert_false(fake_try_answer(f, "other", "{\"action\":\"cancel\"}"));
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	assert_int_equal(fake_open(f), 1);
	fake_free(f);
}

static void test_answer__once_is_enough(void **state)
{
	struct fake *f = fake_of(asks_name);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	/* Not asked of anybody yet. */
	assert_false(fake_try_answer(f, "name", "{\"action\":\"cancel\"}"));
	fake_next_request(f);
	fake_answer(f, "name", "{\"action\":\"cancel\"}");
	assert_false(fake_try_answer(f, "name", "{\"action\":\"decline\"}"));
	fake_free(f);
}

/* ---- several ---- */

static enum bide_rc asks_three(struct bide_call *call, void *user)
{
	(void)user;
	bide_ask_form(call, "a", "A?", FORM);
	bide_ask_url(call, "b", "B?", "https://example.com/x?y=1#z");
	bide_ask_roots(call, "c");
	BIDE_TRY(bide_await(call));
	return bide_text(
		call, "a %s b %s c %zu",
		bide_answer_string(bide_answer(call, "a"), "n"),
		bide_action_name(bide_answer_action(bide_answer(call, "b"))),
		json_array_size(json_object_get(
			bide_answer_json(bide_answer(call, "c")), "roots")));
}

/* F16: what was answered is kept, the rest is asked again. */
static void test_several__travel_together_and_are_answered_in_part(void **state)
{
	struct fake *f = fake_of(asks_three);
	struct buf b = {0};

	(void)state;
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	assert_int_equal(fake_open(f), 3);
	assert_int_equal(run_open_needs(f->call), BIDE_CAN_ELICIT_FORM |
							  BIDE_CAN_ELICIT_URL |
							  BIDE_CAN_ROOTS);
	fake_next_request(f);
	fake_answer(f, "a",
		    "{\"action\":\"accept\",\"content\":{\"n\":\"x\"}}");
	fake_answer(f, "b", "{\"action\":\"accept\"}");
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	assert_int_equal(run_open_questions(f->call, &b), 1);
	assert_string_equal(b.data, "{\"c\":{\"method\":\"roots/list\"}}");
	fake_next_request(f);
	fake_answer(f, "c", "{\"roots\":[{\"uri\":\"file:///tmp\"}]}");
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	assert_non_null(strstr(fake_text(f), "a x b accepted c 1"));
	buf_fini(&b);
	fake_free(f);
}

/* ---- rolling upgrade: the handler of the second entry is another ---- */

static enum bide_rc asks_by_version(struct bide_call *call, void *user)
{
	struct fake *f = user;

	f->entries++;
	bide_ask_form(call, "kept", "K?", FORM);
	if (f->entries == 1)
		bide_ask_form(call, "dropped", "D?", FORM);
	else
		bide_ask_form(call, "added", "A?", FORM);
	if (bide_answer_action(bide_answer(call, "dropped")) != BIDE_UNANSWERED)
		return bide_error_text(call, "a dropped question counts");
	BIDE_TRY(bide_await(call));
	return bide_text(call, "done");
}

static void test_upgrade__a_question_dropped_and_one_added(void **state)
{
	struct fake *f = fake_of(asks_by_version);
	struct buf b = {0};

	(void)state;
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	assert_int_equal(fake_open(f), 2);
	fake_next_request(f);
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	assert_int_equal(run_open_questions(f->call, &b), 2);
	assert_non_null(strstr(b.data, "\"added\""));
	assert_null(strstr(b.data, "\"dropped\""));
	fake_next_request(f);
	assert_false(fake_try_answer(f, "dropped", "{\"action\":\"cancel\"}"));
	fake_answer(f, "kept", "{\"action\":\"cancel\"}");
	fake_answer(f, "added", "{\"action\":\"cancel\"}");
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	buf_fini(&b);
	fake_free(f);
}

static enum bide_rc asks_other_text(struct bide_call *call, void *user)
{
	struct fake *f = user;

	bide_ask_form(call, "q", ++f->entries < 3 ? "Old?" : "New?", FORM);
	return bide_await(call);
}

static void test_same_key__other_text_replaces_the_open_one(void **state)
{
	struct fake *f = fake_of(asks_other_text);
	const struct run_question *q = NULL;

	(void)state;
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	fake_next_request(f);
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	assert_int_equal(run_questions(f->call, &q), 1);
	assert_int_equal(q[0].state, RUN_Q_OPEN); /* the same text: it stays */
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	assert_int_equal(run_questions(f->call, &q), 1);
	assert_int_equal(q[0].state, RUN_Q_NEW);
	assert_non_null(strstr(q[0].request, "New?"));
	fake_free(f);
}

#define SPACED                                                                 \
	"{ \"type\":\"object\",\n\t\"properties\" : {\"n\":{\"type\":\"string\"}}}"

static enum bide_rc asks_reformatted(struct bide_call *call, void *user)
{
	struct fake *f = user;

	bide_ask_form(call, "q", "?", ++f->entries == 1 ? SPACED : FORM);
	return bide_await(call);
}

static void test_same_key__white_space_makes_no_other_text(void **state)
{
	struct fake *f = fake_of(asks_reformatted);
	const struct run_question *q = NULL;

	(void)state;
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	fake_next_request(f);
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	assert_int_equal(run_questions(f->call, &q), 1);
	assert_int_equal(q[0].state, RUN_Q_OPEN);
	fake_free(f);
}

/* ---- capabilities ---- */

static enum bide_rc asks_url(struct bide_call *call, void *user)
{
	(void)user;
	BIDE_TRY(bide_ask_url(call, "u", "U?", "http://h/"));
	return bide_await(call);
}

static enum bide_rc asks_and_falls_back(struct bide_call *call, void *user)
{
	(void)user;
	if (bide_ask_url(call, "u", "U?", "http://h/") == BIDE_NO_CAPABILITY) {
		assert_int_equal(bide_await(call), BIDE_NO_CAPABILITY);
		bide_ask_withdraw(call, "u");
		bide_ask_form(call, "f", "F?", FORM);
	}
	BIDE_TRY(bide_await(call));
	return bide_text(call, "done");
}

static void test_capability__missing_is_passed_on(void **state)
{
	struct fake *f = fake_of(asks_url);

	(void)state;
	f->caller.can = BIDE_CAN_ELICIT_FORM;
	fake_call(f);
	assert_int_equal(fake_enter(f), RUN_NO_CAPABILITY);
	assert_int_equal(f->result.missing, BIDE_CAN_ELICIT_URL);
	/* A later request may be able to. */
	f->caller.can |= BIDE_CAN_ELICIT_URL;
	run_set_caller(f->call, &f->caller);
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	fake_free(f);
}

static void test_capability__a_handler_can_fall_back(void **state)
{
	struct fake *f = fake_of(asks_and_falls_back);
	struct buf b = {0};

	(void)state;
	f->caller.can = BIDE_CAN_ELICIT_FORM;
	fake_call(f);
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	assert_int_equal(run_open_questions(f->call, &b), 1);
	assert_non_null(strstr(b.data, "\"f\""));
	assert_int_equal(run_open_needs(f->call), BIDE_CAN_ELICIT_FORM);
	buf_fini(&b);
	fake_free(f);
}

static enum bide_rc says_no_capability(struct bide_call *call, void *user)
{
	(void)call;
	(void)user;
	return BIDE_NO_CAPABILITY;
}

static void test_capability__nothing_refused_is_a_bug(void **state)
{
	struct fake *f = fake_of(says_no_capability);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_ERROR);
	fake_free(f);
}

/* An answer that is there needs no capability any more. */
static void test_capability__is_not_needed_for_an_answer(void **state)
{
	struct fake *f = fake_of(asks_name);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	f->caller.can = 0;
	fake_next_request(f);
	fake_answer(f, "name", "{\"action\":\"decline\"}");
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	fake_free(f);
}

/* ---- what is refused ---- */

static enum bide_rc asks_key(struct bide_call *call, void *user)
{
	return bide_ask_form(call, ((struct fake *)user)->data, "?", FORM);
}

static void test_key__characters_and_length(void **state)
{
	char longest[98];
	static const char *const bad[] = {"",    "a b",      "~a",
					  "a:b", "\xc3\xa9", "a/b"};
	struct fake *f = fake_of(asks_key);

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		f->data = (void *)(uintptr_t)bad[i];
		assert_int_equal(fake_enter(f), RUN_ERROR);
	}
	memset(longest, 'k', sizeof(longest));
	longest[97] = '\0';
	f->data = longest;
	assert_int_equal(fake_enter(f), RUN_ERROR);
	longest[96] = '\0';
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	f->data = (void *)(uintptr_t) "Az09_-.";
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	fake_free(f);
}

static enum bide_rc asks_schema(struct bide_call *call, void *user)
{
	return bide_ask_form(call, "q", "?", ((struct fake *)user)->data);
}

#define NESTED_FORM                                                            \
	"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"object\"}}}"

static void test_form__schema_must_be_the_restricted_one(void **state)
{
	static const char *const bad[] = {"", "{", "[]",
					  "{\"type\":\"string\"}", NESTED_FORM};
	struct fake *f = fake_of(asks_schema);

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		f->data = (void *)(uintptr_t)bad[i];
		assert_int_equal(fake_enter(f), RUN_ERROR);
		assert_non_null(strstr(fake_text(f), "question \\\"q\\\""));
	}
	f->data = NULL;
	assert_int_equal(fake_enter(f), RUN_ERROR);
	fake_free(f);
}

static enum bide_rc asks_given_url(struct bide_call *call, void *user)
{
	return bide_ask_url(call, "q", "?", ((struct fake *)user)->data);
}

/* S31. */
static void test_url__must_be_http_and_hold_no_credentials(void **state)
{
	static const char *const bad[] = {"ftp://example.com/",
					  "javascript:alert(1)",
					  "example.com",
					  "https://",
					  "https:///x",
					  "http://user:pw@example.com/",
					  "http://user@example.com/",
					  "http://exa mple.com/",
					  "http://example.com/\xc3\xa9",
					  "http://example.com/%zz",
					  "http://example.com/%4",
					  "http://h:99999/",
					  "http://h:x/",
					  "http://[::1",
					  "http://[]/",
					  "http://a]b/",
					  "http://h/<",
					  "http://:80/",
					  ""};
	static const char *const good[] = {
		"https://example.com",
		"HTTP://example.com:8080/a/b?c=d#e",
		"http://[::1]:80/",
		"http://[2001:db8::1]",
		"https://example.com/a@b?u=c@d",
		"http://h:/",
		"https://xn--bcher-kva.example/%C3%BC"};
	struct fake *f = fake_of(asks_given_url);

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		f->data = (void *)(uintptr_t)bad[i];
		if (fake_enter(f) != RUN_ERROR)
			fail_msg("not refused: %s", bad[i]);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		f->data = (void *)(uintptr_t)good[i];
		if (fake_enter(f) != RUN_COMPLETE)
			fail_msg("refused: %s: %s", good[i], fake_text(f));
	}
	fake_free(f);
}

static enum bide_rc asks_bytes(struct bide_call *call, void *user)
{
	(void)user;
	bide_ask_url(call, "q", "\xff", "http://h/");
	return bide_await(call);
}

static void test_message__must_be_utf8(void **state)
{
	struct fake *f = fake_of(asks_bytes);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_ERROR);
	assert_non_null(strstr(fake_text(f), "not UTF-8"));
	fake_free(f);
}

static enum bide_rc asks_many(struct bide_call *call, void *user)
{
	const int *n = ((struct fake *)user)->data;
	char key[16];

	for (int i = 0; i < *n; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		BIDE_TRY(bide_ask_roots(call, key));
	}
	return bide_await(call);
}

static void test_open__ceiling_is_named(void **state)
{
	struct fake *f = fake_of(asks_many);
	int n = LIMIT_QUESTIONS_OPEN;

	(void)state;
	f->data = &n;
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	n++;
	assert_int_equal(fake_enter(f), RUN_ERROR);
	assert_non_null(strstr(fake_text(f), "LIMIT_QUESTIONS_OPEN"));
	fake_free(f);
}

#define ROUND 50

/* A loop that is not capped: one round after the other. */
static enum bide_rc asks_on(struct bide_call *call, void *user)
{
	char key[16];

	(void)user;
	for (int i = 0;; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		BIDE_TRY(bide_ask_roots(call, key));
		if (i % ROUND == ROUND - 1)
			BIDE_TRY(bide_await(call));
	}
}

/* S33: all that a call has asked is counted, what was answered long ago too. */
static void test_questions__ceiling_is_named(void **state)
{
	struct fake *f = fake_of(asks_on);
	char key[16];

	(void)state;
	for (int i = 0; i < LIMIT_QUESTIONS_PER_CALL; i++) {
		if (i % ROUND == 0) {
			assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
			assert_int_equal(fake_open(f), ROUND);
			fake_next_request(f);
		}
		snprintf(key, sizeof(key), "k%d", i);
		fake_answer(f, key, "{\"roots\":[]}");
	}
	assert_int_equal(fake_enter(f), RUN_ERROR);
	assert_non_null(strstr(fake_text(f), "LIMIT_QUESTIONS_PER_CALL"));
	fake_free(f);
}

static enum bide_rc asks_long(struct bide_call *call, void *user)
{
	return bide_ask_form(call, "q", ((struct fake *)user)->data, FORM);
}

static void test_request__ceiling_is_named(void **state)
{
	struct fake *f = fake_of(asks_long);
	char *text = malloc(LIMIT_QUESTION_BYTES + 1);

	(void)state;
	memset(text, 'x', LIMIT_QUESTION_BYTES);
	text[LIMIT_QUESTION_BYTES] = '\0';
	f->data = text;
	assert_int_equal(fake_enter(f), RUN_ERROR);
	assert_non_null(strstr(fake_text(f), "LIMIT_QUESTION_BYTES"));
	fake_free(f);
	free(text);
}

/* ---- deadlines ---- */

static enum bide_rc asks_with_deadline(struct bide_call *call, void *user)
{
	struct fake *f = user;

	f->entries++;
	bide_ask_form(call, "q", "Q?", FORM);
	bide_ask_form(call, "r", "R?", FORM);
	bide_ask_deadline(call, "q", 5000);
	BIDE_TRY(bide_await(call));
	return bide_text(
		call, "%s",
		bide_action_name(bide_answer_action(bide_answer(call, "q"))));
}

static void test_deadline__begins_once_and_reaches_the_handler(void **state)
{
	struct fake *f = fake_of(asks_with_deadline);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	assert_int_equal(f->result.wake_ms, 1005000);
	f->now += 4000;
	fake_next_request(f);
	fake_answer(f, "r", "{\"action\":\"cancel\"}");
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	assert_int_equal(f->result.wake_ms, 1005000);
	f->now += 1000;
	fake_next_request(f);
	assert_false(fake_try_answer(f, "q", "{\"action\":\"cancel\"}"));
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	assert_non_null(strstr(fake_text(f), "timed out"));
	/* And stays so in later rounds. */
	fake_next_request(f);
	f->now -= 5000;
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	assert_non_null(strstr(fake_text(f), "timed out"));
	fake_free(f);
}

static void test_deadline__of_the_tool_where_none_is_set(void **state)
{
	struct fake *f = fake_of(asks_name);

	(void)state;
	f->opt.default_deadline_ms = 60000;
	fake_call(f);
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	assert_int_equal(f->result.wake_ms, 1060000);
	fake_free(f);
}

/* In a task the store says so: it may have taken the answer meanwhile. */
static void test_deadline__of_a_task_is_the_stores(void **state)
{
	struct fake *f = fake_of(asks_name);

	(void)state;
	fake_task(f);
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	f->now += 1000000;
	fake_next_request(f);
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	run_clear_questions(f->call);
	assert_int_equal(run_load_question(f->call, "name", STORE_INPUT_FORM,
					   "{}", RUN_Q_EXPIRED, NULL, 1),
			 BIDE_OK);
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	assert_non_null(strstr(fake_text(f), "timed out"));
	fake_free(f);
}

static enum bide_rc sets_deadline_first(struct bide_call *call, void *user)
{
	(void)user;
	return bide_ask_deadline(call, "q", 1);
}

static void test_deadline__before_the_ask_is_misuse(void **state)
{
	struct fake *f = fake_of(sets_deadline_first);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_ERROR);
	assert_string_equal(fake_text(f), "{\"code\":-32603,\"message\":"
					  "\"Internal error\"}");
	fake_free(f);
}

/* ---- publishing ---- */

static enum bide_rc publishes(struct bide_call *call, void *user)
{
	(void)user;
	bide_ask_form(call, "q", "Q?", FORM);
	BIDE_TRY(bide_publish(call));
	return bide_await(call);
}

static void test_publish__is_the_back_ends_in_a_task_alone(void **state)
{
	struct fake *f = fake_of(publishes);
	const struct run_question *q = NULL;

	(void)state;
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	assert_int_equal(f->published, 0);
	fake_task(f);
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	assert_int_equal(f->published, 1);
	assert_int_equal(run_questions(f->call, &q), 1);
	assert_int_equal(q[0].state, RUN_Q_OPEN);
	f->publish_rc = BIDE_LOST;
	assert_int_equal(fake_enter(f), RUN_STOPPED);
	fake_free(f);
}

/* ---- sticking ---- */

static enum bide_rc checks_late(struct bide_call *call, void *user)
{
	struct fake *f = user;
	enum bide_rc rc;

	bide_ask_form(call, "q", "Q?", FORM);
	rc = bide_await(call);
	(void)rc;
	rc = bide_step_begin(call, "effect", NULL);
	if (rc == BIDE_RUN)
		f->work++;
	return bide_text(call, "answer %s",
			 bide_answer_string(bide_answer(call, "q"), "n"));
}

static void test_pending__a_handler_that_checks_late_does_no_harm(void **state)
{
	struct fake *f = fake_of(checks_late);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	assert_int_equal(f->work, 0);
	assert_int_equal(fake_open(f), 1);
	fake_free(f);
}

/* F15: what is in the content is the handler's to read. */
static enum bide_rc confirms(struct bide_call *call, void *user)
{
	const struct bide_answer *a = NULL;

	(void)user;
	bide_ask_form(call, "ok", "Sure?",
		      "{\"type\":\"object\",\"properties\":{\"confirm\":"
		      "{\"type\":\"boolean\"},\"n\":{\"type\":\"integer\"},"
		      "\"r\":{\"type\":\"number\"}},\"required\":"
		      "[\"confirm\"]}");
	BIDE_TRY(bide_await(call));
	a = bide_answer(call, "ok");
	assert_int_equal(bide_answer_int(a, "n", -1), 3);
	assert_true(bide_answer_real(a, "r", -1) == 0.5);
	assert_int_equal(bide_answer_int(a, "absent", -1), -1);
	assert_null(bide_answer_string(a, "n"));
	return bide_text(call,
			 bide_answer_bool(a, "confirm", true) ? "yes" : "no");
}

static void test_accept__with_false_is_passed_on(void **state)
{
	struct fake *f = fake_of(confirms);

	(void)state;
	assert_int_equal(fake_enter(f), RUN_NEEDS_INPUT);
	fake_next_request(f);
	assert_false(fake_try_answer(f, "ok", "{\"action\":\"accept\"}"));
	fake_answer(f, "ok",
		    "{\"action\":\"accept\",\"content\":{\"confirm\":false,"
		    "\"n\":3.0,\"r\":0.5}}");
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	assert_non_null(strstr(fake_text(f), "\"no\""));
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_form__is_asked_and_answered),
		cmocka_unit_test(test_form__refusals_reach_the_handler),
		cmocka_unit_test(test_form__a_misfit_is_asked_again),
		cmocka_unit_test(test_answer__once_is_enough),
		cmocka_unit_test(
			test_several__travel_together_and_are_answered_in_part),
		cmocka_unit_test(
			test_upgrade__a_question_dropped_and_one_added),
		cmocka_unit_test(
			test_same_key__other_text_replaces_the_open_one),
		cmocka_unit_test(test_capability__missing_is_passed_on),
		cmocka_unit_test(test_capability__a_handler_can_fall_back),
		cmocka_unit_test(test_capability__nothing_refused_is_a_bug),
		cmocka_unit_test(test_capability__is_not_needed_for_an_answer),
		cmocka_unit_test(test_key__characters_and_length),
		cmocka_unit_test(test_form__schema_must_be_the_restricted_one),
		cmocka_unit_test(
			test_url__must_be_http_and_hold_no_credentials),
		cmocka_unit_test(test_message__must_be_utf8),
		cmocka_unit_test(test_open__ceiling_is_named),
		cmocka_unit_test(test_questions__ceiling_is_named),
		cmocka_unit_test(test_request__ceiling_is_named),
		cmocka_unit_test(
			test_deadline__begins_once_and_reaches_the_handler),
		cmocka_unit_test(test_deadline__of_the_tool_where_none_is_set),
		cmocka_unit_test(test_deadline__of_a_task_is_the_stores),
		cmocka_unit_test(test_deadline__before_the_ask_is_misuse),
		cmocka_unit_test(
			test_publish__is_the_back_ends_in_a_task_alone),
		cmocka_unit_test(
			test_pending__a_handler_that_checks_late_does_no_harm),
		cmocka_unit_test(test_accept__with_false_is_passed_on),
		cmocka_unit_test(
			test_same_key__white_space_makes_no_other_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
