/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/base/scratch.h"

#include <stdbool.h>

#include "server/base/config.h"

static struct scratch dir;
static char path[300];

static int make_dir(void **state)
{
	(void)state;
	scratch_make(&dir);
	scratch_path(&dir, "bide.conf", path);
	return 0;
}

static int remove_dir(void **state)
{
	static const char *const names[] = {"bide.conf"};

	(void)state;
	scratch_remove(&dir, names, 1);
	return 0;
}

static struct config *fresh(void)
{
	struct config *c = config_new();

	assert_non_null(c);
	return c;
}

static void set(struct config *c, const char *name, const char *value)
{
	struct bide_error e = {0};

	if (config_set(c, name, value, CONFIG_FROM_ARGS, &e) != BIDE_OK)
		fail_msg("%s", e.text);
}

static void refused(const char *name, const char *value, const char *text)
{
	struct config *c = fresh();
	struct bide_error e = {0};

	assert_int_equal(config_set(c, name, value, CONFIG_FROM_ARGS, &e),
			 BIDE_INVALID);
	assert_string_equal(e.text, text);
	config_free(c);
}

static void test_config__every_default_is_within_its_range(void **state)
{
	struct config *c = fresh();

	(void)state;
	assert_string_equal(config_string(c, CONFIG_LISTEN), "127.0.0.1:8585");
	assert_string_equal(config_string(c, CONFIG_AUDIENCE), "");
	assert_true(config_int(c, CONFIG_WAIT_BUDGET) == 45000);
	assert_true(config_bool(c, CONFIG_WAIT_FOR_TASK));
	assert_false(config_bool(c, CONFIG_ALLOW_ANONYMOUS));
	config_free(c);
	config_free(NULL);
}

static void test_config_set__times_and_sizes_take_suffixes(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
	} times[] = {{"1500", 1500}, {"1500ms", 1500}, {"15s", 15000},
		     {"2m", 120000}, {"1 h", 3600000}, {"1d", 86400000},
		     {"0500", 500},  {"3S", 3000}};
	struct config *c = fresh();

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		set(c, "input-deadline", times[i].text);
		assert_true(config_int(c, CONFIG_INPUT_DEADLINE) ==
			    times[i].ms);
	}
	set(c, "max-body", "2048");
	assert_true(config_int(c, CONFIG_MAX_BODY) == 2048);
	set(c, "max-body", "64K");
	assert_true(config_int(c, CONFIG_MAX_BODY) == 65536);
	set(c, "max-body", "2m");
	assert_true(config_int(c, CONFIG_MAX_BODY) == 2097152);
	set(c, "max-body", "1G");
	assert_true(config_int(c, CONFIG_MAX_BODY) == 1073741824);
	assert_string_equal(config_string(c, CONFIG_MAX_BODY), "1G");
	config_free(c);
}

static void test_config_set__booleans_take_eight_words(void **state)
{
	static const char *const words[] = {"false", "true", "no", "yes",
					    "off",   "on",   "0",  "1",
					    "FALSE", "True"};
	struct config *c = fresh();

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		set(c, "debug-reenter", words[i]);
		assert_int_equal(config_bool(c, CONFIG_DEBUG_REENTER), i % 2);
	}
	config_free(c);
}

static void test_config_set__errors_name_option_value_and_range(void **state)
{
	(void)state;
	refused("lease", "3",
		"option lease: value \"3\" is not a number from 500 to 600000 "
		"(ms; or with s, m, h or d)");
	refused("lease", "5x",
		"option lease: value \"5x\" is not a number from 500 to 600000 "
		"(ms; or with s, m, h or d)");
	refused("call-workers", "8s",
		"option call-workers: value \"8s\" is not a number from 1 to "
		"1024");
	refused("call-workers", "",
		"option call-workers: value \"\" is not a number from 1 to "
		"1024");
	refused("call-workers", "99999999999999999999",
		"option call-workers: value \"99999999999999999999\" is not a "
		"number from 1 to 1024");
	refused("max-body", "9000000000000000G",
		"option max-body: value \"9000000000000000G\" is not a number "
		"from 1024 to 1073741824 (bytes; or with K, M or G)");
	refused("debug-reenter", "maybe",
		"option debug-reenter: value \"maybe\" is neither true nor "
		"false");
	refused("db", "a\nb",
		"option db: value \"a?b\" holds a control character or is not "
		"UTF-8");
}

