/* SPDX-License-Identifier: MIT */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/jsontext.h"
#include "server/dispatch/core.h"
#include "server/security/keyring.h"

static const struct method {
	const char *name;
	void (*fn)(struct dispatch *d, struct request *rq);
	enum offer of;
	unsigned needs;
} methods[] = {
#define METHOD(name, handler, of, needs) {name, method_##handler, of, needs},
#include "server/dispatch/methods.def"
#undef METHOD
};

bool dispatch_offers(const struct registry *r, enum offer what)
{
	switch (what) {
	case OFFER_ALWAYS:
		return true;
	case OFFER_TOOLS:
		return registry_tools(r) > 0;
	case OFFER_PROMPTS:
		return registry_prompts(r) > 0;
	case OFFER_RESOURCES:
		return registry_resources(r) + registry_templates(r) > 0;
	case OFFER_COMPLETIONS:
		return registry_completes(r);
	}
	return false;
}

static const struct method *find(const struct dispatch *d, const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (strcmp(methods[i].name, name) == 0)
			return dispatch_offers(d->opt.registry, methods[i].of)
				       ? &methods[i]
				       : NULL;
	return NULL;
}

bool dispatch_knows(const struct dispatch *d, const char *method)
{
	return find(d, method) != NULL;
}

struct dispatch *dispatch_new(const struct dispatch_options *opt)
{
	struct dispatch *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return NULL;
	d->opt = *opt;
	d->store = engine_store(opt->engine);
	d->wake = engine_wake(opt->engine);
	d->topics = engine_topics(opt->engine);
	atomic_init(&d->open, 0);
	atomic_init(&d->draining, false);
	mutex_init(&d->lock, RANK_DISPATCH);
	return d;
}

void dispatch_free(struct dispatch *d)
{
	if (d == NULL)
		return;
	(void)dispatch_idle(d, 1000);
	pending_fini(d);
	mutex_fini(&d->lock);
	free(d);
}

void dispatch_request(struct dispatch *d, struct request *rq)
{
	const struct method *m = find(d, rq->method);
	unsigned missing;

	atomic_fetch_add(&d->open, 1);
	rq->priv = NULL;
	if (m == NULL) {
		core_error(d, rq, -32601, "Method not found");
		return;
	}
	/* Before anything is looked up: tasks.md "Protocol Errors" asks it
	 * for unknown ids too. */
	missing = m->needs & ~rq->caller.can;
	if (missing != 0)
		core_missing(d, rq, missing, NULL);
	else
		m->fn(d, rq);
}

void dispatch_closed(struct dispatch *d, struct request *rq)
{
	pending_close(d, rq);
}

void dispatch_drain(struct dispatch *d)
{
	pending_drain(d);
}

size_t dispatch_pending(struct dispatch *d)
{
	return atomic_load(&d->open);
}

/* Counted down after the answer has left, so a thread that is on its last step
 * in the transport is waited for too: for an instant, hence no condition. */
bool dispatch_idle(struct dispatch *d, int64_t ms)
{
	int64_t until = clock_boot_ms() + ms;

	while (dispatch_pending(d) > 0 && clock_boot_ms() < until)
		(void)sched_yield();
	return dispatch_pending(d) == 0;
}

/* ---- what became of a reply ---- */
static void touched(struct store_op *op, void *user)
{
	(void)user;
	free(op);
}

static void touch(struct dispatch *d, int64_t task, enum store_touch_what what,
		  int64_t ms)
{
	struct store_op *op = malloc(sizeof(*op));

	/* Without it the task's own time to be abandoned still holds. */
	if (op == NULL)
		return;
	store_op_init(op, STORE_OP_TOUCH, CORE_STORE_TIMEOUT_MS);
	op->u.touch.task = task;
	op->u.touch.what = what;
	op->u.touch.ms = ms;
	op->done = touched;
	store_submit(d->store, op);
}

void core_join(struct dispatch *d, int64_t task, int64_t ms)
{
	touch(d, task, STORE_TOUCH_JOIN, ms);
}

void dispatch_delivered(struct dispatch *d, const struct delivery *v,
			bool whole)
{
	if (v->task == 0)
		return;
	if (v->joined)
		touch(d, v->task, whole ? STORE_TOUCH_LEAVE : STORE_TOUCH_GONE,
		      whole ? v->abandon_ms : engine_grace_ms(d->opt.engine));
	else if (whole)
		touch(d, v->task, STORE_TOUCH_DELIVERED, v->abandon_ms);
}

/* ---- what a request says ---- */
/* The member of params that names what is called; NULL: it calls nothing. */
static const char *name_member(const struct request *rq)
{
	if (strcmp(rq->method, "tools/call") == 0 ||
	    strcmp(rq->method, "prompts/get") == 0)
		return "name";
	return strcmp(rq->method, "resources/read") == 0 ? "uri" : NULL;
}

bool request_may_ask(const struct request *rq)
{
	return name_member(rq) != NULL;
}

const char *request_name(const struct request *rq)
{
	const char *member = name_member(rq);
	const char *name = member != NULL ? core_string(rq, member) : NULL;

	return name != NULL ? name : "";
}

const char *request_args_digest(struct request *rq)
{
	json_t *args = json_object_get(rq->params, "arguments");
	struct buf b = {0};

	if (rq->args_digest[0] != '\0')
		return rq->args_digest;
	if (!json_is_object(args))
		(void)buf_addstr(&b, "{}");
	else
		(void)jsontext_canonical(args, &b);
	/* Out of memory: a digest that nothing sealed can equal. */
	security_digest(b.failed ? "?" : b.data, b.failed ? 1 : b.len,
			rq->args_digest);
	buf_fini(&b);
	return rq->args_digest;
}
