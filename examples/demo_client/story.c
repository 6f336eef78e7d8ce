/* SPDX-License-Identifier: MIT */
#include "examples/demo_client/story.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "examples/demo_client/show.h"

#define ROUNDS_MAX 50
#define LISTEN_MS  60000

static const struct client plain = {.tasks = false};
static const struct client modern = {.tasks = true};

/* ---- what the person at the client answers ---- */
static json_t *content_for(const struct story *s, const char *key)
{
	if (strncmp(key, "target_env", 10) == 0)
		return json_pack("{s:s}", "environment", "staging");
	if (strncmp(key, "manifest", 8) == 0)
		return json_pack("{s:b, s:s}", "write", 1, "name", s->manifest);
	return json_pack("{s:s, s:b}", "action", "skip", "rest", 1);
}

static json_t *answer_all(const struct story *s, const json_t *requests)
{
	json_t *responses = json_object();
	const char *key;
	json_t *request;

	json_object_foreach ((json_t *)requests, key, request)
		(void)json_object_set_new(responses, key,
					  json_pack("{s:s, s:o}", "action",
						    "accept", "content",
						    content_for(s, key)));
	return responses;
}

/* ---- helpers ---- */
static const char *text_at(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text != NULL ? text : "";
}

static int wrong(const char *what)
{
	show_say("The story went wrong: %s", what);
	return 1;
}

/* 0 when a tool's result is a good one; says its text. */
static int check_result(const json_t *result)
{
	const json_t *first =
		json_array_get(json_object_get(result, "content"), 0);

	if (first == NULL || json_is_true(json_object_get(result, "isError")))
		return wrong("the call did not end in a good result.");
	show_say("The tool says: %s", text_at(first, "text"));
	return 0;
}

static int check_final(const json_t *response)
{
	const json_t *result = json_object_get(response, "result");

	if (strcmp(text_at(result, "resultType"), "complete") != 0)
		return wrong("the call did not end in a result.");
	return check_result(result);
}

static json_t *call_tool(const struct client *c, const struct server *at,
			 const char *tool, const json_t *args,
			 json_t *responses, const char *state)
{
	json_t *params = json_pack("{s:s, s:O}", "name", tool, "arguments",
				   (json_t *)args);

	if (responses != NULL)
		(void)json_object_set_new(params, "inputResponses", responses);
	if (state != NULL)
		(void)json_object_set_new(params, "requestState",
					  json_string(state));
	return wire_call(c, at, "tools/call", params);
}

/* Until the process is no more, so that its port refuses. */
static void await_end(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	if (pidfd < 0)
		return;
	(void)poll(&p, 1, 5000);
	(void)close(pidfd);
}

static void kill_a(struct story *s)
{
	int pidfd;

	if (s->pid_a <= 0)
		return;
	show_say("Now A is killed (kill -9 %d): no goodbye, nothing handed "
		 "over.",
		 (int)s->pid_a);
	pidfd = pidfd_open(s->pid_a, 0);
	if (kill(s->pid_a, SIGKILL) != 0)
		show_say("kill: %s", strerror(errno));
	await_end(pidfd);
	s->pid_a = 0;
}

/* ---- the acts ---- */
int act_hello(struct story *s)
{
	json_t *r;
	int bad;

	show_title("Two instances, one database");
	show_say("A and B are the same program. Any of them serves any "
		 "request: no session, no sticky routing.");
	r = wire_call(&modern, &s->a, "server/discover", json_object());
	bad = json_object_get(r, "result") == NULL;
	json_decref(r);
	r = wire_call(&modern, &s->b, "tools/list", json_object());
	bad |= json_object_get(r, "result") == NULL;
	json_decref(r);
	return bad ? wrong("a server did not answer.") : 0;
}

