/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/log.h"
#include "server/catalog/registry.h"
#include "server/task/topic.h"

/*
 * Saying that something has changed. No claim fences this: what a handler saw
 * change has changed, whoever holds the task by now.
 */

#define ANNOUNCE_MS 10000
#define TRIES       3 /* of an outcome that cannot be known */

static const char *list_name(enum bide_changed what)
{
	switch (what) {
	case BIDE_CHANGED_TOOLS:
		return "tools";
	case BIDE_CHANGED_PROMPTS:
		return "prompts";
	case BIDE_CHANGED_RESOURCES:
		return "resources";
	}
	return NULL;
}

/* Frozen: these names stand in databases. */
char *topic_name(enum bide_changed what, const char *uri)
{
	char *name = NULL;

	if (!uri)
		return strdup(list_name(what));
	if (asprintf(&name, "resource:%s", uri) < 0)
		return NULL;
	return name;
}

static enum bide_rc make_op(enum bide_changed what, const char *uri,
			    struct store_op *ret, char **ret_name)
{
	if (uri ? !registry_uri_valid(uri) : !list_name(what))
		return BIDE_INVALID;
	*ret_name = topic_name(what, uri);
	if (!*ret_name)
		return BIDE_NOMEM;
	store_op_init(ret, STORE_OP_ANNOUNCE, ANNOUNCE_MS);
	ret->u.announce.topic = *ret_name;
	return BIDE_OK;
}

enum bide_rc topic_announce(struct store *s, enum bide_changed what,
			    const char *uri)
{
	struct store_op op;
	char *name = NULL;
	enum bide_rc rc = make_op(what, uri, &op, &name);

	if (rc != BIDE_OK)
		return rc;
	rc = BIDE_UNKNOWN;
	for (int i = 0; i < TRIES && rc == BIDE_UNKNOWN; i++)
		rc = store_run(s, &op);
	free(name);
	return rc == BIDE_UNKNOWN ? BIDE_IO : rc;
}

struct soon {
	struct store_op op; /* first */
	char *name;
};

static void soon_done(struct store_op *op, void *user)
{
	struct soon *a = user;

	if (op->outcome != STORE_DONE)
		log_warn("topic.not_announced", "topic=%s outcome=%d", a->name,
			 (int)op->outcome);
	free(a->name);
	free(a);
}

enum bide_rc topic_announce_soon(struct store *s, enum bide_changed what,
				 const char *uri)
{
	struct soon *a = calloc(1, sizeof(*a));
	enum bide_rc rc;

	if (!a)
		return BIDE_NOMEM;
	rc = make_op(what, uri, &a->op, &a->name);
	if (rc != BIDE_OK) {
		free(a);
		return rc;
	}
	a->op.done = soon_done;
	a->op.user = a;
	store_submit(s, &a->op);
	return BIDE_OK;
}
