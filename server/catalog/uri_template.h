/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_URI_TEMPLATE_H
#define CATALOG_URI_TEMPLATE_H
#include "bide/types.h"
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
/*
 * URI templates as include/bide/resource.h has them: literals and expressions
 * {name} and {+name} of RFC 6570 with one variable each, run backwards: which
 * values would expand to this URI? Constant once made; any thread.
 */
struct uri_template;
/* BIDE_INVALID: the text says what is wrong; BIDE_NOMEM. */
enum bide_rc uri_template_new(const char *text, struct uri_template **ret,
			      struct bide_error *reterr);
void uri_template_free(struct uri_template *t);
bool uri_template_has(const struct uri_template *t, const char *name);
/**
 * uri_template_match - whether @uri, which must be valid, is one of @t's.
 * @ret_vars: the values, decoded, an object of strings; new reference, on
 *	BIDE_OK only. NULL when they are not wanted.
 *
 * Where a URI can be split in several ways, the first variable takes as much
 * as it can, then the second, as greedy regular expressions would. Takes time
 * and memory in proportion to the URI and to the number of variables.
 *
 * Returns BIDE_OK, BIDE_NOT_FOUND (it is none of @t's), BIDE_NOMEM.
 */
enum bide_rc uri_template_match(const struct uri_template *t, const char *uri,
				json_t **ret_vars);
#endif
