/* SPDX-License-Identifier: MIT */
/* Subschemas, what they are called, and who refers to them. */
#include "server/base/jsontext.h"
#include "server/base/limits.h"
#include "server/catalog/json_schema_node.h"
#include "server/catalog/uri.h"
#include <stdlib.h>
#include <string.h>

/* A dialect by its name; the other "http" and a bare "#" are common slips. */
static bool is_dialect(const char *uri, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(uri, "http://", 7) == 0)
		uri += 7;
	else if (strncmp(uri, "https://", 8) == 0)
		uri += 8;
	return strncmp(uri, name, n) == 0 &&
	       (uri[n] == '\0' || strcmp(uri + n, "#") == 0);
}

bool schema_dialect_of(struct schema_compiler *c, const json_t *json,
		       const struct schema_node *at, enum schema_dialect *ret)
{
	const json_t *named = json_object_get(json, "$schema");
	const char *uri = json_string_value(named);

	if (!named)
		return true;
	if (!uri)
		return schema_fail(c, BIDE_INVALID, at, "$schema",
				   "must be a URI");
	if (is_dialect(uri, "json-schema.org/draft/2020-12/schema"))
		*ret = DIALECT_2020_12;
	else if (is_dialect(uri, "json-schema.org/draft-07/schema"))
		*ret = DIALECT_DRAFT_07;
	else
		return schema_fail(c, BIDE_INVALID, at, "$schema",
				   "the dialect %.80s is not supported; "
				   "2020-12 and draft-07 are",
				   uri);
	return true;
}

/* which node was made of which value */

static size_t slot_of(const struct schema_compiler *c, const json_t *json)
{
	size_t mask = c->cap_seen - 1;
	size_t i = ((uintptr_t)json >> 4) * 0x9e3779b1u & mask;

	while (c->seen[i].json && c->seen[i].json != json)
		i = (i + 1) & mask;
	return i;
}

static bool grow_seen(struct schema_compiler *c)
{
	struct schema_seen *old = c->seen;
	size_t n = c->cap_seen;

	c->cap_seen = n ? n * 2 : 64;
	c->seen = calloc(c->cap_seen, sizeof(*c->seen));
	if (!c->seen) {
		c->seen = old;
		c->cap_seen = n;
		return schema_nomem(c);
	}
	for (size_t i = 0; i < n; i++) {
		if (old[i].json)
			c->seen[slot_of(c, old[i].json)] = old[i];
	}
	free(old);
	return true;
}

bool schema_remember(struct schema_compiler *c, const json_t *json,
		     struct schema_node *node)
{
	size_t i;

	if (!json_is_object(json))
		return true; /* jansson has one true and one false */
	if (c->n_seen * 2 >= c->cap_seen && !grow_seen(c))
		return false;
	i = slot_of(c, json);
	c->seen[i] = (struct schema_seen){json, node};
	c->n_seen++;
	return true;
}

static struct schema_node *recall(const struct schema_compiler *c,
				  const json_t *json)
{
	return c->cap_seen ? c->seen[slot_of(c, json)].node : NULL;
}

/* resources and anchors */

struct schema_resource *schema_add_resource(struct schema_compiler *c,
					    const char *uri, const json_t *json,
					    enum schema_dialect dialect)
{
	struct schema_resource *r = schema_new(c, sizeof(*r));

	if (!r)
		return NULL;
	r->uri = schema_strndup(&c->s->arena, uri, strlen(uri));
	r->json = json;
	r->dialect = dialect;
	r->next = c->s->resources;
	if (!r->uri) {
		schema_nomem(c);
		return NULL;
	}
	c->s->resources = r;
	return r;
}

static struct schema_resource *find_resource(const struct schema_compiler *c,
					     const char *uri)
{
	struct schema_resource *r = c->s->resources;

	while (r && strcmp(r->uri, uri) != 0)
		r = r->next;
	return r;
}

static bool add_anchor(struct schema_compiler *c, struct schema_node *node,
		       const char *name, const char *keyword, bool dynamic)
{
	/* The resource is being built; only this hand changes it. */
	struct schema_resource *r = (struct schema_resource *)node->resource;
	struct schema_anchor *a;

	for (a = r->anchors; a; a = a->next) {
		if (strcmp(a->name, name) != 0)
			continue;
		if (a->node == node) {
			a->dynamic = a->dynamic || dynamic;
			return true;
		}
		return schema_fail(c, BIDE_INVALID, node, keyword,
				   "\"%.60s\" is taken by another subschema",
				   name);
	}
	a = schema_new(c, sizeof(*a));
	if (!a)
		return false;
	*a = (struct schema_anchor){name, node, dynamic, r->anchors};
	r->anchors = a;
	return true;
}

