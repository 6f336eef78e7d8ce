/* SPDX-License-Identifier: MIT */
#include "server/base/limits.h"
#include "server/catalog/json_schema_node.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * One function a keyword; the table at the end names the dialects that have
 * it and the order in which a node applies them. Keywords that work together
 * (core 10.3) are built by the first of them.
 */
struct site {
	struct schema_compiler *c;
	struct schema_node *node;
	const json_t *schema; /* the object the keyword is in */
	const char *keyword;
	const json_t *value;
};

static bool wrong(struct site *at, const char *what)
{
	return schema_fail(at->c, BIDE_INVALID, at->node, at->keyword,
			   "must be %s", what);
}

/* Appends an operation to the node. */
static struct schema_op *add_op(struct site *at, enum op_kind kind)
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

static const json_t *sibling(const struct site *at, const char *keyword)
{
	return json_object_get(at->schema, keyword);
}

static bool is_2020_12(const struct site *at)
{
	return at->node->resource->dialect == DIALECT_2020_12;
}

static struct schema_node *subschema(struct site *at, const json_t *json,
				     const char *key, ptrdiff_t index)
{
	struct schema_place place = {at->node, at->keyword, key, index};

	return schema_subschema(at->c, json, place, at->node->resource);
}

static struct schema_node *only_subschema(struct site *at)
{
	return subschema(at, at->value, NULL, -1);
}

/* A keyword that stands beside the one being built; absent is no failure. */
static bool sibling_subschema(struct site *at, const char *keyword,
			      const struct schema_node **ret)
{
	struct site other = *at;

	other.keyword = keyword;
	other.value = sibling(at, keyword);
	if (!other.value)
		return true;
	*ret = only_subschema(&other);
	return *ret != NULL;
}

/* A count: 2 and 2.0 are the same (core 4.2.2). */
static bool read_count(struct site *at, size_t *ret)
{
	struct number n;

	if (!json_is_number(at->value))
		return wrong(at, "a non-negative integer");
	n = number_of(at->value);
	if (n.is_int)
		n.d = (double)n.i;
	if (n.d < 0 || n.d != trunc(n.d))
		return wrong(at, "a non-negative integer");
	if (n.d >= 9.0e18)
		*ret = SIZE_MAX;
	else
		*ret = n.is_int ? (size_t)n.i : (size_t)n.d;
	return true;
}

/* ---- any type ---- */

static unsigned type_bit(const json_t *name)
{
	static const struct {
		const char *name;
		enum value_type bit;
	} types[] = {
		{"null", VALUE_NULL},       {"boolean", VALUE_BOOLEAN},
		{"object", VALUE_OBJECT},   {"array", VALUE_ARRAY},
		{"number", VALUE_NUMBER},   {"string", VALUE_STRING},
		{"integer", VALUE_INTEGER},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (json_is_string(name) &&
		    strcmp(json_string_value(name), types[i].name) == 0)
			return types[i].bit;
	}
	return 0;
}

static bool on_type(struct site *at)
{
	static const char what[] =
		"one of null, boolean, object, array, number, string, "
		"integer, or an array of them without repeats";
	unsigned types = type_bit(at->value);
	struct schema_op *op;

	for (size_t i = 0; i < json_array_size(at->value); i++) {
		unsigned bit = type_bit(json_array_get(at->value, i));

		if (!bit || (types & bit))
			return wrong(at, what);
		types |= bit;
	}
	if (!types)
		return wrong(at, what);
	op = add_op(at, OP_TYPE);
	if (op)
		op->u.types = types;
	return op != NULL;
}

static bool on_const(struct site *at)
{
	struct schema_op *op = add_op(at, OP_CONST);

	if (op)
		op->u.value.json = at->value;
	return op != NULL;
}

static bool on_enum(struct site *at)
{
	struct schema_op *op;

	if (!json_is_array(at->value))
		return wrong(at, "an array");
	op = add_op(at, OP_ENUM);
	if (op)
		op->u.value.json = at->value;
	return op != NULL;
}

/* ---- numbers ---- */

static bool add_bound(struct site *at, enum op_kind kind)
{
	struct schema_op *op;

	if (!json_is_number(at->value))
		return wrong(at, "a number");
	op = add_op(at, kind);
	if (!op)
		return false;
	op->u.value.json = at->value;
	op->u.value.number = number_of(at->value);
	return true;
}

static bool on_minimum(struct site *at)
{
	return add_bound(at, OP_MINIMUM);
}

static bool on_maximum(struct site *at)
{
	return add_bound(at, OP_MAXIMUM);
}

