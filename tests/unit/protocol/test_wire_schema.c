/* SPDX-License-Identifier: MIT */
/*
 * What the server sends, against the JSON schemas of the revision and of the
 * tasks extension, read as data from $BIDE_SHARED/protocol (default
 * ../shared); skipped, saying so, where they are absent.
 *
 * With BIDE_WIRE_LOG naming what other tests wrote there (tests/wire_log.h),
 * every message in it is checked instead.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bide/content.h"
#include "server/catalog/json_schema.h"
#include "server/task/topic.h"
#include "tests/unit/protocol/lib/task_tools.h"

#define TYPES_MAX 48
#define CAPS_ALL                                                               \
	"{\"elicitation\":{\"form\":{},\"url\":{}},\"sampling\":{\"tools\":"   \
	"{},\"context\":{}},\"roots\":{}}"

/* ---- the schemas ---- */
enum document { CORE, EXTENSION };

static struct {
	json_t *doc[2];
	struct {
		enum document doc;
		const char *name;
		struct json_schema *schema;
		size_t seen;
	} type[TYPES_MAX];
	size_t ntypes;
} schemas;

static json_t *load(const char *name)
{
	const char *shared = getenv("BIDE_SHARED");
	char path[1024];

	(void)snprintf(path, sizeof(path), "%s/protocol/%s",
		       shared != NULL ? shared : "../shared", name);
	return json_load_file(path, 0, NULL);
}

static bool there(void)
{
	if (schemas.doc[CORE] == NULL)
		schemas.doc[CORE] = load("mcp-2026-07-28.schema.json");
	if (schemas.doc[EXTENSION] == NULL)
		schemas.doc[EXTENSION] = load("ext-tasks.schema.json");
	if (schemas.doc[CORE] != NULL && schemas.doc[EXTENSION] != NULL)
		return true;
	print_message("skipped: the protocol's schemas are not in "
		      "$BIDE_SHARED/protocol\n");
	return false;
}

static size_t type_of(enum document doc, const char *name)
{
	struct bide_error err = {0};
	json_t *root;
	char ref[80];
	size_t i;

	for (i = 0; i < schemas.ntypes; i++)
		if (schemas.type[i].doc == doc &&
		    strcmp(schemas.type[i].name, name) == 0)
			return i;
	assert_true(i < TYPES_MAX);
	root = json_copy(schemas.doc[doc]);
	(void)snprintf(ref, sizeof(ref), "#/$defs/%s", name);
	(void)json_object_set_new(root, "$ref", json_string(ref));
	if (json_schema_compile(root, &schemas.type[i].schema, &err) != BIDE_OK)
		fail_msg("%s: %s", name, err.text);
	json_decref(root);
	schemas.type[i].doc = doc;
	schemas.type[i].name = name;
	schemas.ntypes++;
	return i;
}

/* Appends to @why when @v is no @name. */
static void is(enum document doc, const char *name, const json_t *v,
	       struct buf *why)
{
	struct json_schema_problem p[4];
	size_t t = type_of(doc, name);
	size_t n = 0;

	schemas.type[t].seen++;
	if (v != NULL && json_schema_validate(schemas.type[t].schema, v, p, 4,
					      &n) == BIDE_OK)
		return;
	(void)buf_addf(why, "%s: ", name);
	if (v == NULL)
		(void)buf_addstr(why, "absent");
	json_schema_explain(p, n, why);
	(void)buf_addc(why, '\n');
}

/* ---- which type a message is ---- */
static const char *text(const json_t *o, const char *name)
{
	const char *s = json_string_value(json_object_get(o, name));

	return s != NULL ? s : "";
}

