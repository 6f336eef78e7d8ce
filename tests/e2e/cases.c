/* SPDX-License-Identifier: MIT */
/*
 * What people who run such servers reported in public, where no other test
 * shows it. docs/conformance.md names each report and its test.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "tests/e2e/lib/pair.h"
#include "tests/e2e/lib/probe.h"
#include "tests/e2e/lib/raw.h"
#include "tests/e2e/lib/task.h"

#define ELICIT    "test_input_required_result_elicitation"
#define MINUTE_MS 60000
#define AT_ONCE   8

static int setup(void **state)
{
	static const char *const args[] = {"--test-identity",
					   "--sweep-interval", "50", NULL};

	(void)state;
	return pair_both(args);
}

static json_t *operator_sees(struct scratch *s, const char *verb,
			     const char *id)
{
	const char *const args[] = {"tasks", verb,  id,  "--json",
				    "--db",  s->db, NULL};
	char *out = NULL;
	json_t *t;

	assert_int_equal(run_fixture(args, &out), 0);
	t = json_loads(out, 0, NULL);
	assert_non_null(t);
	free(out);
	return t;
}

static json_int_t shown(struct scratch *s, const char *id, const char *name)
{
	json_t *t = operator_sees(s, "show", id);
	json_int_t v = json_integer_value(json_object_get(t, name));

	json_decref(t);
	return v;
}

/* The only task of @tool_name, as the operator sees it: "taskId", "state".. */
static void only_task(struct scratch *s, const char *tool_name,
		      const char *field, char out[64])
{
	json_t *list = operator_sees(s, "list", "--all");
	size_t i;
	json_t *t;

	out[0] = '\0';
	json_array_foreach (json_object_get(list, "tasks"), i, t)
		if (strcmp(json_string_value(json_object_get(t, "tool")),
			   tool_name) == 0)
			(void)snprintf(
				out, 64, "%s",
				json_string_value(json_object_get(t, field)));
	json_decref(list);
}

/* ---- calls in threads ---- */
struct thread_call {
	struct ask a;
	const char *name, *state;
	json_t *args, *answers;
	struct reply *r;
	pthread_t thread;
};

static void *call_thread(void *arg)
{
	struct thread_call *c = arg;

	c->r = again(&c->a, c->name, c->args, c->state, c->answers);
	return NULL;
}

static void call_start(struct thread_call *c)
{
	assert_int_equal(pthread_create(&c->thread, NULL, call_thread, c), 0);
}

static struct reply *call_end(struct thread_call *c)
{
	(void)pthread_join(c->thread, NULL);
	return c->r;
}

/* ---- keys ---- */
static void write_key(const struct scratch *s, char path[320], const char *kid,
		      char letter)
{
	char key[44];
	FILE *f;

	memset(key, letter, 42);
	key[42] = 'A';
	key[43] = '\0';
	(void)snprintf(path, 320, "%s/keys-%s", s->dir, kid);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fchmod(fileno(f), 0600), 0);
	(void)fprintf(f, "%s %s\n", kid, key);
	assert_int_equal(fclose(f), 0);
}

/* No database in common, another host name in the URL: the keys are what
 * counts. Other keys: refused, and the log names the key that is unknown. */
static void test_keys__shared_by_deployments_of_any_name(void **unused)
{
	struct scratch *s[3] = {scratch_new(), scratch_new(), scratch_new()};
	struct server *v[3];
	char path[320], other[320];
	char by_name[160];
	struct ask a;
	struct reply *r;
	struct reply *t;

	(void)unused;
	write_key(s[0], path, "k-one", 'B');
	write_key(s[0], other, "k-two", 'C');
	for (int i = 0; i < 3; i++) {
		const char *const args[] = {"--state-keys",
					    i < 2 ? path : other, NULL};

		v[i] = server_start(s[i], args);
	}
	a = as_can(v[0], NULL, CAN_FORM);
	r = tool(&a, ELICIT, json_object());
	(void)snprintf(by_name, sizeof(by_name), "http://localhost%s",
		       strrchr(v[1]->url, ':'));
	a.url = by_name;
	t = again(&a, ELICIT, json_object(), state_of(r),
		  accept_string("user_name", "name", "Ada"));
	assert_string_equal(result_text(t), "Hello, Ada!");
	reply_free(t);
	a.url = v[2]->url;
	t = again(&a, ELICIT, json_object(), state_of(r), NULL);
	assert_int_equal(error_code(t), -32602);
	assert_true(server_saw(v[2], "\"why\":\"unknown key\",\"kid\":"
				     "\"k-one\""));
	reply_free(t);
	reply_free(r);
	for (int i = 0; i < 3; i++) {
		server_free(v[i]);
		scratch_free(s[i]);
	}
}

