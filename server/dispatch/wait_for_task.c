/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "bide/content.h"
#include "server/dispatch/tools.h"

/*
 * wait_for_task: for clients that know neither tasks nor patience. A call that
 * detached named a handle; the model passes it here, as often as it takes.
 */
#define DESCRIPTION                                                            \
	"Waits for a tool call that said it goes on in the background, and "   \
	"gives its result. Pass the handle that the call gave. If the work "   \
	"is still not finished, call this again with the same handle. A "      \
	"handle stays good until the result has expired."
#define SCHEMA                                                                 \
	"{\"type\":\"object\",\"properties\":{\"handle\":{"                    \
	"\"type\":\"string\",\"minLength\":1,\"description\":"                 \
	"\"The handle, exactly as it was given.\"}},"                          \
	"\"required\":[\"handle\"],\"additionalProperties\":false}"

static enum bide_rc never_entered(struct bide_call *call, void *user)
{
	(void)user;
	return bide_fail(call, CORE_INTERNAL, "wait_for_task", NULL);
}

enum bide_rc dispatch_add_tools(struct registry *r, struct bide_error *reterr)
{
	const struct bide_tool tool = {
		BIDE_TOOL,
		.name = "wait_for_task",
		.title = "Wait for a background call",
		.description = DESCRIPTION,
		.input_schema = SCHEMA,
		.annotations = "{\"readOnlyHint\":true,"
			       "\"openWorldHint\":false}",
		.handler = never_entered,
	};

	return registry_add_tool(r, &tool, true, reterr);
}

void wait_for_task_call(struct dispatch *d, struct request *rq,
			const struct tool *tool, json_t *args)
{
	const char *text = json_string_value(json_object_get(args, "handle"));
	struct continuation c = {0};
	bool accepted = text != NULL && rq->reply->open_wait(rq, text, &c);

	json_decref(args);
	if (accepted)
		handle_return(d, rq, tool, &c);
	else
		core_tool_error(d, rq, NULL, CORE_HANDLE_REFUSED);
}
