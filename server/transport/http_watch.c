/* SPDX-License-Identifier: MIT */
/*
 * The watch thread: accepts connections, hears of peers that close, keeps the
 * absolute deadlines (libmicrohttpd's time-outs count inactivity only), sends
 * the comments of silent streams, and frees connections.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/error.h"
#include "server/base/log.h"
#include "server/transport/http_conn.h"

#define EVENTS      64
#define ACCEPTS     64 /* at a time */
#define TICK_MIN_MS 2
#define TICK_MAX_MS 1000
#define TICK_PARTS  10 /* a deadline is kept to a tenth of itself */
#define TRIM_MS     2000
/* For handshakes that are under way; who comes meanwhile waits for a second. */
#define SHUT_MS       100
#define SHUT_LOCAL_MS 10

/* ---- accepting ---- */
static void listen_off(struct http *h)
{
	if (h->listening)
		(void)epoll_ctl(h->epoll_fd, EPOLL_CTL_DEL, h->listen_fd, NULL);
	h->listening = false;
}

static void listen_on(struct http *h)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = h};

	if (!h->listening &&
	    epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, h->listen_fd, &ev) == 0)
		h->listening = true;
}

static size_t room(struct http *h)
{
	size_t max = (size_t)h->opt.max_connections;
	size_t n;

	mutex_lock(&h->set_lock);
	n = h->nconns + h->handed;
	mutex_unlock(&h->set_lock);
	return n < max ? max - n : 0;
}

/* True: there may be more. */
static bool accept_some(struct http *h)
{
	size_t most = room(h) < ACCEPTS ? room(h) : ACCEPTS;
	struct sockaddr_storage addr;
	socklen_t len;
	int fd;

	for (size_t i = 0; i < most; i++) {
		len = sizeof(addr);
		fd = accept4(h->listen_fd, (struct sockaddr *)&addr, &len,
			     SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0 && errno == EAGAIN)
			return false;
		if (fd < 0) {
			/* Out of descriptors: the next tick tries again. */
			log_warn("http.accept_failed", "why=%s",
				 strerror(errno));
			h->accept_at_ms = clock_boot_ms() + h->tick_ms;
			listen_off(h);
			return false;
		}
		lane_hand_over(h, fd, &addr, len);
	}
	/* Full: what comes waits in the backlog. */
	if (most == 0)
		listen_off(h);
	return most > 0;
}

/* ---- rounds over all connections ---- */
/* The connections as of now in h->round; none is freed until we do it. */
static size_t snapshot(struct http *h)
{
	size_t n = 0;

	mutex_lock(&h->set_lock);
	if (h->round_cap < h->nconns) {
		size_t cap = h->nconns * 2;
		struct conn **grown =
			realloc(h->round, cap * sizeof(struct conn *));

		if (grown != NULL) {
			h->round = grown;
			h->round_cap = cap;
		}
	}
	for (struct conn *c = h->conns; c != NULL && n < h->round_cap;
	     c = c->next)
		h->round[n++] = c;
	mutex_unlock(&h->set_lock);
	return n;
}

static bool due(int64_t at, int64_t now)
{
	return at != 0 && at <= now;
}

/* Its transport thread sees an end of file, and lets go. */
static void reap(struct conn *c, int64_t now)
{
	mutex_lock(&c->lock);
	if (c->mhd != NULL && due(atomic_load(&c->deadline), now)) {
		log_debug("http.deadline", "address=%s phase=%d", c->address,
			  (int)c->phase);
		(void)shutdown(c->fd, SHUT_RDWR);
		atomic_store(&c->deadline, 0);
	}
	mutex_unlock(&c->lock);
}

/* The C library keeps what many small values took, spread as they are; a few
 * bodies of nothing but brackets would weigh a gigabyte for ever. Later, for a
 * task may be at work on what came. */
static void trim(struct http *h, int64_t now)
{
	if (h->trim_at_ms == 0 && atomic_exchange(&h->large, false))
		h->trim_at_ms = now + TRIM_MS;
	if (h->trim_at_ms == 0 || now < h->trim_at_ms)
		return;
	h->trim_at_ms = 0;
	(void)malloc_trim(0);
}

static void tick(struct http *h)
{
	int64_t now = clock_boot_ms();
	size_t n = snapshot(h);

	/* Those that libmicrohttpd had no memory for come to nothing. */
	mutex_lock(&h->set_lock);
	h->handed = 0;
	mutex_unlock(&h->set_lock);
	for (size_t i = 0; i < n; i++) {
		struct conn *c = h->round[i];

		if (due(atomic_load(&c->deadline), now))
			reap(c, now);
		/* Early by a tick rather than late: proxies count too. */
		if (due(atomic_load(&c->comment_at), now + h->tick_ms))
			sse_comment(c, now);
	}
	trim(h, now);
}

static void close_idle(struct http *h)
{
	size_t n = snapshot(h);

	for (size_t i = 0; i < n; i++) {
		struct conn *c = h->round[i];

		mutex_lock(&c->lock);
		/* One that has not sent a request yet may be about to. */
		if (c->mhd != NULL && c->phase == CONN_IDLE && c->used)
			(void)shutdown(c->fd, SHUT_RDWR);
		mutex_unlock(&c->lock);
	}
}

