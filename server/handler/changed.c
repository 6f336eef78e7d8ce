/* SPDX-License-Identifier: MIT */
#include "server/handler/call_internal.h"

/* Telling listeners that something has changed. No part of the record: a
 * handler that is entered again says it again. */

static enum bide_rc announce(struct bide_call *c, enum bide_changed what,
			     const char *uri)
{
	enum bide_rc rc = call_stuck(c);

	if (rc != BIDE_OK)
		return rc;
	if (!c->backend->announce)
		return BIDE_BUSY;
	return c->backend->announce(c, what, uri);
}

enum bide_rc bide_changed(struct bide_call *call, enum bide_changed what)
{
	return announce(call, what, NULL);
}

enum bide_rc bide_resource_changed(struct bide_call *call, const char *uri)
{
	return uri ? announce(call, BIDE_CHANGED_RESOURCES, uri) : BIDE_INVALID;
}
