/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "store/sqlite_store.h"

/*
 * Which tasks somebody here waits for, counted; so that a commit tells the
 * watch function of those only. Open addressing; a slot whose count fell to
 * zero stays until the table grows.
 */

static size_t slot_of(const struct store_interest *in, int64_t task)
{
	uint64_t h = (uint64_t)task * 0x9e3779b97f4a7c15u;
	size_t i = (size_t)(h >> 32) & (in->cap - 1);

	while (in->task[i] != 0 && in->task[i] != task)
		i = (i + 1) & (in->cap - 1);
	return i;
}

static bool rebuild(struct store_interest *in)
{
	struct store_interest old = *in;
	size_t live = 0;

	for (size_t i = 0; i < old.cap; i++)
		live += old.count[i] > 0;
	in->cap = 64;
	while (in->cap < live * 4)
		in->cap *= 2;
	in->task = calloc(in->cap, sizeof *in->task);
	in->count = calloc(in->cap, sizeof *in->count);
	if (!in->task || !in->count) {
		free(in->task);
		free(in->count);
		*in = old;
		return false;
	}
	in->used = live;
	for (size_t i = 0; i < old.cap; i++) {
		if (old.count[i] == 0)
			continue;
		size_t k = slot_of(in, old.task[i]);

		in->task[k] = old.task[i];
		in->count[k] = old.count[i];
	}
	free(old.task);
	free(old.count);
	return true;
}

void store_interest_add(struct store *s, int64_t task)
{
	struct store_interest *in = &s->interest;
	struct peers *p;
	size_t i;

	mutex_lock(&in->lock);
	if (in->used * 2 >= in->cap && !rebuild(in) &&
	    in->used + 1 >= in->cap) {
		in->blind++; /* no memory: everything interests from now on */
		mutex_unlock(&in->lock);
		return;
	}
	i = slot_of(in, task);
	if (in->task[i] == 0) {
		in->task[i] = task;
		in->used++;
	}
	in->count[i]++;
	p = s->peers;
	if (p)
		peers_interest_add(p, task);
	mutex_unlock(&in->lock);
}

void store_interest_drop(struct store *s, int64_t task)
{
	struct store_interest *in = &s->interest;
	struct peers *p;
	size_t i;

	mutex_lock(&in->lock);
	i = in->cap ? slot_of(in, task) : 0;
	if (in->cap && in->task[i] == task && in->count[i] > 0) {
		in->count[i]--;
		p = s->peers;
		if (p)
			peers_interest_drop(p, task);
	}
	mutex_unlock(&in->lock);
}

/* What was of interest before there were peers to tell. */
void interest_publish(struct store *s, struct peers *p)
{
	struct store_interest *in = &s->interest;

	mutex_lock(&in->lock);
	for (size_t i = 0; i < in->cap; i++)
		for (int k = 0; k < in->count[i]; k++)
			peers_interest_add(p, in->task[i]);
	s->peers = p;
	mutex_unlock(&in->lock);
}

bool interest_has(struct store *s, int64_t task)
{
	struct store_interest *in = &s->interest;
	bool has;

	mutex_lock(&in->lock);
	has = in->blind > 0;
	if (!has && in->cap)
		has = in->count[slot_of(in, task)] > 0;
	mutex_unlock(&in->lock);
	return has;
}

void interest_fini(struct store *s)
{
	free(s->interest.task);
	free(s->interest.count);
	mutex_fini(&s->interest.lock);
}
