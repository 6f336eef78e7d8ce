/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HANDLER_FAKE_H
#define TESTS_HANDLER_FAKE_H
#include "bide/call.h"
#include "bide/content.h"
#include "server/handler/run.h"
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/*
 * One tool, one call and a back end that keeps what it is told in memory. The
 * handler gets the fake as its user pointer.
 */
struct fake {
	struct registry *registry;
	struct bide_call *call;
	struct run_result result;
	struct run_options opt; /* for fake_call(); set before */
	struct caller caller;
	/* The back end's */
	int64_t now;
	bool draining;
	enum bide_rc step_rc; /* what the next steps get */
	enum bide_rc publish_rc;
	enum bide_rc announce_rc;
	json_t *steps;     /* [[key, text], ..] as they came */
	json_t *progress;  /* [[progress, total, message], ..] */
	json_t *logs;      /* [[level, logger, text], ..] */
	json_t *announced; /* [[what, uri], ..] */
	char status[2048];
	int published;
	/* The test's */
	int entries, work;
	char note[256];
	void *data;
};

struct fake *fake_new(struct bide_tool def); /* .name and .user are set here */
void fake_free(struct fake *f);
/* Makes the call (anew) by f->opt. */
void fake_call(struct fake *f);
void fake_task(struct fake *f);              /* a call that is a task */
enum run_left fake_enter(struct fake *f);    /* f->result has the rest */
const char *fake_text(const struct fake *f); /* of the result; "" without */
/* As the next request does it: dump, a new call, load. */
void fake_next_request(struct fake *f);
void fake_answer(struct fake *f, const char *key, const char *response);
bool fake_try_answer(struct fake *f, const char *key, const char *response);
size_t fake_open(struct fake *f); /* how many questions are open */
/* The text of one step as the back end has it; NULL. */
const char *fake_step(const struct fake *f, const char *key);
json_t *fake_json(const char *text); /* new reference */
void fake_is(const char *text, const char *expected);

/* A test whose handler is @fn, in a tool that is BIDE_EITHER. */
struct fake *fake_of(bide_handler_fn fn);
/* The same in a prompt "prompt", and in a resource "test://r" of text/plain
 * that is read by that URI. */
struct fake *fake_prompt(bide_handler_fn fn, const char *description);
struct fake *fake_resource(bide_handler_fn fn);
/* Enters @f once, which must end so, and frees it. */
void fake_gives(struct fake *f, enum run_left left, const char *text);

#define CAN_ALL                                                                \
	((unsigned)(BIDE_CAN_ELICIT_FORM | BIDE_CAN_ELICIT_URL |               \
		    BIDE_CAN_SAMPLE | BIDE_CAN_SAMPLE_TOOLS |                  \
		    BIDE_CAN_SAMPLE_CONTEXT | BIDE_CAN_ROOTS |                 \
		    BIDE_CAN_TASKS))
#define FORM                                                                   \
	"{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"string\"}}}"
#endif
