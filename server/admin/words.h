/* SPDX-License-Identifier: MIT */
#ifndef ADMIN_WORDS_H
#define ADMIN_WORDS_H
#include "server/base/buf.h"
#include "store/store.h"
/* How an operator's commands put things. */

/* "5 s", "3 min", "2 h", "4 d"; into at least 16 bytes. */
void words_age(int64_t ms, char *out, size_t cap);
/* "2026-11-29 23:10:01"; UTC. */
void words_time(int64_t ms, char *out, size_t cap);
/* "waiting for an answer", "running on instance 3", "sleeping", "ready" .. */
void words_state(const struct store_task *t, char *out, size_t cap);
/* Since when it is in that state, as far as the row tells. */
int64_t words_since(const struct store_task *t);
/* "anonymous" for "". */
const char *words_principal(const char *principal);
/* What a question says to the one who is asked. */
void words_question(const struct store_input *in, struct buf *out);
/* One line about it: the open questions, else what it does. */
void words_about(const struct store_task *t, struct buf *out);
/* At most @max bytes of @text, and "..." when that is not all. */
void words_cut(const char *text, size_t max, struct buf *out);
const char *words_input_state(enum store_input_state state);
/* A state by its name in any case, or "asking"; 0: none of them. */
unsigned words_state_mask(const char *name);
#endif
