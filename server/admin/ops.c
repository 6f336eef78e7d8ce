/* SPDX-License-Identifier: MIT */
#include "server/admin/ops.h"

#include <stdlib.h>
#include <string.h>

#include "server/base/error.h"
#include "server/base/jsontext.h"
#include "server/handler/run.h"
#include "server/task/topic.h"

#define PAGE     500
#define STEER_MS 15000
#define LIVE     (1U << STORE_READY | 1U << STORE_RUNNING | 1U << STORE_WAITING)

static enum bide_rc cannot_read(struct bide_error *reterr)
{
	return error_set(reterr, BIDE_IO,
			 "the database cannot be read; try: doctor");
}

/* ---- finding ---- */

/* Looks through one page; *@found counts those whose id begins with @id. */
static void match_page(struct store_task **page, size_t n, const char *id,
		       int64_t *match, size_t *found)
{
	size_t len = strlen(id);

	for (size_t i = 0; i < n; i++)
		if (strncmp(page[i]->token, id, len) == 0 && ++*found == 1)
			*match = page[i]->id;
}

static enum bide_rc find_prefix(struct store *s, const char *id, int64_t *match,
				size_t *found)
{
	struct store_filter f = {.limit = PAGE};
	struct store_task **page;
	enum bide_rc rc;
	size_t n = PAGE;

	while (n == PAGE && *found < 2) {
		page = NULL;
		rc = store_list(s, &f, &page, &n);
		if (rc != BIDE_OK)
			return rc;
		match_page(page, n, id, match, found);
		if (n > 0)
			f.before_id = page[n - 1]->id;
		store_list_free(page, n);
	}
	return BIDE_OK;
}

enum bide_rc ops_find(struct store *s, const char *id, unsigned what,
		      struct store_task **ret, struct bide_error *reterr)
{
	enum bide_rc rc = store_get(s, id, NULL, what, 0, ret);
	int64_t match = 0;
	size_t found = 0;

	if (rc == BIDE_OK)
		return rc;
	if (rc == BIDE_NOT_FOUND && *id != '\0')
		rc = find_prefix(s, id, &match, &found);
	if (rc != BIDE_OK && rc != BIDE_NOT_FOUND)
		return cannot_read(reterr);
	if (found > 1)
		return error_set(reterr, BIDE_CONFLICT,
				 "several tasks have an id that begins with "
				 "%s: give more of it",
				 id);
	if (found == 1)
		rc = store_get_id(s, match, what, 0, ret);
	if (found == 0 || rc == BIDE_NOT_FOUND)
		return error_set(
			reterr, BIDE_NOT_FOUND,
			"there is no task \"%s\"; try: tasks list --all", id);
	return rc == BIDE_OK ? rc : cannot_read(reterr);
}

enum bide_rc ops_list(struct store *s, const struct ops_filter *f,
		      struct store_task ***ret, size_t *ret_n, bool *ret_more,
		      struct bide_error *reterr)
{
	struct store_filter filter = {
		.states = f->states != 0 ? f->states
			  : f->all       ? 0
					 : LIVE,
		.tool = f->tool,
		.principal = f->principal,
		.limit = f->limit + 1,
		.what = STORE_GET_OPEN_INPUTS,
	};

	if (store_list(s, &filter, ret, ret_n) != BIDE_OK)
		return cannot_read(reterr);
	*ret_more = *ret_n > f->limit;
	if (*ret_more)
		store_task_free((*ret)[--*ret_n]);
	return BIDE_OK;
}

