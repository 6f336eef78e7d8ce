#!/bin/sh
# fleet.sh BUILD - examples/fleet/fleet.sh as docs/fleet.md has it: it starts
# behind each balancer that is installed, restarts, and stops whole.
# Exit 77: there is none.
set -eu
cd "$(dirname "$0")/.."
build=$1
dir=$(mktemp -d "${TMPDIR:-/tmp}/bide-fleet.XXXXXX")
fleet=
PATH=$PATH:/usr/sbin
# shellcheck disable=SC2317 # the trap calls it
finish() {
	[ -z "$fleet" ] || kill "$fleet" 2>/dev/null || :
	[ -z "$fleet" ] || wait "$fleet" || :
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' INT TERM

# await TEXT - in what the script says
await() {
	tries=0
	until grep -q "$1" "$dir/said"; do
		tries=$((tries + 1))
		if [ $tries -gt 1200 ] || ! kill -0 "$fleet" 2>/dev/null; then
			echo "$balancer: no \"$1\":"
			cat "$dir/said"
			exit 1
		fi
		sleep 0.05
	done
}

# asked - the status of a GET, which the endpoint answers with 405
asked() {
	curl --noproxy '*' -so /dev/null -w '%{http_code}' \
		"$(sed -n 's/^fleet: \(http[^;]*\);.*/\1/p' "$dir/said")" || :
}

# works WHEN
works() {
	status=$(asked)
	[ "$status" = 405 ] || {
		echo "$balancer: $status $1"
		exit 1
	}
}

played=0
for balancer in nginx haproxy; do
	command -v $balancer >/dev/null || continue
	: >"$dir/said"
	# Below the ports that the kernel gives to connections.
	FLEET_PROGRAM=$build/tests/bide-fixture FLEET_DIR=$dir/$balancer \
		FLEET_PORT=$((10000 + $$ % 2500 * 4)) \
		sh examples/fleet/fleet.sh $balancer </dev/null \
		>"$dir/said" 2>&1 &
	fleet=$!
	await '^fleet: http'
	works "at first"
	kill -HUP "$fleet"
	await '^fleet: restarted'
	works "after the restart"
	kill -TERM "$fleet"
	rc=0
	wait "$fleet" || rc=$?
	fleet=
	[ $rc -eq 0 ] || {
		echo "$balancer: it ended with $rc"
		cat "$dir/said"
		exit 1
	}
	status=$(asked)
	[ "$status" = 000 ] || {
		echo "$balancer: still there"
		exit 1
	}
	played=$((played + 1))
done
echo "fleet: $played balancers"
[ $played -gt 0 ] || exit 77
