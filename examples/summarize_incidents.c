/* SPDX-License-Identifier: MIT */
/*
 * summarize_incidents: has the client's own model do the reading (sampling,
 * which the specification deprecates: for a new tool, call a model yourself).
 *
 * - A client without sampling gets the incidents, for its own model to read: a
 *   fallback and no error.
 * - Which incidents were shown is a step. Two numbers of it travel in
 *   requestState; the text that the model is given can be made again.
 * - The answer is a CreateMessageResult: role, model, content (one block or an
 *   array of them), perhaps stopReason. It has no "action", though a listing of
 *   the porting guide waits for one: a user who declines is not reported at
 *   all, the client then does not come back (client/sampling "Error Handling").
 *
 * Beside it stand the same incidents as resources, incidents://{day}, which are
 * listed and suggested, and a prompt that has those of a day in it.
 */
#include <bide/bide.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char input_schema[] =
	"{\"type\":\"object\",\"properties\":{\"since\":{\"type\":\"string\","
	"\"pattern\":\"^[0-9]{4}-[0-9]{2}-[0-9]{2}$\","
	"\"description\":\"The first day, as 2026-11-02\"}},"
	"\"required\":[\"since\"],\"additionalProperties\":false}";

/* Stands for the incident tracker; the oldest first. */
static const struct incident {
	const char *day, *service, *what;
} incidents[] = {
	{"2026-11-02", "checkout-api", "p99 latency over 4 s for 31 minutes"},
	{"2026-11-09", "search", "an index rebuild filled the disk"},
	{"2026-11-09", "checkout-api", "timeouts while search was down"},
	{"2026-11-21", "login",
	 "expired certificate; no logins for 12 minutes"},
};
#define INCIDENTS (sizeof(incidents) / sizeof(incidents[0]))

static json_t *find(const char *since)
{
	size_t first = 0;

	while (first < INCIDENTS && strcmp(incidents[first].day, since) < 0)
		first++;
	return json_pack("{s:i, s:i}", "first", (int)first, "count",
			 (int)(INCIDENTS - first));
}

/* free() it; NULL: no memory. */
static char *render(size_t first, size_t count)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		return NULL;
	for (size_t i = first; i < first + count && i < INCIDENTS; i++)
		(void)fprintf(out, "%s %s: %s\n", incidents[i].day,
			      incidents[i].service, incidents[i].what);
	return fclose(out) == 0 ? text : NULL;
}

/* CreateMessageRequestParams. */
static json_t *sampling(const char *digest)
{
	return json_pack(
		"{s:[{s:s, s:{s:s, s:s}}], s:s, s:i}", "messages", "role",
		"user", "content", "type", "text", "text", digest,
		"systemPrompt",
		"Summarise these incidents in three bullets. No preamble.",
		"maxTokens", 400);
}

/* The effect, after the last answer, and once. */
static enum bide_rc record(struct bide_call *call, const char *summary)
{
	enum bide_rc rc = bide_step_begin(call, "record", NULL);

	if (rc != BIDE_RUN)
		return rc;
	(void)fprintf(stderr, "recorded a summary of %zu bytes, request %s\n",
		      strlen(summary), bide_step_id(call));
	return bide_step_commit(call, json_true(), NULL);
}

static enum bide_rc summarize(struct bide_call *call, const char *digest)
{
	enum bide_rc rc = bide_ask_sampling(call, "summary", sampling(digest));
	const char *summary;

	if (rc == BIDE_NO_CAPABILITY)
		return bide_text(call, "%s", digest);
	BIDE_TRY(rc);
	BIDE_TRY(bide_await(call));
	/* The first text block, be content an array or not. */
	summary = bide_answer_text(bide_answer(call, "summary"));
	if (summary == NULL)
		return bide_error_text(call, "The model gave no text. Nothing "
					     "was recorded.");
	BIDE_TRY(record(call, summary));
	return bide_text(call, "%s", summary);
}

static enum bide_rc summarize_incidents(struct bide_call *call, void *user)
{
	const char *since = bide_arg_string(call, "since");
	const json_t *found = NULL;
	size_t count;
	char *digest;
	enum bide_rc rc;

	(void)user;
	rc = bide_step_begin(call, "find", &found);
	if (rc == BIDE_RUN)
		rc = bide_step_commit(call, find(since), &found);
	BIDE_TRY(rc);
	count = (size_t)json_integer_value(json_object_get(found, "count"));
	if (count == 0)
		return bide_text(call, "No incidents since %s.", since);
	digest = render(
		(size_t)json_integer_value(json_object_get(found, "first")),
		count);
	if (digest == NULL)
		return BIDE_NOMEM;
	rc = summarize(call, digest);
	free(digest);
	return rc;
}