static void check_error(const json_t *m, struct buf *why)
{
	static const struct {
		int code;
		const char *name;
		bool whole; /* the message; else the error object alone */
	} all[] = {
		{-32700, "ParseError", false},
		{-32600, "InvalidRequestError", false},
		{-32601, "MethodNotFoundError", false},
		{-32602, "InvalidParamsError", false},
		{-32603, "InternalError", false},
		{-32020, "HeaderMismatchError", true},
		{-32021, "MissingRequiredClientCapabilityError", true},
		{-32022, "UnsupportedProtocolVersionError", true},
	};
	const json_t *e = json_object_get(m, "error");
	json_int_t code = json_integer_value(json_object_get(e, "code"));

	is(CORE, "JSONRPCErrorResponse", m, why);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (code == all[i].code)
			is(CORE, all[i].name, all[i].whole ? m : e, why);
	if (json_object_get(m, "result") != NULL)
		(void)buf_addstr(why, "an error beside a result\n");
	/* basic/index, "Error Codes" */
	if (code == -32002 || code == -32042 ||
	    (code < -32022 && code >= -32099))
		(void)buf_addf(why, "the code %lld\n", (long long)code);
}

/* The end of a task is what the plain call gives. */
static void check_detailed(const json_t *t, struct buf *why)
{
	if (strcmp(text(t, "status"), "completed") == 0)
		is(CORE, "CallToolResult", json_object_get(t, "result"), why);
	else if (strcmp(text(t, "status"), "failed") == 0)
		is(CORE, "Error", json_object_get(t, "error"), why);
	else if (strcmp(text(t, "status"), "input_required") == 0)
		is(CORE, "InputRequests", json_object_get(t, "inputRequests"),
		   why);
}

/* What answers each method; @done: it may be answered with input_required, or
 * with a result of this type. */
static const struct answer {
	const char *method, *response, *done;
} answers[] = {
	{"server/discover", "DiscoverResultResponse", NULL},
	{"tools/list", "ListToolsResultResponse", NULL},
	{"prompts/list", "ListPromptsResultResponse", NULL},
	{"resources/list", "ListResourcesResultResponse", NULL},
	{"resources/templates/list", "ListResourceTemplatesResultResponse",
	 NULL},
	{"completion/complete", "CompleteResultResponse", NULL},
	{"subscriptions/listen", "SubscriptionsListenResultResponse", NULL},
	{"tools/call", "CallToolResultResponse", "CallToolResult"},
	{"prompts/get", "GetPromptResultResponse", "GetPromptResult"},
	{"resources/read", "ReadResourceResultResponse", "ReadResourceResult"},
};

static const struct answer *answer_to(const char *method)
{
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		if (strcmp(answers[i].method, method) == 0)
			return &answers[i];
	return NULL;
}

static void check_call(const struct answer *a, const json_t *m, const json_t *r,
		       struct buf *why)
{
	const char *type = text(r, "resultType");

	if (strcmp(type, "task") == 0 && strcmp(a->method, "tools/call") == 0) {
		is(EXTENSION, "CreateTaskResult", r, why);
		return;
	}
	is(CORE, a->response, m, why);
	if (strcmp(type, "input_required") == 0) {
		is(CORE, "InputRequiredResult", r, why);
		/* utilities/caching, "Cacheable Results" */
		if (json_object_get(r, "ttlMs") != NULL ||
		    json_object_get(r, "cacheScope") != NULL)
			(void)buf_addstr(why, "a round with hints\n");
		if (json_object_get(r, "inputRequests") == NULL &&
		    json_object_get(r, "requestState") == NULL)
			(void)buf_addstr(why, "neither questions nor state\n");
	} else if (strcmp(type, "complete") == 0) {
		is(CORE, a->done, r, why);
	} else {
		(void)buf_addf(why, "resultType \"%s\"\n", type);
	}
}

