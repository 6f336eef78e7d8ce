/* SPDX-License-Identifier: MIT */
/* Peers that die or fall silent; test_peers_bell.c has their bell. */
#include "store/sqlite_instance_file.h"
#include "tests/unit/store/lib/peer.h"

static bool file_there(int64_t instance, const char *end)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s.d/inst-%lld.%s", place.db,
		 (long long)instance, end);
	return access(path, F_OK) == 0;
}

/* ---- death ---- */

static void test_killed_peer__is_noticed_at_once(void **state)
{
	struct spec spec = {.instance = 2};
	struct peers_options opt;
	struct ear ea;
	struct peers *a;
	struct child c;
	int64_t from;

	(void)state;
	ear_init(&ea);
	opt = options(1, &ea);
	opt.poll_ms = LEASE_MS; /* the pidfd alone can tell */
	a = join(&opt);
	start_peer(&c, &spec);
	wait_for_peers(a, 1);
	from = real_ms();
	kill(c.pid, SIGKILL);
	wait_until(deaths(&ea) == 1);
	assert_int_equal(ea.dead[0].instance, 2);
	assert_true(ea.dead[0].crashed);
	assert_true(ea.dead[0].at_ms - from < 200);
	child_end(&c, 0);
	peers_leave(a);
}

static void test_dead_peer__is_told_until_buried(void **state)
{
	struct spec spec = {.instance = 2};
	struct ear ea;
	struct peers *a = join_as(1, &ea);
	struct child c;
	int polls;

	(void)state;
	start_peer(&c, &spec);
	wait_for_peers(a, 1);
	child_end(&c, SIGKILL);
	wait_until(deaths(&ea) == 1);
	peers_buried(a, 2, false); /* could not be made durable */
	wait_until(deaths(&ea) == 2);
	assert_true(ea.dead[1].crashed);
	polls = read_int(&ea, &ea.polls);
	wait_until(read_int(&ea, &ea.polls) > polls + 2);
	assert_int_equal(deaths(&ea), 2); /* but not without being asked to */
	assert_true(file_there(2, "lock"));
	assert_int_equal(peers_state(place.db, 2), PEERS_DEAD);
	peers_buried(a, 2, true);
	wait_until(!file_there(2, "lock") && !file_there(2, "sock"));
	assert_int_equal(peers_state(place.db, 2), PEERS_ABSENT);
	assert_int_equal(deaths(&ea), 2);
	peers_leave(a);
}

static void test_peer_that_was_dead_before__is_told_at_the_join(void **state)
{
	struct spec spec = {.instance = 2};
	struct ear ea;
	struct peers *a;
	struct child c;

	(void)state;
	start_peer(&c, &spec);
	child_end(&c, SIGKILL);
	a = join_as(3, &ea);
	wait_until(deaths(&ea) == 1);
	assert_int_equal(ea.dead[0].instance, 2);
	assert_true(ea.dead[0].crashed);
	peers_leave(a);
}

static void test_peer_of_an_earlier_boot__is_dead_but_no_crash(void **state)
{
	struct spec spec = {.instance = 2};
	struct ear ea;
	struct peers *a;
	struct child c;
	char path[PATH_MAX + 32];
	int fd;

	(void)state;
	start_peer(&c, &spec);
	child_end(&c, SIGKILL);
	snprintf(path, sizeof(path), "%s.d/inst-2.lock", place.db);
	fd = open(path, O_RDWR);
	assert_int_equal(pwrite(fd, "00000000", 8,
				offsetof(struct instance_header, boot_id)),
			 8);
	close(fd);
	a = join_as(3, &ea);
	wait_until(deaths(&ea) == 1);
	assert_int_equal(ea.dead[0].instance, 2);
	assert_false(ea.dead[0].crashed);
	peers_leave(a);
}

static void test_draining_peer__dies_without_a_crash(void **state)
{
	struct spec spec = {.instance = 2, .draining = true};
	struct ear ea;
	struct peers *a = join_as(1, &ea);
	struct child c;

	(void)state;
	start_peer(&c, &spec);
	child_end(&c, SIGKILL);
	wait_until(deaths(&ea) == 1);
	assert_false(ea.dead[0].crashed);
	peers_leave(a);
}