/* In two steps: see http_keep_out(). */
static void stop_listening(struct http *h)
{
	int64_t now = clock_boot_ms();

	if (h->shut_at_ms == 0) {
		http_keep_out(h->listen_fd);
		h->shut_at_ms =
			now + (h->origin.loopback ? SHUT_LOCAL_MS : SHUT_MS);
	}
	if (now < h->shut_at_ms)
		return;
	while (accept_some(h))
		;
	listen_off(h);
	mutex_lock(&h->set_lock);
	close(h->listen_fd);
	h->listen_fd = -1;
	cond_broadcast(&h->changed);
	mutex_unlock(&h->set_lock);
	close_idle(h);
}

static void kick_all(struct http *h)
{
	size_t n = snapshot(h);

	for (size_t i = 0; i < n; i++)
		exchange_kick(h->round[i]);
}

/* ---- queues ---- */
static struct conn *take(struct http *h, struct conn **queue)
{
	struct conn *all;

	mutex_lock(&h->set_lock);
	all = *queue;
	*queue = NULL;
	mutex_unlock(&h->set_lock);
	return all;
}

static void finish_all(struct http *h)
{
	struct conn *next;

	for (struct conn *c = take(h, &h->finishes); c != NULL; c = next) {
		next = c->queued;
		exchange_finish(c);
	}
}

static void free_dead(struct http *h)
{
	struct conn *all;
	struct conn *next;

	mutex_lock(&h->set_lock);
	all = h->dead;
	h->dead = NULL;
	h->ndead = 0;
	mutex_unlock(&h->set_lock);
	for (struct conn *c = all; c != NULL; c = next) {
		next = c->queued;
		conn_free(c);
	}
}

/* ---- the thread ---- */
/* What others asked for. */
static void obey(struct http *h)
{
	bool accepting = !atomic_load(&h->draining);

	if (!accepting && h->listen_fd >= 0)
		stop_listening(h);
	if (accepting && room(h) > 0 && clock_boot_ms() >= h->accept_at_ms)
		listen_on(h);
	if (atomic_load(&h->stopping) && !h->kicked) {
		h->kicked = true;
		kick_all(h);
	}
}

static void take_events(struct http *h, int wait_ms)
{
	struct epoll_event ev[EVENTS];
	int n = epoll_wait(h->epoll_fd, ev, EVENTS, wait_ms);
	eventfd_t ignored;

	/* What conn_new() wrote is ours to read by this, not by the kernel's
	 * having handed us the pointer. */
	mutex_lock(&h->set_lock);
	mutex_unlock(&h->set_lock);
	for (int i = 0; i < n; i++) {
		if (ev[i].data.ptr == h)
			(void)accept_some(h);
		else if (ev[i].data.ptr == NULL)
			(void)eventfd_read(h->event_fd, &ignored);
		else
			exchange_hup(ev[i].data.ptr);
	}
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void watch(void *arg)
{
	struct http *h = arg;
	int64_t now = clock_boot_ms();
	int64_t next_tick = now;

	while (!atomic_load(&h->quit)) {
		bool shutting = h->shut_at_ms > 0 && h->listen_fd >= 0;
		int64_t until =
			shutting ? least(next_tick, h->shut_at_ms) : next_tick;

		take_events(h, (int)clock_nap_ms(until - now));
		now = clock_boot_ms();
		obey(h);
		finish_all(h);
		if (now >= next_tick) {
			tick(h);
			next_tick = now + h->tick_ms;
		}
		free_dead(h);
	}
}

static int64_t tick_of(const struct http_options *o)
{
	int64_t ms = least(least(o->head_timeout_ms, o->body_timeout_ms),
			   least(o->idle_timeout_ms, o->keep_alive_ms)) /
		     TICK_PARTS;

	if (ms < TICK_MIN_MS)
		return TICK_MIN_MS;
	return least(ms, TICK_MAX_MS);
}

enum bide_rc watch_start(struct http *h, struct bide_error *reterr)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = NULL};
	int err;

	h->tick_ms = tick_of(&h->opt);
	h->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	h->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (h->epoll_fd < 0 || h->event_fd < 0 ||
	    epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, h->event_fd, &ev) != 0)
		return error_set(reterr, BIDE_IO, "http: epoll: %s",
				 strerror(errno));
	err = thread_start(&h->watch, "http-watch", watch, h);
	if (err != 0)
		return error_set(reterr, BIDE_IO, "http: thread: %s",
				 strerror(-err));
	return BIDE_OK;
}

void watch_stop(struct http *h)
{
	atomic_store(&h->quit, true);
	if (h->watch.started)
		http_poke(h);
	thread_join(&h->watch);
	finish_all(h);
	free_dead(h);
	free(h->round);
	if (h->epoll_fd >= 0)
		close(h->epoll_fd);
	if (h->event_fd >= 0)
		close(h->event_fd);
	if (h->listen_fd >= 0)
		close(h->listen_fd);
}
