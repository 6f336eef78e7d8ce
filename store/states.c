/* SPDX-License-Identifier: MIT */
#include "store/store.h"

/* Bit `to` is set when states.def has the move from @f. */
static unsigned moves_from(enum store_state f)
{
	return 0u
#define STATE(name, number, shown)
#define MOVE(from, to, why) | (STORE_##from == f ? 1u << STORE_##to : 0u)
#include "store/states.def"
#undef STATE
#undef MOVE
		;
}

bool store_state_may_move(enum store_state from, enum store_state to)
{
	return (moves_from(from) >> to) & 1u;
}

const char *store_state_name(enum store_state s)
{
	switch (s) {
#define STATE(name, number, shown)                                             \
	case STORE_##name:                                                     \
		return #name;
#define MOVE(from, to, why)
#include "store/states.def"
#undef STATE
#undef MOVE
	}
	return "?";
}

bool store_state_ended(enum store_state s)
{
	return s == STORE_COMPLETED || s == STORE_FAILED ||
	       s == STORE_CANCELLED;
}
