/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* sizing.c - how many requests a question needs; see cpt_sizing.h */
#include "aggregate/cpt_sizing.h"

#include "aggregate/cpt_tree.h"

#include <math.h>
#include <string.h>

/* @sizing with its defaults filled in. */
static struct cpt_sizing sizing_of(const struct cpt_sizing *sizing,
                                   const struct cpt_mean *mean)
{
    struct cpt_sizing full = {0};

    memcpy(&full, sizing,
           sizing->struct_bytes < sizeof full ? sizing->struct_bytes : sizeof full);
    full.within_ns = full.within_ns > 0 ? full.within_ns : 0.01 * mean->mean_ns;
    full.confidence = full.confidence > 0 ? full.confidence : 0.95;
    full.power = full.power > 0 ? full.power : 0.8;
    full.slice = full.slice > 0 ? full.slice : 1;
    full.share = full.share > 0 ? full.share : 1;
    full.probability = full.probability > 0 ? full.probability : 1;
    return full;
}

struct cpt_sizing_need cpt_sizing_need(const struct cpt_sizing *sizing,
                                       const struct cpt_tree *tree,
                                       enum cpt_sizing_goal goal)
{
    const struct cpt_mean mean = cpt_stats_of(tree, CPT_TREE_ROOT).inclusive;
    const struct cpt_sizing full = sizing_of(sizing, &mean);
    /* from the error, not the deviation: unequal weights need more requests */
    const double s = full.deviation_ns > 0
                         ? full.deviation_ns
                         : mean.error_ns * sqrt((double)cpt_tree_request_count(tree));
    const double z = cpt_normal_quantile(0.5 + full.confidence / 2) +
                     (goal == CPT_SIZING_SEEN ? cpt_normal_quantile(full.power) : 0);
    const double ratio = fmax(z, 0) * s / full.within_ns;
    struct cpt_sizing_need need;

    need.slice = fmax(2, ceil((goal == CPT_SIZING_MEAN ? 1 : 2) * ratio * ratio));
    need.traced = ceil(need.slice / full.slice);
    need.all = ceil(need.traced / full.share / full.probability);
    need.seconds = full.rate > 0 ? need.all / full.rate : NAN;
    return need;
}

double cpt_sizing_deviation_ns(const struct cpt_tree *tree)
{
    const struct cpt_mean mean = cpt_stats_of(tree, CPT_TREE_ROOT).inclusive;
    const double count = (double)cpt_tree_request_count(tree);
    double squares = 0;

    if (cpt_tree_weight_min(tree) == cpt_tree_weight_max(tree)) {
        return mean.deviation_ns;
    }
    for (size_t i = 0; i < cpt_stats_bucket_count(tree, CPT_TREE_ROOT); i++) {
        const struct cpt_bucket bucket = cpt_stats_bucket(tree, CPT_TREE_ROOT, i);
        const double middle_ns = ((double)bucket.low_ns + (double)bucket.high_ns) / 2;

        squares +=
            bucket.share * (middle_ns - mean.mean_ns) * (middle_ns - mean.mean_ns);
    }
    return sqrt(squares * count / (count - 1));
}

double cpt_sizing_half_width_ns(const struct cpt_tree *tree, double request_count,
                                double confidence)
{
    const struct cpt_mean mean = cpt_stats_of(tree, CPT_TREE_ROOT).inclusive;

    return cpt_normal_quantile(0.5 + confidence / 2) * mean.error_ns *
           sqrt((double)cpt_tree_request_count(tree) / request_count);
}
