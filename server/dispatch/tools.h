/* SPDX-License-Identifier: MIT */
#ifndef DISPATCH_TOOLS_H
#define DISPATCH_TOOLS_H
#include "server/dispatch/core.h"
/* How one tools/call goes on, by the kind of its tool and of its state. */

/* tools.c */
void tools_call_again(struct dispatch *d, struct request *rq);

/* once.c: tool and arguments in one digest; a key belongs to both. */
void once_digest(struct request *rq, const struct target *target, char out[44]);

/* ephemeral.c. @args: stolen. */
void ephemeral_start(struct dispatch *d, struct request *rq,
		     const struct target *target, json_t *args);
/* A record that was sealed while the tool was ephemeral; NULL: no memory or
 * not a record. */
struct bide_call *ephemeral_load(struct dispatch *d, struct request *rq,
				 const struct target *target, json_t *args,
				 const char *chain, void *backend_data);

/*
 * create.c: makes the task, then answers with it or waits for it.
 * @args, @from: stolen; @from may be NULL. @old: the request's present
 * pending, left to the caller to free; NULL: it has none.
 */
void create_task(struct dispatch *d, struct request *rq,
		 const struct tool *tool, json_t *args, const char *chain,
		 struct bide_call *from, struct pending *old);

/*
 * handle.c: a request that comes back for a task.
 * @tool: the one that is called: the task's own, or wait_for_task.
 */
void handle_return(struct dispatch *d, struct request *rq,
		   const struct tool *tool, const struct continuation *c);

/* wait_for_task.c. @args: stolen. */
void wait_for_task_call(struct dispatch *d, struct request *rq,
			const struct tool *tool, json_t *args);
#endif
