/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/base/scratch.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "server/base/log.h"
#include "server/base/thread.h"

#define THREADS          4
#define LINES_PER_THREAD 200

static struct scratch dir;
static char path[300];

static int make_dir(void **state)
{
	(void)state;
	scratch_make(&dir);
	scratch_path(&dir, "stderr", path);
	log_set_level(LOG_INFO);
	return 0;
}

static int remove_dir(void **state)
{
	static const char *const names[] = {"stderr"};

	(void)state;
	scratch_remove(&dir, names, 1);
	return 0;
}

/* The lines that @fn logs, as an array; json_decref() it. */
static json_t *logged(void (*fn)(void *), void *arg)
{
	json_t *lines = json_array();
	json_error_t e;
	char *text = NULL;
	char *save = NULL;
	json_t *v = NULL;

	unlink(path);
	scratch_stderr(path, fn, arg);
	text = scratch_read(path);
	for (char *s = strtok_r(text, "\n", &save); s;
	     s = strtok_r(NULL, "\n", &save)) {
		v = json_loads(s, JSON_REJECT_DUPLICATES, &e);
		if (!v)
			fail_msg("not JSON: %s", s);
		json_array_append_new(lines, v);
	}
	free(text);
	return lines;
}

static const char *member(const json_t *line, const char *name)
{
	return json_string_value(json_object_get(line, name));
}

static void say_one(void *arg)
{
	(void)arg;
	log_warn("task.lease_lost", "task=%s epoch=%lld", "t1", 7ll);
}

static void test_log__a_line_is_one_object_in_order(void **state)
{
	json_t *lines = logged(say_one, NULL);
	char *text = scratch_read(path);
	const char *ts = member(json_array_get(lines, 0), "ts");

	(void)state;
	assert_int_equal(json_array_size(lines), 1);
	assert_int_equal(strlen(ts), 24);
	assert_int_equal(ts[23], 'Z');
	assert_string_equal(strstr(text, ",\"level\""),
			    ",\"level\":\"warn\",\"event\":\"task.lease_lost\","
			    "\"task\":\"t1\",\"epoch\":7}\n");
	free(text);
	json_decref(lines);
}

static void say_kinds(void *arg)
{
	log_info("kinds",
		 "d=%d u=%u ld=%ld lu=%lu lld=%lld llu=%llu zu=%zu f=%f "
		 "nan=%f none=%s pre=%.*s x=%x c=%c word=eof neg=%d p2=%.2f "
		 "hu=%hu",
		 -1, 4000000000u, -2L, 3UL, INT64_MIN + 0ll, INT64_MAX + 0ull,
		 (size_t)5, 0.25, (double)NAN, (char *)arg, 3, "abcdef", 255u,
		 'q', -7, 1.239, (unsigned short)9);
}

static void test_log__every_conversion(void **state)
{
	json_t *lines = logged(say_kinds, NULL);
	char *text = scratch_read(path);

	(void)state;
	assert_string_equal(
		strstr(text, ",\"d\""),
		",\"d\":-1,\"u\":4000000000,\"ld\":-2,\"lu\":3,"
		"\"lld\":-9223372036854775808,\"llu\":9223372036854775807,"
		"\"zu\":5,\"f\":0.25,\"nan\":null,\"none\":null,\"pre\":\"abc\","
		"\"x\":\"ff\",\"c\":\"q\",\"word\":\"eof\",\"neg\":-7,"
		"\"p2\":1.24,\"hu\":9}\n");
	free(text);
	json_decref(lines);
}

static void say_nothing_more(void *arg)
{
	(void)arg;
	log_info("server.start", " ");
}

static void test_log__an_event_without_members(void **state)
{
	json_t *lines = logged(say_nothing_more, NULL);

	(void)state;
	assert_int_equal(json_object_size(json_array_get(lines, 0)), 3);
	json_decref(lines);
}

static void say_text(void *arg)
{
	log_info("text", "text=%s after=%d", (const char *)arg, 1);
}

static void test_log__text_is_escaped_and_made_utf8(void **state)
{
	char hostile[] = "a\"b\\c\nd\te\x01\x7F\xFF\xC3\xA9\xC3"
			 "\",\"level\":\"error";
	json_t *lines = logged(say_text, hostile);
	const json_t *line = json_array_get(lines, 0);

	(void)state;
	assert_int_equal(json_array_size(lines), 1);
	assert_string_equal(member(line, "text"),
			    "a\"b\\c\nd\te\x01\x7F\xEF\xBF\xBD\xC3\xA9"
			    "\xEF\xBF\xBD\",\"level\":\"error");
	assert_string_equal(member(line, "level"), "info");
	json_decref(lines);
}