static void check_result(const char *method, const json_t *m, struct buf *why)
{
	const json_t *r = json_object_get(m, "result");
	const struct answer *a = answer_to(method);

	is(CORE, "JSONRPCResultResponse", m, why);
	is(CORE, "Implementation",
	   json_object_get(json_object_get(r, "_meta"),
			   "io.modelcontextprotocol/serverInfo"),
	   why);
	if (a != NULL && a->done != NULL) {
		check_call(a, m, r, why);
		return;
	}
	if (strcmp(text(r, "resultType"), "complete") != 0)
		(void)buf_addstr(why, "resultType is not complete\n");
	if (a != NULL) {
		is(CORE, a->response, m, why);
	} else if (strcmp(method, "tasks/get") == 0) {
		is(EXTENSION, "GetTaskResult", r, why);
		check_detailed(r, why);
	} else if (strcmp(method, "tasks/update") == 0) {
		is(EXTENSION, "UpdateTaskResult", r, why);
	} else if (strcmp(method, "tasks/cancel") == 0) {
		is(EXTENSION, "CancelTaskResult", r, why);
	} else {
		(void)buf_addf(why, "a result of %s\n", method);
	}
}

static const struct {
	const char *method, *type; /* of the core */
} notifications[] = {
	{"notifications/progress", "ProgressNotification"},
	{"notifications/message", "LoggingMessageNotification"},
	{"notifications/tools/list_changed", "ToolListChangedNotification"},
	{"notifications/prompts/list_changed", "PromptListChangedNotification"},
	{"notifications/resources/list_changed",
	 "ResourceListChangedNotification"},
	{"notifications/resources/updated", "ResourceUpdatedNotification"},
	{"notifications/subscriptions/acknowledged",
	 "SubscriptionsAcknowledgedNotification"},
};

static void check_notification(const json_t *m, struct buf *why)
{
	const char *method = text(m, "method");
	const json_t *params = json_object_get(m, "params");
	size_t n = sizeof(notifications) / sizeof(notifications[0]);
	size_t i = 0;

	while (i < n && strcmp(notifications[i].method, method) != 0)
		i++;
	if (i < n) {
		is(CORE, notifications[i].type, m, why);
	} else if (strcmp(method, "notifications/tasks") == 0) {
		is(EXTENSION, "TaskStatusNotification", m, why);
		check_detailed(params, why);
	} else {
		(void)buf_addf(why, "a notification %s\n", method);
	}
	if (strcmp(method, "notifications/subscriptions/acknowledged") == 0)
		is(EXTENSION, "TaskSubscriptionAcknowledgedNotifications",
		   json_object_get(params, "notifications"), why);
}

/* What is wrong with a message that answers @method; free(), NULL: nothing. */
static char *wrong(const char *method, const json_t *m)
{
	struct buf why = {0};

	if (json_object_get(m, "method") != NULL)
		check_notification(m, &why);
	else if (json_object_get(m, "error") != NULL)
		check_error(m, &why);
	else
		check_result(method, m, &why);
	if (why.len == 0) {
		buf_fini(&why);
		return NULL;
	}
	return buf_take(&why, NULL);
}

static void check(const char *method, const json_t *m)
{
	char *why = wrong(method, m);
	char *said;

	if (why == NULL)
		return;
	said = json_dumps(m, JSON_ENCODE_ANY);
	fail_msg("%s\n%s", why, said);
}

/* ---- driving ---- */
#define FORM                                                                   \
	"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\","     \
	"\"format\":\"email\",\"default\":\"a@b.example\"},\"b\":{\"type\":"   \
	"\"integer\",\"minimum\":1},\"c\":{\"type\":\"boolean\"},\"d\":{"      \
	"\"type\":\"string\",\"enum\":[\"x\",\"y\"]},\"e\":{\"type\":"         \
	"\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"x\"]}}},"        \
	"\"required\":[\"a\"]}"

static enum bide_rc asks_all(struct bide_call *call, void *user)
{
	(void)user;
	BIDE_TRY(bide_ask_form(call, "form", "All kinds", FORM));
	BIDE_TRY(bide_ask_url(call, "url", "Look", "https://example.com/a"));
	BIDE_TRY(bide_ask_roots(call, "roots"));
	BIDE_TRY(bide_ask_sampling(
		call, "sampling",
		json_pack("{s:[{s:s,s:{s:s,s:s}}],s:i,s:[{s:s,s:{s:s}}]}",
			  "messages", "role", "user", "content", "type", "text",
			  "text", "Say it", "maxTokens", 5, "tools", "name",
			  "t", "inputSchema", "type", "object")));
	BIDE_TRY(bide_await(call));
	return bide_text(call, "all");
}

