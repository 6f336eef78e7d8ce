#!/bin/sh
# run.sh BUILD CC - install BUILD into an empty prefix, and build and run a
# program outside the tree against the installed copy: by pkg-config against
# the shared and the static library, and as a CMake project.
set -eu
build=$1 cc=$2
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/bide-install.XXXXXX")
trap 'rm -rf "$dir"' EXIT
prefix=$dir/prefix
cp "$here/consumer.c" "$here/CMakeLists.txt" "$dir/"
cd "$dir"

expect() { # WHAT COMMAND...
	what=$1
	shift
	if ! said=$("$@") || [ "$said" != "consumer: tool registered" ]; then
		echo "$what: said \"$said\""
		exit 1
	fi
	echo "$what: works"
}

cmake --install "$build" --prefix "$prefix" >install.log
# The prefix moves after the installation: nothing may remember the old one.
mv "$prefix" "$prefix-moved"
prefix=$prefix-moved
libdir=$(dirname "$(find "$prefix" -name libbide.a)")
PKG_CONFIG_PATH=$libdir/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH

# shellcheck disable=SC2046
"$cc" -Wall -Wextra -Werror -o shared consumer.c \
	$(pkg-config --cflags --libs bide)
readelf -d shared | grep -q 'NEEDED.*\[libbide\.so\.[0-9]*\]'
expect "pkg-config, shared" env LD_LIBRARY_PATH="$libdir" ./shared

static_libs=$(pkg-config --static --libs bide |
	sed 's/-lbide\>/-Wl,-Bstatic -lbide -Wl,-Bdynamic/')
# shellcheck disable=SC2046,SC2086
"$cc" -Wall -Wextra -Werror -o static consumer.c \
	$(pkg-config --cflags bide) $static_libs
if readelf -d static | grep -q 'NEEDED.*libbide'; then
	echo "the static program wants the shared library"
	exit 1
fi
expect "pkg-config, static" ./static

cmake -G Ninja -S . -B build -DCMAKE_PREFIX_PATH="$prefix" \
	-DCMAKE_C_COMPILER="$cc" >cmake.log
cmake --build build >>cmake.log
expect "find_package, shared" ./build/consumer
expect "find_package, static" ./build/consumer_static

version=$("$prefix/bin/bide" version) || {
	echo "the installed bide does not say its version"
	exit 1
}
echo "installed: $version"
