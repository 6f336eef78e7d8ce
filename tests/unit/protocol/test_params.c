/* SPDX-License-Identifier: MIT */
/*
 * Mcp-Param-*: S72; streamable-http, "Server Behavior for Custom Headers" and
 * "Value Encoding".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bide/content.h"
#include "tests/unit/protocol/lib/fake_exchange.h"

#define SCHEMA                                                                 \
	"{\"type\":\"object\",\"properties\":{"                                \
	"\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"},"        \
	"\"limit\":{\"type\":\"integer\",\"x-mcp-header\":\"Limit\"},"         \
	"\"dry\":{\"type\":\"boolean\",\"x-mcp-header\":\"Dry-Run\"},"         \
	"\"where\":{\"type\":\"object\",\"properties\":{\"zone\":{"            \
	"\"type\":\"string\",\"x-mcp-header\":\"Zone\"}}}}}"

static atomic_int runs;

static enum bide_rc mirrored(struct bide_call *call, void *user)
{
	(void)user;
	atomic_fetch_add(&runs, 1);
	return bide_text(call, "ran");
}

static void add(struct registry *r)
{
	wire_tool(r,
		  (struct bide_tool){BIDE_TOOL, .name = "mirrored",
				     .input_schema = SCHEMA,
				     .handler = mirrored, .runs_inline = true});
	wire_tool(r,
		  (struct bide_tool){BIDE_TOOL, .name = "plain",
				     .handler = mirrored, .runs_inline = true});
}

static int set_up(void **state)
{
	*state = wire_new(NULL, add);
	return 0;
}

enum verdict { RUNS, REFUSED, TOOL_ERROR };

static void call_is(void **state, const char *tool, const char *args,
		    const char *const *headers, enum verdict want)
{
	const int before = atomic_load(&runs);
	struct fake *f = fake_call(*state, (struct post){.method = "tools/call",
							 .tool = tool,
							 .args = args,
							 .headers = headers});
	bool error = json_is_true(fake_get(f, "result/isError"));

	if (f->status != (want == REFUSED ? 400 : 200) ||
	    fake_error(f) != (want == REFUSED ? -32020 : 0) ||
	    error != (want == TOOL_ERROR) ||
	    atomic_load(&runs) != before + (want == RUNS))
		fail_msg("%s with %s: %s: %d %s", args,
			 headers ? headers[0] : "no header",
			 headers && headers[0] ? headers[1] : "", f->status,
			 f->text);
	fake_free(f);
}

/* One argument against one header; NULL: without. */
static void is(void **state, const char *args, const char *name,
	       const char *value, enum verdict want)
{
	const char *const headers[] = {name, value, NULL};

	call_is(state, "mirrored", args, value ? headers : NULL, want);
}

static void region(void **state, const char *args, const char *value,
		   enum verdict want)
{
	is(state, args, "Mcp-Param-Region", value, want);
}

static void limit(void **state, const char *args, const char *value,
		  enum verdict want)
{
	is(state, args, "Mcp-Param-Limit", value, want);
}

static void test_string__is_what_the_header_says(void **state)
{
	const char *args = "{\"region\":\"us-west1\"}";

	region(state, args, "us-west1", RUNS);
	region(state, args, "  us-west1\t", RUNS);
	is(state, args, "mCP-pARAM-rEGION", "us-west1", RUNS);
	region(state, args, "us-east1", REFUSED);
	region(state, args, "US-WEST1", REFUSED);
	region(state, args, "us-west", REFUSED);
	region(state, args, "us-west1x", REFUSED);
	region(state, args, "\"us-west1\"", REFUSED);
	region(state, args, "", REFUSED);
	region(state, "{\"region\":\"a b\"}", "a b", RUNS);
	region(state, "{\"region\":\"\"}", "", RUNS);
	region(state, "{\"region\":\"\"}", "=?base64?\?=", RUNS);
	region(state, "{\"region\":\"true\"}", "true", RUNS);
	region(state, "{\"region\":\"42\"}", "42", RUNS);
	region(state, "{\"region\":\"42\"}", "42.0", REFUSED);
}

/* The last row of the table: not conforming. */
static void test_value__without_its_header_is_refused(void **state)
{
	region(state, "{\"region\":\"us-west1\"}", NULL, REFUSED);
	region(state, "{\"region\":\"\"}", NULL, REFUSED);
	limit(state, "{\"limit\":0}", NULL, REFUSED);
	is(state, "{\"dry\":false}", NULL, NULL, REFUSED);
	is(state, "{\"where\":{\"zone\":\"b\"}}", NULL, NULL, REFUSED);
	/* Another parameter's header does not help. */
	is(state, "{\"region\":\"x\"}", "Mcp-Param-Zone", "x", REFUSED);
}

