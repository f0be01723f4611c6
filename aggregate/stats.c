/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * stats.c - exact sums become means, errors and quantiles
 *
 * The error of a weighted mean needs Σ w² (x - m)². With m = X/W (X = Σwx, W = Σw) this
 * is
 *
 *      Σ w² (x - m)²  =  ( W² Σw²x²  -  2 X W Σw²x  +  X² Σw² ) / W²
 *
 * The bracket consists of whole numbers. It is computed in 512 bits and converted to
 * double at the end, so nothing cancels, however small the variance is beside the mean.
 * A request without the stack has x = 0 and is still part of Σw and Σw²: so the zeros
 * count.
 *
 * Widths (see the limits in cpt_tree.h): W < 2^96, X < 2^152, Σw² < 2^144, Σw²x <
 * 2^200, Σw²x² < 2^256; the three terms stay below 2^449.
 */
#include "aggregate/cpt_stats.h"

#include "aggregate/tree_node.h"

#include <assert.h>
#include <math.h>

/* The bracket of the formula above. */
static struct cpti_huge spread(const struct cpt_tree *tree,
                               const struct cpti_sums *sums)
{
    const struct cpti_wide weight = cpti_wide_of(tree->weight);
    const struct cpti_huge total = cpti_huge_of(&sums->wx);
    struct cpti_huge squares = cpti_huge_of(&sums->wwxx);
    struct cpti_huge mixed = cpti_huge_times(&total, &sums->wwx);
    struct cpti_huge zeros = cpti_huge_times(&total, &sums->wx);

    squares = cpti_huge_times(&squares, &weight);
    squares = cpti_huge_times(&squares, &weight);
    mixed = cpti_huge_times(&mixed, &weight);
    zeros = cpti_huge_times(&zeros, &tree->weight_squared);
    cpti_huge_add(&squares, &zeros);
    squares = cpti_huge_less(&squares, &mixed);
    return cpti_huge_less(&squares, &mixed);
}

static struct cpt_mean mean_of(const struct cpt_tree *tree,
                               const struct cpti_sums *sums)
{
    const double weight = cpti_u128_double(tree->weight);
    const double count = (double)tree->request_count;
    const struct cpti_huge bracket = spread(tree, sums);
    struct cpt_mean mean = {.skewness = NAN};

    if (tree->request_count == 0) {
        return (struct cpt_mean){0};
    }
    mean.mean_ns = cpti_wide_double(&sums->wx) / weight;
    mean.effective_count = weight / cpti_wide_double(&tree->weight_squared) * weight;
    if (tree->request_count < 2) {
        mean.error_ns = INFINITY;
        return mean;
    }
    mean.error_ns =
        sqrt(count / (count - 1) * cpti_huge_double(&bracket)) / weight / weight;
    mean.deviation_ns = mean.error_ns * sqrt(mean.effective_count);
    return mean;
}

/*
 * (Σw)² / Σw² of the requests with a node. Their Σw² is not known exactly; for weights
 * from a to b, (w - a)(b - w) >= 0 gives
 *
 *      Σw²  <=  (a + b) Σw  -  count a b
 *
 * which is exact if no weight lies between a and b. The most requests that Σw² allows
 * make the fewest effective ones.
 */
static double present_effective(const struct cpt_tree *tree,
                                const struct cpti_totals *totals)
{
    const double weight = cpti_u128_double(totals->present_weight);
    const struct cpti_wide product =
        cpti_wide_times(cpti_wide_of((cpti_u128)tree->weight_min * tree->weight_max),
                        totals->present_count);
    const struct cpti_wide bound = cpti_wide_times(cpti_wide_of(totals->present_weight),
                                                   tree->weight_min + tree->weight_max);
    const struct cpti_huge from = cpti_huge_of(&bound);
    const struct cpti_huge less = cpti_huge_of(&product);
    const struct cpti_huge squares = cpti_huge_less(&from, &less);

    return fmax(weight / cpti_huge_double(&squares) * weight,
                weight / cpti_wide_double(&tree->weight_squared) * weight);
}

struct cpt_stats cpt_stats_of(const struct cpt_tree *tree, uint32_t node)
{
    struct cpt_stats stats = {0};
    struct cpti_totals totals;

    assert(node < tree->node_count);
    totals = cpti_node_totals(tree, node);
    stats.self = mean_of(tree, &totals.self);
    stats.inclusive = mean_of(tree, &totals.inclusive);
    stats.present_count = totals.present_count;
    stats.min_ns = totals.min_ns;
    stats.max_ns = totals.max_ns;
    stats.is_rare = 1;
    if (totals.present_count != 0) {
        const double weight = cpti_u128_double(totals.present_weight);

        stats.presence = weight / cpti_u128_double(tree->weight);
        stats.present_mean_ns = cpti_wide_double(&totals.inclusive.wx) / weight;
        stats.present_effective_count = present_effective(tree, &totals);
        stats.is_rare = stats.present_effective_count < CPT_STATS_PRESENT_MIN ||
                        stats.inclusive.effective_count < CPT_STATS_PRESENT_MIN;
    }
    return stats;
}

/* The middle of a bucket, clamped to the minimum and maximum. */
static uint64_t middle_of(const struct cpti_node *node, uint32_t index)
{
    const uint64_t low = cpti_histogram_low(index);
    const uint64_t middle = low + (cpti_histogram_high(index) - low) / 2;

    if (middle < node->min_ns) {
        return node->min_ns;
    }
    return middle > node->max_ns ? node->max_ns : middle;
}

uint64_t cpt_stats_quantile_ns(const struct cpt_tree *tree, uint32_t node,
                               double quantile)
{
    /* In 2^-30ths, rounded down: 0.99 of 100 requests must be the 99th, and the double
     * nearest to 0.99 may lie above it. 96 bits of weight leave room for 30 more. */
    const double unit = 1 << 30;
    const struct cpti_node *at = NULL;
    cpti_u128 target = 0;
    cpti_u128 reached = 0;

    assert(node < tree->node_count);
    at = &tree->nodes[node];
    if (cpti_node_count(tree, node) == 0) {
        return 0;
    }
    if (!(quantile > 0)) {
        return at->min_ns;
    }
    if (quantile >= 1) {
        return at->max_ns;
    }
    target = (cpti_u128)(quantile * unit) * cpti_node_weight(tree, node);
    for (uint32_t i = 0; i < at->histogram.count; i++) {
        const struct cpti_bucket bucket =
            cpti_histogram_bucket(&at->histogram, i, at->batch.weight);

        reached += cpti_bucket_weight(&bucket);
        if (reached << 30 >= target) {
            return middle_of(at, bucket.index);
        }
    }
    return at->max_ns;
}

size_t cpt_stats_bucket_count(const struct cpt_tree *tree, uint32_t node)
{
    assert(node < tree->node_count);
    return tree->nodes[node].histogram.count;
}

struct cpt_bucket cpt_stats_bucket(const struct cpt_tree *tree, uint32_t node,
                                   size_t index)
{
    const struct cpti_node *at = &tree->nodes[node];
    struct cpti_bucket bucket;

    assert(index < at->histogram.count);
    bucket = cpti_histogram_bucket(&at->histogram, (uint32_t)index, at->batch.weight);
    return (struct cpt_bucket){cpti_histogram_low(bucket.index),
                               cpti_histogram_high(bucket.index),
                               cpti_u128_double(cpti_bucket_weight(&bucket)) /
                                   cpti_u128_double(cpti_node_weight(tree, node))};
}
