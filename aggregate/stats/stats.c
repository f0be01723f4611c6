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
 * The bracket consists of whole numbers. It is computed in 768 bits and converted to
 * double at the end, so nothing cancels, however small the variance is beside the mean.
 * A request without the stack has x = 0 and is still part of Σw and Σw²: so the zeros
 * count.
 *
 * The mean is a sum of independent parts w (x - m) / W, so its third central moment is
 * the sum of theirs, and its skewness is
 *
 *      Σ w³ (x - m)³  =  ( W³ Σw³x³  -  3 X W² Σw³x²  +  3 X² W Σw³x  -  X³ Σw³ ) / W³
 *
 *      skewness  =  Σ w³ (x - m)³  /  ( n/(n-1) · Σ w² (x - m)² )^(3/2)
 *
 * It lies between -1 and 1, as no |w (x - m)| is larger than the root of the sum of all
 * squares. For n requests of one weight it is the skewness of a request / √n.
 *
 * Widths (see the limits in cpt_tree.h): W < 2^96, X < 2^152, Σw² < 2^144, Σw²x <
 * 2^200, Σw²x² < 2^256; the three terms stay below 2^449. Σw³ < 2^192, Σw³x < 2^248,
 * Σw³x² < 2^304, Σw³x³ < 2^360; the four terms stay below 2^650.
 *
 * If all N requests have one weight w, as in most trees, it is a factor of both
 * brackets, and what remains has 256 bits:
 *
 *      w⁴ N  ( N Σx²  -  (Σx)² )
 *      w⁶ N  ( N² Σx³  -  3 N Σx Σx²  +  2 (Σx)³ )
 *
 * N < 2^48, Σx < 2^64, Σx² and Σx³ < 2^128: all terms stay below 2^242.
 */
#include "aggregate/cpt_gain.h"
#include "aggregate/cpt_stats.h"

#include "aggregate/tree/tree_node.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* The requests of a mean. */
struct population {
    uint64_t count;
    cpti_u128 weight;
    struct cpti_wide weight_squared;
};

static struct population all_of(const struct cpt_tree *tree)
{
    return (struct population){tree->request_count, tree->weight, tree->weight_squared};
}

/* The bracket of the formula above. */
static struct cpti_huge spread(const struct population *requests,
                               const struct cpti_gain_sums *sums)
{
    const struct cpti_wide weight = cpti_wide_of(requests->weight);
    const struct cpti_huge total = cpti_huge_of(&sums->wx);
    struct cpti_huge squares = cpti_huge_of(&sums->wwxx);
    struct cpti_huge mixed = cpti_huge_times(&total, &sums->wwx);
    struct cpti_huge zeros = cpti_huge_times(&total, &sums->wx);

    squares = cpti_huge_times(&squares, &weight);
    squares = cpti_huge_times(&squares, &weight);
    mixed = cpti_huge_times(&mixed, &weight);
    zeros = cpti_huge_times(&zeros, &requests->weight_squared);
    cpti_huge_add(&squares, &zeros);
    squares = cpti_huge_less(&squares, &mixed);
    return cpti_huge_less(&squares, &mixed);
}

/* @cubic × @factor² + @linear × @other² */
static struct cpti_huge square_terms(const struct cpti_huge *cubic,
                                     const struct cpti_wide *factor,
                                     const struct cpti_huge *linear,
                                     const struct cpti_wide *other)
{
    struct cpti_huge sum = cpti_huge_times(cubic, factor);
    struct cpti_huge more = cpti_huge_times(linear, other);

    sum = cpti_huge_times(&sum, factor);
    more = cpti_huge_times(&more, other);
    cpti_huge_add(&sum, &more);
    return sum;
}

/* The second bracket, W (W² Σw³x³ + X² 3 Σw³x) - X (W² 3 Σw³x² + X² Σw³), which may be
 * negative. */
