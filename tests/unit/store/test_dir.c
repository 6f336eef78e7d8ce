/* SPDX-License-Identifier: MIT */
#include "tests/unit/store/forked.h"

#include <sys/file.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "store/sqlite_dir.h"

static struct place place;
static char dir_path[PATH_MAX + 8];

static int setup(void **state)
{
	(void)state;
	place_make(&place, "");
	snprintf(dir_path, sizeof(dir_path), "%s.d", place.db);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(dir_path); /* where a test put a link or a file */
	place_remove(&place, "");
	return 0;
}

static int open_dir(bool create)
{
	struct bide_error e = {0};
	int fd = sqlite_dir_open(place.db, create, &e);

	if (fd < 0)
		fail_msg("%s", e.text);
	return fd;
}

static mode_t mode_of(int dirfd, const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_mode & 07777;
}

/* Only who may write the database gets at the locks. */
static void test_dir__follows_the_mode_of_the_database(void **state)
{
	static const struct {
		mode_t db, dir, file;
	} cases[] = {
		{0600, 0700, 0600}, {0640, 0700, 0600}, {0644, 0700, 0600},
		{0660, 0770, 0660}, {0664, 0770, 0660}, {0666, 0777, 0666},
	};
	mode_t mask = umask(077);
	int dir, fd;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(chmod(place.db, cases[i].db), 0);
		dir = open_dir(true);
		assert_int_equal(mode_of(dir, "."), cases[i].dir);
		fd = sqlite_dir_file(dir, "f", true);
		assert_true(fd >= 0);
		assert_int_equal(mode_of(dir, "f"), cases[i].file);
		sqlite_fd_close(fd);
		assert_int_equal(unlinkat(dir, "f", 0), 0);
		close(dir);
	}
	umask(mask);
}

static void test_dir__is_the_database_owners_when_root_makes_it(void **state)
{
	struct stat st;
	int dir, fd;

	(void)state;
	if (geteuid() != 0) {
		print_message("skipped: needs root\n");
		return;
	}
	assert_int_equal(chown(place.db, 12345, 23456), 0);
	dir = open_dir(true);
	fd = sqlite_dir_file(dir, "f", true);
	assert_int_equal(fstat(dir, &st), 0);
	assert_int_equal(st.st_uid, 12345);
	assert_int_equal(st.st_gid, 23456);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_uid, 12345);
	assert_int_equal(st.st_gid, 23456);
	sqlite_fd_close(fd);
	close(dir);
}

static void test_dir__is_made_only_when_asked(void **state)
{
	struct bide_error e = {0};
	int dir;

	(void)state;
	assert_int_equal(sqlite_dir_open(place.db, false, &e), -1);
	assert_int_equal(e.rc, BIDE_NOT_FOUND);
	close(open_dir(true));
	dir = open_dir(false);
	assert_int_equal(sqlite_dir_file(dir, "f", false), -ENOENT);
	assert_int_equal(sqlite_dir_look(dir, "f"), -ENOENT);
	close(dir);
}

static void test_dir__is_no_link_and_no_file(void **state)
{
	struct bide_error e = {0};

	(void)state;
	assert_int_equal(symlink("/", dir_path), 0);
	assert_int_equal(sqlite_dir_open(place.db, true, &e), -1);
	assert_int_equal(e.rc, BIDE_INVALID);
	assert_int_equal(unlink(dir_path), 0);
	close(open(dir_path, O_CREAT | O_WRONLY, 0600));
	e.rc = 0;
	assert_int_equal(sqlite_dir_open(place.db, true, &e), -1);
	assert_int_equal(e.rc, BIDE_INVALID);
}

static void test_dir__of_a_stranger_is_refused(void **state)
{
	struct bide_error e = {0};

	(void)state;
	if (geteuid() != 0) {
		print_message("skipped: needs root\n");
		return;
	}
	assert_int_equal(mkdir(dir_path, 0777), 0);
	assert_int_equal(chown(dir_path, 12345, 12345), 0);
	assert_int_equal(sqlite_dir_open(place.db, true, &e), -1);
	assert_int_equal(e.rc, BIDE_INVALID);
	assert_non_null(strstr(e.text, "12345"));
}