static const struct bide_tool tool = {
	BIDE_TOOL,
	.name = "summarize_incidents",
	.title = "Summarise incidents",
	.description = "Summarises the incidents since a day, with the help of "
		       "the client's model.",
	.input_schema = input_schema,
	.handler = summarize_incidents,
	.single_use = true, /* a repeated last round records nothing more */
};

/* ---- the same as resources, and in a prompt ---- */
#define URI "incidents://"

/* Is this the first incident of its day? */
static bool begins_day(size_t i)
{
	return i == 0 || strcmp(incidents[i].day, incidents[i - 1].day) != 0;
}

/* As render(), of one day; NULL: there are none, or no memory. */
static char *render_day(const char *day)
{
	size_t first = 0;
	size_t n = 0;

	while (first < INCIDENTS && strcmp(incidents[first].day, day) != 0)
		first++;
	while (first + n < INCIDENTS &&
	       strcmp(incidents[first + n].day, day) == 0)
		n++;
	return n > 0 ? render(first, n) : NULL;
}

static enum bide_rc read_day(struct bide_call *call, void *user)
{
	char *text = render_day(bide_arg_string(call, "day"));
	enum bide_rc rc;

	(void)user;
	if (text == NULL)
		return bide_not_found(call);
	rc = bide_text(call, "%s", text);
	free(text);
	return rc;
}

static enum bide_rc list_days(struct bide_list *list, void *user)
{
	struct bide_resource one = {BIDE_RESOURCE};
	char uri[64];

	(void)user;
	for (size_t i = 0; i < INCIDENTS; i++) {
		if (!begins_day(i))
			continue;
		(void)snprintf(uri, sizeof(uri), URI "%s", incidents[i].day);
		one.uri = uri;
		one.name = incidents[i].day;
		BIDE_TRY(bide_list_add(list, &one));
	}
	return BIDE_OK; /* four fit on one page */
}

/* Of the prompt's argument and the template's variable alike. */
static enum bide_rc complete_day(struct bide_completion *c, void *user)
{
	const char *typed = bide_complete_value(c);

	(void)user;
	for (size_t i = 0; i < INCIDENTS; i++)
		if (begins_day(i) &&
		    strncmp(incidents[i].day, typed, strlen(typed)) == 0)
			BIDE_TRY(bide_complete_add(c, incidents[i].day));
	return BIDE_OK;
}

static enum bide_rc post_mortem(struct bide_call *call, void *user)
{
	const char *day = bide_arg_string(call, "day");
	char *text = render_day(day);
	char uri[64];
	enum bide_rc rc;

	(void)user;
	if (text == NULL)
		return bide_error_text(call, "No incidents on %s.", day);
	(void)snprintf(uri, sizeof(uri), URI "%.40s", day);
	rc = bide_text(call,
		       "Write the post-mortem of %s: what happened, why, "
		       "and what would have prevented it.",
		       day);
	if (rc == BIDE_OK)
		rc = bide_add_resource_text(call, uri, "text/plain", text);
	free(text);
	return rc;
}

static const struct bide_resource days = {
	BIDE_RESOURCE,
	.uri = URI "{day}",
	.name = "incidents",
	.description = "The incidents of a day",
	.mime_type = "text/plain",
	.handler = read_day,
	.runs_inline = true,
	.cache_ms = 60000,
	.scope = BIDE_PUBLIC, /* the same for every caller */
	.list = list_days,
	.complete = complete_day,
};

static const struct bide_prompt_arg post_mortem_args[] = {
	{"day", "Day", "As 2026-11-09", true},
};
static const struct bide_prompt post_mortem_prompt = {
	BIDE_PROMPT,
	.name = "post_mortem",
	.title = "Post-mortem",
	.description = "Asks for the post-mortem of a day's incidents",
	.args = post_mortem_args,
	.n_args = 1,
	.handler = post_mortem,
	.runs_inline = true,
	.complete = complete_day,
};

enum bide_rc summarize_incidents_add(struct bide_server *server,
				     struct bide_error *reterr);
enum bide_rc summarize_incidents_add(struct bide_server *server,
				     struct bide_error *reterr)
{
	BIDE_TRY(bide_server_add_tool(server, &tool, reterr));
	BIDE_TRY(bide_server_add_resource_template(server, &days, reterr));
	return bide_server_add_prompt(server, &post_mortem_prompt, reterr);
}

#ifndef EXAMPLES_TOGETHER /* demo_server serves all of them */
int main(int argc, char **argv)
{
	struct bide_server *s = bide_server_new("incidents", "1.0.0");
	struct bide_error err;
	int code = 1;

	if (summarize_incidents_add(s, &err) == BIDE_OK)
		code = bide_main(s, argc, argv);
	else
		(void)fprintf(stderr, "%s\n", err.text);
	bide_server_free(s);
	return code;
}
#endif
