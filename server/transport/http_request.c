/* SPDX-License-Identifier: MIT */
/* libmicrohttpd's callbacks for one request, on its transport thread. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "server/base/clock.h"
#include "server/base/metrics.h"
#include "server/transport/http_conn.h"

#define JSON "application/json"

static void set_deadline(struct conn *c, int64_t ms)
{
	atomic_store(&c->deadline, clock_boot_ms() + ms);
}

enum MHD_Result http_queue(struct conn *c, unsigned status,
			   struct MHD_Response *response)
{
	enum MHD_Result queued;

	if (response == NULL)
		return MHD_NO;
	/* After chunks nothing more: what a lenient reader took for their end
	 * another may have read past. */
	if (c->chunked || atomic_load(&c->http->draining))
		(void)MHD_add_response_header(response, "Connection", "close");
	queued = MHD_queue_response(c->mhd, status, response);
	MHD_destroy_response(response);
	return queued;
}

enum MHD_Result http_refuse(struct conn *c, const struct http_refusal *r)
{
	/* Not written to: MHD_RESPMEM_PERSISTENT. */
	struct MHD_Response *response = MHD_create_response_from_buffer(
		strlen(r->body), (void *)r->body, MHD_RESPMEM_PERSISTENT);

	if (response != NULL) {
		(void)MHD_add_response_header(response, "Content-Type", JSON);
		if (r->extra.name != NULL)
			(void)MHD_add_response_header(response, r->extra.name,
						      r->extra.value);
		if (r->at_once)
			(void)MHD_add_response_header(response, "Connection",
						      "close");
	}
	set_deadline(c, c->http->opt.idle_timeout_ms);
	metric_add(METRIC_HTTP_REFUSED, 1);
	return http_queue(c, r->status, response);
}

/*
 * In the middle of a body libmicrohttpd takes no response (it has written
 * nothing either, or the whole of "100 Continue"), so it is written here.
 */
static void refuse_in_body(struct conn *c, const struct http_refusal *r)
{
	char text[512];
	int len = snprintf(text, sizeof(text),
			   "HTTP/1.1 %u Content Too Large\r\n"
			   "Connection: close\r\n"
			   "Content-Type: " JSON "\r\n"
			   "Content-Length: %zu\r\n\r\n%s",
			   r->status, strlen(r->body), r->body);

	metric_add(METRIC_HTTP_REFUSED, 1);
	if (len > 0 && (size_t)len < sizeof(text))
		(void)send(c->fd, text, (size_t)len,
			   MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Exactly what is announced: no doubling on the way. */
static bool body_room(struct buf *b, size_t bytes)
{
	char *p;

	if (bytes < b->cap)
		return true;
	p = malloc(bytes + 1);
	if (p == NULL)
		return false;
	buf_fini(b);
	b->data = p;
	b->cap = bytes + 1;
	p[0] = '\0';
	return true;
}

void http_target(struct conn *c, const char *target)
{
	metric_add(METRIC_HTTP_REQUESTS, 1);
	atomic_fetch_add(&c->http->busy, 1);
	conn_begun(c);
	set_deadline(c, c->http->opt.head_timeout_ms);
	c->headed = false;
	c->clear_target = http_door_target(target);
	mutex_lock(&c->lock);
	c->phase = CONN_READING;
	mutex_unlock(&c->lock);
}

static enum MHD_Result head(struct conn *c, const char *url, const char *method,
			    const char *version)
{
	const struct http *h = c->http;
	size_t body = 0;

	c->headed = true;
	set_deadline(c, h->opt.body_timeout_ms);
	c->body_seen = 0;
	c->refusal = http_door(c, url, method, version, &body);
	c->chunked = body == SIZE_MAX;
	c->post = c->refusal == NULL && c->page == NULL &&
		  strcmp(method, "POST") == 0;
	if (c->refusal != NULL && (c->refusal->at_once || c->chunked))
		return http_refuse(c, c->refusal);
	if (c->post && !c->chunked) {
		if (!body_room(&c->body, body)) {
			c->refusal = &http_refusal_memory;
			return http_refuse(c, c->refusal);
		}
	}
	return MHD_YES;
}

static enum MHD_Result body(struct conn *c, const char *data, size_t *size)
{
	size_t len = *size;

	*size = 0;
	c->body_seen += len;
	if (c->body_seen > c->http->opt.max_body) {
		refuse_in_body(c, &http_refusal_body);
		return MHD_NO;
	}
	if (c->post && !buf_add(&c->body, data, len))
		return MHD_NO;
	return MHD_YES;
}

static enum MHD_Result page(struct conn *c)
{
	const struct http_page *p = c->page;
	struct MHD_Response *response = NULL;
	struct buf out = {0};
	size_t len = 0;
	int status = p->fn(p->user, &out);
	char *text = buf_take(&out, &len);

	if (text != NULL)
		response = MHD_create_response_from_buffer(
			len, text, MHD_RESPMEM_MUST_FREE);
	if (response == NULL)
		free(text);
	else
		(void)MHD_add_response_header(response, "Content-Type",
					      p->content_type);
	set_deadline(c, c->http->opt.idle_timeout_ms);
	return http_queue(c, (unsigned)status, response);
}

enum MHD_Result http_request(struct conn *c, const char *url,
			     const char *method, const char *version,
			     const char *data, size_t *size)
{
	if (!c->headed)
		return head(c, url, method, version);
	if (*size > 0)
		return body(c, data, size);
	if (c->refusal != NULL)
		return http_refuse(c, c->refusal);
	if (c->page != NULL)
		return page(c);
	return exchange_start(c);
}