static bool on_exclusive_minimum(struct site *at)
{
	return add_bound(at, OP_EXCLUSIVE_MINIMUM);
}

static bool on_exclusive_maximum(struct site *at)
{
	return add_bound(at, OP_EXCLUSIVE_MAXIMUM);
}

static bool on_multiple_of(struct site *at)
{
	struct number zero = {.is_int = true};
	struct schema_op *op;

	if (!json_is_number(at->value) ||
	    number_compare(number_of(at->value), zero) <= 0)
		return wrong(at, "a number greater than 0");
	op = add_op(at, OP_MULTIPLE_OF);
	if (!op)
		return false;
	op->u.value.json = at->value;
	op->u.value.number = number_of(at->value);
	op->u.value.decimal = decimal_of(op->u.value.number);
	return true;
}

/* ---- sizes ---- */

static bool add_count(struct site *at, enum op_kind kind)
{
	size_t count = 0;
	struct schema_op *op;

	if (!read_count(at, &count))
		return false;
	op = add_op(at, kind);
	if (op)
		op->u.count = count;
	return op != NULL;
}

static bool on_min_length(struct site *at)
{
	return add_count(at, OP_MIN_LENGTH);
}

static bool on_max_length(struct site *at)
{
	return add_count(at, OP_MAX_LENGTH);
}

static bool on_min_items(struct site *at)
{
	return add_count(at, OP_MIN_ITEMS);
}

static bool on_max_items(struct site *at)
{
	return add_count(at, OP_MAX_ITEMS);
}

static bool on_min_properties(struct site *at)
{
	return add_count(at, OP_MIN_PROPERTIES);
}

static bool on_max_properties(struct site *at)
{
	return add_count(at, OP_MAX_PROPERTIES);
}

/* ---- strings ---- */

