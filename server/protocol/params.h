/* SPDX-License-Identifier: MIT */
#ifndef PROTOCOL_PARAMS_H
#define PROTOCOL_PARAMS_H
#include "server/base/buf.h"
#include "server/catalog/registry.h"
#include "server/protocol/exchange.h"
#include <jansson.h>
#include <stdbool.h>
/*
 * Mcp-Param-*: the parameters of a tool that are mirrored into headers
 * (streamable-http, "Server Behavior for Custom Headers"). docs/wire.md says
 * what was chosen where the page is silent.
 */

/* Do the headers say what @args, which may be NULL, says? Otherwise @why says
 * which does not. */
bool params_agree(const struct tool *t, const json_t *args, struct exchange *ex,
		  struct buf *why);
#endif