/* core 8.2.2: [A-Za-z_][-A-Za-z0-9._]* */
static bool is_anchor_name(const char *s)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";

	return strspn(s, letters) > 0 &&
	       s[strspn(s, "abcdefghijklmnopqrstuvwxyz"
			   "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789-.")] == '\0';
}

static bool read_anchor(struct schema_compiler *c, const json_t *json,
			struct schema_node *node, const char *keyword)
{
	const json_t *named = json_object_get(json, keyword);
	const char *name = json_string_value(named);

	if (!named)
		return true;
	if (!name || !is_anchor_name(name))
		return schema_fail(c, BIDE_INVALID, node, keyword,
				   "must be a plain name");
	return add_anchor(c, node, name, keyword, keyword[1] == 'd');
}

/* An embedded resource, or the document's root under its own name. */
static bool enter_resource(struct schema_compiler *c, const json_t *json,
			   struct schema_node *node, char *uri)
{
	const struct schema_resource *base = node->resource;
	enum schema_dialect dialect = base->dialect;
	struct schema_resource *r;

	if (!schema_dialect_of(c, json, node, &dialect))
		return false;
	if (find_resource(c, uri))
		return schema_fail(c, BIDE_INVALID, node, "$id",
				   "%.100s is the name of two schemas", uri);
	r = schema_add_resource(c, uri, json, dialect);
	if (!r)
		return false;
	r->foreign = base->foreign;
	r->root = node;
	node->resource = r;
	return true;
}

static bool read_id(struct schema_compiler *c, const json_t *json,
		    struct schema_node *node)
{
	const json_t *named = json_object_get(json, "$id");
	bool old = node->resource->dialect == DIALECT_DRAFT_07;
	char *uri = NULL;
	const char *fragment;
	bool ok;

	/* draft-07 8.3: beside a $ref, $id names nothing. */
	if (!named || (old && json_object_get(json, "$ref")))
		return true;
	if (!json_is_string(named))
		return schema_fail(c, BIDE_INVALID, node, "$id",
				   "must be a URI reference");
	if (old && json_string_value(named)[0] == '#')
		return add_anchor(c, node, json_string_value(named) + 1, "$id",
				  false);
	uri = uri_resolve(node->resource->uri, json_string_value(named));
	if (!uri)
		return schema_nomem(c);
	fragment = uri_cut_fragment(uri);
	if (*fragment)
		ok = schema_fail(c, BIDE_INVALID, node, "$id",
				 "must not have a fragment");
	else if (node->resource->root == node &&
		 strcmp(uri, node->resource->uri) == 0)
		ok = true;
	else
		ok = enter_resource(c, json, node, uri);
	free(uri);
	return ok;
}

bool schema_identify(struct schema_compiler *c, const json_t *json,
		     struct schema_node *node,
		     const struct schema_resource *base)
{
	node->resource = base;
	if (!json_is_object(json))
		return true;
	if (!read_id(c, json, node))
		return false;
	if (node->resource->dialect != DIALECT_2020_12)
		return true;
	return read_anchor(c, json, node, "$anchor") &&
	       read_anchor(c, json, node, "$dynamicAnchor");
}

static bool never(struct schema_compiler *c, struct schema_node *node)
{
	node->ops = schema_new(c, sizeof(*node->ops));
	if (node->ops)
		node->ops->kind = OP_NEVER;
	return node->ops != NULL;
}

static bool fill_node(struct schema_compiler *c, const json_t *json,
		      struct schema_node *node)
{
	if (json_is_true(json))
		return true;
	if (json_is_false(json))
		return never(c, node);
	return schema_keywords(c, json, node);
}

struct schema_node *schema_subschema(struct schema_compiler *c,
				     const json_t *json,
				     struct schema_place place,
				     const struct schema_resource *base)
{
	struct schema_node *node = NULL;
	bool ok;

	if (!json_is_object(json) && !json_is_boolean(json)) {
		struct schema_node here = {.resource = base,
					   .up = place.up,
					   .keyword = place.keyword,
					   .key = place.key,
					   .index = place.index};

		schema_fail(c, BIDE_INVALID, &here, NULL,
			    "must be a schema: an object or a boolean");
		return NULL;
	}
	if (++c->n_nodes > LIMIT_SCHEMA_NODES) {
		schema_fail(c, BIDE_LIMIT, place.up, place.keyword,
			    "there are more than %d subschemas",
			    LIMIT_SCHEMA_NODES);
		return NULL;
	}
	node = schema_new(c, sizeof(*node));
	if (!node)
		return NULL;
	node->up = place.up;
	node->keyword = place.keyword;
	node->key = place.key;
	node->index = place.index;
	if (!base->root)
		((struct schema_resource *)base)->root = node;
	ok = schema_remember(c, json, node) &&
	     schema_identify(c, json, node, base) && fill_node(c, json, node);
	return ok ? node : NULL;
}

