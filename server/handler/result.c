/* SPDX-License-Identifier: MIT */
#include "server/base/jsontext.h"
#include "server/base/limits.h"
#include "server/base/log.h"
#include "server/handler/call_internal.h"
#include <string.h>

#define INTERNAL (-32603) /* JSON-RPC: internal error */
#define PROBLEMS 4

void result_error(struct run_result *ret, int code, const char *message)
{
	ret->left = RUN_ERROR;
	buf_reset(&ret->text);
	buf_addf(&ret->text, "{\"code\":%d,\"message\":", code);
	jsontext_write_string(message, strlen(message), &ret->text);
	buf_addc(&ret->text, '}');
}

/* server/tools "Output Schema": servers MUST conform, so a handler that does
 * not is broken; its author learns how from the log. */
static bool output_fits(struct bide_call *c, struct run_result *ret)
{
	struct json_schema_problem problems[PROBLEMS];
	struct buf why = {0};
	size_t n = 0;

	if (!c->target->output || (!c->structured && c->is_error))
		return true;
	if (!c->structured) {
		log_error("handler.no_structured_content", CALL_WHO,
			  call_who(c));
		result_error(ret, INTERNAL,
			     "The tool gave no structured content");
		return false;
	}
	if (!json_schema_validate(c->target->output, c->structured, problems,
				  PROBLEMS, &n))
		return true;
	json_schema_explain_as("structuredContent", problems, n, &why);
	log_error("handler.output_schema", CALL_WHO " why=%s", call_who(c),
		  why.data ? why.data : "");
	buf_fini(&why);
	result_error(ret, INTERNAL,
		     "The tool's result does not fit its output schema");
	return false;
}

/* For readers of earlier revisions (server/tools "Structured Content"). */
static void repeat_structured(struct bide_call *c)
{
	struct buf text = {.max = LIMIT_RESULT_BYTES};

	buf_addstr(&c->out, "{\"type\":\"text\",\"text\":");
	if (jsontext_write(c->structured, &text))
		jsontext_write_string(text.data, text.len, &c->out);
	else
		c->out.failed = true;
	buf_addc(&c->out, '}');
	buf_fini(&text);
}

static void write_result(struct bide_call *c)
{
	if (!c->out.len)
		content_open(c);
	if (c->structured && !c->blocks)
		repeat_structured(c);
	buf_addc(&c->out, ']');
	if (c->structured) {
		buf_addstr(&c->out, ",\"structuredContent\":");
		jsontext_write(c->structured, &c->out);
	}
	if (c->is_error)
		buf_addstr(&c->out, ",\"isError\":true");
	buf_addc(&c->out, '}');
}

/* server/resources "Error Handling": empty contents could mean that there is no
 * such thing, so they are never sent. */
static bool has_contents(struct bide_call *c, struct run_result *ret)
{
	if (c->target->kind != TARGET_RESOURCE || c->blocks)
		return true;
	log_error("handler.no_contents", CALL_WHO, call_who(c));
	result_error(ret, INTERNAL, "The resource gave no contents");
	return false;
}

void result_finish(struct bide_call *c, struct run_result *ret)
{
	if (!output_fits(c, ret) || !has_contents(c, ret))
		return;
	write_result(c);
	if (c->out.failed) {
		log_error("handler.result_too_large", CALL_WHO " limit=%d",
			  call_who(c), LIMIT_RESULT_BYTES);
		result_error(ret, INTERNAL,
			     "The result is too large (LIMIT_RESULT_BYTES)");
		return;
	}
	buf_fini(&ret->text);
	ret->text = c->out;
	c->out = (struct buf){0};
	ret->left = RUN_COMPLETE;
	ret->is_error = c->is_error;
	ret->cache_ms = c->cache_ms;
	ret->scope = c->scope;
}
