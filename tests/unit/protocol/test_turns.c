/* SPDX-License-Identifier: MIT */
/* How many lists and completions of one caller run at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "bide/content.h"
#include "server/base/limits.h"
#include "tests/unit/protocol/lib/fake_exchange.h"

#define MANY 8 /* more than there are threads for calls */

/* The functions wait here until they are let go. */
static struct {
	struct mutex lock;
	struct cond more;
	bool open;
	int entered;
} gate;

static void gate_pass(void)
{
	mutex_lock(&gate.lock);
	gate.entered++;
	cond_broadcast(&gate.more);
	while (!gate.open)
		cond_wait(&gate.more, &gate.lock);
	mutex_unlock(&gate.lock);
}

static void gate_open(bool open)
{
	mutex_lock(&gate.lock);
	gate.open = open;
	gate.entered = 0;
	cond_broadcast(&gate.more);
	mutex_unlock(&gate.lock);
}

static int gate_entered(int least)
{
	int n;

	mutex_lock(&gate.lock);
	while (gate.entered < least)
		cond_wait(&gate.more, &gate.lock);
	n = gate.entered;
	mutex_unlock(&gate.lock);
	return n;
}

static enum bide_rc suggest(struct bide_completion *c, void *user)
{
	(void)user;
	gate_pass();
	return bide_complete_add(c, "x");
}

static enum bide_rc list(struct bide_list *l, void *user)
{
	(void)l;
	(void)user;
	gate_pass();
	return BIDE_OK;
}

static enum bide_rc says(struct bide_call *call, void *user)
{
	(void)user;
	return bide_text(call, "here");
}

static void add(struct registry *r)
{
	wire_template(
		r, (struct bide_resource){BIDE_RESOURCE, .uri = "test://{x}",
					  .name = "x", .handler = says,
					  .list = list, .complete = suggest});
	wire_tool(r, (struct bide_tool){BIDE_TOOL, .name = "says",
					.handler = says});
}

static struct fake *ask(struct wire *w, size_t i)
{
	return fake_post(
		w,
		i % 2 == 0
			? (struct post){.method = "resources/list",
					.principal = "eager"}
			: (struct post){
				  .method = "completion/complete",
				  .principal = "eager",
				  .params = "{\"ref\":{\"type\":\"ref/"
					    "resource\",\"uri\":\"test://{x}\"}"
					    ",\"argument\":{\"name\":\"x\","
					    "\"value\":\"\"}}"});
}

/* A thread for calls is left, whatever one caller asks for. */
static void test_turns__leave_room_for_others(void **state)
{
	struct wire *w = wire_new(NULL, add);
	struct fake *f[MANY];
	struct fake *other;

	(void)state;
	gate_open(false);
	for (size_t i = 0; i < MANY; i++)
		f[i] = ask(w, i);
	assert_int_equal(gate_entered(LIMIT_LOOKUPS_AT_ONCE),
			 LIMIT_LOOKUPS_AT_ONCE);
	other = fake_call(w, (struct post){.method = "tools/call",
					   .tool = "says",
					   .principal = "other"});
	assert_string_equal(fake_text(other), "here");
	fake_free(other);
	assert_int_equal(gate_entered(0), LIMIT_LOOKUPS_AT_ONCE);
	gate_open(true);
	for (size_t i = 0; i < MANY; i++) {
		fake_wait(f[i]);
		assert_int_equal(fake_error(f[i]), 0);
		fake_free(f[i]);
	}
	wire_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns__leave_room_for_others),
	};
	int rc;

	mutex_init(&gate.lock, RANK_LEAF);
	cond_init(&gate.more);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	cond_fini(&gate.more);
	mutex_fini(&gate.lock);
	return rc;
}
