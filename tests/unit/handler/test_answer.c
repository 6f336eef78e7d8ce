/* SPDX-License-Identifier: MIT */
#include "server/base/jsontext.h"
#include "server/base/limits.h"
#include "server/base/thread.h"
#include "tests/unit/handler/lib/fake.h"

#define FORM_REQUEST(schema)                                                   \
	"{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\","    \
	"\"message\":\"m \\\" \\\\\",\"requestedSchema\":" schema "}}"
#define NAME_AND_AGE                                                           \
	"{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}," \
	"\"age\":{\"type\":\"integer\"},\"tags\":{\"type\":\"array\","         \
	"\"items\":{\"type\":\"string\",\"enum\":[\"a\",\"b\"]}}},"            \
	"\"required\":[\"name\"]}"

static void fits(enum store_input_kind kind, const char *request,
		 const char *response, const char *kept)
{
	json_t *v = fake_json(response);
	json_t *answer = NULL;
	struct buf why = {0};
	char *text = NULL;

	if (answer_check(kind, request, v, &answer, &why))
		fail_msg("%s: %s", response, why.data ? why.data : "");
	text = jsontext_dup(answer, NULL);
	fake_is(text, kept);
	assert_int_equal(why.len, 0);
	free(text);
	json_decref(answer);
	json_decref(v);
}

static void misfits(enum store_input_kind kind, const char *request,
		    const char *response, const char *says)
{
	json_t *v = fake_json(response);
	json_t *answer = NULL;
	struct buf why = {0};

	if (answer_check(kind, request, v, &answer, &why) != ANSWER_MISFIT)
		fail_msg("not refused: %s", response);
	assert_null(answer);
	if (!why.data || !strstr(why.data, says))
		fail_msg("%s: \"%s\" does not say \"%s\"", response,
			 why.data ? why.data : "", says);
	/* Nobody has to want the reason. */
	assert_int_equal(answer_check(kind, request, v, &answer, NULL),
			 ANSWER_MISFIT);
	buf_fini(&why);
	json_decref(v);
}

#define FORM_FITS(response, kept)                                              \
	fits(STORE_INPUT_FORM, FORM_REQUEST(NAME_AND_AGE), response, kept)
#define FORM_MISFITS(response, says)                                           \
	misfits(STORE_INPUT_FORM, FORM_REQUEST(NAME_AND_AGE), response, says)

static void test_form__accept_is_checked_against_its_schema(void **state)
{
	(void)state;
	FORM_FITS("{\"action\":\"accept\",\"content\":{\"name\":\"x\"}}",
		  "{\"action\":\"accept\",\"content\":{\"name\":\"x\"}}");
	FORM_FITS("{\"action\":\"accept\",\"content\":{\"name\":\"x\","
		  "\"age\":3,\"tags\":[\"a\"],\"more\":true},\"_meta\":{}}",
		  "{\"action\":\"accept\",\"content\":{\"name\":\"x\","
		  "\"age\":3,\"tags\":[\"a\"],\"more\":true}}");
	FORM_MISFITS("{\"action\":\"accept\",\"content\":{}}", "name");
	FORM_MISFITS("{\"action\":\"accept\"}", "name");
	FORM_MISFITS("{\"action\":\"accept\",\"content\":{\"name\":1}}",
		     "content/name");
	FORM_MISFITS("{\"action\":\"accept\",\"content\":{\"name\":\"x\","
		     "\"age\":\"3\"}}",
		     "age");
	FORM_MISFITS("{\"action\":\"accept\",\"content\":{\"name\":\"x\","
		     "\"tags\":[\"c\"]}}",
		     "tags");
}

/* F13. */
static void test_form__content_is_flat(void **state)
{
	(void)state;
	FORM_MISFITS("{\"action\":\"accept\",\"content\":7}", "object");
	FORM_MISFITS("{\"action\":\"accept\",\"content\":[]}", "object");
	FORM_MISFITS("{\"action\":\"accept\",\"content\":null}", "object");
	FORM_MISFITS("{\"action\":\"accept\",\"content\":{\"name\":\"x\","
		     "\"more\":{}}}",
		     "more than");
	FORM_MISFITS("{\"action\":\"accept\",\"content\":{\"name\":\"x\","
		     "\"more\":[1]}}",
		     "more than");
	FORM_MISFITS("{\"action\":\"accept\",\"content\":{\"name\":\"x\","
		     "\"more\":null}}",
		     "more than");
}

