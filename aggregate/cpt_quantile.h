/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_quantile.h - intervals of quantiles, and whether a quantile moved
 *
 * The p99 of a sample is not the p99 of the service. Of n requests, the count B that
 * lie at or below the true p99 is binomial, whatever the distribution of the times is.
 * So two requests of the sorted sample enclose it with 95 % confidence; their ranks
 * depend on n alone:
 *
 *      n = 1,000: P(983 < rank <= 997) >= 0.95        x(1) … x(983) … x(997) … x(1000)
 *                                                           '-- the interval --'
 *
 * With few requests no request is certainly above it (of 100 requests, all lie below
 * the true p99 once in three times): that end of the interval is infinite.
 *
 * Trees keep histograms, so each end is moved outwards to the end of its bucket, by at
 * most 1 in 128.
 *
 * Of requests of unequal weights the share F up to a time has the variance V of a
 * weighted mean of zeros and ones, so they are worth as many requests of equal weight
 * as would give it that variance, which is the effective count here:
 *
 *      n = F (1 - F) / V      V = ( (1 - F)² Σ w² up to it + F² Σ w² above ) / (Σ w)²
 *
 * Where a rule has kept all slow requests, and a part of the others, that is nearly the
 * number of all requests for a p99, though a mean of them is known worse. If the few
 * requests of one side are light by chance alone, V would be too small: unless the
 * weights of both sides differ significantly, Σw² of a side is at least its share of
 * that of all. A tree that was read from a file has no Σw² beside its histogram; there
 * each weight may be the heaviest, and n is Σ w / w_max. All this takes requests as
 * independent of each other.
 *
 * Threads: any, as long as no thread changes the trees.
 */
#ifndef CPT_QUANTILE_H
#define CPT_QUANTILE_H

#include "cpt_stats.h"

CPT_BEGIN_DECLS

/* A quantile of the inclusive times of the requests that had a node, in nanoseconds. */
struct cpt_quantile {
    double quantile;        /* 0 to 1 */
    double ns;              /* as cpt_stats_quantile_ns(): the middle of a bucket */
    double low_ns;          /* the interval: -inf … */
    double high_ns;         /* … or inf where there are too few requests */
    double effective_count; /* the requests are worth this many of equal weight */
};

/*
 * The @quantile (0 to 1) of the inclusive time of the requests that had @node, and the
 * interval in which the true one lies with at least @confidence (0.95, say): whatever
 * the distribution, with ties too. Without requests the interval is -inf to inf.
 */
CPT_API struct cpt_quantile cpt_quantile_of(const struct cpt_tree *tree, uint32_t node,
                                            double quantile, double confidence);

/* The same for requests that are worth @effective_count of equal weight that are
 * independent: fewer than there are, where they resemble each other (see
 * cpt_clusters.h). */
CPT_API struct cpt_quantile cpt_quantile_of_count(const struct cpt_tree *tree,
                                                  uint32_t node, double quantile,
                                                  double confidence,
                                                  double effective_count);

/* One quantile of two independent samples. */
struct cpt_quantile_change {
    struct cpt_quantile base;
    struct cpt_quantile other; /* of the new sample */
    double delta_ns;           /* new - base */
    double low_ns;             /* its interval: -inf … */
    double high_ns;            /* … to inf */
    double p_value;            /* two-sided, that both are the same */
    double new_above; /* share of the new sample's requests above the base's quantile,
                         by buckets: 1 - quantile if nothing changed */
};

/*
 * Compares the @quantile of two samples. The interval joins those of the two quantiles
 * (method of variance estimates recovery): its ends are as far from delta_ns as the
 * root of the sum of the squares of both distances, of which each is one of middles of
 * buckets: times of both are rounded alike. An infinite end of either is one of it. The
 * p value is the smallest level whose interval excludes 0, so it holds for any two
 * distributions and any two sizes, with ties. It is never below CPT_QUANTILE_P_MIN.
 */
CPT_API struct cpt_quantile_change
cpt_quantile_compare(const struct cpt_tree *base, uint32_t base_node,
                     const struct cpt_tree *other, uint32_t other_node, double quantile,
                     double confidence);

/* Smaller p values are not told apart. */
#define CPT_QUANTILE_P_MIN 1e-12

/*
 * The largest rank r with P(B < r) <= @tail, where B is binomial: @count trials with
 * @probability each. 0 if there is none. The value of rank r in a sorted sample of
 * @count is above the quantile @probability with at most the chance @tail.
 */
CPT_API uint64_t cpt_binomial_rank(uint64_t count, double probability, double tail);

CPT_END_DECLS

#endif
