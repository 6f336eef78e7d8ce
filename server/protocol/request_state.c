/* SPDX-License-Identifier: MIT */
#include "server/protocol/request_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/buf.h"
#include "server/base/clock.h"
#include "server/base/jsontext.h"
#include "server/base/limits.h"
#include "server/base/log.h"
#include "server/base/metrics.h"

/*
 * The sealed text is one JSON object with short names. A later version must
 * still open it (tests/unit/protocol/test_request_state.c keeps vectors):
 *   k kind, i issued, e expires (wall ms), a audience, p principal, m method,
 *   n name, d digest of the canonical arguments, r random id, c chain id,
 *   s record, w wake (wall ms), t task's public id, o state-only rounds
 */
#define LEEWAY_MS        30000
#define HANDLE_LEEWAY_MS (24 * 3600 * 1000LL)
#define TASK_SHOWN       8

struct request_state {
	struct keyring *keys;
	char *audience;
	size_t max_bytes;
	int64_t leeway_ms;
};

void continuation_fini(struct continuation *c)
{
	json_decref(c->record);
	c->record = NULL;
}

struct request_state *request_state_new(const struct request_state_options *opt)
{
	struct request_state *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->keys = opt->keys;
	s->max_bytes = opt->max_bytes;
	s->leeway_ms = opt->leeway_ms > 0 ? opt->leeway_ms : LEEWAY_MS;
	s->audience = strdup(opt->audience);
	if (s->audience == NULL) {
		free(s);
		return NULL;
	}
	return s;
}

void request_state_free(struct request_state *s)
{
	if (s == NULL)
		return;
	free(s->audience);
	free(s);
}

static bool add_string(struct buf *b, const char *name, const char *value)
{
	return buf_addf(b, ",\"%s\":", name) &&
	       jsontext_write_string(value, strlen(value), b);
}

static bool write_plain(const struct request_state *s,
			const struct continuation *c,
			const struct request_state_for *f, struct buf *b)
{
	int64_t now = clock_wall_ms();

	if (!buf_addf(b, "{\"k\":%d,\"i\":%lld,\"e\":%lld", (int)c->kind,
		      (long long)now, (long long)(now + c->ttl_ms)) ||
	    !add_string(b, "a", s->audience) ||
	    !add_string(b, "p", f->principal) || !add_string(b, "r", c->id) ||
	    !add_string(b, "c", c->chain))
		return false;
	if (c->kind != CONTINUATION_WAIT &&
	    (!add_string(b, "m", f->method) || !add_string(b, "n", f->name) ||
	     !add_string(b, "d", f->args_digest)))
		return false;
	if (c->kind == CONTINUATION_RECORD) {
		if (c->wake_ms > 0)
			(void)buf_addf(b, ",\"w\":%lld", (long long)c->wake_ms);
		(void)buf_addstr(b, ",\"s\":");
		(void)jsontext_write(c->record, b);
	} else {
		(void)add_string(b, "t", c->token);
	}
	(void)buf_addf(b, ",\"o\":%d}", c->rounds);
	return !b->failed;
}

char *request_state_seal(const struct request_state *s,
			 const struct continuation *c,
			 const struct request_state_for *f)
{
	struct buf b;
	char *text = NULL;

	buf_init(&b, s->max_bytes);
	if (write_plain(s, c, f, &b))
		text = keyring_seal(s->keys, b.data, b.len);
	buf_fini(&b);
	if (text != NULL && strlen(text) > s->max_bytes) {
		free(text);
		text = NULL;
	}
	return text;
}

static const char *member(const json_t *o, const char *name)
{
	const char *v = json_string_value(json_object_get(o, name));

	return v != NULL ? v : "";
}

static int64_t number(const json_t *o, const char *name)
{
	return json_integer_value(json_object_get(o, name));
}

