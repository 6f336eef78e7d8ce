/* SPDX-License-Identifier: MIT */
#include "tests/e2e/lib/server.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define START_S 60
#define SAW_S   60
#define END_S   60

static void die(const char *what)
{
	(void)fprintf(stderr, "e2e: %s: %s\n", what, strerror(errno));
	exit(99);
}

struct scratch *scratch_new(void)
{
	struct scratch *s = calloc(1, sizeof(*s));
	const char *tmp = getenv("TMPDIR");

	if (s == NULL)
		die("calloc");
	(void)snprintf(s->dir, sizeof(s->dir), "%s/bide-e2e.XXXXXX",
		       tmp != NULL ? tmp : "/tmp");
	if (mkdtemp(s->dir) == NULL)
		die("mkdtemp");
	(void)snprintf(s->db, sizeof(s->db), "%s/bide.db", s->dir);
	(void)snprintf(s->effects, sizeof(s->effects), "%s/effects", s->dir);
	return s;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

void scratch_free(struct scratch *s)
{
	if (s == NULL)
		return;
	if (getenv("BIDE_KEEP") == NULL)
		if (nftw(s->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS) != 0)
			(void)fprintf(stderr, "e2e: %s stays\n", s->dir);
	free(s);
}

static char used[512]; /* server_use(); "": the fixture */

void server_use(const char *program)
{
	const char *build = getenv("BIDE_BUILD");

	used[0] = '\0';
	if (program == NULL)
		return;
	(void)snprintf(used, sizeof(used), "%s/%s",
		       build != NULL ? build : "build", program);
}

static const char *fixture_path(void)
{
	const char *p = *used != '\0' ? used : getenv("BIDE_FIXTURE");

	return p != NULL ? p : "build/tests/bide-fixture";
}

static void keep(struct server *v, const char *bytes, size_t n)
{
	pthread_mutex_lock(&v->lock);
	if (v->len + n + 1 > v->cap) {
		v->cap = (v->len + n + 1) * 2;
		v->text = realloc(v->text, v->cap);
		if (v->text == NULL)
			die("realloc");
	}
	memcpy(v->text + v->len, bytes, n);
	v->len += n;
	v->text[v->len] = '\0';
	pthread_cond_broadcast(&v->more);
	pthread_mutex_unlock(&v->lock);
}

static void *drain(void *arg)
{
	struct server *v = arg;
	char chunk[8192];
	int log = open(v->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	for (;;) {
		ssize_t n = read(v->from, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		if (log >= 0 && write(log, chunk, (size_t)n) != n)
			(void)fprintf(stderr, "e2e: log cut short\n");
		keep(v, chunk, (size_t)n);
	}
	if (log >= 0)
		(void)close(log);
	pthread_mutex_lock(&v->lock);
	v->over = true;
	pthread_cond_broadcast(&v->more);
	pthread_mutex_unlock(&v->lock);
	return NULL;
}

static void child(struct scratch *s, const char *const *args, int to)
{
	const char *argv[64] = {fixture_path(), "serve",   "--listen",
				"127.0.0.1:0",  "--db",    s->db,
				"--effects",    s->effects};
	size_t n = *used != '\0' ? 6 : 8;

	while (args != NULL && *args != NULL && n < 63)
		argv[n++] = *args++;
	argv[n] = NULL;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)dup2(to, STDERR_FILENO);
	(void)dup2(to, STDOUT_FILENO);
	execv(argv[0], (char *const *)argv);
	_exit(127);
}

/* The value of "key":"..." in the first line of the log that has it. */
static bool find_string(struct server *v, const char *event, const char *key,
			char *out, size_t cap)
{
	char want[64];
	const char *at = v->text != NULL ? strstr(v->text, event) : NULL;
	const char *end;

	if (at == NULL)
		return false;
	(void)snprintf(want, sizeof(want), "\"%s\":\"", key);
	at = strstr(at, want);
	if (at == NULL)
		return false;
	at += strlen(want);
	end = strchr(at, '"');
	if (end == NULL || (size_t)(end - at) >= cap)
		return false;
	memcpy(out, at, (size_t)(end - at));
	out[end - at] = '\0';
	return true;
}

static struct timespec in_seconds(int s)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += s;
	return t;
}

static bool await_listening(struct server *v)
{
	struct timespec until = in_seconds(START_S);
	bool ok;

	pthread_mutex_lock(&v->lock);
	while (!(ok = find_string(v, "\"serve.ready\"", "url", v->url,
				  sizeof(v->url))) &&
	       !v->over)
		if (pthread_cond_timedwait(&v->more, &v->lock, &until) != 0)
			break;
	pthread_mutex_unlock(&v->lock);
	if (ok) {
		(void)snprintf(v->base, sizeof(v->base), "%s", v->url);
		*strrchr(v->base, '/') = '\0';
	}
	return ok;
}

struct server *server_try(struct scratch *s, const char *const *args,
			  char **ret_log)
{
	static atomic_int number; /* some tests start many at once */
	struct server *v = calloc(1, sizeof(*v));
	int fds[2];

	if (v == NULL || pipe2(fds, O_CLOEXEC) != 0)
		die("pipe");
	v->scratch = s;
	(void)snprintf(v->log, sizeof(v->log), "%s/log-%d", s->dir,
		       atomic_fetch_add(&number, 1) + 1);
	(void)pthread_mutex_init(&v->lock, NULL);
	(void)pthread_cond_init(&v->more, NULL);
	v->pid = fork();
	if (v->pid < 0)
		die("fork");
	if (v->pid == 0)
		child(s, args, fds[1]);
	(void)close(fds[1]);
	v->from = fds[0];
	if (pthread_create(&v->drainer, NULL, drain, v) != 0)
		die("pthread_create");
	if (await_listening(v))
		return v;
	if (ret_log != NULL) {
		(void)kill(v->pid, SIGKILL);
		(void)server_wait(v);
		*ret_log = strdup(v->text != NULL ? v->text : "");
	}
	server_free(v);
	return NULL;
}

struct server *server_start(struct scratch *s, const char *const *args)
{
	char *log = NULL;
	struct server *v = server_try(s, args, &log);

