/* SPDX-License-Identifier: MIT */
#ifndef BASE_CONFIG_TABLE_H
#define BASE_CONFIG_TABLE_H
/*
 * What config.c (the values), config_load.c (their sources) and config_print.c
 * (showing them) share; nobody else includes it.
 */
#include "server/base/config.h"

enum config_kind {
	CONFIG_KIND_STRING,
	CONFIG_KIND_INT,
	CONFIG_KIND_MS,
	CONFIG_KIND_BOOL,
	CONFIG_KIND_SIZE
};

struct config_option {
	const char *name;
	enum config_kind kind;
	const char *def;
	int64_t min;
	int64_t max;
	const char *value; /* what stands for it in the help */
	const char *help;
};

struct config_value {
	char *text;     /* never NULL once made */
	int64_t number; /* BOOL: 0 or 1 */
	enum config_source from;
	int line; /* in the file, when from one */
};

struct config {
	struct config_value values[CONFIG_COUNT];
	char *file; /* the last one loaded, or NULL */
};

extern const struct config_option config_options[CONFIG_COUNT];

int config_find(const char *name); /* a config_key, or -1 */
bool config_read_bool(const char *s, bool *ret);
enum bide_rc config_unknown(const char *name, struct bide_error *reterr);
enum bide_rc config_put(struct config *c, int key, const char *value,
			enum config_source from, int line,
			struct bide_error *reterr);
#endif
