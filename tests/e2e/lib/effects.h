/* SPDX-License-Identifier: MIT */
#ifndef TESTS_E2E_EFFECTS_H
#define TESTS_E2E_EFFECTS_H
#include <stdbool.h>
#include <stddef.h>

#include "tests/e2e/lib/server.h"
/*
 * What the fixture's handlers did, by the log that they write outside of the
 * database (--effects): a line "task epoch pid step" for each effect.
 */
struct effect {
	char task[64];
	long long epoch;
	int pid;
	char step[64];
};
struct effects {
	struct effect *all; /* in their order */
	size_t n;
};
struct effects effects_read(const struct scratch *s);
void effects_free(struct effects *e);
/* Lines that hold @text. */
size_t effects_count(const struct scratch *s, const char *text);
/* How many tasks have done @step, in however many epochs. */
size_t effects_tasks(const struct scratch *s, const char *step);
/* Waits until there are @n of them; false: not within a minute. */
bool effects_await(const struct scratch *s, const char *text, size_t n);
/* No step was done twice in one epoch of its task. False: one was, and @why
 * says which. */
bool effects_once(const struct scratch *s, char why[256]);
#endif
