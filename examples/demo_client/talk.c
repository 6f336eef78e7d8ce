/* SPDX-License-Identifier: MIT */
#include "examples/demo_client/talk.h"

#include <string.h>

#include "examples/demo_client/show.h"

const char *talk_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text != NULL ? text : "";
}

int talk_wrong(const char *what)
{
	show_say("The story went wrong: %s", what);
	return 1;
}

json_t *talk_call(const struct client *c, const struct server *at,
		  const char *tool, const json_t *args, json_t *responses,
		  const char *state)
{
	json_t *params = json_pack("{s:s, s:O}", "name", tool, "arguments",
				   (json_t *)args);

	if (responses != NULL)
		(void)json_object_set_new(params, "inputResponses", responses);
	if (state != NULL)
		(void)json_object_set_new(params, "requestState",
					  json_string(state));
	return wire_call(c, at, "tools/call", params);
}

static json_t *answer_for(const json_t *answers, const char *key)
{
	const char *name;
	json_t *answer;

	json_object_foreach ((json_t *)answers, name, answer)
		if (strncmp(key, name, strlen(name)) == 0)
			return answer;
	return NULL;
}

json_t *talk_answers(const json_t *answers, const json_t *requests)
{
	json_t *responses = json_object();
	const char *key;
	json_t *request;

	json_object_foreach ((json_t *)requests, key, request) {
		json_t *answer = answer_for(answers, key);

		if (answer != NULL)
			(void)json_object_set(responses, key, answer);
	}
	return responses;
}

const json_t *talk_questions(const json_t *response)
{
	return json_object_get(json_object_get(response, "result"),
			       "inputRequests");
}

json_t *talk_again(const struct client *c, const struct server *at,
		   const char *tool, const json_t *args, const json_t *answers,
		   json_t *response)
{
	const json_t *requests = talk_questions(response);
	const json_t *state = json_object_get(
		json_object_get(response, "result"), "requestState");
	json_t *next = talk_call(c, at, tool, args,
				 json_object_size(requests) > 0
					 ? talk_answers(answers, requests)
					 : NULL,
				 json_string_value(state));

	json_decref(response);
	return next;
}

bool talk_wants_more(const json_t *response)
{
	return strcmp(talk_text(json_object_get(response, "result"),
				"resultType"),
		      "input_required") == 0;
}

int talk_check_result(const json_t *result)
{
	const json_t *first =
		json_array_get(json_object_get(result, "content"), 0);

	if (first == NULL || json_is_true(json_object_get(result, "isError")))
		return talk_wrong("the call did not end in a good result.");
	show_say("The tool says: %s", talk_text(first, "text"));
	return 0;
}

int talk_check(const json_t *response)
{
	const json_t *result = json_object_get(response, "result");

	if (strcmp(talk_text(result, "resultType"), "complete") != 0)
		return talk_wrong("the call did not end in a result.");
	return talk_check_result(result);
}
