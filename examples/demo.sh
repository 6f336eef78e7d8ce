#!/bin/sh
# demo.sh [--exit | --stop] - two instances of demo_server on one database, and
# a client that plays the story. Leaves the two running, or with --exit stops
# them; --stop stops those of an earlier run. ./dev demo builds and calls it.
# demo.sh --example NAME - two instances of that example, its lesson, and the
# end of both; ./dev example NAME builds and calls it.
set -eu
cd "$(dirname "$0")/.."
build=${BIDE_BUILD:-$(pwd)/build}
server=$build/examples/demo_server
client=$build/examples/demo_client
state=$build/demo.state # what runs: "dir PATH" and "pid LABEL PID STARTED"

say() {
	printf '\n%s\n' "$*" | fold -s -w 80 | sed 's/ $//'
}

die() {
	printf 'demo: %s\n' "$*" >&2
	exit 1
}

# ---- processes ----

# started PID - when it was started, which with the pid names one process
started() {
	awk '{ print $22 }' "/proc/$1/stat" 2>/dev/null
}

runs() {
	[ -n "$2" ] && [ "$(started "$1")" = "$2" ]
}

# stop_one PID STARTED - by SIGTERM, so that it drains
stop_one() {
	runs "$1" "$2" || return 0
	kill -TERM "$1" 2>/dev/null || return 0
	i=0
	while runs "$1" "$2" && [ $i -lt 300 ]; do
		sleep 0.1
		i=$((i + 1))
	done
	if runs "$1" "$2"; then
		kill -KILL "$1"
	fi
}

# stop_all - what the state file names, and its directory
stop_all() {
	[ -f "$state" ] || return 0
	while read -r what a b c; do
		case $what in
		pid) stop_one "$b" "$c" ;;
		dir) old=$a ;;
		esac
	done <"$state"
	case ${old:-} in
	*/bide-demo.*)
		chmod -R u+rwX "$old" 2>/dev/null || :
		rm -rf "$old"
		;;
	esac
	rm -f "$state"
}

# write_state - for --stop and for the next run
write_state() {
	{
		echo "dir $dir"
		echo "pid A ${pid_a:-0} ${started_a:-0}"
		echo "pid B ${pid_b:-0} ${started_b:-0}"
	} >"$state"
}

# await_url LOG PID - sets url once the instance listens
await_url() {
	i=0
	while [ $i -lt 200 ]; do
		url=$(sed -n '/"event":"http.listening"/s/.*"url":"\([^"]*\)".*/\1/p' \
			"$1")
		[ -z "$url" ] || return 0
		kill -0 "$2" 2>/dev/null || return 1
		sleep 0.05
		i=$((i + 1))
	done
	return 1
}

# start LABEL PORT [NAME=VALUE] - sets pid, url and begun; another port when
# that is taken
start() {
	log=$dir/$1.log
	for listen in "127.0.0.1:$2" 127.0.0.1:0; do
		: >"$log"
		# shellcheck disable=SC2086
		env ALLOWED_ROOTS="$dir/files" \
			CHECKSUM_TREE_LOG="$dir/effects.log" \
			DEPLOY_LOG="$dir/deployments.log" ${3:-} \
			nohup $less_privileged "$server" serve \
			--db "$dir/bide.db" --listen "$listen" \
			</dev/null >/dev/null 2>>"$log" &
		pid=$!
		if await_url "$log" "$pid"; then
			begun=$(started "$pid")
			return 0
		fi
		kill "$pid" 2>/dev/null || :
	done
	cat "$log" >&2
	die "instance $1 did not start"
}

start_a() {
	start A "${port_a:-8585}" "${env_a:-}"
	pid_a=$pid url_a=$url started_a=$begun
	write_state
}

start_b() {
	start B "${port_b:-8586}" "${env_b:-}"
	pid_b=$pid url_b=$url started_b=$begun
	write_state
}

# ---- the files ----

# A real tree, and two files in the middle of it that cannot be read.
make_tree() {
	cp -R /usr/include "$dir/files/include"
	(
		cd "$dir/files/include"
		find . -type f | LC_ALL=C sort |
			awk '{ name[NR] = $0 }
				END { m = int(NR / 2); print name[m]; print name[m + 1] }' |
			while read -r name; do
				chmod 000 "$name"
			done
	)
}

make_project() {
	mkdir -p "$dir/files/project/docs"
	for name in Makefile main.c README.md docs/design.md; do
		echo "$name" >"$dir/files/project/$name"
	done
}

# readable - how many files our servers can hash
readable() {
	if [ "$(id -u)" -eq 0 ] && [ -z "$less_privileged" ]; then
		find "$dir/files/include" -type f | wc -l
	else
		find "$dir/files/include" -type f ! -perm 000 | wc -l
	fi
}

# Root reads what it pleases; our servers are to be refused like anybody.
less_privileged=
drop_privileges() {
	[ "$(id -u)" -eq 0 ] || return 0
	caps=-dac_override,-dac_read_search
	if setpriv --bounding-set=$caps --inh-caps=$caps true 2>/dev/null; then
		less_privileged="setpriv --bounding-set=$caps --inh-caps=$caps"
	else
		say "(As root, without setpriv, every file can be read: the" \
			"question about unreadable files will not come.)"
	fi
}

# ---- what is claimed is counted ----

