/* SPDX-License-Identifier: MIT */
/*
 * The list of files is recorded too: a tree that changes while the call waits
 * must not shift the batches under what is hashed already. A chunk goes on
 * after the last path recorded, so a walk that finds another tree than the one
 * before it neither repeats nor loses a path of the earlier chunks.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "examples/lib/checksum.h"

#define CHUNK_FILES 2000
#define CHUNK_BYTES (256 * 1024)
#define DEPTH_MAX   128
#define NAMED_MAX   5 /* unreadable directories that are named */

struct found {
	char *path;
	int64_t bytes;
};
struct walk {
	struct found *list;
	size_t n, cap;
	int64_t skipped;
	json_t *unlisted; /* directories that could not be read */
	bool failed;      /* out of memory, or too many */
};

/* ---- walking ---- */
static void keep(struct walk *w, char *path, int64_t bytes)
{
	if (w->n == w->cap) {
		size_t cap = w->cap == 0 ? 1024 : 2 * w->cap;
		struct found *list =
			cap <= 2 * CHECKSUM_FILES_MAX
				? realloc(w->list, cap * sizeof(*list))
				: NULL;

		if (list == NULL) {
			w->failed = true;
			free(path);
			return;
		}
		w->list = list;
		w->cap = cap;
	}
	w->list[w->n++] = (struct found){path, bytes};
}

/* JSON carries UTF-8 only; jansson's constructor knows what that is. */
static bool is_utf8(const char *s)
{
	json_t *text = json_string(s);

	json_decref(text);
	return text != NULL;
}

static void walk_dir(struct walk *w, int fd, const char *prefix, int depth);

