/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PROTOCOL_ASKING_H
#define TESTS_PROTOCOL_ASKING_H
#include <stdatomic.h>

#include "tests/unit/protocol/lib/fake_exchange.h"
/* Handlers for the tests of all three methods that ask, and the answers. */
#define NAME_FORM                                                              \
	"{\"type\":\"object\",\"properties\":{\"name\":{\"type\":"             \
	"\"string\"}},\"required\":[\"name\"]}"
#define NAME(n) "{\"action\":\"accept\",\"content\":{\"name\":\"" n "\"}}"
#define ADA     "{\"who\":" NAME("Ada") "}"

extern atomic_int asking_entries; /* of both */
extern atomic_int asking_ended;   /* waits that were */
/* Asks "who"; "Hello, Ada!", or what became of the question. */
enum bide_rc asking_greet(struct bide_call *call, void *user);
/* Until it is cancelled. */
enum bide_rc asking_wait(struct bide_call *call, void *user);
/* Waits until there are more entries than @before. */
void asking_await_entry(int before);
/* The state of a reply that asks @key for a form; free(). Frees the reply. */
char *asking_state(struct fake *f, const char *key);
#endif
