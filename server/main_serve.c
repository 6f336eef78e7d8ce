/* SPDX-License-Identifier: MIT */
/* "serve": builds the rooms from the bottom up, waits, drains, takes down. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/admin/admin.h"
#include "server/base/clock.h"
#include "server/base/limits.h"
#include "server/base/log.h"
#include "server/base/metrics.h"
#include "server/main.h"
#include "server/protocol/protocol.h"
#include "server/task/engine.h"
#include "server/transport/http.h"

struct serve {
	struct bide_server *server;
	struct store *store;
	struct keyring *keys;
	struct engine *engine;
	struct dispatch *dispatch;
	struct request_state *state;
	struct protocol *protocol;
	struct http *http;
};

static const struct config *conf(const struct serve *s)
{
	return s->server->config;
}

/* wait_for_task is there where a call can name it. */
static bool offers_wait(const struct serve *s)
{
	return config_bool(conf(s), CONFIG_WAIT_FOR_TASK) &&
	       registry_detaches(s->server->registry);
}

/* ---- pages beside the endpoint ---- */
static int page_health(void *user, struct buf *body)
{
	(void)user;
	(void)buf_addstr(body, "ok\n");
	return 200;
}

static int page_ready(void *user, struct buf *body)
{
	struct serve *s = user;
	struct bide_error why = {0};

	if (engine_draining(s->engine)) {
		(void)buf_addstr(body, "draining\n");
		return 503;
	}
	if (store_ready(s->store, &why) != BIDE_OK) {
		(void)buf_addf(body, "%s\n", why.text);
		return 503;
	}
	(void)buf_addstr(body, "ready\n");
	return 200;
}

static int page_metrics(void *user, struct buf *body)
{
	(void)user;
	metrics_write(body);
	return body->failed ? 500 : 200;
}

/* ---- bottom up ---- */
static enum bide_rc start_keys(struct serve *s, struct bide_error *err)
{
	const char *where = config_string(conf(s), CONFIG_STATE_KEYS);

	if (*where == '\0')
		return keyring_from_store(s->store, &s->keys, err);
	if (strncmp(where, "env:", 4) == 0)
		return keyring_from_env(where + 4, &s->keys, err);
	return keyring_from_file(where, &s->keys, err);
}

static enum bide_rc start_store(struct serve *s, struct bide_error *err)
{
	struct store_options opt;
	enum bide_rc rc;

	admin_store_options(conf(s), &opt);
	opt.create = true;
	opt.migrate = true;
	rc = store_open(&opt, &s->store, err);
	return rc != BIDE_OK ? rc : start_keys(s, err);
}

static enum bide_rc start_engine(struct serve *s, struct bide_error *err)
{
	const struct config *c = conf(s);
	struct engine_options opt = {
		.store = s->store,
		.registry = s->server->registry,
		.call_workers = (size_t)config_int(c, CONFIG_CALL_WORKERS),
		.task_workers = (size_t)config_int(c, CONFIG_TASK_WORKERS),
		.input_deadline_ms = config_int(c, CONFIG_INPUT_DEADLINE),
		.retention_ms = config_int(c, CONFIG_RETENTION),
		.disconnect_grace_ms = config_int(c, CONFIG_DISCONNECT_GRACE),
		.undelivered_grace_ms = config_int(c, CONFIG_UNDELIVERED_GRACE),
		.sweep_interval_ms = config_int(c, CONFIG_SWEEP_INTERVAL),
		.lease_ms = config_int(c, CONFIG_LEASE),
		.max_live = config_int(c, CONFIG_MAX_TASKS_PER_PRINCIPAL),
		.reenter = config_bool(c, CONFIG_DEBUG_REENTER),
		.name = s->server->name,
	};

	return engine_start(&opt, &s->engine, err);
}

