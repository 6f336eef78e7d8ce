/* SPDX-License-Identifier: MIT */
#include "tests/unit/store/lib/peer.h"

#include "server/base/fault.h"

/* Longer than the 107 bytes of a socket's address. */
#define LONG                                                                   \
	"a-directory-whose-name-alone-is-longer-than-any-address-of-a-"        \
	"unix-socket-may-be-so-that-it-is-reached-by-a-descriptor"

struct place place;

/* ---- what a peer in this process was told ---- */

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

int read_int(struct ear *e, const int *field)
{
	int v;

	pthread_mutex_lock(&e->lock);
	v = *field;
	pthread_mutex_unlock(&e->lock);
	return v;
}

size_t deaths(struct ear *e)
{
	size_t n;

	pthread_mutex_lock(&e->lock);
	n = e->ndead;
	pthread_mutex_unlock(&e->lock);
	return n;
}

bool heard_task(struct ear *e, int64_t task)
{
	bool found = false;

	pthread_mutex_lock(&e->lock);
	for (size_t i = 0; i < e->ntasks; i++)
		found |= e->tasks[i] == task;
	pthread_mutex_unlock(&e->lock);
	return found;
}

const char *const tool_x[] = {"tool_x"};

struct peers_options options(int64_t instance, struct ear *e)
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

void ear_init(struct ear *e)
{
	memset(e, 0, sizeof(*e));
	pthread_mutex_init(&e->lock, NULL);
}

struct peers *join(const struct peers_options *opt)
{
	struct ear *e = opt->user;
	struct peers *p = NULL;
	struct bide_error err = {0};

	assert_int_equal(peers_join(opt, &p, &err), BIDE_OK);
	wait_until(read_int(e, &e->everything) > 0); /* the first look */
	return p;
}

struct peers *join_as(int64_t instance, struct ear *e)
{
	struct peers_options opt = options(instance, e);

	ear_init(e);
	return join(&opt);
}

/* Until @p has seen @n others: who rings nobody rings 0 for work. */
void wait_for_peers(struct peers *p, size_t n)
{
	uint64_t work[8];

	for (size_t i = 0; i < n; i++)
		work[i] = peers_tool_hash("tool_x");
	wait_until(peers_ring(p, NULL, 0, work, n) == n);
}

/* ---- peers in other processes ---- */

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
int peer_main(char **argv)
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
void start_peer(struct child *c, struct spec *spec)
{
	int sum = 'j' + (spec->forks ? 'f' : 0) + (spec->tells ? 'E' : 0);

	launch(c, spec);
	for (int i = 0; i < 1 + spec->forks + spec->tells; i++)
		sum -= child_hear(c);
	assert_int_equal(sum, 0);
}

int setup(void **state)
{
	(void)state;
	place_make(&place, LONG);
	assert_true(strlen(place.dir) > 107);
	return 0;
}

int teardown(void **state)
{
	(void)state;
	place_remove(&place, LONG);
	return 0;
}
