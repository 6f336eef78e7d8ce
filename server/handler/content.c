/* SPDX-License-Identifier: MIT */
#include "server/base/error.h"
#include "server/base/jsontext.h"
#include "server/base/limits.h"
#include "server/base/log.h"
#include "server/base/utf8.h"
#include "server/handler/call_internal.h"
#include "server/security/keyring.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Content is written as it is added: what a handler says is copied once, into
 * the text that leaves. server/tools "Tool Result".
 */

#define TEXT_BYTES 512 /* formatted without an allocation */

void content_reset(struct bide_call *c)
{
	buf_fini(&c->out);
	buf_fini(&c->failure);
	buf_init(&c->out, LIMIT_RESULT_BYTES);
	c->blocks = 0;
	c->is_error = false;
	json_decref(c->structured);
	c->structured = NULL;
}

static void begin(struct bide_call *c, const char *opening)
{
	if (!c->out.len)
		buf_addstr(&c->out, "{\"content\":[");
	else if (c->blocks)
		buf_addc(&c->out, ',');
	c->blocks++;
	buf_addstr(&c->out, opening);
}

/* The end of each function here: what was written fits, or sticks. */
static enum bide_rc end(struct bide_call *c)
{
	if (!c->out.failed)
		return BIDE_OK;
	return call_fail(c, BIDE_LIMIT,
			 "the result is over %d bytes (LIMIT_RESULT_BYTES)",
			 LIMIT_RESULT_BYTES);
}

static enum bide_rc bad_text(struct bide_call *c, const char *what)
{
	return call_fail(c, BIDE_INVALID, "%s is not UTF-8", what);
}

/* ,"name":"value"; NULL writes nothing. */
static enum bide_rc member(struct bide_call *c, const char *name,
			   const char *value)
{
	size_t len = value ? strlen(value) : 0;

	if (!value || c->stuck.rc)
		return c->stuck.rc;
	if (!utf8_valid(value, len))
		return bad_text(c, name);
	buf_addc(&c->out, ',');
	jsontext_write_string(name, strlen(name), &c->out);
	buf_addc(&c->out, ':');
	jsontext_write_string(value, len, &c->out);
	return BIDE_OK;
}

static enum bide_rc add_text(struct bide_call *c, const char *text, size_t len)
{
	if (!utf8_valid(text, len))
		return bad_text(c, "text");
	begin(c, "{\"type\":\"text\",\"text\":");
	jsontext_write_string(text, len, &c->out);
	buf_addc(&c->out, '}');
	return end(c);
}

static enum bide_rc add_format(struct bide_call *c, const char *fmt, va_list ap)
{
	char few[TEXT_BYTES];
	char *many = NULL;
	va_list again;
	enum bide_rc rc;
	int n;

	va_copy(again, ap);
	n = vsnprintf(few, sizeof(few), fmt, ap);
	if (n < 0) {
		rc = call_fail(c, BIDE_INVALID, "text could not be formatted");
	} else if ((size_t)n < sizeof(few)) {
		rc = add_text(c, few, (size_t)n);
	} else if (vasprintf(&many, fmt, again) < 0) {
		rc = call_nomem(c);
	} else {
		rc = add_text(c, many, (size_t)n);
		free(many);
	}
	va_end(again);
	return rc;
}

enum bide_rc bide_text(struct bide_call *call, const char *fmt, ...)
{
	enum bide_rc rc = call_stuck(call);
	va_list ap;

	if (rc)
		return rc;
	va_start(ap, fmt);
	rc = add_format(call, fmt, ap);
	va_end(ap);
	return rc;
}

enum bide_rc bide_error_text(struct bide_call *call, const char *fmt, ...)
{
	enum bide_rc rc = call_stuck(call);
	va_list ap;

	if (rc)
		return rc;
	call->is_error = true;
	va_start(ap, fmt);
	rc = add_format(call, fmt, ap);
	va_end(ap);
	return rc;
}

enum bide_rc bide_set_is_error(struct bide_call *call)
{
	enum bide_rc rc = call_stuck(call);

	if (!rc)
		call->is_error = true;
	return rc;
}

static enum bide_rc need(struct bide_call *c, const void *value,
			 const char *what)
{
	enum bide_rc rc = call_stuck(c);

	if (rc || value)
		return rc;
	return call_fail(c, BIDE_INVALID, "%s is missing", what);
}

enum bide_rc bide_add_text(struct bide_call *call, const char *text)
{
	enum bide_rc rc = need(call, text, "text");

	return rc ? rc : add_text(call, text, strlen(text));
}

/* ,"name":"base64" */
static enum bide_rc bytes_member(struct bide_call *c, const char *name,
				 const void *bytes, size_t len)
{
	char *text = NULL;
	enum bide_rc rc;

	if (len > LIMIT_RESULT_BYTES)
		c->out.failed = true;
	if (c->out.failed)
		return end(c);
	text = security_base64_encode(bytes, len);
	if (!text)
		return call_nomem(c);
	rc = member(c, name, text);
	free(text);
	return rc;
}

static enum bide_rc add_media(struct bide_call *c, const char *opening,
			      const void *bytes, size_t len, const char *mime)
{
	enum bide_rc rc = need(c, mime, "a MIME type");

	if (!rc && len)
		rc = need(c, bytes, "data");
	if (rc)
		return rc;
	begin(c, opening);
	if (bytes_member(c, "data", bytes, len) || member(c, "mimeType", mime))
		return c->stuck.rc;
	buf_addc(&c->out, '}');
	return end(c);
}