static void test_value__that_is_not_there_has_no_header(void **state)
{
	region(state, "{}", NULL, RUNS);
	region(state, NULL, NULL, RUNS);
	region(state, "null", NULL, RUNS);
	region(state, "{}", "us-west1", REFUSED);
	region(state, NULL, "us-west1", REFUSED);
	region(state, "{}", "", REFUSED);
	is(state, "{\"where\":{}}", "Mcp-Param-Zone", "b", REFUSED);
	is(state, "{\"where\":{}}", NULL, NULL, RUNS);
	is(state, "{\"zone\":\"b\"}", "Mcp-Param-Zone", "b", REFUSED);
	/* A null is not of the parameter's type, but mirrors nothing. */
	region(state, "{\"region\":null}", NULL, TOOL_ERROR);
	region(state, "{\"region\":null}", "null", REFUSED);
	region(state, "{\"region\":null}", "", REFUSED);
}

/* The note in "Server Validation". */
static void test_integer__is_compared_as_a_number(void **state)
{
	limit(state, "{\"limit\":42}", "42", RUNS);
	limit(state, "{\"limit\":42}", "42.0", RUNS);
	limit(state, "{\"limit\":42}", "42.000", RUNS);
	limit(state, "{\"limit\":42.0}", "42", RUNS);
	limit(state, "{\"limit\":4.2e1}", "42", RUNS);
	limit(state, "{\"limit\":-7}", "-7", RUNS);
	limit(state, "{\"limit\":0}", "-0", RUNS);
	limit(state, "{\"limit\":0}", "0", RUNS);
	limit(state, "{\"limit\":42}", "=?base64?NDI=?=", RUNS);
	limit(state, "{\"limit\":42}", "43", REFUSED);
	limit(state, "{\"limit\":42}", "-42", REFUSED);
	limit(state, "{\"limit\":-7}", "7", REFUSED);
	limit(state, "{\"limit\":42}", "42.5", REFUSED);
	limit(state, "{\"limit\":42}", "42.00000000000000000000000001",
	      REFUSED);
	limit(state, "{\"limit\":42}", "42.", REFUSED);
	limit(state, "{\"limit\":42}", "42.0.0", REFUSED);
	limit(state, "{\"limit\":42}", "+42", REFUSED);
	limit(state, "{\"limit\":42}", "042", REFUSED);
	limit(state, "{\"limit\":42}", "4.2e1", REFUSED);
	limit(state, "{\"limit\":42}", "0x2a", REFUSED);
	limit(state, "{\"limit\":42}", "42 ", RUNS);
	limit(state, "{\"limit\":42}", "4 2", REFUSED);
	limit(state, "{\"limit\":42}", "42,42", REFUSED);
	limit(state, "{\"limit\":42}", "", REFUSED);
	limit(state, "{\"limit\":42}", "-", REFUSED);
	limit(state, "{\"limit\":42}", "=?base64?IDQy?=", REFUSED); /* " 42" */
	limit(state, "{\"limit\":42}", "=?base64?NDIA?=", REFUSED); /* NUL */
	limit(state, "{\"limit\":1}", "4294967297", REFUSED);
	limit(state, "{\"limit\":1}", "18446744073709551617", REFUSED);
}

/* "within the safe range for JavaScript". */
static void test_integer__has_a_safe_range(void **state)
{
	limit(state, "{\"limit\":9007199254740991}", "9007199254740991", RUNS);
	limit(state, "{\"limit\":-9007199254740991}", "-9007199254740991",
	      RUNS);
	limit(state, "{\"limit\":9007199254740991}", "9007199254740990",
	      REFUSED);
	limit(state, "{\"limit\":9007199254740992}", "9007199254740992",
	      REFUSED);
	limit(state, "{\"limit\":-9007199254740992}", "-9007199254740992",
	      REFUSED);
	limit(state, "{\"limit\":9007199254740993}", "9007199254740993",
	      REFUSED);
	limit(state, "{\"limit\":9223372036854775807}", "9223372036854775807",
	      REFUSED);
	limit(state, "{\"limit\":9007199254740992}", NULL, REFUSED);
	limit(state, "{\"limit\":1e16}", "10000000000000000", REFUSED);
	limit(state, "{\"limit\":1e300}", "1e300", REFUSED);
	limit(state, "{\"limit\":1e300}", NULL, REFUSED);
}

