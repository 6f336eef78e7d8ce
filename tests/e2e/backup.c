/* SPDX-License-Identifier: MIT */
/* A backup made while an instance runs is served and goes on where it was. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/e2e/lib/client.h"
#include "tests/e2e/lib/server.h"

static void test_backup__is_served_and_goes_on(void **unused)
{
	struct scratch *old = scratch_new();
	struct scratch *copy = scratch_new();
	struct server *v = server_start(old, NULL);
	struct ask a = {.url = v->url};
	struct reply *r = tool(&a, "approve", NULL);
	const char *const args[] = {"backup", copy->db, "--db", old->db, NULL};
	struct reply *s;
	struct stat st;

	(void)unused;
	assert_non_null(asked(r, "approval"));
	assert_int_equal(run_fixture(args, NULL), 0);
	assert_int_equal(stat(copy->db, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	/* a name that is taken is refused, and nothing is lost */
	assert_int_equal(run_fixture(args, NULL), 1);
	server_kill(v, SIGKILL);
	server_free(v);
	v = server_start(copy, NULL);
	a.url = v->url;
	/* the keys came along: the handle is good here */
	s = again(&a, "approve", NULL, state_of(r),
		  accept_bool("approval", "ok", true));
	assert_string_equal(result_text(s), "approved: yes");
	reply_free(r);
	reply_free(s);
	/* and the copy is in WAL mode again */
	{
		char wal[320];

		(void)snprintf(wal, sizeof(wal), "%s-wal", copy->db);
		assert_int_equal(stat(wal, &st), 0);
	}
	server_free(v);
	scratch_free(old);
	scratch_free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_backup__is_served_and_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
