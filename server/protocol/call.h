/* SPDX-License-Identifier: MIT */
#ifndef PROTOCOL_CALL_H
#define PROTOCOL_CALL_H
#include "server/base/thread.h"
#include "server/protocol/jsonrpc.h"
#include "server/protocol/protocol.h"
#include <stdatomic.h>
/*
 * One exchange and the request in it, from protocol_request() to
 * protocol_finished(). What the files of this room share.
 */
struct protocol {
	struct protocol_options opt;
	/* Constant pieces of era_2026_07_28.c, made once. */
	char *info;     /* "io.modelcontextprotocol/serverInfo":{..} */
	char *discover; /* the members of its result, _meta too */
};

struct call {
	struct request rq; /* first */
	struct protocol *p;
	struct exchange *ex;
	struct jsonrpc msg;
	struct continuation resume;
	char *progress_token; /* JSON text */
	char *idem_key;
	struct delivery delivery;
	bool dispatched;
	struct mutex lock; /* orders what is streamed */
	bool streaming;
	double last_progress;
};

/* ---- protocol.c ---- */
/* The whole answer; @body is moved. @c is not to be touched afterwards. */
void call_answer(struct call *c, int status, struct buf *body);
/* Begins the stream when there is none yet. One message. */
void call_stream(struct call *c, struct buf *message);
void call_stream_locked(struct call *c, struct buf *message);
/* An error known at once: with a status of its own. */
void call_refuse(struct call *c, int status, int code, const char *message,
		 const json_t *data);
/* A status with nothing to say. */
void call_accept(struct call *c, int status);
void call_dispatch(struct call *c);

/* ---- era_2026_07_28.c ---- */
bool era_2026_07_28_prepare(struct protocol *p);
/* c->msg was read: a request, or a notification. Answers or dispatches. */
void era_2026_07_28_take(struct call *c);
/* ---- era_2026_07_28_reply.c: how an outcome looks there ---- */
extern const struct reply_ops era_2026_07_28_reply;
extern const char *const era_2026_07_28_levels[]; /* eight, debug first */
/* What a requestState of this request is bound to. */
struct request_state_for era_2026_07_28_state_for(struct request *rq);
#endif
