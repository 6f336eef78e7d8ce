/* SPDX-License-Identifier: MIT */
/*
 * A task as JSON, for programs. Big values are told by their size and a
 * beginning; texts of callers are passed on as they are.
 */
#include <math.h>
#include <string.h>

#include "server/admin/cli.h"
#include "server/admin/words.h"
#include "server/base/clock.h"
#include "server/handler/caller.h"

#define PREVIEW_BYTES 200

static json_t *iso(int64_t ms)
{
	char text[32];

	if (ms <= 0)
		return json_null();
	clock_iso8601(ms, text, sizeof(text));
	return json_string(text);
}

static json_t *text_or_null(const char *s)
{
	return s != NULL ? json_string(s) : json_null();
}

static json_t *preview(const char *text)
{
	struct buf b = {0};
	json_t *ret;

	if (text == NULL)
		return json_null();
	words_cut(text, PREVIEW_BYTES, &b);
	ret = json_pack("{s:I, s:s}", "bytes", (json_int_t)strlen(text), "text",
			b.data != NULL ? b.data : "");
	buf_fini(&b);
	return ret;
}

static json_t *view_question(const struct store_input *in)
{
	static const char *const kinds[] = {
		[STORE_INPUT_FORM] = "form",
		[STORE_INPUT_URL] = "url",
		[STORE_INPUT_SAMPLING] = "sampling",
		[STORE_INPUT_ROOTS] = "roots",
	};
	struct buf message = {0};
	json_t *ret;

	words_question(in, &message);
	ret = json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "key",
			in->wire_key, "handlerKey", in->key, "kind",
			kinds[in->kind], "state", words_input_state(in->state),
			"message", message.data != NULL ? message.data : "",
			"askedAt", iso(in->asked_ms), "deadlineAt",
			iso(in->deadline_ms), "answeredAt",
			iso(in->answered_ms));
	if (in->state == STORE_INPUT_ANSWERED) {
		(void)json_object_set_new(ret, "answeredBy",
					  text_or_null(in->by));
		(void)json_object_set_new(ret, "answer", preview(in->answer));
	}
	buf_fini(&message);
	return ret;
}

static json_t *view_questions(const struct store_task *t)
{
	json_t *list = json_array();

	for (size_t i = 0; i < t->ninputs; i++)
		(void)json_array_append_new(list, view_question(&t->inputs[i]));
	return list;
}

static json_t *view_steps(const struct store_task *t)
{
	json_t *list = json_array();

	for (size_t i = 0; i < t->nsteps; i++)
		(void)json_array_append_new(
			list,
			json_pack("{s:s, s:o, s:I, s:o}", "key",
				  t->steps[i].key, "at", iso(t->steps[i].at_ms),
				  "epoch", (json_int_t)t->steps[i].epoch,
				  "result", preview(t->steps[i].result)));
	return list;
}

static json_t *view_events(const struct store_task *t)
{
	json_t *list = json_array();

	for (size_t i = 0; i < t->nevents; i++)
		(void)json_array_append_new(
			list,
			json_pack("{s:s, s:o, s:I, s:I, s:o}", "event",
				  t->events[i].kind, "at",
				  iso(t->events[i].at_ms), "instance",
				  (json_int_t)t->events[i].instance, "epoch",
				  (json_int_t)t->events[i].epoch, "detail",
				  text_or_null(t->events[i].detail)));
	return list;
}

static void view_times(const struct store_task *t, json_t *ret)
{
	(void)json_object_set_new(ret, "createdAt", iso(t->created_ms));
	(void)json_object_set_new(ret, "since", iso(words_since(t)));
	(void)json_object_set_new(ret, "lastUpdatedAt", iso(t->updated_ms));
	(void)json_object_set_new(ret, "endedAt", iso(t->ended_ms));
	(void)json_object_set_new(ret, "wakesAt", iso(t->wake_at_ms));
	(void)json_object_set_new(ret, "abandonedAt", iso(t->abandon_at_ms));
	(void)json_object_set_new(ret, "ttlMs",
				  t->ttl_ms < 0 ? json_null()
						: json_integer(t->ttl_ms));
}

static void view_progress(const struct store_task *t, json_t *ret)
{
	if (!isnan(t->progress)) {
		(void)json_object_set_new(ret, "progress",
					  json_real(t->progress));
		if (!isnan(t->total))
			(void)json_object_set_new(ret, "total",
						  json_real(t->total));
		(void)json_object_set_new(ret, "progressMessage",
					  text_or_null(t->progress_message));
	}
	(void)json_object_set_new(ret, "statusMessage",
				  text_or_null(t->status));
}

json_t *cli_view(const struct store_task *t, bool whole)
{
	struct caller caller = {0};
	char state[64];
	json_t *ret;

	(void)caller_load(&caller, t->caller);
	words_state(t, state, sizeof(state));
	ret = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I}",
			"taskId", t->token, "tool", t->tool, "toolVersion",
			t->tool_version, "principal", t->principal, "client",
			caller.client, "state", store_state_name(t->state),
			"says", state, "instance", (json_int_t)t->owner,
			"epoch", (json_int_t)t->epoch);
	view_times(t, ret);
	view_progress(t, ret);
	(void)json_object_set_new(ret, "questions", view_questions(t));
	if (!whole)
		return ret;
	(void)json_object_set_new(ret, "claims", json_integer(t->claims));
	(void)json_object_set_new(ret, "crashes", json_integer(t->crashes));
	(void)json_object_set_new(ret, "waiters", json_integer(t->waiters));
	(void)json_object_set_new(ret, "arguments", preview(t->args));
	(void)json_object_set_new(ret, "steps", view_steps(t));
	(void)json_object_set_new(ret, "timeline", view_events(t));
	(void)json_object_set_new(ret,
				  t->state == STORE_FAILED ? "error" : "result",
				  preview(t->payload));
	return ret;
}