static void test_config_set__an_unknown_option_gets_the_nearest(void **state)
{
	(void)state;
	refused("lese", "3",
		"unknown option \"lese\"; the nearest is \"lease\"");
	refused("wait-budgets", "3",
		"unknown option \"wait-budgets\"; the nearest is "
		"\"wait-budget\"");
	refused("max_body", "3",
		"unknown option \"max_body\"; the nearest is \"max-body\"");
	refused("confg", "3",
		"unknown option \"confg\"; the nearest is \"config\"");
	refused("entirely-different", "3",
		"unknown option \"entirely-different\"");
}

static void test_config_set__a_refused_value_changes_nothing(void **state)
{
	struct config *c = fresh();

	(void)state;
	set(c, "lease", "2s");
	assert_int_equal(config_set(c, "lease", "1", CONFIG_FROM_ARGS, NULL),
			 BIDE_INVALID);
	assert_true(config_int(c, CONFIG_LEASE) == 2000);
	config_free(c);
}

static void test_config_set__the_stronger_source_wins_in_any_order(void **state)
{
	static const enum config_source order[] = {
		CONFIG_FROM_DEFAULT, CONFIG_FROM_PROGRAM, CONFIG_FROM_FILE,
		CONFIG_FROM_ENV, CONFIG_FROM_ARGS};
	static const char *const value[] = {"1", "2", "3", "4", "5"};
	struct config *c = NULL;

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		for (size_t j = 0; j < 5; j++) {
			c = fresh();
			assert_int_equal(config_set(c, "state-rounds", value[i],
						    order[i], NULL),
					 BIDE_OK);
			assert_int_equal(config_set(c, "state-rounds", value[j],
						    order[j], NULL),
					 BIDE_OK);
			assert_true(config_int(c, CONFIG_STATE_ROUNDS) ==
				    (int64_t)(i > j ? i : j) + 1);
			config_free(c);
		}
	}
}

static void test_config_load_file__names_values_comments_quotes(void **state)
{
	struct config *c = fresh();
	struct bide_error e = {0};

	(void)state;
	scratch_write(path, "# a comment\n"
			    "\n"
			    "  lease=2s\n"
			    "listen = 0.0.0.0:80   # another\n"
			    "audience = \" a # b \"  # \"quoted\"\n"
			    "db = a#b.db\r\n"
			    "allow-host =\n"
			    "task-workers = 0");
	if (config_load_file(c, path, &e) != BIDE_OK)
		fail_msg("%s", e.text);
	assert_true(config_int(c, CONFIG_LEASE) == 2000);
	assert_string_equal(config_string(c, CONFIG_LISTEN), "0.0.0.0:80");
	assert_string_equal(config_string(c, CONFIG_AUDIENCE), " a # b ");
	assert_string_equal(config_string(c, CONFIG_DB), "a#b.db");
	assert_string_equal(config_string(c, CONFIG_ALLOW_HOST), "");
	assert_true(config_int(c, CONFIG_TASK_WORKERS) == 0);
	config_free(c);
}

static void wrong_file(const char *text, int line, const char *what)
{
	struct config *c = fresh();
	struct bide_error e = {0};
	char want[600];

	scratch_write(path, text);
	snprintf(want, sizeof(want), "%s:%d: %s", path, line, what);
	assert_int_equal(config_load_file(c, path, &e), BIDE_INVALID);
	assert_string_equal(e.text, want);
	config_free(c);
}

static void test_config_load_file__errors_name_file_and_line(void **state)
{
	struct config *c = fresh();
	struct bide_error e = {0};

	(void)state;
	wrong_file("lease = 2s\n\nlese = 1\n", 3,
		   "unknown option \"lese\"; the nearest is \"lease\"");
	wrong_file("lease 2s\n", 1, "expected name = value");
	wrong_file("db = \"x\n", 1, "option db: a quote is not closed");
	wrong_file("db = \"x\" y\n", 1, "option db: a quote is not closed");
	wrong_file("lease = 1\n", 1,
		   "option lease: value \"1\" is not a number from 500 to "
		   "600000 (ms; or with s, m, h or d)");
	unlink(path);
	assert_int_equal(config_load_file(c, path, &e), BIDE_IO);
	assert_non_null(strstr(e.text, "No such file"));
	assert_int_equal(config_load_file(c, dir.dir, &e), BIDE_IO);
	config_free(c);
}

static void test_config_load_env__names_in_capitals(void **state)
{
	struct config *c = fresh();
	struct bide_error e = {0};

	(void)state;
	setenv("BIDE_MAX_BODY", "64K", 1);
	setenv("BIDE_DB", "", 1);
	assert_int_equal(config_load_env(c, &e), BIDE_OK);
	assert_true(config_int(c, CONFIG_MAX_BODY) == 65536);
	assert_string_equal(config_string(c, CONFIG_DB), "bide.db");
	setenv("BIDE_MAX_BODY", "x", 1);
	assert_int_equal(config_load_env(c, &e), BIDE_INVALID);
	assert_non_null(strstr(e.text, "max-body"));
	unsetenv("BIDE_MAX_BODY");
	unsetenv("BIDE_DB");
	config_free(c);
}

