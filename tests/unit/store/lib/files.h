/* SPDX-License-Identifier: MIT */
#ifndef TESTS_STORE_FILES_H
#define TESTS_STORE_FILES_H
/* Abort when they cannot. */
void remove_tree(const char *path);
void copy_file(const char *from, const char *to);
#endif
