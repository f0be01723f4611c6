/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* sums.c - see sums.h */
#include "tool/folds/sums.h"

void cpti_sums_add(struct cpti_sums *sums, uint64_t request, double weight, double x)
{
    if (sums->request != request) {
        cpti_weighted_add(&sums->value, sums->weight, sums->x);
        sums->request = request;
        sums->weight = weight;
        sums->x = 0;
    }
    sums->x += x;
    sums->time += weight * x;
}

struct cpt_mean cpti_sums_mean(const struct cpti_sums *sums,
                               const struct cpti_weights *weights)
{
    struct cpti_weighted value = sums->value;

    cpti_weighted_add(&value, sums->weight, sums->x);
    return cpti_weighted_mean(&value, weights);
}