/* ---- the reason is the log's ---- */
static void refused(struct ask a, const char *name, json_t *args,
		    const char *state, const char *why)
{
	char line[80];
	struct reply *r = again(&a, name, args, state, NULL);

	assert_int_equal(error_code(r), -32602);
	assert_string_equal(error_text(r), "requestState was not accepted");
	reply_free(r);
	(void)snprintf(line, sizeof(line), "\"why\":\"%s\"", why);
	if (!server_saw(one, line))
		fail_msg("the log never says %s", why);
}

/* One text for the client, the true reason for the operator, who also learns
 * which task a handle was for. */
static void test_refusal__has_its_reason_in_the_log(void **unused)
{
	struct ask alice = as_can(one, "alice", CAN_FORM);
	struct ask bob = as_can(one, "bob", CAN_FORM);
	struct reply *r = tool(&alice, ELICIT, json_object());
	char *state = strdup(state_of(r));
	char text[2048];
	char id[64];

	(void)unused;
	reply_free(r);
	refused(bob, ELICIT, json_object(), state, "principal");
	refused(alice, "upgrade", json_object(), state, "name");
	refused(alice, ELICIT, json_pack("{s:i}", "x", 1), state, "arguments");
	(void)snprintf(text, sizeof(text), "%s", state);
	text[strlen(text) / 2] = text[strlen(text) / 2] == 'A' ? 'B' : 'A';
	refused(alice, ELICIT, json_object(), text, "authentication");
	/* cut short, and encoded again with padding */
	(void)snprintf(text, sizeof(text), "%.20s", state);
	refused(alice, ELICIT, json_object(), text, "format");
	(void)snprintf(text, sizeof(text), "%s==", state);
	refused(alice, ELICIT, json_object(), text, "format");
	free(state);
	r = tool(&alice, "confirm_delete", json_pack("{s:s}", "filename", "f"));
	only_task(scratch, "confirm_delete", "taskId", id);
	(void)snprintf(text, sizeof(text), "\"task\":\"%.8s\"", id);
	refused(bob, "confirm_delete", json_pack("{s:s}", "filename", "f"),
		state_of(r), "principal");
	assert_true(server_saw(one, text));
	/* as much as finds it, and no more */
	assert_int_equal(server_count(one, id), 0);
	reply_free(r);
}

/* A continuation is good for its time, on the clock that all share. */
static void test_state__expires(void **unused)
{
	struct scratch *s = scratch_new();
	struct testclock *k = testclock_new(s);
	const char *const args[] = {"--test-clock", k->path, NULL};
	struct server *v = server_start(s, args);
	struct ask a = as_can(v, NULL, CAN_FORM);
	struct reply *r = tool(&a, ELICIT, json_object());
	struct reply *t;

	(void)unused;
	testclock_forward(k, 14 * MINUTE_MS);
	t = again(&a, ELICIT, json_object(), state_of(r),
		  accept_string("user_name", "name", "Ada"));
	assert_string_equal(result_text(t), "Hello, Ada!");
	reply_free(t);
	testclock_forward(k, 2 * MINUTE_MS);
	t = again(&a, ELICIT, json_object(), state_of(r),
		  accept_string("user_name", "name", "Ada"));
	assert_int_equal(error_code(t), -32602);
	assert_true(server_saw(v, "\"why\":\"expired\""));
	reply_free(t);
	reply_free(r);
	server_free(v);
	testclock_free(k);
	scratch_free(s);
}

/* ---- shutting down between two halves ---- */
/* SIGTERM while the question is on its way into the database, and just after:
 * the call goes on at the next instance. */
