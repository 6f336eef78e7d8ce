/* SPDX-License-Identifier: MIT */
#include "tests/unit/store/forked.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "server/base/clock.h"
#include "server/base/fault.h"
#include "store/sqlite_instance_file.h"
#include "store/sqlite_peers.h"

#define LEASE_MS 20000 /* where no lease should run out */
#define POLL_MS  50
/* Longer than the 107 bytes of a socket's address. */
#define LONG                                                                   \
	"a-directory-whose-name-alone-is-longer-than-any-address-of-a-"        \
	"unix-socket-may-be-so-that-it-is-reached-by-a-descriptor"

static struct place place;

/* ---- what a peer in this process was told ---- */

struct ear {
	pthread_mutex_t lock;
	int bells, work, everything, polls;
	int64_t tasks[256];
	size_t ntasks;
	struct {
		int64_t instance;
		bool crashed;
		int64_t at_ms;
	} dead[16];
	size_t ndead;
	atomic_bool block; /* hold the bell thread in its next callback */
	atomic_bool blocked;
};

static void hear_bell(void *user, const int64_t *tasks, size_t n, bool work,
		      bool everything)
{
	struct ear *e = user;

	pthread_mutex_lock(&e->lock);
	e->bells++;
	e->work += work;
	e->everything += everything;
	for (size_t i = 0; i < n && e->ntasks < 256; i++)
		e->tasks[e->ntasks++] = tasks[i];
	pthread_mutex_unlock(&e->lock);
	while (atomic_load(&e->block)) {
		atomic_store(&e->blocked, true);
		nap_us(500);
	}
}

static void hear_poll(void *user)
{
	struct ear *e = user;

	pthread_mutex_lock(&e->lock);
	e->polls++;
	pthread_mutex_unlock(&e->lock);
}

static void hear_dead(void *user, int64_t instance, bool crashed)
{
	struct ear *e = user;

	pthread_mutex_lock(&e->lock);
	assert_true(e->ndead < 16);
	e->dead[e->ndead].instance = instance;
	e->dead[e->ndead].at_ms = real_ms();
	e->dead[e->ndead++].crashed = crashed;
	pthread_mutex_unlock(&e->lock);
}

static int read_int(struct ear *e, const int *field)
{
	int v;

	pthread_mutex_lock(&e->lock);
	v = *field;
	pthread_mutex_unlock(&e->lock);
	return v;
}

static size_t deaths(struct ear *e)
{
	size_t n;

	pthread_mutex_lock(&e->lock);
	n = e->ndead;
	pthread_mutex_unlock(&e->lock);
	return n;
}

static bool heard_task(struct ear *e, int64_t task)
{
	bool found = false;

	pthread_mutex_lock(&e->lock);
	for (size_t i = 0; i < e->ntasks; i++)
		found |= e->tasks[i] == task;
	pthread_mutex_unlock(&e->lock);
	return found;
}

static const char *const tool_x[] = {"tool_x"};

static struct peers_options options(int64_t instance, struct ear *e)
{
	return (struct peers_options){
		.db = place.db,
		.instance = instance,
		.name = "peer",
		.tools = tool_x,
		.ntools = 1,
		.lease_ms = LEASE_MS,
		.poll_ms = POLL_MS,
		.on_bell = hear_bell,
		.on_poll = hear_poll,
		.on_dead = hear_dead,
		.user = e,
	};
}

static void ear_init(struct ear *e)
{
	memset(e, 0, sizeof(*e));
	pthread_mutex_init(&e->lock, NULL);
}

static struct peers *join(const struct peers_options *opt)
{
	struct ear *e = opt->user;
	struct peers *p = NULL;
	struct bide_error err = {0};

	assert_int_equal(peers_join(opt, &p, &err), BIDE_OK);
	wait_until(read_int(e, &e->everything) > 0); /* the first look */
	return p;
}

static struct peers *join_as(int64_t instance, struct ear *e)
{
	struct peers_options opt = options(instance, e);

	ear_init(e);
	return join(&opt);
}

/* Until @p has seen @n others: who rings nobody rings 0 for work. */
static void wait_for_peers(struct peers *p, size_t n)
{
	uint64_t work[8];

	for (size_t i = 0; i < n; i++)
		work[i] = peers_tool_hash("tool_x");
	wait_until(peers_ring(p, NULL, 0, work, n) == n);
}

/* ---- peers in other processes ---- */

struct spec {
	int64_t instance;
	int64_t lease_ms;
	int64_t poll_ms;
	bool draining;
	const char *fault;
	bool forks; /* leaves a child that does not exec */
	bool tells; /* says 'E' when it is to look at everything */
};

static int say_fd;

static void say(char what)
{
	if (write(say_fd, &what, 1) != 1)
		_exit(3);
}

