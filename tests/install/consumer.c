/*
 * A program outside the tree: it registers a tool through the installed
 * headers and library, and says so.
 */
#include <bide/bide.h>
#include <stdio.h>

static enum bide_rc greet(struct bide_call *call, void *user)
{
	(void)user;
	return bide_text(call, "Hello, %s!", bide_arg_string(call, "name"));
}

int main(void)
{
	struct bide_error err = {0};
	struct bide_server *server = bide_server_new("consumer", "1");
	struct bide_tool tool = {
		BIDE_TOOL,
		.name = "greet",
		.description = "Greets.",
		.input_schema = "{\"type\":\"object\",\"properties\":"
				"{\"name\":{\"type\":\"string\"}}}",
		.handler = greet,
	};

	if (!server || bide_server_add_tool(server, &tool, &err)) {
		fprintf(stderr, "add_tool: %s\n", err.text);
		return 1;
	}
	if (bide_server_add_tool(server, &tool, &err) != BIDE_CONFLICT) {
		fprintf(stderr, "the same name was taken twice\n");
		return 1;
	}
	bide_server_free(server);
	puts("consumer: tool registered");
	return 0;
}
