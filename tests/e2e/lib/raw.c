/* SPDX-License-Identifier: MIT */
#include "tests/e2e/lib/raw.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/wire_log.h"

#define PATIENCE_MS 60000
#define CHUNK_BYTES 7
#define HEAD_END    "\r\n\r\n"

static void die(const struct raw *c, const char *what)
{
	(void)fprintf(stderr, "e2e: raw: %s; unread: %.*s\n", what, (int)c->len,
		      c->len > 0 ? c->in : "");
	exit(99);
}

/* ---- the connection ---- */
void raw_open(struct raw *c, const char *url)
{
	const char *colon = strrchr(url, ':'); /* http://127.0.0.1:PORT/mcp */
	const int one = 1;
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)strtol(colon + 1, NULL, 10)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof(to)) ||
	    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		die(c, strerror(errno));
	c->len = 0;
	c->last = false;
	c->opened++;
}

void raw_close(struct raw *c)
{
	if (c->fd >= 0)
		(void)close(c->fd);
	c->fd = -1;
	free(c->in);
	c->in = NULL;
	c->len = c->cap = 0;
}

void raw_half_close(struct raw *c)
{
	(void)shutdown(c->fd, SHUT_WR);
}

static void send_n(struct raw *c, const char *p, size_t len)
{
	while (len > 0) {
		ssize_t n = send(c->fd, p, len, MSG_NOSIGNAL);

		if (n < 0)
			die(c, strerror(errno));
		p += n;
		len -= (size_t)n;
	}
}

void raw_send(struct raw *c, const char *text)
{
	send_n(c, text, strlen(text));
}

void raw_drip(struct raw *c, const char *text)
{
	for (; *text != '\0'; text++)
		send_n(c, text, 1);
}

bool raw_readable(struct raw *c, int ms)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};

	return c->len > 0 || poll(&p, 1, ms) == 1;
}

/* False: the end. A reset is one: what was unread at its close says so. */
static bool receive(struct raw *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};
	ssize_t n;

	if (c->cap - c->len < 4096) {
		c->cap = c->cap * 2 + 8192;
		c->in = realloc(c->in, c->cap);
		if (c->in == NULL)
			exit(99);
	}
	if (poll(&p, 1, PATIENCE_MS) != 1)
		die(c, "nothing came for a minute");
	n = recv(c->fd, c->in + c->len, c->cap - c->len - 1, 0);
	if (n < 0 && errno != ECONNRESET)
		die(c, strerror(errno));
	if (n <= 0)
		return false;
	c->len += (size_t)n;
	c->in[c->len] = '\0';
	return true;
}

/* ---- a request ---- */
static void odd_case(char *name)
{
	for (size_t i = 0; name[i] != '\0' && name[i] != ':'; i++)
		name[i] = (char)(i % 2 == 0 ? tolower((unsigned char)name[i])
					    : toupper((unsigned char)name[i]));
}

static void add_header(FILE *f, const char *line, bool odd)
{
	char *copy = strdup(line);

	if (copy == NULL)
		exit(99);
	if (odd)
		odd_case(copy);
	(void)fprintf(f, "%s\r\n", copy);
	free(copy);
}

static void add_chunks(FILE *f, const char *body)
{
	size_t left = strlen(body);

	while (left > 0) {
		size_t n = left < CHUNK_BYTES ? left : CHUNK_BYTES;

		(void)fprintf(f, "%zx\r\n%.*s\r\n", n, (int)n, body);
		body += n;
		left -= n;
	}
	(void)fputs("0\r\n\r\n", f);
}

static void add_head(FILE *f, const struct ask *a, const struct curl_slist *l,
		     size_t body_bytes, const struct shape *shape)
{
	const char *host = a->url + strlen("http://");
	size_t host_len = strcspn(host, "/");
	char line[128];

	(void)fprintf(f, "POST %s HTTP/1.1\r\n", host + host_len);
	(void)snprintf(line, sizeof(line), "Host: %.*s", (int)host_len, host);
	add_header(f, line, shape->odd_case);
	/* A line without a value is curl's way to leave a header out. */
	for (; l != NULL; l = l->next)
		if (strchr(l->data, ':')[1] != '\0')
			add_header(f, l->data, shape->odd_case);
	if (shape->expect)
		add_header(f, "Expect: 100-continue", shape->odd_case);
	(void)snprintf(line, sizeof(line), "Content-Length: %zu", body_bytes);
	add_header(f, shape->chunked ? "Transfer-Encoding: chunked" : line,
		   shape->odd_case);
	(void)fputs("\r\n", f);
}

