/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * diff_side.h - one side of a diff: a sample, or one sample for each stratum
 *
 * Threads: one at a time.
 */
#ifndef DIFF_SIDE_H
#define DIFF_SIDE_H

#include "aggregate/cpt_clusters.h"
#include "aggregate/cpt_stats.h"

/* A sample, or its requests of one stratum. */
struct cpti_diff_part {
    const struct cpt_tree *tree;
    const struct cpt_tree *inclusive; /* for the inclusive times, or NULL: tree */
    double share;                     /* of the stratum: all add up to 1 */
    struct cpt_stats absent;          /* of a stack that it lacks */
    uint32_t *map;           /* by node of the stacks: node of tree, or CPT_TREE_NONE */
    uint32_t *inclusive_map; /* the same for inclusive */
    const struct cpt_clusters *clusters; /* or NULL */
    const struct cpt_clusters *inclusive_clusters;
    struct cpt_clusters_summary summary;
    struct cpt_cluster_error *errors; /* by node of tree */
    struct cpt_cluster_error *inclusive_errors;
};

/* One of the two samples. */
struct cpti_side {
    const struct cpti_diff_part *parts;
    size_t part_count;
};

/* Adds the stacks of all trees of @count @parts to @stacks, which is bare, and fills in
 * what the parts have besides their trees. CPT_OK; errors of cpti_tree_child_of(). In
 * any case the caller deinits the parts. */
cpt_status cpti_parts_map(const struct cpt_alloc *alloc, struct cpt_tree *stacks,
                          struct cpti_diff_part *parts, size_t count);
void cpti_part_deinit(struct cpti_diff_part *part, const struct cpt_alloc *alloc);

/* The statistics of a stack in both sides, if their strata were mixed by their
 * shares. */
void cpti_sides_pair(const struct cpti_side *sides, uint32_t node,
                     struct cpt_stats pair[2]);

/* The effective count of requests of a side; that of its clusters, if there are any
 * (before they were pooled); and of the clusters of equal size that have a stack. */
double cpti_side_count(const struct cpti_side *side);
double cpti_side_unit_count(const struct cpti_side *side);
double cpti_side_clusters_with(const struct cpti_side *side, uint32_t node);

#endif
