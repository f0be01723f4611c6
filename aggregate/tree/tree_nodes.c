/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tree_nodes.c - the nodes of a tree: found, added, removed again
 *
 * One index (cpt/base/hash_index.h) for the whole tree finds a node by its parent,
 * name and kind.
 * The nodes that came last are always the last in their chains, so cpti_tree_forget()
 * can remove them.
 */
#include "aggregate/tree/tree_node.h"

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
    const struct cpti_stack *stack =
        &((const struct cpt_tree *)tree)->stacks[number + 1];

    return hash_of(tree, stack->parent, stack->name, stack->kind);
}

/* The slot of that node, or the free one where it belongs. There is always one. */
static size_t slot_of(const struct cpt_tree *tree, uint32_t parent, cpt_name_id name,
                      unsigned kind)
{
    const struct cpti_hash_index *index = &tree->index;
    size_t slot = cpti_hash_index_first(index, hash_of(tree, parent, name, kind));

    for (; index->slots[slot] != 0; slot = cpti_hash_index_next(index, slot)) {
        const struct cpti_stack *stack = &tree->stacks[index->slots[slot]];

        if (stack->parent == parent && stack->name == name && stack->kind == kind) {
            break;
        }
    }
    return slot;
}

static cpt_status grow_nodes(struct cpt_tree *tree)
{
    const size_t count_max = tree->nodes_max + 1; /* the root */
    const cpt_status status =
        cpt_alloc_grow(tree->alloc, (void **)&tree->stacks, &tree->stack_capacity,
                       tree->node_count + 1, count_max, sizeof *tree->stacks);

    return status != CPT_OK || tree->is_bare
               ? status
               : cpt_alloc_grow(tree->alloc, (void **)&tree->nodes,
                                &tree->node_capacity, tree->node_count + 1, count_max,
                                sizeof *tree->nodes);
}

const struct cpti_node *cpti_node_at(const struct cpt_tree *tree, uint32_t index)
{
    static const struct cpti_node none = {.min_ns = UINT64_MAX};

    return tree->is_bare ? &none : &tree->nodes[index];
}

cpt_status cpti_tree_child_of(struct cpt_tree *tree, uint32_t parent, cpt_name_id name,
                              unsigned kind, uint32_t *child)
{
    const uint16_t depth = tree->stacks[parent].depth;
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
    tree->stacks[*child] = (struct cpti_stack){.parent = parent,
                                               .name = name,
                                               .kind = (uint16_t)kind,
                                               .depth = (uint16_t)(depth + 1)};
    if (!tree->is_bare) {
        tree->nodes[*child] = (struct cpti_node){.min_ns = UINT64_MAX};
    }
    tree->index.slots[slot] = *child;
    return CPT_OK;
}

/* Sets @ids to the numbers that the names of @from have in @tree, which has them then:
 * each name is searched for once, not for each node. */
static cpt_status add_names(struct cpt_tree *tree, const struct cpt_names *from,
                            cpt_name_id *ids)
{
    const cpt_name_id count = (cpt_name_id)cpt_names_count(from);
    cpt_status status = CPT_OK;

    for (cpt_name_id i = 0; i < count && status == CPT_OK; i++) {
        status = cpt_names_add(tree->names, cpt_names_at(from, i), &ids[i]);
    }
    return status;
}

cpt_status cpti_tree_add_stacks(struct cpt_tree *tree, const struct cpt_tree *from,
                                uint32_t *map)
{
    cpt_name_id *ids =
        cpt_alloc_array(tree->alloc, NULL, cpt_names_count(from->names), sizeof *ids);
    cpt_status status = ids == NULL ? CPT_NO_MEMORY : add_names(tree, from->names, ids);

    map[CPT_TREE_ROOT] = CPT_TREE_ROOT;
    for (uint32_t i = 1; i < from->node_count && status == CPT_OK; i++) {
        const struct cpti_stack *stack = &from->stacks[i];

        status = cpti_tree_child_of(tree, map[stack->parent], ids[stack->name],
                                    stack->kind, &map[i]);
    }
    cpt_alloc_free(tree->alloc, ids);
    return status;
}

void cpti_tree_forget(struct cpt_tree *tree, size_t node_count)
{
    while (tree->node_count > node_count) {
        const struct cpti_stack *stack = &tree->stacks[tree->node_count - 1];

        tree->index.slots[slot_of(tree, stack->parent, stack->name, stack->kind)] = 0;
        cpti_node_deinit(tree, (uint32_t)tree->node_count - 1);
        tree->node_count--;
    }
}
