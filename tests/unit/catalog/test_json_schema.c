/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/limits.h"
#include "server/catalog/json_schema.h"

/* Single quotes in tests stand for double ones. */
static json_t *json_of(const char *text)
{
	char *copy = strdup(text);
	json_error_t error;
	json_t *json;

	for (char *p = copy; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	json = json_loads(copy, JSON_DECODE_ANY, &error);
	if (!json)
		fail_msg("%s: %s", copy, error.text);
	free(copy);
	return json;
}

static struct json_schema *compiled(const char *text)
{
	json_t *json = json_of(text);
	struct json_schema *s = NULL;
	struct bide_error e = {0};

	if (json_schema_compile(json, &s, &e) != BIDE_OK)
		fail_msg("%s: %s", text, e.text);
	json_decref(json); /* the schema has its own copy */
	return s;
}

static void refused(enum bide_rc rc, const char *text, const char *why)
{
	json_t *json = json_of(text);
	struct json_schema *s = NULL;
	struct bide_error e = {0};

	assert_int_equal(json_schema_compile(json, &s, &e), rc);
	assert_null(s);
	assert_int_equal(e.rc, rc);
	if (!strstr(e.text, why))
		fail_msg("%s: \"%s\" is not in \"%s\"", text, why, e.text);
	json_decref(json);
}

static enum bide_rc judge(const struct json_schema *s, const char *instance,
			  char *sentence, size_t cap)
{
	struct json_schema_problem p[4];
	json_t *json = json_of(instance);
	size_t n = 99;
	struct buf out;
	enum bide_rc rc;

	rc = json_schema_validate(s, json, p, 4, &n);
	assert_true((rc == BIDE_OK) == (n == 0));
	buf_init(&out, 4096);
	json_schema_explain_as("arguments", p, n, &out);
	snprintf(sentence, cap, "%s", out.len ? out.data : "");
	buf_fini(&out);
	/* Without room for problems the verdict is the same. */
	assert_int_equal(json_schema_validate(s, json, NULL, 0, NULL), rc);
	json_decref(json);
	return rc;
}

static void fits(const char *schema, const char *instance)
{
	struct json_schema *s = compiled(schema);
	char sentence[4096];

	if (judge(s, instance, sentence, sizeof(sentence)) != BIDE_OK)
		fail_msg("%s on %s: %s", schema, instance, sentence);
	json_schema_free(s);
}

static void breaks(const char *schema, const char *instance, const char *want)
{
	struct json_schema *s = compiled(schema);
	char sentence[4096];

	assert_int_equal(judge(s, instance, sentence, sizeof(sentence)),
			 BIDE_INVALID);
	assert_string_equal(sentence, want);
	json_schema_free(s);
}

static void test_explain__says_what_was_expected(void **state)
{
	const char *args = "{'type':'object','required':['name','size'],"
			   "'properties':{'name':{'type':'string'},"
			   "'seconds':{'type':'integer','minimum':1}},"
			   "'additionalProperties':false}";

	(void)state;
	breaks(args, "{'name':'a','size':1,'seconds':'x'}",
	       "arguments: expected no property \"size\"; known are name, "
	       "seconds; arguments/seconds: expected an integer, got a string");
	breaks(args, "{}",
	       "arguments: expected the properties \"name\" and \"size\", "
	       "which are missing");
	breaks(args, "[]", "arguments: expected an object, got an array");
	breaks("{'properties':{'a':{'items':{'enum':['x','y']}}}}",
	       "{'a':['x','z']}",
	       "arguments/a/1: expected one of \"x\", \"y\"");
	breaks("{'properties':{'a/b':{'minimum':1.5}}}", "{'a/b':1}",
	       "arguments/a~1b: expected at least 1.5");
	breaks("{'minLength':2}", "'\\u00e9'",
	       "arguments: expected at least 2 characters, got 1");
	breaks("{'maxItems':1}", "[1,2]",
	       "arguments: expected at most 1 item, got 2");
	breaks("{'type':['string','null']}", "1",
	       "arguments: expected a string or null, got an integer");
	breaks("{'pattern':'^a$'}", "'b'",
	       "arguments: expected a string that matches the pattern ^a$");
	breaks("{'const':{'a':1}}", "2", "arguments: expected {\"a\":1}");
	breaks("{'format':'date'}", "'2026-02-30'",
	       "arguments: expected a date such as 2026-07-28");
	breaks("{'dependentRequired':{'a':['b']}}", "{'a':1}",
	       "arguments: expected the property \"b\" beside \"a\"");
	breaks("{'propertyNames':{'maxLength':1}}", "{'ab':1}",
	       "arguments: expected property names that fit the schema under "
	       "\"propertyNames\", got \"ab\"");
	breaks("{'uniqueItems':true}", "[1,2,1.0]",
	       "arguments: expected items without repeats, but those at 0 and "
	       "2 are equal");
	breaks("{'prefixItems':[true],'items':false}", "[1,2,3]",
	       "arguments: expected at most 1 item, got 3");
	breaks("{'contains':{'type':'null'},'minContains':2}", "[null,1]",
	       "arguments: expected at least 2 items that fit the schema "
	       "under \"contains\", got 1");
	breaks("{'not':{'type':'null'}}", "null",
	       "arguments: expected a value that does not fit the schema under "
	       "\"not\"");
	breaks("false", "1", "arguments: expected no value here");
}

static void test_explain__finds_the_nearest_alternative(void **state)
{
	(void)state;
	breaks("{'anyOf':[{'type':'string'},{'type':'null'}]}", "1",
	       "arguments: expected a string or null, got an integer");
	breaks("{'anyOf':[{'type':'string'},{'type':'object',"
	       "'required':['a']}]}",
	       "{}",
	       "arguments: expected the property \"a\", which is missing");
	breaks("{'oneOf':[{'properties':{'k':{'const':'a'}}},"
	       "{'properties':{'k':{'const':'b'},'v':{'properties':{'x':"
	       "{'type':'string'}}}}}]}",
	       "{'v':{'x':1},'k':'b2'}",
	       "arguments/v/x: expected a string, got an integer");
	breaks("{'oneOf':[{'type':'integer'},{'minimum':1},{'maximum':5}]}",
	       "3",
	       "arguments: expected a value that fits exactly one of the 3 "
	       "alternatives, got one that fits those at 0 and 1");
	breaks("{'anyOf':[{'minimum':5},{'multipleOf':4}]}", "3",
	       "arguments: expected a value that fits one of the 2 "
	       "alternatives under \"anyOf\"");
}

static void test_problems__name_both_places_and_are_bounded(void **state)
{
	struct json_schema *s =
		compiled("{'$defs':{'p':{'type':'string'}},"
			 "'additionalProperties':{'$ref':'#/$defs/p'}}");
	json_t *json = json_object();
	struct json_schema_problem p[3];
	char name[400];
	size_t n = 0;

	(void)state;
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	json_object_set_new(json, name, json_integer(1));
	for (int i = 0; i < 9; i++) {
		snprintf(name, sizeof(name), "k%d", i);
		json_object_set_new(json, name, json_integer(1));
	}
	assert_int_equal(json_schema_validate(s, json, p, 3, &n), BIDE_INVALID);
	assert_int_equal(n, 3);
	assert_string_equal(p[0].schema_path, "/$defs/p/type");
	assert_int_equal(strncmp(p[0].instance_path, "...nnn", 6), 0);
	assert_true(strlen(p[0].instance_path) < sizeof(p[0].instance_path));
	assert_string_equal(p[1].instance_path, "/k0");
	json_decref(json);
	json_schema_free(s);
}

static void test_explain__hides_what_breaks_a_line(void **state)
{
	(void)state;
	breaks("{'additionalProperties':false}", "{'a\\n\\u007f':1}",
	       "arguments: expected no property \"a\?\?\"");
	breaks("{'additionalProperties':{'type':'null'}}", "{'a\\n':1}",
	       "arguments/a?: expected null, got an integer");
}

static void test_compile__names_the_place_and_the_fault(void **state)
{
	(void)state;
	refused(BIDE_INVALID, "[]", "must be an object or a boolean");
	refused(BIDE_INVALID, "{'type':'int'}",
		"schema /type: must be one of null");
	refused(BIDE_INVALID, "{'properties':{'a':{'minLength':-1}}}",
		"schema /properties/a/minLength: must be a non-negative");
	refused(BIDE_INVALID, "{'items':[{}]}",
		"schema /items: must be a schema");
	refused(BIDE_INVALID, "{'allOf':[{},{'anyOf':[]}]}",
		"schema /allOf/1/anyOf: must be an array of at least one");
	refused(BIDE_INVALID, "{'required':['a','a']}", "without repeats");
	refused(BIDE_INVALID, "{'multipleOf':0}", "greater than 0");
	refused(BIDE_INVALID, "{'properties':{'a/b~':{'pattern':'('}}}",
		"schema /properties/a~1b~0/pattern: \"(\" is not a pattern");
	refused(BIDE_INVALID, "{'patternProperties':{'\\\\A':true}}",
		"\\A is not an escape of ECMA-262");
	refused(BIDE_INVALID, "{'title':1}", "/title: must be a string");
	refused(BIDE_INVALID, "{'$anchor':'1a'}", "/$anchor: must be a plain");
	refused(BIDE_INVALID, "{'$id':'a#b'}", "must not have a fragment");
	refused(BIDE_INVALID, "{'$defs':{'a':{'$id':'x'},'b':{'$id':'x'}}}",
		"is the name of two schemas");
	refused(BIDE_INVALID,
		"{'$defs':{'a':{'$anchor':'x'},'b':{'$anchor':'x'}}}",
		"is taken by another");
}

/* basic/index "$ref Resolution"; F51 */
static void test_compile__never_leaves_the_document(void **state)
{
	static const char *const addresses[] = {
		"http://127.0.0.1:1/s.json",
		"https://example.com/s.json#/a",
		"file:///etc/passwd",
		"//example.com/x",
		"/etc/passwd",
		"other.json",
		"urn:example:x",
	};
	char schema[200];

	(void)state;
	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		snprintf(schema, sizeof(schema),
			 "{'properties':{'a':{'$ref':'%s'}}}", addresses[i]);
		refused(BIDE_INVALID, schema, "nothing is ever fetched");
		refused(BIDE_INVALID, schema, "schema /properties/a/$ref");
		snprintf(schema, sizeof(schema), "{'$dynamicRef':'%s'}",
			 addresses[i]);
		refused(BIDE_INVALID, schema, "nothing is ever fetched");
	}
	refused(BIDE_INVALID, "{'$ref':'#/$defs/none'}", "points at nothing");
	refused(BIDE_INVALID, "{'$ref':'#none'}", "names no $anchor");
	refused(BIDE_INVALID, "{'$ref':'#%2'}", "malformed fragment");
	refused(BIDE_INVALID, "{'$ref':'#/type','type':'string'}",
		"must be a schema");
}

