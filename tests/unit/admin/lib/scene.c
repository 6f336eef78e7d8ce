/* SPDX-License-Identifier: MIT */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/base/log.h"
#include "tests/unit/admin/lib/scene.h"

#define OP_MS 10000

int scene_setup(void **state)
{
	static const char *const tools[] = {"t"};
	struct scene *sc = calloc(1, sizeof(*sc));
	const char *tmp = getenv("TMPDIR");
	struct store_options opt = {.create = true, .migrate = true};
	struct bide_error err = {0};

	assert_non_null(sc);
	log_set_level(LOG_WARN);
	(void)snprintf(sc->dir, sizeof(sc->dir), "%s/bide-admin-XXXXXX",
		       tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
	assert_non_null(mkdtemp(sc->dir));
	(void)snprintf(sc->db, sizeof(sc->db), "%s/bide.db", sc->dir);
	sc->config = config_new();
	assert_int_equal(
		config_set(sc->config, "db", sc->db, CONFIG_FROM_ARGS, NULL),
		BIDE_OK);
	opt.url = sc->db;
	if (store_open(&opt, &sc->s, &err) != BIDE_OK)
		fail_msg("store_open: %s", err.text);
	assert_int_equal(store_join(sc->s, tools, 1, "scene", &err), BIDE_OK);
	*state = sc;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int scene_teardown(void **state)
{
	struct scene *sc = *state;
	struct store_op op;

	/* Or the store stays open: it holds claims. */
	store_op_init(&op, STORE_OP_REAP, OP_MS);
	op.u.reap.instance = store_instance(sc->s);
	(void)store_run(sc->s, &op);
	store_close(sc->s, 1000);
	config_free(sc->config);
	free(sc->out);
	free(sc->err);
	assert_int_equal(nftw(sc->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
	free(sc);
	return 0;
}

static void must(struct scene *sc, struct store_op *op, enum store_answer want)
{
	assert_int_equal(store_run(sc->s, op), BIDE_OK);
	assert_int_equal(op->answer, want);
}

static struct store_fence create(struct scene *sc, const char *token,
				 const char *principal, const char *tool,
				 bool claim)
{
	struct store_op op;
	struct store_create *u = &op.u.create;

	store_op_init(&op, STORE_OP_CREATE, OP_MS);
	u->token = token;
	u->principal = principal;
	u->tool = tool;
	u->tool_version = "1";
	u->flow = STORE_FLOW_TASKS;
	u->args = "{\"a\":1}";
	u->args_digest = "digest-1";
	u->caller = "{\"era\":\"2026-07-28\",\"can\":65,\"client\":\"c/1\"}";
	u->ttl_ms = -1;
	u->retention_ms = 3600000;
	u->abandon_ms = -1;
	u->max_live = 1000;
	u->claim = claim;
	must(sc, &op, STORE_CREATED);
	return u->ret_fence;
}

struct store_fence scene_running(struct scene *sc, const char *token,
				 const char *principal)
{
	return create(sc, token, principal, "t", true);
}

void scene_ready(struct scene *sc, const char *token, const char *tool)
{
	(void)create(sc, token, "alice", tool, false);
}

void scene_waiting(struct scene *sc, const char *token, const char *key,
		   const char *request)
{
	struct store_fence f = scene_running(sc, token, "alice");
	struct store_ask ask = {
		.key = key, .kind = STORE_INPUT_FORM, .request = request};
	struct store_op op;

	store_op_init(&op, STORE_OP_PARK, OP_MS);
	op.u.park.fence = f;
	op.u.park.asks = &ask;
	op.u.park.nasks = 1;
	must(sc, &op, STORE_PARKED);
}

void scene_step(struct scene *sc, const struct store_fence *f, const char *key,
		const char *result)
{
	struct store_op op;

	store_op_init(&op, STORE_OP_STEP, OP_MS);
	op.u.step.fence = *f;
	op.u.step.step.key = key;
	op.u.step.step.result = result;
	must(sc, &op, STORE_OK);
}

void scene_finish(struct scene *sc, const struct store_fence *f,
		  enum store_state state, const char *payload)
{
	struct store_op op;

	store_op_init(&op, STORE_OP_FINISH, OP_MS);
	op.u.finish.fence = *f;
	op.u.finish.state = state;
	op.u.finish.payload = payload;
	must(sc, &op, STORE_OK);
}

void scene_answer(struct scene *sc, const char *token, const char *key,
		  const char *answer)
{
	struct store_answer_in in = {.wire_key = key, .answer = answer};
	struct store_op op;

	store_op_init(&op, STORE_OP_ANSWER, OP_MS);
	op.u.answer.token = token;
	op.u.answer.by = ""; /* it told no name */
	op.u.answer.answers = &in;
	op.u.answer.n = 1;
	must(sc, &op, STORE_OK);
	assert_int_equal(in.ret, STORE_ACCEPTED);
}

struct store_task *scene_look(struct scene *sc, const char *token)
{
	struct store_task *t = NULL;

	assert_int_equal(store_get(sc->s, token, NULL,
				   STORE_GET_ALL_INPUTS | STORE_GET_EVENTS, 0,
				   &t),
			 BIDE_OK);
	return t;
}

/* ---- commands ---- */
static char *read_all(FILE *f)
{
	char *text = calloc(1, 1 << 20);

	assert_non_null(text);
	rewind(f);
	(void)fread(text, 1, (1 << 20) - 1, f);
	(void)fclose(f);
	return text;
}

int scene_run(struct scene *sc, int (*fn)(const struct config *, int, char **),
	      const char *const *words)
{
	int saved_out = dup(STDOUT_FILENO);
	int saved_err = dup(STDERR_FILENO);
	FILE *out = tmpfile();
	FILE *err = tmpfile();
	char *argv[16] = {0};
	int argc = 0;
	int code;

	assert_true(out != NULL && err != NULL);
	for (; words[argc] != NULL; argc++)
		argv[argc] = (char *)words[argc];
	(void)fflush(stdout);
	(void)dup2(fileno(out), STDOUT_FILENO);
	(void)dup2(fileno(err), STDERR_FILENO);
	code = fn(sc->config, argc, argv);
	(void)fflush(stdout);
	(void)dup2(saved_out, STDOUT_FILENO);
	(void)dup2(saved_err, STDERR_FILENO);
	(void)close(saved_out);
	(void)close(saved_err);
	free(sc->out);
	free(sc->err);
	sc->out = read_all(out);
	sc->err = read_all(err);
	return code;
}
