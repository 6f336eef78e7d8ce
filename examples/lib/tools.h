/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_LIB_TOOLS_H
#define EXAMPLES_LIB_TOOLS_H
#include <bide/bide.h>

#include "examples/lib/roots.h"

/* Each registers one tool. @roots outlives the server. */
enum bide_rc deploy_service_add(struct bide_server *server,
				struct bide_error *reterr);
enum bide_rc checksum_tree_add(struct bide_server *server,
			       const struct roots *roots,
			       struct bide_error *reterr);
/* And a prompt and a resource template. */
enum bide_rc summarize_incidents_add(struct bide_server *server,
				     struct bide_error *reterr);

/* Those that are one file of examples/. */
extern const struct bide_tool update_work_item_tool;
extern const struct bide_tool get_weather_tool;
extern const struct bide_tool list_project_files_tool; /* user: its roots */
extern const struct bide_tool link_accounts_tool;
extern const struct bide_tool count_primes_tool;

/*
 * The directories that the operator allowed: --allowed-roots LIST, taken out
 * of argv, or ALLOWED_ROOTS in the environment. None set is fine; false (and
 * it said why on standard error) when one cannot be opened.
 */
bool roots_from_options(struct roots *r, int *argc, char **argv);
#endif
