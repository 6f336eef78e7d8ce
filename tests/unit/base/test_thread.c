/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/base/thread.h"

struct seen {
	char name[16];
	sigset_t mask;
};

static void look(void *arg)
{
	struct seen *s = arg;

	pthread_getname_np(pthread_self(), s->name, sizeof(s->name));
	pthread_sigmask(SIG_BLOCK, NULL, &s->mask);
}

static void test_thread__has_its_name_and_blocks_signals(void **state)
{
	struct seen s = {0};
	struct thread t;
	sigset_t mine;

	(void)state;
	assert_int_equal(
		thread_start(&t, "bide-name-that-is-too-long", look, &s), 0);
	assert_true(t.started);
	thread_join(&t);
	assert_false(t.started);
	assert_string_equal(s.name, "bide-name-that-");
	assert_true(sigismember(&s.mask, SIGTERM));
	assert_true(sigismember(&s.mask, SIGPIPE));
	assert_true(sigismember(&s.mask, SIGCHLD));
	assert_false(sigismember(&s.mask, SIGSEGV));
	pthread_sigmask(SIG_BLOCK, NULL, &mine);
	assert_false(sigismember(&mine, SIGTERM));
}

static void test_thread_join__accepts_one_that_never_started(void **state)
{
	struct thread t = {0};

	(void)state;
	thread_join(&t);
	assert_false(t.started);
}

static void test_mutex__ranks_may_rise_and_unlock_in_any_order(void **state)
{
	struct mutex a, b, c;

	(void)state;
	mutex_init(&a, RANK_CALL);
	mutex_init(&b, RANK_ENGINE);
	mutex_init(&c, RANK_LEAF);
	mutex_lock(&a);
	mutex_lock(&b);
	mutex_lock(&c);
	mutex_assert_held(&a);
	mutex_unlock(&b);
	mutex_assert_held(&c);
	mutex_unlock(&c);
	mutex_lock(&b); /* allowed again: only a is held */
	mutex_unlock(&a);
	mutex_unlock(&b);
	mutex_fini(&a);
	mutex_fini(&b);
	mutex_fini(&c);
}

/* A child with its standard error shut; true when it died by abort(). */
static bool aborts(void (*fn)(void))
{
	const struct rlimit no_core = {0, 0};
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGABRT, SIG_DFL);
		dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
		fn();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void lock_downward(void)
{
	struct mutex a, b;

	mutex_init(&a, RANK_CALL);
	mutex_init(&b, RANK_ENGINE);
	mutex_lock(&b);
	mutex_lock(&a);
}

static void lock_same_rank(void)
{
	struct mutex a, b;

	mutex_init(&a, RANK_CALL);
	mutex_init(&b, RANK_CALL);
	mutex_lock(&a);
	mutex_lock(&b);
}

static void lock_twice(void)
{
	struct mutex a;

	mutex_init(&a, RANK_CALL);
	mutex_lock(&a);
	mutex_lock(&a);
}

static void unlock_unheld(void)
{
	struct mutex a;

	mutex_init(&a, RANK_CALL);
	mutex_unlock(&a);
}

static void assert_unheld(void)
{
	struct mutex a;

	mutex_init(&a, RANK_CALL);
	mutex_lock(&a);
	mutex_unlock(&a);
	mutex_assert_held(&a);
}

static void wait_below_another(void)
{
	struct mutex a, b;
	struct cond c;

	mutex_init(&a, RANK_CALL);
	mutex_init(&b, RANK_ENGINE);
	cond_init(&c);
	mutex_lock(&a);
	mutex_lock(&b);
	cond_wait_ms(&c, &a, 1);
}

static void do_nothing_wrong(void)
{
	struct mutex a;

	mutex_init(&a, RANK_CALL);
	mutex_lock(&a);
	mutex_unlock(&a);
}

static void test_mutex__misuse_aborts(void **state)
{
	(void)state;
	assert_false(aborts(do_nothing_wrong));
	assert_true(aborts(lock_downward));
	assert_true(aborts(lock_same_rank));
	assert_true(aborts(lock_twice));
	assert_true(aborts(unlock_unheld));
	assert_true(aborts(assert_unheld));
	assert_true(aborts(wait_below_another));
}

struct box {
	struct mutex m;
	struct cond c;
	int turn;
	int count;
};

static void play(struct box *b, int me)
{
	for (int i = 0; i < 200; i++) {
		mutex_lock(&b->m);
		while (b->turn != me)
			cond_wait(&b->c, &b->m);
		b->turn = !me;
		b->count++;
		cond_broadcast(&b->c);
		mutex_unlock(&b->m);
	}
}

static void play_one(void *arg)
{
	play(arg, 1);
}

static void test_cond__two_threads_take_turns(void **state)
{
	struct box b = {0};
	struct thread t;

	(void)state;
	mutex_init(&b.m, RANK_LEAF);
	cond_init(&b.c);
	assert_int_equal(thread_start(&t, "player", play_one, &b), 0);
	play(&b, 0);
	thread_join(&t);
	assert_int_equal(b.count, 400);
	cond_fini(&b.c);
	mutex_fini(&b.m);
}

static void test_cond_wait_ms__is_false_on_time_out(void **state)
{
	struct mutex m;
	struct cond c;

	(void)state;
	mutex_init(&m, RANK_LEAF);
	cond_init(&c);
	mutex_lock(&m);
	while (cond_wait_ms(&c, &m, 1)) /* true is a spurious wake-up */
		mutex_assert_held(&m);
	mutex_assert_held(&m);
	assert_false(cond_wait_ms(&c, &m, -5));
	mutex_unlock(&m);
	cond_fini(&c);
	mutex_fini(&m);
}

static void ring(void *arg)
{
	struct box *b = arg;

	mutex_lock(&b->m);
	b->turn = 1;
	cond_signal(&b->c);
	mutex_unlock(&b->m);
}

static void test_cond_wait_ms__is_woken_by_a_signal(void **state)
{
	struct box b = {0};
	struct thread t;
	bool woken = false;

	(void)state;
	mutex_init(&b.m, RANK_LEAF);
	cond_init(&b.c);
	mutex_lock(&b.m);
	assert_int_equal(thread_start(&t, "ring", ring, &b), 0);
	while (!b.turn) /* INT64_MAX: "for ever" overflows nothing */
		woken = cond_wait_ms(&b.c, &b.m, INT64_MAX);
	mutex_unlock(&b.m);
	assert_true(woken);
	thread_join(&t);
	cond_fini(&b.c);
	mutex_fini(&b.m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thread__has_its_name_and_blocks_signals),
		cmocka_unit_test(
			test_thread_join__accepts_one_that_never_started),
		cmocka_unit_test(
			test_mutex__ranks_may_rise_and_unlock_in_any_order),
		cmocka_unit_test(test_mutex__misuse_aborts),
		cmocka_unit_test(test_cond__two_threads_take_turns),
		cmocka_unit_test(test_cond_wait_ms__is_false_on_time_out),
		cmocka_unit_test(test_cond_wait_ms__is_woken_by_a_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
