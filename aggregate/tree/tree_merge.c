/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tree_merge.c - two trees become the tree of all their requests
 *
 * A node keeps sums of whole numbers, a minimum, a maximum, and a sum for each bucket.
 * Merging combines these, node by node. Sums cannot overflow (see the limits of
 * cpt_tree.h), so merging is associative and commutative to the last bit. So are the
 * sums of drags, which only some trees have.
 *
 * As when a request is added, everything that can fail comes first: nodes are added,
 * memory is reserved, and the union of the notes is built aside. Then sums are added.
 */
#include "aggregate/tree/tree_node.h"

#include "aggregate/cpt_gain.h"

#include <assert.h>

/* Maps each node of @from to a node of @tree with memory for its requests. */
static cpt_status map_nodes(struct cpt_tree *tree, const struct cpt_tree *from,
                            uint32_t *map)
{
    cpt_status status = cpti_tree_add_stacks(tree, from, map);

    for (uint32_t i = 0; i < from->node_count && status == CPT_OK; i++) {
        status = cpti_node_reserve_merge(tree, map[i], from, i);
    }
    if (status == CPT_OK && from->gain_count != 0) {
        status = cpti_gains_reserve(tree);
    }
    return status;
}

/* Whether any request of @tree has unknown third moments. */
static bool lacks_cubes(const struct cpt_tree *tree)
{
    return tree->lacks_cubes && tree->request_count != 0;
}

void cpt_tree_forget_cubes(struct cpt_tree *tree)
{
    tree->lacks_cubes = tree->request_count != 0;
    cpt_tree_forget_drags(tree);
}

static void merge_requests(struct cpt_tree *tree, const struct cpt_tree *from)
{
    tree->lacks_cubes = lacks_cubes(tree) || lacks_cubes(from);
    if (from->request_count == 0) {
        return;
    }
    if (tree->request_count == 0 || from->weight_min < tree->weight_min) {
        tree->weight_min = from->weight_min;
    }
    if (from->weight_max > tree->weight_max) {
        tree->weight_max = from->weight_max;
    }
    tree->request_count += from->request_count;
    tree->weight += from->weight;
    cpti_wide_add(&tree->weight_squared, &from->weight_squared);
    cpti_wide_add(&tree->weight_cubed, &from->weight_cubed);
}

cpt_status cpt_tree_merge(struct cpt_tree *tree, const struct cpt_tree *from)
{
    const size_t node_count = tree->node_count;
    struct cpti_notes notes = {0};
    uint32_t *map = NULL;
    cpt_status status = CPT_OK;

    assert(tree != from);
    if (from->request_count > CPT_TREE_REQUESTS_MAX - tree->request_count) {
        return CPT_LIMIT;
    }
    status = cpti_notes_union(tree->alloc, &notes, &tree->notes, &from->notes);
    if (status != CPT_OK) {
        return status;
    }
    map = cpt_alloc_array(tree->alloc, NULL, from->node_count, sizeof *map);
    status = map == NULL ? CPT_NO_MEMORY : map_nodes(tree, from, map);
    if (status != CPT_OK) {
        cpti_notes_deinit(&notes, tree->alloc);
        cpti_tree_forget(tree, node_count);
        cpt_alloc_free(tree->alloc, map);
        return status;
    }
    for (uint32_t i = 0; i < from->node_count; i++) {
        cpti_node_merge(tree, map[i], from, i);
    }
    cpti_gains_merge(tree, from, map);
    merge_requests(tree, from);
    if (from->time_last_ns != 0) {
        cpt_tree_time_add(tree, from->time_first_ns);
        cpt_tree_time_add(tree, from->time_last_ns);
    }
    cpti_notes_deinit(&tree->notes, tree->alloc);
    tree->notes = notes;
    cpt_alloc_free(tree->alloc, map);
    return CPT_OK;
}
