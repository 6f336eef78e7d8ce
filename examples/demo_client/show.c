/* SPDX-License-Identifier: MIT */
#include "examples/demo_client/show.h"

#include <langinfo.h>
#include <locale.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WIDTH       80
#define MARGIN      6   /* before the JSON */
#define STRING_MAX  60  /* bytes of a string that are shown */
#define TEXT_MAX    200 /* of one that is for people */
#define STATE_SHOWN 20
#define ITEMS_MAX   4 /* of an array */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool colours;
static bool unicode;

static const char *const dim = "\033[2m";
static const char *const bold = "\033[1m";

void show_init(void)
{
	(void)setlocale(LC_CTYPE, "");
	unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	colours = isatty(STDOUT_FILENO) == 1 && getenv("NO_COLOR") == NULL;
}

static void paint(FILE *out, const char *colour)
{
	if (colours)
		(void)fputs(colour, out);
}

static void reset(FILE *out)
{
	paint(out, "\033[0m");
}

/* ---- JSON ---- */

/* How many bytes of @s fit into @max without cutting a character. */
static size_t cut(const char *s, size_t max)
{
	size_t len = strlen(s);

	if (len <= max)
		return len;
	while (max > 0 && ((unsigned char)s[max] & 0xc0) == 0x80)
		max--;
	return max;
}

static void put_string(FILE *out, const char *s, size_t max)
{
	size_t len = cut(s, max);
	json_t *part = json_stringn(s, len);
	char *text =
		json_dumps(part, JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));

	if (text == NULL)
		(void)fputs("\"?\"", out);
	else if (s[len] == '\0')
		(void)fputs(text, out);
	else /* the mark of what is missing goes within the quotes */
		(void)fprintf(out, "%.*s%s\"", (int)strlen(text) - 1, text,
			      unicode ? "\u2026" : "...");
	free(text);
	json_decref(part);
}

static void put(FILE *out, const char *key, const json_t *v, size_t indent);

static bool is_for_people(const char *key)
{
	static const char *const keys[] = {"message", "text", "statusMessage"};

	for (size_t i = 0; key != NULL && i < sizeof(keys) / sizeof(keys[0]);
	     i++)
		if (strcmp(key, keys[i]) == 0)
			return true;
	return false;
}

static void put_scalar(FILE *out, const char *key, const json_t *v)
{
	char *text;

	if (json_is_string(v) && key != NULL &&
	    strcmp(key, "requestState") == 0) {
		put_string(out, json_string_value(v), STATE_SHOWN);
		paint(out, dim);
		(void)fprintf(out, " (%zu characters)", json_string_length(v));
		reset(out);
		return;
	}
	if (json_is_string(v)) {
		put_string(out, json_string_value(v),
			   is_for_people(key) ? TEXT_MAX : STRING_MAX);
		return;
	}
	text = json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
	(void)fputs(text != NULL ? text : "?", out);
	free(text);
}

static void put_key(FILE *out, const char *key)
{
	paint(out, "\033[36m");
	(void)fprintf(out, "\"%s\"", key);
	reset(out);
	(void)fputs(": ", out);
}

/* One line, whatever its length. */
static void put_flat(FILE *out, const char *key, const json_t *v)
{
	const char *name;
	json_t *item;
	size_t i;
	bool first = true;

	if (json_is_object(v)) {
		(void)fputs("{", out);
		json_object_foreach ((json_t *)v, name, item) {
			(void)fputs(first ? " " : ", ", out);
			first = false;
			put_key(out, name);
			put_flat(out, name, item);
		}
		(void)fputs(first ? "}" : " }", out);
	} else if (json_is_array(v)) {
		(void)fputs("[", out);
		json_array_foreach (v, i, item) {
			(void)fputs(first ? "" : ", ", out);
			first = false;
			put_flat(out, NULL, item);
		}
		(void)fputs("]", out);
	} else {
		put_scalar(out, key, v);
	}
}

/* Columns that put_flat() would take; bytes are near enough, without paint. */
static size_t flat_width(const char *key, const json_t *v)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	bool was = colours;

	if (out == NULL)
		return 0;
	colours = false;
	put_flat(out, key, v);
	colours = was;
	(void)fclose(out);
	free(text);
	return len;
}

static void new_line(FILE *out, size_t indent)
{
	(void)fprintf(out, "\n%*s", (int)indent, "");
}

static void put_object(FILE *out, const json_t *v, size_t indent)
{
	const char *name;
	json_t *item;
	bool first = true;

	(void)fputs("{", out);
	json_object_foreach ((json_t *)v, name, item) {
		(void)fputs(first ? "" : ",", out);
		first = false;
		new_line(out, indent + 2);
		put_key(out, name);
		put(out, name, item, indent + 2);
	}
	new_line(out, indent);
	(void)fputs("}", out);
}

