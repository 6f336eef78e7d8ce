/* SPDX-License-Identifier: MIT */
#ifndef ADMIN_TABLE_H
#define ADMIN_TABLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
/*
 * Plain aligned tables for people. A column is as wide as its widest cell; on
 * a terminal the last column is cut to what is left of the line, and put below
 * the others where that is little. Cells come from callers of the server:
 * control characters in them, which a terminal would obey, are shown as spaces.
 */
#define TABLE_COLUMNS 8

struct table {
	size_t columns;
	size_t width[TABLE_COLUMNS]; /* in characters */
	bool right[TABLE_COLUMNS];   /* aligned right: numbers */
	char **cells;                /* the heads, then row after row */
	size_t n, cap;
	bool failed; /* out of memory: nothing is printed */
};

/* @heads: one for each column, joined by '|'; a head that begins with '>'
 * makes its column one of numbers. */
void table_init(struct table *t, const char *heads);
/* The next cell; a row is complete after as many as there are columns. */
void table_cell(struct table *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* @line_width: 0 does not cut. False without memory. */
bool table_print(const struct table *t, FILE *out, size_t line_width);
void table_fini(struct table *t);
/* The width of the terminal behind @out; 0 when it is none. */
size_t table_line_width(FILE *out);
#endif
