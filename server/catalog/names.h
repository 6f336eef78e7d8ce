/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_NAMES_H
#define CATALOG_NAMES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/*
 * Things in an order, found by name: how the registry keeps tools, prompts,
 * resources and templates. Built by one thread, then only read. A zeroed one
 * is empty.
 */
struct named {
	const char *name; /* borrowed from @thing */
	uint64_t hash;
	void *thing;
};
struct names {
	struct named *items;
	size_t n, cap;
	uint32_t *slots; /* index + 1, open addressing; 0: free */
	size_t cap_slots;
};
/* Before the one at @at, 0 to n. False: no memory, nothing changed. */
bool names_insert(struct names *l, size_t at, const char *name, void *thing);
void *names_find(const struct names *l, const char *name); /* NULL: none */
void *names_at(const struct names *l, size_t i);           /* NULL: beyond */
/* Of the names in their order, on top of @seed. */
uint64_t names_digest(const struct names *l, uint64_t seed);
uint64_t names_hash(const char *s);
/* @free_thing is called with each. */
void names_fini(struct names *l, void (*free_thing)(void *));
#endif