static enum bide_rc all_content(struct bide_call *call, void *user)
{
	(void)user;
	BIDE_TRY(bide_add_text(call, "text"));
	BIDE_TRY(bide_add_image(call, "x", 1, "image/png"));
	BIDE_TRY(bide_add_audio(call, "x", 1, "audio/wav"));
	BIDE_TRY(bide_add_resource_text(call, "file:///a", "text/plain", "a"));
	BIDE_TRY(
		bide_add_resource_blob(call, "file:///b", "image/png", "b", 1));
	BIDE_TRY(bide_add_resource_link(call, "file:///c", "c", "C", "see C",
					"text/plain"));
	return bide_structured(call, json_pack("{s:[i,n]}", "list", 1));
}

static enum bide_rc tells(struct bide_call *call, void *user)
{
	(void)user;
	bide_progress(call, 0.5, 3, "half a part");
	bide_progress(call, 1, 0, NULL);
	bide_log(call, BIDE_LOG_EMERGENCY, NULL, json_null());
	bide_log(call, BIDE_LOG_DEBUG, "wire", json_pack("{s:f}", "x", 0.1));
	return bide_text(call, "told");
}

static enum bide_rc status_and_ask(struct bide_call *call, void *user)
{
	bide_status(call, "wants to know");
	return asks_all(call, user);
}

static enum bide_rc all_messages(struct bide_call *call, void *user)
{
	(void)user;
	BIDE_TRY(bide_add_text(call, "text"));
	BIDE_TRY(bide_annotate(call, json_pack("{s:[s],s:f,s:s}", "audience",
					       "assistant", "priority", 0.5,
					       "lastModified",
					       "2026-07-28T00:00:00Z")));
	BIDE_TRY(bide_role(call, BIDE_ASSISTANT));
	BIDE_TRY(bide_add_image(call, "x", 1, "image/png"));
	BIDE_TRY(bide_add_audio(call, "x", 1, "audio/wav"));
	BIDE_TRY(bide_add_resource_text(call, "file:///a", "text/plain", "a"));
	return bide_add_resource_link(call, "file:///c", "c", NULL, NULL, NULL);
}

static enum bide_rc all_contents(struct bide_call *call, void *user)
{
	(void)user;
	BIDE_TRY(bide_text(call, "text"));
	return bide_add_resource_blob(call, "test://b", "image/png", "b", 1);
}

static enum bide_rc suggests(struct bide_completion *c, void *user)
{
	(void)user;
	return bide_complete_add(c, "value");
}

static enum bide_rc lists(struct bide_list *list, void *user)
{
	struct bide_resource r = {BIDE_RESOURCE, .uri = "test://t/1",
				  .name = "1", .bytes = 7,
				  .annotations = "{\"priority\":1}"};

	(void)user;
	return bide_list_add(list, &r);
}

static void add_contents(struct registry *r)
{
	static const struct bide_prompt_arg arg = {"a", "A", "an argument",
						   false};
	struct bide_prompt p = {BIDE_PROMPT,
				.name = "all_messages",
				.title = "All",
				.description = "all kinds",
				.icons = "[{\"src\":\"https://x.example/i\"}]",
				.args = &arg,
				.n_args = 1,
				.handler = all_messages,
				.complete = suggests};
	struct bide_resource s = {BIDE_RESOURCE,
				  .uri = "test://all",
				  .name = "all",
				  .title = "All",
				  .mime_type = "text/plain",
				  .annotations = "{\"audience\":[\"user\"]}",
				  .bytes = 4,
				  .handler = all_contents,
				  .cache_ms = 5};

	wire_prompt(r, p);
	p.name = "asks";
	p.handler = asks_all;
	wire_prompt(r, p);
	wire_resource(r, s);
	s.uri = "test://asks";
	s.handler = asks_all;
	wire_resource(r, s);
	s.uri = "test://t/{v}";
	s.bytes = 0;
	s.handler = all_contents;
	s.list = lists;
	s.complete = suggests;
	wire_template(r, s);
}

