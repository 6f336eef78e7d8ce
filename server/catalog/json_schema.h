/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_JSON_SCHEMA_H
#define CATALOG_JSON_SCHEMA_H
#include "bide/types.h"
#include "server/base/buf.h"
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * JSON Schema 2020-12 over jansson (draft-07 too, where "$schema" says so).
 *
 * A schema is compiled once into a graph that never changes; any number of
 * threads validate with it at once and take no lock. Validating a valid
 * instance of ordinary size allocates nothing. Time, memory and recursion are
 * bounded by LIMIT_SCHEMA_*, LIMIT_VALIDATION_* and LIMIT_PATTERN_*
 * (basic/index "Composition-Keyword Resource Use").
 *
 * "format" asserts email, uri, date and date-time; every other format is an
 * annotation. Nothing is ever fetched: a $ref that leaves the document is
 * refused when the schema is compiled (basic/index "$ref Resolution"), save
 * that the 2020-12 and draft-07 meta-schemas are built in.
 */
struct json_schema;

/**
 * json_schema_compile - make a schema ready for use.
 * @schema: an object or a boolean; copied, so the caller may change it after.
 * @ret:    set on BIDE_OK only; json_schema_free().
 * @reterr: may be NULL. The text names the JSON pointer and what is wrong.
 *
 * Returns BIDE_OK; BIDE_INVALID (not a valid schema, a dialect that is not
 * supported, a reference that cannot be resolved); BIDE_LIMIT (too deep or too
 * many subschemas); BIDE_NOMEM.
 */
enum bide_rc json_schema_compile(const json_t *schema, struct json_schema **ret,
				 struct bide_error *reterr) BIDE_NODISCARD;

/** A document that a $ref may reach by @uri: given by the program. */
struct json_schema_document {
	const char *uri; /* absolute, without a fragment */
	const json_t *schema;
};

/* As above, with documents beside the schema. They are copied when used. */
enum bide_rc json_schema_compile_with(const json_t *schema,
				      const struct json_schema_document *docs,
				      size_t n_docs, struct json_schema **ret,
				      struct bide_error *reterr) BIDE_NODISCARD;

void json_schema_free(struct json_schema *s);

/**
 * struct json_schema_problem - one reason why an instance does not fit.
 * @instance_path: JSON pointer to the offending value; "" is the whole.
 * @schema_path:   JSON pointer to the keyword that says so.
 * @expected:      what belongs after "expected": "an integer, got a string".
 *
 * Paths too long for their place keep the end and begin with "...".
 */
struct json_schema_problem {
	char instance_path[128];
	char schema_path[128];
	char expected[192];
};

/**
 * json_schema_validate - does @instance fit?
 * @problems: room for @max_problems; both may be NULL and 0.
 * @ret_n:    how many were written; may be NULL.
 *
 * Returns BIDE_OK; BIDE_INVALID with the first problems, at least one if there
 * was room; BIDE_LIMIT when a ceiling stopped it, which is a refusal too (one
 * problem says so); BIDE_NOMEM.
 * Threads: any, at once; @instance must not change meanwhile.
 */
enum bide_rc json_schema_validate(const struct json_schema *s,
				  const json_t *instance,
				  struct json_schema_problem *problems,
				  size_t max_problems, size_t *ret_n)
	BIDE_NODISCARD;

/*
 * One sentence that a model or a person can act on, appended to @out:
 * "arguments/seconds: expected an integer, got a string; ...". @what stands
 * for the whole instance; the first form says "value".
 */
void json_schema_explain(const struct json_schema_problem *problems, size_t n,
			 struct buf *out);
void json_schema_explain_as(const char *what,
			    const struct json_schema_problem *problems,
			    size_t n, struct buf *out);

/**
 * json_schema_check_elicitation - is this a form that clients can show?
 *
 * The restricted schema of client/elicitation "Requested Schema": a flat
 * object of strings, numbers, booleans, choices and multiple choices. Names in
 * "required" must exist, defaults must fit. Annotations are let through.
 *
 * Returns BIDE_OK, BIDE_INVALID (the text says where and what), LIMIT, NOMEM.
 */
enum bide_rc json_schema_check_elicitation(const json_t *schema,
					   struct bide_error *reterr)
	BIDE_NODISCARD;

/*
 * The name of the first property that looks like a secret (a password, a
 * token, a key, a card or social security number), borrowed from @schema, or
 * NULL. Forms must not ask for these (client/elicitation "Form Mode
 * Security").
 */
const char *json_schema_secret_property(const json_t *schema);
bool json_schema_secret_name(const char *name);
#endif
