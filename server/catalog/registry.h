/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_REGISTRY_H
#define CATALOG_REGISTRY_H
#include "bide/prompt.h"
#include "bide/resource.h"
#include "bide/tool.h"
#include "bide/types.h"
#include "server/base/buf.h"
#include "server/catalog/json_schema.h"
#include "server/catalog/target.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/*
 * What this server offers. Built by one thread before serving, constant
 * afterwards, read by all without locks. Lists keep the order of registration
 * (server/tools: a deterministic order); wait_for_task is listed last.
 */
/* A parameter that is mirrored into a header (streamable-http, "Custom Headers
 * from Tool Parameters"). */
enum param_type { PARAM_STRING = 1, PARAM_INTEGER, PARAM_BOOLEAN };
struct tool_param {
	char *header;            /* "Mcp-Param-Region" */
	const char *const *path; /* property names from the root; NULL ends */
	enum param_type type;
	bool secret; /* it looks like one: the author is warned */
};

struct tool {
	struct target target; /* of its handler */
	struct bide_tool
		def; /* strings owned by the registry; times as given */
	struct json_schema *input;  /* compiled; never NULL */
	struct json_schema *output; /* NULL: none */
	char *listing; /* its entry of tools/list: JSON text, made once */
	size_t listing_len;
	struct tool_param *params; /* mirrored into headers */
	size_t n_params;
	char *secret; /* an argument whose name looks like a secret; NULL */
	size_t index; /* in registration order */
	bool builtin; /* wait_for_task: the dispatcher's own */
};
struct prompt {
	struct target target;
	struct bide_prompt def; /* as of a tool */
	char *listing;
	size_t listing_len;
	size_t index;
};

struct uri_template;
struct resource {
	struct target target;
	struct bide_resource def;      /* as of a tool */
	struct uri_template *template; /* NULL: def.uri is the URI itself */
	char *listing;
	size_t listing_len;
	size_t index;
};

/* The tool that @t is part of; @t->kind must be TARGET_TOOL. */
static inline const struct tool *target_tool(const struct target *t)
{
	return (const struct tool *)((const char *)t -
				     offsetof(struct tool, target));
}
/* The same of TARGET_PROMPT and TARGET_RESOURCE. */
static inline const struct prompt *target_prompt(const struct target *t)
{
	return (const struct prompt *)((const char *)t -
				       offsetof(struct prompt, target));
}
static inline const struct resource *target_resource(const struct target *t)
{
	return (const struct resource *)((const char *)t -
					 offsetof(struct resource, target));
}

struct registry;
struct registry *registry_new(void);
void registry_free(struct registry *r);
/* As bide_server_add_tool(). */
enum bide_rc registry_add_tool(struct registry *r, const struct bide_tool *def,
			       bool builtin, struct bide_error *reterr);
/* What the author should hear once, as serving begins: to the log. */
void registry_warn(const struct registry *r);
const struct tool *registry_tool(const struct registry *r,
				 const char *name); /* hashed; NULL */
size_t registry_tools(const struct registry *r);
const struct tool *registry_tool_at(const struct registry *r,
				    size_t i); /* listing order */
/* May a call of any tool go on as a task behind a handle? */
bool registry_detaches(const struct registry *r);

/* As bide_server_add_prompt(), _resource() and _resource_template(). */
enum bide_rc registry_add_prompt(struct registry *r,
				 const struct bide_prompt *def,
				 struct bide_error *reterr);
enum bide_rc registry_add_resource(struct registry *r,
				   const struct bide_resource *def,
				   bool template, struct bide_error *reterr);
size_t registry_prompts(const struct registry *r);
size_t registry_resources(const struct registry *r); /* fixed ones */
size_t registry_templates(const struct registry *r);
bool registry_lists_more(const struct registry *r); /* a template has a list */
bool registry_completes(const struct registry *r);  /* any has suggestions */
const struct prompt *registry_prompt(const struct registry *r,
				     const char *name); /* NULL */
/*
 * Who reads @uri; NULL: nobody. @ret_vars: the template's variables, decoded,
 * as an object of strings (new reference; an empty one for a fixed URI); it
 * stays NULL when there is no memory for them.
 */
const struct resource *registry_resource(const struct registry *r,
					 const char *uri, json_t **ret_vars);
/* The template of exactly this text; NULL. */
const struct resource *registry_template(const struct registry *r,
					 const char *text);
/* Is it an absolute URI (RFC 3986)? */
bool registry_uri_valid(const char *uri);
/* Is @name a variable of @t? */
bool registry_has_variable(const struct resource *t, const char *name);

/* ---- lists ---- */
enum registry_list {
	REGISTRY_TOOLS = 1,
	REGISTRY_PROMPTS,
	REGISTRY_RESOURCES, /* fixed ones, then what templates list */
	REGISTRY_TEMPLATES
};
#define REGISTRY_CURSOR_BYTES 1024
enum registry_wish {
	REGISTRY_ALL,  /* a whole page */
	REGISTRY_SOON, /* ask no further bide_list_fn: another page is for them
			*/
	REGISTRY_NONE  /* nobody waits for it any more */
};
/* For whom a page is. */
struct registry_reader {
	const char *principal;
	/* Called between two entries, on the same thread. NULL: always
	 * REGISTRY_ALL. */
	enum registry_wish (*wish)(void *user);
	void *user;
};
/*
 * One page: the entries joined by commas into @out. It ends when it has
 * LIMIT_PAGE_ITEMS, or the next would take it over LIMIT_PAGE_BYTES; what a
 * bide_list_fn gave last may be beyond. May call
 * bide_list_fn of templates (REGISTRY_RESOURCES when registry_lists_more()),
 * hence blocks.
 * @cursor: NULL for the first; opaque text otherwise. @ret_next: "" at the end.
 * BIDE_INVALID: not a cursor of ours, or not one of a bide_list_fn's. BIDE_IO:
 * a bide_list_fn failed, and the log says how. BIDE_NOMEM. BIDE_CANCELLED:
 * REGISTRY_NONE.
 */
enum bide_rc registry_page(const struct registry *r, enum registry_list list,
			   const struct registry_reader *reader,
			   const char *cursor, struct buf *out,
			   char ret_next[REGISTRY_CURSOR_BYTES]);
#endif
