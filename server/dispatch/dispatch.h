/* SPDX-License-Identifier: MIT */
#ifndef DISPATCH_DISPATCH_H
#define DISPATCH_DISPATCH_H
#include "server/catalog/registry.h"
#include "server/handler/caller.h"
#include "server/task/engine.h"
#include "store/store.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
/*
 * What a method does, whatever the wire looks like. A request comes in with
 * everything it says; one outcome goes out through the reply table that the
 * protocol room gives: complete, needs input, task, error. No thread is held
 * while a request waits.
 */

/* What a requestState (or a wait_for_task handle) said, opened and checked. */
enum continuation_kind { /* frozen */
			 CONTINUATION_RECORD =
				 1, /* an ephemeral call: its record so far */
			 CONTINUATION_HANDLE =
				 2, /* a task, by rounds of its own call */
			 CONTINUATION_WAIT =
				 3 /* a task, by the wait_for_task tool */
};
struct continuation {
	enum continuation_kind kind;
	char id[24];     /* random; single use consumes it */
	char chain[24];  /* the same in all rounds of one call */
	json_t *record;  /* RECORD: owned */
	int64_t wake_ms; /* RECORD: wall clock; the call sleeps until then; 0 */
	char token[STORE_TOKEN_BYTES]; /* HANDLE, WAIT */
	int rounds;     /* state-only rounds of the call before this */
	int64_t ttl_ms; /* to seal: its life from now */
};
void continuation_fini(struct continuation *c);

struct request;
enum outcome_kind {
	OUTCOME_RESULT = 1,  /* @text: a result object without resultType */
	OUTCOME_NEEDS_INPUT, /* @text: inputRequests object ("{}": state only);
				@next to seal */
	OUTCOME_TASK,        /* CreateTaskResult of @task */
	OUTCOME_TASK_STATE,  /* tasks/get: @task with payload and open inputs */
	OUTCOME_EMPTY,       /* an empty acknowledgement */
	OUTCOME_LIST,     /* @text: entries joined by commas; @member, @cursor:
			     next or "", @hint */
	OUTCOME_DISCOVER, /* the protocol knows what it serves */
	OUTCOME_ERROR,    /* @code, @message, @data */
	OUTCOME_ERROR_TEXT, /* @text: a stored JSON-RPC error object */
	OUTCOME_LISTEN_END  /* the server ends a subscription */
};
/* What is to be told once the reply was written whole, or was not. By value. */
struct delivery {
	int64_t task;       /* 0: nothing */
	bool joined;        /* the request was counted as waiting */
	int64_t abandon_ms; /* when whole: abandoned after; -1: never */
};
/* utilities/caching: how long, and for whom, a result may be kept. */
struct cache_hint {
	bool given; /* it is one of the results that carry hints */
	int64_t ms;
	enum bide_scope scope;
};

struct outcome {
	enum outcome_kind kind;
	const char *text;
	size_t len;
	struct continuation *next; /* done() takes its record */
	const struct store_task *task;
	const char *member; /* of a list: "tools", "prompts" .. */
	const char *cursor;
	struct cache_hint hint; /* LIST; RESULT of resources/read */
	int code;
	const char *message;
	json_t *data; /* borrowed; may be NULL */
	struct delivery delivery;
};

/* What a subscriptions/listen asked for and gets. */
struct listening {
	bool tools, prompts, resources; /* changes of these lists */
	const char *const *uris;        /* NULL: not asked for, or not had */
	size_t n_uris;
	const char *const *tokens; /* of tasks; NULL: not asked for */
	size_t n_tokens;
};

