/* SPDX-License-Identifier: MIT */
#include "server/protocol/params.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/jsontext.h"
#include "server/protocol/headers.h"

/* What JavaScript holds exactly; the page lets integers have no more. */
#define SAFE_MAX    JSONTEXT_EXACT
#define SAFE_DIGITS 16

/* The value at the exact path; NULL: none, and null is as good as none. */
static const json_t *value_at(const json_t *args, const char *const *path)
{
	for (; *path != NULL; path++)
		args = json_object_get(args, *path);
	return json_is_null(args) ? NULL : args;
}

/* ---- numbers ---- */
static bool has_fraction(const json_t *value)
{
	double d = json_number_value(value);

	return d < floor(d) || d > floor(d);
}

/* Has it no fraction, and is it safe? */
static bool whole(const json_t *value, int64_t *ret)
{
	double d = json_number_value(value);

	if (has_fraction(value) || fabs(d) > (double)SAFE_MAX)
		return false;
	*ret = json_is_real(value) ? (int64_t)d : json_integer_value(value);
	return *ret >= -SAFE_MAX && *ret <= SAFE_MAX;
}

/*
 * A decimal integer, with a fraction of zeros or none: "42", "-7", "42.0".
 * Digit by digit, for a double would take a little more for the same; and no
 * client writes a safe integer with an exponent or with leading zeros.
 */
static bool text_is_whole(const char *s, int64_t want)
{
	const char *digits = *s == '-' ? s + 1 : s;
	size_t n = strspn(digits, "0123456789");
	const char *end = digits + n;
	size_t zeros = 0;

	if (n == 0 || n > SAFE_DIGITS || (n > 1 && *digits == '0'))
		return false;
	if (*end == '.') {
		zeros = strspn(end + 1, "0");
		end += zeros > 0 ? zeros + 1 : 0;
	}
	return *end == '\0' && strtoll(s, NULL, 10) == want;
}

static bool text_is_number(const char *s, const json_t *want)
{
	json_t *got = NULL;
	bool same = jsontext_parse(s, strlen(s), &got, NULL) == BIDE_OK &&
		    json_is_number(got) &&
		    !(json_number_value(got) < json_number_value(want)) &&
		    !(json_number_value(got) > json_number_value(want));

	json_decref(got);
	return same;
}

/* ---- one parameter ---- */
/* By the value's own type: when it is not the parameter's, the arguments are
 * refused later, in words that help more. */
static bool says(const struct buf *text, const json_t *value)
{
	int64_t n = 0;

	if (json_is_string(value))
		return text->len == json_string_length(value) &&
		       memcmp(text->data, json_string_value(value),
			      text->len) == 0;
	if (strlen(text->data) != text->len)
		return false;
	if (json_is_boolean(value))
		return strcmp(text->data,
			      json_is_true(value) ? "true" : "false") == 0;
	if (whole(value, &n))
		return text_is_whole(text->data, n);
	return json_is_real(value) && text_is_number(text->data, value);
}

static const char *problem_of(const json_t *value, const char *header)
{
	struct buf text = {0};
	const char *problem = NULL;
	int64_t n = 0;

	if (value == NULL || json_is_object(value) || json_is_array(value))
		return header != NULL ? "mirrors nothing" : NULL;
	if (json_is_number(value) && !has_fraction(value) && !whole(value, &n))
		return "mirrors an integer that is not safe (2^53)";
	if (header == NULL)
		return "is missing";
	if (!headers_decode(header, &text))
		problem = "is not a header value, or not strict Base64";
	else if (!says(&text, value))
		problem = "does not match";
	buf_fini(&text);
	return problem;
}

static void explain(const struct tool_param *p, const char *problem,
		    struct buf *why)
{
	(void)buf_addf(why, "%s %s: arguments", p->header, problem);
	for (const char *const *name = p->path; *name != NULL; name++)
		(void)buf_addf(why, "/%s", *name);
}

bool params_agree(const struct tool *t, const json_t *args, struct exchange *ex,
		  struct buf *why)
{
	for (size_t i = 0; i < t->n_params; i++) {
		const struct tool_param *p = &t->params[i];
		const char *problem = problem_of(value_at(args, p->path),
						 headers_get(ex, p->header));

		if (problem != NULL) {
			explain(p, problem, why);
			return false;
		}
	}
	return true;
}
