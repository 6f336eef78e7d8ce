/* SPDX-License-Identifier: MIT */
#include "tests/e2e/lib/probe.h"

#include <curl/curl.h>
#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/e2e/lib/server.h"

#define PAGE_MAX 65536
#define AWAIT_MS 60000
#define NAP_MS   10

static void die(const char *what, const char *which)
{
	(void)fprintf(stderr, "e2e: probe: no %s %s\n", what, which);
	exit(99);
}

static long status_of(pid_t pid, const char *field)
{
	char path[64];
	char line[256];
	size_t n = strlen(field);
	long v = -1;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f != NULL && v < 0 && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, field, n) == 0 && line[n] == ':')
			v = strtol(line + n + 1, NULL, 10);
	if (f != NULL)
		(void)fclose(f);
	if (v < 0)
		die("status field", field);
	return v;
}

long probe_rss_kb(pid_t pid)
{
	return status_of(pid, "VmRSS");
}

long probe_anon_kb(pid_t pid)
{
	return status_of(pid, "RssAnon");
}

/* To the microsecond: the ticks of /proc/PID/stat are 10 ms. */
double probe_cpu_ms(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 ||
	    clock_gettime(clock, &t) != 0)
		die("processor time of", "the server");
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

long probe_threads(pid_t pid)
{
	return status_of(pid, "Threads");
}

long probe_fds(pid_t pid)
{
	char path[64];
	long n = -2; /* . and .. */
	DIR *d;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	if (d == NULL)
		die("directory", path);
	while (readdir(d) != NULL)
		n++;
	(void)closedir(d);
	return n;
}

struct page {
	char text[PAGE_MAX];
	size_t len;
};

static size_t on_bytes(char *bytes, size_t size, size_t n, void *user)
{
	struct page *p = user;

	if (p->len + size * n >= sizeof(p->text))
		return 0;
	memcpy(p->text + p->len, bytes, size * n);
	p->len += size * n;
	return size * n;
}

double probe_metric(const struct server *v, const char *name)
{
	struct page *p = calloc(1, sizeof(*p));
	CURL *c = curl_easy_init();
	char line[192];
	const char *at;
	double x;

	if (p == NULL || c == NULL)
		die("memory for", name);
	(void)snprintf(line, sizeof(line), "%s/metrics", v->base);
	curl_easy_setopt(c, CURLOPT_URL, line);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_PROXY, "");
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)AWAIT_MS);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_bytes);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, p);
	if (curl_easy_perform(c) != CURLE_OK)
		die("page", line);
	(void)snprintf(line, sizeof(line), "\n%s ", name);
	at = strstr(p->text, line);
	if (at == NULL)
		die("metric", name);
	x = strtod(at + strlen(line), NULL);
	curl_easy_cleanup(c);
	free(p);
	return x;
}

static bool await(const struct server *v, const char *name, double x, int sign)
{
	const struct timespec nap = {0, NAP_MS * 1000000L};

	for (int ms = 0; ms < AWAIT_MS; ms += NAP_MS) {
		if ((probe_metric(v, name) - x) * sign >= 0)
			return true;
		(void)nanosleep(&nap, NULL);
	}
	return false;
}

bool probe_await_least(const struct server *v, const char *name, double x)
{
	return await(v, name, x, 1);
}

bool probe_await_most(const struct server *v, const char *name, double x)
{
	return await(v, name, x, -1);
}

long probe_rows(const char *db, const char *what)
{
	char sql[256];
	sqlite3 *c = NULL;
	sqlite3_stmt *st = NULL;
	long n = -1;

	(void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", what);
	if (sqlite3_open_v2(db, &c, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
	    sqlite3_busy_timeout(c, 5000) == SQLITE_OK &&
	    sqlite3_prepare_v2(c, sql, -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		n = (long)sqlite3_column_int64(st, 0);
	if (n < 0)
		die(sqlite3_errmsg(c), sql);
	(void)sqlite3_finalize(st);
	(void)sqlite3_close(c);
	return n;
}

bool probe_await_rows(const char *db, const char *what, long n)
{
	const struct timespec nap = {0, NAP_MS * 1000000L};

	for (int ms = 0; ms < AWAIT_MS; ms += NAP_MS) {
		if (probe_rows(db, what) == n)
			return true;
		(void)nanosleep(&nap, NULL);
	}
	return false;
}
