/* SPDX-License-Identifier: MIT */
#ifndef SERVER_MAIN_H
#define SERVER_MAIN_H
#include "bide/server.h"
#include "server/base/config.h"
#include "server/base/thread.h"
#include "server/catalog/registry.h"
#include "store/store.h"

/* For bide_server_changed(), which comes from threads of the program's. */
struct announcer {
	struct mutex lock; /* all below */
	struct cond left;
	struct store *store; /* NULL: not serving */
	size_t inside;
};

/* The top of the library: a server as the program built it, and its commands.
 */
struct bide_server {
	char *name, *version, *title, *instructions, *icons;
	struct registry *registry;
	struct config *config;
	bide_identity_fn identity;
	void *identity_user;
	struct announcer announcer;
};

#define NO_SERVER "no server: bide_server_new() returned NULL"

/* "serve": returns an exit code once it has drained. */
int main_serve(struct bide_server *server);

/* main_changed.c */
void announcer_init(struct announcer *a);
void announcer_fini(struct announcer *a);
void announcer_open(struct announcer *a, struct store *s);
/* Returns when nobody is inside any more. */
void announcer_close(struct announcer *a);
#endif
