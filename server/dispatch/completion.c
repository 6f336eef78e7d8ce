/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/error.h"
#include "server/base/jsontext.h"
#include "server/base/limits.h"
#include "server/base/log.h"
#include "server/base/utf8.h"
#include "server/dispatch/core.h"

/* completion/complete (utilities/completion). */
#define SLOW_DOWN "Too many completion requests of this caller; slow down"

struct bide_completion {
	struct pending p; /* first */
	struct job job;
	/* What is asked: borrowed, from the registry and the request. */
	const char *of; /* for the log */
	const char *name, *value;
	const json_t *context;
	bide_complete_fn fn; /* NULL: no suggestions */
	void *user;
	/* What was added. */
	struct buf values;
	int64_t added;
	int64_t total;
};

/* ---- what a bide_complete_fn calls ---- */
const char *bide_complete_name(const struct bide_completion *c)
{
	return c->name;
}

const char *bide_complete_value(const struct bide_completion *c)
{
	return c->value;
}

const char *bide_complete_arg(const struct bide_completion *c, const char *name)
{
	return name != NULL
		       ? json_string_value(json_object_get(c->context, name))
		       : NULL;
}

const char *bide_complete_principal(const struct bide_completion *c)
{
	return c->p.rq->principal;
}

enum bide_rc bide_complete_add(struct bide_completion *c, const char *value)
{
	if (pending_closed(&c->p))
		return BIDE_CANCELLED;
	if (value == NULL || !utf8_valid(value, strlen(value)))
		return BIDE_INVALID;
	if (c->added++ >= LIMIT_COMPLETION_VALUES)
		return BIDE_OK;
	if (c->values.len > 0)
		(void)buf_addc(&c->values, ',');
	(void)jsontext_write_string(value, strlen(value), &c->values);
	return c->values.failed ? BIDE_LIMIT : BIDE_OK;
}

void bide_complete_total(struct bide_completion *c, int64_t total)
{
	c->total = total;
}

/* ---- the answer ---- */
static void answer(struct dispatch *d, struct request *rq,
		   const struct bide_completion *c)
{
	int64_t known = c->total > c->added ? c->total : c->added;
	int64_t total = known < JSONTEXT_EXACT ? known : JSONTEXT_EXACT;
	int64_t sent = c->added < LIMIT_COMPLETION_VALUES
			       ? c->added
			       : LIMIT_COMPLETION_VALUES;
	struct outcome o = {.kind = OUTCOME_RESULT};
	struct buf b = {0};

	(void)buf_addstr(&b, "{\"completion\":{\"values\":[");
	(void)buf_add(&b, c->values.data, c->values.len);
	(void)buf_addf(&b, "],\"total\":%" PRId64 ",\"hasMore\":%s}}", total,
		       total > sent ? "true" : "false");
	core_done_buf(d, rq, &o, &b);
}

static void completion_free(struct bide_completion *c)
{
	buf_fini(&c->values);
	free(c);
}

static void run(struct job *job)
{
	struct bide_completion *c =
		(struct bide_completion *)((char *)job -
					   offsetof(struct bide_completion,
						    job));
	struct dispatch *d = c->p.d;
	struct request *rq = c->p.rq;
	enum bide_rc rc = BIDE_CANCELLED;

	if (!pending_closed(&c->p))
		rc = c->fn(c, c->user);
	if (rc == BIDE_OK && c->values.failed)
		rc = BIDE_LIMIT;
	if (rc != BIDE_OK && !pending_closed(&c->p))
		log_error("completion.failed", "of=%s argument=%s rc=%s", c->of,
			  c->name, error_rc_name(rc));
	pending_remove(&c->p);
	if (rc == BIDE_OK)
		answer(d, rq, c);
	else
		core_error(d, rq, CORE_INTERNAL, "Internal error");
	completion_free(c);
}

