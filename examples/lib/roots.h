/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_LIB_ROOTS_H
#define EXAMPLES_LIB_ROOTS_H
#include <stdbool.h>
#include <stddef.h>

/*
 * Directories that the operator allowed, and ways into them that no path and
 * no symbolic link leads out of: a path is made canonical first, and then
 * walked component by component from the root's descriptor, following no link,
 * so that what is swapped in between is refused and not obeyed.
 */
struct root {
	char *path; /* canonical */
	int fd;
};
struct roots {
	struct root *list;
	size_t n;
};

/* @list: comma separated. False: @why says which one, and what is wrong. */
bool roots_open(struct roots *r, const char *list, char *why, size_t cap);
void roots_close(struct roots *r);
/* "/a, /b", for people; malloc()ed. */
char *roots_describe(const struct roots *r);

/* A directory under a root. */
struct roots_dir {
	int fd;
	char *path; /* canonical */
	const struct root *root;
};
/* @path: absolute, or relative to one of the roots. False when it is not a
 * directory under one: the same for what does not exist and what is outside. */
bool roots_open_dir(const struct roots *r, const char *path,
		    struct roots_dir *ret);
void roots_dir_close(struct roots_dir *d);

/* "a/b/c" below @fd; -1 and errno (ELOOP, ENOTDIR: a link in the way). */
int roots_open_below(int fd, const char *path, int flags);
/* The directory that holds "a/b/c", and where the last name begins. */
int roots_open_parent(int fd, const char *path, const char **ret_name);
#endif
