/* SPDX-License-Identifier: MIT */
/*
 * get_weather: two questions of different kinds in one round, as SEP-2322's
 * input requests have them: a GitHub login from the person, and from the model
 * the unit that people use there.
 *
 * - Both travel together, for neither waits for the other.
 * - Each is treated on its own terms. Without sampling there is a default, so
 *   that question is withdrawn; without the login there is no weather.
 * - A client that shows no forms is refused with -32021: what the ask returned
 *   is passed on.
 * - What does not answer the question is asked again; nothing to do here.
 */
#include <bide/bide.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char input_schema[] =
	"{\"type\":\"object\",\"properties\":{\"location\":{\"type\":\"string\","
	"\"minLength\":1,\"maxLength\":100}},\"required\":[\"location\"]}";

/* A user name is no secret; a password or a token is never asked in a form. */
static const char login_form[] =
	"{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\","
	"\"minLength\":1,\"maxLength\":39}},\"required\":[\"name\"]}";

/* Stands for the weather service. */
static const struct weather {
	const char *location;
	int fahrenheit;
	const char *conditions;
} stations[] = {
	{"New York", 72, "Partly cloudy"},
	{"Paris", 63, "Light rain"},
	{"Reykjavik", 39, "Windy"},
};

static const struct weather *look_up(const char *location)
{
	for (size_t i = 0; i < sizeof(stations) / sizeof(stations[0]); i++)
		if (strcasecmp(stations[i].location, location) == 0)
			return &stations[i];
	return NULL;
}

static enum bide_rc ask_unit(struct bide_call *call, const char *location)
{
	enum bide_rc rc = bide_ask_sampling(
		call, "unit",
		json_pack("{s:[{s:s, s:{s:s, s:s++}}], s:s, s:i}", "messages",
			  "role", "user", "content", "type", "text", "text",
			  "In which unit do people talk of the weather in ",
			  location, "?", "systemPrompt",
			  "Answer with one word: Celsius or Fahrenheit.",
			  "maxTokens", 10));

	/* A refused question would stand in the way of bide_await(). */
	if (rc == BIDE_NO_CAPABILITY)
		rc = bide_ask_withdraw(call, "unit");
	return rc;
}

static bool in_fahrenheit(struct bide_call *call)
{
	const char *unit = bide_answer_text(bide_answer(call, "unit"));

	return unit != NULL && strstr(unit, "ahrenheit") != NULL;
}

static enum bide_rc get_weather(struct bide_call *call, void *user)
{
	const char *location = bide_arg_string(call, "location");
	const struct weather *w = look_up(location);
	const struct bide_answer *login;
	bool fahrenheit;

	(void)user;
	if (w == NULL)
		return bide_error_text(call, "There is no station in %s.",
				       location);
	BIDE_TRY(bide_ask_form(call, "github_login",
			       "Please provide your GitHub username",
			       login_form));
	BIDE_TRY(ask_unit(call, location));
	BIDE_TRY(bide_await(call));
	login = bide_answer(call, "github_login");
	if (bide_answer_action(login) != BIDE_ACCEPT)
		return bide_text(call,
				 "The login was %s. The weather service tells "
				 "nothing without one.",
				 bide_action_name(bide_answer_action(login)));
	fahrenheit = in_fahrenheit(call);
	/* Stands for the request to the service: it only reads, so it may be
	 * done twice and is no step. */
	(void)fprintf(stderr, "weather of %s for %s\n", w->location,
		      bide_answer_string(login, "name"));
	return bide_text(call,
			 "Current weather in %s:\nTemperature: %d\u00b0%c\n"
			 "Conditions: %s",
			 w->location,
			 fahrenheit ? w->fahrenheit
				    : (w->fahrenheit - 32) * 5 / 9,
			 fahrenheit ? 'F' : 'C', w->conditions);
}

const struct bide_tool get_weather_tool = {
	BIDE_TOOL,
	.name = "get_weather",
	.title = "Weather",
	.description = "The current weather at a place.",
	.input_schema = input_schema,
	.annotations = "{\"readOnlyHint\":true}",
	.handler = get_weather,
};

#ifndef EXAMPLES_TOGETHER /* demo_server serves all of them */
int main(int argc, char **argv)
{
	struct bide_server *s = bide_server_new("weather", "1.0.0");
	struct bide_error err;
	int code = 1;

	if (bide_server_add_tool(s, &get_weather_tool, &err) == BIDE_OK)
		code = bide_main(s, argc, argv);
	else
		(void)fprintf(stderr, "%s\n", err.text);
	bide_server_free(s);
	return code;
}
#endif