static void test_config_load_env__names_a_file_unless_the_line_did(void **state)
{
	struct config *c = fresh();

	(void)state;
	scratch_write(path, "lease = 2s\n");
	setenv("BIDE_CONFIG", path, 1);
	assert_int_equal(config_load_env(c, NULL), BIDE_OK);
	assert_true(config_int(c, CONFIG_LEASE) == 2000);
	config_free(c);
	c = fresh();
	assert_int_equal(config_load_file(c, "/dev/null", NULL), BIDE_OK);
	assert_int_equal(config_load_env(c, NULL), BIDE_OK);
	assert_true(config_int(c, CONFIG_LEASE) == 15000);
	unsetenv("BIDE_CONFIG");
	config_free(c);
}

/* @line: words with one space between; @rest: what should be left. */
static enum bide_rc args(struct config *c, const char *line, const char *rest,
			 struct bide_error *e)
{
	char copy[512];
	char left[512] = "";
	char *argv[32] = {0};
	char *save = NULL;
	int argc = 0;
	enum bide_rc rc;

	snprintf(copy, sizeof(copy), "bide %s", line);
	for (char *s = strtok_r(copy, " ", &save); s;
	     s = strtok_r(NULL, " ", &save))
		argv[argc++] = s;
	rc = config_load_args(c, &argc, argv, e);
	if (rc != BIDE_OK)
		return rc;
	assert_null(argv[argc]);
	assert_string_equal(argv[0], "bide");
	for (int i = 1; i < argc; i++) {
		strcat(left, i > 1 ? " " : "");
		strcat(left, argv[i]);
	}
	assert_string_equal(left, rest);
	return rc;
}

static void test_config_load_args__takes_options_and_leaves_words(void **state)
{
	struct config *c = fresh();

	(void)state;
	assert_int_equal(args(c,
			      "tasks --db x.db show --lease=2s 1 - "
			      "--debug-reenter 1 --no-wait-for-task "
			      "--allow-anonymous yes last -- --lease -x",
			      "tasks show 1 - 1 last --lease -x", NULL),
			 BIDE_OK);
	assert_string_equal(config_string(c, CONFIG_DB), "x.db");
	assert_true(config_int(c, CONFIG_LEASE) == 2000);
	assert_true(config_bool(c, CONFIG_DEBUG_REENTER));
	assert_false(config_bool(c, CONFIG_WAIT_FOR_TASK));
	assert_true(config_bool(c, CONFIG_ALLOW_ANONYMOUS));
	config_free(c);
}

static void test_config_load_args__a_value_may_look_like_an_option(void **state)
{
	struct config *c = fresh();

	(void)state;
	assert_int_equal(args(c, "--db --x --audience=a=b --path=", "", NULL),
			 BIDE_OK);
	assert_string_equal(config_string(c, CONFIG_DB), "--x");
	assert_string_equal(config_string(c, CONFIG_AUDIENCE), "a=b");
	assert_string_equal(config_string(c, CONFIG_PATH), "");
	config_free(c);
}

static void wrong_args(const char *line, const char *text)
{
	struct config *c = fresh();
	struct bide_error e = {0};

	assert_int_equal(args(c, line, "", &e), BIDE_INVALID);
	assert_string_equal(e.text, text);
	config_free(c);
}

static void test_config_load_args__errors(void **state)
{
	(void)state;
	wrong_args("--lese 3",
		   "unknown option \"lese\"; the nearest is \"lease\"");
	wrong_args("-x", "unknown option \"-x\"");
	wrong_args("--db", "option db needs a value");
	wrong_args("--config", "option config needs a value");
	wrong_args("--no-lease", "unknown option \"no-lease\"");
	wrong_args("--debug-reenter=maybe",
		   "option debug-reenter: value \"maybe\" is neither true nor "
		   "false");
	wrong_args("--no-debug-reenter=1",
		   "unknown option \"no-debug-reenter\"; the nearest is "
		   "\"debug-reenter\"");
}

static void
test_config_load_args__the_file_is_weaker_wherever_it_stands(void **state)
{
	struct config *c = fresh();
	char line[400];

	(void)state;
	scratch_write(path, "lease = 2s\nstate-rounds = 7\n");
	snprintf(line, sizeof(line), "serve --lease 3s --config %s", path);
	assert_int_equal(args(c, line, "serve", NULL), BIDE_OK);
	assert_true(config_int(c, CONFIG_LEASE) == 3000);
	assert_true(config_int(c, CONFIG_STATE_ROUNDS) == 7);
	config_free(c);
}

