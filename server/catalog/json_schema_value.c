/* SPDX-License-Identifier: MIT */
#include "server/catalog/json_schema_value.h"

#include "server/base/fnv.h"
#include "server/base/limits.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TWO_63 9223372036854775808.0

struct value value_of(const json_t *json)
{
	struct value v = {.json = json};
	double d;

	switch (json_typeof(json)) {
	case JSON_OBJECT:
		v.types = VALUE_OBJECT;
		break;
	case JSON_ARRAY:
		v.types = VALUE_ARRAY;
		break;
	case JSON_STRING:
		v.types = VALUE_STRING;
		v.s = json_string_value(json);
		v.len = json_string_length(json);
		break;
	case JSON_INTEGER:
		v.types = VALUE_NUMBER | VALUE_INTEGER;
		break;
	case JSON_REAL:
		d = json_real_value(json);
		v.types = VALUE_NUMBER;
		/* validation 6.1.1: a zero fraction makes an integer. */
		if (isfinite(d) && d == trunc(d))
			v.types |= VALUE_INTEGER;
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		v.types = VALUE_BOOLEAN;
		break;
	case JSON_NULL:
		v.types = VALUE_NULL;
		break;
	}
	return v;
}

struct value value_of_name(const char *s, size_t len)
{
	return (struct value){.types = VALUE_STRING, .s = s, .len = len};
}

const char *value_type_name(enum value_type t)
{
	switch (t) {
	case VALUE_NULL:
		return "null";
	case VALUE_BOOLEAN:
		return "a boolean";
	case VALUE_OBJECT:
		return "an object";
	case VALUE_ARRAY:
		return "an array";
	case VALUE_NUMBER:
		return "a number";
	case VALUE_STRING:
		return "a string";
	case VALUE_INTEGER:
		return "an integer";
	}
	return "a value";
}

const char *value_article(const struct value *v)
{
	if (v->types & VALUE_INTEGER)
		return value_type_name(VALUE_INTEGER);
	return value_type_name((enum value_type)v->types);
}

size_t value_code_points(const char *s, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)s[i] & 0xC0) != 0x80;
	return n;
}

struct number number_of(const json_t *json)
{
	struct number n = {0};

	if (json_is_integer(json)) {
		n.is_int = true;
		n.i = json_integer_value(json);
	} else {
		n.d = json_real_value(json);
	}
	return n;
}

/* Exact: no integer is rounded to a double on the way. */
static int compare_int_real(int64_t i, double d)
{
	int64_t whole;
	double rest;

	if (isnan(d) || d >= TWO_63)
		return -1;
	if (d < -TWO_63)
		return 1;
	whole = (int64_t)d;
	if (i != whole)
		return i < whole ? -1 : 1;
	rest = d - trunc(d);
	return rest > 0 ? -1 : rest < 0;
}

int number_compare(struct number a, struct number b)
{
	if (a.is_int && b.is_int)
		return a.i < b.i ? -1 : a.i > b.i;
	if (a.is_int)
		return compare_int_real(a.i, b.d);
	if (b.is_int)
		return -compare_int_real(b.i, a.d);
	return a.d < b.d ? -1 : a.d > b.d;
}

static struct decimal strip_zeros(struct decimal x)
{
	if (x.digits == 0)
		x.exponent = 0;
	while (x.digits != 0 && x.digits % 10 == 0) {
		x.digits /= 10;
		x.exponent++;
	}
	return x;
}

/* The shortest decimal that reads back as @d: what its writer meant. */
static struct decimal decimal_of_real(double d)
{
	struct decimal x = {0, 0};
	char text[64] = "";
	const char *p = text;
	int fraction = 0;

	if (!isfinite(d))
		return x;
	d = fabs(d);
	for (int precision = 14; precision <= 16; precision++) {
		snprintf(text, sizeof(text), "%.*e", precision, d);
		if (strtod(text, NULL) == d)
			break;
	}
	/* d<point>ddd e+xx, where the point is the locale's. */
	for (bool point = false; *p && *p != 'e'; p++) {
		if (*p >= '0' && *p <= '9') {
			x.digits = x.digits * 10 + (uint64_t)(*p - '0');
			fraction += point;
		} else {
			point = true;
		}
	}
	x.exponent = (*p ? (int)strtol(p + 1, NULL, 10) : 0) - fraction;
	return strip_zeros(x);
}

struct decimal decimal_of(struct number n)
{
	struct decimal x = {0, 0};

	if (!n.is_int)
		return decimal_of_real(n.d);
	x.digits = n.i < 0 ? 0 - (uint64_t)n.i : (uint64_t)n.i;
	return strip_zeros(x);
}

static uint64_t multiply_modulo(uint64_t a, uint64_t b, uint64_t m)
{
	__extension__ typedef unsigned __int128 wide;

	return (uint64_t)((wide)a * b % m);
}

static uint64_t power_of_ten_modulo(unsigned exponent, uint64_t m)
{
	uint64_t result = 1 % m;
	uint64_t base = 10 % m;

	for (; exponent; exponent >>= 1) {
		if (exponent & 1)
			result = multiply_modulo(result, base, m);
		base = multiply_modulo(base, base, m);
	}
	return result;
}

bool decimal_is_multiple(struct decimal x, struct decimal of)
{
	uint64_t rest;

	if (x.digits == 0)
		return true;
	if (of.digits == 0)
		return false;
	/* x has no factor 10 left, so a coarser unit cannot divide it. */
	if (x.exponent < of.exponent)
		return false;
	rest = power_of_ten_modulo((unsigned)(x.exponent - of.exponent),
				   of.digits);
	return multiply_modulo(x.digits % of.digits, rest, of.digits) == 0;
}

static bool equal_at(const json_t *a, const json_t *b, size_t *steps,
		     unsigned depth);

