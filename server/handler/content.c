/* SPDX-License-Identifier: MIT */
#include "server/base/error.h"
#include "server/base/jsontext.h"
#include "server/base/limits.h"
#include "server/base/log.h"
#include "server/base/utf8.h"
#include "server/catalog/entry.h"
#include "server/handler/call_internal.h"
#include "server/security/keyring.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Content is written as it is added: what a handler says is copied once, into
 * the text that leaves. server/tools "Tool Result".
 */

#define IN(kind)   (1U << (unsigned)(kind))
#define BLOCKS     (IN(TARGET_TOOL) | IN(TARGET_PROMPT))
#define TEXT_BYTES 512 /* formatted without an allocation */

void content_reset(struct bide_call *c)
{
	buf_fini(&c->out);
	buf_fini(&c->failure);
	buf_init(&c->out, LIMIT_RESULT_BYTES);
	c->blocks = 0;
	c->role = BIDE_USER;
	c->annotated = false;
	c->is_error = false;
	json_decref(c->structured);
	c->structured = NULL;
	if (c->target->kind == TARGET_RESOURCE) {
		c->cache_ms = target_resource(c->target)->def.cache_ms;
		c->scope = target_resource(c->target)->def.scope;
	}
}

static void open_messages(struct bide_call *c)
{
	const char *about = target_prompt(c->target)->def.description;

	buf_addc(&c->out, '{');
	if (about) {
		buf_addstr(&c->out, "\"description\":");
		jsontext_write_string(about, strlen(about), &c->out);
		buf_addc(&c->out, ',');
	}
	buf_addstr(&c->out, "\"messages\":[");
}

void content_open(struct bide_call *c)
{
	switch (c->target->kind) {
	case TARGET_TOOL:
		buf_addstr(&c->out, "{\"content\":[");
		return;
	case TARGET_PROMPT:
		open_messages(c);
		return;
	case TARGET_RESOURCE:
		buf_addstr(&c->out, "{\"contents\":[");
		return;
	}
}

/* A prompt has a message for each block (server/prompts "PromptMessage"). */
static void begin(struct bide_call *c, const char *opening)
{
	if (!c->out.len)
		content_open(c);
	else if (c->blocks)
		buf_addc(&c->out, ',');
	c->blocks++;
	c->annotated = false;
	if (c->target->kind == TARGET_PROMPT)
		buf_addf(&c->out, "{\"role\":\"%s\",\"content\":",
			 c->role == BIDE_ASSISTANT ? "assistant" : "user");
	buf_addstr(&c->out, opening);
}

/* What was written fits, or sticks. */
static enum bide_rc fits(struct bide_call *c)
{
	if (!c->out.failed)
		return BIDE_OK;
	return call_fail(c, BIDE_LIMIT,
			 "the result is over %d bytes (LIMIT_RESULT_BYTES)",
			 LIMIT_RESULT_BYTES);
}

static enum bide_rc end(struct bide_call *c, const char *closing)
{
	buf_addstr(&c->out, closing);
	if (c->target->kind == TARGET_PROMPT)
		buf_addc(&c->out, '}');
	return fits(c);
}

/* BIDE_OK in a handler of these kinds. */
static enum bide_rc only_in(struct bide_call *c, unsigned kinds,
			    const char *what)
{
	enum bide_rc rc = call_stuck(c);

	if (rc || (kinds & IN(c->target->kind)))
		return rc;
	return call_fail(c, BIDE_MISUSE, "%s in a %s", what,
			 target_kind_name(c->target->kind));
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

static enum bide_rc need(struct bide_call *c, const void *value,
			 const char *what)
{
	enum bide_rc rc = call_stuck(c);

	if (rc || value)
		return rc;
	return call_fail(c, BIDE_INVALID, "%s is missing", what);
}

static enum bide_rc need_uri(struct bide_call *c, const char *uri)
{
	enum bide_rc rc = need(c, uri, "a resource's URI");

	if (rc || registry_uri_valid(uri))
		return rc;
	return call_fail(c, BIDE_INVALID, "a resource's URI is not absolute");
}

/* {"uri":..,"mimeType":.. of what is read, or the same embedded in a block; the
 * rest is to come. */
static enum bide_rc begin_resource(struct bide_call *c, const char *uri,
				   const char *mime)
{
	bool read = c->target->kind == TARGET_RESOURCE;
	enum bide_rc rc;

	if (read && !uri)
		uri = c->uri;
	if (read && !mime)
		mime = c->target->mime_type;
	rc = need_uri(c, uri);
	if (rc)
		return rc;
	begin(c, read ? "{\"uri\":"
		      : "{\"type\":\"resource\",\"resource\":{\"uri\":");
	jsontext_write_string(uri, strlen(uri), &c->out);
	return member(c, "mimeType", mime);
}

static enum bide_rc end_resource(struct bide_call *c)
{
	return end(c, c->target->kind == TARGET_RESOURCE ? "}" : "}}");
}

/* How a text is taken that a handler gave. */
typedef enum bide_rc (*text_fn)(struct bide_call *c, const char *text,
				size_t len);

static enum bide_rc add_text(struct bide_call *c, const char *text, size_t len)
{
	enum bide_rc rc;

	if (!utf8_valid(text, len))
		return bad_text(c, "text");
	if (c->target->kind != TARGET_RESOURCE) {
		begin(c, "{\"type\":\"text\"");
	} else {
		rc = begin_resource(c, NULL, NULL);
		if (rc)
			return rc;
	}
	buf_addstr(&c->out, ",\"text\":");
	jsontext_write_string(text, len, &c->out);
	return end(c, "}");
}

/* Neither messages nor contents can say that something went wrong. */
static enum bide_rc add_error(struct bide_call *c, const char *text, size_t len)
{
	if (!utf8_valid(text, len))
		return bad_text(c, "text");
	if (c->target->kind != TARGET_TOOL)
		return bide_fail(c, -32603, text, NULL);
	c->is_error = true;
	return add_text(c, text, len);
}

static enum bide_rc add_format(struct bide_call *c, text_fn add,
			       const char *fmt, va_list ap)
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
		rc = add(c, few, (size_t)n);
	} else if (vasprintf(&many, fmt, again) < 0) {
		rc = call_nomem(c);
	} else {
		rc = add(c, many, (size_t)n);
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
	rc = add_format(call, add_text, fmt, ap);
	va_end(ap);
	return rc;
}

