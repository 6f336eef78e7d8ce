/* SPDX-License-Identifier: MIT */
#ifndef TESTS_BENCH_LOAD_H
#define TESTS_BENCH_LOAD_H
#include <stddef.h>
#include <stdint.h>
/*
 * A closed-loop load over keep-alive connections to loopback, one epoll
 * thread: each connection sends a request, reads the reply whole, and asks for
 * the next. Counts whole exchanges; a script may take several requests each.
 */
struct load;
/*
 * The next request of connection @i: written into @out (at most @cap bytes,
 * whole HTTP), its length returned. @reply: the last reply's body, NULL at the
 * start. Sets *@ends when the reply just seen ended an exchange. 0: a reply was
 * wrong; the run stops and counts it.
 */
typedef size_t (*load_next)(void *user, size_t i, const char *reply,
			    size_t reply_len, int *ends, char *out, size_t cap);
struct load_result {
	double per_s; /* exchanges */
	double p50_us, p99_us;
	size_t done;
	size_t wrong;
};
struct load_result load_run(int port, size_t connections, double seconds,
			    load_next next, void *user);
/* One POST with the headers of 2026-07-28. @name NULL: no Mcp-Name. */
size_t load_post(char *out, size_t cap, const char *method, const char *name,
		 const char *body);
/* @n connections that have each sent @text; their descriptors, to be closed. */
int *load_open(int port, size_t n, const char *text, size_t len);
int64_t load_now_ns(void);
double median(double *v, size_t n); /* sorts */
#endif
