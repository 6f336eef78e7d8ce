/* SPDX-License-Identifier: MIT */
#ifndef TASK_ASKS_H
#define TASK_ASKS_H
/* A call's open questions as the store takes them. */
#include "server/handler/run.h"
#include "store/store.h"

struct asks {
	struct store_ask *v; /* its texts are the call's */
	size_t n;
};
/* Those asked in this entry and still open. OK or NOMEM. */
enum bide_rc asks_of(const struct bide_call *c, int64_t default_deadline_ms,
		     struct asks *ret);
void asks_fini(struct asks *a);
#endif
