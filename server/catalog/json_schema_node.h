/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_JSON_SCHEMA_NODE_H
#define CATALOG_JSON_SCHEMA_NODE_H
/*
 * What the files of the validator share, and no one else includes: the
 * compiled graph and the steps that build it.
 *
 *   compile:   json_schema.c -> _keywords.c -> _ref.c (uri.c, _meta.c)
 *   validate:  json_schema_validate.c -> _array.c, _object.c, _logic.c
 *   both use:  _value.c (numbers, equality), _pattern.c, _format.c, _explain.c
 */
#include "server/catalog/json_schema.h"
#include "server/catalog/json_schema_pattern.h"
#include "server/catalog/json_schema_value.h"
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum schema_dialect { DIALECT_2020_12 = 1, DIALECT_DRAFT_07 = 2 };

struct schema_node;
struct schema_op;

/* In evaluation order: cheap ones first; the unevaluated ones must be last. */
enum op_kind {
	OP_NEVER, /* the schema false */
	OP_TYPE,
	OP_CONST,
	OP_ENUM,
	OP_MINIMUM,
	OP_MAXIMUM,
	OP_EXCLUSIVE_MINIMUM,
	OP_EXCLUSIVE_MAXIMUM,
	OP_MULTIPLE_OF,
	OP_MIN_LENGTH,
	OP_MAX_LENGTH,
	OP_PATTERN,
	OP_FORMAT,
	OP_MIN_ITEMS,
	OP_MAX_ITEMS,
	OP_MIN_PROPERTIES,
	OP_MAX_PROPERTIES,
	OP_REQUIRED,
	OP_DEPENDENT_REQUIRED,
	OP_UNIQUE_ITEMS,
	OP_ITEMS,
	OP_CONTAINS,
	OP_PROPERTIES,
	OP_PROPERTY_NAMES,
	OP_DEPENDENT_SCHEMAS,
	OP_REF,
	OP_DYNAMIC_REF,
	OP_ALL_OF,
	OP_ANY_OF,
	OP_ONE_OF,
	OP_NOT,
	OP_IF,
	OP_UNEVALUATED_ITEMS,
	OP_UNEVALUATED_PROPERTIES
};

/* A name and what hangs on it; tables of these are sorted by name. */
struct schema_key {
	const char *name;
	size_t len;
	const struct schema_node *node;
	/* dependentRequired */
	const struct schema_key *needs;
	size_t n_needs;
};

struct schema_rule { /* one of patternProperties */
	const struct schema_pattern *pattern;
	const struct schema_node *node;
};

struct schema_op {
	enum op_kind kind;
	const char *keyword; /* as the schema spells it */
	struct schema_op *next;
	union {
		unsigned types; /* enum value_type bits */
		struct {
			const json_t *json;
			struct decimal decimal; /* multipleOf */
			struct number number;   /* bounds */
		} value;
		size_t count; /* lengths and sizes */
		const struct schema_pattern *pattern;
		bool (*format)(const char *s, size_t len);
		struct {
			const struct schema_key *keys;
			size_t n;
		} keys; /* required, dependent* */
		struct {
			const struct schema_node *const *nodes;
			size_t n;
			const struct schema_node *rest; /* items */
		} list; /* prefixItems + items, allOf, anyOf, oneOf */
		struct {
			const struct schema_node *node;
			size_t min, max;
			bool has_max;
			const char *min_keyword, *max_keyword;
		} contains;
		struct {
			const struct schema_key *keys;
			const struct schema_rule *rules;
			size_t n, n_rules;
			const struct schema_node *rest;
		} properties;
		const struct schema_node *node; /* not, propertyNames, ... */
		struct {
			const struct schema_node *test, *yes, *no;
		} cond;
		struct {
			const struct schema_node *target;
			const char
				*anchor; /* $dynamicRef to look up, or NULL */
		} ref;
	} u;
};

struct schema_anchor {
	const char *name;
	const struct schema_node *node;
	bool dynamic;
	struct schema_anchor *next;
};

