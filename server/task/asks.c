/* SPDX-License-Identifier: MIT */
#include "server/task/asks.h"

#include <stdlib.h>

static bool wanted(const struct run_question *q)
{
	return q->asked_now && !q->refused &&
	       (q->state == RUN_Q_NEW || q->state == RUN_Q_OPEN);
}

enum bide_rc asks_of(const struct bide_call *c, int64_t default_deadline_ms,
		     struct asks *ret)
{
	const struct run_question *q = NULL;
	size_t n = run_questions(c, &q);

	*ret = (struct asks){0};
	if (!n)
		return BIDE_OK;
	ret->v = calloc(n, sizeof(*ret->v));
	if (!ret->v)
		return BIDE_NOMEM;
	for (size_t i = 0; i < n; i++)
		if (wanted(&q[i]))
			ret->v[ret->n++] = (struct store_ask){
				.key = q[i].key,
				.kind = q[i].kind,
				.request = q[i].request,
				.deadline_ms = q[i].deadline_ms
						       ? q[i].deadline_ms
						       : default_deadline_ms};
	return BIDE_OK;
}

void asks_fini(struct asks *a)
{
	free(a->v);
	*a = (struct asks){0};
}
