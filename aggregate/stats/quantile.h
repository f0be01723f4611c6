/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * quantile.h - two quantiles with intervals become a change, its interval and p value
 *
 *      base  |------x----|        new - base: the root of the sum of the squares of the
 *      new        |---x-------|   distances of both ends (method of variance estimates)
 */
#ifndef CPTI_QUANTILE_H
#define CPTI_QUANTILE_H

#include "aggregate/cpt_quantile.h"

/* The quantile of both sets at a confidence. */
struct cpti_quantile_pair {
    struct cpt_quantile (*of)(const void *set, double quantile, double confidence);
    const void *base;
    const void *other;
    double quantile;
};

/* Compares them; new_above is not set. */
struct cpt_quantile_change cpti_quantile_pair(const struct cpti_quantile_pair *pair,
                                              double confidence);

/* The share of the weight of a node's requests in buckets above @ns. */
double cpti_quantile_share_above(const struct cpt_tree *tree, uint32_t node, double ns);

#endif
