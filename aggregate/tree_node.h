/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tree_node.h - what a tree is made of, for the files of this folder
 *
 * Invariants, between calls of public functions:
 *   - nodes[0] is the root; a parent stands before its children; no two nodes have the
 *     same parent, name and kind; every node but the root has present_count > 0
 *     (except in the tree of a diff, which has no requests at all)
 *   - inclusive.wx = self.wx + Σ inclusive.wx of the children, and so for wwx, but not
 *     for wwxx: squares do not add up, so they are kept for both
 *   - present_weight = Σ of the histogram's weights
 *   - min_ns and max_ns lie in the first and the last bucket of the histogram
 *
 * Threads: one at a time.
 */
#ifndef TREE_NODE_H
#define TREE_NODE_H

#include "aggregate/cpt_tree.h"
#include "aggregate/histogram.h"
#include "aggregate/wide.h"

/* Sums over all requests; w is the weight, x the time in a request, in ns. */
struct cpti_sums {
    struct cpti_wide wx;
    struct cpti_wide wwx;
    struct cpti_wide wwxx;
};

struct cpti_node {
    struct cpti_sums self;
    struct cpti_sums inclusive;
    cpti_u128 present_weight;        /* Σw of the requests with inclusive time */
    struct cpti_histogram histogram; /* of the inclusive times of those */
    uint64_t present_count;
    uint64_t min_ns;
    uint64_t max_ns;
    uint32_t parent;
    cpt_name_id name;
    uint16_t kind;
    uint16_t depth;
};

/* A note, or a count if value is NULL; key and value lie behind it in one block. */
struct cpti_note {
    char *key;
    char *value;
    uint64_t count;
};

/* Notes sorted by key, then value, a count before the notes of its key. */
struct cpti_notes {
    struct cpti_note *entries;
    size_t count;
    size_t capacity;
};

/* Scratch of cpt_tree_add(): one frame of the path. */
struct cpti_frame_sum {
    uint64_t self_ns;
    uint64_t inclusive_ns;
    uint32_t node;
};

struct cpt_tree {
    const struct cpt_alloc *alloc;
    size_t nodes_max;
    struct cpt_names *names;
    struct cpti_node *nodes;
    size_t node_count;
    size_t node_capacity;
    uint32_t *slots; /* hash of (parent, name, kind) -> node; 0, the root, is free */
    size_t slot_count;
    struct cpti_notes notes;
    cpti_u128 weight;                /* Σw of all requests */
    struct cpti_wide weight_squared; /* Σw² */
    uint64_t request_count;
    cpt_weight weight_min;
    cpt_weight weight_max;
    uint64_t time_first_ns;
    uint64_t time_last_ns;
    struct cpti_frame_sum *frames;
    size_t frame_capacity;
};

/* The child of @parent with @name and @kind, which is added if it is new. CPT_OK;
 * CPT_LIMIT at nodes_max or CPT_TREE_DEPTH_MAX; CPT_NO_MEMORY. */
cpt_status cpti_tree_child(struct cpt_tree *tree, uint32_t parent,
                           struct cpt_bytes name, unsigned kind, uint32_t *child);

/* Removes the nodes from @node_count on: those that were added last. */
void cpti_tree_forget(struct cpt_tree *tree, size_t node_count);

/* Order of two siblings: bytes of the name, then kind. */
int cpti_sibling_compare(const struct cpt_tree *left_tree, uint32_t left,
                         const struct cpt_tree *right_tree, uint32_t right);

void cpti_sums_add(struct cpti_sums *sums, const struct cpti_sums *more);

/* The union of two sets in a third, which is overwritten; counts are added. Errors as
 * of cpt_tree_note(); after one @result is empty. */
cpt_status cpti_notes_union(const struct cpt_alloc *alloc, struct cpti_notes *result,
                            const struct cpti_notes *left,
                            const struct cpti_notes *right);
void cpti_notes_deinit(struct cpti_notes *notes, const struct cpt_alloc *alloc);

#endif
