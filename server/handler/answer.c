/* SPDX-License-Identifier: MIT */
#include "server/base/jsontext.h"
#include "server/base/limits.h"
#include "server/catalog/json_schema.h"
#include "server/handler/call_internal.h"
#include <stdlib.h>
#include <string.h>

/*
 * What clients answer. An answer is kept normalised: {"action":..,"content":..}
 * of a form or a URL, the result of sampling as it came, {"roots":[..]}. An
 * object with "error" in it stands for a client that could not ask; no client
 * of 2026-07-28 can say so, those of 2025-11-25 can.
 */

#define PROBLEMS 4

static enum answer_fit misfit(struct buf *why, const char *text)
{
	if (why)
		buf_addstr(why, text);
	return ANSWER_MISFIT;
}

/* ---- forms ---- */

/*
 * The schema inside a form's request: our own text, so the place is known.
 * NULL: it was written by somebody else; parse it.
 */
static const char *find_schema(const char *request, size_t *ret_len)
{
	static const char before[] = "{\"method\":\"elicitation/create\","
				     "\"params\":{\"mode\":\"form\","
				     "\"message\":\"";
	static const char between[] = "\",\"requestedSchema\":";
	const char *s = request;
	size_t len;

	if (strncmp(s, before, sizeof(before) - 1) != 0)
		return NULL;
	for (s += sizeof(before) - 1; *s && *s != '"'; s++)
		if (*s == '\\' && s[1])
			s++;
	if (strncmp(s, between, sizeof(between) - 1) != 0)
		return NULL;
	s += sizeof(between) - 1;
	len = strlen(s);
	if (len < 2 || strcmp(s + len - 2, "}}") != 0)
		return NULL;
	*ret_len = len - 2;
	return s;
}

static enum bide_rc parsed_form(const char *request, struct form **ret)
{
	json_t *o = NULL;
	char *text = NULL;
	size_t len = 0;
	enum bide_rc rc = jsontext_parse(request, strlen(request), &o, NULL);

	if (rc)
		return rc;
	text = jsontext_dup(json_object_get(json_object_get(o, "params"),
					    "requestedSchema"),
			    &len);
	rc = text ? form_get(text, len, ret, NULL) : BIDE_INVALID;
	free(text);
	json_decref(o);
	return rc;
}

static enum bide_rc form_of(const char *request, struct form **ret)
{
	size_t len = 0;
	const char *schema = find_schema(request, &len);

	if (schema && !form_get(schema, len, ret, NULL))
		return BIDE_OK;
	return parsed_form(request, ret);
}

/* ElicitResult.content: strings, numbers, booleans and arrays of strings, also
 * where the schema says nothing of a name. */
static bool flat(const json_t *content)
{
	json_t *o = call_unconst(content);
	const json_t *item = NULL;
	const json_t *v = NULL;
	size_t i;

	for (void *it = json_object_iter(o); it;
	     it = json_object_iter_next(o, it)) {
		v = json_object_iter_value(it);
		if (json_is_object(v) || json_is_null(v))
			return false;
		json_array_foreach (v, i, item)
			if (!json_is_string(item))
				return false;
	}
	return true;
}

static enum answer_fit fits_schema(const struct form *f, const json_t *content,
				   struct buf *why)
{
	struct json_schema_problem problems[PROBLEMS];
	size_t n = 0;

	if (!json_schema_validate(form_schema(f), content, problems, PROBLEMS,
				  &n))
		return ANSWER_FITS;
	if (why)
		json_schema_explain_as("content", problems, n, why);
	return ANSWER_MISFIT;
}

static enum answer_fit check_form(const char *request, const json_t *content,
				  struct buf *why)
{
	struct form *f = NULL;
	enum answer_fit fit = ANSWER_MISFIT;

	if (!json_is_object(content))
		return misfit(why, "content is not an object");
	if (!flat(content))
		return misfit(why, "content holds more than strings, numbers, "
				   "booleans and arrays of strings");
	if (form_of(request, &f))
		return misfit(why, "the question cannot be read any more");
	fit = fits_schema(f, content, why);
	form_unref(f);
	return fit;
}

/* @content: NULL when there is none to keep. */
static enum answer_fit elicited(const char *action, const json_t *content,
				json_t **ret)
{
	json_t *o = json_object();

	if (!o ||
	    json_object_set_new_nocheck(o, "action", json_string(action)) ||
	    (content &&
	     json_object_set_nocheck(o, "content", call_unconst(content)))) {
		json_decref(o);
		return ANSWER_MISFIT;
	}
	*ret = o;
	return ANSWER_FITS;
}

