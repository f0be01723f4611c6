/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * quantile.c - intervals of quantiles by order statistics, and a test of two quantiles
 *
 * With equal weights the ranks l and u of the ends are exact, and the tree's histogram
 * tells the buckets of the requests with these ranks. With unequal weights the
 * effective count, rounded down, stands for the count: the least of those at both ends
 * of the bucket of the quantile. Rank r becomes the share (r - 1/2) / count of the
 * weight: sums of unequal weights lie between ranks, and half a rank is the correction
 * for that.
 */
#include "aggregate/stats/quantile.h"

#include "aggregate/tree/tree_node.h"

#include <assert.h>
#include <math.h>

/* Roots of counts differ significantly if they are 4 standard deviations apart. */
#define SIGNIFICANT 4.0

/* --- One sample --- */

/* The requests of a node, as quantiles see them. */
struct ranked {
    const struct cpt_tree *tree;
    const struct cpti_node *node;
    uint32_t index;
    cpti_u128 weight;
    double effective_count;
    uint64_t count; /* the same, rounded down */
    bool is_equal;  /* all weights are equal: count is exact */
};

static struct cpti_bucket bucket_at(const struct ranked *ranked, uint32_t at)
{
    return cpti_histogram_bucket(&ranked->node->histogram, at,
                                 ranked->node->batch.weight);
}

/* Σw and Σw² of requests. */
struct side {
    double weight;
    double square;
};

static double squared(double value)
{
    return value * value;
}

/*
 * Σw² of the requests on one side of a border, of @all, which are @count. If they are
 * lighter than the others, a rule may have kept them because of their times; or they
 * are few, and which of them are heavy is chance. So their own weights count if those
 * of all differ significantly: with h = Σw² / w_max² heavy ones among all, k of the
 * requests would have λ = h k / count of them, by Poisson's distribution, whose root
 * varies by 1/2. Otherwise they are taken to be as heavy as all.
 */
static double square_of(const struct side *side, const struct side *all, double count,
                        double heaviest)
{
    const double as_all = all->square / all->weight * side->weight;
    const double requests = squared(side->weight) / side->square; /* at least */
    const double expected = all->square / squared(heaviest) * requests / count;
    const double found = side->square / squared(heaviest);

    return side->square >= as_all ||
                   2 * (sqrt(expected) - sqrt(found + 0.375)) >= SIGNIFICANT
               ? side->square
               : as_all;
}

/* How many independent requests of equal weight would give the share F of @below its
 * variance, V: F (1 - F) / V. Infinite if F is 0 or 1. */
static double count_at(const struct ranked *ranked, const struct side *all,
                       const struct side *below, double count)
{
    const struct side above = {all->weight - below->weight,
                               all->square - below->square};
    const double heaviest = (double)ranked->tree->weight_max;
    const double share = below->weight / all->weight;
    double squares;

    if (!(share > 0 && share < 1)) {
        return INFINITY;
    }
    squares = squared(1 - share) * square_of(below, all, count, heaviest) +
              squared(share) * square_of(&above, all, count, heaviest);
    return share * (1 - share) * squared(all->weight) / squares * (count - 1) / count;
}

static double square_of_all(const struct ranked *ranked)
{
    double square = 0;

    for (uint32_t i = 0; i < ranked->node->histogram.count; i++) {
        const struct cpti_bucket bucket = bucket_at(ranked, i);

        square += cpti_bucket_square(&bucket);
    }
    return square;
}

/* The least of them at both ends of the bucket of the quantile. */
static double count_of(const struct ranked *ranked, uint64_t count, double quantile)
{
    const uint32_t bucket_count = ranked->node->histogram.count;
    const struct side all = {cpti_u128_double(ranked->weight), square_of_all(ranked)};
    struct side below = {0};
    double least = INFINITY;

    for (uint32_t i = 0; i < bucket_count && below.weight < quantile * all.weight;
         i++) {
        const struct cpti_bucket bucket = bucket_at(ranked, i);

        least = count_at(ranked, &all, &below, (double)count);
        below.weight += cpti_u128_double(cpti_bucket_weight(&bucket));
        below.square += cpti_bucket_square(&bucket);
    }
    least = fmin(least, count_at(ranked, &all, &below, (double)count));
    return isfinite(least) ? least : all.weight / (double)ranked->tree->weight_max;
}

