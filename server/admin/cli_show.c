/* SPDX-License-Identifier: MIT */
/* "tasks show": what one task is, was asked, and went through. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/admin/cli.h"
#include "server/admin/table.h"
#include "server/admin/words.h"
#include "server/handler/caller.h"

#define VALUE_BYTES 200
#define RUN_MIN     4 /* steps in a row that are told as one */

/* ---- the head ---- */
static void put_ago(struct table *t, const char *name, int64_t at, int64_t now)
{
	char time[32];
	char age[16];

	words_time(at, time, sizeof(time));
	words_age(now - at, age, sizeof(age));
	table_cell(t, "%s", name);
	table_cell(t, "%s (%s ago)", time, age);
}

static void put_cut(struct table *t, const char *name, const char *text)
{
	struct buf b = {0};

	words_cut(text, VALUE_BYTES, &b);
	table_cell(t, "%s", name);
	table_cell(t, "%s", b.data != NULL ? b.data : "");
	buf_fini(&b);
}

static void put_caller(struct table *head, const struct store_task *t)
{
	static const struct {
		unsigned bit;
		const char *name;
	} can[] = {
		{BIDE_CAN_ELICIT_FORM, "forms"}, {BIDE_CAN_ELICIT_URL, "URLs"},
		{BIDE_CAN_SAMPLE, "sampling"},   {BIDE_CAN_ROOTS, "roots"},
		{BIDE_CAN_TASKS, "tasks"},
	};
	struct caller caller = {0};
	struct buf b = {0};

	(void)buf_addstr(&b, words_principal(t->principal));
	if (caller_load(&caller, t->caller)) {
		(void)buf_addf(&b, ", %s",
			       caller.client[0] != '\0' ? caller.client
							: "unnamed client");
		for (size_t i = 0; i < sizeof(can) / sizeof(can[0]); i++)
			if ((caller.can & can[i].bit) != 0)
				(void)buf_addf(&b, ", %s", can[i].name);
	}
	table_cell(head, "caller");
	table_cell(head, "%s", b.data != NULL ? b.data : "");
	buf_fini(&b);
}

static void put_life(struct table *head, const struct store_task *t,
		     int64_t now)
{
	char left[16];

	table_cell(head, "claims");
	table_cell(head, "%d, epoch %" PRId64 ", %d crash%s in a row",
		   t->claims, t->epoch, t->crashes,
		   t->crashes == 1 ? "" : "es");
	if (t->wake_at_ms > 0) {
		words_age(t->wake_at_ms - now, left, sizeof(left));
		table_cell(head, "%s", t->open > 0 ? "deadline" : "wakes");
		table_cell(head, "in %s", left);
	}
	if (t->abandon_at_ms > 0) {
		words_age(t->abandon_at_ms - now, left, sizeof(left));
		table_cell(head, "abandoned");
		table_cell(head, "in %s unless somebody comes back", left);
	}
	if (t->waiters > 0) {
		table_cell(head, "waiting");
		table_cell(head, "%d request%s", t->waiters,
			   t->waiters == 1 ? "" : "s");
	}
}

static void print_head(const struct store_task *t, int64_t now)
{
	struct table head;
	char line[STORE_TOKEN_BYTES + 8];
	char state[64];
	char age[16];

	words_state(t, state, sizeof(state));
	words_age(now - words_since(t), age, sizeof(age));
	(void)snprintf(line, sizeof(line), "task|%s", t->token);
	table_init(&head, line);
	table_cell(&head, "tool");
	table_cell(&head, "%s%s%s", t->tool,
		   t->tool_version[0] != '\0' ? ", version " : "",
		   t->tool_version);
	put_caller(&head, t);
	table_cell(&head, "state");
	table_cell(&head, "%s, for %s", state, age);
	if (t->status != NULL)
		put_cut(&head, "status", t->status);
	if (!isnan(t->progress)) {
		table_cell(&head, "progress");
		table_cell(&head, "%.6g of %.6g %s", t->progress,
			   isnan(t->total) ? 0.0 : t->total,
			   t->progress_message != NULL ? t->progress_message
						       : "");
	}
	put_ago(&head, "created", t->created_ms, now);
	if (t->ended_ms > 0)
		put_ago(&head, "ended", t->ended_ms, now);
	put_life(&head, t, now);
	if (t->args != NULL)
		put_cut(&head, "arguments", t->args);
	if (t->payload != NULL)
		put_cut(&head, t->state == STORE_FAILED ? "error" : "result",
			t->payload);
	(void)table_print(&head, stdout, table_line_width(stdout));
	table_fini(&head);
}

