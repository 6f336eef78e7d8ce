/* SPDX-License-Identifier: MIT */
/* Starting and stopping. */
#include "server/transport/http.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "server/base/clock.h"
#include "server/base/error.h"
#include "server/base/limits.h"
#include "server/base/log.h"
#include "server/transport/http_conn.h"

#define SPARE_FDS   256
#define STOP_END_MS 5000 /* for the protocol to end what was told closed */
#define FRESH_MS    2000 /* for the first request of a connection */
/* The first libmicrohttpd that does not leave a head as http_door.c says. */
#define PARSES_ANEW "1.0"

/* ---- options ---- */
static const char *own(const char *s)
{
	return strdup(s != NULL ? s : "");
}

static void disown(const char *s)
{
	free((void *)s);
}

/* The caller's strings and pages need not outlive http_start(). */
static bool own_options(struct http *h, const struct http_options *opt)
{
	struct http_page *pages = calloc(opt->npages + 1, sizeof(*pages));
	struct http_options *o = &h->opt;
	bool ok = pages != NULL;

	*o = *opt;
	o->listen = own(opt->listen);
	o->path = own(opt->path);
	o->allow_origin = own(opt->allow_origin);
	o->allow_host = own(opt->allow_host);
	o->pages = pages;
	if (pages == NULL)
		o->npages = 0;
	for (size_t i = 0; i < o->npages; i++) {
		pages[i] = opt->pages[i];
		pages[i].path = own(opt->pages[i].path);
		pages[i].content_type = own(opt->pages[i].content_type);
		ok = ok && pages[i].path != NULL &&
		     pages[i].content_type != NULL;
	}
	return ok && o->listen != NULL && o->path != NULL &&
	       o->allow_origin != NULL && o->allow_host != NULL;
}

static void disown_options(struct http_options *o)
{
	disown(o->listen);
	disown(o->path);
	disown(o->allow_origin);
	disown(o->allow_host);
	for (size_t i = 0; i < o->npages; i++) {
		disown(o->pages[i].path);
		disown(o->pages[i].content_type);
	}
	free((void *)o->pages);
}

static bool set_place(struct http *h, const struct sockaddr_storage *addr)
{
	struct sockaddr_storage shown = *addr;
	char text[INET6_ADDRSTRLEN];
	const char *show;
	bool v6 = shown.ss_family == AF_INET6;

	http_address_text((struct sockaddr *)&shown, text, sizeof(text));
	h->origin = (struct http_origin){
		.address = own(text),
		.loopback = http_is_loopback(addr),
		.wildcard = http_is_wildcard(addr),
		.allow_host = h->opt.allow_host,
		.allow_origin = h->opt.allow_origin,
	};
	/* A URL that works as it stands. */
	show = !h->origin.wildcard ? text : v6 ? "::1" : "127.0.0.1";
	v6 = strchr(show, ':') != NULL;
	if (asprintf(&h->url, "http://%s%s%s:%u%s", v6 ? "[" : "", show,
		     v6 ? "]" : "", http_port(addr), h->opt.path) < 0)
		h->url = NULL;
	return h->origin.address != NULL && h->url != NULL;
}

static enum bide_rc check_exposure(const struct http *h,
				   struct bide_error *reterr)
{
	if (h->origin.loopback || h->opt.identity != NULL ||
	    h->opt.allow_anonymous)
		return BIDE_OK;
	return error_set(reterr, BIDE_INVALID,
			 "listen %s: not a loopback address, and nothing says "
			 "who is calling: set an identity source, or accept "
			 "everyone with --allow-anonymous",
			 h->opt.listen);
}

/*
 * Each connection is a descriptor; the soft limit is often 1024. Where the hard
 * one is less than what may come, fewer connections are taken: a database that
 * cannot be opened helps nobody.
 */
static void raise_fd_limit(struct http *h)
{
	rlim_t want = (rlim_t)h->opt.max_connections + SPARE_FDS;
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) != 0 || lim.rlim_cur >= want)
		return;
	if (lim.rlim_max < want) {
		rlim_t few = lim.rlim_max > 2 * SPARE_FDS
				     ? lim.rlim_max - SPARE_FDS
				     : lim.rlim_max / 2;

		log_warn("http.few_descriptors",
			 "limit=%llu max_connections=%d taken=%llu",
			 (unsigned long long)lim.rlim_max,
			 h->opt.max_connections, (unsigned long long)few);
		h->opt.max_connections = (int)few;
	}
	lim.rlim_cur = lim.rlim_max < want ? lim.rlim_max : want;
	(void)setrlimit(RLIMIT_NOFILE, &lim);
}

/* ---- starting ---- */
static void free_http(struct http *h)
{
	lanes_stop(h);
	watch_stop(h);
	disown_options(&h->opt);
	disown(h->origin.address);
	free(h->url);
	cond_fini(&h->changed);
	mutex_fini(&h->set_lock);
	free(h);
}