static void walk_entry(struct walk *w, DIR *dir, const char *name,
		       const char *prefix, int depth)
{
	struct stat st;
	char *path = NULL;

	if (fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return; /* gone since the directory was read */
	if (asprintf(&path, "%s%s%s", prefix, *prefix != '\0' ? "/" : "",
		     name) < 0) {
		w->failed = true;
		return;
	}
	if ((!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) ||
	    depth == DEPTH_MAX || !is_utf8(path)) {
		w->skipped++;
		free(path);
	} else if (S_ISREG(st.st_mode)) {
		keep(w, path, st.st_size);
	} else {
		int fd =
			openat(dirfd(dir), name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd >= 0)
			walk_dir(w, fd, path, depth + 1);
		else if (errno != ENOENT)
			(void)json_array_append_new(w->unlisted,
						    json_string(path));
		free(path);
	}
}

/* Takes @fd. */
static void walk_dir(struct walk *w, int fd, const char *prefix, int depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *e;

	if (dir == NULL) {
		w->failed = true;
		(void)close(fd);
		return;
	}
	while (!w->failed && (e = readdir(dir)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			walk_entry(w, dir, e->d_name, prefix, depth);
	(void)closedir(dir);
}

static int by_path(const void *a, const void *b)
{
	const struct found *x = a;
	const struct found *y = b;

	return strcmp(x->path, y->path);
}

static void walk_tree(struct walk *w, int fd)
{
	/* Its own description: where a directory was read to is shared. */
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	w->unlisted = json_array();
	if (own >= 0 && w->unlisted != NULL)
		walk_dir(w, own, "", 0);
	else
		w->failed = true;
	if (w->n > 0)
		qsort(w->list, w->n, sizeof(*w->list), by_path);
}

static void walk_fini(struct walk *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->list[i].path);
	free(w->list);
	json_decref(w->unlisted);
}

/* ---- chunks: {"files":[["path",bytes],..],"last":..,"skipped":..} ---- */
static json_t *chunk_after(const struct walk *w, const char *last_path)
{
	json_t *files = json_array();
	size_t bytes = 0;
	size_t i = 0;
	size_t n = 0;

	if (w->failed) {
		json_decref(files);
		return json_pack("{s:b}", "failed", 1);
	}
	while (i < w->n && last_path != NULL &&
	       strcmp(w->list[i].path, last_path) <= 0)
		i++;
	for (; i < w->n && n < CHUNK_FILES && bytes < CHUNK_BYTES; i++, n++) {
		(void)json_array_append_new(
			files, json_pack("[s,I]", w->list[i].path,
					 (json_int_t)w->list[i].bytes));
		bytes += strlen(w->list[i].path);
	}
	return json_pack("{s:o, s:b, s:I, s:O}", "files", files, "last",
			 i == w->n, "skipped", (json_int_t)w->skipped,
			 "unlisted", w->unlisted);
}

static bool add_files(struct job *j, const json_t *chunk)
{
	const json_t *files = json_object_get(chunk, "files");
	size_t n = json_array_size(files);

	if (j->nfiles + n > j->cap) {
		size_t cap = j->nfiles + n + CHUNK_FILES;
		struct file *list = realloc(j->files, cap * sizeof(*list));

		if (list == NULL)
			return false;
		j->files = list;
		j->cap = cap;
	}
	for (size_t i = 0; i < n; i++) {
		const json_t *one = json_array_get(files, i);

		j->files[j->nfiles++] = (struct file){
			.path = json_string_value(json_array_get(one, 0)),
			.bytes = json_integer_value(json_array_get(one, 1)),
		};
	}
	return true;
}

/* One listing, of as many chunks as it takes; @ret: its last chunk. */
static enum bide_rc list_round(struct job *j, int round, struct walk *w,
			       const json_t **ret)
{
	const json_t *chunk = NULL;
	enum bide_rc rc;
	char key[64];

	j->nfiles = 0;
	for (int i = 0;
	     chunk == NULL || !json_is_true(json_object_get(chunk, "last"));
	     i++) {
		(void)snprintf(key, sizeof(key), "list-%d.%d", round, i);
		rc = bide_step_begin(j->call, key, &chunk);
		if (rc == BIDE_RUN) {
			const char *last =
				j->nfiles > 0 ? j->files[j->nfiles - 1].path
					      : NULL;

			if (w->unlisted == NULL)
				walk_tree(w, j->dir.fd);
			rc = bide_step_commit(j->call, chunk_after(w, last),
					      &chunk);
		}
		BIDE_TRY(rc);
		if (!json_is_object(chunk))
			return BIDE_NOMEM;
		if (json_is_true(json_object_get(chunk, "failed")) ||
		    !add_files(j, chunk) || j->nfiles > CHECKSUM_FILES_MAX) {
			j->ended = true;
			return bide_error_text(
				j->call,
				"%s has more than %d files; choose a smaller "
				"directory.",
				j->dir.path, CHECKSUM_FILES_MAX);
		}
	}
	*ret = chunk;
	return BIDE_OK;
}

/* Not cut to a size: a cut could fall within a character. */
static char *describe(const json_t *unlisted)
{
	size_t total = json_array_size(unlisted);
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		return NULL;
	(void)fprintf(out, "%zu %s cannot be listed:", total,
		      total == 1 ? "directory" : "directories");
	for (size_t i = 0; i < total && i < NAMED_MAX; i++)
		(void)fprintf(out, "%s %s", i > 0 ? "," : "",
			      json_string_value(json_array_get(unlisted, i)));
	if (total > NAMED_MAX)
		(void)fputs(", ...", out);
	return fclose(out) == 0 ? text : NULL;
}

enum bide_rc checksum_list(struct job *j)
{
	enum checksum_verdict verdict = CHECKSUM_RETRY;
	const json_t *last = NULL;
	char key[64];

	for (int round = 0; verdict == CHECKSUM_RETRY; round++) {
		struct walk w = {0};
		enum bide_rc rc = list_round(j, round, &w, &last);
		char *text;

		walk_fini(&w);
		BIDE_TRY(rc);
		if (j->ended ||
		    json_array_size(json_object_get(last, "unlisted")) == 0)
			break;
		text = describe(json_object_get(last, "unlisted"));
		(void)snprintf(key, sizeof(key), "unlisted-%d", round);
		rc = checksum_ask(j, key, text, &verdict);
		free(text);
		BIDE_TRY(rc);
	}
	j->skipped = json_integer_value(json_object_get(last, "skipped"));
	return BIDE_OK;
}
