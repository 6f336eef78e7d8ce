/* SPDX-License-Identifier: MIT */
#include "server/dispatch/tools.h"

#include <stdlib.h>
#include <string.h>

#include "server/base/limits.h"
#include "server/base/metrics.h"
#include "server/security/keyring.h"

#define MAX_PROBLEMS 4

/* True: they fit. Otherwise they are released, and the model is told what to
 * mend (server/tools "Error Handling": input validation is a tool execution
 * error). */
static bool arguments_fit(struct dispatch *d, struct request *rq,
			  const struct tool *tool, json_t *args)
{
	struct json_schema_problem problems[MAX_PROBLEMS];
	struct buf b = {0};
	size_t n = 0;

	if (json_schema_validate(tool->input, args, problems, MAX_PROBLEMS,
				 &n) == BIDE_OK)
		return true;
	(void)buf_addf(&b, "Invalid arguments for tool %s: ", tool->def.name);
	json_schema_explain_as("arguments", problems, n, &b);
	json_decref(args);
	core_tool_error(d, rq, NULL,
			b.failed ? "Invalid arguments for this tool" : b.data);
	buf_fini(&b);
	return false;
}

static unsigned missing_for(const struct request *rq, const struct tool *tool)
{
	unsigned needs = tool->def.needs;

	if (tool->def.mode != BIDE_EPHEMERAL &&
	    tool->def.without_tasks == BIDE_DEMAND_TASKS)
		needs |= BIDE_CAN_TASKS;
	return needs & ~rq->caller.can;
}

/* A task made under this key answers a repeated first call of a tool that
 * begins ephemeral (SEP-3182). */
static bool has_task(struct dispatch *d, const struct request *rq)
{
	struct store_task *t = NULL;

	if (rq->idem_key == NULL || rq->resume != NULL ||
	    store_find_idem(d->store, rq->principal, rq->idem_key, &t) !=
		    BIDE_OK)
		return false;
	store_task_free(t);
	return true;
}

/* A record of a tool that has become persistent since goes along. */
static void start_task(struct dispatch *d, struct request *rq,
		       const struct tool *tool, json_t *args)
{
	struct bide_call *from = NULL;
	char chain[24];

	if (rq->resume != NULL)
		memcpy(chain, rq->resume->chain, sizeof(chain));
	else
		security_token(chain);
	if (rq->resume != NULL) {
		from = ephemeral_load(d, rq, &tool->target, args, chain, NULL);
		if (from == NULL) {
			json_decref(args);
			core_error(d, rq, CORE_INTERNAL,
				   "The call could not be set up");
			return;
		}
	}
	create_task(d, rq, tool, args, chain, from, NULL);
}

static void route(struct dispatch *d, struct request *rq,
		  const struct tool *tool, json_t *args)
{
	if (rq->resume != NULL && rq->resume->kind != CONTINUATION_RECORD) {
		json_decref(args);
		handle_return(d, rq, tool, rq->resume);
	} else if (tool->builtin) {
		wait_for_task_call(d, rq, tool, args);
	} else if (tool->def.mode == BIDE_PERSISTENT ||
		   (tool->def.mode == BIDE_EITHER && has_task(d, rq))) {
		start_task(d, rq, tool, args);
	} else {
		ephemeral_start(d, rq, &tool->target, args);
	}
}

/* Whether it is answered by another thread than this one. */
static bool waits(const struct tool *tool)
{
	return tool->builtin || tool->def.mode == BIDE_PERSISTENT ||
	       !tool->def.runs_inline;
}

void tools_call_again(struct dispatch *d, struct request *rq)
{
	const char *name = core_string(rq, "name");
	json_t *args = json_object_get(rq->params, "arguments");
	const struct tool *tool;

	if (name == NULL) {
		core_error(d, rq, CORE_INVALID,
			   "params.name must be a string: a tool's name");
		return;
	}
	tool = registry_tool(d->opt.registry, name);
	if (tool == NULL) {
		core_error(d, rq, CORE_INVALID, "Unknown tool: %.*s",
			   LIMIT_NAME_BYTES, name);
		return;
	}
	if (args != NULL && !json_is_object(args) && !json_is_null(args)) {
		core_error(d, rq, CORE_INVALID,
			   "params.arguments must be an object");
		return;
	}
	if (!core_may_call(d, rq, missing_for(rq, tool), waits(tool)))
		return;
	args = json_is_object(args) ? json_incref(args) : json_object();
	if (args == NULL)
		core_no_memory(d, rq);
	else if (arguments_fit(d, rq, tool, args))
		route(d, rq, tool, args);
}

void method_tools_call(struct dispatch *d, struct request *rq)
{
	metric_add(METRIC_CALLS, 1);
	tools_call_again(d, rq);
}
