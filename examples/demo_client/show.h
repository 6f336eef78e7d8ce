/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_CLIENT_SHOW_H
#define EXAMPLES_DEMO_CLIENT_SHOW_H
#include <jansson.h>
#include <stdbool.h>

/*
 * Printing the exchange for a person: an arrow, who, what, and the members
 * that matter as JSON, broken only where a line would be too long. Colours and
 * arrows as the terminal can show them. Any thread; one message at a time.
 */
enum show_way { SHOW_REQUEST, SHOW_ANSWER, SHOW_EVENT, SHOW_BROKEN };
void show_init(void);
void show_title(const char *text);
void show_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* @right: what stands at the line's end, may be ""; @body: may be NULL. */
void show_message(enum show_way way, const char *server, const char *what,
		  const char *right, const json_t *body);
#endif
