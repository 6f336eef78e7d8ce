#!/bin/sh
# fleet.sh nginx|haproxy - three instances on one database behind a balancer.
#
# Runs until it is interrupted, then drains. SIGHUP restarts the instances one
# after another, and starts those that are gone. See docs/fleet.md.
#
#   FLEET_PROGRAM  what to serve; build/examples/demo_server
#   FLEET_DIR      for the database and the logs; build/fleet
#   FLEET_PORT     the balancer's port, 8580; the instances take the next three
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
program=${FLEET_PROGRAM:-$root/build/examples/demo_server}
dir=${FLEET_DIR:-$root/build/fleet}
port=${FLEET_PORT:-8580}
# shellcheck disable=SC2034 # by eval
pid_1=0 pid_2=0 pid_3=0
pid_balancer=0
failed=0 again=
PATH=$PATH:/usr/sbin:/sbin

say() {
	echo "fleet: $*"
}

die() {
	say "$*" >&2
	exit 1
}

# await PID COMMAND... - until the command says yes; no when PID ended before
await() {
	awaited=$1
	shift
	until "$@"; do
		kill -0 "$awaited" 2>/dev/null || return 1
		sleep 0.05
	done
}

# reap PID - its exit code; a signal to us does not end the wait
reap() {
	while :; do
		rc=0
		wait "$1" || rc=$?
		if [ $rc -le 128 ] || ! kill -0 "$1" 2>/dev/null; then
			return $rc
		fi
	done
}

# start N - and wait until it serves
start() {
	log=$dir/$1.log
	: >"$log"
	"$program" serve --listen "127.0.0.1:$((port + $1))" \
		--db "$dir/bide.db" </dev/null >>"$log" 2>&1 &
	eval "pid_$1=$!"
	await $! grep -q '"event":"serve.ready"' "$log" || {
		cat "$log" >&2
		die "instance $1 does not start"
	}
}

# stop N - by SIGTERM, so that it drains
stop() {
	pid=
	eval "pid=\$pid_$1 pid_$1=0"
	[ "$pid" -gt 0 ] || return 0
	kill -TERM "$pid" 2>/dev/null || :
	reap "$pid" || {
		say "instance $1 ended with $?: see $dir/$1.log" >&2
		failed=1
	}
}

listens() {
	grep -q ":$(printf %04X "$port") 00000000:0000 0A" /proc/net/tcp
}

start_balancer() {
	sed "s/127\.0\.0\.1:8580/127.0.0.1:$port/; t
		s/127\.0\.0\.1:8581/127.0.0.1:$((port + 1))/; t
		s/127\.0\.0\.1:8582/127.0.0.1:$((port + 2))/; t
		s/127\.0\.0\.1:8583/127.0.0.1:$((port + 3))/" \
		"$here/$conf" >"$dir/$conf"
	case $balancer in
	nginx) exec nginx -p "$dir" -c "$dir/$conf" -g 'daemon off;' ;;
	haproxy) exec haproxy -db -f "$dir/$conf" ;;
	esac </dev/null >"$dir/$balancer.log" 2>&1 &
	pid_balancer=$!
	await $! listens || {
		cat "$dir/$balancer.log" >&2
		die "$balancer does not start"
	}
}

finish() {
	trap '' HUP INT TERM
	for n in 1 2 3; do
		stop $n
	done
	if [ "$pid_balancer" -gt 0 ]; then
		kill "$pid_balancer" 2>/dev/null || :
		reap "$pid_balancer" || :
	fi
	exit "$failed"
}

balancer=${1:-}
case $balancer in
nginx) conf=nginx.conf ;;
haproxy) conf=haproxy.cfg ;;
*) die "usage: fleet.sh nginx|haproxy" ;;
esac
command -v "$balancer" >/dev/null || die "$balancer is not installed"
[ -x "$program" ] || die "there is no $program: ./dev build makes it"
! listens || die "port $port is in use: set FLEET_PORT"
mkdir -p "$dir"
trap 'rc=$?; [ $rc -eq 0 ] || failed=$rc; finish' EXIT
trap 'exit 0' INT TERM
trap 'again=yes' HUP
for n in 1 2 3; do
	start $n
done
start_balancer
say "http://127.0.0.1:$port/mcp; restart them: kill -HUP $$; stop: Ctrl-C"
while :; do
	wait "$pid_balancer" || :
	kill -0 "$pid_balancer" 2>/dev/null || die "the balancer ended"
	[ -n "$again" ] || continue
	again=
	for n in 1 2 3; do
		stop $n
		start $n
	done
	say "restarted"
done