/* All calls: any thread, no lock held. Texts and pointers are borrowed. */
struct reply_ops {
	/* Exactly once, last; also after dispatch_closed(). The request is
	 * dispatch's no more. */
	void (*done)(struct request *rq, const struct outcome *o);
	/* Only between dispatch_request() and done. Dropped when the client did
	 * not ask. */
	void (*progress)(struct request *rq, double progress, double total,
			 const char *message);
	void (*log)(struct request *rq, int level, const char *logger,
		    const char *data);
	/* subscriptions/listen: what is honoured, first; then what happens:
	 * to a task, to the resource @uri, or without one to the list @what;
	 * how many bytes that took. */
	void (*listening)(struct request *rq, const struct listening *l);
	void (*task_changed)(struct request *rq, const struct store_task *t);
	size_t (*changed)(struct request *rq, enum bide_changed what,
			  const char *uri);
	/* Of that stream: the client has not been sent all of it yet. */
	bool (*backed_up)(struct request *rq);
	/* Seals; NULL: larger than allowed. malloc()ed text. */
	char *(*seal)(struct request *rq, const struct continuation *c);
	/* Opens a wait_for_task handle; false: not accepted. */
	bool (*open_wait)(struct request *rq, const char *text,
			  struct continuation *ret);
};

struct request {
	const struct reply_ops *reply;
	/* What the protocol read. Constant until done; owned by the protocol.
	 */
	const char *method;
	json_t *params; /* may be NULL */
	const char *principal;
	struct caller caller;
	bool wants_progress;  /* it has a progress token */
	int log_level;        /* least level it asked for; -1: none */
	const char *idem_key; /* may be NULL */
	bool crowded;         /* it cannot wait here: nothing is begun for it */
	struct continuation
		*resume;         /* accepted requestState; NULL: first round */
	json_t *input_responses; /* an object of objects, or NULL */
	char args_digest[44];    /* "" until request_args_digest() is asked */
	void *priv;              /* dispatch's own */
};

/* One of the three methods that may be answered with input_required (mrtr.mdx
 * "Supported Requests")? */
bool request_may_ask(const struct request *rq);
/* What such a request is for: the tool's or the prompt's name, the resource's
 * URI; "" when it does not say. */
const char *request_name(const struct request *rq);
/* Of its params.arguments, canonical; made when first wanted, by whoever has
 * the request at that moment. */
const char *request_args_digest(struct request *rq);
/* An object of objects (mrtr.mdx "InputResponses"), or nothing. */
bool request_responses_valid(const json_t *responses);
/* The text of -32602 for a handle whose task is gone: the frozen one of
 * request_state.h. */
#define DISPATCH_STATE_REFUSED "requestState was not accepted"

struct dispatch_options {
	struct engine *engine;
	const struct registry *registry;
	int64_t wait_budget_ms, continuation_ttl_ms, poll_interval_ms;
	int state_rounds;
	bool wait_for_task;
	size_t max_waits_per_principal;
	bool reenter; /* debug-reenter, for ephemeral calls */
};
/* Registers the dispatcher's own tools (wait_for_task), listed last. Called by
 * the top once, before anything is started, when wait_for_task is on. */
enum bide_rc dispatch_add_tools(struct registry *r, struct bide_error *reterr);
struct dispatch;
struct dispatch *dispatch_new(const struct dispatch_options *opt);
void dispatch_free(struct dispatch *d); /* nothing may be pending */
/* What a server may offer, as the program registered it: what is not is neither
 * declared nor served. */
enum offer {
	OFFER_ALWAYS = 1,
	OFFER_TOOLS,
	OFFER_PROMPTS,
	OFFER_RESOURCES,
	OFFER_COMPLETIONS
};
bool dispatch_offers(const struct registry *r, enum offer what);
/* Is this a method of ours? (methods.def) Needed before header and capability
 * checks. */
bool dispatch_knows(const struct dispatch *d, const char *method);
/* May answer before it returns. Never blocks, but for a bounded point read. */
void dispatch_request(struct dispatch *d, struct request *rq);
/* The client is gone (also half-closed): stop. done still comes, once. Safe
 * against a done under way. */
void dispatch_closed(struct dispatch *d, struct request *rq);
/* The transport wrote the reply whole, or did not. */
void dispatch_delivered(struct dispatch *d, const struct delivery *v,
			bool whole);
/* Draining: every waiting request is answered now (with its handle), listeners
 * end. */
void dispatch_drain(struct dispatch *d);
size_t dispatch_pending(struct dispatch *d);
/* True once no request is without its answer and no thread is still giving
 * one, within @ms. For the top, before the transport is stopped. */
bool dispatch_idle(struct dispatch *d, int64_t ms);
#endif
