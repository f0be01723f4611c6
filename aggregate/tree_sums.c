/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tree_sums.c - the sums that a node keeps of its requests
 *
 * A tree of many stacks is mostly nodes, and adding a request is mostly adding to them.
 * While all requests of a node weigh the same, Σx in 64 and Σx² in 128 bits suffice:
 *
 *      batch     Σx  Σx²  requests, one weight            64 bytes
 *         |
 *         |  another weight is added, or a sum could overflow
 *         v
 *      retired   Σwx  Σw²x  Σw²x²  in 256 bits each      224 bytes, only then
 *
 * The totals of a node are always retired + batch × weight. They are exact, so they do
 * not depend, in any bit, on when or whether a batch was retired.
 *
 * Functions that reserve can fail; they change how the sums are kept, never the totals.
 * Functions that add cannot fail.
 */
#include "aggregate/tree_node.h"

#include <assert.h>

static void add_sums(struct cpti_sums *sums, const struct cpti_sums *more)
{
    cpti_wide_add(&sums->wx, &more->wx);
    cpti_wide_add(&sums->wwx, &more->wwx);
    cpti_wide_add(&sums->wwxx, &more->wwxx);
}

/* --- Retiring --- */

static bool is_unused(const struct cpti_node *node)
{
    return node->batch.count == 0 && node->retired == 0 && node->histogram.count == 0;
}

/* The sums of @batch, multiplied by its weight. */
static struct cpti_totals multiplied(const struct cpti_batch *batch)
{
    const cpti_u128 weight = batch->weight;
    const cpti_u128 squared = weight * weight;

    return (struct cpti_totals){
        .self = {cpti_wide_product(weight, batch->self_ns),
                 cpti_wide_product(squared, batch->self_ns),
                 cpti_wide_product(squared, batch->self_squares)},
        .inclusive = {cpti_wide_product(weight, batch->inclusive_ns),
                      cpti_wide_product(squared, batch->inclusive_ns),
                      cpti_wide_product(squared, batch->inclusive_squares)},
        .present_weight = weight * batch->count,
        .present_count = batch->count};
}

cpt_status cpti_node_reserve_wide(struct cpt_tree *tree, uint32_t index)
{
    struct cpti_node *node = &tree->nodes[index];
    cpt_status status = CPT_OK;

    if (node->retired != 0) {
        return CPT_OK;
    }
    if (tree->retired_free != 0) {
        node->retired = tree->retired_free;
        tree->retired_free = (uint32_t)tree->retired[node->retired].count;
    } else {
        status = cpt_alloc_grow(tree->alloc, (void **)&tree->retired,
                                &tree->retired_capacity, tree->retired_count + 2,
                                (size_t)CPT_TREE_NODES_MAX + 2, sizeof *tree->retired);
        if (status != CPT_OK) {
            return CPT_NO_MEMORY;
        }
        node->retired = (uint32_t)++tree->retired_count;
    }
    tree->retired[node->retired] = (struct cpti_retired){0};
    return CPT_OK;
}

void cpti_node_deinit(struct cpt_tree *tree, uint32_t index)
{
    struct cpti_node *node = &tree->nodes[index];

    cpti_histogram_deinit(&node->histogram, tree->alloc);
    if (node->retired != 0) {
        tree->retired[node->retired].count = tree->retired_free;
        tree->retired_free = node->retired;
    }
}

void cpti_node_add_wide(struct cpt_tree *tree, uint32_t index,
                        const struct cpti_totals *totals)
{
    struct cpti_node *node = &tree->nodes[index];
    struct cpti_retired *retired = &tree->retired[node->retired];

    assert(node->retired != 0);
    add_sums(&retired->self, &totals->self);
    add_sums(&retired->inclusive, &totals->inclusive);
    retired->weight += totals->present_weight;
    retired->count += totals->present_count;
    node->min_ns = totals->min_ns < node->min_ns ? totals->min_ns : node->min_ns;
    node->max_ns = totals->max_ns > node->max_ns ? totals->max_ns : node->max_ns;
}

/* Retires the batch of a node and starts an empty one of @weight. */
static cpt_status retire(struct cpt_tree *tree, uint32_t index, cpt_weight weight)
{
    struct cpti_node *node = &tree->nodes[index];
    struct cpti_totals totals;

    if (weight != node->batch.weight && node->histogram.count != 0 &&
        cpti_histogram_widen(&node->histogram, tree->alloc, node->batch.weight) !=
            CPT_OK) {
        return CPT_NO_MEMORY;
    }
    if (node->batch.count != 0) {
        if (cpti_node_reserve_wide(tree, index) != CPT_OK) {
            return CPT_NO_MEMORY;
        }
        totals = multiplied(&node->batch);
        totals.min_ns = node->min_ns;
        totals.max_ns = node->max_ns;
        cpti_node_add_wide(tree, index, &totals);
    }
    node->batch = (struct cpti_batch){.weight = weight};
    return CPT_OK;
}

