/* SPDX-License-Identifier: MIT */
/* A server of one ephemeral tool; the tool is lib/deploy_service.c. */
#include <stdio.h>

#include "examples/lib/tools.h"

int main(int argc, char **argv)
{
	struct bide_server *s = bide_server_new("deploy-service", "1.0.0");
	struct bide_error err = {.text = "out of memory"};
	int code = 1;

	if (s != NULL && deploy_service_add(s, &err) == BIDE_OK)
		code = bide_main(s, argc, argv);
	else
		(void)fprintf(stderr, "deploy_service: %s\n", err.text);
	bide_server_free(s);
	return code;
}
