/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_JSON_SCHEMA_VALUE_H
#define CATALOG_JSON_SCHEMA_VALUE_H
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Types as JSON Schema has them; 1.0 is both a number and an integer. */
enum value_type {
	VALUE_NULL = 1,
	VALUE_BOOLEAN = 2,
	VALUE_OBJECT = 4,
	VALUE_ARRAY = 8,
	VALUE_NUMBER = 16,
	VALUE_STRING = 32,
	VALUE_INTEGER = 64
};

/**
 * struct value - an instance, or the name of a property seen as one.
 * @json: NULL for a name.
 * @s, @len: of strings only.
 */
struct value {
	unsigned types; /* VALUE_ bits that hold of it */
	const json_t *json;
	const char *s;
	size_t len;
};
struct value value_of(const json_t *json);
struct value value_of_name(const char *s, size_t len);
/* "an integer", "a string"; of several: "a string or null". */
const char *value_type_name(enum value_type t);
const char *value_article(const struct value *v);
size_t value_code_points(const char *s, size_t len);

/* Numbers compare by mathematical value, whichever way they are written. */
struct number {
	bool is_int;
	int64_t i;
	double d;
};
struct number number_of(const json_t *json);
int number_compare(struct number a, struct number b);

/* |x| = digits * 10^exponent, digits not divisible by 10. */
struct decimal {
	uint64_t digits;
	int exponent;
};
struct decimal decimal_of(struct number n);
bool decimal_is_multiple(struct decimal x, struct decimal of);

/*
 * Equality of core 4.2.2. Each looks at *@steps and takes from it; at zero the
 * answer means nothing and the caller gives up.
 */
bool value_equal(const json_t *a, const json_t *b, size_t *steps);
bool value_equal_json(const struct value *v, const json_t *b, size_t *steps);

enum unique { UNIQUE_YES, UNIQUE_NO, UNIQUE_NOMEM };
/* On NO, *@first < *@second are two equal items. */
enum unique value_unique(const json_t *array, size_t *steps, size_t *first,
			 size_t *second);
#endif
