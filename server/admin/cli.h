/* SPDX-License-Identifier: MIT */
#ifndef ADMIN_CLI_H
#define ADMIN_CLI_H
#include <jansson.h>

#include "server/admin/admin.h"
#include "server/admin/ops.h"
/* What the commands share. */
#define CLI_OK     0
#define CLI_FAILED 1
#define CLI_USAGE  2

struct cli {
	const struct config *config;
	bool json, all;
	const char *state, *tool, *principal;
	const char *limit; /* a number, or NULL */
	int argc;          /* words that are no options; argv[0] the command */
	char **argv;
	bool steps; /* every step, not runs of them in one line */
};
/* Takes the options out of @argv; false (and it said so): usage. */
bool cli_parse(struct cli *cli, const struct config *c, int argc, char **argv);
/* For reading: no writer, no gate. NULL: it said why. */
struct store *cli_open(const struct cli *cli, bool read_only);
/* "tasks: text" on standard error; returns the code. */
int cli_fail(const struct cli *cli, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* One line of JSON on standard output; takes @value. Returns an exit code. */
int cli_print_json(const struct cli *cli, json_t *value);

/* cli_usage.c: how @command, or its @word alone, is used, on standard error;
 * returns CLI_USAGE. */
int cli_usage(const char *command, const char *word);
/* cli_show.c: one task, whole. */
int cli_show(const struct cli *cli, struct store *s,
	     const struct store_task *t);
/* cli_view.c: a task as JSON. @whole: with its history. */
json_t *cli_view(const struct store_task *t, bool whole);
#endif