static struct ranked ranked_of(const struct cpt_tree *tree, uint32_t index,
                               double quantile)
{
    struct ranked ranked = {.tree = tree,
                            .node = cpti_node_at(tree, index),
                            .index = index,
                            .weight = cpti_node_weight(tree, index)};
    const uint64_t count = cpti_node_count(tree, index);

    assert(index < tree->node_count);
    ranked.is_equal =
        tree->stacks[index].retired == 0 || tree->weight_min == tree->weight_max;
    ranked.effective_count = ranked.is_equal || count == 0
                                 ? (double)count
                                 : count_of(&ranked, count, quantile);
    ranked.count = ranked.is_equal ? count : (uint64_t)ranked.effective_count;
    return ranked;
}

/* The bucket of the request with @rank of ranked->count, both above 0; of unequal
 * weights, half a rank below. */
static uint32_t bucket_of_rank(const struct ranked *ranked, uint64_t rank)
{
    const uint64_t halves = 2 * rank - !ranked->is_equal;
    const cpti_u128 each = ranked->weight / ranked->count;
    const cpti_u128 rest = ranked->weight % ranked->count;
    const cpti_u128 target =
        (each * halves + (rest * halves + ranked->count - 1) / ranked->count + 1) / 2;
    cpti_u128 reached = 0;
    struct cpti_bucket bucket = {0};

    for (uint32_t i = 0; i < ranked->node->histogram.count; i++) {
        bucket = bucket_at(ranked, i);
        reached += cpti_bucket_weight(&bucket);
        if (reached >= target) {
            break;
        }
    }
    return bucket.index;
}

static double low_end(const struct ranked *ranked, uint64_t rank)
{
    uint64_t low_ns;

    if (rank == 0) {
        return -INFINITY;
    }
    if (rank == ranked->count && ranked->is_equal) {
        return (double)ranked->node->max_ns;
    }
    low_ns = cpti_histogram_low(bucket_of_rank(ranked, rank));
    return (double)(low_ns > ranked->node->min_ns ? low_ns : ranked->node->min_ns);
}

static double high_end(const struct ranked *ranked, uint64_t rank)
{
    uint64_t high_ns;

    if (rank > ranked->count) {
        return INFINITY;
    }
    if (rank == 1 && ranked->is_equal) {
        return (double)ranked->node->min_ns;
    }
    high_ns = cpti_histogram_high(bucket_of_rank(ranked, rank));
    return (double)(high_ns < ranked->node->max_ns ? high_ns : ranked->node->max_ns);
}

static struct cpt_quantile quantile_at(const struct ranked *ranked, double quantile,
                                       double confidence)
{
    const double tail = (1 - confidence) / 2;
    struct cpt_quantile result = {.quantile = quantile,
                                  .low_ns = -INFINITY,
                                  .high_ns = INFINITY,
                                  .effective_count = ranked->effective_count};
    uint64_t low_rank;

    result.ns = (double)cpt_stats_quantile_ns(ranked->tree, ranked->index, quantile);
    if (ranked->count == 0) {
        return result;
    }
    low_rank = cpt_binomial_rank(ranked->count, quantile, tail);
    result.low_ns = fmin(low_end(ranked, low_rank), result.ns);
    /* the same from above: rank r from below is count + 1 - r from above */
    result.high_ns =
        fmax(high_end(ranked, ranked->count + 1 -
                                  cpt_binomial_rank(ranked->count, 1 - quantile, tail)),
             result.ns);
    return result;
}

struct cpt_quantile cpt_quantile_of(const struct cpt_tree *tree, uint32_t node,
                                    double quantile, double confidence)
{
    const struct ranked ranked = ranked_of(tree, node, quantile);

    return quantile_at(&ranked, quantile, confidence);
}

struct cpt_quantile cpt_quantile_of_count(const struct cpt_tree *tree, uint32_t node,
                                          double quantile, double confidence,
                                          double effective_count)
{
    struct ranked ranked = ranked_of(tree, node, quantile);

    if (effective_count < ranked.effective_count) {
        ranked.effective_count = effective_count;
        ranked.count = effective_count >= 1 ? (uint64_t)effective_count : 0;
        ranked.is_equal = false;
    }
    return quantile_at(&ranked, quantile, confidence);
}

