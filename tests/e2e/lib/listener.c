/* SPDX-License-Identifier: MIT */
#include "tests/e2e/lib/listener.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define AWAIT_S 60

static bool on_message(void *user, json_t *m)
{
	struct listener *l = user;
	bool stay;

	pthread_mutex_lock(&l->lock);
	(void)json_array_append(l->messages, m);
	stay = !l->leave;
	pthread_cond_broadcast(&l->more);
	pthread_mutex_unlock(&l->lock);
	return stay;
}

static void on_comment(void *user)
{
	struct listener *l = user;

	pthread_mutex_lock(&l->lock);
	l->comments++;
	pthread_cond_broadcast(&l->more);
	pthread_mutex_unlock(&l->lock);
}

static void *listen_thread(void *arg)
{
	struct listener *l = arg;
	struct reply *r = rpc(&l->a, "subscriptions/listen", NULL,
			      json_pack("{s:O}", "notifications", l->filter));

	pthread_mutex_lock(&l->lock);
	l->r = r;
	l->over = true;
	pthread_cond_broadcast(&l->more);
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

void listener_start(struct listener *l, struct ask a, json_t *filter)
{
	memset(l, 0, sizeof(*l));
	l->a = a;
	l->filter = filter;
	l->id = a.id != NULL ? json_deep_copy(a.id)
			     : json_integer(1785000000123);
	l->a.id = l->id;
	l->a.event = on_message;
	l->a.comment = on_comment;
	l->a.user = l;
	l->messages = json_array();
	(void)pthread_mutex_init(&l->lock, NULL);
	(void)pthread_cond_init(&l->more, NULL);
	if (pthread_create(&l->thread, NULL, listen_thread, l) != 0) {
		perror("e2e: pthread_create");
		exit(99);
	}
}

bool listener_is(const json_t *m, const char *task, const char *status)
{
	const json_t *p = json_object_get(m, "params");
	const char *id = json_string_value(json_object_get(p, "taskId"));
	const char *st = json_string_value(json_object_get(p, "status"));

	return id != NULL && st != NULL && strcmp(id, task) == 0 &&
	       strcmp(st, status) == 0;
}

static struct timespec in_a_minute(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += AWAIT_S;
	return t;
}

/* Waits for a notification; its message (borrowed), or NULL. */
const json_t *listener_await(struct listener *l, const char *task,
			     const char *status)
{
	const json_t *found = NULL;
	struct timespec until = in_a_minute();
	bool late = false;

	pthread_mutex_lock(&l->lock);
	for (;;) {
		size_t i;
		json_t *m;

		json_array_foreach (l->messages, i, m)
			if (task == NULL ? json_object_get(m, "method") != NULL
					 : listener_is(m, task, status))
				found = m;
		if (found != NULL || l->over || late)
			break;
		late = pthread_cond_timedwait(&l->more, &l->lock, &until) != 0;
	}
	pthread_mutex_unlock(&l->lock);
	return found;
}

static bool was_told(const struct listener *l, const char *method)
{
	size_t i;
	json_t *m;

	json_array_foreach (l->messages, i, m) {
		const char *s = json_string_value(json_object_get(m, "method"));

		if (s != NULL && strcmp(s, method) == 0)
			return true;
	}
	return false;
}

bool listener_await_method(struct listener *l, const char *method)
{
	struct timespec until = in_a_minute();
	bool told;

	pthread_mutex_lock(&l->lock);
	while (!(told = was_told(l, method)) && !l->over)
		if (pthread_cond_timedwait(&l->more, &l->lock, &until) != 0)
			break;
	pthread_mutex_unlock(&l->lock);
	return told;
}

bool listener_await_comment(struct listener *l)
{
	struct timespec until = in_a_minute();
	bool any;

	pthread_mutex_lock(&l->lock);
	while (l->comments == 0 && !l->over)
		if (pthread_cond_timedwait(&l->more, &l->lock, &until) != 0)
			break;
	any = l->comments > 0;
	pthread_mutex_unlock(&l->lock);
	return any;
}

void listener_end(struct listener *l)
{
	listener_join(l);
	reply_free(l->r);
	json_decref(l->messages);
	json_decref(l->filter);
	json_decref(l->id);
	(void)pthread_mutex_destroy(&l->lock);
	(void)pthread_cond_destroy(&l->more);
}

void listener_join(struct listener *l)
{
	if (!l->joined)
		(void)pthread_join(l->thread, NULL);
	l->joined = true;
}

void listener_leave(struct listener *l)
{
	pthread_mutex_lock(&l->lock);
	l->leave = true;
	pthread_mutex_unlock(&l->lock);
}

bool listener_tagged(const struct listener *l)
{
	bool all = true;
	size_t i;
	json_t *m;

	json_array_foreach (l->messages, i, m) {
		const json_t *in = json_object_get(m, "params");
		const json_t *meta;

		if (in == NULL)
			in = json_object_get(m, "result");
		meta = json_object_get(in, "_meta");
		all = all && json_equal(json_object_get(
						meta, "io.modelcontextprotocol/"
						      "subscriptionId"),
					l->id);
	}
	return all;
}
