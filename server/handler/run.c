/* SPDX-License-Identifier: MIT */
#include "server/handler/run.h"
#include "server/base/error.h"
#include "server/base/limits.h"
#include "server/base/log.h"
#include "server/handler/call_internal.h"
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INTERNAL (-32603) /* JSON-RPC: internal error */

static json_t *no_args;

static void make_no_args(void)
{
	no_args = json_object();
}

/* What a call without arguments has; never changes, never freed. */
static json_t *empty_args(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_no_args);
	return no_args;
}

static bool copy_strings(struct bide_call *c, const struct run_options *opt)
{
	c->principal = call_strdup(c, opt->principal ? opt->principal : "");
	c->chain_id = call_strdup(c, opt->chain_id ? opt->chain_id : "");
	c->epoch = opt->epoch;
	if (opt->task_id)
		c->task_id = call_strdup(c, opt->task_id);
	if (opt->uri)
		c->uri = call_strdup(c, opt->uri);
	return c->principal && c->chain_id && (!opt->task_id || c->task_id) &&
	       (!opt->uri || c->uri);
}

struct bide_call *run_new(const struct run_options *opt)
{
	static const struct run_backend nothing;
	struct bide_call *c = malloc(sizeof(*c));

	if (!c)
		return NULL;
	memset(c, 0, offsetof(struct bide_call, first_room));
	c->room = c->first_room;
	c->room_left = sizeof(c->first_room);
	c->target = opt->target;
	c->backend = opt->backend ? opt->backend : &nothing;
	c->backend_data = opt->backend_data;
	c->args = opt->args ? opt->args : empty_args();
	c->default_deadline_ms = opt->default_deadline_ms;
	c->reenter = opt->reenter;
	if (opt->caller)
		c->caller = *opt->caller;
	atomic_init(&c->cancelled, 0);
	atomic_init(&c->cancel_fd, -1);
	mutex_init(&c->lock, RANK_CALL);
	c->last_progress = NAN;
	if (c->args && copy_strings(c, opt))
		return c;
	run_free(c);
	return NULL;
}

void run_free(struct bide_call *c)
{
	struct call_chunk *next = NULL;
	int fd;

	if (!c)
		return;
	record_free(c);
	content_reset(c);
	free(c->next.message);
	fd = atomic_load(&c->cancel_fd);
	if (fd >= 0)
		close(fd);
	mutex_fini(&c->lock);
	for (struct call_chunk *k = c->chunks; k; k = next) {
		next = k->next;
		free(k);
	}
	free(c);
}

void *run_backend_data(const struct bide_call *c)
{
	return c->backend_data;
}

void run_set_caller(struct bide_call *c, const struct caller *caller)
{
	c->caller = *caller;
}

void run_result_fini(struct run_result *r)
{
	buf_fini(&r->text);
}

/* ---- one entry ---- */

static void forget_entry(struct bide_call *c)
{
	c->stuck = (struct bide_error){0};
	c->loose = (struct bide_error){0};
	c->leaving = false;
	c->wake_ms = 0;
	c->missing = 0;
	c->open_step = NULL;
	content_reset(c);
	for (size_t i = 0; i < c->n_questions; i++) {
		c->questions[i].asked_now = false;
		c->questions[i].refused = false;
		c->questions[i].seen_now = false;
	}
}

/* What a handler that ended with an error of its own says to the client. */
static void leave_error(struct bide_call *c, enum bide_rc rc,
			struct run_result *ret)
{
	const char *text = c->stuck.rc == rc   ? c->stuck.text
			   : c->loose.rc == rc ? c->loose.text
					       : "";
	bool may_say = rc == BIDE_INVALID || rc == BIDE_LIMIT;

	log_error("handler.failed", CALL_WHO " rc=%s text=%s", call_who(c),
		  error_rc_name(rc), text);
	result_error(ret, INTERNAL, may_say && *text ? text : "Internal error");
}

static void leave_bug(struct bide_call *c, const char *what,
		      struct run_result *ret)
{
	log_error("handler.bug", CALL_WHO " what=%s", call_who(c), what);
	result_error(ret, INTERNAL, "Internal error");
}

static void leave_failed(struct bide_call *c, struct run_result *ret)
{
	if (!c->failure.len) {
		leave_bug(c, "BIDE_FAILED without bide_fail()", ret);
		return;
	}
	buf_fini(&ret->text);
	ret->text = c->failure;
	c->failure = (struct buf){0};
	ret->left = RUN_ERROR;
}

static void leave_pending(struct bide_call *c, struct run_result *ret)
{
	if (!c->leaving) {
		leave_bug(c,
			  "BIDE_PENDING though nothing is open, sleeps, "
			  "yields or persists",
			  ret);
		return;
	}
	ret->left = c->left;
	ret->wake_ms = c->wake_ms;
	if (c->left == RUN_NEEDS_INPUT || c->left == RUN_SLEEPS)
		record_drop_unasked(c);
}

static void leave_incapable(struct bide_call *c, struct run_result *ret)
{
	if (!c->missing) {
		leave_bug(c, "BIDE_NO_CAPABILITY though nothing was refused",
			  ret);
		return;
	}
	ret->left = RUN_NO_CAPABILITY;
	ret->missing = c->missing;
}

