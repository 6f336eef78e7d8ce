/* SPDX-License-Identifier: MIT */
/*
 * update_work_item: SEP-2322's example of custom rules, in three rounds.
 *
 *   Rule 1: a State of "Resolved" requires a Resolution.
 *   Rule 2: a Resolution of "Duplicate" requires a Duplicate Of.
 *
 * The second question depends on the answer to the first, so they come one
 * after the other. No instance keeps anything: the answers so far travel in
 * requestState, and each round may land elsewhere. The work item itself is the
 * tracker's; it is written once, after the last answer.
 *
 * A field that the arguments have is not asked for, which is also how a client
 * without forms gets there.
 */
#include <bide/bide.h>
#include <stdio.h>
#include <string.h>

#define RESOLUTIONS                                                            \
	"\"type\":\"string\","                                                 \
	"\"enum\":[\"Fixed\",\"Won't Fix\",\"Duplicate\",\"By Design\"]"
#define WORK_ITEM "\"type\":\"integer\",\"minimum\":1"

static const char input_schema[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"workItemId\":{" WORK_ITEM "},"
	"\"fields\":{\"type\":\"object\",\"properties\":{"
	"\"System.State\":{\"type\":\"string\",\"maxLength\":40},"
	"\"Resolution\":{" RESOLUTIONS "},"
	"\"Duplicate Of\":{" WORK_ITEM "}},"
	"\"required\":[\"System.State\"],\"additionalProperties\":false}},"
	"\"required\":[\"workItemId\",\"fields\"]}";

static const char resolution_form[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"resolution\":{" RESOLUTIONS ","
	"\"description\":\"Resolution type for this bug\"}},"
	"\"required\":[\"resolution\"]}";

static const char duplicate_form[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"duplicateOfId\":{" WORK_ITEM ","
	"\"description\":\"Work item ID of the original bug\"}},"
	"\"required\":[\"duplicateOfId\"]}";

struct change {
	int64_t id;
	const char *state;
	const char *resolution; /* NULL: none */
	int64_t duplicate_of;   /* 0: none */
};

/* One question. NULL: *@rc is what to return; the call may have ended. */
static const struct bide_answer *ask(struct bide_call *call, const char *key,
				     const char *message, const char *form,
				     enum bide_rc *rc)
{
	const struct bide_answer *a;

	*rc = bide_ask_form(call, key, message, form);
	if (*rc == BIDE_NO_CAPABILITY) {
		*rc = bide_text(call,
				"This client cannot show a form. Ask the user: "
				"%s Then call again with the answer in fields, "
				"as \"Resolution\" or \"Duplicate Of\".",
				message);
		return NULL;
	}
	if (*rc == BIDE_OK)
		*rc = bide_await(call);
	if (*rc != BIDE_OK)
		return NULL;
	a = bide_answer(call, key);
	if (bide_answer_action(a) == BIDE_ACCEPT)
		return a;
	*rc = bide_text(call, "The question was %s. Nothing was changed.",
			bide_action_name(bide_answer_action(a)));
	return NULL;
}

/* Rule 1. False: *@rc is what to return. */
static bool need_resolution(struct bide_call *call, struct change *c,
			    enum bide_rc *rc)
{
	const struct bide_answer *a;
	char message[128];

	if (strcmp(c->state, "Resolved") != 0 || c->resolution != NULL)
		return true;
	(void)snprintf(message, sizeof(message),
		       "Resolving Bug #%lld requires a resolution. How was "
		       "this bug resolved?",
		       (long long)c->id);
	a = ask(call, "resolution", message, resolution_form, rc);
	c->resolution = bide_answer_string(a, "resolution");
	return a != NULL;
}

/* Rule 2, likewise. */
static bool need_original(struct bide_call *call, struct change *c,
			  enum bide_rc *rc)
{
	const struct bide_answer *a;

	if (c->resolution == NULL || strcmp(c->resolution, "Duplicate") != 0 ||
	    c->duplicate_of != 0)
		return true;
	a = ask(call, "duplicate_of",
		"Since this is a duplicate, which work item is the original?",
		duplicate_form, rc);
	c->duplicate_of = bide_answer_int(a, "duplicateOfId", 0);
	return a != NULL;
}

/* Stands for the tracker. It can tell a repetition by the step's id. */
static enum bide_rc write_change(struct bide_call *call, const struct change *c)
{
	enum bide_rc rc = bide_step_begin(call, "write", NULL);

	if (rc != BIDE_RUN)
		return rc;
	(void)fprintf(stderr, "work item %lld is %s, request %s\n",
		      (long long)c->id, c->state, bide_step_id(call));
	return bide_step_commit(call, json_true(), NULL);
}

static enum bide_rc update_work_item(struct bide_call *call, void *user)
{
	const json_t *fields = json_object_get(bide_args(call), "fields");
	struct change c = {
		.id = bide_arg_int(call, "workItemId", 0),
		.state = json_string_value(
			json_object_get(fields, "System.State")),
		.resolution = json_string_value(
			json_object_get(fields, "Resolution")),
		.duplicate_of = json_integer_value(
			json_object_get(fields, "Duplicate Of")),
	};
	enum bide_rc rc = BIDE_OK;

	(void)user;
	if (!need_resolution(call, &c, &rc) || !need_original(call, &c, &rc))
		return rc;
	if (c.duplicate_of == c.id)
		return bide_error_text(call,
				       "Bug #%lld cannot be a duplicate of "
				       "itself. Nothing was changed.",
				       (long long)c.id);
	BIDE_TRY(write_change(call, &c));
	if (c.duplicate_of != 0)
		return bide_text(call,
				 "Bug #%lld resolved as Duplicate of Bug "
				 "#%lld. State set to %s and duplicate link "
				 "created.",
				 (long long)c.id, (long long)c.duplicate_of,
				 c.state);
	return bide_text(call, "Bug #%lld: State set to %s%s%s.",
			 (long long)c.id, c.state,
			 c.resolution != NULL ? ", Resolution to " : "",
			 c.resolution != NULL ? c.resolution : "");
}

const struct bide_tool update_work_item_tool = {
	BIDE_TOOL,
	.name = "update_work_item",
	.title = "Update a work item",
	.description = "Sets fields of a work item; asks for those that the "
		       "tracker's rules require.",
	.input_schema = input_schema,
	.handler = update_work_item,
	.single_use = true, /* a repeated last round changes nothing more */
};

#ifndef EXAMPLES_TOGETHER /* demo_server serves all of them */
int main(int argc, char **argv)
{
	struct bide_server *s = bide_server_new("work-items", "1.0.0");
	struct bide_error err;
	int code = 1;

	if (bide_server_add_tool(s, &update_work_item_tool, &err) == BIDE_OK)
		code = bide_main(s, argc, argv);
	else
		(void)fprintf(stderr, "%s\n", err.text);
	bide_server_free(s);
	return code;
}
#endif
