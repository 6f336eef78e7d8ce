/* SPDX-License-Identifier: MIT */
/* All example tools in one server; ./dev demo starts two of it. */
#include <stdio.h>

#include "examples/lib/tools.h"

static enum bide_rc add_tools(struct bide_server *s, struct roots *roots,
			      struct bide_error *reterr)
{
	static const struct bide_tool *const tools[] = {
		&update_work_item_tool,   &get_weather_tool,
		&list_project_files_tool, &link_accounts_tool,
		&count_primes_tool,
	};

	BIDE_TRY(deploy_service_add(s, reterr));
	BIDE_TRY(checksum_tree_add(s, roots, reterr));
	BIDE_TRY(summarize_incidents_add(s, reterr));
	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
		struct bide_tool tool = *tools[i];

		tool.user = roots; /* for the one that reads it */
		BIDE_TRY(bide_server_add_tool(s, &tool, reterr));
	}
	return BIDE_OK;
}

int main(int argc, char **argv)
{
	struct bide_server *s = bide_server_new("bide-demo", "1.0.0");
	struct bide_error err = {.text = "out of memory"};
	struct roots roots = {0};
	int code = 1;

	if (s == NULL || !roots_from_options(&roots, &argc, argv))
		return 1;
	(void)bide_server_set_title(s, "The tools of the bide demo");
	if (add_tools(s, &roots, &err) == BIDE_OK)
		code = bide_main(s, argc, argv);
	else
		(void)fprintf(stderr, "demo_server: %s\n", err.text);
	roots_close(&roots);
	bide_server_free(s);
	return code;
}