static const struct schema_pattern *new_pattern(struct site *at, const char *s,
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

static bool on_pattern(struct site *at)
{
	const struct schema_pattern *p;
	struct schema_op *op;

	if (!json_is_string(at->value))
		return wrong(at, "a string");
	p = new_pattern(at, json_string_value(at->value),
			json_string_length(at->value));
	op = p ? add_op(at, OP_PATTERN) : NULL;
	if (op)
		op->u.pattern = p;
	return op != NULL;
}

static bool on_format(struct site *at)
{
	bool (*check)(const char *s, size_t len) = NULL;
	struct schema_op *op;

	if (!json_is_string(at->value))
		return wrong(at, "a string");
	check = schema_format(json_string_value(at->value));
	if (!check)
		return true;
	op = add_op(at, OP_FORMAT);
	if (op)
		op->u.format = check;
	return op != NULL;
}

/* ---- arrays ---- */

static bool on_unique_items(struct site *at)
{
	if (!json_is_boolean(at->value))
		return wrong(at, "true or false");
	return json_is_false(at->value) || add_op(at, OP_UNIQUE_ITEMS);
}

static const struct schema_node **subschema_list(struct site *at, size_t *ret_n)
{
	size_t n = json_array_size(at->value);
	const struct schema_node **nodes;

	if (n == 0) {
		wrong(at, "an array of at least one schema");
		return NULL;
	}
	nodes = schema_new(at->c, n * sizeof(*nodes));
	for (size_t i = 0; nodes && i < n; i++) {
		nodes[i] = subschema(at, json_array_get(at->value, i), NULL,
				     (ptrdiff_t)i);
		if (!nodes[i])
			return NULL;
	}
	*ret_n = n;
	return nodes;
}

static bool add_items(struct site *at, const struct schema_node **nodes,
		      size_t n, const struct schema_node *rest)
{
	struct schema_op *op = add_op(at, OP_ITEMS);

	if (!op)
		return false;
	op->u.list.nodes = nodes;
	op->u.list.n = n;
	op->u.list.rest = rest;
	return true;
}

static bool on_prefix_items(struct site *at)
{
	const struct schema_node *rest = NULL;
	size_t n = 0;
	const struct schema_node **nodes = subschema_list(at, &n);

	return nodes && sibling_subschema(at, "items", &rest) &&
	       add_items(at, nodes, n, rest);
}

static bool on_items(struct site *at)
{
	const struct schema_node **nodes = NULL;
	const struct schema_node *rest = NULL;
	size_t n = 0;

	if (is_2020_12(at) || !json_is_array(at->value)) {
		if (is_2020_12(at) && sibling(at, "prefixItems"))
			return true; /* built there */
		rest = only_subschema(at);
		return rest && add_items(at, NULL, 0, rest);
	}
	if (json_array_size(at->value) == 0)
		return true;
	nodes = subschema_list(at, &n);
	return nodes && sibling_subschema(at, "additionalItems", &rest) &&
	       add_items(at, nodes, n, rest);
}

static bool on_contains(struct site *at)
{
	struct schema_node *node = only_subschema(at);
	struct site min = *at;
	struct site max = *at;
	struct schema_op *op = node ? add_op(at, OP_CONTAINS) : NULL;

	if (!op)
		return false;
	op->u.contains.node = node;
	op->u.contains.min = 1;
	if (!is_2020_12(at))
		return true;
	min.keyword = "minContains";
	min.value = sibling(at, min.keyword);
	if (min.value && !read_count(&min, &op->u.contains.min))
		return false;
	max.keyword = "maxContains";
	max.value = sibling(at, max.keyword);
	op->u.contains.has_max = max.value != NULL;
	return !max.value || read_count(&max, &op->u.contains.max);
}

/* Beside "contains" these are read there; alone they only have to be valid. */
static bool on_contains_count(struct site *at)
{
	size_t ignored = 0;

	return read_count(at, &ignored);
}

/* ---- objects ---- */

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

static bool names_of(struct site *at, const json_t *list,
		     const struct schema_key **ret, size_t *ret_n)
{
	static const char what[] = "an array of strings without repeats";
	size_t n = json_array_size(list);
	struct schema_key *keys;

	if (!json_is_array(list))
		return wrong(at, what);
	keys = schema_new(at->c, (n + 1) * sizeof(*keys));
	if (!keys)
		return false;
	for (size_t i = 0; i < n; i++) {
		const json_t *name = json_array_get(list, i);

		if (!json_is_string(name))
			return wrong(at, what);
		keys[i].name = json_string_value(name);
		keys[i].len = json_string_length(name);
	}
	qsort(keys, n, sizeof(*keys), by_name);
	for (size_t i = 1; i < n; i++) {
		if (by_name(&keys[i - 1], &keys[i]) == 0)
			return wrong(at, what);
	}
	*ret = keys;
	*ret_n = n;
	return true;
}

static bool on_required(struct site *at)
{
	const struct schema_key *keys = NULL;
	size_t n = 0;
	struct schema_op *op;

	if (!names_of(at, at->value, &keys, &n))
		return false;
	op = add_op(at, OP_REQUIRED);
	if (!op)
		return false;
	op->u.keys.keys = keys;
	op->u.keys.n = n;
	return true;
}

/* The members of an object as a sorted table, each a subschema. */
static bool subschema_table(struct site *at, const struct schema_key **ret,
			    size_t *ret_n)
{
	json_t *object = (json_t *)at->value;
	struct schema_key *keys;
	size_t n = 0;
	const char *name;
	size_t len;
	json_t *member;

	if (!json_is_object(object))
		return wrong(at, "an object of schemas");
	keys = schema_new(at->c,
			  (json_object_size(object) + 1) * sizeof(*keys));
	if (!keys)
		return false;
	json_object_keylen_foreach(object, name, len, member)
	{
		struct schema_node *node = subschema(at, member, name, -1);

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
		return wrong(at, "an object of schemas");
	rules = schema_new(at->c,
			   (json_object_size(object) + 1) * sizeof(*rules));
	if (!rules)
		return false;
	json_object_keylen_foreach(object, name, len, member)
	{
		rules[n].pattern = new_pattern(at, name, len);
		if (!rules[n].pattern)
			return false;
		rules[n].node = subschema(at, member, name, -1);
		if (!rules[n++].node)
			return false;
	}
	*ret = rules;
	*ret_n = n;
	return true;
}

/* properties, patternProperties and additionalProperties are one operation,
 * built by the first of them that is there. */
static bool on_properties(struct site *at)
{
	struct site names = *at;
	struct site patterns = *at;
	struct schema_op *op = NULL;

	names.keyword = "properties";
	names.value = sibling(at, names.keyword);
	patterns.keyword = "patternProperties";
	patterns.value = sibling(at, patterns.keyword);
	op = add_op(&names, OP_PROPERTIES);
	if (!op)
		return false;
	if (names.value && !subschema_table(&names, &op->u.properties.keys,
					    &op->u.properties.n))
		return false;
	return read_rules(&patterns, &op->u.properties.rules,
			  &op->u.properties.n_rules) &&
	       sibling_subschema(at, "additionalProperties",
				 &op->u.properties.rest);
}

static bool on_pattern_properties(struct site *at)
{
	return sibling(at, "properties") || on_properties(at);
}

static bool on_additional_properties(struct site *at)
{
	return sibling(at, "properties") || sibling(at, "patternProperties") ||
	       on_properties(at);
}

static bool on_dependent_required(struct site *at)
{
	json_t *object = (json_t *)at->value;
	struct schema_op *op = add_op(at, OP_DEPENDENT_REQUIRED);
	struct schema_key *keys;
	size_t n = 0;
	const char *name;
	size_t len;
	json_t *member;

	if (!json_is_object(object))
		return wrong(at, "an object of arrays of strings");
	keys = schema_new(at->c,
			  (json_object_size(object) + 1) * sizeof(*keys));
	if (!op || !keys)
		return false;
	json_object_keylen_foreach(object, name, len, member)
	{
		keys[n].name = name;
		keys[n].len = len;
		if (!names_of(at, member, &keys[n].needs, &keys[n].n_needs))
			return false;
		n++;
	}
	op->u.keys.keys = keys;
	op->u.keys.n = n;
	return true;
}

static bool on_dependent_schemas(struct site *at)
{
	const struct schema_key *keys = NULL;
	size_t n = 0;
	struct schema_op *op;

	if (!subschema_table(at, &keys, &n))
		return false;
	op = add_op(at, OP_DEPENDENT_SCHEMAS);
	if (!op)
		return false;
	op->u.keys.keys = keys;
	op->u.keys.n = n;
	return true;
}

/* draft-07 6.5.7, and kept by 2020-12 as deprecated: both of the above. */
static bool on_dependencies(struct site *at)
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
		return wrong(at, "an object");
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
			if (!names_of(at, member, &k.needs, &k.n_needs))
				return false;
			lists[n_lists++] = k;
			continue;
		}
		k.node = subschema(at, member, name, -1);
		if (!k.node)
			return false;
		schemas[n_schemas++] = k;
	}
	op = add_op(at, OP_DEPENDENT_REQUIRED);
	if (!op)
		return false;
	op->u.keys.keys = lists;
	op->u.keys.n = n_lists;
	op = add_op(at, OP_DEPENDENT_SCHEMAS);
	if (!op)
		return false;
	op->u.keys.keys = schemas;
	op->u.keys.n = n_schemas;
	return true;
}