static void test_compile__refuses_other_dialects_by_name(void **state)
{
	(void)state;
	refused(BIDE_INVALID,
		"{'$schema':'http://json-schema.org/draft-04/schema#'}",
		"the dialect http://json-schema.org/draft-04/schema# is not "
		"supported; 2020-12 and draft-07 are");
	refused(BIDE_INVALID, "{'$schema':'x'}", "the dialect x is not");
	refused(BIDE_INVALID, "{'$schema':1}", "/$schema: must be a URI");
	fits("{'$schema':'https://json-schema.org/draft/2020-12/schema#'}",
	     "1");
}

static void test_compile__refuses_endless_references(void **state)
{
	(void)state;
	refused(BIDE_INVALID, "{'$ref':'#'}", "refers to itself");
	refused(BIDE_INVALID,
		"{'$defs':{'a':{'allOf':[{'$ref':'#/$defs/b'}]},"
		"'b':{'not':{'$ref':'#/$defs/a'}}}}",
		"refers to itself");
	fits("{'properties':{'next':{'$ref':'#'}}}",
	     "{'next':{'next':{'next':{}}}}");
}

static void test_compile__has_ceilings(void **state)
{
	char *text = calloc(1, 200000);
	char *p = text;

	(void)state;
	for (int i = 0; i < LIMIT_SCHEMA_DEPTH + 1; i++)
		p = stpcpy(p, "{'not':");
	p = stpcpy(p, "true");
	for (int i = 0; i < LIMIT_SCHEMA_DEPTH + 1; i++)
		p = stpcpy(p, "}");
	refused(BIDE_LIMIT, text, "levels deep");

	p = stpcpy(text, "{'allOf':[true");
	for (int i = 0; i < LIMIT_SCHEMA_NODES; i++)
		p = stpcpy(p, ",true");
	stpcpy(p, "]}");
	refused(BIDE_LIMIT, text, "more than 10000 subschemas");
	free(text);
}