static double asymmetry(const struct cpt_tree *tree, const struct cpti_node_sums *sums)
{
    const struct cpti_wide weight = cpti_wide_of(tree->weight);
    const struct cpti_wide wwwx = cpti_wide_times(sums->wwwx, 3);
    const struct cpti_wider wwwxx = cpti_wider_times(sums->wwwxx, 3);
    const struct cpti_huge third = cpti_huge_of_wider(&sums->wwwxxx);
    const struct cpti_huge second = cpti_huge_of_wider(&wwwxx);
    const struct cpti_huge first = cpti_huge_of(&wwwx);
    const struct cpti_huge zeros = cpti_huge_of(&tree->weight_cubed);
    struct cpti_huge more = square_terms(&third, &weight, &first, &sums->wx);
    struct cpti_huge less = square_terms(&second, &weight, &zeros, &sums->wx);
    struct cpti_huge difference;

    more = cpti_huge_times(&more, &weight);
    less = cpti_huge_times(&less, &sums->wx);
    difference = cpti_huge_less(&more, &less);
    if (cpti_huge_double(&difference) != 0) {
        return cpti_huge_double(&difference);
    }
    difference = cpti_huge_less(&less, &more);
    return -cpti_huge_double(&difference);
}

/* The skewness of the mean; @squares is n/(n-1) times the first bracket. Both brackets
 * have the same power of W in the quotient. */
static double skewness_of(const struct cpt_tree *tree,
                          const struct cpti_node_sums *sums, double squares)
{
    if (tree->lacks_cubes) {
        return NAN;
    }
    if (squares == 0) {
        return 0;
    }
    /* sums of a file may contradict each other a little */
    return fmin(fmax(asymmetry(tree, sums) / squares / sqrt(squares), -1), 1);
}

/* The mean of @sums over @requests without its skewness. *@squares is n/(n-1)
 * times the first bracket, if there are two requests. */
static struct cpt_mean straight_mean(const struct population *requests,
                                     const struct cpti_gain_sums *sums, double *squares)
{
    const double weight = cpti_u128_double(requests->weight);
    const double count = (double)requests->count;
    const struct cpti_huge bracket = spread(requests, sums);
    struct cpt_mean mean = {.skewness = NAN};

    *squares = count / (count - 1) * cpti_huge_double(&bracket);
    if (requests->count == 0) {
        return (struct cpt_mean){0};
    }
    mean.mean_ns = cpti_wide_double(&sums->wx) / weight;
    mean.effective_count =
        weight / cpti_wide_double(&requests->weight_squared) * weight;
    if (requests->count < 2) {
        mean.error_ns = INFINITY;
        return mean;
    }
    mean.error_ns = sqrt(*squares) / weight / weight;
    mean.deviation_ns = mean.error_ns * sqrt(mean.effective_count);
    return mean;
}

static struct cpt_mean mean_of(const struct cpt_tree *tree,
                               const struct cpti_node_sums *sums)
{
    const struct population requests = all_of(tree);
    const struct cpti_gain_sums lower = {sums->wx, sums->wwx, sums->wwxx};
    double squares = 0;
    struct cpt_mean mean = straight_mean(&requests, &lower, &squares);

    if (tree->request_count >= 2) {
        mean.skewness = skewness_of(tree, sums, squares);
    }
    return mean;
}

/* --- Of the requests with drags --- */

uint64_t cpt_gain_request_count(const struct cpt_tree *tree)
{
    return tree->gain_count;
}

double cpt_gain_weight(const struct cpt_tree *tree)
{
    return cpti_u128_double(tree->gain_weight) / (double)CPT_WEIGHT_ONE;
}

/* Σwx / Σw of @count average requests, rounded half up; at most UINT64_MAX. */
static uint64_t rounded(const struct cpt_tree *tree, const struct cpti_wide *wx,
                        uint64_t count)
{
    struct cpti_wide doubled = cpti_wide_times(*wx, count);
    const struct cpti_wide half = cpti_wide_of(tree->gain_weight);
    cpti_u128 rest = 0;

    doubled = cpti_wide_times(doubled, 2);
    cpti_wide_add(&doubled, &half);
    if (cpti_wide_bits(&doubled) > cpti_u128_bits(tree->gain_weight * 2) + 62) {
        return UINT64_MAX;
    }
    return cpti_wide_divide(doubled, tree->gain_weight * 2, &rest);
}

