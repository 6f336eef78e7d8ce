/* SPDX-License-Identifier: MIT */
/* The example tools, as ./dev demo serves them: two instances, one database. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/e2e/lib/balancer.h"
#include "tests/e2e/lib/client.h"
#include "tests/e2e/lib/server.h"

#define FILES   3000
#define BATCH   64 /* files of one recorded step; examples/lib */
#define OUTSIDE "is not a directory under an allowed one"

static struct scratch *scratch;
static struct server *one;
static struct server *two;
static char root[300]; /* the allowed directory */
static char reads[320];
static char deployments[320];

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void in_root(const char *name, char out[400])
{
	(void)snprintf(out, 400, "%s/%s", root, name);
}

/* root/tree with a few files and a link out of it, root/many with many. */
static void make_files(void)
{
	char path[400];

	assert_int_equal(mkdir(root, 0700), 0);
	in_root("tree", path);
	assert_int_equal(mkdir(path, 0700), 0);
	in_root("many", path);
	assert_int_equal(mkdir(path, 0700), 0);
	in_root("tree/a.txt", path);
	write_file(path, "alpha\n");
	in_root("tree/b.txt", path);
	write_file(path, "beta\n");
	in_root("tree/out", path);
	assert_int_equal(symlink("/etc", path), 0);
	in_root("tree/passwd", path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	for (int i = 0; i < FILES; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "many/%04d", i);
		in_root(name, path);
		write_file(path, name);
	}
}

static int setup(void **state)
{
	(void)state;
	scratch = scratch_new();
	(void)snprintf(root, sizeof(root), "%s/root", scratch->dir);
	(void)snprintf(reads, sizeof(reads), "%s/reads", scratch->dir);
	(void)snprintf(deployments, sizeof(deployments), "%s/deployments",
		       scratch->dir);
	make_files();
	server_use("examples/demo_server");
	assert_int_equal(setenv("ALLOWED_ROOTS", root, 1), 0);
	assert_int_equal(setenv("CHECKSUM_TREE_LOG", reads, 1), 0);
	assert_int_equal(setenv("DEPLOY_LOG", deployments, 1), 0);
	one = server_start(scratch, NULL);
	two = server_start(scratch, NULL);
	balancer_behind_start(NULL, one, two);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	balancer_behind_end();
	server_free(one);
	server_free(two);
	scratch_free(scratch);
	return 0;
}

/* ---- deploy_service ---- */
static json_t *service(void)
{
	return json_pack("{s:s}", "service", "checkout-api");
}

static size_t lines_of(const char *path)
{
	struct lines l = lines_read(path);
	size_t n = l.n;

	lines_free(&l);
	return n;
}

/* The text of a deployment that is answered with @action at another instance.
 * free() it. */
static char *deploy_answered(const char *action)
{
	struct ask a = {.url = one->url};
	struct ask b = {.url = two->url};
	struct reply *r = tool(&a, "deploy_service", service());
	struct reply *s;
	char *text;

	assert_string_equal(result_type(r), "input_required");
	s = again(&b, "deploy_service", service(), state_of(r),
		  json_pack("{s:{s:s, s:{s:s}}}", "target_env", "action",
			    action, "content", "environment", "staging"));
	assert_string_equal(result_type(s), "complete");
	text = strdup(result_text(s));
	reply_free(r);
	reply_free(s);
	assert_non_null(text);
	return text;
}

static void test_deploy__accept_decline_and_cancel_are_three(void **state)
{
	size_t before = lines_of(deployments);
	char *text = deploy_answered("decline");

	(void)state;
	assert_non_null(strstr(text, "declined by the user"));
	free(text);
	text = deploy_answered("cancel");
	assert_non_null(strstr(text, "cancelled by the user"));
	free(text);
	assert_int_equal(lines_of(deployments), before);
	text = deploy_answered("accept");
	assert_non_null(strstr(text, "Deployed checkout-api to staging"));
	free(text);
	assert_int_equal(lines_of(deployments), before + 1);
}

