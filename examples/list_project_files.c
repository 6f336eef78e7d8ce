/* SPDX-License-Identifier: MIT */
/*
 * list_project_files: a tool that used to ask the client for its roots, on the
 * way to doing without. Roots are deprecated, and a root is an answer of the
 * caller's to the question what the caller may see: it decides nothing here.
 *
 *     ALLOWED_ROOTS=/srv/api,/srv/web list_project_files serve
 *
 * - What may be seen is configuration: directories that the operator allows.
 * - What is wanted is an argument, a path below one of them.
 * - Only where there is no argument, and the client has roots, are these asked
 *   for, as a hint; each is held to the configuration like any path. To retire
 *   roots, delete from_roots(): callers get the text at the end instead.
 */
#include <bide/bide.h>
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/lib/tools.h"

#define FILES_MAX 500

static const char input_schema[] =
	"{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\","
	"\"maxLength\":4000,\"description\":"
	"\"A directory below one that the operator allows\"}}}";

/* Names that begin with a dot are not, nor what JSON cannot carry. */
static int is_shown(const struct dirent *entry)
{
	json_t *name = json_string(entry->d_name); /* NULL: it is not UTF-8 */
	bool shown = name != NULL && entry->d_name[0] != '.';

	json_decref(name);
	return shown;
}

static void list_dir(struct bide_call *call, const struct roots_dir *dir)
{
	struct dirent **list = NULL;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int n = out != NULL
			? scandirat(dir->fd, ".", &list, is_shown, alphasort)
			: 0;

	for (int i = 0; i < n; i++) {
		if (i < FILES_MAX)
			(void)fprintf(out, "\n%s%s", list[i]->d_name,
				      list[i]->d_type == DT_DIR ? "/" : "");
		free(list[i]);
	}
	free(list);
	if (out != NULL && fclose(out) == 0)
		(void)bide_text(call, "%s%s%s", dir->path,
				n > 0 ? ":" : " has nothing to show.", text);
	free(text);
}

/* False: @path is not below an allowed directory, or not there. */
static bool list(struct bide_call *call, const struct roots *allowed,
		 const char *path)
{
	struct roots_dir dir;

	if (!roots_open_dir(allowed, path, &dir))
		return false;
	list_dir(call, &dir);
	roots_dir_close(&dir);
	return true;
}

/* The path of a file:// URI, decoded; free() it. NULL: it has none. */
static char *uri_path(const char *uri)
{
	const char *at = strchr(uri + strlen("file://"), '/');
	char *path = at != NULL ? strdup(at) : NULL;
	char *to = path;

	for (const char *from = path; from != NULL && *from != '\0'; to++) {
		char pair[3] = {0};

		if (*from == '%' && isxdigit((unsigned char)from[1]) &&
		    isxdigit((unsigned char)from[2])) {
			memcpy(pair, from + 1, 2);
			from += 2;
		}
		*to = *pair != '\0' ? (char)strtoul(pair, NULL, 16) : *from;
		from++;
	}
	if (to != NULL)
		*to = '\0';
	return path;
}

static enum bide_rc from_roots(struct bide_call *call,
			       const struct roots *allowed)
{
	const json_t *answer;
	const json_t *root;
	size_t i;

	BIDE_TRY(bide_ask_roots(call, "roots"));
	BIDE_TRY(bide_await(call));
	answer = bide_answer_json(bide_answer(call, "roots"));
	json_array_foreach (json_object_get(answer, "roots"), i, root) {
		const char *uri =
			json_string_value(json_object_get(root, "uri"));
		char *path = uri_path(uri);

		if (path == NULL || !list(call, allowed, path))
			(void)bide_text(call, "%s: not allowed here", uri);
		free(path);
	}
	return i > 0 ? BIDE_OK : bide_text(call, "The client has no roots.");
}

static enum bide_rc list_project_files(struct bide_call *call, void *user)
{
	const struct roots *allowed = user;
	const char *path = bide_arg_string(call, "path");
	char *names = NULL;
	enum bide_rc rc = BIDE_OK;

	if (path == NULL && bide_client_can(call, BIDE_CAN_ROOTS))
		return from_roots(call, allowed);
	if (path != NULL && list(call, allowed, path))
		return BIDE_OK;
	names = roots_describe(allowed);
	if (path != NULL)
		rc = bide_error_text(call,
				     "%s is not a directory under an allowed "
				     "one. Allowed: %s",
				     path, names != NULL ? names : "?");
	else
		rc = bide_text(call,
			       "Which directory? Call again with a \"path\" "
			       "below one of these: %s",
			       names != NULL ? names : "?");
	free(names);
	return rc;
}

const struct bide_tool list_project_files_tool = {
	BIDE_TOOL,
	.name = "list_project_files",
	.title = "List project files",
	.description = "The files in a directory of the project.",
	.input_schema = input_schema,
	.annotations = "{\"readOnlyHint\":true,\"openWorldHint\":false}",
	.handler = list_project_files, /* its user: struct roots */
};

#ifndef EXAMPLES_TOGETHER /* demo_server serves all of them */
int main(int argc, char **argv)
{
	struct bide_server *s = bide_server_new("project-files", "1.0.0");
	struct bide_tool tool = list_project_files_tool;
	struct bide_error err;
	struct roots allowed;
	int code = 1;

	if (!roots_from_options(&allowed, &argc, argv))
		return 2;
	tool.user = &allowed;
	if (bide_server_add_tool(s, &tool, &err) == BIDE_OK)
		code = bide_main(s, argc, argv);
	else
		(void)fprintf(stderr, "%s\n", err.text);
	roots_close(&allowed);
	bide_server_free(s);
	return code;
}
#endif
