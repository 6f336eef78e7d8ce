/* SPDX-License-Identifier: MIT */
#ifndef TESTS_E2E_CLIENT_H
#define TESTS_E2E_CLIENT_H
#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
/*
 * A plain client of the 2026-07-28 revision over libcurl: one request, one
 * reply, whatever the server chose to answer with (JSON or an event stream).
 * Each exchange goes into the wire log (tests/wire_log.h).
 */
#define CAN_FORM "{\"elicitation\":{}}"
#define CAN_ALL                                                                \
	"{\"elicitation\":{\"form\":{},\"url\":{}},\"sampling\":{},\"roots\":{}}"
#define CAN_TASKS                                                                \
	"{\"elicitation\":{},\"extensions\":{\"io.modelcontextprotocol/tasks\":" \
	"{}}}"
#define CAN_NOTHING "{}"

/* What goes into a request beside method and params; zero is the usual. */
struct ask {
	const char *url;
	const char *can;       /* JSON; NULL: CAN_FORM */
	const char *principal; /* X-Test-Principal */
	const char *idem;      /* Idempotency-Key */
	const char *progress;  /* a progress token */
	const char *log_level;
	const char *version;        /* NULL: 2026-07-28 */
	const char *const *headers; /* raw lines added or replacing ("Name: v",
				       "Name:" removes), NULL-terminated */
	const char *body;           /* raw body instead of the made one */
	const json_t *id;           /* NULL: a running number */
	long timeout_ms;            /* 0: 90 s */
	bool no_meta;
	/* A request without an answer (a broken connection, a proxy's 502) is
	 * sent again under a new id, and counted here. NULL: it is not. */
	atomic_long *repeats;
	/* called for each message of a stream as it comes; false closes it */
	bool (*event)(void *user, json_t *message);
	void (*comment)(void *user); /* for each comment line of a stream */
	void *user;
};
struct reply {
	int status;      /* HTTP's; 0: no answer */
	int curl;        /* CURLcode */
	json_t *message; /* the response, or NULL */
	json_t *events;  /* array of all notifications before it */
	char *raw;       /* the body */
	char *headers;   /* all response headers */
	size_t comments; /* comment lines of the stream */
	long connects;   /* connections that had to be made for it */
};
void reply_free(struct reply *r);
/* @params: stolen; _meta is added. @name: Mcp-Name's value; NULL: none. */
struct reply *rpc(const struct ask *a, const char *method, const char *name,
		  json_t *params);
struct reply *tool(const struct ask *a, const char *name, json_t *args);
/* The same call again with the state, and answers (stolen, may be NULL). */
struct reply *again(const struct ask *a, const char *name, json_t *args,
		    const char *state, json_t *answers);
struct reply *task_do(const struct ask *a, const char *method, const char *task,
		      json_t *answers);

/* ---- what rpc() is made of, for those with a connection of their own ---- */
struct curl_slist;
/* "Name: value" for each header, and "Expect:". */
struct curl_slist *rpc_headers(const struct ask *a, const char *method,
			       const char *name);
char *rpc_body(const struct ask *a, const char *method,
	       json_t *params);   /* params: stolen */
void reply_read(struct reply *r); /* its message and events, from raw */

/* ---- reading a reply; borrowed, "" or NULL when it is not there ---- */
const json_t *result(const struct reply *r);
const char *result_type(const struct reply *r);
const char *result_text(const struct reply *r); /* first text block */
const char *state_of(const struct reply *r);    /* requestState */
const json_t *asked(const struct reply *r,
		    const char *key); /* inputRequests[key] */
size_t asked_count(const struct reply *r);
int error_code(const struct reply *r); /* 0: none */
const char *error_text(const struct reply *r);
const char *task_id(const struct reply *r);
const char *task_status(const struct reply *r);
bool header_is(const struct reply *r, const char *name, const char *value);

json_t *accept_bool(const char *key, const char *field, bool v);
json_t *accept_string(const char *key, const char *field, const char *v);
/* Polls tasks/get until the status is @status; the reply, or NULL after 60 s.
 */
struct reply *task_await(const struct ask *a, const char *task,
			 const char *status);
/* Drives the rounds of a call as an automatic client does: answers with
 * @answer(key) and comes back, at most @rounds times. The last reply. An
 * idempotency key goes with the first round. */
struct reply *drive(const struct ask *a, const char *name, json_t *args,
		    json_t *(*answer)(const char *key), int rounds);
#endif
