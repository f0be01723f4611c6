/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tree_shape.c - requests whose table of frames is known
 *
 * A service repeats its work, so its requests have few different tables of frames,
 * their *shapes*. The node of each frame is looked up once for each shape:
 *
 *      shape 7     frame      0     1     2     3
 *                  parent     -     0     0     2
 *                  node       12    40    41    ?      never had any time so far
 *
 * Then a request is a column of self times. Adding it computes the column of inclusive
 * times (backwards, a child adds to its parent) and adds both columns to the nodes. As
 * in tree.c, frames without time have no node, so the node of a frame may be looked up
 * later than its shape was kept.
 *
 * Shapes are a cache: the tree may forget all of them at any time, and does when there
 * are too many.
 */
#include "aggregate/tree/tree_node.h"

#include "cpt/cpt_path.h"

#include <assert.h>
#include <string.h>

/* Shapes that are kept at the same time, and frames of all of them: 32 MB. */
enum { SHAPES_MAX = 4096, FRAMES_MAX = 1 << 21 };

struct shape_frame {
    uint32_t parent; /* frame, or CPT_FRAME_NONE */
    uint32_t node;   /* 0: not found yet */
    cpt_name_id name;
    uint16_t kind;
    uint16_t near; /* scratch: cpti_node_reserve() */
};

struct shape {
    uint64_t number;
    struct shape_frame *frames; /* NULL: no shape */
    size_t frame_count;
};

struct cpti_shapes {
    struct shape slots[SHAPES_MAX]; /* number n is in slot n % SHAPES_MAX, or nowhere */
    size_t frame_count;             /* of all shapes */
    uint64_t *inclusive_ns;         /* scratch for the largest */
    size_t inclusive_capacity;
};

static void forget(struct cpt_tree *tree, struct shape *shape)
{
    tree->shapes->frame_count -= shape->frame_count;
    cpt_alloc_free(tree->alloc, shape->frames);
    *shape = (struct shape){0};
}

static void forget_all(struct cpt_tree *tree)
{
    for (size_t i = 0; i < SHAPES_MAX; i++) {
        forget(tree, &tree->shapes->slots[i]);
    }
}

void cpti_shapes_free(struct cpt_tree *tree)
{
    if (tree->shapes != NULL) {
        forget_all(tree);
        cpt_alloc_free(tree->alloc, tree->shapes->inclusive_ns);
        cpt_alloc_free(tree->alloc, tree->shapes);
        tree->shapes = NULL;
    }
}

static struct shape *find(const struct cpt_tree *tree, uint64_t number)
{
    struct shape *shape = NULL;

    if (tree->shapes == NULL) {
        return NULL;
    }
    shape = &tree->shapes->slots[number % SHAPES_MAX];
    return shape->frames != NULL && shape->number == number ? shape : NULL;
}

int cpt_tree_shape_is_kept(const struct cpt_tree *tree, uint64_t shape)
{
    return find(tree, shape) != NULL;
}

/* --- Keeping --- */

static cpt_status take_frames(struct cpt_tree *tree, const struct cpt_path *path,
                              struct shape_frame *frames)
{
    cpt_status status = CPT_OK;

    for (uint32_t i = 0; i < cpt_path_frame_count(path) && status == CPT_OK; i++) {
        const struct cpt_frame *frame = cpt_path_frame(path, i);

        frames[i] = (struct shape_frame){.parent = frame->parent, .kind = frame->kind};
        status =
            cpt_names_add(tree->names, cpt_path_frame_name(path, i), &frames[i].name);
    }
    return status;
}

/* Room for one more shape of @frame_count frames. */
static cpt_status make_room(struct cpt_tree *tree, size_t frame_count)
{
    if (tree->shapes == NULL) {
        tree->shapes = cpt_alloc_zeroed(tree->alloc, sizeof *tree->shapes);
    }
    if (tree->shapes == NULL) {
        return CPT_NO_MEMORY;
    }
    if (frame_count > FRAMES_MAX - tree->shapes->frame_count) {
        forget_all(tree);
    }
    return cpt_alloc_grow(tree->alloc, (void **)&tree->shapes->inclusive_ns,
                          &tree->shapes->inclusive_capacity, frame_count,
                          CPT_PATH_FRAMES_MAX, sizeof(uint64_t));
}

