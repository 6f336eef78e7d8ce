/* SPDX-License-Identifier: MIT */
#include "server/base/error.h"
#include "server/base/fault.h"
#include "server/base/jsontext.h"
#include "server/base/limits.h"
#include "server/handler/call_internal.h"
#include "server/security/keyring.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sleeps and yields are steps under keys that no handler can use. */
#define SLEEP        "~sleep:"
#define YIELD        "~yield:"
#define SLEEP_MAX_MS (INT64_C(100) * 365 * 24 * 3600 * 1000)

static enum bide_rc bad_key(struct bide_call *c, const char *what)
{
	return call_fail(c, BIDE_INVALID,
			 "%s: a key is 1 to %d bytes of UTF-8 without control "
			 "characters and does not begin with ~",
			 what, LIMIT_HANDLER_KEY_BYTES);
}

/* The start of all that parks, or needs a clean place to park at. */
static enum bide_rc may_act(struct bide_call *c, const char *what)
{
	enum bide_rc rc = call_acts(c);

	if (!rc && c->open_step)
		return call_fail(c, BIDE_MISUSE, "%s inside the step \"%s\"",
				 what, c->open_step);
	return rc;
}

static bool draining(struct bide_call *c)
{
	return c->backend->draining && c->backend->draining(c);
}

/* Text for the back end, as it will be read again. */
static enum bide_rc step_text(struct bide_call *c, const char *key,
			      const json_t *result, struct buf *out)
{
	struct bide_error why = {0};

	buf_init(out, LIMIT_STEP_BYTES);
	if (jsontext_write(result, out))
		return BIDE_OK;
	if (jsontext_check(result, &why))
		return call_fail(c, BIDE_INVALID, "step \"%.96s\": %s", key,
				 why.text);
	return call_fail(c, BIDE_LIMIT,
			 "step \"%.96s\": its result is over %d bytes "
			 "(LIMIT_STEP_BYTES)",
			 key, LIMIT_STEP_BYTES);
}

/* @result: stolen. */
static enum bide_rc keep(struct bide_call *c, const char *key, json_t *result)
{
	struct buf text = {0};
	enum bide_rc rc = step_text(c, key, result, &text);

	if (!rc && FAULT_ON("handler.step_commit", key))
		rc = call_fail(c, BIDE_IO, "a fault of the test");
	if (!rc && c->backend->step)
		rc = c->backend->step(c, key, text.data);
	buf_fini(&text);
	if (!rc && FAULT_ON("handler.step_committed", key))
		rc = BIDE_IO;
	if (rc) {
		json_decref(result);
		return call_fail(c, rc, "step \"%.96s\" was not kept (%s)", key,
				 error_rc_name(rc));
	}
	rc = record_put_step(c, key, result);
	return rc ? call_nomem(c) : BIDE_OK;
}

static enum bide_rc open_step(struct bide_call *c, const char *key)
{
	if (c->n_steps >= LIMIT_STEPS_PER_TASK)
		return call_fail(c, BIDE_LIMIT,
				 "more than %d steps (LIMIT_STEPS_PER_TASK)",
				 LIMIT_STEPS_PER_TASK);
	if (c->task_id && draining(c))
		return call_leave(c, RUN_YIELDS);
	c->open_step = call_strdup(c, key);
	if (!c->open_step)
		return call_nomem(c);
	c->step_id = NULL;
	if (FAULT_ON("handler.step_begin", key))
		return call_fail(c, BIDE_IO, "a fault of the test");
	return BIDE_RUN;
}

enum bide_rc bide_step_begin(struct bide_call *call, const char *key,
			     const json_t **ret)
{
	enum bide_rc rc = may_act(call, "bide_step_begin");
	const struct call_step *s = NULL;

	if (rc)
		return rc;
	if (!keys_valid_step(key))
		return bad_key(call, "bide_step_begin");
	call_trace(call, "step", key);
	s = record_step(call, key);
	if (!s)
		return open_step(call, key);
	if (ret)
		*ret = s->result;
	return BIDE_OK;
}

enum bide_rc bide_step_commit(struct bide_call *call, json_t *result,
			      const json_t **ret)
{
	const char *key = call->open_step;
	enum bide_rc rc = call_stuck(call);

	if (!result)
		result = json_null();
	if (!rc && !key)
		rc = call_fail(call, BIDE_MISUSE,
			       "bide_step_commit without bide_step_begin");
	if (rc) {
		json_decref(result);
		return rc;
	}
	call->open_step = NULL;
	rc = keep(call, key, result);
	if (!rc && ret)
		*ret = record_step(call, key)->result;
	return rc;
}