/* --- The requests of the whole tree --- */

void cpti_tree_count(struct cpt_tree *tree, cpt_weight weight, uint64_t count)
{
    const struct cpti_wide squared =
        cpti_wide_times(cpti_wide_of((cpti_u128)weight * weight), count);

    if (tree->request_count == 0 || weight < tree->weight_min) {
        tree->weight_min = weight;
    }
    if (weight > tree->weight_max) {
        tree->weight_max = weight;
    }
    tree->request_count += count;
    tree->weight += (cpti_u128)weight * count;
    cpti_wide_add(&tree->weight_squared, &squared);
}

/* --- One request --- */

/* Whether the sums have room for one more request of any time. */
static inline bool has_headroom(const struct cpti_batch *batch)
{
    return batch->inclusive_ns <= UINT64_MAX - CPT_TREE_TIME_MAX &&
           (uint64_t)(batch->inclusive_squares >> 64) <= UINT64_MAX / 2;
}

cpt_status cpti_node_reserve(struct cpt_tree *tree, uint32_t index, cpt_weight weight,
                             uint64_t inclusive_ns)
{
    struct cpti_node *node = &tree->nodes[index];

    if (node->batch.weight != weight || !has_headroom(&node->batch)) {
        const cpt_status status = retire(tree, index, weight);

        if (status != CPT_OK) {
            return status;
        }
    }
    return cpti_histogram_has_room(&node->histogram, cpti_histogram_index(inclusive_ns))
               ? CPT_OK
               : cpti_histogram_reserve(&node->histogram, tree->alloc, 1);
}

void cpti_node_add(struct cpti_node *node, uint64_t self_ns, uint64_t inclusive_ns)
{
    struct cpti_batch *batch = &node->batch;

    batch->self_ns += self_ns;
    batch->self_squares += (cpti_u128)self_ns * self_ns;
    batch->inclusive_ns += inclusive_ns;
    batch->inclusive_squares += (cpti_u128)inclusive_ns * inclusive_ns;
    batch->count++;
    node->min_ns = inclusive_ns < node->min_ns ? inclusive_ns : node->min_ns;
    node->max_ns = inclusive_ns > node->max_ns ? inclusive_ns : node->max_ns;
    cpti_histogram_add(&node->histogram, cpti_histogram_index(inclusive_ns),
                       node->histogram.is_wide ? batch->weight : 1);
}

/* --- Many requests of one weight --- */

static bool takes(const struct cpti_batch *batch, const struct cpti_batch *more)
{
    cpti_u128 squares = 0;
    uint64_t time_ns = 0;

    return batch->weight == more->weight &&
           !__builtin_add_overflow(batch->self_squares, more->self_squares, &squares) &&
           !__builtin_add_overflow(batch->inclusive_squares, more->inclusive_squares,
                                   &squares) &&
           !__builtin_add_overflow(batch->self_ns, more->self_ns, &time_ns) &&
           !__builtin_add_overflow(batch->inclusive_ns, more->inclusive_ns, &time_ns);
}

static void add_batch(struct cpti_batch *batch, const struct cpti_batch *more)
{
    batch->self_ns += more->self_ns;
    batch->self_squares += more->self_squares;
    batch->inclusive_ns += more->inclusive_ns;
    batch->inclusive_squares += more->inclusive_squares;
    batch->count += more->count;
}

cpt_status cpti_node_reserve_batch(struct cpt_tree *tree, uint32_t index,
                                   const struct cpti_batch *batch)
{
    struct cpti_node *node = &tree->nodes[index];

    if (!takes(&node->batch, batch) && retire(tree, index, batch->weight) != CPT_OK) {
        return CPT_NO_MEMORY;
    }
    return cpti_histogram_reserve(&node->histogram, tree->alloc, 1);
}

void cpti_node_add_batch(struct cpti_node *node, const struct cpti_batch *batch,
                         uint64_t low_ns, uint64_t high_ns)
{
    assert(takes(&node->batch, batch));
    add_batch(&node->batch, batch);
    node->min_ns = low_ns < node->min_ns ? low_ns : node->min_ns;
    node->max_ns = high_ns > node->max_ns ? high_ns : node->max_ns;
    cpti_histogram_add(&node->histogram, cpti_histogram_index(low_ns),
                       node->histogram.is_wide ? (cpti_u128)batch->weight * batch->count
                                               : batch->count);
}

