/* SPDX-License-Identifier: MIT */
#include "server/admin/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "server/base/utf8.h"

#define GAP        2  /* between columns */
#define FOLD_BELOW 35 /* room for the last column under which it is folded */
#define INDENT     4  /* of a folded one */

/* Characters, as far as can be said without the terminal's own table. */
static size_t characters(const char *s)
{
	size_t n = 0;

	for (; *s != '\0'; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

/* In place: what a terminal would obey, and what is not UTF-8. */
static void clean(char *s)
{
	size_t left = strlen(s);

	while (left > 0) {
		size_t n = utf8_sequence(s, left);
		unsigned char c = (unsigned char)*s;
		/* U+0080 to U+009F are control characters too. */
		bool high = n == 2 && c == 0xc2 && (unsigned char)s[1] < 0xa0;

		if (n == 0)
			*s = '?';
		else if (c < 0x20 || c == 0x7f)
			*s = ' ';
		else if (high)
			memset(s, ' ', 2);
		n = n == 0 ? 1 : n;
		s += n;
		left -= n;
	}
}

static void add(struct table *t, char *text)
{
	size_t column = t->n % t->columns;
	size_t width;

	if (text != NULL && t->n == t->cap) {
		size_t cap = t->cap == 0 ? 64 : 2 * t->cap;
		char **cells = realloc(t->cells, cap * sizeof(*cells));

		if (cells != NULL) {
			t->cells = cells;
			t->cap = cap;
		}
	}
	if (text == NULL || t->n == t->cap) {
		t->failed = true;
		free(text);
		return;
	}
	clean(text);
	width = characters(text);
	if (width > t->width[column])
		t->width[column] = width;
	t->cells[t->n++] = text;
}

void table_init(struct table *t, const char *heads)
{
	*t = (struct table){.columns = 1};
	for (const char *p = heads; *p != '\0'; p++)
		t->columns += *p == '|';
	for (size_t i = 0; i < t->columns; i++) {
		size_t len = strcspn(heads, "|");

		t->right[i] = *heads == '>';
		add(t, strndup(heads + t->right[i], len - t->right[i]));
		heads += len + 1;
	}
}

void table_fini(struct table *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->cells[i]);
	free(t->cells);
	*t = (struct table){0};
}

void table_cell(struct table *t, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	add(t, text);
}

/* ---- printing ---- */
static void put_spaces(FILE *out, size_t n)
{
	(void)fprintf(out, "%*s", (int)n, "");
}

/* The bytes of the first @n characters. */
static size_t bytes_of(const char *s, size_t n)
{
	size_t i = 0;

	for (;; i++) {
		if (((unsigned char)s[i] & 0xc0) == 0x80)
			continue;
		if (s[i] == '\0' || n-- == 0)
			return i;
	}
}

/* The last cell of a row: cut, not padded. @room 0: as it is. */
static void put_last(FILE *out, const char *s, size_t room)
{
	size_t n = characters(s);

	if (room == 0 || n <= room)
		(void)fputs(s, out);
	else if (room > 3)
		(void)fprintf(out, "%.*s...", (int)bytes_of(s, room - 3), s);
	(void)fputc('\n', out);
}

/* All columns but the last; no spaces at the end of a line. */
static void put_columns(const struct table *t, char *const *row, FILE *out,
			bool more)
{
	size_t last = t->columns - 1;

	for (size_t i = 0; i < last; i++) {
		size_t pad = t->width[i] - characters(row[i]);

		if (t->right[i])
			put_spaces(out, pad);
		(void)fputs(row[i], out);
		if (i + 1 < last || more)
			put_spaces(out, GAP + (t->right[i] ? 0 : pad));
	}
}

static void put_row(const struct table *t, char *const *row, FILE *out,
		    size_t room)
{
	const char *last = row[t->columns - 1];

	put_columns(t, row, out, *last != '\0');
	put_last(out, last, room);
}

/* The last column below the others, where it has most of a line. */
static void put_folded(const struct table *t, char *const *row, FILE *out,
		       size_t line_width)
{
	const char *last = row[t->columns - 1];

	put_columns(t, row, out, false);
	(void)fputc('\n', out);
	if (row == t->cells || *last == '\0')
		return; /* the heads: it speaks for itself */
	put_spaces(out, INDENT);
	put_last(out, last, line_width - INDENT);
}

bool table_print(const struct table *t, FILE *out, size_t line_width)
{
	size_t used = 0;
	bool fold;

	if (t->failed)
		return false;
	for (size_t i = 0; i + 1 < t->columns; i++)
		used += t->width[i] + GAP;
	fold = line_width > INDENT &&
	       used + t->width[t->columns - 1] > line_width &&
	       used + FOLD_BELOW > line_width;
	for (size_t i = 0; i + t->columns <= t->n; i += t->columns) {
		if (fold)
			put_folded(t, t->cells + i, out, line_width);
		else
			put_row(t, t->cells + i, out,
				line_width > used ? line_width - used : 0);
	}
	return true;
}

size_t table_line_width(FILE *out)
{
	struct winsize size;

	if (isatty(fileno(out)) != 1 ||
	    ioctl(fileno(out), TIOCGWINSZ, &size) != 0)
		return 0;
	return size.ws_col;
}