static bool equal_objects(const json_t *a, const json_t *b, size_t *steps,
			  unsigned depth)
{
	json_t *object = (json_t *)a; /* jansson's iterators are not const */
	const char *key;
	size_t len;
	json_t *member;

	if (json_object_size(a) != json_object_size(b))
		return false;
	json_object_keylen_foreach(object, key, len, member)
	{
		const json_t *other = json_object_getn(b, key, len);

		if (!other || !equal_at(member, other, steps, depth + 1))
			return false;
	}
	return true;
}

static bool equal_arrays(const json_t *a, const json_t *b, size_t *steps,
			 unsigned depth)
{
	if (json_array_size(a) != json_array_size(b))
		return false;
	for (size_t i = 0; i < json_array_size(a); i++) {
		if (!equal_at(json_array_get(a, i), json_array_get(b, i), steps,
			      depth + 1))
			return false;
	}
	return true;
}

static bool equal_at(const json_t *a, const json_t *b, size_t *steps,
		     unsigned depth)
{
	if (depth > LIMIT_VALIDATION_DEPTH)
		*steps = 0;
	if (*steps == 0)
		return false;
	(*steps)--;
	if (json_is_number(a) && json_is_number(b))
		return number_compare(number_of(a), number_of(b)) == 0;
	if (json_typeof(a) != json_typeof(b))
		return false;
	if (json_is_string(a))
		return json_string_length(a) == json_string_length(b) &&
		       memcmp(json_string_value(a), json_string_value(b),
			      json_string_length(a)) == 0;
	if (json_is_object(a))
		return equal_objects(a, b, steps, depth);
	if (json_is_array(a))
		return equal_arrays(a, b, steps, depth);
	return true;
}

bool value_equal(const json_t *a, const json_t *b, size_t *steps)
{
	return equal_at(a, b, steps, 0);
}

bool value_equal_json(const struct value *v, const json_t *b, size_t *steps)
{
	if (v->json)
		return equal_at(v->json, b, steps, 0);
	return json_is_string(b) && json_string_length(b) == v->len &&
	       memcmp(json_string_value(b), v->s, v->len) == 0;
}

static uint64_t mix(uint64_t h)
{
	h = (h ^ (h >> 31)) * 0x9e3779b97f4a7c15u;
	return h ^ (h >> 29);
}

static uint64_t hash_number(struct number n)
{
	/* 1 and 1.0 are equal and must meet. */
	if (!n.is_int && n.d == trunc(n.d) && n.d >= -TWO_63 && n.d < TWO_63) {
		n.is_int = true;
		n.i = (int64_t)n.d;
	}
	return n.is_int ? fnv_bytes('i', &n.i, sizeof(n.i))
			: fnv_bytes('d', &n.d, sizeof(n.d));
}

/* Equal values hash alike; the order of members does not count. */
static uint64_t hash_at(const json_t *v, size_t *steps, unsigned depth)
{
	json_t *object = (json_t *)v;
	uint64_t h = (uint64_t)json_typeof(v);
	const char *key;
	size_t len;
	json_t *member;

	if (depth > LIMIT_VALIDATION_DEPTH)
		*steps = 0;
	if (*steps == 0)
		return 0;
	(*steps)--;
	if (json_is_number(v))
		return hash_number(number_of(v));
	if (json_is_string(v))
		return fnv_bytes(h, json_string_value(v),
				 json_string_length(v));
	for (size_t i = 0; json_is_array(v) && i < json_array_size(v); i++)
		h = mix(h ^ hash_at(json_array_get(v, i), steps, depth + 1));
	if (!json_is_object(v))
		return h;
	json_object_keylen_foreach(object, key, len, member)
	{
		uint64_t m = fnv_bytes(0, key, len);

		h += mix(m ^ mix(hash_at(member, steps, depth + 1)));
	}
	return h;
}

struct hashed {
	uint64_t hash;
	size_t index;
};

static int by_hash(const void *a, const void *b)
{
	const struct hashed *x = a;
	const struct hashed *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static bool same_items(const json_t *array, size_t i, size_t j, size_t *steps,
		       size_t *first, size_t *second)
{
	if (!value_equal(json_array_get(array, i), json_array_get(array, j),
			 steps))
		return false;
	*first = i;
	*second = j;
	return true;
}

static enum unique unique_sorted(const json_t *array, size_t *steps,
				 size_t *first, size_t *second)
{
	size_t n = json_array_size(array);
	struct hashed *h = calloc(n, sizeof(*h));
	enum unique result = UNIQUE_YES;

	if (!h)
		return UNIQUE_NOMEM;
	for (size_t i = 0; i < n && *steps; i++)
		h[i] = (struct hashed){
			hash_at(json_array_get(array, i), steps, 0), i};
	if (*steps)
		qsort(h, n, sizeof(*h), by_hash);
	/* Within one hash every pair: equal is not the same as colliding. */
	for (size_t i = 0; i < n && *steps && result == UNIQUE_YES; i++) {
		for (size_t j = i + 1;
		     j < n && h[j].hash == h[i].hash && *steps; j++) {
			if (same_items(array, h[i].index, h[j].index, steps,
				       first, second)) {
				result = UNIQUE_NO;
				break;
			}
		}
	}
	free(h);
	return result;
}

enum unique value_unique(const json_t *array, size_t *steps, size_t *first,
			 size_t *second)
{
	size_t n = json_array_size(array);

	if (n > 16)
		return unique_sorted(array, steps, first, second);
	for (size_t j = 1; j < n; j++) {
		for (size_t i = 0; i < j; i++) {
			if (same_items(array, i, j, steps, first, second))
				return UNIQUE_NO;
		}
	}
	return UNIQUE_YES;
}