static void shut_down_at(const char *fault)
{
	const char *const slow[] = {"--fault", fault, NULL};
	struct scratch *s = scratch_new();
	struct server *v = server_start(s, slow);
	struct thread_call c = {.a = as_can(v, NULL, CAN_FORM),
				.name = "approve"};
	struct ask b;
	struct reply *r;
	struct reply *t;
	int status;

	c.a.idem = "shut";
	call_start(&c);
	assert_true(effects_await(s, " before", 1));
	status = server_signal_wait(v, SIGTERM);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	r = call_end(&c);
	server_free(v);
	v = server_start(s, NULL);
	b = as_can(v, NULL, CAN_FORM);
	b.idem = "shut";
	/* with what it was answered, or by its key where it was not */
	t = state_of(r) != NULL ? again(&b, "approve", NULL, state_of(r), NULL)
				: tool(&b, "approve", NULL);
	if (asked(t, "approval") == NULL)
		fail_msg("%s: %d %s", fault, t->status, t->raw);
	reply_free(r);
	r = again(&b, "approve", NULL, state_of(t),
		  accept_bool("approval", "ok", true));
	assert_string_equal(result_text(r), "approved: yes");
	assert_int_equal(effects_count(s, " before"), 1);
	assert_int_equal(effects_count(s, " after"), 1);
	reply_free(r);
	reply_free(t);
	server_free(v);
	scratch_free(s);
}

static void test_shutdown__between_asking_and_storing(void **unused)
{
	(void)unused;
	shut_down_at("engine.parking@approve:1:delay300");
	shut_down_at("engine.parked@approve:1:delay300");
	shut_down_at("handler.step_committed@before:1:delay300");
}

/* ---- twice at once ---- */
/* All get the same; with @differ the two instances hear different answers. */
static struct reply *redeem_at_once(const struct server *const *at,
				    const char *state, size_t n, bool differ)
{
	struct thread_call c[AT_ONCE];
	struct reply *first = NULL;

	for (size_t i = 0; i < n; i++) {
		c[i] = (struct thread_call){
			.a = as_can(at[i % 2], "alice", CAN_FORM),
			.name = "once",
			.args = json_object(),
			.state = state,
			.answers = accept_bool("confirm", "ok",
					       !differ || i % 2 == 0)};
		call_start(&c[i]);
	}
	for (size_t i = 0; i < n; i++) {
		struct reply *r = call_end(&c[i]);

		if (first == NULL) {
			first = r;
			continue;
		}
		assert_string_equal(result_text(r), result_text(first));
		reply_free(r);
	}
	return first;
}

/* On one instance the effect happens once and all get its outcome; on two at
 * the same moment all get the outcome that was stored first. */
static void test_single_use__at_once(void **unused)
{
	const struct server *const same[] = {one, one};
	const struct server *const both[] = {one, two};
	struct ask a = as_can(one, "alice", CAN_FORM);

	(void)unused;
	for (int i = 0; i < 10; i++) {
		const bool apart = i % 2 == 1;
		struct reply *r = tool(&a, "once", json_object());
		size_t had = effects(" effect");
		struct reply *t = redeem_at_once(apart ? both : same,
						 state_of(r), AT_ONCE, false);
		size_t now = effects(" effect");

		assert_string_equal(result_text(t), "plan 7 done");
		assert_true(now == had + 1 || (apart && now == had + 2));
		reply_free(t);
		/* and later: what was stored, with no effect at all */
		t = redeem_at_once(both, state_of(r), 2, false);
		assert_string_equal(result_text(t), "plan 7 done");
		assert_int_equal(effects(" effect"), now);
		reply_free(t);
		reply_free(r);
	}
}

/* Two minds about one state, at two instances: the first stored holds. */
static void test_single_use__the_first_stored_is_the_answer(void **unused)
{
	const struct server *const both[] = {one, two};
	struct ask a = as_can(one, "alice", CAN_FORM);

	(void)unused;
	for (int i = 0; i < 10; i++) {
		struct reply *r = tool(&a, "once", json_object());
		struct reply *t =
			redeem_at_once(both, state_of(r), AT_ONCE, true);
		struct reply *later =
			redeem_at_once(both, state_of(r), 2, true);

		assert_string_equal(result_text(later), result_text(t));
		reply_free(later);
		reply_free(t);
		reply_free(r);
	}
}

