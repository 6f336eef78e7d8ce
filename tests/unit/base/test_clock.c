/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/base/scratch.h"

#include "server/base/clock.h"

#include <errno.h>

static void test_clock__boot_rises_and_matches_its_microseconds(void **state)
{
	int64_t a_us = clock_boot_us();
	int64_t ms = clock_boot_ms();
	int64_t b_us = clock_boot_us();

	(void)state;
	assert_true(a_us > 0);
	assert_true(a_us / 1000 <= ms && ms <= b_us / 1000);
}

static void test_clock__wall_is_that_of_the_system(void **state)
{
	int64_t before = (int64_t)time(NULL) * 1000;
	int64_t wall = clock_wall_ms();

	(void)state;
	assert_true(wall >= before - 1000);
	assert_true(wall <= before + 60000);
}

static void test_clock_boot_id__is_a_uuid(void **state)
{
	const char *id = clock_boot_id();

	(void)state;
	assert_int_equal(strlen(id), 36);
	assert_int_equal(id[8], '-');
	assert_ptr_equal(id, clock_boot_id());
}

static void iso(int64_t ms, const char *want)
{
	char text[32];

	clock_iso8601(ms, text, sizeof(text));
	assert_string_equal(text, want);
}

static void test_clock_iso8601__dates_of_the_calendar(void **state)
{
	(void)state;
	iso(0, "1970-01-01T00:00:00.000Z");
	iso(-1, "1969-12-31T23:59:59.999Z");
	iso(951782399999, "2000-02-28T23:59:59.999Z");
	iso(951782400000, "2000-02-29T00:00:00.000Z");
	iso(1785196800123, "2026-07-28T00:00:00.123Z");
	iso(4107542400000, "2100-03-01T00:00:00.000Z");
	iso(-2203891200001, "1900-02-28T23:59:59.999Z");
}

/* Against the C library, a day after the other over four centuries. */
static void test_clock_iso8601__agrees_with_gmtime(void **state)
{
	char want[32];
	time_t t;
	struct tm tm;

	(void)state;
	for (int64_t day = -73000; day < 73000; day++) {
		t = (time_t)(day * 86400 + (day * 7919) % 86400);
		gmtime_r(&t, &tm);
		strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%S.000Z", &tm);
		iso((int64_t)t * 1000, want);
	}
}

static void test_clock_iso8601__keeps_to_its_room(void **state)
{
	char text[11] = "xxxxxxxxxx";

	(void)state;
	clock_iso8601(0, text, 5);
	assert_string_equal(text, "1970");
	assert_int_equal(text[5], 'x');
}

static void test_clock_nap__is_the_same_without_a_test_clock(void **state)
{
	(void)state;
	assert_true(clock_nap_ms(60000) == 60000);
	assert_true(clock_nap_ms(0) == 0);
	assert_true(clock_nap_ms(-7) == 0);
}

static int64_t ns_until(struct timespec t)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)(t.tv_sec - now.tv_sec) * 1000000000 + t.tv_nsec -
	       now.tv_nsec;
}

static void test_clock_deadline__is_on_the_monotonic_clock(void **state)
{
	struct timespec t = clock_deadline(5999);
	int64_t left = ns_until(t);

	(void)state;
	assert_in_range(t.tv_nsec, 0, 999999999);
	assert_true(left <= 5999000000 && left > 0);
	assert_true(ns_until(clock_deadline(-1)) <= 0);
	assert_true(clock_deadline(INT64_MAX).tv_sec > 0);
}

static void set_offset(const char *path, int64_t ms)
{
	int fd = open(path, O_WRONLY);

	assert_int_equal(pwrite(fd, &ms, sizeof(ms), 0), sizeof(ms));
	close(fd);
}

/* Last in this file: a test clock stays in force. */
static void test_clock_use_file__moves_every_reading(void **state)
{
	static const char *const names[] = {"clock"};
	struct scratch s;
	char path[300];
	struct stat st;
	int64_t boot, wall;

	(void)state;
	scratch_make(&s);
	assert_int_equal(clock_use_file("/nowhere/at/all"), -ENOENT);
	assert_int_equal(clock_use_file(scratch_path(&s, "clock", path)), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 8);
	boot = clock_boot_ms();
	wall = clock_wall_ms();
	set_offset(path, 3600000);
	assert_in_range(clock_boot_ms() - boot, 3600000, 3660000);
	assert_in_range(clock_boot_us() / 1000 - boot, 3600000, 3660000);
	assert_in_range(clock_wall_ms() - wall, 3600000, 3660000);
	assert_int_equal(clock_use_file(path), 0); /* keeps what it says */
	assert_in_range(clock_boot_ms() - boot, 3600000, 3660000);
	assert_in_range(clock_nap_ms(60000), 1, 5);
	assert_true(clock_nap_ms(2) == 2);
	assert_true(ns_until(clock_deadline(60000)) <= 5000000);
	scratch_remove(&s, names, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_clock__boot_rises_and_matches_its_microseconds),
		cmocka_unit_test(test_clock__wall_is_that_of_the_system),
		cmocka_unit_test(test_clock_boot_id__is_a_uuid),
		cmocka_unit_test(test_clock_iso8601__dates_of_the_calendar),
		cmocka_unit_test(test_clock_iso8601__agrees_with_gmtime),
		cmocka_unit_test(test_clock_iso8601__keeps_to_its_room),
		cmocka_unit_test(
			test_clock_nap__is_the_same_without_a_test_clock),
		cmocka_unit_test(
			test_clock_deadline__is_on_the_monotonic_clock),
		cmocka_unit_test(test_clock_use_file__moves_every_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