static void test_deploy__a_repeated_round_deploys_once(void **state)
{
	struct ask a = {.url = one->url};
	struct ask b = {.url = two->url};
	struct reply *r = tool(&a, "deploy_service", service());
	size_t before = lines_of(deployments);
	char *first = NULL;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct reply *s =
			again(i == 0 ? &a : &b, "deploy_service", service(),
			      state_of(r),
			      json_pack("{s:{s:s, s:{s:s}}}", "target_env",
					"action", "accept", "content",
					"environment", "production"));

		assert_string_equal(result_type(s), "complete");
		if (first == NULL)
			first = strdup(result_text(s));
		assert_string_equal(result_text(s), first);
		reply_free(s);
	}
	assert_int_equal(lines_of(deployments), before + 1);
	free(first);
	reply_free(r);
}

static void test_deploy__goes_without_a_form(void **state)
{
	struct ask a = {.url = one->url, .can = CAN_NOTHING};
	struct reply *r = tool(&a, "deploy_service", service());

	(void)state;
	assert_string_equal(result_type(r), "complete");
	assert_non_null(strstr(result_text(r), "\"environment\" argument"));
	reply_free(r);
	r = tool(&a, "deploy_service",
		 json_pack("{s:s, s:s}", "service", "checkout-api",
			   "environment", "staging"));
	assert_non_null(strstr(result_text(r), "Deployed checkout-api"));
	reply_free(r);
}

/* ---- checksum_tree ---- */
static struct reply *checksum(const struct ask *a, const char *path,
			      const char *manifest)
{
	json_t *args = json_pack("{s:s}", "path", path);

	if (manifest != NULL)
		(void)json_object_set_new(args, "manifest",
					  json_string(manifest));
	return tool(a, "checksum_tree", args);
}

static void assert_outside(const char *path)
{
	struct ask a = {.url = one->url};
	struct reply *r = checksum(&a, path, "");

	assert_string_equal(result_type(r), "complete");
	if (strstr(result_text(r), OUTSIDE) == NULL)
		fail_msg("%s: %s", path, result_text(r));
	assert_true(json_is_true(json_object_get(result(r), "isError")));
	reply_free(r);
}

static void test_roots__no_path_leads_out(void **state)
{
	char path[400];

	(void)state;
	assert_outside("/etc");
	assert_outside("/no/such/place");
	assert_outside("..");
	assert_outside("tree/../..");
	assert_outside("tree/out");
	assert_outside("tree/out/ssl");
	assert_outside("tree/a.txt");
	in_root("../../../etc", path);
	assert_outside(path);
	(void)snprintf(path, sizeof(path), "%s-and-more", root);
	assert_outside(path);
}

static void test_checksum__links_are_left_out(void **state)
{
	struct ask a = {.url = one->url};
	struct reply *r = checksum(&a, "tree", "");
	const json_t *value = json_object_get(result(r), "structuredContent");

	(void)state;
	assert_int_equal(json_integer_value(json_object_get(value, "files")),
			 2);
	assert_int_equal(json_integer_value(json_object_get(value, "skipped")),
			 2);
	/* Of what sha256sum a.txt b.txt says. */
	assert_string_equal(
		json_string_value(json_object_get(value, "digest")),
		"sha256:"
		"f09a345a3a429844ef51e0ea80a6593548d6d7584059e6b87e992a02d9bd"
		"4706");
	reply_free(r);
}

/* Round after round under one handle, with a name for the manifest each time.
 * @ret: the last reply. */
static struct reply *name_manifest(struct reply *r, const char *key,
				   const char *name)
{
	struct ask b = {.url = two->url};
	struct reply *s;

	assert_non_null(asked(r, key));
	s = again(&b, "checksum_tree", json_pack("{s:s}", "path", "tree"),
		  state_of(r),
		  json_pack("{s:{s:s, s:{s:b, s:s}}}", key, "action", "accept",
			    "content", "write", 1, "name", name));
	reply_free(r);
	return s;
}

static const char *message_of(const struct reply *r, const char *key)
{
	const char *text = json_string_value(json_object_get(
		json_object_get(asked(r, key), "params"), "message"));

	return text != NULL ? text : "";
}

