/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CATALOG_REGISTERING_H
#define TESTS_CATALOG_REGISTERING_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "server/base/log.h"
#include "server/catalog/registry.h"

/* What the tests of the registry share: their state is an empty one. */
static inline int setup(void **state)
{
	log_set_level(LOG_NONE);
	*state = registry_new();
	return *state ? 0 : -1;
}

static inline int teardown(void **state)
{
	registry_free(*state);
	return 0;
}

static inline enum bide_rc nop(struct bide_call *call, void *user)
{
	(void)call;
	(void)user;
	return BIDE_OK;
}

static inline enum bide_rc suggest(struct bide_completion *c, void *user)
{
	(void)c;
	(void)user;
	return BIDE_OK;
}

static inline void says(const struct bide_error *e, const char *text)
{
	if (!strstr(e->text, text))
		fail_msg("\"%s\" does not say \"%s\"", e->text, text);
}

/* @rc came of registering something that is in order. */
static inline void is_accepted(enum bide_rc rc, const struct bide_error *e)
{
	if (rc)
		fail_msg("refused: %s", e->text);
}
#endif
