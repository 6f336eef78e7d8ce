/* SPDX-License-Identifier: MIT */
/* What may be asked of a client's model: client/sampling. */
#include "tests/unit/handler/lib/fake.h"

static enum bide_rc asks_sampling(struct bide_call *call, void *user)
{
	BIDE_TRY(bide_ask_sampling(call, "s",
				   fake_json(((struct fake *)user)->data)));
	return bide_await(call);
}

#define MESSAGES                                                               \
	"\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","     \
	"\"text\":\"Hi\"}}],\"maxTokens\":10"

static enum run_left sampled(const char *params, unsigned can,
			     unsigned *ret_missing)
{
	struct fake *f = fake_of(asks_sampling);
	char copy[2048];
	enum run_left left;

	snprintf(copy, sizeof(copy), "%s", params);
	f->data = copy;
	f->caller.can = can;
	fake_call(f);
	left = fake_enter(f);
	*ret_missing = f->result.missing;
	fake_free(f);
	return left;
}

/* S23. */
static void test_sampling__needs_what_it_uses(void **state)
{
	unsigned missing = 0;

	(void)state;
	assert_int_equal(sampled("{" MESSAGES "}", 0, &missing),
			 RUN_NO_CAPABILITY);
	assert_int_equal(missing, BIDE_CAN_SAMPLE);
	assert_int_equal(sampled("{" MESSAGES "}", BIDE_CAN_SAMPLE, &missing),
			 RUN_NEEDS_INPUT);
	assert_int_equal(sampled("{" MESSAGES ",\"tools\":[]}", BIDE_CAN_SAMPLE,
				 &missing),
			 RUN_NO_CAPABILITY);
	assert_int_equal(missing, BIDE_CAN_SAMPLE_TOOLS);
	assert_int_equal(sampled("{" MESSAGES ",\"includeContext\":\"none\"}",
				 BIDE_CAN_SAMPLE, &missing),
			 RUN_NEEDS_INPUT);
	assert_int_equal(sampled("{" MESSAGES
				 ",\"includeContext\":\"thisServer\"}",
				 BIDE_CAN_SAMPLE, &missing),
			 RUN_NO_CAPABILITY);
	assert_int_equal(missing, BIDE_CAN_SAMPLE_CONTEXT);
	assert_int_equal(
		sampled("{" MESSAGES ",\"toolChoice\":{}}", CAN_ALL, &missing),
		RUN_NEEDS_INPUT);
}

/* ---- the params ---- */
#define PARAMS(messages)    "{\"messages\":[" messages "],\"maxTokens\":1}"
#define SAYS(role, content) "{\"role\":\"" role "\",\"content\":" content "}"
#define TEXT                "{\"type\":\"text\",\"text\":\"x\"}"
#define USES(id)                                                               \
	"{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"t\",\"input\":{}}"
#define GIVES(id)                                                              \
	"{\"type\":\"tool_result\",\"toolUseId\":\"" id "\",\"content\":[]}"
#define ASKED     SAYS("user", TEXT)
#define USES_ONE  SAYS("assistant", "[" USES("1") "]")
#define USES_TWO  SAYS("assistant", "[" USES("1") "," USES("2") "]")
#define GIVES_ONE SAYS("user", "[" GIVES("1") "]")

static void refused(const char *params)
{
	unsigned missing = 0;

	if (sampled(params, CAN_ALL, &missing) != RUN_ERROR)
		fail_msg("not refused: %s", params);
}

static void taken(const char *params)
{
	unsigned missing = 0;

	if (sampled(params, CAN_ALL, &missing) != RUN_NEEDS_INPUT)
		fail_msg("refused: %s", params);
}

static void test_params__have_the_protocols_shape(void **state)
{
	(void)state;
	refused("[]");
	refused("{}");
	refused(PARAMS(""));
	refused("{\"messages\":[" ASKED "]}");
	refused("{\"messages\":[" ASKED "],\"maxTokens\":0}");
	refused(PARAMS(SAYS("system", TEXT)));
	refused(PARAMS(SAYS("user", "\"x\"")));
	refused(PARAMS(SAYS("user", "{\"type\":\"image\",\"data\":\"\"}")));
	refused(PARAMS(SAYS("user", "{\"type\":\"resource_link\",\"uri\":"
				    "\"a:b\",\"name\":\"b\"}")));
	taken(PARAMS(ASKED));
	taken(PARAMS(SAYS("user", "[" TEXT "," TEXT "]")));
}

/* S33: each tool_use has its tool_result before anything else. */
static void test_tool_use__is_answered_first(void **state)
{
	(void)state;
	refused(PARAMS(ASKED "," USES_ONE));
	refused(PARAMS(USES_ONE "," ASKED));
	refused(PARAMS(USES_ONE "," ASKED "," GIVES_ONE));
	refused(PARAMS(USES_ONE "," USES_ONE "," GIVES_ONE));
	refused(PARAMS(USES_ONE "," SAYS("user", "[" GIVES("2") "]")));
	refused(PARAMS(USES_TWO "," GIVES_ONE));
	refused(PARAMS(USES_TWO "," GIVES_ONE
				"," SAYS("user", "[" GIVES("2") "]")));
	taken(PARAMS(ASKED "," USES_ONE "," GIVES_ONE));
	taken(PARAMS(USES_ONE "," GIVES_ONE "," ASKED));
	taken(PARAMS(USES_TWO
		     "," SAYS("user", "[" GIVES("2") "," GIVES("1") "]")));
	taken(PARAMS(
		SAYS("assistant", USES("1")) "," SAYS("user", GIVES("1"))));
}

/* S33: and such a message holds nothing else, and is the user's. */
static void test_tool_results__stand_alone(void **state)
{
	(void)state;
	refused(PARAMS(USES_ONE "," SAYS("user", "[" GIVES("1") "," TEXT "]")));
	refused(PARAMS(USES_ONE "," SAYS("assistant", "[" GIVES("1") "]")));
	refused(PARAMS(SAYS("user", "[" USES("1") "]") "," GIVES_ONE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sampling__needs_what_it_uses),
		cmocka_unit_test(test_params__have_the_protocols_shape),
		cmocka_unit_test(test_tool_use__is_answered_first),
		cmocka_unit_test(test_tool_results__stand_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