/* F12, S30. */
static void test_form__content_of_a_refusal_is_dropped(void **state)
{
	(void)state;
	FORM_FITS("{\"action\":\"decline\"}", "{\"action\":\"decline\"}");
	FORM_FITS("{\"action\":\"cancel\",\"content\":null}",
		  "{\"action\":\"cancel\"}");
	FORM_FITS("{\"action\":\"decline\",\"content\":{\"name\":\"x\"}}",
		  "{\"action\":\"decline\"}");
	FORM_FITS("{\"action\":\"cancel\",\"content\":7}",
		  "{\"action\":\"cancel\"}");
}

static void test_form__action_must_be_one_of_three(void **state)
{
	(void)state;
	FORM_MISFITS("{}", "action");
	FORM_MISFITS("{\"action\":\"ok\",\"content\":{\"name\":\"x\"}}",
		     "action");
	FORM_MISFITS("{\"action\":null}", "action");
	FORM_MISFITS("{\"action\":[\"accept\"]}", "action");
	FORM_MISFITS("[]", "action");
	FORM_MISFITS("\"accept\"", "action");
	FORM_MISFITS("null", "action");
}

/* A request that another writer made, members in another order. */
static void test_form__schema_is_found_wherever_it_stands(void **state)
{
	static const char other[] =
		"{ \"params\": {\"requestedSchema\": " NAME_AND_AGE
		", \"message\": \"m\"}, \"method\": \"elicitation/create\"}";

	(void)state;
	fits(STORE_INPUT_FORM, other,
	     "{\"action\":\"accept\",\"content\":{\"name\":\"x\"}}",
	     "{\"action\":\"accept\",\"content\":{\"name\":\"x\"}}");
	misfits(STORE_INPUT_FORM, other,
		"{\"action\":\"accept\",\"content\":{\"name\":2}}", "name");
	misfits(STORE_INPUT_FORM, "{}",
		"{\"action\":\"accept\",\"content\":{}}", "question");
}

static void test_form__larger_than_a_question_may_be(void **state)
{
	char *text = malloc(LIMIT_QUESTION_BYTES + 200);
	size_t n;

	(void)state;
	n = (size_t)sprintf(text,
			    "{\"action\":\"accept\",\"content\":{\"name\":\"");
	memset(text + n, 'x', LIMIT_QUESTION_BYTES);
	strcpy(text + n + LIMIT_QUESTION_BYTES, "\"}}");
	FORM_MISFITS(text, "LIMIT_QUESTION_BYTES");
	free(text);
}

static void test_url__accept_needs_no_content(void **state)
{
	(void)state;
	fits(STORE_INPUT_URL, "{}", "{\"action\":\"accept\"}",
	     "{\"action\":\"accept\"}");
	fits(STORE_INPUT_URL, "{}",
	     "{\"action\":\"accept\",\"content\":{\"key\":\"x\"}}",
	     "{\"action\":\"accept\"}");
	fits(STORE_INPUT_URL, "{}", "{\"action\":\"decline\"}",
	     "{\"action\":\"decline\"}");
	misfits(STORE_INPUT_URL, "{}", "{}", "action");
}

static void test_roots__are_file_uris(void **state)
{
	(void)state;
	fits(STORE_INPUT_ROOTS, "{}",
	     "{\"roots\":[{\"uri\":\"file:///a\",\"name\":\"A\"}],\"x\":1}",
	     "{\"roots\":[{\"uri\":\"file:///a\",\"name\":\"A\"}]}");
	fits(STORE_INPUT_ROOTS, "{}", "{\"roots\":[]}", "{\"roots\":[]}");
	misfits(STORE_INPUT_ROOTS, "{}", "{}", "roots");
	misfits(STORE_INPUT_ROOTS, "{}", "{\"roots\":{}}", "roots");
	misfits(STORE_INPUT_ROOTS, "{}", "{\"roots\":[{}]}", "uri");
	misfits(STORE_INPUT_ROOTS, "{}", "{\"roots\":[\"file:///a\"]}", "uri");
	misfits(STORE_INPUT_ROOTS, "{}",
		"{\"roots\":[{\"uri\":\"https://a/\"}]}", "uri");
	misfits(STORE_INPUT_ROOTS, "{}",
		"{\"roots\":[{\"uri\":\"file:///a\",\"name\":1}]}", "name");
}

