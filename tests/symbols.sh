#!/bin/sh
# symbols.sh LIBBIDE.A LIBBIDE.SO - both libraries offer bide_* and nothing else.
set -eu

offered() {
	nm -g --defined-only "$@" | awk 'NF == 3 { print $3 }' | sort
}

list=$(mktemp "${TMPDIR:-/tmp}/bide-symbols.XXXXXX")
trap 'rm -f "$list"' EXIT
offered "$1" >"$list"
if ! [ -s "$list" ]; then
	echo "$1 offers nothing"
	exit 1
fi
# The sanitizers add names of their own.
if grep -v -E '^(bide_|__asan|__tsan|__ubsan|__odr_asan)' "$list"; then
	echo "the names above are not for others to see"
	exit 1
fi
if ! offered -D "$2" | grep -v -E '^_(init|fini)$' | diff "$list" -; then
	echo "the shared library differs from the static one"
	exit 1
fi
if ! readelf -d "$2" | grep -q 'SONAME.*\[libbide\.so\.[0-9]*\]'; then
	echo "$2 has no SONAME"
	exit 1
fi
echo "symbols: $(wc -l <"$list") public names"