/* One key, many first calls at once, at both: one task. */
static void test_idempotency__at_once(void **unused)
{
	struct ask a = as_can(one, "alice", CAN_TASKS);
	struct thread_call c[AT_ONCE];
	char id[64] = "";

	(void)unused;
	for (size_t i = 0; i < AT_ONCE; i++) {
		c[i] = (struct thread_call){
			.a = as_can(i % 2 ? one : two, "alice", CAN_TASKS),
			.name = "two_step"};
		c[i].a.idem = "at-once";
		call_start(&c[i]);
	}
	for (size_t i = 0; i < AT_ONCE; i++) {
		struct reply *r = call_end(&c[i]);

		assert_string_equal(result_type(r), "task");
		if (id[0] == '\0')
			(void)snprintf(id, sizeof(id), "%s", task_id(r));
		assert_string_equal(task_id(r), id);
		reply_free(r);
	}
	awaits(&a, id, "completed");
	assert_int_equal(effects(" one"), 1);
	assert_int_equal(effects(" two"), 1);
}

/* ---- answers ---- */
/* What does not fit, and what was never asked, enters no handler. */
static void test_answer__that_does_not_count_wakes_nobody(void **unused)
{
	struct ask a = as_can(one, "alice", CAN_TASKS);
	struct reply *r;
	char id[64];
	char *updated;

	(void)unused;
	create(&a, "multi_input", NULL, id);
	r = task_await(&a, id, "input_required");
	assert_non_null(r);
	updated = strdup(
		json_string_value(json_object_get(result(r), "lastUpdatedAt")));
	reply_free(r);
	reply_free(task_do(&a, "tasks/update", id,
			   accept_string("third", "name", "x")));
	r = task_do(&a, "tasks/get", id, NULL);
	assert_string_equal(
		json_string_value(json_object_get(result(r), "lastUpdatedAt")),
		updated);
	reply_free(r);
	reply_free(task_do(&a, "tasks/update", id,
			   json_pack("{s:{s:s,s:{s:i}}}", "first", "action",
				     "accept", "content", "name", 7)));
	reply_free(task_do(&a, "tasks/update", id,
			   accept_string("second", "name", "Bo")));
	r = task_do(&a, "tasks/get", id, NULL);
	assert_int_equal(asked_count(r), 1);
	assert_non_null(asked(r, "first~2"));
	reply_free(r);
	reply_free(task_do(&a, "tasks/update", id,
			   accept_string("first~2", "name", "Ada")));
	awaits(&a, id, "completed");
	/* claimed to ask, and once more when all was there */
	assert_int_equal(shown(scratch, id, "claims"), 2);
	free(updated);
}

/* The instance that acknowledged an answer dies at once: it is acted on. */
static void test_answer__that_was_acknowledged_is_acted_on(void **unused)
{
	static const char *const none[] = {"--task-workers", "0", NULL};
	struct scratch *s = scratch_new();
	struct server *works = server_start(s, NULL);
	struct ask a = as_can(works, NULL, CAN_TASKS);

	(void)unused;
	for (int i = 0; i < 5; i++) {
		struct server *takes = server_start(s, none);
		struct ask b = as_can(takes, NULL, CAN_TASKS);
		struct reply *r;
		char id[64];

		create(&a, "approve", NULL, id);
		awaits(&a, id, "input_required");
		r = task_do(&b, "tasks/update", id,
			    accept_bool("approval", "ok", true));
		server_kill(takes, SIGKILL);
		assert_string_equal(result_type(r), "complete");
		reply_free(r);
		awaits(&a, id, "completed");
		server_free(takes);
	}
	server_free(works);
	scratch_free(s);
}

/* The id that the handler reads is the client's, in each entry, on each
 * instance. */
