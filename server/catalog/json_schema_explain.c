/* SPDX-License-Identifier: MIT */
#include "server/catalog/json_schema_explain.h"

#include "server/base/jsontext.h"
#include "server/base/utf8.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Text that grows towards its beginning. */
struct backward {
	char *start;
	char *p;
	bool full;
};

static void put_front(struct backward *b, const char *s, size_t len)
{
	if (b->full)
		return;
	if ((size_t)(b->p - b->start) < len) {
		b->full = true;
		return;
	}
	b->p -= len;
	memcpy(b->p, s, len);
}

/* One reference token (RFC 6901), with what a log line cannot hold hidden. */
static void put_token(struct backward *b, const char *s, size_t len)
{
	for (size_t i = len; i-- > 0;) {
		if (s[i] == '~')
			put_front(b, "~0", 2);
		else if (s[i] == '/')
			put_front(b, "~1", 2);
		else if ((unsigned char)s[i] < 0x20 || s[i] == 0x7F)
			put_front(b, "?", 1);
		else
			put_front(b, s + i, 1);
	}
	put_front(b, "/", 1);
}

static void put_index(struct backward *b, size_t index)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "/%zu", index);

	put_front(b, text, (size_t)n);
}

static void begin(struct backward *b, char *out, size_t cap)
{
	/* Three places are kept for the dots. */
	b->start = out + 3;
	b->p = out + cap - 1;
	*b->p = '\0';
	b->full = false;
}

static void finish(struct backward *b, char *out)
{
	if (b->full) {
		/* A whole character, then the dots before it. */
		while (((unsigned char)*b->p & 0xC0) == 0x80)
			b->p++;
		b->p -= 3;
		memcpy(b->p, "...", 3);
	}
	memmove(out, b->p, strlen(b->p) + 1);
}

void schema_location(const struct schema_node *node, const char *keyword,
		     char *out, size_t cap)
{
	struct backward b;

	begin(&b, out, cap);
	if (keyword) {
		put_front(&b, keyword, strlen(keyword));
		put_front(&b, "/", 1);
	}
	for (; node; node = node->up) {
		if (node->key)
			put_token(&b, node->key, strlen(node->key));
		else if (node->index >= 0)
			put_index(&b, (size_t)node->index);
		if (node->keyword) {
			/* A pointer or a keyword: nothing to escape. */
			put_front(&b, node->keyword, strlen(node->keyword));
			put_front(&b, "/", 1);
		}
		if (!node->up && node->resource->foreign) {
			put_front(&b, "#", 1);
			put_front(&b, node->resource->uri,
				  strlen(node->resource->uri));
		}
	}
	finish(&b, out);
}

void instance_location(const struct instance_path *path, char *out, size_t cap)
{
	struct backward b;

	begin(&b, out, cap);
	for (; path; path = path->up) {
		if (path->key)
			put_token(&b, path->key, path->len);
		else
			put_index(&b, path->index);
	}
	finish(&b, out);
}

/* A bounded text that marks where it was cut. */
struct line {
	char *out;
	size_t cap, len;
	bool full;
};

static void add_bytes(struct line *l, const char *s, size_t n)
{
	size_t room = l->cap - 1 - l->len;

	if (l->full)
		return;
	if (n > room) {
		/* utf8_prefix() also drops the half of a character. */
		n = room > 3 ? utf8_prefix(s, room - 3) : 0;
		memcpy(l->out + l->len, s, n);
		l->len += n;
		if (room >= 3) {
			memcpy(l->out + l->len, "...", 3);
			l->len += 3;
		}
		l->full = true;
	} else {
		memcpy(l->out + l->len, s, n);
		l->len += n;
	}
	l->out[l->len] = '\0';
}

static void add(struct line *l, const char *s)
{
	add_bytes(l, s, strlen(s));
}

__attribute__((format(printf, 2, 3))) static void addf(struct line *l,
						       const char *fmt, ...)
{
	char text[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	add(l, text);
}

static void add_json(struct line *l, const json_t *json)
{
	struct buf text;

	buf_init(&text, 512);
	if (jsontext_write(json, &text))
		add_bytes(l, text.data, text.len);
	else
		add(l, "a longer value");
	buf_fini(&text);
}

void schema_quote(const char *name, size_t len, char *out, size_t cap)
{
	struct line l = {.out = out, .cap = cap};
	size_t shown = len > 64 ? utf8_prefix(name, 64) : len;

	out[0] = '\0';
	add(&l, "\"");
	for (size_t i = 0; i < shown; i++) {
		bool hide = (unsigned char)name[i] < 0x20 || name[i] == 0x7F;

		if (l.len + 6 > cap)
			break;
		add_bytes(&l, hide ? "?" : name + i, 1);
	}
	add(&l, shown < len ? "...\"" : "\"");
}

static void add_types(struct line *l, unsigned types)
{
	static const enum value_type order[] = {
		VALUE_STRING, VALUE_INTEGER, VALUE_NUMBER, VALUE_BOOLEAN,
		VALUE_OBJECT, VALUE_ARRAY,   VALUE_NULL};
	unsigned left = types;

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		if (!(left & order[i]))
			continue;
		if (left != types)
			add(l, (left & ~(unsigned)order[i]) ? ", " : " or ");
		add(l, value_type_name(order[i]));
		left &= ~(unsigned)order[i];
	}
}

