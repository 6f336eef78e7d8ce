/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_CLIENT_TALK_H
#define EXAMPLES_DEMO_CLIENT_TALK_H
#include <stdbool.h>

#include "examples/demo_client/wire.h"

/* What a client does with tools, whatever the tool: call, answer, judge. */

/* A member's text; "": none. */
const char *talk_text(const json_t *object, const char *name);
/* Says that the story went wrong; 1. */
int talk_wrong(const char *what);

/* tools/call, the first time or again. @responses: stolen; it and @state may be
 * NULL. */
json_t *talk_call(const struct client *c, const struct server *at,
		  const char *tool, const json_t *args, json_t *responses,
		  const char *state);
/* The next round of @response, which is taken. */
json_t *talk_again(const struct client *c, const struct server *at,
		   const char *tool, const json_t *args, const json_t *answers,
		   json_t *response);
/* inputResponses to @requests: of @answers the one whose name the key begins
 * with, as "manifest" answers "manifest-2"; what has none is left open. */
json_t *talk_answers(const json_t *answers, const json_t *requests);
const json_t *talk_questions(const json_t *response);
bool talk_wants_more(const json_t *response);

/* 0 when a tool's result is a good one; says its text. */
int talk_check_result(const json_t *result);
int talk_check(const json_t *response);
#endif