static enum bide_rc check_path(const struct http_options *o,
			       struct bide_error *reterr)
{
	if (o->path[0] != '/' || !http_door_target(o->path) ||
	    strpbrk(o->path, "?#%") != NULL)
		return error_set(reterr, BIDE_INVALID,
				 "path \"%s\": expected /NAME, without blanks "
				 "and escapes",
				 o->path);
	for (size_t i = 0; i < o->npages; i++)
		if (strcmp(o->pages[i].path, o->path) == 0)
			return error_set(reterr, BIDE_INVALID,
					 "path %s: that is a page of this "
					 "server already: choose another",
					 o->path);
	return BIDE_OK;
}

static enum bide_rc start(struct http *h, const struct http_options *opt,
			  struct bide_error *reterr)
{
	struct sockaddr_storage addr = {0};
	enum bide_rc rc;

	if (!own_options(h, opt))
		return BIDE_NOMEM;
	rc = check_path(&h->opt, reterr);
	if (rc != BIDE_OK)
		return rc;
	rc = http_listen(h->opt.listen, (int)h->opt.idle_timeout_ms, &addr,
			 &h->listen_fd, reterr);
	if (rc != BIDE_OK)
		return rc;
	if (!set_place(h, &addr))
		return BIDE_NOMEM;
	rc = check_exposure(h, reterr);
	if (rc != BIDE_OK)
		return rc;
	raise_fd_limit(h);
	(void)signal(SIGPIPE, SIG_IGN);
	rc = lanes_start(h, reterr);
	return rc == BIDE_OK ? watch_start(h, reterr) : rc;
}

enum bide_rc http_start(const struct http_options *opt, struct http **ret,
			struct bide_error *reterr)
{
	struct http *h = calloc(1, sizeof(*h));
	enum bide_rc rc;

	if (h == NULL)
		return BIDE_NOMEM;
	h->epoll_fd = h->event_fd = h->listen_fd = -1;
	h->raw_heads = strverscmp(MHD_get_version(), PARSES_ANEW) < 0;
	mutex_init(&h->set_lock, RANK_HTTP_SET);
	cond_init(&h->changed);
	rc = start(h, opt, reterr);
	if (rc != BIDE_OK) {
		free_http(h);
		return rc;
	}
	log_info("http.listening", "url=%s threads=%zu", h->url, h->nlanes);
	*ret = h;
	return BIDE_OK;
}

const char *http_url(const struct http *h)
{
	return h->url;
}

/* ---- stopping ---- */
void http_stop_accepting(struct http *h)
{
	atomic_store(&h->draining, true);
	http_poke(h);
	mutex_lock(&h->set_lock);
	while (h->listen_fd >= 0)
		cond_wait(&h->changed, &h->set_lock);
	mutex_unlock(&h->set_lock);
}

static bool wait_for_none(struct http *h, atomic_int *n, int64_t ms)
{
	int64_t until = clock_boot_ms() + ms;
	int64_t left = ms;

	mutex_lock(&h->set_lock);
	while (atomic_load(n) > 0 && left > 0) {
		(void)cond_wait_ms(&h->changed, &h->set_lock, left);
		left = until - clock_boot_ms();
	}
	mutex_unlock(&h->set_lock);
	return atomic_load(n) == 0;
}

/* A proxy that connects for each request sends it at once; others may connect
 * long before, and lose nothing. */
static void wait_for_fresh(struct http *h, int64_t ms)
{
	int64_t now = clock_boot_ms();
	int64_t until = now + (ms < FRESH_MS ? ms : FRESH_MS);

	mutex_lock(&h->set_lock);
	for (; h->handed + (size_t)atomic_load(&h->fresh) > 0 && now < until;
	     now = clock_boot_ms())
		(void)cond_wait_ms(&h->changed, &h->set_lock, until - now);
	mutex_unlock(&h->set_lock);
}

bool http_drained(struct http *h, int64_t ms)
{
	wait_for_fresh(h, ms);
	return wait_for_none(h, &h->busy, ms);
}

bool http_turn_away(struct http *h)
{
	/* The watch resumes all; what asks to be suspended is turned away. */
	if (!atomic_exchange(&h->stopping, true))
		h->turned_ms = clock_boot_ms();
	http_poke(h);
	return wait_for_none(h, &h->busy,
			     h->turned_ms + LIMIT_DRAIN_LAST_MS -
				     clock_boot_ms());
}

bool http_stop(struct http *h)
{
	http_stop_accepting(h);
	(void)http_turn_away(h);
	(void)wait_for_none(h, &h->suspended, INT64_MAX / 2);
	lanes_stop(h);
	if (!wait_for_none(h, &h->busy, STOP_END_MS)) {
		/* Whoever ends them later must find them. */
		log_error("http.exchanges_left", "open=%d",
			  atomic_load(&h->busy));
		return false;
	}
	free_http(h);
	return true;
}