#define SAMPLE(content)                                                        \
	"{\"role\":\"assistant\",\"content\":" content ",\"model\":\"m\"}"
#define SAMPLE_FITS(text) fits(STORE_INPUT_SAMPLING, "{}", text, text)
#define SAMPLE_MISFITS(text, says)                                             \
	misfits(STORE_INPUT_SAMPLING, "{}", text, says)

static void test_sampling__result_has_the_protocols_shape(void **state)
{
	(void)state;
	SAMPLE_FITS(SAMPLE("{\"type\":\"text\",\"text\":\"Paris\"}"));
	SAMPLE_FITS(SAMPLE("[{\"type\":\"text\",\"text\":\"a\"},"
			   "{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"t\","
			   "\"input\":{}}]"));
	SAMPLE_FITS(SAMPLE("{\"type\":\"image\",\"data\":\"\",\"mimeType\":"
			   "\"a/b\"}"));
	SAMPLE_FITS(SAMPLE("[]"));
	SAMPLE_MISFITS(SAMPLE("\"Paris\""), "content");
	SAMPLE_MISFITS(SAMPLE("{\"type\":\"text\"}"), "text");
	SAMPLE_MISFITS(SAMPLE("{\"type\":\"video\"}"), "not known");
	SAMPLE_MISFITS(SAMPLE("[7]"), "content");
	SAMPLE_MISFITS("{\"role\":\"assistant\",\"model\":\"m\"}", "content");
	SAMPLE_MISFITS("{\"role\":\"tool\",\"model\":\"m\",\"content\":[]}",
		       "role");
	SAMPLE_MISFITS("{\"role\":\"user\",\"content\":[]}", "model");
	/* What a form would be refused with is no sampling result. */
	SAMPLE_MISFITS("{\"action\":\"decline\"}", "model");
	SAMPLE_MISFITS("null", "object");
}

static void test_needs__by_kind(void **state)
{
	(void)state;
	assert_int_equal(answer_needs(STORE_INPUT_FORM, "{}"),
			 BIDE_CAN_ELICIT_FORM);
	assert_int_equal(answer_needs(STORE_INPUT_URL, "{}"),
			 BIDE_CAN_ELICIT_URL);
	assert_int_equal(answer_needs(STORE_INPUT_ROOTS, "{}"), BIDE_CAN_ROOTS);
	assert_int_equal(answer_needs(STORE_INPUT_SAMPLING, "{}"),
			 BIDE_CAN_SAMPLE);
	assert_int_equal(answer_needs(STORE_INPUT_SAMPLING,
				      "{\"params\":{\"tools\":[]}}"),
			 BIDE_CAN_SAMPLE | BIDE_CAN_SAMPLE_TOOLS);
}

/* ---- the forms of the process, from several threads ---- */

#define ASKERS 4
#define FORMS  600 /* more than are kept: they drive each other out */

static void check_forms(void *arg)
{
	int *wrong = arg;
	json_t *v = fake_json("{\"action\":\"accept\",\"content\":{\"p7\":1}}");
	char request[512];
	json_t *kept = NULL;
	enum answer_fit fit;

	for (int i = 0; i < 3 * FORMS; i++) {
		snprintf(request, sizeof(request),
			 FORM_REQUEST("{\"type\":\"object\",\"properties\":"
				      "{\"p%d\":{\"type\":\"string\"}}}"),
			 i % FORMS);
		kept = NULL;
		fit = answer_check(STORE_INPUT_FORM, request, v, &kept, NULL);
		*wrong += fit != (i % FORMS == 7 ? ANSWER_MISFIT : ANSWER_FITS);
		json_decref(kept);
	}
	json_decref(v);
}

static void test_forms__are_shared_by_threads(void **state)
{
	struct thread t[ASKERS] = {0};
	int wrong[ASKERS] = {0};

	(void)state;
	for (int i = 0; i < ASKERS; i++)
		assert_int_equal(
			thread_start(&t[i], "asker", check_forms, &wrong[i]),
			0);
	for (int i = 0; i < ASKERS; i++) {
		thread_join(&t[i]);
		assert_int_equal(wrong[i], 0);
	}
}

/* ---- what the handler reads ---- */

