/* SPDX-License-Identifier: MIT */
#include "server/base/error.h"
#include "server/base/jsontext.h"
#include "server/base/limits.h"
#include "server/base/utf8.h"
#include "server/handler/call_internal.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_open(const struct run_question *q)
{
	return q->state == RUN_Q_NEW || q->state == RUN_Q_OPEN;
}

/*
 * The start of every ask. True: go on and build the request. False: *@ret is
 * the outcome, BIDE_OK when the answer is there already.
 */
static bool begin(struct bide_call *c, const char *what, const char *key,
		  enum bide_rc *ret)
{
	struct run_question *q = NULL;

	*ret = call_acts(c);
	if (*ret)
		return false;
	if (!keys_valid_question(key)) {
		*ret = call_fail(c, BIDE_INVALID,
				 "%s: key \"%.96s\": a key is 1 to %d of "
				 "A-Z a-z 0-9 _ - .",
				 what,
				 key && utf8_valid(key, strlen(key)) ? key : "",
				 LIMIT_HANDLER_KEY_BYTES);
		return false;
	}
	call_trace(c, "ask", key);
	q = record_question(c, key);
	if (!q)
		return true;
	record_expire(c, q);
	if (is_open(q))
		return true;
	q->asked_now = true;
	return false;
}

static size_t count_open(const struct bide_call *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_questions; i++)
		n += is_open(&c->questions[i]) && c->questions[i].asked_now;
	return n;
}

static enum bide_rc too_long(struct bide_call *c, const char *key)
{
	return call_fail(c, BIDE_LIMIT,
			 "question \"%s\" is over %d bytes "
			 "(LIMIT_QUESTION_BYTES)",
			 key, LIMIT_QUESTION_BYTES);
}

/* A question that is open keeps its time; with another text it is another. */
static enum bide_rc set_request(struct bide_call *c, struct run_question *q,
				enum store_input_kind kind, const char *text)
{
	if (q->request && q->kind == kind && !strcmp(q->request, text))
		return BIDE_OK;
	q->request = call_strdup(c, text);
	if (!q->request)
		return call_nomem(c);
	q->kind = kind;
	q->state = RUN_Q_NEW;
	q->deadline_ms = 0;
	q->expires_ms = 0;
	return BIDE_OK;
}

static enum bide_rc capable(struct bide_call *c, struct run_question *q,
			    unsigned needs)
{
	unsigned missing = needs & ~c->caller.can;

	q->refused = missing != 0;
	if (!missing)
		return BIDE_OK;
	c->missing |= missing;
	return BIDE_NO_CAPABILITY;
}

static enum bide_rc ask(struct bide_call *c, const char *key,
			enum store_input_kind kind, const struct buf *request,
			unsigned needs)
{
	struct run_question *q = record_question(c, key);
	enum bide_rc rc;

	if (request->failed)
		return too_long(c, key);
	if ((!q || !q->asked_now) && count_open(c) >= LIMIT_QUESTIONS_OPEN)
		return call_fail(c, BIDE_LIMIT,
				 "more than %d open questions "
				 "(LIMIT_QUESTIONS_OPEN)",
				 LIMIT_QUESTIONS_OPEN);
	/* client/sampling: loops have a ceiling. */
	if (!q && c->n_questions >= LIMIT_QUESTIONS_PER_CALL)
		return call_fail(c, BIDE_LIMIT,
				 "more than %d questions in one call "
				 "(LIMIT_QUESTIONS_PER_CALL)",
				 LIMIT_QUESTIONS_PER_CALL);
	if (!q)
		q = record_add_question(c, key);
	if (!q)
		return call_nomem(c);
	rc = set_request(c, q, kind, request->data);
	if (rc)
		return rc;
	q->asked_now = true;
	return capable(c, q, needs);
}

static bool add_message(struct bide_call *c, const char *key,
			const char *message, struct buf *b)
{
	if (message && utf8_valid(message, strlen(message))) {
		jsontext_write_string(message, strlen(message), b);
		return true;
	}
	call_fail(c, BIDE_INVALID,
		  "question \"%s\": its message is missing or not UTF-8", key);
	return false;
}

