/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tree_node.h - what a tree is made of, for the files of this folder
 *
 * A node keeps sums over its requests. While these have one weight w, as in most logs,
 * all sums follow from sums without w (Σwx = w Σx, Σw²x² = w² Σx²), which are a fifth
 * as large and quick to add to: the *batch* of the node. When a request of another
 * weight is added, or a sum could overflow, the batch is *retired*: multiplied out and
 * added to the wide sums of the node, which are allocated only then (tree_sums.c).
 *
 * Invariants, between calls of public functions:
 *   - stacks[n] and nodes[n] are node n; 0 is the root; a parent stands before its
 *     children; no two nodes have the same parent, name and kind; every node except the
 *     root has requests. The tree of a diff is bare: it has no requests, and nodes is
 *     NULL
 *   - inclusive.wx = self.wx + Σ inclusive.wx of the children, and the same for wwx and
 *     wwwx; squares and cubes do not add up like this, so they are kept for both
 *   - present_weight = Σ of the histogram's weights
 *   - min_ns and max_ns lie in the first and the last bucket of the histogram
 *   - all requests of a plain histogram have the weight batch.weight
 *   - sums of a node's gain: drags <= times <= self times, each of its sums; nodes from
 *     gain_capacity on have none
 *   - in a tree that lacks third moments, sums with a cube, wwwx, wwwxx and
 *     present_squared mean nothing
 *
 * Threads: one at a time.
 */
#ifndef TREE_NODE_H
#define TREE_NODE_H

#include "aggregate/cpt_tree.h"
#include "aggregate/tree/histogram.h"
#include "aggregate/tree/wide.h"
#include "cpt/base/hash_index.h"

/* Sums over all requests; w is the weight, x the time in a request, in ns. */
struct cpti_node_sums {
    struct cpti_wide wx;
    struct cpti_wide wwx;
    struct cpti_wide wwxx;
    struct cpti_wide wwwx;
    struct cpti_wider wwwxx;
    struct cpti_wider wwwxxx;
};

/* What a node has besides its batch. */
struct cpti_retired {
    struct cpti_node_sums self;
    struct cpti_node_sums inclusive;
    struct cpti_wide squared; /* Σw² of the requests with inclusive time */
    cpti_u128 weight;         /* Σw of these requests */
    uint64_t count;           /* and their count */
};

/* A request with a longer time goes to the wide sums at once: its cube has more than
 * 126 bits. That is 73 minutes. */
#define CPTI_BATCH_TIME_MAX (((uint64_t)1 << 42) - 1)

/* Requests of one weight: Σx, Σx² and Σx³ of their times. */
struct cpti_batch {
    cpti_u128 self_squares;
    cpti_u128 inclusive_squares;
    cpti_u128 self_cubes;
    cpti_u128 inclusive_cubes;
    uint64_t self_ns;
    uint64_t inclusive_ns;
    uint64_t count;
    cpt_weight weight; /* 0: nothing was added yet */
};

/* The times of a node. */
struct cpti_node {
    struct cpti_batch batch;
    struct cpti_histogram histogram; /* of the inclusive times */
    uint64_t min_ns;                 /* UINT64_MAX without requests */
    uint64_t max_ns;
};

/* Where it stands. This is an array of its own: it is searched for each new frame, and
 * the stacks of a diff are nothing but this. */
struct cpti_stack {
    uint32_t parent;
    cpt_name_id name;
    uint32_t retired; /* its wide sums: in tree->retired; 0: none */
    uint16_t kind;
    uint16_t depth;
};

/* The batch and the wide sums of a node together. */
struct cpti_totals {
    struct cpti_node_sums self;
    struct cpti_node_sums inclusive;
    struct cpti_wide present_squared; /* Σw² of the requests with inclusive time */
    cpti_u128 present_weight;         /* Σw of these */
    uint64_t present_count;
    uint64_t min_ns; /* 0 without requests */
    uint64_t max_ns;
};

/* A note, or a count if value is NULL; key and value lie behind it in one block. */
struct cpti_tree_note {
    char *key;
    char *value;
    uint64_t count;
};

/* Notes sorted by key, then value, a count before the notes of its key. */
struct cpti_notes {
    struct cpti_tree_note *entries;
    size_t count;
    size_t capacity;
};

/* A frame of the path that is added: its times, and what they are added to. */
struct cpti_frame_sum {
    uint64_t self_ns;
    uint64_t inclusive_ns;
    uint32_t node;   /* of the tree; in a view, the group */
    uint16_t near;   /* its bucket there: cpti_node_reserve() */
    bool is_topmost; /* in a view: of its group on its stack */
};

/* Sums over the requests with drags; x is a drag or a self time. */
struct cpti_gain_sums {
    struct cpti_wide wx;
    struct cpti_wide wwx;
    struct cpti_wide wwxx;
};

