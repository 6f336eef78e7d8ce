/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FORKED_H
#define TESTS_FORKED_H
/* For tests about several processes: a database's path of their own, children
 * that say "here" over a pipe, and waiting for a condition with a ceiling. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define CEILING_MS 20000 /* a test that waits so long has failed */

/* The machine's clock: what a test measures is never moved. */
static inline int64_t real_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static inline void nap_us(long us)
{
	struct timespec ts = {us / 1000000, us % 1000000 * 1000};

	nanosleep(&ts, NULL);
}

#define wait_until(cond)                                                       \
	do {                                                                   \
		int64_t until_ = real_ms() + CEILING_MS;                       \
		while (!(cond) && real_ms() < until_)                          \
			nap_us(500);                                           \
		assert_true(cond);                                             \
	} while (0)

struct place {
	char dir[PATH_MAX - 64];
	char db[PATH_MAX]; /* an empty file; what is tested never reads it */
};

static inline void place_make(struct place *p, const char *sub)
{
	const char *tmp = getenv("TMPDIR");
	char base[256];
	FILE *f;

	snprintf(base, sizeof(base), "%s/bide-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(base));
	assert_non_null(realpath(base, p->dir));
	if (*sub) {
		strcat(strcat(p->dir, "/"), sub);
		assert_int_equal(mkdir(p->dir, 0700), 0);
	}
	snprintf(p->db, sizeof(p->db), "%s/t.db", p->dir);
	f = fopen(p->db, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(chmod(p->db, 0600), 0);
}

static inline void empty_dir(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(path);
}

static inline void place_remove(struct place *p, const char *sub)
{
	char path[PATH_MAX + 8];

	snprintf(path, sizeof(path), "%s.d", p->db);
	empty_dir(path);
	empty_dir(p->dir);
	if (*sub) {
		*strrchr(p->dir, '/') = '\0';
		empty_dir(p->dir);
	}
}

/* A child runs @fn and ends; it tells by child_say(), and dies with us. */
struct child {
	pid_t pid;
	int out; /* what it says */
	int in;  /* to tell it */
};
struct child_side {
	int out, in;
};

static inline void child_pipes(struct child *c, struct child_side *s)
{
	int out[2], in[2];

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	c->out = out[0];
	c->in = in[1];
	s->out = out[1];
	s->in = in[0];
}

typedef void child_fn(struct child_side *, void *);

static inline void child_start(struct child *c, child_fn *fn, void *arg)
{
	struct child_side s;

	child_pipes(c, &s);
	c->pid = fork();
	assert_true(c->pid >= 0);
	if (c->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(c->out);
		close(c->in);
		fn(&s, arg);
		_exit(0);
	}
	close(s.out);
	close(s.in);
}

/* For children with threads (ThreadSanitizer has none after a fork): this
 * program again, which calls child_side_of() when it has arguments. */
static inline void child_exec(struct child *c, char *arg1, char *arg2)
{
	struct child_side s;
	char fds[32];
	char *argv[] = {fds, fds, arg1, arg2, NULL};

	child_pipes(c, &s);
	snprintf(fds, sizeof(fds), "%d %d", s.out, s.in);
	c->pid = fork();
	assert_true(c->pid >= 0);
	if (c->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fcntl(s.out, F_SETFD, 0);
		fcntl(s.in, F_SETFD, 0);
		execv("/proc/self/exe", argv);
		_exit(9);
	}
	close(s.out);
	close(s.in);
}

static inline struct child_side child_side_of(char **argv)
{
	struct child_side s = {-1, -1};

	if (sscanf(argv[1], "%d %d", &s.out, &s.in) != 2)
		_exit(9);
	return s;
}

static inline void child_say(struct child_side *s, char what)
{
	if (write(s->out, &what, 1) != 1)
		_exit(3);
}

static inline char child_wait(struct child_side *s)
{
	char c;

	if (read(s->in, &c, 1) != 1) /* the test is over */
		_exit(0);
	return c;
}

static inline char child_hear(struct child *c)
{
	char what = 0;

	while (read(c->out, &what, 1) < 0 && errno == EINTR)
		;
	return what; /* 0: it ended */
}

static inline void child_tell(struct child *c, char what)
{
	assert_int_equal(write(c->in, &what, 1), 1);
}

static inline void child_end(struct child *c, int sig)
{
	if (sig)
		kill(c->pid, sig);
	waitpid(c->pid, NULL, 0);
	close(c->out);
	close(c->in);
}

/* Returns when it is really stopped. */
static inline void child_stop(struct child *c)
{
	int status;

	assert_int_equal(kill(c->pid, SIGSTOP), 0);
	assert_int_equal(waitpid(c->pid, &status, WUNTRACED), c->pid);
	assert_true(WIFSTOPPED(status));
}
#endif
