/* SPDX-License-Identifier: MIT */
#include "server/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY_MS      86400000
#define TEST_NAP_MS 5
#define NAP_MAX_MS  ((int64_t)365 * DAY_MS)

/* The mapped file of the test clock; NULL in a product. Never unmapped: some
 * thread may be reading it. */
static int64_t *_Atomic test_offset_ms;

static pthread_once_t boot_id_once = PTHREAD_ONCE_INIT;
static char boot_id[37];

static int64_t offset_ms(void)
{
	int64_t *p =
		atomic_load_explicit(&test_offset_ms, memory_order_acquire);

	return p ? __atomic_load_n(p, __ATOMIC_RELAXED) : 0;
}

static int64_t read_us(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000 +
	       offset_ms() * 1000;
}

int64_t clock_boot_us(void)
{
	return read_us(CLOCK_BOOTTIME);
}

int64_t clock_boot_ms(void)
{
	return read_us(CLOCK_BOOTTIME) / 1000;
}

int64_t clock_wall_ms(void)
{
	return read_us(CLOCK_REALTIME) / 1000;
}

static void read_boot_id(void)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	char text[36];

	if (fd < 0)
		return;
	if (read(fd, text, sizeof(text)) == (ssize_t)sizeof(text))
		memcpy(boot_id, text, sizeof(text));
	close(fd);
}

const char *clock_boot_id(void)
{
	pthread_once(&boot_id_once, read_boot_id);
	return boot_id;
}

/* Extending is safe against another process that does the same: both add
 * zeros, and neither shortens. */
static int make_long_enough(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_size < (off_t)sizeof(int64_t) &&
	    ftruncate(fd, sizeof(int64_t)))
		return -errno;
	return 0;
}

int clock_use_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *p = MAP_FAILED;
	int err;

	if (fd < 0)
		return -errno;
	err = make_long_enough(fd);
	if (!err) {
		p = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
		if (p == MAP_FAILED)
			err = -errno;
	}
	close(fd);
	if (!err)
		atomic_store_explicit(&test_offset_ms, (int64_t *)p,
				      memory_order_release);
	return err;
}

int64_t clock_nap_ms(int64_t ms)
{
	if (ms < 0)
		return 0;
	if (ms > TEST_NAP_MS &&
	    atomic_load_explicit(&test_offset_ms, memory_order_relaxed))
		return TEST_NAP_MS;
	return ms;
}

struct timespec clock_deadline(int64_t ms)
{
	int64_t nap = clock_nap_ms(ms);
	struct timespec ts;

	if (nap > NAP_MAX_MS) /* "for ever" must not overflow time_t */
		nap = NAP_MAX_MS;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += nap / 1000;
	ts.tv_nsec += (nap % 1000) * 1000000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_nsec -= 1000000000;
		ts.tv_sec++;
	}
	return ts;
}

/* Days since 1970-01-01 to a date of the proleptic Gregorian calendar, by
 * 400-year eras that begin on 1 March. gmtime_r() would take a lock. */
static void civil(int64_t days, int64_t *year, int *month, int *day)
{
	int64_t z = days + 719468;
	int64_t era = (z >= 0 ? z : z - 146096) / 146097;
	int doe = (int)(z - era * 146097);
	int yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int mp = (5 * doy + 2) / 153;

	*day = doy - (153 * mp + 2) / 5 + 1;
	*month = mp < 10 ? mp + 3 : mp - 9;
	*year = yoe + era * 400 + (*month <= 2);
}

void clock_iso8601(int64_t wall_ms, char *out, size_t cap)
{
	int64_t days = wall_ms / DAY_MS;
	int ms = (int)(wall_ms % DAY_MS);
	int64_t year;
	int month, day;

	if (ms < 0) {
		ms += DAY_MS;
		days--;
	}
	civil(days, &year, &month, &day);
	snprintf(out, cap, "%04lld-%02d-%02dT%02d:%02d:%02d.%03dZ",
		 (long long)year, month, day, ms / 3600000, ms / 60000 % 60,
		 ms / 1000 % 60, ms % 1000);
}