static void test_task_id__is_the_same_in_every_entry(void **unused)
{
	struct scratch *s = scratch_new();
	struct server *v = server_start(s, NULL);
	struct ask a = as_can(v, NULL, CAN_TASKS);
	struct lines l;
	char id[64];

	(void)unused;
	create(&a, "approve", NULL, id);
	awaits(&a, id, "input_required");
	server_kill(v, SIGKILL);
	server_free(v);
	v = server_start(s, NULL);
	a = as_can(v, NULL, CAN_TASKS);
	reply_free(task_do(&a, "tasks/update", id,
			   accept_bool("approval", "ok", true)));
	awaits(&a, id, "completed");
	l = lines_read(s->effects);
	assert_int_equal(l.n, 2);
	for (size_t i = 0; i < l.n; i++) {
		assert_true(strncmp(l.line[i], id, strlen(id)) == 0);
		assert_true(l.line[i][strlen(id)] == ' ');
	}
	assert_int_equal(shown(s, id, "epoch"), 2);
	lines_free(&l);
	server_free(v);
	scratch_free(s);
}

/* ---- those who go away ---- */
/* A server whose clock is moved over the graces. */
struct gone {
	struct scratch *s;
	struct testclock *k;
	struct server *v;
};

static void gone_start(struct gone *g)
{
	g->s = scratch_new();
	g->k = testclock_new(g->s);
	{
		const char *const args[] = {"--test-clock", g->k->path, NULL};

		g->v = server_start(g->s, args);
	}
}

static void gone_end(struct gone *g)
{
	server_free(g->v);
	testclock_free(g->k);
	scratch_free(g->s);
}

/* Waits until the one task of @tool_name is as @where says. */
static void await_task(const struct gone *g, const char *tool_name,
		       const char *where)
{
	char what[160];

	(void)snprintf(what, sizeof(what), "task WHERE tool = '%s' AND %s",
		       tool_name, where);
	if (!probe_await_rows(g->s->db, what, 1))
		fail_msg("never a %s", what);
}

/* Sends a call that outlasts every wait, and returns when it waits. */
static void wait_with(const struct gone *g, struct raw *c,
		      const char *tool_name, const char *state)
{
	struct ask a = as_can(g->v, NULL, CAN_FORM);

	raw_call(c, &a, tool_name, json_pack("{s:i}", "ms", 60 * MINUTE_MS),
		 state);
	await_task(g, tool_name, "waiters = 1");
}

static void go_away(const struct gone *g, struct raw *c, const char *tool_name)
{
	raw_close(c);
	await_task(g, tool_name, "waiters = 0");
}

/* The handle that one who waits is sent when the wait budget is over. */
static struct reply *sent_round(const struct gone *g, struct raw *c,
				const char *tool_name)
{
	struct reply *r = raw_reply(c, "tools/call");

	assert_string_equal(result_type(r), "input_required");
	assert_non_null(state_of(r));
	await_task(g, tool_name, "waiters = 0");
	return r;
}

/* Told of its task, the client's connection may close: the task goes on. */
static void test_gone__a_task_of_the_extension_goes_on(void **unused)
{
	struct gone g;
	struct raw c = {0};
	struct raw other = {0};
	struct ask a;
	struct reply *r;

	(void)unused;
	gone_start(&g);
	a = as_can(g.v, NULL, CAN_TASKS);
	raw_open(&c, g.v->url);
	raw_call(&c, &a, "busy", json_pack("{s:i}", "ms", 60 * MINUTE_MS),
		 NULL);
	r = raw_reply(&c, "tools/call");
	assert_string_equal(result_type(r), "task");
	await_task(&g, "busy", "abandon_at IS NULL");
	raw_close(&c);
	/* beside one that is given up, so that there was a sweep */
	raw_open(&other, g.v->url);
	wait_with(&g, &other, "long_nap", NULL);
	go_away(&g, &other, "long_nap");
	assert_true(probe_await_most(g.v, "bide_http_connections", 1));
	testclock_forward(g.k, 10 * MINUTE_MS);
	await_task(&g, "long_nap", "state = 6");
	await_task(&g, "busy", "state = 2");
	reply_free(task_do(&a, "tasks/cancel", task_id(r), NULL));
	reply_free(r);
	gone_end(&g);
}

/* The last one who waits goes, and somebody comes back within the grace: it
 * goes on for as long as somebody is there; then it is ended. To a second one
 * nobody comes back, which is how a sweep is seen. */
