/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * weighted.h - means of weighted samples that are in no tree
 *
 * The formulas are those of aggregate/cpt_stats.h, over all samples. A value that a
 * sample does not have counts as 0 and is not added: so one value costs as many
 * additions as samples have it.
 */
#ifndef CPTI_CLI_WEIGHTED_H
#define CPTI_CLI_WEIGHTED_H

#include "aggregate/cpt_stats.h"

#include <stdint.h>

/* The samples. Zero is none. */
struct cpti_weights {
    uint64_t count;
    double sums[3]; /* of w, w², w³ */
};

/* One value of the samples. Zero is 0 in all of them. */
struct cpti_weighted {
    double wx;
    double w2x[2]; /* Σ w² x, Σ w² x² */
    double w3x[3]; /* Σ w³ x, Σ w³ x², Σ w³ x³ */
};

/* The weight of a request that was kept with @probability; 1 if that is not known. */
double cpti_weight_of(double probability);

void cpti_weights_add(struct cpti_weights *weights, double weight);
void cpti_weighted_add(struct cpti_weighted *value, double weight, double x);

/* The mean over all samples of @weights. */
struct cpt_mean cpti_weighted_mean(const struct cpti_weighted *value,
                                   const struct cpti_weights *weights);

#endif