static void put_array(FILE *out, const json_t *v, size_t indent)
{
	size_t n = json_array_size(v);

	(void)fputs("[", out);
	for (size_t i = 0; i < n && i < ITEMS_MAX; i++) {
		(void)fputs(i == 0 ? "" : ",", out);
		new_line(out, indent + 2);
		put(out, NULL, json_array_get(v, i), indent + 2);
	}
	if (n > ITEMS_MAX) {
		new_line(out, indent + 2);
		(void)fprintf(out, "(%zu more)", n - ITEMS_MAX);
	}
	new_line(out, indent);
	(void)fputs("]", out);
}

static void put(FILE *out, const char *key, const json_t *v, size_t indent)
{
	size_t before = indent + (key != NULL ? strlen(key) + 4 : 0);

	if (before + flat_width(key, v) <= WIDTH)
		put_flat(out, key, v);
	else if (json_is_object(v))
		put_object(out, v, indent);
	else if (json_is_array(v))
		put_array(out, v, indent);
	else
		put_scalar(out, key, v);
}

/* ---- lines ---- */
static const char *arrow(enum show_way way)
{
	switch (way) {
	case SHOW_REQUEST:
		return unicode ? "\u2500\u2500\u25b6" : "-->";
	case SHOW_ANSWER:
		return unicode ? "\u25c0\u2500\u2500" : "<--";
	case SHOW_EVENT:
		return unicode ? "\u25c0\u2504\u2504" : "<..";
	case SHOW_BROKEN:
		return unicode ? "\u2500\u2500\u2715" : "--x";
	}
	return "";
}

static const char *colour(enum show_way way)
{
	switch (way) {
	case SHOW_REQUEST:
		return "\033[1;34m";
	case SHOW_ANSWER:
		return "\033[1;32m";
	case SHOW_EVENT:
		return "\033[33m";
	case SHOW_BROKEN:
		return "\033[1;31m";
	}
	return "";
}

void show_message(enum show_way way, const char *server, const char *what,
		  const char *right, const json_t *body)
{
	int room = WIDTH - (int)(20 + strlen(what) + strlen(right));

	(void)pthread_mutex_lock(&lock);
	if (way == SHOW_REQUEST)
		(void)fputc('\n', stdout);
	(void)fputs("  ", stdout);
	paint(stdout, colour(way));
	(void)fprintf(stdout, "client %s %s", arrow(way), server);
	reset(stdout);
	(void)fputs("   ", stdout);
	paint(stdout, way == SHOW_EVENT ? "" : bold);
	(void)fputs(what, stdout);
	reset(stdout);
	if (*right != '\0') {
		paint(stdout, dim);
		(void)fprintf(stdout, "%*s%s", room > 2 ? room : 2, "", right);
		reset(stdout);
	}
	if (body != NULL && json_object_size(body) > 0) {
		new_line(stdout, MARGIN);
		put(stdout, NULL, body, MARGIN);
	}
	(void)fputc('\n', stdout);
	(void)fflush(stdout);
	(void)pthread_mutex_unlock(&lock);
}

void show_title(const char *text)
{
	(void)pthread_mutex_lock(&lock);
	(void)fputc('\n', stdout);
	paint(stdout, bold);
	(void)fputs(text, stdout);
	reset(stdout);
	(void)fputc('\n', stdout);
	for (size_t i = 0; i < strlen(text); i++)
		(void)fputs(unicode ? "\u2550" : "=", stdout);
	(void)fputc('\n', stdout);
	(void)fflush(stdout);
	(void)pthread_mutex_unlock(&lock);
}

/* Wrapped at the width, and where the text is. */
void show_say(const char *fmt, ...)
{
	char *text = NULL;
	char *rest;
	char *word;
	size_t column = 0;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	(void)pthread_mutex_lock(&lock);
	(void)fputc('\n', stdout);
	rest = text;
	while ((word = strsep(&rest, " ")) != NULL) {
		if (column > 0 && column + strcspn(word, "\n") >= WIDTH) {
			(void)fputc('\n', stdout);
			column = 0;
		}
		column += (size_t)fprintf(stdout, "%s%s", column > 0 ? " " : "",
					  word);
		if (strchr(word, '\n') != NULL)
			column = strlen(strrchr(word, '\n') + 1);
	}
	(void)fputc('\n', stdout);
	(void)fflush(stdout);
	(void)pthread_mutex_unlock(&lock);
	free(text);
}
