/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/jsontext.h"
#include "server/base/log.h"
#include "server/base/metrics.h"
#include "server/protocol/call.h"

/*
 * How outcomes and notifications look in 2026-07-28. Prepared text is spliced:
 * a handler's result, a stored payload, the list of tools are not read again.
 */
#define SUBSCRIPTION "\"io.modelcontextprotocol/subscriptionId\":"

static void add_member(struct buf *b, const char *name, const char *value)
{
	if (value == NULL)
		return;
	(void)buf_addf(b, ",\"%s\":", name);
	(void)jsontext_write_string(value, strlen(value), b);
}

/* The members of "{..}", each after a comma. */
static void splice(struct buf *b, const char *object, size_t len)
{
	if (len <= 2)
		return;
	(void)buf_addc(b, ',');
	(void)buf_add(b, object + 1, len - 2);
}

/* ---- results ---- */
static void open_result(const struct call *c, struct buf *b, const char *type)
{
	jsonrpc_open(b, c->msg.id, c->msg.id_len);
	(void)buf_addstr(b, "\"result\":{\"resultType\":\"");
	(void)buf_addstr(b, type);
	(void)buf_addc(b, '"');
}

static void close_result(const struct call *c, struct buf *b)
{
	(void)buf_addstr(b, ",\"_meta\":{");
	(void)buf_addstr(b, c->p->info);
	(void)buf_addstr(b, "}}}");
}

static void write_hint(struct buf *b, const struct cache_hint *h)
{
	if (h->given)
		(void)buf_addf(b,
			       ",\"ttlMs\":%" PRId64 ",\"cacheScope\":\"%s\"",
			       h->ms < JSONTEXT_EXACT ? h->ms : JSONTEXT_EXACT,
			       h->scope == BIDE_PUBLIC ? "public" : "private");
}

static void write_list(struct buf *b, const struct outcome *o)
{
	(void)buf_addf(b, ",\"%s\":[", o->member);
	(void)buf_add(b, o->text, o->len);
	(void)buf_addc(b, ']');
	if (o->cursor != NULL && *o->cursor != '\0')
		add_member(b, "nextCursor", o->cursor);
}

/* ---- tasks ---- */
static const char *status_of(const struct store_task *t)
{
	switch (t->state) {
	case STORE_READY:
	case STORE_RUNNING:
	case STORE_WAITING:
		return t->ninputs > 0 ? "input_required" : "working";
	case STORE_COMPLETED:
		return "completed";
	case STORE_FAILED:
		return "failed";
	case STORE_CANCELLED:
		return "cancelled";
	}
	return "working";
}

static int64_t poll_ms(const struct call *c, const struct store_task *t)
{
	const struct tool *tool = registry_tool(c->p->opt.registry, t->tool);

	if (tool != NULL && tool->def.poll_interval_ms > 0)
		return tool->def.poll_interval_ms;
	return c->p->opt.poll_interval_ms;
}

/* The members of a Task (tasks.md "Tasks"), each after a comma. */
static void write_task(const struct call *c, struct buf *b,
		       const struct store_task *t)
{
	char created[32];
	char updated[32];

	clock_iso8601(t->created_ms, created, sizeof(created));
	clock_iso8601(t->updated_ms, updated, sizeof(updated));
	(void)buf_addf(b, ",\"taskId\":\"%s\",\"status\":\"%s\"", t->token,
		       status_of(t));
	if (t->status != NULL && *t->status != '\0')
		add_member(b, "statusMessage", t->status);
	(void)buf_addf(b, ",\"createdAt\":\"%s\",\"lastUpdatedAt\":\"%s\"",
		       created, updated);
	if (t->ttl_ms < 0)
		(void)buf_addstr(b, ",\"ttlMs\":null");
	else
		(void)buf_addf(b, ",\"ttlMs\":%" PRId64,
			       t->ttl_ms > 0 ? t->ttl_ms : 1);
	(void)buf_addf(b, ",\"pollIntervalMs\":%" PRId64, poll_ms(c, t));
}

static void write_inputs(struct buf *b, const struct store_task *t)
{
	size_t i;

	(void)buf_addstr(b, ",\"inputRequests\":{");
	for (i = 0; i < t->ninputs; i++) {
		if (i > 0)
			(void)buf_addc(b, ',');
		(void)jsontext_write_string(t->inputs[i].wire_key,
					    strlen(t->inputs[i].wire_key), b);
		(void)buf_addc(b, ':');
		(void)buf_addstr(b, t->inputs[i].request);
	}
	(void)buf_addc(b, '}');
}

