/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_JSON_SCHEMA_SITE_H
#define CATALOG_JSON_SCHEMA_SITE_H
#include "server/catalog/json_schema_node.h"

/* One keyword of one schema object, while it is compiled. */
struct site {
	struct schema_compiler *c;
	struct schema_node *node;
	const json_t *schema; /* the object the keyword is in */
	const char *keyword;
	const json_t *value;
};

/* Refuses the schema: "<place>: must be <what>". Returns false. */
bool site_wrong(struct site *at, const char *what);
/* Appends an operation to the node. NULL: no memory. */
struct schema_op *site_add_op(struct site *at, enum op_kind kind);
const json_t *site_sibling(const struct site *at, const char *keyword);
/* A subschema under the keyword, at @key or @index, or the value itself. */
struct schema_node *site_subschema(struct site *at, const json_t *json,
				   const char *key, ptrdiff_t index);
struct schema_node *site_only_subschema(struct site *at);
/* Of a keyword beside this one; absent is no failure. */
bool site_sibling_subschema(struct site *at, const char *keyword,
			    const struct schema_node **ret);
/* An array of at least one schema. NULL: failed. */
const struct schema_node **site_list(struct site *at, size_t *ret_n);
/* The members of an object as a sorted table, each a subschema. */
bool site_table(struct site *at, const struct schema_key **ret, size_t *ret_n);
/* A list of names, sorted; refused when one is there twice. */
bool site_names(struct site *at, const json_t *list,
		const struct schema_key **ret, size_t *ret_n);
/* A count: 2 and 2.0 are the same (core 4.2.2). */
bool site_count(struct site *at, size_t *ret);
const struct schema_pattern *site_pattern(struct site *at, const char *s,
					  size_t len);

/* json_schema_parts.c: the keywords about items and members. */
bool parts_on_unique_items(struct site *at);
bool parts_on_prefix_items(struct site *at);
bool parts_on_items(struct site *at);
bool parts_on_contains(struct site *at);
bool parts_on_contains_count(struct site *at);
bool parts_on_required(struct site *at);
bool parts_on_properties(struct site *at);
bool parts_on_pattern_properties(struct site *at);
bool parts_on_additional_properties(struct site *at);
bool parts_on_dependent_required(struct site *at);
bool parts_on_dependent_schemas(struct site *at);
bool parts_on_dependencies(struct site *at);
#endif