static void test_peer_that_leaves__is_not_told(void **state)
{
	struct spec leaver = {.instance = 2}, victim = {.instance = 3};
	struct ear ea;
	struct peers *a = join_as(1, &ea);
	struct child c, d;

	(void)state;
	start_peer(&c, &leaver);
	wait_for_peers(a, 1);
	child_tell(&c, 'l');
	assert_int_equal(child_hear(&c), 'l');
	assert_false(file_there(2, "lock"));
	assert_false(file_there(2, "sock"));
	child_end(&c, SIGKILL);
	/* The next death is the first that is told. */
	start_peer(&d, &victim);
	child_end(&d, SIGKILL);
	wait_until(deaths(&ea) > 0);
	assert_int_equal(ea.dead[0].instance, 3);
	peers_leave(a);
}

static void test_forked_child_of_a_peer__does_not_keep_it_alive(void **state)
{
	struct spec spec = {.instance = 2, .forks = true};
	struct ear ea;
	struct peers *a = join_as(1, &ea);
	struct child c;

	(void)state;
	start_peer(&c, &spec);
	kill(c.pid, SIGKILL);
	waitpid(c.pid, NULL, 0);
	assert_int_equal(peers_state(place.db, 2), PEERS_DEAD);
	wait_until(deaths(&ea) == 1);
	peers_buried(a, 2, true);
	wait_until(!file_there(2, "lock"));
	close(c.in); /* the grandchild ends */
	close(c.out);
	peers_leave(a);
}

/* ---- silence ---- */

static int64_t lease_left(int64_t instance)
{
	struct peers_info *list = NULL;
	int64_t left = INT64_MIN;
	size_t n = 0;

	assert_int_equal(peers_list(place.db, &list, &n, NULL), BIDE_OK);
	for (size_t i = 0; i < n; i++)
		if (list[i].instance == instance)
			left = list[i].lease_left_ms;
	free(list);
	return left;
}

static void test_stopped_peer__is_told_after_its_lease_and_again(void **state)
{
	struct spec spec = {.instance = 2, .lease_ms = 600};
	struct peers_options opt;
	struct ear ea;
	struct peers *a;
	struct child c;

	(void)state;
	ear_init(&ea);
	opt = options(1, &ea);
	opt.lease_ms = spec.lease_ms;
	a = join(&opt);
	start_peer(&c, &spec);
	wait_for_peers(a, 1);
	for (size_t round = 0; round < 2; round++) {
		int64_t not_before;

		child_stop(&c);
		not_before = real_ms() + lease_left(2);
		wait_until(deaths(&ea) == round + 1);
		assert_int_equal(ea.dead[round].instance, 2);
		assert_false(ea.dead[round].crashed);
		assert_true(ea.dead[round].at_ms >= not_before);
		peers_buried(a, 2, true); /* of a live one: no effect */
		kill(c.pid, SIGCONT);
		wait_until(peers_state(place.db, 2) == PEERS_ALIVE);
		wait_for_peers(a, 1); /* a peer as before */
		assert_true(file_there(2, "lock"));
	}
	child_end(&c, SIGKILL);
	wait_until(deaths(&ea) == 3);
	assert_true(ea.dead[2].crashed);
	peers_leave(a);
}

/* What kept the reaper may have kept the peer: both go on at the same time,
 * and the peer must have the time to beat. */
static void test_late_reaper__does_not_reap(void **state)
{
	struct spec reaper = {
		.instance = 1, .lease_ms = 900, .poll_ms = 20, .tells = true};
	struct spec peer = {.instance = 2, .lease_ms = 900};
	struct child r, c;
	int64_t from;

	(void)state;
	start_peer(&r, &reaper);
	start_peer(&c, &peer);
	/* It judges nobody in its first half lease either. */
	from = real_ms();
	wait_until(real_ms() - from > reaper.lease_ms);
	child_stop(&r);
	child_stop(&c);
	wait_until(peers_state(place.db, 2) == PEERS_SILENT);
	/* It looks at everything first and would judge a moment later; the
	 * peer goes on between the two. */
	kill(r.pid, SIGCONT);
	assert_int_equal(child_hear(&r), 'E');
	kill(c.pid, SIGCONT);
	from = real_ms();
	wait_until(real_ms() - from > reaper.lease_ms); /* judging again */
	kill(c.pid, SIGKILL);
	assert_int_equal(child_hear(&r), 'C'); /* and no 'D' before */
	child_end(&c, 0);
	child_end(&r, SIGKILL);
}

