/* SPDX-License-Identifier: MIT */
/* What each of the operator's commands takes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "server/admin/cli.h"

static const struct usage {
	const char *command;
	const char *word; /* after the command; NULL: none */
	const char *takes;
	const char *what;
} usages[] = {
	{"tasks", "list",
	 " [--all] [--state S] [--tool T] [--principal P] [--limit N]",
	 "what has not ended, the newest first; --all: what has, too"},
	{"tasks", "show", " ID [--steps]",
	 "one task: its questions, its timeline; --steps: each step"},
	{"tasks", "cancel", " ID", "ends it, and tells its handler if it runs"},
	{"tasks", "answer", " ID KEY JSON|decline|cancel",
	 "answers a question, as a client would"},
	{"tasks", "expire", " ID", "its open questions time out now"},
	{"tasks", "retry", " ID",
	 "a failed task runs again, with the steps it recorded"},
	{"signal", "tools|prompts|resources", "",
	 "tells those who listen, on all instances, that the list has changed"},
	{"signal", "resource", " URI", "and that one resource has"},
	{"doctor", NULL, "", "looks the database and its instances over"},
	{"backup", NULL, " FILE", "copies the database while instances run"},
	{"migrate", NULL, "", "brings the database up to date, or makes it"},
};
#define USAGES (sizeof(usages) / sizeof(usages[0]))

static bool is_of(const struct usage *u, const char *command, const char *word)
{
	return strcmp(u->command, command) == 0 &&
	       (word == NULL ||
		(u->word != NULL && strcmp(u->word, word) == 0));
}

static size_t count(const char *command, const char *word)
{
	size_t n = 0;

	for (size_t i = 0; i < USAGES; i++)
		n += is_of(&usages[i], command, word);
	return n;
}

bool admin_help(const char *command, const char *word, FILE *out)
{
	const char *before = "usage:";

	if (word != NULL && count(command, word) == 0)
		word = NULL;
	if (count(command, word) == 0)
		return false;
	for (size_t i = 0; i < USAGES; i++) {
		const struct usage *u = &usages[i];

		if (!is_of(u, command, word))
			continue;
		(void)fprintf(out, "%s %s %s%s%s%s\n           %s\n", before,
			      program_invocation_short_name, u->command,
			      u->word != NULL ? " " : "",
			      u->word != NULL ? u->word : "", u->takes,
			      u->what);
		before = "      ";
	}
	(void)fprintf(out,
		      "\n%s  --db URL   the database, if it is not BIDE_DB or "
		      "bide.db\n  --json     one line of JSON\nAll options: %s "
		      "--help\n",
		      strcmp(command, "tasks") == 0
			      ? "  ID         may be cut to a beginning that "
				"no other has\n"
			      : "",
		      program_invocation_short_name);
	return true;
}

int cli_usage(const char *command, const char *word)
{
	(void)admin_help(command, word, stderr);
	return CLI_USAGE;
}
