/* SPDX-License-Identifier: MIT */
/*
 * The transport threads. Each runs some libmicrohttpd daemons, its cells: polls
 * for them, and feeds them the connections that the watch accepted. Neither is
 * left to libmicrohttpd 0.9.75, for three of its faults:
 *
 * - polling by itself it stands still when exactly 128 events come at once: it
 *   goes back to wait, without a limit, before it has looked at them; asked not
 *   to wait (MHD_run) it never does;
 * - its thread pool can abort when it is quiesced, in a race with its workers;
 * - it walks all suspended connections of a daemon when one is resumed, at 40
 *   ns each: with two thousand in one daemon that would be most of the work.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/base/error.h"
#include "server/base/log.h"
#include "server/transport/http_conn.h"

/*
 * One request's head and what libmicrohttpd notes of it; when a response is
 * written, its head and one chunk.
 */
#define POOL_BYTES        (LIMIT_HEADER_BYTES + 8192)
#define SPARE_CONNECTIONS 256
#define CELLS             32 /* of one thread */

/* An accepted connection on its way to its thread. */
struct arrival {
	struct arrival *next;
	int fd;
	struct sockaddr_storage addr;
	socklen_t addr_len;
};

struct http_cell {
	struct http_lane *lane;
	struct MHD_Daemon *daemon;
	bool due; /* to be run */
};

struct http_lane {
	struct http *http;
	struct http_cell cells[CELLS];
	size_t next_cell;
	int epoll_fd; /* of the daemons' epolls, and event_fd */
	int event_fd; /* for poke() */
	atomic_bool quit, poked, asleep;
	struct arrival *arrivals; /* http->set_lock; the last first */
	struct conn *wakes;       /* the same */
	struct thread thread;
};

/* ---- libmicrohttpd's callbacks ---- */
static struct conn *conn_of(struct MHD_Connection *mhd)
{
	return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
		->socket_context;
}

static void on_connection(void *cls, struct MHD_Connection *mhd,
			  void **socket_context,
			  enum MHD_ConnectionNotificationCode what)
{
	struct http_cell *cell = cls;

	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		*socket_context = conn_new(cell->lane->http, cell, mhd);
	else if (*socket_context != NULL)
		conn_closed(*socket_context);
}

/* The request line came. Its target is still as it was sent. */
static void *on_target(void *cls, const char *target,
		       struct MHD_Connection *mhd)
{
	struct conn *c = conn_of(mhd);

	(void)cls;
	if (c != NULL)
		http_target(c, target);
	return c;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *mhd,
				  const char *url, const char *method,
				  const char *version, const char *data,
				  size_t *size, void **req_cls)
{
	struct conn *c = *req_cls;

	(void)cls;
	(void)mhd;
	if (c == NULL) /* out of memory when it came */
		return MHD_NO;
	return http_request(c, url, method, version, data, size);
}

static void on_completed(void *cls, struct MHD_Connection *mhd, void **req_cls,
			 enum MHD_RequestTerminationCode how)
{
	(void)cls;
	(void)mhd;
	if (*req_cls != NULL)
		exchange_completed(*req_cls,
				   how == MHD_REQUEST_TERMINATED_COMPLETED_OK);
}

