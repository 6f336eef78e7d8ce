/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TRANSPORT_CLIENT_H
#define TESTS_TRANSPORT_CLIENT_H
#include <stdbool.h>
#include <stddef.h>

#include "server/transport/http.h"
/*
 * An HTTP client that sends what a test says, byte by byte where it likes, and
 * reads what comes. What does not come within ten seconds fails the test.
 */
struct client {
	int fd;
	struct buf in; /* received and not yet taken */
};
struct reply {
	int status;
	struct buf head, body; /* the body without its chunks */
	bool chunked;
	bool ended; /* the final chunk was seen */
};
/* What most requests begin with. */
#define POST_HEAD "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
#define POST_EMPTY                                                             \
	POST_HEAD                                                              \
	"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"

void client_open(struct client *c, const struct http *h);
void client_close(struct client *c);
void client_send(struct client *c, const char *text);
void client_send_n(struct client *c, const void *bytes, size_t len);
/* One response, whole. */
void client_reply(struct client *c, struct reply *r);
void client_head(struct client *c, struct reply *r); /* its head alone */
/* Until the body read so far holds @text. False: it ended before. */
bool client_until(struct client *c, struct reply *r, const char *text);
void reply_fini(struct reply *r);
/* The value of a header, in static storage; NULL. */
const char *reply_header(const struct reply *r, const char *name);
/* Nothing but the end follows. A reset counts when @reset_ok. */
void client_expect_end(struct client *c, bool reset_ok);
void client_skip_to_end(struct client *c);
/* send, reply, and the status. */
int client_ask(struct client *c, const char *text);
int client_once(const struct http *h, const char *text); /* own connection */
int http_port_of(const struct http *h);
#endif
