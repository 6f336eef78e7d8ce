/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "server/admin/ops.h"
#include "tests/unit/admin/lib/scene.h"

#define ID_A "aaaaaaaaaaaaaaaaaaaa1111"
#define ID_B "aaaaaaaaaaaaaaaaaaaa2222"
#define ID_C "cccccccccccccccccccc3333"
#define ASK  "environment-1"

static struct store_task *find(struct scene *sc, const char *id)
{
	struct bide_error err = {0};
	struct store_task *t = NULL;

	if (ops_find(sc->s, id, STORE_GET_OPEN_INPUTS, &t, &err) != BIDE_OK)
		fail_msg("ops_find: %s", err.text);
	return t;
}

static enum bide_rc answer(struct scene *sc, const struct store_task *t,
			   const char *key, const char *json,
			   struct bide_error *err)
{
	json_t *response = json_loads(json, JSON_DECODE_ANY, NULL);
	enum bide_rc rc;

	assert_non_null(response);
	rc = ops_answer(sc->s, t, key, response, "tester", err);
	json_decref(response);
	return rc;
}

/* What stands in the database as the answer to its only question. */
static void assert_answered(struct scene *sc, const char *id, const char *json)
{
	struct store_task *t = scene_look(sc, id);

	assert_int_equal(t->ninputs, 1);
	assert_int_equal(t->inputs[0].state, STORE_INPUT_ANSWERED);
	assert_string_equal(t->inputs[0].answer, json);
	assert_string_equal(t->inputs[0].by, "tester");
	assert_int_equal(t->state, STORE_READY);
	store_task_free(t);
}

static void test_find__an_id_may_be_cut_while_it_is_unique(void **state)
{
	struct scene *sc = *state;
	struct bide_error err = {0};
	struct store_task *t = NULL;

	scene_ready(sc, ID_A, "t");
	scene_ready(sc, ID_B, "t");
	scene_ready(sc, ID_C, "t");
	t = find(sc, "c");
	assert_string_equal(t->token, ID_C);
	store_task_free(t);
	t = find(sc, ID_B);
	assert_string_equal(t->token, ID_B);
	store_task_free(t);
	assert_int_equal(ops_find(sc->s, "aaaa", 0, &t, &err), BIDE_CONFLICT);
	assert_int_equal(ops_find(sc->s, "x", 0, &t, &err), BIDE_NOT_FOUND);
	assert_int_equal(ops_find(sc->s, "", 0, &t, &err), BIDE_NOT_FOUND);
	assert_non_null(strstr(err.text, "tasks list"));
}

static void test_list__shows_what_has_not_ended_unless_asked(void **state)
{
	struct scene *sc = *state;
	struct store_fence f = scene_running(sc, ID_A, "alice");
	struct ops_filter live = {.limit = 10};
	struct ops_filter all = {.limit = 10, .all = true};
	struct ops_filter bobs = {.limit = 10, .all = true, .principal = "bob"};
	struct ops_filter one = {.limit = 1, .all = true};
	struct store_task **list = NULL;
	size_t n = 0;
	bool more = true;

	scene_finish(sc, &f, STORE_COMPLETED, "{}");
	(void)scene_running(sc, ID_B, "bob");
	assert_int_equal(ops_list(sc->s, &live, &list, &n, &more, NULL),
			 BIDE_OK);
	assert_int_equal(n, 1);
	assert_false(more);
	store_list_free(list, n);
	assert_int_equal(ops_list(sc->s, &all, &list, &n, &more, NULL),
			 BIDE_OK);
	assert_int_equal(n, 2);
	store_list_free(list, n);
	assert_int_equal(ops_list(sc->s, &bobs, &list, &n, &more, NULL),
			 BIDE_OK);
	assert_int_equal(n, 1);
	store_list_free(list, n);
	assert_int_equal(ops_list(sc->s, &one, &list, &n, &more, NULL),
			 BIDE_OK);
	assert_int_equal(n, 1);
	assert_true(more);
	store_list_free(list, n);
}

static void test_cancel__ends_the_task(void **state)
{
	struct scene *sc = *state;
	struct store_task *t;
	struct bide_error err = {0};

	scene_waiting(sc, ID_A, ASK, SCENE_FORM);
	t = find(sc, ID_A);
	assert_int_equal(ops_cancel(sc->s, t, "tester", &err), BIDE_OK);
	/* Again, with what was seen before: it has ended. */
	assert_int_equal(ops_cancel(sc->s, t, "tester", &err), BIDE_CONFLICT);
	assert_non_null(strstr(err.text, "ended"));
	store_task_free(t);
	t = scene_look(sc, ID_A);
	assert_int_equal(t->state, STORE_CANCELLED);
	store_task_free(t);
}

/* The fence of steering: between the look and the move the task was answered
 * and claimed. */
