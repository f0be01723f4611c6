/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* mean_column.c - see mean_column.h */
#include "tool/table/mean_column.h"

#include "tool/base/output.h"

#include <math.h>

static const double CONFIDENCE = 0.95;

/* Whether both have the same interval. */
static bool is_same(const struct cpt_mean *a, const struct cpt_mean *b)
{
    return a->mean_ns == b->mean_ns && a->error_ns == b->error_ns &&
           a->effective_count == b->effective_count &&
           (a->skewness == b->skewness || (isnan(a->skewness) && isnan(b->skewness)));
}

/* The ends of the interval of @mean. Those of the last one are kept, as each of them is
 * a column, and Student's quantile takes long. */
static void find_ends(const struct cpt_mean *mean, double *low_ns, double *high_ns)
{
    static _Thread_local struct {
        struct cpt_mean mean;
        double low_ns;
        double high_ns;
        bool is_known;
    } last;

    if (!last.is_known || !is_same(&last.mean, mean)) {
        cpt_mean_interval(mean, CONFIDENCE, &last.low_ns, &last.high_ns);
        last.mean = *mean;
        last.is_known = true;
    }
    *low_ns = last.low_ns;
    *high_ns = last.high_ns;
}

struct cpti_cell cpti_mean_cell(const struct cpt_mean *mean, unsigned part,
                                const struct cpti_asked *asked)
{
    double low_ns = 0;
    double high_ns = 0;
    char low[32];
    char high[32];

    if (part == CPTI_MEAN) {
        return cpti_cell_number(mean->mean_ns);
    }
    find_ends(mean, &low_ns, &high_ns);
    if (part != CPTI_MEAN_INTERVAL) {
        return cpti_cell_number(part == CPTI_MEAN_LOW ? low_ns : high_ns);
    }
    return isfinite(low_ns) && isfinite(high_ns)
               ? cpti_cell_format(asked, "%s to %s", cpti_ms(low_ns, low),
                                  cpti_ms(high_ns, high))
               : cpti_cell_unknown();
}

struct cpti_cell cpti_field_mean(const struct cpti_asked *asked)
{
    const void *field = (const char *)asked->row + asked->what / CPTI_MEAN_PARTS;

    return cpti_mean_cell(field, asked->what % CPTI_MEAN_PARTS, asked);
}
