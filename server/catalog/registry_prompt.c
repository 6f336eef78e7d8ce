/* SPDX-License-Identifier: MIT */
#include "server/base/error.h"
#include "server/base/jsontext.h"
#include "server/base/limits.h"
#include "server/catalog/entry.h"
#include "server/catalog/registry_internal.h"
#include <stdlib.h>
#include <string.h>

/* ---- checks ---- */

static bool is_repeated(const struct bide_prompt *d, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(d->args[k].name, d->args[i].name))
			return true;
	return false;
}

static enum bide_rc check_arg(const struct entry *e,
			      const struct bide_prompt *d, size_t i)
{
	const struct bide_prompt_arg *a = &d->args[i];
	enum bide_rc rc;

	if (!a->name || !*a->name)
		return entry_refuse(e, "argument %zu has no name", i);
	rc = entry_check_text(e, "argument's name", a->name);
	if (!rc && is_repeated(d, i))
		rc = entry_refuse(e, "two arguments are named \"%s\"", a->name);
	if (!rc)
		rc = entry_check_text(e, "argument's title", a->title);
	if (!rc)
		rc = entry_check_text(e, "argument's description",
				      a->description);
	return rc;
}

static enum bide_rc check_args(const struct entry *e,
			       const struct bide_prompt *d)
{
	enum bide_rc rc = BIDE_OK;

	if (d->n_args && !d->args)
		return entry_refuse(e, "n_args is set, and args is not");
	if (d->n_args > LIMIT_PROMPT_ARGS)
		return error_set(e->err, BIDE_LIMIT,
				 "prompt \"%.128s\": more than %d arguments "
				 "(LIMIT_PROMPT_ARGS)",
				 e->name, LIMIT_PROMPT_ARGS);
	for (size_t i = 0; i < d->n_args && !rc; i++)
		rc = check_arg(e, d, i);
	return rc;
}

static enum bide_rc check(const struct entry *e, const struct bide_prompt *d)
{
	const struct entry_settings s = {d->needs, d->input_deadline_ms,
					 d->wait_budget_ms, d->max_run_ms};
	const char *problem = entry_settings_problem(&s);
	enum bide_rc rc = entry_check_name(e);

	if (!rc && !d->handler)
		problem = "it has no handler";
	if (!rc && problem)
		rc = entry_refuse(e, "%s", problem);
	if (!rc)
		rc = entry_check_text(e, "title", d->title);
	if (!rc)
		rc = entry_check_text(e, "description", d->description);
	if (!rc)
		rc = entry_check_json(e, "icons", d->icons,
				      entry_icons_problem);
	return rc ? rc : check_args(e, d);
}

/* ---- the entry of prompts/list ---- */

static void add_arg(struct buf *b, const struct bide_prompt_arg *a)
{
	buf_addstr(b, "{\"name\":");
	jsontext_write_string(a->name, strlen(a->name), b);
	entry_add_string(b, "title", a->title);
	entry_add_string(b, "description", a->description);
	if (a->required)
		buf_addstr(b, ",\"required\":true");
	buf_addc(b, '}');
}

static enum bide_rc make_listing(const struct entry *e, struct prompt *p)
{
	const struct bide_prompt *d = &p->def;
	struct buf b = {0};

	buf_addstr(&b, "{\"name\":");
	jsontext_write_string(d->name, strlen(d->name), &b);
	entry_add_string(&b, "title", d->title);
	/* As of a tool. */
	entry_add_string(&b, "description",
			 d->description ? d->description : "");
	buf_addstr(&b, ",\"arguments\":[");
	for (size_t i = 0; i < d->n_args; i++) {
		if (i > 0)
			buf_addc(&b, ',');
		add_arg(&b, &d->args[i]);
	}
	buf_addc(&b, ']');
	entry_add_json(&b, "icons", d->icons);
	buf_addc(&b, '}');
	return entry_take_listing(e, &b, &p->listing, &p->listing_len);
}

/* ---- making one ---- */

static bool own_args(struct bide_prompt *d)
{
	struct bide_prompt_arg *args = NULL;
	bool ok = true;

	if (d->n_args == 0) {
		d->args = NULL;
		return true;
	}
	args = calloc(d->n_args, sizeof(*args));
	for (size_t i = 0; args && i < d->n_args; i++) {
		args[i] = d->args[i];
		ok = entry_own(&args[i].name, NULL) && ok;
		ok = entry_own(&args[i].title, NULL) && ok;
		ok = entry_own(&args[i].description, NULL) && ok;
	}
	d->args = args;
	return args && ok;
}

/* Every string becomes ours or, on a failure, NULL. */
static bool own_strings(struct bide_prompt *d)
{
	bool ok = entry_own(&d->name, NULL);

	ok = entry_own(&d->title, NULL) && ok;
	ok = entry_own(&d->description, NULL) && ok;
	ok = entry_own(&d->icons, NULL) && ok;
	ok = own_args(d) && ok;
	d->size = sizeof(*d);
	return ok;
}

void prompt_free(struct prompt *p)
{
	if (!p)
		return;
	for (size_t i = 0; p->def.args && i < p->def.n_args; i++) {
		entry_drop(p->def.args[i].name);
		entry_drop(p->def.args[i].title);
		entry_drop(p->def.args[i].description);
	}
	free((void *)p->def.args);
	entry_drop(p->def.name);
	entry_drop(p->def.title);
	entry_drop(p->def.description);
	entry_drop(p->def.icons);
	free(p->listing);
	free(p);
}

static struct target target_of(const struct prompt *p)
{
	return (struct target){
		.kind = TARGET_PROMPT,
		.name = p->def.name,
		.handler = p->def.handler,
		.user = p->def.user,
		.mode = BIDE_EPHEMERAL,
		.needs = p->def.needs,
		.runs_inline = p->def.runs_inline,
		.input_deadline_ms = p->def.input_deadline_ms,
		.wait_budget_ms = p->def.wait_budget_ms,
		.max_run_ms = p->def.max_run_ms,
	};
}

enum bide_rc prompt_new(const struct bide_prompt *def, struct prompt **ret,
			struct bide_error *reterr)
{
	struct entry e = {"prompt", NULL, reterr};
	struct bide_prompt d = {0};
	struct prompt *p = NULL;
	enum bide_rc rc = entry_take(
		&e, def, offsetof(struct bide_prompt, needs), &d, sizeof(d));

	e.name = d.name;
	if (!rc)
		rc = check(&e, &d);
	if (rc)
		return rc;
	p = calloc(1, sizeof(*p));
	if (!p)
		return entry_nomem(&e);
	p->def = d;
	rc = own_strings(&p->def) ? make_listing(&e, p) : entry_nomem(&e);
	if (rc) {
		prompt_free(p);
		return rc;
	}
	p->target = target_of(p);
	*ret = p;
	return BIDE_OK;
}
