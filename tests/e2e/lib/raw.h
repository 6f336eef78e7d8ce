/* SPDX-License-Identifier: MIT */
#ifndef TESTS_E2E_RAW_H
#define TESTS_E2E_RAW_H
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "tests/e2e/lib/client.h"
/*
 * One HTTP/1.1 connection that sends what a test says, in the pieces it says,
 * and believes only what is framed as RFC 9112 has it: an answer that is not,
 * or that is cut off, ends the test with a message, and so does one that has
 * not come after a minute.
 */
struct raw {
	int fd;   /* -1: closed */
	char *in; /* received, and not yet taken */
	size_t len, cap;
	bool last;     /* the server said that it closes after this answer */
	int continues; /* "100 Continue" seen so far */
	int opened;    /* connections made so far */
};
/* How a request looks; zero: plainly, its length said, in one piece. */
struct shape {
	bool odd_case; /* hEaDeR nAmEs */
	bool chunked;  /* its body in chunks */
	bool expect;   /* Expect: 100-continue */
};

/* @c is zero, or was closed. */
void raw_open(struct raw *c, const char *url);
void raw_close(struct raw *c);
/* The bytes of a request; free(). @params: stolen. */
char *raw_request(const struct ask *a, const char *method, const char *name,
		  json_t *params, const struct shape *shape);
void raw_send(struct raw *c, const char *text);
/* A tools/call, by itself; @args: stolen, @state may be NULL. */
void raw_call(struct raw *c, const struct ask *a, const char *name,
	      json_t *args, const char *state);
void raw_drip(struct raw *c, const char *text); /* each byte on its own */
/* A request that expects it: its body once "100 Continue" has come. False: the
 * answer came instead. */
bool raw_send_expecting(struct raw *c, const char *text);
void raw_half_close(struct raw *c);
/* Whether something can be read, the end too, within @ms. */
bool raw_readable(struct raw *c, int ms);
/* Waits for what comes next, and says whether it is the end. */
bool raw_ended(struct raw *c);
/* The next answer. NULL: the connection ended before a byte of it. */
struct reply *raw_reply(struct raw *c, const char *method);
#endif
