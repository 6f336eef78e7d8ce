/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_ENTRY_H
#define CATALOG_ENTRY_H
#include "bide/types.h"
#include "server/base/buf.h"
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/*
 * What the entries of all lists have in common: how a definition is taken from
 * the program and checked, and how its entry is written.
 */

/* Whom a refusal names: 'tool "x": ...'. */
struct entry {
	const char *kind; /* "tool" */
	const char *name;
	struct bide_error *err; /* NULL: no one asks */
};
enum bide_rc entry_refuse(const struct entry *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
enum bide_rc entry_nomem(const struct entry *e);

/**
 * entry_take - copies a program's struct, which may be of another version.
 * @def:   begins with its size; NULL is refused.
 * @least: how much of it even the first version has.
 *
 * A shorter one has zeros for what it does not know; a longer one must have
 * zeros in what we do not know.
 */
enum bide_rc entry_take(const struct entry *e, const void *def, size_t least,
			void *ret, size_t size);
/* server/tools "Tool Names", which prompts keep to as well. */
enum bide_rc entry_check_name(const struct entry *e);
enum bide_rc entry_check_text(const struct entry *e, const char *what,
			      const char *s);
/* New reference in @ret, NULL for no text. */
enum bide_rc entry_parse(const struct entry *e, const char *what,
			 const char *text, json_t **ret);
/* @problem_of: what is wrong with the value; NULL: nothing. */
enum bide_rc entry_check_json(const struct entry *e, const char *what,
			      const char *text,
			      const char *(*problem_of)(const json_t *));
/* schema.ts Icon[] and Annotations; names they do not know pass. */
const char *entry_icons_problem(const json_t *icons);
const char *entry_annotations_problem(const json_t *annotations);

/* What all handlers are given; NULL when nothing is wrong with it. */
struct entry_settings {
	unsigned needs;
	int64_t input_deadline_ms, wait_budget_ms, max_run_ms;
};
const char *entry_settings_problem(const struct entry_settings *s);

/* A string becomes ours or, on a failure, NULL. */
bool entry_own(const char **s, const char *absent);
void entry_drop(const char *s);

/* Empties @b. BIDE_LIMIT: it is more than a page may have. */
enum bide_rc entry_take_listing(const struct entry *e, struct buf *b,
				char **ret, size_t *ret_len);
/* ,"name":... when it is there */
void entry_add_string(struct buf *b, const char *name, const char *s);
void entry_add_json(struct buf *b, const char *name, const char *text);
#endif
