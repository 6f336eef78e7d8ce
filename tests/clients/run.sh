#!/bin/sh
# run.sh BUILD [FILE...] - the official TypeScript client against the programs
# of BUILD: those test files, else all that are here.
# Exit 77: the client could not be had.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
BIDE_BUILD=$(cd "$1" && pwd)
shift
rc=0
BIDE_CLIENTS=$(sh "$here/../npm_ci.sh" clients "$here") || rc=$?
if [ $rc -ne 0 ]; then
	echo "$BIDE_CLIENTS"
	exit $rc
fi
export BIDE_BUILD BIDE_CLIENTS
[ $# -gt 0 ] || set -- "$here"/*.test.mjs
exec "$BIDE_CLIENTS/node_modules/.bin/node" --test \
	--test-reporter="$here/report.mjs" --test-timeout=120000 "$@"
