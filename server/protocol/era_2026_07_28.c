/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/jsontext.h"
#include "server/base/limits.h"
#include "server/base/utf8.h"
#include "server/protocol/call.h"
#include "server/protocol/headers.h"
#include "server/protocol/params.h"

/*
 * The 2026-07-28 revision: the envelope that each request carries (basic/index
 * "_meta", streamable-http "Server Validation"), checked in an order that
 * docs/wire.md gives. How outcomes look is in era_2026_07_28_reply.c.
 */
#define VERSION  "2026-07-28"
#define META     "io.modelcontextprotocol/"
#define IDEM_KEY "dev.bide/idempotencyKey"

#define UNSUPPORTED "Unsupported protocol version"

/* ---- versions ---- */
static void refuse_version(struct call *c, const char *requested)
{
	json_t *data = json_pack("{s:[s], s:s}", "supported", VERSION,
				 "requested", requested);

	call_refuse(c, 400, JSONRPC_VERSION, UNSUPPORTED, data);
	json_decref(data);
}

static void refuse_headers(struct call *c, const char *what)
{
	struct buf b = {0};

	(void)buf_addf(&b, "Header mismatch: %s", what);
	call_refuse(c, 400, JSONRPC_HEADERS,
		    b.failed ? "Header mismatch" : b.data, NULL);
	buf_fini(&b);
}

static void refuse_params(struct call *c, int status, const char *what)
{
	struct buf b = {0};

	(void)buf_addf(&b, "Invalid params: %s", what);
	call_refuse(c, status, JSONRPC_PARAMS,
		    b.failed ? "Invalid params" : b.data, NULL);
	buf_fini(&b);
}

/* The request makes no claim in its body: whose it is, the header says. */
static void refuse_unclaimed(struct call *c, const char *header)
{
	bool initialize = strcmp(c->msg.method, "initialize") == 0;
	const char *wanted = json_string_value(
		json_object_get(c->msg.params, "protocolVersion"));

	if (header != NULL && headers_equal(header, VERSION)) {
		if (initialize)
			refuse_headers(c, "MCP-Protocol-Version names a "
					  "revision without initialize; "
					  "supported: " VERSION);
		else
			refuse_params(c, 400,
				      "_meta must have " META
				      "protocolVersion, a string");
	} else if (initialize || header != NULL) {
		/* What an older client can show to its user (versioning
		 * "Backward Compatibility"). */
		refuse_version(c, wanted != NULL   ? wanted
				  : header != NULL ? header
						   : "");
	} else {
		refuse_headers(c, "MCP-Protocol-Version is missing; "
				  "supported: " VERSION);
	}
}

/* The body decides, the header is checked against it; a mismatch outranks a
 * version that is not served. */
static bool check_version(struct call *c, const json_t *meta)
{
	const char *header = headers_get(c->ex, "MCP-Protocol-Version");
	const char *claim = json_string_value(
		json_object_get(meta, META "protocolVersion"));

	if (claim == NULL) {
		refuse_unclaimed(c, header);
		return false;
	}
	if (header == NULL) {
		refuse_headers(c, "MCP-Protocol-Version is missing");
		return false;
	}
	if (!headers_equal(header, claim)) {
		refuse_headers(c, "MCP-Protocol-Version does not match "
				  "_meta's protocolVersion");
		return false;
	}
	if (strcmp(claim, VERSION) != 0) {
		refuse_version(c, claim);
		return false;
	}
	return true;
}

/* ---- the rest of _meta ---- */
static void read_client(struct call *c, const json_t *meta)
{
	const json_t *info = json_object_get(meta, META "clientInfo");
	const char *name = json_string_value(json_object_get(info, "name"));
	const char *version =
		json_string_value(json_object_get(info, "version"));
	const char *trace =
		json_string_value(json_object_get(meta, "traceparent"));
	struct caller *to = &c->rq.caller;

	if (name != NULL)
		(void)snprintf(to->client, sizeof(to->client), "%s/%s", name,
			       version != NULL ? version : "");
	to->client[utf8_prefix(to->client, strlen(to->client))] = '\0';
	/* W3C Trace Context, "traceparent": 55 characters in version 00. */
	if (trace != NULL && strlen(trace) == 55)
		(void)snprintf(to->traceparent, sizeof(to->traceparent), "%s",
			       trace);
}

