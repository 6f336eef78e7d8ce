#!/bin/bash
# page.sh HERE WORK DELTA PAGE - the shell in which one page's blocks run;
# run.sh has cut them into WORK. The first that is wrong ends it.
docs_here=$1 docs_work=$2 docs_delta=$3 docs_page=$4
shift 4

docs_end() {
	# shellcheck disable=SC2046
	kill $(jobs -p) 2>/dev/null
	wait
}
trap docs_end EXIT
trap 'exit 1' INT TERM

docs_fail() {
	printf '%s\n' "$1"
	sed 's/^/    /' "$docs_work/$2.got"
	exit 1
}

# block NUMBER LINE
block() {
	local rc want=$docs_work/$1.want got=$docs_work/$1.got
	# shellcheck disable=SC1090
	source "$docs_work/$1.sh" >"$got" 2>&1
	rc=$?
	if [ ! -f "$want" ]; then
		[ "$rc" -eq 0 ] ||
			docs_fail "$docs_page:$2: the block ended with $rc" "$1"
		return 0
	fi
	awk -v delta="$docs_delta" -f "$docs_here/match.awk" "$want" "$got" ||
		docs_fail "$docs_page:$2: this came out instead:" "$1"
}

# shellcheck disable=SC1091
source "$docs_work/calls"
