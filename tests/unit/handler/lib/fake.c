/* SPDX-License-Identifier: MIT */
#include "tests/unit/handler/lib/fake.h"
#include "server/base/jsontext.h"
#include "server/base/log.h"

static struct fake *of(struct bide_call *c)
{
	return run_backend_data(c);
}

static enum bide_rc be_step(struct bide_call *c, const char *key,
			    const char *result)
{
	struct fake *f = of(c);

	if (!f->step_rc)
		json_array_append_new(f->steps, json_pack("[ss]", key, result));
	return f->step_rc;
}

static enum bide_rc be_publish(struct bide_call *c)
{
	of(c)->published++;
	return of(c)->publish_rc;
}

static void be_progress(struct bide_call *c, double progress, double total,
			const char *message)
{
	json_array_append_new(of(c)->progress,
			      json_pack("[ffs?]", progress, total, message));
}

static void be_log(struct bide_call *c, int level, const char *logger,
		   const char *data)
{
	json_array_append_new(of(c)->logs,
			      json_pack("[is?s]", level, logger, data));
}

static void be_status(struct bide_call *c, const char *text)
{
	snprintf(of(c)->status, sizeof(of(c)->status), "%s", text);
}

static enum bide_rc be_announce(struct bide_call *c, enum bide_changed what,
				const char *uri)
{
	json_array_append_new(of(c)->announced,
			      json_pack("[is?]", (int)what, uri));
	return of(c)->announce_rc;
}

static int64_t be_now_ms(struct bide_call *c)
{
	return of(c)->now;
}

static bool be_draining(struct bide_call *c)
{
	return of(c)->draining;
}

static const struct run_backend backend = {
	.step = be_step,
	.publish = be_publish,
	.progress = be_progress,
	.log = be_log,
	.status = be_status,
	.announce = be_announce,
	.now_ms = be_now_ms,
	.draining = be_draining,
};

static struct fake *start(void)
{
	struct fake *f = calloc(1, sizeof(*f));

	log_set_level(LOG_NONE);
	f->registry = registry_new();
	f->now = 1000000;
	f->steps = json_array();
	f->progress = json_array();
	f->logs = json_array();
	f->announced = json_array();
	f->caller = (struct caller){CALLER_2026_07_28, CAN_ALL, "c/1", ""};
	f->opt = (struct run_options){
		.backend = &backend,
		.backend_data = f,
		.principal = "alice",
		.chain_id = "chain-1",
		.caller = &f->caller,
	};
	return f;
}

static struct fake *ready(struct fake *f, enum bide_rc rc,
			  const struct bide_error *e)
{
	if (rc)
		fail_msg("%s", e->text);
	fake_call(f);
	return f;
}

struct fake *fake_new(struct bide_tool def)
{
	struct fake *f = start();
	struct bide_error e = {0};
	enum bide_rc rc;

	def.size = sizeof(def);
	def.name = "tool";
	def.user = f;
	rc = registry_add_tool(f->registry, &def, false, &e);
	if (!rc)
		f->opt.target = &registry_tool(f->registry, "tool")->target;
	return ready(f, rc, &e);
}

struct fake *fake_prompt(bide_handler_fn fn, const char *description)
{
	struct fake *f = start();
	struct bide_error e = {0};
	struct bide_prompt def = {BIDE_PROMPT, .name = "prompt",
				  .description = description, .handler = fn,
				  .user = f};
	enum bide_rc rc = registry_add_prompt(f->registry, &def, &e);

	if (!rc)
		f->opt.target = &registry_prompt(f->registry, "prompt")->target;
	return ready(f, rc, &e);
}

struct fake *fake_resource(bide_handler_fn fn)
{
	struct fake *f = start();
	struct bide_error e = {0};
	struct bide_resource def = {BIDE_RESOURCE,    .uri = "test://r",
				    .name = "r",      .mime_type = "text/plain",
				    .handler = fn,    .user = f,
				    .cache_ms = 5000, .scope = BIDE_PUBLIC};
	enum bide_rc rc = registry_add_resource(f->registry, &def, false, &e);
	const struct resource *r;
	json_t *vars = NULL;

	if (!rc) {
		r = registry_resource(f->registry, "test://r", &vars);
		assert_non_null(r);
		json_decref(vars);
		f->opt.target = &r->target;
		f->opt.uri = "test://r";
	}
	return ready(f, rc, &e);
}

void fake_gives(struct fake *f, enum run_left left, const char *text)
{
	assert_int_equal(fake_enter(f), left);
	assert_string_equal(fake_text(f), text);
	fake_free(f);
}

struct fake *fake_of(bide_handler_fn fn)
{
	return fake_new((struct bide_tool){.handler = fn, .mode = BIDE_EITHER});
}

void fake_free(struct fake *f)
{
	run_free(f->call);
	run_result_fini(&f->result);
	json_decref(f->steps);
	json_decref(f->progress);
	json_decref(f->logs);
	json_decref(f->announced);
	registry_free(f->registry);
	free(f);
}

void fake_call(struct fake *f)
{
	run_free(f->call);
	f->call = run_new(&f->opt);
	assert_non_null(f->call);
}

void fake_task(struct fake *f)
{
	f->opt.task_id = "task-1";
	fake_call(f);
}

enum run_left fake_enter(struct fake *f)
{
	run_result_fini(&f->result);
	run_enter(f->call, &f->result);
	return f->result.left;
}

const char *fake_text(const struct fake *f)
{
	return f->result.text.data ? f->result.text.data : "";
}

void fake_next_request(struct fake *f)
{
	json_t *record = run_dump(f->call);
	json_t *read = NULL;
	char *text = jsontext_dup(record, NULL);

	assert_non_null(text);
	assert_int_equal(jsontext_parse(text, strlen(text), &read, NULL),
			 BIDE_OK);
	fake_call(f);
	assert_int_equal(run_load(f->call, read), BIDE_OK);
	json_decref(record);
	json_decref(read);
	free(text);
}

json_t *fake_json(const char *text)
{
	json_t *v = json_loads(text, JSON_DECODE_ANY, NULL);

	if (!v)
		fail_msg("not JSON: %s", text);
	return v;
}

bool fake_try_answer(struct fake *f, const char *key, const char *response)
{
	json_t *v = fake_json(response);
	bool ok = run_answer(f->call, key, v);

	json_decref(v);
	return ok;
}

void fake_answer(struct fake *f, const char *key, const char *response)
{
	assert_true(fake_try_answer(f, key, response));
}

size_t fake_open(struct fake *f)
{
	struct buf b = {0};
	size_t n = run_open_questions(f->call, &b);

	buf_fini(&b);
	return n;
}

const char *fake_step(const struct fake *f, const char *key)
{
	const json_t *s = NULL;
	size_t i;

	json_array_foreach (f->steps, i, s)
		if (!strcmp(json_string_value(json_array_get(s, 0)), key))
			return json_string_value(json_array_get(s, 1));
	return NULL;
}

void fake_is(const char *text, const char *expected)
{
	json_t *a = fake_json(text);
	json_t *b = fake_json(expected);

	if (!json_equal(a, b))
		fail_msg("%s\nis not\n%s", text, expected);
	json_decref(a);
	json_decref(b);
}
