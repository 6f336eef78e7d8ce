/* SPDX-License-Identifier: MIT */
#include "tests/bench/lib/load.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define OUT_MAX     32768
#define IN_MAX      65536
#define SAMPLES_MAX 2000000

struct conn {
	int fd;
	char out[OUT_MAX];
	size_t out_len, out_sent;
	char in[IN_MAX + 1];
	size_t in_len;
	int64_t begun; /* of the exchange */
	bool idle;
};

struct load {
	struct conn *conns;
	size_t n;
	int epoll;
	load_next next;
	void *user;
	double *samples;
	size_t nsamples;
	size_t wrong;
	int64_t until;
	size_t busy;
};

int64_t load_now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double median(double *v, size_t n)
{
	if (n == 0)
		return 0;
	qsort(v, n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

size_t load_post(char *out, size_t cap, const char *method, const char *name,
		 const char *body)
{
	int n = snprintf(out, cap,
			 "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
			 "Content-Type: application/json\r\n"
			 "Accept: application/json, text/event-stream\r\n"
			 "MCP-Protocol-Version: 2026-07-28\r\n"
			 "Mcp-Method: %s\r\n%s%s%sContent-Length: %zu\r\n\r\n"
			 "%s",
			 method, name != NULL ? "Mcp-Name: " : "",
			 name != NULL ? name : "", name != NULL ? "\r\n" : "",
			 strlen(body), body);

	return n > 0 && (size_t)n < cap ? (size_t)n : 0;
}

static int dial(int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int one = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) != 0) {
		(void)fprintf(stderr, "bench: connect: %s\n", strerror(errno));
		exit(1);
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

int *load_open(int port, size_t n, const char *text, size_t len)
{
	int *fds = calloc(n, sizeof(*fds));

	for (size_t i = 0; fds != NULL && i < n; i++) {
		fds[i] = dial(port);
		if (send(fds[i], text, len, MSG_NOSIGNAL) != (ssize_t)len) {
			(void)fprintf(stderr, "bench: send: %s\n",
				      strerror(errno));
			exit(1);
		}
	}
	return fds;
}

static void flush(struct load *l, struct conn *c)
{
	while (c->out_sent < c->out_len) {
		ssize_t n = send(c->fd, c->out + c->out_sent,
				 c->out_len - c->out_sent, MSG_NOSIGNAL);

		if (n <= 0) {
			if (n < 0 && (errno == EAGAIN || errno == EINTR))
				return;
			l->wrong++;
			c->idle = true;
			l->busy--;
			return;
		}
		c->out_sent += (size_t)n;
	}
}

static void ask(struct load *l, struct conn *c, const char *reply, size_t len)
{
	int ends = 0;
	int64_t now = load_now_ns();

	c->out_len = l->next(l->user, (size_t)(c - l->conns), reply, len, &ends,
			     c->out, sizeof(c->out));
	c->out_sent = 0;
	c->in_len = 0;
	if (c->out_len == 0) {
		l->wrong++;
		c->idle = true;
		l->busy--;
		return;
	}
	if (ends && l->nsamples < SAMPLES_MAX)
		l->samples[l->nsamples++] = (double)(now - c->begun) / 1000;
	if (ends || reply == NULL) {
		c->begun = now;
		if (now >= l->until) {
			c->idle = true;
			l->busy--;
			return;
		}
	}
	flush(l, c);
}

/* A whole reply with Content-Length stands in the buffer: its body. */
static const char *whole(struct conn *c, size_t *ret_len)
{
	char *end;
	char *at;
	size_t head;

	c->in[c->in_len] = '\0';
	end = strstr(c->in, "\r\n\r\n");
	if (end == NULL)
		return NULL;
	head = (size_t)(end - c->in) + 4;
	at = strcasestr(c->in, "content-length:");
	if (at == NULL || at > end)
		return NULL;
	*ret_len = strtoul(at + 15, NULL, 10);
	return c->in_len >= head + *ret_len ? c->in + head : NULL;
}

static void take(struct load *l, struct conn *c)
{
	const char *body;
	size_t len = 0;

	for (;;) {
		ssize_t n =
			recv(c->fd, c->in + c->in_len, IN_MAX - c->in_len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (n == 0 || errno != EAGAIN) {
				l->wrong += !c->idle;
				l->busy -= !c->idle;
				c->idle = true;
				(void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, c->fd,
						NULL);
			}
			return;
		}
		c->in_len += (size_t)n;
		body = whole(c, &len);
		if (body != NULL) {
			ask(l, c, body, len);
			return;
		}
		if (c->in_len == IN_MAX)
			return;
	}
}

static void open_all(struct load *l, int port)
{
	for (size_t i = 0; i < l->n; i++) {
		struct epoll_event e = {.events = EPOLLIN,
					.data.ptr = &l->conns[i]};

		l->conns[i].fd = dial(port);
		(void)epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->conns[i].fd, &e);
	}
	l->busy = l->n;
	for (size_t i = 0; i < l->n; i++)
		ask(l, &l->conns[i], NULL, 0);
}

struct load_result load_run(int port, size_t connections, double seconds,
			    load_next next, void *user)
{
	struct load l = {.n = connections,
			 .next = next,
			 .user = user,
			 .epoll = epoll_create1(EPOLL_CLOEXEC)};
	struct load_result r = {0};
	struct epoll_event ev[64];
	int64_t begun = load_now_ns();

	l.conns = calloc(connections, sizeof(*l.conns));
	l.samples = malloc(SAMPLES_MAX * sizeof(*l.samples));
	if (l.conns == NULL || l.samples == NULL)
		exit(1);
	l.until = begun + (int64_t)(seconds * 1e9);
	open_all(&l, port);
	while (l.busy > 0) {
		int n = epoll_wait(l.epoll, ev, 64, 5000);

		if (n <= 0)
			break;
		for (int i = 0; i < n; i++)
			take(&l, ev[i].data.ptr);
	}
	r.done = l.nsamples;
	r.wrong = l.wrong + l.busy;
	r.per_s = (double)l.nsamples / ((double)(load_now_ns() - begun) / 1e9);
	r.p50_us = median(l.samples, l.nsamples);
	r.p99_us = l.nsamples > 0 ? l.samples[l.nsamples * 99 / 100] : 0;
	for (size_t i = 0; i < l.n; i++)
		(void)close(l.conns[i].fd);
	(void)close(l.epoll);
	free(l.conns);
	free(l.samples);
	return r;
}
