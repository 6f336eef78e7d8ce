/* SPDX-License-Identifier: MIT */
#include "tests/e2e/lib/client.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "tests/wire_log.h"

#define PREFIX     "io.modelcontextprotocol/"
#define TIMEOUT_MS 90000L
#define AWAIT_MS   60000
/* Of a request that got no answer; in sum as long as a slow server's start. */
#define REPEATS       1200
#define REPEAT_NAP_MS 50

struct take {
	struct reply *r;
	const struct ask *a;
	size_t len, cap;
	size_t seen; /* of raw, already read as events */
	bool stop;
};

static size_t on_body(char *bytes, size_t size, size_t n, void *user);

static size_t on_header(char *bytes, size_t size, size_t n, void *user)
{
	struct take *t = user;
	size_t had = t->r->headers != NULL ? strlen(t->r->headers) : 0;

	t->r->headers = realloc(t->r->headers, had + size * n + 1);
	if (t->r->headers == NULL)
		return 0;
	memcpy(t->r->headers + had, bytes, size * n);
	t->r->headers[had + size * n] = '\0';
	return size * n;
}

static void one_event(struct take *t, const char *data)
{
	json_t *m = json_loads(data, 0, NULL);

	if (m == NULL)
		return;
	if (json_object_get(m, "id") != NULL) {
		json_decref(t->r->message);
		t->r->message = json_incref(m);
	} else {
		(void)json_array_append(t->r->events, m);
	}
	if (t->a->event != NULL && !t->a->event(t->a->user, m))
		t->stop = true;
	json_decref(m);
}

/* Whole lines of an event stream that came since the last time; none after one
 * with which the test goes. */
static void read_events(struct take *t)
{
	char *line;
	char *end;

	while (!t->stop && (end = memchr(t->r->raw + t->seen, '\n',
					 t->len - t->seen)) != NULL) {
		line = t->r->raw + t->seen;
		t->seen = (size_t)(end - t->r->raw) + 1;
		if (*line == ':') {
			t->r->comments++;
			if (t->a->comment != NULL)
				t->a->comment(t->a->user);
		}
		if (strncmp(line, "data: ", 6) == 0) {
			*end = '\0';
			one_event(t, line + 6);
			*end = '\n';
		}
	}
}

static bool is_stream(const struct reply *r)
{
	return r->headers != NULL &&
	       strcasestr(r->headers, "content-type: text/event-stream") !=
		       NULL;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *user)
{
	struct take *t = user;

	if (t->len + size * n + 1 > t->cap) {
		t->cap = (t->len + size * n + 1) * 2;
		t->r->raw = realloc(t->r->raw, t->cap);
		if (t->r->raw == NULL)
			return 0;
	}
	memcpy(t->r->raw + t->len, bytes, size * n);
	t->len += size * n;
	t->r->raw[t->len] = '\0';
	if (is_stream(t->r))
		read_events(t);
	return t->stop ? 0 : size * n;
}

static struct curl_slist *put(struct curl_slist *l, const char *name,
			      const char *value)
{
	char line[1024];

	if (value == NULL)
		return l;
	(void)snprintf(line, sizeof(line), "%s: %s", name, value);
	return curl_slist_append(l, line);
}

static bool replaced(const struct ask *a, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; a->headers != NULL && a->headers[i] != NULL; i++)
		if (strncasecmp(a->headers[i], name, n) == 0 &&
		    a->headers[i][n] == ':')
			return true;
	return false;
}

struct curl_slist *rpc_headers(const struct ask *a, const char *method,
			       const char *name)
{
	const char *version = a->version != NULL ? a->version : "2026-07-28";
	const struct {
		const char *name, *value;
	} usual[] = {
		{"Content-Type", "application/json"},
		{"Accept", "application/json, text/event-stream"},
		{"MCP-Protocol-Version", version},
		{"Mcp-Method", method},
		{"Mcp-Name", name},
		{"X-Test-Principal", a->principal},
		{"Idempotency-Key", a->idem},
	};
	struct curl_slist *l = NULL;

	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (!replaced(a, usual[i].name))
			l = put(l, usual[i].name, usual[i].value);
	for (size_t i = 0; a->headers != NULL && a->headers[i] != NULL; i++)
		l = curl_slist_append(l, a->headers[i]);
	return curl_slist_append(l, "Expect:");
}

