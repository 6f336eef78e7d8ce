/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tests/unit/store/lib/contract.h"

/* Reading, signals, many at once, opening and closing; written against store.h
 * alone. */

/* ---- reading ---- */

static void test_get__tells_other_principals_nothing(void **state)
{
	struct pair *p = *state;
	struct store_task *t = NULL;

	make_task(p->a, "1");
	assert_int_equal(store_get(p->b, "1", "bob", 0, 0, &t), BIDE_NOT_FOUND);
	assert_int_equal(store_get(p->b, "2", "bob", 0, 0, &t), BIDE_NOT_FOUND);
	assert_null(t);
	assert_int_equal(store_get(p->b, "1", "alice", 0, 0, &t), BIDE_OK);
	assert_null(t->args); /* not asked for */
	store_task_free(t);
}

static void test_get__finds_by_id_key_and_chain(void **state)
{
	struct pair *p = *state;
	struct store_task *t = NULL;
	struct store_op op;
	int64_t id;

	draw_create(&op, "1");
	op.u.create.idem_key = "k";
	op.u.create.chain_id = "c";
	must_run(p->a, &op);
	id = op.u.create.ret_fence.task;
	assert_int_equal(store_get_id(p->b, id, 0, 0, &t), BIDE_OK);
	assert_string_equal(t->token, "1");
	store_task_free(t);
	assert_int_equal(store_find_idem(p->b, "alice", "k", &t), BIDE_OK);
	assert_int_equal(t->id, id);
	store_task_free(t);
	assert_int_equal(store_find_chain(p->b, "c", &t), BIDE_OK);
	assert_int_equal(t->id, id);
	store_task_free(t);
	assert_int_equal(store_find_idem(p->b, "bob", "k", &t), BIDE_NOT_FOUND);
	assert_int_equal(store_find_chain(p->b, "k", &t), BIDE_NOT_FOUND);
	assert_int_equal(store_get_id(p->b, id + 1, 0, 0, &t), BIDE_NOT_FOUND);
}

static size_t list(struct store *s, const struct store_filter *f,
		   int64_t ids[20])
{
	struct store_task **v = NULL;
	size_t n = 0;

	assert_int_equal(store_list(s, f, &v, &n), BIDE_OK);
	for (size_t i = 0; i < n; i++)
		ids[i] = v[i]->id;
	store_list_free(v, n);
	return n;
}

static void test_list__pages_from_the_newest(void **state)
{
	struct pair *p = *state;
	struct store_filter f = {.limit = 2};
	int64_t id[5], got[20] = {0};
	char token[4];

	for (int i = 0; i < 5; i++) {
		snprintf(token, sizeof token, "%d", i);
		id[i] = make_task(p->a, token);
	}
	assert_int_equal(list(p->b, &f, got), 2);
	assert_int_equal(got[0], id[4]);
	assert_int_equal(got[1], id[3]);
	f.before_id = got[1];
	f.limit = 10;
	assert_int_equal(list(p->b, &f, got), 3);
	assert_int_equal(got[0], id[2]);
	f.before_id = got[2];
	assert_int_equal(list(p->b, &f, got), 0);
}

static void test_list__filters(void **state)
{
	struct pair *p = *state;
	struct store_filter f = {.limit = 20};
	struct store_op op;
	int64_t got[20] = {0};

	make_task(p->a, "ready");
	make_held(p->a, "running");
	make_task(p->a, "cancelled");
	cancel_task(p->a, "cancelled", NULL);
	draw_create(&op, "bobs");
	op.u.create.principal = "bob";
	op.u.create.tool = "u";
	must_run(p->a, &op);
	assert_int_equal(list(p->b, &f, got), 4);
	f.states = 1u << STORE_READY;
	assert_int_equal(list(p->b, &f, got), 2);
	f.states = 1u << STORE_READY | 1u << STORE_CANCELLED;
	assert_int_equal(list(p->b, &f, got), 3);
	f.tool = "u";
	assert_int_equal(list(p->b, &f, got), 1);
	assert_int_equal(got[0], op.u.create.ret_fence.task);
	f = (struct store_filter){.limit = 20, .principal = "alice"};
	assert_int_equal(list(p->b, &f, got), 3);
	f.states = 1u << STORE_RUNNING;
	assert_int_equal(list(p->b, &f, got), 1);
	f.principal = "nobody";
	assert_int_equal(list(p->b, &f, got), 0);
}

