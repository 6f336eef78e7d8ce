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
#include "examples/demo_client/talk.h"

#define ROUNDS_MAX 50
#define LISTEN_MS  60000

static const struct client plain = {"{\"elicitation\":{\"form\":{}}}"};
static const struct client modern = {
	"{\"elicitation\":{\"form\":{}},"
	"\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}"};

json_t *story_answers(const struct story *s)
{
	return json_pack("{s:{s:s, s:{s:s}}, s:{s:s, s:{s:b, s:s}},"
			 " s:{s:s, s:{s:s, s:b}}}",
			 "target_env", "action", "accept", "content",
			 "environment", "staging", "manifest", "action",
			 "accept", "content", "write", 1, "name", s->manifest,
			 "unreadable", "action", "accept", "content", "action",
			 "skip", "rest", 1);
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
	return bad ? talk_wrong("a server did not answer.") : 0;
}

int act_deploy(struct story *s)
{
	json_t *args = json_pack("{s:s}", "service", "checkout-api");
	json_t *asked;
	json_t *done;
	json_t *again;
	int bad;

	show_title("1. A question and its answer, on different instances");
	show_say("deploy_service is ephemeral. Its plan and its question "
		 "travel in requestState, sealed; A keeps nothing.");
	asked = talk_call(&plain, &s->a, "deploy_service", args, NULL, NULL);
	if (!talk_wants_more(asked)) {
		json_decref(asked);
		json_decref(args);
		return talk_wrong("no question came.");
	}
	show_say("The person picks staging. The retry happens to reach B:");
	done = talk_again(&plain, &s->b, "deploy_service", args, s->answers,
			  json_incref(asked));
	bad = talk_check(done);
	show_say("The network hiccups and the client sends that round again, "
		 "to A. The tool asked for single use: A answers with what B "
		 "did and deploys nothing.");
	again = talk_again(&plain, &s->a, "deploy_service", args, s->answers,
			   json_incref(asked));
	bad |= talk_check(again);
	json_decref(asked);
	json_decref(done);
	json_decref(again);
	json_decref(args);
	return bad;
}

/* A first: refused, since it is dead. Then the client turns to B. */
static void try_the_dead(struct story *s, const json_t *args,
			 const json_t *response)
{
	json_decref(talk_again(&plain, &s->a, "checksum_tree", args, s->answers,
			       json_incref((json_t *)response)));
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
	r = talk_call(&plain, &s->a, "checksum_tree", args, NULL, NULL);
	for (int i = 0; i < ROUNDS_MAX && talk_wants_more(r); i++) {
		if (s->pid_a > 0 && json_object_size(talk_questions(r)) > 0) {
			kill_a(s);
			try_the_dead(s, args, r);
		}
		r = talk_again(&plain, &s->b, "checksum_tree", args, s->answers,
			       r);
	}
	bad = talk_check(r);
	json_decref(r);
	json_decref(args);
	return bad;
}

/* Answers the open questions of a task that a message spoke of. */
static void update_task(struct story *s, const struct client *c, const char *id,
			const json_t *requests)
{
	json_decref(wire_call(c, &s->b, "tasks/update",
			      json_pack("{s:s, s:o}", "taskId", id,
					"inputResponses",
					talk_answers(s->answers, requests))));
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
static int hear(struct story *s, const struct client *c, const char *id,
		const json_t *task, json_t *seen)
{
	const char *status = talk_text(task, "status");
	json_t *fresh =
		fresh_ones(seen, json_object_get(task, "inputRequests"));

	if (json_object_size(fresh) > 0) {
		kill_a(s);
		update_task(s, c, id, fresh);
	}
	json_decref(fresh);
	if (strcmp(status, "completed") == 0)
		return talk_check_result(json_object_get(task, "result"));
	if (strcmp(status, "failed") == 0 || strcmp(status, "cancelled") == 0)
		return talk_wrong("the task did not complete.");
	return -1;
}

int story_follow(struct story *s, const struct client *c, const char *id)
{
	struct listener *l = wire_listen(c, &s->b, id);
	json_t *seen = json_object();
	json_t *message = NULL;
	int bad = -1;

	while (l != NULL && bad < 0 &&
	       (message = listener_take(l, LISTEN_MS)) != NULL) {
		bad = hear(s, c, id, json_object_get(message, "params"), seen);
		json_decref(message);
	}
	if (l != NULL)
		listener_stop(l);
	json_decref(seen);
	return bad < 0 ? talk_wrong("the listener heard of no end.") : bad;
}

/* The response to a call that a task is to come of. */
static json_t *create_task(struct story *s)
{
	json_t *args = json_pack("{s:s}", "path", s->tree);
	json_t *r =
		talk_call(&modern, &s->a, "checksum_tree", args, NULL, NULL);

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
	id = talk_text(json_object_get(r, "result"), "taskId");
	bad = *id != '\0' ? story_follow(s, &modern, id)
			  : talk_wrong("there is no task.");
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
	id = talk_text(json_object_get(r, "result"), "taskId");
	out = *id != '\0' ? fopen(s->task_file, "we") : NULL;
	if (out != NULL) {
		(void)fprintf(out, "%s\n", id);
		bad = fclose(out) != 0;
	}
	l = bad == 0 ? wire_listen(&modern, &s->b, id) : NULL;
	while (l != NULL && (message = listener_take(l, LISTEN_MS)) != NULL) {
		bool asks = strcmp(talk_text(json_object_get(message, "params"),
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
	bool cancelled =
		strcmp(talk_text(json_object_get(r, "result"), "status"),
		       "cancelled") == 0;

	json_decref(r);
	return cancelled ? 0 : talk_wrong("the task is not cancelled.");
}
