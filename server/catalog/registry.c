/* SPDX-License-Identifier: MIT */
#include "server/catalog/registry.h"
#include "server/base/error.h"
#include "server/base/limits.h"
#include "server/base/log.h"
#include "server/catalog/registry_internal.h"
#include <stdlib.h>

struct registry *registry_new(void)
{
	return calloc(1, sizeof(struct registry));
}

static void free_tool(void *tool)
{
	tool_free(tool);
}

static void free_prompt(void *prompt)
{
	prompt_free(prompt);
}

static void free_resource(void *resource)
{
	resource_free(resource);
}

void registry_free(struct registry *r)
{
	if (!r)
		return;
	names_fini(&r->tools, free_tool);
	names_fini(&r->prompts, free_prompt);
	names_fini(&r->resources, free_resource);
	names_fini(&r->templates, free_resource);
	free(r);
}

/* ---- adding ---- */

/* @t is of @thing, which the caller frees on a failure. */
static enum bide_rc keep(struct names *l, size_t at, const struct target *t,
			 void *thing, const char *kind,
			 struct bide_error *reterr)
{
	if (names_find(l, t->name))
		return error_set(reterr, BIDE_CONFLICT,
				 "%s \"%.128s\": the %s is taken", kind,
				 t->name,
				 t->kind == TARGET_RESOURCE ? "URI" : "name");
	if (!names_insert(l, at, t->name, thing))
		return error_set(reterr, BIDE_NOMEM, "out of memory");
	return BIDE_OK;
}

/* Builtin tools stay behind the program's own, whenever they come. */
enum bide_rc registry_add_tool(struct registry *r, const struct bide_tool *def,
			       bool builtin, struct bide_error *reterr)
{
	struct tool *t = NULL;
	enum bide_rc rc;
	size_t at = builtin ? r->tools.n : r->tools.n - r->n_builtin;

	if (r->tools.n >= LIMIT_TOOLS)
		return error_set(reterr, BIDE_LIMIT,
				 "more than %d tools (LIMIT_TOOLS)",
				 LIMIT_TOOLS);
	rc = tool_new(def, builtin, &t, reterr);
	if (rc)
		return rc;
	rc = keep(&r->tools, at, &t->target, t, "tool", reterr);
	if (rc) {
		tool_free(t);
		return rc;
	}
	r->n_builtin += builtin;
	for (; at < r->tools.n; at++)
		((struct tool *)names_at(&r->tools, at))->index = at;
	return BIDE_OK;
}

enum bide_rc registry_add_prompt(struct registry *r,
				 const struct bide_prompt *def,
				 struct bide_error *reterr)
{
	struct prompt *p = NULL;
	enum bide_rc rc;

	if (r->prompts.n >= LIMIT_PROMPTS)
		return error_set(reterr, BIDE_LIMIT,
				 "more than %d prompts (LIMIT_PROMPTS)",
				 LIMIT_PROMPTS);
	rc = prompt_new(def, &p, reterr);
	if (rc)
		return rc;
	p->index = r->prompts.n;
	rc = keep(&r->prompts, p->index, &p->target, p, "prompt", reterr);
	if (rc)
		prompt_free(p);
	return rc;
}

enum bide_rc registry_add_resource(struct registry *r,
				   const struct bide_resource *def,
				   bool template, struct bide_error *reterr)
{
	struct names *l = template ? &r->templates : &r->resources;
	struct resource *res = NULL;
	enum bide_rc rc;

	if (l->n >= LIMIT_RESOURCES)
		return error_set(reterr, BIDE_LIMIT,
				 "more than %d resources or templates "
				 "(LIMIT_RESOURCES)",
				 LIMIT_RESOURCES);
	rc = resource_new(def, template, &res, reterr);
	if (rc)
		return rc;
	res->index = l->n;
	rc = keep(l, l->n, &res->target, res,
		  template ? "resource template" : "resource", reterr);
	if (rc)
		resource_free(res);
	return rc;
}

/* ---- what there is ---- */

const struct tool *registry_tool(const struct registry *r, const char *name)
{
	return names_find(&r->tools, name);
}

const struct tool *registry_tool_at(const struct registry *r, size_t i)
{
	return names_at(&r->tools, i);
}

const struct prompt *registry_prompt(const struct registry *r, const char *name)
{
	return names_find(&r->prompts, name);
}

size_t registry_tools(const struct registry *r)
{
	return r->tools.n;
}

bool registry_detaches(const struct registry *r)
{
	for (size_t i = 0; i < r->tools.n; i++) {
		const struct bide_tool *def = &registry_tool_at(r, i)->def;

		if (def->mode != BIDE_EPHEMERAL &&
		    def->without_tasks == BIDE_DETACH)
			return true;
	}
	return false;
}

size_t registry_prompts(const struct registry *r)
{
	return r->prompts.n;
}

size_t registry_resources(const struct registry *r)
{
	return r->resources.n;
}

size_t registry_templates(const struct registry *r)
{
	return r->templates.n;
}

bool registry_lists_more(const struct registry *r)
{
	for (size_t i = 0; i < r->templates.n; i++) {
		const struct resource *t = names_at(&r->templates, i);

		if (t->def.list)
			return true;
	}
	return false;
}

bool registry_completes(const struct registry *r)
{
	for (size_t i = 0; i < r->prompts.n; i++) {
		const struct prompt *p = names_at(&r->prompts, i);

		if (p->def.complete)
			return true;
	}
	for (size_t i = 0; i < r->templates.n; i++) {
		const struct resource *t = names_at(&r->templates, i);

		if (t->def.complete)
			return true;
	}
	return false;
}

static void warn_of(const struct tool *t)
{
	/* client/elicitation and server/tools: no secrets there. */
	if (t->secret)
		log_warn("catalog.argument_looks_secret", "tool=%s property=%s",
			 t->def.name, t->secret);
	for (size_t i = 0; i < t->n_params; i++)
		if (t->params[i].secret)
			log_warn("catalog.header_looks_secret",
				 "tool=%s header=%s", t->def.name,
				 t->params[i].header);
}

void registry_warn(const struct registry *r)
{
	for (size_t i = 0; i < registry_tools(r); i++)
		warn_of(registry_tool_at(r, i));
}
