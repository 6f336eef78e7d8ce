/* SPDX-License-Identifier: MIT */
#ifndef BASE_METRICS_H
#define BASE_METRICS_H
#include "server/base/buf.h"
#include <stdint.h>
/*
 * The facts stand in metrics.def: METRIC(id, kind, "prometheus_name", "help")
 * with kind COUNTER, GAUGE or HISTOGRAM_US. Process-wide, atomic, any thread.
 * Histograms have fixed buckets from 50 us to 100 s, take microseconds and are
 * shown in seconds, so their names end in _seconds.
 */
#define METRIC(id, kind, name, help) METRIC_##id,
enum metric {
#include "server/base/metrics.def"
	METRIC_COUNT
};
#undef METRIC
void metric_add(enum metric m, int64_t n);
void metric_set(enum metric m, int64_t v);
void metric_observe_us(enum metric m, int64_t us); /* histograms only */
int64_t metric_get(enum metric m);   /* a histogram: how many observations */
void metrics_write(struct buf *out); /* Prometheus text format 0.0.4 */
#endif
