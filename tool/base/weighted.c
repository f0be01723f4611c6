/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* weighted.c - see weighted.h */
#include "tool/base/weighted.h"

#include <math.h>

double cpti_weight_of(double probability)
{
    return probability > 0 && probability <= 1 ? 1 / probability : 1;
}

void cpti_weights_add(struct cpti_weights *weights, double weight)
{
    weights->count++;
    weights->sums[0] += weight;
    weights->sums[1] += weight * weight;
    weights->sums[2] += weight * weight * weight;
}

void cpti_weighted_add(struct cpti_weighted *value, double weight, double x)
{
    const double w2 = weight * weight;
    const double w3 = w2 * weight;

    value->wx += weight * x;
    value->w2x[0] += w2 * x;
    value->w2x[1] += w2 * x * x;
    value->w3x[0] += w3 * x;
    value->w3x[1] += w3 * x * x;
    value->w3x[2] += w3 * x * x * x;
}

struct cpt_mean cpti_weighted_mean(const struct cpti_weighted *value,
                                   const struct cpti_weights *weights)
{
    const double count = (double)weights->count;
    const double *w = weights->sums;
    struct cpt_mean mean = {.error_ns = INFINITY, .skewness = NAN};
    double second = 0; /* Σ w² (x - m)² */
    double third = 0;  /* Σ w³ (x - m)³ */
    double m = 0;

    if (weights->count == 0) {
        return mean;
    }
    m = mean.mean_ns = value->wx / w[0];
    mean.effective_count = w[0] * w[0] / w[1];
    if (weights->count < 2) {
        return mean;
    }
    second = value->w2x[1] - 2 * m * value->w2x[0] + m * m * w[1];
    if (second <= 1e-12 * value->w2x[1]) { /* what rounding leaves */
        second = 0;
    }
    third = value->w3x[2] - 3 * m * value->w3x[1] + 3 * m * m * value->w3x[0] -
            m * m * m * w[2];
    second *= count / (count - 1);
    mean.error_ns = sqrt(second) / w[0];
    mean.deviation_ns = mean.error_ns * sqrt(mean.effective_count);
    if (second > 1e-6 * value->w2x[1]) { /* else rounding would be most of it */
        mean.skewness = third / pow(second, 1.5);
    }
    return mean;
}
