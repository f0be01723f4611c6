/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tree_text.c - the text of stacks, and their order
 *
 * The order compares bytes of names, never text: text depends on how names are escaped,
 * and all machines and versions must agree on the order of rows.
 */
#include "aggregate/tree/tree_node.h"

#include "cpt/cpt_path.h"

#include <assert.h>
#include <string.h>

struct cpt_bytes cpt_tree_service(const struct cpt_tree *tree, uint32_t node)
{
    struct cpt_bytes service = {NULL, 0};

    assert(node < tree->node_count);
    for (; node != CPT_TREE_NONE && service.bytes == 0;
         node = tree->stacks[node].parent) {
        if (tree->stacks[node].kind == CPT_KIND_WORK) {
            service = cpt_name_service(cpt_tree_name(tree, node));
        }
    }
    return service;
}

size_t cpt_tree_frame_text(const struct cpt_tree *tree, uint32_t node, char *text,
                           size_t capacity)
{
    const struct cpt_bytes none = {NULL, 0};
    const uint32_t parent = cpt_tree_parent(tree, node);

    return cpt_text_frame(cpt_tree_name(tree, node), cpt_tree_kind(tree, node),
                          parent == CPT_TREE_NONE ? none
                                                  : cpt_tree_service(tree, parent),
                          text, capacity);
}

/* Writes the nodes from below the root down to @node to @stack; returns their count. */
static size_t stack_of(const struct cpt_tree *tree, uint32_t node,
                       uint32_t stack[CPT_TREE_DEPTH_MAX])
{
    const size_t depth = cpt_tree_depth(tree, node);

    for (size_t i = depth; i > 0; node = tree->stacks[node].parent) {
        stack[--i] = node;
    }
    return depth;
}

size_t cpt_tree_stack_text(const struct cpt_tree *tree, uint32_t node, char *text,
                           size_t capacity)
{
    uint32_t stack[CPT_TREE_DEPTH_MAX];
    const size_t depth = stack_of(tree, node, stack);
    size_t bytes = 0;

    if (capacity != 0) {
        text[0] = '\0';
    }
    for (size_t i = 0; i < depth; i++) {
        const bool fits = bytes < capacity;

        if (i != 0) {
            if (bytes + 1 < capacity) {
                memcpy(text + bytes, ";", 2);
            }
            bytes++;
        }
        bytes += cpt_tree_frame_text(tree, stack[i], fits ? text + bytes : NULL,
                                     fits && bytes < capacity ? capacity - bytes : 0);
    }
    return bytes;
}

static int bytes_compare(struct cpt_bytes left, struct cpt_bytes right)
{
    const size_t common = left.bytes < right.bytes ? left.bytes : right.bytes;
    const int order = common != 0 ? memcmp(left.data, right.data, common) : 0;

    if (order != 0) {
        return order;
    }
    return (left.bytes > right.bytes) - (left.bytes < right.bytes);
}

int cpti_sibling_compare(const struct cpt_tree *left_tree, uint32_t left,
                         const struct cpt_tree *right_tree, uint32_t right)
{
    const int order =
        bytes_compare(cpt_tree_name(left_tree, left), cpt_tree_name(right_tree, right));
    const unsigned left_kind = cpt_tree_kind(left_tree, left);
    const unsigned right_kind = cpt_tree_kind(right_tree, right);

    if (order != 0) {
        return order;
    }
    return (left_kind > right_kind) - (left_kind < right_kind);
}

int cpt_tree_stack_compare(const struct cpt_tree *left_tree, uint32_t left,
                           const struct cpt_tree *right_tree, uint32_t right)
{
    uint32_t left_stack[CPT_TREE_DEPTH_MAX];
    uint32_t right_stack[CPT_TREE_DEPTH_MAX];
    const size_t left_depth = stack_of(left_tree, left, left_stack);
    const size_t right_depth = stack_of(right_tree, right, right_stack);

    for (size_t i = 0; i < left_depth && i < right_depth; i++) {
        const int order =
            cpti_sibling_compare(left_tree, left_stack[i], right_tree, right_stack[i]);

        if (order != 0) {
            return order;
        }
    }
    return (left_depth > right_depth) - (left_depth < right_depth);
}
