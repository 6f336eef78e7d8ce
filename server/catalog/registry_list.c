/* SPDX-License-Identifier: MIT */
/* The pages of all lists, and the lists that templates make while serving. */
#include "server/base/error.h"
#include "server/base/fnv.h"
#include "server/base/limits.h"
#include "server/base/log.h"
#include "server/base/utf8.h"
#include "server/catalog/registry_internal.h"
#include "server/security/keyring.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a page begins: an entry, or within what the template there lists. */
struct place {
	size_t at; /* templates are counted behind the fixed resources */
	char own[LIMIT_LIST_CURSOR_BYTES + 1]; /* "": at its beginning */
};

/* One template's list, for one page. */
struct bide_list {
	const struct registry *r;
	const struct resource *of;
	const struct registry_reader *reader;
	const char *cursor;
	struct buf *out;
	size_t n;     /* on the page */
	size_t added; /* by this one */
	size_t bytes; /* of these */
	char next[LIMIT_LIST_CURSOR_BYTES + 1];
	bool refused; /* something that it said itself */
};

/* ---- cursors ---- */

static const struct names *list_names(const struct registry *r,
				      enum registry_list list)
{
	switch (list) {
	case REGISTRY_TOOLS:
		return &r->tools;
	case REGISTRY_PROMPTS:
		return &r->prompts;
	case REGISTRY_RESOURCES:
		return &r->resources;
	case REGISTRY_TEMPLATES:
		break;
	}
	return &r->templates;
}

static size_t list_length(const struct registry *r, enum registry_list list)
{
	size_t n = list_names(r, list)->n;

	return list == REGISTRY_RESOURCES ? n + r->templates.n : n;
}

/*
 * A cursor is the place where the next page begins and a check over that and
 * the list's names, so that one from another list (an instance of another
 * version) is refused instead of leaving entries out. It is no secret: who
 * makes one up sees what an honest one would have shown, no more.
 */
static uint64_t cursor_check(const struct registry *r, enum registry_list list,
			     const struct place *p)
{
	uint64_t h = names_digest(list_names(r, list), list);

	if (list == REGISTRY_RESOURCES)
		h = names_digest(&r->templates, h);
	return fnv_mix(fnv_mix(h, p->at), names_hash(p->own));
}

static enum bide_rc cursor_write(const struct registry *r,
				 enum registry_list list, const struct place *p,
				 char out[REGISTRY_CURSOR_BYTES])
{
	char raw[LIMIT_LIST_CURSOR_BYTES + 64];
	char *text = NULL;
	int n = snprintf(raw, sizeof(raw), "%zx.%llx.%s", p->at,
			 (unsigned long long)cursor_check(r, list, p), p->own);

	text = security_base64_encode(raw, (size_t)n);
	if (!text)
		return BIDE_NOMEM;
	(void)snprintf(out, REGISTRY_CURSOR_BYTES, "%s", text);
	free(text);
	return BIDE_OK;
}

/* BIDE_INVALID: not one that cursor_write() made for this list. */
static enum bide_rc cursor_read(const struct registry *r,
				enum registry_list list, const char *s,
				struct place *ret)
{
	char raw[REGISTRY_CURSOR_BYTES] = "";
	char again[REGISTRY_CURSOR_BYTES];
	size_t n = 0;
	int own = 0;
	enum bide_rc rc;

	if (strlen(s) >= REGISTRY_CURSOR_BYTES ||
	    !security_base64_decode(s, strlen(s), raw, sizeof(raw) - 1, &n))
		return BIDE_INVALID;
	raw[n] = '\0';
	if (sscanf(raw, "%zx.%*x.%n", &ret->at, &own) != 1 || own == 0 ||
	    n - (size_t)own > LIMIT_LIST_CURSOR_BYTES ||
	    ret->at >= list_length(r, list) ||
	    (raw[own] && ret->at < list_names(r, list)->n) ||
	    !utf8_valid(raw + own, n - (size_t)own))
		return BIDE_INVALID;
	memcpy(ret->own, raw + own, n - (size_t)own + 1);
	rc = cursor_write(r, list, ret, again);
	if (rc)
		return rc;
	return strcmp(s, again) ? BIDE_INVALID : BIDE_OK;
}

/* ---- what templates list ---- */

const char *bide_list_cursor(const struct bide_list *list)
{
	return list->cursor;
}

const char *bide_list_principal(const struct bide_list *list)
{
	return list->reader->principal;
}

static enum registry_wish wish_of(const struct bide_list *list)
{
	const struct registry_reader *reader = list->reader;

	return reader->wish ? reader->wish(reader->user) : REGISTRY_ALL;
}

enum bide_rc bide_list_add(struct bide_list *list,
			   const struct bide_resource *resource)
{
	struct bide_error why = {0};
	struct buf one = {0};
	enum bide_rc rc;

	if (wish_of(list) == REGISTRY_NONE)
		return BIDE_CANCELLED;
	if (list->added >= LIMIT_PAGE_ITEMS)
		return BIDE_LIMIT;
	rc = resource_write_listed(list->of, resource, &one, &why);
	if (!rc && list->bytes + one.len > LIMIT_PAGE_BYTES)
		rc = BIDE_LIMIT;
	if (rc == BIDE_INVALID) {
		list->refused = true;
		log_warn("catalog.listed_resource_refused",
			 "template=%s why=%s", list->of->def.uri, why.text);
	}
	/* A fixed one of the same URI is listed already. */
	if (!rc && !names_find(&list->r->resources, resource->uri)) {
		if (list->n++ > 0)
			buf_addc(list->out, ',');
		buf_add(list->out, one.data, one.len);
		list->added++;
		list->bytes += one.len;
	}
	buf_fini(&one);
	if (!rc && list->out->failed)
		return BIDE_NOMEM;
	return rc;
}

