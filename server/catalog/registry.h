/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_REGISTRY_H
#define CATALOG_REGISTRY_H
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
 * afterwards, read by all without locks. Tools keep the order of registration
 * (server/tools: a deterministic order); wait_for_task is listed last.
 * Resources and prompts join here next.
 */
struct tool {
	struct target target; /* of its handler */
	struct bide_tool
		def; /* strings owned by the registry; times as given */
	struct json_schema *input;  /* compiled; never NULL */
	struct json_schema *output; /* NULL: none */
	char *listing; /* its entry of tools/list: JSON text, made once */
	size_t listing_len;
	char *secret; /* an argument whose name looks like a secret; NULL */
	size_t index; /* in registration order */
	bool builtin; /* wait_for_task: the dispatcher's own */
};
/* The tool that @t is part of; @t->kind must be TARGET_TOOL. */
static inline const struct tool *target_tool(const struct target *t)
{
	return (const struct tool *)((const char *)t -
				     offsetof(struct tool, target));
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
/*
 * One page of tools/list: the entries joined by commas into @out.
 * @cursor: NULL for the first; opaque text otherwise. @ret_next: "" at the end.
 * BIDE_INVALID: not a cursor of ours.
 */
enum bide_rc registry_list_tools(const struct registry *r, const char *cursor,
				 struct buf *out, char ret_next[32]);
#endif