static void say_bell(void *user, const int64_t *tasks, size_t n, bool work,
		     bool everything)
{
	const struct spec *spec = user;

	(void)tasks, (void)n, (void)work;
	if (everything && spec->tells)
		say('E');
}

static atomic_int child_polls;

static void count_poll(void *user)
{
	(void)user;
	atomic_fetch_add(&child_polls, 1);
}

static void say_dead(void *user, int64_t instance, bool crashed)
{
	(void)user, (void)instance;
	say(crashed ? 'C' : 'D');
}

static void arm(const char *fault)
{
	char errtext[128];

	if (fault_arm(fault, errtext, sizeof(errtext)))
		_exit(4);
}

/* Task 5, which a fault loses on the way, then everything. */
static void ring_twice(struct peers *p)
{
	const int64_t task = 5;

	while (!atomic_load(&child_polls)) /* it knows the other by then */
		nap_us(500);
	peers_ring(p, &task, 1, NULL, 0);
	peers_ring_all(p);
}

static void be_peer(struct child_side *s, struct spec *spec)
{
	struct peers_options opt = {.db = place.db,
				    .instance = spec->instance,
				    .name = "child",
				    .tools = tool_x,
				    .ntools = 1,
				    .lease_ms = spec->lease_ms,
				    .poll_ms = spec->poll_ms,
				    .on_bell = say_bell,
				    .on_poll = count_poll,
				    .on_dead = say_dead,
				    .user = spec};
	struct peers *p = NULL;

	say_fd = s->out;
	if (spec->fault)
		arm(spec->fault);
	if (peers_join(&opt, &p, NULL))
		_exit(5);
	peers_set_idle(p, 1);
	if (spec->draining)
		peers_set_draining(p);
	if (spec->forks && fork() == 0) {
		prctl(PR_SET_PDEATHSIG, 0);
		say('f');
		child_wait(s);
		_exit(0);
	}
	say('j');
	switch (child_wait(s)) {
	case 'l':
		peers_leave(p);
		say('l');
		break;
	case 'r':
		ring_twice(p);
		break;
	}
	child_wait(s);
}

static void launch(struct child *c, struct spec *spec)
{
	char text[128];

	if (!spec->lease_ms)
		spec->lease_ms = LEASE_MS;
	if (!spec->poll_ms)
		spec->poll_ms = POLL_MS;
	snprintf(text, sizeof(text), "%lld %lld %lld %d %d %d %s",
		 (long long)spec->instance, (long long)spec->lease_ms,
		 (long long)spec->poll_ms, spec->draining, spec->forks,
		 spec->tells, spec->fault ? spec->fault : "-");
	child_exec(c, place.db, text);
}

/* This program, started by launch(). */
static int peer_main(char **argv)
{
	struct child_side s = child_side_of(argv);
	long long instance, lease, poll;
	int draining, forks, tells;
	char fault[64];
	struct spec spec;

	if (sscanf(argv[3], "%lld %lld %lld %d %d %d %63s", &instance, &lease,
		   &poll, &draining, &forks, &tells, fault) != 7)
		return 9;
	spec = (struct spec){.instance = instance,
			     .lease_ms = lease,
			     .poll_ms = poll,
			     .draining = draining,
			     .forks = forks,
			     .tells = tells,
			     .fault = strcmp(fault, "-") ? fault : NULL};
	snprintf(place.db, sizeof(place.db), "%s", argv[2]);
	be_peer(&s, &spec);
	return 0;
}

/* What it says first comes in any order. */
static void start_peer(struct child *c, struct spec *spec)
{
	int sum = 'j' + (spec->forks ? 'f' : 0) + (spec->tells ? 'E' : 0);

	launch(c, spec);
	for (int i = 0; i < 1 + spec->forks + spec->tells; i++)
		sum -= child_hear(c);
	assert_int_equal(sum, 0);
}

static bool file_there(int64_t instance, const char *end)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s.d/inst-%lld.%s", place.db,
		 (long long)instance, end);
	return access(path, F_OK) == 0;
}

static int setup(void **state)
{
	(void)state;
	place_make(&place, LONG);
	assert_true(strlen(place.dir) > 107);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	place_remove(&place, LONG);
	return 0;
}

/* ---- the bell ---- */

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
		TEST(test_bell__reaches_who_watches_the_task),
		TEST(test_bell__is_not_rung_without_interest),
		TEST(test_bell__tells_everything_for_many_tasks),
		TEST(test_work__rings_one_idle_capable_peer),
		TEST(test_work__rings_in_rotation),
		TEST(test_full_queue__makes_the_next_look_for_everything),
		TEST(test_stale_socket__is_no_error_and_work_goes_elsewhere),
		TEST(test_fault__drops_one_datagram),
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
