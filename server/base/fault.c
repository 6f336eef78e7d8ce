/* SPDX-License-Identifier: MIT */
#include "server/base/fault.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FAULTS_MAX 64
#define DELAY_MAX  600000

enum action { ACT_KILL, ACT_STOP, ACT_FAIL, ACT_DELAY, ACT_STAMP };

struct entry {
	char point[64];
	char detail[64];
	bool any_detail;
	long nth; /* 0: every one */
	enum action action;
	long delay_ms;
	atomic_long passed;
};

bool fault_armed;

static struct entry entries[FAULTS_MAX];
static int n_entries;

static bool read_number(const char *s, long max, long *ret)
{
	char *end = NULL;
	long v;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	v = strtol(s, &end, 10);
	if (errno || *end || v > max)
		return false;
	*ret = v;
	return true;
}

static bool read_action(const char *s, struct entry *e)
{
	if (strcmp(s, "kill") == 0)
		e->action = ACT_KILL;
	else if (strcmp(s, "stop") == 0)
		e->action = ACT_STOP;
	else if (strcmp(s, "fail") == 0)
		e->action = ACT_FAIL;
	else if (strcmp(s, "stamp") == 0)
		e->action = ACT_STAMP;
	else if (strncmp(s, "delay", 5) == 0 &&
		 read_number(s + 5, DELAY_MAX, &e->delay_ms))
		e->action = ACT_DELAY;
	else
		return false;
	return true;
}

static bool read_point(char *s, struct entry *e)
{
	char *at = strchr(s, '@');

	e->any_detail = !at;
	if (at) {
		*at++ = '\0';
		if (strlen(at) >= sizeof(e->detail))
			return false;
		memcpy(e->detail, at, strlen(at) + 1);
	}
	if (!*s || strlen(s) >= sizeof(e->point))
		return false;
	memcpy(e->point, s, strlen(s) + 1);
	return true;
}

/* point[@detail]:n:action, split from the right: a detail may hold colons.
 * Returns NULL or what is wrong. */
static const char *read_entry(char *s, struct entry *e)
{
	char *action = strrchr(s, ':');
	char *nth = NULL;

	if (action) {
		*action++ = '\0';
		nth = strrchr(s, ':');
	}
	if (!nth)
		return "expected point[@detail]:n:action";
	*nth++ = '\0';
	if (!read_number(nth, 1000000000, &e->nth))
		return "n is no number";
	if (!read_action(action, e))
		return "the action is not kill, stop, fail, stamp or delayMS";
	if (!read_point(s, e))
		return "the point or its detail is empty or too long";
	return NULL;
}

static const char *read_spec(char *copy, int *count)
{
	char *save = NULL;
	const char *wrong;

	for (char *s = strtok_r(copy, ",", &save); s;
	     s = strtok_r(NULL, ",", &save)) {
		if (*count == FAULTS_MAX)
			return "too many faults";
		memset(&entries[*count], 0, sizeof(entries[*count]));
		wrong = read_entry(s, &entries[*count]);
		if (wrong)
			return wrong;
		(*count)++;
	}
	return NULL;
}

int fault_arm(const char *spec, char *errtext, unsigned errcap)
{
	char *copy = strdup(spec);
	const char *wrong = "out of memory";
	int count = n_entries;

	if (copy)
		wrong = read_spec(copy, &count);
	free(copy);
	if (wrong) {
		if (errtext && errcap)
			snprintf(errtext, errcap, "fault \"%s\": %s", spec,
				 wrong);
		return -1;
	}
	n_entries = count;
	fault_armed = count > 0;
	return 0;
}

void fault_disarm(void)
{
	fault_armed = false;
	n_entries = 0;
}

static void delay(long ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&ts, &ts) && errno == EINTR)
		continue;
}

/* For the benchmark: when a point was passed, on the clock that all processes
 * of a machine share. */
static void stamp(const struct entry *e)
{
	struct timespec ts;
	char line[160];
	int n;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	n = snprintf(line, sizeof(line), "{\"stamp\":\"%s\",\"ns\":%lld}\n",
		     e->point, ts.tv_sec * 1000000000LL + ts.tv_nsec);
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n) != n)
		return;
}

static bool act(const struct entry *e)
{
	switch (e->action) {
	case ACT_KILL:
		kill(getpid(), SIGKILL);
		for (;;) /* the other threads may run on for a moment */
			pause();
	case ACT_STOP:
		kill(getpid(), SIGSTOP);
		return false;
	case ACT_FAIL:
		return true;
	case ACT_DELAY:
		delay(e->delay_ms);
		return false;
	case ACT_STAMP:
		stamp(e);
		return false;
	}
	return false;
}

bool fault_hit_slow(const char *point, const char *detail)
{
	bool fails = false;

	for (int i = 0; i < n_entries; i++) {
		struct entry *e = &entries[i];

		if (strcmp(e->point, point) != 0)
			continue;
		if (!e->any_detail && strcmp(e->detail, detail) != 0)
			continue;
		if (atomic_fetch_add(&e->passed, 1) + 1 == e->nth || !e->nth)
			fails |= act(e);
	}
	return fails;
}