/* A DetailedTask: what the plain call would have given stands in it. */
static void write_detailed(const struct call *c, struct buf *b,
			   const struct store_task *t)
{
	write_task(c, b, t);
	if (store_state_ended(t->state)) {
		if (t->payload == NULL || t->state == STORE_CANCELLED)
			return;
		if (t->state == STORE_FAILED) {
			(void)buf_addstr(b, ",\"error\":");
			(void)buf_addstr(b, t->payload);
			return;
		}
		(void)buf_addstr(b, ",\"result\":{\"resultType\":\"complete\"");
		splice(b, t->payload, strlen(t->payload));
		(void)buf_addc(b, '}');
	} else if (t->ninputs > 0) {
		write_inputs(b, t);
	}
}

/* ---- outcomes ---- */
struct request_state_for era_2026_07_28_state_for(struct request *rq)
{
	return (struct request_state_for){
		.principal = rq->principal,
		.method = rq->method,
		.name = request_name(rq),
		.args_digest = request_args_digest(rq),
	};
}

static char *seal(struct request *rq, const struct continuation *next)
{
	struct call *c = (struct call *)rq;
	struct request_state_for f = era_2026_07_28_state_for(rq);

	return request_state_seal(c->p->opt.state, next, &f);
}

static bool open_wait(struct request *rq, const char *text,
		      struct continuation *ret)
{
	struct call *c = (struct call *)rq;
	struct request_state_for f = era_2026_07_28_state_for(rq);

	return request_state_open(c->p->opt.state, text, &f, true, ret);
}

static int write_error(struct call *c, struct buf *b, int code,
		       const char *message, const json_t *data)
{
	jsonrpc_error(b, c->msg.id, c->msg.id_len, code, message, data);
	return code == JSONRPC_CAPABILITY  ? 400
	       : code == JSONRPC_NO_METHOD ? 404
					   : 200;
}

/* How a call ended whose handler ran: a capability that the handler missed is
 * as much a 400 as one that its tool demands (basic/index, "Per-request
 * protocol fields"). A handler cannot choose these codes for itself. */
static int write_stored_error(struct call *c, struct buf *b, const char *text,
			      size_t len)
{
	json_t *error = NULL;
	int code = 0;

	if (jsontext_parse(text, len, &error, NULL) == BIDE_OK)
		code = (int)json_integer_value(json_object_get(error, "code"));
	json_decref(error);
	jsonrpc_open(b, c->msg.id, c->msg.id_len);
	(void)buf_addstr(b, "\"error\":");
	(void)buf_add(b, text, len);
	(void)buf_addc(b, '}');
	return code == JSONRPC_CAPABILITY ? 400 : 200;
}

static int write_unsealed(struct call *c, struct buf *b)
{
	log_error("handler.state_not_sealed", "method=%s name=%s what=%s",
		  c->rq.method, request_name(&c->rq),
		  "its record outgrew max-state; a tool can persist");
	return write_error(c, b, JSONRPC_INTERNAL,
			   "The state of this call is too large to be sent "
			   "round; a tool can persist (bide_persist)",
			   NULL);
}

static int write_round(struct call *c, struct buf *b, const struct outcome *o)
{
	char *state = seal(&c->rq, o->next);

	continuation_fini(o->next);
	if (state == NULL)
		return write_unsealed(c, b);
	open_result(c, b, "input_required");
	(void)buf_addstr(b, ",\"inputRequests\":");
	(void)buf_add(b, o->text, o->len);
	(void)buf_addf(b, ",\"requestState\":\"%s\"", state);
	close_result(c, b);
	free(state);
	return 200;
}

static int write_plain(struct call *c, struct buf *b, const struct outcome *o)
{
	open_result(c, b, o->kind == OUTCOME_TASK ? "task" : "complete");
	if (o->kind == OUTCOME_RESULT)
		splice(b, o->text, o->len);
	else if (o->kind == OUTCOME_LIST)
		write_list(b, o);
	else if (o->kind == OUTCOME_TASK)
		write_task(c, b, o->task);
	else if (o->kind == OUTCOME_TASK_STATE)
		write_detailed(c, b, o->task);
	write_hint(b, &o->hint);
	close_result(c, b);
	return 200;
}