static void test_boolean__is_true_or_false(void **state)
{
	is(state, "{\"dry\":true}", "Mcp-Param-Dry-Run", "true", RUNS);
	is(state, "{\"dry\":false}", "Mcp-Param-Dry-Run", "false", RUNS);
	is(state, "{\"dry\":true}", "Mcp-Param-Dry-Run", "false", REFUSED);
	is(state, "{\"dry\":false}", "Mcp-Param-Dry-Run", "true", REFUSED);
	is(state, "{\"dry\":true}", "Mcp-Param-Dry-Run", "True", REFUSED);
	is(state, "{\"dry\":true}", "Mcp-Param-Dry-Run", "1", REFUSED);
	is(state, "{\"dry\":true}", "Mcp-Param-Dry-Run", "", REFUSED);
}

static void test_nested__is_read_at_its_exact_path(void **state)
{
	const char *const all[] = {"Mcp-Param-Region", "a", "Mcp-Param-Limit",
				   "5", NULL};
	const char *const other[] = {"Mcp-Param-Region", "a", "Mcp-Param-Limit",
				     "6", NULL};

	is(state, "{\"where\":{\"zone\":\"b\"}}", "Mcp-Param-Zone", "b", RUNS);
	is(state, "{\"where\":{\"zone\":\"b\"}}", "Mcp-Param-Zone", "c",
	   REFUSED);
	is(state, "{\"zone\":\"c\",\"where\":{\"zone\":\"b\"}}",
	   "Mcp-Param-Zone", "b", RUNS);
	is(state, "{\"zone\":\"c\",\"where\":{\"zone\":\"b\"}}",
	   "Mcp-Param-Zone", "c", REFUSED);
	is(state, "{\"where\":{\"where\":{\"zone\":\"b\"}}}", "Mcp-Param-Zone",
	   "b", REFUSED);
	/* Each by itself. */
	call_is(state, "mirrored", "{\"region\":\"a\",\"limit\":5}", all, RUNS);
	call_is(state, "mirrored", "{\"region\":\"a\",\"limit\":5}", other,
		REFUSED);
}

/* S5's rules hold here as well; "Value Encoding" has the examples. */
static void test_base64__is_decoded_strictly(void **state)
{
	region(state, "{\"region\":\"Hello, \xe4\xb8\x96\xe7\x95\x8c\"}",
	       "=?base64?SGVsbG8sIOS4lueVjA==?=", RUNS);
	region(state, "{\"region\":\" padded \"}",
	       "=?base64?IHBhZGRlZCA=?=", RUNS);
	region(state, "{\"region\":\"line1\\nline2\"}",
	       "=?base64?bGluZTEKbGluZTI=?=", RUNS);
	region(state, "{\"region\":\"=?base64?literal?=\"}",
	       "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", RUNS);
	region(state, "{\"region\":\"=?base64?literal?=\"}",
	       "=?base64?literal?=", REFUSED);
	/* The official suite's cases. */
	region(state, "{\"region\":\"Hello\"}", "=?base64?SGVsbG8=?=", RUNS);
	region(state, "{\"region\":\"Hello\"}", "=?base64?SGVsbG8?=", REFUSED);
	region(state, "{\"region\":\"Hello\"}",
	       "=?base64?SGVs!!!bG8=?=", REFUSED);
	region(state, "{\"region\":\"SGVsbG8=\"}", "SGVsbG8=", RUNS);
	region(state, "{\"region\":\"=?base64?SGVsbG8=\"}",
	       "=?base64?SGVsbG8=", RUNS);
	region(state, "{\"region\":\"Hello\"}", "=?BASE64?SGVsbG8=?=", REFUSED);
	region(state, "{\"region\":\"Hello\"}", "=?base64?SGVsbG9=?=", REFUSED);
	region(state, "{\"region\":\"Hello\"}",
	       "=?base64?SGVs bG8=?=", REFUSED);
	region(state, "{\"region\":\"Hello\"}",
	       "=?base64?SGVsbG8=\n?=", REFUSED);
	region(state, "{\"region\":\"a\"}", "=?base64?YQA=?=", REFUSED);
	/* Not UTF-8. */
	region(state, "{\"region\":\"\xef\xbf\xbd\"}",
	       "=?base64?/w==?=", REFUSED);
}