static json_t *meta_of(const struct ask *a)
{
	json_t *meta = json_object();
	json_t *can = json_loads(a->can != NULL ? a->can : CAN_FORM, 0, NULL);

	(void)json_object_set_new(
		meta, PREFIX "protocolVersion",
		json_string(a->version != NULL ? a->version : "2026-07-28"));
	(void)json_object_set_new(
		meta, PREFIX "clientInfo",
		json_pack("{s:s,s:s}", "name", "e2e", "version", "1"));
	(void)json_object_set_new(meta, PREFIX "clientCapabilities", can);
	if (a->progress != NULL)
		(void)json_object_set_new(meta, "progressToken",
					  json_string(a->progress));
	if (a->log_level != NULL)
		(void)json_object_set_new(meta, PREFIX "logLevel",
					  json_string(a->log_level));
	return meta;
}

char *rpc_body(const struct ask *a, const char *method, json_t *params)
{
	static int number;
	json_t *m = json_object();
	char *text;

	if (params == NULL)
		params = json_object();
	if (!a->no_meta)
		(void)json_object_set_new(params, "_meta", meta_of(a));
	(void)json_object_set_new(m, "jsonrpc", json_string("2.0"));
	(void)json_object_set_new(
		m, "id",
		a->id != NULL ? json_deep_copy(a->id)
			      : json_integer(__sync_add_and_fetch(&number, 1)));
	(void)json_object_set_new(m, "method", json_string(method));
	(void)json_object_set_new(m, "params", params);
	text = json_dumps(m, JSON_COMPACT);
	json_decref(m);
	return text;
}

void reply_read(struct reply *r)
{
	const struct ask none = {0};
	struct take t = {.r = r, .a = &none};

	if (r->raw == NULL)
		return;
	t.len = strlen(r->raw);
	if (is_stream(r))
		read_events(&t);
	else
		r->message = json_loads(r->raw, 0, NULL);
}

/* One a thread, so that its connections are used again; it goes with it. */
static pthread_key_t handle_key;

static void handle_free(void *h)
{
	curl_easy_cleanup(h);
}

static void handle_key_make(void)
{
	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
	if (pthread_key_create(&handle_key, handle_free) != 0)
		abort();
}

static CURL *handle(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	CURL *h;

	(void)pthread_once(&once, handle_key_make);
	h = pthread_getspecific(handle_key);
	if (h == NULL) {
		h = curl_easy_init();
		(void)pthread_setspecific(handle_key, h);
	}
	curl_easy_reset(h);
	return h;
}

static struct reply *rpc_once(const struct ask *a, const char *method,
			      const char *name, json_t *params)
{
	struct reply *r = calloc(1, sizeof(*r));
	struct take t = {.r = r, .a = a};
	char *made = a->body == NULL ? rpc_body(a, method, params) : NULL;
	const char *body = made != NULL ? made : a->body;
	struct curl_slist *l = rpc_headers(a, method, name);
	CURL *c = handle();
	long status = 0;

	if (a->body != NULL)
		json_decref(params);
	r->events = json_array();
	curl_easy_setopt(c, CURLOPT_URL, a->url);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_PROXY, "");
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, l);
	curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE,
			 (curl_off_t)strlen(body));
	curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, &t);
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(c, CURLOPT_HEADERDATA, &t);
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS,
			 a->timeout_ms > 0 ? a->timeout_ms : TIMEOUT_MS);
	r->curl = (int)curl_easy_perform(c);
	(void)curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	(void)curl_easy_getinfo(c, CURLINFO_NUM_CONNECTS, &r->connects);
	r->status = (int)status;
	if (!is_stream(r))
		reply_read(r);
	wire_log(method, r->events, r->message);
	curl_slist_free_all(l);
	free(made);
	return r;
}

struct reply *rpc(const struct ask *a, const char *method, const char *name,
		  json_t *params)
{
	const struct timespec nap = {0, REPEAT_NAP_MS * 1000000L};
	struct reply *r = rpc_once(a, method, name, json_incref(params));

	for (int i = 0; i < REPEATS && a->repeats != NULL && r->message == NULL;
	     i++) {
		atomic_fetch_add(a->repeats, 1);
		(void)nanosleep(&nap, NULL);
		reply_free(r);
		r = rpc_once(a, method, name, json_incref(params));
	}
	json_decref(params);
	return r;
}

void reply_free(struct reply *r)
{
	if (r == NULL)
		return;
	json_decref(r->message);
	json_decref(r->events);
	free(r->raw);
	free(r->headers);
	free(r);
}