/* What a client does wrong is no warning; nor is its going away. */
static bool is_about_a_client(const char *text)
{
	static const char *const begins[] = {
		"Application reported",
		"Closing connection",
		"Connection socket is",
		"Connection was closed",
		"Error processing req",
		"Failed to parse",
		"Failed to send",
		"Received HTTP/1.1 request",
		"Socket has been disco",
		"Too large value",
		"Too late",
	};

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (strncmp(text, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

static void on_log(void *cls, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
static void on_log(void *cls, const char *fmt, va_list ap)
{
	char text[512];

	(void)cls;
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	if (is_about_a_client(text))
		log_debug("http.client", "text=%s", text);
	else
		log_warn("http.library", "text=%s", text);
}

/* ---- arrivals ---- */
/* Either it sees the mark before it sleeps, or we see that it sleeps. */
static void poke(struct http_lane *l)
{
	atomic_store(&l->poked, true);
	if (atomic_load(&l->asleep))
		(void)eventfd_write(l->event_fd, 1);
}

void lane_hand_over(struct http *h, int fd, const struct sockaddr_storage *addr,
		    socklen_t addr_len)
{
	struct http_lane *l = &h->lanes[h->next_lane++ % h->nlanes];
	struct arrival *a = malloc(sizeof(*a));

	if (a == NULL) {
		close(fd);
		return;
	}
	*a = (struct arrival){.fd = fd, .addr = *addr, .addr_len = addr_len};
	mutex_lock(&h->set_lock);
	h->handed++;
	a->next = l->arrivals;
	l->arrivals = a;
	mutex_unlock(&h->set_lock);
	poke(l);
}

static struct arrival *take_arrivals(struct http_lane *l)
{
	struct arrival *all;

	mutex_lock(&l->http->set_lock);
	all = l->arrivals;
	l->arrivals = NULL;
	mutex_unlock(&l->http->set_lock);
	return all;
}

static void add_arrivals(struct http_lane *l)
{
	struct arrival *next;

	for (struct arrival *a = take_arrivals(l); a != NULL; a = next) {
		struct http_cell *cell = &l->cells[l->next_cell++ % CELLS];

		next = a->next;
		/* Closes it by itself when it cannot take it. */
		(void)MHD_add_connection(cell->daemon, a->fd,
					 (struct sockaddr *)&a->addr,
					 a->addr_len);
		cell->due = true;
		free(a);
	}
}

static void drop_arrivals(struct http_lane *l)
{
	struct arrival *next;

	for (struct arrival *a = take_arrivals(l); a != NULL; a = next) {
		next = a->next;
		close(a->fd);
		free(a);
	}
}

/* ---- the thread ---- */
/* ---- resuming ---- */
void cell_wake(struct http_cell *cell, struct conn *c)
{
	struct http_lane *l = cell->lane;
	bool first;

	mutex_lock(&l->http->set_lock);
	first = l->wakes == NULL;
	c->queued = l->wakes;
	l->wakes = c;
	mutex_unlock(&l->http->set_lock);
	if (first)
		poke(l);
}

static void resume_all(struct http_lane *l)
{
	struct conn *all;
	struct conn *next;

	mutex_lock(&l->http->set_lock);
	all = l->wakes;
	l->wakes = NULL;
	mutex_unlock(&l->http->set_lock);
	for (struct conn *c = all; c != NULL; c = next) {
		next = c->queued;
		c->cell->due = true;
		conn_resume(c);
	}
}

/* ---- the thread ---- */
/* Sleeps until something comes, unless @busy, and marks the cells it is for. */
static void wait(struct http_lane *l, bool busy)
{
	struct epoll_event ev[CELLS + 1];
	eventfd_t ignored;
	int n;

	atomic_store(&l->asleep, true);
	n = epoll_wait(l->epoll_fd, ev, CELLS + 1,
		       busy || atomic_load(&l->poked) ? 0 : -1);
	atomic_store(&l->asleep, false);
	for (int i = 0; i < n; i++) {
		struct http_cell *cell = ev[i].data.ptr;

		if (cell != NULL)
			cell->due = true;
		else
			(void)eventfd_read(l->event_fd, &ignored);
	}
}

/* True: one has more to do at once. There are no other time-outs. */
static bool run_cells(struct http_lane *l)
{
	MHD_UNSIGNED_LONG_LONG ms;
	bool busy = false;

	for (size_t i = 0; i < CELLS; i++) {
		struct http_cell *cell = &l->cells[i];

		if (!cell->due)
			continue;
		(void)MHD_run(cell->daemon);
		cell->due = MHD_get_timeout(cell->daemon, &ms) == MHD_YES;
		busy = busy || cell->due;
	}
	return busy;
}

static void serve(void *arg)
{
	struct http_lane *l = arg;
	bool busy = false;

	while (!atomic_load(&l->quit)) {
		wait(l, busy);
		if (atomic_exchange(&l->poked, false)) {
			add_arrivals(l);
			resume_all(l);
		}
		busy = run_cells(l);
	}
}

static struct MHD_Daemon *start_daemon(struct http_cell *cell)
{
	unsigned most = (unsigned)cell->lane->http->opt.max_connections;

	return MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET |
			MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
		0, NULL, NULL, on_request, NULL, MHD_OPTION_EXTERNAL_LOGGER,
		on_log, NULL, MHD_OPTION_URI_LOG_CALLBACK, on_target, NULL,
		/* It would look for a Host, and answer with a torn response. */
		MHD_OPTION_STRICT_FOR_CLIENT, 0,
		/* The watch keeps the ceiling; to libmicrohttpd one that is
		 * being closed still counts. */
		MHD_OPTION_CONNECTION_LIMIT, most + SPARE_CONNECTIONS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, 0U, MHD_OPTION_NOTIFY_CONNECTION,
		on_connection, cell, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
		NULL, MHD_OPTION_END);
}

static bool cell_start(struct http_cell *cell, struct http_lane *l)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = cell};
	const union MHD_DaemonInfo *info;

	cell->lane = l;
	cell->daemon = start_daemon(cell);
	if (cell->daemon == NULL)
		return false;
	info = MHD_get_daemon_info(cell->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	return epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, info->epoll_fd, &ev) == 0;
}

static bool lane_start(struct http_lane *l, struct http *h, size_t number)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = NULL};
	char name[16];

	l->http = h;
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	l->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->epoll_fd < 0 || l->event_fd < 0 ||
	    epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, l->event_fd, &ev) != 0)
		return false;
	for (size_t i = 0; i < CELLS; i++)
		if (!cell_start(&l->cells[i], l))
			return false;
	(void)snprintf(name, sizeof(name), "http-%zu", number);
	return thread_start(&l->thread, name, serve, l) == 0;
}

static void lane_stop(struct http_lane *l)
{
	atomic_store(&l->quit, true);
	poke(l);
	thread_join(&l->thread);
	drop_arrivals(l);
	for (size_t i = 0; i < CELLS; i++)
		if (l->cells[i].daemon != NULL)
			MHD_stop_daemon(l->cells[i].daemon);
	if (l->event_fd >= 0)
		close(l->event_fd);
	if (l->epoll_fd >= 0)
		close(l->epoll_fd);
}

enum bide_rc lanes_start(struct http *h, struct bide_error *reterr)
{
	size_t want = h->opt.threads > 0 ? (size_t)h->opt.threads : 1;

	h->lanes = calloc(want, sizeof(struct http_lane));
	if (h->lanes == NULL)
		return BIDE_NOMEM;
	while (h->nlanes < want) {
		size_t i = h->nlanes++;

		if (!lane_start(&h->lanes[i], h, i))
			return error_set(reterr, BIDE_IO,
					 "http: the server did not start");
	}
	return BIDE_OK;
}

void lanes_stop(struct http *h)
{
	for (size_t i = 0; i < h->nlanes; i++)
		lane_stop(&h->lanes[i]);
	free(h->lanes);
	h->lanes = NULL;
	h->nlanes = 0;
}
