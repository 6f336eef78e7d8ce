/* SPDX-License-Identifier: MIT */
#include "server/base/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/config_table.h"
#include "server/base/error.h"
#include "server/base/utf8.h"

#define SHOWN_BYTES 60 /* of a refused value, in the error's text */

const struct config_option config_options[CONFIG_COUNT] = {
#define OPT(id, name, kind, def, min, max, value, help)                        \
	[CONFIG_##id] = {name, CONFIG_KIND_##kind, def, min, max, value, help},
#include "server/base/config.def"
#undef OPT
};

/* The words of each kind's unit, for error texts. */
static const char *suffix_words(enum config_kind kind)
{
	switch (kind) {
	case CONFIG_KIND_MS:
		return " (ms; or with s, m, h or d)";
	case CONFIG_KIND_SIZE:
		return " (bytes; or with K, M or G)";
	case CONFIG_KIND_STRING:
	case CONFIG_KIND_INT:
	case CONFIG_KIND_BOOL:
		break;
	}
	return "";
}

/* Stronger wins. What the program set stands in the place of the default. */
static int strength(enum config_source from)
{
	switch (from) {
	case CONFIG_FROM_DEFAULT:
		return 0;
	case CONFIG_FROM_PROGRAM:
		return 1;
	case CONFIG_FROM_FILE:
		return 2;
	case CONFIG_FROM_ENV:
		return 3;
	case CONFIG_FROM_ARGS:
		return 4;
	}
	return 0;
}

/* Fewest insertions, deletions and replacements; names are short. */
static size_t distance(const char *a, const char *b)
{
	size_t row[64];
	size_t n = strlen(b);
	size_t diag, up, best;

	if (n >= sizeof(row) / sizeof(row[0]))
		return SIZE_MAX;
	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		diag = row[0];
		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			up = row[j];
			best = diag + (a[i - 1] != b[j - 1]);
			if (up + 1 < best)
				best = up + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diag = up;
			row[j] = best;
		}
	}
	return row[n];
}

static const char *nearest(const char *name)
{
	const char *found = "config";
	size_t best = distance(name, found);
	size_t d;

	for (int k = 0; k < CONFIG_COUNT; k++) {
		d = distance(name, config_options[k].name);
		if (d < best) {
			best = d;
			found = config_options[k].name;
		}
	}
	/* Near: a slip or two in a name that is mostly the same. */
	return best * 2 <= strlen(name) && best <= 2 + strlen(found) / 8 ? found
									 : NULL;
}

enum bide_rc config_unknown(const char *name, struct bide_error *reterr)
{
	const char *near = nearest(name);

	if (near)
		return error_set(reterr, BIDE_INVALID,
				 "unknown option \"%.60s\"; the nearest is "
				 "\"%s\"",
				 name, near);
	return error_set(reterr, BIDE_INVALID, "unknown option \"%.60s\"",
			 name);
}

int config_find(const char *name)
{
	for (int k = 0; k < CONFIG_COUNT; k++)
		if (strcmp(config_options[k].name, name) == 0)
			return k;
	return -1;
}

bool config_read_bool(const char *s, bool *ret)
{
	static const char *const words[] = {"false", "true", "no", "yes",
					    "off",   "on",   "0",  "1"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasecmp(s, words[i]) == 0) {
			*ret = i % 2 == 1;
			return true;
		}
	}
	return false;
}

/* 0 when the suffix is none of the kind's. */
static int64_t factor(enum config_kind kind, const char *suffix)
{
	static const struct {
		enum config_kind kind;
		const char *suffix;
		int64_t factor;
	} table[] = {
		{CONFIG_KIND_MS, "ms", 1},
		{CONFIG_KIND_MS, "s", 1000},
		{CONFIG_KIND_MS, "m", 60000},
		{CONFIG_KIND_MS, "h", 3600000},
		{CONFIG_KIND_MS, "d", 86400000},
		{CONFIG_KIND_SIZE, "k", 1024},
		{CONFIG_KIND_SIZE, "m", 1024 * 1024},
		{CONFIG_KIND_SIZE, "g", 1024 * 1024 * 1024},
	};

	if (!*suffix)
		return 1;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].kind == kind &&
		    strcasecmp(suffix, table[i].suffix) == 0)
			return table[i].factor;
	return 0;
}

