/* SPDX-License-Identifier: MIT */
#include "server/base/metrics.h"
#include "server/dispatch/tools.h"

/* resources/read (server/resources "Reading Resources"). */

/* -32602 that says which URI (server/resources "Error Handling"). */
static void refuse(struct dispatch *d, struct request *rq, const char *message,
		   const char *uri)
{
	struct outcome o = {
		.kind = OUTCOME_ERROR,
		.code = CORE_INVALID,
		.message = message,
		.data = json_pack("{s:s}", "uri", uri),
	};

	core_done(d, rq, &o);
	json_decref(o.data);
}

static void read_it(struct dispatch *d, struct request *rq, const char *uri)
{
	json_t *vars = NULL;
	const struct resource *r =
		registry_resource(d->opt.registry, uri, &vars);

	if (r == NULL) {
		refuse(d, rq, RUN_NOT_FOUND, uri);
	} else if (vars == NULL) {
		core_no_memory(d, rq);
	} else if (core_may_call(d, rq, r->target.needs & ~rq->caller.can,
				 !r->target.runs_inline)) {
		ephemeral_start(d, rq, &r->target, vars);
		return;
	}
	json_decref(vars);
}

void method_resources_read(struct dispatch *d, struct request *rq)
{
	const char *uri = core_string(rq, "uri");

	metric_add(METRIC_CALLS, 1);
	if (uri == NULL)
		core_error(d, rq, CORE_INVALID,
			   "params.uri must be a string: an absolute URI");
	else if (!registry_uri_valid(uri))
		refuse(d, rq, "params.uri is not an absolute URI", uri);
	else
		read_it(d, rq, uri);
}
