/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tree_walk.c - the nodes of a tree in an order that does not depend on their numbers
 *
 * A counting sort by parent puts the children of each node together; then siblings are
 * sorted, and one pass visits the nodes depth first. Their parents lead back up.
 *
 * The averages of the rows are rounded together, by largest remainder: each is rounded
 * down, and the nanoseconds that are missing from the rounded mean latency go, one
 * each, to the rows that lost most. All have the same denominator (Σw), so remainders
 * compare exactly. Ties go to the stack that comes first by name.
 *
 * Cost: O(n log n) for n nodes, and a division for each.
 */
#include "aggregate/tree/tree_node.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct cpt_tree_walk {
    const struct cpt_alloc *alloc;
    const struct cpt_tree *tree;
    struct cpt_tree_row *rows;
    uint32_t count;
};

/* --- The order --- */

/* A node among its siblings. It knows the tree because qsort() has no context. */
struct place {
    const struct cpt_tree *tree;
    uint32_t node;
};

static int by_name(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;

    return cpti_sibling_compare(a->tree, a->node, b->tree, b->node);
}

static int by_time_then_name(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;
    const struct cpti_wide a_time = cpti_node_inclusive_wx(a->tree, a->node);
    const struct cpti_wide b_time = cpti_node_inclusive_wx(b->tree, b->node);
    const int order = cpti_wide_compare(&b_time, &a_time);

    return order != 0 ? order : by_name(left, right);
}

/* Sorts all nodes except the root by parent into @nodes: the children of p are at
 * begins[p] to begins[p + 1]. Returns the largest count of children. */
static size_t sort_by_parent(const struct cpt_tree *tree, uint32_t *nodes,
                             uint32_t *begins)
{
    size_t count_max = 0;

    memset(begins, 0, (tree->node_count + 1) * sizeof *begins);
    for (size_t i = 1; i < tree->node_count; i++) {
        begins[tree->stacks[i].parent + 1]++;
    }
    for (size_t i = 0; i < tree->node_count; i++) {
        count_max = begins[i + 1] > count_max ? begins[i + 1] : count_max;
        begins[i + 1] += begins[i];
    }
    for (size_t i = tree->node_count; i-- > 1;) {
        nodes[--begins[tree->stacks[i].parent + 1]] = (uint32_t)i;
    }
    /* now begins[p + 1] is where the children of p begin: one place too far */
    memmove(begins, begins + 1, tree->node_count * sizeof *begins);
    begins[tree->node_count] = (uint32_t)tree->node_count - 1;
    return count_max;
}

static void sort_siblings(const struct cpt_tree *tree, enum cpt_tree_order by,
                          struct place *places, uint32_t *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        places[i] = (struct place){tree, nodes[i]};
    }
    qsort(places, count, sizeof *places,
          by == CPT_TREE_BY_TIME ? by_time_then_name : by_name);
    for (size_t i = 0; i < count; i++) {
        nodes[i] = places[i].node;
    }
}

/* Visits depth first. The state is begins[p], the next child of p to visit. */
static void visit(const struct cpt_tree *tree, const uint32_t *nodes, uint32_t *begins,
                  uint32_t *order)
{
    const size_t child_count = tree->node_count - 1;
    uint32_t node = CPT_TREE_ROOT;
    size_t count = 0;

    order[count++] = node;
    while (node != CPT_TREE_NONE) {
        const uint32_t at = begins[node];

        if (at < child_count && tree->stacks[nodes[at]].parent == node) {
            begins[node]++;
            node = nodes[at];
            order[count++] = node;
        } else {
            node = tree->stacks[node].parent;
        }
    }
}

cpt_status cpti_tree_order(const struct cpt_alloc *alloc, const struct cpt_tree *tree,
                           enum cpt_tree_order by, uint32_t *order)
{
    const size_t node_count = tree->node_count;
    uint32_t *nodes = cpt_alloc_array(alloc, NULL, node_count, sizeof *nodes);
    uint32_t *begins = cpt_alloc_array(alloc, NULL, node_count + 1, sizeof *begins);
    struct place *places = NULL;
    cpt_status status = CPT_NO_MEMORY;

    if (nodes != NULL && begins != NULL) {
        places = cpt_alloc_array(alloc, NULL, sort_by_parent(tree, nodes, begins),
                                 sizeof *places);
    }
    if (places != NULL) {
        for (size_t i = 0; i < node_count; i++) {
            sort_siblings(tree, by, places, nodes + begins[i],
                          begins[i + 1] - begins[i]);
        }
        visit(tree, nodes, begins, order);
        status = CPT_OK;
    }
    cpt_alloc_free(alloc, nodes);
    cpt_alloc_free(alloc, begins);
    cpt_alloc_free(alloc, places);
    return status;
}