static void test_file__is_never_reached_through_a_link(void **state)
{
	int dir = open_dir(true);

	(void)state;
	assert_int_equal(symlinkat(place.db, dir, "f"), 0);
	assert_int_equal(sqlite_dir_file(dir, "f", true), -ELOOP);
	assert_int_equal(sqlite_dir_look(dir, "f"), -ELOOP);
	close(dir);
}

static void test_temp__is_published_once(void **state)
{
	char one[SQLITE_DIR_NAME], two[SQLITE_DIR_NAME];
	int dir = open_dir(true), a, b;

	(void)state;
	a = sqlite_dir_temp(dir, one);
	b = sqlite_dir_temp(dir, two);
	assert_true(a >= 0 && b >= 0);
	assert_int_equal(sqlite_dir_publish(dir, one, "f"), 0);
	assert_int_equal(sqlite_dir_publish(dir, two, "f"), -EEXIST);
	assert_int_equal(faccessat(dir, two, F_OK, 0), -1);
	sqlite_fd_close(a);
	sqlite_fd_close(b);
	close(dir);
}

static void test_sweep__takes_only_what_is_old_and_free(void **state)
{
	const struct timespec old[2] = {{1000000, 0}, {1000000, 0}};
	char names[3][SQLITE_DIR_NAME];
	int dir = open_dir(true), fd[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		fd[i] = sqlite_dir_temp(dir, names[i]);
	assert_int_equal(futimens(fd[0], old), 0);
	assert_int_equal(futimens(fd[1], old), 0);
	assert_int_equal(flock(fd[1], LOCK_EX), 0);
	sqlite_dir_sweep(dir);
	assert_int_equal(faccessat(dir, names[0], F_OK, 0), -1);
	assert_int_equal(faccessat(dir, names[1], F_OK, 0), 0);
	assert_int_equal(faccessat(dir, names[2], F_OK, 0), 0);
	for (int i = 0; i < 3; i++)
		sqlite_fd_close(fd[i]);
	close(dir);
}

/* ---- a forked child that does not exec ---- */

static void test_forked_child__has_none_of_the_descriptors(void **state)
{
	int dir = open_dir(true), fd = sqlite_dir_file(dir, "f", true);
	int status;
	pid_t p;

	(void)state;
	assert_true(fd >= 0);
	p = fork();
	if (!p) {
		bool gone = fcntl(fd, F_GETFD) < 0 && errno == EBADF;
		int other = dup(dir); /* takes the number */

		sqlite_fd_close(fd); /* and must not lose it */
		_exit(gone && other == fd && fcntl(other, F_GETFD) >= 0 ? 0
									: 1);
	}
	assert_int_equal(waitpid(p, &status, 0), p);
	assert_int_equal(status, 0);
	assert_true(fcntl(fd, F_GETFD) >= 0);
	sqlite_fd_close(fd);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	close(dir);
}

static void test_mapping__holds_no_flock(void **state)
{
	int dir = open_dir(true), fd = sqlite_dir_file(dir, "f", true), other;
	char *at;

	(void)state;
	assert_int_equal(ftruncate(fd, 100), 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	at = sqlite_dir_map(fd, 100);
	assert_non_null(at);
	at[0] = 'x';
	sqlite_fd_close(fd);
	other = sqlite_dir_look(dir, "f");
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	sqlite_fd_close(other);
	munmap(at, 100);
	close(dir);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_dir__follows_the_mode_of_the_database),
		TEST(test_dir__is_the_database_owners_when_root_makes_it),
		TEST(test_dir__is_made_only_when_asked),
		TEST(test_dir__is_no_link_and_no_file),
		TEST(test_dir__of_a_stranger_is_refused),
		TEST(test_file__is_never_reached_through_a_link),
		TEST(test_temp__is_published_once),
		TEST(test_sweep__takes_only_what_is_old_and_free),
		TEST(test_forked_child__has_none_of_the_descriptors),
		TEST(test_mapping__holds_no_flock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
