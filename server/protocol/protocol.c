/* SPDX-License-Identifier: MIT */
#include "server/protocol/protocol.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/metrics.h"
#include "server/protocol/call.h"
#include "server/protocol/headers.h"

#define JSON "application/json"

struct protocol *protocol_new(const struct protocol_options *opt)
{
	struct protocol *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->opt = *opt;
	if (!era_2026_07_28_prepare(p)) {
		protocol_free(p);
		return NULL;
	}
	return p;
}

void protocol_free(struct protocol *p)
{
	if (p == NULL)
		return;
	free(p->info);
	free(p->discover);
	free(p);
}

/* ---- answering ---- */
static void respond(struct call *c, int status, struct buf *body)
{
	size_t len = 0;
	char *text = buf_take(body, &len);

	if (text == NULL)
		status = 500;
	c->ex->ops->respond(c->ex, status, text != NULL ? JSON : NULL, text,
			    len, NULL, 0);
}

/* An event is one line (the tests of this protocol read it so); in JSON text a
 * raw line break can only be white space. */
static void one_line(struct buf *b)
{
	char *at;

	if (b->failed || b->len == 0)
		return;
	for (at = b->data; (at = strpbrk(at, "\r\n")) != NULL; at++)
		*at = ' ';
}

void call_stream_locked(struct call *c, struct buf *message)
{
	mutex_assert_held(&c->lock);
	if (!c->streaming) {
		c->ex->ops->stream_begin(c->ex, true);
		c->streaming = true;
	}
	one_line(message);
	/* False: the client is gone, and protocol_closed() comes. */
	if (!message->failed)
		(void)c->ex->ops->stream_send(c->ex, message->data,
					      message->len);
}

void call_stream(struct call *c, struct buf *message)
{
	mutex_lock(&c->lock);
	call_stream_locked(c, message);
	mutex_unlock(&c->lock);
}

void call_answer(struct call *c, int status, struct buf *body)
{
	struct exchange *ex = c->ex;
	bool streaming;

	mutex_lock(&c->lock);
	streaming = c->streaming;
	if (streaming)
		call_stream_locked(c, body);
	mutex_unlock(&c->lock);
	if (streaming) {
		buf_fini(body);
		ex->ops->stream_end(ex);
	} else {
		respond(c, status, body);
	}
}

void call_refuse(struct call *c, int status, int code, const char *message,
		 const json_t *data)
{
	struct buf b = {0};

	metric_add(METRIC_RPC_ERRORS, 1);
	jsonrpc_error(&b, c->msg.id, c->msg.id_len, code, message, data);
	call_answer(c, status, &b);
}

void call_accept(struct call *c, int status)
{
	c->ex->ops->respond(c->ex, status, NULL, NULL, 0, NULL, 0);
}

void call_dispatch(struct call *c)
{
	c->dispatched = true;
	dispatch_request(c->p->opt.dispatch, &c->rq);
}

/* ---- the door ---- */
static void refuse_method(struct call *c)
{
	static const struct exchange_header allow = {"Allow", "POST"};
	struct buf b = {0};
	size_t len = 0;
	char *text;

	/* No session and no stream of its own (streamable-http "Earlier
	 * Streamable HTTP Revisions"). */
	jsonrpc_error(&b, NULL, 0, JSONRPC_REQUEST,
		      "This endpoint takes POST only", NULL);
	text = buf_take(&b, &len);
	c->ex->ops->respond(c->ex, 405, text != NULL ? JSON : NULL, text, len,
			    &allow, 1);
}

/*
 * Here the eras part, request by request (docs/wire.md "Eras"). The 2025 era
 * comes in at this door: GET and DELETE, and whatever makes no claim to a
 * modern version. Until then all is taken as modern, and refused as such.
 */
static void route(struct call *c)
{
	if (strcmp(c->ex->method, "POST") != 0)
		refuse_method(c);
	else
		era_2026_07_28_take(c);
}

static bool read_message(struct call *c)
{
	const char *type = headers_get(c->ex, "Content-Type");
	char why[256];
	int code;

	if (type == NULL || !headers_json(type)) {
		call_refuse(c, 415, JSONRPC_REQUEST,
			    "Content-Type must be application/json", NULL);
		return false;
	}
	code = jsonrpc_read(c->ex->body, c->ex->body_len, &c->msg, why);
	if (code == 0)
		return true;
	call_refuse(c, code == JSONRPC_INTERNAL ? 500 : 400, code, why, NULL);
	return false;
}

void protocol_request(struct protocol *p, struct exchange *ex)
{
	struct call *c = calloc(1, sizeof(*c));

	ex->proto = c;
	if (c == NULL) {
		ex->ops->respond(ex, 500, NULL, NULL, 0, NULL, 0);
		return;
	}
	c->p = p;
	c->ex = ex;
	c->last_progress = -INFINITY;
	mutex_init(&c->lock, RANK_PROTOCOL);
	if (strcmp(ex->method, "POST") != 0 || read_message(c))
		route(c);
}

void protocol_closed(struct protocol *p, struct exchange *ex)
{
	struct call *c = ex->proto;

	if (c != NULL && c->dispatched)
		dispatch_closed(p->opt.dispatch, &c->rq);
}

void protocol_finished(struct protocol *p, struct exchange *ex, bool whole)
{
	struct call *c = ex->proto;

	if (c == NULL)
		return;
	ex->proto = NULL;
	dispatch_delivered(p->opt.dispatch, &c->delivery, whole);
	if (c->rq.resume != NULL)
		continuation_fini(&c->resume);
	jsonrpc_fini(&c->msg);
	free(c->progress_token);
	free(c->idem_key);
	mutex_fini(&c->lock);
	free(c);
}
