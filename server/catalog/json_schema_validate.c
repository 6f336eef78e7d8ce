/* SPDX-License-Identifier: MIT */
#include "server/base/limits.h"
#include "server/base/utf8.h"
#include "server/catalog/json_schema_eval.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool marks_init(struct eval *e, struct marks *m, const struct value *v)
{
	size_t words;

	memset(m, 0, sizeof(*m));
	m->n = v->types & VALUE_ARRAY ? json_array_size(v->json)
				      : json_object_size(v->json);
	m->bits = m->few;
	words = (m->n + 63) / 64;
	if (words <= MARKS_INLINE)
		return true;
	e->steps -= e->steps < words ? e->steps : words;
	m->bits = calloc(words, sizeof(*m->bits));
	if (!m->bits)
		return eval_fault(e, BIDE_NOMEM);
	return true;
}

void marks_fini(struct marks *m)
{
	if (m->bits != m->few)
		free(m->bits);
}

void marks_merge(struct marks *into, const struct marks *from)
{
	if (!into)
		return;
	into->all = into->all || from->all;
	for (size_t i = 0; i < (from->n + 63) / 64; i++)
		into->bits[i] |= from->bits[i];
}

bool eval_fault(struct eval *e, enum bide_rc rc)
{
	if (e->fault == BIDE_OK)
		e->fault = rc;
	return false;
}

static struct json_schema_problem *new_problem(const struct frame *f,
					       const char *keyword)
{
	struct json_schema_problem *p;

	if (f->e->fault != BIDE_OK || f->e->n >= f->e->max)
		return NULL;
	p = &f->e->problems[f->e->n++];
	instance_location(f->path, p->instance_path, sizeof(p->instance_path));
	schema_location(f->node, keyword, p->schema_path,
			sizeof(p->schema_path));
	return p;
}

bool eval_report(const struct frame *f, const struct schema_op *op)
{
	struct json_schema_problem *p = new_problem(f, op->keyword);

	if (p)
		schema_expectation(op, f->v, p->expected, sizeof(p->expected));
	return false;
}

bool eval_reportf(const struct frame *f, const char *keyword, const char *fmt,
		  ...)
{
	struct json_schema_problem *p = new_problem(f, keyword);
	va_list ap;

	if (!p)
		return false;
	va_start(ap, fmt);
	vsnprintf(p->expected, sizeof(p->expected), fmt, ap);
	va_end(ap);
	/* Where it had to be cut, not in the middle of a character. */
	p->expected[utf8_prefix(p->expected, strlen(p->expected))] = '\0';
	return false;
}

static bool matches(const struct frame *f, const struct schema_pattern *p)
{
	switch (pattern_match(p, &f->e->schema->limits, f->v->s, f->v->len,
			      &f->e->steps)) {
	case MATCH_YES:
		return true;
	case MATCH_NO:
		return false;
	case MATCH_LIMIT:
		break;
	}
	return eval_fault(f->e, BIDE_LIMIT);
}

static bool is_member(const struct frame *f, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (value_equal_json(f->v, json_array_get(list, i),
				     &f->e->steps))
			return true;
		if (f->e->steps == 0)
			break;
	}
	return false;
}

/* OP_TYPE, OP_CONST, OP_ENUM and OP_NEVER */
static bool any_type(const struct frame *f, const struct schema_op *op)
{
	if (op->kind == OP_TYPE)
		return (f->v->types & op->u.types) != 0;
	if (op->kind == OP_CONST)
		return value_equal_json(f->v, op->u.value.json, &f->e->steps);
	return op->kind == OP_ENUM && is_member(f, op->u.value.json);
}

static bool number_ok(const struct frame *f, const struct schema_op *op)
{
	struct number n;
	int order;

	if (!(f->v->types & VALUE_NUMBER))
		return true;
	n = number_of(f->v->json);
	if (op->kind == OP_MULTIPLE_OF) {
		if (n.is_int && op->u.value.number.is_int)
			return n.i % op->u.value.number.i == 0;
		return decimal_is_multiple(decimal_of(n), op->u.value.decimal);
	}
	order = number_compare(n, op->u.value.number);
	if (op->kind == OP_MINIMUM)
		return order >= 0;
	if (op->kind == OP_MAXIMUM)
		return order <= 0;
	return op->kind == OP_EXCLUSIVE_MINIMUM ? order > 0 : order < 0;
}

static bool string_ok(const struct frame *f, const struct schema_op *op)
{
	if (!(f->v->types & VALUE_STRING))
		return true;
	if (op->kind == OP_PATTERN)
		return matches(f, op->u.pattern);
	if (op->kind == OP_FORMAT)
		return op->u.format(f->v->s, f->v->len);
	/* As many code points as bytes at most, a quarter at least. */
	if (op->kind == OP_MIN_LENGTH)
		return f->v->len / 4 >= op->u.count ||
		       value_code_points(f->v->s, f->v->len) >= op->u.count;
	return f->v->len <= op->u.count ||
	       value_code_points(f->v->s, f->v->len) <= op->u.count;
}

static bool size_ok(const struct frame *f, const struct schema_op *op)
{
	bool of_array = op->kind == OP_MIN_ITEMS || op->kind == OP_MAX_ITEMS;
	size_t n;

	if (!(f->v->types & (of_array ? VALUE_ARRAY : VALUE_OBJECT)))
		return true;
	n = of_array ? json_array_size(f->v->json)
		     : json_object_size(f->v->json);
	if (op->kind == OP_MIN_ITEMS || op->kind == OP_MIN_PROPERTIES)
		return n >= op->u.count;
	return n <= op->u.count;
}