struct cpt_gain cpt_gain_of(const struct cpt_tree *tree, uint32_t node)
{
    const struct population requests = {tree->gain_count, tree->gain_weight,
                                        tree->gain_weight_squared};
    const struct cpti_gain gain = cpti_gain_at(tree, node);
    struct cpt_gain result = {.present_count = gain.present_count,
                              .known_count = gain.known_count};
    double squares = 0;

    assert(node < tree->node_count);
    if (tree->gain_count == 0) {
        return result;
    }
    result.drag = straight_mean(&requests, &gain.drag, &squares);
    result.time = straight_mean(&requests, &gain.time, &squares);
    result.is_rare = result.time.effective_count < CPT_STATS_PRESENT_MIN ||
                     gain.present_count < CPT_STATS_PRESENT_MIN;
    result.drag_ns = rounded(tree, &gain.drag.wx, 1);
    result.drag_total_ns = rounded(tree, &gain.drag.wx, tree->gain_count);
    return result;
}

/* --- Requests of one weight --- */

/* Whether all requests of the tree have one weight, and those of @node are in its
 * batch. */
static bool is_plain(const struct cpt_tree *tree, uint32_t node)
{
    return tree->stacks[node].retired == 0 && tree->weight_min == tree->weight_max;
}

/* @more - @less, which may be negative. */
static double signed_difference(const struct cpti_wide *more,
                                const struct cpti_wide *less)
{
    if (cpti_wide_compare(more, less) < 0) {
        return -signed_difference(less, more);
    }
    const struct cpti_wide difference = cpti_wide_less(more, less);

    return cpti_wide_double(&difference);
}

/* N Σx² - (Σx)²; sums of a file may contradict each other a little. */
static double plain_spread(uint64_t count, uint64_t sum_ns, cpti_u128 squares)
{
    const struct cpti_wide more = cpti_wide_product(squares, count);
    const struct cpti_wide less = cpti_wide_of((cpti_u128)sum_ns * sum_ns);

    return fmax(signed_difference(&more, &less), 0);
}

/* N² Σx³ - 3 N Σx Σx² + 2 (Σx)³ */
static double plain_asymmetry(uint64_t count, uint64_t sum_ns, cpti_u128 squares,
                              cpti_u128 cubes)
{
    const struct cpti_wide mixed =
        cpti_wide_product(squares, (cpti_u128)sum_ns * count);
    const struct cpti_wide less = cpti_wide_times(mixed, 3);
    struct cpti_wide more = cpti_wide_product(cubes, (cpti_u128)count * count);
    struct cpti_wide zeros =
        cpti_wide_product((cpti_u128)sum_ns * sum_ns, (cpti_u128)sum_ns * 2);

    cpti_wide_add(&more, &zeros);
    return signed_difference(&more, &less);
}

/* The mean of all requests of the tree, whose sums are in a batch. */
static struct cpt_mean plain_mean(const struct cpt_tree *tree, uint64_t sum_ns,
                                  cpti_u128 squares, cpti_u128 cubes)
{
    const uint64_t requests = tree->request_count;
    const double count = (double)requests;
    const double weight = cpti_u128_double(tree->weight);
    struct cpt_mean mean = {.skewness = NAN};
    double spread;

    if (requests == 0) {
        return (struct cpt_mean){0};
    }
    mean.mean_ns = cpti_u128_double((cpti_u128)tree->weight_min * sum_ns) / weight;
    mean.effective_count = weight / cpti_wide_double(&tree->weight_squared) * weight;
    if (requests < 2) {
        mean.error_ns = INFINITY;
        return mean;
    }
    /* n/(n-1) times the bracket, without w */
    spread = count / (count - 1) * count * plain_spread(requests, sum_ns, squares);
    mean.error_ns = sqrt(spread) / count / count;
    mean.deviation_ns = mean.error_ns * sqrt(mean.effective_count);
    if (!tree->lacks_cubes) {
        const double third =
            spread == 0 ? 0 : plain_asymmetry(requests, sum_ns, squares, cubes);

        mean.skewness =
            spread == 0 ? 0 : fmin(fmax(count * third / spread / sqrt(spread), -1), 1);
    }
    return mean;
}

/* What cpt_stats_of() needs of the totals of a batch besides its means. */
static struct cpti_totals plain_totals(const struct cpti_node *node)
{
    const struct cpti_batch *batch = &node->batch;
    const cpti_u128 weight = batch->weight;