static int write_outcome(struct call *c, struct buf *b, const struct outcome *o)
{
	switch (o->kind) {
	case OUTCOME_RESULT:
	case OUTCOME_TASK:
	case OUTCOME_TASK_STATE:
	case OUTCOME_EMPTY:
	case OUTCOME_LIST:
		return write_plain(c, b, o);
	case OUTCOME_NEEDS_INPUT:
		return write_round(c, b, o);
	case OUTCOME_DISCOVER:
		open_result(c, b, "complete");
		(void)buf_addstr(b, c->p->discover);
		(void)buf_addstr(b, "}}");
		return 200;
	case OUTCOME_ERROR:
		return write_error(c, b, o->code, o->message, o->data);
	case OUTCOME_ERROR_TEXT:
		return write_stored_error(c, b, o->text, o->len);
	case OUTCOME_LISTEN_END:
		open_result(c, b, "complete");
		(void)buf_addstr(b, ",\"_meta\":{" SUBSCRIPTION);
		(void)buf_add(b, c->msg.id, c->msg.id_len);
		(void)buf_addc(b, ',');
		(void)buf_addstr(b, c->p->info);
		(void)buf_addstr(b, "}}}");
		return 200;
	}
	return 500;
}

static void done(struct request *rq, const struct outcome *o)
{
	struct call *c = (struct call *)rq;
	struct buf b = {0};
	int status;

	/* One allocation for nearly every answer. */
	(void)buf_room(&b, o->len + 512);
	status = write_outcome(c, &b, o);
	c->delivery = o->delivery;
	call_answer(c, status, &b);
}

/* ---- notifications ---- */
static void add_number(struct buf *b, const char *name, double v)
{
	(void)buf_addf(b, ",\"%s\":", name);
	if (fabs(v) <= (double)JSONTEXT_EXACT && v == floor(v))
		(void)buf_addf(b, "%" PRId64, (int64_t)v);
	else
		(void)jsontext_write_real(v, b);
}

static void progress(struct request *rq, double value, double total,
		     const char *message)
{
	struct call *c = (struct call *)rq;
	struct buf b = {0};

	if (!rq->wants_progress || !isfinite(value))
		return;
	(void)buf_addf(&b,
		       "{\"jsonrpc\":\"2.0\","
		       "\"method\":\"notifications/progress\","
		       "\"params\":{\"progressToken\":%s",
		       c->progress_token);
	add_number(&b, "progress", value);
	if (isfinite(total) && total > 0)
		add_number(&b, "total", total);
	add_member(&b, "message", message);
	(void)buf_addstr(&b, "}}");
	mutex_lock(&c->lock);
	/* It must rise with each one (patterns/progress). */
	if (value > c->last_progress && !b.failed) {
		c->last_progress = value;
		call_stream_locked(c, &b);
	}
	mutex_unlock(&c->lock);
	buf_fini(&b);
}

static void log_line(struct request *rq, int level, const char *logger,
		     const char *data)
{
	struct call *c = (struct call *)rq;
	struct buf b = {0};

	if (rq->log_level < 0 || level < rq->log_level || level > 7)
		return;
	(void)buf_addf(&b,
		       "{\"jsonrpc\":\"2.0\","
		       "\"method\":\"notifications/message\","
		       "\"params\":{\"level\":\"%s\"",
		       era_2026_07_28_levels[level]);
	add_member(&b, "logger", logger);
	(void)buf_addf(&b, ",\"data\":%s}}", data);
	call_stream(c, &b);
	buf_fini(&b);
}

/* ---- of subscriptions: all are tagged with the request's id ---- */
static void open_notice(const struct call *c, struct buf *b, const char *method)
{
	(void)buf_addf(b,
		       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/%s\","
		       "\"params\":{\"_meta\":{" SUBSCRIPTION,
		       method);
	(void)buf_add(b, c->msg.id, c->msg.id_len);
	(void)buf_addc(b, '}');
}

/* Its bytes. */
static size_t send_notice(struct call *c, struct buf *b)
{
	size_t len;

	(void)buf_addstr(b, "}}");
	len = b->len;
	call_stream(c, b);
	buf_fini(b);
	return len;
}

static void add_strings(struct buf *b, const char *name,
			const char *const *strings, size_t n)
{
	size_t i;

	if (strings == NULL)
		return;
	(void)buf_addf(b, ",\"%s\":[", name);
	for (i = 0; i < n; i++) {
		if (i > 0)
			(void)buf_addc(b, ',');
		(void)jsontext_write_string(strings[i], strlen(strings[i]), b);
	}
	(void)buf_addc(b, ']');
}

/* The members of a SubscriptionFilter, each after a comma; what is not honoured
 * is left out (patterns/subscriptions "Acknowledgment"). */
