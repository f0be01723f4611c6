/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * quantile_print.h - quantiles with their intervals, as text and as JSON
 *
 *      quantile  latency ms  95% interval
 *           p50      12.812  12.746 to 12.877
 *           p99      36.564  at least 36.307
 *
 * Threads: one at a time; all print on stdout.
 */
#ifndef CPTI_CLI_QUANTILE_PRINT_H
#define CPTI_CLI_QUANTILE_PRINT_H

#include "tool/table/relation.h"
#include "aggregate/cpt_clusters.h"

enum { CPTI_INTERVAL_BYTES = 80 };

/* The confidence of all intervals that are printed. */
#define CPTI_CONFIDENCE 0.95

/* An interval in ms, whose ends may be infinite: "1.000 to 2.000", "at least 1.000",
 * "at most 2.000", "unknown". */
const char *cpti_interval_text(double low_ns, double high_ns,
                               char text[CPTI_INTERVAL_BYTES]);

/* "p99", "p99.9" … of 0.99, 0.999 … */
const char *cpti_quantile_name(double quantile, char text[16]);

/* Prints the table above for @count quantiles of the latencies in @tree, in the format
 * of the view @beside, and says why an end is missing. With @clusters, unless NULL,
 * intervals are by cluster. enum cpti_exit. */
int cpti_quantiles_print(const struct cpti_view *beside, const struct cpt_tree *tree,
                         const struct cpt_clusters *clusters, const double *quantiles,
                         size_t count);

/* A quantile of the latency, as it is printed there. */
struct cpt_quantile cpti_quantile_of_latency(const struct cpt_tree *tree,
                                             const struct cpt_clusters *clusters,
                                             double quantile);

/* Writes @found, which is of @node, as an element of "quantiles": quantile, ns, the
 * 95 % interval low_ns to high_ns, and the times that the bucket of ns may stand for,
 * bucket_low_ns to bucket_high_ns. */
void cpti_quantile_json(struct cpti_json *json, const struct cpt_tree *tree,
                        uint32_t node, const struct cpt_quantile *found);

#endif
