/* SPDX-License-Identifier: MIT */
#ifndef TRANSPORT_HTTP_CONN_H
#define TRANSPORT_HTTP_CONN_H
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdatomic.h>

#include "server/base/limits.h"
#include "server/base/thread.h"
#include "server/security/identity.h"
#include "server/transport/http.h"
#include "server/transport/http_origin.h"
/*
 * What the files of the HTTP transport share: one connection and the one
 * request it is on.
 *
 * Who runs what: a transport thread (a connection stays on its own; see
 * http_lane.c) reads, writes and calls protocol_request(); the watch thread
 * accepts, sees who goes away, keeps the deadlines and frees connections; any
 * thread answers an exchange. A struct conn is freed by the watch thread
 * alone, at the end of one of its rounds, so there a pointer found in that
 * round is good.
 *
 *	IDLE -> READING -> CALLING -> SENDING -> IDLE      answered at once
 *	                      |          |
 *	                      v          v  (nothing to stream)
 *	                    PARKED <- - -+
 *	                      |
 *	                      v  respond(), stream_*(), a kick
 *	                    WOKEN -> SENDING
 *	any of the last four -> DONE: libmicrohttpd is through with the request
 *
 * An exchange is over when it is DONE, the protocol has ended it and no
 * protocol_closed() is under way; whoever makes the last of these true calls
 * protocol_finished(). A connection whose exchange was told of a close is never
 * used again: its response says so, or is dropped.
 */
enum conn_phase {
	CONN_IDLE,
	CONN_READING, /* from the request line on */
	CONN_CALLING, /* inside protocol_request() */
	CONN_PARKED,  /* suspended */
	CONN_WOKEN,   /* to be resumed by the one who made it so */
	CONN_SENDING,
	CONN_DONE
};

struct http_refusal;

struct conn {
	struct exchange ex; /* first */
	struct http *http;
	struct http_cell *cell; /* where it lives */
	int fd;
	char address[INET6_ADDRSTRLEN];
	char principal[LIMIT_PRINCIPAL_BYTES + 1];

	/* under http->set_lock */
	struct conn *next, *prev;
	struct conn *queued; /* for its lane, in finishes or in dead */

	/* its transport thread alone, until protocol_request() */
	struct buf head; /* see http_door.c */
	struct buf body;
	size_t body_seen;
	bool fresh; /* no request has begun on it */
	bool clear_target, headed, chunked, post;
	const struct http_refusal *refusal;
	const struct http_page *page;

	/* On the boot clock, in ms; 0 for none. */
	_Atomic int64_t deadline, comment_at;

	struct mutex lock; /* the rest */
	enum conn_phase phase;
	struct MHD_Connection *mhd; /* NULL: closed */
	bool used;                  /* a request was taken on it */
	bool watched;               /* its descriptor is in the watch's epoll */
	bool hup;                   /* the peer closed, or half-closed */
	bool open;                  /* the protocol has it */
	bool ended;                 /* by respond() or stream_end() */
	bool told, telling;         /* protocol_closed(): called, running */
	bool finishing;             /* somebody is on to protocol_finished() */
	bool whole;
	struct MHD_Response *response;
	unsigned status;
	bool streaming, comments, overflow;
	struct buf out; /* unsent events */
	size_t out_at;
};

struct http {
	struct http_options opt; /* strings and pages are our own */
	char *url;
	struct http_origin origin;
	struct http_lane *lanes;
	size_t nlanes, next_lane;
	bool raw_heads; /* libmicrohttpd parses in place, see http_door.c */

	atomic_int busy;      /* requests, from their head to their end */
	atomic_int fresh;     /* connections that have brought none yet */
	atomic_int suspended; /* until MHD_resume_connection() has returned */
	atomic_bool draining, stopping;
	int64_t turned_ms; /* when stopping began; who stops it has this */
	atomic_bool large; /* a large body came to its end */

	struct mutex set_lock;
	struct cond changed; /* busy, fresh, suspended, listen_fd going down */
	struct conn *conns;
	size_t nconns;
	size_t handed; /* accepted, and not among conns yet */
	struct conn *finishes, *dead;
	size_t ndead;

	/* the watch thread's own, see http_watch.c */
	struct thread watch;
	int epoll_fd, event_fd, listen_fd; /* listen_fd: set_lock; -1 closed */
	bool listening;                    /* is in the epoll */
	atomic_bool quit;
	bool kicked; /* all that waited when stopping began */
	int64_t tick_ms;
	int64_t accept_at_ms; /* not before: descriptors ran out */
	int64_t shut_at_ms;   /* the listening socket, when draining */
	int64_t trim_at_ms;   /* 0: there is nothing to give back */
	struct conn **round;  /* room for a snapshot of conns */
	size_t round_cap;
};

