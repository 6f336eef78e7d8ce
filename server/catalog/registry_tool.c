/* SPDX-License-Identifier: MIT */
#include "server/base/error.h"
#include "server/base/jsontext.h"
#include "server/catalog/entry.h"
#include "server/catalog/registry_internal.h"
#include "server/catalog/tool_params.h"
#include <stdlib.h>
#include <string.h>

/* Any arguments at all: what a tool that needs none is given is its caller's
 * affair, and models do give something. */
#define NO_ARGUMENTS "{\"type\":\"object\"}"

/* ---- settings ---- */

static const char *common_problem(const struct bide_tool *d)
{
	const struct entry_settings s = {d->needs, d->input_deadline_ms,
					 d->wait_budget_ms, d->max_run_ms};

	if (d->ttl_ms < 0)
		return "ttl_ms is negative";
	if (d->retention_ms < 0)
		return "retention_ms is negative";
	if (d->poll_interval_ms < 0)
		return "poll_interval_ms is negative";
	return entry_settings_problem(&s);
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
	return common_problem(d);
}

static enum bide_rc check_settings(const struct entry *e,
				   const struct bide_tool *d, bool builtin)
{
	const char *problem = setting_problem(d);
	enum bide_rc rc;

	if (!problem && !d->handler && !builtin)
		problem = "it has no handler";
	if (problem)
		return entry_refuse(e, "%s", problem);
	rc = entry_check_text(e, "title", d->title);
	if (!rc)
		rc = entry_check_text(e, "description", d->description);
	if (!rc)
		rc = entry_check_text(e, "version", d->version);
	return rc;
}

/* ---- JSON texts ---- */

static enum bide_rc compile(const struct entry *e, const char *what,
			    const json_t *schema, struct json_schema **ret)
{
	struct bide_error why = {0};
	enum bide_rc rc = json_schema_compile(schema, ret, &why);

	if (rc)
		return error_set(e->err, rc, "tool \"%s\": %s: %s", e->name,
				 what, why.text);
	return BIDE_OK;
}

static bool note_secret(struct tool *t, const json_t *schema)
{
	const char *property = json_schema_secret_property(schema);

	if (property)
		t->secret = strdup(property);
	return !property || t->secret;
}

static enum bide_rc prepare_input(const struct entry *e, struct tool *t)
{
	json_t *schema = NULL;
	const char *type = NULL;
	enum bide_rc rc =
		entry_parse(e, "input_schema", t->def.input_schema, &schema);

	if (rc)
		return rc;
	type = json_string_value(json_object_get(schema, "type"));
	if (!type || strcmp(type, "object") != 0)
		rc = entry_refuse(e, "input_schema is not of type object");
	if (!rc)
		rc = compile(e, "input_schema", schema, &t->input);
	if (!rc)
		rc = tool_params_read(e, schema, &t->params, &t->n_params);
	if (!rc && !note_secret(t, schema))
		rc = entry_nomem(e);
	json_decref(schema);
	return rc;
}

static enum bide_rc prepare_output(const struct entry *e, struct tool *t)
{
	json_t *schema = NULL;
	enum bide_rc rc =
		entry_parse(e, "output_schema", t->def.output_schema, &schema);

	if (!rc && schema)
		rc = compile(e, "output_schema", schema, &t->output);
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

static enum bide_rc prepare(const struct entry *e, struct tool *t)
{
	const struct bide_tool *d = &t->def;
	enum bide_rc rc = prepare_input(e, t);

	if (!rc)
		rc = prepare_output(e, t);
	if (!rc)
		rc = entry_check_json(e, "annotations", d->annotations,
				      annotations_problem);
	if (!rc)
		rc = entry_check_json(e, "icons", d->icons,
				      entry_icons_problem);
	return rc;
}

/* The entry of tools/list. */
static enum bide_rc make_listing(const struct entry *e, struct tool *t)
{
	const struct bide_tool *d = &t->def;
	struct buf b = {0};

	buf_addstr(&b, "{\"name\":");
	jsontext_write_string(d->name, strlen(d->name), &b);
	entry_add_string(&b, "title", d->title);
	/* Optional in schema.ts, but readers of the field's suite need it. */
	entry_add_string(&b, "description",
			 d->description ? d->description : "");
	entry_add_json(&b, "inputSchema", d->input_schema);
	entry_add_json(&b, "outputSchema", d->output_schema);
	entry_add_json(&b, "annotations", d->annotations);
	entry_add_json(&b, "icons", d->icons);
	buf_addc(&b, '}');
	return entry_take_listing(e, &b, &t->listing, &t->listing_len);
}

/* ---- making one ---- */

/* Every string becomes ours or, on a failure, NULL. */
static bool own_strings(struct bide_tool *d)
{
	bool ok = entry_own(&d->name, NULL);

	ok = entry_own(&d->title, NULL) && ok;
	ok = entry_own(&d->description, NULL) && ok;
	ok = entry_own(&d->version, "") && ok;
	ok = entry_own(&d->input_schema, NO_ARGUMENTS) && ok;
	ok = entry_own(&d->output_schema, NULL) && ok;
	ok = entry_own(&d->annotations, NULL) && ok;
	ok = entry_own(&d->icons, NULL) && ok;
	d->size = sizeof(*d);
	return ok;
}

void tool_free(struct tool *t)
{
	if (!t)
		return;
	json_schema_free(t->input);
	json_schema_free(t->output);
	tool_params_free(t->params, t->n_params);
	free(t->listing);
	free(t->secret);
	entry_drop(t->def.name);
	entry_drop(t->def.title);
	entry_drop(t->def.description);
	entry_drop(t->def.version);
	entry_drop(t->def.input_schema);
	entry_drop(t->def.output_schema);
	entry_drop(t->def.annotations);
	entry_drop(t->def.icons);
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

static enum bide_rc build(const struct entry *e, struct tool *t)
{
	enum bide_rc rc;

	if (!own_strings(&t->def))
		return entry_nomem(e);
	rc = prepare(e, t);
	t->target = target_of(t);
	return rc ? rc : make_listing(e, t);
}

enum bide_rc tool_new(const struct bide_tool *def, bool builtin,
		      struct tool **ret, struct bide_error *reterr)
{
	struct entry e = {"tool", NULL, reterr};
	struct bide_tool d = {0};
	struct tool *t = NULL;
	enum bide_rc rc = entry_take(&e, def, offsetof(struct bide_tool, mode),
				     &d, sizeof(d));

	e.name = d.name;
	if (!rc)
		rc = entry_check_name(&e);
	if (!rc)
		rc = check_settings(&e, &d, builtin);
	if (rc)
		return rc;
	t = calloc(1, sizeof(*t));
	if (!t)
		return entry_nomem(&e);
	t->def = d;
	t->builtin = builtin;
	rc = build(&e, t);
	if (rc)
		tool_free(t);
	else
		*ret = t;
	return rc;
}
