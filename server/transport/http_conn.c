/* SPDX-License-Identifier: MIT */
/* The life of a connection, and of its suspension. */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/metrics.h"
#include "server/transport/http_conn.h"

/* Memory a connection keeps from one request to the next. */
#define KEEP_HEAD_BYTES 4096
#define KEEP_BODY_BYTES 16384
/* What is read from a larger one may be many times its size. */
#define LARGE_BODY_BYTES (256 * 1024)
#define DEAD_MANY        256

struct conn *conn_new(struct http *h, struct http_cell *cell,
		      struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info;
	struct conn *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->ex.ops = &http_exchange_ops;
	c->ex.principal = c->principal;
	c->ex.address = c->address;
	c->http = h;
	c->cell = cell;
	c->mhd = mhd;
	info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	c->fd = info->connect_fd;
	info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	http_address_text(info->client_addr, c->address, sizeof(c->address));
	mutex_init(&c->lock, RANK_HTTP);
	atomic_init(&c->deadline, clock_boot_ms() + h->opt.head_timeout_ms);
	mutex_lock(&h->set_lock);
	c->next = h->conns;
	if (c->next != NULL)
		c->next->prev = c;
	h->conns = c;
	h->nconns++;
	if (h->handed > 0)
		h->handed--;
	c->fresh = true;
	atomic_fetch_add(&h->fresh, 1);
	mutex_unlock(&h->set_lock);
	metric_add(METRIC_HTTP_CONNECTIONS, 1);
	return c;
}

void conn_free(struct conn *c)
{
	mutex_fini(&c->lock);
	buf_fini(&c->head);
	buf_fini(&c->body);
	buf_fini(&c->out);
	free(c);
}

/* Tells those who wait for the last one, which nobody does before draining. */
static void one_less(struct http *h, atomic_int *n)
{
	if (atomic_fetch_sub(n, 1) != 1 || !atomic_load(&h->draining))
		return;
	mutex_lock(&h->set_lock);
	cond_broadcast(&h->changed);
	mutex_unlock(&h->set_lock);
}

void conn_begun(struct conn *c)
{
	if (c->fresh)
		one_less(c->http, &c->http->fresh);
	c->fresh = false;
}

void http_poke(struct http *h)
{
	(void)eventfd_write(h->event_fd, 1);
}

void conn_bury(struct conn *c)
{
	struct http *h = c->http;
	bool poke;

	mutex_lock(&h->set_lock);
	c->queued = h->dead;
	h->dead = c;
	poke = ++h->ndead % DEAD_MANY == 0 ||
	       h->nconns + h->handed + 1 == (size_t)h->opt.max_connections;
	mutex_unlock(&h->set_lock);
	if (poke)
		http_poke(h);
}

void conn_closed(struct conn *c)
{
	struct http *h = c->http;
	bool idle;

	conn_begun(c);
	mutex_lock(&h->set_lock);
	if (c->prev != NULL)
		c->prev->next = c->next;
	else
		h->conns = c->next;
	if (c->next != NULL)
		c->next->prev = c->prev;
	h->nconns--;
	mutex_unlock(&h->set_lock);
	metric_add(METRIC_HTTP_CONNECTIONS, -1);
	mutex_lock(&c->lock);
	/* The descriptor is still open: no later event can name this one. */
	if (c->watched)
		(void)epoll_ctl(h->epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
	c->mhd = NULL;
	idle = !c->open;
	mutex_unlock(&c->lock);
	if (idle)
		conn_bury(c);
}

void conn_watch_locked(struct conn *c)
{
	/* Edge-triggered on the close alone: data wakes nobody. Once for the
	 * life of the connection, which saves two calls a request. */
	struct epoll_event ev = {.events = EPOLLRDHUP | EPOLLET, .data.ptr = c};

	mutex_assert_held(&c->lock);
	if (c->watched)
		return;
	c->watched = true;
	if (epoll_ctl(c->http->epoll_fd, EPOLL_CTL_ADD, c->fd, &ev) != 0)
		log_warn("http.unwatched", "address=%s", c->address);
}

void conn_park_locked(struct conn *c)
{
	mutex_assert_held(&c->lock);
	atomic_fetch_add(&c->http->suspended, 1);
	metric_add(METRIC_HTTP_SUSPENDED, 1);
	MHD_suspend_connection(c->mhd);
	c->phase = CONN_PARKED;
}

void conn_resume(struct conn *c)
{
	struct http *h = c->http;

	MHD_resume_connection(c->mhd);
	metric_add(METRIC_HTTP_SUSPENDED, -1);
	one_less(h, &h->suspended);
}

void conn_wake(struct conn *c)
{
	cell_wake(c->cell, c);
}

static void shrink(struct buf *b, size_t keep)
{
	if (b->cap > keep)
		buf_fini(b);
	else
		buf_reset(b);
}

void conn_reset(struct conn *c)
{
	struct http *h = c->http;

	mutex_lock(&c->lock);
	if (c->response != NULL)
		MHD_destroy_response(c->response);
	c->response = NULL;
	c->phase = CONN_IDLE;
	c->used = true;
	c->ended = c->told = c->telling = c->finishing = false;
	c->streaming = c->comments = c->overflow = false;
	buf_fini(&c->out);
	c->out_at = 0;
	if (c->body.len > LARGE_BODY_BYTES)
		atomic_store(&h->large, true);
	shrink(&c->head, KEEP_HEAD_BYTES);
	shrink(&c->body, KEEP_BODY_BYTES);
	c->refusal = NULL;
	c->page = NULL;
	atomic_store(&c->comment_at, 0);
	/* Set when the response was queued, but not for a stream. */
	if (atomic_load(&c->deadline) == 0)
		atomic_store(&c->deadline,
			     clock_boot_ms() + h->opt.idle_timeout_ms);
	mutex_unlock(&c->lock);
	one_less(h, &h->busy);
}
