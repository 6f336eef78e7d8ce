/* SPDX-License-Identifier: MIT */
#include "examples/demo_client/wire.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "examples/demo_client/show.h"

#define VERSION   "2026-07-28"
#define META      "io.modelcontextprotocol/"
#define REPLY_MAX (8 * 1024 * 1024)
#define CONNECT_S 5L
#define REQUEST_S 120L

/* One POST while it runs. */
struct post {
	const struct client *client;
	const struct server *server;
	const char *method;
	const char *name; /* tool or task id; NULL */
	int id;
	char *data; /* what came and is not used up yet */
	size_t len;
	json_t *response;
	CURL *easy;
	struct curl_slist *headers;
	char *body;
	struct timespec begun;
	struct listener *listener; /* also told of each message; NULL */
};

static long long elapsed_ms(const struct timespec *since)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - since->tv_sec) * 1000LL +
	       (now.tv_nsec - since->tv_nsec) / 1000000;
}

/* ---- showing ---- */

static void drop(json_t *object, const char *const *names)
{
	for (; *names != NULL; names++)
		(void)json_object_del(object, *names);
}

/* Of a question's form: the fields, and what may stand in them. */
static void prune_form(json_t *request)
{
	static const char *const dull[] = {"title", "description", "default",
					   "maxLength", NULL};
	json_t *schema = json_object_get(json_object_get(request, "params"),
					 "requestedSchema");
	const char *name;
	json_t *field;

	(void)json_object_del(schema, "type");
	json_object_foreach (json_object_get(schema, "properties"), name, field)
		drop(field, dull);
}

/* A copy without what a reader can do without. */
static json_t *pruned(const json_t *value)
{
	static const char *const dull[] = {
		"_meta",       "resultType",     "createdAt",   "lastUpdatedAt",
		"ttlMs",       "pollIntervalMs", "inputSchema", "outputSchema",
		"annotations", "cacheScope",     NULL};
	json_t *copy = json_deep_copy(value);
	const char *key;
	json_t *request;
	json_t *tool;
	size_t i;

	drop(copy, dull);
	json_object_foreach (json_object_get(copy, "inputRequests"), key,
			     request)
		prune_form(request);
	json_array_foreach (json_object_get(copy, "tools"), i, tool) {
		json_t *small = pruned(tool);

		(void)json_array_set_new(json_object_get(copy, "tools"), i,
					 small);
	}
	return copy;
}

/* "forms, tasks", of the client's capabilities. */
static void say_can(const struct client *c, char *out, size_t cap)
{
	static const struct {
		const char *name, *word;
	} words[] = {{"elicitation", "forms"},
		     {"sampling", "sampling"},
		     {"roots", "roots"},
		     {"extensions", "tasks"}};
	json_t *can = json_loads(c->can, 0, NULL);
	size_t len = 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (json_object_get(can, words[i].name) != NULL)
			len += (size_t)snprintf(out + len, cap - len, "%s%s",
						len > 0 ? ", " : "",
						words[i].word);
	if (len == 0)
		(void)snprintf(out, cap, "nothing");
	json_decref(can);
}

static void show_request(const struct post *p, const json_t *params)
{
	json_t *body = pruned(params);
	char what[256];
	char can[64];
	char right[128];
	bool named;

	named = p->name != NULL && strncmp(p->method, "tasks/", 6) != 0;
	(void)snprintf(what, sizeof(what), "%s%s%s", p->method,
		       named ? " " : "", named ? p->name : "");
	(void)json_object_del(body, "name");
	say_can(p->client, can, sizeof(can));
	(void)snprintf(right, sizeof(right), "can: %s", can);
	show_message(SHOW_REQUEST, p->server->label, what, right, body);
	json_decref(body);
}

static void show_response(const struct post *p, long status)
{
	const json_t *result = json_object_get(p->response, "result");
	const json_t *error = json_object_get(p->response, "error");
	const char *type =
		json_string_value(json_object_get(result, "resultType"));
	json_t *body = pruned(error != NULL ? error : result);
	char right[128];

	(void)snprintf(right, sizeof(right), "HTTP %ld, %lld ms", status,
		       elapsed_ms(&p->begun));
	show_message(SHOW_ANSWER, p->server->label,
		     error != NULL  ? "error"
		     : type != NULL ? type
				    : "result",
		     right, body);
	json_decref(body);
}

static void show_notification(const struct post *p, const json_t *message)
{
	const char *method =
		json_string_value(json_object_get(message, "method"));
	const json_t *params = json_object_get(message, "params");
	json_t *body;

	if (method == NULL)
		return;
	if (strcmp(method, "notifications/progress") == 0) {
		const json_t *text = json_object_get(params, "message");
		char what[256];

		(void)snprintf(
			what, sizeof(what), "progress %.0f of %.0f  %s",
			json_number_value(json_object_get(params, "progress")),
			json_number_value(json_object_get(params, "total")),
			text != NULL ? json_string_value(text) : "");
		show_message(SHOW_EVENT, p->server->label, what, "", NULL);
		return;
	}
	body = pruned(params);
	show_message(SHOW_EVENT, p->server->label, method, "", body);
	json_decref(body);
}

