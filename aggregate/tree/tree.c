/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tree.c - requests become sums at the nodes of a prefix tree
 *
 * A path has its own small table of frames, parents before children and without
 * duplicates. So each frame is one node of the tree, and one pass over the table finds
 * or adds all nodes (tree_nodes.c):
 *
 *      segments --> self time of each frame       forwards
 *               --> inclusive time of each frame  backwards: a child adds to its parent
 *               --> node of each frame with time  forwards: below its parent's node
 *               --> sums of each node
 *
 * A node gets x, x² and x³ of the whole request, not of its segments: the statistics
 * are over requests. That is why inclusive squares and cubes are added here, where the
 * request is still in one piece; no later pass could compute them from the nodes below.
 *
 * Everything that can fail happens before the first sum changes. Then nodes that were
 * added for the request are removed again, so a refused request leaves no trace.
 *
 * Cost: for each frame of the path one look-up of its name and one of its node, which
 * tree_shape.c saves for tables of frames that occur again; for each node about ten
 * additions of words and a binary search in its histogram (tree_sums.c). Paths with
 * drags also add to the gains of their nodes (tree_gain.c).
 */
#include "aggregate/tree/tree_node.h"

#include "aggregate/cpt_gain.h"
#include "cpt/cpt_path.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { NODES_MAX_DEFAULT = 1 << 22 };

cpt_weight cpt_weight_of_probability(double probability)
{
    const double lowest = (double)CPT_WEIGHT_ONE / (double)CPT_WEIGHT_MAX;

    if (!(probability >= lowest && probability <= 1.0)) {
        return 0; /* NaN too */
    }
    return (cpt_weight)round((double)CPT_WEIGHT_ONE / probability);
}

/* --- Making and freeing --- */

static size_t read_nodes_max(const struct cpt_tree_options *options)
{
    struct cpt_tree_options own;

    if (cpt_options_read(&own, sizeof own, options, NULL) != CPT_OK ||
        own.nodes_max > CPT_TREE_NODES_MAX) {
        return 0;
    }
    return own.nodes_max != 0 ? own.nodes_max : NODES_MAX_DEFAULT;
}

static cpt_status init_root(struct cpt_tree *tree)
{
    cpt_name_id empty = 0;

    tree->names = cpt_names_new(tree->alloc);
    tree->stacks = cpt_alloc_zeroed(tree->alloc, sizeof *tree->stacks);
    if (tree->names == NULL || tree->stacks == NULL) {
        return CPT_NO_MEMORY;
    }
    tree->stack_capacity = 1;
    tree->stacks[0].parent = CPT_TREE_NONE;
    if (!tree->is_bare) {
        tree->nodes = cpt_alloc_zeroed(tree->alloc, sizeof *tree->nodes);
        if (tree->nodes == NULL) {
            return CPT_NO_MEMORY;
        }
        tree->node_capacity = 1;
        tree->nodes[0].min_ns = UINT64_MAX;
    }
    tree->node_count = 1;
    return cpt_names_add(tree->names, cpt_bytes_of(""), &empty);
}

static struct cpt_tree *tree_new(const struct cpt_alloc *alloc, size_t nodes_max,
                                 bool is_bare)
{
    struct cpt_tree *tree = cpt_alloc_zeroed(alloc, sizeof *tree);

    if (tree == NULL) {
        return NULL;
    }
    tree->alloc = alloc;
    tree->nodes_max = nodes_max;
    tree->is_bare = is_bare;
    if (init_root(tree) != CPT_OK) {
        cpt_tree_free(tree);
        return NULL;
    }
    return tree;
}

struct cpt_tree *cpt_tree_new(const struct cpt_alloc *alloc,
                              const struct cpt_tree_options *options)
{
    const size_t nodes_max = read_nodes_max(options);

    return nodes_max == 0 ? NULL : tree_new(alloc, nodes_max, false);
}

struct cpt_tree *cpti_tree_new_bare(const struct cpt_alloc *alloc)
{
    return tree_new(alloc, CPT_TREE_NODES_MAX, true);
}

