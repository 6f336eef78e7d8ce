/* SPDX-License-Identifier: MIT */
#include "server/catalog/entry.h"
#include "bide/tool.h"
#include "server/base/error.h"
#include "server/base/jsontext.h"
#include "server/base/limits.h"
#include "server/base/utf8.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALL_NEEDS                                                              \
	((unsigned)(BIDE_CAN_ELICIT_FORM | BIDE_CAN_ELICIT_URL |               \
		    BIDE_CAN_SAMPLE | BIDE_CAN_SAMPLE_TOOLS |                  \
		    BIDE_CAN_SAMPLE_CONTEXT | BIDE_CAN_ROOTS |                 \
		    BIDE_CAN_TASKS))

enum bide_rc entry_refuse(const struct entry *e, const char *fmt, ...)
{
	char why[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return error_set(e->err, BIDE_INVALID, "%s \"%.128s\": %s", e->kind,
			 e->name, why);
}

enum bide_rc entry_nomem(const struct entry *e)
{
	return error_set(e->err, BIDE_NOMEM, "out of memory");
}

/* ---- the program's struct ---- */

static bool all_zero(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

enum bide_rc entry_take(const struct entry *e, const void *def, size_t least,
			void *ret, size_t size)
{
	size_t given = 0;

	if (def)
		memcpy(&given, def, sizeof(given));
	if (!def || given < least)
		return error_set(e->err, BIDE_INVALID,
				 "a %s's size is not set (BIDE_TOOL and its "
				 "like)",
				 e->kind);
	memset(ret, 0, size);
	if (given > size && !all_zero((const char *)def + size, given - size))
		return error_set(e->err, BIDE_INVALID,
				 "a %s has settings that this version of the "
				 "library lacks",
				 e->kind);
	memcpy(ret, def, given < size ? given : size);
	return BIDE_OK;
}

bool entry_own(const char **s, const char *absent)
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

void entry_drop(const char *s)
{
	free((char *)s);
}

/* ---- checks ---- */

enum bide_rc entry_check_name(const struct entry *e)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz"
				      "0123456789_-.";
	size_t n = e->name ? strspn(e->name, allowed) : 0;

	if (!e->name || !*e->name)
		return error_set(e->err, BIDE_INVALID, "a %s has no name",
				 e->kind);
	if (e->name[n])
		return entry_refuse(e,
				    "the character at %zu of its name is none "
				    "of A-Z a-z 0-9 _ - .",
				    n);
	if (n > LIMIT_NAME_BYTES)
		return error_set(e->err, BIDE_INVALID,
				 "a %s's name is longer than %d", e->kind,
				 LIMIT_NAME_BYTES);
	return BIDE_OK;
}

enum bide_rc entry_check_text(const struct entry *e, const char *what,
			      const char *s)
{
	if (!s || utf8_valid(s, strlen(s)))
		return BIDE_OK;
	return entry_refuse(e, "its %s is not UTF-8", what);
}

enum bide_rc entry_parse(const struct entry *e, const char *what,
			 const char *text, json_t **ret)
{
	struct bide_error why = {0};
	enum bide_rc rc;

	*ret = NULL;
	if (!text)
		return BIDE_OK;
	rc = jsontext_parse(text, strlen(text), ret, &why);
	if (rc == BIDE_INVALID)
		return entry_refuse(e, "%s: %s", what, why.text);
	return rc ? entry_nomem(e) : BIDE_OK;
}

enum bide_rc entry_check_json(const struct entry *e, const char *what,
			      const char *text,
			      const char *(*problem_of)(const json_t *))
{
	json_t *v = NULL;
	enum bide_rc rc = entry_parse(e, what, text, &v);
	const char *problem = NULL;

	if (!rc && v)
		problem = problem_of(v);
	if (problem)
		rc = entry_refuse(e, "%s", problem);
	json_decref(v);
	return rc;
}

static bool is_one_of(const json_t *v, const char *a, const char *b)
{
	const char *s = json_string_value(v);

	return s && (!strcmp(s, a) || !strcmp(s, b));
}

static bool is_string_or_absent(const json_t *v)
{
	return !v || json_is_string(v);
}

static const char *icon_problem(const json_t *icon)
{
	const json_t *sizes = json_object_get(icon, "sizes");
	const json_t *theme = json_object_get(icon, "theme");
	const json_t *size = NULL;
	size_t i;

	if (!json_is_string(json_object_get(icon, "src")))
		return "an icon has no src";
	if (!is_string_or_absent(json_object_get(icon, "mimeType")))
		return "an icon's mimeType is not a string";
	if (sizes && !json_is_array(sizes))
		return "an icon's sizes are not an array";
	json_array_foreach (sizes, i, size)
		if (!json_is_string(size))
			return "one of an icon's sizes is not a string";
	if (theme && !is_one_of(theme, "light", "dark"))
		return "an icon's theme is neither \"light\" nor \"dark\"";
	return NULL;
}

const char *entry_icons_problem(const json_t *icons)
{
	const json_t *icon = NULL;
	const char *problem = NULL;
	size_t i;

	if (!json_is_array(icons))
		return "icons are not an array";
	json_array_foreach (icons, i, icon) {
		problem = icon_problem(icon);
		if (problem)
			return problem;
	}
	return NULL;
}

const char *entry_annotations_problem(const json_t *annotations)
{
	const json_t *audience = json_object_get(annotations, "audience");
	const json_t *priority = json_object_get(annotations, "priority");
	const json_t *who = NULL;
	size_t i;

	if (!json_is_object(annotations))
		return "annotations are not an object";
	if (audience && !json_is_array(audience))
		return "annotations/audience is not an array";
	json_array_foreach (audience, i, who)
		if (!is_one_of(who, "user", "assistant"))
			return "annotations/audience has something other than "
			       "\"user\" and \"assistant\"";
	if (priority &&
	    (!json_is_number(priority) || json_number_value(priority) < 0 ||
	     json_number_value(priority) > 1))
		return "annotations/priority is not a number from 0 to 1";
	if (!is_string_or_absent(json_object_get(annotations, "lastModified")))
		return "annotations/lastModified is not a string";
	return NULL;
}

const char *entry_settings_problem(const struct entry_settings *s)
{
	if (s->needs & ~ALL_NEEDS)
		return "needs has bits that are none of enum bide_can";
	if (s->input_deadline_ms < 0)
		return "input_deadline_ms is negative";
	if (s->wait_budget_ms < -1)
		return "wait_budget_ms is negative (and not -1: no wait)";
	if (s->max_run_ms < 0)
		return "max_run_ms is negative";
	return NULL;
}

/* ---- writing ---- */

void entry_add_string(struct buf *b, const char *name, const char *s)
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
void entry_add_json(struct buf *b, const char *name, const char *text)
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

enum bide_rc entry_take_listing(const struct entry *e, struct buf *b,
				char **ret, size_t *ret_len)
{
	if (b->len > LIMIT_PAGE_BYTES) {
		buf_fini(b);
		return error_set(e->err, BIDE_LIMIT,
				 "%s \"%.128s\": what is listed of it is over "
				 "%d bytes (LIMIT_PAGE_BYTES)",
				 e->kind, e->name, LIMIT_PAGE_BYTES);
	}
	*ret = buf_take(b, ret_len);
	return *ret ? BIDE_OK : entry_nomem(e);
}