/* ---- receiving ---- */
static void listener_put(struct listener *l, json_t *message);

/* Takes @message. */
static void take_message(struct post *p, json_t *message)
{
	if (message == NULL)
		return;
	if (json_object_get(message, "method") != NULL)
		show_notification(p, message);
	else if (p->response == NULL)
		p->response = json_incref(message);
	if (p->listener != NULL)
		listener_put(p->listener, message);
	else
		json_decref(message);
}

/* One event of a stream: the data lines, joined by line feeds. */
static void take_event(struct post *p, char *event)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	char *line;

	if (out == NULL)
		return;
	while ((line = strsep(&event, "\n")) != NULL) {
		size_t n = strlen(line);

		if (n > 0 && line[n - 1] == '\r')
			line[n - 1] = '\0';
		if (strncmp(line, "data:", 5) == 0)
			(void)fprintf(out, "%s\n",
				      line + (line[5] == ' ' ? 6 : 5));
	}
	if (fclose(out) == 0 && len > 0)
		take_message(p, json_loads(text, 0, NULL));
	free(text);
}

static bool is_stream(const struct post *p)
{
	const char *type = NULL;

	(void)curl_easy_getinfo(p->easy, CURLINFO_CONTENT_TYPE, &type);
	return type != NULL && strncmp(type, "text/event-stream", 17) == 0;
}

/* Events end with an empty line. */
static void take_events(struct post *p)
{
	char *end;

	while ((end = strstr(p->data, "\n\n")) != NULL) {
		size_t used = (size_t)(end - p->data) + 2;

		*end = '\0';
		take_event(p, p->data);
		p->len -= used;
		memmove(p->data, p->data + used, p->len + 1);
	}
}

static size_t on_data(char *bytes, size_t size, size_t n, void *user)
{
	struct post *p = user;
	size_t more = size * n;
	char *data = p->len + more < REPLY_MAX
			     ? realloc(p->data, p->len + more + 1)
			     : NULL;

	if (data == NULL)
		return 0;
	memcpy(data + p->len, bytes, more);
	p->data = data;
	p->len += more;
	data[p->len] = '\0';
	if (is_stream(p))
		take_events(p);
	return more;
}

/* ---- sending ---- */
static json_t *make_meta(const struct client *c, const char *method, int id)
{
	json_t *can = json_loads(c->can, 0, NULL);
	json_t *meta =
		json_pack("{s:s, s:{s:s, s:s}, s:o}", META "protocolVersion",
			  VERSION, META "clientInfo", "name", "demo_client",
			  "version", "1.0.0", META "clientCapabilities", can);

	if (strcmp(method, "tools/call") == 0)
		(void)json_object_set_new(meta, "progressToken",
					  json_integer(id));
	return meta;
}

static void add_header(struct post *p, const char *name, const char *value)
{
	char line[512];

	(void)snprintf(line, sizeof(line), "%s: %s", name, value);
	p->headers = curl_slist_append(p->headers, line);
}