/* What the drags of a node are known of (tree_gain.c). */
struct cpti_gain {
    struct cpti_gain_sums time;
    struct cpti_gain_sums drag;
    uint64_t present_count; /* requests with drags that had self time on the node */
    uint64_t known_count;   /* of these, those with a drag of the node */
};

struct cpt_tree {
    const struct cpt_alloc *alloc;
    size_t nodes_max;
    struct cpt_names *names;
    struct cpti_stack *stacks;
    struct cpti_node *nodes;
    size_t node_count;
    size_t stack_capacity;
    size_t node_capacity;
    struct cpti_hash_index index; /* by (parent, name, kind); the root is not in it */
    struct cpti_retired *retired; /* number 0 is not used */
    size_t retired_count;
    size_t retired_capacity;
    uint32_t retired_free;      /* list of the unused, linked by their count; 0: none */
    struct cpti_shapes *shapes; /* private to tree_shape.c; NULL: none */
    struct cpti_notes notes;
    cpti_u128 weight;                /* Σw of all requests */
    struct cpti_wide weight_squared; /* Σw² */
    struct cpti_wide weight_cubed;   /* Σw³ */
    uint64_t request_count;
    cpt_weight weight_min;
    cpt_weight weight_max;
    uint64_t time_first_ns;
    uint64_t time_last_ns;
    struct cpti_frame_sum *frames;
    size_t frame_capacity;
    struct cpti_gain *gains; /* of the first gain_capacity nodes; NULL: no drags */
    size_t gain_capacity;
    uint64_t *drags; /* scratch: of each frame of the path that is added */
    size_t drag_capacity;
    struct cpti_wide gain_weight_squared; /* Σw² of the requests with drags */
    cpti_u128 gain_weight;                /* and their Σw */
    uint64_t gain_count;
    bool has_drags;   /* scratch: whether that path has drags */
    bool lacks_cubes; /* it has requests whose third moments are unknown */
    bool is_bare;
};

/* Sets @frames to the times of the frames of @path, and the rest to 0 (tree.c). */
void cpti_frames_sum(struct cpti_frame_sum *frames, const struct cpt_path *path);

/* --- The nodes (tree_nodes.c) --- */

/* An empty tree that stays bare. NULL if memory is missing. */
struct cpt_tree *cpti_tree_new_bare(const struct cpt_alloc *alloc);

/* The times of a node, also of a bare tree. */
const struct cpti_node *cpti_node_at(const struct cpt_tree *tree, uint32_t index);

/* The child of @parent with @name, a name of the tree, and @kind, which is added if it
 * is new. CPT_OK; CPT_LIMIT at nodes_max or CPT_TREE_DEPTH_MAX; CPT_NO_MEMORY. */
cpt_status cpti_tree_child_of(struct cpt_tree *tree, uint32_t parent, cpt_name_id name,
                              unsigned kind, uint32_t *child);

/* The same for any name. Inline, as it is called for each frame of each request. */
static inline cpt_status cpti_tree_child(struct cpt_tree *tree, uint32_t parent,
                                         struct cpt_bytes name, unsigned kind,
                                         uint32_t *child)
{
    cpt_name_id id = 0;
    const cpt_status status = cpt_names_add(tree->names, name, &id);

    return status == CPT_OK ? cpti_tree_child_of(tree, parent, id, kind, child)
                            : status;
}

/* Adds the stacks of @from; map[n] becomes the node of @tree for its node n. CPT_OK;
 * errors of cpti_tree_child_of(), after which some nodes were added. */
cpt_status cpti_tree_add_stacks(struct cpt_tree *tree, const struct cpt_tree *from,
                                uint32_t *map);

/* Removes the nodes from number @node_count on, which were added last. */
void cpti_tree_forget(struct cpt_tree *tree, size_t node_count);

/* --- Orders (tree_text.c, tree_walk.c) --- */

/* Order of two siblings: bytes of the name, then kind. */
int cpti_sibling_compare(const struct cpt_tree *left_tree, uint32_t left,
                         const struct cpt_tree *right_tree, uint32_t right);

/* Writes the numbers of all nodes to @order, depth first and siblings in the order @by.
 * CPT_OK or CPT_NO_MEMORY. */
cpt_status cpti_tree_order(const struct cpt_alloc *alloc, const struct cpt_tree *tree,
                           enum cpt_tree_order by, uint32_t *order);

/* --- Sums, of the tree as a whole and of a node (tree_sums.c) --- */

/* Counts @count requests that weigh @weight each. */
void cpti_tree_count(struct cpt_tree *tree, cpt_weight weight, uint64_t count);

/* Reserves memory, so that cpti_node_add() of a request with @weight and @inclusive_ns
 * cannot fail; *@near is the position of its bucket, roughly. The totals of the node
 * stay the same. CPT_OK or CPT_NO_MEMORY. */
cpt_status cpti_node_reserve(struct cpt_tree *tree, uint32_t index, cpt_weight weight,
                             uint64_t inclusive_ns, uint16_t *near);

