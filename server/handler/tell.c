/* SPDX-License-Identifier: MIT */
#include "server/base/jsontext.h"
#include "server/base/limits.h"
#include "server/base/log.h"
#include "server/base/utf8.h"
#include "server/handler/call_internal.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Threads: progress, log and cancelled come from any, run_cancel() too. */

struct told {
	double progress, total;
	char *message; /* owned */
};

/*
 * Takes the value when it rises. One thread tells at a time, so that values
 * leave in order without a lock held meanwhile: whoever comes in between leaves
 * his value to it, and only the newest is kept. Returns true to the teller.
 */
static bool take_turn(struct bide_call *c, double progress, double total,
		      char **message)
{
	bool mine = false;

	mutex_lock(&c->lock);
	if (isnan(c->last_progress) || progress > c->last_progress) {
		c->last_progress = progress;
		mine = !c->telling;
		if (c->telling) {
			free(c->next.message);
			c->next.progress = progress;
			c->next.total = total;
			c->next.message = *message;
			*message = NULL;
			c->untold = true;
		}
		c->telling = true;
	}
	mutex_unlock(&c->lock);
	return mine;
}

static bool next_turn(struct bide_call *c, struct told *t)
{
	bool more;

	mutex_lock(&c->lock);
	more = c->untold;
	if (more) {
		*t = (struct told){c->next.progress, c->next.total,
				   c->next.message};
		c->next.message = NULL;
	} else {
		c->telling = false;
	}
	c->untold = false;
	mutex_unlock(&c->lock);
	return more;
}

void bide_progress(struct bide_call *call, double progress, double total,
		   const char *message)
{
	struct told t = {progress, total, NULL};

	if (!isfinite(progress))
		return;
	if (!isfinite(total) || total < 0)
		t.total = 0;
	if (message && utf8_valid(message, strlen(message)))
		t.message = strdup(message);
	if (take_turn(call, progress, t.total, &t.message)) {
		do {
			if (call->backend->progress)
				call->backend->progress(call, t.progress,
							t.total, t.message);
			free(t.message);
			t.message = NULL;
		} while (next_turn(call, &t));
	}
	free(t.message);
}

double run_last_progress(const struct bide_call *c)
{
	struct mutex *lock = (struct mutex *)&c->lock;
	double v;

	mutex_lock(lock);
	v = c->last_progress;
	mutex_unlock(lock);
	return v;
}

void run_set_last_progress(struct bide_call *c, double progress)
{
	mutex_lock(&c->lock);
	c->last_progress = progress;
	mutex_unlock(&c->lock);
}

void bide_log(struct bide_call *call, enum bide_log_level level,
	      const char *logger, json_t *data)
{
	struct buf text = {.max = LIMIT_LOG_DATA_BYTES};
	int n = (int)level;

	if (n < BIDE_LOG_DEBUG)
		n = BIDE_LOG_DEBUG;
	if (n > BIDE_LOG_EMERGENCY)
		n = BIDE_LOG_EMERGENCY;
	if (logger && !utf8_valid(logger, strlen(logger)))
		logger = NULL;
	if (call->backend->log && data) {
		if (jsontext_write(data, &text))
			call->backend->log(call, n, logger, text.data);
		else
			log_warn("handler.log_dropped",
				 CALL_WHO " why=invalid_or_too_large",
				 call_who(call));
	}
	buf_fini(&text);
	json_decref(data);
}

void bide_status(struct bide_call *call, const char *fmt, ...)
{
	char text[LIMIT_STATUS_BYTES + 1];
	va_list ap;
	int n;

	if (call->stuck.rc || !call->backend->status)
		return;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	text[utf8_prefix(text, strlen(text))] = '\0';
	call->backend->status(call, text);
}

bool bide_cancelled(const struct bide_call *call)
{
	return atomic_load(&call->cancelled) != 0;
}

static void ring(int fd)
{
	uint64_t one = 1;
	ssize_t n;

	do
		n = write(fd, &one, sizeof(one));
	while (n < 0 && errno == EINTR);
}

/*
 * Either run_cancel() sees the descriptor or we see its flag: each side
 * writes its own before it reads the other's.
 */
int bide_cancel_fd(struct bide_call *call)
{
	int fd = atomic_load(&call->cancel_fd);

	if (fd >= 0)
		return fd;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return -1;
	atomic_store(&call->cancel_fd, fd);
	if (bide_cancelled(call))
		ring(fd);
	return fd;
}

void run_cancel(struct bide_call *c, enum bide_rc why)
{
	int none = 0;
	int fd;

	if (!atomic_compare_exchange_strong(&c->cancelled, &none, (int)why))
		return;
	fd = atomic_load(&c->cancel_fd);
	if (fd >= 0)
		ring(fd);
}
