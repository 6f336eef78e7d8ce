#!/bin/sh
# run.sh BUILD [FILE...] - the official TypeScript client against the programs
# of BUILD: those test files, else all that are here. Then the messages that the
# servers sent are held to the published schemas, where these are at hand.
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
[ $# -gt 0 ] || set -- "$here"/*.test.mjs

dir=$(mktemp -d "${TMPDIR:-/tmp}/bide-clients.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
BIDE_WIRE_LOG=$dir/wire
TMPDIR=$dir
export BIDE_BUILD BIDE_CLIENTS BIDE_WIRE_LOG TMPDIR
"$BIDE_CLIENTS/node_modules/.bin/node" --test \
	--test-concurrency=4 --test-timeout=120000 \
	--test-reporter="$here/report.mjs" "$@" || rc=1

schemas=$BIDE_BUILD/tests/protocol_test_wire_schema
if [ -x "$schemas" ] && [ -s "$BIDE_WIRE_LOG" ]; then
	if ! "$schemas" >"$dir/schemas" 2>&1; then
		echo "clients: a message does not fit its schema"
		cat "$dir/schemas"
		rc=1
	fi
	sed -n 's/^[0-9]* messages fit$/clients: & their schemas/p' "$dir/schemas"
fi
exit $rc
