/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/base/limits.h"
#include "store/sqlite_check.h"
#include "store/sqlite_instance_file.h"
#include "store/sqlite_peers.h"
#include "store/store.h"

#define PAGE_BYTES 4096 /* SQLite's own; a frame has a little more */

static void check_keys(struct check *r, struct sql *c)
{
	enum sql_result res;
	sqlite3_stmt *st;
	int n = 0;

	res = sql_query(c, &st, SQL_KEY_LIST, "i", (int64_t)STORE_KEYS_MAX);
	for (; res == SQL_ROW; res = sql_next(c, st))
		n++;
	check_say(r, true, "keys for requestState: %d%s", n,
		  n == 0 ? " (the first instance makes one, unless state-keys "
			   "names a file)"
			 : "");
}

static void check_wal(struct check *r, const char *path)
{
	struct stat st;
	char *wal = NULL;
	bool large;

	if (asprintf(&wal, "%s-wal", path) < 0)
		return;
	if (stat(wal, &st) == 0) {
		large = st.st_size / PAGE_BYTES > 2LL * LIMIT_WAL_FRAMES_ALARM;
		check_say(r, !large, "the WAL has %lld kB%s",
			  (long long)st.st_size / 1024,
			  large ? ": a reader that stays open keeps it from "
				  "being emptied; find it (fuser) and end it"
				: "");
	}
	free(wal);
}

/* ---- tools ---- */
static bool instance_has(int dir, int64_t instance, const char *tool)
{
	struct instance_file f = {0};
	bool has;

	if (instance_file_map(dir, instance, &f) != 0)
		return false;
	has = instance_file_has_tool(f.h, peers_tool_hash(tool));
	instance_file_unmap(&f);
	return has;
}

static bool somebody_has(int dir, const struct peers_info *v, size_t n,
			 const char *tool)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].state == PEERS_ALIVE && !v[i].draining &&
		    instance_has(dir, v[i].instance, tool))
			return true;
	return false;
}

/* The names of the tools that have tasks in one state, one after another: a
 * name holds no character below '-', so what follows it begins with it and
 * '!'. */
static void check_tools_of(struct check *r, struct sql *c, enum sql_name from,
			   int dir, const struct peers_info *v, size_t n)
{
	char tool[LIMIT_NAME_BYTES + 2] = "";
	sqlite3_stmt *st;
	size_t len;

	while (sql_query(c, &st, from, "s", tool) == SQL_ROW) {
		len = strlen(sql_str(st, 0));
		if (len > LIMIT_NAME_BYTES)
			len = LIMIT_NAME_BYTES;
		memcpy(tool, sql_str(st, 0), len);
		tool[len] = '\0';
		sql_reset(st);
		if (!somebody_has(dir, v, n, tool))
			check_say(r, false,
				  "%s tasks of the tool %s, which no live "
				  "instance has: start one that has it, or "
				  "cancel them (tasks list --tool %s)",
				  from == SQL_READY_FROM_TOOL ? "ready"
							      : "waiting",
				  tool, tool);
		tool[len] = '!';
		tool[len + 1] = '\0';
	}
}

static void check_tools(struct check *r, struct sql *c, const char *path)
{
	int dir = sqlite_dir_open(path, false, NULL);
	struct peers_info *v = NULL;
	size_t n = 0;

	if (peers_list(path, &v, &n, NULL) == BIDE_OK) {
		check_tools_of(r, c, SQL_READY_FROM_TOOL, dir, v, n);
		check_tools_of(r, c, SQL_WAITING_FROM_TOOL, dir, v, n);
	}
	free(v);
	if (dir >= 0)
		close(dir);
}

void check_work(struct check *r, struct sql *c, const char *path)
{
	check_keys(r, c);
	check_wal(r, path);
	check_tools(r, c, path);
}
