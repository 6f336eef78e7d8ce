/* SPDX-License-Identifier: MIT */
#include "server/task/wake_heap.h"

#include <limits.h>
#include <stdlib.h>

#define SPILLED ULONG_MAX

void wake_heap_fini(struct wake_heap *h)
{
	free(h->at);
	*h = (struct wake_heap){0};
}

static void put(struct wake_heap *h, size_t i, struct wake_timer *t)
{
	h->at[i] = t;
	t->slot = i;
}

static void sift_up(struct wake_heap *h, size_t i, struct wake_timer *t)
{
	size_t up;

	for (; i > 0; i = up) {
		up = (i - 1) / 2;
		if (h->at[up]->at_ms <= t->at_ms)
			break;
		put(h, i, h->at[up]);
	}
	put(h, i, t);
}

static void sift_down(struct wake_heap *h, size_t i, struct wake_timer *t)
{
	size_t kid;

	for (;; i = kid) {
		kid = 2 * i + 1;
		if (kid >= h->len)
			break;
		if (kid + 1 < h->len &&
		    h->at[kid + 1]->at_ms < h->at[kid]->at_ms)
			kid++;
		if (t->at_ms <= h->at[kid]->at_ms)
			break;
		put(h, i, h->at[kid]);
	}
	put(h, i, t);
}

static bool grow(struct wake_heap *h)
{
	size_t cap = h->cap ? h->cap * 2 : 64;
	struct wake_timer **at;

	if (h->len < h->cap)
		return true;
	at = realloc(h->at, cap * sizeof(*at));
	if (!at)
		return false;
	h->at = at;
	h->cap = cap;
	return true;
}

/* Arming cannot fail, so a timer without memory for its slot is chained. */
static void spill(struct wake_heap *h, struct wake_timer *t)
{
	t->slot = SPILLED;
	t->prev = NULL;
	t->next = h->spill;
	if (t->next)
		t->next->prev = t;
	h->spill = t;
}

static void unspill(struct wake_heap *h, struct wake_timer *t)
{
	if (t->next)
		t->next->prev = t->prev;
	if (t->prev)
		t->prev->next = t->next;
	else
		h->spill = t->next;
}

void wake_heap_add(struct wake_heap *h, struct wake_timer *t)
{
	if (!grow(h)) {
		spill(h, t);
		return;
	}
	h->len++;
	sift_up(h, h->len - 1, t);
}

void wake_heap_remove(struct wake_heap *h, struct wake_timer *t)
{
	size_t i = t->slot;
	struct wake_timer *last;

	if (i == SPILLED) {
		unspill(h, t);
		return;
	}
	last = h->at[--h->len];
	if (last == t)
		return;
	if (i > 0 && last->at_ms < h->at[(i - 1) / 2]->at_ms)
		sift_up(h, i, last);
	else
		sift_down(h, i, last);
}

struct wake_timer *wake_heap_first(const struct wake_heap *h)
{
	struct wake_timer *first = h->len ? h->at[0] : NULL;

	for (struct wake_timer *t = h->spill; t; t = t->next)
		if (!first || t->at_ms < first->at_ms)
			first = t;
	return first;
}
