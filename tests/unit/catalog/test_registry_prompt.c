/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "server/base/limits.h"
#include "tests/unit/catalog/lib/registering.h"

static void refused(void **state, struct bide_prompt def, enum bide_rc rc,
		    const char *text)
{
	struct bide_error e = {0};

	assert_int_equal(registry_add_prompt(*state, &def, &e), rc);
	says(&e, text);
	assert_int_equal(registry_prompts(*state), 0);
}

static void accepted(void **state, struct bide_prompt def)
{
	struct bide_error e = {0};

	is_accepted(registry_add_prompt(*state, &def, &e), &e);
}

#define NAMED(n, ...)                                                          \
	((struct bide_prompt){BIDE_PROMPT, .name = n, .handler = nop,          \
			      __VA_ARGS__})
#define PROMPT(...) NAMED("p", __VA_ARGS__)
#define ARGS(...)                                                              \
	.args = (const struct bide_prompt_arg[]){__VA_ARGS__},                 \
	.n_args = sizeof((struct bide_prompt_arg[]){__VA_ARGS__}) /            \
		  sizeof(struct bide_prompt_arg)

static void test_prompt__is_checked(void **state)
{
	refused(state, NAMED(NULL, .title = NULL), BIDE_INVALID, "no name");
	refused(state, NAMED("a b", .title = NULL), BIDE_INVALID, "at 1");
	refused(state, (struct bide_prompt){BIDE_PROMPT, .name = "p"},
		BIDE_INVALID, "handler");
	refused(state, (struct bide_prompt){.name = "p", .handler = nop},
		BIDE_INVALID, "size");
	refused(state, PROMPT(.title = "\xff"), BIDE_INVALID, "title");
	refused(state, PROMPT(.description = "\xff"), BIDE_INVALID,
		"description");
	refused(state, PROMPT(.icons = "[{}]"), BIDE_INVALID, "src");
	refused(state, PROMPT(.needs = 1U << 20), BIDE_INVALID, "needs");
	refused(state, PROMPT(.max_run_ms = -1), BIDE_INVALID, "max_run_ms");
	refused(state, PROMPT(.input_deadline_ms = -1), BIDE_INVALID,
		"input_deadline_ms");
	refused(state, PROMPT(.wait_budget_ms = -2), BIDE_INVALID,
		"wait_budget_ms");
	accepted(state, PROMPT(.wait_budget_ms = -1));
}

static void test_arguments__are_checked(void **state)
{
	static const struct bide_prompt_arg many[LIMIT_PROMPT_ARGS + 1];

	refused(state, PROMPT(ARGS({.name = "a"}, {.title = "x"})),
		BIDE_INVALID, "argument 1 has no name");
	refused(state, PROMPT(ARGS({.name = ""})), BIDE_INVALID, "no name");
	refused(state,
		PROMPT(ARGS({.name = "a"}, {.name = "b"}, {.name = "a"})),
		BIDE_INVALID, "named \"a\"");
	refused(state, PROMPT(ARGS({.name = "\xff"})), BIDE_INVALID, "UTF-8");
	refused(state, PROMPT(ARGS({.name = "a", .title = "\xff"})),
		BIDE_INVALID, "title");
	refused(state, PROMPT(ARGS({.name = "a", .description = "\xff"})),
		BIDE_INVALID, "description");
	refused(state, PROMPT(.n_args = 1), BIDE_INVALID, "args");
	refused(state,
		PROMPT(.args = many, .n_args = sizeof(many) / sizeof(*many)),
		BIDE_LIMIT, "LIMIT_PROMPT_ARGS");
}

static void test_prompt__everything_is_copied(void **state)
{
	char name[] = "gone";
	char arg[] = "who";
	char about[] = "whom to greet";
	struct bide_prompt_arg args[] = {
		{.name = arg, .description = about, .required = true}};
	int user = 7;
	const struct prompt *p = NULL;

	accepted(state, NAMED(name, .args = args, .n_args = 1, .user = &user,
			      .needs = BIDE_CAN_SAMPLE, .runs_inline = true));
	memset(name, 0, sizeof(name));
	memset(arg, 0, sizeof(arg));
	memset(about, 0, sizeof(about));
	memset(args, 0, sizeof(args));
	p = registry_prompt(*state, "gone");
	assert_non_null(p);
	assert_string_equal(p->def.args[0].name, "who");
	assert_string_equal(p->def.args[0].description, "whom to greet");
	assert_true(p->def.args[0].required);
	assert_int_equal(p->target.kind, TARGET_PROMPT);
	assert_string_equal(p->target.name, "gone");
	assert_ptr_equal(p->target.user, &user);
	assert_int_equal(p->target.needs, BIDE_CAN_SAMPLE);
	assert_true(p->target.runs_inline);
	assert_int_equal(p->target.mode, BIDE_EPHEMERAL);
	assert_ptr_equal(target_prompt(&p->target), p);
}

