/* SPDX-License-Identifier: MIT */
/*
 * An exchange from protocol_request() to protocol_finished(); the states stand
 * in http_conn.h.
 */
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/transport/http_conn.h"

/* ---- who finishes ---- */
/* True: the caller is the one to call exchange_finish(). */
static bool claim_finish_locked(struct conn *c)
{
	if (!c->open || c->phase != CONN_DONE || !c->ended || c->telling ||
	    c->finishing)
		return false;
	c->finishing = true;
	return true;
}

void exchange_finish(struct conn *c)
{
	bool closed;

	protocol_finished(c->http->opt.protocol, &c->ex, c->whole);
	conn_reset(c);
	mutex_lock(&c->lock);
	c->open = false;
	closed = c->mhd == NULL;
	mutex_unlock(&c->lock);
	if (closed)
		conn_bury(c);
}

void exchange_ended_unlock(struct conn *c)
{
	struct http *h = c->http;
	bool finish = claim_finish_locked(c);
	bool wake = c->phase == CONN_PARKED;

	if (wake)
		c->phase = CONN_WOKEN;
	mutex_unlock(&c->lock);
	if (wake)
		conn_wake(c);
	if (!finish)
		return;
	/* Not here: the protocol is still inside its call of us. */
	mutex_lock(&h->set_lock);
	c->queued = h->finishes;
	h->finishes = c;
	mutex_unlock(&h->set_lock);
	http_poke(h);
}

/* c->told and c->telling were set by the caller, under the lock. */
static void tell_closed(struct conn *c)
{
	bool wake;
	bool finish;

	protocol_closed(c->http->opt.protocol, &c->ex);
	mutex_lock(&c->lock);
	c->telling = false;
	/* A stream need not wait for the protocol: libmicrohttpd may let go of
	 * the connection. Another one waits, so that there is one way out. */
	wake = c->streaming && c->phase == CONN_PARKED;
	if (wake)
		c->phase = CONN_WOKEN;
	finish = claim_finish_locked(c);
	mutex_unlock(&c->lock);
	if (wake)
		conn_wake(c);
	else if (finish)
		exchange_finish(c);
}

static bool claim_tell_locked(struct conn *c)
{
	if (!c->open || c->ended || c->told)
		return false;
	c->told = c->telling = true;
	return true;
}

/* ---- on the transport thread ---- */
/*
 * The client gets a 503, and with it the end of its connection; the protocol is
 * told of a close. c->lock is held, and released.
 */
static enum MHD_Result turn_away_unlock(struct conn *c)
{
	bool tell = claim_tell_locked(c);
	enum MHD_Result queued;

	c->phase = CONN_SENDING;
	mutex_unlock(&c->lock);
	queued = http_refuse(c, atomic_load(&c->http->stopping)
					? &http_refusal_stopping
					: &http_refusal_busy);
	if (tell)
		tell_closed(c);
	return queued;
}

/* The protocol has answered. c->lock is held, and released. */
static enum MHD_Result send_unlock(struct conn *c)
{
	struct MHD_Response *response = c->response;
	unsigned status = c->status;
	bool streaming = c->streaming;
	bool tell = false;

	c->response = NULL;
	c->phase = CONN_SENDING;
	if (streaming) {
		conn_watch_locked(c);
		status = MHD_HTTP_OK;
		response = sse_response(c);
		tell = c->hup && claim_tell_locked(c);
	}
	mutex_unlock(&c->lock);
	/* A slow reader of an answer has a deadline; a stream has none. */
	atomic_store(
		&c->deadline,
		streaming ? 0 : clock_boot_ms() + c->http->opt.idle_timeout_ms);
	if (tell)
		tell_closed(c);
	return http_queue(c, status, response);
}

static enum MHD_Result called(struct conn *c)
{
	const struct http *h = c->http;
	bool full;
	bool tell;

