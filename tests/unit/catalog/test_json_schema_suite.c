/* SPDX-License-Identifier: MIT */
/*
 * The official JSON Schema test suite for 2020-12, read as data from
 * $BIDE_SHARED/json-schema-test-suite (default ../shared); skipped, saying so,
 * where it is absent. What fails is listed below with the reason: any other
 * failure, and any pass that the list does not expect, fails the test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "server/catalog/json_schema.h"

#define MAX_DOCS   256
#define REMOTE_URI "http://localhost:1234"

#define ASSERTS   "bide asserts this format (client/elicitation)"
#define NO_CUSTOM "meta-schemas other than the two dialects' are refused"
#define NO_OTHER  "drafts other than 2020-12 and draft-07 are refused"

static const struct known {
	const char *file, *group, *test; /* test NULL: the whole group */
	const char *why;
} known_failures[] = {
	{"format.json", "email format",
	 "invalid email string is only an annotation by default", ASSERTS},
	{"format.json", "date format",
	 "invalid date string is only an annotation by default", ASSERTS},
	{"format.json", "date-time format",
	 "invalid date-time string is only an annotation by default", ASSERTS},
	{"format.json", "uri format",
	 "invalid uri string is only an annotation by default", ASSERTS},
	{"vocabulary.json",
	 "schema that uses custom metaschema with with no validation "
	 "vocabulary",
	 NULL, NO_CUSTOM},
	{"vocabulary.json", "ignore unrecognized optional vocabulary", NULL,
	 NO_CUSTOM},
	{"optional/format-assertion.json",
	 "schema that uses custom metaschema with format-assertion: false",
	 NULL, NO_CUSTOM},
	{"optional/format-assertion.json",
	 "schema that uses custom metaschema with format-assertion: true", NULL,
	 NO_CUSTOM},
	{"optional/cross-draft.json",
	 "refs to historic drafts are processed as historic drafts", NULL,
	 NO_OTHER},
	{NULL, NULL, NULL, NULL},
};

/* Optional files whose demands bide does not make its own. */
static const struct {
	const char *file, *why;
} not_ours[] = {
	{"optional/bignum.json",
	 "integers beyond 64 bits are refused by the JSON reader"},
	{NULL, NULL},
};

/* The formats that assert; of the others only the form could be checked. */
static const char *const asserted[] = {
	"optional/format/date-time.json", "optional/format/date.json",
	"optional/format/email.json",     "optional/format/uri.json",
	"optional/format/unknown.json",   NULL,
};

static struct {
	char root[1024];
	struct json_schema_document docs[MAX_DOCS];
	size_t n_docs;
	unsigned passed, failed, expected;
	bool seen[sizeof(known_failures) / sizeof(*known_failures)];
} suite;

static int add_remote(const char *path, const struct stat *st, int kind,
		      struct FTW *where)
{
	const char *below = strstr(path, "/remotes/") + strlen("/remotes");
	char *uri = NULL;
	json_t *json;

	(void)st;
	(void)where;
	if (kind != FTW_F || !strstr(path, ".json"))
		return 0;
	if (strncmp(below, "/draft2020-12/", 14) != 0)
		return 0;
	json = json_load_file(path, JSON_DECODE_ANY, NULL);
	if (!json)
		return 0;
	assert_true(suite.n_docs < MAX_DOCS);
	assert_true(asprintf(&uri, REMOTE_URI "%s", below) > 0);
	suite.docs[suite.n_docs++] = (struct json_schema_document){uri, json};
	return 0;
}

static int find_suite(void **state)
{
	const char *shared = getenv("BIDE_SHARED");
	char path[1100];

	(void)state;
	snprintf(suite.root, sizeof(suite.root), "%s/json-schema-test-suite",
		 shared && *shared ? shared : "../shared");
	snprintf(path, sizeof(path), "%s/remotes", suite.root);
	if (nftw(path, add_remote, 8, FTW_PHYS) != 0)
		suite.root[0] = '\0';
	return 0;
}

static int drop_suite(void **state)
{
	(void)state;
	for (size_t i = 0; i < suite.n_docs; i++) {
		free((char *)suite.docs[i].uri);
		json_decref((json_t *)suite.docs[i].schema);
	}
	return 0;
}

static const struct known *is_known(const char *file, const char *group,
				    const char *test)
{
	for (const struct known *k = known_failures; k->file; k++) {
		if (strcmp(k->file, file) == 0 &&
		    strcmp(k->group, group) == 0 &&
		    (!k->test || strcmp(k->test, test) == 0))
			return k;
	}
	return NULL;
}

static void note(bool passed, const char *file, const char *group,
		 const char *test, const char *detail)
{
	const struct known *k = is_known(file, group, test);

	if (k)
		suite.seen[k - known_failures] = true;
	if (passed && !k) {
		suite.passed++;
	} else if (!passed && k) {
		suite.expected++;
	} else {
		suite.failed++;
		printf("  %s: %s | %s | %s: %s\n",
		       passed ? "PASSES, THOUGH LISTED" : "FAILS", file, group,
		       test, detail);
	}
}

