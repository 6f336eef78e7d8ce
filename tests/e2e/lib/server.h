/* SPDX-License-Identifier: MIT */
#ifndef TESTS_E2E_SERVER_H
#define TESTS_E2E_SERVER_H
#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>
/*
 * Real server processes on a scratch directory. Whatever goes wrong here ends
 * the test with a message; nothing is left running when the test process ends
 * (children die with it).
 */
struct scratch {
	char dir[256];     /* removed by scratch_free() */
	char db[300];      /* dir/bide.db */
	char effects[300]; /* dir/effects */
};
struct scratch *scratch_new(void);
void scratch_free(struct scratch *s);

struct server {
	pid_t pid;      /* 0 once it was waited for */
	char url[128];  /* of the endpoint */
	char base[128]; /* without the path */
	char log[300];  /* its log file */
	int from;       /* the pipe its log comes through */
	pthread_t drainer;
	struct scratch *scratch;
	pthread_mutex_t lock; /* the lines seen */
	pthread_cond_t more;
	char *text; /* the whole log so far */
	size_t len, cap;
	bool over;
};
/*
 * Starts build/tests/bide-fixture (or $BIDE_FIXTURE) with "serve --listen
 * 127.0.0.1:0 --db ..  --effects .." and @args (NULL-terminated), and returns
 * once it listens.
 */
struct server *server_start(struct scratch *s, const char *const *args);
/* From here on that is the build's @program ("examples/demo_server") instead,
 * which knows nothing of --effects. NULL: the fixture again. */
void server_use(const char *program);
/* The same, but it may fail to start: NULL, and its log in @ret_log (free()).
 */
struct server *server_try(struct scratch *s, const char *const *args,
			  char **ret_log);
void server_kill(struct server *v, int sig); /* and waits; status in ret */
int server_signal_wait(struct server *v, int sig); /* wait status */
int server_wait(struct server *v);                 /* wait status */
bool server_alive(struct server *v);
/* Waits until the log holds @text (an event's name, say); false: it ended or 60
 * s went by. */
bool server_saw(struct server *v, const char *text);
int server_count(struct server *v, const char *text); /* occurrences so far */
void server_free(struct server *v);                   /* kills what runs */
/* Runs the fixture with @args to its end; its standard output in @ret_out. */
int run_fixture(const char *const *args, char **ret_out);
/* Lines of a file, for effects; freed by lines_free(). */
struct lines {
	char **line;
	size_t n;
};
struct lines lines_read(const char *path);
void lines_free(struct lines *l);
#endif
