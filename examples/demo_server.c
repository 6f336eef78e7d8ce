/* SPDX-License-Identifier: MIT */
/* Both example tools in one server; ./dev demo starts two of it. */
#include <stdio.h>

#include "examples/lib/tools.h"

int main(int argc, char **argv)
{
	struct bide_server *s = bide_server_new("bide-demo", "1.0.0");
	struct bide_error err = {.text = "out of memory"};
	struct roots roots = {0};
	int code = 1;

	if (s == NULL || !roots_from_options(&roots, &argc, argv))
		return 1;
	(void)bide_server_set_title(s, "The tools of the bide demo");
	if (deploy_service_add(s, &err) == BIDE_OK &&
	    checksum_tree_add(s, &roots, &err) == BIDE_OK)
		code = bide_main(s, argc, argv);
	else
		(void)fprintf(stderr, "demo_server: %s\n", err.text);
	roots_close(&roots);
	bide_server_free(s);
	return code;
}
