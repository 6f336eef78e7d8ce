/* SPDX-License-Identifier: MIT */
#include "server/base/thread.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/log.h"

/* Ranks rise, so this is also the number of ranks one thread can hold. */
#define HELD_MAX 12

static _Thread_local const struct mutex *held[HELD_MAX];
static _Thread_local int n_held;

struct start {
	void (*fn)(void *);
	void *arg;
	char name[16];
};

static void *run(void *p)
{
	struct start s = *(struct start *)p;

	free(p);
	pthread_setname_np(pthread_self(), s.name);
	s.fn(s.arg);
	return NULL;
}

/* Faults of the thread itself stay deliverable: blocked, the kernel would
 * kill without a word, and a sanitizer could not report. */
static void block_signals(sigset_t *old)
{
	sigset_t all;

	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	sigdelset(&all, SIGABRT);
	sigdelset(&all, SIGTRAP);
	pthread_sigmask(SIG_SETMASK, &all, old);
}

int thread_start(struct thread *t, const char *name, void (*fn)(void *),
		 void *arg)
{
	struct start *s = malloc(sizeof(*s));
	sigset_t old;
	int err;

	t->started = false;
	if (!s)
		return -ENOMEM;
	*s = (struct start){.fn = fn, .arg = arg};
	memcpy(s->name, name, strnlen(name, sizeof(s->name) - 1));
	block_signals(&old);
	err = pthread_create(&t->id, NULL, run, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err) {
		free(s);
		return -err;
	}
	t->started = true;
	return 0;
}

void thread_join(struct thread *t)
{
	if (!t->started)
		return;
	pthread_join(t->id, NULL);
	t->started = false;
}

static void die(const char *what, int rank, int top)
{
	log_error("thread.lock_misuse", "what=%s rank=%d held=%d", what, rank,
		  top);
	abort();
}

/* An error here is a broken program (or memory overwritten), never a state
 * to go on from. */
static void must(int err, const char *what)
{
	if (err)
		die(what, err, 0);
}

static int top_rank(void)
{
	return n_held ? held[n_held - 1]->rank : 0;
}

static void push(struct mutex *m)
{
	held[n_held++] = m;
	m->owner = pthread_self();
	m->held = true;
}

/* Usually the last; unlocking in another order is allowed. */
static void pull(struct mutex *m)
{
	int i = n_held - 1;

	while (i >= 0 && held[i] != m)
		i--;
	if (i < 0)
		die("unlocking a mutex that is not held", m->rank, top_rank());
	for (; i < n_held - 1; i++)
		held[i] = held[i + 1];
	n_held--;
	m->held = false;
}

void mutex_init(struct mutex *m, enum mutex_rank rank)
{
	*m = (struct mutex){.rank = (int)rank};
	must(pthread_mutex_init(&m->m, NULL), "pthread_mutex_init");
}

void mutex_fini(struct mutex *m)
{
	must(pthread_mutex_destroy(&m->m), "pthread_mutex_destroy");
}

void mutex_lock(struct mutex *m)
{
	if (n_held == HELD_MAX || top_rank() >= m->rank)
		die("taking a mutex out of rank", m->rank, top_rank());
	must(pthread_mutex_lock(&m->m), "pthread_mutex_lock");
	push(m);
}

void mutex_unlock(struct mutex *m)
{
	pull(m);
	must(pthread_mutex_unlock(&m->m), "pthread_mutex_unlock");
}

void mutex_assert_held(const struct mutex *m)
{
	for (int i = n_held - 1; i >= 0; i--)
		if (held[i] == m)
			return;
	die("a mutex should be held here", m->rank, top_rank());
}

void cond_init(struct cond *c)
{
	pthread_condattr_t attr;

	must(pthread_condattr_init(&attr), "pthread_condattr_init");
	must(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC),
	     "pthread_condattr_setclock");
	must(pthread_cond_init(&c->c, &attr), "pthread_cond_init");
	pthread_condattr_destroy(&attr);
}

void cond_fini(struct cond *c)
{
	must(pthread_cond_destroy(&c->c), "pthread_cond_destroy");
}

static void before_wait(struct mutex *m)
{
	mutex_assert_held(m);
	if (held[n_held - 1] != m)
		die("waiting with a higher mutex held", m->rank, top_rank());
	pull(m);
}

void cond_wait(struct cond *c, struct mutex *m)
{
	before_wait(m);
	must(pthread_cond_wait(&c->c, &m->m), "pthread_cond_wait");
	push(m);
}

bool cond_wait_ms(struct cond *c, struct mutex *m, int64_t ms)
{
	struct timespec until = clock_deadline(ms);
	int err;

	before_wait(m);
	err = pthread_cond_timedwait(&c->c, &m->m, &until);
	push(m);
	if (err != ETIMEDOUT)
		must(err, "pthread_cond_timedwait");
	return err == 0;
}

void cond_signal(struct cond *c)
{
	must(pthread_cond_signal(&c->c), "pthread_cond_signal");
}

void cond_broadcast(struct cond *c)
{
	must(pthread_cond_broadcast(&c->c), "pthread_cond_broadcast");
}