static void check_cut(const json_t *line, size_t len, const char *text)
{
	const char *got = member(line, "text");
	size_t n;

	if (!json_object_get(line, "truncated")) {
		assert_string_equal(got, text);
		assert_non_null(json_object_get(line, "after"));
		return;
	}
	assert_true(len > LOG_LINE_BYTES - 200);
	assert_null(json_object_get(line, "after"));
	if (!got)
		return;
	n = strlen(got);
	if (n != len) {
		assert_string_equal(got + n - 3, "...");
		assert_memory_equal(got, text, n - 3);
	}
}

/* Each length around the ceiling: what is written is JSON and fits. */
static void test_log__a_long_line_is_cut_and_says_so(void **state)
{
	static char text[LOG_LINE_BYTES * 2];
	char *raw = NULL;
	json_t *lines = NULL;
	bool cut = false;

	(void)state;
	for (size_t len = LOG_LINE_BYTES - 160; len < LOG_LINE_BYTES + 8;
	     len++) {
		memset(text, 'a', len);
		memcpy(text + len / 2, "\xC3\xA9\n", 3);
		text[len] = '\0';
		lines = logged(say_text, text);
		raw = scratch_read(path);
		assert_int_equal(json_array_size(lines), 1);
		assert_in_range(strlen(raw), 1, LOG_LINE_BYTES);
		check_cut(json_array_get(lines, 0), len, text);
		cut = json_object_get(json_array_get(lines, 0), "truncated");
		free(raw);
		json_decref(lines);
	}
	assert_true(cut);
}

static void say_each_level(void *arg)
{
	(void)arg;
	log_debug("l", "n=%d", 0);
	log_info("l", "n=%d", 1);
	log_warn("l", "n=%d", 2);
	log_error("l", "n=%d", 3);
}

static void test_log__levels_below_the_least_are_not_written(void **state)
{
	enum log_level level;
	json_t *lines = NULL;

	(void)state;
	for (int least = LOG_DEBUG; least <= LOG_NONE; least++) {
		log_set_level((enum log_level)least);
		lines = logged(say_each_level, NULL);
		assert_int_equal(json_array_size(lines), LOG_NONE - least);
		json_decref(lines);
	}
	assert_false(log_enabled(LOG_ERROR));
	log_set_level(LOG_INFO);
	assert_true(log_level_parse("debug", &level));
	assert_int_equal(level, LOG_DEBUG);
	assert_true(log_level_parse("none", &level));
	assert_int_equal(level, LOG_NONE);
	assert_false(log_level_parse("INFO", &level));
	assert_false(log_level_parse("", &level));
}

static void say_with_errno(void *arg)
{
	errno = EDOM;
	log_info("errno", "error=%d", errno);
	*(int *)arg = errno;
}

static void test_log__keeps_errno(void **state)
{
	int after = 0;

	(void)state;
	json_decref(logged(say_with_errno, &after));
	assert_int_equal(after, EDOM);
}

static void say_many(void *arg)
{
	for (int i = 0; i < LINES_PER_THREAD; i++)
		log_info("many", "who=%s i=%d", (const char *)arg, i);
}

static void say_from_threads(void *arg)
{
	static char names[THREADS][8];
	struct thread t[THREADS];

	(void)arg;
	for (int i = 0; i < THREADS; i++) {
		snprintf(names[i], sizeof(names[i]), "t%d", i);
		assert_int_equal(
			thread_start(&t[i], names[i], say_many, names[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		thread_join(&t[i]);
}

static void test_log__lines_of_several_threads_do_not_mix(void **state)
{
	json_t *lines = logged(say_from_threads, NULL);

	(void)state;
	assert_int_equal(json_array_size(lines), THREADS * LINES_PER_THREAD);
	json_decref(lines);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_log__a_line_is_one_object_in_order),
		TEST(test_log__every_conversion),
		TEST(test_log__an_event_without_members),
		TEST(test_log__text_is_escaped_and_made_utf8),
		TEST(test_log__a_long_line_is_cut_and_says_so),
		TEST(test_log__levels_below_the_least_are_not_written),
		TEST(test_log__keeps_errno),
		TEST(test_log__lines_of_several_threads_do_not_mix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
