/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/base/clock.h"
#include "server/base/fault.h"
#include "server/base/limits.h"
#include "store/sqlite_store.h"
#include "tests/unit/store/lib/contract.h"
#include "tests/unit/store/lib/failing_vfs.h"
#include "tests/unit/store/lib/files.h"

/* What group commit has to withstand: docs/design.md, "Batches break", "A
 * failed COMMIT is a third outcome". */

struct fixture {
	struct contract c;
	struct store *s;
	struct gate *gate; /* a second handle, to hold the writer back */
};

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof *x);

	contract_make(&x->c);
	x->s = contract_open(&x->c);
	assert_int_equal(gate_open(x->s->path, NULL, &x->gate, NULL), BIDE_OK);
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	fault_disarm();
	failing_vfs.fail_syncs = 0;
	failing_vfs.full_after = LONG_MAX;
	gate_close(x->gate);
	store_close(x->s, 1000);
	contract_remove(&x->c);
	free(x);
	return 0;
}

/* A batch: ops that wait at the gate together, then run together. */
struct batch {
	struct store_op op[8];
	char token[8][24];
	struct mutex lock;
	struct cond cond;
	size_t n, told;
};

static void told(struct store_op *op, void *user)
{
	struct batch *b = user;

	(void)op;
	mutex_lock(&b->lock);
	b->told++;
	cond_signal(&b->cond);
	mutex_unlock(&b->lock);
}

static void batch_init(struct batch *b, size_t n)
{
	memset(b, 0, sizeof *b);
	mutex_init(&b->lock, RANK_LEAF);
	cond_init(&b->cond);
	b->n = n;
	for (size_t i = 0; i < n; i++) {
		snprintf(b->token[i], sizeof b->token[i], "t%zu", i);
		draw_create(&b->op[i], b->token[i]);
		b->op[i].done = told;
		b->op[i].user = b;
	}
}

static void batch_run(struct fixture *x, struct batch *b)
{
	assert_int_equal(gate_enter(x->gate, clock_boot_ms() + 5000, NULL),
			 BIDE_OK);
	for (size_t i = 0; i < b->n; i++)
		store_submit(x->s, &b->op[i]);
	gate_leave(x->gate);
	mutex_lock(&b->lock);
	while (b->told < b->n)
		cond_wait(&b->cond, &b->lock);
	mutex_unlock(&b->lock);
}

static bool exists(struct store *s, const char *token)
{
	struct store_task *t = NULL;
	enum bide_rc rc = store_get(s, token, NULL, 0, 0, &t);

	store_task_free(t);
	return rc == BIDE_OK;
}

static char *big_json(size_t bytes)
{
	char *s = malloc(bytes + 3);

	assert_non_null(s);
	memset(s, 'x', bytes + 2);
	s[0] = s[bytes + 1] = '"';
	s[bytes + 2] = '\0';
	return s;
}

static void limit_pages(struct store *s, int pages)
{
	char text[60];

	snprintf(text, sizeof text, "PRAGMA max_page_count = %d", pages);
	assert_int_equal(sqlite3_exec(s->w.db, text, NULL, NULL, NULL),
			 SQLITE_OK);
}

static void test_full__loses_none_of_the_others(void **state)
{
	struct fixture *x = *state;
	char *big = big_json(1000000);
	struct bide_error why = {0};
	struct batch b;

	batch_init(&b, 6);
	b.op[3].u.create.args = big;
	limit_pages(x->s, 100);
	batch_run(x, &b);
	for (size_t i = 0; i < 6; i++) {
		bool ok = i != 3;

		assert_int_equal(b.op[i].outcome,
				 ok ? STORE_DONE : STORE_NOT_DONE);
		assert_int_equal(exists(x->s, b.token[i]), ok);
	}
	/* The last word was a success. */
	assert_int_equal(store_ready(x->s, &why), BIDE_OK);
	/* There is room again: the same operation goes through. */
	limit_pages(x->s, 100000);
	b.op[3].deadline_ms = clock_boot_ms() + DRAW_MS;
	assert_int_equal(must_run(x->s, &b.op[3]), STORE_CREATED);
	free(big);
}

static void test_full__is_a_clear_state_until_there_is_room(void **state)
{
	struct fixture *x = *state;
	char *big = big_json(1000000);
	struct bide_error why = {0};
	struct store_op op;

	limit_pages(x->s, 100);
	draw_create(&op, "big");
	op.u.create.args = big;
	assert_int_equal(store_run(x->s, &op), BIDE_BUSY);
	assert_int_equal(store_ready(x->s, &why), BIDE_IO);
	assert_non_null(strstr(why.text, "full"));
	make_task(x->s, "small");
	assert_int_equal(store_ready(x->s, &why), BIDE_OK);
	free(big);
}

