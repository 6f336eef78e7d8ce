/* SPDX-License-Identifier: MIT */
#include "server/admin/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/base/jsontext.h"
#include "server/base/log.h"

/* ---- options ---- */
struct option {
	const char *name;
	bool value;
};
static const struct option options[] = {
	{"--json", false},     {"--all", false}, {"--steps", false},
	{"--state", true},     {"--tool", true}, {"--limit", true},
	{"--principal", true},
};

/* The option that @word is, with or without its value; NULL: none. */
static const struct option *find_option(const char *word)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		size_t len = strlen(options[i].name);

		if (strncmp(word, options[i].name, len) == 0 &&
		    (word[len] == '\0' ||
		     (word[len] == '=' && options[i].value)))
			return &options[i];
	}
	return NULL;
}

int admin_set_aside(int *argc, char **argv, char **aside)
{
	int kept = 1;
	int n = 0;

	for (int i = 1; i < *argc; i++) {
		const struct option *o = find_option(argv[i]);

		if (o == NULL) {
			argv[kept++] = argv[i];
			continue;
		}
		aside[n++] = argv[i];
		if (o->value && strchr(argv[i], '=') == NULL && i + 1 < *argc)
			aside[n++] = argv[++i];
	}
	*argc = kept;
	argv[kept] = NULL;
	return n;
}

static bool take(struct cli *cli, const struct option *o, const char *value)
{
	if (strcmp(o->name, "--json") == 0)
		cli->json = true;
	else if (strcmp(o->name, "--all") == 0)
		cli->all = true;
	else if (strcmp(o->name, "--steps") == 0)
		cli->steps = true;
	else if (strcmp(o->name, "--state") == 0)
		cli->state = value;
	else if (strcmp(o->name, "--tool") == 0)
		cli->tool = value;
	else if (strcmp(o->name, "--limit") == 0)
		cli->limit = value;
	else
		cli->principal = value;
	return !o->value || value != NULL;
}

bool cli_parse(struct cli *cli, const struct config *c, int argc, char **argv)
{
	int kept = 1;

	/* What goes on inside is for the logs of a server, unless asked for. */
	if (strcmp(config_string(c, CONFIG_LOG_LEVEL), "info") == 0)
		log_set_level(LOG_WARN);
	*cli = (struct cli){.config = c, .argv = argv, .argc = 1};
	for (int i = 1; i < argc; i++) {
		const struct option *o = find_option(argv[i]);
		const char *value = o != NULL ? strchr(argv[i], '=') : NULL;

		if (o == NULL) {
			argv[kept++] = argv[i];
			continue;
		}
		if (value != NULL)
			value++;
		else if (o->value && i + 1 < argc)
			value = argv[++i];
		if (!take(cli, o, value)) {
			(void)cli_fail(cli, CLI_USAGE, "%s needs a value",
				       o->name);
			return false;
		}
	}
	cli->argc = kept;
	return true;
}

/* ---- the store ---- */
void admin_store_options(const struct config *c, struct store_options *ret)
{
	*ret = (struct store_options){
		.url = config_string(c, CONFIG_DB),
		.lease_ms = config_int(c, CONFIG_LEASE),
		.poll_ms = config_int(c, CONFIG_STORE_POLL),
		.break_frozen_holder =
			config_bool(c, CONFIG_BREAK_FROZEN_HOLDER),
	};
}

struct store *cli_open(const struct cli *cli, bool read_only)
{
	struct store_options opt;
	struct bide_error err = {0};
	struct store *s = NULL;

	admin_store_options(cli->config, &opt);
	opt.read_only = read_only;
	if (store_open(&opt, &s, &err) == BIDE_OK)
		return s;
	(void)cli_fail(cli, CLI_FAILED, "%s%s",
		       err.text[0] != '\0' ? err.text : "out of memory",
		       err.rc == BIDE_NOT_FOUND
			       ? "; --db or BIDE_DB says where it is"
			       : "");
	return NULL;
}

/* ---- saying ---- */
int cli_fail(const struct cli *cli, int code, const char *fmt, ...)
{
	va_list ap;

	(void)fprintf(stderr, "%s: ", cli->argv[0]);
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
	return code;
}

int cli_print_json(const struct cli *cli, json_t *value)
{
	struct buf out = {0};
	bool good = value != NULL && jsontext_write(value, &out) &&
		    buf_addc(&out, '\n');

	good = good && fwrite(out.data, 1, out.len, stdout) == out.len &&
	       fflush(stdout) == 0;
	buf_fini(&out);
	json_decref(value);
	return good ? CLI_OK
		    : cli_fail(cli, CLI_FAILED, "cannot write the answer");
}