/* ---- http_listen.c ---- */
/* A bound, listening, non-blocking socket; fills @ret_addr as bound. What was
 * sent to a peer may stay unacknowledged for @unacked_ms. */
enum bide_rc http_listen(const char *listen, int unacked_ms,
			 struct sockaddr_storage *ret_addr, int *ret_fd,
			 struct bide_error *reterr);
/* From now on no handshake is begun; those under way may end. */
void http_keep_out(int listen_fd);
bool http_is_loopback(const struct sockaddr_storage *addr);
bool http_is_wildcard(const struct sockaddr_storage *addr);
uint16_t http_port(const struct sockaddr_storage *addr);
/* Without port and brackets; a mapped IPv4 address as IPv4. */
void http_address_text(const struct sockaddr *addr, char *out, size_t cap);

/* ---- http_conn.c ---- */
struct conn *conn_new(struct http *h, struct http_cell *cell,
		      struct MHD_Connection *mhd);
void conn_begun(struct conn *c);  /* a request has, on its thread */
void conn_closed(struct conn *c); /* libmicrohttpd is about to close it */
void conn_free(struct conn *c);   /* the watch thread, or after it */
/* Sees to it that the watch hears of the peer's close. c->lock is held. */
void conn_watch_locked(struct conn *c);
/* Suspends the connection. c->lock is held; a transport callback. */
void conn_park_locked(struct conn *c);
/* Has its lane resume what the caller made WOKEN, which then is not to be
 * touched any more. */
void conn_wake(struct conn *c);
void conn_resume(struct conn *c); /* the lane, for conn_wake() */
/* Ready for the next request. */
void conn_reset(struct conn *c);
void conn_bury(struct conn *c); /* closed, nothing open: free it */
void http_poke(struct http *h); /* wakes the watch thread */

/* ---- http_door.c ---- */
struct http_refusal {
	unsigned status;
	const char *body;
	struct exchange_header extra; /* name NULL: none */
	bool at_once; /* what follows cannot be told from a request: close */
};
/*
 * The first callback, before the body: copies the head into c->head and
 * judges it. NULL: come in. The body's size is in *ret_body, or SIZE_MAX for
 * chunks.
 */
const struct http_refusal *http_door(struct conn *c, const char *url,
				     const char *method, const char *version,
				     size_t *ret_body);
bool http_door_target(const char *target);
/* A header of c->head, any case; a list header that was repeated is joined. */
const char *http_door_header(const struct conn *c, const char *name);
extern const struct http_refusal http_refusal_body, http_refusal_busy,
	http_refusal_stopping, http_refusal_memory;

/* ---- http_request.c ---- */
void http_target(struct conn *c, const char *target); /* as it was sent */
enum MHD_Result http_request(struct conn *c, const char *url,
			     const char *method, const char *version,
			     const char *data, size_t *size);
/* Queues what an answer needs and lets go of @response, NULL included. */
enum MHD_Result http_queue(struct conn *c, unsigned status,
			   struct MHD_Response *response);
enum MHD_Result http_refuse(struct conn *c, const struct http_refusal *r);

/* ---- http_exchange.c ---- */
extern const struct exchange_ops http_exchange_ops;
enum MHD_Result exchange_start(struct conn *c);
enum MHD_Result exchange_resumed(struct conn *c);
void exchange_completed(struct conn *c, bool ok); /* libmicrohttpd is through */
void exchange_hup(struct conn *c);                /* the watch saw a close */
void exchange_kick(struct conn *c);               /* end it: we stop */
void exchange_finish(struct conn *c);             /* from h->finishes */
/*
 * Ends the critical section in which c->ended became true: wakes it, or has it
 * finished. c->lock is held, and released.
 */
void exchange_ended_unlock(struct conn *c);

/* ---- sse.c ---- */
void sse_begin(struct exchange *ex, bool comments);
bool sse_send(struct exchange *ex, const char *json, size_t len);
void sse_end(struct exchange *ex);
size_t sse_unsent(struct exchange *ex);
void sse_comment(struct conn *c, int64_t now); /* one is due */
struct MHD_Response *sse_response(struct conn *c);

/* ---- http_lane.c ---- */
enum bide_rc lanes_start(struct http *h, struct bide_error *reterr);
/* No connection may be suspended. May be called twice. */
void lanes_stop(struct http *h);
/* Resumes @c, and others with it, on their thread. From any thread. */
void cell_wake(struct http_cell *cell, struct conn *c);
/* An accepted connection; it counts from here on. The watch thread. */
void lane_hand_over(struct http *h, int fd, const struct sockaddr_storage *addr,
		    socklen_t addr_len);

/* ---- http_watch.c ---- */
enum bide_rc watch_start(struct http *h, struct bide_error *reterr);
void watch_stop(struct http *h);
#endif