static void test_fault__lets_a_lease_run_out(void **state)
{
	struct spec spec = {
		.instance = 2, .lease_ms = 300, .fault = "peers.beat:0:fail"};
	struct peers_options opt;
	struct ear ea;
	struct peers *a;
	struct child c;

	(void)state;
	ear_init(&ea);
	opt = options(1, &ea);
	opt.lease_ms = 300;
	a = join(&opt);
	start_peer(&c, &spec);
	wait_until(deaths(&ea) == 1);
	assert_false(ea.dead[0].crashed);
	assert_int_equal(waitpid(c.pid, NULL, WNOHANG), 0); /* it lives */
	child_end(&c, SIGKILL);
	peers_leave(a);
}

static void test_blocked_callback__costs_no_lease(void **state)
{
	struct peers_options opt;
	struct ear eb;
	struct peers *b;
	int64_t from = real_ms();

	(void)state;
	ear_init(&eb);
	opt = options(2, &eb);
	opt.lease_ms = 400;
	atomic_store(&eb.block, true);
	b = join(&opt);
	wait_until(atomic_load(&eb.blocked));
	/* Two leases long; the machine may be slow, so the best look counts. */
	wait_until(real_ms() - from > 800 &&
		   peers_state(place.db, 2) == PEERS_ALIVE);
	atomic_store(&eb.block, false);
	peers_leave(b);
}

static void test_poll__comes_without_a_bell(void **state)
{
	struct ear ea;
	struct peers *a = join_as(1, &ea);

	(void)state;
	wait_until(read_int(&ea, &ea.polls) >= 3);
	peers_leave(a);
}

/* ---- the files ---- */

static void test_removed_files__are_made_again(void **state)
{
	const int64_t task = 42;
	char path[PATH_MAX + 8], away[PATH_MAX];
	struct ear ea, eb;
	struct peers *a, *b;

	(void)state;
	a = join_as(1, &ea);
	b = join_as(2, &eb);
	peers_set_idle(b, 1);
	peers_interest_add(b, task);
	wait_for_peers(a, 1);
	snprintf(path, sizeof(path), "%s.d", place.db);
	assert_true(snprintf(away, sizeof(away), "%s/away", place.dir) > 0);
	assert_int_equal(rename(path, away), 0);
	wait_until(peers_state(place.db, 1) == PEERS_ALIVE &&
		   peers_state(place.db, 2) == PEERS_ALIVE);
	/* What it said stands in the new file, and it hears the bell there. */
	empty_dir(away);
	pthread_mutex_lock(&eb.lock);
	eb.ntasks = 0;
	pthread_mutex_unlock(&eb.lock);
	wait_until(peers_ring(a, &task, 1, NULL, 0) == 0 &&
		   heard_task(&eb, task));
	wait_for_peers(a, 1);
	assert_int_equal(deaths(&ea) + deaths(&eb), 0);
	peers_interest_drop(b, task);
	peers_leave(b);
	assert_false(file_there(2, "lock"));
	peers_leave(a);
}

/* The new file holds as the old one did. */
static void test_removed_file_of_one_that_dies__is_no_hiding_place(void **state)
{
	struct spec spec = {.instance = 2};
	char path[PATH_MAX + 32];
	struct ear ea;
	struct peers *a = join_as(1, &ea);
	struct child c;

	(void)state;
	start_peer(&c, &spec);
	wait_for_peers(a, 1);
	snprintf(path, sizeof(path), "%s.d/inst-2.lock", place.db);
	assert_int_equal(unlink(path), 0);
	wait_until(peers_state(place.db, 2) == PEERS_ALIVE);
	child_end(&c, SIGKILL);
	wait_until(deaths(&ea) == 1);
	assert_true(ea.dead[0].crashed);
	peers_buried(a, 2, true);
	wait_until(peers_state(place.db, 2) == PEERS_ABSENT);
	peers_leave(a);
}

