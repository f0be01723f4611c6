/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* group_time.c - a mean beside times of a walk, which are rounded to add up */
#include "tool/folds/group_time.h"

#include "aggregate/cpt_stats.h"

uint64_t cpti_group_inclusive_ns(const struct cpt_tree *self,
                                 const struct cpt_tree *inclusive, uint32_t node,
                                 uint64_t self_ns, uint64_t latency_ns)
{
    const double mean_ns = cpt_stats_of(inclusive, node).inclusive.mean_ns;
    const double all_ns = cpt_stats_of(self, CPT_TREE_ROOT).inclusive.mean_ns;
    const uint64_t ns = mean_ns < all_ns ? (uint64_t)(mean_ns + 0.5) : latency_ns;

    if (ns < self_ns) {
        return self_ns;
    }
    return ns < latency_ns ? ns : latency_ns;
}
