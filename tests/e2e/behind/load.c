/* SPDX-License-Identifier: MIT */
#include "tests/e2e/behind/behind.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define ROUNDS  100 /* of a call */
#define AWAIT_S 120 /* for a call to end */

struct worker {
	struct load *load;
	enum kind kind;
	pthread_t thread;
	bool runs;
	long calls; /* that ended; under the load's lock */
};
struct load {
	const char *url;
	atomic_bool quit;
	bool repeat;
	atomic_long repeats;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	char why[512]; /* of the first call that did not end right */
	struct worker workers[KINDS];
};

/* ---- the calls: true when it ended right; the last reply in @ret ---- */
static json_t *answer(const char *key)
{
	json_t *content = json_pack("{s:b,s:s,s:s}", "ok", 1, "name", "Ada",
				    "color", "blue");

	(void)key;
	return json_pack("{s:s,s:o}", "action", "accept", "content", content);
}

static bool says(const struct reply *r, const char *text)
{
	return strcmp(result_text(r), text) == 0;
}

static bool call_rounds(const struct ask *a, struct reply **ret)
{
	*ret = drive(a, "test_input_required_result_multi_round", json_object(),
		     answer, ROUNDS);
	return says(*ret, "done");
}

static bool call_handle(const struct ask *a, struct reply **ret)
{
	*ret = drive(a, "approve", json_object(), answer, ROUNDS);
	return says(*ret, "approved: yes");
}

static bool call_stream(const struct ask *a, struct reply **ret)
{
	struct ask told = *a;

	told.progress = "p";
	*ret = drive(&told, "talker", json_pack("{s:i}", "ms", 10), answer,
		     ROUNDS);
	return says(*ret, "said all");
}

static bool call_shed(const struct ask *a, struct reply **ret)
{
	*ret = drive(a, "handed_over", json_object(), answer, ROUNDS);
	return says(*ret, "42");
}

static bool become(const struct ask *a, const char *id, const char *status)
{
	struct reply *r = task_await(a, id, status);
	bool ok = r != NULL;

	reply_free(r);
	return ok;
}

static bool finish_task(const struct ask *a, const char *id)
{
	bool ok = become(a, id, "input_required");

	reply_free(task_do(a, "tasks/update", id,
			   accept_bool("approval", "ok", true)));
	return ok && become(a, id, "completed");
}

static bool call_task(const struct ask *a, struct reply **ret)
{
	struct ask can = *a;

	can.can = CAN_TASKS;
	*ret = tool(&can, "approve", json_object());
	return task_id(*ret)[0] != '\0' && finish_task(&can, task_id(*ret));
}

struct ear {
	const char *status; /* what it listens for */
	bool heard;
};

static bool on_event(void *user, json_t *m)
{
	struct ear *e = user;
	const char *status = json_string_value(
		json_object_get(json_object_get(m, "params"), "status"));

	e->heard = status != NULL && strcmp(status, e->status) == 0;
	return !e->heard;
}

/* The stream ends when its server drains; whoever listens then asks again. */
static bool hears(const struct ask *a, const char *id, const char *status,
		  struct reply **ret)
{
	const struct timespec nap = {0, 50 * 1000 * 1000};
	struct ear e = {.status = status};
	struct ask b = *a;

	b.repeats = NULL; /* here an end without a response may be our own */
	b.event = on_event;
	b.user = &e;
	for (int i = 0; i < ROUNDS; i++) {
		struct reply *r = rpc(&b, "subscriptions/listen", NULL,
				      json_pack("{s:{s:[s]}}", "notifications",
						"taskIds", id));

		reply_free(*ret);
		*ret = r;
		if (e.heard)
			return true;
		if (r->message == NULL && a->repeats == NULL)
			return false;
		(void)nanosleep(&nap, NULL);
	}
	return false;
}