static bool start_dispatch(struct serve *s)
{
	const struct config *c = conf(s);
	struct dispatch_options opt = {
		.engine = s->engine,
		.registry = s->server->registry,
		.wait_budget_ms = config_int(c, CONFIG_WAIT_BUDGET),
		.continuation_ttl_ms = config_int(c, CONFIG_CONTINUATION_TTL),
		.poll_interval_ms = config_int(c, CONFIG_POLL_INTERVAL),
		.state_rounds = (int)config_int(c, CONFIG_STATE_ROUNDS),
		.wait_for_task = offers_wait(s),
		.max_waits_per_principal =
			(size_t)config_int(c, CONFIG_MAX_WAITS_PER_PRINCIPAL),
		.reenter = config_bool(c, CONFIG_DEBUG_REENTER),
	};

	s->dispatch = dispatch_new(&opt);
	return s->dispatch != NULL;
}

static bool start_protocol(struct serve *s)
{
	const struct config *c = conf(s);
	const char *audience = config_string(c, CONFIG_AUDIENCE);
	struct request_state_options so = {
		.keys = s->keys,
		.audience = *audience != '\0' ? audience : s->server->name,
		.max_bytes = (size_t)config_int(c, CONFIG_MAX_STATE),
	};
	struct protocol_options po;

	s->state = request_state_new(&so);
	if (s->state == NULL)
		return false;
	po = (struct protocol_options){
		.dispatch = s->dispatch,
		.state = s->state,
		.server_name = s->server->name,
		.server_version = s->server->version,
		.server_title = s->server->title,
		.instructions = s->server->instructions,
		.icons_json = s->server->icons,
		.poll_interval_ms = config_int(c, CONFIG_POLL_INTERVAL),
		.registry = s->server->registry,
	};
	s->protocol = protocol_new(&po);
	return s->protocol != NULL;
}

static enum bide_rc start_http(struct serve *s, struct bide_error *err)
{
	const struct config *c = conf(s);
	const struct http_page pages[] = {
		{"/healthz", "text/plain; charset=utf-8", page_health, s},
		{"/readyz", "text/plain; charset=utf-8", page_ready, s},
		{"/metrics", "text/plain; version=0.0.4", page_metrics, s},
	};
	struct http_options opt = {
		.protocol = s->protocol,
		.listen = config_string(c, CONFIG_LISTEN),
		.path = config_string(c, CONFIG_PATH),
		.allow_origin = config_string(c, CONFIG_ALLOW_ORIGIN),
		.allow_host = config_string(c, CONFIG_ALLOW_HOST),
		.allow_anonymous = config_bool(c, CONFIG_ALLOW_ANONYMOUS),
		.identity = s->server->identity,
		.identity_user = s->server->identity_user,
		.pages = pages,
		.npages = sizeof(pages) / sizeof(pages[0]),
		.threads = (int)config_int(c, CONFIG_HTTP_THREADS),
		.max_body = (size_t)config_int(c, CONFIG_MAX_BODY),
		.max_connections = (int)config_int(c, CONFIG_MAX_CONNECTIONS),
		.max_suspended = (int)config_int(c, CONFIG_MAX_SUSPENDED),
		.head_timeout_ms = config_int(c, CONFIG_HEAD_TIMEOUT),
		.body_timeout_ms = config_int(c, CONFIG_BODY_TIMEOUT),
		.idle_timeout_ms = config_int(c, CONFIG_IDLE_TIMEOUT),
		.keep_alive_ms = config_int(c, CONFIG_KEEP_ALIVE),
	};

	return http_start(&opt, &s->http, err);
}

static enum bide_rc start(struct serve *s, struct bide_error *err)
{
	enum bide_rc rc = start_store(s, err);

	if (rc == BIDE_OK && offers_wait(s))
		rc = dispatch_add_tools(s->server->registry, err);
	if (rc == BIDE_OK)
		rc = start_engine(s, err);
	if (rc == BIDE_OK && (!start_dispatch(s) || !start_protocol(s)))
		rc = BIDE_NOMEM;
	if (rc == BIDE_OK)
		rc = start_http(s, err);
	if (rc == BIDE_OK)
		announcer_open(&s->server->announcer, s->store);
	return rc;
}

