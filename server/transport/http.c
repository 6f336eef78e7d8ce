/* SPDX-License-Identifier: MIT */
/* Starting, stopping, and libmicrohttpd's callbacks about connections. */
#include "server/transport/http.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "server/base/clock.h"
#include "server/base/error.h"
#include "server/base/log.h"
#include "server/transport/http_conn.h"

/*
 * One request's head and what libmicrohttpd notes of it; when a response is
 * written, its head and one chunk.
 */
#define POOL_BYTES        (LIMIT_HEADER_BYTES + 8192)
#define SPARE_FDS         256
#define SPARE_CONNECTIONS 256
#define STOP_FLUSH_MS     2000 /* for answers to be written */
#define STOP_END_MS       5000 /* for the protocol to end what was told closed */
/* The first libmicrohttpd that does not leave a head as http_door.c says. */
#define PARSES_ANEW "1.0"

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
	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		*socket_context = conn_new(cls, mhd);
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

/* ---- options ---- */
static const char *own(const char *s)
{
	return strdup(s != NULL ? s : "");
}

static void disown(const char *s)
{
	free((void *)(uintptr_t)s);
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
	free((void *)(uintptr_t)o->pages);
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
/*
 * One daemon a thread, and the listening socket our own: libmicrohttpd's pool
 * can abort when it is quiesced (MHD_quiesce_daemon races with its workers).
 */
static struct MHD_Daemon *start_daemon(struct http *h)
{
	return MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET |
			MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
		0, NULL, NULL, on_request, h, MHD_OPTION_EXTERNAL_LOGGER,
		on_log, NULL, MHD_OPTION_URI_LOG_CALLBACK, on_target, NULL,
		/* It would look for a Host, and answer with a torn response. */
		MHD_OPTION_STRICT_FOR_CLIENT, 0,
		/* The watch keeps the ceiling; to libmicrohttpd one that is
		 * being closed still counts. */
		MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)h->opt.max_connections + SPARE_CONNECTIONS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, 0U, MHD_OPTION_NOTIFY_CONNECTION,
		on_connection, h, MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,
		MHD_OPTION_END);
}

static enum bide_rc start_daemons(struct http *h, struct bide_error *reterr)
{
	size_t want = h->opt.threads > 0 ? (size_t)h->opt.threads : 1;
	sigset_t all;
	sigset_t before;

	h->daemons = calloc(want, sizeof(struct MHD_Daemon *));
	if (h->daemons == NULL)
		return BIDE_NOMEM;
	/* The threads inherit the mask: signals are for the main thread. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	for (; h->ndaemons < want; h->ndaemons++) {
		h->daemons[h->ndaemons] = start_daemon(h);
		if (h->daemons[h->ndaemons] == NULL)
			break;
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (h->ndaemons < want)
		return error_set(reterr, BIDE_IO,
				 "http: the server did not start");
	return BIDE_OK;
}

static void free_http(struct http *h)
{
	watch_stop(h);
	disown_options(&h->opt);
	disown(h->origin.address);
	free(h->daemons);
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
	rc = start_daemons(h, reterr);
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
		for (size_t i = 0; i < h->ndaemons; i++)
			MHD_stop_daemon(h->daemons[i]);
		free_http(h);
		return rc;
	}
	log_info("http.listening", "url=%s threads=%zu", h->url, h->ndaemons);
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

bool http_drained(struct http *h, int64_t ms)
{
	return wait_for_none(h, &h->busy, ms);
}

void http_stop(struct http *h)
{
	http_stop_accepting(h);
	/* The watch resumes all; what asks to be suspended is turned away. */
	atomic_store(&h->stopping, true);
	http_poke(h);
	(void)wait_for_none(h, &h->suspended, INT64_MAX / 2);
	(void)wait_for_none(h, &h->busy, STOP_FLUSH_MS);
	for (size_t i = 0; i < h->ndaemons; i++)
		MHD_stop_daemon(h->daemons[i]);
	if (!wait_for_none(h, &h->busy, STOP_END_MS)) {
		/* Whoever ends them later must find them. */
		log_error("http.exchanges_left", "open=%d",
			  atomic_load(&h->busy));
		return;
	}
	free_http(h);
}
