/* SPDX-License-Identifier: MIT */
/* "tasks": what is pending, and an operator's moves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/admin/cli.h"
#include "server/admin/table.h"
#include "server/admin/words.h"
#include "server/base/error.h"
#include "server/base/jsontext.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MAX     100000
#define SHORT_ID      10 /* characters of an id in a table, at least */

/* ---- list ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t common(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] != '\0' && a[n] == b[n])
		n++;
	return n;
}

/* How much of an id tells it from all others of this list. */
static int short_id(struct store_task **list, size_t n)
{
	const char **ids = calloc(n + 1, sizeof(*ids));
	size_t len = SHORT_ID;

	if (ids == NULL)
		return STORE_TOKEN_BYTES;
	for (size_t i = 0; i < n; i++)
		ids[i] = list[i]->token;
	qsort(ids, n, sizeof(*ids), by_text);
	for (size_t i = 1; i < n; i++)
		if (common(ids[i - 1], ids[i]) >= len)
			len = common(ids[i - 1], ids[i]) + 1;
	free(ids);
	return (int)len;
}

static void list_row(struct table *rows, const struct store_task *t, int id_len,
		     int64_t now)
{
	struct buf about = {0};
	char state[64];
	char age[16];

	words_state(t, state, sizeof(state));
	words_age(now - words_since(t), age, sizeof(age));
	words_about(t, &about);
	table_cell(rows, "%.*s", id_len, t->token);
	table_cell(rows, "%s", t->tool);
	table_cell(rows, "%s", words_principal(t->principal));
	table_cell(rows, "%s", state);
	table_cell(rows, "%s", age);
	table_cell(rows, "%s", about.data != NULL ? about.data : "");
	buf_fini(&about);
}

static int list_table(const struct cli *cli, struct store *s,
		      struct store_task **list, size_t n, bool more)
{
	struct table rows;
	int id_len = short_id(list, n);
	bool good;

	if (n == 0) {
		(void)puts(cli->all ? "There is no task."
				    : "No task is pending.");
		return CLI_OK;
	}
	table_init(&rows, "ID|TOOL|CALLER|STATE|>SINCE|ABOUT");
	for (size_t i = 0; i < n; i++)
		list_row(&rows, list[i], id_len, store_now_ms(s));
	good = table_print(&rows, stdout, table_line_width(stdout));
	table_fini(&rows);
	if (more)
		(void)printf("The newest %zu; --limit shows more.\n", n);
	return good && fflush(stdout) == 0 ? CLI_OK : CLI_FAILED;
}

static int list_json(const struct cli *cli, struct store_task **list, size_t n,
		     bool more)
{
	json_t *tasks = json_array();

	for (size_t i = 0; i < n; i++)
		(void)json_array_append_new(tasks, cli_view(list[i], false));
	return cli_print_json(
		cli, json_pack("{s:o, s:b}", "tasks", tasks, "more", more));
}

static bool make_filter(const struct cli *cli, struct ops_filter *ret)
{
	char *end = NULL;
	long limit = LIMIT_DEFAULT;

	if (cli->limit != NULL)
		limit = strtol(cli->limit, &end, 10);
	if (limit < 1 || limit > LIMIT_MAX || (end != NULL && *end != '\0')) {
		(void)cli_fail(cli, CLI_USAGE, "--limit: 1 to %d", LIMIT_MAX);
		return false;
	}
	*ret = (struct ops_filter){.all = cli->all,
				   .tool = cli->tool,
				   .principal = cli->principal,
				   .limit = (size_t)limit};
	if (cli->state == NULL)
		return true;
	ret->states = words_state_mask(cli->state);
	if (ret->states == 0)
		(void)cli_fail(cli, CLI_USAGE,
			       "--state %s: ready, running, waiting, "
			       "completed, failed or cancelled",
			       cli->state);
	return ret->states != 0;
}

static int cmd_list(const struct cli *cli)
{
	struct ops_filter filter;
	struct bide_error err = {0};
	struct store_task **list = NULL;
	struct store *s;
	size_t n = 0;
	bool more = false;
	int code;

	if (!make_filter(cli, &filter))
		return CLI_USAGE;
	s = cli_open(cli, true);
	if (s == NULL)
		return CLI_FAILED;
	if (ops_list(s, &filter, &list, &n, &more, &err) != BIDE_OK)
		code = cli_fail(cli, CLI_FAILED, "%s", err.text);
	else
		code = cli->json ? list_json(cli, list, n, more)
				 : list_table(cli, s, list, n, more);
	store_list_free(list, n);
	store_close(s, 0);
	return code;
}

