/* SPDX-License-Identifier: MIT */
#ifndef TEST_BASE_SCRATCH_H
#define TEST_BASE_SCRATCH_H
/* A directory of its own for one test, and standard error in a file. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct scratch {
	char dir[256];
};

static inline void scratch_make(struct scratch *s)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(s->dir, sizeof(s->dir), "%s/bide-base-XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(s->dir));
}

static inline const char *scratch_path(const struct scratch *s,
				       const char *name, char out[300])
{
	snprintf(out, 300, "%s/%s", s->dir, name);
	return out;
}

static inline void scratch_write(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* Runs @fn with file descriptor 2 sent to @path. */
static inline void scratch_stderr(const char *path, void (*fn)(void *),
				  void *arg)
{
	int saved = dup(STDERR_FILENO);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

	assert_true(saved >= 0 && fd >= 0);
	dup2(fd, STDERR_FILENO);
	fn(arg);
	dup2(saved, STDERR_FILENO);
	close(fd);
	close(saved);
}

/* The whole file; free() it. */
static inline char *scratch_read(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t len = 0;
	FILE *mem = open_memstream(&text, &len);
	int c;

	assert_non_null(f);
	while ((c = fgetc(f)) != EOF)
		fputc(c, mem);
	fclose(f);
	fclose(mem);
	return text;
}

/* Files one level deep; what remains shows as an error of rmdir(). */
static inline void scratch_remove(const struct scratch *s,
				  const char *const *names, size_t n)
{
	char path[300];

	for (size_t i = 0; i < n; i++)
		unlink(scratch_path(s, names[i], path));
	assert_int_equal(rmdir(s->dir), 0);
}
#endif