static void add(struct registry *r)
{
	task_tools_add(r);
	add_contents(r);
	wire_tool(r,
		  (struct bide_tool){
			  BIDE_TOOL, .name = "asks_all", .title = "Asks",
			  .description = "asks all kinds", .handler = asks_all,
			  .annotations = "{\"readOnlyHint\":true}",
			  .icons = "[{\"src\":\"https://x.example/i.png\","
				   "\"mimeType\":\"image/png\",\"sizes\":"
				   "[\"any\"],\"theme\":\"dark\"}]"});
	wire_tool(r,
		  (struct bide_tool){BIDE_TOOL, .name = "all_content",
				     .handler = all_content,
				     .output_schema = "{\"type\":\"object\"}"});
	wire_tool(r, (struct bide_tool){BIDE_TOOL, .name = "tells",
					.handler = tells});
	wire_tool(r, (struct bide_tool){BIDE_TOOL, .name = "asks_as_a_task",
					.handler = status_and_ask,
					.mode = BIDE_PERSISTENT,
					.ttl_ms = 3600000});
}

/* Checks all that came, and frees it. */
static void take(struct fake *f, const char *method)
{
	size_t i;
	json_t *e;

	if (!f->finished)
		fake_wait(f);
	json_array_foreach (f->events, i, e)
		check(method, e);
	if (!f->streaming)
		check(method, f->json);
	fake_free(f);
}

static void send(struct wire *w, struct post p)
{
	take(fake_post(w, p), p.method);
}

static void send_requests(struct wire *w)
{
	static const char *const bodies[] = {
		"{", "[]", "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}"};

	send(w, (struct post){.method = "server/discover"});
	send(w, (struct post){.method = "tools/list"});
	send(w, (struct post){.method = "tools/list",
			      .id = "\"a\"",
			      .params = "{\"cursor\":\"zz\"}"});
	send(w, (struct post){.method = "tools/list", .mcp_method = "x"});
	send(w, (struct post){.method = "tools/list", .version = ""});
	send(w, (struct post){.method = "tools/list", .no_meta = true});
	send(w, (struct post){.method = "unknown/method"});
	send(w, (struct post){.method = "tools/list",
			      .version = "v9",
			      .meta = "{\"io.modelcontextprotocol/"
				      "protocolVersion\":\"v9\"}"});
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
		take(fake_raw(w, "POST", bodies[i],
			      (struct post){.method = "tools/list"}),
		     "tools/list");
}

static void send_contents(struct wire *w)
{
	static const char *const lists_of[] = {"prompts/list", "resources/list",
					       "resources/templates/list"};
	static const char *const uris[] = {"test://all", "test://t/1",
					   "test://asks", "test://nope"};
	static const char *const prompts[] = {"all_messages", "asks", "nope"};
	size_t i;

	for (i = 0; i < 3; i++) {
		send(w, (struct post){.method = lists_of[i]});
		send(w, (struct post){.method = "prompts/get",
				      .tool = prompts[i],
				      .caps = CAPS_ALL});
	}
	for (i = 0; i < sizeof(uris) / sizeof(uris[0]); i++)
		send(w, (struct post){.method = "resources/read",
				      .uri = uris[i],
				      .caps = CAPS_ALL});
	send(w, (struct post){.method = "completion/complete",
			      .params = "{\"ref\":{\"type\":\"ref/prompt\","
					"\"name\":\"asks\"},\"argument\":{"
					"\"name\":\"a\",\"value\":\"\"}}"});
}

static void send_calls(struct wire *w)
{
	static const char *const caps[] = {"{}", CAPS_FORM, CAPS_ALL};
	static const char *const names[] = {
		"asks_all", "all_content", "is_error",
		"failing",  "demands",     "nope",
		"slow",     "confirm",     "asks_as_a_task"};

	for (size_t c = 0; c < 3; c++)
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			send(w, (struct post){.method = "tools/call",
					      .tool = names[i],
					      .caps = caps[c]});
	send(w, (struct post){.method = "tools/call",
			      .tool = "asks_all",
			      .caps = CAPS_ALL,
			      .state = "garbage"});
	send(w, (struct post){.method = "tools/call",
			      .tool = "tells",
			      .meta = "{\"progressToken\":\"t\",\"io."
				      "modelcontextprotocol/logLevel\":"
				      "\"debug\"}"});
	/* a state-only round, and the detached end */
	send(w, CALL_PLAIN("held"));
}

