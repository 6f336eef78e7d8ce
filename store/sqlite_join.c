/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/error.h"
#include "server/base/log.h"
#include "server/base/metrics.h"
#include "store/sqlite_txn.h"

/*
 * Joining as an instance, the peers' callbacks, leaving. The row of an
 * instance is its number and its history; whether it lives is told by its
 * files (sqlite_peers.h).
 */

#define JOB_MS     15000
#define RECKON_MS  5000 /* between looks for owners without files */
#define JOINING_MS 60000

struct join_job {
	struct store_job job;
	const char *name;
	int64_t number;
};

static void add_instance(struct txn *t, struct store_job *job)
{
	struct join_job *j = (struct join_job *)job;

	if (sql_run(t->c, SQL_INSTANCE_ADD, "sisi", j->name, (int64_t)getpid(),
		    clock_boot_id(), t->now_ms) == 1)
		j->number = sqlite3_last_insert_rowid(t->c->db);
}

struct end_job {
	struct store_job job;
	int64_t instance;
	bool crashed, reap, ended, leaving;
	size_t returned;
	int64_t claims;
};

static void end_instance(struct txn *t, struct store_job *job)
{
	struct end_job *j = (struct end_job *)job;
	struct store_op op = {.kind = STORE_OP_REAP};

	if (j->reap) {
		op.u.reap.instance = j->instance;
		op.u.reap.crashed = j->crashed;
		op_reap(t, &op);
		j->returned = op.u.reap.ret_returned;
	}
	if (j->leaving)
		j->claims = sql_int(t->c, 0, SQL_OWNER_HAS, "i", j->instance);
	if (j->ended && !j->claims)
		sql_run(t->c, SQL_INSTANCE_END, "iii", j->instance, t->now_ms,
			(int64_t)j->crashed);
}

/* False: not durable, to be asked again. */
static bool reap(struct store *s, int64_t instance, bool crashed, bool ended)
{
	struct end_job j = {.job.run = end_instance,
			    .instance = instance,
			    .crashed = crashed,
			    .reap = true,
			    .ended = ended};

	if (writer_job(s, &j.job, JOB_MS) != BIDE_OK)
		return false;
	metric_add(METRIC_PEERS_REAPED, 1);
	log_warn("store.instance_reaped",
		 "instance=%lld crashed=%d ended=%d tasks=%zu",
		 (long long)instance, crashed, ended, j.returned);
	return true;
}

/* ---- on the bell thread ---- */

static void signal_all(struct store *s)
{
	if (!s->watch_fn)
		return;
	s->watch_fn(s->watch_user, STORE_SIGNAL_TASK, 0);
	s->watch_fn(s->watch_user, STORE_SIGNAL_WORK, 0);
}

static void on_bell(void *user, const int64_t *tasks, size_t n, bool work,
		    bool everything)
{
	struct store *s = user;

	if (everything) {
		signal_all(s);
		return;
	}
	if (!s->watch_fn)
		return;
	for (size_t i = 0; i < n; i++)
		s->watch_fn(s->watch_user, STORE_SIGNAL_TASK, tasks[i]);
	if (work)
		s->watch_fn(s->watch_user, STORE_SIGNAL_WORK, 0);
}

/* The peers' thread runs before peers_join() has returned. */
static struct peers *peers_of(struct store *s)
{
	struct peers *p;

	mutex_lock(&s->lock);
	for (int i = 0; !(p = s->peers) && !s->leaving && i < 500; i++)
		cond_wait_ms(&s->slept, &s->lock, 10);
	mutex_unlock(&s->lock);
	return p;
}

static void on_dead(void *user, int64_t instance, bool crashed)
{
	struct store *s = user;
	enum peers_state state = peers_state(s->path, instance);
	bool ended = state == PEERS_DEAD || state == PEERS_ABSENT;
	bool durable = reap(s, instance, crashed, ended);
	struct peers *p = ended ? peers_of(s) : NULL;

	if (p)
		peers_buried(p, instance, durable);
}

/*
 * Its row says how it ended, if it said so; a row of another boot is no
 * crash's. One that is just joining has a row before it has a file.
 */
static void reckon_with(struct store *s, struct sql *c, int64_t instance)
{
	bool crashed = false, joining = false;
	sqlite3_stmt *st;

	if (instance == s->instance ||
	    peers_state(s->path, instance) != PEERS_ABSENT)
		return;
	if (sql_query(c, &st, SQL_INSTANCE_GET, "i", instance) == SQL_ROW) {
		crashed = sqlite3_column_type(st, 1) == SQLITE_NULL &&
			  strcmp(sql_str(st, 0), clock_boot_id()) == 0;
		joining = crashed &&
			  store_now_ms(s) - sql_i64(st, 2) < JOINING_MS;
		sql_reset(st);
	}
	if (!joining)
		reap(s, instance, crashed, true);
}

