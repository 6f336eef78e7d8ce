/* SPDX-License-Identifier: MIT */
#ifndef TESTS_E2E_LISTENER_H
#define TESTS_E2E_LISTENER_H
#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>

#include "tests/e2e/lib/client.h"
/*
 * subscriptions/listen in a thread: collects the messages and wakes whoever
 * waits for one. Look at @messages after listener_join(), or at what
 * listener_await() gave: a listener that goes on adds to them.
 */
struct listener {
	struct ask a;
	json_t *filter;
	json_t *id; /* the request's */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more;
	json_t *messages; /* all, in order, the response too */
	size_t comments;
	bool leave;
	bool over;
	bool joined;
	struct reply *r;
};
/* @filter: stolen. The id is @a's, or a number beyond 32 bits. */
void listener_start(struct listener *l, struct ask a, json_t *filter);
/* Waits until @task was told to be @status (NULL: until there is any
 * notification); borrowed, or NULL after 60 s. */
const json_t *listener_await(struct listener *l, const char *task,
			     const char *status);
/* Waits until it was told so; false: not in 60 s. */
bool listener_await_method(struct listener *l, const char *method);
/* Whether this message says that @task is @status. */
bool listener_is(const json_t *m, const char *task, const char *status);
/* Waits for a comment line; false: none in 60 s. */
bool listener_await_comment(struct listener *l);
/* From now on the next message makes it close its connection. */
void listener_leave(struct listener *l);
void listener_join(struct listener *l); /* waits for the stream's end */
void listener_end(struct listener *l);  /* and frees it */
/* Every message carries the request's id as its subscriptionId. */
bool listener_tagged(const struct listener *l);
#endif