static void ends(struct wire *w, const char *name, const char *status)
{
	char *id = task_start(w, CALL_TASK(name));

	take(task_until(w, id, status), "tasks/get");
	free(id);
}

static void send_tasks(struct wire *w)
{
	char *id;
	struct post p = CALL_TASK("asks_as_a_task");

	ends(w, "slow", "completed");
	ends(w, "is_error", "completed");
	ends(w, "failing", "failed");
	send(w, CALL_TASK("held"));
	id = task_start(w, CALL_TASK("held"));
	take(task_until(w, id, "working"), "tasks/get");
	take(task_method(w, "tasks/cancel", id, NULL), "tasks/cancel");
	take(task_until(w, id, "cancelled"), "tasks/get");
	free(id);
	p.caps = "{\"elicitation\":{\"form\":{},\"url\":{}},\"sampling\":{"
		 "\"tools\":{}},\"roots\":{},\"extensions\":{"
		 "\"io.modelcontextprotocol/tasks\":{}}}";
	id = task_start(w, p);
	take(task_until(w, id, "input_required"), "tasks/get");
	take(task_method(w, "tasks/update", id, "{\"x\":{}}"), "tasks/update");
	take(task_method(w, "tasks/update", id, "7"), "tasks/update");
	take(task_method(w, "tasks/get", "unknown", NULL), "tasks/get");
	free(id);
	send(w, (struct post){.method = "tasks/get", .task = "x"});
}

/* A listener that hears of three ends; the drain gives it its own. */
static struct fake *listen(struct wire *w)
{
	char *asks = task_start(w, CALL_TASK("confirm"));
	char *slow = task_start(w, CALL_TASK("slow"));
	char *fails = task_start(w, CALL_TASK("failing"));
	char params[300];
	struct fake *f;

	(void)snprintf(params, sizeof(params),
		       "{\"notifications\":{\"taskIds\":[\"%s\",\"%s\",\"%s\"],"
		       "\"toolsListChanged\":true,\"promptsListChanged\":true,"
		       "\"resourcesListChanged\":true,"
		       "\"resourceSubscriptions\":[\"test://all\"]}}",
		       asks, slow, fails);
	fake_free(task_until(w, asks, "input_required"));
	fake_free(task_until(w, fails, "failed"));
	fake_free(task_until(w, slow, "completed"));
	f = fake_post(w, (struct post){.method = "subscriptions/listen",
				       .id = "\"seven\"",
				       .params = params,
				       .caps = CAPS_TASKS});
	assert_true(fake_wait_events(f, 4));
	fake_free(task_method(w, "tasks/cancel", asks, NULL));
	assert_true(fake_wait_events(f, 5));
	free(asks);
	free(slow);
	free(fails);
	return f;
}

/* After @n events; each thing that can change does. */
static void change(struct wire *w, struct fake *l, size_t n)
{
	static const struct {
		enum bide_changed what;
		const char *uri;
	} all[] = {{BIDE_CHANGED_TOOLS, NULL},
		   {BIDE_CHANGED_PROMPTS, NULL},
		   {BIDE_CHANGED_RESOURCES, NULL},
		   {BIDE_CHANGED_RESOURCES, "test://all"}};

	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(
			topic_announce(w->store, all[i].what, all[i].uri),
			BIDE_OK);
		assert_true(fake_wait_events(l, n + i + 1));
	}
}

static void seen(enum document doc, const char *name)
{
	if (schemas.type[type_of(doc, name)].seen == 0)
		fail_msg("no %s was seen", name);
}