static enum answer_fit check_elicited(enum store_input_kind kind,
				      const char *request,
				      const json_t *response, json_t **ret,
				      struct buf *why)
{
	const char *action =
		json_string_value(json_object_get(response, "action"));
	json_t *content = json_object_get(response, "content");
	json_t *none = NULL;
	enum answer_fit fit;

	if (!action)
		return misfit(why, "the answer has no action");
	/* Content means nothing on these (client/elicitation "Response
	 * Actions"), so it is not looked at. */
	if (!strcmp(action, "decline") || !strcmp(action, "cancel"))
		return elicited(action, NULL, ret);
	if (strcmp(action, "accept") != 0)
		return misfit(why, "action is not accept, decline or cancel");
	if (kind == STORE_INPUT_URL)
		return elicited(action, NULL, ret);
	if (!content)
		content = none = json_object();
	fit = check_form(request, content, why);
	if (fit == ANSWER_FITS)
		fit = elicited(action, content, ret);
	json_decref(none);
	return fit;
}

/* ---- roots, sampling ---- */

static enum answer_fit check_roots(const json_t *response, json_t **ret,
				   struct buf *why)
{
	json_t *roots = json_object_get(response, "roots");
	const json_t *root = NULL;
	const char *uri = NULL;
	size_t i;

	if (!json_is_array(roots))
		return misfit(why, "the answer has no roots");
	json_array_foreach (roots, i, root) {
		uri = json_string_value(json_object_get(root, "uri"));
		if (!uri || strncmp(uri, "file://", 7) != 0)
			return misfit(why, "a root has no uri of file://");
		if (json_object_get(root, "name") &&
		    !json_is_string(json_object_get(root, "name")))
			return misfit(why, "a root's name is not a string");
	}
	*ret = json_pack("{s:O}", "roots", roots);
	return *ret ? ANSWER_FITS : ANSWER_MISFIT;
}

static enum answer_fit check_sampling(const json_t *response, json_t **ret,
				      struct buf *why)
{
	const char *clause = NULL;

	if (!sampling_result_fits(response, &clause)) {
		if (why)
			buf_addf(why, "the sampling result %s", clause);
		return ANSWER_MISFIT;
	}
	*ret = json_incref(call_unconst(response));
	return ANSWER_FITS;
}

static bool too_large(const json_t *answer)
{
	struct buf b = {.max = LIMIT_QUESTION_BYTES};
	bool ok = jsontext_write(answer, &b);

	buf_fini(&b);
	return !ok;
}

enum answer_fit answer_check(enum store_input_kind kind, const char *request,
			     const json_t *response, json_t **ret,
			     struct buf *why)
{
	enum answer_fit fit = ANSWER_MISFIT;
	json_t *answer = NULL;

	switch (kind) {
	case STORE_INPUT_FORM:
	case STORE_INPUT_URL:
		fit = check_elicited(kind, request, response, &answer, why);
		break;
	case STORE_INPUT_SAMPLING:
		fit = check_sampling(response, &answer, why);
		break;
	case STORE_INPUT_ROOTS:
		fit = check_roots(response, &answer, why);
		break;
	}
	if (fit == ANSWER_FITS && too_large(answer)) {
		json_decref(answer);
		return misfit(why, "the answer is too large "
				   "(LIMIT_QUESTION_BYTES)");
	}
	if (fit == ANSWER_FITS)
		*ret = answer;
	return fit;
}

bool run_answer(struct bide_call *c, const char *key, const json_t *response)
{
	struct run_question *q = record_question(c, key);
	json_t *answer = NULL;

	if (!q)
		return false;
	record_expire(c, q);
	if (q->state != RUN_Q_OPEN ||
	    answer_check(q->kind, q->request, response, &answer, NULL) !=
		    ANSWER_FITS)
		return false;
	json_decref(q->answer);
	q->answer = answer;
	q->state = RUN_Q_ANSWERED;
	return true;
}

unsigned answer_needs(enum store_input_kind kind, const char *request)
{
	json_t *o = NULL;
	unsigned bits = BIDE_CAN_SAMPLE;

	switch (kind) {
	case STORE_INPUT_FORM:
		return BIDE_CAN_ELICIT_FORM;
	case STORE_INPUT_URL:
		return BIDE_CAN_ELICIT_URL;
	case STORE_INPUT_ROOTS:
		return BIDE_CAN_ROOTS;
	case STORE_INPUT_SAMPLING:
		break;
	}
	if (!jsontext_parse(request, strlen(request), &o, NULL))
		bits = sampling_needs(json_object_get(o, "params"));
	json_decref(o);
	return bits;
}

