/* SPDX-License-Identifier: MIT */
/*
 * The client of ./dev demo and ./dev example: a small MCP client of the
 * 2026-07-28 revision that plays the acts of the demo's story, or a lesson, and
 * prints what crosses the wire. examples/demo.sh starts the servers and calls
 * it.
 */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/demo_client/lesson.h"
#include "examples/demo_client/show.h"
#include "examples/demo_client/story.h"

struct act {
	const char *name;
	int (*play)(struct story *s);
};
static const struct act acts[] = {
	{"hello", act_hello},   {"deploy", act_deploy}, {"rounds", act_rounds},
	{"tasks", act_tasks},   {"leave", act_leave},   {"look", act_look},
	{"lesson", act_lesson},
};

static int usage(void)
{
	(void)fputs(
		"usage: demo_client ACT --a URL --b URL [options]\n"
		"acts: hello, deploy, rounds, tasks, leave, look, lesson\n"
		"  --kill-a PID       kill A when it has asked\n"
		"  --tree DIR         what checksum_tree is to hash\n"
		"  --manifest NAME    how the manifest is to be called\n"
		"  --task-file FILE   where \"leave\" writes the task's id\n"
		"  --task ID          what \"look\" looks at\n"
		"  --lesson FILE      what \"lesson\" plays\n"
		"  --files DIR        the directory that A and B allow\n",
		stderr);
	return 2;
}

static bool take_option(struct story *s, const char *name, const char *value)
{
	if (strcmp(name, "--a") == 0)
		s->a.url = value;
	else if (strcmp(name, "--b") == 0)
		s->b.url = value;
	else if (strcmp(name, "--kill-a") == 0)
		s->pid_a = (pid_t)strtol(value, NULL, 10);
	else if (strcmp(name, "--tree") == 0)
		s->tree = value;
	else if (strcmp(name, "--manifest") == 0)
		s->manifest = value;
	else if (strcmp(name, "--task-file") == 0)
		s->task_file = value;
	else if (strcmp(name, "--task") == 0)
		s->task = value;
	else if (strcmp(name, "--lesson") == 0)
		s->lesson = value;
	else if (strcmp(name, "--files") == 0)
		s->files = value;
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	struct story s = {
		.a.label = "A",
		.b.label = "B",
		.tree = "/usr/include",
		.manifest = "SHA256SUMS",
		.task = "",
		.task_file = "/dev/null",
		.lesson = "",
		.files = "/usr/include",
	};
	int code = 2;

	for (int i = 2; i < argc; i += 2)
		if (i + 1 == argc || !take_option(&s, argv[i], argv[i + 1]))
			return usage();
	if (argc < 2 || s.a.url == NULL || s.b.url == NULL)
		return usage();
	show_init();
	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
	s.answers = story_answers(&s);
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		if (strcmp(acts[i].name, argv[1]) == 0)
			code = acts[i].play(&s);
	json_decref(s.answers);
	curl_global_cleanup();
	return code == 2 ? usage() : code;
}
