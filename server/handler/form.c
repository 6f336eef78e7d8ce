/* SPDX-License-Identifier: MIT */
#include "server/base/error.h"
#include "server/base/fnv.h"
#include "server/base/jsontext.h"
#include "server/base/log.h"
#include "server/catalog/json_schema.h"
#include "server/handler/call_internal.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/*
 * A handler that is entered again asks again, with the same schema text; and
 * each answer is checked against it. So what a text comes to is kept, in a
 * table of the process where each text has one place: the newest one wins it.
 * A refused schema is not kept: its handler is broken and asks once.
 */
#define PLACES     256
#define KEPT_BYTES (64 * 1024) /* larger texts are not kept */

struct form {
	atomic_int refs;
	uint64_t hash;
	char *source; /* as the handler has it */
	size_t source_len;
	char *text; /* compact */
	size_t text_len;
	struct json_schema *schema;
};

static struct {
	struct mutex lock;
	struct form *place[PLACES];
} kept;

static void init_kept(void)
{
	mutex_init(&kept.lock, RANK_LEAF);
}

static void lock_kept(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, init_kept);
	mutex_lock(&kept.lock);
}

static uint64_t hash(const char *s, size_t len)
{
	return fnv_fold(fnv_bytes(FNV_BASIS, s, len));
}

void form_unref(struct form *f)
{
	if (!f || atomic_fetch_sub(&f->refs, 1) > 1)
		return;
	json_schema_free(f->schema);
	free(f->source);
	free(f->text);
	free(f);
}

static struct form *find(const char *s, size_t len, uint64_t h)
{
	struct form *f = NULL;

	lock_kept();
	f = kept.place[h % PLACES];
	if (f && f->hash == h && f->source_len == len &&
	    !memcmp(f->source, s, len))
		atomic_fetch_add(&f->refs, 1);
	else
		f = NULL;
	mutex_unlock(&kept.lock);
	return f;
}

static void keep(struct form *f)
{
	struct form *old = NULL;

	if (f->source_len > KEPT_BYTES)
		return;
	atomic_fetch_add(&f->refs, 1);
	lock_kept();
	old = kept.place[f->hash % PLACES];
	kept.place[f->hash % PLACES] = f;
	mutex_unlock(&kept.lock);
	form_unref(old);
}

/* client/elicitation "Form Mode Security": said once per text, and sent. */
static void warn_secret(const json_t *schema)
{
	const char *name = json_schema_secret_property(schema);

	if (name)
		log_warn("handler.form_asks_secret",
			 "property=%s advice=ask_with_bide_ask_url", name);
}

static enum bide_rc prepare(struct form *f, const char *s, size_t len,
			    struct bide_error *reterr)
{
	json_t *schema = NULL;
	enum bide_rc rc = jsontext_parse(s, len, &schema, reterr);

	if (!rc)
		rc = json_schema_check_elicitation(schema, reterr);
	if (!rc)
		rc = json_schema_compile(schema, &f->schema, reterr);
	if (!rc) {
		warn_secret(schema);
		f->source = malloc(len + 1);
		f->text = jsontext_dup(schema, &f->text_len);
		if (!f->source || !f->text)
			rc = BIDE_NOMEM;
	}
	if (!rc) {
		memcpy(f->source, s, len);
		f->source_len = len;
	}
	json_decref(schema);
	return rc;
}

enum bide_rc form_get(const char *schema, size_t len, struct form **ret,
		      struct bide_error *reterr)
{
	uint64_t h = hash(schema, len);
	struct form *f = find(schema, len, h);
	enum bide_rc rc;

	if (!f) {
		f = calloc(1, sizeof(*f));
		if (!f)
			return error_set(reterr, BIDE_NOMEM, "out of memory");
		atomic_init(&f->refs, 1);
		f->hash = h;
		rc = prepare(f, schema, len, reterr);
		if (rc) {
			form_unref(f);
			return rc;
		}
		keep(f);
	}
	*ret = f;
	return BIDE_OK;
}

const char *form_text(const struct form *f, size_t *ret_len)
{
	*ret_len = f->text_len;
	return f->text;
}

const struct json_schema *form_schema(const struct form *f)
{
	return f->schema;
}
