/* SPDX-License-Identifier: MIT */
/* Looking at the instances without being one. */
#include "store/sqlite_peers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/base/error.h"
#include "store/sqlite_bell.h"
#include "store/sqlite_dir.h"
#include "store/sqlite_instance_file.h"

static enum peers_state state_of(int dirfd, int64_t instance,
				 const struct instance_header *h)
{
	int held = instance_file_held(dirfd, instance);

	if (held < 0)
		return PEERS_ABSENT;
	if (!held)
		return PEERS_DEAD;
	return atomic_load(&h->lease_until_ms) < clock_boot_ms() ? PEERS_SILENT
								 : PEERS_ALIVE;
}

static void describe(const struct instance_header *h, struct peers_info *ret)
{
	ret->pid = h->pid;
	ret->joined_ms = h->joined_ms;
	memcpy(ret->name, h->name, sizeof(ret->name) - 1);
	ret->lease_left_ms = atomic_load(&h->lease_until_ms) - clock_boot_ms();
	ret->idle = atomic_load(&h->idle);
	ret->draining = atomic_load(&h->flags) & INSTANCE_DRAINING;
}

/* False when it went meanwhile. */
static bool look(int dirfd, int64_t instance, struct peers_info *ret)
{
	struct instance_header h;

	*ret = (struct peers_info){.instance = instance};
	if (instance_file_read(dirfd, instance, &h))
		return false;
	ret->state = state_of(dirfd, instance, &h);
	if (ret->state == PEERS_ABSENT)
		return false;
	describe(&h, ret);
	return true;
}

static int compare(const void *a, const void *b)
{
	int64_t x = ((const struct peers_info *)a)->instance;
	int64_t y = ((const struct peers_info *)b)->instance;

	return (x > y) - (x < y);
}

static bool append(struct peers_info **list, size_t *n,
		   const struct peers_info *one)
{
	struct peers_info *more = realloc(*list, (*n + 1) * sizeof(*more));

	if (!more)
		return false;
	more[(*n)++] = *one;
	*list = more;
	return true;
}

static bool collect(DIR *d, struct peers_info **list, size_t *n)
{
	struct peers_info one;
	struct dirent *e;
	int64_t instance;

	while ((e = readdir(d))) {
		instance = instance_file_number(e->d_name);
		if (instance && look(dirfd(d), instance, &one) &&
		    !append(list, n, &one))
			return false;
	}
	return true;
}

enum bide_rc peers_list(const char *realpath_db, struct peers_info **ret,
			size_t *ret_n, struct bide_error *reterr)
{
	struct bide_error why = {0};
	struct peers_info *list = NULL;
	int fd = sqlite_dir_open(realpath_db, false, &why);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	size_t n = 0;
	bool good;

	if (fd < 0 && why.rc != BIDE_NOT_FOUND)
		return error_set(reterr, BIDE_IO, "%s", why.text);
	if (fd >= 0 && !d) {
		close(fd);
		return error_set(reterr, BIDE_NOMEM, "out of memory");
	}
	good = !d || collect(d, &list, &n);
	if (d)
		closedir(d);
	if (!good) {
		free(list);
		return error_set(reterr, BIDE_NOMEM, "out of memory");
	}
	if (n)
		qsort(list, n, sizeof(*list), compare);
	*ret = list;
	*ret_n = n;
	return BIDE_OK;
}

enum peers_state peers_state(const char *realpath_db, int64_t instance)
{
	int dir = sqlite_dir_open(realpath_db, false, NULL);
	struct peers_info one = {.state = PEERS_ABSENT};

	if (dir < 0)
		return PEERS_ABSENT;
	if (!look(dir, instance, &one))
		one.state = PEERS_ABSENT;
	close(dir);
	return one.state;
}

void peers_ring_from_outside(const char *realpath_db)
{
	struct bell_message m;
	struct peers_info *v = NULL;
	size_t n = 0;
	int dirfd = sqlite_dir_open(realpath_db, false, NULL);
	int fd = dirfd < 0 ? -1 : bell_open_sender();

	bell_message_init(&m);
	m.flags = BELL_WORK | BELL_EVERYTHING;
	if (fd >= 0 && peers_list(realpath_db, &v, &n, NULL) == BIDE_OK)
		for (size_t i = 0; i < n; i++)
			(void)bell_send(fd, dirfd, v[i].instance, &m);
	free(v);
	sqlite_fd_close(fd);
	if (dirfd >= 0)
		close(dirfd);
}
