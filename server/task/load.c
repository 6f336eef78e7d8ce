/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/jsontext.h"
#include "server/base/log.h"
#include "server/task/engine_priv.h"

/* From a task's row to a call that can be entered. */

static enum bide_rc parse(const char *text, json_t **ret)
{
	return jsontext_parse(text, strlen(text), ret, NULL);
}

static bool still_held(const struct work *w, const struct store_task *t)
{
	return t->state == STORE_RUNNING && t->epoch == w->fence.epoch &&
	       t->claim == w->fence.claim;
}

/* The row under our claim; LOST when it is another's, or ended. */
static enum bide_rc read_row(const struct work *w, unsigned what,
			     struct store_task **ret)
{
	struct store_task *t = NULL;
	enum bide_rc rc = store_get_id(w->e->store, w->fence.task, what, 0, &t);

	if (rc == BIDE_NOT_FOUND)
		return BIDE_LOST;
	if (rc)
		return rc;
	if (!still_held(w, t)) {
		store_task_free(t);
		return BIDE_LOST;
	}
	*ret = t;
	return BIDE_OK;
}

static enum bide_rc add_steps(struct bide_call *c, const struct store_task *t)
{
	enum bide_rc rc = BIDE_OK;
	json_t *result;

	for (size_t i = 0; i < t->nsteps && !rc; i++) {
		result = NULL;
		rc = parse(t->steps[i].result, &result);
		if (!rc)
			rc = run_load_step(c, t->steps[i].key, result);
	}
	return rc;
}

static enum bide_rc add_question(struct bide_call *c,
				 const struct store_input *in,
				 enum run_question_state state)
{
	json_t *answer = NULL;
	enum bide_rc rc = BIDE_OK;

	if (in->answer)
		rc = parse(in->answer, &answer);
	if (rc)
		return rc;
	return run_load_question(c, in->key, in->kind, in->request, state,
				 answer, in->deadline_ms);
}

/* In the order they were asked: of a key that was asked again, the last one
 * stands. A withdrawn one is as if it had never been asked. */
static enum bide_rc add_questions(struct bide_call *c,
				  const struct store_task *t,
				  bool *ret_answered)
{
	enum bide_rc rc = BIDE_OK;

	for (size_t i = 0; i < t->ninputs && !rc; i++) {
		const struct store_input *in = &t->inputs[i];

		switch (in->state) {
		case STORE_INPUT_OPEN:
			rc = add_question(c, in, RUN_Q_OPEN);
			break;
		case STORE_INPUT_ANSWERED:
			rc = add_question(c, in, RUN_Q_ANSWERED);
			*ret_answered = true;
			break;
		case STORE_INPUT_EXPIRED:
			rc = add_question(c, in, RUN_Q_EXPIRED);
			*ret_answered = true;
			break;
		case STORE_INPUT_WITHDRAWN:
			break;
		}
	}
	return rc;
}

enum bide_rc load_questions(struct work *w, struct bide_call *c)
{
	struct store_task *t = NULL;
	bool answered = false;
	enum bide_rc rc = read_row(w, STORE_GET_ALL_INPUTS, &t);

	if (rc)
		return rc;
	/* Whoever answered may be able to do more, or less, than before. */
	if (t->caller && caller_load(&w->caller, t->caller))
		run_set_caller(c, &w->caller);
	run_clear_questions(c);
	rc = add_questions(c, t, &answered);
	store_task_free(t);
	return rc;
}

static struct bide_call *build(struct work *w)
{
	const struct engine *e = w->e;
	struct run_options opt = {
		.target = &w->tool->target,
		.backend = &backend_task,
		.backend_data = w,
		.args = w->args,
		.principal = w->principal,
		.chain_id = w->chain_id ? w->chain_id : w->token,
		.task_id = w->token,
		.epoch = w->fence.epoch,
		.caller = &w->caller,
		.default_deadline_ms =
			engine_input_deadline_ms(e, &w->tool->target),
		.reenter = e->opt.reenter,
	};

	return run_new(&opt);
}

/* The facts that an entry needs, out of the row. */
static enum bide_rc take_facts(struct work *w, const struct store_task *t)
{
	w->tool = registry_tool(w->e->opt.registry, t->tool);
	if (!w->tool)
		return BIDE_NOT_FOUND;
	memcpy(w->token, t->token, sizeof(w->token));
	w->principal = strdup(t->principal ? t->principal : "");
	w->chain_id = t->chain_id ? strdup(t->chain_id) : NULL;
	w->expires_ms = t->ttl_ms >= 0 ? t->created_ms + t->ttl_ms : 0;
	if (!w->principal || (t->chain_id && !w->chain_id))
		return BIDE_NOMEM;
	if (t->caller && !caller_load(&w->caller, t->caller))
		return BIDE_INVALID;
	return parse(t->args ? t->args : "{}", &w->args);
}

static enum bide_rc build_from(struct work *w, const struct store_task *t,
			       struct bide_call **ret, bool *ret_answered)
{
	struct bide_call *c = NULL;
	enum bide_rc rc = take_facts(w, t);

	if (rc)
		return rc;
	c = build(w);
	if (!c)
		return BIDE_NOMEM;
	rc = add_steps(c, t);
	if (!rc)
		rc = add_questions(c, t, ret_answered);
	if (rc) {
		run_free(c);
		return rc;
	}
	if (!isnan(t->progress))
		run_set_last_progress(c, t->progress);
	*ret = c;
	return BIDE_OK;
}

enum bide_rc load_call(struct work *w, struct bide_call **ret,
		       bool *ret_answered)
{
	struct store_task *t = NULL;
	enum bide_rc rc;

	*ret_answered = false;
	if (w->fresh) {
		*ret = build(w);
		return *ret ? BIDE_OK : BIDE_NOMEM;
	}
	rc = read_row(w, STORE_GET_REPLAY, &t);
	if (rc)
		return rc;
	rc = build_from(w, t, ret, ret_answered);
	store_task_free(t);
	return rc;
}
