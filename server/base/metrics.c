/* SPDX-License-Identifier: MIT */
#include "server/base/metrics.h"

#include <stdatomic.h>
#include <stddef.h>

enum kind { COUNTER, GAUGE, HISTOGRAM_US };

struct fact {
	enum kind kind;
	const char *name;
	const char *help;
};

static const struct fact facts[METRIC_COUNT] = {
#define METRIC(id, kind, name, help) [METRIC_##id] = {kind, name, help},
#include "server/base/metrics.def"
#undef METRIC
};

struct bucket {
	int64_t us;
	const char *le; /* seconds, as text: no rounding on the way out */
};

static const struct bucket buckets[] = {
	{50, "5e-05"},      {100, "0.0001"},      {250, "0.00025"},
	{500, "0.0005"},    {1000, "0.001"},      {2500, "0.0025"},
	{5000, "0.005"},    {10000, "0.01"},      {25000, "0.025"},
	{50000, "0.05"},    {100000, "0.1"},      {250000, "0.25"},
	{500000, "0.5"},    {1000000, "1.0"},     {2500000, "2.5"},
	{5000000, "5.0"},   {10000000, "10.0"},   {25000000, "25.0"},
	{50000000, "50.0"}, {100000000, "100.0"},
};
#define N_BUCKETS (sizeof(buckets) / sizeof(buckets[0]))

/* Each on its own cache line: the busiest are raised by every thread. For a
 * histogram the value is the sum. The last count is what passes 100 s. */
struct cell {
	_Alignas(64) _Atomic int64_t value;
	_Atomic int64_t count[N_BUCKETS + 1];
};

static struct cell cells[METRIC_COUNT];

void metric_add(enum metric m, int64_t n)
{
	atomic_fetch_add_explicit(&cells[m].value, n, memory_order_relaxed);
}

void metric_set(enum metric m, int64_t v)
{
	atomic_store_explicit(&cells[m].value, v, memory_order_relaxed);
}

void metric_observe_us(enum metric m, int64_t us)
{
	size_t i = 0;

	if (us < 0)
		us = 0;
	while (i < N_BUCKETS && us > buckets[i].us)
		i++;
	atomic_fetch_add_explicit(&cells[m].count[i], 1, memory_order_relaxed);
	metric_add(m, us);
}

int64_t metric_get(enum metric m)
{
	int64_t n = 0;

	if (facts[m].kind != HISTOGRAM_US)
		return atomic_load_explicit(&cells[m].value,
					    memory_order_relaxed);
	for (size_t i = 0; i <= N_BUCKETS; i++)
		n += atomic_load_explicit(&cells[m].count[i],
					  memory_order_relaxed);
	return n;
}

/* The count is what the buckets add up to, so the two always agree. */
static void write_histogram(const struct fact *f, struct cell *c,
			    struct buf *out)
{
	int64_t n = 0;
	int64_t sum = atomic_load_explicit(&c->value, memory_order_relaxed);

	for (size_t i = 0; i <= N_BUCKETS; i++) {
		n += atomic_load_explicit(&c->count[i], memory_order_relaxed);
		buf_addf(out, "%s_bucket{le=\"%s\"} %lld\n", f->name,
			 i < N_BUCKETS ? buckets[i].le : "+Inf", (long long)n);
	}
	buf_addf(out, "%s_sum %lld.%06lld\n", f->name,
		 (long long)(sum / 1000000), (long long)(sum % 1000000));
	buf_addf(out, "%s_count %lld\n", f->name, (long long)n);
}

static const char *kind_name(enum kind k)
{
	switch (k) {
	case COUNTER:
		return "counter";
	case GAUGE:
		return "gauge";
	case HISTOGRAM_US:
		return "histogram";
	}
	return "untyped";
}

void metrics_write(struct buf *out)
{
	const struct fact *f;

	for (int m = 0; m < METRIC_COUNT; m++) {
		f = &facts[m];
		buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help,
			 f->name, kind_name(f->kind));
		if (f->kind == HISTOGRAM_US)
			write_histogram(f, &cells[m], out);
		else
			buf_addf(out, "%s %lld\n", f->name,
				 (long long)metric_get((enum metric)m));
	}
}
