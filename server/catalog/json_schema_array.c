/* SPDX-License-Identifier: MIT */
#include "server/catalog/json_schema_eval.h"

static bool unique_items(const struct frame *f)
{
	size_t first = 0;
	size_t second = 0;

	switch (value_unique(f->v->json, &f->e->steps, &first, &second)) {
	case UNIQUE_YES:
		return true;
	case UNIQUE_NO:
		return eval_reportf(f, "uniqueItems",
				    "items without repeats, but those at %zu "
				    "and %zu are equal",
				    first, second);
	case UNIQUE_NOMEM:
		break;
	}
	return eval_fault(f->e, BIDE_NOMEM);
}

static bool items(const struct frame *f, const struct schema_op *op)
{
	size_t size = json_array_size(f->v->json);
	const struct schema_node *rest = op->u.list.rest;
	bool ok = true;

	if (rest && schema_is_never(rest) && size > op->u.list.n)
		return eval_reportf(f, rest->keyword,
				    "at most %zu item%s, got %zu", op->u.list.n,
				    op->u.list.n == 1 ? "" : "s", size);
	for (size_t i = 0; i < size; i++) {
		const struct schema_node *node =
			i < op->u.list.n ? op->u.list.nodes[i] : rest;

		if (!node)
			break;
		marks_set(f->marks, i);
		if (eval_part(f, node, json_array_get(f->v->json, i),
			      (struct instance_path){.index = i}))
			continue;
		ok = false;
		if (!eval_goes_on(f->e))
			break;
	}
	return ok;
}

/* Stops as soon as the answer is known, unless the marks are asked for. */
static bool counted(const struct frame *f, const struct schema_op *op,
		    size_t *ret_count)
{
	size_t size = json_array_size(f->v->json);
	bool bounded = op->u.contains.has_max || f->marks;
	size_t count = 0;

	for (size_t i = 0; i < size; i++) {
		struct value item = value_of(json_array_get(f->v->json, i));

		if (!bounded && count >= op->u.contains.min)
			break;
		if (eval_quiet(f->e, op->u.contains.node, &item, NULL)) {
			marks_set(f->marks, i);
			count++;
		}
		if (f->e->fault != BIDE_OK)
			return false;
	}
	*ret_count = count;
	return true;
}

static bool contains(const struct frame *f, const struct schema_op *op)
{
	size_t count = 0;

	if (!counted(f, op, &count))
		return false;
	if (count < op->u.contains.min)
		return eval_reportf(f, count ? "minContains" : "contains",
				    "at least %zu item%s that fit%s the schema "
				    "under \"contains\", got %zu",
				    op->u.contains.min,
				    op->u.contains.min == 1 ? "" : "s",
				    op->u.contains.min == 1 ? "s" : "", count);
	if (op->u.contains.has_max && count > op->u.contains.max)
		return eval_reportf(f, "maxContains",
				    "at most %zu items that fit the schema "
				    "under \"contains\", got %zu",
				    op->u.contains.max, count);
	return true;
}

static bool unevaluated(const struct frame *f, const struct schema_op *op)
{
	size_t size = json_array_size(f->v->json);
	bool ok = true;

	for (size_t i = 0; i < size && !f->marks->all; i++) {
		if (marks_has(f->marks, i))
			continue;
		if (schema_is_never(op->u.node))
			ok = eval_reportf(f, op->keyword,
					  "no item at %zu, which no part of "
					  "the schema describes",
					  i);
		else if (!eval_part(f, op->u.node,
				    json_array_get(f->v->json, i),
				    (struct instance_path){.index = i}))
			ok = false;
		if (!ok && !eval_goes_on(f->e))
			break;
	}
	marks_set_all(f->marks);
	return ok;
}

bool eval_array(const struct frame *f, const struct schema_op *op)
{
	if (op->kind == OP_UNIQUE_ITEMS)
		return unique_items(f);
	if (op->kind == OP_ITEMS)
		return items(f, op);
	if (op->kind == OP_CONTAINS)
		return contains(f, op);
	return unevaluated(f, op);
}
