/* SPDX-License-Identifier: MIT */
#ifndef BIDE_PROMPT_H
#define BIDE_PROMPT_H

#include <bide/resource.h>
#include <bide/tool.h>
#include <bide/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bide_server;

/* One argument of a prompt (server/prompts, "Prompt"): a string. */
struct bide_prompt_arg {
	const char *name;
	const char *title;
	const char *description;
	bool required;
};

/**
 * struct bide_prompt - what bide_server_add_prompt() takes.
 *
 * Zero means the default everywhere. Set @size with BIDE_PROMPT.
 */
struct bide_prompt {
	size_t size;
	const char *name; /* as a tool's */
	const char *title;
	const char *description; /* shown in the list and with the messages */
	const char *icons;       /* JSON text of an array of Icon objects */
	const struct bide_prompt_arg *args;
	size_t n_args;
	/*
	 * Makes the messages: a handler as a tool's, entered again for each
	 * round (mrtr.mdx "Supported Requests"). Each piece of content becomes
	 * a message, of the user's until bide_role() says otherwise. Arguments
	 * are checked before it is entered: the required ones are there, and
	 * all are strings.
	 */
	bide_handler_fn handler;
	void *user;
	unsigned needs;            /* bide_can bits */
	bool runs_inline;          /* never blocks */
	int64_t input_deadline_ms; /* as a tool's, these three */
	int64_t wait_budget_ms;
	int64_t max_run_ms;
	bide_complete_fn complete; /* NULL: no suggestions */
};
#define BIDE_PROMPT .size = sizeof(struct bide_prompt)

/**
 * bide_server_add_prompt - register a prompt.
 *
 * Everything in @prompt is copied but what @prompt->user points to.
 * BIDE_INVALID: a name outside A-Z a-z 0-9 _ - . or longer than 128, an
 * argument without a name or with another's, no handler; the text says which.
 * BIDE_CONFLICT: the name is taken. BIDE_LIMIT.
 */
BIDE_API enum bide_rc bide_server_add_prompt(struct bide_server *server,
					     const struct bide_prompt *prompt,
					     struct bide_error *reterr)
	BIDE_NODISCARD;

#ifdef __cplusplus
}
#endif
#endif
