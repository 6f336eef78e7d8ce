#!/bin/sh
# run.sh ROOT BUILD [PAGE...] - what README.md and docs/*.md tell the reader to
# type is typed, and must print what the page shows.
#
# A block that begins with "```sh run" is run. The blocks of a page run in
# order, in one bash, at the root of the tree but among files of their own, so
# that variables and servers live on to the next block; what runs in the
# background is ended after the page. Whoever types the blocks of a page as one
# script must get the same, so the page itself waits for its servers (curl
# --retry-connrefused .../readyz), and for nothing without an end. What a block
# prints must be what the next block shows, if that one begins with "```json
# output" or "```text output" (any language); one without an output must end
# well. In an output "…" stands for anything within a line, and a line of
# nothing else for any lines. Ports of 127.0.0.1 are other ones here. A line
# with curl in any other block fails: it would be run by nobody.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)
shift 2
for tool in bash curl jq timeout; do
	command -v "$tool" >/dev/null || {
		echo "docs: there is no $tool to run the pages with"
		exit 77
	}
done
if [ $# -eq 0 ]; then
	set -- "$root"/README.md "$root"/docs/*.md
fi
scratch=$(mktemp -d "${TMPDIR:-/tmp}/bide-docs.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM

# free_ports PORT... - nobody listens there
free_ports() {
	for port; do
		answer=0
		curl -s -o "$scratch/none" --noproxy '*' -m 2 \
			"http://127.0.0.1:$port/" || answer=$?
		[ "$answer" -eq 7 ] || return 1
	done
}

# cut PAGE - into $work, with ports that are free; below those that the kernel
# gives away
cut() {
	delta=$((3000 + $$ % 997 * 20))
	while :; do
		rm -rf "$work"
		mkdir "$work"
		echo $((8585 + delta)) >"$work/ports"
		awk -v dir="$work" -v page="${1#"$root/"}" -v delta="$delta" \
			-f "$here/blocks.awk" "$1" >"$work/calls" || return 1
		# shellcheck disable=SC2046
		if free_ports $(cat "$work/ports"); then
			return 0
		fi
		delta=$((delta + 10))
	done
}

# The tree as the reader sees it, except that what a page makes is made here
make_place() {
	mkdir "$place"
	for entry in "$root"/*; do
		ln -s "$entry" "$place"
	done
	rm -f "$place/build"
	ln -s "$build" "$place/build"
}

# type_page PAGE - runs its blocks; says what went wrong
type_page() {
	place=$scratch/place
	rm -rf "$place"
	make_place
	ended=0
	(cd "$place" && timeout -k 10 300 env -i PATH="$PATH" HOME="$place" \
		TMPDIR="$scratch" LANG=C.UTF-8 \
		BIDE_LISTEN="127.0.0.1:$((8585 + delta))" \
		bash --norc "$here/page.sh" "$here" "$work" "$delta" \
		"${1#"$root/"}" </dev/null) || ended=$?
	[ "$ended" -ne 124 ] || echo "${1#"$root/"}: it takes too long"
	return $ended
}

rc=0
for page; do
	work=$scratch/work
	if ! cut "$page"; then
		rc=1
		continue
	fi
	[ -s "$work/calls" ] || continue
	if type_page "$page"; then
		echo "${page#"$root/"}: $(grep -c ^block "$work/calls") blocks"
	else
		rc=1
	fi
done
exit $rc
