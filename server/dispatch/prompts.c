/* SPDX-License-Identifier: MIT */
#include "server/base/limits.h"
#include "server/base/metrics.h"
#include "server/dispatch/tools.h"

/* prompts/get (server/prompts "Getting a Prompt"). */

/* False: answered, with all that are missing. */
static bool has_required(struct dispatch *d, struct request *rq,
			 const struct prompt *p, const json_t *args)
{
	const struct bide_prompt_arg *a;
	struct buf b = {0};
	size_t n = 0;
	size_t i;

	for (i = 0; i < p->def.n_args; i++) {
		a = &p->def.args[i];
		if (a->required && json_object_get(args, a->name) == NULL)
			(void)buf_addf(&b, "%s%s", n++ > 0 ? ", " : "",
				       a->name);
	}
	if (n > 0)
		core_error(d, rq, CORE_INVALID,
			   "Missing required arguments: %s",
			   b.failed ? "" : b.data);
	buf_fini(&b);
	return n == 0;
}

/* What the handler sees: the arguments that the prompt has. False: answered. */
static bool take_arguments(struct dispatch *d, struct request *rq,
			   const struct prompt *p, json_t *ret)
{
	json_t *given = json_object_get(rq->params, "arguments");
	const char *name;
	json_t *v;
	size_t i;

	if (given != NULL && !json_is_object(given) && !json_is_null(given)) {
		core_error(d, rq, CORE_INVALID,
			   "params.arguments must be an object of strings");
		return false;
	}
	json_object_foreach (given, name, v) {
		if (!json_is_string(v)) {
			core_error(d, rq, CORE_INVALID,
				   "params.arguments.%s must be a string",
				   name);
			return false;
		}
	}
	if (!has_required(d, rq, p, given))
		return false;
	for (i = 0; i < p->def.n_args; i++) {
		v = json_object_get(given, p->def.args[i].name);
		if (v != NULL && json_object_set(ret, p->def.args[i].name, v)) {
			core_no_memory(d, rq);
			return false;
		}
	}
	return true;
}

static void get(struct dispatch *d, struct request *rq, const struct prompt *p)
{
	const struct target *t = &p->target;
	json_t *args;

	if (!core_may_call(d, rq, t->needs & ~rq->caller.can, !t->runs_inline))
		return;
	args = json_object();
	if (args == NULL)
		core_no_memory(d, rq);
	else if (take_arguments(d, rq, p, args))
		ephemeral_start(d, rq, t, args);
	else
		json_decref(args);
}

void method_prompts_get(struct dispatch *d, struct request *rq)
{
	const char *name = core_string(rq, "name");
	const struct prompt *p;

	metric_add(METRIC_CALLS, 1);
	if (name == NULL) {
		core_error(d, rq, CORE_INVALID,
			   "params.name must be a string: a prompt's name");
		return;
	}
	p = registry_prompt(d->opt.registry, name);
	if (p == NULL)
		core_error(d, rq, CORE_INVALID, "Unknown prompt: %.*s",
			   LIMIT_NAME_BYTES, name);
	else
		get(d, rq, p);
}
