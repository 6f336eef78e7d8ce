/* SPDX-License-Identifier: MIT */
#include "server/catalog/json_schema.h"

#include "server/base/error.h"
#include "server/base/limits.h"
#include "server/catalog/json_schema_explain.h"
#include "server/catalog/json_schema_node.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES 4096
struct schema_chunk {
	struct schema_chunk *next;
	size_t used, cap;
	_Alignas(max_align_t) char bytes[];
};

void *schema_alloc(struct schema_arena *a, size_t bytes)
{
	const size_t align = _Alignof(max_align_t);
	struct schema_chunk *k = a->chunks;
	size_t cap = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
	void *p;

	bytes = (bytes + align - 1) / align * align;
	if (!k || k->cap - k->used < bytes) {
		cap = (cap + align - 1) / align * align;
		k = calloc(1, sizeof(*k) + cap);
		if (!k)
			return NULL;
		k->cap = cap;
		k->next = a->chunks;
		a->chunks = k;
	}
	p = k->bytes + k->used;
	k->used += bytes;
	return p;
}

char *schema_strndup(struct schema_arena *a, const char *s, size_t len)
{
	char *copy = schema_alloc(a, len + 1);

	if (copy)
		memcpy(copy, s, len);
	return copy;
}

static void arena_fini(struct schema_arena *a)
{
	struct schema_chunk *next;

	for (struct schema_chunk *k = a->chunks; k; k = next) {
		next = k->next;
		free(k);
	}
	a->chunks = NULL;
}

void json_schema_free(struct json_schema *s)
{
	if (!s)
		return;
	for (struct schema_pattern *p = s->patterns; p; p = p->next)
		pattern_fini(p);
	pattern_limits_fini(&s->limits);
	for (size_t i = 0; i < s->n_docs; i++)
		json_decref(s->docs[i]);
	free(s->docs);
	arena_fini(&s->arena);
	free(s);
}

bool schema_fail(struct schema_compiler *c, enum bide_rc rc,
		 const struct schema_node *at, const char *keyword,
		 const char *fmt, ...)
{
	char where[96];
	char what[192];
	va_list ap;

	if (c->rc != BIDE_OK)
		return false;
	c->rc = rc;
	schema_location(at, keyword, where, sizeof(where));
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (where[0] == '\0')
		error_set(c->err, rc, "the schema: %s", what);
	else
		error_set(c->err, rc, "schema %s: %s", where, what);
	return false;
}

bool schema_nomem(struct schema_compiler *c)
{
	if (c->rc == BIDE_OK)
		c->rc = error_set(c->err, BIDE_NOMEM, "out of memory");
	return false;
}

void *schema_new(struct schema_compiler *c, size_t bytes)
{
	void *p = schema_alloc(&c->s->arena, bytes);

	if (!p)
		schema_nomem(c);
	return p;
}

/* Depth first, before anything recurses further than this can. */
static bool too_deep(const json_t *json, unsigned depth)
{
	json_t *object = (json_t *)json;
	const char *key;
	json_t *member;

	if (depth > LIMIT_SCHEMA_DEPTH)
		return true;
	for (size_t i = 0; json_is_array(json) && i < json_array_size(json);
	     i++) {
		if (too_deep(json_array_get(json, i), depth + 1))
			return true;
	}
	json_object_foreach (object, key, member) {
		if (too_deep(member, depth + 1))
			return true;
	}
	return false;
}

const json_t *schema_keep_document(struct schema_compiler *c,
				   const json_t *json)
{
	struct json_schema *s = c->s;
	json_t **docs = NULL;
	json_t *copy = NULL;

	if (too_deep(json, 0)) {
		schema_fail(c, BIDE_LIMIT, NULL, NULL,
			    "nested more than %d levels deep",
			    LIMIT_SCHEMA_DEPTH);
		return NULL;
	}
	docs = realloc(s->docs, (s->n_docs + 1) * sizeof(*docs));
	if (docs)
		s->docs = docs;
	copy = docs ? json_deep_copy(json) : NULL;
	if (!copy) {
		schema_nomem(c);
		return NULL;
	}
	s->docs[s->n_docs++] = copy;
	return copy;
}

static void compile_root(struct schema_compiler *c, const json_t *schema)
{
	enum schema_dialect dialect = DIALECT_2020_12;
	const json_t *doc = schema_keep_document(c, schema);
	struct schema_resource *r;

	if (!doc || !schema_dialect_of(c, doc, NULL, &dialect))
		return;
	r = schema_add_resource(c, "", doc, dialect);
	if (!r)
		return;
	c->s->root =
		schema_subschema(c, doc, (struct schema_place){.index = -1}, r);
	if (!c->s->root)
		return;
	if (schema_resolve(c))
		schema_refuse_cycles(c);
}

enum bide_rc json_schema_compile_with(const json_t *schema,
				      const struct json_schema_document *docs,
				      size_t n_docs, struct json_schema **ret,
				      struct bide_error *reterr)
{
	struct schema_compiler c = {
		.err = reterr, .docs = docs, .n_docs = n_docs};

	if (!json_is_object(schema) && !json_is_boolean(schema))
		return error_set(reterr, BIDE_INVALID,
				 "the schema: must be an object or a boolean");
	c.s = calloc(1, sizeof(*c.s));
	if (!c.s || !pattern_limits_init(&c.s->limits))
		schema_nomem(&c);
	else
		compile_root(&c, schema);
	free(c.seen);
	if (c.rc != BIDE_OK) {
		json_schema_free(c.s);
		return c.rc;
	}
	*ret = c.s;
	return BIDE_OK;
}

enum bide_rc json_schema_compile(const json_t *schema, struct json_schema **ret,
				 struct bide_error *reterr)
{
	return json_schema_compile_with(schema, NULL, 0, ret, reterr);
}