/* What a handler began and forgot does no harm here, and will elsewhere. */
static void leave_finished(struct bide_call *c, struct run_result *ret)
{
	if (c->open_step)
		log_warn("handler.step_not_committed", CALL_WHO " step=%s",
			 call_who(c), c->open_step);
	for (size_t i = 0; i < c->n_questions; i++) {
		const struct run_question *q = &c->questions[i];

		if (q->state == RUN_Q_NEW && q->asked_now && !q->refused)
			log_warn("handler.question_not_awaited",
				 CALL_WHO " question=%s", call_who(c), q->key);
	}
	result_finish(c, ret);
}

static void leave(struct bide_call *c, enum bide_rc rc, struct run_result *ret)
{
	switch (rc) {
	case BIDE_OK:
		leave_finished(c, ret);
		return;
	case BIDE_PENDING:
		leave_pending(c, ret);
		return;
	case BIDE_FAILED:
		leave_failed(c, ret);
		return;
	case BIDE_NO_CAPABILITY:
		leave_incapable(c, ret);
		return;
	case BIDE_LOST:
		ret->left = RUN_STOPPED;
		return;
	case BIDE_RUN:
		leave_bug(c, "BIDE_RUN was returned", ret);
		return;
	case BIDE_CANCELLED:
	case BIDE_INVALID:
	case BIDE_NOT_FOUND:
	case BIDE_CONFLICT:
	case BIDE_LIMIT:
	case BIDE_BUSY:
	case BIDE_NOMEM:
	case BIDE_IO:
	case BIDE_UNKNOWN:
	case BIDE_MISUSE:
		break;
	}
	leave_error(c, rc, ret);
}

/*
 * What sticks wins over what the handler says, for it may have checked late.
 * A result that is there in spite of a cancellation is let through: the fence
 * of the one who writes it decides.
 */
static enum bide_rc verdict(const struct bide_call *c, enum bide_rc rc)
{
	int why = atomic_load(&c->cancelled);

	if (c->stuck.rc)
		rc = c->stuck.rc;
	else if (rc == BIDE_OK && c->leaving)
		rc = BIDE_PENDING;
	if (why && rc != BIDE_OK && rc != BIDE_FAILED)
		return BIDE_LOST;
	return rc;
}

static void enter_once(struct bide_call *c, struct run_result *ret)
{
	enum bide_rc rc;

	*ret = (struct run_result){.left = RUN_ERROR};
	forget_entry(c);
	rc = c->target->handler(c, c->target->user);
	leave(c, verdict(c, rc), ret);
}

/* ---- debug: entered twice ---- */

static bool starts_with(const struct buf *whole, const struct buf *part)
{
	return whole->len >= part->len &&
	       (!part->len || !memcmp(whole->data, part->data, part->len));
}

static bool same_text(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && starts_with(a, b);
}

static void complain(const struct bide_call *c, const char *what,
		     const struct buf *first, const struct buf *second)
{
	log_warn("handler.reenter_differs",
		 CALL_WHO " what=%s first=%s second=%s", call_who(c), what,
		 first->data ? first->data : "",
		 second->data ? second->data : "");
}

static void compare(const struct bide_call *c, const struct run_result *r1,
		    const struct buf *t1, const struct run_result *r2,
		    const struct buf *t2)
{
	/* A sleep that is over meanwhile lets the second entry go on. */
	if (!starts_with(t2, t1) ||
	    (r1->left != RUN_SLEEPS && !same_text(t1, t2)))
		complain(c, "asks_and_steps", t1, t2);
	else if (r1->left == RUN_COMPLETE && r2->left == RUN_COMPLETE &&
		 !same_text(&r1->text, &r2->text))
		complain(c, "result", &r1->text, &r2->text);
	else if (r1->left != r2->left && r1->left != RUN_SLEEPS)
		complain(c, "how_it_left", t1, t2);
}

static bool worth_a_second(enum run_left left)
{
	switch (left) {
	case RUN_COMPLETE:
	case RUN_NEEDS_INPUT:
	case RUN_SLEEPS:
	case RUN_NO_CAPABILITY:
		return true;
	case RUN_ERROR:
	case RUN_YIELDS:
	case RUN_PERSISTS:
	case RUN_STOPPED:
		return false;
	}
	return false;
}

static void enter_twice(struct bide_call *c, struct run_result *ret)
{
	struct run_result first;
	struct buf t1 = {.max = LIMIT_RESULT_BYTES};
	struct buf t2 = {.max = LIMIT_RESULT_BYTES};

	c->trace = &t1;
	enter_once(c, &first);
	if (!worth_a_second(first.left)) {
		*ret = first;
	} else {
		c->trace = &t2;
		enter_once(c, ret);
		compare(c, &first, &t1, ret, &t2);
		run_result_fini(&first);
	}
	c->trace = NULL;
	buf_fini(&t1);
	buf_fini(&t2);
}

void run_enter(struct bide_call *c, struct run_result *ret)
{
	if (c->reenter)
		enter_twice(c, ret);
	else
		enter_once(c, ret);
}