static void test_messages__fit_the_schemas(void **unused)
{
	static const char *const core[] = {
		"DiscoverResultResponse",
		"ListToolsResultResponse",
		"ListPromptsResultResponse",
		"ListResourcesResultResponse",
		"ListResourceTemplatesResultResponse",
		"CompleteResultResponse",
		"GetPromptResultResponse",
		"GetPromptResult",
		"ReadResourceResultResponse",
		"ReadResourceResult",
		"CallToolResultResponse",
		"CallToolResult",
		"InputRequiredResult",
		"SubscriptionsListenResultResponse",
		"SubscriptionsAcknowledgedNotification",
		"ProgressNotification",
		"LoggingMessageNotification",
		"ToolListChangedNotification",
		"PromptListChangedNotification",
		"ResourceListChangedNotification",
		"ResourceUpdatedNotification",
		"ParseError",
		"InvalidRequestError",
		"MethodNotFoundError",
		"InvalidParamsError",
		"HeaderMismatchError",
		"MissingRequiredClientCapabilityError",
		"UnsupportedProtocolVersionError",
	};
	static const char *const extension[] = {
		"CreateTaskResult", "GetTaskResult", "UpdateTaskResult",
		"CancelTaskResult", "TaskStatusNotification"};
	struct wire_options opt = {.wait_budget_ms = 30, .state_rounds = 1};
	struct wire *w;
	struct fake *l;

	(void)unused;
	if (!there())
		skip();
	task_tools_hold();
	w = wire_new(&opt, add);
	send_requests(w);
	send_contents(w);
	send_calls(w);
	send_tasks(w);
	l = listen(w);
	change(w, l, 5);
	engine_drain(w->engine);
	dispatch_drain(w->dispatch);
	take(l, "subscriptions/listen");
	task_tools_release();
	wire_free(w);
	for (size_t i = 0; i < sizeof(core) / sizeof(core[0]); i++)
		seen(CORE, core[i]);
	for (size_t i = 0; i < sizeof(extension) / sizeof(extension[0]); i++)
		seen(EXTENSION, extension[i]);
}

/* The check itself: what lacks something that the revision demands is told
 * from what has it, and for that reason. */
static const struct {
	const char *method, *message, *wrong; /* NULL: nothing */
} known[] = {
#define M(rest) "{\"jsonrpc\":\"2.0\",\"id\":1," rest "}"
#define R(rest)                                                                \
	M("\"result\":{\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{"    \
	  "\"name\":\"n\",\"version\":\"1\"}}," rest "}")
#define DONE "\"resultType\":\"complete\""
#define ASKS "\"resultType\":\"input_required\""
#define TASK(is)                                                               \
	"\"taskId\":\"a\",\"status\":\"" is                                    \
	"\",\"createdAt\":\"x\",\"lastUpdatedAt\":\"x\",\"ttlMs\":null"
	{"tools/call", R(DONE ",\"content\":[]"), NULL},
	{"tools/call", M("\"result\":{" DONE ",\"content\":[]}"),
	 "Implementation: absent"},
	{"tools/call", R("\"content\":[]"), "resultType"},
	{"tools/call", R(DONE), "\"content\""},
	{"tools/call", R(DONE ",\"content\":[{\"type\":\"text\"}]"), "content"},
	{"tools/call", R(ASKS ",\"requestState\":\"s\""), NULL},
	{"tools/call", R(ASKS), "neither questions nor state"},
	{"tools/call",
	 R(ASKS ",\"requestState\":\"s\",\"cacheScope\":\"private\""),
	 "a round with hints"},
	{"tools/list", R(DONE ",\"tools\":[]"), "ttlMs"},
	{"tools/list",
	 R(DONE ",\"tools\":[],\"ttlMs\":1,\"cacheScope\":\"public\""), NULL},
	{"prompts/get",
	 R(DONE ",\"messages\":[{\"role\":\"system\",\"content\":{"
		"\"type\":\"text\",\"text\":\"\"}}]"),
	 "role"},
	{"resources/read",
	 R(DONE ",\"contents\":[{\"uri\":\"a:b\",\"text\":\"\"}]"), "ttlMs"},
	{"prompts/list", R(ASKS), "resultType is not complete"},
	{"prompts/get", R("\"resultType\":\"task\""), "resultType \"task\""},
	{"tasks/get", R(DONE "," TASK("working")), NULL},
	{"tasks/get", R("\"resultType\":\"task\"," TASK("working")),
	 "resultType is not complete"},
	{"tasks/get", R(DONE "," TASK("input_required")),
	 "InputRequests: absent"},
	{"tools/call", M("\"error\":{\"code\":-31000,\"message\":\"x\"}"),
	 NULL},
	{"tools/call", M("\"error\":{\"code\":-32021,\"message\":\"x\"}"),
	 "data"},
	{"tools/call",
	 M("\"error\":{\"code\":-32022,\"message\":\"x\",\"data\":"
	   "{\"supported\":[]}}"),
	 "requested"},
	{"resources/read", M("\"error\":{\"code\":-32002,\"message\":\"x\"}"),
	 "the code -32002"},
	{"tools/call", M("\"error\":{\"code\":-32050,\"message\":\"x\"}"),
	 "the code -32050"},
	{"tools/call",
	 "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,"
	 "\"message\":\"x\"}}",
	 "id"},
	{"tools/call",
	 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
	 "\"params\":{\"progress\":1}}",
	 "progressToken"},
	{"subscriptions/listen",
	 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
	 "\"params\":{}}",
	 "a notification"},
#undef TASK
#undef ASKS
#undef DONE
#undef R
#undef M
};

