#!/bin/sh
# readme.sh ROOT - the handler in README.md is examples/readme_tool.c, which is
# compiled; --write puts the file's text there.
set -eu
write=
if [ "${1:-}" = --write ]; then
	write=1
	shift
fi
cd "$1"
tool=examples/readme_tool.c

# The README with the file between the fence that follows the mark and the next.
made=$(awk -v tool="$tool" '
	skip && /^```$/ { skip = 0 }
	skip { next }
	{ print }
	index($0, "<!-- " tool " -->") { marked = 1 }
	marked && /^```c$/ {
		while ((getline line < tool) > 0)
			print line
		marked = 0
		skip = found = 1
	}
	END { exit !found }' README.md) || {
	echo "README.md: no block for $tool"
	exit 1
}
if [ -n "$write" ]; then
	printf '%s\n' "$made" >README.md
	exit 0
fi
printf '%s\n' "$made" | diff README.md - || {
	echo "README.md differs from $tool: sh tests/readme.sh --write ."
	exit 1
}

# Links into the tree lead somewhere.
bad=0
for file in README.md CONTRIBUTING.md docs/*.md; do
	links=$(grep -o '](\([^)#:]*\)' "$file" | cut -c3-) || continue
	for link in $links; do
		if ! [ -e "$(dirname "$file")/$link" ]; then
			echo "$file: no $link"
			bad=1
		fi
	done
done
exit $bad
