/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tree_nodes.c - the nodes of a tree: found, added, removed again
 *
 * One hash table for the whole tree over (parent, name, kind) finds a node. The hash is
 * seeded by the tree's address, so that names from outside cannot be chosen to collide,
 * and nothing that is shown depends on its order.
 */
#include "aggregate/tree_node.h"

static size_t first_slot(const struct cpt_tree *tree, uint32_t parent, cpt_name_id name,
                         unsigned kind)
{
    uint64_t hash = (uint64_t)(uintptr_t)tree ^ ((uint64_t)parent << 32 | name);

    hash = (hash ^ hash >> 33) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ hash >> 29 ^ kind) * UINT64_C(0xc4ceb9fe1a85ec53);
    return (size_t)(hash ^ hash >> 33) & (tree->slot_count - 1);
}

/* The slot of that node, or the free one where it belongs. There is always one. */
static size_t slot_of(const struct cpt_tree *tree, uint32_t parent, cpt_name_id name,
                      unsigned kind)
{
    size_t slot = first_slot(tree, parent, name, kind);

    while (tree->slots[slot] != 0) {
        const struct cpti_node *node = &tree->nodes[tree->slots[slot]];

        if (node->parent == parent && node->name == name && node->kind == kind) {
            break;
        }
        slot = (slot + 1) & (tree->slot_count - 1);
    }
    return slot;
}

/* Nodes go in by number, so that the last nodes are always the last in their chains:
 * cpti_tree_forget() relies on it. */
static cpt_status grow_slots(struct cpt_tree *tree)
{
    const size_t slot_count = tree->slot_count != 0 ? tree->slot_count * 2 : 64;
    uint32_t *slots = NULL;

    if (tree->slot_count != 0 && (tree->node_count + 1) * 4 <= tree->slot_count * 3) {
        return CPT_OK;
    }
    slots = cpt_alloc_zeroed(tree->alloc, slot_count * sizeof *slots);
    if (slots == NULL) {
        return CPT_NO_MEMORY;
    }
    cpt_alloc_free(tree->alloc, tree->slots);
    tree->slots = slots;
    tree->slot_count = slot_count;
    for (uint32_t i = 1; i < tree->node_count; i++) {
        const struct cpti_node *node = &tree->nodes[i];

        slots[slot_of(tree, node->parent, node->name, node->kind)] = i;
    }
    return CPT_OK;
}

static cpt_status grow_nodes(struct cpt_tree *tree)
{
    return cpt_alloc_grow(tree->alloc, (void **)&tree->nodes, &tree->node_capacity,
                          tree->node_count + 1, tree->nodes_max + 1, /* the root */
                          sizeof *tree->nodes);
}

cpt_status cpti_tree_child_of(struct cpt_tree *tree, uint32_t parent, cpt_name_id name,
                              unsigned kind, uint32_t *child)
{
    const uint16_t depth = tree->nodes[parent].depth;
    size_t slot = 0;
    cpt_status status = grow_slots(tree);

    if (status != CPT_OK) {
        return status;
    }
    slot = slot_of(tree, parent, name, kind);
    if (tree->slots[slot] != 0) {
        *child = tree->slots[slot];
        return CPT_OK;
    }
    if (depth >= CPT_TREE_DEPTH_MAX) {
        return CPT_LIMIT;
    }
    status = grow_nodes(tree);
    if (status != CPT_OK) {
        return status;
    }
    *child = (uint32_t)tree->node_count++;
    tree->nodes[*child] = (struct cpti_node){.parent = parent,
                                             .name = name,
                                             .kind = (uint16_t)kind,
                                             .depth = (uint16_t)(depth + 1),
                                             .min_ns = UINT64_MAX};
    tree->slots[slot] = *child;
    return CPT_OK;
}

cpt_status cpti_tree_child(struct cpt_tree *tree, uint32_t parent,
                           struct cpt_bytes name, unsigned kind, uint32_t *child)
{
    cpt_name_id id = 0;
    const cpt_status status = cpt_names_add(tree->names, name, &id);

    return status == CPT_OK ? cpti_tree_child_of(tree, parent, id, kind, child)
                            : status;
}

void cpti_tree_forget(struct cpt_tree *tree, size_t node_count)
{
    while (tree->node_count > node_count) {
        struct cpti_node *node = &tree->nodes[tree->node_count - 1];

        tree->slots[slot_of(tree, node->parent, node->name, node->kind)] = 0;
        cpti_node_deinit(tree, (uint32_t)tree->node_count - 1);
        tree->node_count--;
    }
}