static void test_listing__has_all_members(void **state)
{
	accepted(state,
		 NAMED("x", .title = "T", .description = "D",
		       .icons = "[{\"src\":\"data:,\",\n\"theme\":\"dark\"}]",
		       ARGS({.name = "a",
			     .title = "A",
			     .description = "about",
			     .required = true},
			    {.name = "b"})));
	assert_string_equal(
		registry_prompt(*state, "x")->listing,
		"{\"name\":\"x\",\"title\":\"T\",\"description\":\"D\","
		"\"arguments\":[{\"name\":\"a\",\"title\":\"A\","
		"\"description\":\"about\",\"required\":true},"
		"{\"name\":\"b\"}],"
		"\"icons\":[{\"src\":\"data:,\", \"theme\":\"dark\"}]}");
	/* The official suite wants a description of each. */
	accepted(state, NAMED("y", .title = NULL));
	assert_string_equal(registry_prompt(*state, "y")->listing,
			    "{\"name\":\"y\",\"description\":\"\","
			    "\"arguments\":[]}");
	assert_int_equal(registry_prompt(*state, "y")->listing_len,
			 strlen(registry_prompt(*state, "y")->listing));
	assert_int_equal(registry_prompt(*state, "y")->index, 1);
}

static void test_size__of_other_versions(void **state)
{
	struct {
		struct bide_prompt p;
		long later;
	} big = {.p = NAMED("big", .title = NULL), .later = 0};
	struct bide_prompt small = NAMED("small", .max_run_ms = -5);

	small.size = offsetof(struct bide_prompt, max_run_ms);
	accepted(state, small); /* what lies behind its size is not read */
	big.p.size = sizeof(big);
	assert_int_equal(registry_add_prompt(*state, &big.p, NULL), BIDE_OK);
	big.later = 1;
	assert_int_equal(registry_add_prompt(*state, &big.p, NULL),
			 BIDE_INVALID);
}

static void test_prompts__are_found_by_name(void **state)
{
	struct bide_prompt def = NAMED("a", .complete = suggest);

	assert_null(registry_prompt(*state, "a"));
	assert_false(registry_completes(*state));
	accepted(state, NAMED("b", .title = NULL));
	assert_false(registry_completes(*state));
	accepted(state, def);
	assert_true(registry_completes(*state));
	assert_int_equal(registry_add_prompt(*state, &def, NULL),
			 BIDE_CONFLICT);
	assert_int_equal(registry_prompts(*state), 2);
	assert_string_equal(registry_prompt(*state, "b")->def.name, "b");
	assert_null(registry_prompt(*state, "c"));
	/* Tools have names of their own. */
	assert_null(registry_tool(*state, "a"));
}

static void test_prompts__have_a_ceiling(void **state)
{
	char name[32];
	struct bide_error e = {0};
	struct bide_prompt def = NAMED(name, .title = NULL);

	for (int i = 0; i < LIMIT_PROMPTS; i++) {
		(void)snprintf(name, sizeof(name), "p%d", i);
		assert_int_equal(registry_add_prompt(*state, &def, NULL),
				 BIDE_OK);
	}
	(void)snprintf(name, sizeof(name), "more");
	assert_int_equal(registry_add_prompt(*state, &def, &e), BIDE_LIMIT);
	assert_non_null(strstr(e.text, "LIMIT_PROMPTS"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_prompt__is_checked),
		T(test_arguments__are_checked),
		T(test_prompt__everything_is_copied),
		T(test_listing__has_all_members),
		T(test_size__of_other_versions),
		T(test_prompts__are_found_by_name),
		T(test_prompts__have_a_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