/* ---- questions ---- */
static const char *answered_by(const struct store_input *in)
{
	if (in->by != NULL && *in->by != '\0')
		return in->by;
	return in->state == STORE_INPUT_ANSWERED ? "client" : "";
}

static void question_row(struct table *q, const struct store_input *in)
{
	struct buf b = {0};
	char time[32];

	words_time(in->asked_ms, time, sizeof(time));
	words_question(in, &b);
	if (in->state == STORE_INPUT_ANSWERED && in->answer != NULL) {
		(void)buf_addstr(&b, " -> ");
		words_cut(in->answer, VALUE_BYTES, &b);
	}
	table_cell(q, "%s", in->wire_key);
	table_cell(q, "%s", words_input_state(in->state));
	table_cell(q, "%s", time + 11);
	table_cell(q, "%s", answered_by(in));
	table_cell(q, "%s", b.data != NULL ? b.data : "");
	buf_fini(&b);
}

static void print_questions(const struct store_task *t)
{
	struct table q;

	if (t->ninputs == 0)
		return;
	table_init(&q, "QUESTION|STATE|ASKED|BY|MESSAGE -> ANSWER");
	for (size_t i = 0; i < t->ninputs; i++)
		question_row(&q, &t->inputs[i]);
	(void)putchar('\n');
	(void)table_print(&q, stdout, table_line_width(stdout));
	table_fini(&q);
}

/* ---- the timeline ---- */
static bool is_step(const struct store_event *e)
{
	return strcmp(e->kind, "step") == 0;
}

/* How many steps from @i on are of one claim on one instance. */
static size_t run_of_steps(const struct store_task *t, size_t i)
{
	const struct store_event *first = &t->events[i];
	size_t n = 0;

	while (i + n < t->nevents && is_step(&t->events[i + n]) &&
	       t->events[i + n].epoch == first->epoch &&
	       t->events[i + n].instance == first->instance)
		n++;
	return n;
}

static void event_row(struct table *e, const struct store_event *ev,
		      const char *what, const char *detail)
{
	char time[32];

	words_time(ev->at_ms, time, sizeof(time));
	table_cell(e, "%s.%03d", time + 11, (int)(ev->at_ms % 1000));
	if (ev->instance > 0)
		table_cell(e, "%" PRId64, ev->instance);
	else
		table_cell(e, "-");
	table_cell(e, "%" PRId64, ev->epoch);
	table_cell(e, "%s", what);
	table_cell(e, "%s", detail);
}

static void print_timeline(const struct cli *cli, const struct store_task *t)
{
	struct table e;
	struct buf b = {0};

	table_init(&e, "TIME (UTC)|>INSTANCE|>EPOCH|EVENT|DETAIL");
	for (size_t i = 0; i < t->nevents; i++) {
		const struct store_event *ev = &t->events[i];
		size_t n = run_of_steps(t, i);

		buf_reset(&b);
		if (!cli->steps && n >= RUN_MIN) {
			(void)buf_addf(&b, "%zu steps, to %s", n,
				       t->events[i + n - 1].detail);
			i += n - 1;
		} else if (ev->detail != NULL) {
			words_cut(ev->detail, VALUE_BYTES, &b);
		}
		event_row(&e, ev, ev->kind, b.data != NULL ? b.data : "");
	}
	(void)putchar('\n');
	(void)table_print(&e, stdout, table_line_width(stdout));
	table_fini(&e);
	buf_fini(&b);
}

int cli_show(const struct cli *cli, struct store *s, const struct store_task *t)
{
	if (cli->json)
		return cli_print_json(cli, cli_view(t, true));
	print_head(t, store_now_ms(s));
	print_questions(t);
	print_timeline(cli, t);
	return fflush(stdout) == 0 ? CLI_OK : CLI_FAILED;
}
