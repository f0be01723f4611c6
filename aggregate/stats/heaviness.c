/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * heaviness.c - whether the variance of times may be infinite
 *
 * Above a high time t, the excess log(x / t) of a Pareto tail is exponential with the
 * mean ξ. With its mean M₁ and the mean M₂ of its square (Dekkers, Einmahl and de Haan
 * 1989):
 *
 *      ξ = M₁ + 1 - 1 / (2 (1 - M₁² / M₂))        error² = (1 + ξ²) / k
 *
 * M₁ alone takes lognormal times for heavy ones; the rest corrects it by the shape of
 * the excess. The variance is infinite from ξ = 1/2 on. The k largest of n requests
 * are n^(2/3): fewer as a part the more there are, as no distribution is a Pareto
 * below its tail.
 *
 * Two modes, as of requests that hit a cache and requests that do not, look like a
 * heavy tail if t lies in the lower one. Then there is a gap between them: of a
 * Pareto tail, the log distance from the i-th largest to the next, times i, is
 * exponential with the mean ξ, and the largest of k of them hardly above ξ (log k + 7)
 * (once in a thousand). At such a gap the tail is cut, and what is above it judged.
 *
 * Requests count by their weights, k as many as they are worth.
 */
#include "aggregate/cpt_stats.h"

#include "aggregate/tree/tree_node.h"

#include <assert.h>
#include <math.h>

enum { TAIL_MIN = 10, CUTS_MAX = 4 };

#define INFINITE_FROM 0.5
#define LEVEL_95      1.6448536269514722 /* of the normal distribution, one-sided */
#define GAP_EXCESS    7.0                /* log(1000) */

/* The upper tail, as it is walked downwards; sums over requests with times above t. */
struct tail {
    double weight;
    double square; /* Σw² */
    double logs;   /* Σ w log x */
    double squares;
};

static double count_of(const struct tail *tail)
{
    return tail->square > 0 ? tail->weight / tail->square * tail->weight : 0;
}

static double log_middle(const struct cpti_bucket *bucket)
{
    return log(((double)cpti_histogram_low(bucket->index) +
                (double)cpti_histogram_high(bucket->index)) /
                   2 +
               0.5);
}

static struct cpti_bucket bucket_at(const struct cpti_node *node, uint32_t at)
{
    return cpti_histogram_bucket(&node->histogram, at, node->batch.weight);
}

static void add(struct tail *tail, const struct cpti_bucket *bucket)
{
    const double weight = cpti_u128_double(cpti_bucket_weight(bucket));
    const double value = log_middle(bucket);

    tail->weight += weight;
    tail->square += cpti_bucket_square(bucket);
    tail->logs += weight * value;
    tail->squares += weight * value * value;
}

/* Σ log(x / t) / Σ w and the same of squares. */
static void moments_of(const struct tail *tail, double log_t, double moments[2])
{
    const double mean = tail->logs / tail->weight;

    moments[0] = mean - log_t;
    moments[1] =
        fmax(tail->squares / tail->weight - mean * mean, 0) + moments[0] * moments[0];
}

/* The place of the bucket of t, above which are @count requests, by their worth. */
static uint32_t place_of(const struct cpti_node *node, double count)
{
    uint32_t at = node->histogram.count - 1U;
    struct tail tail = {0};

    while (at > 0 && count_of(&tail) < count) {
        const struct cpti_bucket bucket = bucket_at(node, at);

        add(&tail, &bucket);
        at--;
    }
    return at;
}

/* The tail above the bucket at @place, and its widest gap: *@gap_place is the bucket
 * right above it, *@gap its normalised width. */
static struct tail tail_above(const struct cpti_node *node, uint32_t place, double *gap,
                              uint32_t *gap_place)
{
    struct tail tail = {0};

    *gap = 0;
    for (uint32_t at = node->histogram.count - 1U; at > place; at--) {
        const struct cpti_bucket bucket = bucket_at(node, at);
        const struct cpti_bucket next = bucket_at(node, at - 1);
        double width;

        add(&tail, &bucket);
        width = count_of(&tail) * (log_middle(&bucket) - log_middle(&next));
        if (width > *gap) {
            *gap = width;
            *gap_place = at;
        }
    }
    return tail;
}

static struct cpt_heaviness judge(const struct tail *tail, double log_t)
{
    struct cpt_heaviness found = {.effective_count = count_of(tail)};
    double moments[2];
    double spread;

    moments_of(tail, log_t, moments);
    spread = 1 - moments[0] * moments[0] / moments[1];
    found.error = sqrt((1 + INFINITE_FROM * INFINITE_FROM) / found.effective_count);
    if (!(moments[1] > 0) || !(spread > 0)) {
        found.index = -INFINITY; /* one time: no tail at all */
        return found;
    }
    found.index = moments[0] + 1 - 0.5 / spread;
    found.is_infinite = found.index - LEVEL_95 * found.error > INFINITE_FROM;
    return found;
}

struct cpt_heaviness cpt_stats_heaviness(const struct cpt_tree *tree, uint32_t node)
{
    const struct cpti_node *at = cpti_node_at(tree, node);
    const double count = (double)cpti_node_count(tree, node);
    const struct cpt_heaviness unknown = {NAN, NAN, 0, 0};
    uint32_t place;

    assert(node < tree->node_count);
    if (count < TAIL_MIN || at->histogram.count < 2) {
        return unknown;
    }
    place = place_of(at, pow(count, 2.0 / 3));
    for (int cut = 0; cut < CUTS_MAX; cut++) {
        const struct cpti_bucket border = bucket_at(at, place);
        uint32_t gap_place = place;
        double gap = 0;
        const struct tail tail = tail_above(at, place, &gap, &gap_place);
        const double k = count_of(&tail);
        const double mean = (tail.logs / tail.weight - log_middle(&border)) * k;

        if (!(k >= TAIL_MIN)) {
            return unknown;
        }
        if (gap <= (mean - gap) / k * (log(k) + GAP_EXCESS)) {
            return judge(&tail, log_middle(&border));
        }
        place = gap_place; /* its own requests are at t, the others above it */
    }
    return unknown;
}
