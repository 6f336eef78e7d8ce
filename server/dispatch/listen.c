/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/fnv.h"
#include "server/base/limits.h"
#include "server/dispatch/listen_filter.h"

/*
 * subscriptions/listen: acknowledged first, then the present state of each
 * task it named, then each change of these, of the lists and of the resources
 * it asked for, from any instance, until the client goes or the server drains.
 *
 * After the set-up all happens on the wake thread. What is to be told of lists
 * and resources is a flag for each: while the client has not been sent what
 * went before, it only stands, so one who reads slowly is owed each topic once.
 */
#define TELL_BYTES    (64 * 1024) /* at once, of what is owed */
#define TELL_AGAIN_MS 100         /* while the client reads slowly */

struct listener;
struct heard {
	struct wake_watcher watch; /* first */
	struct listener *l;
	char token[STORE_TOKEN_BYTES];
	uint64_t told; /* what was shown last; 0: nothing */
};
struct followed {
	struct topic_watcher watch; /* first */
	struct listener *l;
	enum bide_changed what;
	const char *uri; /* within the topic's name; NULL: a list */
	bool owed;
};
struct listener {
	struct pending p; /* first */
	struct wake_timer tell;
	bool telling; /* it is armed */
	size_t n_tasks, n_topics;
	struct followed *topics;
	size_t turn; /* of the topics: whose it is to be told */
	struct heard tasks[];
};

static void listener_free(struct listener *l)
{
	size_t i;

	for (i = 0; i < l->n_topics; i++)
		free((char *)l->topics[i].watch.name);
	free(l->topics);
	free(l);
}

static void end(struct pending *p)
{
	struct listener *l = (struct listener *)p;
	struct dispatch *d = p->d;
	struct request *rq = p->rq;
	struct outcome o = {.kind = OUTCOME_LISTEN_END};
	size_t i;

	for (i = 0; i < l->n_tasks; i++)
		(void)wake_unwatch(d->wake, &l->tasks[i].watch);
	for (i = 0; i < l->n_topics; i++)
		topic_unwatch(d->topics, &l->topics[i].watch);
	(void)wake_timer_disarm(d->wake, &l->tell);
	pending_remove(p);
	core_done(d, rq, &o);
	listener_free(l);
}

/* ---- tasks ---- */
static uint64_t mix(uint64_t h, const char *s)
{
	return fnv_mix(s != NULL ? fnv_text(h, s) : h, 0xff);
}

/* A row also changes by what nobody is shown: claims, progress, who waits. */
static uint64_t shown(const struct store_task *t)
{
	uint64_t h = FNV_BASIS ^ (uint64_t)t->ttl_ms;
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
	uint64_t now = t != NULL ? shown(t) : h->told;

	/* Also waits for the set-up to have let go of it. */
	if (pending_closed(p))
		return;
	if (now != h->told) {
		h->told = now;
		p->rq->reply->task_changed(p->rq, t);
	}
	/* A failed one may be tried again by an operator; nothing else changes
	 * any more. */
	if (t == NULL || t->state == STORE_COMPLETED ||
	    t->state == STORE_CANCELLED)
		(void)wake_unwatch(p->d->wake, x);
}

static void take_task(struct dispatch *d, const struct request *rq,
		      struct listener *l, const char *token)
{
	struct heard *h = &l->tasks[l->n_tasks];
	struct store_task *t = NULL;

	if (strlen(token) >= sizeof(h->token))
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
		l->n_tasks++;
	}
	store_task_free(t);
}

/* ---- lists and resources ---- */
/* It goes on where it stopped, so a topic that is owed again at once does not
 * keep those behind it waiting. */
static void tell(struct wake_timer *t)
{
	struct listener *l =
		(struct listener *)((char *)t -
				    offsetof(struct listener, tell));
	struct request *rq = l->p.rq;
	size_t room = TELL_BYTES;
	bool rest = rq->reply->backed_up(rq);
	size_t sent;
	size_t i;

	for (i = 0; i < l->n_topics && !rest; i++) {
		struct followed *f = &l->topics[l->turn];

		l->turn = (l->turn + 1) % l->n_topics;
		if (!f->owed)
			continue;
		f->owed = false;
		sent = rq->reply->changed(rq, f->what, f->uri);
		room -= sent < room ? sent : room;
		rest = room == 0;
	}
	l->telling = rest;
	if (rest)
		wake_timer_arm(l->p.d->wake, t, clock_boot_ms() + TELL_AGAIN_MS,
			       tell);
}