/* Fetches what cpti_node_add() will read, CPTI_NODES_AHEAD nodes before it: *@near, a
 * guess of cpti_node_reserve(), becomes a better one. */
enum { CPTI_NODES_AHEAD = 8 };
static inline void cpti_node_fetch(const struct cpt_tree *tree, uint32_t index,
                                   uint64_t inclusive_ns, uint16_t *near)
{
    *near = (uint16_t)cpti_histogram_closer(&tree->nodes[index].histogram,
                                            cpti_histogram_index(inclusive_ns), *near);
}

void cpti_node_add(struct cpt_tree *tree, uint32_t index, uint64_t self_ns,
                   uint64_t inclusive_ns, uint32_t near);

/* The same for a batch, whose times lie in the one bucket of @low_ns and @high_ns. */
cpt_status cpti_node_reserve_batch(struct cpt_tree *tree, uint32_t index,
                                   const struct cpti_batch *batch);
void cpti_node_add_batch(struct cpti_node *node, const struct cpti_batch *batch,
                         uint64_t low_ns, uint64_t high_ns);

/* The same for wide sums; the caller adds to the histogram. */
cpt_status cpti_node_reserve_wide(struct cpt_tree *tree, uint32_t index);
void cpti_node_add_wide(struct cpt_tree *tree, uint32_t index,
                        const struct cpti_totals *totals);

/* The same for all requests of node @from of @other. */
cpt_status cpti_node_reserve_merge(struct cpt_tree *tree, uint32_t index,
                                   const struct cpt_tree *other, uint32_t from);
void cpti_node_merge(struct cpt_tree *tree, uint32_t index,
                     const struct cpt_tree *other, uint32_t from);

/* Frees the histogram and the wide sums of a node. */
void cpti_node_deinit(struct cpt_tree *tree, uint32_t index);

/* The totals of a node, those with w³ only if @has_cubes; and some totals alone. */
struct cpti_totals cpti_node_totals(const struct cpt_tree *tree, uint32_t index,
                                    bool has_cubes);
struct cpti_wide cpti_node_self_wx(const struct cpt_tree *tree, uint32_t index);
struct cpti_wide cpti_node_inclusive_wx(const struct cpt_tree *tree, uint32_t index);
cpti_u128 cpti_node_weight(const struct cpt_tree *tree, uint32_t index);
uint64_t cpti_node_count(const struct cpt_tree *tree, uint32_t index);

/* Σx³ of the self and the inclusive times of a node; all requests of the tree have one
 * weight. */
void cpti_node_cubes(const struct cpt_tree *tree, uint32_t index,
                     struct cpti_wide *self, struct cpti_wide *inclusive);

/* Sets the sums with w³ of requests that all weigh @weight, from their other sums and
 * @cubes, Σx³. */
void cpti_sums_cube(struct cpti_node_sums *sums, const struct cpti_wide *cubes,
                    cpt_weight weight);

/* --- Gains (tree_gain.c) --- */

/* Takes the drags of the frames of @path, if it has any, for cpti_gain_add(). CPT_OK or
 * CPT_NO_MEMORY. */
cpt_status cpti_gains_take(struct cpt_tree *tree, const struct cpt_path *path);

/* Memory for the gains of all nodes. CPT_OK or CPT_NO_MEMORY. */
cpt_status cpti_gains_reserve(struct cpt_tree *tree);

/* Counts a request with drags. */
void cpti_gains_count(struct cpt_tree *tree, cpt_weight weight);

/* Adds it to a node; @drag_ns is the largest of its segments there. */
void cpti_gain_add(struct cpt_tree *tree, uint32_t node, cpt_weight weight,
                   uint64_t self_ns, uint64_t drag_ns);

/* Adds the requests with drags of @from, whose node n is node map[n] of @tree, for all
 * of which there is memory. */
void cpti_gains_merge(struct cpt_tree *tree, const struct cpt_tree *from,
                      const uint32_t *map);

/* The gain of a node; zero if it has none. */
struct cpti_gain cpti_gain_at(const struct cpt_tree *tree, uint32_t node);

/* Whether a gain that was read is possible for its node, whose sums are known; and the
 * weights of the requests with drags, for the tree. */
bool cpti_gain_fits(const struct cpt_tree *tree, uint32_t node,
                    const struct cpti_gain *gain);
bool cpti_gain_weights_fit(const struct cpt_tree *tree);

/* --- Shapes (tree_shape.c) --- */

void cpti_shapes_free(struct cpt_tree *tree);

/* --- Notes (tree_notes.c) --- */

/* Overwrites @result with the union of two sets; counts are added. Errors of
 * cpt_tree_note(); after one @result is empty. */
cpt_status cpti_notes_union(const struct cpt_alloc *alloc, struct cpti_notes *result,
                            const struct cpti_notes *left,
                            const struct cpti_notes *right);
void cpti_notes_deinit(struct cpti_notes *notes, const struct cpt_alloc *alloc);

#endif
