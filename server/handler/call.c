/* SPDX-License-Identifier: MIT */
#include "server/base/clock.h"
#include "server/base/error.h"
#include "server/handler/call_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES 4096

static char *take_room(struct bide_call *c, size_t bytes)
{
	char *p = c->room;

	c->room += bytes;
	c->room_left -= bytes;
	return p;
}

void *call_alloc(struct bide_call *c, size_t bytes)
{
	struct call_chunk *chunk = NULL;
	size_t want;

	if (bytes > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes + 15) & ~(size_t)15;
	if (bytes <= c->room_left)
		return take_room(c, bytes);
	want = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
	chunk = malloc(sizeof(*chunk) + want);
	if (!chunk)
		return NULL;
	chunk->next = c->chunks;
	c->chunks = chunk;
	/* The larger remainder stays in use. */
	if (want - bytes < c->room_left)
		return chunk->bytes;
	c->room = chunk->bytes;
	c->room_left = want;
	return take_room(c, bytes);
}

char *call_strdup(struct bide_call *c, const char *s)
{
	size_t n = strlen(s) + 1;
	char *p = call_alloc(c, n);

	if (p)
		memcpy(p, s, n);
	return p;
}

enum bide_rc call_fail(struct bide_call *c, enum bide_rc rc, const char *fmt,
		       ...)
{
	va_list ap;

	if (!c->stuck.rc) {
		va_start(ap, fmt);
		error_setv(&c->stuck, rc, fmt, ap);
		va_end(ap);
	}
	return c->stuck.rc;
}

enum bide_rc call_nomem(struct bide_call *c)
{
	return call_fail(c, BIDE_NOMEM, "out of memory");
}

enum bide_rc call_stuck(const struct bide_call *c)
{
	if (c->stuck.rc)
		return c->stuck.rc;
	return c->leaving ? BIDE_PENDING : BIDE_OK;
}

enum bide_rc call_acts(struct bide_call *c)
{
	int why = atomic_load(&c->cancelled);

	if (why && !c->stuck.rc)
		return call_fail(c, (enum bide_rc)why, "stopped");
	return call_stuck(c);
}

enum bide_rc call_leave(struct bide_call *c, enum run_left left)
{
	c->leaving = true;
	c->left = left;
	return BIDE_PENDING;
}

int64_t call_now_ms(struct bide_call *c)
{
	return c->backend->now_ms ? c->backend->now_ms(c) : clock_wall_ms();
}

void call_trace(struct bide_call *c, const char *what, const char *key)
{
	if (!c->trace)
		return;
	buf_addstr(c->trace, what);
	buf_addc(c->trace, ' ');
	buf_addstr(c->trace, key);
	buf_addc(c->trace, '\n');
}

json_t *call_unconst(const json_t *v)
{
	return (json_t *)v;
}

/* ---- the request ---- */

const json_t *bide_args(const struct bide_call *call)
{
	return call->args;
}

static const json_t *arg(const struct bide_call *call, const char *name)
{
	return name ? json_object_get(call->args, name) : NULL;
}

const char *bide_arg_string(const struct bide_call *call, const char *name)
{
	return json_string_value(arg(call, name));
}

/* JSON Schema's integers: 2.0 is one too (validation, 6.1.1). */
static bool integral(const json_t *v, int64_t *ret)
{
	double d;

	if (json_is_integer(v)) {
		*ret = json_integer_value(v);
		return true;
	}
	d = json_real_value(v);
	if (!json_is_real(v) || d != trunc(d) || d < -0x1p63 || d >= 0x1p63)
		return false;
	*ret = (int64_t)d;
	return true;
}

int64_t call_json_int(const json_t *v, int64_t absent)
{
	int64_t i = 0;

	return integral(v, &i) ? i : absent;
}

int64_t bide_arg_int(const struct bide_call *call, const char *name,
		     int64_t absent)
{
	return call_json_int(arg(call, name), absent);
}

double bide_arg_real(const struct bide_call *call, const char *name,
		     double absent)
{
	const json_t *v = arg(call, name);

	return json_is_number(v) ? json_number_value(v) : absent;
}

bool bide_arg_bool(const struct bide_call *call, const char *name, bool absent)
{
	const json_t *v = arg(call, name);

	return json_is_boolean(v) ? json_is_true(v) : absent;
}

const char *bide_principal(const struct bide_call *call)
{
	return call->principal;
}

int64_t bide_epoch(const struct bide_call *call)
{
	return call->epoch;
}

const char *bide_task_id(const struct bide_call *call)
{
	return call->task_id;
}

const char *bide_uri(const struct bide_call *call)
{
	return call->uri;
}

const char *bide_chain_id(const struct bide_call *call)
{
	return call->chain_id;
}

bool bide_client_can(const struct bide_call *call, enum bide_can what)
{
	unsigned bits = (unsigned)what;

	return (call->caller.can & bits) == bits;
}
