/* SPDX-License-Identifier: MIT */
#ifndef PROTOCOL_EXCHANGE_H
#define PROTOCOL_EXCHANGE_H
#include <stdbool.h>
#include <stddef.h>
/*
 * One HTTP request and its answer, as the transport shows it to the protocol.
 *
 * Life: the transport calls protocol_request() once, on its thread, with the
 * whole body; the protocol answers now or later, on any thread, with exactly
 * one respond(), or stream_begin(), stream_send()..., stream_end(). When
 * the client goes before that, protocol_closed() comes once, and the protocol
 * still ends the exchange (what it sends is dropped). When the answer is out,
 * or is known not to have got out, protocol_finished() comes, once and last.
 */
struct exchange;
struct exchange_header {
	const char *name;
	const char *value;
};
struct exchange_ops {
	/* One header's value, any case; NULL: absent. Valid until finished. A
	 * repeated one was refused at the door. */
	const char *(*header)(struct exchange *ex, const char *name);
	/* @body: malloc()ed, moved; NULL for none. @content_type NULL: none. */
	void (*respond)(struct exchange *ex, int status,
			const char *content_type, char *body, size_t len,
			const struct exchange_header *extra, size_t nextra);
	/* 200 text/event-stream. @comments: send a comment line on silence. */
	void (*stream_begin)(struct exchange *ex, bool comments);
	/* One event: "data: <json>\n\n" is made here. False: closed, or the
	 * client does not read (its queue is full: it is closed). */
	bool (*stream_send)(struct exchange *ex, const char *json, size_t len);
	void (*stream_end)(struct exchange *ex);
	/* Bytes of the stream that the client has not been sent yet. */
	size_t (*stream_unsent)(struct exchange *ex);
};
struct exchange {
	const struct exchange_ops *ops;
	const char *method; /* HTTP's */
	const char *body;
	size_t body_len;
	const char *principal; /* from the identity source; "" anonymous */
	const char *address;   /* for the log */
	bool crowded;          /* no room to wait: what cannot be answered
				* at once must not be begun */
	void *proto;           /* the protocol's own */
};
#endif