const char *const era_2026_07_28_levels[] = {
	"debug", "info",     "notice", "warning",
	"error", "critical", "alert",  "emergency",
};

static bool read_log_level(struct call *c, const json_t *meta)
{
	const json_t *level = json_object_get(meta, META "logLevel");
	const char *text = json_string_value(level);
	int i;

	c->rq.log_level = -1;
	if (level == NULL)
		return true;
	for (i = 0; text != NULL && i < 8; i++)
		if (strcmp(text, era_2026_07_28_levels[i]) == 0)
			c->rq.log_level = i;
	if (c->rq.log_level >= 0)
		return true;
	refuse_params(c, 400, META "logLevel is not a log level");
	return false;
}

static bool read_progress_token(struct call *c, const json_t *meta)
{
	const json_t *token = json_object_get(meta, "progressToken");

	if (token == NULL)
		return true;
	if (!json_is_string(token) && !json_is_integer(token)) {
		refuse_params(c, 400,
			      "progressToken must be a string or an integer");
		return false;
	}
	c->progress_token = jsontext_dup(token, NULL);
	c->rq.wants_progress = c->progress_token != NULL;
	return true;
}

/* The draft of the HTTP header has it as a quoted string; both are taken. */
static char *unquoted(const char *text)
{
	size_t len = strlen(text);

	if (len >= 2 && text[0] == '"' && text[len - 1] == '"')
		return strndup(text + 1, len - 2);
	return strdup(text);
}

static bool read_idem_key(struct call *c, const json_t *meta)
{
	const char *header = headers_get(c->ex, "Idempotency-Key");
	const json_t *member = json_object_get(meta, IDEM_KEY);
	const char *text = json_string_value(member);

	if (header == NULL && member == NULL)
		return true;
	if (member != NULL && text == NULL) {
		refuse_params(c, 400, IDEM_KEY " must be a string");
		return false;
	}
	c->idem_key = header != NULL ? unquoted(header) : strdup(text);
	if (c->idem_key == NULL || c->idem_key[0] == '\0' ||
	    strlen(c->idem_key) > LIMIT_IDEMPOTENCY_KEY_BYTES ||
	    !utf8_valid(c->idem_key, strlen(c->idem_key)) ||
	    (text != NULL && strcmp(text, c->idem_key) != 0)) {
		refuse_params(c, 400,
			      "the idempotency key must have 1 to 256 bytes, "
			      "and be the same in header and _meta");
		return false;
	}
	c->rq.idem_key = c->idem_key;
	return true;
}

static bool read_meta(struct call *c)
{
	const json_t *meta = json_object_get(c->msg.params, "_meta");
	const json_t *caps;

	if (!check_version(c, meta))
		return false;
	caps = json_object_get(meta, META "clientCapabilities");
	if (!json_is_object(caps)) {
		refuse_params(c, 400,
			      "_meta must have " META
			      "clientCapabilities, an object");
		return false;
	}
	c->rq.caller.era = CALLER_2026_07_28;
	c->rq.caller.can = caller_bits(caps);
	read_client(c, meta);
	return read_log_level(c, meta) && read_progress_token(c, meta) &&
	       read_idem_key(c, meta);
}

/* ---- the mirrored headers ---- */
/* The member that Mcp-Name mirrors; NULL: none ("Standard Request Headers";
 * tasks.md "Routing Headers"). */
static const char *name_member(const char *method)
{
	if (strcmp(method, "tools/call") == 0 ||
	    strcmp(method, "prompts/get") == 0)
		return "name";
	if (strcmp(method, "resources/read") == 0)
		return "uri";
	if (strncmp(method, "tasks/", 6) == 0)
		return "taskId";
	return NULL;
}

static bool check_params(struct call *c, const char *tool_name)
{
	const struct tool *tool = registry_tool(c->p->opt.registry, tool_name);
	struct buf why = {0};
	bool agree =
		tool == NULL ||
		params_agree(tool, json_object_get(c->msg.params, "arguments"),
			     c->ex, &why);

	if (!agree)
		refuse_headers(c, why.failed ? "Mcp-Param-" : why.data);
	buf_fini(&why);
	return agree;
}

