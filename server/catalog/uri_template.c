/* SPDX-License-Identifier: MIT */
#include "server/catalog/uri_template.h"
#include "server/base/buf.h"
#include "server/base/error.h"
#include "server/base/limits.h"
#include "server/base/utf8.h"
#include "server/catalog/uri.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE_CHARS                                                         \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_."

enum part_kind {
	PART_LITERAL = 1,
	PART_SEGMENT, /* {name} */
	PART_PATH     /* {+name} */
};

struct part {
	enum part_kind kind;
	char *text; /* the literal, or the variable's name */
	size_t len;
};

struct uri_template {
	struct part *parts;
	size_t n, n_vars;
};

/* ---- making one ---- */

void uri_template_free(struct uri_template *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++)
		free(t->parts[i].text);
	free(t->parts);
	free(t);
}

bool uri_template_has(const struct uri_template *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->parts[i].kind != PART_LITERAL &&
		    !strcmp(t->parts[i].text, name))
			return true;
	return false;
}

static enum bide_rc add_part(struct uri_template *t, enum part_kind kind,
			     const char *text, size_t len)
{
	char *copy = strndup(text, len);

	if (!copy)
		return BIDE_NOMEM;
	t->parts[t->n++] = (struct part){kind, copy, len};
	t->n_vars += kind != PART_LITERAL;
	return BIDE_OK;
}

static enum bide_rc add_expression(struct uri_template *t, const char *text,
				   size_t len, struct bide_error *reterr)
{
	enum part_kind kind = *text == '+' ? PART_PATH : PART_SEGMENT;
	enum bide_rc rc;

	if (kind == PART_PATH) {
		text++;
		len--;
	}
	if (len == 0 || strspn(text, VARIABLE_CHARS) < len)
		return error_set(reterr, BIDE_INVALID,
				 "an expression is neither {name} nor {+name} "
				 "of A-Z a-z 0-9 _ .");
	if (t->n_vars == LIMIT_TEMPLATE_VARIABLES)
		return error_set(reterr, BIDE_LIMIT,
				 "more than %d variables "
				 "(LIMIT_TEMPLATE_VARIABLES)",
				 LIMIT_TEMPLATE_VARIABLES);
	if (t->n > 0 && t->parts[t->n - 1].kind != PART_LITERAL)
		return error_set(reterr, BIDE_INVALID,
				 "two expressions have nothing between them");
	rc = add_part(t, kind, text, len);
	/* Not the first of its name. */
	for (size_t i = 0; !rc && i + 1 < t->n; i++)
		if (t->parts[i].kind != PART_LITERAL &&
		    !strcmp(t->parts[i].text, t->parts[t->n - 1].text))
			rc = error_set(reterr, BIDE_INVALID,
				       "two variables are named \"%s\"",
				       t->parts[i].text);
	return rc;
}

static enum bide_rc read_parts(struct uri_template *t, const char *s,
			       struct bide_error *reterr)
{
	enum bide_rc rc = BIDE_OK;
	const char *close = NULL;
	size_t len;

	while (*s && !rc) {
		if (*s != '{') {
			len = strcspn(s, "{");
			rc = add_part(t, PART_LITERAL, s, len);
			s += len;
			continue;
		}
		close = strchr(s, '}');
		if (!close)
			return error_set(reterr, BIDE_INVALID, "a { has no }");
		rc = add_expression(t, s + 1, (size_t)(close - s) - 1, reterr);
		s = close + 1;
	}
	return rc;
}

/* A variable takes whole characters, so within an escape none begins. */
static bool cuts_an_escape(const struct uri_template *t)
{
	const struct part *p = NULL;

	for (size_t i = 0; i + 1 < t->n; i++) {
		p = &t->parts[i];
		if (p->kind == PART_LITERAL &&
		    memchr(p->text + (p->len < 2 ? 0 : p->len - 2), '%', 2))
			return true;
	}
	return false;
}

static bool is_dots(const char *s, size_t n)
{
	return n > 0 && n <= 2 && strspn(s, ".") >= n;
}

/* Clients take such a segment out before they send the URI (RFC 3986, 6.2.2.3),
 * so it would match nothing that comes. */