static void test_compile__is_not_changed_by_the_callers_copy(void **state)
{
	json_t *json = json_of("{'enum':['a'],'properties':{'k':false}}");
	struct json_schema *s = NULL;
	json_t *a = json_string("a");

	(void)state;
	assert_int_equal(json_schema_compile(json, &s, NULL), BIDE_OK);
	json_array_clear(json_object_get(json, "enum"));
	json_object_clear(json);
	json_decref(json);
	assert_int_equal(json_schema_validate(s, a, NULL, 0, NULL), BIDE_OK);
	json_decref(a);
	json_schema_free(s);
	json_schema_free(NULL);
}

/* The fixture's json_schema_2020_12_tool, and documents of the program. */
static void test_ref__reaches_all_of_the_document(void **state)
{
	const char *tool =
		"{'$schema':'https://json-schema.org/draft/2020-12/schema',"
		"'type':'object','$defs':{'address':{'$anchor':'addressDef',"
		"'type':'object','properties':{'street':{'type':'string'}}}},"
		"'properties':{'address':{'$ref':'#/$defs/address'},"
		"'other':{'$ref':'#addressDef'}},'additionalProperties':false}";

	(void)state;
	fits(tool, "{'address':{'street':'a'},'other':{}}");
	breaks(tool, "{'other':{'street':1}}",
	       "arguments/other/street: expected a string, got an integer");
	fits("{'$id':'http://x.y/a/b','properties':{'p':{'$ref':'c#q'}},"
	     "'$defs':{'z':{'$id':'c','$defs':{'w':{'$anchor':'q'}}}}}",
	     "{'p':1}");
	breaks("{'$ref':'#/definitions/a~1b%25','definitions':"
	       "{'a/b%':{'type':'null'}}}",
	       "1", "arguments: expected null, got an integer");
}

