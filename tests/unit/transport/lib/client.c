/* SPDX-License-Identifier: MIT */
#include "tests/unit/transport/lib/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 10000

int http_port_of(const struct http *h)
{
	const char *colon = strrchr(http_url(h), ':');

	return (int)strtol(colon + 1, NULL, 10);
}

void client_open(struct client *c, const struct http *h)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)http_port_of(h)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	*c = (struct client){
		.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	assert_true(c->fd >= 0);
	if (connect(c->fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		fail_msg("connect: %s", strerror(errno));
}

void client_close(struct client *c)
{
	close(c->fd);
	buf_fini(&c->in);
}

void client_send_n(struct client *c, const void *bytes, size_t len)
{
	const char *p = bytes;

	while (len > 0) {
		ssize_t n = send(c->fd, p, len, MSG_NOSIGNAL);

		if (n < 0)
			fail_msg("send: %s", strerror(errno));
		p += n;
		len -= (size_t)n;
	}
}

void client_send(struct client *c, const char *text)
{
	client_send_n(c, text, strlen(text));
}

/* What recv() says, after waiting for it. */
static ssize_t receive(struct client *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};
	char *to = buf_room(&c->in, 65536);
	ssize_t n;

	if (poll(&p, 1, PATIENCE_MS) != 1)
		fail_msg("nothing came; so far: %s",
			 c->in.len > 0 ? c->in.data : "");
	n = recv(c->fd, to, 65536, 0);
	if (n > 0) {
		c->in.len += (size_t)n;
		c->in.data[c->in.len] = '\0';
	}
	return n;
}

static void need(struct client *c, size_t bytes)
{
	while (c->in.len < bytes)
		if (receive(c) <= 0)
			fail_msg("ended early; so far: %s",
				 c->in.len > 0 ? c->in.data : "");
}

static void drop(struct client *c, size_t bytes)
{
	memmove(c->in.data, c->in.data + bytes, c->in.len - bytes + 1);
	c->in.len -= bytes;
}

/* The place of @text in what comes, reading on until it is there. */
static size_t find(struct client *c, const char *text)
{
	const char *at;

	for (;;) {
		at = c->in.len > 0 ? strstr(c->in.data, text) : NULL;
		if (at != NULL)
			return (size_t)(at - c->in.data);
		need(c, c->in.len + 1);
	}
}

void client_head(struct client *c, struct reply *r)
{
	size_t len = find(c, "\r\n\r\n") + 4;
	const char *coding;

	*r = (struct reply){0};
	(void)buf_add(&r->head, c->in.data, len);
	drop(c, len);
	assert_memory_equal(r->head.data, "HTTP/1.1 ", 9);
	r->status = (int)strtol(r->head.data + 9, NULL, 10);
	coding = reply_header(r, "Transfer-Encoding");
	r->chunked = coding != NULL && strcmp(coding, "chunked") == 0;
}

/* One chunk into the body. */
static void chunk(struct client *c, struct reply *r)
{
	size_t line = find(c, "\r\n") + 2;
	size_t len = strtoul(c->in.data, NULL, 16);

	need(c, line + len + 2);
	(void)buf_add(&r->body, c->in.data + line, len);
	assert_memory_equal(c->in.data + line + len, "\r\n", 2);
	drop(c, line + len + 2);
	r->ended = len == 0;
}

bool client_until(struct client *c, struct reply *r, const char *text)
{
	while (r->body.len == 0 || strstr(r->body.data, text) == NULL) {
		if (r->ended)
			return false;
		chunk(c, r);
	}
	return true;
}

void client_reply(struct client *c, struct reply *r)
{
	const char *length;

	client_head(c, r);
	if (r->status == 100) {
		reply_fini(r);
		client_head(c, r);
	}
	while (r->chunked && !r->ended)
		chunk(c, r);
	length = reply_header(r, "Content-Length");
	if (length != NULL) {
		size_t len = strtoul(length, NULL, 10);

		need(c, len);
		(void)buf_add(&r->body, c->in.len > 0 ? c->in.data : "", len);
		if (len > 0)
			drop(c, len);
	}
}

void reply_fini(struct reply *r)
{
	buf_fini(&r->head);
	buf_fini(&r->body);
}

const char *reply_header(const struct reply *r, const char *name)
{
	static char value[512];
	const char *p = strstr(r->head.data, "\r\n") + 2;
	size_t len = strlen(name);

	for (; *p != '\r'; p = strstr(p, "\r\n") + 2) {
		if (strncasecmp(p, name, len) != 0 || p[len] != ':')
			continue;
		p += len + 1 + strspn(p + len + 1, " ");
		(void)snprintf(value, sizeof(value), "%.*s",
			       (int)strcspn(p, "\r"), p);
		return value;
	}
	return NULL;
}

void client_expect_end(struct client *c, bool reset_ok)
{
	ssize_t n = 0;

	if (c->in.len == 0)
		n = receive(c);
	if (c->in.len > 0)
		fail_msg("not the end: %s", c->in.data);
	if (n < 0 && !(reset_ok && errno == ECONNRESET))
		fail_msg("recv: %s", strerror(errno));
}

void client_skip_to_end(struct client *c)
{
	while (receive(c) > 0)
		;
}

int client_ask(struct client *c, const char *text)
{
	struct reply r;
	int status;

	client_send(c, text);
	client_reply(c, &r);
	status = r.status;
	reply_fini(&r);
	return status;
}

int client_once(const struct http *h, const char *text)
{
	struct client c;
	int status;

	client_open(&c, h);
	status = client_ask(&c, text);
	client_close(&c);
	return status;
}
