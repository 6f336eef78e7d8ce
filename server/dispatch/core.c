/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "server/base/fault.h"
#include "server/base/jsontext.h"
#include "server/base/metrics.h"
#include "server/base/utf8.h"
#include "server/dispatch/core.h"
#include "server/security/keyring.h"

const char *core_string(const struct request *rq, const char *name)
{
	return json_string_value(json_object_get(rq->params, name));
}

void core_done(struct dispatch *d, struct request *rq, const struct outcome *o)
{
	if (__builtin_expect(fault_armed, 0) && request_may_ask(rq))
		(void)FAULT_ON("dispatch.reply", request_name(rq));
	if (o->kind == OUTCOME_ERROR || o->kind == OUTCOME_ERROR_TEXT)
		metric_add(METRIC_RPC_ERRORS, 1);
	rq->reply->done(rq, o);
	/* The last touch: dispatch_free() may follow. */
	atomic_fetch_sub(&d->open, 1);
}

void core_error(struct dispatch *d, struct request *rq, int code,
		const char *fmt, ...)
{
	static const char more[] = "\xe2\x80\xa6"; /* an ellipsis */
	struct outcome o = {.kind = OUTCOME_ERROR, .code = code};
	char text[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* It may be cut, but not within a character. */
	if (n >= (int)sizeof(text))
		memcpy(text + utf8_prefix(text, sizeof(text) - sizeof(more)),
		       more, sizeof(more));
	o.message = text;
	core_done(d, rq, &o);
}

void core_no_memory(struct dispatch *d, struct request *rq)
{
	core_error(d, rq, CORE_INTERNAL, "The server is out of memory");
}

void core_missing(struct dispatch *d, struct request *rq, unsigned missing,
		  const struct delivery *v)
{
	struct outcome o = {
		.kind = OUTCOME_ERROR,
		.code = CORE_CAPABILITY,
		.message = "Missing required client capability",
	};

	if (v != NULL)
		o.delivery = *v;
	o.data = json_pack("{s:o}", "requiredCapabilities",
			   caller_required(missing));
	core_done(d, rq, &o);
	json_decref(o.data);
}

const char *core_crowded(const struct dispatch *d)
{
	return atomic_load(&d->draining)
		       ? "This instance is shutting down; try again"
		       : "Too many requests are waiting; try again";
}

bool core_may_call(struct dispatch *d, struct request *rq, unsigned missing,
		   bool waits)
{
	if (missing != 0) {
		core_missing(d, rq, missing, NULL);
		return false;
	}
	/* Who is told to try again must not find that it ran as well. */
	if (rq->crowded && waits) {
		core_error(d, rq, CORE_INTERNAL, "%s", core_crowded(d));
		return false;
	}
	return true;
}

bool core_run(struct dispatch *d, struct request *rq, struct pending *p,
	      struct job *job, void (*fn)(struct job *job))
{
	if (!core_may_call(d, rq, 0, true))
		return false;
	(void)pending_add(p, d, rq, PENDING_CALL, false);
	job->fn = fn;
	pending_take_turn(p, job);
	return true;
}

void core_done_buf(struct dispatch *d, struct request *rq, struct outcome *o,
		   struct buf *b)
{
	o->text = b->data;
	o->len = b->len;
	if (b->failed)
		core_no_memory(d, rq);
	else
		core_done(d, rq, o);
	buf_fini(b);
}

void core_tool_error(struct dispatch *d, struct request *rq,
		     const struct delivery *v, const char *text)
{
	struct outcome o = {.kind = OUTCOME_RESULT};
	struct buf b = {0};

	if (v != NULL)
		o.delivery = *v;
	(void)buf_addstr(&b, "{\"content\":[{\"type\":\"text\",\"text\":");
	(void)jsontext_write_string(text, strlen(text), &b);
	(void)buf_addstr(&b, "}],\"isError\":true}");
	core_done_buf(d, rq, &o, &b);
}

void core_store_failed(struct dispatch *d, struct request *rq,
		       enum store_outcome outcome)
{
	if (outcome == STORE_UNKNOWN)
		core_error(d, rq, CORE_INTERNAL,
			   "It is not known whether this was stored; "
			   "the same request may be sent again");
	else
		core_error(d, rq, CORE_INTERNAL,
			   "The database did not take this; try again later");
}

int64_t core_budget_ms(const struct dispatch *d, const struct target *t)
{
	int64_t ms = t != NULL ? t->wait_budget_ms : 0;

	if (ms == 0)
		ms = d->opt.wait_budget_ms;
	return ms > 0 ? ms : 0;
}