static void test_manifest__replaces_nothing_and_stays_inside(void **state)
{
	struct ask a = {.url = one->url};
	struct reply *r = checksum(&a, "tree", NULL);
	struct lines l;
	char path[400];

	(void)state;
	r = name_manifest(r, "manifest-1", "tree/a.txt");
	assert_non_null(strstr(message_of(r, "manifest-2"), "File exists"));
	r = name_manifest(r, "manifest-2", "../escaped");
	assert_non_null(strstr(message_of(r, "manifest-3"), "../escaped"));
	r = name_manifest(r, "manifest-3", "SUMS");
	assert_string_equal(result_type(r), "complete");
	in_root("SUMS", path);
	assert_string_equal(
		json_string_value(json_object_get(
			json_object_get(result(r), "structuredContent"),
			"manifest")),
		path);
	l = lines_read(path);
	assert_int_equal(l.n, 2);
	assert_non_null(strstr(l.line[0], "  a.txt"));
	lines_free(&l);
	in_root("../escaped", path);
	assert_int_equal(access(path, F_OK), -1);
	in_root("tree/a.txt", path);
	l = lines_read(path);
	assert_int_equal(l.n, 1);
	lines_free(&l);
	reply_free(r);
}

/* ---- killed in the middle ---- */
static size_t await_reads(size_t least)
{
	const struct timespec nap = {.tv_nsec = 500000};
	size_t n = 0;

	for (int i = 0; i < 120000 && n < least; i++) {
		(void)nanosleep(&nap, NULL);
		n = lines_of(reads);
	}
	assert_true(n >= least);
	return n;
}

static const char *path_of(const char *line)
{
	return strrchr(line, ' ');
}

static int by_path(const void *a, const void *b)
{
	return strcmp(path_of(*(char *const *)a), path_of(*(char *const *)b));
}

/* What was read twice: those of the batch that was not recorded, no more. */
static void check_reads(size_t from)
{
	struct lines l = lines_read(reads);
	size_t n = l.n - from;
	size_t twice = 0;

	qsort(l.line + from, n, sizeof(*l.line), by_path);
	for (size_t i = from + 1; i < l.n; i++)
		twice += by_path(&l.line[i - 1], &l.line[i]) == 0;
	assert_int_equal(n - twice, FILES);
	assert_true(twice <= BATCH);
	lines_free(&l);
}

/* False: it was done before it was killed. */
static bool killed_in_the_middle(void)
{
	struct server *doomed = server_start(scratch, NULL);
	struct ask a = {.url = doomed->url, .can = CAN_TASKS};
	struct ask b = {.url = two->url, .can = CAN_TASKS};
	size_t before = lines_of(reads);
	struct reply *r = checksum(&a, "many", "");
	struct reply *s;
	bool middle;

	assert_string_equal(result_type(r), "task");
	(void)await_reads(before + FILES / 4);
	server_kill(doomed, SIGKILL);
	middle = lines_of(reads) < before + FILES;
	s = task_await(&b, task_id(r), "completed");
	assert_non_null(s);
	assert_int_equal(
		json_integer_value(json_object_get(
			json_object_get(json_object_get(result(s), "result"),
					"structuredContent"),
			"files")),
		FILES);
	check_reads(before);
	reply_free(r);
	reply_free(s);
	server_free(doomed);
	return middle;
}

static void test_checksum__goes_on_where_a_killed_instance_was(void **state)
{
	bool middle = false;

	(void)state;
	for (int i = 0; i < 10 && !middle; i++)
		middle = killed_in_the_middle();
	assert_true(middle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_deploy__accept_decline_and_cancel_are_three),
		cmocka_unit_test(test_deploy__a_repeated_round_deploys_once),
		cmocka_unit_test(test_deploy__goes_without_a_form),
		cmocka_unit_test(test_roots__no_path_leads_out),
		cmocka_unit_test(test_checksum__links_are_left_out),
		cmocka_unit_test(
			test_manifest__replaces_nothing_and_stays_inside),
		cmocka_unit_test(
			test_checksum__goes_on_where_a_killed_instance_was),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
