/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PROTOCOL_FAKE_EXCHANGE_H
#define TESTS_PROTOCOL_FAKE_EXCHANGE_H
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/base/thread.h"
#include "server/dispatch/dispatch.h"
#include "server/protocol/protocol.h"

/*
 * A server without a transport: the rooms up to the protocol over a database
 * of its own, driven by exchanges that live in memory.
 */
struct wire_options {
	int64_t wait_budget_ms; /* 0: 5 s */
	int64_t grace_ms;       /* after a closed connection; 0: 2 s */
	int64_t undelivered_ms; /* 0: 2 s */
	int64_t ttl_ms;         /* of a continuation; 0: 15 minutes */
	int state_rounds;       /* 0: 2 */
	size_t max_waits;       /* 0: 1000 */
	int64_t max_live;       /* 0: 10000 */
	size_t max_state;       /* 0: 16 KiB */
	bool no_wait_for_task;
};
struct wire {
	char dir[256];
	struct registry *registry;
	struct store *store;
	struct keyring *keys;
	struct engine *engine;
	struct dispatch *dispatch;
	struct request_state *state;
	struct protocol *protocol;
	/* Each event of a stream, while it is being sent; may be NULL. */
	void (*on_event)(struct wire *w, const char *json);
};
/* @add registers the tools. */
struct wire *wire_new(const struct wire_options *opt,
		      void (*add)(struct registry *r));
void wire_free(struct wire *w);
int wire_tear_down(void **state); /* of cmocka: frees that one */
void wire_tool(struct registry *r, struct bide_tool def);
void wire_prompt(struct registry *r, struct bide_prompt def);
void wire_resource(struct registry *r, struct bide_resource def);
void wire_template(struct registry *r, struct bide_resource def);

#define FAKE_HEADERS 16
struct fake {
	struct exchange ex; /* first */
	struct wire *w;
	const char *method; /* of the request; borrowed */
	struct {
		const char *name;
		const char *value;
	} headers[FAKE_HEADERS];
	char *body;
	char *principal;
	struct mutex lock;
	struct cond more;
	/* The answer */
	bool answered; /* responded, or the stream ended */
	int status;
	char *text; /* as it was sent */
	json_t *json;
	char content_type[64];
	char allow[32];
	bool streaming;
	json_t *events; /* of the stream, in order, the response too */
	bool gone;      /* sends fail from now on */
	size_t unsent;  /* what the stream says it has not sent; set by tests */
	int looks;      /* how often it was asked */
	bool finished;
};

/* What a request is made of; everything may be left out. */
struct post {
	const char *method;    /* JSON-RPC's */
	const char *id;        /* JSON text; NULL: 1 */
	const char *tool;      /* params.name */
	const char *args;      /* JSON text */
	const char *uri;       /* params.uri */
	const char *task;      /* params.taskId */
	const char *params;    /* JSON text: further members */
	const char *caps;      /* JSON text; NULL: {} */
	const char *meta;      /* JSON text: further members of _meta */
	const char *state;     /* requestState */
	const char *responses; /* JSON text: inputResponses */
	const char *principal;
	const char *idem_key; /* the header */
	/* Header overrides: "" leaves it out, NULL is what it should be. */
	const char *version, *mcp_method, *mcp_name, *accept, *content_type;
	/* More of them: a name, its value, and so on to NULL. */
	const char *const *headers;
	bool no_meta;
	bool crowded; /* the transport has no room for it to wait */
};
#define CAPS_FORM "{\"elicitation\":{}}"
#define CAPS_TASKS                                                             \
	"{\"elicitation\":{},\"extensions\":{"                                 \
	"\"io.modelcontextprotocol/tasks\":{}}}"

/* Sends it; it may be answered when this returns. */
struct fake *fake_post(struct wire *w, struct post p);
/* A body as it is; the headers are those of @p. */
struct fake *fake_raw(struct wire *w, const char *http_method, const char *body,
		      struct post p);
/* Waits for the answer, parses it, and tells the protocol that it got out. */
void fake_wait(struct fake *f);
void fake_wait_lost(struct fake *f); /* that it did not */
bool fake_answered(struct fake *f);
/* Waits until @n events are there; false: the answer came first. */
bool fake_wait_events(struct fake *f, size_t n);
/* What stands at @path in event @i, which it waits for. */
json_t *fake_event(struct fake *f, size_t i, const char *path);
void fake_close(struct fake *f); /* the client goes, and is waited for */
void fake_free(struct fake *f);
/* Post and wait. */
struct fake *fake_call(struct wire *w, struct post p);
/* subscriptions/listen for @filter (JSON text), as @id. */
struct fake *fake_listen(struct wire *w, const char *id, const char *filter,
			 const char *caps);

/* ---- looking ---- */
/* "result/content/0/text"; NULL: not there. Fails on no answer. */
json_t *fake_get(const struct fake *f, const char *path);
const char *fake_string(const struct fake *f, const char *path);
int fake_error(const struct fake *f);               /* error.code; 0: none */
void fake_is(struct fake *f, int status, int code); /* it is; and frees it */
const char *fake_text(const struct fake *f); /* result/content/0/text, or "" */
json_t *json_at(json_t *j, const char *path);
#endif