/*
 * Owners and instances without a file: somebody removed the directory, or one
 * left with claims. Those with a file are the peers' to tell.
 */
static void reckon(struct store *s, struct sql *c)
{
	int64_t id = 0;

	while ((id = sql_int(c, 0, SQL_OWNER_NEXT, "i", id)) != 0)
		reckon_with(s, c, id);
	id = 0;
	while ((id = sql_int(c, 0, SQL_INSTANCE_NEXT_LIVE, "i", id)) != 0)
		reckon_with(s, c, id);
}

static void on_poll(void *user)
{
	struct store *s = user;
	int64_t version, now = clock_boot_ms();

	sql_clear(&s->poll);
	version = sql_int(&s->poll, s->poll_version, SQL_DATA_VERSION, "");
	if (version != s->poll_version) {
		s->poll_version = version;
		signal_all(s);
	}
	if (now - s->reckoned_ms >= RECKON_MS) {
		s->reckoned_ms = now;
		reckon(s, &s->poll);
	}
}

/* ---- joining ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool copy_tools(struct store *s, const char *const *tools, size_t n)
{
	s->tools = calloc(n ? n : 1, sizeof *s->tools);
	s->tool_hash = calloc(n ? n : 1, sizeof *s->tool_hash);
	if (!s->tools || !s->tool_hash)
		return false;
	for (; s->ntools < n; s->ntools++) {
		s->tools[s->ntools] = strdup(tools[s->ntools]);
		if (!s->tools[s->ntools])
			return false;
	}
	qsort(s->tools, n, sizeof *s->tools, by_name);
	for (size_t i = 0; i < n; i++)
		s->tool_hash[i] = peers_tool_hash(s->tools[i]);
	return true;
}

static enum bide_rc take_number(struct store *s, const char *name, int64_t *ret,
				struct bide_error *reterr)
{
	struct join_job j = {.job.run = add_instance, .name = name};

	if (writer_job(s, &j.job, JOB_MS) != BIDE_OK)
		return error_set(reterr, BIDE_IO,
				 "%s cannot be written: see the log", s->path);
	*ret = j.number;
	return BIDE_OK;
}

static enum bide_rc start_peers(struct store *s, int64_t number,
				const char *name, struct bide_error *reterr)
{
	struct peers_options opt = {
		.db = s->path,
		.instance = number,
		.name = name,
		.tools = (const char *const *)s->tools,
		.ntools = s->ntools,
		.lease_ms = s->lease_ms,
		.poll_ms = s->poll_ms,
		.on_bell = on_bell,
		.on_poll = on_poll,
		.on_dead = on_dead,
		.user = s,
	};
	struct peers *p = NULL;
	enum bide_rc rc;

	rc = peers_join(&opt, &p, reterr);
	if (rc != BIDE_OK)
		return rc;
	interest_publish(s, p);
	peers_set_idle(p, s->idle);
	if (s->draining)
		peers_set_draining(p);
	return BIDE_OK;
}

enum bide_rc store_join(struct store *s, const char *const *tools,
			size_t ntools, const char *name,
			struct bide_error *reterr)
{
	int64_t number = 0;
	enum bide_rc rc;

	if (s->read_only || s->instance)
		return error_set(reterr, BIDE_MISUSE,
				 s->read_only ? "opened for reading only"
					      : "joined already");
	if (!copy_tools(s, tools, ntools))
		return error_set(reterr, BIDE_NOMEM, "out of memory");
	rc = sql_open(&s->poll, s->path, SQLITE_OPEN_READONLY, reterr);
	if (rc == BIDE_OK)
		rc = take_number(s, name, &number, reterr);
	if (rc != BIDE_OK)
		return rc;
	s->instance = number;
	reckon(s, &s->poll);
	s->reckoned_ms = clock_boot_ms();
	rc = start_peers(s, number, name, reterr);
	if (rc != BIDE_OK)
		s->instance = 0;
	return rc;
}

/*
 * False: claims of this instance are left, which only its end gives back.
 * The job is a barrier too: once it is through, the writer rings no more.
 */
bool join_leave(struct store *s, int64_t grace_ms)
{
	struct end_job j = {.job.run = end_instance,
			    .instance = s->instance,
			    .ended = true,
			    .leaving = true};
	struct peers *p = s->peers;

	if (s->instance == 0)
		return true;
	store_set_draining(s);
	s->leaving = true;
	s->peers = NULL;
	writer_job(s, &j.job, grace_ms > 1000 ? grace_ms : 1000);
	if (j.claims)
		return false;
	peers_leave(p);
	return true;
}

int64_t store_instance(const struct store *s)
{
	return s->instance;
}

void store_set_idle(struct store *s, int idle)
{
	struct peers *p = s->peers;

	s->idle = idle;
	if (p)
		peers_set_idle(p, idle);
}

void store_set_draining(struct store *s)
{
	struct peers *p = s->peers;

	s->draining = true;
	if (p)
		peers_set_draining(p);
}
