/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/metrics.h"
#include "server/base/thread.h"

static char *all(void)
{
	struct buf b = {0};

	metrics_write(&b);
	return buf_take(&b, NULL);
}

static void has(const char *line)
{
	char *text = all();

	if (!strstr(text, line))
		fail_msg("missing: %s", line);
	free(text);
}

static void test_metrics__counters_and_gauges(void **state)
{
	(void)state;
	metric_add(METRIC_CALLS, 2);
	metric_add(METRIC_CALLS, 3);
	assert_true(metric_get(METRIC_CALLS) == 5);
	metric_set(METRIC_WAITERS, 7);
	metric_add(METRIC_WAITERS, -2);
	assert_true(metric_get(METRIC_WAITERS) == 5);
	has("# TYPE bide_calls_total counter\nbide_calls_total 5\n");
	has("# TYPE bide_waiters gauge\nbide_waiters 5\n");
}

/* Upper bounds belong to their bucket; what passes the last is in +Inf. */
static void test_metrics__a_histogram_counts_up_and_sums(void **state)
{
	(void)state;
	metric_observe_us(METRIC_HANDLER_US, 50);
	metric_observe_us(METRIC_HANDLER_US, 51);
	metric_observe_us(METRIC_HANDLER_US, 2000000);
	metric_observe_us(METRIC_HANDLER_US, 100000001);
	metric_observe_us(METRIC_HANDLER_US, -3);
	assert_true(metric_get(METRIC_HANDLER_US) == 5);
	has("# TYPE bide_handler_seconds histogram\n"
	    "bide_handler_seconds_bucket{le=\"5e-05\"} 2\n"
	    "bide_handler_seconds_bucket{le=\"0.0001\"} 3\n");
	has("bide_handler_seconds_bucket{le=\"1.0\"} 3\n"
	    "bide_handler_seconds_bucket{le=\"2.5\"} 4\n");
	has("bide_handler_seconds_bucket{le=\"100.0\"} 4\n"
	    "bide_handler_seconds_bucket{le=\"+Inf\"} 5\n"
	    "bide_handler_seconds_sum 102.000102\n"
	    "bide_handler_seconds_count 5\n");
}

static bool is_name(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz_", s[i]))
			return false;
	return len > 0;
}

/* Of each line: HELP, TYPE, or a name, perhaps {le="..."}, and a number. */
static void check_line(const char *s)
{
	size_t name = strcspn(s, " {");
	const char *p = s + name;
	char *end = NULL;

	if (strncmp(s, "# HELP ", 7) == 0 || strncmp(s, "# TYPE ", 7) == 0)
		return;
	if (*p == '{') {
		assert_int_equal(strncmp(p, "{le=\"", 5), 0);
		p = strstr(p, "\"}");
		assert_non_null(p);
		p += 2;
	}
	assert_true(is_name(s, name));
	assert_int_equal(*p, ' ');
	strtod(p + 1, &end);
	assert_true(end > p + 1 && *end == '\0');
}

static void test_metrics__every_line_is_of_the_format(void **state)
{
	char *text = all();
	char *save = NULL;
	int types = 0;

	(void)state;
	assert_int_equal(text[strlen(text) - 1], '\n');
	for (char *s = strtok_r(text, "\n", &save); s;
	     s = strtok_r(NULL, "\n", &save)) {
		check_line(s);
		types += strncmp(s, "# TYPE ", 7) == 0;
	}
	assert_int_equal(types, METRIC_COUNT);
	free(text);
}

static void count_many(void *arg)
{
	(void)arg;
	for (int i = 0; i < 10000; i++) {
		metric_add(METRIC_STORE_OPS, 1);
		metric_observe_us(METRIC_STORE_COMMIT_US, i);
	}
}

static void test_metrics__no_count_is_lost_among_threads(void **state)
{
	struct thread t[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(thread_start(&t[i], "count", count_many, NULL),
				 0);
	for (int i = 0; i < 4; i++)
		thread_join(&t[i]);
	assert_true(metric_get(METRIC_STORE_OPS) == 40000);
	assert_true(metric_get(METRIC_STORE_COMMIT_US) == 40000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_metrics__counters_and_gauges),
		cmocka_unit_test(test_metrics__a_histogram_counts_up_and_sums),
		cmocka_unit_test(test_metrics__every_line_is_of_the_format),
		cmocka_unit_test(test_metrics__no_count_is_lost_among_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
