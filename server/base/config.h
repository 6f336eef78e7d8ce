/* SPDX-License-Identifier: MIT */
#ifndef BASE_CONFIG_H
#define BASE_CONFIG_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "bide/types.h"
/*
 * One table of options (config.def): OPT(id, "name", kind, default, min, max,
 * "unit", "help"), kind STRING, INT, MS, BOOL or SIZE. Each is --name VALUE on the command line, BIDE_NAME in the
 * environment and "name = value" in the configuration file; the command line
 * wins over the environment, that over the file, that over the default.
 * Reading is over before the first thread starts; afterwards all is constant.
 */
#define OPT(id, name, kind, def, min, max, unit, help) CONFIG_##id,
enum config_key {
#include "server/base/config.def"
	CONFIG_COUNT
};
#undef OPT
enum config_source { CONFIG_FROM_DEFAULT, CONFIG_FROM_FILE, CONFIG_FROM_ENV, CONFIG_FROM_ARGS, CONFIG_FROM_PROGRAM };
struct config;
struct config *config_new(void);
void config_free(struct config *c);
/* By name, as the option is spelled without dashes. INVALID names the option, the value and what is allowed. */
enum bide_rc config_set(struct config *c, const char *name, const char *value, enum config_source from, struct bide_error *reterr);
enum bide_rc config_load_file(struct config *c, const char *path, struct bide_error *reterr);
enum bide_rc config_load_env(struct config *c, struct bide_error *reterr);
/* Consumes --name VALUE, --name=VALUE and, for BOOL, --name / --no-name from
 * argv[*index...]; leaves positional words in place and compacts argv/argc.
 * Options unknown to the table: INVALID with the nearest name. --config FILE is
 * loaded first. "--" ends options. */
enum bide_rc config_load_args(struct config *c, int *argc, char **argv, struct bide_error *reterr);
const char *config_string(const struct config *c, enum config_key k); /* "" when unset */
int64_t config_int(const struct config *c, enum config_key k); /* INT, MS, SIZE */
bool config_bool(const struct config *c, enum config_key k);
void config_print(const struct config *c, FILE *out); /* name = value  # from where; secrets masked */
void config_help(FILE *out); /* the options, for --help */
#endif
