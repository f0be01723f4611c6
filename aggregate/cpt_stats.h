/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_stats.h - the statistics of one node of a tree, and their errors
 *
 * An average mixes how often and how long: *always 5 ms* and *500 ms in one request of
 * a hundred* both average 5 ms. So a node also has a presence rate (1.00 and 0.01), the
 * mean of the requests that had it (5 ms and 500 ms), minimum, maximum and quantiles.
 * All of these are about the inclusive time.
 *
 * Averages divide by all requests; a request without the node counts as 0, in the mean
 * and in its standard error. Both are for weighted samples (with w = 1/p, x the time in
 * a request, m the mean, n requests):
 *
 *      m = Σ w x / Σ w        error² = n/(n-1) · Σ w² (x - m)² / (Σ w)²
 *
 * With equal weights that is the usual s²/n. The mean of skewed times is itself skewed,
 * which its interval takes into account:
 *
 *      skewness = Σ w³ (x - m)³ / ( n/(n-1) · Σ w² (x - m)² )^(3/2)
 *
 * The sums are exact integers; only the division at the end rounds. Trees of version 1
 * of the file have no third moments, and so no skewness.
 *
 * Threads: any, as long as no thread changes the tree.
 */
#ifndef CPT_STATS_H
#define CPT_STATS_H

#include "cpt_tree.h"

CPT_BEGIN_DECLS

/* Do not trust an interval if the requests, or those that had the stack, are worth
 * fewer than this many of equal weight. */
enum { CPT_STATS_PRESENT_MIN = 30 };

/* A mean over all requests, in nanoseconds. */
struct cpt_mean {
    double mean_ns;
    double deviation_ns;    /* error_ns × √effective_count: if all weights are equal,
                               the standard deviation of a single request; else see
                               cpt_sizing_deviation_ns(), cpt_sample_deviations() */
    double error_ns;        /* standard error of the mean; infinite for one request */
    double effective_count; /* (Σw)² / Σw²: worth this many requests of equal weight */
    double skewness;        /* of the mean, not of one request: -1 to 1; NAN: unknown */
};

/* One node. All zero for a tree without requests. */
struct cpt_stats {
    struct cpt_mean self;
    struct cpt_mean inclusive;
    uint64_t present_count; /* requests that spent any time on it or below it */
    double presence;        /* their share of all, weighted: 0 to 1 */
    double present_mean_ns; /* their mean inclusive time, weighted; 0 without any */
    uint64_t min_ns;        /* of their inclusive times; 0 without any */
    uint64_t max_ns;
    int is_rare; /* effective_count or present_effective_count is below
                    CPT_STATS_PRESENT_MIN: don't trust intervals */
    double present_effective_count; /* effective count of the requests that had it */
};

/* The statistics of @node. */
CPT_API struct cpt_stats cpt_stats_of(const struct cpt_tree *tree, uint32_t node);

/*
 * The @quantile (0 to 1) of the inclusive time of the requests that had @node: the time
 * that this share of them, weighted, did not exceed. Its relative error is at most
 * CPT_STATS_QUANTILE_ERROR; quantiles 0 and 1 are the exact minimum and maximum. 0 if
 * no request had @node.
 */
CPT_API uint64_t cpt_stats_quantile_ns(const struct cpt_tree *tree, uint32_t node,
                                       double quantile);

/* The largest relative error of quantiles: half a bucket of the histogram. */
#define CPT_STATS_QUANTILE_ERROR (1.0 / 256)

/*
 * One bucket of the histogram of the inclusive times: values from low_ns to high_ns.
 * Buckets are exact below 256 ns; above, each power of two is cut into 128.
 */
struct cpt_bucket {
    uint64_t low_ns;
    uint64_t high_ns; /* the last value of the bucket */
    double share;     /* of the requests with the node, weighted: all add up to 1 */
};

/* The buckets that are not empty, from small to large. */
CPT_API size_t cpt_stats_bucket_count(const struct cpt_tree *tree, uint32_t node);
CPT_API struct cpt_bucket cpt_stats_bucket(const struct cpt_tree *tree, uint32_t node,
                                           size_t index);

/*
 * The interval in which the true mean lies with @confidence (0.95, say):
 * cpt_interval() with effective_count - 1 degrees of freedom. Without two requests it
 * is -inf to +inf.
 */
CPT_API void cpt_mean_interval(const struct cpt_mean *mean, double confidence,
                               double *low_ns, double *high_ns);

/*
 * The same for any estimate with a standard error: a mean, or a difference of means.
 * @skewness is that of the estimate (third central moment / error³). Each end is the
 * outer one of Student's interval with @degrees of freedom and Hall's, which removes
 * the skewness; without a finite @skewness it is Student's. If @error is 0, both ends
 * are @value; if it is not finite or @degrees are not above 0, they are infinite.
 */
CPT_API void cpt_interval(double value, double error, double skewness, double degrees,
                          double confidence, double *low, double *high);

/*
 * The two-sided p value of a true value of 0: but for rounding, it is below 0.05
 * exactly if 0 is outside the interval with confidence 0.95, and so for any confidence.
 */
CPT_API double cpt_p_value(double value, double error, double skewness, double degrees);

/* --- Heavy tails --- */

/* How heavy the upper tail of the inclusive times of a node is. */
struct cpt_heaviness {
    double index; /* ξ: P(X > x) falls as x^(-1/ξ); NAN: too few requests */
    double error; /* of it, if ξ is 1/2: beyond it the variance is infinite */
    double effective_count; /* requests in the tail that it was estimated from */
    int is_infinite;        /* ξ is significantly above 1/2, at 5 %, one-sided */
};

/*
 * Whether the variance of the inclusive times of the requests that had @node may be
 * infinite, by the moment estimator of Dekkers, Einmahl and de Haan over the largest
 * n^(2/3) of n requests. Then the error of a mean says little: the next request may be
 * larger than all of them together. docs/statistics.md says how often it is wrong.
 */
CPT_API struct cpt_heaviness cpt_stats_heaviness(const struct cpt_tree *tree,
                                                 uint32_t node);

/* --- Distributions --- */

/* P(Z <= z) of the standard normal distribution, and its inverse (0 < p < 1). */
CPT_API double cpt_normal_cdf(double z);
CPT_API double cpt_normal_quantile(double probability);

/* P(T <= t) of Student's distribution with @degrees of freedom (above 0, not
 * necessarily whole; infinity is the normal distribution), and its inverse (0 < p <
 * 1). */
CPT_API double cpt_student_cdf(double t, double degrees);
CPT_API double cpt_student_quantile(double probability, double degrees);

/* --- Many tests at once --- */

/*
 * The q values of @count p values, after Benjamini and Hochberg: the q value of a test
 * is the lowest false discovery rate at which it is called real, that is, the lowest
 * expected share of false ones among the tests called real.
 *
 *      p sorted      p(1) <= p(2) <= … <= p(m)
 *      q(i)          the smallest m · p(j) / j of all j >= i, at most 1
 *
 * Written to @q_values in the order of @p_values; both may be the same array.
 * CPT_OK; CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_stats_q_values(const struct cpt_alloc *alloc,
                                      const double *p_values, double *q_values,
                                      size_t count);

CPT_END_DECLS

#endif
