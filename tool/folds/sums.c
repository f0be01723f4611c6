/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* sums.c - see sums.h */
#include "tool/folds/sums.h"

#include "tool/base/output.h"

#include <math.h>

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

void cpti_sums_put_interval(struct cpti_table *table, const struct cpt_mean *mean)
{
    double low_ns = 0;
    double high_ns = 0;
    char low[32];
    char high[32];

    cpt_mean_interval(mean, 0.95, &low_ns, &high_ns);
    if (isfinite(low_ns) && isfinite(high_ns)) {
        cpti_table_cell(table, "%s to %s", cpti_ms(low_ns, low),
                        cpti_ms(high_ns, high));
    } else {
        cpti_table_cell(table, "-");
    }
}
