/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_JSON_SCHEMA_EXPLAIN_H
#define CATALOG_JSON_SCHEMA_EXPLAIN_H
#include "server/catalog/json_schema_node.h"
#include <stddef.h>

/* Where validation stands in the instance; kept on the C stack. */
struct instance_path {
	const struct instance_path *up;
	const char *key; /* NULL: @index */
	size_t len;
	size_t index;
};

/*
 * JSON pointers, written from the end, so that the end survives when they are
 * too long. @keyword may be NULL. The location of the root is "".
 */
void schema_location(const struct schema_node *node, const char *keyword,
		     char *out, size_t cap);
void instance_location(const struct instance_path *path, char *out, size_t cap);

/* What belongs after "expected", for an operation that @v failed. */
void schema_expectation(const struct schema_op *op, const struct value *v,
			char *out, size_t cap);
/* "a string or null, got an integer" */
void schema_expected_types(unsigned types, const struct value *v, char *out,
			   size_t cap);
/* @name quoted, control characters hidden, cut to fit. */
void schema_quote(const char *name, size_t len, char *out, size_t cap);
#endif