void schema_expected_types(unsigned types, const struct value *v, char *out,
			   size_t cap)
{
	struct line l = {.out = out, .cap = cap};

	out[0] = '\0';
	add_types(&l, types);
	addf(&l, ", got %s", value_article(v));
}

/* Alternatives in full as far as there is room, in the order given. */
static void add_choices(struct line *l, const json_t *list)
{
	size_t n = json_array_size(list);
	const size_t shown_max = 12;

	add(l, n == 1 ? "" : "one of ");
	for (size_t i = 0; i < n && i < shown_max; i++) {
		if (i > 0)
			add(l, ", ");
		add_json(l, json_array_get(list, i));
	}
	if (n > shown_max)
		addf(l, " and %zu more", n - shown_max);
}

static size_t size_of(const struct value *v)
{
	if (v->types & VALUE_STRING)
		return value_code_points(v->s, v->len);
	if (v->types & VALUE_ARRAY)
		return json_array_size(v->json);
	return json_object_size(v->json);
}

static void add_format(struct line *l, const struct schema_op *op)
{
	if (op->u.format == schema_format("email"))
		add(l, "an e-mail address such as name@example.com");
	else if (op->u.format == schema_format("uri"))
		add(l, "a URI such as https://example.com/page");
	else if (op->u.format == schema_format("date"))
		add(l, "a date such as 2026-07-28");
	else
		add(l, "a date and time such as 2026-07-28T09:30:00Z");
}

static void add_missing(struct line *l, const struct schema_op *op,
			const struct value *v)
{
	char name[96];
	unsigned missing = 0;
	unsigned n = 0;

	for (size_t i = 0; i < op->u.keys.n; i++) {
		const struct schema_key *k = &op->u.keys.keys[i];

		missing += !json_object_getn(v->json, k->name, k->len);
	}
	add(l, missing > 1 ? "the properties " : "the property ");
	for (size_t i = 0; i < op->u.keys.n; i++) {
		const struct schema_key *k = &op->u.keys.keys[i];

		if (json_object_getn(v->json, k->name, k->len))
			continue;
		schema_quote(k->name, k->len, name, sizeof(name));
		add(l, n == 0 ? "" : n + 1 == missing ? " and " : ", ");
		add(l, name);
		n++;
	}
	add(l, missing > 1 ? ", which are missing" : ", which is missing");
}

static const struct {
	const char *bound, *one, *many;
} counted[] = {
	[OP_MIN_LENGTH] = {"at least", "character", "characters"},
	[OP_MAX_LENGTH] = {"at most", "character", "characters"},
	[OP_MIN_ITEMS] = {"at least", "item", "items"},
	[OP_MAX_ITEMS] = {"at most", "item", "items"},
	[OP_MIN_PROPERTIES] = {"at least", "property", "properties"},
	[OP_MAX_PROPERTIES] = {"at most", "property", "properties"},
	[OP_UNEVALUATED_PROPERTIES] = {NULL, NULL, NULL},
};

static const char *const measured[] = {
	[OP_CONST] = "",
	[OP_MINIMUM] = "at least ",
	[OP_MAXIMUM] = "at most ",
	[OP_EXCLUSIVE_MINIMUM] = "more than ",
	[OP_EXCLUSIVE_MAXIMUM] = "less than ",
	[OP_MULTIPLE_OF] = "a multiple of ",
	[OP_UNEVALUATED_PROPERTIES] = NULL,
};

static void add_other(struct line *l, const struct schema_op *op,
		      const struct value *v)
{
	if (op->kind == OP_ENUM) {
		add_choices(l, op->u.value.json);
	} else if (op->kind == OP_PATTERN) {
		add(l, "a string that matches the pattern ");
		add(l, op->u.pattern->source);
	} else if (op->kind == OP_FORMAT) {
		add_format(l, op);
	} else if (op->kind == OP_REQUIRED) {
		add_missing(l, op, v);
	} else if (op->kind == OP_NEVER) {
		add(l, "no value here");
	} else if (op->kind == OP_NOT) {
		add(l, "a value that does not fit the schema under \"not\"");
	} else {
		add(l, "a value that the schema allows");
	}
}

void schema_expectation(const struct schema_op *op, const struct value *v,
			char *out, size_t cap)
{
	struct line l = {.out = out, .cap = cap};
	size_t n = op->u.count;

	out[0] = '\0';
	if (op->kind == OP_TYPE) {
		schema_expected_types(op->u.types, v, out, cap);
	} else if (counted[op->kind].bound) {
		addf(&l, "%s %zu %s, got %zu", counted[op->kind].bound, n,
		     n == 1 ? counted[op->kind].one : counted[op->kind].many,
		     size_of(v));
	} else if (measured[op->kind]) {
		add(&l, measured[op->kind]);
		add_json(&l, op->u.value.json);
	} else {
		add_other(&l, op, v);
	}
}

void json_schema_explain_as(const char *what,
			    const struct json_schema_problem *problems,
			    size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		buf_addf(out, "%s%s%s: expected %s", i ? "; " : "", what,
			 problems[i].instance_path, problems[i].expected);
	}
}

void json_schema_explain(const struct json_schema_problem *problems, size_t n,
			 struct buf *out)
{
	json_schema_explain_as("value", problems, n, out);
}