static int by_key(const void *a, const void *b)
{
	const struct run_question *const *x = a;
	const struct run_question *const *y = b;

	return strcmp((*x)->key, (*y)->key);
}

/*
 * The answers that this entry has seen, in the order of their keys: the ones
 * that lie in the record but were not looked at yet would make the id of a step
 * that is done again after a crash another one.
 */
static bool add_answers(const struct bide_call *c, struct buf *out)
{
	const struct run_question **seen = NULL;
	size_t n = 0;

	seen = malloc((c->n_questions + 1) * sizeof(*seen));
	if (!seen)
		return false;
	for (size_t i = 0; i < c->n_questions; i++)
		if (c->questions[i].seen_now)
			seen[n++] = &c->questions[i];
	qsort(seen, n, sizeof(*seen), by_key);
	for (size_t i = 0; i < n; i++) {
		buf_add(out, seen[i]->key, strlen(seen[i]->key) + 1);
		if (seen[i]->answer)
			jsontext_canonical(seen[i]->answer, out);
		buf_addc(out, '\0');
	}
	free(seen);
	return true;
}

static char *step_id(struct bide_call *c)
{
	struct buf b = {0};
	char *id = call_alloc(c, 44);

	buf_add(&b, c->chain_id, strlen(c->chain_id) + 1);
	buf_add(&b, c->open_step, strlen(c->open_step) + 1);
	if (id && add_answers(c, &b) && !b.failed)
		security_digest(b.data, b.len, id);
	else
		id = NULL;
	buf_fini(&b);
	return id;
}

const char *bide_step_id(struct bide_call *call)
{
	if (!call->open_step)
		return "";
	if (!call->step_id)
		call->step_id = step_id(call);
	if (call->step_id)
		return call->step_id;
	call_nomem(call);
	return "";
}

/* Our own steps: their key, after the check of the handler's. NULL: stuck. */
static const struct call_step *own_step(struct bide_call *c, const char *prefix,
					const char *key, const char *what,
					char full[LIMIT_KEY_BYTES])
{
	if (!keys_valid_step(key)) {
		bad_key(c, what);
		return NULL;
	}
	snprintf(full, LIMIT_KEY_BYTES, "%s%s", prefix, key);
	call_trace(c, "step", full);
	return record_step(c, full);
}

enum bide_rc bide_sleep(struct bide_call *call, const char *key, int64_t ms)
{
	char full[LIMIT_KEY_BYTES];
	enum bide_rc rc = may_act(call, "bide_sleep");
	const struct call_step *s = NULL;
	int64_t now;
	int64_t wake;

	if (rc)
		return rc;
	s = own_step(call, SLEEP, key, "bide_sleep", full);
	if (call->stuck.rc)
		return call->stuck.rc;
	now = call_now_ms(call);
	if (!s) {
		if (ms <= 0)
			return BIDE_OK;
		wake = now + (ms < SLEEP_MAX_MS ? ms : SLEEP_MAX_MS);
		rc = keep(call, full, json_integer(wake));
		if (rc)
			return rc;
	} else {
		wake = json_integer_value(s->result);
	}
	if (now >= wake)
		return BIDE_OK;
	call->wake_ms = wake;
	return call_leave(call, RUN_SLEEPS);
}

enum bide_rc bide_yield(struct bide_call *call, const char *key)
{
	char full[LIMIT_KEY_BYTES];
	enum bide_rc rc = may_act(call, "bide_yield");
	const struct call_step *s = NULL;

	if (rc)
		return rc;
	s = own_step(call, YIELD, key, "bide_yield", full);
	if (call->stuck.rc)
		return call->stuck.rc;
	if (s)
		return BIDE_OK;
	rc = keep(call, full, json_true());
	return rc ? rc : call_leave(call, RUN_YIELDS);
}

bool bide_should_yield(const struct bide_call *call)
{
	const struct run_backend *b = call->backend;

	/* The back end looks; it changes nothing of the call. */
	return b->draining && b->draining((struct bide_call *)call);
}

enum bide_rc bide_persist(struct bide_call *call)
{
	enum bide_rc rc = may_act(call, "bide_persist");

	if (rc)
		return rc;
	call_trace(call, "persist", "");
	if (call->task_id)
		return BIDE_OK;
	if (call->target->mode == BIDE_EPHEMERAL)
		return call_fail(call, BIDE_MISUSE,
				 "bide_persist in what is no tool of "
				 "BIDE_EITHER");
	return call_leave(call, RUN_PERSISTS);
}
