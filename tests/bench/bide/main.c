/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/bench/bide/bench.h"

struct bench bench = {.rounds = 5, .seconds = 0.6, .kinds = ~0U};

static const char *const names[KINDS] = {
	"floor",  "echo",  "pool",  "legs",   "get",
	"create", "steps", "quiet", "beside",
};

static int usage(void)
{
	(void)fputs("usage: bench_bide [--rounds N] [--seconds S] [--verbose] "
		    "[PART...]\n"
		    "parts: floor echo pool legs get create steps beside "
		    "answers start; default: all\n",
		    stderr);
	return 2;
}

enum { ANSWERS = KINDS, START };

static int part_of(const char *name)
{
	for (int k = 0; k < KINDS; k++)
		if (strcmp(names[k], name) == 0)
			return k;
	if (strcmp(name, "answers") == 0)
		return ANSWERS;
	return strcmp(name, "start") == 0 ? START : -1;
}

static int one_word(const char *word, const char *value, unsigned *asked)
{
	int part = part_of(word);

	if (strcmp(word, "--verbose") == 0) {
		bench.verbose = true;
		return 1;
	}
	if (part >= 0) {
		*asked |= 1U << part;
		return 1;
	}
	if (value == NULL)
		return 0;
	if (strcmp(word, "--rounds") == 0)
		bench.rounds = (int)strtol(value, NULL, 10);
	else if (strcmp(word, "--seconds") == 0)
		bench.seconds = strtod(value, NULL);
	else
		return 0;
	return 2;
}

static int read_words(int argc, char **argv)
{
	unsigned asked = 0;

	for (int i = 1; i < argc;) {
		int n = one_word(argv[i], i + 1 < argc ? argv[i + 1] : NULL,
				 &asked);

		if (n == 0)
			return -1;
		i += n;
	}
	if (bench.rounds < 1 || bench.rounds > ROUNDS_MAX || bench.seconds <= 0)
		return -1;
	if (asked & 1U << BESIDE)
		asked |= 1U << QUIET;
	if (asked != 0)
		bench.kinds = asked;
	return 0;
}

/* The fixture stands beside this program, whatever the directory. */
static void find_fixture(void)
{
	char path[512];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 16);
	char *slash;

	if (n <= 0)
		return;
	path[n] = '\0';
	slash = strrchr(path, '/');
	memcpy(slash + 1, "bide-fixture", sizeof("bide-fixture"));
	(void)setenv("BIDE_FIXTURE", path, 0);
}

static bool wanted(unsigned from, unsigned to)
{
	return (bench.kinds >> from & ((1U << (to - from + 1)) - 1)) != 0;
}

int main(int argc, char **argv)
{
	struct rlimit files;

	if (read_words(argc, argv) != 0)
		return usage();
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	find_fixture();
	if (wanted(FLOOR, STEPS))
		rounds_requests();
	if (wanted(QUIET, BESIDE))
		rounds_waiting();
	if (wanted(ANSWERS, ANSWERS))
		rounds_answers();
	if (wanted(START, START))
		rounds_starting();
	table_print();
	if (bench.wrong > 0)
		(void)printf("%zu replies were wrong: the figures mean "
			     "nothing.\n",
			     bench.wrong);
	return bench.wrong > 0;
}
