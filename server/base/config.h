/* SPDX-License-Identifier: MIT */
#ifndef BASE_CONFIG_H
#define BASE_CONFIG_H
#include "bide/types.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
/*
 * One table of options (config.def): OPT(id, "name", kind, default, min, max,
 * "value", "help"), kind STRING, INT, MS, BOOL or SIZE. Each is --name VALUE on
 * the command line, BIDE_NAME in the environment and "name = value" in the
 * configuration file. The command line wins over the environment, that over
 * the file, that over what the program set, that over the default, in
 * whatever order they are read; of two from one source the later wins.
 *
 * Values: INT a number; MS a number with ms (also without), s, m, h or d;
 * SIZE a number with K, M or G (powers of 1024); BOOL true, false, 1, 0, yes,
 * no, on or off; STRING anything without control characters.
 *
 * Reading is over before the first thread starts; afterwards all is constant.
 */
#define OPT(id, name, kind, def, min, max, value, help) CONFIG_##id,
enum config_key {
#include "server/base/config.def"
	CONFIG_COUNT
};
#undef OPT
enum config_source {
	CONFIG_FROM_DEFAULT,
	CONFIG_FROM_FILE,
	CONFIG_FROM_ENV,
	CONFIG_FROM_ARGS,
	CONFIG_FROM_PROGRAM
};
struct config;
struct config *config_new(void); /* the defaults; NULL without memory */
void config_free(struct config *c);
/*
 * By name, as the option is spelled without dashes. A valid value from a
 * weaker source than the one in force is OK and changes nothing. INVALID names
 * the option, the value and what is allowed, or the nearest option.
 */
enum bide_rc config_set(struct config *c, const char *name, const char *value,
			enum config_source from, struct bide_error *reterr);
/*
 * Lines of "name = value"; a line or the rest of one after white space and #
 * is a comment; "..." around a value keeps white space and # (nothing is
 * escaped in it). INVALID names file and line; IO when it cannot be read.
 */
enum bide_rc config_load_file(struct config *c, const char *path,
			      struct bide_error *reterr);
/*
 * BIDE_NAME for each option (an empty one counts as unset), and the file that
 * BIDE_CONFIG names unless a file was loaded already: so call
 * config_load_args() first.
 */
enum bide_rc config_load_env(struct config *c, struct bide_error *reterr);
/*
 * Consumes --name VALUE, --name=VALUE and, for BOOL, --name / --no-name from
 * argv[1...]; leaves positional words (also a lone -) in place and compacts
 * argv/argc. After a BOOL's --name, one of the words true, false, yes, no, on
 * and off is taken as its value. Options unknown to the table, -x included:
 * INVALID with the nearest name, so a program takes its own out before.
 * --config FILE is loaded first. "--" is consumed and ends options.
 */
enum bide_rc config_load_args(struct config *c, int *argc, char **argv,
			      struct bide_error *reterr);
const char *config_string(const struct config *c,
			  enum config_key k); /* "" when unset */
int64_t config_int(const struct config *c,
		   enum config_key k); /* INT, MS, SIZE */
bool config_bool(const struct config *c, enum config_key k);
/*
 * name = value  # from where. A file that config_load_file() can read; a
 * password in a URL is masked.
 */
void config_print(const struct config *c, FILE *out);
void config_help(FILE *out); /* the options, for --help */
#endif
