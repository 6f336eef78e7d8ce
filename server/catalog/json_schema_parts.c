/* SPDX-License-Identifier: MIT */
/* Keywords that apply subschemas to the items and members of a value. */
#include "server/catalog/json_schema_site.h"

static bool is_2020_12(const struct site *at)
{
	return at->node->resource->dialect == DIALECT_2020_12;
}

/* arrays */

bool parts_on_unique_items(struct site *at)
{
	if (!json_is_boolean(at->value))
		return site_wrong(at, "true or false");
	return json_is_false(at->value) || site_add_op(at, OP_UNIQUE_ITEMS);
}

static bool add_items(struct site *at, const struct schema_node **nodes,
		      size_t n, const struct schema_node *rest)
{
	struct schema_op *op = site_add_op(at, OP_ITEMS);

	if (!op)
		return false;
	op->u.list.nodes = nodes;
	op->u.list.n = n;
	op->u.list.rest = rest;
	return true;
}

bool parts_on_prefix_items(struct site *at)
{
	const struct schema_node *rest = NULL;
	size_t n = 0;
	const struct schema_node **nodes = site_list(at, &n);

	return nodes && site_sibling_subschema(at, "items", &rest) &&
	       add_items(at, nodes, n, rest);
}

bool parts_on_items(struct site *at)
{
	const struct schema_node **nodes = NULL;
	const struct schema_node *rest = NULL;
	size_t n = 0;

	if (is_2020_12(at) || !json_is_array(at->value)) {
		if (is_2020_12(at) && site_sibling(at, "prefixItems"))
			return true; /* built there */
		rest = site_only_subschema(at);
		return rest && add_items(at, NULL, 0, rest);
	}
	if (json_array_size(at->value) == 0)
		return true;
	nodes = site_list(at, &n);
	return nodes && site_sibling_subschema(at, "additionalItems", &rest) &&
	       add_items(at, nodes, n, rest);
}

bool parts_on_contains(struct site *at)
{
	struct schema_node *node = site_only_subschema(at);
	struct site min = *at;
	struct site max = *at;
	struct schema_op *op = node ? site_add_op(at, OP_CONTAINS) : NULL;

	if (!op)
		return false;
	op->u.contains.node = node;
	op->u.contains.min = 1;
	if (!is_2020_12(at))
		return true;
	min.keyword = "minContains";
	min.value = site_sibling(at, min.keyword);
	if (min.value && !site_count(&min, &op->u.contains.min))
		return false;
	max.keyword = "maxContains";
	max.value = site_sibling(at, max.keyword);
	op->u.contains.has_max = max.value != NULL;
	return !max.value || site_count(&max, &op->u.contains.max);
}

/* Beside "contains" these are read there; alone they only have to be valid. */
bool parts_on_contains_count(struct site *at)
{
	size_t ignored = 0;

	return site_count(at, &ignored);
}

/* objects */

bool parts_on_required(struct site *at)
{
	const struct schema_key *keys = NULL;
	size_t n = 0;
	struct schema_op *op;

	if (!site_names(at, at->value, &keys, &n))
		return false;
	op = site_add_op(at, OP_REQUIRED);
	if (!op)
		return false;
	op->u.keys.keys = keys;
	op->u.keys.n = n;
	return true;
}

static bool read_rules(struct site *at, const struct schema_rule **ret,
		       size_t *ret_n)
{
	json_t *object = (json_t *)at->value;
	struct schema_rule *rules;
	size_t n = 0;
	const char *name;
	size_t len;
	json_t *member;

	if (!object)
		return true;
	if (!json_is_object(object))
		return site_wrong(at, "an object of schemas");
	rules = schema_new(at->c,
			   (json_object_size(object) + 1) * sizeof(*rules));
	if (!rules)
		return false;
	json_object_keylen_foreach(object, name, len, member)
	{
		rules[n].pattern = site_pattern(at, name, len);
		if (!rules[n].pattern)
			return false;
		rules[n].node = site_subschema(at, member, name, -1);
		if (!rules[n++].node)
			return false;
	}
	*ret = rules;
	*ret_n = n;
	return true;
}

