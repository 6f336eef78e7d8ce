/* SPDX-License-Identifier: MIT */
#include "server/dispatch/once.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/jsontext.h"
#include "server/dispatch/tools.h"
#include "server/security/keyring.h"

#define CONFLICT_TEXT "The idempotency key was used with other arguments"

struct follower {
	struct job job; /* first */
	struct dispatch *d;
	struct request *rq;
	struct follower *next;
};

void once_digest(struct request *rq, const struct target *target, char out[44])
{
	struct buf b = {0};

	(void)buf_addf(&b, "%s\n%s", target->name, request_args_digest(rq));
	security_digest(b.failed ? "?" : b.data, b.failed ? 1 : b.len, out);
	buf_fini(&b);
}

static void idem_id(const struct request *rq, char out[80])
{
	char digest[44];
	struct buf b = {0};

	(void)buf_addstr(&b, rq->principal);
	(void)buf_addc(&b, '\n');
	(void)buf_addstr(&b, rq->idem_key);
	security_digest(b.failed ? "?" : b.data, b.failed ? 1 : b.len, digest);
	buf_fini(&b);
	(void)snprintf(out, 80, "k:%s", digest);
}

static void find_keys(struct dispatch *d, struct request *rq,
		      const struct target *target, struct once_entry *e)
{
	struct once_key *k;

	if (target->single_use && rq->resume != NULL) {
		k = &e->keys[e->n++];
		(void)snprintf(k->id, sizeof(k->id), "u:%s", rq->resume->id);
		once_digest(rq, target, k->digest);
		/* Twice its life: clocks differ, and leeway is given. */
		k->keep_ms = 2 * d->opt.continuation_ttl_ms;
		k->rounds = true;
	}
	if (rq->idem_key != NULL && target->kind == TARGET_TOOL) {
		k = &e->keys[e->n++];
		idem_id(rq, k->id);
		once_digest(rq, target, k->digest);
		k->keep_ms =
			engine_retention_ms(d->opt.engine, target_tool(target));
	}
}

static bool same(const struct once_entry *a, const struct once_entry *b)
{
	size_t i;
	size_t j;

	for (i = 0; i < a->n; i++)
		for (j = 0; j < b->n; j++)
			if (strcmp(a->keys[i].id, b->keys[j].id) == 0)
				return true;
	return false;
}

static void release(json_t **args)
{
	json_decref(*args);
	*args = NULL;
}

/* True: somebody runs it here; @rq follows, and from the unlock on it may be
 * answered and freed on another thread. */
static bool follow(struct dispatch *d, struct request *rq,
		   struct once_entry *mine, json_t **args)
{
	struct follower *f = calloc(1, sizeof(*f));
	struct once_entry *e;

	mutex_lock(&d->lock);
	for (e = d->once; e != NULL && !same(e, mine); e = e->next)
		;
	if (e != NULL && f != NULL) {
		f->d = d;
		f->rq = rq;
		f->next = e->followers;
		e->followers = f;
		f = NULL;
		release(args);
	} else {
		e = NULL;
		mine->next = d->once;
		d->once = mine;
	}
	mutex_unlock(&d->lock);
	free(f);
	return e != NULL;
}

static void go_on(struct job *j)
{
	struct follower *f = (struct follower *)j;
	struct dispatch *d = f->d;
	struct request *rq = f->rq;

	free(f);
	tools_call_again(d, rq);
}

void once_forget(struct dispatch *d, struct once_entry *e)
{
	struct once_entry **at;
	struct follower *f;
	struct follower *next;

	if (e->n == 0)
		return;
	mutex_lock(&d->lock);
	for (at = &d->once; *at != NULL && *at != e; at = &(*at)->next)
		;
	if (*at == e)
		*at = e->next;
	f = e->followers;
	e->followers = NULL;
	mutex_unlock(&d->lock);
	e->n = 0;
	for (; f != NULL; f = next) {
		next = f->next;
		f->job.fn = go_on;
		pool_submit(engine_calls(d->opt.engine), &f->job);
	}
}

void once_refuse(struct dispatch *d, struct request *rq)
{
	core_error(d, rq, CORE_INVALID, CONFLICT_TEXT);
}

bool once_door(struct dispatch *d, struct request *rq,
	       const struct target *target, struct once_entry *e, json_t **args)
{
	char *digest = NULL;
	char *kept = NULL;
	bool conflict = false;
	size_t i;

	memset(e, 0, sizeof(*e));
	find_keys(d, rq, target, e);
	if (e->n == 0)
		return false;
	if (follow(d, rq, e, args))
		return true;
	for (i = 0; i < e->n && kept == NULL; i++) {
		if (store_consumed(d->store, e->keys[i].id, &digest, &kept) !=
		    BIDE_OK)
			continue;
		conflict = strcmp(digest, e->keys[i].digest) != 0;
		free(digest);
	}
	if (kept == NULL)
		return false;
	once_forget(d, e);
	release(args);
	if (conflict)
		once_refuse(d, rq);
	else
		once_answer(d, rq, kept);
	free(kept);
	return true;
}

