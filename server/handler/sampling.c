/* SPDX-License-Identifier: MIT */
#include "server/handler/call_internal.h"
#include <string.h>

/*
 * The shapes of sampling, deprecated by the specification but served: client/
 * sampling, and CreateMessageRequestParams, CreateMessageResult and the content
 * blocks of schema.ts. Reasons are clauses that follow the name of the thing.
 */

static bool is_string(const json_t *o, const char *name)
{
	return json_is_string(json_object_get(o, name));
}

static bool wrong(const char **why, const char *clause)
{
	*why = clause;
	return false;
}

static bool is_type(const json_t *block, const char *type)
{
	const char *t = json_string_value(json_object_get(block, "type"));

	return t && !strcmp(t, type);
}

/* What messages and tool results have in common. */
static bool common_fits(const json_t *block, bool *known, const char **why)
{
	*known = true;
	if (is_type(block, "text"))
		return is_string(block, "text") ||
		       wrong(why, "of type text has no text");
	if (is_type(block, "image") || is_type(block, "audio"))
		return (is_string(block, "data") &&
			is_string(block, "mimeType")) ||
		       wrong(why, "has no data or no mimeType");
	*known = false;
	return false;
}

bool sampling_content_fits(const json_t *block, const char **why)
{
	const json_t *r = json_object_get(block, "resource");
	bool known;
	bool fits;

	if (!is_string(block, "type"))
		return wrong(why, "is no object with a type");
	fits = common_fits(block, &known, why);
	if (known)
		return fits;
	if (is_type(block, "resource_link"))
		return (is_string(block, "uri") && is_string(block, "name")) ||
		       wrong(why, "of type resource_link has no uri or name");
	if (!is_type(block, "resource"))
		return wrong(why, "has a type that is not known");
	return (is_string(r, "uri") &&
		(is_string(r, "text") || is_string(r, "blob"))) ||
	       wrong(why, "of type resource has no uri, or no text or blob");
}

static bool message_block_fits(const json_t *block, const char **why)
{
	bool known;
	bool fits;

	if (!is_string(block, "type"))
		return wrong(why, "has content that is no object with a type");
	fits = common_fits(block, &known, why);
	if (known)
		return fits;
	if (is_type(block, "tool_use"))
		return (is_string(block, "id") && is_string(block, "name") &&
			json_is_object(json_object_get(block, "input"))) ||
		       wrong(why, "has a tool_use without id, name or input");
	if (is_type(block, "tool_result"))
		return (is_string(block, "toolUseId") &&
			json_is_array(json_object_get(block, "content"))) ||
		       wrong(why, "has a tool_result without toolUseId or "
				  "content");
	return wrong(why, "has content of a type that is not known");
}

/* One block or an array of them, as an array of @n. */
static const json_t *block_at(const json_t *content, size_t i)
{
	return json_is_array(content) ? json_array_get(content, i) : content;
}

static size_t blocks(const json_t *content)
{
	return json_is_array(content) ? json_array_size(content) : 1;
}

static bool message_fits(const json_t *m, const char **why)
{
	const char *role = json_string_value(json_object_get(m, "role"));
	const json_t *content = json_object_get(m, "content");

	if (!role ||
	    (strcmp(role, "user") != 0 && strcmp(role, "assistant") != 0))
		return wrong(why, "has no role of user or assistant");
	for (size_t i = 0; i < blocks(content); i++)
		if (!message_block_fits(block_at(content, i), why))
			return false;
	return true;
}

static bool is_role(const json_t *m, const char *role)
{
	return !strcmp(json_string_value(json_object_get(m, "role")), role);
}

static size_t count_type(const json_t *content, const char *type)
{
	size_t n = 0;

	for (size_t i = 0; i < blocks(content); i++)
		n += is_type(block_at(content, i), type);
	return n;
}

static bool has_result(const json_t *content, const char *id)
{
	const json_t *b = NULL;

	for (size_t i = 0; i < blocks(content); i++) {
		b = block_at(content, i);
		if (is_type(b, "tool_result") &&
		    !strcmp(json_string_value(json_object_get(b, "toolUseId")),
			    id))
			return true;
	}
	return false;
}

/* client/sampling "Message Content Constraints": the assistant's tool_use is
 * answered by the user's very next message, and results stand alone. */
static bool tools_balance(const json_t *messages, size_t i, const char **why)
{
	const json_t *m = json_array_get(messages, i);
	const json_t *content = json_object_get(m, "content");
	const json_t *next =
		json_object_get(json_array_get(messages, i + 1), "content");
	size_t results = count_type(content, "tool_result");
	const json_t *b = NULL;

	if (results && !is_role(m, "user"))
		return wrong(why, "has tool results that are not the user's");
	if (count_type(content, "tool_use") && !is_role(m, "assistant"))
		return wrong(why, "has a tool_use that is not the assistant's");
	if (results && results != blocks(content))
		return wrong(why, "mixes tool results with other content");
	for (size_t k = 0; k < blocks(content); k++) {
		b = block_at(content, k);
		if (is_type(b, "tool_use") &&
		    (!next ||
		     !has_result(next,
				 json_string_value(json_object_get(b, "id")))))
			return wrong(why, "has a tool_use that the next "
					  "message does not answer");
	}
	return true;
}

bool sampling_params_fit(const json_t *params, const char **why)
{
	const json_t *messages = json_object_get(params, "messages");
	const json_t *max = json_object_get(params, "maxTokens");

	if (!json_is_object(params))
		return wrong(why, "are no object");
	if (!json_is_array(messages) || !json_array_size(messages))
		return wrong(why, "have no messages");
	if (call_json_int(max, 0) <= 0)
		return wrong(why, "have no maxTokens above 0");
	for (size_t i = 0; i < json_array_size(messages); i++)
		if (!message_fits(json_array_get(messages, i), why))
			return false;
	for (size_t i = 0; i < json_array_size(messages); i++)
		if (!tools_balance(messages, i, why))
			return false;
	return true;
}

bool sampling_result_fits(const json_t *result, const char **why)
{
	if (!json_is_object(result))
		return wrong(why, "is no object");
	if (!is_string(result, "model"))
		return wrong(why, "has no model");
	return message_fits(result, why);
}

unsigned sampling_needs(const json_t *params)
{
	const char *context =
		json_string_value(json_object_get(params, "includeContext"));
	unsigned bits = BIDE_CAN_SAMPLE;

	if (json_object_get(params, "tools") ||
	    json_object_get(params, "toolChoice"))
		bits |= BIDE_CAN_SAMPLE_TOOLS;
	if (context && strcmp(context, "none") != 0)
		bits |= BIDE_CAN_SAMPLE_CONTEXT;
	return bits;
}
