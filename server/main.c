/* SPDX-License-Identifier: MIT */
/* bide_main(): which command, with which options. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/admin/admin.h"
#include "server/base/log.h"
#include "server/main.h"

#define EXIT_USAGE 2

static int usage(const struct bide_server *s, FILE *out)
{
	(void)fprintf(
		out,
		"%s %s (bide %s)\n\n"
		"usage: %s COMMAND [options]\n\n"
		"  serve            serve MCP over HTTP (the default)\n"
		"  tasks list       what is pending, for whom, on which "
		"question\n"
		"  tasks show ID    one task: its timeline, questions, steps\n"
		"  tasks cancel ID | answer ID KEY JSON | expire ID | retry "
		"ID\n"
		"  signal tools|prompts|resources | resource URI\n"
		"                   tell listeners that it has changed\n"
		"  doctor           look the database and its instances over\n"
		"  backup FILE      copy the database while instances run\n"
		"  migrate          bring the database up to date and exit\n"
		"  version          print the version\n\n"
		"options (each is also BIDE_NAME in the environment, and "
		"name = value in a --config file):\n",
		s->name, s->version, bide_version(),
		program_invocation_short_name);
	config_help(out);
	(void)fputs("  --print-config\n"
		    "      what is in force, and where each value came from\n"
		    "  --json\n"
		    "      of the operator's commands: one line of JSON\n"
		    "  --help, --version\n"
		    "      --help behind a command: what that one takes\n",
		    out);
	return out == stderr ? EXIT_USAGE : 0;
}

static int fail_usage(const struct bide_server *s, const char *what)
{
	(void)fprintf(stderr, "%s: %s\nTry: %s --help\n", s->name, what,
		      program_invocation_short_name);
	return EXIT_USAGE;
}

/* Takes a bare flag that is no option of the table out of argv. */
static bool take_flag(int *argc, char **argv, const char *flag)
{
	bool found = false;
	int kept = 1;

	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], flag) == 0)
			found = true;
		else
			argv[kept++] = argv[i];
	}
	if (found) {
		*argc = kept;
		argv[kept] = NULL;
	}
	return found;
}

static bool load(struct bide_server *s, int *argc, char **argv,
		 struct bide_error *err)
{
	return config_load_args(s->config, argc, argv, err) == BIDE_OK &&
	       config_load_env(s->config, err) == BIDE_OK;
}

static int print_version(const struct bide_server *s)
{
	(void)printf("%s %s (bide %s)\n", s->name, s->version, bide_version());
	return 0;
}

static int unknown_command(const struct bide_server *s, const char *command)
{
	(void)fprintf(
		stderr,
		"%s: there is no command \"%.60s\": serve, tasks, "
		"signal, doctor, backup, migrate or version\nTry: %s --help\n",
		s->name, command, program_invocation_short_name);
	return EXIT_USAGE;
}

/* Of the command in @argv, if it has an own one. */
static int help(const struct bide_server *s, int argc, char **argv)
{
	if (argc > 1 && admin_help(argv[1], argc > 2 ? argv[2] : NULL, stdout))
		return 0;
	return usage(s, stdout);
}

static int run_command(struct bide_server *s, int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "serve";

	if (strcmp(command, "serve") == 0 && argc <= 2)
		return main_serve(s);
	if (strcmp(command, "tasks") == 0)
		return admin_tasks(s->config, argc - 1, argv + 1);
	if (strcmp(command, "signal") == 0)
		return admin_signal(s->config, argc - 1, argv + 1);
	if (strcmp(command, "doctor") == 0)
		return admin_doctor(s->config, argc - 1, argv + 1);
	if (strcmp(command, "backup") == 0)
		return admin_backup(s->config, argc - 1, argv + 1);
	if (strcmp(command, "migrate") == 0)
		return admin_migrate(s->config, argc - 1, argv + 1);
	if (strcmp(command, "version") == 0)
		return print_version(s);
	if (strcmp(command, "help") == 0)
		return help(s, argc - 1, argv + 1);
	if (strcmp(command, "serve") == 0)
		return fail_usage(s, "serve takes options only");
	return unknown_command(s, command);
}

/* Configured, with the words of the operator's commands back in argv. */
static int configured(struct bide_server *s, bool print, int argc, char **argv)
{
	enum log_level level = LOG_INFO;

	if (!log_level_parse(config_string(s->config, CONFIG_LOG_LEVEL),
			     &level))
		return fail_usage(s, "log-level: expected debug, info, warn, "
				     "error or none");
	log_set_level(level);
	if (print) {
		config_print(s->config, stdout);
		return 0;
	}
	return run_command(s, argc, argv);
}

int bide_main(struct bide_server *server, int argc, char **argv)
{
	struct bide_error err = {0};
	char **aside = calloc((size_t)argc + 1, sizeof(*aside));
	bool print;
	int naside;
	int code;

	if (server == NULL)
		(void)fprintf(stderr, "bide_main: %s\n", NO_SERVER);
	if (server == NULL || aside == NULL) {
		free(aside);
		return 1;
	}
	if (take_flag(&argc, argv, "--help") || take_flag(&argc, argv, "-h")) {
		free(aside);
		return help(server, argc, argv);
	}
	if (take_flag(&argc, argv, "--version")) {
		free(aside);
		return print_version(server);
	}
	print = take_flag(&argc, argv, "--print-config");
	/* The configuration's table does not know the commands' own options. */
	naside = admin_set_aside(&argc, argv, aside);
	if (load(server, &argc, argv, &err)) {
		memcpy(argv + argc, aside, (size_t)naside * sizeof(*aside));
		argc += naside;
		code = configured(server, print, argc, argv);
	} else {
		code = fail_usage(server, err.text);
	}
	free(aside);
	return code;
}
