/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_REGISTRY_TOOL_H
#define CATALOG_REGISTRY_TOOL_H
#include "server/catalog/registry.h"
/* One tool, checked and made ready; registry.c keeps them. */

/* BIDE_OK, BIDE_INVALID (the text names the tool and the place), LIMIT, NOMEM.
 */
enum bide_rc tool_new(const struct bide_tool *def, bool builtin,
		      struct tool **ret, struct bide_error *reterr);
void tool_free(struct tool *t);
#endif
