/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_TOOL_PARAMS_H
#define CATALOG_TOOL_PARAMS_H
#include "server/catalog/entry.h"
#include "server/catalog/registry.h"
/*
 * The annotation x-mcp-header of an input schema (streamable-http, "Custom
 * Headers from Tool Parameters"). Clients drop a tool whose annotations break
 * the rules there, so all of them are held to when the tool is registered.
 */

/* @schema is a valid one. @ret: tool_params_free(). BIDE_INVALID and
 * BIDE_LIMIT name the property. */
enum bide_rc tool_params_read(const struct entry *e, json_t *schema,
			      struct tool_param **ret, size_t *ret_n);
void tool_params_free(struct tool_param *params, size_t n);
#endif
