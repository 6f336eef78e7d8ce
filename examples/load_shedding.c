/* SPDX-License-Identifier: MIT */
/*
 * load_shedding: a computation begun on one instance and ended on another
 * (SEP-2322, "Load Shedding"). Nothing is stored: the parts that are done
 * travel in requestState, in a result that asks nothing.
 *
 *     SHED_ABOVE=4 load_shedding serve    hands on at a load average of 4
 *
 * An instance that drains hands on too, so a rolling restart loses no work. A
 * tool that computes for minutes is a task (BIDE_PERSISTENT) instead: clients
 * lose patience with rounds that ask nothing, the hastiest at the third.
 */
#include <bide/bide.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PARTS 8

static const char input_schema[] =
	"{\"type\":\"object\",\"properties\":{\"below\":{\"type\":\"integer\","
	"\"minimum\":8,\"maximum\":100000000}},\"required\":[\"below\"]}";

static const char output_schema[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"primes\":{\"type\":\"integer\"},"
	"\"parts\":{\"type\":\"array\",\"description\":"
	"\"The process that counted each part\","
	"\"items\":{\"type\":\"integer\"}}},"
	"\"required\":[\"primes\",\"parts\"]}";

/* Primes in @from..@to-1; -1: no memory. */
static int64_t primes_in(int64_t from, int64_t to)
{
	bool *composite = calloc((size_t)(to - from), sizeof(bool));
	int64_t n = 0;

	if (composite == NULL)
		return -1;
	for (int64_t d = 2; d * d < to; d++) {
		int64_t m = (from + d - 1) / d * d;

		for (m = m > d * d ? m : d * d; m < to; m += d)
			composite[m - from] = true;
	}
	for (int64_t i = from; i < to; i++)
		n += i >= 2 && !composite[i - from];
	free(composite);
	return n;
}

static bool overloaded(void)
{
	const char *limit = getenv("SHED_ABOVE");
	double load;

	return limit != NULL && getloadavg(&load, 1) == 1 &&
	       load >= strtod(limit, NULL);
}

/* Part @i: from the record, or counted here and now. */
static enum bide_rc part(struct bide_call *call, int i, bool *here,
			 const json_t **ret)
{
	int64_t below = bide_arg_int(call, "below", 0);
	enum bide_rc rc;
	int64_t n;
	char key[16];

	(void)snprintf(key, sizeof(key), "part-%d", i);
	rc = bide_step_begin(call, key, ret);
	*here = rc == BIDE_RUN;
	if (!*here)
		return rc;
	n = primes_in(below * i / PARTS, below * (i + 1) / PARTS);
	if (n < 0)
		return BIDE_NOMEM;
	return bide_step_commit(call,
				json_pack("{s:I, s:i}", "primes", (json_int_t)n,
					  "pid", (int)getpid()),
				ret);
}

/*
 * Hands the call on. Each key does so once: a busy instance sheds a call that
 * nobody shed before, and a draining one after any part.
 */
static enum bide_rc hand_on(struct bide_call *call, int i)
{
	char key[16];

	if (overloaded())
		BIDE_TRY(bide_yield(call, "shed"));
	(void)snprintf(key, sizeof(key), "drain-%d", i);
	return bide_should_yield(call) ? bide_yield(call, key) : BIDE_OK;
}

static enum bide_rc all_parts(struct bide_call *call, int64_t *primes,
			      json_t *pids)
{
	for (int i = 0; i < PARTS; i++) {
		const json_t *done = NULL;
		bool here = false;

		if (bide_cancelled(call))
			return BIDE_CANCELLED;
		BIDE_TRY(part(call, i, &here, &done));
		*primes += json_integer_value(json_object_get(done, "primes"));
		(void)json_array_append(pids, json_object_get(done, "pid"));
		bide_progress(call, i + 1, PARTS, NULL);
		if (here && i + 1 < PARTS)
			BIDE_TRY(hand_on(call, i));
	}
	return BIDE_OK;
}

static enum bide_rc count_primes(struct bide_call *call, void *user)
{
	int64_t primes = 0;
	json_t *pids = json_array();
	enum bide_rc rc = all_parts(call, &primes, pids);

	(void)user;
	if (rc == BIDE_OK)
		rc = bide_text(call, "There are %lld primes below %lld.",
			       (long long)primes,
			       (long long)bide_arg_int(call, "below", 0));
	if (rc == BIDE_OK)
		rc = bide_structured(call, json_pack("{s:I, s:O}", "primes",
						     (json_int_t)primes,
						     "parts", pids));
	json_decref(pids);
	return rc;
}

const struct bide_tool count_primes_tool = {
	BIDE_TOOL,
	.name = "count_primes",
	.title = "Count primes",
	.description = "How many primes there are below a number.",
	.input_schema = input_schema,
	.output_schema = output_schema,
	.annotations = "{\"readOnlyHint\":true}",
	.handler = count_primes,
};

#ifndef EXAMPLES_TOGETHER /* demo_server serves all of them */
int main(int argc, char **argv)
{
	struct bide_server *s = bide_server_new("primes", "1.0.0");
	struct bide_error err;
	int code = 1;

	if (bide_server_add_tool(s, &count_primes_tool, &err) == BIDE_OK)
		code = bide_main(s, argc, argv);
	else
		(void)fprintf(stderr, "%s\n", err.text);
	bide_server_free(s);
	return code;
}
#endif
