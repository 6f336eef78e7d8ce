/* SPDX-License-Identifier: MIT */
#include "store/sqlite_bell.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/base/fault.h"
#include "server/base/metrics.h"
#include "store/sqlite_dir.h"
#include "store/sqlite_instance_file.h"

/* More than a queue holds (10 by default): the rest comes with the next poll,
 * so that a flood cannot keep the bell thread from its other duties. */
#define DRAIN_MAX 64

static void address(int dirfd, const char *name, struct sockaddr_un *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%s",
		 dirfd, name);
}

static int open_socket(void)
{
	int fd;

	sqlite_fd_lock();
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	fd = sqlite_fd_keep_locked(fd < 0 ? -errno : fd);
	sqlite_fd_unlock();
	return fd;
}

int bell_open_sender(void)
{
	return open_socket();
}

int bell_open(int dirfd, int64_t instance)
{
	char name[SQLITE_DIR_NAME];
	struct sockaddr_un a;
	int fd = open_socket(), err = 0;

	if (fd < 0)
		return fd;
	instance_file_name(instance, "sock", name);
	address(dirfd, name, &a);
	unlinkat(dirfd, name, 0);
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)))
		err = -errno;
	else
		err = sqlite_dir_fit(dirfd, name);
	if (!err)
		return fd;
	sqlite_fd_close(fd);
	return err;
}

void bell_message_init(struct bell_message *m)
{
	m->magic = BELL_MAGIC;
	m->flags = 0;
	m->ntasks = 0;
}

void bell_message_add(struct bell_message *m, int64_t task)
{
	if (m->ntasks == BELL_TASKS)
		m->flags |= BELL_EVERYTHING;
	else
		m->tasks[m->ntasks++] = task;
}

static size_t message_bytes(size_t ntasks)
{
	return offsetof(struct bell_message, tasks) + ntasks * sizeof(int64_t);
}

int bell_send(int fd, int dirfd, int64_t instance, const struct bell_message *m)
{
	char name[SQLITE_DIR_NAME];
	struct sockaddr_un a;

	if (FAULT("bell.send"))
		return 0;
	instance_file_name(instance, "sock", name);
	address(dirfd, name, &a);
	if (sendto(fd, m, message_bytes(m->ntasks), MSG_NOSIGNAL,
		   (struct sockaddr *)&a, sizeof(a)) < 0)
		return -errno;
	metric_add(METRIC_STORE_BELLS_SENT, 1);
	return 0;
}

/* Only who may write the database can send here; what it sends is checked all
 * the same, and counted as "look at everything" when it makes no sense. */
static void hear(struct bell_heard *heard, const struct bell_message *m,
		 size_t bytes)
{
	heard->datagrams++;
	if (bytes < message_bytes(0) || m->magic != BELL_MAGIC ||
	    m->ntasks > BELL_TASKS || bytes != message_bytes(m->ntasks) ||
	    m->flags & BELL_EVERYTHING || heard->n + m->ntasks > heard->cap) {
		heard->everything = true;
		return;
	}
	heard->work |= (m->flags & BELL_WORK) != 0;
	memcpy(heard->tasks + heard->n, m->tasks, m->ntasks * sizeof(int64_t));
	heard->n += m->ntasks;
}

void bell_drain(int fd, struct bell_heard *heard)
{
	struct bell_message m;
	ssize_t n;

	for (int i = 0; i < DRAIN_MAX; i++) {
		do
			n = recv(fd, &m, sizeof(m), MSG_TRUNC);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			break;
		hear(heard, &m, (size_t)n);
	}
	if (heard->datagrams)
		metric_add(METRIC_STORE_BELLS_RECEIVED,
			   (int64_t)heard->datagrams);
}
