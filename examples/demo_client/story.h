/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_CLIENT_STORY_H
#define EXAMPLES_DEMO_CLIENT_STORY_H
#include <sys/types.h>

#include "examples/demo_client/wire.h"

/* What the demo shows, in acts; each returns 0, or 1 when the story went
 * otherwise than it should. */
struct story {
	struct server a, b;
	pid_t pid_a; /* killed where an act says so; 0: not */
	const char *tree;
	const char *files; /* the allowed directory */
	const char *manifest;
	json_t *answers;       /* what the person says, by key */
	const char *task;      /* an id, for act_look() */
	const char *lesson;    /* a file, for act_lesson() */
	const char *task_file; /* where act_leave() writes one */
};
json_t *story_answers(const struct story *s); /* the demo's */
/* Listens at B to a task, and answers what it asks, until it ends. */
int story_follow(struct story *s, const struct client *c, const char *id);

int act_hello(struct story *s);
int act_deploy(struct story *s);
int act_rounds(struct story *s);
int act_tasks(struct story *s);
int act_leave(struct story *s);
int act_look(struct story *s);
#endif
