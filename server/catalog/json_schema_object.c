/* SPDX-License-Identifier: MIT */
#include "server/catalog/json_schema_eval.h"
#include <string.h>

#define NAME_SHOWN 96

/* A member of the object, by its place in it. */
struct member {
	const char *name;
	size_t len;
	const json_t *json;
	size_t index;
};

static const struct schema_key *find_key(const struct schema_key *keys,
					 size_t n, const struct member *m)
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;
		const struct schema_key *k = &keys[middle];
		size_t len = k->len < m->len ? k->len : m->len;
		int order = memcmp(m->name, k->name, len);

		if (order == 0)
			order = m->len < k->len ? -1 : m->len > k->len;
		if (order == 0)
			return k;
		if (order < 0)
			n = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static bool part(const struct frame *f, const struct schema_node *node,
		 const struct member *m)
{
	return eval_part(f, node, m->json,
			 (struct instance_path){.key = m->name, .len = m->len});
}

/* What is allowed instead, for the one who got it wrong. */
static void known_names(const struct schema_op *op, char *out, size_t cap)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < op->u.properties.n; i++) {
		const struct schema_key *k = &op->u.properties.keys[i];
		int n = snprintf(out + used, cap - used, "%s%s",
				 i ? ", " : "; known are ", k->name);

		if (n < 0 || (size_t)n >= cap - used) {
			out[used] = '\0';
			break;
		}
		used += (size_t)n;
	}
}

static bool refuse_member(const struct frame *f, const struct schema_op *op,
			  const char *keyword, const struct member *m)
{
	char name[NAME_SHOWN];
	char known[96] = "";

	schema_quote(m->name, m->len, name, sizeof(name));
	if (op->kind == OP_PROPERTIES)
		known_names(op, known, sizeof(known));
	return eval_reportf(f, keyword, "no property %s%s", name, known);
}

static enum pattern_match rule_applies(const struct frame *f,
				       const struct schema_rule *rule,
				       const struct member *m)
{
	enum pattern_match match =
		pattern_match(rule->pattern, &f->e->schema->limits, m->name,
			      m->len, &f->e->steps);

	if (match == MATCH_LIMIT)
		eval_fault(f->e, BIDE_LIMIT);
	return match;
}

static bool one_property(const struct frame *f, const struct schema_op *op,
			 const struct member *m)
{
	const struct schema_key *key =
		find_key(op->u.properties.keys, op->u.properties.n, m);
	const struct schema_node *rest = op->u.properties.rest;
	bool known = key != NULL;
	bool ok = true;

	if (key && schema_is_never(key->node))
		ok = refuse_member(f, op, "properties", m);
	else if (key)
		ok = part(f, key->node, m);
	for (size_t i = 0; i < op->u.properties.n_rules; i++) {
		const struct schema_rule *rule = &op->u.properties.rules[i];

		if (rule_applies(f, rule, m) != MATCH_YES)
			continue;
		known = true;
		ok = part(f, rule->node, m) && ok;
	}
	if (f->e->fault != BIDE_OK)
		return false;
	if (known || rest)
		marks_set(f->marks, m->index);
	if (known || !rest)
		return ok;
	if (schema_is_never(rest))
		return refuse_member(f, op, "additionalProperties", m);
	return part(f, rest, m);
}

static bool one_unevaluated(const struct frame *f, const struct schema_op *op,
			    const struct member *m)
{
	if (marks_has(f->marks, m->index))
		return true;
	if (schema_is_never(op->u.node))
		return refuse_member(f, op, op->keyword, m);
	return part(f, op->u.node, m);
}

static bool one_name(const struct frame *f, const struct schema_op *op,
		     const struct member *m)
{
	struct value v = value_of_name(m->name, m->len);
	char name[NAME_SHOWN];

	if (eval_quiet(f->e, op->u.node, &v, NULL))
		return true;
	schema_quote(m->name, m->len, name, sizeof(name));
	return eval_reportf(f, op->keyword,
			    "property names that fit the schema under "
			    "\"propertyNames\", got %s",
			    name);
}

static bool each_member(const struct frame *f, const struct schema_op *op,
			bool (*check)(const struct frame *f,
				      const struct schema_op *op,
				      const struct member *m))
{
	json_t *object = (json_t *)f->v->json; /* only read */
	struct member m = {0};
	json_t *value;
	bool ok = true;

	json_object_keylen_foreach(object, m.name, m.len, value)
	{
		m.json = value;
		if (f->e->steps == 0)
			return eval_fault(f->e, BIDE_LIMIT);
		f->e->steps--;
		if (!check(f, op, &m)) {
			ok = false;
			if (!eval_goes_on(f->e))
				break;
		}
		m.index++;
	}
	return ok;
}

static bool has(const struct frame *f, const struct schema_key *k)
{
	return json_object_getn(f->v->json, k->name, k->len) != NULL;
}

static bool required(const struct frame *f, const struct schema_op *op)
{
	for (size_t i = 0; i < op->u.keys.n; i++) {
		if (!has(f, &op->u.keys.keys[i]))
			return eval_report(f, op);
	}
	return true;
}

static bool all_needs(const struct frame *f, const struct schema_op *op,
		      const struct schema_key *k)
{
	char name[NAME_SHOWN];
	char beside[NAME_SHOWN];

	for (size_t i = 0; i < k->n_needs; i++) {
		if (has(f, &k->needs[i]))
			continue;
		schema_quote(k->needs[i].name, k->needs[i].len, name,
			     sizeof(name));
		schema_quote(k->name, k->len, beside, sizeof(beside));
		return eval_reportf(f, op->keyword, "the property %s beside %s",
				    name, beside);
	}
	return true;
}

static bool dependent(const struct frame *f, const struct schema_op *op)
{
	bool ok = true;

	for (size_t i = 0; i < op->u.keys.n; i++) {
		const struct schema_key *k = &op->u.keys.keys[i];

		if (!has(f, k))
			continue;
		if (k->node)
			ok = eval_node(f->e, k->node, f->v, f->path,
				       f->marks) &&
			     ok;
		else
			ok = all_needs(f, op, k) && ok;
		if (!ok && !eval_goes_on(f->e))
			break;
	}
	return ok;
}

bool eval_object(const struct frame *f, const struct schema_op *op)
{
	bool ok;

	if (op->kind == OP_REQUIRED)
		return required(f, op);
	if (op->kind == OP_PROPERTIES)
		return each_member(f, op, one_property);
	if (op->kind == OP_PROPERTY_NAMES)
		return each_member(f, op, one_name);
	if (op->kind != OP_UNEVALUATED_PROPERTIES)
		return dependent(f, op);
	if (f->marks->all)
		return true;
	ok = each_member(f, op, one_unevaluated);
	marks_set_all(f->marks);
	return ok;
}
