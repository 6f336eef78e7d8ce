/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_JSON_SCHEMA_ECMA_H
#define CATALOG_JSON_SCHEMA_ECMA_H
#include "server/base/buf.h"
#include <stdbool.h>
#include <stddef.h>

/*
 * Rewrites an ECMA-262 pattern for PCRE2 (8 bit, UTF, no UCP, DOLLAR_ENDONLY,
 * ALLOW_EMPTY_CLASS). False: @why says what is wrong, or out->failed.
 */
bool ecma_translate(const char *s, size_t len, struct buf *out, char *why,
		    size_t cap);
#endif