static void test_ref__reaches_documents_that_the_program_gave(void **state)
{
	json_t *doc = json_of("{'$defs':{'id':{'type':'integer'}}}");
	json_t *json = json_of("{'$ref':'https://x.y/common#/$defs/id'}");
	struct json_schema_document docs[] = {{"https://x.y/common", doc}};
	struct json_schema_problem p;
	struct json_schema *s = NULL;
	json_t *text = json_string("a");
	size_t n = 0;

	(void)state;
	assert_int_equal(json_schema_compile_with(json, docs, 1, &s, NULL),
			 BIDE_OK);
	json_decref(doc);
	json_decref(json);
	assert_int_equal(json_schema_validate(s, text, &p, 1, &n),
			 BIDE_INVALID);
	assert_string_equal(p.schema_path, "https://x.y/common#/$defs/id/type");
	json_decref(text);
	json_schema_free(s);
}

static void test_meta__schemas_are_built_in(void **state)
{
	const char *any =
		"{'$ref':'https://json-schema.org/draft/2020-12/schema'}";
	const char *old = "{'$schema':'http://json-schema.org/draft-07/"
			  "schema#','$ref':'http://json-schema.org/"
			  "draft-07/schema#'}";

	(void)state;
	fits(any, "{'properties':{'a':{'items':{'type':['string']}}},"
		  "'dependencies':{'a':['b']}}");
	breaks(any, "{'properties':{'a':{'items':{'minLength':-1}}}}",
	       "arguments/properties/a/items/minLength: expected at least 0");
	fits(old, "{'items':[{},{'type':'string'}]}");
	breaks(old, "{'required':'a'}",
	       "arguments/required: expected an array, got a string");
}

