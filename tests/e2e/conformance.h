/* SPDX-License-Identifier: MIT */
#ifndef TESTS_E2E_CONFORMANCE_H
#define TESTS_E2E_CONFORMANCE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/e2e/lib/pair.h"
/*
 * What the specification demands and the official suite does not look at, over
 * real HTTP: what the programs conformance*.c share. docs/conformance.md is the
 * whole list and says which test shows what.
 */
#define TASKS "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}"

static inline json_t *parsed(const char *text)
{
	json_t *v = json_loads(text, JSON_DECODE_ANY, NULL);

	if (v == NULL)
		fail_msg("not JSON: %s", text);
	return v;
}

static inline void equals(const json_t *got, const char *want)
{
	json_t *w = parsed(want);
	char *text;

	if (!json_equal(got, w)) {
		text = got != NULL ? json_dumps(got, JSON_ENCODE_ANY) : NULL;
		fail_msg("%s, wanted %s", text != NULL ? text : "nothing",
			 want);
	}
	json_decref(w);
}

static inline const json_t *member(const struct reply *r, const char *name)
{
	return json_object_get(result(r), name);
}
#endif
