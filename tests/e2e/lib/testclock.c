/* SPDX-License-Identifier: MIT */
#include "tests/e2e/lib/testclock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/e2e/lib/server.h"

struct testclock *testclock_new(const struct scratch *s)
{
	struct testclock *c = calloc(1, sizeof(*c));
	void *p = MAP_FAILED;
	int fd;

	if (c == NULL)
		exit(99);
	(void)snprintf(c->path, sizeof(c->path), "%s/clock", s->dir);
	fd = open(c->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && ftruncate(fd, sizeof(int64_t)) == 0)
		p = mmap(NULL, sizeof(int64_t), PROT_READ | PROT_WRITE,
			 MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		perror("e2e: test clock");
		exit(99);
	}
	(void)close(fd);
	c->offset_ms = p;
	return c;
}

void testclock_forward(struct testclock *c, int64_t ms)
{
	(void)__atomic_add_fetch(c->offset_ms, ms, __ATOMIC_SEQ_CST);
}

void testclock_free(struct testclock *c)
{
	if (c == NULL)
		return;
	(void)munmap(c->offset_ms, sizeof(int64_t));
	free(c);
}