static void test_count__counts_states_and_questions(void **state)
{
	struct pair *p = *state;
	struct store_counts n;
	struct store_fence f;

	make_task(p->a, "ready");
	make_held(p->a, "running");
	f = make_held(p->a, "waiting");
	park_on(p->a, &f, "q");
	make_task(p->a, "cancelled");
	cancel_task(p->a, "cancelled", NULL);
	assert_int_equal(store_count(p->b, &n), BIDE_OK);
	assert_int_equal(n.by_state[STORE_READY], 1);
	assert_int_equal(n.by_state[STORE_RUNNING], 1);
	assert_int_equal(n.by_state[STORE_WAITING], 1);
	assert_int_equal(n.by_state[STORE_COMPLETED], 0);
	assert_int_equal(n.by_state[STORE_CANCELLED], 1);
	assert_int_equal(n.questions_open, 1);
	assert_true(n.oldest_ready_ms > 0);
	assert_true(n.oldest_ready_ms <= store_now_ms(p->a));
}

static void test_version__rises_with_what_a_caller_sees(void **state)
{
	struct pair *p = *state;
	struct store_fence f = make_held(p->a, "1");
	struct store_task *t = look(p->a, "1");
	int64_t version = t->version;

	store_task_free(t);
	park_on(p->a, &f, "q");
	t = look(p->a, "1");
	assert_true(t->version > version);
	version = t->version;
	store_task_free(t);
	answer_one(p->a, "1", "q", "1");
	t = look(p->a, "1");
	assert_true(t->version > version);
	version = t->version;
	store_task_free(t);
	f = claim_one(p->a);
	finish_with(p->a, &f, "{}");
	t = look(p->a, "1");
	assert_true(t->version > version);
	store_task_free(t);
}

static void test_peers__are_seen_with_their_claims(void **state)
{
	struct pair *p = *state;
	struct store_peer *v = NULL;
	size_t n = 0;

	make_held(p->a, "1");
	assert_int_equal(store_peers(p->b, &v, &n), BIDE_OK);
	assert_int_equal(n, 2);
	for (size_t i = 0; i < n; i++) {
		bool a = v[i].number == store_instance(p->a);

		assert_true(v[i].alive);
		assert_false(v[i].draining);
		assert_int_equal(v[i].claims, a ? 1 : 0);
		assert_int_equal(v[i].self, !a);
		assert_string_equal(v[i].name, a ? "a" : "b");
	}
	free(v);
}

/* ---- signals ---- */

struct ear {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	int64_t task;     /* to be told of */
	int tasks, works; /* how often; everything counts as both */
};

static void hear(void *user, enum store_signal what, int64_t task)
{
	struct ear *e = user;

	pthread_mutex_lock(&e->lock);
	if (what == STORE_SIGNAL_WORK)
		e->works++;
	else if (task == 0 || task == e->task)
		e->tasks++;
	pthread_cond_broadcast(&e->cond);
	pthread_mutex_unlock(&e->lock);
}

static bool heard(struct ear *e, const int *counter, int more_than)
{
	struct timespec until;
	int rc = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 10;
	pthread_mutex_lock(&e->lock);
	while (*counter <= more_than && rc == 0)
		rc = pthread_cond_timedwait(&e->cond, &e->lock, &until);
	rc = *counter > more_than;
	pthread_mutex_unlock(&e->lock);
	return rc != 0;
}

static void test_watch__is_told_of_a_task_here_and_elsewhere(void **state)
{
	static const char *const tools[] = {"t"};
	struct pair *p = *state;
	struct ear e = {.lock = PTHREAD_MUTEX_INITIALIZER,
			.cond = PTHREAD_COND_INITIALIZER};
	struct store *third = contract_open(&p->c);
	int before;

	e.task = make_task(p->a, "1");
	store_watch(third, hear, &e);
	assert_int_equal(store_join(third, tools, 1, "ear", NULL), BIDE_OK);
	assert_true(heard(&e, &e.tasks, 0)); /* the first look, at the join */
	assert_true(heard(&e, &e.works, 0));
	store_interest_add(third, e.task);
	before = e.tasks;
	cancel_task(p->a, "1", NULL); /* committed by another instance */
	assert_true(heard(&e, &e.tasks, before));
	before = e.works;
	store_set_idle(third, 1);
	make_task(third, "2"); /* its own */
	assert_true(heard(&e, &e.works, before));
	store_interest_drop(third, e.task);
	store_interest_drop(third, e.task); /* one too many does no harm */
	close_quietly(third);
}

/* ---- many at once ---- */

#define TASKS   120
#define THREADS 6

struct worker {
	pthread_t id;
	struct store *s;
	int64_t got[TASKS];
	size_t n;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct store_fence f[4];
	size_t n;

