/* SPDX-License-Identifier: MIT */
#include "server/dispatch/listen_filter.h"

#include <stdlib.h>

#include "server/base/limits.h"

/* ---- booleans ---- */
static bool read_flag(struct dispatch *d, struct request *rq,
		      const json_t *filter, const char *name, enum offer offer,
		      bool *ret)
{
	const json_t *v = json_object_get(filter, name);

	if (v != NULL && !json_is_boolean(v)) {
		core_error(d, rq, CORE_INVALID,
			   "params.notifications.%s must be a boolean", name);
		return false;
	}
	*ret = json_is_true(v) && dispatch_offers(d->opt.registry, offer);
	return true;
}

/* ---- lists of strings ---- */
struct list {
	const char *name;
	size_t max;
	bool uris;
};

static bool check_string(struct dispatch *d, struct request *rq,
			 const struct list *l, const json_t *v)
{
	if (!json_is_string(v))
		core_error(d, rq, CORE_INVALID, "%s must be strings", l->name);
	else if (l->uris && !registry_uri_valid(json_string_value(v)))
		core_error(d, rq, CORE_INVALID, "%s must be absolute URIs",
			   l->name);
	else
		return true;
	return false;
}

/* Each once, in the order given. */
static bool take_strings(struct dispatch *d, struct request *rq,
			 const struct list *l, const json_t *array,
			 const char ***ret, size_t *ret_n)
{
	const char **strings =
		calloc(json_array_size(array) + 1, sizeof(*strings));
	json_t *seen = json_object();
	size_t i;
	json_t *v;
	bool good = strings != NULL && seen != NULL;

	if (!good)
		core_no_memory(d, rq);
	json_array_foreach ((json_t *)array, i, v) {
		good = good && check_string(d, rq, l, v);
		if (!good)
			break;
		if (json_object_get(seen, json_string_value(v)) != NULL)
			continue;
		(void)json_object_set_new(seen, json_string_value(v),
					  json_true());
		strings[(*ret_n)++] = json_string_value(v);
	}
	json_decref(seen);
	if (good)
		*ret = strings;
	else
		free(strings);
	return good;
}

static bool read_list(struct dispatch *d, struct request *rq,
		      const struct list *l, const char ***ret, size_t *ret_n)
{
	const json_t *filter = json_object_get(rq->params, "notifications");
	const json_t *array = json_object_get(filter, l->name);

	if (array == NULL)
		return true;
	if (!json_is_array(array)) {
		core_error(d, rq, CORE_INVALID,
			   "params.notifications.%s must be an array of "
			   "strings",
			   l->name);
		return false;
	}
	if (json_array_size(array) > l->max) {
		core_error(d, rq, CORE_INVALID, "At most %zu %s", l->max,
			   l->name);
		return false;
	}
	return take_strings(d, rq, l, array, ret, ret_n);
}

static bool read_all(struct dispatch *d, struct request *rq,
		     struct listen_filter *f)
{
	static const struct list tasks = {"taskIds", LIMIT_TASK_IDS_PER_LISTEN,
					  false};
	static const struct list uris = {"resourceSubscriptions",
					 LIMIT_RESOURCES_PER_LISTEN, true};
	const json_t *filter = json_object_get(rq->params, "notifications");

	if (!json_is_object(filter)) {
		core_error(d, rq, CORE_INVALID,
			   "params.notifications must be an object");
		return false;
	}
	if (json_object_get(filter, tasks.name) != NULL &&
	    (rq->caller.can & BIDE_CAN_TASKS) == 0) {
		core_missing(d, rq, BIDE_CAN_TASKS, NULL);
		return false;
	}
	return read_flag(d, rq, filter, "toolsListChanged", OFFER_TOOLS,
			 &f->tools) &&
	       read_flag(d, rq, filter, "promptsListChanged", OFFER_PROMPTS,
			 &f->prompts) &&
	       read_flag(d, rq, filter, "resourcesListChanged", OFFER_RESOURCES,
			 &f->resources) &&
	       read_list(d, rq, &uris, &f->uris, &f->n_uris) &&
	       read_list(d, rq, &tasks, &f->tokens, &f->n_tokens);
}

bool listen_filter_read(struct dispatch *d, struct request *rq,
			struct listen_filter *ret)
{
	*ret = (struct listen_filter){0};
	if (!read_all(d, rq, ret)) {
		listen_filter_fini(ret);
		return false;
	}
	if (!dispatch_offers(d->opt.registry, OFFER_RESOURCES)) {
		free(ret->uris);
		ret->uris = NULL;
		ret->n_uris = 0;
	}
	return true;
}

void listen_filter_fini(struct listen_filter *f)
{
	free(f->uris);
	free(f->tokens);
	*f = (struct listen_filter){0};
}
