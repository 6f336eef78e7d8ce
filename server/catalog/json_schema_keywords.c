/* SPDX-License-Identifier: MIT */
#include "server/catalog/json_schema_site.h"
#include <string.h>

/*
 * One function a keyword; the table at the end names the dialects that have
 * it and the order in which a node applies them. Keywords that work together
 * (core 10.3) are built by the first of them.
 */

/* any type */

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
			return site_wrong(at, what);
		types |= bit;
	}
	if (!types)
		return site_wrong(at, what);
	op = site_add_op(at, OP_TYPE);
	if (op)
		op->u.types = types;
	return op != NULL;
}

static bool on_const(struct site *at)
{
	struct schema_op *op = site_add_op(at, OP_CONST);

	if (op)
		op->u.value.json = at->value;
	return op != NULL;
}

static bool on_enum(struct site *at)
{
	struct schema_op *op;

	if (!json_is_array(at->value))
		return site_wrong(at, "an array");
	op = site_add_op(at, OP_ENUM);
	if (op)
		op->u.value.json = at->value;
	return op != NULL;
}

/* numbers */

static bool add_bound(struct site *at, enum op_kind kind)
{
	struct schema_op *op;

	if (!json_is_number(at->value))
		return site_wrong(at, "a number");
	op = site_add_op(at, kind);
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
		return site_wrong(at, "a number greater than 0");
	op = site_add_op(at, OP_MULTIPLE_OF);
	if (!op)
		return false;
	op->u.value.json = at->value;
	op->u.value.number = number_of(at->value);
	op->u.value.decimal = decimal_of(op->u.value.number);
	return true;
}

/* sizes */

static bool add_count(struct site *at, enum op_kind kind)
{
	size_t count = 0;
	struct schema_op *op;

	if (!site_count(at, &count))
		return false;
	op = site_add_op(at, kind);
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

/* strings */

static bool on_pattern(struct site *at)
{
	const struct schema_pattern *p;
	struct schema_op *op;

	if (!json_is_string(at->value))
		return site_wrong(at, "a string");
	p = site_pattern(at, json_string_value(at->value),
			 json_string_length(at->value));
	op = p ? site_add_op(at, OP_PATTERN) : NULL;
	if (op)
		op->u.pattern = p;
	return op != NULL;
}

static bool on_format(struct site *at)
{
	bool (*check)(const char *s, size_t len) = NULL;
	struct schema_op *op;

	if (!json_is_string(at->value))
		return site_wrong(at, "a string");
	check = schema_format(json_string_value(at->value));
	if (!check)
		return true;
	op = site_add_op(at, OP_FORMAT);
	if (op)
		op->u.format = check;
	return op != NULL;
}

/* in place */

static bool add_node(struct site *at, enum op_kind kind)
{
	struct schema_node *node = site_only_subschema(at);
	struct schema_op *op = node ? site_add_op(at, kind) : NULL;

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
	const struct schema_node **nodes = site_list(at, &n);
	struct schema_op *op = nodes ? site_add_op(at, kind) : NULL;

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
	struct schema_node *test = site_only_subschema(at);
	struct schema_op *op = test ? site_add_op(at, OP_IF) : NULL;

	if (!op)
		return false;
	op->u.cond.test = test;
	return site_sibling_subschema(at, "then", &op->u.cond.yes) &&
	       site_sibling_subschema(at, "else", &op->u.cond.no);
}

/* Without "if" they say nothing, but may be referred to. */
static bool on_then_else(struct site *at)
{
	return site_sibling(at, "if") || site_only_subschema(at);
}

static bool add_ref(struct site *at, enum op_kind kind)
{
	struct schema_op *op;

	if (!json_is_string(at->value))
		return site_wrong(at, "a URI reference");
	op = site_add_op(at, kind);
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

	return site_table(at, &keys, &n);
}

/* annotations: only their form is checked */

static bool on_text(struct site *at)
{
	return json_is_string(at->value) || site_wrong(at, "a string");
}

static bool on_flag(struct site *at)
{
	return json_is_boolean(at->value) || site_wrong(at, "true or false");
}

static bool on_array(struct site *at)
{
	return json_is_array(at->value) || site_wrong(at, "an array");
}

static bool on_content_schema(struct site *at)
{
	return site_only_subschema(at) != NULL;
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
	{"required", BOTH, parts_on_required},
	{"dependentRequired", DIALECT_2020_12, parts_on_dependent_required},
	{"uniqueItems", BOTH, parts_on_unique_items},
	{"prefixItems", DIALECT_2020_12, parts_on_prefix_items},
	{"items", BOTH, parts_on_items},
	{"contains", BOTH, parts_on_contains},
	{"minContains", DIALECT_2020_12, parts_on_contains_count},
	{"maxContains", DIALECT_2020_12, parts_on_contains_count},
	{"properties", BOTH, parts_on_properties},
	{"patternProperties", BOTH, parts_on_pattern_properties},
	{"additionalProperties", BOTH, parts_on_additional_properties},
	{"propertyNames", BOTH, on_property_names},
	{"dependentSchemas", DIALECT_2020_12, parts_on_dependent_schemas},
	{"dependencies", BOTH, parts_on_dependencies},
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