void cpt_tree_free(struct cpt_tree *tree)
{
    if (tree == NULL) {
        return;
    }
    for (uint32_t i = 0; i < tree->node_count; i++) {
        cpti_node_deinit(tree, i);
    }
    cpti_shapes_free(tree);
    cpt_tree_forget_drags(tree);
    cpt_alloc_free(tree->alloc, tree->drags);
    cpti_notes_deinit(&tree->notes, tree->alloc);
    cpt_names_free(tree->names);
    cpt_alloc_free(tree->alloc, tree->stacks);
    cpt_alloc_free(tree->alloc, tree->nodes);
    cpt_alloc_free(tree->alloc, tree->retired);
    cpt_alloc_free(tree->alloc, tree->index.slots);
    cpt_alloc_free(tree->alloc, tree->frames);
    cpt_alloc_free(tree->alloc, tree);
}

/* --- Adding a request --- */

void cpti_frames_sum(struct cpti_frame_sum *frames, const struct cpt_path *path)
{
    const size_t frame_count = cpt_path_frame_count(path);

    memset(frames, 0, frame_count * sizeof *frames);
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        frames[segment->frame].self_ns += segment->duration_ns;
    }
    for (size_t i = frame_count; i-- > 0;) {
        const uint32_t parent = cpt_path_frame(path, (uint32_t)i)->parent;

        frames[i].inclusive_ns += frames[i].self_ns;
        if (parent != CPT_FRAME_NONE) {
            frames[parent].inclusive_ns += frames[i].inclusive_ns;
        }
    }
}

/* The node of each frame that has time, with room for the request. */
static cpt_status find_nodes(struct cpt_tree *tree, const struct cpt_path *path,
                             cpt_weight weight)
{
    const size_t frame_count = cpt_path_frame_count(path);
    cpt_status status = CPT_OK;

    for (uint32_t i = 0; i < frame_count && status == CPT_OK; i++) {
        const struct cpt_frame *frame = cpt_path_frame(path, i);
        const uint32_t parent = frame->parent == CPT_FRAME_NONE
                                    ? CPT_TREE_ROOT
                                    : tree->frames[frame->parent].node;

        if (tree->frames[i].inclusive_ns == 0) {
            continue;
        }
        status = cpti_tree_child(tree, parent, cpt_path_frame_name(path, i),
                                 frame->kind, &tree->frames[i].node);
        if (status == CPT_OK) {
            status =
                cpti_node_reserve(tree, tree->frames[i].node, weight,
                                  tree->frames[i].inclusive_ns, &tree->frames[i].near);
        }
    }
    return status;
}

/* The part of adding that cannot fail. */
static void add_request(struct cpt_tree *tree, const struct cpt_path *path,
                        cpt_weight weight, uint32_t root_near)
{
    const size_t frame_count = cpt_path_frame_count(path);

    cpti_tree_count(tree, weight, 1);
    cpti_node_add(tree, CPT_TREE_ROOT, 0, cpt_path_sum_ns(path), root_near);
    for (size_t i = 0; i < frame_count + CPTI_NODES_AHEAD; i++) {
        const size_t added = i - CPTI_NODES_AHEAD; /* from there on */

        if (i < frame_count && tree->frames[i].inclusive_ns != 0) {
            struct cpti_frame_sum *frame = &tree->frames[i];

            cpti_node_fetch(tree, frame->node, frame->inclusive_ns, &frame->near);
        }
        if (i >= CPTI_NODES_AHEAD && tree->frames[added].inclusive_ns != 0) {
            const struct cpti_frame_sum *frame = &tree->frames[added];

            cpti_node_add(tree, frame->node, frame->self_ns, frame->inclusive_ns,
                          frame->near);
        }
    }
}

/* The same for its drags. */
static void add_drags(struct cpt_tree *tree, size_t frame_count, cpt_weight weight)
{
    cpti_gains_count(tree, weight);
    for (size_t i = 0; i < frame_count; i++) {
        const struct cpti_frame_sum *frame = &tree->frames[i];

        if (frame->self_ns != 0) {
            cpti_gain_add(tree, frame->node, weight, frame->self_ns, tree->drags[i]);
        }
    }
}

