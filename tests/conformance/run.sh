#!/bin/sh
# run.sh [--fleet] BUILD [SCENARIO...] - the official suite against bide-fixture.
#
# Starts BUILD/tests/bide-fixture on a free port with a new database and runs
# scenario by scenario: those named, else those that `scenarios` lists. With
# --fleet, three of it behind nginx, as examples/fleet has them. The suite and
# the Node that it needs are installed once, into the user's cache.
# Exit 77: the suite, or nginx, could not be had.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
fleet=
if [ "$1" = --fleet ]; then
	fleet=yes
	shift
	if ! PATH=$PATH:/usr/sbin command -v nginx >/dev/null; then
		echo "conformance: nginx is not installed"
		exit 77
	fi
fi
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

if [ -n "$fleet" ]; then
	# Below the ports that the kernel gives to connections.
	FLEET_PROGRAM=$build/tests/bide-fixture FLEET_DIR=$dir/fleet \
		FLEET_PORT=$((10000 + $$ % 2500 * 4)) \
		sh "$here/../../examples/fleet/fleet.sh" nginx \
		</dev/null >"$dir/log" 2>&1 &
else
	"$build/tests/bide-fixture" serve --listen 127.0.0.1:0 \
		--db "$dir/bide.db" </dev/null >"$dir/log" 2>&1 &
fi
server=$!
url=
tries=0
while [ -z "$url" ]; do
	url=$(sed -n 's/^fleet: \(http[^;]*\);.*/\1/p
		/http\.listening/s/.*"url": *"\([^"]*\)".*/\1/p' \
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
echo "conformance: $# scenarios against $url${fleet:+, three instances}"
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
	tail -n 20 "$dir/log" ${fleet:+"$dir"/fleet/?.log}
	failed=1
fi
exit $failed