static enum bide_rc reads(struct bide_call *call, void *user)
{
	struct fake *f = user;
	const struct bide_answer *a = bide_answer(call, "q");
	const char *text = bide_answer_text(a);

	snprintf(f->note, sizeof(f->note), "%s|%s|%s",
		 bide_action_name(bide_answer_action(a)),
		 bide_answer_json(a) ? "json" : "none", text ? text : "-");
	return BIDE_OK;
}

static void read_as(enum store_input_kind kind, const char *answer,
		    const char *seen)
{
	struct fake *f = fake_of(reads);

	assert_int_equal(run_load_question(f->call, "q", kind, "{}",
					   RUN_Q_ANSWERED, fake_json(answer),
					   0),
			 BIDE_OK);
	fake_enter(f);
	assert_string_equal(f->note, seen);
	fake_free(f);
}

static void test_view__of_each_kind(void **state)
{
	(void)state;
	read_as(STORE_INPUT_FORM, "{\"action\":\"accept\",\"content\":{}}",
		"accepted|json|-");
	read_as(STORE_INPUT_FORM, "{\"action\":\"decline\"}",
		"declined|none|-");
	read_as(STORE_INPUT_URL, "{\"action\":\"accept\"}", "accepted|none|-");
	read_as(STORE_INPUT_SAMPLING,
		SAMPLE("{\"type\":\"text\",\"text\":\"Paris\"}"),
		"accepted|json|Paris");
	read_as(STORE_INPUT_SAMPLING,
		SAMPLE("[{\"type\":\"image\",\"data\":\"\",\"mimeType\":\"a\"},"
		       "{\"type\":\"text\",\"text\":\"b\"}]"),
		"accepted|json|b");
	read_as(STORE_INPUT_ROOTS, "{\"roots\":[]}", "accepted|json|-");
	/* Words that mean something in an elicitation only. */
	read_as(STORE_INPUT_SAMPLING,
		"{\"role\":\"assistant\",\"model\":\"m\",\"content\":{"
		"\"type\":\"text\",\"text\":\"c\"},\"action\":\"decline\","
		"\"error\":1}",
		"accepted|json|c");
	/* A client of 2025-11-25 may answer with an error. */
	read_as(STORE_INPUT_SAMPLING, "{\"error\":{\"code\":-1}}",
		"failed|none|-");
}

static void test_view__of_nothing(void **state)
{
	struct fake *f = fake_of(reads);

	(void)state;
	fake_enter(f);
	assert_string_equal(f->note, "unanswered|none|-");
	fake_free(f);
}

static enum bide_rc holds(struct bide_call *call, void *user)
{
	const struct bide_answer *first = bide_answer(call, "q");
	char key[16];

	(void)user;
	/* Borrowed until the handler returns, however many come after. */
	for (int i = 0; i < 60; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		bide_ask_roots(call, key);
	}
	assert_ptr_equal(bide_answer(call, "q"), first);
	assert_int_equal(bide_answer_action(first), BIDE_DECLINE);
	return BIDE_OK;
}

static void test_view__stays_where_it_is(void **state)
{
	struct fake *f = fake_of(holds);

	(void)state;
	assert_int_equal(
		run_load_question(f->call, "q", STORE_INPUT_FORM, "{}",
				  RUN_Q_ANSWERED,
				  fake_json("{\"action\":\"decline\"}"), 0),
		BIDE_OK);
	assert_int_equal(fake_enter(f), RUN_COMPLETE);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_form__accept_is_checked_against_its_schema),
		cmocka_unit_test(test_form__content_is_flat),
		cmocka_unit_test(test_form__content_of_a_refusal_is_dropped),
		cmocka_unit_test(test_form__action_must_be_one_of_three),
		cmocka_unit_test(test_form__schema_is_found_wherever_it_stands),
		cmocka_unit_test(test_form__larger_than_a_question_may_be),
		cmocka_unit_test(test_url__accept_needs_no_content),
		cmocka_unit_test(test_roots__are_file_uris),
		cmocka_unit_test(test_sampling__result_has_the_protocols_shape),
		cmocka_unit_test(test_needs__by_kind),
		cmocka_unit_test(test_forms__are_shared_by_threads),
		cmocka_unit_test(test_view__of_each_kind),
		cmocka_unit_test(test_view__of_nothing),
		cmocka_unit_test(test_view__stays_where_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