/* A schema resource (core 4.3.5): a document root or an embedded $id. */
struct schema_resource {
	const char *uri;
	const json_t *json;
	const struct schema_node *root;
	enum schema_dialect dialect;
	bool foreign; /* of a document other than the schema itself */
	struct schema_anchor *anchors;
	struct schema_resource *next;
};

struct schema_node {
	struct schema_op *ops;
	const struct schema_resource *resource;
	/* Where it stands: @up's location, then @keyword, then @key or @index.
	 */
	const struct schema_node *up;
	const char *keyword;
	const char *key;    /* NULL: none */
	ptrdiff_t index;    /* -1: none */
	bool tracks;        /* has unevaluatedItems or unevaluatedProperties */
	unsigned char mark; /* for the search for cycles */
};

struct schema_arena {
	struct schema_chunk *chunks;
	size_t bytes;
};
/* Zeroed memory that lives as long as the schema; NULL: no memory. */
void *schema_alloc(struct schema_arena *a, size_t bytes);
char *schema_strndup(struct schema_arena *a, const char *s, size_t len);

struct json_schema {
	struct schema_arena arena;
	const struct schema_node *root;
	struct schema_resource *resources;
	struct schema_pattern *patterns; /* each is freed */
	struct pattern_limits limits;
	json_t **docs; /* the copies, the schema itself first */
	size_t n_docs;
};

/* compiling */

struct schema_pending { /* a reference to resolve when all is registered */
	struct schema_op *op;
	const struct schema_node *node;
	const char *uri;
	struct schema_pending *next;
};

struct schema_compiler {
	struct json_schema *s;
	struct bide_error *err;
	enum bide_rc rc; /* the first failure sticks */
	const struct json_schema_document *docs;
	size_t n_docs;
	size_t n_nodes;
	size_t depth;
	struct schema_pending *pending;
	/* json_t -> node, open addressing; booleans are not in it. */
	struct schema_seen {
		const json_t *json;
		struct schema_node *node;
	} * seen;
	size_t n_seen, cap_seen;
};

/* A copy that lives as long as the schema, not too deep. NULL: failed. */
const json_t *schema_keep_document(struct schema_compiler *c,
				   const json_t *json);

/* Where a subschema stands, before it is a node. */
struct schema_place {
	const struct schema_node *up;
	const char *keyword;
	const char *key;
	ptrdiff_t index;
};

/* Records the first failure, with the place in the schema; returns false. */
bool schema_fail(struct schema_compiler *c, enum bide_rc rc,
		 const struct schema_node *at, const char *keyword,
		 const char *fmt, ...) __attribute__((format(printf, 5, 6)));
bool schema_nomem(struct schema_compiler *c);
void *schema_new(struct schema_compiler *c, size_t bytes); /* or nomem */

/* One subschema with all below it. NULL: failed. */
struct schema_node *schema_subschema(struct schema_compiler *c,
				     const json_t *json,
				     struct schema_place place,
				     const struct schema_resource *base);
/* The keywords of an object schema, in order. */
bool schema_keywords(struct schema_compiler *c, const json_t *json,
		     struct schema_node *node);

/* json_schema_ref.c */
bool schema_dialect_of(struct schema_compiler *c, const json_t *json,
		       const struct schema_node *at, enum schema_dialect *ret);
struct schema_resource *schema_add_resource(struct schema_compiler *c,
					    const char *uri, const json_t *json,
					    enum schema_dialect dialect);
bool schema_identify(struct schema_compiler *c, const json_t *json,
		     struct schema_node *node,
		     const struct schema_resource *base);
bool schema_want(struct schema_compiler *c, const struct schema_node *node,
		 struct schema_op *op, const char *uri);
bool schema_resolve(struct schema_compiler *c);
bool schema_refuse_cycles(struct schema_compiler *c);
bool schema_remember(struct schema_compiler *c, const json_t *json,
		     struct schema_node *node);

/* json_schema_meta.c: the text of a built-in document, or NULL. */
const char *schema_meta_text(const char *uri);

/* json_schema_format.c: NULL when the format is only an annotation. */
bool (*schema_format(const char *name))(const char *s, size_t len);
#endif
