/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * strata.c - the shares of strata, and the effect of a change of shares; see cpt_diff.h
 *
 * A mean is Σ share · mean over the strata. Between two samples it changes for two
 * reasons, which add up to the whole change (Kitagawa 1955: rates and composition):
 *
 *      Σ share_base · Δmean      change of the means: cpt_diff_new_strata()
 *      the rest                  change of the shares: cpt_diff_mix_ns()
 */
#include "aggregate/cpt_diff.h"

#include "aggregate/tree/tree_node.h"

size_t cpt_diff_strata_share(struct cpt_diff_stratum *strata, size_t stratum_count)
{
    double weight = 0;
    size_t count = 0;

    for (size_t i = 0; i < stratum_count; i++) {
        if (strata[i].base->request_count != 0 &&
            strata[i].new_tree->request_count != 0) {
            strata[count] = strata[i];
            strata[count].share = cpti_u128_double(strata[i].base->weight);
            weight += strata[count].share;
            count++;
        }
    }
    for (size_t i = 0; i < count; i++) {
        strata[i].share /= weight;
    }
    return count;
}

double cpt_diff_mix_ns(const struct cpt_diff *diff, const struct cpt_tree *base,
                       const struct cpt_tree *new_tree)
{
    return cpt_stats_of(new_tree, CPT_TREE_ROOT).inclusive.mean_ns -
           cpt_stats_of(base, CPT_TREE_ROOT).inclusive.mean_ns -
           cpt_diff_total(diff)->inclusive.delta_ns;
}