/* @member: of params, what the header repeats. */
static void refuse_name(struct call *c, const char *member, const char *how)
{
	char why[80];

	(void)snprintf(why, sizeof(why), "Mcp-Name %s (it repeats params.%s)",
		       how, member);
	refuse_headers(c, why);
}

static bool check_headers(struct call *c)
{
	const char *method = headers_get(c->ex, "Mcp-Method");
	const char *name = headers_get(c->ex, "Mcp-Name");
	const char *member = name_member(c->msg.method);
	const char *value;

	if (method == NULL || !headers_equal(method, c->msg.method)) {
		refuse_headers(c, method == NULL
					  ? "Mcp-Method is missing"
					  : "Mcp-Method does not match the "
					    "body's method");
		return false;
	}
	if (member == NULL)
		return true;
	value = json_string_value(json_object_get(c->msg.params, member));
	if (name == NULL && value == NULL)
		return true; /* the method refuses its parameters */
	if (name == NULL || value == NULL || !headers_name_is(name, value)) {
		refuse_name(c, member,
			    name == NULL ? "is missing"
					 : "does not match the body");
		return false;
	}
	return strcmp(c->msg.method, "tools/call") != 0 ||
	       check_params(c, value);
}

/* ---- multi round-trip requests ---- */
static bool read_state(struct call *c)
{
	const json_t *state = json_object_get(c->msg.params, "requestState");
	struct request_state_for f;

	if (state == NULL || json_is_null(state))
		return true;
	if (!json_is_string(state)) {
		refuse_params(c, 200, "requestState must be a string");
		return false;
	}
	f = era_2026_07_28_state_for(&c->rq);
	if (!request_state_open(c->p->opt.state, json_string_value(state), &f,
				false, &c->resume)) {
		call_refuse(c, 200, JSONRPC_PARAMS, REQUEST_STATE_REFUSED,
			    NULL);
		return false;
	}
	c->rq.resume = &c->resume;
	return true;
}

static bool read_rounds(struct call *c)
{
	json_t *responses = json_object_get(c->msg.params, "inputResponses");

	if (!request_may_ask(&c->rq))
		return true;
	if (!request_responses_valid(responses)) {
		refuse_params(c, 200,
			      "inputResponses must be an object of objects");
		return false;
	}
	if (json_is_object(responses))
		c->rq.input_responses = responses;
	return read_state(c);
}

/* ---- requests and notifications ---- */
static void take_request(struct call *c)
{
	const char *accept = headers_get(c->ex, "Accept");

	if (accept == NULL || !headers_accept(accept)) {
		call_refuse(c, 406, JSONRPC_REQUEST,
			    "Accept must list application/json and "
			    "text/event-stream",
			    NULL);
		return;
	}
	c->rq.reply = &era_2026_07_28_reply;
	c->rq.method = c->msg.method;
	c->rq.params = c->msg.params;
	c->rq.principal = c->ex->principal;
	c->rq.crowded = c->ex->crowded;
	if (!read_meta(c))
		return;
	/* Before the headers: tasks/result and its like come without them. */
	if (!dispatch_knows(c->p->opt.dispatch, c->msg.method)) {
		call_refuse(c, 404, JSONRPC_NO_METHOD, "Method not found",
			    NULL);
		return;
	}
	if (check_headers(c) && read_rounds(c))
		call_dispatch(c);
}

/* This revision has none over HTTP; what a client sends all the same is taken
 * and does nothing (streamable-http "Sending Messages" 5). */
static void take_notification(struct call *c)
{
	const char *header = headers_get(c->ex, "MCP-Protocol-Version");

	if (strncmp(c->msg.method, "notifications/", 14) != 0)
		call_refuse(c, 400, JSONRPC_REQUEST,
			    "Invalid request: a request must have an id", NULL);
	else if (header != NULL && !headers_equal(header, VERSION))
		refuse_version(c, header);
	else
		call_accept(c, 202);
}

void era_2026_07_28_take(struct call *c)
{
	if (c->msg.notification)
		take_notification(c);
	else
		take_request(c);
}
