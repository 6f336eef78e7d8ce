/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_SCAN_H
#define CATALOG_SCAN_H
#include <stdbool.h>
/* What is left of a text that is read from its front. */
struct text {
	const char *p;
	const char *end;
};

static inline bool take(struct text *t, char c)
{
	if (t->p == t->end || *t->p != c)
		return false;
	t->p++;
	return true;
}
#endif
