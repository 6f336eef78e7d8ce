/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_TARGET_H
#define CATALOG_TARGET_H
#include "bide/tool.h"
#include "server/catalog/json_schema.h"

/*
 * What a call enters, whichever method called it: a tool's handler, a prompt's
 * or a resource's (mrtr.mdx "Supported Requests" names these three). Part of
 * the tool, prompt or resource that the registry keeps; constant.
 */
enum target_kind { TARGET_TOOL = 1, TARGET_PROMPT, TARGET_RESOURCE };

static inline const char *target_kind_name(enum target_kind kind)
{
	switch (kind) {
	case TARGET_TOOL:
		return "tool";
	case TARGET_PROMPT:
		return "prompt";
	case TARGET_RESOURCE:
		return "resource";
	}
	return "?";
}

struct target {
	enum target_kind kind;
	const char *name;      /* a resource's: its URI or URI template */
	const char *mime_type; /* a resource's; NULL: not said */
	bide_handler_fn handler;
	void *user;
	enum bide_mode mode; /* prompts and resources are ephemeral */
	unsigned needs;      /* bide_can bits */
	bool runs_inline;
	bool single_use;
	int64_t input_deadline_ms; /* times as given; 0: the option's */
	int64_t wait_budget_ms;
	int64_t max_run_ms;
	const struct json_schema *output; /* NULL: none */
};
#endif
