/* SPDX-License-Identifier: MIT */
/* The command line of a real program: its words and exit codes, where options
 * come from and that they arrive, the pages beside the endpoint, its end. */
#include <ctype.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include <curl/curl.h>
#include <cmocka.h>

#include "tests/e2e/lib/client.h"
#include "tests/e2e/lib/server.h"

#define OPTIONS_MAX 60
#define ENDED(code) ((code) << 8) /* a wait status */

/* ---- words and exit codes ---- */
static void exits(int code, const char *const *args, const char *says)
{
	char *out = NULL;
	int got = run_fixture(args, &out);

	if (got != code)
		fail_msg("%s %s: exit code %d", args[0],
			 args[1] != NULL ? args[1] : "", got);
	if (says != NULL && strstr(out, says) == NULL)
		fail_msg("%s does not say \"%s\": %s", args[0], says, out);
	free(out);
}
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_words__have_their_exit_codes(void **unused)
{
	struct scratch *s = scratch_new();

	(void)unused;
	exits(0, WORDS("version"), "bide-fixture 1.0.0 (bide ");
	exits(0, WORDS("help"), "--wait-budget");
	exits(0, WORDS("serve", "--help"), "--print-config");
	exits(0, WORDS("tasks", "--help"), "bide-fixture tasks retry ID\n");
	exits(0, WORDS("signal", "resource", "--help"),
	      "usage: bide-fixture signal resource URI\n");
	exits(0, WORDS("help", "backup"), "usage: bide-fixture backup FILE\n");
	exits(0, WORDS("migrate", "--db", s->db), "is 2 now");
	exits(0, WORDS("migrate", "--db", s->db), "nothing to do");
	exits(0, WORDS("doctor", "--db", s->db), "All is well.");
	exits(0, WORDS("tasks", "list", "--db", s->db), "No task is pending.");
	exits(0, WORDS("signal", "tools", "--db", s->db),
	      "tools: announced (no instance is running)\n");
	exits(0, WORDS("signal", "resource", "a:b", "--json", "--db", s->db),
	      "\"uri\":\"a:b\"");
	/* it was understood, and failed */
	exits(1, WORDS("tasks", "show", "nothing", "--db", s->db), NULL);
	exits(1, WORDS("tasks", "list", "--db", s->effects), NULL);
	exits(1, WORDS("doctor", "--db", s->effects), "BAD");
	exits(1, WORDS("signal", "tools", "--db", s->effects), NULL);
	exits(1, WORDS("serve", "--db", s->db, "--state-keys", s->effects),
	      NULL);
	exits(1, WORDS("serve", "--db", s->db, "--listen", "192.0.2.1:1"),
	      NULL);
	exits(1, WORDS("serve", "--db", s->dir, "--listen", "127.0.0.1:0"),
	      NULL);
	/* it was not understood */
	exits(2, WORDS("serves"), NULL);
	exits(2, WORDS("serve", "more"), NULL);
	exits(2, WORDS("tasks"), NULL);
	exits(2, WORDS("tasks", "lists", "--db", s->db), NULL);
	exits(2, WORDS("signal", "--db", s->db), NULL);
	exits(2, WORDS("signal", "resource", "b", "--db", s->db), NULL);
	exits(2, WORDS("serve", "--nothing"), NULL);
	exits(2, WORDS("serve", "--lease", "soon"), NULL);
	exits(2, WORDS("serve", "--log-level", "loud"), NULL);
	exits(2, WORDS("serve", "--config"), NULL);
	scratch_free(s);
}

/* ---- where options come from ---- */
struct options {
	char name[OPTIONS_MAX][64];
	char value[OPTIONS_MAX][128];
	char from[OPTIONS_MAX][320];
	size_t n;
};

/* "name = value  # source", as --print-config writes it. */
static struct options *printed(const char *const *args)
{
	struct options *o = calloc(1, sizeof(*o));
	char *out = NULL;
	char *save = NULL;

	assert_non_null(o);
	assert_int_equal(run_fixture(args, &out), 0);
	for (char *l = strtok_r(out, "\n", &save); l != NULL;
	     l = strtok_r(NULL, "\n", &save)) {
		char *eq = strstr(l, " = ");
		char *from = strstr(l, "  # ");

		assert_true(eq != NULL && from != NULL && o->n < OPTIONS_MAX);
		*eq = '\0';
		*from = '\0';
		(void)snprintf(o->name[o->n], 64, "%s", l);
		(void)snprintf(o->value[o->n], 128, "%s", eq + 3);
		(void)snprintf(o->from[o->n++], 320, "%s", from + 4);
	}
	free(out);
	return o;
}

/* All of @o stand in force with the values they had, from @from. */
static void all_from(const struct options *o, const char *const *args,
		     const char *from)
{
	struct options *got = printed(args);

	assert_int_equal(got->n, o->n);
	for (size_t i = 0; i < o->n; i++) {
		if (strncmp(got->from[i], from, strlen(from)) != 0)
			fail_msg("%s is from %s", got->name[i], got->from[i]);
		assert_string_equal(got->value[i], o->value[i]);
	}
	free(got);
}

