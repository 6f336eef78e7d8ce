/* SPDX-License-Identifier: MIT */
#ifndef PROTOCOL_PROTOCOL_H
#define PROTOCOL_PROTOCOL_H
#include "server/dispatch/dispatch.h"
#include "server/protocol/exchange.h"
#include "server/protocol/request_state.h"
#include "server/security/keyring.h"
/*
 * The wire: JSON-RPC, headers, eras. protocol.c reads what is common and picks
 * the era; each era is one file (era_2026_07_28.c; era_2025_11_25.c comes).
 */
struct protocol_options {
	struct dispatch *dispatch;
	const struct request_state *state; /* sealing and opening */
	const char *server_name, *server_version, *server_title, *instructions,
		*icons_json; /* NULL allowed after the first two */
	int64_t poll_interval_ms;
	const struct registry *registry;
};
struct protocol;
struct protocol *protocol_new(const struct protocol_options *opt);
void protocol_free(struct protocol *p);
/* The transport's calls; see exchange.h. */
void protocol_request(struct protocol *p, struct exchange *ex);
void protocol_closed(struct protocol *p, struct exchange *ex);
void protocol_finished(struct protocol *p, struct exchange *ex, bool whole);
#endif
