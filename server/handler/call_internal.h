/* SPDX-License-Identifier: MIT */
#ifndef HANDLER_CALL_INTERNAL_H
#define HANDLER_CALL_INTERNAL_H
/*
 * What the files of this room share; nobody else includes it.
 *
 * A call is entered from the top as often as needed. What is kept between
 * entries is the record: steps and questions. Everything under "this entry" is
 * forgotten when the handler is entered again.
 */
#include "bide/call.h"
#include "bide/content.h"
#include "server/base/buf.h"
#include "server/base/thread.h"
#include "server/handler/run.h"
#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CALL_ROOM_BYTES 512 /* small strings, without an allocation */

struct bide_answer {
	enum bide_action action;
	const json_t *value; /* what bide_answer_json() gives */
};

struct call_step {
	const char *key;
	json_t *result;
};

struct call_chunk {
	struct call_chunk *next;
	_Alignas(16) char bytes[];
};

/* From key to place, open addressing; empty until there are many keys. */
struct call_index {
	uint32_t *slots; /* place + 1; 0: free */
	size_t cap;
};

struct bide_call {
	/* Constant after run_new(). */
	const struct target *target;
	const struct run_backend *backend;
	void *backend_data;
	const json_t *args;
	const char *principal;
	const char *chain_id;
	const char *task_id; /* NULL: ephemeral */
	const char *uri;     /* that is read; NULL: no resource is */
	int64_t epoch;
	int64_t default_deadline_ms;
	bool reenter;

	struct caller caller; /* changes between entries */

	/* The record. */
	struct call_step *steps;
	size_t n_steps, cap_steps;
	struct call_index step_index;
	struct run_question *questions;
	size_t n_questions, cap_questions;
	struct call_index question_index;

	/* This entry, the handler's thread. */
	struct bide_error stuck; /* the error that sticks; rc 0: none */
	struct bide_error loose; /* the last one that does not */
	bool leaving; /* something returned PENDING; @left says what */
	enum run_left left;
	int64_t wake_ms;
	unsigned missing;      /* what refused questions needed */
	const char *open_step; /* between begin and commit */
	const char *step_id;   /* of the open step; NULL until asked for */
	struct buf out;        /* {"content":[ and the blocks so far */
	size_t blocks;
	enum bide_role role; /* of a prompt's next message */
	bool annotated;      /* the last block is */
	int64_t cache_ms;    /* of a resource, both */
	enum bide_scope scope;
	bool is_error;
	json_t *structured;
	struct buf failure; /* bide_fail(): the error object */
	struct buf *trace;  /* debug reenter: what the handler did; or NULL */

	/* Any thread. */
	atomic_int cancelled; /* enum bide_rc; 0: no */
	atomic_int cancel_fd; /* -1 until asked for */
	struct mutex lock;    /* the four below; RANK_CALL */
	double last_progress; /* NAN: none */
	bool telling;         /* one thread is in backend->progress */
	bool untold;          /* and this is to be told next: */
	struct {
		double progress, total;
		char *message;
	} next;

	/* Strings, freed at once. */
	struct call_chunk *chunks;
	char *room;
	size_t room_left;
	/* last: it is not zeroed */
	_Alignas(16) char first_room[CALL_ROOM_BYTES];
};

/* Whose handler it is, for the log: log_error(.., CALL_WHO, call_who(c)). */
#define CALL_WHO    "kind=%s name=%s"
#define call_who(c) target_kind_name((c)->target->kind), (c)->target->name

/* ---- call.c ---- */
/* Lives as long as the call. NULL: no memory. */
void *call_alloc(struct bide_call *c, size_t bytes);
char *call_strdup(struct bide_call *c, const char *s);
/* Records what sticks, unless something does already; returns what sticks. */
enum bide_rc call_fail(struct bide_call *c, enum bide_rc rc, const char *fmt,
		       ...) __attribute__((format(printf, 3, 4)));
enum bide_rc call_nomem(struct bide_call *c);
/* BIDE_OK, or what sticks: an error, or PENDING. */
enum bide_rc call_stuck(const struct bide_call *c);
/* The same for what acts; also BIDE_CANCELLED or BIDE_LOST, which then stick.
 */
enum bide_rc call_acts(struct bide_call *c);
enum bide_rc call_leave(struct bide_call *c, enum run_left left);
int64_t call_now_ms(struct bide_call *c);
void call_trace(struct bide_call *c, const char *what, const char *key);
/* A number as an integer, 2.0 too; else @absent. */
int64_t call_json_int(const json_t *v, int64_t absent);
/* json_t as jansson's iterators want it; nothing is changed. */
json_t *call_unconst(const json_t *v);

/* ---- keys.c ---- */
bool keys_valid_question(const char *key);
bool keys_valid_step(const char *key);
typedef const char *(*keys_at_fn)(const struct bide_call *c, size_t i);
/* The place of @key among @n, or @n. */
size_t keys_find(const struct bide_call *c, const struct call_index *x,
		 size_t n, keys_at_fn at, const char *key);
/* After @n keys are there, the last one new. */
void keys_added(const struct bide_call *c, struct call_index *x, size_t n,
		keys_at_fn at);
/* After keys were moved or taken out. */
void keys_rebuild(const struct bide_call *c, struct call_index *x, size_t n,
		  keys_at_fn at);

/* ---- record.c ---- */
struct call_step *record_step(const struct bide_call *c, const char *key);
/* @result: stolen, also on error. Replaces. */
enum bide_rc record_put_step(struct bide_call *c, const char *key,
			     json_t *result);
struct run_question *record_question(const struct bide_call *c,
				     const char *key);
/* A new one, zeroed but for its key. NULL: no memory. */
struct run_question *record_add_question(struct bide_call *c, const char *key);
void record_drop_unasked(struct bide_call *c);
/* An open question of an ephemeral call past its deadline becomes EXPIRED; in
 * a task the store alone says so, for it may have taken the answer. */
void record_expire(struct bide_call *c, struct run_question *q);
void record_free(struct bide_call *c);

/* ---- form.c: schemas of forms, prepared once per text in this process ---- */
struct form;
/*
 * The form of @schema (JSON text of a requestedSchema); form_unref() it.
 * BIDE_INVALID: the text says what is wrong with it.
 */
enum bide_rc form_get(const char *schema, size_t len, struct form **ret,
		      struct bide_error *reterr) BIDE_NODISCARD;
void form_unref(struct form *f);
const char *form_text(const struct form *f, size_t *ret_len); /* compact */
const struct json_schema *form_schema(const struct form *f);

/* ---- sampling.c ---- */
/* CreateMessageRequestParams, what the protocol and common models need. */
bool sampling_params_fit(const json_t *params, const char **why);
bool sampling_result_fits(const json_t *result, const char **why);
/* A ContentBlock of a result; false: @why is a clause. */
bool sampling_content_fits(const json_t *block, const char **why);
unsigned sampling_needs(const json_t *params);

/* ---- result.c ---- */
/* The result into ret->text, or the error that it turned out to be. */
void result_finish(struct bide_call *c, struct run_result *ret);
/* {"code":..,"message":..} */
void result_error(struct run_result *ret, int code, const char *message);

/* ---- content_check.c: what schema.ts has; NULL, or a clause ---- */
/* ContentBlock. */
const char *content_block_problem(const json_t *block);
/* TextResourceContents or BlobResourceContents, as they are read. */
const char *content_read_problem(const json_t *contents);

/* ---- content.c ---- */
void content_reset(struct bide_call *c);
/* What all content stands in, to its "[". */
void content_open(struct bide_call *c);
#endif
