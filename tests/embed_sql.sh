#!/bin/sh
# embed_sql.sh AWK CC - what cmake/embed_sql.awk makes of SQL is C, and holds
# the very bytes of a migration; what it cannot make sense of it refuses.
set -eu
awk=$1 cc=$2
script=$(cd "$(dirname "$0")/../cmake" && pwd)/embed_sql.awk
dir=$(mktemp -d "${TMPDIR:-/tmp}/bide-embed.XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat >queries.sql <<'SQL'
-- A comment above the first block.

-- name: TASK_GET
SELECT "a", 'b\c' FROM t -- why
 -- left out
 WHERE id = ?1;
-- name: TWO
DELETE FROM t;
SQL
cat >expected <<'SQL'
TASK_GET
SELECT "a", 'b\c' FROM t -- why
 WHERE id = ?1;
TWO
DELETE FROM t;
SQL
cat >queries.c <<'C'
#include <stdio.h>
int main(void)
{
#define QUERY(name, sql) printf("%s\n%s", #name, sql);
#include "queries.inc"
	return 0;
}
C
"$awk" -v mode=queries -f "$script" queries.sql >queries.inc
"$cc" -Wall -Wextra -Wpedantic -Werror -o queries queries.c
./queries | diff expected -

# shellcheck disable=SC1003
printf '%s\n' '-- "every" byte' '' '	SELECT '\''\\n??/%s'\'';  ' >0001_init.sql
echo 'SELECT 2;' >0002_more.sql
cat >migrations.c <<'C'
#include <stdio.h>
int main(void)
{
#define MIGRATION(number, name, sql) printf("%d %s\n%s", number, name, sql);
#include "migrations.inc"
	return 0;
}
C
"$awk" -v mode=migrations -f "$script" 0001_init.sql 0002_more.sql \
	>migrations.inc
"$cc" -Wall -Wextra -Wpedantic -Werror -o migrations migrations.c
{
	echo "1 0001_init.sql"
	cat 0001_init.sql
	echo "2 0002_more.sql"
	cat 0002_more.sql
} >expected
./migrations | diff expected -

refused() { # MODE FILE
	if "$awk" -v mode="$1" -f "$script" "$2" >/dev/null 2>&1; then
		echo "accepted: $2"
		exit 1
	fi
}
printf '%s\n' 'SELECT 1;' >bad && refused queries bad
printf '%s\n' '-- name: lower' 'SELECT 1;' >bad && refused queries bad
printf '%s\n' '-- name: EMPTY' >bad && refused queries bad
printf '%s\n' '-- name: A' 'x' '-- name: A' 'y' >bad && refused queries bad
refused migrations 0002_more.sql
cp 0001_init.sql init.sql && refused migrations init.sql
echo "embed_sql: as expected"