static bool has_dot_segment(const char *uri)
{
	const char *s = strchr(uri, ':') + 1;
	const char *end = s + strcspn(s, "?#");
	size_t n;

	if (!strncmp(s, "//", 2)) /* not in the authority */
		s += 2 + strcspn(s + 2, "/?#");
	for (; s < end; s += n + 1) {
		n = strcspn(s, "/?#");
		if (is_dots(s, n))
			return true;
	}
	return false;
}

static const char *shape_problem(const struct uri_template *t, const char *uri,
				 size_t len)
{
	if (len == 0 || len > LIMIT_URI_BYTES || !uri_valid(uri, len) ||
	    t->parts[0].kind != PART_LITERAL || !strchr(t->parts[0].text, ':'))
		return "what stands around the variables is no absolute URI "
		       "with a scheme of its own";
	if (cuts_an_escape(t))
		return "an expression stands within an escape (%XX)";
	if (has_dot_segment(uri))
		return "a segment of it is \".\" or \"..\"";
	return NULL;
}

/* Looked at with a digit for each variable, for that may stand anywhere in a
 * URI. */
static enum bide_rc check_shape(const struct uri_template *t,
				struct bide_error *reterr)
{
	const char *problem = NULL;
	enum bide_rc rc = BIDE_OK;
	struct buf b = {0};

	for (size_t i = 0; i < t->n; i++) {
		if (t->parts[i].kind == PART_LITERAL)
			buf_add(&b, t->parts[i].text, t->parts[i].len);
		else
			buf_addc(&b, '1');
	}
	if (b.failed)
		rc = BIDE_NOMEM;
	else
		problem = shape_problem(t, b.data, b.len);
	buf_fini(&b);
	return problem ? error_set(reterr, BIDE_INVALID, "%s", problem) : rc;
}

enum bide_rc uri_template_new(const char *text, struct uri_template **ret,
			      struct bide_error *reterr)
{
	struct uri_template *t = calloc(1, sizeof(*t));
	size_t most = 1;
	enum bide_rc rc;

	if (!t)
		return error_set(reterr, BIDE_NOMEM, "out of memory");
	for (const char *s = text; *s; s++)
		most += *s == '{' ? 2 : 0;
	t->parts = calloc(most, sizeof(*t->parts));
	rc = t->parts ? read_parts(t, text, reterr) : BIDE_NOMEM;
	if (!rc)
		rc = check_shape(t, reterr);
	if (!rc && t->n_vars == 0)
		rc = error_set(reterr, BIDE_INVALID, "it has no variable");
	if (rc == BIDE_NOMEM)
		rc = error_set(reterr, BIDE_NOMEM, "out of memory");
	if (rc)
		uri_template_free(t);
	else
		*ret = t;
	return rc;
}

/* ---- matching ---- */

/*
 * For each variable and each place in the URI, where the variable ends when it
 * begins there and takes as much as it can while all that follows still fits;
 * 0: it cannot begin there. Filled from the end, so each place is looked at
 * once for each variable, whatever a stranger sends.
 */
struct match {
	const struct uri_template *t;
	const char *uri;
	size_t len;
	uint16_t *ends; /* [part][place], of all parts for simplicity */
};
_Static_assert(LIMIT_URI_BYTES <= UINT16_MAX, "places fit");

static uint16_t *ends_of(const struct match *m, size_t part)
{
	return &m->ends[part * (m->len + 1)];
}

/* Do the parts from @part on fit from @at on? */
static bool rest_fits(const struct match *m, size_t part, size_t at)
{
	const struct part *p = &m->t->parts[part];

	if (part < m->t->n && p->kind == PART_LITERAL) {
		if (m->len - at < p->len ||
		    memcmp(m->uri + at, p->text, p->len) != 0)
			return false;
		at += p->len;
		part++;
	}
	if (part == m->t->n)
		return at == m->len;
	return ends_of(m, part)[at] != 0;
}

static bool is_escape(const char *s, const char *upper, const char *lower)
{
	return !strncmp(s, upper, 3) || !strncmp(s, lower, 3);
}

