/* SPDX-License-Identifier: MIT */
#include "tests/unit/protocol/lib/fake_exchange.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/base/buf.h"
#include "server/base/jsontext.h"
#include "server/base/log.h"
#include "tests/wire_log.h"

#define WAIT_MS 20000

/* ---- the server ---- */
void wire_tool(struct registry *r, struct bide_tool def)
{
	struct bide_error err = {0};

	if (registry_add_tool(r, &def, false, &err) != BIDE_OK)
		fail_msg("%s: %s", def.name, err.text);
}

void wire_prompt(struct registry *r, struct bide_prompt def)
{
	struct bide_error err = {0};

	if (registry_add_prompt(r, &def, &err) != BIDE_OK)
		fail_msg("%s: %s", def.name, err.text);
}

static void add_resource(struct registry *r, const struct bide_resource *def,
			 bool template)
{
	struct bide_error err = {0};

	if (registry_add_resource(r, def, template, &err) != BIDE_OK)
		fail_msg("%s: %s", def->uri, err.text);
}

void wire_resource(struct registry *r, struct bide_resource def)
{
	add_resource(r, &def, false);
}

void wire_template(struct registry *r, struct bide_resource def)
{
	add_resource(r, &def, true);
}

static int64_t or (int64_t v, int64_t otherwise)
{
	return v != 0 ? v : otherwise;
}

static void open_store(struct wire *w)
{
	struct bide_error err = {0};
	char url[300];
	struct store_options opt = {.url = url,
				    .create = true,
				    .migrate = true,
				    .lease_ms = 5000,
				    .poll_ms = 100};

	(void)snprintf(url, sizeof(url), "%s/bide.db", w->dir);
	if (store_open(&opt, &w->store, &err) != BIDE_OK)
		fail_msg("store_open: %s", err.text);
	if (keyring_from_store(w->store, &w->keys, &err) != BIDE_OK)
		fail_msg("keyring: %s", err.text);
}

static void start_engine(struct wire *w, const struct wire_options *o)
{
	struct bide_error err = {0};
	struct engine_options opt = {
		.store = w->store,
		.registry = w->registry,
		.call_workers = 3,
		.task_workers = 3,
		.input_deadline_ms = 86400000,
		.retention_ms = 3600000,
		.disconnect_grace_ms = or (o->grace_ms, 2000),
		.undelivered_grace_ms = or (o->undelivered_ms, 2000),
		.sweep_interval_ms = 50,
		.lease_ms = 5000,
		.max_live = or (o->max_live, 10000),
		.name = "test",
	};

	if (engine_start(&opt, &w->engine, &err) != BIDE_OK)
		fail_msg("engine_start: %s", err.text);
}

static void start_wire(struct wire *w, const struct wire_options *o)
{
	struct dispatch_options d = {
		.engine = w->engine,
		.registry = w->registry,
		.wait_budget_ms = or (o->wait_budget_ms, 5000),
		.continuation_ttl_ms = or (o->ttl_ms, 900000),
		.poll_interval_ms = 500,
		.state_rounds = o->state_rounds != 0 ? o->state_rounds : 2,
		.wait_for_task = !o->no_wait_for_task,
		.max_waits_per_principal =
			o->max_waits != 0 ? o->max_waits : 1000,
	};
	struct request_state_options s = {
		.keys = w->keys,
		.audience = "test",
		.max_bytes = o->max_state != 0 ? o->max_state : 16384,
	};
	struct protocol_options p = {
		.server_name = "wire test",
		.server_version = "1.0",
		.server_title = "The wire",
		.instructions = "Be brief.",
		.poll_interval_ms = 500,
		.registry = w->registry,
	};

	w->dispatch = dispatch_new(&d);
	w->state = request_state_new(&s);
	assert_non_null(w->dispatch);
	assert_non_null(w->state);
	p.dispatch = w->dispatch;
	p.state = w->state;
	w->protocol = protocol_new(&p);
	assert_non_null(w->protocol);
}

