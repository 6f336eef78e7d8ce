/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/limits.h"
#include "server/base/metrics.h"
#include "server/dispatch/core.h"

struct seat {
	struct seat *next;
	size_t waits;
	size_t listeners;
	size_t turns; /* given; as many as there may be: */
	struct job *waiting, **waiting_last; /* and these get the next ones */
	int64_t rested_ms; /* boot clock: no completion counts any more */
	char principal[];
};

static size_t bucket(const char *principal)
{
	uint32_t h = 2166136261U;

	for (; *principal != '\0'; principal++)
		h = (h ^ (unsigned char)*principal) * 16777619U;
	return h & 255U;
}

static bool seat_used(const struct seat *s)
{
	return s->waits > 0 || s->listeners > 0 || s->turns > 0 ||
	       s->rested_ms > clock_boot_ms();
}

/* Those whose completions were all that kept them go as others come by. */
static struct seat *seat_find_locked(struct seat **at, const char *principal)
{
	struct seat *s;

	while ((s = *at) != NULL) {
		if (strcmp(s->principal, principal) == 0)
			return s;
		if (seat_used(s)) {
			at = &s->next;
		} else {
			*at = s->next;
			free(s);
		}
	}
	return NULL;
}

static struct seat *seat_get_locked(struct dispatch *d, const char *principal)
{
	struct seat **head = &d->seats[bucket(principal)];
	size_t len = strlen(principal);
	struct seat *s = seat_find_locked(head, principal);

	if (s != NULL)
		return s;
	s = calloc(1, sizeof(*s) + len + 1);
	if (s == NULL)
		return NULL;
	memcpy(s->principal, principal, len + 1);
	s->waiting_last = &s->waiting;
	s->next = *head;
	*head = s;
	return s;
}

static void seat_drop_locked(struct dispatch *d, struct seat *s)
{
	struct seat **at = &d->seats[bucket(s->principal)];

	if (seat_used(s))
		return;
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	free(s);
}

static bool take_locked(struct pending *p)
{
	struct dispatch *d = p->d;
	struct seat *s = seat_get_locked(d, p->rq->principal);

	if (s == NULL)
		return false;
	if (p->kind == PENDING_LISTEN
		    ? s->listeners >= LIMIT_LISTENERS_PER_PRINCIPAL
		    : s->waits >= d->opt.max_waits_per_principal) {
		seat_drop_locked(d, s);
		return false;
	}
	if (p->kind == PENDING_LISTEN)
		s->listeners++;
	else
		s->waits++;
	p->seat = s;
	return true;
}

static void leave_locked(struct pending *p)
{
	struct seat *s = p->seat;

	if (s == NULL)
		return;
	p->seat = NULL;
	if (p->kind == PENDING_LISTEN)
		s->listeners--;
	else
		s->waits--;
	seat_drop_locked(p->d, s);
}

static void submit_locked(struct dispatch *d, struct job *job)
{
	pool_submit(engine_calls(d->opt.engine), job);
}

static void pass_turn_locked(struct pending *p)
{
	struct seat *s = p->turn;
	struct job *next;

	if (s == NULL)
		return;
	p->turn = NULL;
	next = s->waiting;
	if (next == NULL) {
		s->turns--;
		seat_drop_locked(p->d, s);
		return;
	}
	s->waiting = next->next;
	if (s->waiting == NULL)
		s->waiting_last = &s->waiting;
	submit_locked(p->d, next);
}

static void link_locked(struct pending *p)
{
	p->prev = NULL;
	p->next = p->d->first;
	if (p->next != NULL)
		p->next->prev = p;
	p->d->first = p;
	p->rq->priv = p;
}

static void unlink_locked(struct pending *p)
{
	if (p->next != NULL)
		p->next->prev = p->prev;
	if (p->prev != NULL)
		p->prev->next = p->next;
	else
		p->d->first = p->next;
	p->rq->priv = NULL;
}

bool pending_add(struct pending *p, struct dispatch *d, struct request *rq,
		 enum pending_kind kind, bool counted)
{
	bool room;

	p->d = d;
	p->rq = rq;
	p->kind = kind;
	mutex_lock(&d->lock);
	room = !counted || take_locked(p);
	if (room)
		link_locked(p);
	mutex_unlock(&d->lock);
	if (room && kind != PENDING_CALL)
		metric_add(kind == PENDING_WAIT ? METRIC_WAITERS
						: METRIC_LISTENERS,
			   1);
	return room;
}

bool pending_count(struct pending *p)
{
	bool room;

	mutex_lock(&p->d->lock);
	room = p->seat != NULL || take_locked(p);
	mutex_unlock(&p->d->lock);
	return room;
}

static void told_gone(enum pending_kind kind)
{
	if (kind != PENDING_CALL)
		metric_add(kind == PENDING_WAIT ? METRIC_WAITERS
						: METRIC_LISTENERS,
			   -1);
}

