/* SPDX-License-Identifier: MIT */
#include "server/catalog/registry_tool.h"
#include "server/base/error.h"
#include "server/base/jsontext.h"
#include "server/base/limits.h"
#include "server/base/utf8.h"
#include <stdlib.h>
#include <string.h>

/* Any arguments at all: what a tool that needs none is given is its caller's
 * affair, and models do give something. */
#define NO_ARGUMENTS "{\"type\":\"object\"}"
#define ALL_NEEDS                                                              \
	((unsigned)(BIDE_CAN_ELICIT_FORM | BIDE_CAN_ELICIT_URL |               \
		    BIDE_CAN_SAMPLE | BIDE_CAN_SAMPLE_TOOLS |                  \
		    BIDE_CAN_SAMPLE_CONTEXT | BIDE_CAN_ROOTS |                 \
		    BIDE_CAN_TASKS))

static enum bide_rc refuse(struct bide_error *reterr, const char *name,
			   const char *why)
{
	return error_set(reterr, BIDE_INVALID, "tool \"%.128s\": %s", name,
			 why);
}

/* ---- the caller's struct, which may be of another version ---- */

static bool all_zero(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

/* A shorter one has zeros for what it does not know; a longer one must have
 * zeros in what we do not know. */
static enum bide_rc take_def(const struct bide_tool *def, struct bide_tool *ret,
			     struct bide_error *reterr)
{
	size_t size = def ? def->size : 0;

	if (size < offsetof(struct bide_tool, mode))
		return error_set(reterr, BIDE_INVALID,
				 "a tool's size is not set (BIDE_TOOL)");
	*ret = (struct bide_tool){0};
	if (size > sizeof(*ret)) {
		if (!all_zero((const char *)def + sizeof(*ret),
			      size - sizeof(*ret)))
			return error_set(reterr, BIDE_INVALID,
					 "a tool has settings that this "
					 "version of the library lacks");
		size = sizeof(*ret);
	}
	memcpy(ret, def, size);
	return BIDE_OK;
}

/* server/tools "Tool Names" */
static enum bide_rc check_name(const char *name, struct bide_error *reterr)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz"
				      "0123456789_-.";
	size_t n = name ? strspn(name, allowed) : 0;

	if (!name || !*name)
		return error_set(reterr, BIDE_INVALID, "a tool has no name");
	if (name[n])
		return error_set(reterr, BIDE_INVALID,
				 "tool \"%.128s\": the character at %zu of its "
				 "name is none of A-Z a-z 0-9 _ - .",
				 name, n);
	if (n > LIMIT_NAME_BYTES)
		return error_set(reterr, BIDE_INVALID,
				 "a tool's name is longer than %d",
				 LIMIT_NAME_BYTES);
	return BIDE_OK;
}

/* ---- settings ---- */

static const char *time_problem(const struct bide_tool *d)
{
	if (d->ttl_ms < 0)
		return "ttl_ms is negative";
	if (d->retention_ms < 0)
		return "retention_ms is negative";
	if (d->input_deadline_ms < 0)
		return "input_deadline_ms is negative";
	if (d->wait_budget_ms < -1)
		return "wait_budget_ms is negative (and not -1: no wait)";
	if (d->poll_interval_ms < 0)
		return "poll_interval_ms is negative";
	if (d->max_run_ms < 0)
		return "max_run_ms is negative";
	return NULL;
}

static bool mode_known(enum bide_mode mode)
{
	switch (mode) {
	case BIDE_EPHEMERAL:
	case BIDE_PERSISTENT:
	case BIDE_EITHER:
		return true;
	}
	return false;
}

static const char *setting_problem(const struct bide_tool *d)
{
	bool ephemeral = d->mode == BIDE_EPHEMERAL;

	if (!mode_known(d->mode))
		return "mode is none of enum bide_mode";
	if (d->on_close != BIDE_CLOSE_CANCELS &&
	    d->on_close != BIDE_CLOSE_GOES_ON)
		return "on_close is none of enum bide_on_close";
	if (d->without_tasks != BIDE_DETACH &&
	    d->without_tasks != BIDE_DEMAND_TASKS)
		return "without_tasks is none of enum bide_without_tasks";
	if (d->needs & ~ALL_NEEDS)
		return "needs has bits that are none of enum bide_can";
	if (d->runs_inline && !ephemeral)
		return "runs_inline is for ephemeral tools";
	if (d->single_use && !ephemeral)
		return "single_use is for ephemeral tools";
	if (d->without_tasks == BIDE_DEMAND_TASKS && ephemeral)
		return "without_tasks demands tasks of a tool that is never "
		       "one";
	if (d->on_close == BIDE_CLOSE_GOES_ON && ephemeral)
		return "on_close goes on, but an ephemeral call ends with its "
		       "connection";
	return time_problem(d);
}