bool schema_want(struct schema_compiler *c, const struct schema_node *node,
		 struct schema_op *op, const char *uri)
{
	struct schema_pending *p = schema_new(c, sizeof(*p));

	if (!p)
		return false;
	*p = (struct schema_pending){op, node, uri, c->pending};
	c->pending = p;
	return true;
}

/* resolving */

static bool unresolved(struct schema_compiler *c,
		       const struct schema_pending *p, const char *why)
{
	return schema_fail(c, BIDE_INVALID, p->node, p->op->keyword,
			   "%.100s %s", p->uri, why);
}

/* One step of RFC 6901, 4: a token, unescaped in place. */
static const json_t *step_into(const json_t *json, char *token)
{
	char *out = token;
	char *end = NULL;
	unsigned long i;

	for (const char *in = token; *in; in++) {
		if (*in == '~') {
			if (in[1] != '0' && in[1] != '1')
				return NULL;
			*out++ = *++in == '0' ? '~' : '/';
		} else {
			*out++ = *in;
		}
	}
	*out = '\0';
	if (json_is_object(json))
		return json_object_get(json, token);
	if (*token < '0' || *token > '9' || (token[0] == '0' && token[1]))
		return NULL;
	i = strtoul(token, &end, 10);
	return *end ? NULL : json_array_get(json, i);
}

/* A place that no keyword led to: made into a schema because it is asked for
 * (core 9.4.2 leaves it open; draft-07's "definitions" of any name need it). */
static const struct schema_node *at_pointer(struct schema_compiler *c,
					    const struct schema_pending *p,
					    const struct schema_resource *r,
					    char *pointer)
{
	struct schema_node *node = (struct schema_node *)r->root;
	const json_t *json = r->json;
	char *kept = schema_strndup(&c->s->arena, pointer, strlen(pointer));
	char *rest = pointer + 1;
	struct schema_place place = {.up = node, .index = -1};

	if (!kept) {
		schema_nomem(c);
		return NULL;
	}
	place.keyword = kept + 1;
	for (char *token = rest; rest; token = rest) {
		struct schema_node *seen;

		rest = strchr(token, '/');
		if (rest)
			*rest++ = '\0';
		json = step_into(json, token);
		if (!json) {
			unresolved(c, p, "points at nothing");
			return NULL;
		}
		seen = recall(c, json);
		if (!seen)
			continue;
		node = seen;
		place.up = node;
		place.keyword = rest ? kept + (rest - pointer) : NULL;
	}
	if (!place.keyword)
		return node;
	return schema_subschema(c, json, place, node->resource);
}

static const struct schema_node *at_anchor(struct schema_compiler *c,
					   const struct schema_pending *p,
					   const struct schema_resource *r,
					   const char *name)
{
	for (const struct schema_anchor *a = r->anchors; a; a = a->next) {
		if (strcmp(a->name, name) != 0)
			continue;
		if (a->dynamic && p->op->kind == OP_DYNAMIC_REF)
			p->op->u.ref.anchor = a->name;
		return a->node;
	}
	unresolved(c, p, "names no $anchor");
	return NULL;
}

static json_t *load_built_in(struct schema_compiler *c, const char *uri)
{
	const char *text = schema_meta_text(uri);
	json_t *json = NULL;

	if (text && jsontext_parse(text, strlen(text), &json, NULL) != BIDE_OK)
		schema_nomem(c);
	return json;
}

/* A document that the program gave or that is built in. NULL with c->rc OK:
 * there is none of that name. */
