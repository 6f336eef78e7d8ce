/* SPDX-License-Identifier: MIT */
/* struct bide_server: what a program says of itself before bide_main(). */
#include <stdlib.h>
#include <string.h>

#include "server/base/error.h"
#include "server/catalog/entry.h"
#include "server/main.h"
#include "server/security/keyring.h"

const char *bide_version(void)
{
	return BIDE_VERSION;
}

struct bide_server *bide_server_new(const char *name, const char *version)
{
	struct bide_server *s;

	if (name == NULL || *name == '\0' || version == NULL ||
	    *version == '\0' || !security_init())
		return NULL;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return NULL;
	s->name = strdup(name);
	s->version = strdup(version);
	s->registry = registry_new();
	s->config = config_new();
	announcer_init(&s->announcer);
	if (s->name == NULL || s->version == NULL || s->registry == NULL ||
	    s->config == NULL) {
		bide_server_free(s);
		return NULL;
	}
	return s;
}

void bide_server_free(struct bide_server *server)
{
	if (server == NULL)
		return;
	announcer_fini(&server->announcer);
	registry_free(server->registry);
	config_free(server->config);
	free(server->name);
	free(server->version);
	free(server->title);
	free(server->instructions);
	free(server->icons);
	free(server);
}

static enum bide_rc replace(char **slot, const char *text)
{
	char *copy = text != NULL ? strdup(text) : NULL;

	if (text != NULL && copy == NULL)
		return BIDE_NOMEM;
	free(*slot);
	*slot = copy;
	return BIDE_OK;
}

enum bide_rc bide_server_set_title(struct bide_server *server,
				   const char *title)
{
	return replace(&server->title, title);
}

enum bide_rc bide_server_set_instructions(struct bide_server *server,
					  const char *text)
{
	return replace(&server->instructions, text);
}

enum bide_rc bide_server_set_icons(struct bide_server *server,
				   const char *icons_json,
				   struct bide_error *reterr)
{
	const struct entry e = {"server", server->name, reterr};
	enum bide_rc rc =
		entry_check_json(&e, "icons", icons_json, entry_icons_problem);

	return rc != BIDE_OK ? rc : replace(&server->icons, icons_json);
}

enum bide_rc bide_server_set_option(struct bide_server *server,
				    const char *name, const char *value,
				    struct bide_error *reterr)
{
	return config_set(server->config, name, value, CONFIG_FROM_PROGRAM,
			  reterr);
}

enum bide_rc bide_server_set_identity(struct bide_server *server,
				      bide_identity_fn fn, void *user)
{
	server->identity = fn;
	server->identity_user = user;
	return BIDE_OK;
}

enum bide_rc bide_server_add_tool(struct bide_server *server,
				  const struct bide_tool *tool,
				  struct bide_error *reterr)
{
	if (server == NULL)
		return error_set(reterr, BIDE_INVALID, NO_SERVER);
	return registry_add_tool(server->registry, tool, false, reterr);
}

enum bide_rc bide_server_add_prompt(struct bide_server *server,
				    const struct bide_prompt *prompt,
				    struct bide_error *reterr)
{
	if (server == NULL)
		return error_set(reterr, BIDE_INVALID, NO_SERVER);
	return registry_add_prompt(server->registry, prompt, reterr);
}

enum bide_rc bide_server_add_resource(struct bide_server *server,
				      const struct bide_resource *resource,
				      struct bide_error *reterr)
{
	if (server == NULL)
		return error_set(reterr, BIDE_INVALID, NO_SERVER);
	return registry_add_resource(server->registry, resource, false, reterr);
}

enum bide_rc bide_server_add_resource_template(struct bide_server *server,
					       const struct bide_resource *tmpl,
					       struct bide_error *reterr)
{
	if (server == NULL)
		return error_set(reterr, BIDE_INVALID, NO_SERVER);
	return registry_add_resource(server->registry, tmpl, true, reterr);
}