/* ---- steering ---- */
static enum bide_rc say_answer(const struct store_op *op,
			       struct bide_error *reterr)
{
	switch (op->answer) {
	case STORE_OK:
		return BIDE_OK;
	case STORE_ENDED:
		return error_set(reterr, BIDE_CONFLICT,
				 "the task has ended; nothing was changed");
	case STORE_CHANGED_MEANWHILE:
		return error_set(reterr, BIDE_CONFLICT,
				 "the task has moved since it was looked at; "
				 "nothing was changed. Look at it again (tasks "
				 "show) and repeat if it still applies");
	case STORE_NO_SUCH:
	case STORE_LOST:
	case STORE_CREATED:
	case STORE_SAME:
	case STORE_CONFLICT:
	case STORE_LIMIT:
	case STORE_PARKED:
	case STORE_GO_ON:
	case STORE_ACCEPTED:
	case STORE_ALREADY:
	case STORE_NOT_OPEN:
	case STORE_REASKED:
	case STORE_CANCELLED_NOW:
	case STORE_STORED:
	case STORE_EARLIER:
		break;
	}
	return error_set(reterr, BIDE_NOT_FOUND, "the task is gone");
}

static enum bide_rc not_written(struct bide_error *reterr)
{
	return error_set(reterr, BIDE_BUSY,
			 "the database could not be written in time; nothing "
			 "was changed. See who holds the write gate: doctor");
}

static enum bide_rc steer(struct store *s, struct store_op *op,
			  struct bide_error *reterr)
{
	enum bide_rc rc = store_run(s, op);

	if (rc == BIDE_OK)
		return say_answer(op, reterr);
	if (rc == BIDE_UNKNOWN)
		return error_set(reterr, rc,
				 "it is not known whether that was stored; "
				 "look at the task (tasks show) before trying "
				 "again");
	return not_written(reterr);
}

static void init_steer(struct store_op *op, const struct store_task *seen,
		       enum store_move move, const char *by)
{
	store_op_init(op, STORE_OP_STEER, STEER_MS);
	op->u.steer.token = seen->token;
	op->u.steer.seen_state = seen->state;
	op->u.steer.seen_epoch = seen->epoch;
	op->u.steer.move = move;
	op->u.steer.by = by;
}

enum bide_rc ops_cancel(struct store *s, const struct store_task *seen,
			const char *by, struct bide_error *reterr)
{
	struct store_op op;

	init_steer(&op, seen, STORE_STEER_CANCEL, by);
	return steer(s, &op, reterr);
}

enum bide_rc ops_expire(struct store *s, const struct store_task *seen,
			const char *by, struct bide_error *reterr)
{
	struct store_op op;

	if (!store_state_ended(seen->state) && seen->open == 0)
		return error_set(reterr, BIDE_INVALID,
				 "no question of this task is open");
	init_steer(&op, seen, STORE_STEER_EXPIRE_INPUTS, by);
	return steer(s, &op, reterr);
}

enum bide_rc ops_retry(struct store *s, const struct store_task *seen,
		       const char *by, struct bide_error *reterr)
{
	struct store_op op;

	if (seen->state != STORE_FAILED)
		return error_set(reterr, BIDE_INVALID,
				 "only a failed task can be tried again");
	init_steer(&op, seen, STORE_STEER_RETRY, by);
	return steer(s, &op, reterr);
}

/* ---- answering ---- */
static const struct store_input *open_input(const struct store_task *t,
					    const char *key)
{
	for (size_t i = 0; i < t->ninputs; i++) {
		const struct store_input *in = &t->inputs[i];

		if (in->state == STORE_INPUT_OPEN &&
		    (strcmp(in->wire_key, key) == 0 ||
		     strcmp(in->key, key) == 0))
			return in;
	}
	return NULL;
}

static enum bide_rc no_such_key(const struct store_task *t, const char *key,
				struct bide_error *reterr)
{
	struct buf open = {.max = 160};

	for (size_t i = 0; i < t->ninputs; i++)
		if (t->inputs[i].state == STORE_INPUT_OPEN)
			(void)buf_addf(&open, "%s%s", open.len > 0 ? ", " : "",
				       t->inputs[i].wire_key);
	(void)error_set(reterr, BIDE_INVALID,
			"no question %s is open. Open: %s", key,
			open.len > 0 ? open.data : "none");
	buf_fini(&open);
	return BIDE_INVALID;
}

