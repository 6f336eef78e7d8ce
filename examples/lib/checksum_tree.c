/* SPDX-License-Identifier: MIT */
/*
 * checksum_tree: long real work, persistent. It hashes every file under a
 * directory that the operator allowed, in recorded steps; stops in the middle
 * to ask what to do about files that it cannot read; asks where the manifest
 * is to go. Killed at any moment, it goes on from its last step elsewhere.
 */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/lib/checksum.h"
#include "examples/lib/tools.h"

#define LISTED_MAX 100 /* unreadable files in the structured result */

static const char input_schema[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"path\":{\"type\":\"string\",\"maxLength\":4000,\"description\":"
	"\"A directory below one that the operator allowed\"},"
	"\"on_unreadable\":{\"type\":\"string\","
	"\"enum\":[\"ask\",\"skip\",\"abort\"],\"default\":\"ask\","
	"\"description\":\"What to do about files that cannot be read\"},"
	"\"manifest\":{\"type\":\"string\",\"maxLength\":1000,\"description\":"
	"\"Where to write the manifest, below the allowed directory; empty: "
	"nowhere. Asked for when absent.\"}},"
	"\"required\":[\"path\"],\"additionalProperties\":false}";

static const char output_schema[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"directory\":{\"type\":\"string\"},"
	"\"files\":{\"type\":\"integer\",\"minimum\":0},"
	"\"bytes\":{\"type\":\"integer\",\"minimum\":0},"
	"\"skipped\":{\"type\":\"integer\",\"minimum\":0,\"description\":"
	"\"Links, devices and names that are not UTF-8\"},"
	"\"unreadable\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
	"\"digest\":{\"type\":\"string\",\"description\":"
	"\"SHA-256 of the manifest\"},"
	"\"manifest\":{\"type\":\"string\"}},"
	"\"required\":[\"directory\",\"files\",\"bytes\",\"digest\"]}";

static const char verdict_form[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"action\":{\"type\":\"string\",\"title\":\"What now?\","
	"\"enum\":[\"skip\",\"retry\",\"abort\"],\"default\":\"skip\"},"
	"\"rest\":{\"type\":\"boolean\","
	"\"title\":\"Skip all others without asking\",\"default\":false}},"
	"\"required\":[\"action\"]}";

struct tool_data {
	const struct roots *roots;
	int log_fd;
};

/* ---- the question in the middle ---- */
static enum bide_rc abort_call(struct job *j, const char *what, const char *how)
{
	j->ended = true;
	return bide_error_text(j->call,
			       "%s Checksum of %s %s; nothing was "
			       "written.",
			       what, j->dir.path, how);
}

static enum bide_rc take_verdict(struct job *j, const char *key,
				 const char *what, enum checksum_verdict *ret)
{
	const struct bide_answer *a = bide_answer(j->call, key);
	enum bide_action action = bide_answer_action(a);
	const char *word = bide_answer_string(a, "action");

	/* Nobody answered in time: what can be done without them is. */
	*ret = CHECKSUM_SKIP;
	if (action == BIDE_TIMED_OUT || action == BIDE_CLIENT_ERROR)
		return BIDE_OK;
	if (action != BIDE_ACCEPT || word == NULL) {
		*ret = CHECKSUM_ABORT;
		return abort_call(j, what, bide_action_name(action));
	}
	if (strcmp(word, "abort") == 0) {
		*ret = CHECKSUM_ABORT;
		return abort_call(j, what, "stopped by the user");
	}
	if (strcmp(word, "retry") == 0)
		*ret = CHECKSUM_RETRY;
	else
		j->skip_rest = bide_answer_bool(a, "rest", false);
	return BIDE_OK;
}

enum bide_rc checksum_ask(struct job *j, const char *key, const char *what,
			  enum checksum_verdict *ret)
{
	const char *given = bide_arg_string(j->call, "on_unreadable");

	*ret = CHECKSUM_SKIP;
	if (what == NULL)
		return BIDE_NOMEM;
	if (given != NULL && strcmp(given, "abort") == 0) {
		*ret = CHECKSUM_ABORT;
		return abort_call(j, what, "stopped, as on_unreadable says");
	}
	if (j->skip_rest || (given != NULL && strcmp(given, "skip") == 0) ||
	    !bide_client_can(j->call, BIDE_CAN_ELICIT_FORM))
		return BIDE_OK;
	BIDE_TRY(bide_ask_form(j->call, key, what, verdict_form));
	BIDE_TRY(bide_await(j->call));
	return take_verdict(j, key, what, ret);
}

/* ---- the result ---- */
static char *file_uri(const char *path)
{
	char *uri = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&uri, &len);

	if (out == NULL)
		return NULL;
	(void)fputs("file://", out);
	for (; *path != '\0'; path++) {
		unsigned char c = (unsigned char)*path;

		if (isalnum(c) || strchr("/-_.~", c) != NULL)
			(void)fputc(c, out);
		else
			(void)fprintf(out, "%%%02X", c);
	}
	return fclose(out) == 0 ? uri : NULL;
}

struct totals {
	int64_t files, bytes, unread;
	json_t *unreadable;
};

static struct totals add_up(const struct job *j)
{
	struct totals t = {.unreadable = json_array()};

	for (size_t i = 0; i < j->nfiles; i++) {
		const struct file *f = &j->files[i];

		if (f->digest != NULL) {
			t.files++;
			t.bytes += f->bytes;
		} else if (t.unread++ < LISTED_MAX) {
			(void)json_array_append_new(t.unreadable,
						    json_string(f->path));
		}
	}
	return t;
}

static enum bide_rc say_result(struct job *j, const struct totals *t,
			       const char *digest, const char *manifest)
{
	char left[64] = "";

	if (t->unread > 0)
		(void)snprintf(left, sizeof(left),
			       " %lld could not be read and %s left out.",
			       (long long)t->unread,
			       t->unread == 1 ? "was" : "were");
	return bide_text(j->call,
			 "Hashed %lld files, %.1f MB, under %s.%s %s%s (its "
			 "SHA-256: %s).",
			 (long long)t->files, (double)t->bytes / 1e6,
			 j->dir.path, left,
			 manifest != NULL ? "Manifest: "
					  : "No manifest was "
					    "written",
			 manifest != NULL ? manifest : "", digest);
}

static void link_manifest(struct job *j, const char *manifest)
{
	char *uri = file_uri(manifest);

	(void)bide_add_resource_link(j->call, uri, strrchr(manifest, '/') + 1,
				     "Manifest", "Read by sha256sum -c",
				     "text/plain");
	free(uri);
}

static enum bide_rc report(struct job *j, const json_t *written,
			   const char *digest)
{
	const char *manifest =
		json_string_value(json_object_get(written, "path"));
	const char *error =
		json_string_value(json_object_get(written, "error"));
	struct totals t = add_up(j);
	json_t *value;

	bide_status(j->call, "hashed %lld files", (long long)t.files);
	(void)say_result(j, &t, digest, manifest);
	if (error != NULL)
		(void)bide_text(j->call,
				"The manifest could not be written: "
				"%s",
				error);
	if (manifest != NULL)
		link_manifest(j, manifest);
	value = json_pack("{s:s, s:I, s:I, s:I, s:o, s:o}", "directory",
			  j->dir.path, "files", (json_int_t)t.files, "bytes",
			  (json_int_t)t.bytes, "skipped",
			  (json_int_t)j->skipped, "unreadable", t.unreadable,
			  "digest", json_sprintf("sha256:%s", digest));
	if (manifest != NULL)
		(void)json_object_set_new(value, "manifest",
					  json_string(manifest));
	return bide_structured(j->call, value);
}

/* ---- the whole ---- */
static enum bide_rc run(struct job *j)
{
	const json_t *written = NULL;
	char digest[CHECKSUM_HEX];

	BIDE_TRY(checksum_list(j));
	if (j->ended)
		return BIDE_OK;
	BIDE_TRY(checksum_hash(j));
	if (j->ended)
		return BIDE_OK;
	BIDE_TRY(checksum_manifest(j, &written, digest));
	return report(j, written, digest);
}

static enum bide_rc refuse(struct bide_call *call, const struct roots *roots,
			   const char *path)
{
	char *allowed = roots_describe(roots);
	enum bide_rc rc;

	if (roots->n == 0)
		rc = bide_error_text(call, "No directory is allowed: the "
					   "operator has to set "
					   "ALLOWED_ROOTS.");
	else
		rc = bide_error_text(call,
				     "%s is not a directory under an allowed "
				     "one. Allowed: %s",
				     path, allowed != NULL ? allowed : "?");
	free(allowed);
	return rc;
}

static enum bide_rc checksum_tree(struct bide_call *call, void *user)
{
	const struct tool_data *data = user;
	const char *path = bide_arg_string(call, "path");
	struct job j = {.call = call, .log_fd = data->log_fd};
	enum bide_rc rc;

	if (!roots_open_dir(data->roots, path, &j.dir))
		return refuse(call, data->roots, path);
	rc = run(&j);
	free(j.files);
	roots_dir_close(&j.dir);
	return rc;
}

enum bide_rc checksum_tree_add(struct bide_server *server,
			       const struct roots *roots,
			       struct bide_error *reterr)
{
	/* One for the life of the program, as the tool is. */
	static struct tool_data data = {.log_fd = -1};
	const char *log = getenv("CHECKSUM_TREE_LOG");
	struct bide_tool tool = {
		BIDE_TOOL,
		.name = "checksum_tree",
		.title = "Checksums of a directory tree",
		.description = "Hashes every file under a directory (SHA-256) "
			       "and writes a manifest. Asks about files it "
			       "cannot read, and where the manifest is to go.",
		.version = "1",
		.input_schema = input_schema,
		.output_schema = output_schema,
		.annotations = "{\"destructiveHint\":false,"
			       "\"openWorldHint\":false}",
		.handler = checksum_tree,
		.user = &data,
		.mode = BIDE_PERSISTENT,
	};

	data.roots = roots;
	if (log != NULL)
		data.log_fd = open(
			log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	return bide_server_add_tool(server, &tool, reterr);
}
