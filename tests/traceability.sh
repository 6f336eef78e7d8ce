#!/bin/sh
# traceability.sh ROOT - fail when docs/conformance.md names a test that is not
# in the tree: no such file, no such function in it, or one that is not run.
set -eu
cd "$1"
page=docs/conformance.md
bad=0
n=0

# shellcheck disable=SC2016
named=$(grep -o '`[a-z0-9_/]*\.c:test_[A-Za-z0-9_]*`' "$page" | tr -d '`' |
	sort -u)
for t in $named; do
	file=tests/${t%%:*}
	test=${t#*:}
	n=$((n + 1))
	if ! [ -f "$file" ]; then
		echo "$page: $file does not exist"
		bad=$((bad + 1))
		continue
	fi
	# Its definition, and its place in the list of what is run.
	if ! grep -Eq "^(static void )?$test\(void \*\*" "$file"; then
		echo "$page: $file has no $test()"
		bad=$((bad + 1))
	elif [ "$(grep -cw "$test" "$file")" -lt 2 ]; then
		echo "$page: $file does not run $test()"
		bad=$((bad + 1))
	fi
done

# A row that names no test shows nothing.
rows=$(grep -c '^| [SFM][0-9]' "$page")
# shellcheck disable=SC2016
empty=$(grep '^| [SFM][0-9]' "$page" | grep -cv '`[a-z0-9_/]*\.c:test_' || :)
if [ "$empty" -gt 0 ]; then
	echo "$page: $empty rows name no test"
	bad=$((bad + empty))
fi
echo "traceability: $rows rows, $n tests, $bad missing"
[ "$bad" -eq 0 ] && [ "$n" -gt 0 ] && [ "$rows" -gt 0 ]
