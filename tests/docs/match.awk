# match.awk - whether an output is what a page shows.
#
#   awk -v delta=N -f match.awk WANT GOT
#
# An ellipsis within a line stands for anything, a line that is nothing but one
# for any number of lines. Ports were moved by @delta, and are moved back.

BEGIN { DOTS = "\342\200\246" }

function moved_back(text,  out, port)
{
	while (match(text, /(127\.0\.0\.1|localhost):[0-9]+/)) {
		port = substr(text, RSTART, RLENGTH)
		out = out substr(text, 1, RSTART - 1) \
			substr(port, 1, index(port, ":")) \
			(substr(port, index(port, ":") + 1) - delta)
		text = substr(text, RSTART + RLENGTH)
	}
	return out text
}

function bare(line)
{
	sub(/^[ \t]+/, "", line)
	sub(/[ \t]+$/, "", line)
	return line
}

# The pieces between the ellipses, each at its first place; the first at the
# beginning and the last at the end.
function fits(want, got,  piece, k, i, at)
{
	k = split(want, piece, DOTS)
	if (k == 1)
		return want == got
	if (substr(got, 1, length(piece[1])) != piece[1])
		return 0
	got = substr(got, length(piece[1]) + 1)
	for (i = 2; i < k; i++) {
		at = index(got, piece[i])
		if (piece[i] != "" && at == 0)
			return 0
		got = substr(got, at + length(piece[i]))
	}
	return length(got) >= length(piece[k]) &&
		substr(got, length(got) - length(piece[k]) + 1) == piece[k]
}

FNR == NR {
	want[++wants] = $0
	next
}
{ got[++gots] = moved_back($0) }

# Lines against lines; after a line of dots the last attempt is taken back and
# it swallows one line more.
END {
	w = g = 1
	while (g <= gots) {
		if (w <= wants && bare(want[w]) == DOTS) {
			star = w++
			from = g
		} else if (w <= wants && fits(want[w], got[g])) {
			w++
			g++
		} else if (star) {
			w = star + 1
			g = ++from
		} else {
			exit 1
		}
	}
	while (w <= wants && bare(want[w]) == DOTS)
		w++
	exit w <= wants
}
