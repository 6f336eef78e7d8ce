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
 * Where the environment says BIDE_BEHIND=nginx (or haproxy): puts it before
 * @servers, and its address in the place of theirs. NULL: it does not say so.
 */
struct balancer *
balancer_from_environment(struct scratch *s,
			  struct server *const servers[FLEET_SERVERS]);

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
