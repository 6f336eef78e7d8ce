/* SPDX-License-Identifier: MIT */
/* The plain program: no tools of its own, all of the operator's commands. */
#include <stdio.h>

#include "bide/bide.h"

int main(int argc, char **argv)
{
	struct bide_server *server = bide_server_new("bide", bide_version());
	int code;

	if (server == NULL) {
		(void)fputs("bide: out of memory\n", stderr);
		return 1;
	}
	code = bide_main(server, argc, argv);
	bide_server_free(server);
	return code;
}