struct reply *again(const struct ask *a, const char *name, json_t *args,
		    const char *state, json_t *answers)
{
	json_t *p = json_object();

	(void)json_object_set_new(p, "name", json_string(name));
	if (args != NULL)
		(void)json_object_set_new(p, "arguments", args);
	if (state != NULL)
		(void)json_object_set_new(p, "requestState",
					  json_string(state));
	if (answers != NULL)
		(void)json_object_set_new(p, "inputResponses", answers);
	return rpc(a, "tools/call", name, p);
}

struct reply *tool(const struct ask *a, const char *name, json_t *args)
{
	return again(a, name, args, NULL, NULL);
}

struct reply *task_do(const struct ask *a, const char *method, const char *task,
		      json_t *answers)
{
	json_t *p = json_pack("{s:s}", "taskId", task);

	if (answers != NULL)
		(void)json_object_set_new(p, "inputResponses", answers);
	return rpc(a, method, task, p);
}

const json_t *result(const struct reply *r)
{
	return json_object_get(r->message, "result");
}

static const char *text_or_empty(const json_t *v)
{
	const char *s = json_string_value(v);

	return s != NULL ? s : "";
}

const char *result_type(const struct reply *r)
{
	return text_or_empty(json_object_get(result(r), "resultType"));
}

const char *result_text(const struct reply *r)
{
	const json_t *c = json_object_get(result(r), "content");

	return text_or_empty(json_object_get(json_array_get(c, 0), "text"));
}

const char *state_of(const struct reply *r)
{
	return json_string_value(json_object_get(result(r), "requestState"));
}

const json_t *asked(const struct reply *r, const char *key)
{
	return json_object_get(json_object_get(result(r), "inputRequests"),
			       key);
}

size_t asked_count(const struct reply *r)
{
	return json_object_size(json_object_get(result(r), "inputRequests"));
}

int error_code(const struct reply *r)
{
	const json_t *e = json_object_get(r->message, "error");

	return (int)json_integer_value(json_object_get(e, "code"));
}

const char *error_text(const struct reply *r)
{
	return text_or_empty(json_object_get(
		json_object_get(r->message, "error"), "message"));
}

const char *task_id(const struct reply *r)
{
	return text_or_empty(json_object_get(result(r), "taskId"));
}

const char *task_status(const struct reply *r)
{
	return text_or_empty(json_object_get(result(r), "status"));
}

bool header_is(const struct reply *r, const char *name, const char *value)
{
	const char *p = r->headers;
	size_t n = strlen(name);

	while (p != NULL && *p != '\0') {
		if (strncasecmp(p, name, n) == 0 && p[n] == ':') {
			p += n + 1;
			p += strspn(p, " ");
			return strncmp(p, value, strlen(value)) == 0 &&
			       strchr("\r\n", p[strlen(value)]) != NULL;
		}
		p = strchr(p, '\n');
		p = p != NULL ? p + 1 : NULL;
	}
	return false;
}

json_t *accept_bool(const char *key, const char *field, bool v)
{
	return json_pack("{s:{s:s,s:{s:b}}}", key, "action", "accept",
			 "content", field, v ? 1 : 0);
}

json_t *accept_string(const char *key, const char *field, const char *v)
{
	return json_pack("{s:{s:s,s:{s:s}}}", key, "action", "accept",
			 "content", field, v);
}

struct reply *task_await(const struct ask *a, const char *task,
			 const char *status)
{
	const struct timespec nap = {0, 5 * 1000 * 1000};

	for (int ms = 0; ms < AWAIT_MS; ms += 5) {
		struct reply *r = task_do(a, "tasks/get", task, NULL);

		if (strcmp(task_status(r), status) == 0)
			return r;
		reply_free(r);
		(void)nanosleep(&nap, NULL);
	}
	return NULL;
}

static json_t *answer_all(const struct reply *r,
			  json_t *(*answer)(const char *))
{
	json_t *all = json_object();
	json_t *map = json_object_get(result(r), "inputRequests");
	const char *key;
	json_t *v;

	json_object_foreach (map, key, v) {
		json_t *a = answer != NULL ? answer(key) : NULL;

		if (a != NULL)
			(void)json_object_set_new(all, key, a);
	}
	return all;
}

struct reply *drive(const struct ask *a, const char *name, json_t *args,
		    json_t *(*answer)(const char *key), int rounds)
{
	struct reply *r = tool(a, name, json_incref(args));
	struct ask later = *a;

	later.idem = NULL; /* the state says which call it is */
	while (rounds-- > 0 && strcmp(result_type(r), "input_required") == 0) {
		struct reply *next = again(&later, name, json_incref(args),
					   state_of(r), answer_all(r, answer));

		reply_free(r);
		r = next;
	}
	json_decref(args);
	return r;
}
