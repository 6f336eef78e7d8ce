/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/limits.h"
#include "server/dispatch/core.h"

/*
 * subscriptions/listen: acknowledged first, then the present state of each
 * task it named, then each change, from any instance, until the client goes or
 * the server drains. The list of tools never changes while a server runs, so
 * there is nothing to honour in toolsListChanged.
 */
struct listener;
struct heard {
	struct wake_watcher watch; /* first */
	struct listener *l;
	char token[STORE_TOKEN_BYTES];
	uint64_t told; /* what was shown last; 0: nothing */
};
struct listener {
	struct pending p; /* first */
	size_t n;
	struct heard tasks[];
};

static void end(struct pending *p)
{
	struct listener *l = (struct listener *)p;
	struct dispatch *d = p->d;
	struct request *rq = p->rq;
	struct outcome o = {.kind = OUTCOME_LISTEN_END};
	size_t i;

	for (i = 0; i < l->n; i++)
		(void)wake_unwatch(d->wake, &l->tasks[i].watch);
	pending_remove(p);
	core_done(d, rq, &o);
	free(l);
}

static uint64_t mix(uint64_t h, const char *s)
{
	for (; s != NULL && *s != '\0'; s++)
		h = (h ^ (unsigned char)*s) * UINT64_C(1099511628211);
	return (h ^ 0xff) * UINT64_C(1099511628211);
}

/* A row also changes by what nobody is shown: claims, progress, who waits. */
static uint64_t shown(const struct store_task *t)
{
	uint64_t h = UINT64_C(14695981039346656037) ^ (uint64_t)t->ttl_ms;
	size_t i;

	h = mix(h,
		store_state_ended(t->state) ? store_state_name(t->state) : "");
	h = mix(h, t->status);
	for (i = 0; i < t->ninputs; i++)
		h = mix(h, t->inputs[i].wire_key);
	return h | 1;
}

static void changed(struct wake_watcher *x, const struct store_task *t)
{
	struct heard *h = (struct heard *)x;
	struct pending *p = &h->l->p;

	/* Also waits for the set-up to have let go of it. */
	if (pending_closed(p))
		return;
	if (t != NULL && shown(t) != h->told) {
		h->told = shown(t);
		p->rq->reply->task_changed(p->rq, t);
	}
	/* A failed one may be tried again by an operator; nothing else changes
	 * any more. */
	if (t == NULL || t->state == STORE_COMPLETED ||
	    t->state == STORE_CANCELLED)
		(void)wake_unwatch(p->d->wake, x);
}

/* False: answered with an error. */
static bool check(struct dispatch *d, struct request *rq, json_t **ret_ids)
{
	json_t *filter = json_object_get(rq->params, "notifications");
	json_t *ids = json_object_get(filter, "taskIds");
	json_t *id;
	size_t i;

	if (!json_is_object(filter) || (ids != NULL && !json_is_array(ids))) {
		core_error(d, rq, CORE_INVALID,
			   "params.notifications must be an object, "
			   "and its taskIds an array of strings");
		return false;
	}
	if (ids != NULL && (rq->caller.can & BIDE_CAN_TASKS) == 0) {
		core_missing(d, rq, BIDE_CAN_TASKS, NULL);
		return false;
	}
	if (json_array_size(ids) > LIMIT_TASK_IDS_PER_LISTEN) {
		core_error(d, rq, CORE_INVALID, "At most %d taskIds",
			   LIMIT_TASK_IDS_PER_LISTEN);
		return false;
	}
	json_array_foreach (ids, i, id) {
		if (!json_is_string(id)) {
			core_error(d, rq, CORE_INVALID,
				   "taskIds must be strings");
			return false;
		}
	}
	*ret_ids = ids;
	return true;
}

static bool named_before(const struct listener *l, const char *token)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (strcmp(l->tasks[i].token, token) == 0)
			return true;
	return false;
}

static void take(struct dispatch *d, const struct request *rq,
		 struct listener *l, const char *token)
{
	struct heard *h = &l->tasks[l->n];
	struct store_task *t = NULL;

	if (strlen(token) >= sizeof(h->token) || named_before(l, token))
		return;
	/* Another principal's id is left out, as one that does not exist. */
	if (store_get(d->store, token, rq->principal, 0, 0, &t) != BIDE_OK)
		return;
	if (t->flow == STORE_FLOW_TASKS) {
		h->l = l;
		h->watch.fn = changed;
		h->watch.task = t->id;
		h->watch.what = STORE_GET_PAYLOAD | STORE_GET_OPEN_INPUTS;
		memcpy(h->token, t->token, sizeof(h->token));
		l->n++;
	}
	store_task_free(t);
}

static void acknowledge(struct request *rq, const struct listener *l)
{
	const char **tokens = calloc(l->n + 1, sizeof(*tokens));
	size_t n = tokens != NULL ? l->n : 0;
	size_t i;

	for (i = 0; i < n; i++)
		tokens[i] = l->tasks[i].token;
	rq->reply->listening(rq, tokens, n);
	free(tokens);
}

void method_listen(struct dispatch *d, struct request *rq)
{
	json_t *ids = NULL;
	struct listener *l;
	json_t *id;
	size_t i;

	if (!check(d, rq, &ids))
		return;
	l = calloc(1, sizeof(*l) + (json_array_size(ids) + 1) *
					   sizeof(struct heard));
	if (l == NULL) {
		core_no_memory(d, rq);
		return;
	}
	if (!pending_add(&l->p, d, rq, PENDING_LISTEN, true)) {
		free(l);
		core_error(d, rq, CORE_INTERNAL,
			   "This caller has as many subscriptions open as it "
			   "may have (%d)",
			   LIMIT_LISTENERS_PER_PRINCIPAL);
		return;
	}
	json_array_foreach (ids, i, id)
		take(d, rq, l, json_string_value(id));
	acknowledge(rq, l);
	l->p.fire = end;
	mutex_lock(&d->lock);
	for (i = 0; i < l->n; i++)
		wake_watch(d->wake, &l->tasks[i].watch);
	pending_arm_locked(&l->p, PENDING_NO_TIME);
	mutex_unlock(&d->lock);
}
