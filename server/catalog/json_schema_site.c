/* SPDX-License-Identifier: MIT */
#include "server/catalog/json_schema_site.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool site_wrong(struct site *at, const char *what)
{
	return schema_fail(at->c, BIDE_INVALID, at->node, at->keyword,
			   "must be %s", what);
}

/* Appends an operation to the node. */
struct schema_op *site_add_op(struct site *at, enum op_kind kind)
{
	struct schema_op *op = schema_new(at->c, sizeof(*op));
	struct schema_op **tail = &at->node->ops;

	if (!op)
		return NULL;
	op->kind = kind;
	op->keyword = at->keyword;
	while (*tail)
		tail = &(*tail)->next;
	*tail = op;
	return op;
}

const json_t *site_sibling(const struct site *at, const char *keyword)
{
	return json_object_get(at->schema, keyword);
}

struct schema_node *site_subschema(struct site *at, const json_t *json,
				   const char *key, ptrdiff_t index)
{
	struct schema_place place = {at->node, at->keyword, key, index};

	return schema_subschema(at->c, json, place, at->node->resource);
}

struct schema_node *site_only_subschema(struct site *at)
{
	return site_subschema(at, at->value, NULL, -1);
}

/* A keyword that stands beside the one being built; absent is no failure. */
bool site_sibling_subschema(struct site *at, const char *keyword,
			    const struct schema_node **ret)
{
	struct site other = *at;

	other.keyword = keyword;
	other.value = site_sibling(at, keyword);
	if (!other.value)
		return true;
	*ret = site_only_subschema(&other);
	return *ret != NULL;
}

/* A count: 2 and 2.0 are the same (core 4.2.2). */
bool site_count(struct site *at, size_t *ret)
{
	struct number n;

	if (!json_is_number(at->value))
		return site_wrong(at, "a non-negative integer");
	n = number_of(at->value);
	if (n.is_int)
		n.d = (double)n.i;
	if (n.d < 0 || n.d != trunc(n.d))
		return site_wrong(at, "a non-negative integer");
	if (n.d >= 9.0e18)
		*ret = SIZE_MAX;
	else
		*ret = n.is_int ? (size_t)n.i : (size_t)n.d;
	return true;
}

const struct schema_pattern *site_pattern(struct site *at, const char *s,
					  size_t len)
{
	struct schema_pattern *p = schema_new(at->c, sizeof(*p));
	char why[160];

	if (!p)
		return NULL;
	p->source = schema_strndup(&at->c->s->arena, s, len);
	if (!p->source) {
		schema_nomem(at->c);
		return NULL;
	}
	switch (pattern_compile(p, s, len, why, sizeof(why))) {
	case PATTERN_OK:
		p->next = at->c->s->patterns;
		at->c->s->patterns = p;
		return p;
	case PATTERN_BAD:
		schema_fail(at->c, BIDE_INVALID, at->node, at->keyword,
			    "\"%.60s\" is not a pattern that is supported: %s",
			    p->source, why);
		return NULL;
	case PATTERN_NOMEM:
		break;
	}
	schema_nomem(at->c);
	return NULL;
}

const struct schema_node **site_list(struct site *at, size_t *ret_n)
{
	size_t n = json_array_size(at->value);
	const struct schema_node **nodes;

	if (n == 0) {
		site_wrong(at, "an array of at least one schema");
		return NULL;
	}
	nodes = schema_new(at->c, n * sizeof(*nodes));
	for (size_t i = 0; nodes && i < n; i++) {
		nodes[i] = site_subschema(at, json_array_get(at->value, i),
					  NULL, (ptrdiff_t)i);
		if (!nodes[i])
			return NULL;
	}
	*ret_n = n;
	return nodes;
}

static int by_name(const void *a, const void *b)
{
	const struct schema_key *x = a;
	const struct schema_key *y = b;
	size_t n = x->len < y->len ? x->len : y->len;
	int order = memcmp(x->name, y->name, n);

	if (order != 0)
		return order;
	return x->len < y->len ? -1 : x->len > y->len;
}

bool site_names(struct site *at, const json_t *list,
		const struct schema_key **ret, size_t *ret_n)
{
	static const char what[] = "an array of strings without repeats";
	size_t n = json_array_size(list);
	struct schema_key *keys;

	if (!json_is_array(list))
		return site_wrong(at, what);
	keys = schema_new(at->c, (n + 1) * sizeof(*keys));
	if (!keys)
		return false;
	for (size_t i = 0; i < n; i++) {
		const json_t *name = json_array_get(list, i);

		if (!json_is_string(name))
			return site_wrong(at, what);
		keys[i].name = json_string_value(name);
		keys[i].len = json_string_length(name);
	}
	qsort(keys, n, sizeof(*keys), by_name);
	for (size_t i = 1; i < n; i++) {
		if (by_name(&keys[i - 1], &keys[i]) == 0)
			return site_wrong(at, what);
	}
	*ret = keys;
	*ret_n = n;
	return true;
}

/* The members of an object as a sorted table, each a subschema. */
bool site_table(struct site *at, const struct schema_key **ret, size_t *ret_n)
{
	json_t *object = (json_t *)at->value;
	struct schema_key *keys;
	size_t n = 0;
	const char *name;
	size_t len;
	json_t *member;

	if (!json_is_object(object))
		return site_wrong(at, "an object of schemas");
	keys = schema_new(at->c,
			  (json_object_size(object) + 1) * sizeof(*keys));
	if (!keys)
		return false;
	json_object_keylen_foreach(object, name, len, member)
	{
		struct schema_node *node = site_subschema(at, member, name, -1);

		if (!node)
			return false;
		keys[n++] = (struct schema_key){
			.name = name, .len = len, .node = node};
	}
	qsort(keys, n, sizeof(*keys), by_name);
	*ret = keys;
	*ret_n = n;
	return true;
}
