/* SPDX-License-Identifier: MIT */
#include "server/catalog/entry.h"
#include "server/catalog/registry.h"
#include "server/handler/call_internal.h"
#include "server/security/keyring.h"
#include <stdlib.h>
#include <string.h>

/*
 * Content that a handler made itself (bide_add_content): as the functions that
 * make it would have, it leaves as schema.ts has it or not at all. Members that
 * are not known there pass.
 */

static bool absent_or_string(const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);

	return !v || json_is_string(v);
}

static bool absent_or_object(const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);

	return !v || json_is_object(v);
}

static bool is_base64(const json_t *v)
{
	size_t len = json_string_length(v);
	size_t n = 0;
	void *bytes = malloc(len + 1);
	bool good = bytes && security_base64_decode(json_string_value(v), len,
						    bytes, len + 1, &n);

	free(bytes);
	return good;
}

const char *content_read_problem(const json_t *contents)
{
	const char *uri = json_string_value(json_object_get(contents, "uri"));
	const json_t *text = json_object_get(contents, "text");
	const json_t *blob = json_object_get(contents, "blob");

	if (!uri)
		return "has no uri";
	if (!registry_uri_valid(uri))
		return "has a uri that is not absolute";
	if (!absent_or_string(contents, "mimeType"))
		return "has a mimeType that is not a string";
	if (!absent_or_object(contents, "_meta"))
		return "has a _meta that is not an object";
	if (text && blob)
		return "has both text and blob";
	if (!json_is_string(text) && !json_is_string(blob))
		return "has no text or blob";
	return blob && !is_base64(blob) ? "has a blob that is not Base64"
					: NULL;
}

static const char *link_problem(const json_t *block)
{
	static const char *const texts[] = {"title", "description", "mimeType"};
	const json_t *icons = json_object_get(block, "icons");
	const json_t *size = json_object_get(block, "size");
	const char *uri = json_string_value(json_object_get(block, "uri"));

	if (!registry_uri_valid(uri))
		return "has a uri that is not absolute";
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (!absent_or_string(block, texts[i]))
			return "has a title, description or mimeType that is "
			       "not a string";
	if (size && !json_is_number(size))
		return "has a size that is not a number";
	return icons && entry_icons_problem(icons) ? "has icons that are none"
						   : NULL;
}

const char *content_block_problem(const json_t *block)
{
	const json_t *annotations = json_object_get(block, "annotations");
	const json_t *data = json_object_get(block, "data");
	const char *why = NULL;
	const char *type;

	if (!sampling_content_fits(block, &why))
		return why;
	type = json_string_value(json_object_get(block, "type"));
	if (annotations && entry_annotations_problem(annotations))
		return "has annotations that are none";
	if (!absent_or_object(block, "_meta"))
		return "has a _meta that is not an object";
	if (!strcmp(type, "image") || !strcmp(type, "audio"))
		return is_base64(data) ? NULL : "has data that is not Base64";
	if (!strcmp(type, "resource_link"))
		return link_problem(block);
	if (!strcmp(type, "resource"))
		return content_read_problem(json_object_get(block, "resource"));
	return NULL;
}