static enum bide_rc check_text(const char *name, const char *what,
			       const char *s, struct bide_error *reterr)
{
	if (!s || utf8_valid(s, strlen(s)))
		return BIDE_OK;
	return error_set(reterr, BIDE_INVALID,
			 "tool \"%s\": its %s is not UTF-8", name, what);
}

static enum bide_rc check_settings(const struct bide_tool *d, bool builtin,
				   struct bide_error *reterr)
{
	const char *problem = setting_problem(d);
	enum bide_rc rc;

	if (!problem && !d->handler && !builtin)
		problem = "it has no handler";
	if (problem)
		return refuse(reterr, d->name, problem);
	rc = check_text(d->name, "title", d->title, reterr);
	if (!rc)
		rc = check_text(d->name, "description", d->description, reterr);
	if (!rc)
		rc = check_text(d->name, "version", d->version, reterr);
	return rc;
}

/* ---- JSON texts ---- */

/* New reference in @ret, NULL for no text. */
static enum bide_rc parse(const char *name, const char *what, const char *text,
			  json_t **ret, struct bide_error *reterr)
{
	struct bide_error why = {0};
	enum bide_rc rc;

	*ret = NULL;
	if (!text)
		return BIDE_OK;
	rc = jsontext_parse(text, strlen(text), ret, &why);
	if (rc)
		return error_set(reterr, rc, "tool \"%s\": %s: %s", name, what,
				 why.text);
	return BIDE_OK;
}

static enum bide_rc compile(const char *name, const char *what,
			    const json_t *schema, struct json_schema **ret,
			    struct bide_error *reterr)
{
	struct bide_error why = {0};
	enum bide_rc rc = json_schema_compile(schema, ret, &why);

	if (rc)
		return error_set(reterr, rc, "tool \"%s\": %s: %s", name, what,
				 why.text);
	return BIDE_OK;
}

static bool note_secret(struct tool *t, const json_t *schema)
{
	const char *property = json_schema_secret_property(schema);

	if (property)
		t->secret = strdup(property);
	return !property || t->secret;
}

static enum bide_rc prepare_input(struct tool *t, struct bide_error *reterr)
{
	json_t *schema = NULL;
	const char *type = NULL;
	enum bide_rc rc = parse(t->def.name, "input_schema",
				t->def.input_schema, &schema, reterr);

	if (rc)
		return rc;
	type = json_string_value(json_object_get(schema, "type"));
	if (!type || strcmp(type, "object") != 0)
		rc = refuse(reterr, t->def.name,
			    "input_schema is not of type object");
	if (!rc)
		rc = compile(t->def.name, "input_schema", schema, &t->input,
			     reterr);
	if (!rc && !note_secret(t, schema))
		rc = error_set(reterr, BIDE_NOMEM, "out of memory");
	json_decref(schema);
	return rc;
}

static enum bide_rc prepare_output(struct tool *t, struct bide_error *reterr)
{
	json_t *schema = NULL;
	enum bide_rc rc = parse(t->def.name, "output_schema",
				t->def.output_schema, &schema, reterr);

	if (!rc && schema)
		rc = compile(t->def.name, "output_schema", schema, &t->output,
			     reterr);
	json_decref(schema);
	return rc;
}

/* ToolAnnotations of schema.ts; names it does not know pass. */
static const char *annotations_problem(const json_t *a)
{
	static const char *const hints[] = {"readOnlyHint", "destructiveHint",
					    "idempotentHint", "openWorldHint"};
	const json_t *v = json_object_get(a, "title");

	if (!json_is_object(a))
		return "annotations are not an object";
	if (v && !json_is_string(v))
		return "annotations/title is not a string";
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
		v = json_object_get(a, hints[i]);
		if (v && !json_is_boolean(v))
			return "a hint in annotations is not a boolean";
	}
	return NULL;
}

static const char *icons_problem(const json_t *icons)
{
	const json_t *icon = NULL;
	size_t i;

	if (!json_is_array(icons))
		return "icons are not an array";
	json_array_foreach (icons, i, icon)
		if (!json_is_string(json_object_get(icon, "src")))
			return "an icon has no src";
	return NULL;
}

static enum bide_rc check_json(const struct bide_tool *d, const char *what,
			       const char *text,
			       const char *(*problem_of)(const json_t *),
			       struct bide_error *reterr)
{
	json_t *v = NULL;
	enum bide_rc rc = parse(d->name, what, text, &v, reterr);
	const char *problem = NULL;

	if (!rc && v)
		problem = problem_of(v);
	if (problem)
		rc = refuse(reterr, d->name, problem);
	json_decref(v);
	return rc;
}

static enum bide_rc prepare(struct tool *t, struct bide_error *reterr)
{
	const struct bide_tool *d = &t->def;
	enum bide_rc rc = prepare_input(t, reterr);

