/* SPDX-License-Identifier: MIT */
#ifndef BASE_JSONTEXT_H
#define BASE_JSONTEXT_H
#include <jansson.h>
#include "bide/types.h"
#include "server/base/buf.h"

/*
 * The one JSON reader and the one JSON writer of the program (design,
 * section 3). Numbers are written in their shortest round-trip form, depth is
 * at most LIMIT_JSON_DEPTH in and out, duplicate keys are refused, integers
 * beyond 64 bits are refused in words. Object keys keep insertion order.
 */

/**
 * jsontext_parse - strict parse of exactly @len bytes; any JSON value.
 * @ret: new reference, set on BIDE_OK only.
 * Returns BIDE_OK, BIDE_INVALID (err says what and at which byte), NOMEM.
 */
enum bide_rc jsontext_parse(const char *text, size_t len, json_t **ret,
			    struct bide_error *reterr) BIDE_NODISCARD;
/* Compact. False: depth, invalid value or ceiling of @out; out->failed set. */
bool jsontext_write(const json_t *value, struct buf *out);
/* Appends "..." with escapes. @s must be UTF-8 (false if not). */
bool jsontext_write_string(const char *s, size_t len, struct buf *out);
/* Shortest round-trip form of one double; integral ones as 1e21 style only
 * beyond 2^63. NaN and infinities: false. */
bool jsontext_write_real(double d, struct buf *out);
/* malloc()ed compact text; NULL when it cannot be written. */
char *jsontext_dup(const json_t *value, size_t *ret_len);
/* Sorted keys, integral numbers one way (1.0 is 1): for digests. */
bool jsontext_canonical(const json_t *value, struct buf *out);
/* A value a handler built: UTF-8, depth, finite numbers. */
enum bide_rc jsontext_check(const json_t *value, struct bide_error *reterr);
#endif