/* The disk itself is full, which shows when the WAL is written. */
static void test_full__at_commit_is_not_done(void **state)
{
	struct fixture *x = *state;
	char *big = big_json(600000);
	struct stat st;
	char wal[600];
	struct batch b;

	make_task(x->s, "before");
	snprintf(wal, sizeof wal, "%s-wal", x->s->path);
	assert_int_equal(stat(wal, &st), 0);
	failing_vfs.full_after = st.st_size + 300000;
	batch_init(&b, 4);
	b.op[2].u.create.args = big;
	batch_run(x, &b);
	assert_int_equal(b.op[2].outcome, STORE_NOT_DONE);
	assert_false(exists(x->s, b.token[2]));
	for (size_t i = 0; i < 4; i++)
		if (i != 2)
			assert_int_equal(b.op[i].outcome, STORE_DONE);
	failing_vfs.full_after = LONG_MAX;
	b.op[2].deadline_ms = clock_boot_ms() + DRAW_MS;
	assert_int_equal(must_run(x->s, &b.op[2]), STORE_CREATED);
	assert_true(exists(x->s, "before"));
	free(big);
}

static void test_operation__that_breaks_takes_nobody_along(void **state)
{
	struct fixture *x = *state;
	struct batch b;
	char text[80];

	batch_init(&b, 5);
	store_op_init(&b.op[2], STORE_OP_CANCEL, DRAW_MS);
	b.op[2].u.cancel.token = "t0";
	b.op[2].done = told;
	b.op[2].user = &b;
	assert_int_equal(fault_arm("store.op@cancel:0:fail", text, sizeof text),
			 0);
	batch_run(x, &b);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(b.op[i].outcome,
				 i == 2 ? STORE_NOT_DONE : STORE_DONE);
	fault_disarm();
	assert_int_equal(cancel_task(x->s, "t0", NULL), STORE_CANCELLED_NOW);
}

/* ---- a failed COMMIT ---- */

static int copy_has_task(const struct fixture *x, const char *token)
{
	char from[600], path[600], other[640];
	sqlite3_stmt *st = NULL;
	sqlite3 *db = NULL;
	int n = -1;

	/* What a crash would leave: the files without the shared memory. */
	snprintf(path, sizeof path, "%s/crash.db", x->c.dir);
	copy_file(x->s->path, path);
	snprintf(from, sizeof from, "%s-wal", x->s->path);
	snprintf(other, sizeof other, "%s-wal", path);
	copy_file(from, other);
	snprintf(other, sizeof other, "%s-shm", path);
	remove(other);
	assert_int_equal(
		sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db,
					    "SELECT count(*) FROM task "
					    "WHERE token = ?1",
					    -1, &st, NULL),
			 SQLITE_OK);
	sqlite3_bind_text(st, 1, token, -1, SQLITE_STATIC);
	if (sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return n;
}

static void
test_commit__that_failed_is_overwritten_before_the_word(void **state)
{
	struct fixture *x = *state;
	struct batch b;
	int syncs;

	batch_init(&b, 3);
	syncs = failing_vfs.syncs;
	failing_vfs.syncs_failed = 0;
	failing_vfs.fail_syncs = 1;
	batch_run(x, &b);
	assert_int_equal(failing_vfs.syncs_failed, 1);
	assert_true(failing_vfs.syncs > syncs);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(b.op[i].outcome, STORE_DONE);
		assert_int_equal(copy_has_task(x, b.token[i]), 1);
	}
}

/* Syncs fail until the deadline: nobody can know. Then the disk is well. */
static void test_commit__unknown_at_the_deadline(void **state)
{
	struct fixture *x = *state;
	struct store_op op, refused;
	struct bide_error why = {0};
	unsigned char id[STORE_OP_ID_BYTES];

	failing_vfs.fail_syncs = INT_MAX;
	draw_create(&op, "1");
	op.deadline_ms = clock_boot_ms() + 200;
	memcpy(id, op.id, sizeof id);
	assert_int_equal(store_run(x->s, &op), BIDE_UNKNOWN);
	assert_int_equal(op.outcome, STORE_UNKNOWN);
	assert_false(exists(x->s, "1")); /* rolled back, as seen from here */
	assert_int_equal(store_ready(x->s, &why), BIDE_IO);

	/* Nothing is acknowledged before an overwriting one: a refusal was
	 * computed from a state that a crash could change. */
	store_op_init(&refused, STORE_OP_CANCEL, 200);
	refused.u.cancel.token = "1";
	assert_int_not_equal(store_run(x->s, &refused), BIDE_OK);

	failing_vfs.fail_syncs = 0;
	store_op_init(&refused, STORE_OP_CANCEL, DRAW_MS);
	refused.u.cancel.token = "1";
	assert_int_equal(must_run(x->s, &refused), STORE_NO_SUCH);
	assert_int_equal(copy_has_task(x, "1"), 0); /* gone for good */

	/* Run again, the same operation: its effect is there once. */
	op.deadline_ms = clock_boot_ms() + DRAW_MS;
	assert_memory_equal(op.id, id, sizeof id);
	assert_int_equal(must_run(x->s, &op), STORE_CREATED);
	assert_int_equal(copy_has_task(x, "1"), 1);
}