static bool apply(const struct frame *f, const struct schema_op *op)
{
	switch (op->kind) {
	case OP_NEVER:
	case OP_TYPE:
	case OP_CONST:
	case OP_ENUM:
		return any_type(f, op) || eval_report(f, op);
	case OP_MINIMUM:
	case OP_MAXIMUM:
	case OP_EXCLUSIVE_MINIMUM:
	case OP_EXCLUSIVE_MAXIMUM:
	case OP_MULTIPLE_OF:
		return number_ok(f, op) || eval_report(f, op);
	case OP_MIN_LENGTH:
	case OP_MAX_LENGTH:
	case OP_PATTERN:
	case OP_FORMAT:
		return string_ok(f, op) || eval_report(f, op);
	case OP_MIN_ITEMS:
	case OP_MAX_ITEMS:
	case OP_MIN_PROPERTIES:
	case OP_MAX_PROPERTIES:
		return size_ok(f, op) || eval_report(f, op);
	case OP_UNIQUE_ITEMS:
	case OP_ITEMS:
	case OP_CONTAINS:
	case OP_UNEVALUATED_ITEMS:
		return !(f->v->types & VALUE_ARRAY) || eval_array(f, op);
	case OP_REQUIRED:
	case OP_DEPENDENT_REQUIRED:
	case OP_PROPERTIES:
	case OP_PROPERTY_NAMES:
	case OP_DEPENDENT_SCHEMAS:
	case OP_UNEVALUATED_PROPERTIES:
		return !(f->v->types & VALUE_OBJECT) || eval_object(f, op);
	case OP_REF:
	case OP_DYNAMIC_REF:
	case OP_ALL_OF:
	case OP_ANY_OF:
	case OP_ONE_OF:
	case OP_NOT:
	case OP_IF:
		return eval_logic(f, op);
	}
	return false;
}

static bool apply_all(const struct frame *f)
{
	bool ok = true;

	for (const struct schema_op *op = f->node->ops; op; op = op->next) {
		bool held = apply(f, op);

		/* Whatever ran out of steps has given no answer. */
		if (f->e->steps == 0)
			return eval_fault(f->e, BIDE_LIMIT);
		if (held)
			continue;
		ok = false;
		/* Of the wrong type: the rest would only say it again. */
		if (!eval_goes_on(f->e) || op->kind == OP_TYPE)
			break;
	}
	return ok;
}

/* A node that asks what was evaluated starts its own count: it sees what it
 * and its subschemas did, not what its neighbours did (core 11.1). */
static __attribute__((noinline)) bool apply_tracked(const struct frame *outer)
{
	struct frame f = *outer;
	struct marks own;
	bool ok;

	if (!marks_init(f.e, &own, f.v))
		return false;
	f.marks = &own;
	ok = apply_all(&f);
	marks_merge(outer->marks, &own);
	marks_fini(&own);
	return ok;
}

bool eval_node(struct eval *e, const struct schema_node *node,
	       const struct value *v, const struct instance_path *path,
	       struct marks *marks)
{
	struct frame f = {e, node, v, path, marks};
	struct scope scope = {e->scope, node->resource};
	bool ok;

	if (e->fault != BIDE_OK)
		return false;
	if (e->steps == 0 || e->depth >= LIMIT_VALIDATION_DEPTH)
		return eval_fault(e, BIDE_LIMIT);
	e->steps--;
	e->depth++;
	if (!e->scope || e->scope->resource != node->resource)
		e->scope = &scope;
	if (node->tracks && (v->types & (VALUE_ARRAY | VALUE_OBJECT)))
		ok = apply_tracked(&f);
	else
		ok = apply_all(&f);
	e->scope = scope.up;
	e->depth--;
	return ok;
}

bool eval_quiet(struct eval *e, const struct schema_node *node,
		const struct value *v, struct marks *marks)
{
	size_t max = e->max;
	bool ok;

	e->max = 0;
	ok = eval_node(e, node, v, NULL, marks);
	e->max = max;
	return ok;
}

bool eval_part(const struct frame *f, const struct schema_node *node,
	       const json_t *part, struct instance_path where)
{
	struct value v = value_of(part);

	where.up = f->path;
	return eval_node(f->e, node, &v, &where, NULL);
}

static bool run(struct eval *e, const json_t *instance)
{
	struct value v = value_of(instance);

	e->steps = LIMIT_VALIDATION_STEPS;
	return eval_node(e, e->schema->root, &v, NULL, NULL) &&
	       e->fault == BIDE_OK;
}

static void whole_problem(struct eval *e, const char *expected)
{
	if (e->max == 0)
		return;
	e->n = 1;
	memset(e->problems, 0, sizeof(*e->problems));
	snprintf(e->problems->expected, sizeof(e->problems->expected), "%s",
		 expected);
}

enum bide_rc json_schema_validate(const struct json_schema *s,
				  const json_t *instance,
				  struct json_schema_problem *problems,
				  size_t max_problems, size_t *ret_n)
{
	struct eval first = {.schema = s};
	struct eval again = {
		.schema = s, .problems = problems, .max = max_problems};
	enum bide_rc rc = BIDE_INVALID;

	if (!instance)
		return BIDE_MISUSE;
	if (run(&first, instance)) {
		rc = BIDE_OK;
	} else if (first.fault != BIDE_OK) {
		rc = first.fault;
		whole_problem(&again, "a value that can be checked within the "
				      "limits of this server");
	} else if (max_problems > 0) {
		run(&again, instance);
		if (again.n == 0)
			whole_problem(&again, "a value that the schema allows");
	}
	if (ret_n)
		*ret_n = again.n;
	return rc;
}
