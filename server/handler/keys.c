/* SPDX-License-Identifier: MIT */
#include "server/base/fnv.h"
#include "server/base/limits.h"
#include "server/base/utf8.h"
#include "server/handler/call_internal.h"
#include <stdlib.h>
#include <string.h>

#define FEW 8 /* keys are searched one by one up to here */

bool keys_valid_question(const char *key)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz"
				      "0123456789_-.";
	size_t n;

	if (!key)
		return false;
	n = strspn(key, allowed);
	return n > 0 && n <= LIMIT_HANDLER_KEY_BYTES && !key[n];
}

/* Steps may be named after files and the like; "~" begins our own. */
bool keys_valid_step(const char *key)
{
	size_t n;

	if (!key || !*key || *key == '~')
		return false;
	n = strnlen(key, LIMIT_HANDLER_KEY_BYTES + 1);
	if (n > LIMIT_HANDLER_KEY_BYTES || !utf8_valid(key, n))
		return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)key[i] < 0x20 || key[i] == 0x7f)
			return false;
	return true;
}

/* Keys are the handler's own, nobody picks them to collide. */
static size_t hash(const char *key)
{
	return (size_t)fnv_fold(fnv_text(FNV_BASIS, key));
}

size_t keys_find(const struct bide_call *c, const struct call_index *x,
		 size_t n, keys_at_fn at, const char *key)
{
	size_t i;

	if (!x->slots) {
		for (i = 0; i < n && strcmp(at(c, i), key) != 0;)
			i++;
		return i;
	}
	for (i = hash(key) & (x->cap - 1); x->slots[i];
	     i = (i + 1) & (x->cap - 1))
		if (!strcmp(at(c, x->slots[i] - 1), key))
			return x->slots[i] - 1;
	return n;
}

static void put(const struct bide_call *c, struct call_index *x, keys_at_fn at,
		size_t place)
{
	size_t i = hash(at(c, place)) & (x->cap - 1);

	while (x->slots[i])
		i = (i + 1) & (x->cap - 1);
	x->slots[i] = (uint32_t)place + 1;
}

void keys_rebuild(const struct bide_call *c, struct call_index *x, size_t n,
		  keys_at_fn at)
{
	free(x->slots);
	*x = (struct call_index){0};
	if (n <= FEW)
		return;
	x->cap = 64;
	while (x->cap < n * 4)
		x->cap *= 2;
	/* Without memory keys are searched one by one. */
	x->slots = calloc(x->cap, sizeof(*x->slots));
	for (size_t i = 0; x->slots && i < n; i++)
		put(c, x, at, i);
}

void keys_added(const struct bide_call *c, struct call_index *x, size_t n,
		keys_at_fn at)
{
	if (n <= FEW)
		return;
	if (x->slots && n * 2 <= x->cap)
		put(c, x, at, n - 1);
	else
		keys_rebuild(c, x, n, at);
}
