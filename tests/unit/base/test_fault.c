/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/fault.h"
#include "server/base/thread.h"

static int disarm(void **state)
{
	(void)state;
	fault_disarm();
	return 0;
}

static void arm(const char *spec)
{
	char e[128] = "";

	if (fault_arm(spec, e, sizeof(e)) != 0)
		fail_msg("%s", e);
}

static void test_fault__disarmed_never_hits(void **state)
{
	(void)state;
	assert_false(fault_armed);
	assert_false(FAULT("commit"));
	arm("other:0:fail");
	assert_true(fault_armed);
	assert_false(FAULT("commit"));
	fault_disarm();
	assert_false(FAULT("other"));
}

static void test_fault__the_nth_passage_alone_acts(void **state)
{
	(void)state;
	arm("commit:3:fail");
	assert_false(FAULT("commit"));
	assert_false(FAULT("commit"));
	assert_true(FAULT("commit"));
	assert_false(FAULT("commit"));
}

static void test_fault__zero_is_every_passage(void **state)
{
	(void)state;
	arm("commit:0:fail");
	for (int i = 0; i < 5; i++)
		assert_true(FAULT("commit"));
}

static void test_fault__a_detail_has_to_match_to_be_counted(void **state)
{
	(void)state;
	arm("step@deploy:a:2:fail");
	assert_false(FAULT_ON("step", "greet"));
	assert_false(FAULT_ON("step", "deploy:a"));
	assert_false(FAULT_ON("step", ""));
	assert_true(FAULT_ON("step", "deploy:a"));
	fault_disarm();
	arm("step:2:fail");
	assert_false(FAULT_ON("step", "greet"));
	assert_true(FAULT_ON("step", "deploy"));
}

static void test_fault__entries_count_for_themselves(void **state)
{
	(void)state;
	arm("p:1:fail,p:3:fail");
	arm("q:2:fail");
	assert_true(FAULT("p"));
	assert_false(FAULT("p"));
	assert_true(FAULT("p"));
	assert_false(FAULT("q"));
	assert_true(FAULT("q"));
}

static void wrong(const char *spec, const char *want)
{
	char e[200] = "";

	assert_int_equal(fault_arm(spec, e, sizeof(e)), -1);
	if (!strstr(e, want) || !strstr(e, spec))
		fail_msg("%s", e);
	assert_int_equal(fault_arm(spec, NULL, 0), -1);
	assert_false(fault_armed);
}

static void test_fault__a_wrong_spec_arms_nothing(void **state)
{
	(void)state;
	wrong("commit", "expected point");
	wrong("commit:1", "expected point");
	wrong("commit:x:fail", "no number");
	wrong("commit:-1:fail", "no number");
	wrong("commit:1:explode", "action");
	wrong("commit:1:delay", "action");
	wrong("commit:1:delay5s", "action");
	wrong(":1:fail", "empty");
	wrong("good:0:fail,bad:1", "expected point");
}

static void test_fault__delay_sleeps_and_goes_on(void **state)
{
	int64_t before = clock_boot_us();

	(void)state;
	arm("slow:1:delay20");
	assert_false(FAULT("slow"));
	assert_true(clock_boot_us() - before >= 20000);
}

static void test_fault__kill_is_sigkill(void **state)
{
	int status = 0;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		if (fault_arm("die:2:kill", NULL, 0) || FAULT("die"))
			_exit(1);
		(void)FAULT("die");
		_exit(2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void test_fault__stop_is_sigstop_and_life_goes_on(void **state)
{
	int status = 0;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		if (fault_arm("halt:1:stop", NULL, 0))
			_exit(1);
		_exit(FAULT("halt") ? 2 : 17);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(WSTOPSIG(status), SIGSTOP);
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 17);
}

static atomic_int hits;

static void pass_many(void *arg)
{
	(void)arg;
	for (int i = 0; i < 1000; i++)
		if (FAULT("shared"))
			atomic_fetch_add(&hits, 1);
}

static void test_fault__one_of_many_threads_is_hit(void **state)
{
	struct thread t[4];

	(void)state;
	atomic_store(&hits, 0);
	arm("shared:2500:fail");
	for (int i = 0; i < 4; i++)
		assert_int_equal(thread_start(&t[i], "pass", pass_many, NULL),
				 0);
	for (int i = 0; i < 4; i++)
		thread_join(&t[i]);
	assert_int_equal(atomic_load(&hits), 1);
}

#define TEST(fn) cmocka_unit_test_teardown(fn, disarm)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_fault__disarmed_never_hits),
		TEST(test_fault__the_nth_passage_alone_acts),
		TEST(test_fault__zero_is_every_passage),
		TEST(test_fault__a_detail_has_to_match_to_be_counted),
		TEST(test_fault__entries_count_for_themselves),
		TEST(test_fault__a_wrong_spec_arms_nothing),
		TEST(test_fault__delay_sleeps_and_goes_on),
		TEST(test_fault__kill_is_sigkill),
		TEST(test_fault__stop_is_sigstop_and_life_goes_on),
		TEST(test_fault__one_of_many_threads_is_hit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
