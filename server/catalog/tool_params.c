/* SPDX-License-Identifier: MIT */
#include "server/catalog/tool_params.h"
#include "server/base/error.h"
#include "server/base/limits.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ANNOTATION "x-mcp-header"
#define PREFIX     "Mcp-Param-"

/* A subschema on the way down; kept on the C stack. */
struct step {
	const struct step *up;
	const char *keyword; /* that it stands under; NULL: the root */
	const char *name;    /* of a property, or in another map; NULL: none */
	size_t depth;        /* properties from the root */
	bool reachable;      /* by "properties" alone */
};

struct scan {
	const struct entry *e;
	struct tool_param *params;
	size_t n;
	enum bide_rc rc;
};

/* ---- where and why ---- */

/* "properties/region", cut at the front. */
static void write_path(const struct step *at, char *out, size_t cap)
{
	char *p = out + cap;
	const char *parts[2];
	size_t len;

	*--p = '\0';
	for (; at->keyword; at = at->up) {
		parts[0] = at->name;
		parts[1] = at->keyword;
		for (size_t i = at->name ? 0 : 1; i < 2; i++) {
			len = strlen(parts[i]);
			if (len + 1 > (size_t)(p - out))
				goto done;
			p -= len;
			memcpy(p, parts[i], len);
			*--p = '/';
		}
	}
done:
	p += *p == '/';
	memmove(out, p, strlen(p) + 1);
}

static bool fail(struct scan *s, const struct step *at, const char *why)
{
	char path[96];

	write_path(at, path, sizeof(path));
	s->rc = entry_refuse(s->e, "input_schema/%s: " ANNOTATION " %s", path,
			     why);
	return false;
}

static bool fail_limit(struct scan *s, enum bide_rc rc)
{
	s->rc = rc == BIDE_NOMEM
			? entry_nomem(s->e)
			: error_set(s->e->err, rc,
				    "tool \"%.128s\": more than %d properties "
				    "with " ANNOTATION " (LIMIT_TOOL_HEADERS)",
				    s->e->name, LIMIT_TOOL_HEADERS);
	return false;
}

/* ---- one annotation ---- */

/* RFC 9110, 5.6.2 "Tokens". */
static bool is_token(const char *s)
{
	static const char tchars[] = "!#$%&'*+-.^_`|~0123456789"
				     "abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return *s && s[strspn(s, tchars)] == '\0';
}

static const char *header_problem(const struct scan *s, const json_t *value)
{
	const char *name = json_string_value(value);

	if (!name)
		return "is not a string";
	if (!is_token(name))
		return "is not a token (RFC 9110, 5.6.2)";
	if (strlen(name) > LIMIT_NAME_BYTES)
		return "is too long (LIMIT_NAME_BYTES)";
	for (size_t i = 0; i < s->n; i++)
		if (!strcasecmp(s->params[i].header + sizeof(PREFIX) - 1, name))
			return "is another property's too (case does not "
			       "matter in it)";
	return NULL;
}

/*
 * One type by its name. A list of types, ["string", "null"] say, is not among
 * what the page allows, and the official client drops a tool that has one: a
 * parameter that may be left out is left out of "required".
 */
static const char *type_problem(const json_t *type, enum param_type *ret)
{
	const char *name = json_string_value(type);

	if (name && !strcmp(name, "string"))
		*ret = PARAM_STRING;
	else if (name && !strcmp(name, "integer"))
		*ret = PARAM_INTEGER;
	else if (name && !strcmp(name, "boolean"))
		*ret = PARAM_BOOLEAN;
	else
		return "is for the types string, integer and boolean, one of "
		       "them alone";
	return NULL;
}

/* The names of the properties down to @at; NULL: no memory. */
static char **copy_path(const struct step *at)
{
	const size_t depth = at->depth;
	char **path = calloc(depth + 1, sizeof(*path));
	bool ok = path != NULL;

	for (; ok && at->keyword; at = at->up) {
		path[at->depth - 1] = strdup(at->name);
		ok = path[at->depth - 1] != NULL;
	}
	if (ok)
		return path;
	for (size_t i = 0; path && i < depth; i++)
		free(path[i]);
	free(path);
	return NULL;
}

