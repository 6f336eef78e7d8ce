/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PROTOCOL_TASK_TOOLS_H
#define TESTS_PROTOCOL_TASK_TOOLS_H
#include <stdatomic.h>

#include "tests/unit/protocol/lib/asking.h"
/*
 * Persistent tools for the tests: slow {ms}, held (until task_tools_release()),
 * confirm (one form), two (two forms), failing, is_error, demands, goes_on,
 * either (a form, then a task), talker (progress and logs), schemed (has an
 * output schema, held).
 */
void task_tools_add(struct registry *r);
void task_tools_hold(void);
void task_tools_release(void);
extern atomic_int task_tools_runs; /* completed handlers */

#define CALL_TASK(name)                                                        \
	((struct post){                                                        \
		.method = "tools/call", .tool = (name), .caps = CAPS_TASKS})
#define CALL_PLAIN(name)                                                       \
	((struct post){                                                        \
		.method = "tools/call", .tool = (name), .caps = CAPS_FORM})
/* A new task; free() the id. */
char *task_start(struct wire *w, struct post p);
/* tasks/get until it shows @status. */
struct fake *task_until(struct wire *w, const char *id, const char *status);
struct fake *task_method(struct wire *w, const char *method, const char *id,
			 const char *responses);
/* The next state-only round's or question round's state; free(). */
char *state_of(struct fake *f);
#endif