static void test_gone__who_comes_back_keeps_it(void **unused)
{
	struct gone g;
	struct raw c = {0};
	struct raw other = {0};
	struct reply *r;
	struct reply *t;

	(void)unused;
	gone_start(&g);
	raw_open(&c, g.v->url);
	raw_open(&other, g.v->url);
	wait_with(&g, &c, "busy", NULL);
	wait_with(&g, &other, "long_nap", NULL);
	/* it is parked after the callbacks in which both begin to wait */
	await_task(&g, "long_nap", "state = 3");
	testclock_forward(g.k, MINUTE_MS);
	r = sent_round(&g, &c, "busy");
	t = sent_round(&g, &other, "long_nap");
	wait_with(&g, &c, "busy", state_of(r));
	wait_with(&g, &other, "long_nap", state_of(t));
	go_away(&g, &c, "busy");
	go_away(&g, &other, "long_nap");
	raw_open(&c, g.v->url);
	/* two minutes are the grace */
	for (int i = 0; i < 4; i++) {
		wait_with(&g, &c, "busy", state_of(r));
		testclock_forward(g.k, MINUTE_MS);
		reply_free(sent_round(&g, &c, "busy"));
	}
	await_task(&g, "long_nap", "state = 6");
	await_task(&g, "busy", "state = 2");
	wait_with(&g, &c, "busy", state_of(r));
	go_away(&g, &c, "busy");
	testclock_forward(g.k, 2 * MINUTE_MS + 1);
	await_task(&g, "busy", "state = 6");
	reply_free(r);
	reply_free(t);
	gone_end(&g);
}

/* What names the task was on its way when the client went: nobody can come
 * back to it. */
static void undelivered(const char *grace, const char *can)
{
	const char *const args[] = {"--fault",
				    "dispatch.reply@approve:0:delay2000",
				    grace,
				    "100",
				    "--sweep-interval",
				    "20",
				    NULL};
	struct scratch *s = scratch_new();
	struct server *v = server_start(s, args);
	struct ask a = as_can(v, NULL, can);
	struct raw c = {0};

	raw_open(&c, v->url);
	raw_call(&c, &a, "approve", json_object(), NULL);
	assert_true(effects_await(s, " before", 1));
	raw_close(&c);
	assert_true(probe_await_rows(s->db, "task WHERE state = 6", 1));
	server_free(v);
	scratch_free(s);
}

static void test_gone__before_it_was_told_ends_it(void **unused)
{
	(void)unused;
	undelivered("--undelivered-grace", CAN_TASKS);
	undelivered("--disconnect-grace", CAN_FORM);
}

/* ---- streams ---- */
/* Comments are at most thirty seconds apart, whatever an operator asks for. */
static void test_keep_alive__is_thirty_seconds_at_most(void **unused)
{
	static const char *const shown_args[] = {"serve", "--print-config",
						 NULL};
	static const char *const longer[] = {"serve", "--keep-alive", "30001",
					     "--print-config", NULL};
	char *out = NULL;
	const char *at;
	long ms;

	(void)unused;
	assert_int_equal(run_fixture(shown_args, &out), 0);
	at = strstr(out, "keep-alive");
	assert_non_null(at);
	at += strcspn(at, "0123456789");
	ms = strtol(at, NULL, 10);
	assert_true(ms > 0 && ms <= 30000);
	free(out);
	assert_int_equal(run_fixture(longer, &out), 2);
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys__shared_by_deployments_of_any_name),
		cmocka_unit_test(test_refusal__has_its_reason_in_the_log),
		cmocka_unit_test(test_state__expires),
		cmocka_unit_test(test_shutdown__between_asking_and_storing),
		cmocka_unit_test(test_single_use__at_once),
		cmocka_unit_test(
			test_single_use__the_first_stored_is_the_answer),
		cmocka_unit_test(test_idempotency__at_once),
		cmocka_unit_test(test_answer__that_does_not_count_wakes_nobody),
		cmocka_unit_test(
			test_answer__that_was_acknowledged_is_acted_on),
		cmocka_unit_test(test_task_id__is_the_same_in_every_entry),
		cmocka_unit_test(test_gone__a_task_of_the_extension_goes_on),
		cmocka_unit_test(test_gone__who_comes_back_keeps_it),
		cmocka_unit_test(test_gone__before_it_was_told_ends_it),
		cmocka_unit_test(test_keep_alive__is_thirty_seconds_at_most),
	};

	return cmocka_run_group_tests(tests, setup, pair_end);
}