# distinct FIELDS - of the effects log, which has a line for each file that was
# read: task, epoch, pid, path
distinct() {
	cut -d ' ' -f "$1" "$dir/effects.log" | LC_ALL=C sort -u | wc -l
}

# check_effects TASKS - no file of a task was read twice
check_effects() {
	lines=$(wc -l <"$dir/effects.log")
	files_read=$(distinct 1,4-)
	[ "$lines" -eq "$files_read" ] ||
		die "$lines reads of $files_read files: some were read twice"
	[ "$(distinct 1)" -eq "$1" ] || die "more tasks than calls"
	say "Counted: $lines files were opened for hashing, $files_read of them" \
		"different. Nothing was hashed twice, and nothing was lost:"
	cut -d ' ' -f 1,3 "$dir/effects.log" | uniq -c |
		while read -r n task by; do
			printf '  task %.10s...  %6d files by pid %s\n' \
				"$task" "$n" "$by"
		done
}

check_manifest() {
	(cd "$dir/files/include" && sha256sum --check --quiet "../$1") ||
		die "the manifest is wrong"
	lines=$(wc -l <"$dir/files/$1")
	[ "$lines" -eq "$(readable)" ] || die "the manifest lacks files"
	say "sha256sum --check agrees with all $lines lines of the manifest."
}

act() {
	name=$1
	shift
	"$client" "$name" --a "$url_a" --b "$url_b" --files "$dir/files" \
		--tree "$dir/files/include" "$@" || {
		tail -n 20 "$dir"/[AB].log >&2
		die "the act \"$name\" failed"
	}
}

# begin - a directory of our own, which goes with us
begin() {
	dir=$(mktemp -d "${TMPDIR:-/tmp}/bide-demo.XXXXXX")
	mkdir "$dir/files"
	: >"$dir/effects.log"
	: >"$dir/deployments.log"
	trap 'stop_all' EXIT
	trap 'exit 1' INT TERM
	write_state
}

introduce() {
	printf '\nA: %s (pid %s)%s\nB: %s (pid %s)%s\ndatabase: %s\n' \
		"$url_a" "$pid_a" "${env_a:+ $env_a}" \
		"$url_b" "$pid_b" "${env_b:+ $env_b}" "$dir/bide.db"
}

# example NAME - what each needs, and its lesson
example() {
	server=$build/examples/$1
	lesson=examples/lessons/$1.json
	if ! [ -x "$server" ] || ! [ -f "$lesson" ]; then
		die "no example $1; there are:" \
			"$(cd examples/lessons && echo *.json | sed 's/\.json//g')"
	fi
	state=$build/example.$$.state
	port_a=0 port_b=0
	begin
	case $1 in
	checksum_tree)
		drop_privileges
		make_tree
		;;
	list_project_files) make_project ;;
	rolling_upgrade) env_a=TOOL_VERSION=1 env_b=TOOL_VERSION=2 ;;
	load_shedding) env_a=SHED_ABOVE=0 ;;
	esac
	start_a
	start_b
	introduce
	act lesson --lesson "$lesson"
}

# operate WORDS... - shows the command and runs it
operate() {
	printf '\n  $ demo_server'
	printf ' %s' "$@"
	printf ' --db bide.db\n\n'
	"$server" "$@" --db "$dir/bide.db"
}

# ---- the story ----
leave=yes
case ${1:-} in
"") ;;
--exit) leave= ;;
--stop)
	if [ -f "$state" ]; then
		stop_all
		echo "Both instances are stopped."
	else
		echo "Nothing was left running."
	fi
	exit 0
	;;
--example)
	example "${2:-}"
	exit 0
	;;
*) die "what is $1? --exit, --stop or --example NAME" ;;
esac
[ -x "$client" ] || die "not built: run ./dev build"

stop_all
begin
drop_privileges
make_tree
start_a
start_b
introduce

act hello
act deploy
[ "$(wc -l <"$dir/deployments.log")" -eq 1 ] || die "deployed more than once"
say "Counted: one deployment."

act rounds --kill-a "$pid_a" --manifest SHA256SUMS
check_effects 1
check_manifest SHA256SUMS
start_a
say "A is started again (pid $pid_a)."

act tasks --kill-a "$pid_a" --manifest SHA256SUMS.tasks
check_effects 2
cmp "$dir/files/SHA256SUMS" "$dir/files/SHA256SUMS.tasks" ||
	die "the two manifests differ"
say "The manifest is the same as before, byte for byte."
start_a
say "A is started again (pid $pid_a)."

act leave --task-file "$dir/task"
task=$(cat "$dir/task")
say "The operator looks at what is pending, and on which question. (The" \
	"deployment is not there: an ephemeral call keeps nothing.)"
operate tasks list
operate tasks show "$(printf '%.10s' "$task")"
say "It can wait no longer:"
operate tasks cancel "$(printf '%.10s' "$task")"
operate tasks list
say "What the client finds when it comes back:"
act look --task "$task"
say "And how all of it stands:"
operate doctor

if [ -z "$leave" ]; then
	stop_all
	say "Both instances are stopped."
else
	trap - EXIT
	cat <<-END

	Both instances are left running:
	  A  $url_a   log $dir/A.log
	  B  $url_b   log $dir/B.log
	Health: ${url_a%/mcp}/healthz   Metrics: ${url_a%/mcp}/metrics
	Tasks:  $server tasks list --db $dir/bide.db
	Stop:   ./dev demo --stop
	END
fi