int act_deploy(struct story *s)
{
	json_t *args = json_pack("{s:s}", "service", "checkout-api");
	json_t *asked;
	json_t *done;
	json_t *again;
	const json_t *result;
	int bad;

	show_title("1. A question and its answer, on different instances");
	show_say("deploy_service is ephemeral. Its plan and its question "
		 "travel in requestState, sealed; A keeps nothing.");
	asked = call_tool(&plain, &s->a, "deploy_service", args, NULL, NULL);
	result = json_object_get(asked, "result");
	if (strcmp(text_at(result, "resultType"), "input_required") != 0) {
		json_decref(asked);
		json_decref(args);
		return wrong("no question came.");
	}
	show_say("The person picks staging. The retry happens to reach B:");
	done = call_tool(
		&plain, &s->b, "deploy_service", args,
		answer_all(s, json_object_get(result, "inputRequests")),
		text_at(result, "requestState"));
	bad = check_final(done);
	show_say("The network hiccups and the client sends that round again, "
		 "to A. The tool asked for single use: A answers with what B "
		 "did and deploys nothing.");
	again = call_tool(
		&plain, &s->a, "deploy_service", args,
		answer_all(s, json_object_get(result, "inputRequests")),
		text_at(result, "requestState"));
	bad |= check_final(again);
	json_decref(asked);
	json_decref(done);
	json_decref(again);
	json_decref(args);
	return bad;
}

/* The next round of @response at @at; takes @response. */
static json_t *next_round(struct story *s, const struct server *at,
			  const json_t *args, json_t *response)
{
	const json_t *result = json_object_get(response, "result");
	const json_t *requests = json_object_get(result, "inputRequests");
	json_t *next = call_tool(
		&plain, at, "checksum_tree", args,
		json_object_size(requests) > 0 ? answer_all(s, requests) : NULL,
		text_at(result, "requestState"));

	json_decref(response);
	return next;
}

static bool wants_more(const json_t *response)
{
	return strcmp(text_at(json_object_get(response, "result"),
			      "resultType"),
		      "input_required") == 0;
}

static bool has_questions(const json_t *response)
{
	return json_object_size(json_object_get(
		       json_object_get(response, "result"), "inputRequests")) >
	       0;
}

/* A first: refused, since it is dead. Then the client turns to B. */
static void try_the_dead(struct story *s, const json_t *args,
			 const json_t *response)
{
	json_t *none =
		next_round(s, &s->a, args, json_incref((json_t *)response));

	json_decref(none);
	show_say("A is gone. The client turns to B, with the same answer and "
		 "the same handle:");
}

int act_rounds(struct story *s)
{
	json_t *args = json_pack("{s:s}", "path", s->tree);
	json_t *r;
	int bad;

	show_title("2. Long work, a client that knows nothing of tasks, and a "
		   "crash");
	show_say("checksum_tree is persistent: a task in the database, with a "
		 "record of each step. This client does not know tasks, so the "
		 "request waits, and is answered with questions and a sealed "
		 "handle.");
	r = call_tool(&plain, &s->a, "checksum_tree", args, NULL, NULL);
	for (int i = 0; i < ROUNDS_MAX && wants_more(r); i++) {
		if (s->pid_a > 0 && has_questions(r)) {
			kill_a(s);
			try_the_dead(s, args, r);
		}
		r = next_round(s, &s->b, args, r);
	}
	bad = check_final(r);
	json_decref(r);
	json_decref(args);
	return bad;
}

/* Answers the open questions of a task that a message spoke of. */
static void update_task(struct story *s, const char *id, const json_t *requests)
{
	json_decref(wire_call(&modern, &s->b, "tasks/update",
			      json_pack("{s:s, s:o}", "taskId", id,
					"inputResponses",
					answer_all(s, requests))));
}

/* What of @requests is not in @seen yet; it is then. Clients never answer a
 * key twice, however often it is shown. */