/* Programs in the wild still say draft-07. */
static void test_draft_07__has_its_own_rules(void **state)
{
#define D7 "'$schema':'http://json-schema.org/draft-07/schema#'"
	(void)state;
	fits("{" D7 ",'items':[{'type':'string'}],'additionalItems':true}",
	     "['a',1]");
	breaks("{" D7 ",'items':[{'type':'string'}],"
	       "'additionalItems':{'type':'null'}}",
	       "['a',1]", "arguments/1: expected null, got an integer");
	/* Keywords beside a $ref, and keywords to come, say nothing. */
	fits("{" D7 ",'definitions':{'a':{}},'properties':{'x':{"
	     "'$ref':'#/definitions/a','type':'null'}}}",
	     "{'x':1}");
	fits("{" D7 ",'dependentRequired':{'a':['b']},'prefixItems':[false],"
	     "'unevaluatedProperties':false}",
	     "{'a':1}");
	breaks("{" D7 ",'dependencies':{'a':['b'],'c':{'required':['d']}}}",
	       "{'a':1,'c':1}",
	       "arguments: expected the property \"b\" beside \"a\"; arguments: "
	       "expected the property \"d\", which is missing");
	fits("{" D7 ",'definitions':{'a':{'$id':'#n','type':'null'}},"
	     "'properties':{'x':{'$ref':'#n'}}}",
	     "{'x':null}");
#undef D7
}

static void test_numbers__compare_by_value(void **state)
{
	(void)state;
	fits("{'type':'integer'}", "1.0");
	fits("{'const':1}", "1.0");
	fits("{'enum':[9007199254740993]}", "9007199254740993");
	breaks("{'const':9007199254740993}", "9007199254740992.0",
	       "arguments: expected 9007199254740993");
	breaks("{'maximum':9007199254740992.0}", "9007199254740993",
	       "arguments: expected at most 9007199254740992.0");
	fits("{'minimum':-9223372036854775808}", "-9223372036854775808");
	breaks("{'exclusiveMaximum':0.5}", "0.5",
	       "arguments: expected less than 0.5");
	fits("{'exclusiveMinimum':-0.5}", "0");
	fits("{'multipleOf':0.01}", "4.35");
	fits("{'multipleOf':0.0001}", "0.0075");
	breaks("{'multipleOf':0.01}", "4.355",
	       "arguments: expected a multiple of 0.01");
	fits("{'multipleOf':1e-8}", "12391239123");
	fits("{'multipleOf':3}", "-9223372036854775806");
	breaks("{'multipleOf':2.5}", "-9223372036854775806",
	       "arguments: expected a multiple of 2.5");
	fits("{'multipleOf':0.1}", "1e300");
	breaks("{'multipleOf':7}", "1e300",
	       "arguments: expected a multiple of 7");
	fits("{'multipleOf':5}", "0.0");
}

static void test_unevaluated__follows_what_held(void **state)
{
	const char *s = "{'anyOf':[{'properties':{'a':{'type':'string'}}},"
			"{'properties':{'b':true}}],"
			"'unevaluatedProperties':false}";
	char many[8192];
	char *p = many;

	(void)state;
	fits(s, "{'a':'x','b':1}");
	breaks(s, "{'a':1,'b':1}", "arguments: expected no property \"a\"");
	breaks("{'prefixItems':[true],'contains':{'type':'null'},"
	       "'unevaluatedItems':false}",
	       "[1,2,null]",
	       "arguments: expected no item at 1, which no part of the schema "
	       "describes");
	/* More members than the marks on the stack can hold. */
	p = stpcpy(p, "{'a':'x'");
	for (int i = 0; i < 400; i++)
		p += sprintf(p, ",'b%d':1", i);
	stpcpy(p, "}");
	fits("{'allOf':[{'properties':{'a':true}},{'if':true,'then':"
	     "{'patternProperties':{'^b':true}}}],"
	     "'unevaluatedProperties':false}",
	     many);
}

static void test_unique__holds_for_many_items(void **state)
{
	struct json_schema *s = compiled("{'uniqueItems':true}");
	struct json_schema_problem p;
	json_t *list = json_array();
	size_t n = 0;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		json_array_append_new(
			list, json_pack("{s:i,s:[i]}", "a", i, "b", i % 7));
	}
	assert_int_equal(json_schema_validate(s, list, NULL, 0, NULL), BIDE_OK);
	json_array_append_new(list,
			      json_pack("{s:[f],s:f}", "b", 1.0, "a", 15.0));
	assert_int_equal(json_schema_validate(s, list, &p, 1, &n),
			 BIDE_INVALID);
	assert_non_null(strstr(p.expected, "at 15 and 20000 are equal"));
	json_decref(list);
	json_schema_free(s);
}

