/* SPDX-License-Identifier: MIT */
#include "server/admin/words.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/base/clock.h"
#include "server/base/jsontext.h"
#include "server/base/utf8.h"

#define MESSAGE_MAX 300

void words_age(int64_t ms, char *out, size_t cap)
{
	int64_t s = ms > 0 ? ms / 1000 : 0;

	if (s < 120)
		(void)snprintf(out, cap, "%lld s", (long long)s);
	else if (s < 2 * 3600)
		(void)snprintf(out, cap, "%lld min", (long long)(s / 60));
	else if (s < 48 * 3600)
		(void)snprintf(out, cap, "%lld h", (long long)(s / 3600));
	else
		(void)snprintf(out, cap, "%lld d", (long long)(s / 86400));
}

void words_time(int64_t ms, char *out, size_t cap)
{
	char iso[32];

	clock_iso8601(ms, iso, sizeof(iso));
	iso[10] = ' ';
	iso[19] = '\0';
	(void)snprintf(out, cap, "%s", iso);
}

void words_state(const struct store_task *t, char *out, size_t cap)
{
	const char *text = "";

	switch (t->state) {
	case STORE_READY:
		text = "ready";
		break;
	case STORE_RUNNING:
		(void)snprintf(out, cap, "running on instance %lld%s",
			       (long long)t->owner,
			       t->open > 0 ? ", asking" : "");
		return;
	case STORE_WAITING:
		text = t->open > 0 ? "waiting for an answer" : "sleeping";
		break;
	case STORE_COMPLETED:
		text = "completed";
		break;
	case STORE_FAILED:
		text = "failed";
		break;
	case STORE_CANCELLED:
		text = "cancelled";
		break;
	}
	(void)snprintf(out, cap, "%s", text);
}

int64_t words_since(const struct store_task *t)
{
	int64_t oldest = 0;

	if (t->ended_ms != 0)
		return t->ended_ms;
	for (size_t i = 0; i < t->ninputs; i++)
		if (t->inputs[i].state == STORE_INPUT_OPEN &&
		    (oldest == 0 || t->inputs[i].asked_ms < oldest))
			oldest = t->inputs[i].asked_ms;
	if (oldest != 0)
		return oldest;
	return t->updated_ms != 0 ? t->updated_ms : t->created_ms;
}

const char *words_principal(const char *principal)
{
	return principal[0] != '\0' ? principal : "anonymous";
}

void words_cut(const char *text, size_t max, struct buf *out)
{
	size_t len = strlen(text);

	if (len <= max) {
		(void)buf_addstr(out, text);
		return;
	}
	(void)buf_add(out, text, utf8_prefix(text, max));
	(void)buf_addstr(out, "...");
}

void words_question(const struct store_input *in, struct buf *out)
{
	json_t *request = NULL;
	const char *message = NULL;

	if (in->request == NULL ||
	    jsontext_parse(in->request, strlen(in->request), &request, NULL) !=
		    BIDE_OK)
		request = NULL;
	if (in->kind == STORE_INPUT_FORM || in->kind == STORE_INPUT_URL)
		message = json_string_value(json_object_get(
			json_object_get(request, "params"), "message"));
	else if (in->kind == STORE_INPUT_SAMPLING)
		message = "(a model's completion)";
	else
		message = "(the client's roots)";
	words_cut(message != NULL ? message : "(no message)", MESSAGE_MAX, out);
	json_decref(request);
}

static void about_questions(const struct store_task *t, struct buf *out)
{
	bool first = true;

	for (size_t i = 0; i < t->ninputs; i++) {
		if (t->inputs[i].state != STORE_INPUT_OPEN)
			continue;
		(void)buf_addf(out, "%s%s: ", first ? "" : "; ",
			       t->inputs[i].wire_key);
		words_question(&t->inputs[i], out);
		first = false;
	}
}

void words_about(const struct store_task *t, struct buf *out)
{
	if (t->open > 0 && t->ninputs > 0) {
		about_questions(t, out);
		return;
	}
	if (!store_state_ended(t->state) && !isnan(t->progress)) {
		(void)buf_addf(out, "%.6g", t->progress);
		if (!isnan(t->total))
			(void)buf_addf(out, " of %.6g", t->total);
		if (t->progress_message != NULL)
			(void)buf_addf(out, " %s", t->progress_message);
	} else if (t->status != NULL) {
		words_cut(t->status, MESSAGE_MAX, out);
	}
}

const char *words_input_state(enum store_input_state state)
{
	switch (state) {
	case STORE_INPUT_OPEN:
		return "open";
	case STORE_INPUT_ANSWERED:
		return "answered";
	case STORE_INPUT_EXPIRED:
		return "timed out";
	case STORE_INPUT_WITHDRAWN:
		return "withdrawn";
	}
	return "?";
}

unsigned words_state_mask(const char *name)
{
	static const enum store_state all[] = {STORE_READY,   STORE_RUNNING,
					       STORE_WAITING, STORE_COMPLETED,
					       STORE_FAILED,  STORE_CANCELLED};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcasecmp(name, store_state_name(all[i])) == 0)
			return 1U << all[i];
	return 0;
}
