#!/bin/sh
# selftest.sh BUILD - run.sh takes pages that are right and no others.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1
tmp=$(mktemp -d "${TMPDIR:-/tmp}/bide-docs-self.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/docs"
bad=0

# try WANTED-CODE WHAT - the page is on standard input; in it ~ stands for `
try() {
	wanted=$1 what=$2
	tr '~' '`' >"$tmp/docs/page.md"
	rc=0
	sh "$here/run.sh" "$tmp" "$build" "$tmp/docs/page.md" \
		>"$tmp/said" 2>&1 || rc=$?
	[ "$rc" -ne 77 ] || exec cat "$tmp/said"
	[ "$rc" -eq "$wanted" ] || {
		echo "$what: $rc"
		cat "$tmp/said"
		bad=1
	}
}

try 0 "an output that is right" <<END
~~~sh run
echo one
echo two
~~~
~~~text output
one
two
~~~
END
try 1 "an output that is wrong" <<END
~~~sh run
echo one
~~~
~~~text output
two
~~~
END
try 1 "a line too many on the page" <<END
~~~sh run
echo one
~~~
~~~text output
one
two
~~~
END
try 1 "a line too few on the page" <<END
~~~sh run
echo one
echo two
~~~
~~~text output
one
~~~
END
try 1 "a command that fails" <<END
~~~sh run
false
~~~
END
try 0 "a failing command whose output is shown" <<END
~~~sh run
echo no
false
~~~
~~~text output
no
~~~
END
try 0 "dots for what varies" <<END
~~~sh run
echo '"id": "x17", "at": 12, "ok"'
printf '%s\n' a b c d
~~~
~~~json output
"id": "…", "at": …, "ok"
a
  …
d
~~~
END
try 1 "dots for what does not vary" <<END
~~~sh run
echo '"id": "x17", "ok"'
~~~
~~~json output
"id": "…", "no"
~~~
END
try 0 "a shell that lives through the page" <<END
~~~sh run
name=Ada
mkdir made && cd made
~~~
    text
~~~sh run
echo "\$name \$(basename "\$PWD")"
~~~
~~~text output
Ada made
~~~
END
try 0 "ports that are others, and shown as the page has them" <<END
~~~sh run
url=http://127.0.0.1:8585/mcp
[ "\${url#*:8}" != "585/mcp" ] || echo "not moved"
echo "\$url"
~~~
~~~text output
http://127.0.0.1:8585/mcp
~~~
END
try 0 "a server" <<END
~~~sh run
build/examples/demo_server serve --db demo.db &
build/examples/demo_server serve --listen 127.0.0.1:8586 --db demo.db &
for url in http://127.0.0.1:8585 http://127.0.0.1:8586; do
	curl -sf -o made --retry 60 --retry-delay 1 --retry-connrefused \$url/readyz
done
~~~
~~~sh run
curl -s http://127.0.0.1:8585/healthz http://127.0.0.1:8586/healthz | sort -u
~~~
~~~text output
ok
~~~
END
try 1 "a server that does not start" <<END
~~~sh run
build/examples/demo_server serve --no-such-option &
curl -sf --retry 1 --retry-delay 1 --retry-connrefused http://127.0.0.1:8585/readyz
~~~
END
try 1 "a curl line in a block that is not run" <<END
~~~sh
curl -s http://127.0.0.1:8585/healthz
~~~
END
try 1 "a curl line in an indented block" <<END
Text.

    curl -s http://127.0.0.1:8585/healthz
END
try 0 "curl in a text, and among packages" <<END
With curl and jq:

    apt-get install curl jq
END
try 1 "an output of nothing" <<END
~~~text output
one
~~~
END
try 1 "a block without an end" <<END
~~~sh run
echo one
END
try 1 "a mark that means nothing" <<END
~~~console run
echo one
~~~
END
try 0 "a fence within a fence" <<END
~~~~text
~~~sh run
false
~~~
~~~~
END
exit $bad