/* The reason it is refused, for the log; NULL: accepted. */
static const char *check(const struct request_state *s, const json_t *o,
			 const struct request_state_for *f, bool kind_wait)
{
	int64_t kind = number(o, "k");
	int64_t now = clock_wall_ms();
	int64_t leeway =
		kind == CONTINUATION_RECORD ? s->leeway_ms : HANDLE_LEEWAY_MS;

	if (kind_wait ? kind != CONTINUATION_WAIT
		      : kind != CONTINUATION_RECORD &&
				kind != CONTINUATION_HANDLE)
		return "kind";
	/*
	 * A task's life is its row's to say: the sealed time only bounds a
	 * handle's, by a day's leeway, so that a jump of the clock kills none.
	 */
	if (now > number(o, "e") + leeway)
		return "expired";
	if (now < number(o, "i") - leeway)
		return "issued in the future";
	if (strcmp(member(o, "a"), s->audience) != 0)
		return "audience";
	if (strcmp(member(o, "p"), f->principal) != 0)
		return "principal";
	if (kind_wait)
		return NULL;
	if (strcmp(member(o, "m"), f->method) != 0)
		return "method";
	if (strcmp(member(o, "n"), f->name) != 0)
		return "name";
	if (strcmp(member(o, "d"), f->args_digest) != 0)
		return "arguments";
	return NULL;
}

static bool copy(char *out, size_t cap, const char *text)
{
	int n = snprintf(out, cap, "%s", text);

	return n > 0 && (size_t)n < cap;
}

static const char *fill(const json_t *o, struct continuation *ret)
{
	json_t *record = json_object_get(o, "s");

	memset(ret, 0, sizeof(*ret));
	ret->kind = (enum continuation_kind)number(o, "k");
	ret->rounds = (int)number(o, "o");
	if (!copy(ret->id, sizeof(ret->id), member(o, "r")) ||
	    !copy(ret->chain, sizeof(ret->chain), member(o, "c")))
		return "shape";
	if (ret->kind == CONTINUATION_RECORD) {
		if (!json_is_object(record))
			return "shape";
		ret->wake_ms = number(o, "w");
		ret->record = json_incref(record);
		return NULL;
	}
	return copy(ret->token, sizeof(ret->token), member(o, "t")) ? NULL
								    : "shape";
}

static const char *why_text(enum keyring_why why)
{
	switch (why) {
	case KEYRING_OK:
		return "ok";
	case KEYRING_FORMAT:
		return "format";
	case KEYRING_UNKNOWN_KEY:
		return "unknown key";
	case KEYRING_MAC:
		return "authentication";
	}
	return "?";
}

static const char *open_plain(const struct request_state *s, const char *text,
			      json_t **ret, char kid[16])
{
	char *plain = NULL;
	size_t len = 0;
	size_t n = strlen(text);
	enum keyring_why why;
	enum bide_rc rc;

	if (n > s->max_bytes)
		return "length";
	why = keyring_open(s->keys, text, n, &plain, &len, kid);
	/* Another instance may have rotated the ring: look once more. */
	if (why == KEYRING_UNKNOWN_KEY && keyring_reload(s->keys) == BIDE_OK)
		why = keyring_open(s->keys, text, n, &plain, &len, kid);
	if (why != KEYRING_OK)
		return why_text(why);
	rc = jsontext_parse(plain, len, ret, NULL);
	free(plain);
	return rc == BIDE_OK ? NULL : "shape";
}

/* The task's public id can be all that protects it from an anonymous caller,
 * so a log gets as much of it as finds it in a list. */
static void log_refused(const char *why, const char *kid, const json_t *o,
			const struct request_state_for *f)
{
	const char *task = member(o, "t");

	metric_add(METRIC_STATE_REFUSED, 1);
	log_warn("request_state.refused",
		 "why=%s kid=%s id=%s chain=%s task=%.*s method=%s name=%s",
		 why, kid, member(o, "r"), member(o, "c"),
		 (int)strnlen(task, TASK_SHOWN), task, f->method, f->name);
}

bool request_state_open(const struct request_state *s, const char *text,
			const struct request_state_for *f, bool kind_wait,
			struct continuation *ret)
{
	json_t *o = NULL;
	char kid[16] = "";
	const char *why = open_plain(s, text, &o, kid);

	if (why == NULL)
		why = check(s, o, f, kind_wait);
	if (why == NULL) {
		why = fill(o, ret);
		if (why != NULL)
			continuation_fini(ret);
	}
	if (why != NULL)
		log_refused(why, kid, o, f);
	json_decref(o);
	return why == NULL;
}
