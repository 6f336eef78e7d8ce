/* SPDX-License-Identifier: MIT */
#include "server/base/error.h"
#include "server/base/jsontext.h"
#include "server/base/limits.h"
#include "server/handler/call_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The record as sealed: {"s":{step:result},"q":{key:question},"p":progress},
 * each member only where there is something. A question is {"k":kind} with
 * "a": its answer, "t": true when its deadline passed, or, still open, "r": the
 * request and "x": when it expires. Frozen: sealed states carry it.
 */

static const char *step_at(const struct bide_call *c, size_t i)
{
	return c->steps[i].key;
}

static const char *question_at(const struct bide_call *c, size_t i)
{
	return c->questions[i].key;
}

struct call_step *record_step(const struct bide_call *c, const char *key)
{
	size_t i = keys_find(c, &c->step_index, c->n_steps, step_at, key);

	return i < c->n_steps ? &c->steps[i] : NULL;
}

/* Room for one more of @size bytes. */
static bool grow(void **array, size_t n, size_t *cap, size_t size)
{
	size_t want = *cap ? *cap * 2 : 8;
	void *p;

	if (n < *cap)
		return true;
	p = realloc(*array, want * size);
	if (!p)
		return false;
	*array = p;
	*cap = want;
	return true;
}

static enum bide_rc add_step(struct bide_call *c, const char *key,
			     json_t *result)
{
	void *array = c->steps;
	char *copy = call_strdup(c, key);

	if (!copy ||
	    !grow(&array, c->n_steps, &c->cap_steps, sizeof(*c->steps))) {
		json_decref(result);
		return BIDE_NOMEM;
	}
	c->steps = array;
	c->steps[c->n_steps++] = (struct call_step){copy, result};
	keys_added(c, &c->step_index, c->n_steps, step_at);
	return BIDE_OK;
}

enum bide_rc record_put_step(struct bide_call *c, const char *key,
			     json_t *result)
{
	struct call_step *s = record_step(c, key);

	if (!result)
		result = json_null();
	if (!s)
		return add_step(c, key, result);
	json_decref(s->result);
	s->result = result;
	return BIDE_OK;
}

struct run_question *record_question(const struct bide_call *c, const char *key)
{
	size_t i = keys_find(c, &c->question_index, c->n_questions, question_at,
			     key);

	return i < c->n_questions ? &c->questions[i] : NULL;
}

struct run_question *record_add_question(struct bide_call *c, const char *key)
{
	void *array = c->questions;
	char *copy = call_strdup(c, key);
	struct run_question *q = NULL;

	if (!copy || !grow(&array, c->n_questions, &c->cap_questions,
			   sizeof(*c->questions)))
		return NULL;
	c->questions = array;
	q = &c->questions[c->n_questions++];
	*q = (struct run_question){.key = copy};
	keys_added(c, &c->question_index, c->n_questions, question_at);
	return q;
}

static bool is_open(const struct run_question *q)
{
	return q->state == RUN_Q_NEW || q->state == RUN_Q_OPEN;
}

/* What the handler did not ask again, a newer version of it dropped. */
void record_drop_unasked(struct bide_call *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_questions; i++) {
		struct run_question *q = &c->questions[i];

		if (is_open(q) && (!q->asked_now || q->refused))
			continue;
		c->questions[n++] = *q;
	}
	if (n == c->n_questions)
		return;
	c->n_questions = n;
	keys_rebuild(c, &c->question_index, n, question_at);
}

void record_expire(struct bide_call *c, struct run_question *q)
{
	if (!c->task_id && is_open(q) && q->expires_ms &&
	    call_now_ms(c) >= q->expires_ms)
		q->state = RUN_Q_EXPIRED;
}

void run_clear_questions(struct bide_call *c)
{
	for (size_t i = 0; i < c->n_questions; i++)
		json_decref(c->questions[i].answer);
	c->n_questions = 0;
	keys_rebuild(c, &c->question_index, 0, question_at);
}

void record_free(struct bide_call *c)
{
	run_clear_questions(c);
	for (size_t i = 0; i < c->n_steps; i++)
		json_decref(c->steps[i].result);
	free(c->questions);
	free(c->steps);
	free(c->step_index.slots);
}

/* ---- reading it ---- */

size_t run_questions(const struct bide_call *c, const struct run_question **ret)
{
	*ret = c->questions;
	return c->n_questions;
}

size_t run_open_questions(const struct bide_call *c, struct buf *out)
{
	size_t n = 0;

	buf_addc(out, '{');
	for (size_t i = 0; i < c->n_questions; i++) {
		const struct run_question *q = &c->questions[i];

		if (!is_open(q))
			continue;
		if (n++)
			buf_addc(out, ',');
		jsontext_write_string(q->key, strlen(q->key), out);
		buf_addc(out, ':');
		buf_addstr(out, q->request);
	}
	buf_addc(out, '}');
	return n;
}

unsigned run_open_needs(const struct bide_call *c)
{
	unsigned bits = 0;

	for (size_t i = 0; i < c->n_questions; i++)
		if (is_open(&c->questions[i]))
			bits |= answer_needs(c->questions[i].kind,
					     c->questions[i].request);
	return bits;
}

size_t run_steps(const struct bide_call *c)
{
	return c->n_steps;
}

void run_step_at(const struct bide_call *c, size_t i, const char **key,
		 const json_t **result)
{
	*key = c->steps[i].key;
	*result = c->steps[i].result;
}