    return (struct cpti_totals){
        .inclusive.wx = cpti_wide_of(weight * batch->inclusive_ns),
        .present_squared = cpti_wide_product(weight * weight, batch->count),
        .present_weight = weight * batch->count,
        .present_count = batch->count,
        .min_ns = batch->count != 0 ? node->min_ns : 0,
        .max_ns = node->max_ns};
}

static void plain_means(const struct cpt_tree *tree, const struct cpti_batch *batch,
                        struct cpt_stats *stats)
{
    const bool is_leaf = batch->self_ns == batch->inclusive_ns &&
                         batch->self_squares == batch->inclusive_squares &&
                         batch->self_cubes == batch->inclusive_cubes;

    stats->self =
        plain_mean(tree, batch->self_ns, batch->self_squares, batch->self_cubes);
    stats->inclusive =
        is_leaf ? stats->self
                : plain_mean(tree, batch->inclusive_ns, batch->inclusive_squares,
                             batch->inclusive_cubes);
}

/* --- Of a node --- */

/*
 * The largest possible Σw² of the requests with a node, for trees that lack it as they
 * lack third moments: for weights from a to b, (w - a)(b - w) >= 0 gives
 *
 *      Σw²  <=  (a + b) Σw  -  count a b
 *
 * which is exact if no weight lies between a and b.
 */
static double present_squared_most(const struct cpt_tree *tree,
                                   const struct cpti_totals *totals)
{
    const struct cpti_wide product =
        cpti_wide_times(cpti_wide_of((cpti_u128)tree->weight_min * tree->weight_max),
                        totals->present_count);
    const struct cpti_wide bound = cpti_wide_times(cpti_wide_of(totals->present_weight),
                                                   tree->weight_min + tree->weight_max);
    const struct cpti_huge from = cpti_huge_of(&bound);
    const struct cpti_huge less = cpti_huge_of(&product);
    const struct cpti_huge most = cpti_huge_less(&from, &less);

    return fmin(cpti_huge_double(&most), cpti_wide_double(&tree->weight_squared));
}

struct cpt_stats cpt_stats_of(const struct cpt_tree *tree, uint32_t node)
{
    struct cpt_stats stats = {0};
    struct cpti_totals totals;

    assert(node < tree->node_count);
    if (is_plain(tree, node)) {
        const struct cpti_node *at = cpti_node_at(tree, node);

        totals = plain_totals(at);
        plain_means(tree, &at->batch, &stats);
    } else {
        totals = cpti_node_totals(tree, node, !tree->lacks_cubes);
        stats.self = mean_of(tree, &totals.self);
        stats.inclusive =
            memcmp(&totals.self, &totals.inclusive, sizeof totals.self) == 0
                ? stats.self /* most stacks have none below them */
                : mean_of(tree, &totals.inclusive);
    }
    stats.present_count = totals.present_count;
    stats.min_ns = totals.min_ns;
    stats.max_ns = totals.max_ns;
    stats.is_rare = 1;
    if (totals.present_count != 0) {
        const double weight = cpti_u128_double(totals.present_weight);

        stats.presence = weight / cpti_u128_double(tree->weight);
        stats.present_mean_ns = cpti_wide_double(&totals.inclusive.wx) / weight;
        const double squared = tree->lacks_cubes
                                   ? present_squared_most(tree, &totals)
                                   : cpti_wide_double(&totals.present_squared);

        stats.present_effective_count = weight / squared * weight;
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
    at = cpti_node_at(tree, node);
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
    return cpti_node_at(tree, node)->histogram.count;
}

struct cpt_bucket cpt_stats_bucket(const struct cpt_tree *tree, uint32_t node,
                                   size_t index)
{
    const struct cpti_node *at = cpti_node_at(tree, node);
    struct cpti_bucket bucket;

    assert(index < at->histogram.count);
    bucket = cpti_histogram_bucket(&at->histogram, (uint32_t)index, at->batch.weight);
    return (struct cpt_bucket){cpti_histogram_low(bucket.index),
                               cpti_histogram_high(bucket.index),
                               cpti_u128_double(cpti_bucket_weight(&bucket)) /
                                   cpti_u128_double(cpti_node_weight(tree, node))};
}
