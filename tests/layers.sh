#!/bin/sh
# layers.sh ROOT - fail when a file includes a room that is not below its own,
# or a library that belongs to others. ROOT/server/LAYERS holds the rules.
set -eu
cd "$1"

dirs=
for d in include server store examples tests; do
	if [ -d "$d" ]; then
		dirs="$dirs $d"
	fi
done

# shellcheck disable=SC2086
find $dirs -name node_modules -prune -o -name '*.[ch]' -type f -print |
sort | awk '
function room(path,  i, best)
{
	best = 0
	for (i = 1; i <= rooms; i++)
		if (index(path, prefix[i]) == 1 &&
		    length(prefix[i]) > length(prefix[best]))
			best = i
	return best
}

function complain(what)
{
	printf "%s:%d: %s\n", file, line, what
	bad++
}

function quoted(h,  i, its)
{
	if (h ~ /^bide\//)
		its = room("include/" h)
	else
		its = room(h)
	if (!its) {
		complain("\"" h "\" is not a path from the root")
		return
	}
	if (its != mine && level[its] >= level[mine])
		complain(prefix[mine] " (" level[mine] ") includes \"" h \
			 "\" (" level[its] ")")
	for (i = 1; i <= onlys; i++)
		if (index(file, only_in[i]) == 1 && h !~ only_what[i])
			complain("\"" h "\" in " only_in[i] ", which may " \
				 "include " only_what[i] " alone")
}

function angled(h,  i)
{
	if (room(h))
		quoted(h)
	for (i = 1; i <= libs; i++)
		if (h ~ lib[i] && file !~ lib_user[i])
			complain("<" h "> is for " lib_user[i])
}

function check(  text, part)
{
	mine = room(file)
	if (!mine)
		complain("in no room that server/LAYERS names")
	line = 0
	while ((getline text < file) > 0) {
		line++
		if (text ~ /^[ \t]*#[ \t]*include[ \t]*"/) {
			split(text, part, "\"")
			quoted(part[2])
		} else if (text ~ /^[ \t]*#[ \t]*include[ \t]*</) {
			split(text, part, /[<>]/)
			angled(part[2])
		}
	}
	close(file)
	files++
}

BEGIN {
	prefix[0] = ""
	while ((getline rule < "server/LAYERS") > 0) {
		n = split(rule, word)
		if (n == 0 || rule ~ /^#/)
			continue
		if (word[1] == "layer" && n == 3) {
			level[++rooms] = word[2] + 0
			prefix[rooms] = word[3]
		} else if (word[1] == "only" && n == 3) {
			only_in[++onlys] = word[2]
			only_what[onlys] = word[3]
		} else if (word[1] == "lib" && n == 3) {
			lib[++libs] = word[2]
			lib_user[libs] = word[3]
		} else {
			print "server/LAYERS: " rule
			bad++
		}
	}
	if (!rooms) {
		print "server/LAYERS: no rooms"
		exit bad = 1
	}
}

{
	file = $0
	check()
}

END {
	printf "layers: %d files, %d violations\n", files, bad
	exit(bad > 0 || files == 0)
}'