/* ---- in place ---- */

static bool add_node(struct site *at, enum op_kind kind)
{
	struct schema_node *node = only_subschema(at);
	struct schema_op *op = node ? add_op(at, kind) : NULL;

	if (op)
		op->u.node = node;
	return op != NULL;
}

static bool on_property_names(struct site *at)
{
	return add_node(at, OP_PROPERTY_NAMES);
}

static bool on_not(struct site *at)
{
	return add_node(at, OP_NOT);
}

static bool on_unevaluated_items(struct site *at)
{
	at->node->tracks = true;
	return add_node(at, OP_UNEVALUATED_ITEMS);
}

static bool on_unevaluated_properties(struct site *at)
{
	at->node->tracks = true;
	return add_node(at, OP_UNEVALUATED_PROPERTIES);
}

static bool add_list(struct site *at, enum op_kind kind)
{
	size_t n = 0;
	const struct schema_node **nodes = subschema_list(at, &n);
	struct schema_op *op = nodes ? add_op(at, kind) : NULL;

	if (!op)
		return false;
	op->u.list.nodes = nodes;
	op->u.list.n = n;
	return true;
}

static bool on_all_of(struct site *at)
{
	return add_list(at, OP_ALL_OF);
}

static bool on_any_of(struct site *at)
{
	return add_list(at, OP_ANY_OF);
}

static bool on_one_of(struct site *at)
{
	return add_list(at, OP_ONE_OF);
}

static bool on_if(struct site *at)
{
	struct schema_node *test = only_subschema(at);
	struct schema_op *op = test ? add_op(at, OP_IF) : NULL;

	if (!op)
		return false;
	op->u.cond.test = test;
	return sibling_subschema(at, "then", &op->u.cond.yes) &&
	       sibling_subschema(at, "else", &op->u.cond.no);
}

/* Without "if" they say nothing, but may be referred to. */
static bool on_then_else(struct site *at)
{
	return sibling(at, "if") || only_subschema(at);
}

static bool add_ref(struct site *at, enum op_kind kind)
{
	struct schema_op *op;

	if (!json_is_string(at->value))
		return wrong(at, "a URI reference");
	op = add_op(at, kind);
	return op &&
	       schema_want(at->c, at->node, op, json_string_value(at->value));
}

static bool on_ref(struct site *at)
{
	return add_ref(at, OP_REF);
}

static bool on_dynamic_ref(struct site *at)
{
	return add_ref(at, OP_DYNAMIC_REF);
}

