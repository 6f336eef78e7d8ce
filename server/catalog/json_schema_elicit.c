/* SPDX-License-Identifier: MIT */
/* The restricted schemas of client/elicitation "Requested Schema". */
#include "server/base/error.h"
#include "server/catalog/json_schema.h"
#include "server/catalog/json_schema_explain.h"
#include <string.h>

struct form {
	struct bide_error *err;
	enum bide_rc rc;
	const char *property; /* NULL: the form itself */
};

__attribute__((format(printf, 3, 4))) static bool
refuse(struct form *f, const char *keyword, const char *fmt, ...)
{
	char what[160];
	char name[80];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	f->rc = BIDE_INVALID;
	if (f->property) {
		schema_quote(f->property, strlen(f->property), name,
			     sizeof(name));
		error_set(f->err, f->rc, "form property %s%s%s: %s", name,
			  keyword ? ", " : "", keyword ? keyword : "", what);
	} else {
		error_set(f->err, f->rc, "form%s%s: %s", keyword ? ", " : "",
			  keyword ? keyword : "", what);
	}
	return false;
}

static bool is_listed(const char *name, const char *const *list)
{
	for (; *list; list++) {
		if (strcmp(name, *list) == 0)
			return true;
	}
	return false;
}

/* Keywords of JSON Schema that a form of any kind cannot have; a name that
 * stands nowhere is an annotation, and let through. */
static const char *const keywords[] = {
	"$ref",
	"$dynamicRef",
	"$defs",
	"$anchor",
	"$dynamicAnchor",
	"$id",
	"definitions",
	"allOf",
	"anyOf",
	"oneOf",
	"not",
	"if",
	"then",
	"else",
	"dependentSchemas",
	"dependentRequired",
	"dependencies",
	"properties",
	"patternProperties",
	"additionalProperties",
	"propertyNames",
	"minProperties",
	"maxProperties",
	"required",
	"prefixItems",
	"items",
	"additionalItems",
	"contains",
	"minContains",
	"maxContains",
	"minItems",
	"maxItems",
	"uniqueItems",
	"unevaluatedItems",
	"unevaluatedProperties",
	"type",
	"enum",
	"const",
	"multipleOf",
	"minimum",
	"maximum",
	"exclusiveMinimum",
	"exclusiveMaximum",
	"minLength",
	"maxLength",
	"pattern",
	"format",
	NULL,
};

static bool only(struct form *f, const json_t *schema,
		 const char *const *allowed)
{
	json_t *object = (json_t *)schema; /* only read */
	const char *name;
	json_t *value;

	json_object_foreach (object, name, value) {
		if (is_listed(name, keywords) && !is_listed(name, allowed))
			return refuse(f, name,
				      "is not for forms, which are flat and "
				      "hold strings, numbers, booleans and "
				      "choices");
	}
	return true;
}

static bool strings(struct form *f, const json_t *list, const char *keyword)
{
	if (!json_is_array(list) || json_array_size(list) == 0)
		return refuse(f, keyword, "must be an array of strings");
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (!json_is_string(json_array_get(list, i)))
			return refuse(f, keyword,
				      "must be an array of strings");
	}
	return true;
}

/* [{"const": ..., "title": ...}, ...] */
static bool titled(struct form *f, const json_t *list, const char *keyword)
{
	static const char *const allowed[] = {"const", NULL};

	if (!json_is_array(list) || json_array_size(list) == 0)
		return refuse(f, keyword, "must be an array of choices");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *choice = json_array_get(list, i);

		if (!json_is_string(json_object_get(choice, "const")) ||
		    !json_is_string(json_object_get(choice, "title")))
			return refuse(f, keyword,
				      "each choice needs a const and a title, "
				      "both strings");
		if (!only(f, choice, allowed))
			return false;
	}
	return true;
}

static bool enumeration(struct form *f, const json_t *p)
{
	static const char *const allowed[] = {"type", "enum", NULL};
	const json_t *values = json_object_get(p, "enum");
	const json_t *names = json_object_get(p, "enumNames");

	if (!strings(f, values, "enum") || !only(f, p, allowed))
		return false;
	if (names && (!strings(f, names, "enumNames") ||
		      json_array_size(names) != json_array_size(values)))
		return refuse(f, "enumNames",
			      "must be as many strings as enum has");
	return true;
}

static bool text(struct form *f, const json_t *p)
{
	static const char *const allowed[] = {"type", "minLength", "maxLength",
					      "format", NULL};
	static const char *const choice[] = {"type", "oneOf", NULL};
	static const char *const formats[] = {"email", "uri", "date",
					      "date-time", NULL};
	const json_t *format = json_object_get(p, "format");

	if (json_object_get(p, "enum"))
		return enumeration(f, p);
	if (json_object_get(p, "oneOf"))
		return titled(f, json_object_get(p, "oneOf"), "oneOf") &&
		       only(f, p, choice);
	if (format && (!json_is_string(format) ||
		       !is_listed(json_string_value(format), formats)))
		return refuse(f, "format",
			      "must be email, uri, date or date-time");
	return only(f, p, allowed);
}

