/* SPDX-License-Identifier: MIT */
#include "lib/contract.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Two handles on one database: two instances. */
struct pair {
	struct contract c;
	struct store *a, *b;
};

static const char *const tools[] = {"t", "u"};

static int setup(void **state)
{
	struct pair *p = calloc(1, sizeof *p);
	struct bide_error err = {0};

	contract_make(&p->c);
	p->a = contract_open(&p->c);
	p->b = contract_open(&p->c);
	if (store_join(p->a, tools, 2, "a", &err) != BIDE_OK ||
	    store_join(p->b, tools, 2, "b", &err) != BIDE_OK)
		fail_msg("store_join: %s", err.text);
	*state = p;
	return 0;
}

/* Claims that a test left are given up, or closing would leave them be. */
static int teardown(void **state)
{
	struct pair *p = *state;
	struct store_op op;

	for (int i = 0; i < 2; i++) {
		store_op_init(&op, STORE_OP_REAP, DRAW_MS);
		op.u.reap.instance = store_instance(i ? p->b : p->a);
		store_run(p->a, &op);
	}
	store_close(p->a, 1000);
	store_close(p->b, 1000);
	contract_remove(&p->c);
	free(p);
	return 0;
}

static void test_task__lives_from_create_to_finish(void **state)
{
	struct pair *p = *state;
	struct store_fence f;
	struct store_task *t;

	make_task(p->a, "one");
	f = claim_one(p->b);
	assert_int_equal(step_one(p->b, &f, "plan", "42"), STORE_OK);
	assert_int_equal(park_on(p->b, &f, "env"), STORE_PARKED);
	t = look(p->a, "one");
	assert_int_equal(t->state, STORE_WAITING);
	assert_int_equal(t->open, 1);
	assert_int_equal(t->ninputs, 1);
	assert_string_equal(t->inputs[0].wire_key, "env");
	assert_int_equal(t->nsteps, 1);
	assert_string_equal(t->steps[0].result, "42");
	store_task_free(t);
	assert_int_equal(answer_one(p->a, "one", "env", "{\"x\":1}"),
			 STORE_ACCEPTED);
	f = claim_one(p->a);
	assert_int_equal(f.epoch, 2);
	assert_int_equal(finish_with(p->a, &f, "{\"ok\":true}"), STORE_OK);
	t = look(p->b, "one");
	assert_int_equal(t->state, STORE_COMPLETED);
	assert_string_equal(t->payload, "{\"ok\":true}");
	assert_string_equal(t->inputs[0].answer, "{\"x\":1}");
	assert_string_equal(t->args, "{\"a\":1}");
	store_task_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_task__lives_from_create_to_finish, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
