/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tree_nodes.c - the nodes of a tree: found, added, removed again
 *
 * One index (cpt/hash_index.h) for the whole tree finds a node by (parent, name, kind).
 * The nodes that came last are always the last in their chains, so cpti_tree_forget()
 * can remove them.
 */
#include "aggregate/tree_node.h"

enum { FIRST_SLOTS = 64 };

static uint64_t hash_of(const struct cpt_tree *tree, uint32_t parent, cpt_name_id name,
                        unsigned kind)
{
    const uint64_t key = (uint64_t)parent << 32 | name;

    return cpti_hash_mix(key ^ (uint64_t)(uintptr_t)tree ^ (uint64_t)kind << 48);
}

/* Node n is entry n - 1, and so n in its slot. */
static uint64_t node_hash(const void *tree, size_t number)
{
    const struct cpti_node *node = &((const struct cpt_tree *)tree)->nodes[number + 1];

    return hash_of(tree, node->parent, node->name, node->kind);
}

/* The slot of that node, or the free one where it belongs. There is always one. */
static size_t slot_of(const struct cpt_tree *tree, uint32_t parent, cpt_name_id name,
                      unsigned kind)
{
    const struct cpti_hash_index *index = &tree->index;
    size_t slot = cpti_hash_index_first(index, hash_of(tree, parent, name, kind));

    for (; index->slots[slot] != 0; slot = cpti_hash_index_next(index, slot)) {
        const struct cpti_node *node = &tree->nodes[index->slots[slot]];

        if (node->parent == parent && node->name == name && node->kind == kind) {
            break;
        }
    }
    return slot;
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
    cpt_status status = CPT_OK;

    if (cpti_hash_index_is_full(&tree->index, tree->node_count, 3)) {
        status = cpti_hash_index_grow(&tree->index, tree->alloc, FIRST_SLOTS,
                                      tree->node_count - 1, node_hash, tree);
        if (status != CPT_OK) {
            return status;
        }
    }
    slot = slot_of(tree, parent, name, kind);
    if (tree->index.slots[slot] != 0) {
        *child = tree->index.slots[slot];
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
    tree->index.slots[slot] = *child;
    return CPT_OK;
}

void cpti_tree_forget(struct cpt_tree *tree, size_t node_count)
{
    while (tree->node_count > node_count) {
        struct cpti_node *node = &tree->nodes[tree->node_count - 1];

        tree->index.slots[slot_of(tree, node->parent, node->name, node->kind)] = 0;
        cpti_node_deinit(tree, (uint32_t)tree->node_count - 1);
        tree->node_count--;
    }
}
