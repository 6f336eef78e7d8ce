/* SPDX-License-Identifier: MIT */
#ifndef STORE_SQLITE_CHECK_H
#define STORE_SQLITE_CHECK_H
#include "store/sqlite_stmt.h"

/* What the files of store_check() share. */
struct check {
	void (*say)(void *user, bool good, const char *line);
	void *user;
	bool good;
};
void check_say(struct check *r, bool good, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Keys, the WAL, and tasks whose tool no live instance has. @c: read-only. */
void check_work(struct check *r, struct sql *c, const char *path);
#endif