static void test_check__finds_what_is_wrong(void **unused)
{
	(void)unused;
	if (!there())
		skip();
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		json_t *m = json_loads(known[i].message, 0, NULL);
		char *why = wrong(known[i].method, m);

		assert_non_null(m);
		if (known[i].wrong == NULL
			    ? why != NULL
			    : why == NULL || !strstr(why, known[i].wrong))
			fail_msg("%s: %s", known[i].message,
				 why != NULL ? why : "nothing is wrong");
		free(why);
		json_decref(m);
	}
}

/* ---- what other tests saw ---- */
static size_t check_line(const json_t *line)
{
	const char *method = text(line, "method");
	const json_t *m = json_object_get(line, "message");
	const json_t *events = json_object_get(line, "events");
	size_t n = json_array_size(events);

	for (size_t i = 0; i < n; i++)
		check(method, json_array_get(events, i));
	if (!json_is_object(m))
		return n;
	/* the pages beside the endpoint are no part of the protocol */
	check(method, m);
	return n + 1;
}

static void test_wire_log__fits_the_schemas(void **unused)
{
	FILE *f = fopen(getenv("BIDE_WIRE_LOG"), "re");
	char *line = NULL;
	size_t cap = 0;
	size_t n = 0;

	(void)unused;
	if (f == NULL || !there()) {
		if (f != NULL)
			(void)fclose(f);
		else
			print_message("skipped: no test wrote a log\n");
		skip();
	}
	while (getline(&line, &cap, f) > 0) {
		json_t *j = json_loads(line, 0, NULL);

		assert_non_null(j);
		n += check_line(j);
		json_decref(j);
	}
	print_message("%zu messages fit\n", n);
	assert_true(n > 0);
	free(line);
	(void)fclose(f);
}

static int forget(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < schemas.ntypes; i++)
		json_schema_free(schemas.type[i].schema);
	json_decref(schemas.doc[CORE]);
	json_decref(schemas.doc[EXTENSION]);
	memset(&schemas, 0, sizeof(schemas));
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages__fit_the_schemas),
		cmocka_unit_test(test_check__finds_what_is_wrong),
	};
	const struct CMUnitTest of_log[] = {
		cmocka_unit_test(test_wire_log__fits_the_schemas),
	};

	if (getenv("BIDE_WIRE_LOG") != NULL)
		return cmocka_run_group_tests(of_log, NULL, forget);
	return cmocka_run_group_tests(tests, NULL, forget);
}
