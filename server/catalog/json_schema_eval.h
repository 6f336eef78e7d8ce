/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_JSON_SCHEMA_EVAL_H
#define CATALOG_JSON_SCHEMA_EVAL_H
#include "server/catalog/json_schema_explain.h"
#include "server/catalog/json_schema_node.h"

/* Which items or members of one value have been evaluated (core 11). Members
 * are numbered in the object's own order. */
#define MARKS_INLINE 4
struct marks {
	size_t n;
	bool all;
	uint64_t *bits; /* few[], or the heap's */
	uint64_t few[MARKS_INLINE];
};

/* The schema resources entered on the way here (core 7.1). */
struct scope {
	const struct scope *up;
	const struct schema_resource *resource;
};

/*
 * One validation. Without room for problems it stops at the first, and that
 * is how it is run at first: only what fails is gone through again to say why.
 */
struct eval {
	const struct json_schema *schema;
	size_t steps;
	unsigned depth;
	enum bide_rc fault; /* LIMIT or NOMEM: every answer is void */
	const struct scope *scope;
	struct json_schema_problem *problems;
	size_t n, max;
};

/* One subschema applied to one value. */
struct frame {
	struct eval *e;
	const struct schema_node *node;
	const struct value *v;
	const struct instance_path *path;
	struct marks *marks; /* NULL: no one asks */
};

bool eval_node(struct eval *e, const struct schema_node *node,
	       const struct value *v, const struct instance_path *path,
	       struct marks *marks);
/* Without a word about what failed. */
bool eval_quiet(struct eval *e, const struct schema_node *node,
		const struct value *v, struct marks *marks);
/* A part of the value; its own marks are no one's business here. */
bool eval_part(const struct frame *f, const struct schema_node *node,
	       const json_t *part, struct instance_path where);

bool eval_array(const struct frame *f, const struct schema_op *op);
bool eval_object(const struct frame *f, const struct schema_op *op);
bool eval_logic(const struct frame *f, const struct schema_op *op);

/* All of these return false. */
bool eval_fault(struct eval *e, enum bide_rc rc);
bool eval_report(const struct frame *f, const struct schema_op *op);
bool eval_reportf(const struct frame *f, const char *keyword, const char *fmt,
		  ...) __attribute__((format(printf, 3, 4)));

/* After a failure: is there a reason to go on? */
static inline bool eval_goes_on(const struct eval *e)
{
	return e->fault == BIDE_OK && e->n < e->max;
}

static inline bool schema_is_never(const struct schema_node *node)
{
	return node->ops && node->ops->kind == OP_NEVER;
}

bool marks_init(struct eval *e, struct marks *m, const struct value *v);
void marks_fini(struct marks *m);
void marks_merge(struct marks *into, const struct marks *from);

static inline void marks_set(struct marks *m, size_t i)
{
	if (m)
		m->bits[i / 64] |= (uint64_t)1 << (i % 64);
}

static inline bool marks_has(const struct marks *m, size_t i)
{
	return m->all || (m->bits[i / 64] >> (i % 64) & 1);
}

static inline void marks_set_all(struct marks *m)
{
	if (m)
		m->all = true;
}
#endif
