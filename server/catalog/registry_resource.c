/* SPDX-License-Identifier: MIT */
#include "server/base/error.h"
#include "server/base/jsontext.h"
#include "server/base/limits.h"
#include "server/catalog/entry.h"
#include "server/catalog/registry_internal.h"
#include "server/catalog/uri.h"
#include "server/catalog/uri_template.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool registry_uri_valid(const char *uri)
{
	size_t len = strlen(uri);

	return len <= LIMIT_URI_BYTES && uri_valid(uri, len);
}

/* ---- checks ---- */

static const char *setting_problem(const struct bide_resource *d, bool template)
{
	const struct entry_settings s = {d->needs, d->input_deadline_ms,
					 d->wait_budget_ms, d->max_run_ms};

	if (!d->handler)
		return "it has no handler";
	if (d->cache_ms < 0)
		return "cache_ms is negative";
	if (d->scope != BIDE_PRIVATE && d->scope != BIDE_PUBLIC)
		return "scope is none of enum bide_scope";
	if (template && d->bytes)
		return "bytes is for resources, not for templates";
	if (!template && d->list)
		return "list is for templates";
	if (!template && d->complete)
		return "complete is for templates";
	return entry_settings_problem(&s);
}

/* What is listed of it. */
static enum bide_rc check_facts(const struct entry *e,
				const struct bide_resource *d)
{
	enum bide_rc rc;

	if (!d->name || !*d->name)
		return entry_refuse(e, "it has no name");
	if (d->bytes < 0)
		return entry_refuse(e, "bytes is negative");
	rc = entry_check_text(e, "name", d->name);
	if (!rc)
		rc = entry_check_text(e, "title", d->title);
	if (!rc)
		rc = entry_check_text(e, "description", d->description);
	if (!rc)
		rc = entry_check_text(e, "mime_type", d->mime_type);
	if (!rc)
		rc = entry_check_json(e, "annotations", d->annotations,
				      entry_annotations_problem);
	if (!rc)
		rc = entry_check_json(e, "icons", d->icons,
				      entry_icons_problem);
	return rc;
}

static enum bide_rc check_uri(const struct entry *e,
			      const struct bide_resource *d)
{
	if (!d->uri || !*d->uri)
		return error_set(e->err, BIDE_INVALID, "a %s has no URI",
				 e->kind);
	if (!registry_uri_valid(d->uri))
		return entry_refuse(e, "it is no absolute URI (RFC 3986)");
	return BIDE_OK;
}

static enum bide_rc make_template(const struct entry *e,
				  const struct bide_resource *d,
				  struct uri_template **ret)
{
	struct bide_error why = {0};
	enum bide_rc rc;

	if (!d->uri || !*d->uri)
		return error_set(e->err, BIDE_INVALID, "a %s has no URI",
				 e->kind);
	rc = entry_check_text(e, "uri", d->uri);
	if (!rc)
		rc = uri_template_new(d->uri, ret, &why);
	if (why.rc)
		rc = error_set(e->err, why.rc, "%s \"%.128s\": %s", e->kind,
			       e->name, why.text);
	return rc;
}

/* ---- the entry of a list ---- */

static void write_entry(const struct bide_resource *d, const char *uri_member,
			struct buf *b)
{
	buf_addf(b, "{\"%s\":", uri_member);
	jsontext_write_string(d->uri, strlen(d->uri), b);
	entry_add_string(b, "name", d->name);
	entry_add_string(b, "title", d->title);
	entry_add_string(b, "description", d->description);
	entry_add_string(b, "mimeType", d->mime_type);
	if (d->bytes > 0)
		buf_addf(b, ",\"size\":%" PRId64, d->bytes);
	entry_add_json(b, "annotations", d->annotations);
	entry_add_json(b, "icons", d->icons);
	buf_addc(b, '}');
}

static enum bide_rc make_listing(const struct entry *e, struct resource *res)
{
	struct buf b = {0};

	write_entry(&res->def, res->template ? "uriTemplate" : "uri", &b);
	return entry_take_listing(e, &b, &res->listing, &res->listing_len);
}

static enum bide_rc take(const struct entry *e, const struct bide_resource *def,
			 struct bide_resource *ret)
{
	return entry_take(e, def, offsetof(struct bide_resource, needs), ret,
			  sizeof(*ret));
}

enum bide_rc resource_write_listed(const struct resource *of,
				   const struct bide_resource *def,
				   struct buf *out, struct bide_error *reterr)
{
	struct entry e = {"resource", NULL, reterr};
	struct bide_resource d = {0};
	enum bide_rc rc = take(&e, def, &d);