static void test_header__characters_that_it_may_not_have(void **state)
{
	region(state, "{\"region\":\"caf\xc3\xa9\"}", "caf\xc3\xa9", REFUSED);
	region(state, "{\"region\":\"caf\xe2\x82\xac\"}", "caf\xe2\x82\xac",
	       REFUSED);
	region(state, "{\"region\":\"a\\u0001\"}", "a\x01", REFUSED);
	region(state, "{\"region\":\"a\\u007f\"}", "a\x7f", REFUSED);
	region(state, "{\"region\":\"a\\tb\"}", "a\tb", RUNS);
}

/* Recognized ones are those of the tool that is called. */
static void test_header__of_no_parameter_is_ignored(void **state)
{
	const char *const headers[] = {"Mcp-Param-Other", "\xff", NULL};
	const char *const region_alone[] = {"Mcp-Param-Region", "x", NULL};

	call_is(state, "mirrored", "{}", headers, RUNS);
	call_is(state, "plain", "{\"region\":\"y\"}", region_alone, RUNS);
}

/*
 * A value of another type: its header says the same or it is refused, as the
 * official server has it; then the arguments are refused, in words.
 */
static void test_type__another_is_for_the_arguments_check(void **state)
{
	region(state, "{\"region\":7}", "7", TOOL_ERROR);
	region(state, "{\"region\":7}", "8", REFUSED);
	region(state, "{\"region\":7}", NULL, REFUSED);
	region(state, "{\"region\":true}", "true", TOOL_ERROR);
	limit(state, "{\"limit\":\"42\"}", "42", TOOL_ERROR);
	limit(state, "{\"limit\":42.5}", "42.5", TOOL_ERROR);
	limit(state, "{\"limit\":1e-7}", "1e-7", TOOL_ERROR);
	limit(state, "{\"limit\":42.5}", "42", REFUSED);
	limit(state, "{\"limit\":42.5}", "x", REFUSED);
	region(state, "{\"region\":[\"a\"]}", NULL, TOOL_ERROR);
	region(state, "{\"region\":{}}", NULL, TOOL_ERROR);
	region(state, "{\"region\":[\"a\"]}", "a", REFUSED);
	is(state, "{\"where\":\"b\"}", NULL, NULL, TOOL_ERROR);
	is(state, "{\"where\":\"b\"}", "Mcp-Param-Zone", "b", REFUSED);
}

static void test_refusal__says_which_header_and_where(void **state)
{
	const char *const headers[] = {"Mcp-Param-Zone", "c", NULL};
	struct fake *f = fake_call(
		*state, (struct post){.method = "tools/call",
				      .tool = "mirrored",
				      .args = "{\"where\":{\"zone\":\"b\"}}",
				      .headers = headers});

	assert_string_equal(fake_string(f, "error/message"),
			    "Header mismatch: Mcp-Param-Zone does not match: "
			    "arguments/where/zone");
	fake_free(f);
}

/* An unknown tool is an unknown tool; arguments that are none are refused as
 * such. */
static void test_other_refusals__come_as_before(void **state)
{
	struct fake *f = fake_call(*state, (struct post){.method = "tools/call",
							 .tool = "nobody",
							 .args = "{}"});

	assert_int_equal(fake_error(f), -32602);
	fake_free(f);
	f = fake_call(*state, (struct post){.method = "tools/call",
					    .tool = "mirrored",
					    .args = "[]"});
	assert_int_equal(fake_error(f), -32602);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_string__is_what_the_header_says),
		cmocka_unit_test(test_value__without_its_header_is_refused),
		cmocka_unit_test(test_value__that_is_not_there_has_no_header),
		cmocka_unit_test(test_integer__is_compared_as_a_number),
		cmocka_unit_test(test_integer__has_a_safe_range),
		cmocka_unit_test(test_boolean__is_true_or_false),
		cmocka_unit_test(test_nested__is_read_at_its_exact_path),
		cmocka_unit_test(test_base64__is_decoded_strictly),
		cmocka_unit_test(test_header__characters_that_it_may_not_have),
		cmocka_unit_test(test_header__of_no_parameter_is_ignored),
		cmocka_unit_test(test_type__another_is_for_the_arguments_check),
		cmocka_unit_test(test_refusal__says_which_header_and_where),
		cmocka_unit_test(test_other_refusals__come_as_before),
	};

	return cmocka_run_group_tests(tests, set_up, wire_tear_down);
}
