/* SPDX-License-Identifier: MIT */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H
#include <stdbool.h>
#include <stdio.h>

#include "server/base/buf.h"
#include "server/base/config.h"
#include "store/store.h"
/*
 * The operator's commands over the store's operations. Each takes what is left
 * of the command line after the options were read (argv[0] is the command) and
 * returns an exit code: 0, 1 (failed), 2 (usage). Tables for people on standard
 * output, or JSON with --json; errors on standard error, with what to do next.
 */
/* list | show ID | cancel ID | answer ID KEY JSON | expire ID | retry ID */
int admin_tasks(const struct config *c, int argc, char **argv);
/* tools | prompts | resources | resource URI */
int admin_signal(const struct config *c, int argc, char **argv);
int admin_doctor(const struct config *c, int argc, char **argv);
int admin_backup(const struct config *c, int argc, char **argv);
int admin_migrate(const struct config *c, int argc, char **argv);
/* How @command is used, or its @word alone (NULL, or one that it does not have:
 * all of them). False: there is no such command here. */
bool admin_help(const char *command, const char *word, FILE *out);
/* The store's options as the configuration has them. */
void admin_store_options(const struct config *c, struct store_options *ret);

/*
 * The commands' own options (--json, --all, --state S ..) are none of the
 * configuration's: takes them, with their values, out of argv, for the caller
 * to put back behind what is left. @aside: room for *argc words. Returns how
 * many there are.
 */
int admin_set_aside(int *argc, char **argv, char **aside);
#endif
