/* SPDX-License-Identifier: MIT */
#include <bide/bide.h>
#include <stdio.h>

#define WHO                                                                    \
	"{\"type\":\"object\",\"required\":[\"who\"],\"properties\":{\"who\":{\"type\":\"string\"}}}"
#define FORM                                                                   \
	"{\"type\":\"object\",\"required\":[\"ok\"],\"properties\":{\"ok\":{\"type\":\"boolean\"}}}"

/* Something with an effect, done once: a step. */
static enum bide_rc change(struct bide_call *call, const char *what)
{
	enum bide_rc rc = bide_step_begin(call, what, NULL);

	if (rc != BIDE_RUN)
		return rc; /* BIDE_OK: it is in the record already */
	fprintf(stderr, "%s access, request %s\n", what, bide_step_id(call));
	return bide_step_commit(call, json_true(), NULL);
}

static enum bide_rc lend_access(struct bide_call *call, void *user)
{
	const char *who = bide_arg_string(call, "who");

	(void)user;
	BIDE_TRY(bide_ask_form(call, "approve", "Let them in for an hour?",
			       FORM));
	BIDE_TRY(bide_await(call)); /* leaves here, comes back from the top */
	if (!bide_answer_bool(bide_answer(call, "approve"), "ok", false))
		return bide_text(call, "No access for %s.", who);
	BIDE_TRY(change(call, "grant"));
	BIDE_TRY(bide_sleep(call, "lent", 3600 * 1000)); /* holds no thread */
	BIDE_TRY(change(call, "revoke"));
	return bide_text(call, "%s had access for an hour.", who);
}

int main(int argc, char **argv)
{
	struct bide_server *server = bide_server_new("access", "1.0.0");
	struct bide_tool tool = {BIDE_TOOL, .name = "lend_access",
				 .input_schema = WHO, .handler = lend_access,
				 .mode = BIDE_PERSISTENT};
	struct bide_error err;
	int code;

	if (bide_server_add_tool(server, &tool, &err) != BIDE_OK)
		return fprintf(stderr, "%s\n", err.text), 1;
	code = bide_main(server, argc, argv);
	bide_server_free(server);
	return code;
}
