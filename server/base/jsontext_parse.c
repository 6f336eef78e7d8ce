/* SPDX-License-Identifier: MIT */
#include "server/base/jsontext.h"

#include <stdlib.h>
#include <string.h>

#include "server/base/error.h"
#include "server/base/limits.h"

static enum bide_rc refuse(struct bide_error *reterr, const char *what,
			   size_t at)
{
	return error_set(reterr, BIDE_INVALID, "invalid JSON: %s at byte %zu",
			 what, at);
}

/* From the byte after a quote to the byte after the one that closes it. */
static const char *skip_string(const char *p, const char *end)
{
	while (p < end && *p != '"')
		p += *p == '\\' ? 2 : 1;
	return p < end ? p + 1 : end;
}

/* jansson recurses to its own depth (2048) before it refuses; count first. */
static bool too_deep(const char *text, size_t len, size_t *ret_at)
{
	const char *end = text + len;
	const char *p = text;
	int depth = 0;

	while (p < end) {
		switch (*p++) {
		case '"':
			p = skip_string(p, end);
			break;
		case '{':
		case '[':
			if (++depth > LIMIT_JSON_DEPTH) {
				*ret_at = (size_t)(p - 1 - text);
				return true;
			}
			break;
		case '}':
		case ']':
			depth--;
			break;
		default:
			break;
		}
	}
	return false;
}

/* jansson's own texts quote the input; these do not. */
static enum bide_rc translate(const json_error_t *e, struct bide_error *reterr)
{
	size_t at = e->position > 0 ? (size_t)e->position : 0;

	switch (json_error_code(e)) {
	case json_error_out_of_memory:
		return error_set(reterr, BIDE_NOMEM, "out of memory");
	case json_error_stack_overflow:
		return refuse(reterr, "nesting deeper than 64", at);
	case json_error_invalid_utf8:
		return refuse(reterr, "text is not UTF-8", at);
	case json_error_premature_end_of_input:
		return refuse(reterr, "text ends too early", at);
	case json_error_end_of_input_expected:
		return refuse(reterr, "more text after the value", at);
	case json_error_null_character:
	case json_error_null_byte_in_key:
		return refuse(reterr, "\\u0000 in a string", at);
	case json_error_duplicate_key:
		return refuse(reterr, "duplicate member", at);
	case json_error_numeric_overflow:
		return refuse(reterr,
			      strstr(e->text, "real")
				      ? "number too large"
				      : "integer beyond 64 bits",
			      at);
	case json_error_unknown:
	case json_error_cannot_open_file:
	case json_error_invalid_argument:
	case json_error_invalid_syntax:
	case json_error_invalid_format:
	case json_error_wrong_type:
	case json_error_null_value:
	case json_error_item_not_found:
	case json_error_index_out_of_range:
		break;
	}
	return refuse(reterr, "syntax error", at);
}

enum bide_rc jsontext_parse(const char *text, size_t len, json_t **ret,
			    struct bide_error *reterr)
{
	const char *nul = len ? memchr(text, '\0', len) : NULL;
	json_error_t e;
	json_t *value = NULL;
	size_t at = 0;

	if (nul)
		return refuse(reterr, "a NUL", (size_t)(nul - text));
	if (too_deep(text, len, &at))
		return refuse(reterr, "nesting deeper than 64", at);
	value = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
			   &e);
	if (!value)
		return translate(&e, reterr);
	*ret = value;
	return BIDE_OK;
}