/* ---- loading ---- */

enum bide_rc run_load_step(struct bide_call *c, const char *key, json_t *result)
{
	return record_put_step(c, key, result);
}

enum bide_rc run_load_question(struct bide_call *c, const char *key,
			       enum store_input_kind kind, const char *request,
			       enum run_question_state state, json_t *answer,
			       int64_t expires_ms)
{
	struct run_question *q = record_question(c, key);
	char *text = call_strdup(c, request ? request : "{}");

	if (!q)
		q = record_add_question(c, key);
	if (!q || !text) {
		json_decref(answer);
		return BIDE_NOMEM;
	}
	json_decref(q->answer);
	*q = (struct run_question){.key = q->key,
				   .kind = kind,
				   .request = text,
				   .state = state,
				   .answer = answer,
				   .expires_ms = expires_ms};
	return BIDE_OK;
}

/* ---- sealing ---- */

static bool set(json_t *o, const char *key, json_t *value)
{
	return !json_object_set_new_nocheck(o, key, value);
}

static json_t *dump_steps(const struct bide_call *c)
{
	json_t *o = json_object();

	for (size_t i = 0; o && i < c->n_steps; i++)
		if (json_object_set_nocheck(o, c->steps[i].key,
					    c->steps[i].result)) {
			json_decref(o);
			return NULL;
		}
	return o;
}

static bool dump_request(const struct run_question *q, json_t *o)
{
	json_t *request = NULL;

	return !jsontext_parse(q->request, strlen(q->request), &request,
			       NULL) &&
	       set(o, "r", request);
}

static bool dump_open(const struct run_question *q, json_t *o)
{
	return dump_request(q, o) &&
	       (!q->expires_ms || set(o, "x", json_integer(q->expires_ms)));
}

static json_t *dump_question(const struct bide_call *c,
			     const struct run_question *q)
{
	json_t *o = json_object();
	bool ok = o && set(o, "k", json_integer(q->kind));

	switch (q->state) {
	case RUN_Q_NEW:
	case RUN_Q_OPEN:
		ok = ok && dump_open(q, o);
		break;
	case RUN_Q_ANSWERED:
		ok = ok && !json_object_set_nocheck(o, "a", q->answer);
		break;
	case RUN_Q_EXPIRED:
		ok = ok && set(o, "t", json_true());
		break;
	}
	/* What a task's history will show, should the call become one. */
	if (ok && !is_open(q) && c->target->mode == BIDE_EITHER)
		ok = dump_request(q, o);
	if (ok)
		return o;
	json_decref(o);
	return NULL;
}

static json_t *dump_questions(const struct bide_call *c)
{
	json_t *o = json_object();

	for (size_t i = 0; o && i < c->n_questions; i++)
		if (!set(o, c->questions[i].key,
			 dump_question(c, &c->questions[i]))) {
			json_decref(o);
			return NULL;
		}
	return o;
}

json_t *run_dump(const struct bide_call *c)
{
	json_t *o = json_object();
	double progress = run_last_progress(c);
	bool ok = o != NULL;

	if (ok && c->n_steps)
		ok = set(o, "s", dump_steps(c));
	if (ok && c->n_questions)
		ok = set(o, "q", dump_questions(c));
	if (ok && !isnan(progress))
		ok = set(o, "p", json_real(progress));
	if (ok)
		return o;
	json_decref(o);
	return NULL;
}

static enum bide_rc load_question(struct bide_call *c, const char *key,
				  const json_t *q)
{
	json_int_t kind = json_integer_value(json_object_get(q, "k"));
	json_t *answer = json_object_get(q, "a");
	const json_t *request = json_object_get(q, "r");
	enum run_question_state state = RUN_Q_OPEN;
	char *text = NULL;
	enum bide_rc rc;

	if (kind < STORE_INPUT_FORM || kind > STORE_INPUT_ROOTS)
		return BIDE_INVALID;
	if (answer)
		state = RUN_Q_ANSWERED;
	else if (json_object_get(q, "t"))
		state = RUN_Q_EXPIRED;
	else if (!request)
		return BIDE_INVALID;
	if (request) {
		text = jsontext_dup(request, NULL);
		if (!text)
			return BIDE_NOMEM;
	}
	rc = run_load_question(c, key, (enum store_input_kind)kind, text, state,
			       json_incref(answer),
			       json_integer_value(json_object_get(q, "x")));
	free(text);
	return rc;
}

enum bide_rc run_load(struct bide_call *c, const json_t *record)
{
	json_t *steps = json_object_get(record, "s");
	json_t *questions = json_object_get(record, "q");
	const json_t *p = json_object_get(record, "p");
	enum bide_rc rc = BIDE_OK;
	void *it;

	if (json_object_size(steps) > LIMIT_STEPS_PER_TASK)
		return BIDE_LIMIT;
	for (it = json_object_iter(steps); it && !rc;
	     it = json_object_iter_next(steps, it))
		rc = run_load_step(c, json_object_iter_key(it),
				   json_incref(json_object_iter_value(it)));
	for (it = json_object_iter(questions); it && !rc;
	     it = json_object_iter_next(questions, it))
		rc = load_question(c, json_object_iter_key(it),
				   json_object_iter_value(it));
	if (!rc && json_is_number(p))
		run_set_last_progress(c, json_number_value(p));
	return rc;
}
