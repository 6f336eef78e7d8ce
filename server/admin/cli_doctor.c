/* SPDX-License-Identifier: MIT */
/* "doctor", "backup" and "migrate". */
#include <stdio.h>
#include <stdlib.h>

#include "server/admin/cli.h"
#include "server/admin/words.h"
#include "server/base/clock.h"

/* A ready task that nobody took for so long, while somebody could. */
#define READY_TOO_LONG_MS 60000

struct report {
	const struct cli *cli;
	json_t *checks; /* NULL: lines are printed */
	bool good;
};

static void say(void *user, bool good, const char *line)
{
	struct report *r = user;

	r->good &= good;
	if (r->checks != NULL)
		(void)json_array_append_new(
			r->checks,
			json_pack("{s:b, s:s}", "good", good, "text", line));
	else
		(void)printf("%s  %s\n", good ? "ok " : "BAD", line);
}

static void say_ready(struct report *r, const struct store_counts *n,
		      int64_t now, size_t live)
{
	int64_t age_ms = n->oldest_ready_ms > 0 ? now - n->oldest_ready_ms : 0;
	bool late = n->by_state[STORE_READY] > 0 && age_ms > READY_TOO_LONG_MS;
	char age[16];
	char line[256];

	if (n->by_state[STORE_READY] == 0)
		return;
	words_age(age_ms, age, sizeof(age));
	(void)snprintf(line, sizeof(line), "the oldest ready task waits %s%s",
		       age,
		       !late       ? ""
		       : live == 0 ? ": start an instance, nobody runs tasks"
				   : ": all workers are busy (raise "
				     "task-workers), or no instance has its "
				     "tool");
	say(r, !late, line);
}

static void check_tasks(struct report *r, struct store *s)
{
	struct store_counts n = {0};
	struct store_peer *peers = NULL;
	size_t npeers = 0;
	size_t live = 0;
	char line[256];

	if (store_count(s, &n) != BIDE_OK ||
	    store_peers(s, &peers, &npeers) != BIDE_OK) {
		say(r, false,
		    "the tasks cannot be counted: see the lines "
		    "above");
		return;
	}
	for (size_t i = 0; i < npeers; i++)
		live += peers[i].alive && !peers[i].draining;
	free(peers);
	(void)snprintf(line, sizeof(line),
		       "tasks: %lld ready, %lld running, %lld waiting, %lld "
		       "ended; %lld questions are open",
		       (long long)n.by_state[STORE_READY],
		       (long long)n.by_state[STORE_RUNNING],
		       (long long)n.by_state[STORE_WAITING],
		       (long long)(n.by_state[STORE_COMPLETED] +
				   n.by_state[STORE_FAILED] +
				   n.by_state[STORE_CANCELLED]),
		       (long long)n.questions_open);
	say(r, true, line);
	say_ready(r, &n, store_now_ms(s), live);
}

int admin_doctor(const struct config *c, int argc, char **argv)
{
	struct report r = {.good = true};
	struct store_options opt;
	struct bide_error err = {0};
	struct store *s = NULL;
	struct cli cli;

	if (!cli_parse(&cli, c, argc, argv))
		return CLI_USAGE;
	if (cli.argc != 1)
		return cli_usage(cli.argv[0], NULL);
	r.cli = &cli;
	r.checks = cli.json ? json_array() : NULL;
	admin_store_options(c, &opt);
	opt.read_only = true;
	/* What is wrong with the store it says itself; without a store there
	 * is nothing to count. */
	(void)store_check(&opt, say, &r);
	if (store_open(&opt, &s, &err) == BIDE_OK) {
		check_tasks(&r, s);
		store_close(s, 0);
	}
	if (cli.json)
		(void)cli_print_json(&cli,
				     json_pack("{s:b, s:o}", "good", r.good,
					       "checks", r.checks));
	else
		(void)puts(r.good ? "All is well."
				  : "Something is wrong: see the lines marked "
				    "BAD.");
	return r.good ? CLI_OK : CLI_FAILED;
}

int admin_backup(const struct config *c, int argc, char **argv)
{
	struct store_options opt;
	struct bide_error err = {0};
	struct cli cli;

	if (!cli_parse(&cli, c, argc, argv))
		return CLI_USAGE;
	if (cli.argc != 2)
		return cli_usage("backup", NULL);
	admin_store_options(c, &opt);
	if (store_backup(&opt, cli.argv[1], &err) != BIDE_OK)
		return cli_fail(&cli, CLI_FAILED, "%s", err.text);
	if (cli.json)
		return cli_print_json(
			&cli, json_pack("{s:s}", "backup", cli.argv[1]));
	(void)printf("Copied to %s. It holds the keys of requestState: keep "
		     "it as you keep the database.\n",
		     cli.argv[1]);
	return fflush(stdout) == 0 ? CLI_OK : CLI_FAILED;
}

int admin_migrate(const struct config *c, int argc, char **argv)
{
	struct store_options opt;
	struct bide_error err = {0};
	struct cli cli;
	int from = 0;
	int to = 0;

	if (!cli_parse(&cli, c, argc, argv))
		return CLI_USAGE;
	if (cli.argc != 1)
		return cli_usage(cli.argv[0], NULL);
	admin_store_options(c, &opt);
	opt.create = true;
	opt.migrate = true;
	if (store_migrate(&opt, &from, &to, &err) != BIDE_OK)
		return cli_fail(&cli, CLI_FAILED, "%s", err.text);
	if (cli.json)
		return cli_print_json(
			&cli, json_pack("{s:i, s:i}", "from", from, "to", to));
	if (from == to)
		(void)printf("The schema is %d already; nothing to do.\n", to);
	else
		(void)printf("The schema was %d and is %d now.\n", from, to);
	return fflush(stdout) == 0 ? CLI_OK : CLI_FAILED;
}
