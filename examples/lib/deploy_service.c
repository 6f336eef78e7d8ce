/* SPDX-License-Identifier: MIT */
/*
 * deploy_service: one question, ephemeral. The plan is made once and travels
 * in the sealed requestState, so any instance can take the answer; what has an
 * effect comes last; accept, decline and cancel are three different things; a
 * client that shows no forms is told how to go on without one.
 */
#include <nettle/sha2.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/lib/tools.h"

#define ENVIRONMENT                                                            \
	"\"environment\":{\"type\":\"string\","                                \
	"\"enum\":[\"staging\",\"production\"],"                               \
	"\"description\":\"Deployment target\"}"

static const char input_schema[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"service\":{\"type\":\"string\",\"maxLength\":60,"
	"\"pattern\":\"^[a-z0-9][a-z0-9-]*$\","
	"\"description\":\"Which service\"}," ENVIRONMENT
	"},\"required\":[\"service\"]}";

static const char environment_form[] =
	"{\"type\":\"object\",\"properties\":{" ENVIRONMENT
	"},\"required\":[\"environment\"]}";

/* Stands for the expensive part: resolving versions, reading the registry. */
static json_t *build_plan(const char *service)
{
	struct sha256_ctx hash;
	uint8_t digest[SHA256_DIGEST_SIZE];
	char id[17];

	sha256_init(&hash);
	sha256_update(&hash, strlen(service), (const uint8_t *)service);
	sha256_digest(&hash, sizeof(digest), digest);
	for (size_t i = 0; i < 8; i++)
		(void)snprintf(id + 2 * i, 3, "%02x", digest[i]);
	return json_pack("{s:s+, s:s, s:[s,s,s]}", "id", "plan-", id, "image",
			 service, "phases", "build", "migrate", "switch");
}

/*
 * The effect. Its key is the same in every entry of this call, so a platform
 * that is handed it can tell a repetition. DEPLOY_LOG stands for the platform.
 */
static json_t *run_deploy(struct bide_call *call, const char *service,
			  const char *environment, const json_t *plan)
{
	const char *log = getenv("DEPLOY_LOG");
	const char *id = json_string_value(json_object_get(plan, "id"));
	char line[1024];
	int n = snprintf(line, sizeof(line), "%s %s %s %s\n",
			 bide_step_id(call), service, environment, id);
	int fd = log != NULL
			 ? open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
				0600)
			 : -1;
	bool written = true;

	if (fd >= 0) {
		written = n > 0 && write(fd, line, (size_t)n) == n;
		(void)close(fd);
	}
	if (log != NULL && (fd < 0 || !written))
		return json_pack("{s:b}", "deployed", 0);
	return json_pack("{s:b, s:o}", "deployed", 1, "url",
			 json_sprintf("https://%s.%s.example.com/", service,
				      environment));
}

/* From the arguments, or asked for. NULL: *@rc is what to return. */
static const char *choose_environment(struct bide_call *call,
				      const char *service, enum bide_rc *rc)
{
	const char *given = bide_arg_string(call, "environment");
	const struct bide_answer *answer;
	enum bide_action action;
	char message[256];

	*rc = BIDE_OK;
	if (given != NULL)
		return given;
	(void)snprintf(message, sizeof(message),
		       "Deploy %s: which environment?", service);
	*rc = bide_ask_form(call, "target_env", message, environment_form);
	if (*rc == BIDE_OK)
		*rc = bide_await(call);
	if (*rc != BIDE_OK)
		return NULL;
	answer = bide_answer(call, "target_env");
	action = bide_answer_action(answer);
	if (action == BIDE_ACCEPT)
		return bide_answer_string(answer, "environment");
	if (action == BIDE_DECLINE || action == BIDE_CANCEL)
		*rc = bide_text(call,
				"Deployment of %s %s by the user. "
				"Nothing was deployed.",
				service, bide_action_name(action));
	else
		*rc = bide_error_text(
			call,
			"Nobody could be asked where to deploy %s (%s). "
			"Nothing was deployed.",
			service, bide_action_name(action));
	return NULL;
}

static enum bide_rc deploy_service(struct bide_call *call, void *user)
{
	const char *service = bide_arg_string(call, "service");
	const char *environment;
	const json_t *plan = NULL;
	const json_t *done = NULL;
	enum bide_rc rc;

	(void)user;
	if (bide_arg_string(call, "environment") == NULL &&
	    !bide_client_can(call, BIDE_CAN_ELICIT_FORM))
		return bide_text(
			call,
			"This client cannot show a form. Ask the user which "
			"environment (staging or production) to deploy \"%s\" "
			"to, then call deploy_service again with an "
			"\"environment\" argument.",
			service);

	rc = bide_step_begin(call, "plan", &plan);
	if (rc == BIDE_RUN)
		rc = bide_step_commit(call, build_plan(service), &plan);
	BIDE_TRY(rc);

	environment = choose_environment(call, service, &rc);
	if (environment == NULL)
		return rc;

	rc = bide_step_begin(call, "deploy", &done);
	if (rc == BIDE_RUN)
		rc = bide_step_commit(
			call, run_deploy(call, service, environment, plan),
			&done);
	BIDE_TRY(rc);
	if (!json_is_true(json_object_get(done, "deployed")))
		return bide_error_text(call, "The platform could not be "
					     "reached. Nothing was deployed.");
	return bide_text(call, "Deployed %s to %s: %s (%s)", service,
			 environment,
			 json_string_value(json_object_get(done, "url")),
			 json_string_value(json_object_get(plan, "id")));
}

enum bide_rc deploy_service_add(struct bide_server *server,
				struct bide_error *reterr)
{
	struct bide_tool tool = {
		BIDE_TOOL,
		.name = "deploy_service",
		.title = "Deploy a service",
		.description = "Deploys a service to staging or production; "
			       "asks the user which.",
		.version = "1",
		.input_schema = input_schema,
		.annotations = "{\"destructiveHint\":true,"
			       "\"idempotentHint\":false}",
		.handler = deploy_service,
		.mode = BIDE_EPHEMERAL,
		/* A repeated last round gets the outcome of the first. */
		.single_use = true,
	};

	return bide_server_add_tool(server, &tool, reterr);
}