static void test_cancel__a_task_that_moved_meanwhile_is_let_be(void **state)
{
	struct scene *sc = *state;
	struct store_fence f;
	struct store_task *seen;
	struct store_task *t;
	struct bide_error err = {0};
	struct store_op op;

	scene_ready(sc, ID_A, "t");
	seen = find(sc, ID_A);
	store_op_init(&op, STORE_OP_CLAIM, 10000);
	op.u.claim.n = 1;
	op.u.claim.ret_fences = &f;
	assert_int_equal(store_run(sc->s, &op), BIDE_OK);
	assert_int_equal(op.u.claim.ret_n, 1);
	assert_int_equal(ops_cancel(sc->s, seen, "tester", &err),
			 BIDE_CONFLICT);
	assert_non_null(strstr(err.text, "moved since"));
	t = scene_look(sc, ID_A);
	assert_int_equal(t->state, STORE_RUNNING);
	store_task_free(t);
	store_task_free(seen);
}

static void test_answer__must_fit_the_question(void **state)
{
	struct scene *sc = *state;
	struct store_task *t;
	struct bide_error err = {0};

	scene_waiting(sc, ID_A, ASK, SCENE_FORM);
	t = find(sc, ID_A);
	assert_int_equal(answer(sc, t, ASK, "{\"environment\":\"mars\"}", &err),
			 BIDE_INVALID);
	assert_non_null(strstr(err.text, "does not fit"));
	assert_int_equal(answer(sc, t, "nope", "{}", &err), BIDE_INVALID);
	assert_non_null(strstr(err.text, ASK));
	assert_int_equal(answer(sc, t, ASK,
				"{\"action\":\"accept\",\"content\":"
				"{\"environment\":\"staging\"}}",
				&err),
			 BIDE_OK);
	assert_answered(sc, ID_A,
			"{\"action\":\"accept\",\"content\":"
			"{\"environment\":\"staging\"}}");
	/* Answered once: the second changes nothing. */
	assert_int_equal(
		answer(sc, t, ASK, "{\"environment\":\"production\"}", &err),
		BIDE_CONFLICT);
	store_task_free(t);
}

static void test_answer__a_forms_content_is_enough(void **state)
{
	struct scene *sc = *state;
	struct store_task *t;

	scene_waiting(sc, ID_A, ASK, SCENE_FORM);
	t = find(sc, ID_A);
	assert_int_equal(
		answer(sc, t, ASK, "{\"environment\":\"staging\"}", NULL),
		BIDE_OK);
	assert_answered(sc, ID_A,
			"{\"action\":\"accept\",\"content\":"
			"{\"environment\":\"staging\"}}");
	store_task_free(t);
}

static void test_answer__a_form_may_have_a_field_called_action(void **state)
{
	struct scene *sc = *state;
	struct store_task *t;

	scene_waiting(sc, ID_A, ASK, SCENE_ACTION_FORM);
	t = find(sc, ID_A);
	assert_int_equal(answer(sc, t, ASK, "{\"action\":\"skip\"}", NULL),
			 BIDE_OK);
	assert_answered(sc, ID_A,
			"{\"action\":\"accept\",\"content\":"
			"{\"action\":\"skip\"}}");
	store_task_free(t);
}

static void test_answer__decline_is_a_word(void **state)
{
	struct scene *sc = *state;
	struct store_task *t;

	scene_waiting(sc, ID_A, ASK, SCENE_FORM);
	t = find(sc, ID_A);
	assert_int_equal(answer(sc, t, ASK, "\"decline\"", NULL), BIDE_OK);
	assert_answered(sc, ID_A, "{\"action\":\"decline\"}");
	store_task_free(t);
}

static void test_expire__wakes_the_handler(void **state)
{
	struct scene *sc = *state;
	struct store_task *t;
	struct bide_error err = {0};

	scene_waiting(sc, ID_A, ASK, SCENE_FORM);
	t = find(sc, ID_A);
	assert_int_equal(ops_expire(sc->s, t, "tester", &err), BIDE_OK);
	store_task_free(t);
	t = scene_look(sc, ID_A);
	assert_int_equal(t->state, STORE_READY);
	assert_int_equal(t->inputs[0].state, STORE_INPUT_EXPIRED);
	assert_int_equal(ops_expire(sc->s, t, "tester", &err), BIDE_INVALID);
	store_task_free(t);
}

static void test_retry__is_for_what_failed(void **state)
{
	struct scene *sc = *state;
	struct store_fence f = scene_running(sc, ID_A, "alice");
	struct store_task *t = find(sc, ID_A);
	struct bide_error err = {0};

	assert_int_equal(ops_retry(sc->s, t, "tester", &err), BIDE_INVALID);
	store_task_free(t);
	scene_finish(sc, &f, STORE_FAILED,
		     "{\"code\":-32603,\"message\":\"no\"}");
	t = find(sc, ID_A);
	assert_int_equal(ops_retry(sc->s, t, "tester", &err), BIDE_OK);
	store_task_free(t);
	t = scene_look(sc, ID_A);
	assert_int_equal(t->state, STORE_READY);
	store_task_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scene_test(test_find__an_id_may_be_cut_while_it_is_unique),
		scene_test(test_list__shows_what_has_not_ended_unless_asked),
		scene_test(test_cancel__ends_the_task),
		scene_test(test_cancel__a_task_that_moved_meanwhile_is_let_be),
		scene_test(test_answer__must_fit_the_question),
		scene_test(test_answer__a_forms_content_is_enough),
		scene_test(test_answer__a_form_may_have_a_field_called_action),
		scene_test(test_answer__decline_is_a_word),
		scene_test(test_expire__wakes_the_handler),
		scene_test(test_retry__is_for_what_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