/* ---- what the handler sees ---- */

static enum bide_action elicited_action(const json_t *answer)
{
	const char *s = json_string_value(json_object_get(answer, "action"));

	if (!s)
		return BIDE_CLIENT_ERROR;
	if (!strcmp(s, "accept"))
		return BIDE_ACCEPT;
	return !strcmp(s, "decline") ? BIDE_DECLINE : BIDE_CANCEL;
}

/* Only an elicitation has an action: in a sampling result the word is the
 * client's own. @member: what a result of the kind has. */
static struct bide_answer given(const json_t *answer, const char *member)
{
	if (!json_object_get(answer, member))
		return (struct bide_answer){BIDE_CLIENT_ERROR, NULL};
	return (struct bide_answer){BIDE_ACCEPT, answer};
}

static void view(const struct run_question *q, struct bide_answer *a)
{
	if (q->state == RUN_Q_EXPIRED) {
		*a = (struct bide_answer){BIDE_TIMED_OUT, NULL};
		return;
	}
	switch (q->kind) {
	case STORE_INPUT_FORM:
		*a = (struct bide_answer){elicited_action(q->answer), NULL};
		if (a->action == BIDE_ACCEPT)
			a->value = json_object_get(q->answer, "content");
		break;
	case STORE_INPUT_URL:
		*a = (struct bide_answer){elicited_action(q->answer), NULL};
		break;
	case STORE_INPUT_SAMPLING:
		*a = given(q->answer, "role");
		break;
	case STORE_INPUT_ROOTS:
		*a = given(q->answer, "roots");
		break;
	}
}

const struct bide_answer *bide_answer(struct bide_call *call, const char *key)
{
	static const struct bide_answer unanswered = {BIDE_UNANSWERED, NULL};
	struct run_question *q = key ? record_question(call, key) : NULL;

	if (!q || call_stuck(call) ||
	    (q->state != RUN_Q_ANSWERED && q->state != RUN_Q_EXPIRED))
		return &unanswered;
	q->seen_now = true;
	if (!q->view)
		q->view = call_alloc(call, sizeof(*q->view));
	if (!q->view) {
		call_nomem(call);
		return &unanswered;
	}
	view(q, q->view);
	return q->view;
}

enum bide_action bide_answer_action(const struct bide_answer *a)
{
	return a ? a->action : BIDE_UNANSWERED;
}

const char *bide_action_name(enum bide_action action)
{
	switch (action) {
	case BIDE_UNANSWERED:
		return "unanswered";
	case BIDE_ACCEPT:
		return "accepted";
	case BIDE_DECLINE:
		return "declined";
	case BIDE_CANCEL:
		return "cancelled";
	case BIDE_CLIENT_ERROR:
		return "failed";
	case BIDE_TIMED_OUT:
		return "timed out";
	}
	return "unknown";
}

const json_t *bide_answer_json(const struct bide_answer *a)
{
	return a ? a->value : NULL;
}

static const json_t *field_of(const struct bide_answer *a, const char *field)
{
	return a && field ? json_object_get(a->value, field) : NULL;
}

const char *bide_answer_string(const struct bide_answer *a, const char *field)
{
	return json_string_value(field_of(a, field));
}

int64_t bide_answer_int(const struct bide_answer *a, const char *field,
			int64_t absent)
{
	return call_json_int(field_of(a, field), absent);
}

double bide_answer_real(const struct bide_answer *a, const char *field,
			double absent)
{
	const json_t *v = field_of(a, field);

	return json_is_number(v) ? json_number_value(v) : absent;
}

bool bide_answer_bool(const struct bide_answer *a, const char *field,
		      bool absent)
{
	const json_t *v = field_of(a, field);

	return json_is_boolean(v) ? json_is_true(v) : absent;
}

static const char *block_text(const json_t *block)
{
	const char *type = json_string_value(json_object_get(block, "type"));

	if (!type || strcmp(type, "text") != 0)
		return NULL;
	return json_string_value(json_object_get(block, "text"));
}

const char *bide_answer_text(const struct bide_answer *a)
{
	const json_t *content = field_of(a, "content");
	const json_t *block = NULL;
	const char *text = NULL;
	size_t i;

	if (json_is_object(content))
		return block_text(content);
	json_array_foreach (content, i, block) {
		text = block_text(block);
		if (text)
			return text;
	}
	return NULL;
}
