/* SPDX-License-Identifier: MIT */
/* Peers that ring; test_peers.c has their deaths. */
#include <sys/socket.h>
#include <sys/un.h>

#include "store/sqlite_instance_file.h"
#include "tests/unit/store/lib/peer.h"

static void test_bell__reaches_who_watches_the_task(void **state)
{
	const int64_t tasks[] = {41, 42};
	struct ear ea, eb;
	struct peers *a = join_as(1, &ea), *b = join_as(2, &eb);

	(void)state;
	peers_set_idle(b, 1);
	wait_for_peers(a, 1);
	peers_interest_add(b, 42);
	peers_ring(a, tasks, 2, NULL, 0);
	wait_until(heard_task(&eb, 42));
	assert_false(heard_task(&eb, 41));
	peers_leave(a);
	peers_leave(b);
}

/* Datagrams keep their order: the last one is the proof about the first. */
static void test_bell__is_not_rung_without_interest(void **state)
{
	const int64_t task = 42;
	struct ear ea, eb;
	struct peers *a = join_as(1, &ea), *b = join_as(2, &eb);

	(void)state;
	peers_set_idle(b, 1);
	wait_for_peers(a, 1);
	peers_interest_add(b, 42);
	peers_interest_add(b, 42);
	peers_interest_drop(b, 42);
	peers_ring(a, &task, 1, NULL, 0); /* still once */
	wait_until(heard_task(&eb, 42));
	peers_interest_drop(b, 42);
	pthread_mutex_lock(&eb.lock);
	eb.ntasks = 0;
	pthread_mutex_unlock(&eb.lock);
	peers_ring(a, &task, 1, NULL, 0);
	peers_ring_all(a);
	wait_until(read_int(&eb, &eb.everything) > 1);
	assert_false(heard_task(&eb, 42));
	peers_leave(a);
	peers_leave(b);
}

static void test_bell__tells_everything_for_many_tasks(void **state)
{
	int64_t tasks[300];
	struct ear ea, eb;
	struct peers *a = join_as(1, &ea), *b = join_as(2, &eb);

	(void)state;
	peers_set_idle(b, 1);
	wait_for_peers(a, 1);
	for (int i = 0; i < 300; i++) {
		tasks[i] = i + 1;
		peers_interest_add(b, tasks[i]);
	}
	peers_ring(a, tasks, 300, NULL, 0);
	wait_until(read_int(&eb, &eb.everything) > 1);
	peers_leave(a);
	peers_leave(b);
}

static void test_work__rings_one_idle_capable_peer(void **state)
{
	const uint64_t x = peers_tool_hash("tool_x");
	const uint64_t work[] = {x, x, x, x};
	const uint64_t other = peers_tool_hash("tool_y");
	struct ear e[4];
	struct peers *p[4];

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct peers_options opt = options(i + 1, &e[i]);

		ear_init(&e[i]);
		if (i == 3)
			opt.ntools = 0;
		p[i] = join(&opt);
	}
	peers_set_idle(p[1], 1);
	peers_set_idle(p[2], 1);
	peers_set_idle(p[3], 8); /* has no tool */
	wait_for_peers(p[0], 2);
	/* Two idle workers in all: the third and fourth task find nobody. */
	assert_int_equal(peers_ring(p[0], NULL, 0, work, 4), 2);
	wait_until(read_int(&e[1], &e[1].work) > 1);
	wait_until(read_int(&e[2], &e[2].work) > 1);
	assert_int_equal(peers_ring(p[0], NULL, 0, &other, 1), 0);
	peers_set_draining(p[2]);
	assert_int_equal(peers_ring(p[0], NULL, 0, work, 4), 1);
	peers_set_idle(p[1], 0);
	assert_int_equal(peers_ring(p[0], NULL, 0, work, 4), 0);
	assert_int_equal(read_int(&e[3], &e[3].work), 1); /* the first look */
	for (int i = 0; i < 4; i++)
		peers_leave(p[i]);
}

