/* SPDX-License-Identifier: MIT */
#include "server/base/error.h"
#include "server/base/utf8.h"
#include "server/handler/call_internal.h"
#include <string.h>

/* Telling listeners that something has changed. No part of the record: a
 * handler that is entered again says it again. */

static const char *why(enum bide_rc rc)
{
	return rc == BIDE_IO ? "it is not known whether an announcement was "
			       "stored"
			     : "an announcement was not stored";
}

/* It does not stick; but a handler may return it. */
static enum bide_rc refuse(struct bide_call *c, enum bide_rc rc,
			   enum bide_changed what, const char *uri)
{
	if (rc != BIDE_INVALID)
		return error_set(&c->loose, rc, "%s", why(rc));
	if (uri)
		return error_set(&c->loose, rc,
				 "bide_resource_changed: \"%s\" is no "
				 "absolute URI",
				 utf8_valid(uri, strlen(uri)) ? uri : "?");
	return error_set(&c->loose, rc, "bide_changed: %d is no list",
			 (int)what);
}

static enum bide_rc announce(struct bide_call *c, enum bide_changed what,
			     const char *uri)
{
	enum bide_rc rc = call_stuck(c);

	if (rc != BIDE_OK)
		return rc;
	rc = BIDE_BUSY;
	if (c->backend->announce)
		rc = c->backend->announce(c, what, uri);
	return rc == BIDE_OK ? rc : refuse(c, rc, what, uri);
}

enum bide_rc bide_changed(struct bide_call *call, enum bide_changed what)
{
	return announce(call, what, NULL);
}

enum bide_rc bide_resource_changed(struct bide_call *call, const char *uri)
{
	if (!uri)
		return refuse(call, BIDE_INVALID, BIDE_CHANGED_RESOURCES, "");
	return announce(call, BIDE_CHANGED_RESOURCES, uri);
}
