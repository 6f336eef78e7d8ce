/* SPDX-License-Identifier: MIT */
#ifndef DISPATCH_LISTEN_FILTER_H
#define DISPATCH_LISTEN_FILTER_H
#include "server/dispatch/core.h"
/*
 * What a subscriptions/listen asks for (schema.ts SubscriptionFilter, tasks.md
 * "Task Status Notifications"), checked. Strings are borrowed from the request.
 */
struct listen_filter {
	bool tools, prompts, resources; /* asked for, and there are some */
	/* NULL: not asked for; of URIs also: there are no resources here */
	const char **uris, **tokens;
	size_t n_uris, n_tokens; /* each once */
};
/* False: answered with an error, and there is nothing to be freed. */
bool listen_filter_read(struct dispatch *d, struct request *rq,
			struct listen_filter *ret);
void listen_filter_fini(struct listen_filter *f);
#endif
