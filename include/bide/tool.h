/* SPDX-License-Identifier: MIT */
#ifndef BIDE_TOOL_H
#define BIDE_TOOL_H
#include <bide/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

struct bide_call;

/**
 * bide_handler_fn - a tool.
 *
 * Entered from the top as often as needed: what it asked and did is kept under
 * explicit keys. Return BIDE_OK with content set, or pass on what a bide_*
 * function returned (BIDE_PENDING above all). May block; runs on a worker
 * thread unless the tool is inline. @call is valid until it returns.
 */
typedef enum bide_rc (*bide_handler_fn)(struct bide_call *call, void *user);

enum bide_mode {
	BIDE_EPHEMERAL =
		0,       /* state travels in requestState; no database write */
	BIDE_PERSISTENT, /* a task from its first entry; survives a crash */
	BIDE_EITHER      /* ephemeral until it calls bide_persist() */
};
enum bide_on_close {
	BIDE_CLOSE_CANCELS =
		0, /* nobody comes back within the grace: cancelled */
	BIDE_CLOSE_GOES_ON
};
enum bide_without_tasks { /* a caller without io.modelcontextprotocol/tasks */
			  BIDE_DETACH = 0,  /* waits, is sent round, then gets a
					       handle for wait_for_task */
			  BIDE_DEMAND_TASKS /* is refused with -32021 */
};

/* What a client can do: declared on each request, never remembered.
 * Sampling and roots are deprecated by the specification (deprecated.mdx):
 * prefer a model of your own, and paths as arguments or configuration. */
enum bide_can {
	BIDE_CAN_ELICIT_FORM = 1 << 0,
	BIDE_CAN_ELICIT_URL = 1 << 1,
	BIDE_CAN_SAMPLE = 1 << 2,
	BIDE_CAN_SAMPLE_TOOLS = 1 << 3,
	BIDE_CAN_SAMPLE_CONTEXT = 1 << 4,
	BIDE_CAN_ROOTS = 1 << 5,
	BIDE_CAN_TASKS = 1 << 6
};

/**
 * struct bide_tool - what bide_server_add_tool() takes.
 *
 * Zero means the default everywhere. Times are milliseconds. Set @size to
 * sizeof(struct bide_tool) (BIDE_TOOL does it).
 */
struct bide_tool {
	size_t size;
	const char *name;
	const char *title;
	const char *description;
	const char *version;       /* on the task; "" when NULL */
	const char *input_schema;  /* JSON text of an object schema; NULL: no
				      arguments needed. "x-mcp-header" in it
				      mirrors a parameter into a header, and is
				      checked (server/tools, "x-mcp-header") */
	const char *output_schema; /* JSON text; NULL: none */
	const char *annotations;   /* JSON text of a ToolAnnotations object */
	const char *icons;         /* JSON text of an array of Icon objects */
	bide_handler_fn handler;
	void *user; /* for the handler; not owned, shared by all its calls, on
		       many threads, until bide_main() returns */

	enum bide_mode mode;
	unsigned needs;   /* bide_can bits: without them -32021, before the
			     handler */
	bool runs_inline; /* never blocks: run where the request arrived;
			     ephemeral only */
	bool single_use;  /* ephemeral: a requestState is consumed at most once
			   */
	enum bide_on_close on_close;
	enum bide_without_tasks without_tasks;
	int64_t ttl_ms; /* of a task while it lives, then it fails; 0: unlimited
			   (null) */
	int64_t retention_ms;      /* of its result; 0: option retention */
	int64_t input_deadline_ms; /* of a question; 0: option input-deadline */
	int64_t wait_budget_ms;    /* 0: option wait-budget; -1: no wait */
	int64_t poll_interval_ms;  /* 0: option poll-interval */
	/* Of one entry of a handler; 0: none. Then it is cancelled and the
	 * call ends in an error: a task at once, any other call when the
	 * handler leaves. */
	int64_t max_run_ms;
};
#define BIDE_TOOL .size = sizeof(struct bide_tool)

#ifdef __cplusplus
}
#endif
#endif
