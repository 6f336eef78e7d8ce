/* SPDX-License-Identifier: MIT */
/* "signal": tells listeners, on all instances, that something has changed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/admin/cli.h"

static const struct {
	const char *word;
	enum bide_changed what;
} lists[] = {
	{"tools", BIDE_CHANGED_TOOLS},
	{"prompts", BIDE_CHANGED_PROMPTS},
	{"resources", BIDE_CHANGED_RESOURCES},
};

/* @what, or without it the resource @uri. */
static bool parse(const struct cli *cli, enum bide_changed *what,
		  const char **uri)
{
	if (cli->argc == 3 && strcmp(cli->argv[1], "resource") == 0) {
		*what = BIDE_CHANGED_RESOURCES;
		*uri = cli->argv[2];
		return true;
	}
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (cli->argc == 2 &&
		    strcmp(cli->argv[1], lists[i].word) == 0) {
			*what = lists[i].what;
			return true;
		}
	return false;
}

/* Can anybody be listening? Where that cannot be known, yes. */
static bool anybody(struct store *s)
{
	struct store_peer *peers = NULL;
	size_t n = 0;
	bool any = store_peers(s, &peers, &n) != BIDE_OK;

	for (size_t i = 0; i < n; i++)
		any |= peers[i].alive && !peers[i].self;
	free(peers);
	return any;
}

static int say_done(const struct cli *cli, struct store *s, const char *uri)
{
	if (cli->json)
		return cli_print_json(cli, json_pack("{s:s, s:s*}", "announced",
						     cli->argv[1], "uri", uri));
	(void)printf("%s: announced%s\n", uri != NULL ? uri : cli->argv[1],
		     anybody(s) ? "" : " (no instance is running)");
	return fflush(stdout) == 0 ? CLI_OK : CLI_FAILED;
}

int admin_signal(const struct config *c, int argc, char **argv)
{
	enum bide_changed what = BIDE_CHANGED_TOOLS;
	struct bide_error err = {0};
	const char *uri = NULL;
	struct store *s;
	struct cli cli;
	enum bide_rc rc;
	int code;

	if (!cli_parse(&cli, c, argc, argv))
		return CLI_USAGE;
	if (!parse(&cli, &what, &uri))
		return cli_usage("signal", NULL);
	s = cli_open(&cli, false);
	if (s == NULL)
		return CLI_FAILED;
	rc = ops_signal(s, what, uri, &err);
	if (rc == BIDE_OK)
		code = say_done(&cli, s, uri);
	else
		code = cli_fail(&cli,
				rc == BIDE_INVALID ? CLI_USAGE : CLI_FAILED,
				"%s", err.text);
	store_close(s, 1000);
	return code;
}
