/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/base/limits.h"
#include "server/base/log.h"
#include "server/task/engine_priv.h"

/*
 * Progress, status and log lines of a running task. A handler may tell as
 * often as it likes and is never held up: what it tells is joined, and written
 * at most every NOTE_MS, one operation at a time, in the order of the task's
 * others. What is left is sent before the handler's end is written.
 */

#define NOTE_MS 100

static void set_free(struct note_set *s)
{
	for (size_t i = 0; i < s->nlogs; i++) {
		free(s->logs[i].logger);
		free(s->logs[i].data);
	}
	free(s->logs);
	free(s->message);
	free(s->status);
	*s = (struct note_set){0};
}

static void begin_set(struct note_set *s)
{
	if (s->any)
		return;
	*s = (struct note_set){.any = true, .progress = NAN, .total = NAN};
}

int64_t note_due_locked(const struct work *w)
{
	const struct note *n = &w->note;

	if (!n->next.any || n->in_flight)
		return NEVER;
	return n->sent_ms ? n->sent_ms + NOTE_MS : 0;
}

/* ---- sending ---- */

/* On a thread of the store. @w may be freed once the lock is dropped. */
static void noted(struct store_op *op, void *user)
{
	struct work *w = user;
	struct engine *e = w->e;
	struct note *n = &w->note;
	struct note_set sent = n->sent;
	struct store_log_in *lines = n->lines;

	mutex_lock(&e->lock);
	n->in_flight = false;
	n->sent = (struct note_set){0};
	n->lines = NULL;
	if (op->answer == STORE_LOST && op->outcome == STORE_REFUSED)
		w->look_ms = 0;
	engine_kick_locked(e);
	cond_broadcast(&e->changed);
	mutex_unlock(&e->lock);
	set_free(&sent);
	free(lines);
}

bool note_take_locked(struct work *w)
{
	struct note *n = &w->note;

	if (!n->next.any || n->in_flight)
		return false;
	n->sent = n->next;
	n->next = (struct note_set){0};
	n->in_flight = true;
	n->timed = false;
	n->sent_ms = clock_boot_ms();
	return true;
}

static void add_lines(struct note *n, struct store_note *u)
{
	const struct note_log *l = n->sent.logs;

	if (!n->sent.nlogs)
		return;
	n->lines = calloc(n->sent.nlogs, sizeof(*n->lines));
	if (!n->lines)
		return;
	for (size_t i = 0; i < n->sent.nlogs; i++)
		n->lines[i] = (struct store_log_in){l[i].level, l[i].logger,
						    l[i].data};
	u->logs = n->lines;
	u->nlogs = n->sent.nlogs;
}

void note_send(struct work *w)
{
	struct note *n = &w->note;
	struct store_note *u = &n->op.u.note;

	if (n->sent.dropped)
		log_warn("task.logs_dropped", "task=%lld lines=%zu",
			 (long long)w->fence.task, n->sent.dropped);
	store_op_init(&n->op, STORE_OP_NOTE, WRITE_MS);
	u->fence = w->fence;
	u->progress = n->sent.progress;
	u->total = n->sent.total;
	u->progress_message = n->sent.message;
	u->status = n->sent.status;
	add_lines(n, u);
	n->op.done = noted;
	n->op.user = w;
	store_submit(w->e->store, &n->op);
}

/* After something was added, with the lock held; unlocks. */
static void added_unlock(struct work *w)
{
	struct engine *e = w->e;
	bool now = note_due_locked(w) <= clock_boot_ms() && note_take_locked(w);

	if (!now && !w->note.timed) {
		w->note.timed = true;
		engine_kick_locked(e);
	}
	mutex_unlock(&e->lock);
	if (now)
		note_send(w);
}

void note_hold(struct work *w)
{
	mutex_lock(&w->e->lock);
	w->note.sent_ms = clock_boot_ms();
	mutex_unlock(&w->e->lock);
}

void note_flush(struct work *w)
{
	struct engine *e = w->e;
	bool send;

	mutex_lock(&e->lock);
	while (w->note.in_flight && w->note.next.any)
		cond_wait(&e->changed, &e->lock);
	send = note_take_locked(w);
	mutex_unlock(&e->lock);
	if (send)
		note_send(w);
}

void note_wait(struct work *w)
{
	struct engine *e = w->e;

	mutex_lock(&e->lock);
	while (w->note.in_flight)
		cond_wait(&e->changed, &e->lock);
	mutex_unlock(&e->lock);
}

void note_fini(struct note *n)
{
	set_free(&n->next);
	set_free(&n->sent);
	free(n->lines);
}

/* ---- adding: any thread of the handler's ---- */

static void replace(char **at, char **with)
{
	char *old = *at;

	*at = *with;
	*with = old;
}

void note_progress(struct work *w, double progress, double total,
		   const char *message)
{
	char *copy = message ? strdup(message) : NULL;
	struct note_set *s = &w->note.next;

	mutex_lock(&w->e->lock);
	begin_set(s);
	s->progress = progress;
	s->total = total > 0 ? total : NAN;
	if (copy)
		replace(&s->message, &copy);
	added_unlock(w);
	free(copy);
}

void note_status(struct work *w, const char *text)
{
	char *copy = strdup(text);
	struct note_set *s = &w->note.next;

	if (!copy)
		return;
	mutex_lock(&w->e->lock);
	begin_set(s);
	replace(&s->status, &copy);
	added_unlock(w);
	free(copy);
}

static bool room_for_log(struct note_set *s, size_t bytes)
{
	size_t cap = s->caplogs ? s->caplogs * 2 : 8;
	struct note_log *logs;

	if (s->nlogs == LIMIT_UNTOLD_LOGS ||
	    s->log_bytes + bytes > LIMIT_UNTOLD_LOG_BYTES)
		return false;
	if (s->nlogs < s->caplogs)
		return true;
	logs = realloc(s->logs, cap * sizeof(*logs));
	if (!logs)
		return false;
	s->logs = logs;
	s->caplogs = cap;
	return true;
}

void note_log(struct work *w, int level, const char *logger, const char *data)
{
	struct note_log l = {level, logger ? strdup(logger) : NULL,
			     strdup(data)};
	struct note_set *s = &w->note.next;
	size_t bytes = strlen(data);
	bool kept;

	mutex_lock(&w->e->lock);
	begin_set(s);
	kept = l.data && room_for_log(s, bytes);
	if (kept) {
		s->logs[s->nlogs++] = l;
		s->log_bytes += bytes;
	} else {
		s->dropped++;
	}
	added_unlock(w);
	if (!kept) {
		free(l.logger);
		free(l.data);
	}
}
