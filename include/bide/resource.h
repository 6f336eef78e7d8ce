/* SPDX-License-Identifier: MIT */
#ifndef BIDE_RESOURCE_H
#define BIDE_RESOURCE_H

#include <bide/tool.h>
#include <bide/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bide_server;
struct bide_list;
struct bide_completion;

/* Who may be served a cached answer (utilities/caching, "Cache Scope Field").
 */
enum bide_scope {
	BIDE_PRIVATE = 0, /* the caller that asked */
	BIDE_PUBLIC       /* anybody: nothing in it belongs to one caller */
};

/**
 * bide_complete_fn - suggests values for one argument of a prompt, or one
 *	variable of a resource template (utilities/completion).
 *
 * Adds what fits with bide_complete_add(), best first. May block; runs on a
 * worker thread. Returns BIDE_OK; anything else is an internal error to the
 * client. @completion is valid until it returns.
 */
typedef enum bide_rc (*bide_complete_fn)(struct bide_completion *completion,
					 void *user);

/**
 * bide_list_fn - lists the resources of a template that exist now, for
 *	resources/list.
 *
 * Adds a page of them with bide_list_add(), beginning behind
 * bide_list_cursor(), and says with bide_list_more() where the next begins.
 * The order must be the same each time. May block; runs on a worker thread.
 * It may be asked for the next page of the same request at once, but not when
 * the client has gone or the server drains. The list may depend on
 *bide_list_principal(), and on nothing else of the request (server/resources,
 *"Capabilities").
 */
typedef enum bide_rc (*bide_list_fn)(struct bide_list *list, void *user);

/**
 * struct bide_resource - what bide_server_add_resource() and
 *	bide_server_add_resource_template() take.
 *
 * Zero means the default everywhere. Set @size with BIDE_RESOURCE.
 */
struct bide_resource {
	size_t size;
	/*
	 * A resource: an absolute URI (RFC 3986). A template: a URI template
	 * (RFC 6570) of literals and {name} or {+name} expressions, one
	 * variable each, names of A-Z a-z 0-9 _ and ".", a literal between
	 * two. {name} matches one or more characters but "/", and {+name}
	 * also "/"; the first takes as much as it can. The handler finds the
	 * value, percent-decoded, with bide_arg_string(call, "name"). What
	 * could match nothing is refused: an expression within an escape
	 * (%XX), a segment that is "." or "..".
	 *
	 * A value matches nothing when it is not UTF-8, holds a NUL or a "."
	 * or ".." segment, or begins with "/", which only behind "://" it may
	 * ("file://{+path}"): so no path climbs out of where the template
	 * points (server/resources, "Security"). Symbolic links are the
	 * handler's affair.
	 */
	const char *uri;
	const char *name;
	const char *title;
	const char *description;
	const char *mime_type;
	const char *annotations; /* JSON text of an Annotations object */
	const char *icons;       /* JSON text of an array of Icon objects */
	int64_t bytes;           /* its size, where known; 0: not said */
	/*
	 * Reads it: a handler as a tool's, entered again for each round
	 * (mrtr.mdx "Supported Requests"). Content becomes the contents: a
	 * URI or a MIME type that is NULL there is the one that was read;
	 * bide_text() is a text content. bide_not_found() when there is no
	 * such thing.
	 */
	bide_handler_fn handler;
	void *user;
	unsigned needs;   /* bide_can bits */
	bool runs_inline; /* never blocks */
	/* How long a client may keep what was read, and for whom; the handler
	 * may say otherwise with bide_cache(). What a retried read gives is
	 * never to be kept (utilities/caching, "Cache Key"). */
	int64_t cache_ms;
	enum bide_scope scope;
	int64_t input_deadline_ms; /* as a tool's, these three */
	int64_t wait_budget_ms;
	int64_t max_run_ms;
	/* Of templates only. */
	bide_list_fn list;         /* NULL: its resources are not listed */
	bide_complete_fn complete; /* NULL: no suggestions */
};
#define BIDE_RESOURCE .size = sizeof(struct bide_resource)

/**
 * bide_server_add_resource - register a resource that is always listed.
 *
 * Everything in @resource is copied but what @resource->user points to.
 * BIDE_INVALID: a URI that is not absolute, no name, no handler, a setting
 * that contradicts another; the text says which. BIDE_CONFLICT: the URI is
 * taken. BIDE_LIMIT.
 */
BIDE_API enum bide_rc
bide_server_add_resource(struct bide_server *server,
			 const struct bide_resource *resource,
			 struct bide_error *reterr) BIDE_NODISCARD;
/* The same for a template. A URI is read by the resource of that URI, else by
 * the first template, in the order of registration, that matches it. */
BIDE_API enum bide_rc
bide_server_add_resource_template(struct bide_server *server,
				  const struct bide_resource *tmpl,
				  struct bide_error *reterr) BIDE_NODISCARD;

/* ---- inside a bide_list_fn ---- */
/* Where the page begins: what bide_list_more() was given; "": the beginning. It
 * comes from the client, who may have made it up: return BIDE_INVALID for one
 * that says nothing. */
BIDE_API const char *bide_list_cursor(const struct bide_list *list);
BIDE_API const char *bide_list_principal(const struct bide_list *list);
/*
 * One resource. Of @resource: @uri, @name, @title, @description, @mime_type,
 * @annotations, @icons and @bytes are used; the template's mime_type stands in
 * for none. BIDE_INVALID: its URI does not match the template (it could not
 * be read), or has no name. Each page has room for 100, and for 4 MiB of what
 * is listed of them, then it is BIDE_LIMIT: call bide_list_more(). One whose
 * URI is a resource's of its own is listed already, and passed over.
 * BIDE_CANCELLED: the client has gone, or the time to drain is over: stop.
 */
BIDE_API enum bide_rc bide_list_add(struct bide_list *list,
				    const struct bide_resource *resource);
/* There are more: @cursor is any UTF-8 text of 1 to 512 bytes, another one than
 * bide_list_cursor(). */
BIDE_API enum bide_rc bide_list_more(struct bide_list *list,
				     const char *cursor);

/* ---- inside a bide_complete_fn ---- */
/* The argument's or variable's name, and what was typed so far. */
BIDE_API const char *bide_complete_name(const struct bide_completion *c);
BIDE_API const char *bide_complete_value(const struct bide_completion *c);
/* Another one that is resolved already; NULL: it is not. */
BIDE_API const char *bide_complete_arg(const struct bide_completion *c,
				       const char *name);
BIDE_API const char *bide_complete_principal(const struct bide_completion *c);
/* The best first; at most 100 are sent, the rest only counted. BIDE_INVALID:
 * not UTF-8; BIDE_CANCELLED: the client has gone, stop; BIDE_LIMIT: too large.
 */
BIDE_API enum bide_rc bide_complete_add(struct bide_completion *c,
					const char *value);
/* How many there are in all, where more are known than were added. */
BIDE_API void bide_complete_total(struct bide_completion *c, int64_t total);

#ifdef __cplusplus
}
#endif
#endif