/* ---- and down again ---- */
/*
 * False: a function of the program still runs. It may look at all that is
 * built here, so nothing is freed under it and the process must end.
 */
static bool stop(struct serve *s)
{
	announcer_close(&s->server->announcer);
	/* A handler's thread may be on its last step of a reply. */
	if (s->dispatch != NULL)
		(void)dispatch_idle(s->dispatch, LIMIT_DRAIN_LAST_MS);
	if (s->http != NULL && !http_stop(s->http))
		return false;
	if (!engine_stop(s->engine))
		return false;
	protocol_free(s->protocol);
	request_state_free(s->state);
	dispatch_free(s->dispatch);
	keyring_free(s->keys);
	if (s->store != NULL)
		store_close(s->store, 2000);
	return true;
}

/* By neither exit(), which runs what the program has for its end under the
 * functions of it that still run, nor _exit(), where ThreadSanitizer takes
 * threads that nobody is there to join for leaked ones. */
static _Noreturn void end_at_once(const struct serve *s, int code)
{
	log_warn("serve.handlers_left", "tasks=%zu calls=%zu",
		 engine_running(s->engine), pool_busy(engine_calls(s->engine)));
	quick_exit(code);
}

/*
 * docs/design.md, rule 12: one deadline for all, and LIMIT_DRAIN_LAST_MS behind
 * it for the last replies. True: everything ended and may be taken down. False:
 * a function of the program still runs, or the database still works for a
 * request; a task stays claimed until the process has ended.
 */
static bool drain(struct serve *s)
{
	int64_t grace = config_int(conf(s), CONFIG_DRAIN_GRACE);
	int64_t until = clock_boot_ms() + grace;
	int64_t last = until + LIMIT_DRAIN_LAST_MS;
	bool replied;

	log_info("serve.draining", "grace_ms=%lld running=%zu",
		 (long long)grace, engine_running(s->engine));
	http_stop_accepting(s->http);
	engine_drain(s->engine);
	dispatch_drain(s->dispatch);
	(void)engine_drained(s->engine, grace);
	(void)http_drained(s->http, until - clock_boot_ms());
	replied = http_turn_away(s->http);
	log_info("serve.drained", "tasks_left=%zu calls_left=%zu replies=%s",
		 engine_running(s->engine), pool_busy(engine_calls(s->engine)),
		 replied ? "all" : "not all");
	/* Who wrote the last one may be on its last step. */
	return dispatch_idle(s->dispatch, last - clock_boot_ms()) &&
	       engine_drained(s->engine, last - clock_boot_ms());
}

static void block_signals(sigset_t *set)
{
	(void)sigemptyset(set);
	(void)sigaddset(set, SIGTERM);
	(void)sigaddset(set, SIGINT);
	(void)pthread_sigmask(SIG_BLOCK, set, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
}

int main_serve(struct bide_server *server)
{
	struct serve s = {.server = server};
	struct bide_error err = {0};
	int64_t begun = clock_boot_ms();
	sigset_t set;
	int sig = 0;

	block_signals(&set);
	registry_warn(server->registry);
	if (start(&s, &err) != BIDE_OK) {
		log_error("serve.failed", "why=%s",
			  err.text[0] != '\0' ? err.text : "out of memory");
		(void)fprintf(stderr, "%s: %s\n", server->name,
			      err.text[0] != '\0' ? err.text : "out of memory");
		if (!stop(&s))
			end_at_once(&s, 1);
		return 1;
	}
	log_info("serve.ready", "url=%s instance=%lld db=%s start_ms=%lld",
		 http_url(s.http), (long long)store_instance(s.store),
		 config_string(server->config, CONFIG_DB),
		 (long long)(clock_boot_ms() - begun));
	while (sigwait(&set, &sig) != 0)
		;
	if (!drain(&s) || !stop(&s))
		end_at_once(&s, 0);
	log_info("serve.stopped", "signal=%d", sig);
	return 0;
}
