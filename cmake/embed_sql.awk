# embed_sql.awk - turn SQL files into C source.
#
#   awk -v mode=queries    -f embed_sql.awk store/queries_sqlite.sql
#   awk -v mode=migrations -f embed_sql.awk migrations/0001_init.sql ...
#
# queries: a block starts with a line "-- name: TASK_CLAIM" and becomes
#   QUERY(TASK_CLAIM, "..."). Blank lines and lines that hold only a comment
#   are left out of the statement.
# migrations: each file becomes MIGRATION(1, "0001_init.sql", "..."), every
#   byte kept, because its checksum is kept in the database. The files are
#   numbered 1, 2, 3 without a gap.
#
# The file that includes the output defines the macro first.

function fail(what)
{
	printf "%s:%d: %s\n", FILENAME, FNR, what > "/dev/stderr"
	failed = 1
	exit 1
}

function quote(s)
{
	if (s ~ /\r/)
		fail("carriage return: lines end in a newline alone")
	# gcc warns of two question marks, which once began a trigraph
	gsub(/[\\"?]/, "\\\\&", s)
	return "\t\"" s "\\n\""
}

function end_query()
{
	if (name == "")
		return
	if (lines == 0)
		fail("block " name " is empty")
	print ")"
}

function start_query(n)
{
	end_query()
	if (n !~ /^[A-Z][A-Z0-9_]*$/)
		fail("\"" n "\" is no name of a statement")
	if (n in seen)
		fail("a second block named " n)
	seen[n] = 1
	name = n
	lines = 0
	printf "QUERY(%s,", n
}

function start_migration(  base)
{
	if (number > 0)
		print ")"
	base = FILENAME
	sub(/.*\//, "", base)
	if (base !~ /^[0-9][0-9][0-9][0-9]_[a-z0-9_]+\.sql$/)
		fail("a migration is called NNNN_what_it_does.sql")
	number++
	if (substr(base, 1, 4) + 0 != number)
		fail("expected number " number)
	printf "MIGRATION(%d, \"%s\",", number, base
}

BEGIN {
	print "/* Made by cmake/embed_sql.awk: edit the .sql file instead. */"
}

mode == "migrations" {
	if (FNR == 1)
		start_migration()
	printf "\n%s", quote($0)
	next
}

/^-- name:/ {
	start_query($3)
	next
}

/^[ \t]*(--.*)?$/ {
	next
}

{
	if (name == "")
		fail("a statement before the first \"-- name:\" line")
	printf "\n%s", quote($0)
	lines++
}

END {
	if (failed)
		exit 1
	if (mode == "migrations") {
		if (number > 0)
			print ")"
	} else {
		end_query()
	}
}
