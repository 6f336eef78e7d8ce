/* SPDX-License-Identifier: MIT */
#ifndef BIDE_CONTENT_H
#define BIDE_CONTENT_H
#include <bide/resource.h>
#include <bide/types.h>
#include <jansson.h>
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif

struct bide_call;

/* Who says what a prompt's content says (server/prompts, "PromptMessage"). */
enum bide_role { BIDE_USER = 0, BIDE_ASSISTANT };

/*
 * The result (server/tools, "Tool Result"; of a prompt its messages, of a
 * resource its contents: what fits neither is BIDE_MISUSE there). Content
 * collects in order; everything is copied unless it says stolen. Text must be
 * UTF-8: BIDE_INVALID at once if not. Each returns BIDE_OK, so that "return
 * bide_text(..)" ends a handler; what an earlier entry collected is gone.
 */
BIDE_API enum bide_rc bide_text(struct bide_call *call, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The same, and the result has isError: something the model can act on. A
 * prompt or a resource has no such result: there the call ends with a JSON-RPC
 * error -32603 of this text, and BIDE_FAILED is returned: return it. */
BIDE_API enum bide_rc bide_error_text(struct bide_call *call, const char *fmt,
				      ...)
	__attribute__((format(printf, 2, 3)));
BIDE_API enum bide_rc bide_add_text(struct bide_call *call, const char *text);
BIDE_API enum bide_rc bide_add_image(struct bide_call *call, const void *bytes,
				     size_t len, const char *mime_type);
BIDE_API enum bide_rc bide_add_audio(struct bide_call *call, const void *bytes,
				     size_t len, const char *mime_type);
BIDE_API enum bide_rc bide_add_resource_text(struct bide_call *call,
					     const char *uri,
					     const char *mime_type,
					     const char *text);
BIDE_API enum bide_rc bide_add_resource_blob(struct bide_call *call,
					     const char *uri,
					     const char *mime_type,
					     const void *bytes, size_t len);
/* @title, @description, @mime_type may be NULL. */
BIDE_API enum bide_rc bide_add_resource_link(struct bide_call *call,
					     const char *uri, const char *name,
					     const char *title,
					     const char *description,
					     const char *mime_type);
/* A prompt: whose the messages added from here on are. Elsewhere
 * BIDE_MISUSE. */
BIDE_API enum bide_rc bide_role(struct bide_call *call, enum bide_role role);
/* A resource: how long, and for whom, what is read now may be kept. Elsewhere
 * BIDE_MISUSE. */
BIDE_API enum bide_rc bide_cache(struct bide_call *call, int64_t ms,
				 enum bide_scope scope);
/* structuredContent, stolen; also repeated as a text block when no content was
 * added (server/tools, "Structured Content"). Checked against output_schema. */
BIDE_API enum bide_rc bide_structured(struct bide_call *call, json_t *value);
BIDE_API enum bide_rc bide_set_is_error(struct bide_call *call);
/* Annotations of the content added last (server/resources, "Annotations"):
 * an object, stolen. BIDE_MISUSE: there is none, or it has some, or it is a
 * resource's contents. BIDE_INVALID: they are not as the schema has them. */
BIDE_API enum bide_rc bide_annotate(struct bide_call *call,
				    json_t *annotations);
/* Any content block as the schema has it; stolen. A resource: any contents.
 * BIDE_INVALID: it is none; URIs are absolute, and bytes Base64. */
BIDE_API enum bide_rc bide_add_content(struct bide_call *call, json_t *block);
/**
 * bide_fail - end with a JSON-RPC error instead of a result.
 * @code: outside -32020..-32099 (the specification's) and not -32002, -32042;
 *	-32603 stands in for those. @data: stolen; may be NULL.
 *
 * Returns BIDE_FAILED: return it. A task becomes "failed".
 */
BIDE_API enum bide_rc bide_fail(struct bide_call *call, int code,
				const char *message, json_t *data);

/* A resource: there is no such thing; the client gets -32602 with its URI
 * (server/resources, "Error Handling"). Returns BIDE_FAILED: return it.
 * Elsewhere BIDE_MISUSE. */
BIDE_API enum bide_rc bide_not_found(struct bide_call *call);

#ifdef __cplusplus
}
#endif
#endif
