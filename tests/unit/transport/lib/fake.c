/* SPDX-License-Identifier: MIT */
#include "tests/unit/transport/lib/fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/metrics.h"
#include "server/base/thread.h"

struct fake fake;

static struct mutex lock;
static struct cond changed;
static bool ready;

static void note(atomic_int *n)
{
	mutex_lock(&lock);
	atomic_fetch_add(n, 1);
	cond_broadcast(&changed);
	mutex_unlock(&lock);
}

void fake_until(atomic_int *n, int want)
{
	int64_t until = clock_boot_ms() + 10000;

	mutex_lock(&lock);
	while (atomic_load(n) < want && clock_boot_ms() < until)
		(void)cond_wait_ms(&changed, &lock, 100);
	mutex_unlock(&lock);
	assert_true(atomic_load(n) >= want);
}

void fake_answer(struct exchange *ex, int status, const char *json)
{
	ex->ops->respond(ex, status, "application/json", strdup(json),
			 strlen(json), NULL, 0);
}

static const char *or_none(const char *s)
{
	return s != NULL ? s : "-";
}

void fake_echo(struct exchange *ex)
{
	struct buf b = {0};
	size_t len = 0;
	char *text;

	(void)buf_addf(&b, "%s|%s|%s|%s|%.*s", ex->method, ex->principal,
		       ex->address, or_none(ex->ops->header(ex, "x-test")),
		       (int)ex->body_len, or_none(ex->body));
	text = buf_take(&b, &len);
	ex->ops->respond(ex, 200, "text/plain", text, len, NULL, 0);
}

void fake_keep(struct exchange *ex)
{
	atomic_store(&fake.last, ex);
}

struct exchange *fake_take(void)
{
	return atomic_load(&fake.last);
}

void protocol_request(struct protocol *p, struct exchange *ex)
{
	(void)p;
	if (fake.request != NULL)
		fake.request(ex);
	else
		fake_answer(ex, 200, "{\"ok\":true}");
	note(&fake.requests);
}

void protocol_closed(struct protocol *p, struct exchange *ex)
{
	(void)p;
	note(&fake.closes);
	if (fake.closed != NULL)
		fake.closed(ex);
	else
		fake_answer(ex, 500, "{}");
}

void protocol_finished(struct protocol *p, struct exchange *ex, bool whole)
{
	(void)p;
	(void)ex;
	if (whole)
		note(&fake.whole);
	note(&fake.finishes);
}

struct http *fake_start(const struct http_options *opt)
{
	struct http_options o = {0};
	struct http *h = NULL;
	struct bide_error err = {0};

	if (!ready) {
		mutex_init(&lock, RANK_LEAF);
		cond_init(&changed);
		ready = true;
	}
	log_set_level(LOG_ERROR);
	fake = (struct fake){0};
	if (opt != NULL)
		o = *opt;
	o.listen = o.listen != NULL ? o.listen : "127.0.0.1:0";
	o.path = o.path != NULL ? o.path : "/mcp";
	o.threads = o.threads ? o.threads : 1;
	o.max_body = o.max_body ? o.max_body : 4096;
	o.max_connections = o.max_connections ? o.max_connections : 4000;
	o.max_suspended = o.max_suspended ? o.max_suspended : 3000;
	o.head_timeout_ms = o.head_timeout_ms ? o.head_timeout_ms : 30000;
	o.body_timeout_ms = o.body_timeout_ms ? o.body_timeout_ms : 30000;
	o.idle_timeout_ms = o.idle_timeout_ms ? o.idle_timeout_ms : 30000;
	o.keep_alive_ms = o.keep_alive_ms ? o.keep_alive_ms : 15000;
	if (http_start(&o, &h, &err) != BIDE_OK)
		fail_msg("%s", err.text);
	return h;
}

void fake_stop(struct http *h)
{
	http_stop(h);
	assert_int_equal(fake.requests, fake.finishes);
	assert_int_equal(metric_get(METRIC_HTTP_SUSPENDED), 0);
	assert_int_equal(metric_get(METRIC_HTTP_CONNECTIONS), 0);
}
