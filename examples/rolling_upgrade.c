/* SPDX-License-Identifier: MIT */
/*
 * rolling_upgrade: two versions of one tool, on instances of one deployment,
 * while calls are under way (SEP-2322, "Rolling Upgrades").
 *
 *     TOOL_VERSION=1 rolling_upgrade serve    github_login and google_login
 *     TOOL_VERSION=2 rolling_upgrade serve    github_login and microsoft_login
 *
 * There is nothing here for it: an answer stands under its key for as long as
 * the call lives. The version that asks for the key has it; one that does not
 * keeps it all the same, for the next round may land on the other version. A
 * question that this version does not ask is dropped, a new one is asked.
 *
 * What a key means must not change: an answer was checked against the form of
 * the version that asked. Give a question that means something else a new key,
 * as here.
 */
#include <bide/bide.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char name_form[] =
	"{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\","
	"\"minLength\":1}},\"required\":[\"name\"]}";

static const struct login {
	const char *key, *service;
} github = {"github_login", "GitHub"}, google = {"google_login", "Google"},
  microsoft = {"microsoft_login", "Microsoft"};

static int version(void)
{
	const char *v = getenv("TOOL_VERSION");

	return v != NULL && strcmp(v, "2") == 0 ? 2 : 1;
}

static enum bide_rc ask(struct bide_call *call, const struct login *login)
{
	char message[64];

	(void)snprintf(message, sizeof(message),
		       "Please provide your %s username", login->service);
	return bide_ask_form(call, login->key, message, name_form);
}

/* NULL: it was not given, and the call has ended with a text. */
static const char *take(struct bide_call *call, const struct login *login)
{
	const struct bide_answer *a = bide_answer(call, login->key);

	if (bide_answer_action(a) == BIDE_ACCEPT)
		return bide_answer_string(a, "name");
	(void)bide_text(call, "The %s login was %s. Nothing was linked.",
			login->service,
			bide_action_name(bide_answer_action(a)));
	return NULL;
}

static enum bide_rc link_accounts(struct bide_call *call, void *user)
{
	const struct login *second = version() == 1 ? &google : &microsoft;
	const char *one;
	const char *other;

	(void)user;
	BIDE_TRY(ask(call, &github));
	BIDE_TRY(ask(call, second));
	BIDE_TRY(bide_await(call));
	one = take(call, &github);
	other = one != NULL ? take(call, second) : NULL;
	if (other == NULL)
		return BIDE_OK;
	return bide_text(call,
			 "Linked %s (GitHub) and %s (%s), by version %d of the "
			 "tool.",
			 one, other, second->service, version());
}

const struct bide_tool link_accounts_tool = {
	BIDE_TOOL,
	.name = "link_accounts",
	.title = "Link accounts",
	.description = "Links two accounts of the user.",
	.handler = link_accounts,
	.needs = BIDE_CAN_ELICIT_FORM, /* or -32021, before the handler */
};

#ifndef EXAMPLES_TOGETHER /* demo_server serves all of them */
int main(int argc, char **argv)
{
	struct bide_server *s = bide_server_new("accounts", "1.0.0");
	struct bide_error err;
	int code = 1;

	if (bide_server_add_tool(s, &link_accounts_tool, &err) == BIDE_OK)
		code = bide_main(s, argc, argv);
	else
		(void)fprintf(stderr, "%s\n", err.text);
	bide_server_free(s);
	return code;
}
#endif