static bool call_listen(const struct ask *a, struct reply **ret)
{
	struct ask can = *a;
	char id[64];

	can.can = CAN_TASKS;
	*ret = tool(&can, "approve", json_object());
	(void)snprintf(id, sizeof(id), "%s", task_id(*ret));
	if (id[0] == '\0' || !hears(&can, id, "input_required", ret))
		return false;
	reply_free(task_do(&can, "tasks/update", id,
			   accept_bool("approval", "ok", true)));
	return hears(&can, id, "completed", ret);
}

typedef bool call_fn(const struct ask *a, struct reply **ret);

static call_fn *const calls[KINDS] = {
	[KIND_ROUNDS] = call_rounds, [KIND_HANDLE] = call_handle,
	[KIND_TASK] = call_task,     [KIND_STREAM] = call_stream,
	[KIND_SHED] = call_shed,     [KIND_LISTEN] = call_listen,
};

/* ---- the threads ---- */
static void note(struct worker *w, const struct reply *r, bool right)
{
	struct load *l = w->load;

	pthread_mutex_lock(&l->lock);
	w->calls++;
	if (!right && l->why[0] == '\0')
		(void)snprintf(l->why, sizeof(l->why),
			       "kind %d, call %ld: status %d, curl %d: %.300s",
			       (int)w->kind, w->calls, r->status, r->curl,
			       r->raw != NULL ? r->raw : "nothing");
	pthread_cond_broadcast(&l->ended);
	pthread_mutex_unlock(&l->lock);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct load *l = w->load;
	struct ask a = {.url = l->url, .can = CAN_FORM};
	char key[64];

	a.repeats = l->repeat ? &l->repeats : NULL;
	a.idem = key;
	for (long n = 0; !atomic_load(&l->quit); n++) {
		struct reply *r = NULL;
		bool right;

		(void)snprintf(key, sizeof(key), "load-%d-%d-%ld",
			       (int)getpid(), (int)w->kind, n);
		right = calls[w->kind](&a, &r);
		note(w, r, right);
		reply_free(r);
	}
	return NULL;
}

struct load *load_start(const char *url, unsigned kinds, bool repeats)
{
	struct load *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	l->url = url;
	l->repeat = repeats;
	(void)pthread_mutex_init(&l->lock, NULL);
	(void)pthread_cond_init(&l->ended, NULL);
	for (int i = 0; i < KINDS; i++) {
		struct worker *w = &l->workers[i];

		*w = (struct worker){.load = l, .kind = (enum kind)i};
		w->runs = (kinds & 1U << i) != 0;
		if (w->runs)
			assert_int_equal(
				pthread_create(&w->thread, NULL, work, w), 0);
	}
	return l;
}

static bool ended_since_locked(const struct load *l, const long before[KINDS])
{
	for (int i = 0; i < KINDS; i++)
		if (l->workers[i].runs && l->workers[i].calls <= before[i])
			return false;
	return true;
}

void load_await_each(struct load *l)
{
	struct timespec until;
	long before[KINDS];
	bool late = false;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += AWAIT_S;
	pthread_mutex_lock(&l->lock);
	for (int i = 0; i < KINDS; i++)
		before[i] = l->workers[i].calls;
	while (!late && !ended_since_locked(l, before))
		late = pthread_cond_timedwait(&l->ended, &l->lock, &until) != 0;
	pthread_mutex_unlock(&l->lock);
	if (late)
		fail_msg("no call ended in %d s", AWAIT_S);
}

void load_stop(struct load *l)
{
	atomic_store(&l->quit, true);
	for (int i = 0; i < KINDS; i++)
		if (l->workers[i].runs)
			(void)pthread_join(l->workers[i].thread, NULL);
	if (l->why[0] != '\0')
		fail_msg("%s", l->why);
}

long load_calls(const struct load *l, enum kind kind)
{
	return l->workers[kind].calls;
}

long load_repeats(const struct load *l)
{
	return atomic_load(&l->repeats);
}

void load_free(struct load *l)
{
	(void)pthread_mutex_destroy(&l->lock);
	(void)pthread_cond_destroy(&l->ended);
	free(l);
}
