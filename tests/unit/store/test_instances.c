/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/sqlite_store.h"
#include "tests/unit/store/lib/contract.h"
#include "tests/unit/store/lib/files.h"

/*
 * Instances that are processes: killed, drained, stopped, and many at once.
 * Children are forked before this process opens anything.
 */

#define CEILING_MS 20000

static int64_t lease_ms;

static const char *const tools[] = {"t"};

struct child {
	pid_t pid;
	int to, from; /* pipes: one byte is a word */
};

static void say(int fd)
{
	assert_int_equal(write(fd, "x", 1), 1);
}

static bool heard(int fd)
{
	char c;

	return read(fd, &c, 1) == 1;
}

static struct store *join(const struct contract *c, const char *name)
{
	struct store_options opt = {.url = c->url,
				    .create = true,
				    .migrate = true,
				    .lease_ms = lease_ms,
				    .poll_ms = 20};
	struct bide_error err = {0};
	struct store *s = NULL;

	if (store_open(&opt, &s, &err) != BIDE_OK ||
	    store_join(s, tools, 1, name, &err) != BIDE_OK)
		fail_msg("%s: %s", name, err.text);
	return s;
}

/* Runs @fn in a child, which gets its two pipe ends. */
static struct child spawn(const struct contract *c,
			  void (*fn)(const struct contract *, int from, int to))
{
	int down[2], up[2];
	struct child ch;

	assert_int_equal(pipe(down), 0);
	assert_int_equal(pipe(up), 0);
	ch.pid = fork();
	assert_true(ch.pid >= 0);
	if (ch.pid == 0) {
		close(down[1]);
		close(up[0]);
		fn(c, down[0], up[1]);
		_exit(0);
	}
	close(down[0]);
	close(up[1]);
	ch.to = down[1];
	ch.from = up[0];
	return ch;
}

static void bury(struct child *ch)
{
	int status;

	assert_int_equal(waitpid(ch->pid, &status, 0), ch->pid);
	close(ch->to);
	close(ch->from);
}

static int setup(void **state)
{
	struct contract *c = calloc(1, sizeof *c);

	contract_make(c);
	lease_ms = 3 * CEILING_MS; /* no lease is what helps */
	*state = c;
	return 0;
}

static int teardown(void **state)
{
	contract_remove(*state);
	free(*state);
	return 0;
}

static int64_t real_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Waits until the task is in @want, which is long before a lease ends. */
static void until_state(struct store *s, const char *token,
			enum store_state want)
{
	int64_t began = real_ms();