char *raw_request(const struct ask *a, const char *method, const char *name,
		  json_t *params, const struct shape *shape)
{
	static const struct shape plain;
	const struct shape *s = shape != NULL ? shape : &plain;
	char *body =
		a->body != NULL ? strdup(a->body) : rpc_body(a, method, params);
	struct curl_slist *l = rpc_headers(a, method, name);
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL || body == NULL)
		exit(99);
	if (a->body != NULL)
		json_decref(params);
	add_head(f, a, l, strlen(body), s);
	if (s->chunked)
		add_chunks(f, body);
	else
		(void)fputs(body, f);
	(void)fclose(f);
	curl_slist_free_all(l);
	free(body);
	return text;
}

void raw_call(struct raw *c, const struct ask *a, const char *name,
	      json_t *args, const char *state)
{
	json_t *p = json_pack("{s:s,s:o,s:s*}", "name", name, "arguments", args,
			      "requestState", state);
	char *text = raw_request(a, "tools/call", name, p, NULL);

	raw_send(c, text);
	free(text);
}

/* ---- an answer ---- */
static void need(struct raw *c, size_t bytes)
{
	while (c->len < bytes)
		if (!receive(c))
			die(c, "the answer is cut off");
}

static char *take(struct raw *c, size_t bytes)
{
	char *p = strndup(c->in, bytes);

	if (p == NULL)
		exit(99);
	memmove(c->in, c->in + bytes, c->len - bytes + 1);
	c->len -= bytes;
	return p;
}

/* Up to and with @end. */
static size_t find(struct raw *c, const char *end)
{
	for (;;) {
		const char *at = c->len > 0 ? strstr(c->in, end) : NULL;

		if (at != NULL)
			return (size_t)(at - c->in) + strlen(end);
		need(c, c->len + 1);
	}
}

static int take_head(struct raw *c, char **ret_head)
{
	*ret_head = take(c, find(c, HEAD_END));
	if (strncmp(*ret_head, "HTTP/1.1 ", 9) != 0)
		die(c, *ret_head);
	return (int)strtol(*ret_head + 9, NULL, 10);
}

static void take_chunks(struct raw *c, FILE *f)
{
	size_t len;

	do {
		size_t line = find(c, "\r\n");

		len = strtoul(c->in, NULL, 16);
		need(c, line + len + 2);
		free(take(c, line));
		(void)fwrite(c->in, 1, len, f);
		if (memcmp(c->in + len, "\r\n", 2) != 0)
			die(c, "a chunk is longer than it says");
		free(take(c, len + 2));
	} while (len > 0);
}

static void take_body(struct raw *c, struct reply *r)
{
	const char *length = strcasestr(r->headers, "\r\nContent-Length: ");
	bool chunked = header_is(r, "Transfer-Encoding", "chunked");
	size_t size = 0;
	FILE *f;

	if ((length != NULL) == chunked)
		die(c, "an answer is framed in no way, or in two");
	if (!chunked) {
		size = strtoul(length + 18, NULL, 10);
		need(c, size);
		r->raw = take(c, size);
		return;
	}
	f = open_memstream(&r->raw, &size);
	if (f == NULL)
		exit(99);
	take_chunks(c, f);
	(void)fclose(f);
}

static void skip_continues(struct raw *c, char **head, int *status)
{
	while (*status == 100) {
		c->continues++;
		free(*head);
		*status = take_head(c, head);
	}
}

bool raw_ended(struct raw *c)
{
	return c->len == 0 && !receive(c);
}

struct reply *raw_reply(struct raw *c, const char *method)
{
	struct reply *r;

	if (raw_ended(c))
		return NULL;
	if (c->last)
		die(c, "it said that it closes, and went on");
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		exit(99);
	r->events = json_array();
	r->status = take_head(c, &r->headers);
	skip_continues(c, &r->headers, &r->status);
	c->last = header_is(r, "Connection", "close");
	take_body(c, r);
	reply_read(r);
	wire_log(method, r->events, r->message);
	return r;
}

bool raw_send_expecting(struct raw *c, const char *text)
{
	size_t head = (size_t)(strstr(text, HEAD_END) - text) + 4;

	send_n(c, text, head);
	find(c, HEAD_END);
	if (strncmp(c->in, "HTTP/1.1 100", 12) != 0)
		return false;
	free(take(c, find(c, HEAD_END)));
	c->continues++;
	send_n(c, text + head, strlen(text + head));
	return true;
}