static void test_commit__that_recovers_in_time_is_done(void **state)
{
	struct fixture *x = *state;
	struct batch b;

	batch_init(&b, 2);
	failing_vfs.fail_syncs = 5; /* the batch twice, the overwriting, ... */
	batch_run(x, &b);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(b.op[i].outcome, STORE_DONE);
}

/* ---- a stuck gate ---- */

static void test_gate__that_is_stuck_leaves_nothing_done(void **state)
{
	struct fixture *x = *state;
	struct bide_error why = {0};
	struct store_op op;

	assert_int_equal(gate_enter(x->gate, clock_boot_ms() + 5000, NULL),
			 BIDE_OK);
	draw_create(&op, "1");
	op.deadline_ms = clock_boot_ms() + 700;
	assert_int_equal(store_run(x->s, &op), BIDE_BUSY);
	assert_int_equal(op.outcome, STORE_NOT_DONE);
	assert_int_equal(store_ready(x->s, &why), BIDE_BUSY);
	assert_non_null(strstr(why.text, "gate"));
	gate_leave(x->gate);
	make_task(x->s, "2");
	assert_int_equal(store_ready(x->s, &why), BIDE_OK);
	assert_false(exists(x->s, "1"));
}

/* ---- a file that is gone ---- */

static void test_file__that_was_taken_away_takes_nothing(void **state)
{
	struct fixture *x = *state;
	char away[PATH_MAX];
	struct bide_error why = {0};
	struct store_op op;

	make_task(x->s, "1");
	snprintf(away, sizeof away, "%s.away", x->s->path);
	assert_int_equal(rename(x->s->path, away), 0);
	assert_int_equal(store_ready(x->s, &why), BIDE_IO);
	assert_non_null(strstr(why.text, "removed or replaced"));
	draw_create(&op, "2");
	op.deadline_ms = clock_boot_ms() + 200;
	assert_int_equal(store_run(x->s, &op), BIDE_BUSY);
	assert_int_equal(op.outcome, STORE_NOT_DONE);
	/* Back again: no harm was done. */
	assert_int_equal(rename(away, x->s->path), 0);
	make_task(x->s, "3");
	assert_int_equal(store_ready(x->s, &why), BIDE_OK);
	assert_true(exists(x->s, "1"));
	assert_false(exists(x->s, "2"));
}

/* ---- the WAL stays bounded ---- */

static void test_wal__is_checkpointed_as_it_grows(void **state)
{
	struct fixture *x = *state;
	char *args = big_json(30000);
	struct store_op op;
	char token[16], wal[600];
	struct stat st;
	int most = 0;

	for (int i = 0; i < 600; i++) { /* about 10 frames each */
		snprintf(token, sizeof token, "%d", i);
		draw_create(&op, token);
		op.u.create.args = args;
		must_run(x->s, &op);
		if (x->s->wal_frames > most)
			most = x->s->wal_frames;
	}
	assert_true(most >= LIMIT_WAL_FRAMES_CHECKPOINT);
	assert_true(most < LIMIT_WAL_FRAMES_CHECKPOINT + 200);
	snprintf(wal, sizeof wal, "%s-wal", x->s->path);
	assert_int_equal(stat(wal, &st), 0);
	assert_true(st.st_size < 1300L * 4120);
	free(args);
}

/* ---- killed at the worst moments ---- */

static void killed_at(const char *fault, int expect)
{
	struct fixture x = {0};
	int status;
	pid_t pid;

	contract_make(&x.c);
	pid = fork();
	if (pid == 0) {
		struct store *s = contract_open(&x.c);
		struct store_op op;
		char text[80];

		draw_create(&op, "1");
		if (fault_arm(fault, text, sizeof text) != 0)
			_exit(9);
		store_run(s, &op);
		_exit(8);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	x.s = contract_open(&x.c);
	assert_int_equal(exists(x.s, "1"), expect);
	make_task(x.s, "2");
	store_close(x.s, 1000);
	contract_remove(&x.c);
}

static void test_kill__before_the_commit_leaves_nothing(void **state)
{
	(void)state;
	killed_at("store.op@create:1:kill", 0);
	killed_at("store.before_commit:1:kill", 0);
}

static void test_kill__after_the_commit_leaves_it_all(void **state)
{
	(void)state;
	killed_at("store.after_commit:1:kill", 1);
}

#define test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kill__before_the_commit_leaves_nothing),
		cmocka_unit_test(test_kill__after_the_commit_leaves_it_all),
		test(test_full__loses_none_of_the_others),
		test(test_full__is_a_clear_state_until_there_is_room),
		test(test_full__at_commit_is_not_done),
		test(test_operation__that_breaks_takes_nobody_along),
		test(test_commit__that_failed_is_overwritten_before_the_word),
		test(test_commit__unknown_at_the_deadline),
		test(test_commit__that_recovers_in_time_is_done),
		test(test_gate__that_is_stuck_leaves_nothing_done),
		test(test_file__that_was_taken_away_takes_nothing),
		test(test_wal__is_checkpointed_as_it_grows),
	};

	failing_vfs_register();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