static void limited(const char *schema, const char *instance)
{
	struct json_schema *s = compiled(schema);
	char sentence[1024];

	assert_int_equal(judge(s, instance, sentence, sizeof(sentence)),
			 BIDE_LIMIT);
	assert_string_equal(sentence, "arguments: expected a value that can be "
				      "checked within the limits of this "
				      "server");
	json_schema_free(s);
}

/* F51: deep or exponential schemas are answered in bounded time. */
static void test_validate__stops_an_exponential_schema(void **state)
{
	char text[8192];
	char *p = stpcpy(text, "{'$ref':'#/$defs/l0','$defs':{");

	(void)state;
	for (int i = 0; i < 40; i++)
		p += sprintf(p,
			     "'l%d':{'anyOf':[{'allOf':[{'$ref':'#/$defs/l%d'},"
			     "false]},{'$ref':'#/$defs/l%d'}]},",
			     i, i + 1, i + 1);
	stpcpy(p, "'l40':{'not':{}}}}");
	limited(text, "1");
}

static void test_validate__stops_at_negations_too(void **state)
{
	char text[8192];
	char *p = stpcpy(text, "{'not':{'$ref':'#/$defs/l0'},'$defs':{");

	(void)state;
	for (int i = 0; i < 40; i++)
		p += sprintf(p,
			     "'l%d':{'allOf':[{'$ref':'#/$defs/l%d'},"
			     "{'$ref':'#/$defs/l%d'}]},",
			     i, i + 1, i + 1);
	stpcpy(p, "'l40':true}}");
	limited(text, "1");
}

static void test_validate__stops_a_catastrophic_pattern(void **state)
{
	(void)state;
	limited("{'pattern':'^(a+)+$'}",
		"'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'");
	limited("{'patternProperties':{'^(a|a)*$':true}}",
		"{'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab':1}");
	/* A refusal by the pattern's ceiling is never a match for "not". */
	limited("{'not':{'pattern':'^(a+)+$'}}",
		"'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'");
}

static void test_validate__charges_for_costly_patterns(void **state)
{
	struct json_schema *s = compiled("{'items':{'pattern':'^(a+)+$'}}");
	json_t *list = json_array();

	(void)state;
	/* Each is below the ceiling of one match; together they are not. */
	for (int i = 0; i < 1000; i++)
		json_array_append_new(list, json_string("aaaaaaaaaaaa!"));
	json_array_append_new(list, json_string("aaaaaaaaaaaa"));
	assert_int_equal(json_schema_validate(s, list, NULL, 0, NULL),
			 BIDE_INVALID);
	json_schema_free(s);
	s = compiled("{'items':{'not':{'pattern':'^(a+)+$'}}}");
	json_array_remove(list, 1000);
	assert_int_equal(json_schema_validate(s, list, NULL, 0, NULL),
			 BIDE_LIMIT);
	json_decref(list);
	json_schema_free(s);
}

static json_t *nested(int levels)
{
	json_t *v = json_null();

	for (int i = 0; i < levels; i++) {
		json_t *outer = json_array();

		json_array_append_new(outer, v);
		v = outer;
	}
	return v;
}

static void *validate_deep(void *arg)
{
	struct json_schema *s = arg;
	json_t *v = nested(LIMIT_JSON_DEPTH * 20);

	assert_int_equal(json_schema_validate(s, v, NULL, 0, NULL), BIDE_LIMIT);
	json_decref(v);
	return NULL;
}

/* Regression: a comparison that gave up was taken for "they differ". */
static void test_validate__never_takes_giving_up_for_an_answer(void **state)
{
	struct json_schema *s = compiled("{'uniqueItems':true}");
	struct json_schema *not_s = compiled("{'not':{'uniqueItems':true}}");
	json_t *list = json_array();

	(void)state;
	for (int i = 0; i < 20; i++)
		json_array_append_new(list, nested(600));
	assert_int_equal(json_schema_validate(s, list, NULL, 0, NULL),
			 BIDE_LIMIT);
	assert_int_equal(json_schema_validate(not_s, list, NULL, 0, NULL),
			 BIDE_LIMIT);
	json_decref(list);
	json_schema_free(s);
	json_schema_free(not_s);
}

