/* SPDX-License-Identifier: MIT */
#ifndef BIDE_SERVER_H
#define BIDE_SERVER_H
#include <bide/call.h>
#include <bide/types.h>
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif

struct bide_server;
struct bide_tool;
struct bide_peer;

/**
 * bide_server_new - a server with a name and a version, and no tools yet.
 * @name, @version: copied; shown to clients as serverInfo
 *	(server/discover, "DiscoverResult").
 *
 * Returns NULL when memory is short or an argument is empty;
 * bide_server_add_tool() and bide_main() say so for those who do not look. One
 * thread builds a server; after bide_main() has begun it does not change.
 */
BIDE_API struct bide_server *bide_server_new(const char *name,
					     const char *version);
BIDE_API void bide_server_free(struct bide_server *server); /* accepts NULL */

/* Optional facts for clients; copied, NULL for none. @icons_json: an array of
 * Icon objects. BIDE_INVALID (icons), BIDE_NOMEM. */
BIDE_API enum bide_rc bide_server_set_title(struct bide_server *server,
					    const char *title);
BIDE_API enum bide_rc bide_server_set_instructions(struct bide_server *server,
						   const char *text);
BIDE_API enum bide_rc bide_server_set_icons(struct bide_server *server,
					    const char *icons_json,
					    struct bide_error *reterr);

/**
 * bide_server_set_option - the program's own default for an option.
 * @name: as on the command line, without dashes ("wait-budget").
 *
 * The configuration file, the environment and the command line win over it.
 * BIDE_INVALID: unknown option or a value out of its range.
 */
BIDE_API enum bide_rc bide_server_set_option(struct bide_server *server,
					     const char *name,
					     const char *value,
					     struct bide_error *reterr);

/* One request header, or NULL. @name in any case. Borrowed for the callback. */
BIDE_API const char *bide_peer_header(const struct bide_peer *peer,
				      const char *name);
/* The remote address as text. Borrowed for the callback. */
BIDE_API const char *bide_peer_address(const struct bide_peer *peer);

/**
 * bide_identity_fn - says who is calling.
 * @principal: written by the callback, NUL-terminated, at most @cap bytes with
 *	the NUL (cap is 257). Empty text is the anonymous caller.
 *
 * Returns BIDE_OK; BIDE_NOT_FOUND when the credentials are missing or wrong
 * (the request is answered 401). Called on a transport thread for each
 * request: it must not block. A task, a sealed state and an idempotency key
 * belong to the principal that made them; another one cannot tell them from
 * ones that do not exist.
 */
typedef enum bide_rc (*bide_identity_fn)(const struct bide_peer *peer,
					 char *principal, size_t cap,
					 void *user);
/* @user: handed to @fn, not owned; lives until bide_main() returns. */
BIDE_API enum bide_rc bide_server_set_identity(struct bide_server *server,
					       bide_identity_fn fn, void *user);

/**
 * bide_server_add_tool - register a tool; everything in @tool is copied but
 *	what @tool->user points to.
 *
 * Refused with BIDE_INVALID and a text that names the tool and the place: a
 * name outside A-Z a-z 0-9 _ - . or longer than 128 (server/tools, "Tool
 * Names"), a schema that is not valid or points outside itself, a negative
 * time, settings that contradict each other. BIDE_CONFLICT: the name is taken.
 */
BIDE_API enum bide_rc bide_server_add_tool(struct bide_server *server,
					   const struct bide_tool *tool,
					   struct bide_error *reterr)
	BIDE_NODISCARD;

/**
 * bide_server_changed - as bide_changed(), from anywhere in the program:
 *	a thread of its own that watches files, say.
 *
 * Any thread, while bide_main() serves; before and after it returns BIDE_BUSY.
 * What changes as the program starts: try again until it is not BIDE_BUSY.
 * Blocks for one commit. The other codes are those of bide_changed().
 */
BIDE_API enum bide_rc bide_server_changed(struct bide_server *server,
					  enum bide_changed what);
BIDE_API enum bide_rc bide_server_resource_changed(struct bide_server *server,
						   const char *uri);

/**
 * bide_main - the whole command line: serve, tasks, signal, doctor, backup,
 *	migrate, version, help.
 * @argv: reordered while the options are taken out; not kept.
 *
 * Returns an exit code: 0, 1 (failed), 2 (usage). "serve" returns after
 * SIGTERM or SIGINT once it has drained. Call it once, from the main thread.
 * @server stays the caller's, for bide_server_free().
 *
 * It does not return when a handler, a list or a completion still runs as
 * drain-grace is over, for that may look at anything: the process ends with
 * quick_exit(0), and with 1 where it could not begin to serve. Then nothing
 * behind bide_main() is done, atexit() functions are not called, and stdio
 * streams are not flushed; at_quick_exit() functions are called. What must be
 * done at the end in any case belongs there.
 */
BIDE_API int bide_main(struct bide_server *server, int argc, char **argv);

BIDE_API const char *bide_version(void);

#ifdef __cplusplus
}
#endif
#endif
