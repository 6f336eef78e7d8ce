/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdlib.h>

#include "server/base/limits.h"
#include "server/dispatch/core.h"

/* server/discover and the lists (utilities/pagination, utilities/caching). */

void method_discover(struct dispatch *d, struct request *rq)
{
	struct outcome o = {.kind = OUTCOME_DISCOVER};

	core_done(d, rq, &o);
}

struct page {
	enum bide_rc rc;
	struct buf text;
	char next[REGISTRY_CURSOR_BYTES];
};

static const char *member_of(enum registry_list list)
{
	switch (list) {
	case REGISTRY_TOOLS:
		return "tools";
	case REGISTRY_PROMPTS:
		return "prompts";
	case REGISTRY_RESOURCES:
		return "resources";
	case REGISTRY_TEMPLATES:
		return "resourceTemplates";
	}
	return "";
}

/* Does the program say what is in it, each time, for this caller? */
static bool varies(const struct dispatch *d, enum registry_list list)
{
	return list == REGISTRY_RESOURCES &&
	       registry_lists_more(d->opt.registry);
}

/* What an instance that drains does not list is listed by the next one. */
static enum registry_wish wish(void *user)
{
	struct pending *p = user;

	if (pending_closed(p))
		return REGISTRY_NONE;
	return atomic_load(&p->d->draining) ? REGISTRY_SOON : REGISTRY_ALL;
}

/* @waits: NULL for a list that is not made by the program. */
static void make(struct dispatch *d, const struct request *rq,
		 struct pending *waits, enum registry_list list, struct page *p)
{
	const char *cursor = core_string(rq, "cursor");
	const struct registry_reader reader = {
		.principal = rq->principal,
		.wish = waits != NULL ? wish : NULL,
		.user = waits,
	};

	p->rc = registry_page(d->opt.registry, list, &reader, cursor, &p->text,
			      p->next);
	if (p->rc == BIDE_OK && p->text.failed)
		p->rc = BIDE_NOMEM;
}

/* All pages of a list have one scope (utilities/caching "Interaction with
 * Pagination"). */
static void answer(struct dispatch *d, struct request *rq,
		   enum registry_list list, const struct page *p)
{
	struct outcome o = {
		.kind = OUTCOME_LIST,
		.text = p->text.data != NULL ? p->text.data : "",
		.len = p->text.len,
		.member = member_of(list),
		.cursor = p->next,
		.hint = {true, LIMIT_LIST_CACHE_MS, BIDE_PUBLIC},
	};

	if (varies(d, list))
		o.hint = (struct cache_hint){true, 0, BIDE_PRIVATE};
	if (p->rc == BIDE_INVALID) {
		core_error(d, rq, CORE_INVALID, "Invalid cursor");
	} else if (p->rc == BIDE_NOMEM) {
		core_no_memory(d, rq);
	} else if (p->rc == BIDE_OK) {
		core_done(d, rq, &o);
	} else {
		core_error(d, rq, CORE_INTERNAL, "Internal error");
	}
}

/* ---- one that the program makes ---- */
struct listing {
	struct pending p; /* first */
	struct job job;
	enum registry_list list;
};

static void run(struct job *job)
{
	struct listing *l =
		(struct listing *)((char *)job - offsetof(struct listing, job));
	struct dispatch *d = l->p.d;
	struct request *rq = l->p.rq;
	struct page page = {.rc = BIDE_CANCELLED};
	enum registry_list list = l->list;

	if (!pending_closed(&l->p))
		make(d, rq, &l->p, list, &page);
	pending_remove(&l->p);
	free(l);
	answer(d, rq, list, &page);
	buf_fini(&page.text);
}

static void start(struct dispatch *d, struct request *rq,
		  enum registry_list list)
{
	struct listing *l = calloc(1, sizeof(*l));

	if (l == NULL) {
		core_no_memory(d, rq);
		return;
	}
	l->list = list;
	if (!core_run(d, rq, &l->p, &l->job, run))
		free(l);
}

static void list(struct dispatch *d, struct request *rq,
		 enum registry_list which)
{
	json_t *cursor = json_object_get(rq->params, "cursor");
	struct page page = {.rc = BIDE_INVALID};

	if (cursor != NULL && !json_is_null(cursor) &&
	    !json_is_string(cursor)) {
		answer(d, rq, which, &page);
	} else if (varies(d, which)) {
		start(d, rq, which);
	} else {
		make(d, rq, NULL, which, &page);
		answer(d, rq, which, &page);
		buf_fini(&page.text);
	}
}

void method_tools_list(struct dispatch *d, struct request *rq)
{
	list(d, rq, REGISTRY_TOOLS);
}

void method_prompts_list(struct dispatch *d, struct request *rq)
{
	list(d, rq, REGISTRY_PROMPTS);
}

void method_resources_list(struct dispatch *d, struct request *rq)
{
	list(d, rq, REGISTRY_RESOURCES);
}

void method_templates_list(struct dispatch *d, struct request *rq)
{
	list(d, rq, REGISTRY_TEMPLATES);
}