static bool choices(struct form *f, const json_t *p)
{
	static const char *const allowed[] = {
		"type", "minItems", "maxItems", "uniqueItems", "items", NULL};
	static const char *const plain[] = {"type", "enum", NULL};
	static const char *const with_titles[] = {"type", "anyOf", NULL};
	const json_t *items = json_object_get(p, "items");
	const char *type = json_string_value(json_object_get(items, "type"));

	if (!only(f, p, allowed))
		return false;
	if (type && strcmp(type, "string") != 0)
		return refuse(f, "items", "must be a choice of strings");
	if (json_object_get(items, "anyOf"))
		return titled(f, json_object_get(items, "anyOf"), "anyOf") &&
		       only(f, items, with_titles);
	if (!type || !json_object_get(items, "enum"))
		return refuse(f, "items",
			      "must be a choice of strings: type and enum, or "
			      "anyOf with titles");
	return strings(f, json_object_get(items, "enum"), "enum") &&
	       only(f, items, plain);
}

/* A default that the person could not have given is no default. */
static bool default_fits(struct form *f, const json_t *p)
{
	const json_t *value = json_object_get(p, "default");
	struct json_schema_problem problem;
	struct json_schema *s = NULL;
	size_t n = 0;
	enum bide_rc rc;

	if (!value)
		return true;
	rc = json_schema_compile(p, &s, f->err);
	if (rc == BIDE_OK) {
		rc = json_schema_validate(s, value, &problem, 1, &n);
		if (n > 0)
			refuse(f, "default", "expected %s", problem.expected);
	}
	json_schema_free(s);
	f->rc = rc;
	return rc == BIDE_OK;
}

static bool property(struct form *f, const json_t *p)
{
	static const char *const number[] = {"type", "minimum", "maximum",
					     NULL};
	static const char *const boolean[] = {"type", NULL};
	const char *type = json_string_value(json_object_get(p, "type"));
	bool ok;

	if (!json_is_object(p))
		return refuse(f, NULL, "must be an object");
	if (!type)
		return refuse(f, "type",
			      "must be string, number, integer, boolean or "
			      "array");
	if (strcmp(type, "string") == 0)
		ok = text(f, p);
	else if (strcmp(type, "number") == 0 || strcmp(type, "integer") == 0)
		ok = only(f, p, number);
	else if (strcmp(type, "boolean") == 0)
		ok = only(f, p, boolean);
	else if (strcmp(type, "array") == 0)
		ok = choices(f, p);
	else
		return refuse(f, "type",
			      "%.20s is not for forms; string, number, "
			      "integer, boolean and array are",
			      type);
	return ok && default_fits(f, p);
}

static bool whole(struct form *f, const json_t *schema)
{
	static const char *const allowed[] = {"type", "properties", "required",
					      "additionalProperties", NULL};
	const char *type = json_string_value(json_object_get(schema, "type"));
	const json_t *more = json_object_get(schema, "additionalProperties");
	json_t *properties = json_object_get(schema, "properties");
	const json_t *required = json_object_get(schema, "required");
	const char *name;
	json_t *p;

	if (!type || strcmp(type, "object") != 0)
		return refuse(f, "type", "must be object");
	if (!json_is_object(properties))
		return refuse(f, "properties", "must be an object");
	if (!only(f, schema, allowed))
		return false;
	if (more && !json_is_boolean(more))
		return refuse(f, "additionalProperties",
			      "must be true or false");
	json_object_foreach (properties, name, p) {
		f->property = name;
		if (!property(f, p))
			return false;
	}
	f->property = NULL;
	for (size_t i = 0; i < json_array_size(required); i++) {
		name = json_string_value(json_array_get(required, i));
		if (name && !json_object_get(properties, name))
			return refuse(f, "required",
				      "\"%.60s\" is not among the properties",
				      name);
	}
	return true;
}

enum bide_rc json_schema_check_elicitation(const json_t *schema,
					   struct bide_error *reterr)
{
	struct form f = {.err = reterr};
	struct json_schema *s = NULL;
	enum bide_rc rc;

	/* As a schema first, so that what follows can trust its form. */
	if (!json_is_object(schema)) {
		refuse(&f, NULL, "must be an object");
		return f.rc;
	}
	rc = json_schema_compile(schema, &s, reterr);
	json_schema_free(s);
	if (rc != BIDE_OK)
		return rc;
	whole(&f, schema);
	return f.rc;
}
