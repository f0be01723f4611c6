/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_stats.h - latencies of the same requests before and after
 *
 * The requests are the same, so differences are paired: a request that is slow before
 * is slow after, and only what the change does varies. The interval of the mean
 * difference is cpt_interval()'s; that of a quantile's is a bootstrap: requests are
 * drawn again, with both of their latencies, and of the differences that this gives the
 * middle 95 % are taken, of p99 the middle 97.5 %. At least 95 % of the intervals hold
 * the true change, of some changes nearly all (docs/whatif.md says why). The draws are
 * those of a fixed seed.
 *
 * Threads: any, on arrays of their own.
 */
#ifndef CPTI_CLI_WHATIF_STATS_H
#define CPTI_CLI_WHATIF_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is compared: the mean, and these quantiles. */
enum { CPTI_WHATIF_MEAN, CPTI_WHATIF_P50, CPTI_WHATIF_P99, CPTI_WHATIF_ROWS };

struct cpti_whatif_row {
    double before_ns;
    double after_ns;
    double change_ns;
    double low_ns; /* the interval; NAN: too few requests */
    double high_ns;
};

struct cpti_whatif_stats {
    struct cpti_whatif_row rows[CPTI_WHATIF_ROWS];
};

/* Latencies before, in the order of their size. */
struct cpti_whatif_order {
    uint32_t *before;
    uint32_t *after; /* scratch */
    const double *weight;
    const uint64_t *before_ns;
    size_t count;
    double weight_sum;
    bool is_weighted; /* not all weights are the same */
};

/* False: no memory. The arrays are borrowed. */
bool cpti_whatif_order_init(struct cpti_whatif_order *order, const uint64_t *before_ns,
                            const double *weight, size_t count);
void cpti_whatif_order_deinit(struct cpti_whatif_order *order);

/* Compares with @after_ns. @has_intervals: with the bootstrap, which takes most of the
 * time. False: no memory. */
bool cpti_whatif_compare(struct cpti_whatif_order *order, const uint64_t *after_ns,
                         bool has_intervals, struct cpti_whatif_stats *stats);

#endif