/* properties, patternProperties and additionalProperties are one operation,
 * built by the first of them that is there. */
bool parts_on_properties(struct site *at)
{
	struct site names = *at;
	struct site patterns = *at;
	struct schema_op *op = NULL;

	names.keyword = "properties";
	names.value = site_sibling(at, names.keyword);
	patterns.keyword = "patternProperties";
	patterns.value = site_sibling(at, patterns.keyword);
	op = site_add_op(&names, OP_PROPERTIES);
	if (!op)
		return false;
	if (names.value &&
	    !site_table(&names, &op->u.properties.keys, &op->u.properties.n))
		return false;
	return read_rules(&patterns, &op->u.properties.rules,
			  &op->u.properties.n_rules) &&
	       site_sibling_subschema(at, "additionalProperties",
				      &op->u.properties.rest);
}

bool parts_on_pattern_properties(struct site *at)
{
	return site_sibling(at, "properties") || parts_on_properties(at);
}

bool parts_on_additional_properties(struct site *at)
{
	return site_sibling(at, "properties") ||
	       site_sibling(at, "patternProperties") || parts_on_properties(at);
}

bool parts_on_dependent_required(struct site *at)
{
	json_t *object = (json_t *)at->value;
	struct schema_op *op = site_add_op(at, OP_DEPENDENT_REQUIRED);
	struct schema_key *keys;
	size_t n = 0;
	const char *name;
	size_t len;
	json_t *member;

	if (!json_is_object(object))
		return site_wrong(at, "an object of arrays of strings");
	keys = schema_new(at->c,
			  (json_object_size(object) + 1) * sizeof(*keys));
	if (!op || !keys)
		return false;
	json_object_keylen_foreach(object, name, len, member)
	{
		keys[n].name = name;
		keys[n].len = len;
		if (!site_names(at, member, &keys[n].needs, &keys[n].n_needs))
			return false;
		n++;
	}
	op->u.keys.keys = keys;
	op->u.keys.n = n;
	return true;
}

bool parts_on_dependent_schemas(struct site *at)
{
	const struct schema_key *keys = NULL;
	size_t n = 0;
	struct schema_op *op;

	if (!site_table(at, &keys, &n))
		return false;
	op = site_add_op(at, OP_DEPENDENT_SCHEMAS);
	if (!op)
		return false;
	op->u.keys.keys = keys;
	op->u.keys.n = n;
	return true;
}

/* draft-07 6.5.7, and kept by 2020-12 as deprecated: both of the above. */
bool parts_on_dependencies(struct site *at)
{
	json_t *object = (json_t *)at->value;
	struct schema_key *lists;
	struct schema_key *schemas;
	size_t n_lists = 0;
	size_t n_schemas = 0;
	struct schema_op *op;
	const char *name;
	size_t len;
	json_t *member;

	if (!json_is_object(object))
		return site_wrong(at, "an object");
	lists = schema_new(at->c,
			   (json_object_size(object) + 1) * sizeof(*lists));
	schemas = schema_new(at->c,
			     (json_object_size(object) + 1) * sizeof(*schemas));
	if (!lists || !schemas)
		return false;
	json_object_keylen_foreach(object, name, len, member)
	{
		struct schema_key k = {.name = name, .len = len};

		if (json_is_array(member)) {
			if (!site_names(at, member, &k.needs, &k.n_needs))
				return false;
			lists[n_lists++] = k;
			continue;
		}
		k.node = site_subschema(at, member, name, -1);
		if (!k.node)
			return false;
		schemas[n_schemas++] = k;
	}
	op = site_add_op(at, OP_DEPENDENT_REQUIRED);
	if (!op)
		return false;
	op->u.keys.keys = lists;
	op->u.keys.n = n_lists;
	op = site_add_op(at, OP_DEPENDENT_SCHEMAS);
	if (!op)
		return false;
	op->u.keys.keys = schemas;
	op->u.keys.n = n_schemas;
	return true;
}
