/* SPDX-License-Identifier: MIT */
/*
 * Hashing, in batches that are one step each. What a batch found is recorded
 * when the batch ends, so a process that dies costs the files of one batch and
 * no file of a recorded batch is read again.
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

#define BATCH_FILES 64
#define BATCH_BYTES (8 * 1024 * 1024)
#define READ_BYTES  (128 * 1024)
#define NAMED_MAX   5

void checksum_hex(const uint8_t *digest, char out[CHECKSUM_HEX])
{
	for (size_t i = 0; i < SHA256_DIGEST_SIZE; i++)
		(void)snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

/* ---- one file ---- */
static void tell_log(const struct job *j, const char *path)
{
	char line[5000];
	int n = snprintf(line, sizeof(line), "%s %lld %d %s\n",
			 bide_task_id(j->call), (long long)bide_epoch(j->call),
			 (int)getpid(), path);

	if (j->log_fd >= 0 && n > 0 && (size_t)n < sizeof(line) &&
	    write(j->log_fd, line, (size_t)n) != n)
		(void)fprintf(stderr, "CHECKSUM_TREE_LOG: %s\n",
			      strerror(errno));
}

static int open_file(const struct job *j, const char *path)
{
	/* Without O_NONBLOCK a pipe that took the file's place would hang us.
	 */
	int fd = roots_open_below(j->dir.fd, path, O_RDONLY | O_NONBLOCK);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
		(void)close(fd);
		errno = EINVAL;
		fd = -1;
	}
	return fd;
}

/* 0, an errno, or -1 when the call was cancelled. */
static int hash_open(const struct job *j, int fd, uint8_t *digest,
		     int64_t *bytes)
{
	static _Thread_local uint8_t chunk[READ_BYTES];
	struct sha256_ctx hash;
	ssize_t n;

	*bytes = 0;
	sha256_init(&hash);
	while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno != EINTR)
			return errno;
		if (bide_cancelled(j->call))
			return -1;
		if (n > 0) {
			sha256_update(&hash, (size_t)n, chunk);
			*bytes += n;
		}
	}
	sha256_digest(&hash, SHA256_DIGEST_SIZE, digest);
	return 0;
}

/* ["digest", bytes] or ["", 0, "why not"]; NULL: cancelled. */
static json_t *hash_file(const struct job *j, const char *path)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	char hex[CHECKSUM_HEX];
	int64_t bytes = 0;
	int fd = open_file(j, path);
	int error = errno;

	if (fd >= 0) {
		tell_log(j, path);
		error = hash_open(j, fd, digest, &bytes);
		(void)close(fd);
	}
	if (error == -1)
		return NULL;
	if (fd < 0 || error != 0)
		return json_pack("[s,i,s]", "", 0, strerror(error));
	checksum_hex(digest, hex);
	return json_pack("[s,I]", hex, (json_int_t)bytes);
}

/* ---- one batch ---- */
struct batch {
	size_t from, to; /* of job->files */
};

static struct batch next_batch(const struct job *j, size_t from)
{
	struct batch b = {from, from};
	int64_t bytes = 0;

	while (b.to < j->nfiles && b.to - from < BATCH_FILES &&
	       (b.to == from || bytes + j->files[b.to].bytes <= BATCH_BYTES))
		bytes += j->files[b.to++].bytes;
	return b;
}

/* A file waits for its turn when it is not hashed: all of a batch at first,
 * those that could not be read when it is tried again. */
static json_t *hash_batch(const struct job *j, struct batch b)
{
	json_t *ret = json_array();

	for (size_t i = b.from; i < b.to; i++) {
		json_t *one;

		if (j->files[i].digest != NULL)
			continue;
		one = bide_cancelled(j->call) ? NULL
					      : hash_file(j, j->files[i].path);
		if (one == NULL) {
			json_decref(ret);
			return NULL;
		}
		(void)json_array_append_new(ret, one);
	}
	return ret;
}

static size_t take_batch(struct job *j, struct batch b, const json_t *result)
{
	size_t unread = 0;
	size_t at = 0;

	for (size_t i = b.from; i < b.to; i++) {
		struct file *f = &j->files[i];
		const json_t *one;

		if (f->digest != NULL)
			continue;
		one = json_array_get(result, at++);
		f->error = json_string_value(json_array_get(one, 2));
		f->bytes = json_integer_value(json_array_get(one, 1));
		if (f->error == NULL)
			f->digest = json_string_value(json_array_get(one, 0));
		else
			unread++;
	}
	return unread;
}

/* Not cut to a size: a cut could fall within a character. */
static char *describe(const struct job *j, struct batch b, size_t unread)
{
	char *text = NULL;
	size_t len = 0;
	size_t named = 0;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		return NULL;
	(void)fprintf(out, "%zu %s cannot be read:", unread,
		      unread == 1 ? "file" : "files");
	for (size_t i = b.from; i < b.to && named < NAMED_MAX; i++)
		if (j->files[i].error != NULL)
			(void)fprintf(out, "%s %s (%s)", named++ > 0 ? "," : "",
				      j->files[i].path, j->files[i].error);
	if (unread > NAMED_MAX)
		(void)fputs(", ...", out);
	return fclose(out) == 0 ? text : NULL;
}

/* The batch as recorded, or hashed now and recorded. */
static enum bide_rc do_batch(struct job *j, struct batch b, size_t number,
			     int round, size_t *unread)
{
	const json_t *result = NULL;
	enum bide_rc rc;
	char key[64];

	(void)snprintf(key, sizeof(key), "hash-%zu.%d", number, round);
	rc = bide_step_begin(j->call, key, &result);
	if (rc == BIDE_RUN) {
		json_t *now = hash_batch(j, b);

		if (now == NULL)
			return BIDE_CANCELLED;
		rc = bide_step_commit(j->call, now, &result);
		if (rc == BIDE_OK)
			bide_progress(j->call, (double)b.to, (double)j->nfiles,
				      j->files[b.to - 1].path);
	}
	BIDE_TRY(rc);
	*unread = take_batch(j, b, result);
	return BIDE_OK;
}

static enum bide_rc batch_until_settled(struct job *j, struct batch b,
					size_t number)
{
	enum checksum_verdict verdict = CHECKSUM_RETRY;
	size_t unread = 0;
	enum bide_rc rc;
	char key[64];
	char *text;

	for (int round = 0; verdict == CHECKSUM_RETRY; round++) {
		BIDE_TRY(do_batch(j, b, number, round, &unread));
		if (unread == 0)
			break;
		text = describe(j, b, unread);
		(void)snprintf(key, sizeof(key), "unreadable-%zu.%d", number,
			       round);
		rc = checksum_ask(j, key, text, &verdict);
		free(text);
		BIDE_TRY(rc);
	}
	return BIDE_OK;
}

enum bide_rc checksum_hash(struct job *j)
{
	struct batch b = {0};

	bide_status(j->call, "hashing %zu files", j->nfiles);
	for (size_t number = 0; b.to < j->nfiles && !j->ended; number++) {
		b = next_batch(j, b.to);
		BIDE_TRY(batch_until_settled(j, b, number));
	}
	return BIDE_OK;
}
