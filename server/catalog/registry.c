/* SPDX-License-Identifier: MIT */
#include "server/catalog/registry.h"
#include "server/base/error.h"
#include "server/base/limits.h"
#include "server/base/log.h"
#include "server/catalog/registry_tool.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct registry {
	struct tool **tools; /* listing order: builtin ones last */
	size_t n, cap, n_builtin;
	uint32_t *slots; /* index + 1 by name, open addressing; 0: free */
	size_t cap_slots;
};

struct registry *registry_new(void)
{
	return calloc(1, sizeof(struct registry));
}

void registry_free(struct registry *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++)
		tool_free(r->tools[i]);
	free(r->tools);
	free(r->slots);
	free(r);
}

static uint64_t hash(const char *s)
{
	uint64_t h = 0xcbf29ce484222325U;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3U;
	return h ^ (h >> 32);
}

/* Numbers the tools and files their names; there is room for them. */
static void file_names(struct registry *r)
{
	size_t i;

	memset(r->slots, 0, r->cap_slots * sizeof(*r->slots));
	for (size_t k = 0; k < r->n; k++) {
		r->tools[k]->index = k;
		i = hash(r->tools[k]->def.name) & (r->cap_slots - 1);
		while (r->slots[i])
			i = (i + 1) & (r->cap_slots - 1);
		r->slots[i] = (uint32_t)k + 1;
	}
}

static bool make_room(struct registry *r)
{
	size_t cap = r->cap ? r->cap * 2 : 16;
	struct tool **tools = NULL;
	uint32_t *slots = NULL;

	if (r->n < r->cap)
		return true;
	tools = realloc(r->tools, cap * sizeof(*tools));
	if (!tools)
		return false;
	r->tools = tools;
	slots = realloc(r->slots, cap * 4 * sizeof(*slots));
	if (!slots)
		return false;
	r->slots = slots;
	r->cap_slots = cap * 4;
	r->cap = cap;
	file_names(r);
	return true;
}

/* Builtin tools stay behind the program's own, whenever they come. */
static void insert(struct registry *r, struct tool *t)
{
	size_t at = t->builtin ? r->n : r->n - r->n_builtin;

	memmove(&r->tools[at + 1], &r->tools[at],
		(r->n - at) * sizeof(struct tool *));
	r->tools[at] = t;
	r->n++;
	r->n_builtin += t->builtin;
	file_names(r);
}

enum bide_rc registry_add_tool(struct registry *r, const struct bide_tool *def,
			       bool builtin, struct bide_error *reterr)
{
	struct tool *t = NULL;
	enum bide_rc rc;

	if (r->n >= LIMIT_TOOLS)
		return error_set(reterr, BIDE_LIMIT,
				 "more than %d tools (LIMIT_TOOLS)",
				 LIMIT_TOOLS);
	rc = tool_new(def, builtin, &t, reterr);
	if (rc)
		return rc;
	if (registry_tool(r, t->def.name))
		rc = error_set(reterr, BIDE_CONFLICT,
			       "tool \"%s\": the name is taken", t->def.name);
	else if (!make_room(r))
		rc = error_set(reterr, BIDE_NOMEM, "out of memory");
	if (rc) {
		tool_free(t);
		return rc;
	}
	insert(r, t);
	return BIDE_OK;
}

const struct tool *registry_tool(const struct registry *r, const char *name)
{
	size_t i;

	if (!r->n)
		return NULL;
	for (i = hash(name) & (r->cap_slots - 1); r->slots[i];
	     i = (i + 1) & (r->cap_slots - 1))
		if (!strcmp(r->tools[r->slots[i] - 1]->def.name, name))
			return r->tools[r->slots[i] - 1];
	return NULL;
}

size_t registry_tools(const struct registry *r)
{
	return r->n;
}

const struct tool *registry_tool_at(const struct registry *r, size_t i)
{
	return i < r->n ? r->tools[i] : NULL;
}

/*
 * A cursor is the place where the next page begins and a check over that and
 * the list's names, so that one from another list (an instance of another
 * version) is refused instead of leaving tools out.
 */
static uint32_t cursor_check(const struct registry *r, size_t place)
{
	uint64_t h = 0x9e3779b97f4a7c15U ^ place;

	for (size_t i = 0; i < r->n; i++)
		h = (h ^ hash(r->tools[i]->def.name)) * 0x100000001b3U;
	return (uint32_t)(h ^ (h >> 32));
}

static void cursor_write(const struct registry *r, size_t place, char out[32])
{
	uint32_t check = cursor_check(r, place);

	snprintf(out, 32, "%08x%08x", check ^ (uint32_t)place, check);
}

/* False: not one that cursor_write() made for this list. */
static bool cursor_read(const struct registry *r, const char *s, size_t *ret)
{
	char again[32];
	unsigned masked = 0;
	unsigned check = 0;

	if (strlen(s) != 16 || sscanf(s, "%8x%8x", &masked, &check) != 2)
		return false;
	*ret = masked ^ check;
	if (*ret == 0 || *ret >= r->n)
		return false;
	cursor_write(r, *ret, again);
	return !strcmp(s, again);
}

enum bide_rc registry_list_tools(const struct registry *r, const char *cursor,
				 struct buf *out, char ret_next[32])
{
	size_t from = 0;
	size_t to;

	if (cursor && !cursor_read(r, cursor, &from))
		return BIDE_INVALID;
	to = r->n - from > LIMIT_PAGE_ITEMS ? from + LIMIT_PAGE_ITEMS : r->n;
	for (size_t i = from; i < to; i++) {
		if (i > from)
			buf_addc(out, ',');
		buf_add(out, r->tools[i]->listing, r->tools[i]->listing_len);
	}
	if (out->failed)
		return BIDE_NOMEM;
	ret_next[0] = '\0';
	if (to < r->n)
		cursor_write(r, to, ret_next);
	return BIDE_OK;
}

void registry_warn(const struct registry *r)
{
	for (size_t i = 0; i < registry_tools(r); i++) {
		const struct tool *t = registry_tool_at(r, i);

		/* client/elicitation and server/tools: no secrets there. */
		if (t->secret)
			log_warn("catalog.argument_looks_secret",
				 "tool=%s property=%s", t->def.name, t->secret);
	}
}
