/* SPDX-License-Identifier: MIT */
/* What waits, and how much of it one caller may have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "server/base/clock.h"
#include "server/base/limits.h"
#include "server/dispatch/core.h"

/* The parts of a dispatcher that waiting needs; no timer is armed here. */
static void init(struct dispatch *d, size_t max_waits)
{
	memset(d, 0, sizeof(*d));
	d->opt.max_waits_per_principal = max_waits;
	mutex_init(&d->lock, RANK_DISPATCH);
}

static void fini(struct dispatch *d)
{
	assert_null(d->first);
	pending_fini(d);
	mutex_fini(&d->lock);
}

static struct request of(const char *principal)
{
	return (struct request){.principal = principal};
}

static void test_pending__has_a_ceiling_for_each_principal(void **state)
{
	struct dispatch d;
	struct request a[3] = {of("a"), of("a"), of("a")};
	struct request b = of("b");
	struct pending pa[3] = {0};
	struct pending pb = {0};

	(void)state;
	init(&d, 2);
	assert_true(pending_add(&pa[0], &d, &a[0], PENDING_WAIT, true));
	assert_true(pending_add(&pa[1], &d, &a[1], PENDING_WAIT, true));
	assert_false(pending_add(&pa[2], &d, &a[2], PENDING_WAIT, true));
	assert_null(a[2].priv);
	assert_true(pending_add(&pb, &d, &b, PENDING_WAIT, true));
	pending_remove(&pa[0]);
	assert_null(a[0].priv);
	assert_true(pending_add(&pa[2], &d, &a[2], PENDING_WAIT, true));
	pending_remove(&pa[1]);
	pending_remove(&pa[2]);
	pending_remove(&pb);
	fini(&d);
}

/* One that runs is found, and counts once it begins to wait. */
static void test_pending__counts_what_holds_a_connection(void **state)
{
	struct dispatch d;
	struct request a[2] = {of("a"), of("a")};
	struct pending p[2] = {0};

	(void)state;
	init(&d, 1);
	assert_true(pending_add(&p[0], &d, &a[0], PENDING_CALL, false));
	assert_true(pending_add(&p[1], &d, &a[1], PENDING_CALL, false));
	assert_true(pending_count(&p[0]));
	assert_true(pending_count(&p[0])); /* only once */
	assert_false(pending_count(&p[1]));
	pending_remove(&p[0]);
	assert_true(pending_count(&p[1]));
	pending_remove(&p[1]);
	fini(&d);
}

static void test_pending__listeners_have_seats_of_their_own(void **state)
{
	struct dispatch d;
	struct request a[2] = {of("a"), of("a")};
	struct pending p[2] = {0};

	(void)state;
	init(&d, 1);
	assert_true(pending_add(&p[0], &d, &a[0], PENDING_WAIT, true));
	assert_true(pending_add(&p[1], &d, &a[1], PENDING_LISTEN, true));
	pending_remove(&p[0]);
	pending_remove(&p[1]);
	fini(&d);
}

/* A connection that closed while its call became a task is not forgotten. */
static void test_pending__a_successor_knows_what_happened(void **state)
{
	struct dispatch d;
	struct request a = of("a");
	struct pending old = {0};
	struct pending new = {0};

	(void)state;
	init(&d, 1);
	assert_true(pending_add(&old, &d, &a, PENDING_CALL, true));
	pending_close(&d, &a);
	assert_true(pending_closed(&old));
	pending_replace(&old, &new, PENDING_WAIT);
	assert_ptr_equal(a.priv, &new);
	assert_true(pending_closed(&new));
	assert_true(pending_count(&new)); /* the seat came along */
	pending_remove(&new);
	/* Nothing is waiting any more: closing is nothing. */
	pending_close(&d, &a);
	fini(&d);
}

/* ---- what a request says of itself ---- */
static void test_digest__is_of_the_canonical_arguments(void **state)
{
	struct request a = of("a");
	struct request b = of("a");
	struct request none = of("a");

	(void)state;
	a.params = json_pack("{s:{s:i,s:f}}", "arguments", "x", 1, "y", 2.0);
	b.params = json_pack("{s:{s:i,s:i}}", "arguments", "y", 2, "x", 1);
	none.params = json_object();
	assert_string_equal(request_args_digest(&a), request_args_digest(&b));
	assert_string_not_equal(request_args_digest(&a),
				request_args_digest(&none));
	json_decref(b.params);
	b.params = json_pack("{s:{}}", "arguments");
	b.args_digest[0] = '\0';
	assert_string_equal(request_args_digest(&b),
			    request_args_digest(&none));
	json_decref(a.params);
	json_decref(b.params);
	json_decref(none.params);
}

