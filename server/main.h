/* SPDX-License-Identifier: MIT */
#ifndef SERVER_MAIN_H
#define SERVER_MAIN_H
#include "bide/server.h"
#include "server/base/config.h"
#include "server/catalog/registry.h"

/* The top of the library: a server as the program built it, and its commands.
 */
struct bide_server {
	char *name, *version, *title, *instructions, *icons;
	struct registry *registry;
	struct config *config;
	bide_identity_fn identity;
	void *identity_user;
};

#define NO_SERVER "no server: bide_server_new() returned NULL"

/* "serve": returns an exit code once it has drained. */
int main_serve(struct bide_server *server);
#endif