/* Makes the rows of the nodes in @order; a parent's row is the last one less deep. */
static void fill_rows(struct cpt_tree_walk *walk, const uint32_t *order)
{
    uint32_t row = 0;

    walk->count = (uint32_t)walk->tree->node_count;
    walk->rows[0] =
        (struct cpt_tree_row){.node = CPT_TREE_ROOT, .parent = CPT_TREE_NONE};
    for (uint32_t i = 1; i < walk->count; i++) {
        const uint32_t depth = walk->tree->stacks[order[i]].depth;

        while (walk->rows[row].depth >= depth) {
            walk->rows[row].below = i - 1 - row;
            row = walk->rows[row].parent;
        }
        walk->rows[i] =
            (struct cpt_tree_row){.node = order[i], .parent = row, .depth = depth};
        row = i;
    }
    while (row != CPT_TREE_NONE) {
        walk->rows[row].below = walk->count - 1 - row;
        row = walk->rows[row].parent;
    }
}

static cpt_status sort_and_visit(struct cpt_tree_walk *walk, enum cpt_tree_order by)
{
    uint32_t *order =
        cpt_alloc_array(walk->alloc, NULL, walk->tree->node_count, sizeof *order);
    const cpt_status status = order == NULL
                                  ? CPT_NO_MEMORY
                                  : cpti_tree_order(walk->alloc, walk->tree, by, order);

    if (status == CPT_OK) {
        fill_rows(walk, order);
    }
    cpt_alloc_free(walk->alloc, order);
    return status;
}

/* --- The averages --- */

struct remainder {
    cpti_u128 rest;
    uint32_t place; /* of its stack by name */
    uint32_t row;
};

static int by_rest_then_stack(const void *left, const void *right)
{
    const struct remainder *a = left;
    const struct remainder *b = right;

    if (a->rest != b->rest) {
        return a->rest > b->rest ? -1 : 1;
    }
    return a->place < b->place ? -1 : 1;
}

/* Σ of the shares: @request_count mean latencies, rounded half up. */
static cpt_status whole_of(const struct cpt_tree *tree, uint64_t request_count,
                           uint64_t *whole)
{
    struct cpti_wide doubled =
        cpti_wide_times(cpti_node_inclusive_wx(tree, CPT_TREE_ROOT), request_count);
    const struct cpti_wide half = cpti_wide_of(tree->weight);
    cpti_u128 rest = 0;

    doubled = cpti_wide_times(doubled, 2);
    cpti_wide_add(&doubled, &half);
    if (cpti_wide_bits(&doubled) > cpti_u128_bits(tree->weight * 2) + 63) {
        return CPT_LIMIT;
    }
    *whole = cpti_wide_divide(doubled, tree->weight * 2, &rest);
    return *whole > (uint64_t)1 << 62 ? CPT_LIMIT : CPT_OK;
}

/* Writes the places of the rows' stacks by name to the @count @remainders. */
static cpt_status place_by_name(const struct cpt_tree_walk *walk,
                                struct remainder *remainders, size_t count)
{
    const size_t node_count = walk->tree->node_count;
    uint32_t *order = cpt_alloc_array(walk->alloc, NULL, node_count, sizeof *order);
    uint32_t *places = cpt_alloc_array(walk->alloc, NULL, node_count, sizeof *places);
    cpt_status status = CPT_NO_MEMORY;

    if (order != NULL && places != NULL) {
        status = cpti_tree_order(walk->alloc, walk->tree, CPT_TREE_BY_NAME, order);
    }
    for (size_t i = 0; status == CPT_OK && i < node_count; i++) {
        places[order[i]] = (uint32_t)i;
    }
    for (size_t i = 0; status == CPT_OK && i < count; i++) {
        remainders[i].place = places[walk->rows[remainders[i].row].node];
    }
    cpt_alloc_free(walk->alloc, order);
    cpt_alloc_free(walk->alloc, places);
    return status;
}

/* Adds one to the shares of the @left rows that lost most. */
static cpt_status round_up(const struct cpt_tree_walk *walk,
                           struct remainder *remainders, size_t count, uint64_t left,
                           uint64_t *self_ns)
{
    const cpt_status status = place_by_name(walk, remainders, count);

    if (status != CPT_OK) {
        return status;
    }
    qsort(remainders, count, sizeof *remainders, by_rest_then_stack);
    for (size_t i = 0; i < left; i++) {
        self_ns[remainders[i].row]++;
    }
    return CPT_OK;
}

