/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/bide/bench.h"
#include "tests/e2e/lib/client.h"
#include "tests/e2e/lib/probe.h"

#define ANSWERS 9 /* a round */

static void say(const char *what, int round)
{
	(void)fprintf(stderr, "bench: %s, round %d of %d\n", what, round + 1,
		      bench.rounds);
}

/* ---- the floor: a program beside this one ---- */
struct floor_server {
	pid_t pid;
	int in, port;
};

static void floor_child(int in, int out)
{
	char path[512];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 16);
	char *slash;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)dup2(in, STDIN_FILENO);
	(void)dup2(out, STDOUT_FILENO);
	if (n > 0) {
		path[n] = '\0';
		slash = strrchr(path, '/');
		memcpy(slash + 1, "bench_floor", sizeof("bench_floor"));
		(void)execl(path, path, (char *)NULL);
	}
	_exit(127);
}

static struct floor_server floor_start(void)
{
	struct floor_server f = {0};
	char line[32] = "";
	int to[2];
	int from[2];

	if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
		exit(1);
	f.pid = fork();
	if (f.pid == 0)
		floor_child(to[0], from[1]);
	(void)close(to[0]);
	(void)close(from[1]);
	f.in = to[1];
	if (f.pid < 0 || read(from[0], line, sizeof(line) - 1) <= 0) {
		(void)fprintf(stderr, "bench: no bench_floor\n");
		exit(1);
	}
	(void)close(from[0]);
	f.port = (int)strtol(line, NULL, 10);
	return f;
}

static void floor_stop(struct floor_server *f)
{
	(void)close(f->in);
	(void)waitpid(f->pid, NULL, 0);
}

void rounds_requests(void)
{
	static const char *const args[] = {"--max-tasks-per-principal",
					   "100000000", NULL};
	struct floor_server f = floor_start();
	struct scratch *s = scratch_new();
	struct server *v = server_start(s, args);

	requests_make_task(v->url);
	for (int i = 0; i < bench.rounds; i++) {
		say("requests", i);
		parts_floor(i, f.port, f.pid);
		parts_run(ECHO, i, v);
		parts_run(POOL, i, v);
		parts_run(LEGS, i, v);
		parts_run(GET, i, v);
		parts_durable(CREATE, i, v);
		parts_durable(STEPS, i, v);
	}
	server_free(v);
	scratch_free(s);
	floor_stop(&f);
}

/* ---- beside callers that wait ---- */
static int *open_waiting(struct server *v)
{
	char out[8192];
	size_t n = requests_waiting(out, sizeof(out));
	long before = probe_rss_kb(v->pid);
	int *fds = load_open(parts_port(v), WAITING, out, n);

	if (!probe_await_least(v, "bide_waiters", WAITING) ||
	    !probe_await_most(v, "bide_tasks_running", 0)) {
		(void)fprintf(stderr, "bench: not all of them wait\n");
		exit(1);
	}
	bench.bytes_a_waiter =
		(double)(probe_rss_kb(v->pid) - before) * 1024 / WAITING;
	return fds;
}

static void close_waiting(int *fds)
{
	for (int i = 0; i < WAITING; i++)
		(void)close(fds[i]);
	free(fds);
}

void rounds_waiting(void)
{
	static const char *const args[] = {"--wait-budget", "600000",
					   "--max-waits-per-principal", "5000",
					   NULL};
	struct scratch *s1 = scratch_new();
	struct scratch *s2 = scratch_new();
	struct server *quiet = server_start(s1, args);
	struct server *full = server_start(s2, args);
	int *fds;

	/* What any first requests make the server keep is no waiter's. */
	parts_run(QUIET, 0, full);
	fds = open_waiting(full);
	for (int i = 0; i < bench.rounds; i++) {
		say("beside waiting callers", i);
		parts_run(QUIET, i, quiet);
		parts_run(BESIDE, i, full);
	}
	close_waiting(fds);
	server_free(quiet);
	server_free(full);
	scratch_free(s1);
	scratch_free(s2);
}

/* ---- from the commit of an answer to the handler elsewhere ---- */
static int64_t stamp(struct server *v, const char *point, size_t nth)
{
	char want[96];
	int64_t ns = 0;
	const char *p;

	(void)snprintf(want, sizeof(want), "{\"stamp\":\"%s\",\"ns\":", point);
	pthread_mutex_lock(&v->lock);
	p = v->text;
	for (size_t i = 0; p != NULL && i <= nth; i++) {
		p = strstr(p, want);
		if (p != NULL)
			p += strlen(want);
	}
	/* the line must be whole */
	if (p != NULL && strchr(p, '\n') != NULL)
		ns = strtoll(p, NULL, 10);
	pthread_mutex_unlock(&v->lock);
	return ns;
}

static int64_t await_stamp(struct server *v, const char *point, size_t nth)
{
	const struct timespec nap = {0, 1000 * 1000};

	for (int i = 0; i < 5000; i++) {
		int64_t ns = stamp(v, point, nth);

		if (ns != 0)
			return ns;
		(void)nanosleep(&nap, NULL);
	}
	(void)fprintf(stderr, "bench: no stamp of %s\n", point);
	exit(1);
}

static double one_answer(struct server *a, struct server *b, size_t nth)
{
	struct ask q = {.url = a->url, .can = CAN_TASKS};
	struct reply *r = tool(&q, "approve", json_object());
	char id[64];

	(void)snprintf(id, sizeof(id), "%s", task_id(r));
	reply_free(r);
	reply_free(task_await(&q, id, "input_required"));
	reply_free(task_do(&q, "tasks/update", id,
			   accept_bool("approval", "ok", true)));
	reply_free(task_await(&q, id, "completed"));
	return (double)(await_stamp(b, "engine.resumed", nth) -
			await_stamp(a, "dispatch.answered", nth)) /
	       1e6;
}

void rounds_answers(void)
{
	static const char *const at_a[] = {"--fault",
					   "dispatch.answered:0:stamp",
					   "--task-workers", "0", NULL};
	static const char *const at_b[] = {"--fault", "engine.resumed:0:stamp",
					   NULL};
	struct scratch *s = scratch_new();
	struct server *a = server_start(s, at_a);
	struct server *b = server_start(s, at_b);
	size_t n = 0;

	for (int i = 0; i < bench.rounds; i++) {
		double before = parts_disk(s->dir, bench.seconds / 2);
		double ms[ANSWERS];

		say("answers from one instance to another", i);
		for (size_t k = 0; k < ANSWERS; k++)
			ms[k] = one_answer(a, b, n++);
		bench.answer_ms.v[i] = median(ms, ANSWERS);
		bench.answer_disk.v[i] =
			(before + parts_disk(s->dir, bench.seconds / 2)) / 2;
	}
	server_free(a);
	server_free(b);
	scratch_free(s);
}

/* ---- starting ---- */
static double start_ms(struct scratch *s, double *ret_kb)
{
	int64_t begun = load_now_ns();
	struct server *v = server_start(s, NULL);
	double ms = (double)(load_now_ns() - begun) / 1e6;

	if (ret_kb != NULL)
		*ret_kb = (double)probe_rss_kb(v->pid);
	server_kill(v, SIGTERM);
	server_free(v);
	return ms;
}

void rounds_starting(void)
{
	for (int i = 0; i < bench.rounds; i++) {
		struct scratch *s = scratch_new();

		bench.ready_new_ms.v[i] = start_ms(s, &bench.idle_kb.v[i]);
		bench.ready_ms.v[i] = start_ms(s, NULL);
		scratch_free(s);
	}
}
