/* SPDX-License-Identifier: MIT */
#ifndef DISPATCH_ANSWERS_H
#define DISPATCH_ANSWERS_H
#include "server/base/limits.h"
#include "server/dispatch/core.h"
/*
 * Answers that a request brings for a task's open questions: checked against
 * each question, then stored in one operation. What does not fit is flagged,
 * so that the store asks again under a new key; what answers no open question
 * is left out (tasks.md "Task Update Requests").
 */
struct answers {
	struct store_op op;
	struct dispatch *d;
	struct request *rq;
	struct store_answer_in *in;
	size_t n;
	char token[STORE_TOKEN_BYTES];
	char tool[LIMIT_NAME_BYTES + 1];
	char *caller; /* the new snapshot; NULL: as it was */
	void (*done)(struct answers *a);
	void *user;
};
/* @t: read with its open inputs. NULL: no memory. */
struct answers *answers_new(struct dispatch *d, struct request *rq,
			    const struct store_task *t,
			    const json_t *responses);
void answers_free(struct answers *a);
/* Nothing to store: the task would not change. */
bool answers_empty(const struct answers *a);
/* @done on a store thread, after the commit. */
void answers_submit(struct answers *a, void (*done)(struct answers *a),
		    void *user);
#endif