	e.name = d.uri;
	if (!rc)
		rc = check_uri(&e, &d);
	if (!rc)
		rc = check_facts(&e, &d);
	if (!rc)
		rc = uri_template_match(of->template, d.uri, NULL);
	if (rc == BIDE_NOT_FOUND)
		rc = entry_refuse(&e, "it does not match the template \"%s\"",
				  of->def.uri);
	if (rc)
		return rc;
	if (!d.mime_type)
		d.mime_type = of->def.mime_type;
	write_entry(&d, "uri", out);
	return out->failed ? BIDE_NOMEM : BIDE_OK;
}

/* ---- making one ---- */

/* Every string becomes ours or, on a failure, NULL. */
static bool own_strings(struct bide_resource *d)
{
	bool ok = entry_own(&d->uri, NULL);

	ok = entry_own(&d->name, NULL) && ok;
	ok = entry_own(&d->title, NULL) && ok;
	ok = entry_own(&d->description, NULL) && ok;
	ok = entry_own(&d->mime_type, NULL) && ok;
	ok = entry_own(&d->annotations, NULL) && ok;
	ok = entry_own(&d->icons, NULL) && ok;
	d->size = sizeof(*d);
	return ok;
}

void resource_free(struct resource *res)
{
	if (!res)
		return;
	uri_template_free(res->template);
	entry_drop(res->def.uri);
	entry_drop(res->def.name);
	entry_drop(res->def.title);
	entry_drop(res->def.description);
	entry_drop(res->def.mime_type);
	entry_drop(res->def.annotations);
	entry_drop(res->def.icons);
	free(res->listing);
	free(res);
}

static struct target target_of(const struct resource *res)
{
	return (struct target){
		.kind = TARGET_RESOURCE,
		.name = res->def.uri,
		.mime_type = res->def.mime_type,
		.handler = res->def.handler,
		.user = res->def.user,
		.mode = BIDE_EPHEMERAL,
		.needs = res->def.needs,
		.runs_inline = res->def.runs_inline,
		.input_deadline_ms = res->def.input_deadline_ms,
		.wait_budget_ms = res->def.wait_budget_ms,
		.max_run_ms = res->def.max_run_ms,
	};
}

static enum bide_rc check(const struct entry *e, const struct bide_resource *d,
			  bool template, struct uri_template **ret)
{
	enum bide_rc rc = template ? make_template(e, d, ret) : check_uri(e, d);
	const char *problem = NULL;

	if (rc)
		return rc;
	problem = setting_problem(d, template);
	return problem ? entry_refuse(e, "%s", problem) : check_facts(e, d);
}

enum bide_rc resource_new(const struct bide_resource *def, bool template,
			  struct resource **ret, struct bide_error *reterr)
{
	struct entry e = {template ? "resource template" : "resource", NULL,
			  reterr};
	struct resource *res = calloc(1, sizeof(*res));
	struct bide_resource d = {0};
	enum bide_rc rc = BIDE_NOMEM;

	if (res)
		rc = take(&e, def, &d);
	e.name = d.uri;
	if (!rc)
		rc = check(&e, &d, template, &res->template);
	if (!rc) {
		res->def = d;
		rc = own_strings(&res->def) ? make_listing(&e, res)
					    : BIDE_NOMEM;
	}
	if (rc) {
		resource_free(res);
		return rc == BIDE_NOMEM ? entry_nomem(&e) : rc;
	}
	res->target = target_of(res);
	*ret = res;
	return BIDE_OK;
}

/* ---- finding ---- */

const struct resource *registry_resource(const struct registry *r,
					 const char *uri, json_t **ret_vars)
{
	const struct resource *res = names_find(&r->resources, uri);
	enum bide_rc rc = BIDE_NOT_FOUND;

	if (res) {
		*ret_vars = json_object();
		return res;
	}
	if (!registry_uri_valid(uri))
		return NULL;
	for (size_t i = 0; i < r->templates.n && rc == BIDE_NOT_FOUND; i++) {
		res = names_at(&r->templates, i);
		rc = uri_template_match(res->template, uri, ret_vars);
	}
	return rc == BIDE_NOT_FOUND ? NULL : res;
}

const struct resource *registry_template(const struct registry *r,
					 const char *text)
{
	return names_find(&r->templates, text);
}

bool registry_has_variable(const struct resource *t, const char *name)
{
	return t->template && uri_template_has(t->template, name);
}