static void test_work__rings_in_rotation(void **state)
{
	const uint64_t x = peers_tool_hash("tool_x");
	struct ear e[3];
	struct peers *p[3];
	int b, c;

	(void)state;
	for (int i = 0; i < 3; i++) {
		p[i] = join_as(i + 1, &e[i]);
		peers_set_idle(p[i], 1);
	}
	wait_for_peers(p[0], 2);
	b = read_int(&e[1], &e[1].work);
	c = read_int(&e[2], &e[2].work);
	for (int i = 0; i < 4; i++)
		assert_int_equal(peers_ring(p[0], NULL, 0, &x, 1), 1);
	wait_until(read_int(&e[1], &e[1].work) > b);
	wait_until(read_int(&e[2], &e[2].work) > c);
	for (int i = 0; i < 3; i++)
		peers_leave(p[i]);
}

static void test_full_queue__makes_the_next_look_for_everything(void **state)
{
	const int64_t task = 7;
	struct ear ea, eb;
	struct peers *a = join_as(1, &ea), *b = join_as(2, &eb);
	int before;

	(void)state;
	peers_set_idle(b, 1);
	wait_for_peers(a, 1);
	peers_interest_add(b, task);
	before = read_int(&eb, &eb.everything);
	atomic_store(&eb.block, true);
	peers_ring(a, &task, 1, NULL, 0);
	wait_until(atomic_load(&eb.blocked)); /* it hears nothing now */
	for (int i = 0; i < 2000; i++)        /* beyond any queue's length */
		peers_ring(a, &task, 1, NULL, 0);
	assert_int_equal(read_int(&eb, &eb.everything), before);
	atomic_store(&eb.block, false);
	wait_until(read_int(&eb, &eb.everything) > before);
	peers_leave(a);
	peers_leave(b);
}

/* A socket file that nobody listens behind, then none at all. */
static void make_stale_socket(int64_t instance)
{
	char name[SQLITE_DIR_NAME];
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int dir = sqlite_dir_open(place.db, false, NULL), fd;

	instance_file_name(instance, "sock", name);
	assert_int_equal(unlinkat(dir, name, 0), 0);
	snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/%s", dir,
		 name);
	fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	close(fd);
	close(dir);
}

static void test_stale_socket__is_no_error_and_work_goes_elsewhere(void **state)
{
	const uint64_t x = peers_tool_hash("tool_x");
	const int64_t task = 9;
	char path[PATH_MAX + 32];
	struct ear e[3];
	struct peers *p[3];
	int had;

	(void)state;
	for (int i = 0; i < 3; i++) {
		p[i] = join_as(i + 1, &e[i]);
		peers_set_idle(p[i], 1);
		peers_interest_add(p[i], task);
	}
	wait_for_peers(p[0], 2);
	make_stale_socket(2);
	had = read_int(&e[2], &e[2].work);
	for (int i = 0; i < 4; i++)
		assert_int_equal(peers_ring(p[0], &task, 1, &x, 1), 1);
	wait_until(read_int(&e[2], &e[2].work) > had);
	snprintf(path, sizeof(path), "%s.d/inst-2.sock", place.db);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(peers_ring(p[0], &task, 1, &x, 1), 1);
	/* It lives all the same: looked at, and found holding its file. */
	had = read_int(&e[0], &e[0].polls);
	wait_until(read_int(&e[0], &e[0].polls) > had + 1);
	assert_int_equal(deaths(&e[0]), 0);
	for (int i = 0; i < 3; i++)
		peers_leave(p[i]);
}

static void test_fault__drops_one_datagram(void **state)
{
	struct spec spec = {.instance = 2, .fault = "bell.send:1:fail"};
	struct ear ea;
	struct peers *a = join_as(1, &ea);
	struct child c;

	(void)state;
	peers_interest_add(a, 5);
	start_peer(&c, &spec);
	child_tell(&c, 'r');
	wait_until(read_int(&ea, &ea.everything) > 1);
	assert_false(heard_task(&ea, 5));
	child_end(&c, SIGKILL);
	peers_leave(a);
}

int main(int argc, char **argv)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_bell__reaches_who_watches_the_task),
		TEST(test_bell__is_not_rung_without_interest),
		TEST(test_bell__tells_everything_for_many_tasks),
		TEST(test_work__rings_one_idle_capable_peer),
		TEST(test_work__rings_in_rotation),
		TEST(test_full_queue__makes_the_next_look_for_everything),
		TEST(test_stale_socket__is_no_error_and_work_goes_elsewhere),
		TEST(test_fault__drops_one_datagram),
	};

	if (argc > 1)
		return peer_main(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
