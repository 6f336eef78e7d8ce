/* SPDX-License-Identifier: MIT */
#ifndef BASE_JSONTEXT_H
#define BASE_JSONTEXT_H
#include "bide/types.h"
#include "server/base/buf.h"
#include <jansson.h>
#include <stdint.h>

/*
 * The one JSON reader and the one JSON writer of the program (design,
 * section 3). Numbers are written in their shortest round-trip form, depth is
 * at most LIMIT_JSON_DEPTH in and out, duplicate keys are refused, integers
 * beyond 64 bits are refused in words. Object keys keep insertion order.
 *
 * What is written can be read: U+0000 in a string, which the reader refuses
 * (a C string cannot carry it), is refused by the writer as well, and a real
 * is written with a point or an exponent, so that it is read as a real.
 */

/* The largest integer up to which a double holds them all: what a client can
 * read, whatever it is written in. */
#define JSONTEXT_EXACT INT64_C(9007199254740991)

/**
 * jsontext_parse - strict parse of exactly @len bytes; any JSON value.
 * @ret: new reference, set on BIDE_OK only.
 * Returns BIDE_OK, BIDE_INVALID (err says what and at which byte), NOMEM.
 * The error text holds nothing of the input. Builds jansson's values without
 * its parser (3 times the speed; jsontext_parse.c says why else).
 */
enum bide_rc jsontext_parse(const char *text, size_t len, json_t **ret,
			    struct bide_error *reterr) BIDE_NODISCARD;
/* The same, for what a stranger sent: at most @values values in all (0: any
 * number), for a value takes many times the memory of its text. */
enum bide_rc jsontext_parse_at_most(const char *text, size_t len, size_t values,
				    json_t **ret, struct bide_error *reterr)
	BIDE_NODISCARD;
/*
 * Appends, compact. False: depth, an invalid value (NULL, not UTF-8, U+0000,
 * not finite) or the ceiling of @out; out->failed set.
 */
bool jsontext_write(const json_t *value, struct buf *out);
/*
 * Appends "..." with escapes, those JSON requires and no others. @s must be
 * UTF-8 without U+0000 (false and out->failed if not).
 */
bool jsontext_write_string(const char *s, size_t len, struct buf *out);
/*
 * Shortest round-trip form of one double, always with a point or an exponent;
 * integral ones as 1e21 style only beyond 2^63. NaN and infinities: false.
 */
bool jsontext_write_real(double d, struct buf *out);
/* malloc()ed compact text; NULL when it cannot be written. */
char *jsontext_dup(const json_t *value, size_t *ret_len);
/*
 * For digests: keys sorted bytewise, integral reals within 2^53 written as
 * integers (1.0 and 1 and 1e0 are one value, -0.0 is 0). Fails as
 * jsontext_write() does.
 */
bool jsontext_canonical(const json_t *value, struct buf *out);
/*
 * A value a handler built: UTF-8 without U+0000, depth, finite numbers.
 * BIDE_OK or BIDE_INVALID; the text names the nearest member.
 */
enum bide_rc jsontext_check(const json_t *value, struct bide_error *reterr);
#endif