	if (!rc)
		rc = prepare_output(t, reterr);
	if (!rc)
		rc = check_json(d, "annotations", d->annotations,
				annotations_problem, reterr);
	if (!rc)
		rc = check_json(d, "icons", d->icons, icons_problem, reterr);
	return rc;
}

/* ---- the entry of tools/list ---- */

static void add_string(struct buf *b, const char *name, const char *s)
{
	if (!s)
		return;
	buf_addf(b, ",\"%s\":", name);
	jsontext_write_string(s, strlen(s), b);
}

/*
 * As the bytes it was given in, for clients show it and models read it: but a
 * line break becomes a space, since a message is one line on stdio and in an
 * event (basic/transports). In JSON text they stand between tokens only.
 */
static void add_json(struct buf *b, const char *name, const char *text)
{
	size_t at;

	if (!text)
		return;
	buf_addf(b, ",\"%s\":", name);
	at = b->len;
	buf_addstr(b, text);
	if (b->failed)
		return;
	for (; at < b->len; at++)
		if (b->data[at] == '\n' || b->data[at] == '\r')
			b->data[at] = ' ';
}

static bool make_listing(struct tool *t)
{
	const struct bide_tool *d = &t->def;
	struct buf b = {0};

	buf_addstr(&b, "{\"name\":");
	jsontext_write_string(d->name, strlen(d->name), &b);
	add_string(&b, "title", d->title);
	/* Optional in schema.ts, but readers of the field's suite need it. */
	add_string(&b, "description", d->description ? d->description : "");
	add_json(&b, "inputSchema", d->input_schema);
	add_json(&b, "outputSchema", d->output_schema);
	add_json(&b, "annotations", d->annotations);
	add_json(&b, "icons", d->icons);
	buf_addc(&b, '}');
	t->listing = buf_take(&b, &t->listing_len);
	return t->listing != NULL;
}

/* ---- making one ---- */

static bool own(const char **s, const char *absent)
{
	char *copy = NULL;

	if (!*s)
		*s = absent;
	if (!*s)
		return true;
	copy = strdup(*s);
	*s = copy;
	return copy != NULL;
}

/* Every string becomes ours or, on a failure, NULL. */
static bool own_strings(struct bide_tool *d)
{
	bool ok = own(&d->name, NULL);

	ok = own(&d->title, NULL) && ok;
	ok = own(&d->description, NULL) && ok;
	ok = own(&d->version, "") && ok;
	ok = own(&d->input_schema, NO_ARGUMENTS) && ok;
	ok = own(&d->output_schema, NULL) && ok;
	ok = own(&d->annotations, NULL) && ok;
	ok = own(&d->icons, NULL) && ok;
	d->size = sizeof(*d);
	return ok;
}

static void drop(const char *s)
{
	free((char *)s);
}

void tool_free(struct tool *t)
{
	if (!t)
		return;
	json_schema_free(t->input);
	json_schema_free(t->output);
	free(t->listing);
	free(t->secret);
	drop(t->def.name);
	drop(t->def.title);
	drop(t->def.description);
	drop(t->def.version);
	drop(t->def.input_schema);
	drop(t->def.output_schema);
	drop(t->def.annotations);
	drop(t->def.icons);
	free(t);
}

static struct target target_of(const struct tool *t)
{
	return (struct target){
		.kind = TARGET_TOOL,
		.name = t->def.name,
		.handler = t->def.handler,
		.user = t->def.user,
		.mode = t->def.mode,
		.needs = t->def.needs,
		.runs_inline = t->def.runs_inline,
		.single_use = t->def.single_use,
		.input_deadline_ms = t->def.input_deadline_ms,
		.wait_budget_ms = t->def.wait_budget_ms,
		.max_run_ms = t->def.max_run_ms,
		.output = t->output,
	};
}

static enum bide_rc build(struct tool *t, struct bide_error *reterr)
{
	enum bide_rc rc;

	if (!own_strings(&t->def))
		return error_set(reterr, BIDE_NOMEM, "out of memory");
	rc = prepare(t, reterr);
	t->target = target_of(t);
	if (!rc && !make_listing(t))
		rc = error_set(reterr, BIDE_NOMEM, "out of memory");
	return rc;
}

enum bide_rc tool_new(const struct bide_tool *def, bool builtin,
		      struct tool **ret, struct bide_error *reterr)
{
	struct bide_tool d = {0};
	struct tool *t = NULL;
	enum bide_rc rc = take_def(def, &d, reterr);

	if (!rc)
		rc = check_name(d.name, reterr);
	if (!rc)
		rc = check_settings(&d, builtin, reterr);
	if (rc)
		return rc;
	t = calloc(1, sizeof(*t));
	if (!t)
		return error_set(reterr, BIDE_NOMEM, "out of memory");
	t->def = d;
	t->builtin = builtin;
	rc = build(t, reterr);
	if (rc)
		tool_free(t);
	else
		*ret = t;
	return rc;
}