static void variable(const char *name, char out[80])
{
	size_t n = (size_t)snprintf(out, 80, "BIDE_%s", name);

	for (size_t i = 0; i < n; i++)
		out[i] = out[i] == '-' ? '_' : (char)toupper(out[i]);
}

/* Every option is a variable, a key of the file and a word of the line. */
static void test_options__come_from_three_places(void **unused)
{
	struct scratch *s = scratch_new();
	struct options *o = printed(WORDS("--print-config"));
	const char *line[OPTIONS_MAX + 2];
	char words[OPTIONS_MAX][200];
	char path[320];
	char env[80];
	FILE *f;
	size_t i;

	(void)unused;
	assert_true(o->n > 30);
	(void)snprintf(path, sizeof(path), "%s/conf", s->dir);
	f = fopen(path, "we");
	assert_non_null(f);
	for (i = 0; i < o->n; i++) {
		assert_string_equal(o->from[i], "default");
		/* An empty one says nothing. */
		if (strcmp(o->value[i], "\"\"") == 0)
			(void)snprintf(o->value[i], 128, "x");
		(void)fprintf(f, "%s = %s\n", o->name[i], o->value[i]);
		(void)snprintf(words[i], sizeof(words[i]), "--%s=%s",
			       o->name[i], o->value[i]);
		line[i] = words[i];
	}
	line[o->n] = "--print-config";
	line[o->n + 1] = NULL;
	assert_int_equal(fclose(f), 0);
	all_from(o, WORDS("--print-config", "--config", path), "file ");
	for (i = 0; i < o->n; i++) {
		variable(o->name[i], env);
		assert_int_equal(setenv(env, o->value[i], 1), 0);
	}
	/* and the stronger place wins */
	all_from(o, WORDS("--print-config", "--config", path),
		 "environment BIDE_");
	all_from(o, line, "command line");
	for (i = 0; i < o->n; i++) {
		variable(o->name[i], env);
		assert_int_equal(unsetenv(env), 0);
	}
	free(o);
	scratch_free(s);
}

/* ---- the pages ---- */
struct page {
	long status;
	char text[256]; /* its beginning */
	size_t len;
};

static size_t collect(char *bytes, size_t size, size_t n, void *user)
{
	struct page *p = user;
	size_t room = sizeof(p->text) - 1 - p->len;
	size_t take = size * n < room ? size * n : room;

	memcpy(p->text + p->len, bytes, take);
	p->len += take;
	p->text[p->len] = '\0';
	return size * n;
}

/* On @c's connection, where it has one. */
static struct page get(CURL *c, const struct server *v, const char *path)
{
	struct page p = {0};
	char url[200];

	(void)snprintf(url, sizeof(url), "%s%s", v->base, path);
	(void)curl_easy_setopt(c, CURLOPT_URL, url);
	(void)curl_easy_setopt(c, CURLOPT_TIMEOUT, 60L);
	(void)curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, collect);
	(void)curl_easy_setopt(c, CURLOPT_WRITEDATA, &p);
	assert_int_equal(curl_easy_perform(c), CURLE_OK);
	(void)curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &p.status);
	return p;
}

static void page_is(CURL *c, const struct server *v, const char *path,
		    long status, const char *text)
{
	struct page p = get(c, v, path);

	if (p.status != status || strstr(p.text, text) == NULL)
		fail_msg("%s: %ld %s", path, p.status, p.text);
}

static void test_pages__stand_beside_the_endpoint(void **unused)
{
	struct scratch *s = scratch_new();
	struct server *v = server_start(s, NULL);
	const struct timespec nap = {0, 10 * 1000 * 1000};
	CURL *c = curl_easy_init();

	(void)unused;
	assert_non_null(c);
	page_is(c, v, "/healthz", 200, "ok\n");
	page_is(c, v, "/readyz", 200, "ready\n");
	page_is(c, v, "/metrics", 200, "\nbide_http_requests_total ");
	page_is(c, v, "/nothing", 404, "");
	/* Not ready once the database is gone: it stores nothing more. */
	assert_int_equal(remove(s->db), 0);
	for (int i = 0; i < 6000 && get(c, v, "/readyz").status == 200; i++)
		(void)nanosleep(&nap, NULL);
	page_is(c, v, "/readyz", 503, "");
	page_is(c, v, "/healthz", 200, "ok\n");
	curl_easy_cleanup(c);
	server_free(v);
	scratch_free(s);
}

/* ---- options that arrive ---- */
static int posted(struct server *v, const char *const *headers, size_t pad)
{
	struct ask a = {.url = v->url, .headers = headers};
	char text[4096] = "";
	struct reply *r;
	int status;

	memset(text, 'x', pad);
	r = rpc(&a, "tools/list", NULL, json_pack("{s:s}", "pad", text));
	status = r->status;
	reply_free(r);
	return status;
}

