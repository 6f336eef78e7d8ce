/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/store/lib/contract.h"
#include "tests/unit/store/lib/files.h"

void contract_make(struct contract *c)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(c->dir, sizeof c->dir, "%s/bide-store-XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(c->dir));
	snprintf(c->url, sizeof c->url, "sqlite:%s/bide.db", c->dir);
}

void contract_remove(struct contract *c)
{
	remove_tree(c->dir);
}

static struct store *open_with(const struct store_options *opt)
{
	struct bide_error err = {0};
	struct store *s = NULL;

	if (store_open(opt, &s, &err) != BIDE_OK)
		fail_msg("store_open: %s", err.text);
	return s;
}

struct store *contract_open(const struct contract *c)
{
	return open_with(&(struct store_options){.url = c->url,
						 .create = true,
						 .migrate = true,
						 .lease_ms = 15000,
						 /* Bells only. */
						 .poll_ms = 60000});
}

struct store *contract_open_read_only(const struct contract *c)
{
	return open_with(
		&(struct store_options){.url = c->url, .read_only = true});
}
