/* SPDX-License-Identifier: MIT */
#include "store/sqlite_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server/base/clock.h"

/* Field 2 is the program's name in brackets and may itself hold anything, so
 * the count begins after the last bracket. 0 or -errno. */
static int read_stat(int64_t pid, char *ret_state, long *ret_threads,
		     uint64_t *ret_start)
{
	char path[48], text[1024], *p;
	unsigned long long start;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0) /* ESRCH: it ended between open and read */
		return n < 0 ? -errno : -ESRCH;
	text[n] = '\0';
	p = strrchr(text, ')');
	if (!p || sscanf(p + 1,
			 " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u"
			 " %*d %*d %*d %*d %ld %*d %llu",
			 ret_state, ret_threads, &start) != 3)
		return -EIO;
	*ret_start = start;
	return 0;
}

void proc_self(struct proc_id *ret)
{
	struct stat ns;
	long threads;
	char state;

	memset(ret, 0, sizeof(*ret));
	ret->pid = getpid();
	if (read_stat(ret->pid, &state, &threads, &ret->start))
		ret->start = 0;
	if (!stat("/proc/self/ns/pid", &ns))
		ret->pid_ns = ns.st_ino;
	snprintf(ret->boot_id, sizeof(ret->boot_id), "%s", clock_boot_id());
}

static bool of_here(const struct proc_id *id)
{
	struct stat ns;

	return !stat("/proc/self/ns/pid", &ns) && id->pid_ns == ns.st_ino;
}

static bool of_this_boot(const struct proc_id *id)
{
	return strncmp(id->boot_id, clock_boot_id(), sizeof(id->boot_id)) == 0;
}

enum proc_state proc_look(const struct proc_id *id, char *ret_char)
{
	char state = '?';
	uint64_t start = 0;
	long threads = 0;
	int err;

	if (ret_char)
		*ret_char = '?';
	if (!of_this_boot(id))
		return PROC_GONE;
	if (id->pid <= 0 || !of_here(id))
		return PROC_UNKNOWN;
	err = read_stat(id->pid, &state, &threads, &start);
	if (err)
		return err == -ESRCH ? PROC_GONE : PROC_UNKNOWN;
	if (start != id->start)
		return PROC_GONE;
	/* A first thread that ended before the others is a zombie, too. */
	if ((state == 'Z' || state == 'X') && threads <= 1)
		return PROC_GONE;
	if (ret_char)
		*ret_char = state;
	return state == 'T' || state == 't' ? PROC_STOPPED : PROC_RUNS;
}

int proc_open(const struct proc_id *id)
{
	int fd;

	if (!of_this_boot(id))
		return -ESRCH;
	if (id->pid <= 0 || !of_here(id))
		return -EXDEV;
	fd = (int)syscall(SYS_pidfd_open, (pid_t)id->pid, 0);
	if (fd < 0)
		return -errno;
	/* The descriptor holds the process; now see that it is the one. */
	switch (proc_look(id, NULL)) {
	case PROC_RUNS:
	case PROC_STOPPED:
		return fd;
	case PROC_GONE:
		close(fd);
		return -ESRCH;
	case PROC_UNKNOWN:
		break;
	}
	close(fd);
	return -EXDEV;
}

int proc_kill(int pidfd)
{
	if (syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0))
		return -errno;
	return 0;
}