enum bide_rc bide_list_more(struct bide_list *list, const char *cursor)
{
	size_t len = cursor ? strlen(cursor) : 0;

	if (len == 0 || len > LIMIT_LIST_CURSOR_BYTES ||
	    !utf8_valid(cursor, len)) {
		list->refused = true;
		log_warn("catalog.list_cursor_refused", "template=%s bytes=%zu",
			 list->of->def.uri, len);
		return BIDE_INVALID;
	}
	memcpy(list->next, cursor, len + 1);
	return BIDE_OK;
}

/*
 * A bide_list_fn's own words stay in the log. But that it does not know its
 * cursor is for the client: it may be an old one, or made up.
 */
static enum bide_rc list_failed(const struct bide_list *list, enum bide_rc rc)
{
	if (rc == BIDE_INVALID && *list->cursor && !list->refused)
		return BIDE_INVALID;
	log_warn("catalog.list_failed", "template=%s rc=%s", list->of->def.uri,
		 error_rc_name(rc));
	return BIDE_IO;
}

/* Moves @p behind what was listed. */
static enum bide_rc ask_template(struct bide_list *list, struct place *p)
{
	enum bide_rc rc;

	list->cursor = p->own;
	list->added = 0;
	list->bytes = 0;
	list->next[0] = '\0';
	list->refused = false;
	rc = list->of->def.list(list, list->of->def.user);
	if (list->out->failed)
		return BIDE_NOMEM;
	if (wish_of(list) == REGISTRY_NONE)
		return BIDE_CANCELLED;
	/* The same cursor again would be the same page for ever. */
	if (!rc && *list->next && !strcmp(list->next, p->own))
		rc = BIDE_MISUSE;
	if (rc)
		return list_failed(list, rc);
	memcpy(p->own, list->next, sizeof(p->own));
	p->at += *p->own == '\0';
	return BIDE_OK;
}

/* ---- pages ---- */

static const char *listing_of(const struct registry *r, enum registry_list list,
			      size_t i, size_t *len)
{
	void *thing = names_at(list_names(r, list), i);

	switch (list) {
	case REGISTRY_TOOLS:
		*len = ((struct tool *)thing)->listing_len;
		return ((struct tool *)thing)->listing;
	case REGISTRY_PROMPTS:
		*len = ((struct prompt *)thing)->listing_len;
		return ((struct prompt *)thing)->listing;
	case REGISTRY_RESOURCES:
	case REGISTRY_TEMPLATES:
		break;
	}
	*len = ((struct resource *)thing)->listing_len;
	return ((struct resource *)thing)->listing;
}

/* Entries that were there from the beginning; how many. */
static size_t add_fixed(const struct registry *r, enum registry_list list,
			struct place *p, struct buf *out)
{
	size_t n = 0;
	size_t len = 0;
	const char *text = NULL;

	for (; p->at < list_names(r, list)->n && n < LIMIT_PAGE_ITEMS; n++) {
		text = listing_of(r, list, p->at, &len);
		if (n > 0 && out->len + len > LIMIT_PAGE_BYTES)
			break;
		if (n > 0)
			buf_addc(out, ',');
		buf_add(out, text, len);
		p->at++;
	}
	return n;
}

/*
 * Fills what room there is. Whoever is asked has room for a page, for it may
 * not be able to stop in the middle of one of its own; so ours may have up to
 * twice as many. And they are asked so often at most, for a list may never come
 * to an end; while the server drains once, for each may block.
 */
static enum bide_rc add_listed(struct bide_list *list, struct place *p)
{
	const struct names *templates = &list->r->templates;
	size_t fixed = list->r->resources.n;
	enum bide_rc rc = BIDE_OK;
	size_t calls = 0;

	while (!rc && p->at >= fixed && p->at - fixed < templates->n) {
		list->of = names_at(templates, p->at - fixed);
		if (!list->of->def.list) {
			*p = (struct place){.at = p->at + 1};
			continue;
		}
		if (list->n >= LIMIT_PAGE_ITEMS ||
		    list->out->len >= LIMIT_PAGE_BYTES ||
		    calls == LIMIT_LIST_CALLS ||
		    (calls > 0 && wish_of(list) == REGISTRY_SOON))
			break;
		calls++;
		rc = ask_template(list, p);
	}
	return rc;
}

enum bide_rc registry_page(const struct registry *r, enum registry_list list,
			   const struct registry_reader *reader,
			   const char *cursor, struct buf *out,
			   char ret_next[REGISTRY_CURSOR_BYTES])
{
	struct place p = {0};
	struct bide_list dynamic = {.r = r, .reader = reader, .out = out};
	enum bide_rc rc = cursor ? cursor_read(r, list, cursor, &p) : BIDE_OK;

	if (rc)
		return rc;
	dynamic.n = add_fixed(r, list, &p, out);
	if (list == REGISTRY_RESOURCES)
		rc = add_listed(&dynamic, &p);
	if (!rc && out->failed)
		rc = BIDE_NOMEM;
	if (rc)
		return rc;
	if (p.at < list_length(r, list))
		return cursor_write(r, list, &p, ret_next);
	ret_next[0] = '\0';
	return BIDE_OK;
}
