/* SPDX-License-Identifier: MIT */
#include "tests/unit/protocol/lib/asking.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bide/content.h"

#define WAIT_MS 20000

atomic_int asking_entries;
atomic_int asking_ended;

enum bide_rc asking_greet(struct bide_call *call, void *user)
{
	const struct bide_answer *a;

	(void)user;
	atomic_fetch_add(&asking_entries, 1);
	(void)bide_ask_form(call, "who", "Who?", NAME_FORM);
	BIDE_TRY(bide_await(call));
	a = bide_answer(call, "who");
	if (bide_answer_action(a) != BIDE_ACCEPT)
		return bide_text(call, "%s",
				 bide_action_name(bide_answer_action(a)));
	return bide_text(call, "Hello, %s!", bide_answer_string(a, "name"));
}

enum bide_rc asking_wait(struct bide_call *call, void *user)
{
	(void)user;
	atomic_fetch_add(&asking_entries, 1);
	while (!bide_cancelled(call))
		(void)usleep(1000);
	atomic_fetch_add(&asking_ended, 1);
	return BIDE_CANCELLED;
}

void asking_await_entry(int before)
{
	int i;

	for (i = 0; atomic_load(&asking_entries) == before && i < WAIT_MS; i++)
		(void)usleep(1000);
	assert_int_not_equal(atomic_load(&asking_entries), before);
}

char *asking_state(struct fake *f, const char *key)
{
	char path[80];
	char *state;

	assert_int_equal(f->status, 200);
	assert_string_equal(fake_string(f, "result/resultType"),
			    "input_required");
	(void)snprintf(path, sizeof(path), "result/inputRequests/%s/method",
		       key);
	assert_string_equal(fake_string(f, path), "elicitation/create");
	state = strdup(fake_string(f, "result/requestState"));
	fake_free(f);
	return state;
}