/* ThreadSanitizer makes the frames about a quarter larger. */
#ifdef __SANITIZE_THREAD__
#define LITTLE_STACK (2 * 1024 * 1024)
#else
#define LITTLE_STACK (1024 * 1024)
#endif

/* A handler's own value may nest deeper than any text. */
static void test_validate__needs_little_stack(void **state)
{
	struct json_schema *s =
		compiled("{'properties':{'a':{'$ref':'#'}},"
			 "'items':{'anyOf':[false,{'allOf':[{'$ref':'#'}]}]},"
			 "'unevaluatedItems':false}");
	pthread_attr_t attr;
	pthread_t t;

	(void)state;
	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, LITTLE_STACK), 0);
	assert_int_equal(pthread_create(&t, &attr, validate_deep, s), 0);
	assert_int_equal(pthread_join(t, NULL), 0);
	pthread_attr_destroy(&attr);
	json_schema_free(s);
}

static const char shared_schema[] =
	"{'type':'object','required':['name'],'properties':{"
	"'name':{'type':'string','pattern':'^[a-z]{1,32}$'},"
	"'when':{'type':'string','format':'date-time'},"
	"'kind':{'oneOf':[{'const':'a'},{'const':'b'}]},"
	"'tags':{'type':'array','uniqueItems':true,'items':{'enum':['x','y']}},"
	"'next':{'$ref':'#'}},'unevaluatedProperties':false}";
static const char shared_instance[] =
	"{'name':'abc','when':'2026-07-28T09:30:00Z','kind':'b',"
	"'tags':['x','y'],'next':{'name':'d'}}";

static void *validate_often(void *arg)
{
	struct json_schema *s = arg;
	json_t *good = json_of(shared_instance);
	json_t *bad = json_of("{'name':'ABC','next':{}}");
	unsigned wrong = 0;

	for (int i = 0; i < 300; i++) {
		struct json_schema_problem p[2];
		size_t n = 0;

		wrong += json_schema_validate(s, good, p, 2, &n) != BIDE_OK;
		wrong += json_schema_validate(s, bad, p, 2, &n) != BIDE_INVALID;
		wrong += n != 2;
	}
	json_decref(good);
	json_decref(bad);
	return wrong ? s : NULL;
}

static void test_validate__is_shared_by_threads(void **state)
{
	struct json_schema *s = compiled(shared_schema);
	pthread_t t[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, validate_often, s),
				 0);
	for (int i = 0; i < 4; i++) {
		void *wrong = NULL;

		assert_int_equal(pthread_join(t[i], &wrong), 0);
		assert_null(wrong);
	}
	json_schema_free(s);
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) &&                    \
	!defined(__SANITIZE_THREAD__)
extern void *__libc_malloc(size_t size);           /* NOLINT */
extern void *__libc_calloc(size_t n, size_t size); /* NOLINT */
extern void *__libc_realloc(void *p, size_t size); /* NOLINT */
static _Atomic unsigned allocations;
static _Atomic unsigned fail_at; /* 0: none */

static bool may_allocate(void)
{
	return ++allocations != fail_at;
}

/* Seen by the shared libraries too, whatever the default visibility. */
#define SEEN __attribute__((visibility("default")))

SEEN void *malloc(size_t size)
{
	return may_allocate() ? __libc_malloc(size) : NULL;
}

SEEN void *calloc(size_t nmemb, size_t size)
{
	return may_allocate() ? __libc_calloc(nmemb, size) : NULL;
}

SEEN void *realloc(void *ptr, size_t size)
{
	return may_allocate() ? __libc_realloc(ptr, size) : NULL;
}

