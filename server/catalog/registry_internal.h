/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_REGISTRY_INTERNAL_H
#define CATALOG_REGISTRY_INTERNAL_H
#include "server/catalog/names.h"
#include "server/catalog/registry.h"
/* What the files of the registry share. */

struct registry {
	struct names tools; /* builtin ones last */
	size_t n_builtin;
	struct names prompts;
	struct names resources; /* by URI */
	struct names templates; /* by their text */
};

/*
 * One entry, checked and made ready; registry.c keeps them. BIDE_OK,
 * BIDE_INVALID (the text names it and the place), BIDE_LIMIT, BIDE_NOMEM.
 */
enum bide_rc tool_new(const struct bide_tool *def, bool builtin,
		      struct tool **ret, struct bide_error *reterr);
void tool_free(struct tool *t);
enum bide_rc prompt_new(const struct bide_prompt *def, struct prompt **ret,
			struct bide_error *reterr);
void prompt_free(struct prompt *p);
enum bide_rc resource_new(const struct bide_resource *def, bool template,
			  struct resource **ret, struct bide_error *reterr);
void resource_free(struct resource *res);
/* What bide_list_add() takes: appended to @out. @of: the template. */
enum bide_rc resource_write_listed(const struct resource *of,
				   const struct bide_resource *def,
				   struct buf *out, struct bide_error *reterr);
#endif
