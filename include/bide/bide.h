/* SPDX-License-Identifier: MIT */
#ifndef BIDE_BIDE_H
#define BIDE_BIDE_H
/*
 * bide: MCP servers whose tools wait. One handler, entered from the top as
 * often as needed, serves short calls and background tasks alike.
 *
 * types.h     return codes and errors
 * server.h    a server, its options, who is calling, bide_main()
 * tool.h      registering a tool
 * prompt.h    registering a prompt
 * resource.h  registering a resource or a template; lists, completion
 * call.h      inside a handler: arguments, asking, steps, sleep, progress
 * content.h   inside a handler: building the result
 */
#include <bide/call.h>
#include <bide/content.h>
#include <bide/prompt.h>
#include <bide/resource.h>
#include <bide/server.h>
#include <bide/tool.h>
#include <bide/types.h>
#endif
