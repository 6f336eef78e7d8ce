/* SPDX-License-Identifier: MIT */
#include "examples/lib/roots.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/lib/tools.h"

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

static bool add(struct roots *r, const char *path)
{
	struct root *list = realloc(r->list, (r->n + 1) * sizeof(struct root));
	struct root one = {.fd = -1};

	if (list == NULL)
		return false;
	r->list = list;
	one.path = realpath(path, NULL);
	if (one.path != NULL)
		one.fd = open(one.path, OPEN_DIR);
	if (one.fd < 0) {
		free(one.path);
		return false;
	}
	r->list[r->n++] = one;
	return true;
}

bool roots_open(struct roots *r, const char *list, char *why, size_t cap)
{
	char *copy = strdup(list);
	char *rest = copy;
	char *path;
	bool good = copy != NULL;

	*r = (struct roots){0};
	while (good && (path = strsep(&rest, ",")) != NULL) {
		if (*path == '\0')
			continue;
		good = add(r, path);
		if (!good)
			(void)snprintf(why, cap, "%s: %s", path,
				       strerror(errno));
	}
	free(copy);
	if (!good)
		roots_close(r);
	return good;
}

void roots_close(struct roots *r)
{
	for (size_t i = 0; i < r->n; i++) {
		(void)close(r->list[i].fd);
		free(r->list[i].path);
	}
	free(r->list);
	*r = (struct roots){0};
}

char *roots_describe(const struct roots *r)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		return NULL;
	for (size_t i = 0; i < r->n; i++)
		(void)fprintf(out, "%s%s", i > 0 ? ", " : "", r->list[i].path);
	return fclose(out) == 0 ? text : NULL;
}

/* ---- ways in ---- */

/* What of @path lies below @root; NULL: it is not under it. "" is the root. */
static const char *below(const char *root, const char *path)
{
	size_t len = strlen(root);

	if (len == 1) /* "/" */
		return path + 1;
	if (strncmp(root, path, len) != 0)
		return NULL;
	if (path[len] == '\0')
		return path + len;
	return path[len] == '/' ? path + len + 1 : NULL;
}

/* One component of a path, which is to be a plain name. */
static bool take_name(const char **path, char *name)
{
	size_t len = strcspn(*path, "/");

	if (len == 0 || len > NAME_MAX)
		return false;
	memcpy(name, *path, len);
	name[len] = '\0';
	*path += len;
	if (**path == '/')
		(*path)++;
	return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

int roots_open_parent(int fd, const char *path, const char **ret_name)
{
	char name[NAME_MAX + 1];
	int at = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	while (at >= 0 && strchr(path, '/') != NULL) {
		int next = -1;

		if (take_name(&path, name))
			next = openat(at, name, OPEN_DIR | O_NOFOLLOW);
		else
			errno = EINVAL;
		(void)close(at);
		at = next;
	}
	*ret_name = path;
	return at;
}

int roots_open_below(int fd, const char *path, int flags)
{
	char name[NAME_MAX + 1];
	const char *last;
	int at = roots_open_parent(fd, path, &last);
	int ret = -1;
	int error;

	if (at < 0)
		return -1;
	if (take_name(&last, name))
		ret = openat(at, name, flags | O_NOFOLLOW | O_CLOEXEC);
	else
		errno = EINVAL;
	error = errno;
	(void)close(at);
	errno = error;
	return ret;
}

static bool open_under(const struct root *root, const char *canonical,
		       struct roots_dir *ret)
{
	const char *rest = below(root->path, canonical);
	int fd;

	if (rest == NULL)
		return false;
	fd = *rest == '\0' ? fcntl(root->fd, F_DUPFD_CLOEXEC, 0)
			   : roots_open_below(root->fd, rest, OPEN_DIR);
	if (fd < 0)
		return false;
	*ret = (struct roots_dir){.fd = fd, .root = root};
	ret->path = strdup(canonical);
	if (ret->path == NULL)
		roots_dir_close(ret);
	return ret->path != NULL;
}

static char *canonical(const struct root *root, const char *path)
{
	char *joined = NULL;
	char *ret;

	if (*path == '/')
		return realpath(path, NULL);
	if (asprintf(&joined, "%s/%s", root->path, path) < 0)
		return NULL;
	ret = realpath(joined, NULL);
	free(joined);
	return ret;
}

bool roots_open_dir(const struct roots *r, const char *path,
		    struct roots_dir *ret)
{
	bool found = false;

	for (size_t i = 0; i < r->n && !found; i++) {
		char *real = canonical(&r->list[i], path);

		found = real != NULL && open_under(&r->list[i], real, ret);
		free(real);
	}
	return found;
}

void roots_dir_close(struct roots_dir *d)
{
	if (d->fd >= 0)
		(void)close(d->fd);
	free(d->path);
	*d = (struct roots_dir){.fd = -1};
}

/* ---- from the command line ---- */
bool roots_from_options(struct roots *r, int *argc, char **argv)
{
	static const char option[] = "--allowed-roots";
	const char *list = getenv("ALLOWED_ROOTS");
	char why[PATH_MAX + 64] = "out of memory";
	int kept = 1;

	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], option) == 0 && i + 1 < *argc)
			list = argv[++i];
		else if (strncmp(argv[i], option, sizeof(option) - 1) == 0 &&
			 argv[i][sizeof(option) - 1] == '=')
			list = argv[i] + sizeof(option);
		else
			argv[kept++] = argv[i];
	}
	*argc = kept;
	argv[kept] = NULL;
	*r = (struct roots){0};
	if (list == NULL || roots_open(r, list, why, sizeof(why)))
		return true;
	(void)fprintf(stderr, "%s: allowed roots: %s\n", argv[0], why);
	return false;
}