static bool on_defs(struct site *at)
{
	const struct schema_key *keys = NULL;
	size_t n = 0;

	return subschema_table(at, &keys, &n);
}

/* ---- annotations: only their form is checked ---- */

static bool on_text(struct site *at)
{
	return json_is_string(at->value) || wrong(at, "a string");
}

static bool on_flag(struct site *at)
{
	return json_is_boolean(at->value) || wrong(at, "true or false");
}

static bool on_array(struct site *at)
{
	return json_is_array(at->value) || wrong(at, "an array");
}

static bool on_content_schema(struct site *at)
{
	return only_subschema(at) != NULL;
}

#define BOTH (DIALECT_2020_12 | DIALECT_DRAFT_07)
static const struct {
	const char *name;
	unsigned dialects;
	bool (*on)(struct site *at);
} keywords[] = {
	{"type", BOTH, on_type},
	{"const", BOTH, on_const},
	{"enum", BOTH, on_enum},
	{"minimum", BOTH, on_minimum},
	{"maximum", BOTH, on_maximum},
	{"exclusiveMinimum", BOTH, on_exclusive_minimum},
	{"exclusiveMaximum", BOTH, on_exclusive_maximum},
	{"multipleOf", BOTH, on_multiple_of},
	{"minLength", BOTH, on_min_length},
	{"maxLength", BOTH, on_max_length},
	{"pattern", BOTH, on_pattern},
	{"format", BOTH, on_format},
	{"minItems", BOTH, on_min_items},
	{"maxItems", BOTH, on_max_items},
	{"minProperties", BOTH, on_min_properties},
	{"maxProperties", BOTH, on_max_properties},
	{"required", BOTH, on_required},
	{"dependentRequired", DIALECT_2020_12, on_dependent_required},
	{"uniqueItems", BOTH, on_unique_items},
	{"prefixItems", DIALECT_2020_12, on_prefix_items},
	{"items", BOTH, on_items},
	{"contains", BOTH, on_contains},
	{"minContains", DIALECT_2020_12, on_contains_count},
	{"maxContains", DIALECT_2020_12, on_contains_count},
	{"properties", BOTH, on_properties},
	{"patternProperties", BOTH, on_pattern_properties},
	{"additionalProperties", BOTH, on_additional_properties},
	{"propertyNames", BOTH, on_property_names},
	{"dependentSchemas", DIALECT_2020_12, on_dependent_schemas},
	{"dependencies", BOTH, on_dependencies},
	{"$ref", BOTH, on_ref},
	{"$dynamicRef", DIALECT_2020_12, on_dynamic_ref},
	{"allOf", BOTH, on_all_of},
	{"anyOf", BOTH, on_any_of},
	{"oneOf", BOTH, on_one_of},
	{"not", BOTH, on_not},
	{"if", BOTH, on_if},
	{"then", BOTH, on_then_else},
	{"else", BOTH, on_then_else},
	{"unevaluatedItems", DIALECT_2020_12, on_unevaluated_items},
	{"unevaluatedProperties", DIALECT_2020_12, on_unevaluated_properties},
	{"$defs", DIALECT_2020_12, on_defs},
	{"definitions", BOTH, on_defs},
	{"title", BOTH, on_text},
	{"description", BOTH, on_text},
	{"$comment", BOTH, on_text},
	{"contentEncoding", BOTH, on_text},
	{"contentMediaType", BOTH, on_text},
	{"contentSchema", DIALECT_2020_12, on_content_schema},
	{"deprecated", DIALECT_2020_12, on_flag},
	{"readOnly", BOTH, on_flag},
	{"writeOnly", BOTH, on_flag},
	{"examples", BOTH, on_array},
};

static bool one_keyword(struct schema_compiler *c, const json_t *json,
			struct schema_node *node, size_t i)
{
	struct site at = {.c = c,
			  .node = node,
			  .schema = json,
			  .keyword = keywords[i].name,
			  .value = json_object_get(json, keywords[i].name)};

	if (!at.value || !(keywords[i].dialects & node->resource->dialect))
		return true;
	return keywords[i].on(&at);
}

bool schema_keywords(struct schema_compiler *c, const json_t *json,
		     struct schema_node *node)
{
	/* draft-07 8.3: beside a $ref nothing else counts. */
	bool alone = node->resource->dialect == DIALECT_DRAFT_07 &&
		     json_object_get(json, "$ref");

	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++) {
		if (alone && strcmp(keywords[i].name, "$ref") != 0 &&
		    strcmp(keywords[i].name, "definitions") != 0)
			continue;
		if (!one_keyword(c, json, node, i))
			return false;
	}
	return true;
}
