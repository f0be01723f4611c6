/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_tree.h - the critical paths of all requests as one tree, before and after
 *
 *      A: / 12 -> 9                     mean times, what is below them included
 *       +- A: A1 2 -> 2
 *       '- B: /b 7 -> 4
 *
 * Threads: any, each with a tree of its own.
 */
#ifndef CPTI_CLI_WHATIF_TREE_H
#define CPTI_CLI_WHATIF_TREE_H

#include "tool/whatif/whatif_set.h"
#include "cpt/cpt_path.h"

enum { CPTI_WHATIF_BEFORE, CPTI_WHATIF_AFTER, CPTI_WHATIF_SIDES };

/* Mean times of a frame in the average request. */
struct cpti_whatif_branch {
    double self_ns[CPTI_WHATIF_SIDES];
    double total_ns[CPTI_WHATIF_SIDES]; /* after cpti_whatif_tree_sum() */
};

struct cpti_whatif_tree {
    struct cpt_path *frames; /* without segments; parents before their children */
    struct cpti_whatif_branch *branches;
    size_t count, capacity;
    struct cpt_path *path; /* scratch: of a request … */
    uint32_t *map;         /* … and which frames of the tree its frames are */
    size_t map_capacity;
};

/* False: no memory. The caller deinits it in each case. */
bool cpti_whatif_tree_init(struct cpti_whatif_tree *tree);
void cpti_whatif_tree_deinit(struct cpti_whatif_tree *tree);

/* Adds the path of @request as replayed by @plan, times @share, as one of @side.
 * CPT_OK, CPT_NO_MEMORY, CPT_LIMIT. */
cpt_status cpti_whatif_tree_add(struct cpti_whatif_tree *tree,
                                const struct cpti_whatif_set *set,
                                struct cpt_whatif_plan *plan, size_t request,
                                double share, unsigned side);

/* Adds @from to @tree, which is empty. CPT_OK, CPT_NO_MEMORY, CPT_LIMIT. */
cpt_status cpti_whatif_tree_copy(struct cpti_whatif_tree *tree,
                                 const struct cpti_whatif_tree *from);

/* Sums what is below each frame. */
void cpti_whatif_tree_sum(struct cpti_whatif_tree *tree);

#endif