/* --- Two samples --- */

/* The middle of the bucket of the end of an interval: all times are rounded to middles,
 * those of both sets alike, and ranks of rounded times are as exact as any. */
static double rounded(double ns)
{
    uint32_t bucket;

    if (!isfinite(ns)) {
        return ns;
    }
    bucket = cpti_histogram_index((uint64_t)ns);
    return ((double)cpti_histogram_low(bucket) + (double)cpti_histogram_high(bucket)) /
           2;
}

/* How far the ends of two intervals are from their quantiles, together. */
static double distance(double high, double low, double other_high, double other_low)
{
    const double left = rounded(high) - rounded(low);
    const double right = rounded(other_high) - rounded(other_low);

    return isfinite(left) && isfinite(right) ? hypot(left, right) : INFINITY;
}

/* Sets the quantiles and the interval. */
static void compare_at(struct cpt_quantile_change *change,
                       const struct cpti_quantile_pair *pair, double confidence)
{
    change->base = pair->of(pair->base, pair->quantile, confidence);
    change->other = pair->of(pair->other, pair->quantile, confidence);
    change->delta_ns = change->other.ns - change->base.ns;
    change->low_ns = change->delta_ns - distance(change->other.ns, change->other.low_ns,
                                                 change->base.high_ns, change->base.ns);
    change->high_ns =
        change->delta_ns + distance(change->other.high_ns, change->other.ns,
                                    change->base.ns, change->base.low_ns);
}

/* Whether the interval at level @p excludes 0. */
static bool is_found(const struct cpti_quantile_pair *pair, double p)
{
    struct cpt_quantile_change change = {.p_value = 1};

    compare_at(&change, pair, 1 - p);
    return change.low_ns > 0 || change.high_ns < 0;
}

/* Bisects the logarithm of the level: the higher it is, the narrower the interval. */
static double p_of(const struct cpti_quantile_pair *pair)
{
    double low = CPT_QUANTILE_P_MIN;
    double high = 1;

    if (!is_found(pair, 1)) {
        return 1;
    }
    if (is_found(pair, low)) {
        return low;
    }
    while (high / low > 1.0001) {
        const double middle = sqrt(low * high);

        if (is_found(pair, middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return high;
}

struct cpt_quantile_change cpti_quantile_pair(const struct cpti_quantile_pair *pair,
                                              double confidence)
{
    struct cpt_quantile_change change = {.p_value = 1};

    compare_at(&change, pair, confidence);
    change.p_value = p_of(pair);
    return change;
}

double cpti_quantile_share_above(const struct cpt_tree *tree, uint32_t node, double ns)
{
    const struct ranked ranked = ranked_of(tree, node, 0.5);
    cpti_u128 above = 0;

    for (uint32_t i = ranked.node->histogram.count; i-- > 0;) {
        const struct cpti_bucket bucket = bucket_at(&ranked, i);

        if ((double)cpti_histogram_low(bucket.index) <= ns) {
            break;
        }
        above += cpti_bucket_weight(&bucket);
    }
    return cpti_u128_double(above) / cpti_u128_double(ranked.weight);
}

static struct cpt_quantile quantile_of(const void *set, double quantile,
                                       double confidence)
{
    return quantile_at(set, quantile, confidence);
}

struct cpt_quantile_change cpt_quantile_compare(const struct cpt_tree *base,
                                                uint32_t base_node,
                                                const struct cpt_tree *other,
                                                uint32_t other_node, double quantile,
                                                double confidence)
{
    const struct ranked left = ranked_of(base, base_node, quantile);
    const struct ranked right = ranked_of(other, other_node, quantile);
    const struct cpti_quantile_pair pair = {quantile_of, &left, &right, quantile};
    struct cpt_quantile_change change = {.p_value = 1};

    if (left.count == 0 || right.count == 0) {
        compare_at(&change, &pair, confidence);
        return change;
    }
    change = cpti_quantile_pair(&pair, confidence);
    change.new_above = cpti_quantile_share_above(other, other_node, change.base.ns);
    return change;
}