static void test_config_load_args__an_empty_argv_is_no_error(void **state)
{
	struct config *c = fresh();
	char *none[] = {NULL};
	int argc = 0;

	(void)state;
	assert_int_equal(config_load_args(c, &argc, none, NULL), BIDE_OK);
	assert_int_equal(config_load_args(c, &argc, NULL, NULL), BIDE_OK);
	assert_int_equal(argc, 0);
	config_free(c);
}

static char *printed(const struct config *c)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	config_print(c, f);
	fclose(f);
	return text;
}

static void test_config_print__says_where_each_value_is_from(void **state)
{
	struct config *c = fresh();
	char want[400];
	char *text = NULL;

	(void)state;
	scratch_write(path, "\nstate-rounds = 7\n");
	config_load_file(c, path, NULL);
	setenv("BIDE_MAX_BODY", "64K", 1);
	config_load_env(c, NULL);
	unsetenv("BIDE_MAX_BODY");
	config_set(c, "audience", "me", CONFIG_FROM_PROGRAM, NULL);
	set(c, "lease", "2s");
	set(c, "db", "postgresql://bob:geheim@db/x?y=a@b");
	text = printed(c);
	snprintf(want, sizeof(want), "\nstate-rounds = 7  # file %s:2\n", path);
	assert_non_null(strstr(text, want));
	assert_non_null(strstr(
		text, "\nmax-body = 64K  # environment BIDE_MAX_BODY\n"));
	assert_non_null(strstr(text, "\naudience = me  # program\n"));
	assert_non_null(strstr(text, "\nlease = 2s  # command line\n"));
	assert_non_null(strstr(text, "\npath = /mcp  # default\n"));
	assert_non_null(
		strstr(text, "\ndb = postgresql://bob:***@db/x?y=a@b  #"));
	assert_null(strstr(text, "geheim"));
	free(text);
	config_free(c);
}

static void test_config_print__can_be_loaded_again(void **state)
{
	struct config *a = fresh();
	struct config *b = fresh();
	struct bide_error e = {0};
	char *text = NULL;

	(void)state;
	set(a, "audience", " a # b ");
	set(a, "max-body", "64K");
	set(a, "wait-for-task", "no");
	text = printed(a);
	scratch_write(path, text);
	if (config_load_file(b, path, &e) != BIDE_OK)
		fail_msg("%s", e.text);
	for (int k = 0; k < CONFIG_COUNT; k++)
		assert_string_equal(config_string(a, (enum config_key)k),
				    config_string(b, (enum config_key)k));
	free(text);
	config_free(a);
	config_free(b);
}

static void test_config_help__names_every_option(void **state)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	config_help(f);
	fclose(f);
#define OPT(id, name, kind, def, min, max, value, help)                        \
	assert_non_null(strstr(text, "  --" name));                            \
	assert_non_null(strstr(text, help));
#include "server/base/config.def"
#undef OPT
	assert_non_null(strstr(text, "--wait-budget TIME\n"));
	assert_non_null(strstr(text, "--listen ADDR:PORT\n"));
	assert_non_null(strstr(text, "--task-workers N\n"));
	assert_non_null(strstr(text, "--debug-reenter\n"));
	assert_non_null(strstr(text, "(45s)\n"));
	free(text);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_config__every_default_is_within_its_range),
		TEST(test_config_set__times_and_sizes_take_suffixes),
		TEST(test_config_set__booleans_take_eight_words),
		TEST(test_config_set__errors_name_option_value_and_range),
		TEST(test_config_set__an_unknown_option_gets_the_nearest),
		TEST(test_config_set__a_refused_value_changes_nothing),
		TEST(test_config_set__the_stronger_source_wins_in_any_order),
		TEST(test_config_load_file__names_values_comments_quotes),
		TEST(test_config_load_file__errors_name_file_and_line),
		TEST(test_config_load_env__names_in_capitals),
		TEST(test_config_load_env__names_a_file_unless_the_line_did),
		TEST(test_config_load_args__takes_options_and_leaves_words),
		TEST(test_config_load_args__a_value_may_look_like_an_option),
		TEST(test_config_load_args__errors),
		TEST(test_config_load_args__the_file_is_weaker_wherever_it_stands),
		TEST(test_config_load_args__an_empty_argv_is_no_error),
		TEST(test_config_print__says_where_each_value_is_from),
		TEST(test_config_print__can_be_loaded_again),
		TEST(test_config_help__names_every_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
