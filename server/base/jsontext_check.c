/* SPDX-License-Identifier: MIT */
#include "server/base/jsontext.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "server/base/error.h"
#include "server/base/limits.h"
#include "server/base/utf8.h"

/* @member: the nearest key above the value, known to be UTF-8; or NULL. */
static enum bide_rc check(const json_t *v, int depth, const char *member,
			  struct bide_error *reterr);

static enum bide_rc refuse(const char *what, const char *member,
			   struct bide_error *reterr)
{
	if (!member)
		return error_set(reterr, BIDE_INVALID, "JSON value: %s", what);
	return error_set(reterr, BIDE_INVALID,
			 "JSON value: %s (in member \"%.80s\")", what, member);
}

static enum bide_rc check_text(const char *s, size_t len, const char *member,
			       struct bide_error *reterr)
{
	if (!utf8_valid(s, len))
		return refuse("a string is not UTF-8", member, reterr);
	if (memchr(s, '\0', len))
		return refuse("a string holds U+0000", member, reterr);
	return BIDE_OK;
}

static enum bide_rc check_array(const json_t *v, int depth, const char *member,
				struct bide_error *reterr)
{
	enum bide_rc rc = BIDE_OK;

	for (size_t i = 0; i < json_array_size(v) && rc == BIDE_OK; i++)
		rc = check(json_array_get(v, i), depth, member, reterr);
	return rc;
}

static enum bide_rc check_object(const json_t *v, int depth, const char *member,
				 struct bide_error *reterr)
{
	json_t *o = (json_t *)(uintptr_t)v; /* iterating changes nothing */
	enum bide_rc rc = BIDE_OK;
	const char *key;
	void *it;

	for (it = json_object_iter(o); it && rc == BIDE_OK;
	     it = json_object_iter_next(o, it)) {
		key = json_object_iter_key(it);
		rc = check_text(key, json_object_iter_key_len(it), member,
				reterr);
		if (rc == BIDE_OK)
			rc = check(json_object_iter_value(it), depth, key,
				   reterr);
	}
	return rc;
}

static enum bide_rc check(const json_t *v, int depth, const char *member,
			  struct bide_error *reterr)
{
	if (!v)
		return refuse("a value is missing (NULL)", member, reterr);
	switch (json_typeof(v)) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		if (depth == LIMIT_JSON_DEPTH)
			return refuse("nesting deeper than 64", member, reterr);
		if (json_is_array(v))
			return check_array(v, depth + 1, member, reterr);
		return check_object(v, depth + 1, member, reterr);
	case JSON_STRING:
		return check_text(json_string_value(v), json_string_length(v),
				  member, reterr);
	case JSON_REAL:
		if (!isfinite(json_real_value(v)))
			return refuse("a number is not finite", member, reterr);
		break;
	case JSON_INTEGER:
	case JSON_TRUE:
	case JSON_FALSE:
	case JSON_NULL:
		break;
	}
	return BIDE_OK;
}

enum bide_rc jsontext_check(const json_t *value, struct bide_error *reterr)
{
	return check(value, 0, NULL, reterr);
}