/* What an operator types, as a client would have sent it (a new reference). */
static json_t *as_result(const struct store_input *in, const json_t *response)
{
	bool form = in->kind == STORE_INPUT_FORM;

	if (json_is_string(response) && (form || in->kind == STORE_INPUT_URL))
		return json_pack("{s:O}", "action", (json_t *)response);
	if (form && json_is_object(response) &&
	    !json_is_string(json_object_get(response, "action")))
		return json_pack("{s:s, s:O}", "action", "accept", "content",
				 (json_t *)response);
	return json_incref((json_t *)response);
}

/*
 * A form may have a field named "action" of its own: what is no result is
 * tried once more as content.
 */
static enum answer_fit check(const struct store_input *in,
			     const json_t *response, json_t **ret,
			     struct buf *why)
{
	json_t *result = as_result(in, response);
	enum answer_fit fit =
		answer_check(in->kind, in->request, result, ret, why);

	json_decref(result);
	if (fit == ANSWER_FITS || in->kind != STORE_INPUT_FORM ||
	    json_object_get(response, "action") == NULL ||
	    json_object_get(response, "content") != NULL)
		return fit;
	buf_reset(why);
	result = json_pack("{s:s, s:O}", "action", "accept", "content",
			   (json_t *)response);
	fit = answer_check(in->kind, in->request, result, ret, why);
	json_decref(result);
	return fit;
}

static enum bide_rc steer_answer(struct store *s, const struct store_task *seen,
				 const struct store_input *in,
				 const char *answer, const char *by,
				 struct bide_error *reterr)
{
	struct store_op op;
	enum bide_rc rc;

	init_steer(&op, seen, STORE_STEER_ANSWER, by);
	op.u.steer.answer.wire_key = in->wire_key;
	op.u.steer.answer.answer = answer;
	rc = steer(s, &op, reterr);
	if (rc == BIDE_OK && op.u.steer.answer.ret != STORE_ACCEPTED &&
	    op.u.steer.answer.ret != STORE_SAME)
		rc = error_set(reterr, BIDE_CONFLICT,
			       "the question %s is not open any more",
			       in->wire_key);
	return rc;
}

enum bide_rc ops_answer(struct store *s, const struct store_task *seen,
			const char *key, const json_t *response, const char *by,
			struct bide_error *reterr)
{
	const struct store_input *in = open_input(seen, key);
	struct buf why = {0};
	json_t *fitting = NULL;
	char *text = NULL;
	enum bide_rc rc;

	if (store_state_ended(seen->state))
		return error_set(reterr, BIDE_CONFLICT,
				 "the task has ended; nothing was changed");
	if (in == NULL)
		return no_such_key(seen, key, reterr);
	if (check(in, response, &fitting, &why) == ANSWER_FITS)
		text = jsontext_dup(fitting, NULL);
	if (text != NULL)
		rc = steer_answer(s, seen, in, text, by, reterr);
	else
		rc = error_set(reterr, BIDE_INVALID,
			       "the answer does not fit the question: %s",
			       why.len > 0 ? why.data : "it cannot be written");
	free(text);
	json_decref(fitting);
	buf_fini(&why);
	return rc;
}

/* ---- announcing ---- */
enum bide_rc ops_signal(struct store *s, enum bide_changed what,
			const char *uri, struct bide_error *reterr)
{
	enum bide_rc rc = topic_announce(s, what, uri);

	if (rc == BIDE_INVALID)
		return error_set(reterr, rc,
				 "\"%s\" is no absolute URI, as "
				 "file:///etc/hosts is one",
				 uri != NULL ? uri : "");
	if (rc == BIDE_IO)
		return error_set(reterr, BIDE_UNKNOWN,
				 "it is not known whether that was stored; it "
				 "does no harm to repeat it");
	return rc == BIDE_OK ? rc : not_written(reterr);
}
