/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tree_branch.h - the sums of the nodes from the root to the one that was read last
 *
 * Private to the reader of trees (tree_bytes.c). Threads: one at a time.
 */
#ifndef TREE_BRANCH_H
#define TREE_BRANCH_H

#include "aggregate/tree/tree_node.h"

/* A node of the branch: nodes below it may still follow. */
struct cpti_branch_node {
    struct cpti_totals totals;   /* inclusive: of what is in no batch */
    struct cpti_batch batch;     /* inclusive: of the other nodes, this one included */
    bool is_batch;               /* this node, and all below it that have ended */
    uint32_t node;               /* its number in the tree */
    struct cpti_wide self_cubes; /* Σx³; 0 if weights differ or the tree lacks them */
    struct cpti_wide inclusive_cubes;
};

struct cpti_branch {
    struct cpti_branch_node nodes[CPT_TREE_DEPTH_MAX + 1];
    uint64_t depth;         /* of the last */
    uint32_t contradictory; /* the lowest number of a node that contradicts those below
                               it; or CPT_TREE_NONE */
};

/* Whether the extremes of a node lie in its first and last bucket. */
bool cpti_extremes_fit(const struct cpti_histogram *histogram,
                       const struct cpti_totals *totals, bool is_root);

/*
 * Prepares the sums of @last, whose node and totals are set but for the inclusive wx,
 * wwx and wwwx. If all weights are equal, its cubes stand for the sums with w³. Returns
 * whether the sums are within the bounds of the extremes; these bounds keep all further
 * sums from overflowing.
 */
bool cpti_branch_node_init(const struct cpt_tree *tree, struct cpti_branch_node *last);

/*
 * Ends the last node of the branch: adds its sums to those of the node above, checks
 * that its time is what its extremes allow and part of the time above, and stores it in
 * the tree. CPT_OK or CPT_NO_MEMORY.
 */
cpt_status cpti_branch_end(struct cpt_tree *tree, struct cpti_branch *branch);

#endif