static bool add(struct scan *s, const struct step *at, json_t *schema,
		const char *header, enum param_type type)
{
	const char *format =
		json_string_value(json_object_get(schema, "format"));
	struct tool_param *p = NULL;

	if (s->n == LIMIT_TOOL_HEADERS)
		return fail_limit(s, BIDE_LIMIT);
	p = realloc(s->params, (s->n + 1) * sizeof(*p));
	if (!p)
		return fail_limit(s, BIDE_NOMEM);
	s->params = p;
	p += s->n++;
	*p = (struct tool_param){.type = type};
	p->secret = json_schema_secret_name(at->name) ||
		    (format && !strcmp(format, "password"));
	p->path = (const char *const *)copy_path(at);
	if (asprintf(&p->header, PREFIX "%s", header) < 0)
		p->header = NULL;
	if (!p->path || !p->header)
		return fail_limit(s, BIDE_NOMEM);
	return true;
}

static bool take_annotation(struct scan *s, const struct step *at,
			    json_t *schema, const json_t *value)
{
	enum param_type type = PARAM_STRING;
	const char *problem = NULL;

	if (!at->reachable || at->depth == 0)
		problem = "stands where no chain of \"properties\" from the "
			  "root leads";
	if (!problem)
		problem = header_problem(s, value);
	if (!problem)
		problem = type_problem(json_object_get(schema, "type"), &type);
	if (problem)
		return fail(s, at, problem);
	return add(s, at, schema, json_string_value(value), type);
}

/* ---- the whole schema ---- */

static bool is_one_of(const char *name, const char *const *names)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names != NULL;
}

/* What is data, and not schema. */
static bool is_data(const char *keyword)
{
	static const char *const names[] = {"const", "enum", "default",
					    "examples", NULL};

	return is_one_of(keyword, names);
}

/* Objects whose members have names, not keywords. */
static bool is_map(const char *keyword)
{
	static const char *const names[] = {
		"properties",       "patternProperties", "$defs", "definitions",
		"dependentSchemas", "dependencies",      NULL};

	return is_one_of(keyword, names);
}

static bool scan_schema(struct scan *s, const struct step *at, json_t *schema);

static bool scan_map(struct scan *s, struct step step, json_t *map)
{
	const char *name = NULL;
	json_t *sub = NULL;

	if (strcmp(step.keyword, "properties") != 0)
		step.reachable = false;
	step.depth++;
	json_object_foreach (map, name, sub) {
		step.name = name;
		if (!scan_schema(s, &step, sub))
			return false;
	}
	return true;
}

/* Whatever else may hold a schema: by itself, or in an array. Unknown keywords
 * count, for clients may look there too. */
static bool scan_other(struct scan *s, struct step step, json_t *value)
{
	json_t *sub = NULL;
	size_t i;

	step.reachable = false;
	if (!json_is_array(value))
		return scan_schema(s, &step, value);
	json_array_foreach (value, i, sub)
		if (!scan_schema(s, &step, sub))
			return false;
	return true;
}

static bool scan_schema(struct scan *s, const struct step *at, json_t *schema)
{
	struct step step = {
		.up = at, .depth = at->depth, .reachable = at->reachable};
	const char *keyword = NULL;
	json_t *value = NULL;
	bool ok = true;

	json_object_foreach (schema, keyword, value) {
		step.keyword = keyword;
		if (!strcmp(keyword, ANNOTATION))
			ok = take_annotation(s, at, schema, value);
		else if (is_map(keyword))
			ok = scan_map(s, step, value);
		else if (!is_data(keyword))
			ok = scan_other(s, step, value);
		if (!ok)
			return false;
	}
	return true;
}

void tool_params_free(struct tool_param *params, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; params[i].path && params[i].path[k]; k++)
			entry_drop(params[i].path[k]);
		free((void *)params[i].path);
		free(params[i].header);
	}
	free(params);
}

enum bide_rc tool_params_read(const struct entry *e, json_t *schema,
			      struct tool_param **ret, size_t *ret_n)
{
	struct scan s = {.e = e};
	const struct step root = {.reachable = true};

	if (!scan_schema(&s, &root, schema)) {
		tool_params_free(s.params, s.n);
		return s.rc;
	}
	*ret = s.params;
	*ret_n = s.n;
	return BIDE_OK;
}
