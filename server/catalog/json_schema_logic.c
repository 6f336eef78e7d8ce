/* SPDX-License-Identifier: MIT */
#include "server/catalog/json_schema_eval.h"
#include <string.h>

/* Evaluates a branch whose failure is no failure of the whole: what it marked
 * counts only if it held (core 7.7.1.1). */
static __attribute__((noinline)) bool
branch_marked(const struct frame *f, const struct schema_node *node)
{
	struct marks own;
	bool ok;

	if (!marks_init(f->e, &own, f->v))
		return false;
	ok = eval_quiet(f->e, node, f->v, &own);
	if (ok)
		marks_merge(f->marks, &own);
	marks_fini(&own);
	return ok;
}

static bool branch(const struct frame *f, const struct schema_node *node)
{
	if (f->marks)
		return branch_marked(f, node);
	return eval_quiet(f->e, node, f->v, NULL);
}

/* The types that the branches ask for, when type is why each of them fails. */
static unsigned wanted_types(const struct frame *f, const struct schema_op *op)
{
	unsigned types = 0;

	for (size_t i = 0; i < op->u.list.n; i++) {
		const struct schema_op *first = op->u.list.nodes[i]->ops;

		if (!first || first->kind != OP_TYPE ||
		    (first->u.types & f->v->types))
			return 0;
		types |= first->u.types;
	}
	return types;
}

static size_t segments(const char *pointer)
{
	size_t n = 0;

	for (; *pointer; pointer++)
		n += *pointer == '/';
	return n;
}

static bool is_about(const char *schema_path, const char *keyword)
{
	const char *last = strrchr(schema_path, '/');

	return last && strcmp(last + 1, keyword) == 0;
}

/*
 * The first problem of the branch that was nearest: the only one that is not
 * about the kind of value, or the one that went deepest. False: no branch
 * stands out.
 */
static bool nearest(const struct frame *f, const struct schema_op *op,
		    struct json_schema_problem *ret)
{
	struct json_schema_problem p;
	struct eval e = *f->e;
	size_t best = 0;
	unsigned ties = 0;

	e.problems = &p;
	for (size_t i = 0; i < op->u.list.n && e.fault == BIDE_OK; i++) {
		size_t depth;

		e.n = 0;
		e.max = 1;
		eval_node(&e, op->u.list.nodes[i], f->v, f->path, NULL);
		if (e.n == 0 || e.fault != BIDE_OK)
			continue;
		depth = segments(p.instance_path) * 2 + 1;
		if (!is_about(p.schema_path, "type") &&
		    !is_about(p.schema_path, "const") &&
		    !is_about(p.schema_path, "enum"))
			depth++;
		ties += depth == best;
		if (depth > best) {
			best = depth;
			ties = 0;
			*ret = p;
		}
	}
	f->e->steps = e.steps;
	return best > 0 && ties == 0 && e.fault == BIDE_OK;
}

static bool report_none(const struct frame *f, const struct schema_op *op)
{
	struct json_schema_problem p;
	unsigned types;

	if (!eval_goes_on(f->e))
		return false;
	types = wanted_types(f, op);
	if (types) {
		schema_expected_types(types, f->v, p.expected,
				      sizeof(p.expected));
		return eval_reportf(f, op->keyword, "%s", p.expected);
	}
	if (op->u.list.n > 0 && nearest(f, op, &p)) {
		f->e->problems[f->e->n++] = p;
		return false;
	}
	return eval_reportf(f, op->keyword,
			    "a value that fits one of the %zu alternatives "
			    "under \"%s\"",
			    op->u.list.n, op->keyword);
}

static bool all_of(const struct frame *f, const struct schema_op *op)
{
	bool ok = true;

	for (size_t i = 0; i < op->u.list.n; i++) {
		if (eval_node(f->e, op->u.list.nodes[i], f->v, f->path,
			      f->marks))
			continue;
		ok = false;
		if (!eval_goes_on(f->e))
			break;
	}
	return ok;
}

static bool any_of(const struct frame *f, const struct schema_op *op)
{
	bool ok = false;

	for (size_t i = 0; i < op->u.list.n; i++) {
		ok = branch(f, op->u.list.nodes[i]) || ok;
		if (f->e->fault != BIDE_OK)
			return false;
		if (ok && !f->marks)
			return true;
	}
	return ok || report_none(f, op);
}

static bool one_of(const struct frame *f, const struct schema_op *op)
{
	size_t first = op->u.list.n;

	for (size_t i = 0; i < op->u.list.n; i++) {
		bool ok = branch(f, op->u.list.nodes[i]);

		if (f->e->fault != BIDE_OK)
			return false;
		if (ok && first < op->u.list.n)
			return eval_reportf(f, op->keyword,
					    "a value that fits exactly one of "
					    "the %zu alternatives, got one "
					    "that fits those at %zu and %zu",
					    op->u.list.n, first, i);
		if (ok)
			first = i;
	}
	return first < op->u.list.n || report_none(f, op);
}

static bool negated(const struct frame *f, const struct schema_op *op)
{
	bool held = eval_quiet(f->e, op->u.node, f->v, NULL);

	if (f->e->fault != BIDE_OK)
		return false;
	return !held || eval_report(f, op);
}

static bool conditional(const struct frame *f, const struct schema_op *op)
{
	bool held = branch(f, op->u.cond.test);
	const struct schema_node *next = held ? op->u.cond.yes : op->u.cond.no;

	if (f->e->fault != BIDE_OK)
		return false;
	return !next || eval_node(f->e, next, f->v, f->path, f->marks);
}

/* core 8.2.3.2: the outermost resource that has the dynamic anchor. */
static const struct schema_node *dynamic_target(const struct frame *f,
						const struct schema_op *op)
{
	const struct schema_node *found = op->u.ref.target;

	for (const struct scope *s = f->e->scope; s; s = s->up) {
		for (const struct schema_anchor *a = s->resource->anchors; a;
		     a = a->next) {
			if (a->dynamic &&
			    strcmp(a->name, op->u.ref.anchor) == 0)
				found = a->node;
		}
		if (f->e->steps > 0)
			f->e->steps--;
	}
	return found;
}

static bool refer(const struct frame *f, const struct schema_op *op)
{
	const struct schema_node *target = op->u.ref.target;

	if (op->u.ref.anchor)
		target = dynamic_target(f, op);
	return eval_node(f->e, target, f->v, f->path, f->marks);
}

bool eval_logic(const struct frame *f, const struct schema_op *op)
{
	if (op->kind == OP_REF || op->kind == OP_DYNAMIC_REF)
		return refer(f, op);
	if (op->kind == OP_ALL_OF)
		return all_of(f, op);
	if (op->kind == OP_ANY_OF)
		return any_of(f, op);
	if (op->kind == OP_ONE_OF)
		return one_of(f, op);
	if (op->kind == OP_NOT)
		return negated(f, op);
	return conditional(f, op);
}