/* Takes the drags of @path, and makes room for them. */
static cpt_status prepare_drags(struct cpt_tree *tree, const struct cpt_path *path)
{
    const cpt_status status = cpti_gains_take(tree, path);

    return status == CPT_OK && tree->has_drags ? cpti_gains_reserve(tree) : status;
}

cpt_status cpt_tree_add(struct cpt_tree *tree, const struct cpt_path *path,
                        cpt_weight weight)
{
    const size_t node_count = tree->node_count;
    const size_t frame_count = cpt_path_frame_count(path);
    uint16_t root_near = 0;
    cpt_status status = CPT_OK;

    if (weight < CPT_WEIGHT_ONE || weight > CPT_WEIGHT_MAX) {
        return CPT_INVALID;
    }
    if (cpt_path_sum_ns(path) > CPT_TREE_TIME_MAX ||
        tree->request_count >= CPT_TREE_REQUESTS_MAX) {
        return CPT_LIMIT;
    }
    status = cpt_alloc_grow(tree->alloc, (void **)&tree->frames, &tree->frame_capacity,
                            frame_count, CPT_PATH_FRAMES_MAX, sizeof *tree->frames);
    if (status == CPT_OK) {
        status = cpti_node_reserve(tree, CPT_TREE_ROOT, weight, cpt_path_sum_ns(path),
                                   &root_near);
    }
    if (status == CPT_OK && frame_count != 0) {
        cpti_frames_sum(tree->frames, path);
        status = find_nodes(tree, path, weight);
    }
    if (status == CPT_OK) {
        status = prepare_drags(tree, path);
    }
    if (status != CPT_OK) {
        cpti_tree_forget(tree, node_count);
        return status;
    }
    add_request(tree, path, weight, root_near);
    if (tree->has_drags) {
        add_drags(tree, frame_count, weight);
    }
    return CPT_OK;
}

void cpt_tree_time_add(struct cpt_tree *tree, uint64_t unix_ns)
{
    if (tree->time_first_ns == 0 || unix_ns < tree->time_first_ns) {
        tree->time_first_ns = unix_ns;
    }
    if (unix_ns > tree->time_last_ns) {
        tree->time_last_ns = unix_ns;
    }
}

/* --- Contents --- */

uint64_t cpt_tree_request_count(const struct cpt_tree *tree)
{
    return tree->request_count;
}

cpt_weight cpt_tree_weight_min(const struct cpt_tree *tree)
{
    return tree->weight_min;
}

cpt_weight cpt_tree_weight_max(const struct cpt_tree *tree)
{
    return tree->weight_max;
}

double cpt_tree_weight(const struct cpt_tree *tree)
{
    return cpti_u128_double(tree->weight) / (double)CPT_WEIGHT_ONE;
}

uint64_t cpt_tree_time_first_ns(const struct cpt_tree *tree)
{
    return tree->time_first_ns;
}

uint64_t cpt_tree_time_last_ns(const struct cpt_tree *tree)
{
    return tree->time_last_ns;
}

uint32_t cpt_tree_node_count(const struct cpt_tree *tree)
{
    return (uint32_t)tree->node_count;
}

uint32_t cpt_tree_parent(const struct cpt_tree *tree, uint32_t node)
{
    assert(node < tree->node_count);
    return tree->stacks[node].parent;
}

struct cpt_bytes cpt_tree_name(const struct cpt_tree *tree, uint32_t node)
{
    assert(node < tree->node_count);
    return cpt_names_at(tree->names, tree->stacks[node].name);
}

unsigned cpt_tree_kind(const struct cpt_tree *tree, uint32_t node)
{
    assert(node < tree->node_count);
    return tree->stacks[node].kind;
}

unsigned cpt_tree_depth(const struct cpt_tree *tree, uint32_t node)
{
    assert(node < tree->node_count);
    return tree->stacks[node].depth;
}
