/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_CLIENT_WIRE_H
#define EXAMPLES_DEMO_CLIENT_WIRE_H
#include <jansson.h>

/*
 * A small MCP client of the 2026-07-28 revision over Streamable HTTP: every
 * request is one POST; its answer is a JSON object or an event stream with
 * notifications before the answer. What crosses the wire is shown.
 */
struct server {
	const char *label; /* "A" */
	const char *url;
};
struct client {
	const char *can; /* its capabilities, JSON */
};

/**
 * wire_call - one request, and its answer.
 * @params: stolen; _meta is added.
 *
 * Returns the JSON-RPC response (a new reference), or NULL when the server
 * could not be reached or went away; it was shown.
 */
json_t *wire_call(const struct client *c, const struct server *s,
		  const char *method, json_t *params);

/* subscriptions/listen for one task, on a thread of its own; NULL: no memory.
 */
struct listener;
struct listener *wire_listen(const struct client *c, const struct server *s,
			     const char *task_id);
/* The next message, in order (a new reference); NULL: none within @ms, or the
 * stream ended. */
json_t *listener_take(struct listener *l, int ms);
void listener_stop(struct listener *l);
#endif