static void test_options__arrive(void **unused)
{
	static const char *const args[] = {"--path",
					   "/elsewhere",
					   "--max-body",
					   "2K",
					   "--allow-host",
					   "mcp.example.test",
					   "--allow-origin",
					   "https://app.example.test",
					   "--http-threads",
					   "2",
					   "--poll-interval",
					   "77",
					   "--log-level",
					   "debug",
					   NULL};
	const char *const host[] = {"Host: mcp.example.test", NULL};
	const char *const other_host[] = {"Host: other.example.test", NULL};
	const char *const origin[] = {"Origin: https://app.example.test", NULL};
	const char *const other[] = {"Origin: https://evil.example.test", NULL};
	struct scratch *s = scratch_new();
	struct server *v = server_start(s, args);
	struct ask a = {.url = v->url, .can = CAN_TASKS};
	struct reply *r;

	(void)unused;
	assert_non_null(strstr(v->url, "/elsewhere"));
	assert_int_equal(posted(v, NULL, 0), 200);
	assert_int_equal(posted(v, NULL, 3000), 413);
	assert_int_equal(posted(v, host, 0), 200);
	assert_int_equal(posted(v, other_host, 0), 403);
	assert_int_equal(posted(v, origin, 0), 200);
	assert_int_equal(posted(v, other, 0), 403);
	r = tool(&a, "approve", json_object());
	assert_int_equal(json_integer_value(
				 json_object_get(result(r), "pollIntervalMs")),
			 77);
	reply_free(r);
	assert_true(server_saw(v, "\"level\":\"debug\""));
	server_free(v);
	scratch_free(s);
}

static size_t effects(const struct scratch *s, const char *step)
{
	struct lines l = lines_read(s->effects);
	size_t n = 0;

	for (size_t i = 0; i < l.n; i++)
		n += strstr(l.line[i], step) != NULL;
	lines_free(&l);
	return n;
}

/* --debug-reenter: each handler is entered twice, in the request and in the
 * background, so what it does outside its steps is done twice. */
static void test_debug__enters_every_handler_twice(void **unused)
{
	const char *const args[] = {"--debug-reenter", NULL};

	(void)unused;
	for (int debug = 0; debug < 2; debug++) {
		struct scratch *s = scratch_new();
		struct server *v = server_start(s, debug ? args : NULL);
		struct ask a = {.url = v->url};
		struct reply *r;

		r = tool(&a, "hold", json_pack("{s:i}", "ms", 1));
		assert_string_equal(result_text(r), "held");
		assert_int_equal(effects(s, " begin"), debug ? 2 : 1);
		reply_free(r);
		r = tool(&a, "busy", json_pack("{s:i}", "ms", 1));
		assert_string_equal(result_text(r), "done");
		assert_int_equal(effects(s, " begin"), debug ? 4 : 2);
		reply_free(r);
		r = tool(&a, "two_step", json_object());
		assert_string_equal(result_text(r), "two steps done");
		assert_int_equal(effects(s, " one"), 1);
		assert_int_equal(effects(s, " two"), 1);
		reply_free(r);
		server_free(v);
		scratch_free(s);
	}
}

/* ---- the end ---- */
static void test_end__is_0_after_both_signals(void **unused)
{
	struct scratch *s = scratch_new();
	struct server *v = server_start(s, NULL);

	(void)unused;
	assert_int_equal(server_signal_wait(v, SIGINT), ENDED(0));
	assert_true(server_saw(v, "serve.stopped"));
	server_free(v);
	v = server_start(s, NULL);
	assert_int_equal(server_signal_wait(v, SIGTERM), ENDED(0));
	server_free(v);
	scratch_free(s);
}

/* A handler that does not listen is left claimed when the grace is over, and
 * the exit code is 0 all the same. */
static void test_end__is_0_when_a_handler_stays(void **unused)
{
	static const char *const args[] = {"--drain-grace", "300", NULL};
	struct scratch *s = scratch_new();
	struct server *v = server_start(s, args);
	struct ask a = {.url = v->url, .can = CAN_TASKS};
	struct reply *r = tool(&a, "counter",
			       json_pack("{s:i, s:i}", "to", 1, "ms", 60000));
	struct reply *t = task_await(&a, task_id(r), "working");

	(void)unused;
	assert_non_null(t);
	assert_int_equal(server_signal_wait(v, SIGTERM), ENDED(0));
	reply_free(t);
	reply_free(r);
	server_free(v);
	scratch_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words__have_their_exit_codes),
		cmocka_unit_test(test_options__come_from_three_places),
		cmocka_unit_test(test_pages__stand_beside_the_endpoint),
		cmocka_unit_test(test_options__arrive),
		cmocka_unit_test(test_debug__enters_every_handler_twice),
		cmocka_unit_test(test_end__is_0_after_both_signals),
		cmocka_unit_test(test_end__is_0_when_a_handler_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