	mutex_lock(&c->lock);
	/* Under the lock: http_stop() sets the flag, then takes each lock. What
	 * was not told that it may not wait has been begun, and may. */
	full = c->ex.crowded || atomic_load(&h->stopping);
	if (c->ended || (c->streaming && !full))
		return send_unlock(c);
	if (full)
		return turn_away_unlock(c);
	conn_watch_locked(c);
	conn_park_locked(c);
	tell = c->hup && claim_tell_locked(c);
	mutex_unlock(&c->lock);
	if (tell)
		tell_closed(c);
	return MHD_YES;
}

enum MHD_Result exchange_start(struct conn *c)
{
	bool resumed;

	mutex_lock(&c->lock);
	resumed = c->phase == CONN_WOKEN;
	if (!resumed) {
		c->phase = CONN_CALLING;
		c->open = true;
	}
	mutex_unlock(&c->lock);
	if (resumed)
		return exchange_resumed(c);
	atomic_store(&c->deadline, 0);
	c->ex.proto = NULL;
	c->ex.crowded =
		atomic_load(&c->http->stopping) ||
		atomic_load(&c->http->suspended) >= c->http->opt.max_suspended;
	c->ex.method = c->head.data;
	c->ex.body = c->post ? c->body.data : NULL;
	c->ex.body_len = c->post ? c->body.len : 0;
	protocol_request(c->http->opt.protocol, &c->ex);
	return called(c);
}

enum MHD_Result exchange_resumed(struct conn *c)
{
	mutex_lock(&c->lock);
	if (c->told) {
		/* What is sent to one who left is dropped: end it. */
		mutex_unlock(&c->lock);
		return MHD_NO;
	}
	if (c->ended || c->streaming)
		return send_unlock(c);
	return turn_away_unlock(c);
}

void exchange_completed(struct conn *c, bool ok)
{
	bool tell;
	bool finish;

	mutex_lock(&c->lock);
	if (!c->open) {
		mutex_unlock(&c->lock);
		conn_reset(c);
		return;
	}
	c->phase = CONN_DONE;
	c->whole = ok && !c->told;
	tell = claim_tell_locked(c);
	finish = claim_finish_locked(c);
	mutex_unlock(&c->lock);
	if (tell)
		tell_closed(c);
	else if (finish)
		exchange_finish(c);
}

/* ---- on the watch thread ---- */
void exchange_hup(struct conn *c)
{
	bool tell;

	mutex_lock(&c->lock);
	c->hup = true;
	/* An answer that is being written tells by itself how it ended, and
	 * inside protocol_request() it is too early: called() looks. */
	tell = (c->phase == CONN_PARKED ||
		(c->streaming && c->phase != CONN_CALLING)) &&
	       claim_tell_locked(c);
	mutex_unlock(&c->lock);
	if (tell)
		tell_closed(c);
}

void exchange_kick(struct conn *c)
{
	bool wake;

	mutex_lock(&c->lock);
	wake = c->phase == CONN_PARKED;
	if (wake)
		c->phase = CONN_WOKEN;
	mutex_unlock(&c->lock);
	if (wake)
		conn_wake(c);
}

/* ---- the protocol's side, any thread ---- */
static const char *op_header(struct exchange *ex, const char *name)
{
	return http_door_header((const struct conn *)ex, name);
}

static void op_respond(struct exchange *ex, int status,
		       const char *content_type, char *body, size_t len,
		       const struct exchange_header *extra, size_t nextra)
{
	struct conn *c = (struct conn *)ex;
	struct MHD_Response *r = MHD_create_response_from_buffer(
		body != NULL ? len : 0, body,
		body != NULL ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);

	if (r == NULL) {
		free(body);
	} else {
		if (content_type != NULL)
			(void)MHD_add_response_header(r, "Content-Type",
						      content_type);
		for (size_t i = 0; i < nextra; i++)
			(void)MHD_add_response_header(r, extra[i].name,
						      extra[i].value);
	}
	mutex_lock(&c->lock);
	c->response = r; /* NULL, out of memory: the connection is closed */
	c->status = (unsigned)status;
	c->ended = true;
	exchange_ended_unlock(c);
}

const struct exchange_ops http_exchange_ops = {
	.header = op_header,
	.respond = op_respond,
	.stream_begin = sse_begin,
	.stream_send = sse_send,
	.stream_end = sse_end,
	.stream_unsent = sse_unsent,
};
