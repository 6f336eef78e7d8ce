/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/config_table.h"

/* Where the password of scheme://user:password@host begins, and how long it
 * is; 0 when there is none. */
static size_t find_password(const char *s, size_t *ret_at)
{
	const char *host = strstr(s, "://");
	const char *at = NULL;
	const char *colon = NULL;
	size_t len;

	if (!host)
		return 0;
	host += 3;
	len = strcspn(host, "/?#");
	at = memrchr(host, '@', len);
	colon = at ? memchr(host, ':', (size_t)(at - host)) : NULL;
	if (!colon)
		return 0;
	*ret_at = (size_t)(colon + 1 - s);
	return (size_t)(at - colon - 1);
}

static bool needs_quotes(const char *s)
{
	return !*s || strchr(s, '#') || isspace((unsigned char)*s) ||
	       isspace((unsigned char)s[strlen(s) - 1]);
}

static void print_value(const char *s, FILE *out)
{
	const char *quote = needs_quotes(s) ? "\"" : "";
	size_t at = 0;
	size_t len = find_password(s, &at);

	if (len)
		fprintf(out, "%s%.*s***%s%s", quote, (int)at, s, s + at + len,
			quote);
	else
		fprintf(out, "%s%s%s", quote, s, quote);
}

static void print_source(const struct config *c, int k, FILE *out)
{
	const struct config_value *v = &c->values[k];

	switch (v->from) {
	case CONFIG_FROM_DEFAULT:
		fputs("default", out);
		break;
	case CONFIG_FROM_PROGRAM:
		fputs("program", out);
		break;
	case CONFIG_FROM_FILE:
		fprintf(out, "file %s:%d", c->file ? c->file : "?", v->line);
		break;
	case CONFIG_FROM_ENV:
		fputs("environment BIDE_", out);
		for (const char *p = config_options[k].name; *p; p++)
			fputc(*p == '-' ? '_' : toupper((unsigned char)*p),
			      out);
		break;
	case CONFIG_FROM_ARGS:
		fputs("command line", out);
		break;
	}
}

void config_print(const struct config *c, FILE *out)
{
	for (int k = 0; k < CONFIG_COUNT; k++) {
		fprintf(out, "%s = ", config_options[k].name);
		print_value(c->values[k].text, out);
		fputs("  # ", out);
		print_source(c, k, out);
		fputc('\n', out);
	}
}

/* 45000 ms is 45s; what is not whole stays in milliseconds. */
static void print_time(int64_t ms, FILE *out)
{
	static const struct {
		int64_t ms;
		const char *suffix;
	} units[] = {
		{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}};

	for (size_t i = 0; ms && i < sizeof(units) / sizeof(units[0]); i++) {
		if (ms % units[i].ms == 0) {
			fprintf(out, "%lld%s", (long long)(ms / units[i].ms),
				units[i].suffix);
			return;
		}
	}
	fprintf(out, "%lldms", (long long)ms);
}

static void print_default(const struct config_option *o, FILE *out)
{
	if (!*o->def)
		return;
	fputs(" (", out);
	if (o->kind == CONFIG_KIND_MS)
		print_time(strtoll(o->def, NULL, 10), out);
	else
		fputs(o->def, out);
	fputc(')', out);
}

void config_help(FILE *out)
{
	const struct config_option *o;

	fputs("  --config FILE\n      read options from a file, "
	      "one \"name = value\" a line\n",
	      out);
	for (int k = 0; k < CONFIG_COUNT; k++) {
		o = &config_options[k];
		fprintf(out, "  --%s%s%s\n      %s", o->name,
			o->kind == CONFIG_KIND_BOOL ? "" : " ", o->value,
			o->help);
		print_default(o, out);
		fputc('\n', out);
	}
}
