/* SPDX-License-Identifier: MIT */
#ifndef TESTS_E2E_PROBE_H
#define TESTS_E2E_PROBE_H
#include <stdbool.h>
#include <sys/types.h>
/*
 * What a server process costs, from /proc, and what it says of itself in
 * /metrics. A process that is gone, or a page that lacks the value, ends the
 * test with a message.
 */
struct server;
long probe_rss_kb(pid_t pid);   /* all that is resident */
long probe_anon_kb(pid_t pid);  /* of it, what is no file's */
double probe_cpu_ms(pid_t pid); /* of all its threads, user and system */
long probe_threads(pid_t pid);
long probe_fds(pid_t pid);
double probe_metric(const struct server *v, const char *name);
/* Waits until the value is at least, or at most, @x; false after 60 s. */
bool probe_await_least(const struct server *v, const char *name, double x);
bool probe_await_most(const struct server *v, const char *name, double x);
/* SELECT count(*) FROM @what, by a reader of the test's own. */
long probe_rows(const char *db, const char *what);
/* Waits until there are @n; false after 60 s. */
bool probe_await_rows(const char *db, const char *what, long n);
#endif