/* ---- show ---- */
static int cmd_show(const struct cli *cli)
{
	struct bide_error err = {0};
	struct store_task *t = NULL;
	struct store *s = cli_open(cli, true);
	int code;

	if (s == NULL)
		return CLI_FAILED;
	if (ops_find(s, cli->argv[2],
		     STORE_GET_REPLAY | STORE_GET_EVENTS | STORE_GET_PAYLOAD,
		     &t, &err) == BIDE_OK)
		code = cli_show(cli, s, t);
	else
		code = cli_fail(cli, CLI_FAILED, "%s", err.text);
	store_task_free(t);
	store_close(s, 0);
	return code;
}

/* ---- steering ---- */
static enum bide_rc read_answer(const char *text, json_t **ret,
				struct bide_error *err)
{
	/* The two that one would rather not quote. */
	if (strcmp(text, "decline") == 0 || strcmp(text, "cancel") == 0) {
		*ret = json_string(text);
		return BIDE_OK;
	}
	return jsontext_parse(text, strlen(text), ret, err);
}

static enum bide_rc answer(struct store *s, const struct store_task *t,
			   const struct cli *cli, const char *by,
			   struct bide_error *err)
{
	json_t *response = NULL;
	enum bide_rc rc = read_answer(cli->argv[4], &response, err);

	if (rc == BIDE_OK)
		rc = ops_answer(s, t, cli->argv[3], response, by, err);
	json_decref(response);
	return rc;
}

static int say_done(const struct cli *cli, const struct store_task *t,
		    const char *done)
{
	if (cli->json)
		return cli_print_json(cli, json_pack("{s:s, s:s}", "taskId",
						     t->token, "done", done));
	(void)printf("%s: %s\n", t->token, done);
	return fflush(stdout) == 0 ? CLI_OK : CLI_FAILED;
}

static int cmd_steer(const struct cli *cli)
{
	const char *move = cli->argv[1];
	struct bide_error err = {0};
	struct store_task *t = NULL;
	struct store *s = cli_open(cli, false);
	const char *done = "cancelled";
	char by[32];
	enum bide_rc rc;
	int code;

	if (s == NULL)
		return CLI_FAILED;
	(void)snprintf(by, sizeof(by), "operator, uid %ld", (long)getuid());
	rc = ops_find(s, cli->argv[2], STORE_GET_OPEN_INPUTS, &t, &err);
	if (rc == BIDE_OK && strcmp(move, "cancel") == 0) {
		rc = ops_cancel(s, t, by, &err);
	} else if (rc == BIDE_OK && strcmp(move, "expire") == 0) {
		done = "its open questions timed out";
		rc = ops_expire(s, t, by, &err);
	} else if (rc == BIDE_OK && strcmp(move, "retry") == 0) {
		done = "ready to run again";
		rc = ops_retry(s, t, by, &err);
	} else if (rc == BIDE_OK) {
		done = "answered";
		rc = answer(s, t, cli, by, &err);
	}
	code = rc == BIDE_OK ? say_done(cli, t, done)
			     : cli_fail(cli, CLI_FAILED, "%s", err.text);
	store_task_free(t);
	store_close(s, 1000);
	return code;
}

/* ---- which ---- */
struct command {
	const char *name;
	int words; /* with "tasks" and the name */
	int (*run)(const struct cli *cli);
};
static const struct command commands[] = {
	{"list", 2, cmd_list},    {"show", 3, cmd_show},
	{"cancel", 3, cmd_steer}, {"answer", 5, cmd_steer},
	{"expire", 3, cmd_steer}, {"retry", 3, cmd_steer},
};

int admin_tasks(const struct config *c, int argc, char **argv)
{
	struct cli cli;

	if (!cli_parse(&cli, c, argc, argv))
		return CLI_USAGE;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		const struct command *it = &commands[i];

		if (cli.argc < 2 || strcmp(cli.argv[1], it->name) != 0)
			continue;
		if (cli.argc == it->words)
			return it->run(&cli);
		return cli_usage("tasks", it->name);
	}
	if (cli.argc > 1)
		(void)cli_fail(&cli, CLI_USAGE, "there is no command \"%.60s\"",
			       cli.argv[1]);
	return cli_usage("tasks", NULL);
}
