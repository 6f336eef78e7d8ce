/* SPDX-License-Identifier: MIT */
#include "tests/e2e/lib/effects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define AWAIT_MS 60000
#define NAP_MS   5

struct effects effects_read(const struct scratch *s)
{
	struct lines l = lines_read(s->effects);
	struct effects e = {.all = calloc(l.n + 1, sizeof(*e.all))};

	if (e.all == NULL)
		abort();
	for (size_t i = 0; i < l.n; i++) {
		struct effect *one = &e.all[e.n];

		if (sscanf(l.line[i], "%63s %lld %d %63s", one->task,
			   &one->epoch, &one->pid, one->step) == 4)
			e.n++;
	}
	lines_free(&l);
	return e;
}

void effects_free(struct effects *e)
{
	free(e->all);
	*e = (struct effects){0};
}

size_t effects_count(const struct scratch *s, const char *text)
{
	struct lines l = lines_read(s->effects);
	size_t n = 0;

	for (size_t i = 0; i < l.n; i++)
		n += strstr(l.line[i], text) != NULL;
	lines_free(&l);
	return n;
}

bool effects_await(const struct scratch *s, const char *text, size_t n)
{
	const struct timespec nap = {0, NAP_MS * 1000000L};

	for (int ms = 0; ms < AWAIT_MS; ms += NAP_MS) {
		if (effects_count(s, text) >= n)
			return true;
		(void)nanosleep(&nap, NULL);
	}
	return false;
}

static int by_step(const void *a, const void *b)
{
	const struct effect *x = a;
	const struct effect *y = b;
	int r = strcmp(x->task, y->task);

	if (r == 0)
		r = strcmp(x->step, y->step);
	if (r == 0)
		r = (x->epoch > y->epoch) - (x->epoch < y->epoch);
	return r;
}

size_t effects_tasks(const struct scratch *s, const char *step)
{
	struct effects e = effects_read(s);
	const char *last = "";
	size_t n = 0;

	qsort(e.all, e.n, sizeof(*e.all), by_step);
	for (size_t i = 0; i < e.n; i++) {
		if (strcmp(e.all[i].step, step) != 0)
			continue;
		n += strcmp(e.all[i].task, last) != 0;
		last = e.all[i].task;
	}
	effects_free(&e);
	return n;
}

bool effects_once(const struct scratch *s, char why[256])
{
	struct effects e = effects_read(s);
	bool once = true;

	qsort(e.all, e.n, sizeof(*e.all), by_step);
	for (size_t i = 1; i < e.n && once; i++) {
		once = by_step(&e.all[i - 1], &e.all[i]) != 0;
		if (!once)
			(void)snprintf(why, 256,
				       "%s twice in epoch %lld of %s, by %d "
				       "and by %d",
				       e.all[i].step, e.all[i].epoch,
				       e.all[i].task, e.all[i - 1].pid,
				       e.all[i].pid);
	}
	effects_free(&e);
	return once;
}