enum bide_rc bide_ask_form(struct bide_call *call, const char *key,
			   const char *message, const char *schema)
{
	struct bide_error why = {0};
	struct form *f = NULL;
	struct buf b = {.max = LIMIT_QUESTION_BYTES};
	const char *text = NULL;
	size_t len = 0;
	enum bide_rc rc;

	if (!begin(call, "bide_ask_form", key, &rc))
		return rc;
	rc = form_get(schema ? schema : "", schema ? strlen(schema) : 0, &f,
		      &why);
	if (rc)
		return call_fail(call, rc, "question \"%.96s\": %s", key,
				 why.text);
	/* answer.c finds the schema in this text again. */
	buf_addstr(&b, "{\"method\":\"elicitation/create\",\"params\":"
		       "{\"mode\":\"form\",\"message\":");
	if (add_message(call, key, message, &b)) {
		text = form_text(f, &len);
		buf_addstr(&b, ",\"requestedSchema\":");
		buf_add(&b, text, len);
		buf_addstr(&b, "}}");
		rc = ask(call, key, STORE_INPUT_FORM, &b, BIDE_CAN_ELICIT_FORM);
	}
	form_unref(f);
	buf_fini(&b);
	return call->stuck.rc ? call->stuck.rc : rc;
}

/* ---- URLs ---- */

static bool url_characters(const char *s)
{
	static const char marks[] = "-._~:/?#[]@!$&'()*+,;=";

	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c >= 0x80 || c <= 0x20 || c == 0x7f)
			return false;
		if (c == '%' && (!isxdigit((unsigned char)s[1]) ||
				 !isxdigit((unsigned char)s[2])))
			return false;
		if (c != '%' && !isalnum(c) && !strchr(marks, c))
			return false;
	}
	return true;
}

static bool port_fits(const char *s, size_t len)
{
	long port = 0;

	for (size_t i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		port = port * 10 + (s[i] - '0');
		if (port > 65535)
			return false;
	}
	return true;
}

static bool host_fits(const char *s, size_t len)
{
	const char *end = memchr(s, ']', len);
	const char *colon = NULL;

	if (len && *s == '[') { /* an IPv6 address */
		if (!end || end == s + 1)
			return false;
		end++;
	} else {
		colon = memchr(s, ':', len);
		end = colon ? colon : s + len;
		if (end == s || memchr(s, '[', len) || memchr(s, ']', len))
			return false;
	}
	len -= (size_t)(end - s);
	return !len || (*end == ':' && port_fits(end + 1, len - 1));
}

/* NULL, or what is wrong with @url (client/elicitation, "URL Mode"). */
static const char *url_problem(const char *url)
{
	const char *host = NULL;
	size_t len;

	if (!url)
		return "its URL is missing";
	if (!strncasecmp(url, "https://", 8))
		host = url + 8;
	else if (!strncasecmp(url, "http://", 7))
		host = url + 7;
	else
		return "its URL is not http or https";
	if (!url_characters(url))
		return "its URL has a character that must be written as %XX";
	len = strcspn(host, "/?#");
	if (memchr(host, '@', len))
		return "its URL has credentials in it";
	return host_fits(host, len) ? NULL : "its URL has no valid host";
}

enum bide_rc bide_ask_url(struct bide_call *call, const char *key,
			  const char *message, const char *url)
{
	struct buf b = {.max = LIMIT_QUESTION_BYTES};
	const char *problem = NULL;
	enum bide_rc rc;

	if (!begin(call, "bide_ask_url", key, &rc))
		return rc;
	problem = url_problem(url);
	if (problem)
		return call_fail(call, BIDE_INVALID, "question \"%s\": %s", key,
				 problem);
	buf_addstr(&b, "{\"method\":\"elicitation/create\",\"params\":"
		       "{\"mode\":\"url\",\"message\":");
	if (add_message(call, key, message, &b)) {
		buf_addstr(&b, ",\"url\":");
		jsontext_write_string(url, strlen(url), &b);
		buf_addstr(&b, "}}");
		rc = ask(call, key, STORE_INPUT_URL, &b, BIDE_CAN_ELICIT_URL);
	}
	buf_fini(&b);
	return call->stuck.rc ? call->stuck.rc : rc;
}

/* ---- deprecated by the specification ---- */

static enum bide_rc ask_sampling(struct bide_call *c, const char *key,
				 const json_t *params)
{
	struct buf b = {.max = LIMIT_QUESTION_BYTES};
	struct bide_error error = {0};
	const char *why = NULL;
	enum bide_rc rc;

	if (!begin(c, "bide_ask_sampling", key, &rc))
		return rc;
	if (!sampling_params_fit(params, &why))
		return call_fail(c, BIDE_INVALID,
				 "question \"%s\": the params %s", key, why);
	if (jsontext_check(params, &error))
		return call_fail(c, BIDE_INVALID, "question \"%s\": %s", key,
				 error.text);
	buf_addstr(&b, "{\"method\":\"sampling/createMessage\",\"params\":");
	jsontext_write(params, &b);
	buf_addc(&b, '}');
	rc = ask(c, key, STORE_INPUT_SAMPLING, &b, sampling_needs(params));
	buf_fini(&b);
	return rc;
}