/* ---- numbers and looks ---- */

static void test_number_in_use__is_refused(void **state)
{
	struct spec spec = {.instance = 2};
	struct bide_error e = {0};
	struct ear ea;
	struct peers_options opt = options(2, &ea);
	struct peers *a = NULL;
	struct child c;

	(void)state;
	ear_init(&ea);
	start_peer(&c, &spec);
	assert_int_equal(peers_join(&opt, &a, &e), BIDE_CONFLICT);
	assert_int_equal(peers_state(place.db, 2), PEERS_ALIVE);
	assert_true(file_there(2, "sock"));
	child_end(&c, SIGKILL);
	a = join(&opt); /* a dead one's is taken over */
	assert_int_equal(peers_state(place.db, 2), PEERS_ALIVE);
	peers_leave(a);
}

static void test_list__shows_the_living_and_the_dead(void **state)
{
	struct spec dead = {.instance = 12},
		    drains = {.instance = 3, .draining = true};
	struct peers_info *list = NULL;
	struct child c, d;
	size_t n = 9;

	(void)state;
	assert_int_equal(peers_list(place.db, &list, &n, NULL), BIDE_OK);
	assert_int_equal(n, 0);
	assert_null(list);
	start_peer(&c, &dead);
	start_peer(&d, &drains);
	child_end(&c, SIGKILL);
	assert_int_equal(peers_list(place.db, &list, &n, NULL), BIDE_OK);
	assert_int_equal(n, 2);
	assert_int_equal(list[0].instance, 3);
	assert_int_equal(list[0].state, PEERS_ALIVE);
	assert_true(list[0].draining);
	assert_int_equal(list[0].pid, d.pid);
	assert_int_equal(list[0].idle, 1);
	assert_in_range(list[0].lease_left_ms, 1, LEASE_MS);
	assert_string_equal(list[0].name, "child");
	assert_int_equal(list[1].instance, 12);
	assert_int_equal(list[1].state, PEERS_DEAD);
	free(list);
	child_end(&d, SIGKILL);
}

static void test_options__are_checked(void **state)
{
	struct ear ea;
	struct peers_options opt = options(0, &ea);
	struct peers *a = NULL;

	(void)state;
	assert_int_equal(peers_join(&opt, &a, NULL), BIDE_INVALID);
	opt = options(1, &ea);
	opt.lease_ms = 1;
	assert_int_equal(peers_join(&opt, &a, NULL), BIDE_INVALID);
	opt = options(1, &ea);
	opt.db = "/no/such/database";
	assert_int_equal(peers_join(&opt, &a, NULL), BIDE_NOT_FOUND);
	assert_null(a);
}

int main(int argc, char **argv)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_killed_peer__is_noticed_at_once),
		TEST(test_dead_peer__is_told_until_buried),
		TEST(test_peer_that_was_dead_before__is_told_at_the_join),
		TEST(test_peer_of_an_earlier_boot__is_dead_but_no_crash),
		TEST(test_draining_peer__dies_without_a_crash),
		TEST(test_peer_that_leaves__is_not_told),
		TEST(test_forked_child_of_a_peer__does_not_keep_it_alive),
		TEST(test_stopped_peer__is_told_after_its_lease_and_again),
		TEST(test_late_reaper__does_not_reap),
		TEST(test_fault__lets_a_lease_run_out),
		TEST(test_blocked_callback__costs_no_lease),
		TEST(test_poll__comes_without_a_bell),
		TEST(test_removed_files__are_made_again),
		TEST(test_removed_file_of_one_that_dies__is_no_hiding_place),
		TEST(test_number_in_use__is_refused),
		TEST(test_list__shows_the_living_and_the_dead),
		TEST(test_options__are_checked),
	};

	if (argc > 1)
		return peer_main(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
