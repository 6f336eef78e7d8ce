/* SPDX-License-Identifier: MIT */
#ifndef TESTS_E2E_TASK_H
#define TESTS_E2E_TASK_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/e2e/lib/client.h"

/* Starts a task: its id. @args: stolen. */
static inline void create(const struct ask *a, const char *name, json_t *args,
			  char id[64])
{
	struct reply *r = tool(a, name, args);

	if (r->status != 200 || strcmp(result_type(r), "task") != 0)
		fail_msg("%s: %d %s", name, r->status, r->raw);
	(void)snprintf(id, 64, "%s", task_id(r));
	reply_free(r);
}

/* The task once it is @status. */
static inline struct reply *await(const struct ask *a, const char *id,
				  const char *status)
{
	struct reply *r = task_await(a, id, status);

	if (r == NULL)
		fail_msg("%s never became %s", id, status);
	return r;
}

static inline void awaits(const struct ask *a, const char *id,
			  const char *status)
{
	reply_free(await(a, id, status));
}
#endif
