/* SPDX-License-Identifier: MIT */
#ifndef PROTOCOL_REQUEST_STATE_H
#define PROTOCOL_REQUEST_STATE_H
#include "server/dispatch/dispatch.h"
#include "server/security/keyring.h"
/*
 * requestState by docs/design.md, "requestState": what is sealed, and the
 * checks at the door. One frozen text for every refusal; the reason goes to
 * the log and the metric only.
 */
#define REQUEST_STATE_REFUSED "requestState was not accepted"
struct request_state;
struct request_state_options {
	struct keyring *keys;
	const char *audience; /* the deployment's name; copied */
	size_t max_bytes;     /* of the sealed text */
	int64_t leeway_ms;    /* for clocks that differ; 0: 30 s */
};
struct request_state *
request_state_new(const struct request_state_options *opt);
void request_state_free(struct request_state *s);
/* What the request at hand is: a state is only good for the same. */
struct request_state_for {
	const char *principal, *method, *name, *args_digest;
};
/* NULL: larger than max_bytes, or no memory. malloc()ed. */
char *request_state_seal(const struct request_state *s,
			 const struct continuation *c,
			 const struct request_state_for *f);
/* False: refused (logged and counted here). @kind_wait: a wait_for_task handle
 * is wanted: method, name and arguments are not compared, the principal is. */
bool request_state_open(const struct request_state *s, const char *text,
			const struct request_state_for *f, bool kind_wait,
			struct continuation *ret);
#endif