static void set_up(struct post *p)
{
	add_header(p, "Content-Type", "application/json");
	add_header(p, "Accept", "application/json, text/event-stream");
	add_header(p, "MCP-Protocol-Version", VERSION);
	add_header(p, "Mcp-Method", p->method);
	if (p->name != NULL)
		add_header(p, "Mcp-Name", p->name);
	(void)curl_easy_setopt(p->easy, CURLOPT_URL, p->server->url);
	(void)curl_easy_setopt(p->easy, CURLOPT_HTTPHEADER, p->headers);
	(void)curl_easy_setopt(p->easy, CURLOPT_POSTFIELDS, p->body);
	(void)curl_easy_setopt(p->easy, CURLOPT_WRITEFUNCTION, on_data);
	(void)curl_easy_setopt(p->easy, CURLOPT_WRITEDATA, p);
	(void)curl_easy_setopt(p->easy, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
	(void)curl_easy_setopt(p->easy, CURLOPT_TIMEOUT,
			       p->listener == NULL ? REQUEST_S : 0L);
	(void)curl_easy_setopt(p->easy, CURLOPT_NOSIGNAL, 1L);
	/* What a proxy of the environment has to do with 127.0.0.1: nothing. */
	(void)curl_easy_setopt(p->easy, CURLOPT_PROXY, "");
}

static int next_id(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static int last;
	int id;

	(void)pthread_mutex_lock(&lock);
	id = ++last;
	(void)pthread_mutex_unlock(&lock);
	return id;
}

static bool post_init(struct post *p, json_t *params)
{
	json_t *name = json_object_get(params, "name");
	json_t *envelope;

	if (name == NULL && strncmp(p->method, "tasks/", 6) == 0)
		name = json_object_get(params, "taskId");
	p->name = json_string_value(name);
	p->id = next_id();
	(void)clock_gettime(CLOCK_MONOTONIC, &p->begun);
	(void)json_object_set_new(params, "_meta",
				  make_meta(p->client, p->method, p->id));
	envelope = json_pack("{s:s, s:i, s:s, s:O}", "jsonrpc", "2.0", "id",
			     p->id, "method", p->method, "params", params);
	p->body = json_dumps(envelope, JSON_COMPACT);
	json_decref(envelope);
	p->easy = curl_easy_init();
	if (p->body == NULL || p->easy == NULL)
		return false;
	set_up(p);
	return true;
}

static void post_fini(struct post *p)
{
	curl_slist_free_all(p->headers);
	if (p->easy != NULL)
		curl_easy_cleanup(p->easy);
	free(p->body);
	free(p->data);
}

static void perform(struct post *p)
{
	CURLcode code = curl_easy_perform(p->easy);
	long status = 0;

	if (code != CURLE_OK) {
		show_message(SHOW_BROKEN, p->server->label,
			     curl_easy_strerror(code), "", NULL);
		return;
	}
	(void)curl_easy_getinfo(p->easy, CURLINFO_RESPONSE_CODE, &status);
	if (p->data != NULL && !is_stream(p))
		take_message(p, json_loads(p->data, 0, NULL));
	if (p->response != NULL)
		show_response(p, status);
}

json_t *wire_call(const struct client *c, const struct server *s,
		  const char *method, json_t *params)
{
	struct post p = {.client = c, .server = s, .method = method};

	if (post_init(&p, params)) {
		show_request(&p, params);
		perform(&p);
	}
	post_fini(&p);
	json_decref(params);
	return p.response;
}

/* ---- listening ---- */
struct listener {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	json_t *queue; /* messages not taken yet */
	bool ended, stop;
	struct post post;
	json_t *params;
};

/* Takes @message. */
static void listener_put(struct listener *l, json_t *message)
{
	(void)pthread_mutex_lock(&l->lock);
	(void)json_array_append_new(l->queue, message);
	(void)pthread_cond_broadcast(&l->cond);
	(void)pthread_mutex_unlock(&l->lock);
}

/* curl calls it often: not zero ends the transfer. */
static int on_pause(void *user, curl_off_t a, curl_off_t b, curl_off_t c,
		    curl_off_t d)
{
	struct listener *l = user;
	bool stop;

	(void)a;
	(void)b;
	(void)c;
	(void)d;
	(void)pthread_mutex_lock(&l->lock);
	stop = l->stop;
	(void)pthread_mutex_unlock(&l->lock);
	return stop;
}

static void *listen_main(void *user)
{
	struct listener *l = user;
	CURLcode code = curl_easy_perform(l->post.easy);

	if (code != CURLE_OK && code != CURLE_ABORTED_BY_CALLBACK)
		show_message(SHOW_BROKEN, l->post.server->label,
			     curl_easy_strerror(code), "listener", NULL);
	(void)pthread_mutex_lock(&l->lock);
	l->ended = true;
	(void)pthread_cond_broadcast(&l->cond);
	(void)pthread_mutex_unlock(&l->lock);
	return NULL;
}

static void listener_free(struct listener *l)
{
	post_fini(&l->post);
	json_decref(l->post.response);
	json_decref(l->queue);
	json_decref(l->params);
	(void)pthread_mutex_destroy(&l->lock);
	(void)pthread_cond_destroy(&l->cond);
	free(l);
}

struct listener *wire_listen(const struct client *c, const struct server *s,
			     const char *task_id)
{
	struct listener *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->post = (struct post){.client = c,
				.server = s,
				.method = "subscriptions/listen",
				.listener = l};
	l->queue = json_array();
	l->params =
		json_pack("{s:{s:[s]}}", "notifications", "taskIds", task_id);
	(void)pthread_mutex_init(&l->lock, NULL);
	(void)pthread_cond_init(&l->cond, NULL);
	if (!post_init(&l->post, l->params)) {
		listener_free(l);
		return NULL;
	}
	(void)curl_easy_setopt(l->post.easy, CURLOPT_NOPROGRESS, 0L);
	(void)curl_easy_setopt(l->post.easy, CURLOPT_XFERINFOFUNCTION,
			       on_pause);
	(void)curl_easy_setopt(l->post.easy, CURLOPT_XFERINFODATA, l);
	show_request(&l->post, l->params);
	if (pthread_create(&l->thread, NULL, listen_main, l) != 0) {
		listener_free(l);
		return NULL;
	}
	return l;
}

json_t *listener_take(struct listener *l, int ms)
{
	struct timespec until;
	json_t *message = NULL;
	int error = 0;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000;
	(void)pthread_mutex_lock(&l->lock);
	while (json_array_size(l->queue) == 0 && !l->ended && error == 0)
		error = pthread_cond_timedwait(&l->cond, &l->lock, &until);
	if (json_array_size(l->queue) > 0) {
		message = json_incref(json_array_get(l->queue, 0));
		(void)json_array_remove(l->queue, 0);
	}
	(void)pthread_mutex_unlock(&l->lock);
	return message;
}

void listener_stop(struct listener *l)
{
	(void)pthread_mutex_lock(&l->lock);
	l->stop = true;
	(void)pthread_mutex_unlock(&l->lock);
	(void)pthread_join(l->thread, NULL);
	listener_free(l);
}
