/* SPDX-License-Identifier: MIT */
#ifndef STORE_SQLITE_READ_H
#define STORE_SQLITE_READ_H
#include "store/sqlite_txn.h"

/* One task by its id, on a borrowed connection. */
enum bide_rc read_by_id(struct sql *c, int64_t id, unsigned what,
			int64_t logs_after, struct store_task **ret);
#endif