static bool read_number(const struct config_option *o, const char *s,
			int64_t *ret)
{
	char *end = NULL;
	int64_t f, v;

	if (!isdigit((unsigned char)s[*s == '-']))
		return false;
	errno = 0;
	v = strtoll(s, &end, 10);
	if (errno)
		return false;
	while (*end == ' ')
		end++;
	f = factor(o->kind, end);
	if (!f || __builtin_mul_overflow(v, f, &v))
		return false;
	if (v < o->min || v > o->max)
		return false;
	*ret = v;
	return true;
}

static bool read_text(const char *s)
{
	if (!utf8_valid(s, strlen(s)))
		return false;
	for (; *s; s++)
		if (iscntrl((unsigned char)*s))
			return false;
	return true;
}

/* A refused value as it can be shown: printable ASCII, cut. */
static void shown(const char *value, char out[SHOWN_BYTES + 1])
{
	size_t n = 0;

	for (; value[n] && n < SHOWN_BYTES; n++)
		out[n] = isprint((unsigned char)value[n]) ? value[n] : '?';
	out[n] = '\0';
}

static enum bide_rc refuse(const struct config_option *o, const char *value,
			   struct bide_error *reterr)
{
	char text[SHOWN_BYTES + 1];

	shown(value, text);
	if (o->kind == CONFIG_KIND_STRING)
		return error_set(reterr, BIDE_INVALID,
				 "option %s: value \"%s\" holds a control "
				 "character or is not UTF-8",
				 o->name, text);
	if (o->kind == CONFIG_KIND_BOOL)
		return error_set(reterr, BIDE_INVALID,
				 "option %s: value \"%s\" is neither true nor "
				 "false",
				 o->name, text);
	return error_set(reterr, BIDE_INVALID,
			 "option %s: value \"%s\" is not a number from %lld to "
			 "%lld%s",
			 o->name, text, (long long)o->min, (long long)o->max,
			 suffix_words(o->kind));
}

static bool read_value(const struct config_option *o, const char *value,
		       int64_t *ret)
{
	bool b;

	*ret = 0;
	switch (o->kind) {
	case CONFIG_KIND_STRING:
		return read_text(value);
	case CONFIG_KIND_BOOL:
		if (!config_read_bool(value, &b))
			return false;
		*ret = b;
		return true;
	case CONFIG_KIND_INT:
	case CONFIG_KIND_MS:
	case CONFIG_KIND_SIZE:
		return read_number(o, value, ret);
	}
	return false;
}

enum bide_rc config_put(struct config *c, int key, const char *value,
			enum config_source from, int line,
			struct bide_error *reterr)
{
	struct config_value *v = &c->values[key];
	int64_t number;
	char *text = NULL;

	if (!read_value(&config_options[key], value, &number))
		return refuse(&config_options[key], value, reterr);
	if (strength(from) < strength(v->from))
		return BIDE_OK;
	text = strdup(value);
	if (!text)
		return error_set(reterr, BIDE_NOMEM, "out of memory");
	free(v->text);
	*v = (struct config_value){text, number, from, line};
	return BIDE_OK;
}

enum bide_rc config_set(struct config *c, const char *name, const char *value,
			enum config_source from, struct bide_error *reterr)
{
	int key = config_find(name);

	if (key < 0)
		return config_unknown(name, reterr);
	return config_put(c, key, value, from, 0, reterr);
}

struct config *config_new(void)
{
	struct config *c = calloc(1, sizeof(*c));
	struct bide_error e;

	if (!c)
		return NULL;
	for (int k = 0; k < CONFIG_COUNT; k++) {
		if (config_put(c, k, config_options[k].def, CONFIG_FROM_DEFAULT,
			       0, &e) != BIDE_OK) {
			config_free(c); /* a default out of its range: a test */
			return NULL;    /* finds that */
		}
	}
	return c;
}

void config_free(struct config *c)
{
	if (!c)
		return;
	for (int k = 0; k < CONFIG_COUNT; k++)
		free(c->values[k].text);
	free(c->file);
	free(c);
}

const char *config_string(const struct config *c, enum config_key k)
{
	return c->values[k].text;
}

int64_t config_int(const struct config *c, enum config_key k)
{
	return c->values[k].number;
}

bool config_bool(const struct config *c, enum config_key k)
{
	return c->values[k].number != 0;
}
