/* SPDX-License-Identifier: MIT */
/* Every tool of the examples, each round at another instance; one of those is a
 * version ahead, and one hands on whatever it may. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/e2e/behind/behind.h"

#define ROUNDS          20
#define ACCEPT(content) "{\"action\":\"accept\",\"content\":{" content "}}"
#define LOGIN(name)     ACCEPT("\"name\":\"" name "\"")
#define SAYS(text)                                                             \
	"{\"role\":\"assistant\",\"model\":\"m\",\"content\":{\"type\":"       \
	"\"text\",\"text\":\"" text "\"}}"

static const struct {
	const char *key, *answer;
} answers[] = {
	{"target_env", ACCEPT("\"environment\":\"staging\"")},
	{"manifest-1", ACCEPT("\"write\":true,\"name\":\"SUMS\"")},
	{"summary", SAYS("three bullets")},
	{"resolution", ACCEPT("\"resolution\":\"Duplicate\"")},
	{"duplicate_of", ACCEPT("\"duplicateOfId\":4301")},
	{"github_login", LOGIN("octocat")},
	{"google_login", LOGIN("at-google")},
	{"microsoft_login", LOGIN("at-microsoft")},
	{"unit", SAYS("Celsius")},
};

static const struct {
	const char *tool, *args, *text;
} calls[] = {
	{"deploy_service", "{\"service\":\"checkout-api\"}",
	 "Deployed checkout-api to staging"},
	{"checksum_tree", "{\"path\":\"docs\"}", "SUMS"},
	{"summarize_incidents", "{\"since\":\"2026-11-09\"}", "three bullets"},
	{"update_work_item",
	 "{\"workItemId\":4522,\"fields\":{\"System.State\":\"Resolved\"}}",
	 "resolved as Duplicate of Bug #4301"},
	{"get_weather", "{\"location\":\"New York\"}", "22\u00b0C"},
	{"list_project_files", "{\"path\":\"docs\"}", "a.md"},
	{"link_accounts", "{}", "Linked octocat (GitHub) and at-"},
	{"count_primes", "{\"below\":1000000}", "78498"},
};

static json_t *answer(const char *key)
{
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		if (strcmp(answers[i].key, key) == 0)
			return json_loads(answers[i].answer, 0, NULL);
	return NULL;
}

static void make_files(const struct scratch *s)
{
	char path[320];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/docs", s->dir);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/docs/a.md", s->dir);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(setenv("ALLOWED_ROOTS", s->dir, 1), 0);
}

static void restart_with(struct fleet *f, size_t i, const char *name,
			 const char *value)
{
	assert_int_equal(setenv(name, value, 1), 0);
	(void)server_signal_wait(f->server[i], SIGTERM);
	fleet_start_again(f, i);
	assert_int_equal(unsetenv(name), 0);
}

void test_examples__end_right(void **state)
{
	struct scratch *files;
	struct fleet *f;

	(void)state;
	behind_need();
	files = scratch_new();
	make_files(files);
	server_use("examples/demo_server");
	f = behind_start(NULL);
	restart_with(f, 1, "TOOL_VERSION", "2");
	restart_with(f, 2, "SHED_ABOVE", "0");
	/* So often that each is begun at each. */
	for (size_t i = 0; i < FLEET_SERVERS * sizeof(calls) / sizeof(calls[0]);
	     i++) {
		size_t k = i / FLEET_SERVERS;
		struct ask a = {.url = f->balancer->url, .can = CAN_ALL};
		struct reply *r = drive(&a, calls[k].tool,
					json_loads(calls[k].args, 0, NULL),
					answer, ROUNDS);

		if (strstr(result_text(r), calls[k].text) == NULL)
			fail_msg("%s: %d %s", calls[k].tool, r->status,
				 r->raw != NULL ? r->raw : "-");
		reply_free(r);
	}
	fleet_free(f);
	scratch_free(files);
	server_use(NULL);
}
