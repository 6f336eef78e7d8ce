/* SPDX-License-Identifier: MIT */
/*
 * Event streams (streamable-http "Receiving Messages"): one event a message,
 * no ids, a comment on silence. libmicrohttpd asks for bytes; when there are
 * none the connection is suspended until there are.
 */
#include <string.h>

#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/transport/http_conn.h"

#include <sys/socket.h>

#define BLOCK_BYTES 1024  /* for HTTP/1.0; chunks are as large as fits */
#define KEEP_BYTES  65536 /* of a queue that has run empty */
#define COMMENT     ": keep-alive\n\n"

static size_t unsent(const struct conn *c)
{
	return c->out.len - c->out_at;
}

/* ---- libmicrohttpd's side ---- */
static size_t take_locked(struct conn *c, char *to, size_t max)
{
	size_t n = unsent(c) < max ? unsent(c) : max;

	memcpy(to, c->out.data + c->out_at, n);
	c->out_at += n;
	if (unsent(c) > 0)
		return n;
	if (c->out.cap > KEEP_BYTES)
		buf_fini(&c->out);
	else
		buf_reset(&c->out);
	c->out_at = 0;
	return n;
}

/* What comes after this would not be the whole. */
static bool is_cut_locked(const struct conn *c)
{
	if (c->told || c->overflow || c->out.failed)
		return true;
	return unsent(c) == 0 && !c->ended && atomic_load(&c->http->stopping);
}

/*
 * libmicrohttpd 0.9.75 closes a connection whose reader fails, but does not
 * free its descriptor before it looks at it again; and without an event it
 * looks only at the oldest of a daemon, and at those with a time-out of their
 * own.
 */
static ssize_t cut_locked(struct conn *c)
{
	(void)MHD_set_connection_option(c->mhd, MHD_CONNECTION_OPTION_TIMEOUT,
					1U);
	return MHD_CONTENT_READER_END_WITH_ERROR;
}

static ssize_t more(void *cls, uint64_t pos, char *to, size_t max)
{
	struct conn *c = cls;
	ssize_t n = 0;

	(void)pos;
	mutex_lock(&c->lock);
	c->phase = CONN_SENDING;
	if (is_cut_locked(c))
		n = cut_locked(c);
	else if (unsent(c) > 0)
		n = (ssize_t)take_locked(c, to, max);
	else if (c->ended)
		n = MHD_CONTENT_READER_END_OF_STREAM;
	else
		conn_park_locked(c);
	mutex_unlock(&c->lock);
	return n;
}

struct MHD_Response *sse_response(struct conn *c)
{
	struct MHD_Response *r = MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, BLOCK_BYTES, more, c, NULL);

	if (r == NULL)
		return NULL;
	(void)MHD_add_response_header(r, "Content-Type", "text/event-stream");
	(void)MHD_add_response_header(r, "Cache-Control", "no-store");
	/* nginx would hold events back. */
	(void)MHD_add_response_header(r, "X-Accel-Buffering", "no");
	return r;
}

/* ---- the protocol's side, any thread ---- */
void sse_begin(struct exchange *ex, bool comments)
{
	struct conn *c = (struct conn *)ex;
	bool wake;

	mutex_lock(&c->lock);
	c->streaming = true;
	c->comments = comments;
	wake = c->phase == CONN_PARKED;
	if (wake)
		c->phase = CONN_WOKEN;
	mutex_unlock(&c->lock);
	if (wake)
		conn_wake(c);
}

/* An event is one line; in JSON text a raw line break is white space. */
static void one_line(char *text, size_t len, char line_break)
{
	char *end = text + len;
	char *at = text;

	while ((at = memchr(at, line_break, (size_t)(end - at))) != NULL)
		*at = ' ';
}

static bool add_event(struct buf *b, const char *json, size_t len)
{
	size_t at;

	/* All of it or nothing. */
	if (buf_room(b, len + strlen("data: \n\n")) == NULL)
		return false;
	(void)buf_addstr(b, "data: ");
	at = b->len;
	(void)buf_add(b, json, len);
	one_line(b->data + at, len, '\n');
	one_line(b->data + at, len, '\r');
	return buf_addstr(b, "\n\n");
}

/* What was sent is in front: moved away when it is the larger part. */
static void compact_locked(struct conn *c)
{
	if (c->out_at == 0 || c->out_at < unsent(c))
		return;
	memmove(c->out.data, c->out.data + c->out_at, unsent(c));
	c->out.len -= c->out_at;
	c->out_at = 0;
}

/* The client does not read: nothing more, and the connection goes. */
static void overflow_locked(struct conn *c)
{
	c->overflow = true;
	log_warn("http.stream_overflow", "address=%s unsent=%zu", c->address,
		 unsent(c));
	if (c->mhd != NULL)
		(void)shutdown(c->fd, SHUT_RDWR);
}

bool sse_send(struct exchange *ex, const char *json, size_t len)
{
	struct conn *c = (struct conn *)ex;
	struct http *h = c->http;
	bool wake = false;
	bool ok;

	mutex_lock(&c->lock);
	ok = !c->told && !c->overflow && !c->ended && c->phase != CONN_DONE;
	/* What was queued before counts: one message may be larger. */
	if (ok && unsent(c) > LIMIT_STREAM_QUEUE_BYTES) {
		overflow_locked(c);
		ok = false;
	}
	if (ok) {
		compact_locked(c);
		ok = add_event(&c->out, json, len);
		if (c->comments)
			atomic_store(&c->comment_at,
				     clock_boot_ms() + h->opt.keep_alive_ms);
		wake = c->phase == CONN_PARKED;
		if (wake)
			c->phase = CONN_WOKEN;
	}
	mutex_unlock(&c->lock);
	if (wake)
		conn_wake(c);
	return ok;
}

size_t sse_unsent(struct exchange *ex)
{
	struct conn *c = (struct conn *)ex;
	size_t n;

	mutex_lock(&c->lock);
	n = unsent(c);
	mutex_unlock(&c->lock);
	return n;
}

void sse_end(struct exchange *ex)
{
	struct conn *c = (struct conn *)ex;

	mutex_lock(&c->lock);
	c->ended = true;
	atomic_store(&c->comment_at, 0);
	exchange_ended_unlock(c);
}

void sse_comment(struct conn *c, int64_t now)
{
	bool wake = false;

	mutex_lock(&c->lock);
	if (c->streaming && !c->ended && !c->told && c->phase != CONN_DONE) {
		/* With a backlog the stream is not silent but stuck. */
		if (unsent(c) == 0)
			(void)buf_addstr(&c->out, COMMENT);
		atomic_store(&c->comment_at, now + c->http->opt.keep_alive_ms);
		wake = c->phase == CONN_PARKED;
		if (wake)
			c->phase = CONN_WOKEN;
	}
	mutex_unlock(&c->lock);
	if (wake)
		conn_wake(c);
}
