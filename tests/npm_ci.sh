#!/bin/sh
# npm_ci.sh NAME DIR - have the packages that DIR/package-lock.json pins, and
# the Node among them. Installs them once, into the user's cache, by the hash of
# the lock file, and prints the folder.
# Exit 77: they could not be had, and what it prints is why.
set -eu
name=$1
dir=$2
hash=$(cat "$dir/package.json" "$dir/package-lock.json" | sha256sum |
	cut -c1-16)
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/bide
have=$cache/$name-$hash
if ! [ -d "$have" ]; then
	if ! command -v npm >/dev/null; then
		echo "$name: npm is not installed"
		exit 77
	fi
	echo "$name: installing packages into $have" >&2
	mkdir -p "$cache"
	new=$(mktemp -d "$have.XXXXXX")
	cp "$dir/package.json" "$dir/package-lock.json" "$new/"
	if ! (cd "$new" && npm ci --no-audit --no-fund >npm.log 2>&1) ||
		! "$new/node_modules/.bin/node" --version >/dev/null; then
		tail -n 5 "$new/npm.log" >&2
		rm -rf "$new"
		echo "$name: npm could not install the packages"
		exit 77
	fi
	mv -T "$new" "$have" || rm -rf "$new"
fi
echo "$have"