	while ((n = claim_n(w->s, f, 4)) > 0)
		for (size_t i = 0; i < n; i++) {
			w->got[w->n++] = f[i].task;
			if (step_one(w->s, &f[i], "s", "1") != STORE_OK ||
			    finish_with(w->s, &f[i], "{}") != STORE_OK)
				w->got[w->n - 1] = -1;
		}
	return NULL;
}

static void test_claim__of_many_at_once_is_one_each(void **state)
{
	struct pair *p = *state;
	static struct worker w[THREADS];
	bool seen[TASKS * 2] = {false};
	int64_t first = 0;
	size_t total = 0;
	char token[16];

	memset(w, 0, sizeof w);
	for (int i = 0; i < TASKS; i++) {
		int64_t id;

		snprintf(token, sizeof token, "%d", i);
		id = make_task(i & 1 ? p->a : p->b, token);
		first = i == 0 ? id : first;
	}
	for (int i = 0; i < THREADS; i++) {
		w[i].s = i & 1 ? p->a : p->b;
		pthread_create(&w[i].id, NULL, work, &w[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(w[i].id, NULL);
	for (int i = 0; i < THREADS; i++)
		for (size_t k = 0; k < w[i].n; k++) {
			int64_t at = w[i].got[k] - first;

			assert_in_range(at, 0, TASKS * 2 - 1);
			assert_false(seen[at]);
			seen[at] = true;
			total++;
		}
	assert_int_equal(total, TASKS);
}

struct ender {
	pthread_t id;
	struct store *s;
	struct store_fence f;
	bool cancels;
	enum store_answer got;
};

static void *end_it(void *arg)
{
	struct ender *e = arg;

	e->got = e->cancels ? cancel_task(e->s, "1", "alice")
			    : finish_with(e->s, &e->f, "{}");
	return NULL;
}

/* Cancel and completion exclude each other. */
static void test_end__cancel_and_finish_exclude_each_other(void **state)
{
	struct pair *p = *state;
	int cancelled = 0;

	for (int round = 0; round < 30; round++) {
		struct ender e[2] = {{.s = p->a}, {.s = p->b, .cancels = true}};
		struct store_task *t;
		bool won;

		e[0].f = make_held(p->a, "1");
		for (int i = 0; i < 2; i++)
			pthread_create(&e[i ^ (round & 1)].id, NULL, end_it,
				       &e[i ^ (round & 1)]);
		for (int i = 0; i < 2; i++)
			pthread_join(e[i].id, NULL);
		won = e[1].got == STORE_CANCELLED_NOW;
		assert_int_equal(e[0].got, won ? STORE_LOST : STORE_OK);
		assert_int_equal(e[1].got,
				 won ? STORE_CANCELLED_NOW : STORE_ENDED);
		t = look(p->a, "1");
		assert_int_equal(t->state,
				 won ? STORE_CANCELLED : STORE_COMPLETED);
		store_task_free(t);
		cancelled += won;
		wait_until(p->a, store_now_ms(p->a) + 2);
		sweep(p->a, STORE_SWEEP_ENDED);
	}
	print_message("cancelled %d of 30\n", cancelled);
}

struct counting {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	int told, order_broken, last;
};

static void count_done(struct store_op *op, void *user)
{
	struct counting *c = user;
	int n = atoi(op->u.cancel.token);

	pthread_mutex_lock(&c->lock);
	c->order_broken += n != c->last + 1;
	c->last = n;
	c->told++;
	pthread_cond_signal(&c->cond);
	pthread_mutex_unlock(&c->lock);
}

static void test_submit__tells_each_once_in_order(void **state)
{
	struct pair *p = *state;
	static struct store_op ops[600];
	static char token[600][8];
	struct counting c = {.lock = PTHREAD_MUTEX_INITIALIZER,
			     .cond = PTHREAD_COND_INITIALIZER,
			     .last = -1};

	for (int i = 0; i < 600; i++) {
		snprintf(token[i], sizeof token[i], "%d", i);
		store_op_init(&ops[i], STORE_OP_CANCEL, DRAW_MS);
		ops[i].u.cancel.token = token[i];
		ops[i].done = count_done;
		ops[i].user = &c;
		store_submit(p->a, &ops[i]);
	}
	pthread_mutex_lock(&c.lock);
	while (c.told < 600)
		pthread_cond_wait(&c.cond, &c.lock);
	pthread_mutex_unlock(&c.lock);
	assert_int_equal(c.order_broken, 0);
	for (int i = 0; i < 600; i++)
		assert_int_equal(ops[i].answer, STORE_NO_SUCH);
}

/* ---- opening, closing, time ---- */

static void test_deadline__past_is_not_done(void **state)
{
	struct pair *p = *state;
	struct store_task *t = NULL;
	struct store_op op;

	draw_create(&op, "1");
	op.deadline_ms = 1;
	assert_int_equal(store_run(p->a, &op), BIDE_BUSY);
	assert_int_equal(op.outcome, STORE_NOT_DONE);
	assert_int_equal(store_get(p->a, "1", NULL, 0, 0, &t), BIDE_NOT_FOUND);
}

static void test_instance__numbers_never_come_again(void **state)
{
	static const char *const tools[] = {"t"};
	struct pair *p = *state;
	struct store *third;
	int64_t one, two;

	third = pair_third(p, tools, 1);
	one = store_instance(third);
	assert_true(one != store_instance(p->a));
	assert_true(one != store_instance(p->b));
	close_quietly(third);
	assert_int_equal(sweep(p->a, STORE_SWEEP_INSTANCES), 1);
	third = pair_third(p, tools, 1);
	two = store_instance(third);
	assert_true(two > one);
	assert_true(two != store_instance(p->b));
	close_quietly(third);
}

static void test_close__keeps_what_was_acknowledged(void **state)
{
	struct pair *p = *state;
	struct store_task *t;

	make_task(p->a, "1");
	close_quietly(p->a);
	close_quietly(p->b);
	p->b = NULL;
	p->a = contract_open(&p->c);
	t = look(p->a, "1");
	assert_int_equal(t->state, STORE_READY);
	store_task_free(t);
}

static void test_read_only__reads_and_never_writes(void **state)
{
	static const char *const tools[] = {"t"};
	struct pair *p = *state;
	struct store *s = contract_open_read_only(&p->c);
	struct store_op op;
	struct store_task *t;

	make_task(p->a, "1");
	t = look(s, "1");
	assert_string_equal(t->tool, "t");
	store_task_free(t);
	draw_create(&op, "2");
	assert_int_equal(store_run(s, &op), BIDE_BUSY);
	assert_int_equal(store_join(s, tools, 1, "x", NULL), BIDE_MISUSE);
	assert_string_equal(store_name(s), store_name(p->a));
	store_close(s, 0);
}

static void test_clock__is_the_same_for_all(void **state)
{
	struct pair *p = *state;
	int64_t a = store_now_ms(p->a), b = store_now_ms(p->b), c;

	c = store_now_ms(p->a);
	assert_true(a <= b);
	assert_true(b <= c);
	assert_string_equal(store_name(p->a), store_name(p->b));
	assert_true(strlen(store_name(p->a)) >= 16);
	assert_int_equal(store_ready(p->a, NULL), BIDE_OK);
}

static void test_states__allow_what_the_table_says(void **state)
{
	(void)state;
	assert_true(store_state_may_move(STORE_READY, STORE_RUNNING));
	assert_true(store_state_may_move(STORE_FAILED, STORE_READY));
	assert_false(store_state_may_move(STORE_READY, STORE_COMPLETED));
	assert_false(store_state_may_move(STORE_COMPLETED, STORE_READY));
	assert_false(store_state_may_move(STORE_CANCELLED, STORE_RUNNING));
	assert_string_equal(store_state_name(STORE_WAITING), "WAITING");
	assert_true(store_state_ended(STORE_CANCELLED));
	assert_false(store_state_ended(STORE_WAITING));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pair_test(test_get__tells_other_principals_nothing),
		pair_test(test_get__finds_by_id_key_and_chain),
		pair_test(test_list__pages_from_the_newest),
		pair_test(test_list__filters),
		pair_test(test_count__counts_states_and_questions),
		pair_test(test_version__rises_with_what_a_caller_sees),
		pair_test(test_peers__are_seen_with_their_claims),
		pair_test(test_watch__is_told_of_a_task_here_and_elsewhere),
		pair_test(test_claim__of_many_at_once_is_one_each),
		pair_test(test_end__cancel_and_finish_exclude_each_other),
		pair_test(test_submit__tells_each_once_in_order),
		pair_test(test_deadline__past_is_not_done),
		pair_test(test_instance__numbers_never_come_again),
		pair_test(test_close__keeps_what_was_acknowledged),
		pair_test(test_read_only__reads_and_never_writes),
		pair_test(test_clock__is_the_same_for_all),
		cmocka_unit_test(test_states__allow_what_the_table_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
