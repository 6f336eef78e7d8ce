/* SPDX-License-Identifier: MIT */
#ifndef TESTS_ADMIN_SCENE_H
#define TESTS_ADMIN_SCENE_H
#include "server/base/config.h"
#include "store/store.h"
/*
 * A database with an instance on it, "s", whose tool is "t", and the operator's
 * commands run on it with what they print kept.
 */
struct scene {
	char dir[256];
	char db[300];
	struct store *s;
	struct config *config;
	char *out, *err; /* of the last command */
};
int scene_setup(void **state);
int scene_teardown(void **state);
#define scene_test(f)                                                          \
	cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)

#define SCENE_FORM                                                             \
	"{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\","    \
	"\"message\":\"Which environment?\",\"requestedSchema\":{\"type\":"    \
	"\"object\",\"properties\":{\"environment\":{\"type\":\"string\","     \
	"\"enum\":[\"staging\",\"production\"]}},\"required\":["               \
	"\"environment\"]}}}"
#define SCENE_ACTION_FORM                                                      \
	"{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\","    \
	"\"message\":\"What now?\",\"requestedSchema\":{\"type\":\"object\","  \
	"\"properties\":{\"action\":{\"type\":\"string\",\"enum\":[\"skip\","  \
	"\"retry\"]}},\"required\":[\"action\"]}}}"

/* Of principal @principal and tool "t", claimed by the instance. */
struct store_fence scene_running(struct scene *sc, const char *token,
				 const char *principal);
/* The same, parked on one question under @key. */
void scene_waiting(struct scene *sc, const char *token, const char *key,
		   const char *request);
/* Unclaimed, of tool @tool. */
void scene_ready(struct scene *sc, const char *token, const char *tool);
void scene_step(struct scene *sc, const struct store_fence *f, const char *key,
		const char *result);
void scene_finish(struct scene *sc, const struct store_fence *f,
		  enum store_state state, const char *payload);
/* As a client does. */
void scene_answer(struct scene *sc, const char *token, const char *key,
		  const char *answer);
/* free with store_task_free(). */
struct store_task *scene_look(struct scene *sc, const char *token);

/* Runs admin_tasks() or its sisters on the words; the exit code. */
int scene_run(struct scene *sc, int (*fn)(const struct config *, int, char **),
	      const char *const *words);
#define scene_tasks(sc, ...)                                                   \
	scene_run(sc, admin_tasks,                                             \
		  (const char *const[]){"tasks", __VA_ARGS__, NULL})
#endif