void pending_remove(struct pending *p)
{
	struct dispatch *d = p->d;

	mutex_lock(&d->lock);
	/* Only its own step removes it, so the timer is not firing now. */
	if (p->may_fire)
		(void)wake_timer_disarm(d->wake, &p->timer);
	p->may_fire = false;
	p->call = NULL;
	pass_turn_locked(p);
	leave_locked(p);
	unlink_locked(p);
	mutex_unlock(&d->lock);
	told_gone(p->kind);
}

void pending_replace(struct pending *old, struct pending *p,
		     enum pending_kind kind)
{
	struct dispatch *d = old->d;

	p->d = d;
	p->rq = old->rq;
	p->kind = kind;
	mutex_lock(&d->lock);
	p->closed = old->closed;
	p->seat = old->seat;
	old->seat = NULL;
	old->call = NULL;
	unlink_locked(old);
	link_locked(p);
	mutex_unlock(&d->lock);
	if (kind == PENDING_WAIT)
		metric_add(METRIC_WAITERS, 1);
}

static void fired(struct wake_timer *t)
{
	struct pending *p =
		(struct pending *)((char *)t - offsetof(struct pending, timer));
	struct dispatch *d = p->d;

	mutex_lock(&d->lock);
	p->may_fire = false;
	mutex_unlock(&d->lock);
	p->fire(p);
}

void pending_arm_locked(struct pending *p, int64_t at_ms)
{
	struct dispatch *d = p->d;

	mutex_assert_held(&d->lock);
	if (p->closed || atomic_load(&d->draining))
		at_ms = clock_boot_ms();
	p->may_fire = true;
	wake_timer_arm(d->wake, &p->timer, at_ms, fired);
}

void pending_arm(struct pending *p, int64_t at_ms)
{
	mutex_lock(&p->d->lock);
	pending_arm_locked(p, at_ms);
	mutex_unlock(&p->d->lock);
}

/* One whose timer is not armed looks at its flags when it arms it. */
static void poke_locked(struct pending *p)
{
	if (p->may_fire && wake_timer_disarm(p->d->wake, &p->timer))
		wake_timer_arm(p->d->wake, &p->timer, clock_boot_ms(), fired);
}

bool pending_closed(struct pending *p)
{
	bool closed;

	mutex_lock(&p->d->lock);
	closed = p->closed;
	mutex_unlock(&p->d->lock);
	return closed;
}

void pending_set_call(struct pending *p, struct bide_call *call)
{
	mutex_lock(&p->d->lock);
	p->call = call;
	mutex_unlock(&p->d->lock);
}

void pending_close(struct dispatch *d, struct request *rq)
{
	struct pending *p;

	mutex_lock(&d->lock);
	p = rq->priv;
	if (p != NULL && !p->closed) {
		p->closed = true;
		if (p->call != NULL)
			run_cancel(p->call, BIDE_CANCELLED);
		poke_locked(p);
	}
	mutex_unlock(&d->lock);
}

void pending_drain(struct dispatch *d)
{
	struct pending *p;

	mutex_lock(&d->lock);
	atomic_store(&d->draining, true);
	for (p = d->first; p != NULL; p = p->next)
		poke_locked(p);
	mutex_unlock(&d->lock);
}

void pending_take_turn(struct pending *p, struct job *job)
{
	struct dispatch *d = p->d;
	struct seat *s;

	mutex_lock(&d->lock);
	s = seat_get_locked(d, p->rq->principal);
	p->turn = s;
	if (s == NULL || s->turns < LIMIT_LOOKUPS_AT_ONCE) {
		if (s != NULL)
			s->turns++;
		submit_locked(d, job);
	} else {
		job->next = NULL;
		*s->waiting_last = job;
		s->waiting_last = &job->next;
	}
	mutex_unlock(&d->lock);
}

/* A bucket of tokens, kept as the time at which it is full again. */
bool pending_may_complete(struct dispatch *d, const char *principal,
			  int64_t now_ms)
{
	const int64_t each_ms = 1000 / LIMIT_COMPLETION_RATE;
	struct seat *s;
	int64_t from;
	bool may = false;

	mutex_lock(&d->lock);
	s = seat_get_locked(d, principal);
	if (s != NULL) {
		from = s->rested_ms > now_ms ? s->rested_ms : now_ms;
		may = from - now_ms < LIMIT_COMPLETION_BURST * each_ms;
		if (may)
			s->rested_ms = from + each_ms;
	}
	mutex_unlock(&d->lock);
	return may;
}

void pending_fini(struct dispatch *d)
{
	size_t i;

	for (i = 0; i < 256; i++) {
		while (d->seats[i] != NULL) {
			struct seat *s = d->seats[i];

			d->seats[i] = s->next;
			free(s);
		}
	}
}
