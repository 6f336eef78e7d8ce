/* SPDX-License-Identifier: MIT */
#include "server/catalog/names.h"
#include "server/base/fnv.h"
#include <stdlib.h>
#include <string.h>

#define SLOTS 4 /* for each item that there is room for */

uint64_t names_hash(const char *s)
{
	return fnv_fold(fnv_text(FNV_BASIS, s));
}

uint64_t names_digest(const struct names *l, uint64_t seed)
{
	uint64_t h = fnv_mix(seed, l->n);

	for (size_t i = 0; i < l->n; i++)
		h = fnv_mix(h, l->items[i].hash);
	return fnv_fold(h);
}

static void file(struct names *l, size_t k)
{
	size_t i = l->items[k].hash & (l->cap_slots - 1);

	while (l->slots[i])
		i = (i + 1) & (l->cap_slots - 1);
	l->slots[i] = (uint32_t)k + 1;
}

static void file_all(struct names *l)
{
	memset(l->slots, 0, l->cap_slots * sizeof(*l->slots));
	for (size_t k = 0; k < l->n; k++)
		file(l, k);
}

static bool make_room(struct names *l)
{
	size_t cap = l->cap ? l->cap * 2 : 16;
	struct named *items = NULL;
	uint32_t *slots = NULL;

	if (l->n < l->cap)
		return true;
	items = realloc(l->items, cap * sizeof(*items));
	if (!items)
		return false;
	l->items = items;
	slots = realloc(l->slots, cap * SLOTS * sizeof(*slots));
	if (!slots)
		return false;
	l->slots = slots;
	l->cap_slots = cap * SLOTS;
	l->cap = cap;
	file_all(l);
	return true;
}

bool names_insert(struct names *l, size_t at, const char *name, void *thing)
{
	if (!make_room(l))
		return false;
	memmove(&l->items[at + 1], &l->items[at],
		(l->n - at) * sizeof(*l->items));
	l->items[at] = (struct named){name, names_hash(name), thing};
	l->n++;
	if (at == l->n - 1)
		file(l, at);
	else
		file_all(l);
	return true;
}

void *names_find(const struct names *l, const char *name)
{
	uint64_t hash = names_hash(name);
	const struct named *item = NULL;
	size_t i;

	if (!l->n)
		return NULL;
	for (i = hash & (l->cap_slots - 1); l->slots[i];
	     i = (i + 1) & (l->cap_slots - 1)) {
		item = &l->items[l->slots[i] - 1];
		if (item->hash == hash && !strcmp(item->name, name))
			return item->thing;
	}
	return NULL;
}

void *names_at(const struct names *l, size_t i)
{
	return i < l->n ? l->items[i].thing : NULL;
}

void names_fini(struct names *l, void (*free_thing)(void *))
{
	for (size_t i = 0; i < l->n; i++)
		free_thing(l->items[i].thing);
	free(l->items);
	free(l->slots);
	*l = (struct names){0};
}