/* The bytes of the character at @at, 0 when a variable of @kind has none such.
 * A NUL is nowhere, a "/" only in paths, escaped or not. */
static size_t character(const struct match *m, enum part_kind kind, size_t at)
{
	const char *s = m->uri + at;

	/* Within an escape: no character begins. */
	if ((at >= 1 && s[-1] == '%') || (at >= 2 && s[-2] == '%'))
		return 0;
	if (is_escape(s, "%00", "%00"))
		return 0;
	if (kind == PART_SEGMENT && (*s == '/' || is_escape(s, "%2F", "%2f")))
		return 0;
	if (*s == '%' && m->len - at < 3)
		return 0;
	return *s == '%' ? 3 : 1;
}

static void fill(const struct match *m, size_t part)
{
	uint16_t *ends = ends_of(m, part);

	for (size_t at = m->len; at-- > 0;) {
		size_t next = at + character(m, m->t->parts[part].kind, at);

		if (next == at)
			ends[at] = 0;
		else if (ends[next])
			ends[at] = ends[next];
		else
			ends[at] = rest_fits(m, part + 1, next) ? (uint16_t)next
								: 0;
	}
}

/*
 * Has it a "." or ".." segment, or is it an absolute path behind a "/", where
 * it would be taken for one below what the template points at? Only "://"
 * leaves room for one: file://{+path}.
 */
static bool climbs(const char *value, const char *before, size_t before_len)
{
	size_t n;

	if (*value == '/' &&
	    (before_len < 3 || memcmp(before + before_len - 3, "://", 3) != 0))
		return true;
	for (const char *s = value; *s; s += n + (s[n] == '/')) {
		n = strcspn(s, "/");
		if (is_dots(s, n))
			return true;
	}
	return false;
}

static enum bide_rc take_value(const struct match *m, size_t part, size_t at,
			       size_t end, json_t *vars)
{
	const struct part *before = &m->t->parts[part - 1];
	char *value = strndup(m->uri + at, end - at);
	enum bide_rc rc = BIDE_NOT_FOUND;

	if (!value)
		return BIDE_NOMEM;
	if (uri_decode(value) && utf8_valid(value, strlen(value)) &&
	    !climbs(value, before->text, before->len))
		rc = json_object_set_new(vars, m->t->parts[part].text,
					 json_string(value))
			     ? BIDE_NOMEM
			     : BIDE_OK;
	free(value);
	return rc;
}

static enum bide_rc take_values(const struct match *m, json_t *vars)
{
	enum bide_rc rc = BIDE_OK;
	size_t at = 0;
	size_t end;

	for (size_t i = 0; i < m->t->n && !rc; i++) {
		if (m->t->parts[i].kind == PART_LITERAL) {
			at += m->t->parts[i].len;
			continue;
		}
		end = ends_of(m, i)[at];
		rc = take_value(m, i, at, end, vars);
		at = end;
	}
	return rc;
}

static enum bide_rc match(struct match *m, json_t *vars)
{
	m->ends = calloc(m->t->n * (m->len + 1), sizeof(*m->ends));
	if (!m->ends)
		return BIDE_NOMEM;
	for (size_t i = m->t->n; i-- > 0;)
		if (m->t->parts[i].kind != PART_LITERAL)
			fill(m, i);
	return rest_fits(m, 0, 0) ? take_values(m, vars) : BIDE_NOT_FOUND;
}

enum bide_rc uri_template_match(const struct uri_template *t, const char *uri,
				json_t **ret_vars)
{
	struct match m = {.t = t, .uri = uri, .len = strlen(uri)};
	json_t *vars = NULL;
	enum bide_rc rc;

	if (m.len > LIMIT_URI_BYTES ||
	    strncmp(uri, t->parts[0].text, t->parts[0].len) != 0)
		return BIDE_NOT_FOUND;
	vars = json_object();
	rc = vars ? match(&m, vars) : BIDE_NOMEM;
	free(m.ends);
	if (rc == BIDE_OK && ret_vars)
		*ret_vars = json_incref(vars);
	json_decref(vars);
	return rc;
}