cpt_status cpt_tree_shape_keep(struct cpt_tree *tree, uint64_t shape,
                               const struct cpt_path *path)
{
    const size_t frame_count = cpt_path_frame_count(path);
    struct shape_frame *frames = NULL;
    struct shape *slot = NULL;
    cpt_status status = make_room(tree, frame_count);

    if (status != CPT_OK) {
        return status;
    }
    frames = cpt_alloc_array(tree->alloc, NULL, frame_count, sizeof *frames);
    if (frames == NULL) {
        return CPT_NO_MEMORY;
    }
    status = take_frames(tree, path, frames);
    if (status != CPT_OK) {
        cpt_alloc_free(tree->alloc, frames);
        return status;
    }
    slot = &tree->shapes->slots[shape % SHAPES_MAX];
    forget(tree, slot);
    *slot = (struct shape){shape, frames, frame_count};
    tree->shapes->frame_count += frame_count;
    return CPT_OK;
}

/* --- Adding --- */

/* The inclusive time of each frame; returns that of the request. */
static uint64_t sum_up(const struct shape *shape, const uint64_t *self_ns,
                       uint64_t *inclusive_ns)
{
    uint64_t sum_ns = 0;

    if (shape->frame_count == 0) {
        return 0;
    }
    memcpy(inclusive_ns, self_ns, shape->frame_count * sizeof *inclusive_ns);
    for (size_t i = shape->frame_count; i-- > 0;) {
        const uint32_t parent = shape->frames[i].parent;

        *(parent != CPT_FRAME_NONE ? &inclusive_ns[parent] : &sum_ns) +=
            inclusive_ns[i];
    }
    return sum_ns;
}

/* The node of each frame that has time, with room for the request. */
static cpt_status find_nodes(struct cpt_tree *tree, struct shape *shape,
                             cpt_weight weight)
{
    const uint64_t *inclusive_ns = tree->shapes->inclusive_ns;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < shape->frame_count && status == CPT_OK; i++) {
        struct shape_frame *frame = &shape->frames[i];

        if (inclusive_ns[i] == 0) {
            continue;
        }
        if (frame->node == 0) {
            status = cpti_tree_child_of(tree,
                                        frame->parent == CPT_FRAME_NONE
                                            ? CPT_TREE_ROOT
                                            : shape->frames[frame->parent].node,
                                        frame->name, frame->kind, &frame->node);
        }
        if (status == CPT_OK) {
            status = cpti_node_reserve(tree, frame->node, weight, inclusive_ns[i],
                                       &frame->near);
        }
    }
    return status;
}

/* Removes the nodes that were added for a refused request. */
static void forget_nodes(struct cpt_tree *tree, struct shape *shape, size_t node_count)
{
    for (size_t i = 0; i < shape->frame_count; i++) {
        if (shape->frames[i].node >= node_count) {
            shape->frames[i].node = 0;
        }
    }
    cpti_tree_forget(tree, node_count);
}

/* The part of adding that cannot fail: each node is fetched some nodes before it is
 * added to. */
static void add_frames(struct cpt_tree *tree, const struct shape *shape,
                       const uint64_t *self_ns, const uint64_t *inclusive_ns)
{
    for (size_t i = 0; i < shape->frame_count + CPTI_NODES_AHEAD; i++) {
        const size_t added = i - CPTI_NODES_AHEAD; /* from there on */

        if (i < shape->frame_count && inclusive_ns[i] != 0) {
            cpti_node_fetch(tree, shape->frames[i].node, inclusive_ns[i],
                            &shape->frames[i].near);
        }
        if (i >= CPTI_NODES_AHEAD && inclusive_ns[added] != 0) {
            cpti_node_add(tree, shape->frames[added].node, self_ns[added],
                          inclusive_ns[added], shape->frames[added].near);
        }
    }
}

cpt_status cpt_tree_shape_add(struct cpt_tree *tree, uint64_t shape,
                              const uint64_t *self_ns, cpt_weight weight)
{
    const size_t node_count = tree->node_count;
    struct shape *known = find(tree, shape);
    uint64_t *inclusive_ns = NULL;
    uint64_t sum_ns = 0;
    uint16_t root_near = 0;
    cpt_status status = CPT_OK;

    assert(known != NULL);
    if (weight < CPT_WEIGHT_ONE || weight > CPT_WEIGHT_MAX) {
        return CPT_INVALID;
    }
    inclusive_ns = tree->shapes->inclusive_ns;
    sum_ns = sum_up(known, self_ns, inclusive_ns);
    if (sum_ns > CPT_TREE_TIME_MAX || tree->request_count >= CPT_TREE_REQUESTS_MAX) {
        return CPT_LIMIT;
    }
    status = cpti_node_reserve(tree, CPT_TREE_ROOT, weight, sum_ns, &root_near);
    if (status == CPT_OK) {
        status = find_nodes(tree, known, weight);
    }
    if (status != CPT_OK) {
        forget_nodes(tree, known, node_count);
        return status;
    }
    cpti_tree_count(tree, weight, 1);
    cpti_node_add(tree, CPT_TREE_ROOT, 0, sum_ns, root_near);
    add_frames(tree, known, self_ns, inclusive_ns);
    return CPT_OK;
}
