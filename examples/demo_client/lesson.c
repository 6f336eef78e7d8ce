/* SPDX-License-Identifier: MIT */
#include "examples/demo_client/lesson.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/demo_client/show.h"
#include "examples/demo_client/talk.h"

#define ROUNDS_MAX 20

static const char mark[] = "@FILES@";

struct scene {
	const char *tool;
	const json_t *is; /* as the file has it */
	struct client client;
	int requests; /* sent so far */
};

/* ---- the allowed directory, wherever it is meant ---- */
static json_t *filled_string(const char *text, const char *files)
{
	const char *at = strstr(text, mark);

	if (at == NULL)
		return json_string(text);
	return json_sprintf("%.*s%s%s", (int)(at - text), text, files,
			    at + strlen(mark));
}

/* A copy; of what is nested too. */
static json_t *filled(const json_t *value, const char *files)
{
	json_t *copy;
	const char *name;
	json_t *item;
	size_t i;

	if (json_is_string(value))
		return filled_string(json_string_value(value), files);
	copy = json_copy((json_t *)value);
	json_object_foreach ((json_t *)value, name, item)
		(void)json_object_set_new(copy, name, filled(item, files));
	json_array_foreach (value, i, item)
		(void)json_array_set_new(copy, i, filled(item, files));
	return copy;
}

/* ---- one scene ---- */
static const struct server *next_server(struct story *s, struct scene *c)
{
	const char *route = talk_text(c->is, "route");
	size_t len = strlen(route);
	size_t i = (size_t)c->requests++;

	if (len == 0)
		return i % 2 == 0 ? &s->a : &s->b;
	return route[i < len ? i : len - 1] == 'A' ? &s->a : &s->b;
}

/* What the call came to, as a text. */
static const char *end_of(const json_t *response)
{
	const json_t *result = json_object_get(response, "result");

	if (result == NULL)
		return talk_text(json_object_get(response, "error"), "message");
	return talk_text(json_array_get(json_object_get(result, "content"), 0),
			 "text");
}

static int check(const struct scene *c, const json_t *response)
{
	const char *end = end_of(response);
	const char *ends = talk_text(c->is, "ends");

	if (*ends == '\0' || strstr(end, ends) == NULL) {
		show_say("This was to end with \"%s\".", ends);
		return talk_wrong("it did not.");
	}
	show_say("So it ends: %s", end);
	return 0;
}

static int play_scene(struct story *s, struct scene *c)
{
	const json_t *args = json_object_get(c->is, "arguments");
	json_t *r;
	const char *task;
	int bad;

	s->answers = json_object_get(c->is, "answers");
	r = talk_call(&c->client, next_server(s, c), c->tool, args, NULL, NULL);
	for (int i = 0; i < ROUNDS_MAX && talk_wants_more(r); i++)
		r = talk_again(&c->client, next_server(s, c), c->tool, args,
			       s->answers, r);
	task = talk_text(json_object_get(r, "result"), "taskId");
	bad = *task != '\0' ? story_follow(s, &c->client, task) : check(c, r);
	json_decref(r);
	return bad;
}

/* ---- the lesson ---- */
static int play(struct story *s, const char *tool, const json_t *scenes)
{
	const json_t *scene;
	size_t i;
	int bad = json_array_size(scenes) == 0;

	json_array_foreach (scenes, i, scene) {
		char *can = json_dumps(json_object_get(scene, "capabilities"),
				       JSON_COMPACT);
		struct scene c = {.tool = tool, .is = scene, .client = {can}};
		char title[128];

		(void)snprintf(title, sizeof(title), "%zu. %s", i + 1,
			       talk_text(scene, "title"));
		show_title(title);
		show_say("%s", talk_text(scene, "say"));
		bad |= can == NULL || play_scene(s, &c) != 0;
		free(can);
	}
	return bad;
}

int act_lesson(struct story *s)
{
	json_error_t error = {0};
	json_t *text = json_load_file(s->lesson, 0, &error);
	json_t *lesson = text != NULL ? filled(text, s->files) : NULL;
	json_t *was = s->answers;
	int bad;

	if (lesson == NULL) {
		(void)fprintf(stderr, "%s:%d: %s\n", s->lesson, error.line,
			      error.text);
		return 1;
	}
	bad = play(s, talk_text(lesson, "tool"),
		   json_object_get(lesson, "scenes"));
	s->answers = was;
	json_decref(lesson);
	json_decref(text);
	return bad;
}