/* Rounds all shares down and notes the remainders; returns what is left of @whole. */
static uint64_t round_down(const struct cpt_tree_walk *walk, uint64_t request_count,
                           uint64_t whole, uint64_t *self_ns,
                           struct remainder *remainders, size_t *remainder_count)
{
    const struct cpt_tree *tree = walk->tree;

    *remainder_count = 0;
    for (uint32_t i = 0; i < walk->count; i++) {
        const uint32_t node = walk->rows[i].node;
        cpti_u128 rest = 0;

        self_ns[i] = cpti_wide_divide(
            cpti_wide_times(cpti_node_self_wx(tree, node), request_count), tree->weight,
            &rest);
        whole -= self_ns[i];
        if (rest != 0) {
            remainders[(*remainder_count)++] =
                (struct remainder){.rest = rest, .row = i};
        }
    }
    return whole;
}

cpt_status cpt_tree_walk_apportion(const struct cpt_tree_walk *walk,
                                   uint64_t request_count, uint64_t *self_ns)
{
    struct remainder *remainders = NULL;
    size_t remainder_count = 0;
    uint64_t whole = 0;
    uint64_t left = 0;
    cpt_status status = CPT_OK;

    if (walk->tree->weight == 0 || request_count > CPT_TREE_REQUESTS_MAX) {
        for (uint32_t i = 0; i < walk->count; i++) {
            self_ns[i] = 0;
        }
        return walk->tree->weight == 0 ? CPT_OK : CPT_LIMIT;
    }
    status = whole_of(walk->tree, request_count, &whole);
    if (status != CPT_OK) {
        return status;
    }
    remainders = cpt_alloc_array(walk->alloc, NULL, walk->count, sizeof *remainders);
    if (remainders == NULL) {
        return CPT_NO_MEMORY;
    }
    left =
        round_down(walk, request_count, whole, self_ns, remainders, &remainder_count);
    if (left > remainder_count) { /* sums from a database may not add up */
        status = CPT_CORRUPT;
    } else if (left != 0) {
        status = round_up(walk, remainders, remainder_count, left, self_ns);
    }
    cpt_alloc_free(walk->alloc, remainders);
    return status;
}

static cpt_status average(struct cpt_tree_walk *walk)
{
    uint64_t *self_ns =
        cpt_alloc_array(walk->alloc, NULL, walk->count, sizeof *self_ns);
    const cpt_status status =
        self_ns == NULL ? CPT_NO_MEMORY : cpt_tree_walk_apportion(walk, 1, self_ns);

    for (uint32_t i = walk->count; status == CPT_OK && i-- > 0;) {
        struct cpt_tree_row *row = &walk->rows[i];

        row->self_ns = self_ns[i];
        row->inclusive_ns += self_ns[i];
        if (row->parent != CPT_TREE_NONE) {
            walk->rows[row->parent].inclusive_ns += row->inclusive_ns;
        }
    }
    cpt_alloc_free(walk->alloc, self_ns);
    return status;
}

/* --- Public --- */

struct cpt_tree_walk *cpt_tree_walk_new(const struct cpt_alloc *alloc,
                                        const struct cpt_tree *tree,
                                        enum cpt_tree_order order)
{
    struct cpt_tree_walk *walk = cpt_alloc_zeroed(alloc, sizeof *walk);

    if (walk == NULL) {
        return NULL;
    }
    walk->alloc = alloc;
    walk->tree = tree;
    walk->rows = cpt_alloc_array(alloc, NULL, tree->node_count, sizeof *walk->rows);
    if (walk->rows == NULL || sort_and_visit(walk, order) != CPT_OK ||
        average(walk) != CPT_OK) {
        cpt_tree_walk_free(walk);
        return NULL;
    }
    return walk;
}

void cpt_tree_walk_free(struct cpt_tree_walk *walk)
{
    if (walk == NULL) {
        return;
    }
    cpt_alloc_free(walk->alloc, walk->rows);
    cpt_alloc_free(walk->alloc, walk);
}

uint32_t cpt_tree_walk_count(const struct cpt_tree_walk *walk)
{
    return walk->count;
}

const struct cpt_tree_row *cpt_tree_walk_row(const struct cpt_tree_walk *walk,
                                             uint32_t index)
{
    assert(index < walk->count);
    return &walk->rows[index];
}