enum bide_rc bide_error_text(struct bide_call *call, const char *fmt, ...)
{
	enum bide_rc rc = call_stuck(call);
	va_list ap;

	if (rc)
		return rc;
	va_start(ap, fmt);
	rc = add_format(call, add_error, fmt, ap);
	va_end(ap);
	return rc;
}

enum bide_rc bide_set_is_error(struct bide_call *call)
{
	enum bide_rc rc = only_in(call, IN(TARGET_TOOL), "bide_set_is_error");

	if (!rc)
		call->is_error = true;
	return rc;
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
		return fits(c);
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
	enum bide_rc rc = only_in(c, BLOCKS, "an image or audio");

	if (!rc)
		rc = need(c, mime, "a MIME type");
	if (!rc && len)
		rc = need(c, bytes, "data");
	if (rc)
		return rc;
	begin(c, opening);
	if (bytes_member(c, "data", bytes, len) || member(c, "mimeType", mime))
		return c->stuck.rc;
	return end(c, "}");
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

enum bide_rc bide_add_resource_text(struct bide_call *call, const char *uri,
				    const char *mime_type, const char *text)
{
	enum bide_rc rc = need(call, text, "a resource's text");

	if (rc || (rc = begin_resource(call, uri, mime_type)) ||
	    (rc = member(call, "text", text)))
		return rc;
	return end_resource(call);
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
	return end_resource(call);
}

enum bide_rc bide_add_resource_link(struct bide_call *call, const char *uri,
				    const char *name, const char *title,
				    const char *description,
				    const char *mime_type)
{
	enum bide_rc rc = only_in(call, BLOCKS, "bide_add_resource_link");

	if (!rc)
		rc = need_uri(call, uri);
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
	return end(call, "}");
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
	rc = only_in(call, IN(TARGET_TOOL), "bide_structured");
	if (rc) {
		json_decref(value);
		return rc;
	}
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
	why = call->target->kind == TARGET_RESOURCE
		      ? content_read_problem(block)
		      : content_block_problem(block);
	if (!why) {
		begin(call, "");
		jsontext_write(block, &call->out);
		call->annotated = json_object_get(block, "annotations");
		rc = end(call, "");
	} else {
		rc = call_fail(call, BIDE_INVALID, "a content block %s", why);
	}
	json_decref(block);
	return rc;
}

enum bide_rc bide_role(struct bide_call *call, enum bide_role role)
{
	enum bide_rc rc = only_in(call, IN(TARGET_PROMPT), "bide_role");

	if (!rc)
		call->role = role;
	return rc;
}

enum bide_rc bide_cache(struct bide_call *call, int64_t ms,
			enum bide_scope scope)
{
	enum bide_rc rc = only_in(call, IN(TARGET_RESOURCE), "bide_cache");

	if (rc)
		return rc;
	/* utilities/caching: "MUST provide a ttlMs value that is >= 0". */
	if (ms < 0)
		return call_fail(call, BIDE_INVALID,
				 "a time to keep is negative");
	if (scope != BIDE_PRIVATE && scope != BIDE_PUBLIC)
		return call_fail(call, BIDE_INVALID,
				 "scope is none of enum bide_scope");
	call->cache_ms = ms;
	call->scope = scope;
	return BIDE_OK;
}

/* Opens the last block again: all of them end in "}", a message in one more. */
static enum bide_rc annotate(struct bide_call *c, const json_t *annotations)
{
	const char *closing = c->target->kind == TARGET_PROMPT ? "}}" : "}";
	const char *why;

	if (!c->blocks || c->annotated)
		return call_fail(c, BIDE_MISUSE,
				 "bide_annotate without content that is not "
				 "annotated yet");
	why = entry_annotations_problem(annotations);
	if (why)
		return call_fail(c, BIDE_INVALID, "%s", why);
	c->out.len -= strlen(closing);
	buf_addstr(&c->out, ",\"annotations\":");
	jsontext_write(annotations, &c->out);
	buf_addstr(&c->out, closing);
	c->annotated = true;
	return fits(c);
}

enum bide_rc bide_annotate(struct bide_call *call, json_t *annotations)
{
	enum bide_rc rc = check_value(call, annotations, "annotations");

	if (rc)
		return rc;
	rc = only_in(call, BLOCKS, "bide_annotate");
	if (!rc)
		rc = annotate(call, annotations);
	json_decref(annotations);
	return rc;
}