/* All that one look found are told together, after it. */
static void announced(struct topic_watcher *x)
{
	struct followed *f = (struct followed *)x;
	struct listener *l = f->l;

	if (pending_closed(&l->p)) /* and waits for the set-up, as above */
		return;
	f->owed = true;
	if (!l->telling)
		wake_timer_arm(l->p.d->wake, &l->tell, clock_boot_ms(), tell);
	l->telling = true;
}

static bool follow(struct listener *l, enum bide_changed what, const char *uri,
		   int64_t since)
{
	struct followed *f = &l->topics[l->n_topics];

	f->watch.name = topic_name(what, uri);
	if (f->watch.name == NULL)
		return false;
	f->watch.fn = announced;
	f->watch.since = since;
	f->l = l;
	f->what = what;
	f->uri = uri;
	l->n_topics++;
	return true;
}

/* What is announced from here on is told, though the watching begins after the
 * acknowledgement. */
static bool follow_all(struct listener *l, const struct listen_filter *f)
{
	const bool lists[] = {f->tools, f->prompts, f->resources};
	static const enum bide_changed whats[] = {BIDE_CHANGED_TOOLS,
						  BIDE_CHANGED_PROMPTS,
						  BIDE_CHANGED_RESOURCES};
	int64_t since = 0;
	bool good = true;
	size_t i;

	if (!f->tools && !f->prompts && !f->resources && f->n_uris == 0)
		return true;
	if (store_topic_last(l->p.d->store, &since) != BIDE_OK)
		return false;
	l->topics = calloc(f->n_uris + 3, sizeof(*l->topics));
	if (l->topics == NULL)
		return false;
	for (i = 0; i < 3 && good; i++)
		good = !lists[i] || follow(l, whats[i], NULL, since);
	for (i = 0; i < f->n_uris && good; i++)
		good = follow(l, BIDE_CHANGED_RESOURCES, f->uris[i], since);
	return good;
}

/* ---- beginning ---- */
/* The tokens that were found stand in the place of those asked for. */
static void acknowledge(struct request *rq, const struct listener *l,
			struct listen_filter *f)
{
	struct listening what = {
		.tools = f->tools,
		.prompts = f->prompts,
		.resources = f->resources,
		.uris = f->uris,
		.n_uris = f->n_uris,
		.tokens = f->tokens,
		.n_tokens = l->n_tasks,
	};
	size_t i;

	for (i = 0; i < l->n_tasks; i++)
		f->tokens[i] = l->tasks[i].token;
	rq->reply->listening(rq, &what);
}

static void begin(struct listener *l, struct listen_filter *f)
{
	struct dispatch *d = l->p.d;
	struct request *rq = l->p.rq;
	size_t i;

	for (i = 0; i < f->n_tokens; i++)
		take_task(d, rq, l, f->tokens[i]);
	if (!follow_all(l, f)) {
		pending_remove(&l->p);
		listener_free(l);
		core_error(d, rq, CORE_INTERNAL,
			   "The database cannot be read; try again later");
		return;
	}
	acknowledge(rq, l, f);
	l->p.fire = end;
	mutex_lock(&d->lock);
	for (i = 0; i < l->n_tasks; i++)
		wake_watch(d->wake, &l->tasks[i].watch);
	for (i = 0; i < l->n_topics; i++)
		topic_watch(d->topics, &l->topics[i].watch);
	pending_arm_locked(&l->p, PENDING_NO_TIME);
	mutex_unlock(&d->lock);
}

void method_listen(struct dispatch *d, struct request *rq)
{
	struct listen_filter f;
	struct listener *l;

	if (!core_may_call(d, rq, 0, true) || !listen_filter_read(d, rq, &f))
		return;
	l = calloc(1, sizeof(*l) + (f.n_tokens + 1) * sizeof(struct heard));
	if (l == NULL) {
		core_no_memory(d, rq);
	} else if (!pending_add(&l->p, d, rq, PENDING_LISTEN, true)) {
		free(l);
		core_error(d, rq, CORE_INTERNAL,
			   "This caller has as many subscriptions open as it "
			   "may have (%d)",
			   LIMIT_LISTENERS_PER_PRINCIPAL);
	} else {
		begin(l, &f);
	}
	listen_filter_fini(&f);
}
