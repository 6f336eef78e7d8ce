/* SPDX-License-Identifier: MIT */
/*
 * The manifest, in the form that sha256sum -c reads. It appears under its name
 * whole or not at all, and never in place of a file that was there before.
 */
#include <nettle/sha2.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "examples/lib/checksum.h"

#define TRIES_MAX 3
#define NAME_FORM                                                              \
	"{\"type\":\"object\",\"properties\":{"                                \
	"\"write\":{\"type\":\"boolean\",\"title\":\"Write a manifest\","      \
	"\"default\":true},"                                                   \
	"\"name\":{\"type\":\"string\",\"title\":\"File name\","               \
	"\"description\":\"Below the allowed directory; a new file\","         \
	"\"maxLength\":1000,\"default\":\"SHA256SUMS\"}},"                     \
	"\"required\":[\"write\"]}"

/* ---- the text ---- */

/* sha256sum's way with a line break or a backslash in a name. */
static bool is_strange(const char *path)
{
	return strpbrk(path, "\\\n\r") != NULL;
}

static void put_path(FILE *out, const char *path)
{
	for (; *path != '\0'; path++) {
		if (*path == '\n')
			(void)fputs("\\n", out);
		else if (*path == '\r')
			(void)fputs("\\r", out);
		else if (*path == '\\')
			(void)fputs("\\\\", out);
		else
			(void)fputc(*path, out);
	}
}

static char *manifest_text(const struct job *j, size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	if (out == NULL)
		return NULL;
	for (size_t i = 0; i < j->nfiles; i++) {
		const struct file *f = &j->files[i];

		if (f->digest == NULL)
			continue;
		(void)fprintf(out, "%s%s  ", is_strange(f->path) ? "\\" : "",
			      f->digest);
		put_path(out, f->path);
		(void)fputc('\n', out);
	}
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static void digest_text(const char *text, size_t len, char hex[CHECKSUM_HEX])
{
	struct sha256_ctx hash;
	uint8_t digest[SHA256_DIGEST_SIZE];

	sha256_init(&hash);
	sha256_update(&hash, len, (const uint8_t *)text);
	sha256_digest(&hash, sizeof(digest), digest);
	checksum_hex(digest, hex);
}

/* ---- the file ---- */
static int write_whole(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
	return fsync(fd);
}

/* A file of exactly this text: what a step that died before its record left. */
static bool is_ours(int dir, const char *name, const char *text, size_t len)
{
	int fd = openat(dir, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	char *old = NULL;
	bool same = false;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    (size_t)st.st_size == len)
		old = malloc(len > 0 ? len : 1);
	if (old != NULL)
		same = read(fd, old, len) == (ssize_t)len &&
		       memcmp(old, text, len) == 0;
	free(old);
	(void)close(fd);
	return same;
}

/* 0 or an errno. */
static int put_file(int dir, const char *name, const char *temp,
		    const char *text, size_t len)
{
	int fd = openat(dir, temp,
			O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			0644);
	int error = 0;

	if (fd < 0)
		return errno;
	if (write_whole(fd, text, len) != 0 ||
	    renameat2(dir, temp, dir, name, RENAME_NOREPLACE) != 0)
		error = errno;
	(void)close(fd);
	if (error != 0)
		(void)unlinkat(dir, temp, 0);
	if (error == EEXIST && is_ours(dir, name, text, len))
		error = 0;
	if (error == 0 && fsync(dir) != 0)
		error = errno;
	return error;
}

/* {"path":..,"bytes":..} or {"error":..} */
static json_t *write_manifest(const struct job *j, const char *name,
			      const char *text, size_t len)
{
	const char *last = NULL;
	char temp[128];
	int error = EINVAL;
	int dir = roots_open_parent(j->dir.root->fd, name, &last);

	(void)snprintf(temp, sizeof(temp), ".checksum-%.80s.tmp",
		       bide_step_id(j->call));
	if (dir < 0)
		error = errno;
	else if (*last != '\0' && strcmp(last, ".") != 0 &&
		 strcmp(last, "..") != 0)
		error = put_file(dir, last, temp, text, len);
	if (dir >= 0)
		(void)close(dir);
	if (error != 0)
		return json_pack("{s:o}", "error",
				 json_sprintf("%s: %s", name,
					      error == EINVAL
						      ? "not a plain path"
						      : strerror(error)));
	return json_pack("{s:o, s:I}", "path",
			 json_sprintf("%s/%s", j->dir.root->path, name),
			 "bytes", (json_int_t)len);
}

/* ---- where to ---- */

/* From the arguments, or asked for; NULL: none is wanted, or *@rc. */
static const char *choose_name(struct job *j, int number, const char *why,
			       enum bide_rc *rc)
{
	const char *given = bide_arg_string(j->call, "manifest");
	const struct bide_answer *answer;
	const char *name;
	char *message = NULL;
	char key[32];

	*rc = BIDE_OK;
	if (given != NULL || !bide_client_can(j->call, BIDE_CAN_ELICIT_FORM))
		return number == 1 && given != NULL && *given != '\0' ? given
								      : NULL;
	if (asprintf(&message,
		     "%s%sWhere should the manifest of %s go? "
		     "A file name below %s.",
		     why != NULL ? why : "", why != NULL ? ". " : "",
		     j->dir.path, j->dir.root->path) < 0) {
		*rc = BIDE_NOMEM;
		return NULL;
	}
	(void)snprintf(key, sizeof(key), "manifest-%d", number);
	*rc = bide_ask_form(j->call, key, message, NAME_FORM);
	free(message);
	if (*rc == BIDE_OK)
		*rc = bide_await(j->call);
	answer = bide_answer(j->call, key);
	if (*rc != BIDE_OK || bide_answer_action(answer) != BIDE_ACCEPT ||
	    !bide_answer_bool(answer, "write", false))
		return NULL;
	name = bide_answer_string(answer, "name");
	return name != NULL && *name != '\0' ? name : "SHA256SUMS";
}

static enum bide_rc try_write(struct job *j, int number, const char *name,
			      const char *text, size_t len, const json_t **ret)
{
	enum bide_rc rc;
	char key[32];

	(void)snprintf(key, sizeof(key), "manifest-%d", number);
	rc = bide_step_begin(j->call, key, ret);
	if (rc == BIDE_RUN)
		rc = bide_step_commit(j->call,
				      write_manifest(j, name, text, len), ret);
	return rc;
}

enum bide_rc checksum_manifest(struct job *j, const json_t **ret,
			       char digest[CHECKSUM_HEX])
{
	size_t len = 0;
	char *text = manifest_text(j, &len);
	const char *why = NULL;
	enum bide_rc rc = BIDE_OK;

	*ret = NULL;
	if (text == NULL)
		return BIDE_NOMEM;
	bide_status(j->call, "hashed; the manifest is next");
	digest_text(text, len, digest);
	for (int number = 1; number <= TRIES_MAX; number++) {
		const char *name = choose_name(j, number, why, &rc);

		if (name == NULL)
			break;
		rc = try_write(j, number, name, text, len, ret);
		why = json_string_value(json_object_get(*ret, "error"));
		if (rc != BIDE_OK || why == NULL)
			break;
	}
	free(text);
	return rc;
}
