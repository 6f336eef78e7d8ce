/* SPDX-License-Identifier: MIT */
/*
 * A server of one persistent tool; the tool is lib/checksum_*.c.
 *
 *     ALLOWED_ROOTS=/usr/include,/srv/data checksum_tree serve
 *     checksum_tree --allowed-roots /srv/data serve --db /var/lib/x.db
 */
#include <stdio.h>

#include "examples/lib/tools.h"

int main(int argc, char **argv)
{
	struct bide_server *s = bide_server_new("checksum-tree", "1.0.0");
	struct bide_error err = {.text = "out of memory"};
	struct roots roots = {0};
	int code = 1;

	if (s == NULL || !roots_from_options(&roots, &argc, argv))
		return 1;
	if (checksum_tree_add(s, &roots, &err) == BIDE_OK)
		code = bide_main(s, argc, argv);
	else
		(void)fprintf(stderr, "checksum_tree: %s\n", err.text);
	roots_close(&roots);
	bide_server_free(s);
	return code;
}
