/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "server/base/clock.h"
#include "server/base/error.h"
#include "store/sqlite_store.h"

/*
 * The database's clock: CLOCK_BOOTTIME plus an offset that is written once a
 * boot, so all instances agree and nobody who sets the wall clock moves it.
 * A new boot starts at the wall clock, or at "clock_high" if that is later: no
 * time above it was ever written, so the clock never goes backwards.
 * Source: docs/design.md, "Tasks in the store", rule 13.
 */

static bool same_boot(struct sql *c)
{
	sqlite3_stmt *st;
	bool same = false;

	if (sql_query(c, &st, SQL_META_GET, "s", "boot_id") == SQL_ROW) {
		same = strcmp(sql_str(st, 0), clock_boot_id()) == 0;
		sql_reset(st);
	}
	return same;
}

static int64_t fresh_offset(int64_t high)
{
	int64_t start = clock_wall_ms();

	return (start > high ? start : high) - clock_boot_ms();
}

static enum bide_rc failed(struct sql *c, struct bide_error *reterr)
{
	return error_set(reterr, BIDE_IO,
			 "cannot read the database's clock: %s",
			 sqlite3_errmsg(c->db));
}

/* For readers: after a reboot nobody has written the new offset yet. */
enum bide_rc clock_load(struct store *s, struct sql *c,
			struct bide_error *reterr)
{
	int64_t high = sql_int(c, 0, SQL_META_GET, "s", "clock_high");

	s->clock_high = high;
	if (same_boot(c))
		s->clock_offset =
			sql_int(c, 0, SQL_META_GET, "s", "clock_offset");
	else
		s->clock_offset = fresh_offset(high);
	return c->rc == SQLITE_OK ? BIDE_OK : failed(c, reterr);
}

enum bide_rc clock_begin(struct store *s, struct sql *c,
			 struct bide_error *reterr)
{
	if (clock_load(s, c, reterr) != BIDE_OK)
		return BIDE_IO;
	if (same_boot(c))
		return BIDE_OK;
	sql_run(c, SQL_TXN_BEGIN, "");
	sql_run(c, SQL_META_PUT, "ss", "boot_id", clock_boot_id());
	sql_run(c, SQL_META_PUT, "si", "clock_offset", s->clock_offset);
	sql_run(c, SQL_TXN_COMMIT, "");
	return c->rc == SQLITE_OK ? BIDE_OK : failed(c, reterr);
}

int64_t store_now_us(struct store *s)
{
	return clock_boot_us() + s->clock_offset * 1000;
}

int64_t store_now_ms(struct store *s)
{
	int64_t now = clock_boot_ms() + s->clock_offset;
	int64_t last =
		atomic_load_explicit(&s->clock_last, memory_order_relaxed);

	while (now > last &&
	       !atomic_compare_exchange_weak(&s->clock_last, &last, now))
		;
	return now > last ? now : last;
}
