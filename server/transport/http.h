/* SPDX-License-Identifier: MIT */
#ifndef TRANSPORT_HTTP_H
#define TRANSPORT_HTTP_H
#include "bide/server.h"
#include "server/base/buf.h"
#include "server/protocol/protocol.h"
#include <stdbool.h>
#include <stdint.h>
/*
 * Streamable HTTP over libmicrohttpd: the door (what is not one clear request
 * is refused), suspended connections for whoever waits, event streams,
 * deadlines, and who goes away. Knows nothing of JSON-RPC.
 */
struct http_page { /* /healthz and its like: GET, answered on the transport
		      thread */
	const char *path;
	const char *content_type;
	int (*fn)(void *user, struct buf *body); /* the status */
	void *user;
};
struct http_options {
	struct protocol *protocol;
	const char *listen;                    /* ADDR:PORT, [v6]:PORT */
	const char *path;                      /* of the MCP endpoint */
	const char *allow_origin, *allow_host; /* comma lists, * any */
	bool allow_anonymous;                  /* beyond loopback */
	bide_identity_fn identity;             /* NULL: everyone is "" */
	void *identity_user;
	const struct http_page *pages;
	size_t npages;
	int threads;
	size_t max_body;
	int max_connections, max_suspended;
	int64_t head_timeout_ms, body_timeout_ms, idle_timeout_ms,
		keep_alive_ms;
};
struct http;
enum bide_rc http_start(const struct http_options *opt, struct http **ret,
			struct bide_error *reterr) BIDE_NODISCARD;
const char *http_url(const struct http *h); /* "http://127.0.0.1:8585/mcp" with
					       the real port */
/*
 * Closes the listening socket, without resetting a connection that a peer holds
 * for made; what is open goes on, idle kept-alive connections are closed.
 */
void http_stop_accepting(struct http *h);
/*
 * True once no exchange is open, within @ms. Whoever has connected and not sent
 * a request yet is waited for too, for a moment.
 */
bool http_drained(struct http *h, int64_t ms);
/*
 * From here on who would have to wait is told that the instance is shutting
 * down, and nothing is begun for it; so is whoever waits. True: all has been
 * written and ended, LIMIT_DRAIN_LAST_MS after the first call at the latest.
 */
bool http_turn_away(struct http *h);
/*
 * Does that, closes whatever is left, and stops. False: requests are left that
 * the protocol has not ended, and what they may look at is not freed.
 */
bool http_stop(struct http *h);
#endif
