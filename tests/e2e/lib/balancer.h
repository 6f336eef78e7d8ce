/* SPDX-License-Identifier: MIT */
#ifndef TESTS_E2E_BALANCER_H
#define TESTS_E2E_BALANCER_H
#include <stdbool.h>
#include <stddef.h>

#include "tests/e2e/lib/server.h"
/*
 * nginx or HAProxy before three servers, by the files of examples/fleet: the
 * ports in them are replaced, nothing else.
 */
#define FLEET_SERVERS 3

struct balancer {
	pid_t pid;
	char url[128]; /* of the endpoint, through it */
	char log[320];
};
/* "nginx" or "haproxy". */
bool balancer_installed(const char *which);
struct balancer *balancer_start(const char *which, struct scratch *s, int port,
				struct server *const servers[FLEET_SERVERS]);
void balancer_free(struct balancer *b); /* NULL will do */
/*
 * For a program whose tests ask two servers, started with @args: where the
 * environment says BIDE_BEHIND=nginx (or haproxy) they ask that one instead,
 * before these two and a third. Ends the program as skipped when it is not
 * installed.
 */
void balancer_behind_start(const char *const *args, struct server *one,
			   struct server *two);
void balancer_behind_end(void);

/* The whole: servers that can be stopped and started again. */
struct fleet {
	struct scratch *scratch;
	const char *const *args; /* of each server */
	int first_port;          /* the balancer's, then the servers' */
	struct server *server[FLEET_SERVERS];
	struct balancer *balancer;
};
struct fleet *fleet_start(const char *which, const char *const *args);
/* Starts server @i again, after it has ended, at its old port. */
void fleet_start_again(struct fleet *f, size_t i);
void fleet_free(struct fleet *f);
#endif