/* --- The requests of another node --- */

/* Whether one plain histogram can hold the requests of both. */
static bool stays_plain(const struct cpti_node *node, const struct cpti_node *from)
{
    return !node->histogram.is_wide && !from->histogram.is_wide &&
           node->batch.weight == from->batch.weight;
}

cpt_status cpti_node_reserve_merge(struct cpt_tree *tree, uint32_t index,
                                   const struct cpt_tree *other, uint32_t from)
{
    struct cpti_node *node = &tree->nodes[index];
    const struct cpti_node *more = &other->nodes[from];

    if (more->batch.weight == 0) {
        return CPT_OK; /* it has no requests */
    }
    if (is_unused(node)) {
        node->batch.weight = more->batch.weight;
    } else if (more->batch.count != 0 && !takes(&node->batch, &more->batch) &&
               retire(tree, index, more->batch.weight) != CPT_OK) {
        return CPT_NO_MEMORY;
    }
    if ((more->retired != 0 && cpti_node_reserve_wide(tree, index) != CPT_OK) ||
        (!stays_plain(node, more) &&
         cpti_histogram_widen(&node->histogram, tree->alloc, node->batch.weight) !=
             CPT_OK)) {
        return CPT_NO_MEMORY;
    }
    return cpti_histogram_reserve(&node->histogram, tree->alloc, more->histogram.count);
}

void cpti_node_merge(struct cpt_tree *tree, uint32_t index,
                     const struct cpt_tree *other, uint32_t from)
{
    struct cpti_node *node = &tree->nodes[index];
    const struct cpti_node *more = &other->nodes[from];

    if (more->batch.weight == 0) {
        return;
    }
    if (more->batch.count != 0) {
        assert(takes(&node->batch, &more->batch));
        add_batch(&node->batch, &more->batch);
    }
    node->min_ns = more->min_ns < node->min_ns ? more->min_ns : node->min_ns;
    node->max_ns = more->max_ns > node->max_ns ? more->max_ns : node->max_ns;
    if (more->retired != 0) {
        const struct cpti_retired *old = &other->retired[more->retired];
        const struct cpti_totals totals = {old->self,  old->inclusive, old->weight,
                                           old->count, more->min_ns,   more->max_ns};

        cpti_node_add_wide(tree, index, &totals);
    }
    cpti_histogram_merge(&node->histogram, &more->histogram, more->batch.weight);
}

/* --- Totals --- */

struct cpti_totals cpti_node_totals(const struct cpt_tree *tree, uint32_t index)
{
    const struct cpti_node *node = &tree->nodes[index];
    struct cpti_totals totals = multiplied(&node->batch);

    if (node->retired != 0) {
        const struct cpti_retired *retired = &tree->retired[node->retired];

        add_sums(&totals.self, &retired->self);
        add_sums(&totals.inclusive, &retired->inclusive);
        totals.present_weight += retired->weight;
        totals.present_count += retired->count;
    }
    totals.min_ns = totals.present_count != 0 ? node->min_ns : 0;
    totals.max_ns = node->max_ns;
    return totals;
}

struct cpti_wide cpti_node_self_wx(const struct cpt_tree *tree, uint32_t index)
{
    const struct cpti_node *node = &tree->nodes[index];
    struct cpti_wide wx =
        cpti_wide_of((cpti_u128)node->batch.weight * node->batch.self_ns);

    if (node->retired != 0) {
        cpti_wide_add(&wx, &tree->retired[node->retired].self.wx);
    }
    return wx;
}

struct cpti_wide cpti_node_inclusive_wx(const struct cpt_tree *tree, uint32_t index)
{
    const struct cpti_node *node = &tree->nodes[index];
    struct cpti_wide wx =
        cpti_wide_of((cpti_u128)node->batch.weight * node->batch.inclusive_ns);

    if (node->retired != 0) {
        cpti_wide_add(&wx, &tree->retired[node->retired].inclusive.wx);
    }
    return wx;
}

cpti_u128 cpti_node_weight(const struct cpt_tree *tree, uint32_t index)
{
    const struct cpti_node *node = &tree->nodes[index];

    return (cpti_u128)node->batch.weight * node->batch.count +
           (node->retired != 0 ? tree->retired[node->retired].weight : 0);
}

uint64_t cpti_node_count(const struct cpt_tree *tree, uint32_t index)
{
    const struct cpti_node *node = &tree->nodes[index];

    return node->batch.count +
           (node->retired != 0 ? tree->retired[node->retired].count : 0);
}