enum bide_rc bide_add_image(struct bide_call *call, const void *bytes,
			    size_t len, const char *mime_type)
{
	return add_media(call, "{\"type\":\"image\"", bytes, len, mime_type);
}

enum bide_rc bide_add_audio(struct bide_call *call, const void *bytes,
			    size_t len, const char *mime_type)
{
	return add_media(call, "{\"type\":\"audio\"", bytes, len, mime_type);
}

/* {"type":"resource","resource":{"uri":..,"mimeType":.. ; the rest is to come
 */
static enum bide_rc begin_resource(struct bide_call *c, const char *uri,
				   const char *mime)
{
	enum bide_rc rc = need(c, uri, "a resource's URI");

	if (rc)
		return rc;
	if (!utf8_valid(uri, strlen(uri)))
		return bad_text(c, "uri");
	begin(c, "{\"type\":\"resource\",\"resource\":{\"uri\":");
	jsontext_write_string(uri, strlen(uri), &c->out);
	return member(c, "mimeType", mime);
}

enum bide_rc bide_add_resource_text(struct bide_call *call, const char *uri,
				    const char *mime_type, const char *text)
{
	enum bide_rc rc = need(call, text, "a resource's text");

	if (rc || (rc = begin_resource(call, uri, mime_type)) ||
	    (rc = member(call, "text", text)))
		return rc;
	buf_addstr(&call->out, "}}");
	return end(call);
}

enum bide_rc bide_add_resource_blob(struct bide_call *call, const char *uri,
				    const char *mime_type, const void *bytes,
				    size_t len)
{
	enum bide_rc rc = len ? need(call, bytes, "a resource's bytes")
			      : call_stuck(call);

	if (rc || (rc = begin_resource(call, uri, mime_type)) ||
	    (rc = bytes_member(call, "blob", bytes, len)))
		return rc;
	buf_addstr(&call->out, "}}");
	return end(call);
}

enum bide_rc bide_add_resource_link(struct bide_call *call, const char *uri,
				    const char *name, const char *title,
				    const char *description,
				    const char *mime_type)
{
	enum bide_rc rc = need(call, uri, "a link's URI");

	if (!rc)
		rc = need(call, name, "a link's name");
	if (rc)
		return rc;
	begin(call, "{\"type\":\"resource_link\"");
	if (member(call, "uri", uri) || member(call, "name", name) ||
	    member(call, "title", title) ||
	    member(call, "description", description) ||
	    member(call, "mimeType", mime_type))
		return call->stuck.rc;
	buf_addc(&call->out, '}');
	return end(call);
}

/* Takes @value over; it sticks when it is no JSON that can leave. */
static enum bide_rc check_value(struct bide_call *c, json_t *value,
				const char *what)
{
	struct bide_error why = {0};
	enum bide_rc rc = call_stuck(c);

	if (!rc && !value)
		rc = call_fail(c, BIDE_INVALID, "%s is missing", what);
	if (!rc && jsontext_check(value, &why))
		rc = call_fail(c, BIDE_INVALID, "%s: %s", what, why.text);
	if (rc)
		json_decref(value);
	return rc;
}

enum bide_rc bide_structured(struct bide_call *call, json_t *value)
{
	enum bide_rc rc = check_value(call, value, "structuredContent");

	if (rc)
		return rc;
	json_decref(call->structured);
	call->structured = value;
	return BIDE_OK;
}

enum bide_rc bide_add_content(struct bide_call *call, json_t *block)
{
	const char *why = NULL;
	enum bide_rc rc = check_value(call, block, "a content block");

	if (rc)
		return rc;
	if (sampling_content_fits(block, &why)) {
		begin(call, "");
		jsontext_write(block, &call->out);
		rc = end(call);
	} else {
		rc = call_fail(call, BIDE_INVALID, "a content block %s", why);
	}
	json_decref(block);
	return rc;
}

/* basic/index "Error Codes": -32020..-32099 are the specification's to give
 * out, and these two belong to earlier revisions. */
static int allowed_code(int code)
{
	if ((code <= -32020 && code >= -32099) || code == -32002 ||
	    code == -32042)
		return -32603;
	return code;
}

enum bide_rc bide_fail(struct bide_call *call, int code, const char *message,
		       json_t *data)
{
	struct buf *b = &call->failure;

	if (call->stuck.rc) {
		json_decref(data);
		return call->stuck.rc;
	}
	if (!message || !utf8_valid(message, strlen(message)))
		message = "Internal error";
	buf_init(b, LIMIT_RESULT_BYTES);
	buf_addf(b, "{\"code\":%d,\"message\":", allowed_code(code));
	jsontext_write_string(message, strlen(message), b);
	if (data && !jsontext_check(data, NULL)) {
		buf_addstr(b, ",\"data\":");
		jsontext_write(data, b);
	} else if (data) {
		log_warn("handler.error_data_dropped", "tool=%s",
			 call->target->name);
	}
	buf_addc(b, '}');
	json_decref(data);
	if (b->failed)
		return call_fail(call, BIDE_LIMIT,
				 "the error is over %d bytes "
				 "(LIMIT_RESULT_BYTES)",
				 LIMIT_RESULT_BYTES);
	return call_fail(call, BIDE_FAILED, "bide_fail");
}