struct wire *wire_new(const struct wire_options *opt,
		      void (*add)(struct registry *r))
{
	static const struct wire_options none;
	struct wire *w = calloc(1, sizeof(*w));
	const char *tmp = getenv("TMPDIR");

	assert_non_null(w);
	if (opt == NULL)
		opt = &none;
	log_set_level(LOG_NONE);
	assert_true(security_init());
	(void)snprintf(w->dir, sizeof(w->dir), "%s/bide-wire-XXXXXX",
		       tmp != NULL ? tmp : "/tmp");
	assert_non_null(mkdtemp(w->dir));
	w->registry = registry_new();
	assert_non_null(w->registry);
	add(w->registry);
	if (!opt->no_wait_for_task)
		assert_int_equal(dispatch_add_tools(w->registry, NULL),
				 BIDE_OK);
	open_store(w);
	start_engine(w, opt);
	start_wire(w, opt);
	return w;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

void wire_free(struct wire *w)
{
	engine_drain(w->engine);
	dispatch_drain(w->dispatch);
	assert_true(engine_drained(w->engine, WAIT_MS));
	while (dispatch_pending(w->dispatch) > 0)
		(void)usleep(1000);
	engine_stop(w->engine);
	protocol_free(w->protocol);
	request_state_free(w->state);
	dispatch_free(w->dispatch);
	keyring_free(w->keys);
	store_close(w->store, 2000);
	registry_free(w->registry);
	assert_int_equal(nftw(w->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
	free(w);
}

int wire_tear_down(void **state)
{
	wire_free(*state);
	return 0;
}

/* ---- the exchange ---- */
static const char *ex_header(struct exchange *ex, const char *name)
{
	struct fake *f = (struct fake *)ex;
	size_t i;

	for (i = 0; i < FAKE_HEADERS; i++)
		if (f->headers[i].name != NULL &&
		    strcasecmp(f->headers[i].name, name) == 0)
			return f->headers[i].value;
	return NULL;
}

static void ex_respond(struct exchange *ex, int status,
		       const char *content_type, char *body, size_t len,
		       const struct exchange_header *extra, size_t nextra)
{
	struct fake *f = (struct fake *)ex;
	size_t i;

	mutex_lock(&f->lock);
	if (f->answered || f->streaming)
		abort(); /* exactly one answer */
	f->status = status;
	f->text = body;
	if (body != NULL && strlen(body) != len)
		abort();
	if (content_type != NULL)
		(void)snprintf(f->content_type, sizeof(f->content_type), "%s",
			       content_type);
	for (i = 0; i < nextra; i++)
		if (strcasecmp(extra[i].name, "Allow") == 0)
			(void)snprintf(f->allow, sizeof(f->allow), "%s",
				       extra[i].value);
	f->answered = true;
	cond_broadcast(&f->more);
	mutex_unlock(&f->lock);
}

static void ex_stream_begin(struct exchange *ex, bool comments)
{
	struct fake *f = (struct fake *)ex;

	(void)comments;
	mutex_lock(&f->lock);
	if (f->answered || f->streaming)
		abort();
	f->streaming = true;
	f->status = 200;
	mutex_unlock(&f->lock);
}

static bool ex_stream_send(struct exchange *ex, const char *json, size_t len)
{
	struct fake *f = (struct fake *)ex;
	json_t *event = NULL;
	bool gone;

	if (memchr(json, '\n', len) != NULL)
		abort(); /* one line an event */
	if (jsontext_parse(json, len, &event, NULL) != BIDE_OK)
		abort();
	mutex_lock(&f->lock);
	if (!f->streaming || f->answered)
		abort();
	gone = f->gone;
	if (gone)
		json_decref(event);
	else
		(void)json_array_append_new(f->events, event);
	cond_broadcast(&f->more);
	mutex_unlock(&f->lock);
	if (f->w->on_event)
		f->w->on_event(f->w, json);
	return !gone;
}

static size_t ex_stream_unsent(struct exchange *ex)
{
	struct fake *f = (struct fake *)ex;
	size_t n;

	mutex_lock(&f->lock);
	f->looks++;
	n = f->unsent;
	cond_broadcast(&f->more);
	mutex_unlock(&f->lock);
	return n;
}

static void ex_stream_end(struct exchange *ex)
{
	struct fake *f = (struct fake *)ex;

	mutex_lock(&f->lock);
	if (!f->streaming || f->answered)
		abort();
	f->answered = true;
	cond_broadcast(&f->more);
	mutex_unlock(&f->lock);
}

static const struct exchange_ops fake_ops = {
	.header = ex_header,
	.respond = ex_respond,
	.stream_begin = ex_stream_begin,
	.stream_send = ex_stream_send,
	.stream_end = ex_stream_end,
	.stream_unsent = ex_stream_unsent,
};

/* ---- posting ---- */
static void put_header(struct fake *f, const char *name, const char *value)
{
	size_t i;

	for (i = 0; f->headers[i].name != NULL; i++)
		;
	assert_true(i < FAKE_HEADERS - 1);
	f->headers[i].name = name;
	f->headers[i].value = strdup(value);
}

static void add_header(struct fake *f, const char *name, const char *value,
		       const char *otherwise)
{
	if (value == NULL)
		value = otherwise;
	if (value != NULL && *value != '\0')
		put_header(f, name, value);
}

struct fake *fake_raw(struct wire *w, const char *http_method, const char *body,
		      struct post p)
{
	struct fake *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->w = w;
	f->method = p.method;
	f->events = json_array();
	mutex_init(&f->lock, RANK_HTTP);
	cond_init(&f->more);
	f->body = strdup(body);
	f->principal = strdup(p.principal != NULL ? p.principal : "alice");
	add_header(f, "Content-Type", p.content_type, "application/json");
	add_header(f, "Accept", p.accept,
		   "application/json, text/event-stream");
	add_header(f, "MCP-Protocol-Version", p.version, "2026-07-28");
	add_header(f, "Mcp-Method", p.mcp_method, p.method);
	add_header(f, "Mcp-Name", p.mcp_name,
		   p.tool != NULL  ? p.tool
		   : p.uri != NULL ? p.uri
				   : p.task);
	add_header(f, "Idempotency-Key", p.idem_key, NULL);
	for (size_t i = 0; p.headers != NULL && p.headers[i] != NULL; i += 2)
		put_header(f, p.headers[i], p.headers[i + 1]);
	f->ex.ops = &fake_ops;
	f->ex.method = http_method;
	f->ex.crowded = p.crowded;
	f->ex.body = f->body;
	f->ex.body_len = strlen(f->body);
	f->ex.principal = f->principal;
	f->ex.address = "127.0.0.1";
	protocol_request(w->protocol, &f->ex);
	return f;
}

static json_t *parse(const char *text)
{
	json_t *j = NULL;
	struct bide_error err = {0};

	if (jsontext_parse(text, strlen(text), &j, &err) != BIDE_OK)
		fail_msg("not JSON: %s: %s", text, err.text);
	return j;
}

static void set(json_t *o, const char *name, const char *text)
{
	if (text != NULL)
		(void)json_object_set_new(o, name, parse(text));
}

static json_t *meta_of(const struct post *p)
{
	json_t *meta = json_object();

	(void)json_object_set_new(meta,
				  "io.modelcontextprotocol/protocolVersion",
				  json_string("2026-07-28"));
	set(meta, "io.modelcontextprotocol/clientInfo",
	    "{\"name\":\"t\",\"version\":\"1\"}");
	set(meta, "io.modelcontextprotocol/clientCapabilities",
	    p->caps != NULL ? p->caps : "{}");
	if (p->meta != NULL) {
		json_t *more = parse(p->meta);

		(void)json_object_update(meta, more);
		json_decref(more);
	}
	return meta;
}

struct fake *fake_post(struct wire *w, struct post p)
{
	json_t *params = p.params != NULL ? parse(p.params) : json_object();
	json_t *message = json_object();
	struct fake *f;
	char *body;

	if (!p.no_meta)
		(void)json_object_set_new(params, "_meta", meta_of(&p));
	if (p.tool != NULL)
		(void)json_object_set_new(params, "name", json_string(p.tool));
	if (p.uri != NULL)
		(void)json_object_set_new(params, "uri", json_string(p.uri));
	if (p.task != NULL)
		(void)json_object_set_new(params, "taskId",
					  json_string(p.task));
	if (p.state != NULL)
		(void)json_object_set_new(params, "requestState",
					  json_string(p.state));
	set(params, "arguments", p.args);
	set(params, "inputResponses", p.responses);
	(void)json_object_set_new(message, "jsonrpc", json_string("2.0"));
	set(message, "id", p.id != NULL ? p.id : "1");
	(void)json_object_set_new(message, "method", json_string(p.method));
	(void)json_object_set_new(message, "params", params);
	body = jsontext_dup(message, NULL);
	json_decref(message);
	f = fake_raw(w, "POST", body, p);
	free(body);
	return f;
}

/* ---- waiting ---- */
static void wait_answer(struct fake *f)
{
	mutex_lock(&f->lock);
	while (!f->answered)
		if (!cond_wait_ms(&f->more, &f->lock, WAIT_MS) && !f->answered)
			fail_msg("no answer to %s", f->body);
	mutex_unlock(&f->lock);
}

static bool is_one_of(const struct fake *f, const char *const *methods)
{
	char member[64];

	for (; *methods != NULL; methods++) {
		(void)snprintf(member, sizeof(member), "\"method\":\"%s\"",
			       *methods);
		if (strstr(f->body, member) != NULL)
			return true;
	}
	return false;
}

/* S26, S67: hints stand on what may be cached, and nowhere else. */
static void check_hints(const struct fake *f, json_t *result, const char *type)
{
	static const char *const cacheable[] = {"server/discover",
						"tools/list",
						"prompts/list",
						"resources/list",
						"resources/templates/list",
						"resources/read",
						NULL};
	static const char *const tasks[] = {"tasks/get", "tools/call", NULL};
	json_t *ttl = json_object_get(result, "ttlMs");
	const char *scope =
		json_string_value(json_object_get(result, "cacheScope"));

	if (strcmp(type, "complete") == 0 && is_one_of(f, cacheable)) {
		assert_true(json_is_integer(ttl));
		assert_true(json_integer_value(ttl) >= 0);
		assert_non_null(scope);
		assert_true(strcmp(scope, "public") == 0 ||
			    strcmp(scope, "private") == 0);
	} else {
		assert_null(scope);
		/* A task's ttlMs is another matter. */
		if (!is_one_of(f, tasks) ||
		    json_object_get(result, "taskId") == NULL)
			assert_null(ttl);
	}
}

/* F33; S15, S25, S26, S41: what holds for every answer. */
static void check_result(const struct fake *f, json_t *result)
{
	static const char *const asking[] = {"tools/call", "prompts/get",
					     "resources/read", NULL};
	const char *type =
		json_string_value(json_object_get(result, "resultType"));
	bool call = is_one_of(f, asking);

	assert_non_null(type);
	assert_non_null(json_object_get(json_object_get(result, "_meta"),
					"io.modelcontextprotocol/serverInfo"));
	if (strcmp(type, "input_required") == 0) {
		assert_true(call);
		assert_true(json_is_string(
			json_object_get(result, "requestState")));
	} else if (strcmp(type, "task") == 0) {
		assert_true(strstr(f->body, "\"tools/call\"") != NULL);
	} else {
		assert_string_equal(type, "complete");
	}
	check_hints(f, result, type);
}

static void check_answer(const struct fake *f)
{
	json_t *result = json_object_get(f->json, "result");
	json_t *error = json_object_get(f->json, "error");
	json_int_t code = json_integer_value(json_object_get(error, "code"));

	assert_string_equal(fake_string(f, "jsonrpc"), "2.0");
	if (result != NULL) {
		assert_null(error);
		check_result(f, result);
		return;
	}
	assert_true(json_is_integer(json_object_get(error, "code")));
	assert_true(json_is_string(json_object_get(error, "message")));
	assert_false(code == -32002 || code == -32042);
	assert_false(code < -32022 && code >= -32099);
}

static void finish(struct fake *f, bool whole)
{
	wait_answer(f);
	if (f->streaming && json_array_size(f->events) > 0)
		f->json = json_incref(json_array_get(
			f->events, json_array_size(f->events) - 1));
	else if (f->text != NULL && *f->text != '\0')
		f->json = parse(f->text);
	if (f->json != NULL && !f->gone)
		check_answer(f);
	if (!f->finished && !f->gone)
		wire_log(f->method, f->events, f->streaming ? NULL : f->json);
	if (!f->finished)
		protocol_finished(f->w->protocol, &f->ex, whole);
	f->finished = true;
}

void fake_wait(struct fake *f)
{
	finish(f, true);
}

void fake_wait_lost(struct fake *f)
{
	finish(f, false);
}

bool fake_answered(struct fake *f)
{
	bool answered;

	mutex_lock(&f->lock);
	answered = f->answered;
	mutex_unlock(&f->lock);
	return answered;
}

bool fake_wait_events(struct fake *f, size_t n)
{
	bool there;

	mutex_lock(&f->lock);
	while (!f->answered && json_array_size(f->events) < n)
		if (!cond_wait_ms(&f->more, &f->lock, WAIT_MS) &&
		    json_array_size(f->events) < n)
			fail_msg("no event %zu of %s", n, f->body);
	there = json_array_size(f->events) >= n;
	mutex_unlock(&f->lock);
	return there;
}

json_t *fake_event(struct fake *f, size_t i, const char *path)
{
	json_t *e;

	assert_true(fake_wait_events(f, i + 1));
	mutex_lock(&f->lock);
	e = json_at(json_array_get(f->events, i), path);
	mutex_unlock(&f->lock);
	return e;
}

void fake_close(struct fake *f)
{
	mutex_lock(&f->lock);
	f->gone = true;
	mutex_unlock(&f->lock);
	protocol_closed(f->w->protocol, &f->ex);
	finish(f, false);
}

void fake_free(struct fake *f)
{
	size_t i;

	if (f == NULL)
		return;
	if (!f->finished)
		finish(f, true);
	for (i = 0; i < FAKE_HEADERS; i++)
		free((char *)(uintptr_t)f->headers[i].value);
	json_decref(f->json);
	json_decref(f->events);
	cond_fini(&f->more);
	mutex_fini(&f->lock);
	free(f->text);
	free(f->body);
	free(f->principal);
	free(f);
}

struct fake *fake_call(struct wire *w, struct post p)
{
	struct fake *f = fake_post(w, p);

	fake_wait(f);
	return f;
}

struct fake *fake_listen(struct wire *w, const char *id, const char *filter,
			 const char *caps)
{
	char *params = NULL;
	struct fake *f;

	assert_true(asprintf(&params, "{\"notifications\":%s}", filter) > 0);
	f = fake_post(w, (struct post){.method = "subscriptions/listen",
				       .id = id,
				       .params = params,
				       .caps = caps});
	free(params);
	return f;
}

/* ---- looking ---- */
json_t *json_at(json_t *j, const char *path)
{
	char name[128];

	while (j != NULL && *path != '\0') {
		size_t len = strcspn(path, "/");

		(void)snprintf(name, sizeof(name), "%.*s", (int)len, path);
		path += path[len] == '/' ? len + 1 : len;
		j = json_is_array(j)
			    ? json_array_get(j, strtoul(name, NULL, 10))
			    : json_object_get(j, name);
	}
	return j;
}

json_t *fake_get(const struct fake *f, const char *path)
{
	assert_non_null(f->json);
	return json_at(f->json, path);
}

const char *fake_string(const struct fake *f, const char *path)
{
	return json_string_value(fake_get(f, path));
}

int fake_error(const struct fake *f)
{
	return (int)json_integer_value(fake_get(f, "error/code"));
}

void fake_is(struct fake *f, int status, int code)
{
	if (f->status != status || fake_error(f) != code)
		fail_msg("wanted %d %d, got %d %s", status, code, f->status,
			 f->text);
	fake_free(f);
}

const char *fake_text(const struct fake *f)
{
	const char *text = fake_string(f, "result/content/0/text");

	return text != NULL ? text : "";
}
