#!/bin/sh
# banned.sh ROOT - functions that the library and its examples do not call:
# they have no bound, no error or no thread safety, and each has a better twin.
set -eu
cd "$1"
dirs=
for d in include server store examples; do
	if [ -d "$d" ]; then
		dirs="$dirs $d"
	fi
done

# shellcheck disable=SC2086
find $dirs -name '*.[ch]' -type f -print | sort | awk '
BEGIN {
	n = split("strcpy strcat sprintf vsprintf gets strtok strncat " \
		  "atoi atol atoll atof alloca rand srand random drand48 " \
		  "localtime gmtime ctime asctime getpwnam getpwuid " \
		  "gethostbyname inet_ntoa ttyname tmpnam mktemp system " \
		  "popen setenv putenv unsetenv sleep usleep", name)
	for (i = 1; i <= n; i++)
		banned[name[i]] = 1
}

# A call: the name, no word character or member access before it, then "(".
# Comments and strings are taken away first, roughly.
function check(  text, word, before)
{
	line = 0
	in_comment = 0
	while ((getline text < file) > 0) {
		line++
		if (in_comment) {
			if (!index(text, "*/"))
				continue
			sub(/^.*\*\//, "", text)
			in_comment = 0
		}
		gsub(/"([^"\\]|\\.)*"/, "\"\"", text)
		gsub(/\/\*([^*]|\*[^\/])*\*\//, "", text)
		sub(/\/\/.*/, "", text)
		if (sub(/\/\*.*/, "", text))
			in_comment = 1
		while (match(text, /[A-Za-z_][A-Za-z_0-9]*[ \t]*\(/)) {
			before = substr(text, RSTART - 1, 1)
			word = substr(text, RSTART, RLENGTH)
			sub(/[ \t]*\($/, "", word)
			if (word in banned && before !~ /[.>]/) {
				printf "%s:%d: %s\n", file, line, word
				bad++
			}
			text = substr(text, RSTART + RLENGTH)
		}
	}
	close(file)
	files++
}

{
	file = $0
	check()
}

END {
	printf "banned: %d files, %d calls\n", files, bad
	exit(bad > 0 || files == 0)
}'