/* ---- the request ---- */
static bool read_context(const json_t *params, const json_t **ret)
{
	const json_t *context = json_object_get(params, "context");
	json_t *args = json_object_get(context, "arguments");
	const char *name;
	json_t *v;

	if (context == NULL || json_is_null(context))
		return true;
	if (!json_is_object(context))
		return false;
	if (args == NULL || json_is_null(args))
		return true;
	if (!json_is_object(args))
		return false;
	json_object_foreach (args, name, v)
		if (!json_is_string(v))
			return false;
	*ret = args;
	return true;
}

/* False: answered. */
static bool read_argument(struct dispatch *d, struct request *rq,
			  struct bide_completion *c)
{
	const json_t *arg = json_object_get(rq->params, "argument");

	c->name = json_string_value(json_object_get(arg, "name"));
	c->value = json_string_value(json_object_get(arg, "value"));
	if (c->name == NULL || c->value == NULL) {
		core_error(d, rq, CORE_INVALID,
			   "params.argument must have a name and a value, "
			   "both strings");
		return false;
	}
	if (!read_context(rq->params, &c->context)) {
		core_error(d, rq, CORE_INVALID,
			   "params.context.arguments must be an object of "
			   "strings");
		return false;
	}
	return true;
}

static bool has_argument(const struct prompt *p, const char *name)
{
	size_t i;

	for (i = 0; i < p->def.n_args; i++)
		if (strcmp(p->def.args[i].name, name) == 0)
			return true;
	return false;
}

/* These two: NULL, or what is wrong with the reference. */
static const char *find_prompt(const struct dispatch *d, const char *name,
			       struct bide_completion *c)
{
	const struct prompt *p = registry_prompt(d->opt.registry, name);

	if (p == NULL)
		return "Unknown prompt";
	if (!has_argument(p, c->name))
		return "The prompt has no such argument";
	c->of = p->def.name;
	c->fn = p->def.complete;
	c->user = p->def.user;
	return NULL;
}

static const char *find_resource(const struct dispatch *d, const char *uri,
				 struct bide_completion *c)
{
	json_t *vars = NULL;
	const struct resource *r =
		registry_resource(d->opt.registry, uri, &vars);

	json_decref(vars);
	if (r == NULL)
		r = registry_template(d->opt.registry, uri);
	if (r == NULL)
		return "Unknown resource";
	if (r->template == NULL) /* nothing in it varies */
		return NULL;
	if (!registry_has_variable(r, c->name))
		return "The resource template has no such variable";
	c->of = r->def.uri;
	c->fn = r->def.complete;
	c->user = r->def.user;
	return NULL;
}

/* False: answered. */
static bool find_ref(struct dispatch *d, struct request *rq,
		     struct bide_completion *c)
{
	const json_t *ref = json_object_get(rq->params, "ref");
	const char *type = json_string_value(json_object_get(ref, "type"));
	const char *name = json_string_value(json_object_get(ref, "name"));
	const char *uri = json_string_value(json_object_get(ref, "uri"));
	const char *why = "params.ref must be a ref/prompt with a name, or a "
			  "ref/resource with a uri";

	if (type != NULL && strcmp(type, "ref/prompt") == 0 && name != NULL)
		why = find_prompt(d, name, c);
	else if (type != NULL && strcmp(type, "ref/resource") == 0 &&
		 uri != NULL)
		why = find_resource(d, uri, c);
	if (why != NULL)
		core_error(d, rq, CORE_INVALID, "%s", why);
	return why == NULL;
}

void method_complete(struct dispatch *d, struct request *rq)
{
	struct bide_completion *c;

	if (!pending_may_complete(d, rq->principal, clock_boot_ms())) {
		core_error(d, rq, CORE_INTERNAL, SLOW_DOWN);
		return;
	}
	c = calloc(1, sizeof(*c));
	if (c == NULL) {
		core_no_memory(d, rq);
		return;
	}
	buf_init(&c->values, LIMIT_RESULT_BYTES);
	if (read_argument(d, rq, c) && find_ref(d, rq, c)) {
		if (c->fn == NULL)
			answer(d, rq, c);
		else if (core_run(d, rq, &c->p, &c->job, run))
			return;
	}
	completion_free(c);
}