	if (v == NULL) {
		(void)fprintf(stderr, "e2e: the server does not start:\n%s\n",
			      log);
		exit(99);
	}
	return v;
}

int server_wait(struct server *v)
{
	int status = 0;

	if (v->pid == 0)
		return 0;
	while (waitpid(v->pid, &status, 0) < 0 && errno == EINTR)
		;
	v->pid = 0;
	(void)pthread_join(v->drainer, NULL);
	return status;
}

int server_signal_wait(struct server *v, int sig)
{
	if (v->pid != 0)
		(void)kill(v->pid, sig);
	return server_wait(v);
}

void server_kill(struct server *v, int sig)
{
	(void)server_signal_wait(v, sig);
}

bool server_alive(struct server *v)
{
	siginfo_t si = {0};

	if (v->pid == 0)
		return false;
	(void)waitid(P_PID, (id_t)v->pid, &si, WEXITED | WNOHANG | WNOWAIT);
	return si.si_pid == 0;
}

bool server_saw(struct server *v, const char *text)
{
	struct timespec until = in_seconds(SAW_S);
	bool ok;

	pthread_mutex_lock(&v->lock);
	while (!(ok = v->text != NULL && strstr(v->text, text) != NULL) &&
	       !v->over)
		if (pthread_cond_timedwait(&v->more, &v->lock, &until) != 0)
			break;
	pthread_mutex_unlock(&v->lock);
	return ok;
}

int server_count(struct server *v, const char *text)
{
	int n = 0;

	pthread_mutex_lock(&v->lock);
	for (const char *p = v->text;
	     p != NULL && (p = strstr(p, text)) != NULL; p++)
		n++;
	pthread_mutex_unlock(&v->lock);
	return n;
}

/* A leak shows when a program ends by itself: under a sanitizer each server
 * gets the time to drain. Elsewhere a test need not wait for that. */
static void ask_to_end(struct server *v)
{
	struct timespec until = in_seconds(END_S);

	(void)kill(v->pid, SIGTERM);
	(void)kill(v->pid, SIGCONT);
	pthread_mutex_lock(&v->lock);
	while (!v->over &&
	       pthread_cond_timedwait(&v->more, &v->lock, &until) == 0)
		;
	if (!v->over)
		(void)fprintf(stderr, "e2e: %s: no end in %d s\n", v->log,
			      END_S);
	pthread_mutex_unlock(&v->lock);
}

void server_free(struct server *v)
{
	if (v == NULL)
		return;
	if (v->pid != 0 && getenv("BIDE_SANITIZED") != NULL)
		ask_to_end(v);
	if (v->pid != 0)
		server_kill(v, SIGKILL);
	(void)close(v->from);
	(void)pthread_mutex_destroy(&v->lock);
	(void)pthread_cond_destroy(&v->more);
	free(v->text);
	free(v);
}

int run_fixture(const char *const *args, char **ret_out)
{
	const char *argv[64] = {fixture_path()};
	size_t n = 1;
	size_t len = 0;
	size_t cap = 65536;
	char *out = malloc(cap);
	int status = 0;
	int fds[2];
	pid_t pid;

	while (*args != NULL && n < 63)
		argv[n++] = *args++;
	if (out == NULL || pipe2(fds, O_CLOEXEC) != 0)
		die("pipe");
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)dup2(fds[1], STDOUT_FILENO);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	(void)close(fds[1]);
	for (;;) {
		ssize_t got;

		if (len + 1 == cap) {
			cap *= 2;
			out = realloc(out, cap);
			if (out == NULL)
				die("realloc");
		}
		got = read(fds[0], out + len, cap - len - 1);
		if (got <= 0)
			break;
		len += (size_t)got;
	}
	out[len] = '\0';
	(void)close(fds[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (ret_out != NULL)
		*ret_out = out;
	else
		free(out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

struct lines lines_read(const char *path)
{
	struct lines l = {NULL, 0};
	FILE *f = fopen(path, "re");
	char line[1024];

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		l.line = realloc(l.line, (l.n + 1) * sizeof(*l.line));
		if (l.line == NULL)
			die("realloc");
		l.line[l.n++] = strdup(line);
	}
	if (f != NULL)
		(void)fclose(f);
	return l;
}

void lines_free(struct lines *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->line[i]);
	free(l->line);
	l->line = NULL;
	l->n = 0;
}
