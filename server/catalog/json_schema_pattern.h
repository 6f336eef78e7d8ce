/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_JSON_SCHEMA_PATTERN_H
#define CATALOG_JSON_SCHEMA_PATTERN_H
/*
 * Patterns are ECMA-262 (with its u flag); PCRE2 runs them. The translation
 * makes \s, \S, ".", "[]", \v, \uXXXX and the long property names mean what
 * ECMA says, and refuses what only Perl knows.
 */
#include <stdbool.h>
#include <stddef.h>

struct schema_pattern {
	void *code; /* pcre2_code */
	const char *source;
	struct schema_pattern *next;
};

struct pattern_limits {
	void *few; /* pcre2_match_context: enough for a decent pattern */
	void *all; /* LIMIT_PATTERN_STEPS */
};
bool pattern_limits_init(struct pattern_limits *l);
void pattern_limits_fini(struct pattern_limits *l);

enum pattern_compiled { PATTERN_OK, PATTERN_BAD, PATTERN_NOMEM };
/* @why: at least 128 bytes, says what is wrong with a bad one. */
enum pattern_compiled pattern_compile(struct schema_pattern *p, const char *s,
				      size_t len, char *why, size_t cap);
void pattern_fini(struct schema_pattern *p);

enum pattern_match { MATCH_YES, MATCH_NO, MATCH_LIMIT };
/* Takes from *@steps what the match may have cost. Threads: any, at once. */
enum pattern_match pattern_match(const struct schema_pattern *p,
				 const struct pattern_limits *l, const char *s,
				 size_t len, size_t *steps);
#endif