/* ---- what is kept ---- */
static bool add_member(struct buf *b, const char *name, const char *value)
{
	return buf_addf(b, ",\"%s\":", name) &&
	       jsontext_write_string(value, strlen(value), b);
}

/* {"result":..} | {"error":..} | {"ask":..,"id":..,"chain":..,"record":..} */
static char *dump(const struct outcome *o)
{
	struct buf b = {0};
	const struct continuation *c = o->next;

	(void)buf_addstr(&b, o->kind == OUTCOME_RESULT       ? "{\"result\":"
			     : o->kind == OUTCOME_ERROR_TEXT ? "{\"error\":"
							     : "{\"ask\":");
	(void)buf_add(&b, o->text, o->len);
	if (o->kind == OUTCOME_NEEDS_INPUT) {
		(void)add_member(&b, "id", c->id);
		(void)add_member(&b, "chain", c->chain);
		(void)buf_addf(&b, ",\"wake\":%lld,\"rounds\":%d,\"record\":",
			       (long long)c->wake_ms, c->rounds);
		(void)jsontext_write(c->record, &b);
	}
	(void)buf_addc(&b, '}');
	if (b.failed) {
		buf_fini(&b);
		return NULL;
	}
	return buf_take(&b, NULL);
}

static void load_next(struct dispatch *d, const json_t *kept,
		      struct continuation *c)
{
	const char *id = json_string_value(json_object_get(kept, "id"));
	const char *chain = json_string_value(json_object_get(kept, "chain"));

	memset(c, 0, sizeof(*c));
	c->kind = CONTINUATION_RECORD;
	(void)snprintf(c->id, sizeof(c->id), "%s", id != NULL ? id : "");
	(void)snprintf(c->chain, sizeof(c->chain), "%s",
		       chain != NULL ? chain : "");
	c->wake_ms = json_integer_value(json_object_get(kept, "wake"));
	c->rounds = (int)json_integer_value(json_object_get(kept, "rounds"));
	c->record = json_incref(json_object_get(kept, "record"));
	c->ttl_ms = d->opt.continuation_ttl_ms;
}

void once_answer(struct dispatch *d, struct request *rq, const char *kept)
{
	struct outcome o = {.kind = OUTCOME_RESULT};
	struct continuation next;
	json_t *j = NULL;
	json_t *body = NULL;
	char *text = NULL;

	if (jsontext_parse(kept, strlen(kept), &j, NULL) == BIDE_OK) {
		if ((body = json_object_get(j, "error")) != NULL)
			o.kind = OUTCOME_ERROR_TEXT;
		else if ((body = json_object_get(j, "ask")) != NULL)
			o.kind = OUTCOME_NEEDS_INPUT;
		else
			body = json_object_get(j, "result");
	}
	if (body != NULL)
		text = jsontext_dup(body, &o.len);
	o.text = text;
	if (o.kind == OUTCOME_NEEDS_INPUT) {
		load_next(d, j, &next);
		o.next = &next;
	}
	if (text == NULL) {
		core_no_memory(d, rq);
	} else {
		core_done(d, rq, &o);
	}
	free(text);
	json_decref(j);
}

/* ---- keeping ---- */
static void step(struct once_keeping *k);

static void stored(struct store_op *op, void *user)
{
	struct once_keeping *k = user;

	if (op->outcome == STORE_DONE && op->answer == STORE_EARLIER &&
	    k->earlier == NULL)
		k->earlier = op->u.consume.ret_outcome;
	else
		free(op->u.consume.ret_outcome);
	if (op->outcome == STORE_NOT_DONE || op->outcome == STORE_UNKNOWN) {
		k->done(k);
		return;
	}
	k->conflict |= op->answer == STORE_CONFLICT;
	k->at++;
	step(k);
}

static void step(struct once_keeping *k)
{
	const struct once_key *key;

	while (k->at < k->entry->n && !k->entry->keys[k->at].rounds &&
	       k->outcome->kind == OUTCOME_NEEDS_INPUT)
		k->at++;
	if (k->at >= k->entry->n) {
		k->op.outcome = STORE_DONE;
		k->done(k);
		return;
	}
	key = &k->entry->keys[k->at];
	store_op_init(&k->op, STORE_OP_CONSUME, CORE_STORE_TIMEOUT_MS);
	k->op.u.consume.id = key->id;
	k->op.u.consume.digest = key->digest;
	k->op.u.consume.outcome = k->earlier != NULL ? k->earlier : k->text;
	k->op.u.consume.keep_ms = key->keep_ms;
	k->op.done = stored;
	k->op.user = k;
	store_submit(k->d->store, &k->op);
}

void once_keep(struct once_keeping *k)
{
	k->at = 0;
	k->earlier = NULL;
	k->conflict = false;
	k->text = dump(k->outcome);
	if (k->text == NULL) {
		k->op.outcome = STORE_NOT_DONE;
		k->done(k);
		return;
	}
	step(k);
}

void once_keeping_fini(struct once_keeping *k)
{
	free(k->text);
	free(k->earlier);
	k->text = NULL;
	k->earlier = NULL;
}
