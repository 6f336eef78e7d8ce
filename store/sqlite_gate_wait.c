/* SPDX-License-Identifier: MIT */
#include "store/sqlite_gate_wait.h"

#include <errno.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/fault.h"

/* A signal that came between arming and flock is lost; the next is so far. */
#define REPEAT_MS 5

#ifndef sigev_notify_thread_id /* glibc before 2.41 hides the name */
#define sigev_notify_thread_id _sigev_un._tid
#endif

static pthread_once_t signal_once = PTHREAD_ONCE_INIT;
static int wait_signal; /* 0: the program uses them all */

static void wake(int signo)
{
	(void)signo; /* flock has come back with EINTR: that was all */
}

/* One that the program has not taken. sigaction() without SA_RESTART. */
static void choose_signal(void)
{
	struct sigaction ours = {.sa_handler = wake}, theirs;

	sigemptyset(&ours.sa_mask);
	for (int s = SIGRTMAX; s >= SIGRTMIN; s--) {
		if (sigaction(s, NULL, &theirs) || theirs.sa_handler != SIG_DFL)
			continue;
		if (!sigaction(s, &ours, NULL)) {
			wait_signal = s;
			return;
		}
	}
}

static void signal_set(const struct gate_wait *w, sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, w->signo);
}

void gate_wait_begin(struct gate_wait *w)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID};
	sigset_t set;

	pthread_once(&signal_once, choose_signal);
	w->timed = false;
	w->signo = wait_signal;
	if (!w->signo)
		return;
	ev.sigev_signo = w->signo;
	ev.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	/* Counts through a suspend, as the deadlines do. */
	if (timer_create(CLOCK_BOOTTIME, &ev, &w->timer))
		return;
	w->timed = true;
	signal_set(w, &set);
	pthread_sigmask(SIG_UNBLOCK, &set, &w->mask);
}

/* A signal that is still on its way must not meet a later system call. */
void gate_wait_end(struct gate_wait *w)
{
	static const struct timespec now;
	sigset_t set;

	if (!w->timed)
		return;
	signal_set(w, &set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	timer_delete(w->timer);
	while (sigtimedwait(&set, NULL, &now) > 0)
		;
	pthread_sigmask(SIG_SETMASK, &w->mask, NULL);
	w->timed = false;
}

static struct timespec from_ms(int64_t ms)
{
	return (struct timespec){.tv_sec = ms / 1000,
				 .tv_nsec = ms % 1000 * 1000000};
}

/* Without a timer the queue is lost, and with it the fairness; the deadline
 * is kept. */
static int nap_and_try(int fd, int64_t ms)
{
	struct timespec nap = from_ms(ms < 1 ? ms : 1);

	if (!flock(fd, LOCK_EX | LOCK_NB))
		return 0;
	if (errno != EWOULDBLOCK)
		return -errno;
	nanosleep(&nap, NULL);
	return -EINTR;
}

int gate_wait_flock(struct gate_wait *w, int fd, int64_t ms)
{
	struct itimerspec at = {.it_interval = from_ms(REPEAT_MS)};

	ms = clock_nap_ms(ms);
	if (ms < 1)
		ms = 1;
	at.it_value = from_ms(ms);
	if (!w->timed || timer_settime(w->timer, 0, &at, NULL))
		return nap_and_try(fd, ms);
	if (FAULT("gate.wait")) /* delays: the signal comes too early */
		return -EINTR;
	return flock(fd, LOCK_EX) ? -errno : 0;
}
