/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tree_gain.c - the drags of requests become sums at the nodes of a tree
 *
 * A request with drags has, for each node with self time x, the largest drag d of the
 * node's own segments:
 *
 *      segments of a node    3 ms, drag 1      4 ms, drag 2      5 ms, not known
 *      in this request       x = 12 ms         d = 2 ms
 *
 * The sums of d and of x are kept beside those of all requests, in an array that a tree
 * without drags does not have. They are wide from the start: whole numbers, which add
 * up to the same in any order.
 *
 * As d <= x in each request, each sum of drags is at most the same sum of times, and
 * this at most that of the node's self times: where those fit, these fit.
 */
#include "aggregate/tree/tree_node.h"

#include "aggregate/cpt_gain.h"
#include "cpt/cpt_path.h"

#include <assert.h>
#include <string.h>

/* --- One request --- */

cpt_status cpti_gains_take(struct cpt_tree *tree, const struct cpt_path *path)
{
    const size_t frame_count = cpt_path_frame_count(path);
    cpt_status status = CPT_OK;

    tree->has_drags = false;
    if (!cpt_path_has_drags(path)) {
        return CPT_OK;
    }
    status = cpt_alloc_grow(tree->alloc, (void **)&tree->drags, &tree->drag_capacity,
                            frame_count, CPT_PATH_FRAMES_MAX, sizeof *tree->drags);
    if (status != CPT_OK) {
        return status;
    }
    for (size_t i = 0; i < frame_count; i++) {
        tree->drags[i] = CPT_DRAG_UNKNOWN;
    }
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const uint64_t drag_ns = cpt_path_drag(path, i);
        uint64_t *largest = &tree->drags[cpt_path_segment(path, i)->frame];

        if (drag_ns != CPT_DRAG_UNKNOWN) {
            *largest =
                *largest == CPT_DRAG_UNKNOWN || *largest < drag_ns ? drag_ns : *largest;
            tree->has_drags = true;
        }
    }
    return CPT_OK;
}

cpt_status cpti_gains_reserve(struct cpt_tree *tree)
{
    const size_t before = tree->gain_capacity;
    const cpt_status status =
        cpt_alloc_grow(tree->alloc, (void **)&tree->gains, &tree->gain_capacity,
                       tree->node_count, tree->nodes_max + 1, sizeof *tree->gains);

    if (status == CPT_OK && tree->gain_capacity != before) {
        memset(tree->gains + before, 0,
               (tree->gain_capacity - before) * sizeof *tree->gains);
    }
    return status;
}

void cpti_gains_count(struct cpt_tree *tree, cpt_weight weight)
{
    const struct cpti_wide squared = cpti_wide_of((cpti_u128)weight * weight);

    tree->gain_count++;
    tree->gain_weight += weight;
    cpti_wide_add(&tree->gain_weight_squared, &squared);
}

static void add_one(struct cpti_gain_sums *sums, cpt_weight weight, uint64_t time_ns)
{
    const cpti_u128 squared = (cpti_u128)weight * weight;
    const struct cpti_wide wx = cpti_wide_product(weight, time_ns);
    const struct cpti_wide wwx = cpti_wide_product(squared, time_ns);
    const struct cpti_wide wwxx =
        cpti_wide_product(squared, (cpti_u128)time_ns * time_ns);

    cpti_wide_add(&sums->wx, &wx);
    cpti_wide_add(&sums->wwx, &wwx);
    cpti_wide_add(&sums->wwxx, &wwxx);
}

void cpti_gain_add(struct cpt_tree *tree, uint32_t node, cpt_weight weight,
                   uint64_t self_ns, uint64_t drag_ns)
{
    struct cpti_gain *gain = &tree->gains[node];

    assert(node < tree->gain_capacity);
    if (self_ns == 0) {
        return;
    }
    gain->present_count++;
    add_one(&gain->time, weight, self_ns);
    if (drag_ns != CPT_DRAG_UNKNOWN) {
        gain->known_count++;
        add_one(&gain->drag, weight, drag_ns < self_ns ? drag_ns : self_ns);
    }
}

/* --- Many requests --- */

