/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/catalog/json_schema.h"

/* Single quotes in tests stand for double ones. */
static json_t *json_of(const char *text)
{
	char *copy = strdup(text);
	json_t *json;

	for (char *p = copy; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	json = json_loads(copy, JSON_DECODE_ANY, NULL);
	if (!json)
		fail_msg("not JSON: %s", copy);
	free(copy);
	return json;
}

static enum bide_rc check(const char *schema, struct bide_error *e)
{
	json_t *json = json_of(schema);
	enum bide_rc rc = json_schema_check_elicitation(json, e);

	json_decref(json);
	return rc;
}

static enum bide_rc check_property(const char *property, struct bide_error *e)
{
	char text[1024];

	snprintf(text, sizeof(text), "{'type':'object','properties':{'p':%s}}",
		 property);
	return check(text, e);
}

static void accepted(const char *property)
{
	struct bide_error e = {0};

	if (check_property(property, &e) != BIDE_OK)
		fail_msg("%s: %s", property, e.text);
}

static void refused(const char *property, const char *why)
{
	struct bide_error e = {0};

	assert_int_equal(check_property(property, &e), BIDE_INVALID);
	assert_int_equal(e.rc, BIDE_INVALID);
	if (!strstr(e.text, why))
		fail_msg("%s: \"%s\" is not in \"%s\"", property, why, e.text);
}

/* client/elicitation "Requested Schema", its examples one by one */
static void test_form__takes_what_the_page_shows(void **state)
{
	(void)state;
	accepted("{'type':'string','title':'Display Name','description':'D',"
		 "'minLength':3,'maxLength':50,'format':'email',"
		 "'default':'user@example.com'}");
	accepted("{'type':'string','format':'date-time'}");
	accepted("{'type':'number','minimum':0,'maximum':100,'default':50}");
	accepted("{'type':'integer','default':5}");
	accepted("{'type':'boolean','default':false}");
	accepted("{'type':'string','enum':['Red','Green'],'default':'Red'}");
	accepted("{'type':'string','enum':['r','g'],'enumNames':['R','G']}");
	accepted("{'type':'string','oneOf':[{'const':'#F00','title':'Red'},"
		 "{'const':'#0F0','title':'Green'}],'default':'#F00'}");
	accepted("{'type':'array','minItems':1,'maxItems':2,'items':{"
		 "'type':'string','enum':['R','G','B']},"
		 "'default':['R','G']}");
	accepted("{'type':'array','items':{'anyOf':[{'const':'#F00',"
		 "'title':'Red'}]},'default':['#F00']}");
	accepted("{'type':'string','x-hint':'an annotation'}");
}

static void test_form__refuses_what_clients_cannot_show(void **state)
{
	(void)state;
	refused("{'type':'object','properties':{'a':{'type':'string'}}}",
		"object is not for forms");
	refused("{'type':'null'}", "null is not for forms");
	refused("{'type':['string','null']}", "form property \"p\", type");
	refused("{}", "form property \"p\", type: must be string");
	refused("true", "must be an object");
	refused("{'type':'array','items':{'type':'object'}}",
		"must be a choice of strings");
	refused("{'type':'array','items':{'type':'string'}}",
		"must be a choice of strings");
	refused("{'type':'array'}", "must be a choice of strings");
	refused("{'type':'string','format':'hostname'}",
		"must be email, uri, date or date-time");
	refused("{'type':'string','pattern':'^a'}", "pattern: is not for");
	refused("{'type':'string','minimum':1}", "minimum: is not for");
	refused("{'type':'boolean','enum':[true]}", "enum: is not for forms");
	refused("{'type':'string','enum':[1]}", "an array of strings");
	refused("{'type':'string','enum':[]}", "an array of strings");
	refused("{'type':'string','enum':['a'],'enumNames':['A','B']}",
		"as many strings as enum has");
	refused("{'type':'string','oneOf':[{'const':'a'}]}",
		"needs a const and a title");
	refused("{'type':'string','anyOf':[{'type':'string'}]}",
		"anyOf: is not for forms");
	refused("{'type':'string','minLength':'a'}", "non-negative integer");
}

static void test_form__defaults_must_fit(void **state)
{
	(void)state;
	refused("{'type':'string','default':1}",
		"default: expected a string, got an integer");
	refused("{'type':'integer','maximum':3,'default':4}",
		"default: expected at most 3");
	refused("{'type':'string','enum':['a'],'default':'b'}",
		"default: expected \"a\"");
	refused("{'type':'string','format':'uri','default':'x'}",
		"default: expected a URI");
}

static void whole_refused(const char *schema, const char *why)
{
	struct bide_error e = {0};

	assert_int_equal(check(schema, &e), BIDE_INVALID);
	if (!strstr(e.text, why))
		fail_msg("%s: \"%s\" is not in \"%s\"", schema, why, e.text);
}

static void test_form__is_a_flat_object(void **state)
{
	struct bide_error e = {0};

	(void)state;
	whole_refused("true", "form: must be an object");
	whole_refused("{'type':'string'}", "form, type: must be object");
	whole_refused("{'type':'object'}", "form, properties: must be");
	whole_refused("{'type':'object','properties':{},'required':['q']}",
		      "required: \"q\" is not among the properties");
	whole_refused("{'type':'object','properties':{},'allOf':[{}]}",
		      "form, allOf: is not for forms");
	whole_refused("{'type':'object','properties':{},'additionalProperties':"
		      "{'type':'string'}}",
		      "must be true or false");
	whole_refused("{'type':'object','properties':{'a':{'$ref':"
		      "'http://127.0.0.1/x'}}}",
		      "nothing is ever fetched");
	assert_int_equal(
		check("{'$schema':'https://json-schema.org/draft/2020-12/"
		      "schema','title':'T','type':'object','properties':{"
		      "'a':{'type':'string'}},'required':['a'],"
		      "'additionalProperties':false}",
		      &e),
		BIDE_OK);
	assert_int_equal(json_schema_check_elicitation(NULL, NULL),
			 BIDE_INVALID);
}

static const char *secret_of(const char *name)
{
	static char found[64];
	json_t *schema =
		json_pack("{s:{s:{},s:{}}}", "properties", "ordinary", name);
	const char *secret = json_schema_secret_property(schema);

	snprintf(found, sizeof(found), "%s", secret ? secret : "");
	json_decref(schema);
	return found;
}

/* client/elicitation "Form Mode Security" */
static void test_secret__names_are_found(void **state)
{
	static const char *const names[] = {
		"password",
		"Password",
		"dbPassword",
		"userpassword",
		"new_password",
		"PASSWD",
		"passphrase",
		"secret",
		"client_secret",
		"clientSecret",
		"api_key",
		"apiKey",
		"API-KEY",
		"APIKey",
		"openai_api_key",
		"token",
		"accessToken",
		"github_token",
		"access_token",
		"private_key",
		"sshKey",
		"credit_card",
		"creditCardNumber",
		"card number",
		"cvv",
		"ssn",
		"social_security_number",
		"pin",
		"credentials",
		"otp",
		"seed_phrase",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_string_equal(secret_of(names[i]), names[i]);
}

static void test_secret__ordinary_names_are_not(void **state)
{
	static const char *const names[] = {
		"name",
		"email",
		"username",
		"token_count",
		"max_tokens",
		"secretary",
		"spinning",
		"pin_to_top",
		"key",
		"keyboard",
		"card_title",
		"environment",
		"passenger",
		"bypass",
		"compass",
		"classname",
		"authorName",
		"monkey_api",
		"description",
		"primary_key",
		"pass_rate",
		"assessment",
		"",
		"___",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_string_equal(secret_of(names[i]), "");
}

static void test_secret__is_the_first_and_borrowed(void **state)
{
	json_t *schema = json_of("{'properties':{'a':{},'x':{'format':"
				 "'password'},'token':{}}}");
	json_t *none = json_object();

	(void)state;
	assert_string_equal(json_schema_secret_property(schema), "x");
	assert_null(json_schema_secret_property(none));
	assert_null(json_schema_secret_property(NULL));
	json_decref(schema);
	json_decref(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_form__takes_what_the_page_shows),
		cmocka_unit_test(test_form__refuses_what_clients_cannot_show),
		cmocka_unit_test(test_form__defaults_must_fit),
		cmocka_unit_test(test_form__is_a_flat_object),
		cmocka_unit_test(test_secret__names_are_found),
		cmocka_unit_test(test_secret__ordinary_names_are_not),
		cmocka_unit_test(test_secret__is_the_first_and_borrowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