enum bide_rc bide_ask_sampling(struct bide_call *call, const char *key,
			       json_t *params)
{
	enum bide_rc rc = ask_sampling(call, key, params);

	json_decref(params);
	return rc;
}

enum bide_rc bide_ask_roots(struct bide_call *call, const char *key)
{
	struct buf b = {0};
	enum bide_rc rc;

	if (!begin(call, "bide_ask_roots", key, &rc))
		return rc;
	buf_addstr(&b, "{\"method\":\"roots/list\"}");
	rc = ask(call, key, STORE_INPUT_ROOTS, &b, BIDE_CAN_ROOTS);
	buf_fini(&b);
	return rc;
}

/* ---- about what was asked ---- */

enum bide_rc bide_ask_deadline(struct bide_call *call, const char *key,
			       int64_t ms)
{
	enum bide_rc rc = call_acts(call);
	struct run_question *q = key ? record_question(call, key) : NULL;

	if (rc)
		return rc;
	if (!q || !q->asked_now)
		return call_fail(call, BIDE_MISUSE,
				 "bide_ask_deadline before the ask");
	if (ms < 0)
		return call_fail(call, BIDE_INVALID,
				 "question \"%s\": a negative deadline", key);
	if (is_open(q))
		q->deadline_ms = ms;
	return BIDE_OK;
}

enum bide_rc bide_ask_withdraw(struct bide_call *call, const char *key)
{
	enum bide_rc rc = call_acts(call);
	struct run_question *q = key ? record_question(call, key) : NULL;

	if (rc)
		return rc;
	call_trace(call, "withdraw", key ? key : "");
	if (q && is_open(q)) {
		q->asked_now = false;
		q->refused = false;
	}
	return BIDE_OK;
}

enum bide_rc bide_publish(struct bide_call *call)
{
	enum bide_rc rc = call_acts(call);

	if (rc || !call->task_id || !call->backend->publish)
		return rc;
	rc = call->backend->publish(call);
	if (rc)
		return call_fail(call, rc, "questions were not published (%s)",
				 error_rc_name(rc));
	for (size_t i = 0; i < call->n_questions; i++)
		if (call->questions[i].state == RUN_Q_NEW &&
		    call->questions[i].asked_now)
			call->questions[i].state = RUN_Q_OPEN;
	return BIDE_OK;
}

/* The time of a question begins when it is first waited for. */
static void note_deadline(struct bide_call *c, struct run_question *q)
{
	int64_t ms = q->deadline_ms ? q->deadline_ms : c->default_deadline_ms;

	if (!q->expires_ms && ms > 0)
		q->expires_ms = call_now_ms(c) + ms;
	if (q->expires_ms && (!c->wake_ms || q->expires_ms < c->wake_ms))
		c->wake_ms = q->expires_ms;
}

struct standing {
	size_t open, refused;
};

static struct standing look(struct bide_call *c)
{
	struct standing s = {0, 0};

	for (size_t i = 0; i < c->n_questions; i++) {
		struct run_question *q = &c->questions[i];

		if (!q->asked_now)
			continue;
		record_expire(c, q);
		s.open += is_open(q);
		s.refused += is_open(q) && q->refused;
	}
	return s;
}

static enum bide_rc all_settled(struct bide_call *c)
{
	for (size_t i = 0; i < c->n_questions; i++)
		if (c->questions[i].asked_now)
			c->questions[i].seen_now = true;
	return BIDE_OK;
}

enum bide_rc bide_await(struct bide_call *call)
{
	enum bide_rc rc = call_acts(call);
	struct standing s;

	if (rc)
		return rc;
	if (call->open_step)
		return call_fail(call, BIDE_MISUSE,
				 "bide_await inside the step \"%s\"",
				 call->open_step);
	call_trace(call, "await", "");
	s = look(call);
	if (s.refused)
		return BIDE_NO_CAPABILITY;
	if (!s.open)
		return all_settled(call);
	for (size_t i = 0; i < call->n_questions; i++)
		if (is_open(&call->questions[i]) &&
		    call->questions[i].asked_now)
			note_deadline(call, &call->questions[i]);
	return call_leave(call, RUN_NEEDS_INPUT);
}
