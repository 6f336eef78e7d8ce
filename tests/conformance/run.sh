#!/bin/sh
# run.sh BUILD [SCENARIO...] - the official suite against bide-fixture.
#
# Starts BUILD/tests/bide-fixture on a free port with a new database and runs
# scenario by scenario: those named, else those that `scenarios` lists. The
# suite and the Node that it needs are installed once, into the user's cache.
# Exit 77: the suite could not be had.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
shift
if [ $# -eq 0 ]; then
	# shellcheck disable=SC2046
	set -- $(awk '$1 !~ /^#/ { print $2 }' "$here/scenarios")
fi

rc=0
suite=$(sh "$here/../npm_ci.sh" conformance "$here") || rc=$?
if [ $rc -ne 0 ]; then
	echo "$suite"
	exit $rc
fi
PATH=$suite/node_modules/.bin:$PATH

dir=$(mktemp -d "${TMPDIR:-/tmp}/bide-conformance.XXXXXX")
server=
# shellcheck disable=SC2317 # the trap calls it
finish() {
	if [ -n "$server" ]; then
		kill "$server" 2>/dev/null || :
		wait "$server" 2>/dev/null || :
	fi
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' INT TERM

"$build/tests/bide-fixture" serve --listen 127.0.0.1:0 --db "$dir/bide.db" \
	</dev/null >"$dir/log" 2>&1 &
server=$!
url=
tries=0
while [ -z "$url" ]; do
	url=$(sed -n '/http\.listening/s/.*"url": *"\([^"]*\)".*/\1/p' \
		"$dir/log" | head -n 1)
	tries=$((tries + 1))
	if [ $tries -gt 300 ] || ! kill -0 "$server" 2>/dev/null; then
		echo "conformance: bide-fixture does not listen:"
		tail -n 20 "$dir/log"
		exit 1
	fi
	[ -n "$url" ] || sleep 0.1
done
case $url in
*/mcp) ;;
*) url=${url%/}/mcp ;;
esac

# An empty list of expected failures makes every failure count.
echo 'server: []' >"$dir/empty.yaml"
echo "conformance: $# scenarios against $url"
for scenario in "$@"; do
	conformance server --url "$url" --scenario "$scenario" \
		--spec-version 2026-07-28 --force -o "$dir/out/$scenario" \
		--expected-failures "$dir/empty.yaml" \
		</dev/null >"$dir/said" 2>&1 || :
	if ! kill -0 "$server" 2>/dev/null; then
		echo "conformance: bide-fixture died in $scenario:"
		tail -n 20 "$dir/log"
		break
	fi
done
failed=0
node "$here/report.mjs" "$dir/out" "$@" || failed=1

kill "$server" 2>/dev/null || :
rc=0
wait "$server" || rc=$?
server=
if [ $rc -ne 0 ]; then
	echo "conformance: bide-fixture ended with $rc after SIGTERM:"
	tail -n 20 "$dir/log"
	failed=1
fi
exit $failed