static void add_sums(struct cpti_gain_sums *sums, const struct cpti_gain_sums *more)
{
    cpti_wide_add(&sums->wx, &more->wx);
    cpti_wide_add(&sums->wwx, &more->wwx);
    cpti_wide_add(&sums->wwxx, &more->wwxx);
}

void cpti_gains_merge(struct cpt_tree *tree, const struct cpt_tree *from,
                      const uint32_t *map)
{
    for (uint32_t i = 0; i < from->node_count; i++) {
        const struct cpti_gain more = cpti_gain_at(from, i);

        if (more.present_count != 0) {
            struct cpti_gain *gain = &tree->gains[map[i]];

            gain->present_count += more.present_count;
            gain->known_count += more.known_count;
            add_sums(&gain->time, &more.time);
            add_sums(&gain->drag, &more.drag);
        }
    }
    tree->gain_count += from->gain_count;
    tree->gain_weight += from->gain_weight;
    cpti_wide_add(&tree->gain_weight_squared, &from->gain_weight_squared);
}

struct cpti_gain cpti_gain_at(const struct cpt_tree *tree, uint32_t node)
{
    return node < tree->gain_capacity ? tree->gains[node] : (struct cpti_gain){0};
}

void cpt_tree_forget_drags(struct cpt_tree *tree)
{
    cpt_alloc_free(tree->alloc, tree->gains);
    tree->gains = NULL;
    tree->gain_capacity = 0;
    tree->gain_count = 0;
    tree->gain_weight = 0;
    tree->gain_weight_squared = cpti_wide_of(0);
}

/* --- Whether sums from outside are possible --- */

/* Whether @sums may be those of times: of whole ns, with wx at least @least. */
static bool are_possible(const struct cpt_tree *tree, const struct cpti_gain_sums *sums,
                         cpti_u128 least)
{
    enum { WX_BITS = 96 + 56 };
    const struct cpti_wide lowest = cpti_wide_of(least);

    return cpti_wide_bits(&sums->wx) <= WX_BITS &&
           cpti_wide_compare(&sums->wx, &lowest) >= 0 &&
           cpti_wide_is_between(&sums->wwx, &sums->wx, tree->weight_min,
                                tree->weight_max) &&
           cpti_wide_is_between(&sums->wwxx, &sums->wwx, 1, CPT_TREE_TIME_MAX);
}

static bool exceeds(const struct cpti_gain_sums *part,
                    const struct cpti_gain_sums *whole)
{
    return cpti_wide_compare(&part->wx, &whole->wx) > 0 ||
           cpti_wide_compare(&part->wwx, &whole->wwx) > 0 ||
           cpti_wide_compare(&part->wwxx, &whole->wwxx) > 0;
}

bool cpti_gain_fits(const struct cpt_tree *tree, uint32_t node,
                    const struct cpti_gain *gain)
{
    const struct cpti_totals totals = cpti_node_totals(tree, node, false);
    const struct cpti_gain_sums self = {totals.self.wx, totals.self.wwx,
                                        totals.self.wwxx};

    return gain->present_count != 0 && gain->present_count <= tree->gain_count &&
           gain->present_count <= totals.present_count &&
           gain->known_count <= gain->present_count &&
           are_possible(tree, &gain->time,
                        (cpti_u128)gain->present_count * tree->weight_min) &&
           are_possible(tree, &gain->drag, 0) &&
           (gain->known_count != 0 || cpti_wide_bits(&gain->drag.wx) == 0) &&
           !exceeds(&gain->drag, &gain->time) && !exceeds(&gain->time, &self);
}

bool cpti_gain_weights_fit(const struct cpt_tree *tree)
{
    const struct cpti_wide weight = cpti_wide_of(tree->gain_weight);
    const cpti_u128 count = tree->gain_count;

    return count != 0 && count <= tree->request_count &&
           count * tree->weight_min <= tree->gain_weight &&
           tree->gain_weight <= count * tree->weight_max &&
           tree->gain_weight <= tree->weight &&
           cpti_wide_is_between(&tree->gain_weight_squared, &weight, tree->weight_min,
                                tree->weight_max) &&
           cpti_wide_compare(&tree->gain_weight_squared, &tree->weight_squared) <= 0;
}