static void write_filter(struct buf *b, const struct listening *l)
{
	if (l->tools)
		(void)buf_addstr(b, ",\"toolsListChanged\":true");
	if (l->prompts)
		(void)buf_addstr(b, ",\"promptsListChanged\":true");
	if (l->resources)
		(void)buf_addstr(b, ",\"resourcesListChanged\":true");
	add_strings(b, "resourceSubscriptions", l->uris, l->n_uris);
	add_strings(b, "taskIds", l->tokens, l->n_tokens);
}

static void listening(struct request *rq, const struct listening *l)
{
	struct call *c = (struct call *)rq;
	struct buf b = {0};
	struct buf filter = {0};

	open_notice(c, &b, "subscriptions/acknowledged");
	write_filter(&filter, l);
	(void)buf_addstr(&b, ",\"notifications\":{");
	if (filter.len > 0)
		(void)buf_add(&b, filter.data + 1, filter.len - 1);
	(void)buf_addc(&b, '}');
	b.failed |= filter.failed;
	(void)send_notice(c, &b);
	buf_fini(&filter);
}

static void task_changed(struct request *rq, const struct store_task *t)
{
	struct call *c = (struct call *)rq;
	struct buf b = {0};

	open_notice(c, &b, "tasks");
	write_detailed(c, &b, t);
	(void)send_notice(c, &b);
}

static const char *list_changed(enum bide_changed what)
{
	switch (what) {
	case BIDE_CHANGED_TOOLS:
		return "tools/list_changed";
	case BIDE_CHANGED_PROMPTS:
		return "prompts/list_changed";
	case BIDE_CHANGED_RESOURCES:
		return "resources/list_changed";
	}
	return "";
}

static size_t changed(struct request *rq, enum bide_changed what,
		      const char *uri)
{
	struct call *c = (struct call *)rq;
	struct buf b = {0};

	open_notice(c, &b,
		    uri != NULL ? "resources/updated" : list_changed(what));
	add_member(&b, "uri", uri);
	return send_notice(c, &b);
}

static bool backed_up(struct request *rq)
{
	struct call *c = (struct call *)rq;

	return c->ex->ops->stream_unsent(c->ex) > 0;
}

const struct reply_ops era_2026_07_28_reply = {
	.done = done,
	.progress = progress,
	.log = log_line,
	.listening = listening,
	.task_changed = task_changed,
	.changed = changed,
	.backed_up = backed_up,
	.seal = seal,
	.open_wait = open_wait,
};

/* ---- made once ---- */
static void add_info(struct buf *b, const struct protocol_options *o, bool all)
{
	(void)buf_addstr(b,
			 "\"io.modelcontextprotocol/serverInfo\":{\"name\":");
	(void)jsontext_write_string(o->server_name, strlen(o->server_name), b);
	add_member(b, "version", o->server_version);
	if (all) {
		add_member(b, "title", o->server_title);
		if (o->icons_json != NULL)
			(void)buf_addf(b, ",\"icons\":%s", o->icons_json);
	}
	(void)buf_addc(b, '}');
}

/* What the program registered, and what every server of ours does. */
static void add_capabilities(struct buf *b, const struct registry *r)
{
	(void)buf_addstr(b, ",\"capabilities\":{\"logging\":{}");
	if (dispatch_offers(r, OFFER_TOOLS))
		(void)buf_addstr(b, ",\"tools\":{\"listChanged\":true}");
	if (dispatch_offers(r, OFFER_PROMPTS))
		(void)buf_addstr(b, ",\"prompts\":{\"listChanged\":true}");
	if (dispatch_offers(r, OFFER_RESOURCES))
		(void)buf_addstr(b, ",\"resources\":{\"listChanged\":true,"
				    "\"subscribe\":true}");
	if (dispatch_offers(r, OFFER_COMPLETIONS))
		(void)buf_addstr(b, ",\"completions\":{}");
	(void)buf_addstr(b, ",\"extensions\":{"
			    "\"io.modelcontextprotocol/tasks\":{}}}");
}

bool era_2026_07_28_prepare(struct protocol *p)
{
	struct buf b = {0};

	add_info(&b, &p->opt, false);
	p->info = buf_take(&b, NULL);
	(void)buf_addstr(&b, ",\"supportedVersions\":[\"2026-07-28\"]");
	add_capabilities(&b, p->opt.registry);
	add_member(&b, "instructions", p->opt.instructions);
	(void)buf_addstr(&b, ",\"ttlMs\":3600000,\"cacheScope\":\"public\","
			     "\"_meta\":{");
	add_info(&b, &p->opt, true);
	(void)buf_addc(&b, '}');
	p->discover = buf_take(&b, NULL);
	return p->info != NULL && p->discover != NULL;
}
