/* SPDX-License-Identifier: MIT */
#ifndef TESTS_E2E_EXAMPLES_CALL_H
#define TESTS_E2E_EXAMPLES_CALL_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/e2e/lib/pair.h"

/* Calls of the examples round by round, written as JSON. */
#define ACCEPT(content) "{\"action\":\"accept\",\"content\":{" content "}}"
#define DECLINE         "{\"action\":\"decline\"}"
#define CANCEL          "{\"action\":\"cancel\"}"
#define LOGIN           "\"github_login\":" ACCEPT("\"name\":\"octocat\"")

struct call {
	const char *tool;
	const char *can;  /* capabilities, JSON */
	const char *args; /* JSON */
};

static inline json_t *parsed(const char *text)
{
	json_t *v = text != NULL ? json_loads(text, 0, NULL) : NULL;

	if (text != NULL && v == NULL)
		fail_msg("not JSON: %s", text);
	return v;
}

static inline struct reply *begin(struct server *at, const struct call *c)
{
	struct ask ask = {.url = at->url, .can = c->can};

	return tool(&ask, c->tool, parsed(c->args));
}

/* The round after @r, which it frees. @answers: JSON; NULL: none. */
static inline struct reply *next(struct server *at, const struct call *c,
				 struct reply *r, const char *answers)
{
	struct ask ask = {.url = at->url, .can = c->can};
	struct reply *s;

	assert_string_equal(result_type(r), "input_required");
	s = again(&ask, c->tool, parsed(c->args), state_of(r), parsed(answers));
	reply_free(r);
	return s;
}

static inline void assert_asks(const struct reply *r, size_t n, const char *key)
{
	assert_string_equal(result_type(r), "input_required");
	assert_int_equal(asked_count(r), n);
	assert_non_null(asked(r, key));
}

/* Frees it. */
static inline void assert_ends(struct reply *r, const char *text, bool is_error)
{
	assert_string_equal(result_type(r), "complete");
	if (strstr(result_text(r), text) == NULL)
		fail_msg("\"%s\" instead of \"%s\"", result_text(r), text);
	assert_int_equal(json_is_true(json_object_get(result(r), "isError")),
			 is_error);
	reply_free(r);
}

/* -32021, naming @capability. Frees it. */
static inline void assert_refused(struct reply *r, const char *capability)
{
	const json_t *data =
		json_object_get(json_object_get(r->message, "error"), "data");

	assert_int_equal(r->status, 400);
	assert_int_equal(error_code(r), -32021);
	assert_non_null(json_object_get(
		json_object_get(data, "requiredCapabilities"), capability));
	reply_free(r);
}

#endif
