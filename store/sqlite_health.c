/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "server/base/error.h"
#include "server/base/log.h"
#include "store/sqlite_store.h"

/* Whether this instance should get traffic, kept by the writer as it goes. */

void health_init(struct store *s)
{
	mutex_init(&s->health.lock, RANK_LEAF);
}

void health_gate(struct store *s, bool stuck, const char *text)
{
	struct store_health *h = &s->health;
	bool changed;

	mutex_lock(&h->lock);
	changed = h->gate_stuck != stuck;
	h->gate_stuck = stuck;
	if (stuck)
		snprintf(h->gate_text, sizeof h->gate_text, "%s", text);
	mutex_unlock(&h->lock);
	if (changed && stuck)
		log_error("store.gate_stuck", "text=%s", text);
	else if (changed)
		log_info("store.gate_free", "stuck=%d", 0);
}

void health_disk(struct store *s, bool bad, const char *text)
{
	struct store_health *h = &s->health;
	bool changed;

	mutex_lock(&h->lock);
	changed = h->disk != bad;
	h->disk = bad;
	if (bad)
		snprintf(h->disk_text, sizeof h->disk_text, "%s", text);
	mutex_unlock(&h->lock);
	if (changed && bad)
		log_error("store.cannot_write", "text=%s", text);
	else if (changed)
		log_info("store.writes_again", "bad=%d", 0);
}

enum bide_rc store_ready(struct store *s, struct bide_error *why)
{
	struct store_health *h = &s->health;
	enum bide_rc rc = BIDE_OK;

	/* An idle instance would not notice by writing. */
	if (!s->read_only && !file_is_there(s))
		return error_set(why, BIDE_IO,
				 "the database cannot be written: " FILE_GONE);
	mutex_lock(&h->lock);
	if (h->gate_stuck)
		rc = error_set(why, BIDE_BUSY, "the write gate is not free: %s",
			       h->gate_text);
	else if (h->disk)
		rc = error_set(why, BIDE_IO,
			       "the database cannot be written: "
			       "%s",
			       h->disk_text);
	mutex_unlock(&h->lock);
	return rc;
}
