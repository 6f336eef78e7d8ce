/* SPDX-License-Identifier: MIT */
/* What the parts send, and what must come back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/bide/bench.h"
#include "tests/e2e/lib/client.h"

#define PREFIX     "io.modelcontextprotocol/"
#define CALL_MAX   8192
#define STATE_MAX  4096
#define CONNS_MAX  64
#define EXPECT_MAX 64

#define META(can)                                                              \
	"\"_meta\":{\"" PREFIX "protocolVersion\":\"2026-07-28\",\"" PREFIX    \
	"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"},\"" PREFIX        \
	"clientCapabilities\":" can "}"

/* Always the same request; its text is made once. */
struct same {
	const char *method, *name, *params, *expect;
	char text[CALL_MAX];
	size_t len;
};

static size_t make(struct same *s)
{
	char body[CALL_MAX];

	(void)snprintf(body, sizeof(body),
		       "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"%s\","
		       "\"params\":{%s}}",
		       s->method, s->params);
	s->len = load_post(s->text, sizeof(s->text), s->method, s->name, body);
	return s->len;
}

static bool has(const char *reply, size_t len, const char *text)
{
	if (memmem(reply, len, text, strlen(text)) != NULL)
		return true;
	(void)fprintf(stderr, "bench: no %s in %.*s\n", text, (int)len, reply);
	return false;
}

static size_t next_same(void *user, size_t i, const char *reply, size_t len,
			int *ends, char *out, size_t cap)
{
	struct same *s = user;

	(void)i;
	if (reply != NULL) {
		*ends = 1;
		if (!has(reply, len, s->expect))
			return 0;
	}
	if ((s->len == 0 && make(s) == 0) || s->len > cap)
		return 0;
	memcpy(out, s->text, s->len);
	return s->len;
}

#define TOOL(name, args, can)                                                  \
	"\"name\":\"" name "\",\"arguments\":" args "," META(can)

static struct same echo = {"tools/call",
			   "echo",
			   TOOL("echo", "{\"text\":\"hello\"}", "{}"),
			   "\"text\":\"hello\"",
			   {0},
			   0};
static struct same pool = {"tools/call",
			   "echo_pool",
			   TOOL("echo_pool", "{\"text\":\"hello\"}", "{}"),
			   "\"text\":\"hello\"",
			   {0},
			   0};
static struct same create = {
	"tools/call",
	"confirm_delete",
	TOOL("confirm_delete", "{\"filename\":\"f\"}", CAN_TASKS),
	"\"taskId\"",
	{0},
	0};
static struct same steps = {
	"tools/call",     "two_step", TOOL("two_step", "{}", "{}"),
	"two steps done", {0},        0};
static struct same waiting = {
	"tools/call", "long_nap", TOOL("long_nap", "{\"ms\":600000}", "{}"),
	"",           {0},        0};

struct script script_echo = {next_same, &echo};
struct script script_pool = {next_same, &pool};
struct script script_create = {next_same, &create};
struct script script_steps = {next_same, &steps};

size_t requests_waiting(char *out, size_t cap)
{
	int ends = 0;

	return next_same(&waiting, 0, NULL, 0, &ends, out, cap);
}

/* ---- two legs: a question, then the answer with the state ---- */
static bool answering[CONNS_MAX];

static size_t ask_leg(const char *more, char *out, size_t cap)
{
	char body[CALL_MAX];

	(void)snprintf(
		body, sizeof(body),
		"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\","
		"\"params\":{%s%s}}",
		TOOL("ask_inline", "{}", "{\"elicitation\":{}}"), more);
	return load_post(out, cap, "tools/call", "ask_inline", body);
}

static size_t answer_leg(const char *reply, size_t len, char *out, size_t cap)
{
	static const char key[] = "\"requestState\":\"";
	const char *state = memmem(reply, len, key, sizeof(key) - 1);
	const char *end = NULL;
	char more[STATE_MAX];

	if (state != NULL) {
		state += sizeof(key) - 1;
		end = memchr(state, '"', len - (size_t)(state - reply));
	}
	if (end == NULL) {
		(void)has(reply, len, key);
		return 0;
	}
	(void)snprintf(more, sizeof(more),
		       ",\"inputResponses\":{\"confirm\":{\"action\":"
		       "\"accept\",\"content\":{\"ok\":true}}},"
		       "\"requestState\":\"%.*s\"",
		       (int)(end - state), state);
	return ask_leg(more, out, cap);
}

static size_t next_legs(void *user, size_t i, const char *reply, size_t len,
			int *ends, char *out, size_t cap)
{
	(void)user;
	if (reply != NULL && !answering[i]) {
		answering[i] = true;
		return answer_leg(reply, len, out, cap);
	}
	answering[i] = false;
	*ends = reply != NULL;
	if (reply != NULL && !has(reply, len, "state-ok"))
		return 0;
	return ask_leg("", out, cap);
}

struct script script_legs = {next_legs, NULL};

/* ---- polling one task ---- */
static char task[64];
static char get_params[1024];
static struct same get = {
	"tasks/get", task, get_params, "\"status\":\"input_required\"", {0}, 0};
struct script script_get = {next_same, &get};

void requests_make_task(const char *url)
{
	struct ask a = {.url = url, .can = CAN_TASKS};
	struct reply *r =
		tool(&a, "confirm_delete", json_pack("{s:s}", "filename", "f"));

	(void)snprintf(task, sizeof(task), "%s", task_id(r));
	reply_free(r);
	r = task_await(&a, task, "input_required");
	if (r == NULL) {
		(void)fprintf(stderr, "bench: no task to poll\n");
		exit(1);
	}
	reply_free(r);
	(void)snprintf(get_params, sizeof(get_params), "\"taskId\":\"%s\",%s",
		       task, META(CAN_TASKS));
	get.len = 0;
}