/* Each allocation is made to fail in turn. */
static void test_compile__survives_every_failed_allocation(void **state)
{
	json_t *json = json_of(
		"{'$id':'http://x.y/z','$defs':{'a':{'$id':'b','$anchor':'c',"
		"'pattern':'^\\\\s\\\\p{Letter}+$'}},'properties':{'p':{'$ref':"
		"'b#c'},'q':{'$ref':'https://json-schema.org/draft/2020-12/"
		"meta/content'}},'enum':[{},1],'patternProperties':{'x':{}}}");
	unsigned rounds = 0;
	enum bide_rc rc;

	(void)state;
	do {
		struct json_schema *s = NULL;

		fail_at = allocations + ++rounds;
		rc = json_schema_compile(json, &s, NULL);
		fail_at = 0;
		assert_true((rc == BIDE_OK) == (s != NULL));
		assert_true(rc == BIDE_OK || rc == BIDE_NOMEM);
		json_schema_free(s);
	} while (rc != BIDE_OK);
	assert_true(rounds > 50);
	json_decref(json);
}

static void test_validate__survives_every_failed_allocation(void **state)
{
	struct json_schema *s = compiled(
		"{'uniqueItems':true,'anyOf':[{'contains':{'minimum':390}}],"
		"'unevaluatedItems':{'type':'integer'}}");
	json_t *list = json_array();
	unsigned failed = 0;

	(void)state;
	for (int i = 0; i < 400; i++)
		json_array_append_new(list, json_integer(i));
	for (unsigned round = 1; round < 10; round++) {
		enum bide_rc rc;

		fail_at = allocations + round;
		rc = json_schema_validate(s, list, NULL, 0, NULL);
		fail_at = 0;
		/* qsort() can do without; the rest cannot. */
		assert_true(rc == BIDE_OK || rc == BIDE_NOMEM);
		failed += rc == BIDE_NOMEM;
	}
	assert_int_equal(failed, 3);
	json_decref(list);
	json_schema_free(s);
}

static void test_validate__allocates_nothing_when_valid(void **state)
{
	struct json_schema *s = compiled(shared_schema);
	json_t *json = json_of(shared_instance);
	unsigned before = allocations;

	(void)state;
	assert_true(before > 0);
	assert_int_equal(json_schema_validate(s, json, NULL, 0, NULL), BIDE_OK);
	assert_int_equal(allocations, before);
	json_decref(json);
	json_schema_free(s);
}
#else
static void test_compile__survives_every_failed_allocation(void **state)
{
	(void)state;
	skip();
}

static void test_validate__survives_every_failed_allocation(void **state)
{
	(void)state;
	skip();
}

static void test_validate__allocates_nothing_when_valid(void **state)
{
	(void)state;
	print_message("the sanitizer has malloc: skipped\n");
	skip();
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_explain__says_what_was_expected),
		cmocka_unit_test(test_explain__finds_the_nearest_alternative),
		cmocka_unit_test(
			test_problems__name_both_places_and_are_bounded),
		cmocka_unit_test(test_explain__hides_what_breaks_a_line),
		cmocka_unit_test(test_compile__names_the_place_and_the_fault),
		cmocka_unit_test(test_compile__never_leaves_the_document),
		cmocka_unit_test(test_compile__refuses_other_dialects_by_name),
		cmocka_unit_test(test_compile__refuses_endless_references),
		cmocka_unit_test(test_compile__has_ceilings),
		cmocka_unit_test(
			test_compile__is_not_changed_by_the_callers_copy),
		cmocka_unit_test(test_ref__reaches_all_of_the_document),
		cmocka_unit_test(
			test_ref__reaches_documents_that_the_program_gave),
		cmocka_unit_test(test_meta__schemas_are_built_in),
		cmocka_unit_test(test_draft_07__has_its_own_rules),
		cmocka_unit_test(test_numbers__compare_by_value),
		cmocka_unit_test(test_unevaluated__follows_what_held),
		cmocka_unit_test(test_unique__holds_for_many_items),
		cmocka_unit_test(test_validate__stops_an_exponential_schema),
		cmocka_unit_test(test_validate__stops_at_negations_too),
		cmocka_unit_test(test_validate__stops_a_catastrophic_pattern),
		cmocka_unit_test(test_validate__charges_for_costly_patterns),
		cmocka_unit_test(
			test_validate__never_takes_giving_up_for_an_answer),
		cmocka_unit_test(test_validate__needs_little_stack),
		cmocka_unit_test(test_validate__is_shared_by_threads),
		cmocka_unit_test(test_validate__allocates_nothing_when_valid),
		cmocka_unit_test(
			test_compile__survives_every_failed_allocation),
		cmocka_unit_test(
			test_validate__survives_every_failed_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