static void judge(const struct json_schema *s, const char *refusal,
		  const char *file, const char *group, const json_t *test)
{
	struct json_schema_problem p[3];
	const char *name =
		json_string_value(json_object_get(test, "description"));
	bool valid = json_is_true(json_object_get(test, "valid"));
	enum bide_rc rc;
	size_t n = 0;

	if (!s) {
		note(false, file, group, name, refusal);
		return;
	}
	memset(p, 0, sizeof(p));
	rc = json_schema_validate(s, json_object_get(test, "data"), p, 3, &n);
	if (rc != BIDE_OK) {
		/* Whatever is refused is refused in words. */
		assert_true(n > 0);
		assert_true(p[0].expected[0] != '\0');
	}
	note(rc == (valid ? BIDE_OK : BIDE_INVALID), file, group, name,
	     rc == BIDE_OK ? "taken for valid" : p[0].expected);
}

static void judge_group(const char *file, const json_t *group)
{
	const char *name =
		json_string_value(json_object_get(group, "description"));
	const json_t *tests = json_object_get(group, "tests");
	struct json_schema *s = NULL;
	struct bide_error e = {0};
	enum bide_rc rc;

	rc = json_schema_compile_with(json_object_get(group, "schema"),
				      suite.docs, suite.n_docs, &s, &e);
	assert_true((rc == BIDE_OK) == (s != NULL));
	assert_true(rc == BIDE_OK || e.text[0] != '\0');
	for (size_t i = 0; i < json_array_size(tests); i++)
		judge(s, e.text, file, name, json_array_get(tests, i));
	json_schema_free(s);
}

static void run_file(const char *file)
{
	char path[1400];
	json_error_t error;
	unsigned before = suite.passed;
	unsigned failed = suite.failed;
	unsigned expected = suite.expected;
	json_t *groups;

	snprintf(path, sizeof(path), "%s/tests/draft2020-12/%s", suite.root,
		 file);
	groups = json_load_file(path, JSON_ALLOW_NUL, &error);
	if (!groups)
		fail_msg("%s: %s", path, error.text);
	for (size_t i = 0; i < json_array_size(groups); i++)
		judge_group(file, json_array_get(groups, i));
	json_decref(groups);
	printf("%-45s %4u passed %3u failed %3u known\n", file,
	       suite.passed - before, suite.failed - failed,
	       suite.expected - expected);
}

static int is_json(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > 5 && strcmp(d->d_name + n - 5, ".json") == 0;
}

static bool is_ours(const char *file)
{
	for (size_t i = 0; not_ours[i].file; i++) {
		if (strcmp(not_ours[i].file, file) == 0) {
			printf("%-45s not run: %s\n", file, not_ours[i].why);
			return false;
		}
	}
	if (strncmp(file, "optional/format/", 16) != 0)
		return true;
	for (size_t i = 0; asserted[i]; i++) {
		if (strcmp(asserted[i], file) == 0)
			return true;
	}
	printf("%-45s not run: an annotation\n", file);
	return false;
}

static unsigned run_directory(const char *below)
{
	char path[1300];
	char file[300];
	struct dirent **names = NULL;
	unsigned ran = 0;
	int n;

	snprintf(path, sizeof(path), "%s/tests/draft2020-12/%s", suite.root,
		 below);
	n = scandir(path, &names, is_json, alphasort);
	for (int i = 0; i < n; i++) {
		snprintf(file, sizeof(file), "%s%s", below, names[i]->d_name);
		if (is_ours(file)) {
			run_file(file);
			ran++;
		}
		free(names[i]);
	}
	free(names);
	return ran;
}

/* The listed failures of the files under @below all came up. */
static void check(const char *below, unsigned floor)
{
	for (size_t i = 0; known_failures[i].file; i++) {
		const char *slash = strrchr(known_failures[i].file, '/');
		size_t n = slash ? (size_t)(slash + 1 - known_failures[i].file)
				 : 0;

		if (strlen(below) != n ||
		    strncmp(known_failures[i].file, below, n) != 0)
			continue;
		if (!suite.seen[i])
			fail_msg("listed, but not in the suite: %s | %s",
				 known_failures[i].file,
				 known_failures[i].group);
		printf("known: %s | %s: %s\n", known_failures[i].file,
		       known_failures[i].group, known_failures[i].why);
	}
	printf("%u passed, %u failed, %u known failures\n", suite.passed,
	       suite.failed, suite.expected);
	assert_int_equal(suite.failed, 0);
	assert_true(suite.passed >= floor);
}

static void run_part(const char *below, unsigned floor)
{
	suite.passed = suite.failed = suite.expected = 0;
	if (!suite.root[0] || run_directory(below) == 0) {
		print_message("no json-schema-test-suite under $BIDE_SHARED "
			      "(default ../shared): skipped\n");
		skip();
	}
	check(below, floor);
}

static void test_suite__required_files_pass(void **state)
{
	(void)state;
	run_part("", 1290);
}

static void test_suite__optional_files_pass(void **state)
{
	(void)state;
	run_part("optional/", 148);
}

static void test_suite__asserted_formats_pass(void **state)
{
	(void)state;
	run_part("optional/format/", 194);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_suite__required_files_pass),
		cmocka_unit_test(test_suite__optional_files_pass),
		cmocka_unit_test(test_suite__asserted_formats_pass),
	};

	setvbuf(stdout, NULL, _IOLBF, 0);
	return cmocka_run_group_tests(tests, find_suite, drop_suite);
}
