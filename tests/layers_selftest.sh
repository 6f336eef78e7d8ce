#!/bin/sh
# The layer check, and that of banned functions, are themselves checked: each
# passes a clean tree and fails on each kind of violation, one at a time.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d "${TMPDIR:-/tmp}/bide-layers.XXXXXX")
trap 'rm -rf "$tree"' EXIT
failures=0

plant() { # FILE LINE
	mkdir -p "$tree/$(dirname "$1")"
	printf '%s\n' "$2" >"$tree/$1"
}

refused() { # FILE LINE [CHECK]: planted, it must be named in the complaint
	plant "$1" "$2"
	if out=$(sh "$here/${3:-layers}.sh" "$tree"); then
		echo "not noticed: $1: $2"
		failures=$((failures + 1))
	elif ! printf '%s\n' "$out" | grep -q "^$1:1: "; then
		echo "noticed, but not where it stands: $1: $out"
		failures=$((failures + 1))
	fi
	rm "$tree/$1"
}

plant server/LAYERS "$(cat "$here/../server/LAYERS")"
plant include/bide/types.h '#include <jansson.h>'
plant server/base/buf.c '#include "bide/types.h"'
plant store/sqlite_db.c '#include <sqlite3.h>'
plant store/store.h '#include "server/base/buf.h"'
plant server/transport/http.c '#include <microhttpd.h>'
plant server/main.c '#include "server/transport/http.h"'
plant tests/unit/base/test_buf.c '#include <cmocka.h>'
plant examples/deploy.c '#include "bide/types.h"'
plant server/base/calm.c '/* rand() */ x->system(1); strtok_r(a, b, c); "sleep()";'
sh "$here/layers.sh" "$tree"
sh "$here/banned.sh" "$tree"

refused server/base/up.c '#include "store/store.h"'
refused server/base/angled.c '#include <store/store.h>'
refused store/up.c '#  include "server/security/auth.h"'
refused server/task/up.c '#include "server/transport/http.h"'
refused server/admin/aside.c '#include "server/transport/http.h"'
refused server/base/up.h '#include "tests/unit/base/x.h"'
refused server/base/short.c '#include "buf.h"'
refused include/bide/inner.h '#include "server/base/buf.h"'
refused examples/inner.c '#include "store/store.h"'
refused tests/fixture/inner.c '#include "server/base/buf.h"'
refused store/migrate.c '#include <sqlite3.h>'
refused server/transport/stdio.c '#include <microhttpd.h>'
refused server/task/nonce.c '#include <sodium.h>'
refused server/security/jwks.c '#include <curl/curl.h>'
refused server/extra/room.c '#include <stdio.h>'

refused server/base/bad.c 'strcpy(a, b);' banned
refused store/bad.h '	return !atoi (s);' banned
refused examples/bad.c 'if (x) sleep(1);' banned

echo "layers_selftest: $failures unnoticed"
[ "$failures" -eq 0 ]
