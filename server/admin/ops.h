/* SPDX-License-Identifier: MIT */
#ifndef ADMIN_OPS_H
#define ADMIN_OPS_H
#include <jansson.h>

#include "bide/call.h"
#include "server/base/buf.h"
#include "store/store.h"
/*
 * What an operator can do, over the store's interface and with no printing, so
 * that a page can offer the same. Steering is fenced: it carries the state and
 * the epoch that the operator saw, and changes nothing when the task has moved
 * since (docs/design.md, "steer").
 *
 * Texts of errors are for the operator and say what to do next.
 */

/**
 * ops_find - one task by its public id or a beginning of it that no other has.
 * @what: store_get flags.
 * Returns BIDE_OK (store_task_free()); NOT_FOUND; CONFLICT when several begin
 * so; IO.
 */
enum bide_rc ops_find(struct store *s, const char *id, unsigned what,
		      struct store_task **ret, struct bide_error *reterr);

/* What a list shows. */
struct ops_filter {
	unsigned states; /* bits 1 << state; 0: those that have not ended */
	bool all;        /* those that ended too */
	const char *tool, *principal; /* NULL: any */
	size_t limit;
};
/* Newest first, with their open questions. @ret_more: there are more. */
enum bide_rc ops_list(struct store *s, const struct ops_filter *f,
		      struct store_task ***ret, size_t *ret_n, bool *ret_more,
		      struct bide_error *reterr);

/*
 * @seen: as ops_find() gave it. @by: who, for the history. BIDE_OK; NOT_FOUND;
 * CONFLICT (it changed meanwhile, or had ended); INVALID; BUSY; UNKNOWN.
 */
enum bide_rc ops_cancel(struct store *s, const struct store_task *seen,
			const char *by, struct bide_error *reterr);
/* Its open questions time out now; the handler decides what that means. */
enum bide_rc ops_expire(struct store *s, const struct store_task *seen,
			const char *by, struct bide_error *reterr);
/* A failed one runs again, with the steps it recorded. */
enum bide_rc ops_retry(struct store *s, const struct store_task *seen,
		       const char *by, struct bide_error *reterr);
/*
 * @seen with its open inputs. @key: the handler's or the wire's. @response: the
 * result as a client would send it; for a form also just its content, or
 * "decline" or "cancel" as a JSON string. Checked against the question.
 */
enum bide_rc ops_answer(struct store *s, const struct store_task *seen,
			const char *key, const json_t *response, const char *by,
			struct bide_error *reterr);

/*
 * Tells those who listen, on all instances, that the resource @uri, or without
 * one the list @what, has changed. BIDE_OK; INVALID; BUSY; UNKNOWN.
 */
enum bide_rc ops_signal(struct store *s, enum bide_changed what,
			const char *uri, struct bide_error *reterr);
#endif