static struct schema_resource *load_document(struct schema_compiler *c,
					     const char *uri)
{
	enum schema_dialect dialect = DIALECT_2020_12;
	struct schema_resource *r = NULL;
	const json_t *doc = NULL;
	json_t *built_in = NULL;

	for (size_t i = 0; i < c->n_docs && !doc; i++) {
		if (strcmp(c->docs[i].uri, uri) == 0)
			doc = schema_keep_document(c, c->docs[i].schema);
	}
	if (!doc && c->rc == BIDE_OK) {
		built_in = load_built_in(c, uri);
		if (built_in)
			doc = schema_keep_document(c, built_in);
		json_decref(built_in);
	}
	if (!doc || !schema_dialect_of(c, doc, NULL, &dialect))
		return NULL;
	r = schema_add_resource(c, uri, doc, dialect);
	if (!r)
		return NULL;
	r->foreign = true;
	if (!schema_subschema(c, doc, (struct schema_place){.index = -1}, r))
		return NULL;
	return r;
}

static const struct schema_node *find_target(struct schema_compiler *c,
					     const struct schema_pending *p,
					     char *uri)
{
	char *fragment = uri_cut_fragment(uri);
	const struct schema_resource *r = find_resource(c, uri);

	if (!uri_decode(fragment)) {
		unresolved(c, p, "has a malformed fragment");
		return NULL;
	}
	if (!r)
		r = load_document(c, uri);
	if (!r) {
		unresolved(c, p,
			   "is not in this schema, and nothing is ever "
			   "fetched: put it under $defs");
		return NULL;
	}
	/* A document may be found by its address and call itself otherwise. */
	r = r->root->resource;
	if (*fragment == '\0')
		return r->root;
	if (*fragment == '/')
		return at_pointer(c, p, r, fragment);
	return at_anchor(c, p, r, fragment);
}

bool schema_resolve(struct schema_compiler *c)
{
	/* Resolving one may bring new ones. */
	while (c->pending && c->rc == BIDE_OK) {
		struct schema_pending *p = c->pending;
		char *uri = uri_resolve(p->node->resource->uri, p->uri);

		c->pending = p->next;
		if (!uri)
			return schema_nomem(c);
		p->op->u.ref.target = find_target(c, p, uri);
		free(uri);
	}
	return c->rc == BIDE_OK;
}

/* a schema that applies itself to the same value for ever */

enum { MARK_NEW, MARK_OPEN, MARK_DONE };

static bool visit(struct schema_compiler *c, const struct schema_node *node);

static bool visit_list(struct schema_compiler *c, const struct schema_op *op)
{
	for (size_t i = 0; i < op->u.list.n; i++) {
		if (!visit(c, op->u.list.nodes[i]))
			return false;
	}
	return true;
}

static bool visit_keys(struct schema_compiler *c, const struct schema_op *op)
{
	for (size_t i = 0; i < op->u.keys.n; i++) {
		if (!visit(c, op->u.keys.keys[i].node))
			return false;
	}
	return true;
}

/* Only what is applied to the very same value. */
static bool visit_op(struct schema_compiler *c, const struct schema_op *op)
{
	if (op->kind == OP_REF || op->kind == OP_DYNAMIC_REF)
		return visit(c, op->u.ref.target);
	if (op->kind == OP_ALL_OF || op->kind == OP_ANY_OF ||
	    op->kind == OP_ONE_OF)
		return visit_list(c, op);
	if (op->kind == OP_NOT)
		return visit(c, op->u.node);
	if (op->kind == OP_IF)
		return visit(c, op->u.cond.test) && visit(c, op->u.cond.yes) &&
		       visit(c, op->u.cond.no);
	if (op->kind == OP_DEPENDENT_SCHEMAS)
		return visit_keys(c, op);
	return true;
}

static bool visit(struct schema_compiler *c, const struct schema_node *node)
{
	/* The graph is not yet published. */
	struct schema_node *n = (struct schema_node *)node;
	bool ok = true;

	if (!n || n->mark == MARK_DONE)
		return true;
	if (n->mark == MARK_OPEN)
		return schema_fail(c, BIDE_INVALID, n, NULL,
				   "refers to itself without going deeper "
				   "into the value");
	if (++c->depth > LIMIT_VALIDATION_DEPTH)
		return schema_fail(c, BIDE_LIMIT, n, NULL,
				   "more than %d references in a row",
				   LIMIT_VALIDATION_DEPTH);
	n->mark = MARK_OPEN;
	for (const struct schema_op *op = n->ops; op && ok; op = op->next)
		ok = visit_op(c, op);
	n->mark = MARK_DONE;
	c->depth--;
	return ok;
}

bool schema_refuse_cycles(struct schema_compiler *c)
{
	for (size_t i = 0; i < c->cap_seen; i++) {
		if (c->seen[i].json && !visit(c, c->seen[i].node))
			return false;
	}
	return true;
}