/* F14. */
static void test_responses__are_an_object_of_objects(void **state)
{
	json_t *good = json_pack("{s:{s:s}}", "k", "action", "cancel");
	json_t *scalar = json_pack("{s:i}", "k", 1);
	json_t *array = json_array();

	(void)state;
	assert_true(request_responses_valid(NULL));
	assert_true(request_responses_valid(good));
	assert_false(request_responses_valid(scalar));
	assert_false(request_responses_valid(array));
	json_decref(good);
	json_decref(scalar);
	json_decref(array);
}

static void test_methods__are_those_of_what_is_offered(void **state)
{
	struct registry *r = registry_new();
	struct dispatch d = {.opt.registry = r};

	(void)state;
	assert_true(dispatch_knows(&d, "subscriptions/listen"));
	assert_true(dispatch_knows(&d, "tasks/get"));
	assert_false(dispatch_knows(&d, "tools/call"));
	assert_int_equal(dispatch_add_tools(r, NULL), BIDE_OK);
	assert_true(dispatch_knows(&d, "tools/call"));
	assert_false(dispatch_knows(&d, "prompts/get"));
	assert_false(dispatch_knows(&d, "resources/list"));
	assert_false(dispatch_knows(&d, "completion/complete"));
	assert_false(dispatch_knows(&d, "tasks/list"));
	assert_false(dispatch_knows(&d, "tools"));
	assert_false(dispatch_knows(&d, ""));
	registry_free(r);
}

/* S71: as many as LIMIT_COMPLETION_BURST at once, then at its rate. */
static void test_completions__of_one_principal_have_a_rate(void **state)
{
	const int64_t now = clock_boot_ms();
	struct dispatch d;
	int i;

	(void)state;
	init(&d, 1);
	for (i = 0; i < LIMIT_COMPLETION_BURST; i++)
		assert_true(pending_may_complete(&d, "a", now));
	assert_false(pending_may_complete(&d, "a", now));
	assert_true(pending_may_complete(&d, "b", now));
	for (i = 0; i < LIMIT_COMPLETION_RATE; i++)
		assert_true(pending_may_complete(&d, "a", now + 1000));
	assert_false(pending_may_complete(&d, "a", now + 1000));
	/* Who rested may do as much again, and no more. */
	for (i = 0; i < LIMIT_COMPLETION_BURST; i++)
		assert_true(pending_may_complete(&d, "a", now + 3600000));
	assert_false(pending_may_complete(&d, "a", now + 3600000));
	fini(&d);
}

static struct seat *seats(const struct dispatch *d)
{
	struct seat *one = NULL;
	size_t i;

	for (i = 0; i < 256; i++)
		one = d->seats[i] != NULL ? d->seats[i] : one;
	return one;
}

/* Nothing is kept of a principal whose rate is whole again. */
static void test_completions__leave_nothing_behind(void **state)
{
	struct dispatch d;
	struct request a = of("a");
	struct pending p = {0};

	(void)state;
	init(&d, 1);
	assert_true(pending_may_complete(&d, "a", clock_boot_ms() - 1000));
	assert_non_null(seats(&d));
	assert_true(pending_add(&p, &d, &a, PENDING_WAIT, true));
	pending_remove(&p);
	assert_null(seats(&d));
	fini(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_pending__has_a_ceiling_for_each_principal),
		cmocka_unit_test(test_pending__counts_what_holds_a_connection),
		cmocka_unit_test(
			test_pending__listeners_have_seats_of_their_own),
		cmocka_unit_test(test_pending__a_successor_knows_what_happened),
		cmocka_unit_test(test_digest__is_of_the_canonical_arguments),
		cmocka_unit_test(test_responses__are_an_object_of_objects),
		cmocka_unit_test(test_methods__are_those_of_what_is_offered),
		cmocka_unit_test(
			test_completions__of_one_principal_have_a_rate),
		cmocka_unit_test(test_completions__leave_nothing_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