static json_t *fresh_ones(json_t *seen, const json_t *requests)
{
	json_t *fresh = json_object();
	const char *key;
	json_t *request;

	json_object_foreach ((json_t *)requests, key, request)
		if (json_object_get(seen, key) == NULL)
			(void)json_object_set(fresh, key, request);
	(void)json_object_update(seen, fresh);
	return fresh;
}

/* One message of the listener: -1 to go on, else how the story ended. */
static int hear(struct story *s, const char *id, const json_t *task,
		json_t *seen)
{
	const char *status = text_at(task, "status");
	json_t *fresh =
		fresh_ones(seen, json_object_get(task, "inputRequests"));

	if (json_object_size(fresh) > 0) {
		kill_a(s);
		update_task(s, id, fresh);
	}
	json_decref(fresh);
	if (strcmp(status, "completed") == 0)
		return check_result(json_object_get(task, "result"));
	if (strcmp(status, "failed") == 0 || strcmp(status, "cancelled") == 0)
		return wrong("the task did not complete.");
	return -1;
}

static int follow(struct story *s, const char *id)
{
	struct listener *l = wire_listen(&modern, &s->b, id);
	json_t *seen = json_object();
	json_t *message = NULL;
	int bad = -1;

	while (l != NULL && bad < 0 &&
	       (message = listener_take(l, LISTEN_MS)) != NULL) {
		bad = hear(s, id, json_object_get(message, "params"), seen);
		json_decref(message);
	}
	if (l != NULL)
		listener_stop(l);
	json_decref(seen);
	return bad < 0 ? wrong("the listener heard of no end.") : bad;
}

/* The response to a call that a task is to come of. */
static json_t *create_task(struct story *s)
{
	json_t *args = json_pack("{s:s}", "path", s->tree);
	json_t *r =
		call_tool(&modern, &s->a, "checksum_tree", args, NULL, NULL);

	json_decref(args);
	return r;
}

int act_tasks(struct story *s)
{
	json_t *r;
	const char *id;
	int bad;

	show_title("3. The same, for a client that knows tasks");
	show_say("It declares io.modelcontextprotocol/tasks and gets a task "
		 "at once, made durable before its id leaves A. It listens at "
		 "B, while A works.");
	r = create_task(s);
	id = text_at(json_object_get(r, "result"), "taskId");
	bad = *id != '\0' ? follow(s, id) : wrong("there is no task.");
	json_decref(r);
	return bad;
}

static json_t *get_task(const struct server *at, const char *id)
{
	return wire_call(&modern, at, "tasks/get",
			 json_pack("{s:s}", "taskId", id));
}

/* Leaves a task waiting for an answer, and its id in a file. */
int act_leave(struct story *s)
{
	struct listener *l;
	json_t *message;
	json_t *r;
	const char *id;
	FILE *out;
	int bad = 1;

	show_title("4. The operator");
	show_say("A client starts another one, and its person goes to lunch.");
	r = create_task(s);
	id = text_at(json_object_get(r, "result"), "taskId");
	out = *id != '\0' ? fopen(s->task_file, "we") : NULL;
	if (out != NULL) {
		(void)fprintf(out, "%s\n", id);
		bad = fclose(out) != 0;
	}
	l = bad == 0 ? wire_listen(&modern, &s->b, id) : NULL;
	while (l != NULL && (message = listener_take(l, LISTEN_MS)) != NULL) {
		bool asks = strcmp(text_at(json_object_get(message, "params"),
					   "status"),
				   "input_required") == 0;

		json_decref(message);
		if (asks)
			break;
	}
	if (l != NULL)
		listener_stop(l);
	json_decref(r);
	return bad;
}

/* What the client finds after the operator cancelled. */
int act_look(struct story *s)
{
	json_t *r = get_task(&s->b, s->task);
	bool cancelled = strcmp(text_at(json_object_get(r, "result"), "status"),
				"cancelled") == 0;

	json_decref(r);
	return cancelled ? 0 : wrong("the task is not cancelled.");
}