	for (;;) {
		struct store_task *t = look(s, token);
		enum store_state now = t->state;

		store_task_free(t);
		if (now == want)
			return;
		if (real_ms() - began > CEILING_MS)
			fail_msg("%s is %s", token, store_state_name(now));
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
}

static int crashes_of(struct store *s, const char *token)
{
	struct store_task *t = look(s, token);
	int n = t->crashes;

	store_task_free(t);
	return n;
}

/* ---- a holder that dies ---- */

static void hold(const struct contract *c, int from, int to)
{
	struct store *s = join(c, "holder");

	make_held(s, "1");
	say(to);
	heard(from); /* for ever, or until the word to drain */
	store_set_draining(s);
	say(to);
	heard(from);
}

static void test_instance__that_is_killed_is_reaped_at_once(void **state)
{
	struct contract *c = *state;
	struct child ch = spawn(c, hold);
	struct store *s;

	assert_true(heard(ch.from));
	s = join(c, "survivor");
	kill(ch.pid, SIGKILL);
	bury(&ch);
	until_state(s, "1", STORE_READY);
	assert_int_equal(crashes_of(s, "1"), 1);
	claim_one(s);
	close_quietly(s);
}

static void test_instance__killed_while_draining_is_no_crash(void **state)
{
	struct contract *c = *state;
	struct child ch = spawn(c, hold);
	struct store *s;

	assert_true(heard(ch.from));
	s = join(c, "survivor");
	say(ch.to);
	assert_true(heard(ch.from));
	kill(ch.pid, SIGKILL);
	bury(&ch);
	until_state(s, "1", STORE_READY);
	assert_int_equal(crashes_of(s, "1"), 0);
	close_quietly(s);
}

static void
test_instance__that_was_alone_is_reaped_at_the_next_start(void **state)
{
	struct contract *c = *state;
	struct child ch = spawn(c, hold);
	struct store *s;

	assert_true(heard(ch.from));
	kill(ch.pid, SIGKILL);
	bury(&ch);
	s = join(c, "next");
	until_state(s, "1", STORE_READY);
	assert_int_equal(crashes_of(s, "1"), 1);
	close_quietly(s);
}

/* Its directory is gone, its row and claims are there. */
static void test_instance__without_a_file_is_reckoned_with(void **state)
{
	struct contract *c = *state;
	struct child ch = spawn(c, hold);
	char files[600];
	struct store *s;
	sqlite3 *db = NULL;

	assert_true(heard(ch.from));
	kill(ch.pid, SIGKILL);
	bury(&ch);
	snprintf(files, sizeof files, "%s/bide.db.d", c->dir);
	remove_tree(files);
	/* As if it had joined long ago: a young one may be making its file. */
	assert_int_equal(sqlite3_open(c->url + strlen("sqlite:"), &db),
			 SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "UPDATE instance SET joined_ms = "
				      "joined_ms - 100000",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	s = join(c, "next");
	until_state(s, "1", STORE_READY);
	close_quietly(s);
}

/* ---- a holder that is stopped ---- */

static void hold_and_step(const struct contract *c, int from, int to)
{
	struct store *s = join(c, "sleeper");
	struct store_fence f = make_held(s, "1");

	say(to);
	heard(from);
	/* It woke up and goes on as if nothing had been. */
	if (step_one(s, &f, "late", "1") == STORE_LOST &&
	    finish_with(s, &f, "{\"by\":\"sleeper\"}") == STORE_LOST)
		say(to);
	close_quietly(s);
}

static void test_instance__stopped_past_its_lease_writes_nothing(void **state)
{
	struct contract *c = *state;
	struct store_fence f;
	struct store_task *t;
	struct child ch;
	struct store *s;

	lease_ms = 600;
	ch = spawn(c, hold_and_step);
	assert_true(heard(ch.from));
	s = join(c, "other");
	kill(ch.pid, SIGSTOP);
	until_state(s, "1", STORE_READY);
	assert_int_equal(crashes_of(s, "1"), 0);
	f = claim_one(s);
	kill(ch.pid, SIGCONT);
	say(ch.to);
	assert_true(heard(ch.from)); /* all it wrote was refused */
	assert_int_equal(finish_with(s, &f, "{\"by\":\"other\"}"), STORE_OK);
	t = look(s, "1");
	assert_string_equal(t->payload, "{\"by\":\"other\"}");
	assert_int_equal(t->nsteps, 0);
	store_task_free(t);
	bury(&ch);
	close_quietly(s);
}

/* ---- sixteen processes on one file ---- */

#define PROCESSES 16
#define EACH      40

static void create_many(const struct contract *c, int from, int to)
{
	struct store *s;
	char token[32];

	assert_true(heard(from));
	s = join(c, "one of many");
	for (int i = 0; i < EACH; i++) {
		struct store_fence f;

		snprintf(token, sizeof token, "%d-%d", (int)getpid(), i);
		f = make_held(s, token);
		if (step_one(s, &f, "s", "1") != STORE_OK ||
		    finish_with(s, &f, "{}") != STORE_OK)
			_exit(1);
	}
	close_quietly(s);
	say(to);
}

static void test_processes__sixteen_on_one_file_all_get_through(void **state)
{
	struct contract *c = *state;
	struct child ch[PROCESSES];
	struct store_counts n;
	struct stat st;
	char wal[600];
	struct store *s;

	for (int i = 0; i < PROCESSES; i++)
		ch[i] = spawn(c, create_many);
	for (int i = 0; i < PROCESSES; i++)
		say(ch[i].to);
	for (int i = 0; i < PROCESSES; i++)
		assert_true(heard(ch[i].from)); /* no refusal, no time-out */
	for (int i = 0; i < PROCESSES; i++)
		bury(&ch[i]);
	s = contract_open(c);
	assert_int_equal(store_count(s, &n), BIDE_OK);
	assert_int_equal(n.by_state[STORE_COMPLETED], PROCESSES * EACH);
	snprintf(wal, sizeof wal, "%s-wal", s->path);
	assert_int_equal(stat(wal, &st), 0);
	assert_true(st.st_size < 1500L * 4120);
	store_close(s, 1000);
}

#define test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(test_instance__that_is_killed_is_reaped_at_once),
		test(test_instance__killed_while_draining_is_no_crash),
		test(test_instance__that_was_alone_is_reaped_at_the_next_start),
		test(test_instance__without_a_file_is_reckoned_with),
		test(test_instance__stopped_past_its_lease_writes_nothing),
		test(test_processes__sixteen_on_one_file_all_get_through),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
