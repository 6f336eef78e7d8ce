# blocks.awk - cuts a page into what is run and what must come out of it.
#
#   awk -v dir=DIR -v page=NAME -v delta=N -f blocks.awk PAGE
#
# writes DIR/1.sh, DIR/1.want, DIR/2.sh ... (a .want only where the page shows
# an output) and prints, for the shell, a call for each block: "block NUMBER
# LINE". tests/docs/run.sh says what a page may hold. Ports of this machine are
# moved by @delta.

# moved(TEXT, BY) - with the ports of 127.0.0.1 and localhost moved
function moved(text, by,  out, port)
{
	while (match(text, /(127\.0\.0\.1|localhost):[0-9]+/)) {
		out = out substr(text, 1, RSTART - 1)
		port = substr(text, RSTART, RLENGTH)
		text = substr(text, RSTART + RLENGTH)
		out = out substr(port, 1, index(port, ":"))
		port = substr(port, index(port, ":") + 1) + by
		out = out port
		if (by != 0 && !(port in seen)) {
			seen[port] = 1
			ports[++nports] = port
		}
	}
	return out text
}

function wrong(what)
{
	printf "%s:%d: %s\n", page, NR, what >"/dev/stderr"
	failed = 1
	exit 1
}

function is_curl(line)
{
	return line ~ /(^|[ \t$(|])curl +(-|http|"|'|\\$)/
}

function end_block()
{
	if (kind == "run") {
		close(dir "/" n ".sh")
		print "block " n " " began
	} else if (kind == "output") {
		close(dir "/" n ".want")
	}
	kind = ""
}

# A fence ends with as many marks as it began with, or more.
/^ *```/ {
	marks = $0
	gsub(/^ *|[^`].*$/, "", marks)
	if (fence == "") {
		fence = marks
		began = NR
		kind = "other"
		if ($0 ~ /^```sh run$/) {
			kind = "run"
			file = dir "/" ++n ".sh"
			printf "" >file
			shown = 0
		} else if ($0 ~ /^```[a-z]+ output$/) {
			kind = "output"
			if (n == 0 || shown++)
				wrong("an output of nothing")
			file = dir "/" n ".want"
			printf "" >file
		} else if ($0 ~ / (run|output)$/) {
			wrong("neither \"sh run\" nor \"LANGUAGE output\"")
		}
		next
	}
	if (length(marks) >= length(fence) && $0 ~ /^ *`+ *$/) {
		end_block()
		fence = ""
		next
	}
}

kind == "run" {
	print moved($0, delta) >file
	next
}

kind == "output" {
	print >file
	next
}

(kind == "other" || /^(    |\t)/) && is_curl($0) {
	wrong("a curl line that nobody runs")
}

END {
	if (!failed && fence != "")
		wrong("a block without an end")
	for (i = 1; i <= nports; i++)
		print ports[i] >(dir "/ports")
	exit failed
}
