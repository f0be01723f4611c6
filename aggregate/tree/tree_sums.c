/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tree_sums.c - the sums that a node keeps of its requests
 *
 * A tree of many stacks is mostly nodes, and adding a request is mostly adding to them.
 * While all requests of a node weigh the same, Σx in 64, Σx² and Σx³ in 128 bits
 * suffice:
 *
 *      batch     Σx  Σx²  Σx³  requests, one weight       96 bytes
 *         |
 *         |  another weight or a very long time is added, or a sum could overflow
 *         v
 *      retired   Σwx  Σw²x  Σw²x²  Σw³x  in 256 bits,
 *                Σw³x²  Σw³x³  in 384 bits              512 bytes, only then
 *
 * The totals of a node are always retired + batch × weight. They are exact, so they do
 * not depend, in any bit, on when or whether a batch was retired.
 *
 * Functions that reserve can fail; they change how the sums are kept, never the totals.
 * Functions that add cannot fail.
 */
#include "aggregate/tree/tree_node.h"

#include <assert.h>

static void add_sums(struct cpti_node_sums *sums, const struct cpti_node_sums *more)
{
    cpti_wide_add(&sums->wx, &more->wx);
    cpti_wide_add(&sums->wwx, &more->wwx);
    cpti_wide_add(&sums->wwxx, &more->wwxx);
    cpti_wide_add(&sums->wwwx, &more->wwwx);
    cpti_wider_add(&sums->wwwxx, &more->wwwxx);
    cpti_wider_add(&sums->wwwxxx, &more->wwwxxx);
}

void cpti_sums_cube(struct cpti_node_sums *sums, const struct cpti_wide *cubes,
                    cpt_weight weight)
{
    const struct cpti_wider wxxx = cpti_wider_times(cpti_wider_of(cubes), weight);

    sums->wwwx = cpti_wide_times(sums->wwx, weight);
    sums->wwwxx = cpti_wider_times(cpti_wider_of(&sums->wwxx), weight);
    sums->wwwxxx = cpti_wider_times(cpti_wider_times(wxxx, weight), weight);
}

/* --- Retiring --- */

static bool is_unused(const struct cpt_tree *tree, uint32_t index)
{
    const struct cpti_node *node = &tree->nodes[index];

    return node->batch.count == 0 && tree->stacks[index].retired == 0 &&
           node->histogram.count == 0;
}

static struct cpti_node_sums multiplied(cpt_weight weight, uint64_t time_ns,
                                        cpti_u128 squares)
{
    const cpti_u128 squared = (cpti_u128)weight * weight;

    return (struct cpti_node_sums){.wx = cpti_wide_product(weight, time_ns),
                                   .wwx = cpti_wide_product(squared, time_ns),
                                   .wwxx = cpti_wide_product(squared, squares)};
}

/* The sums of @batch, multiplied by its weight, without those that have w³. */
static struct cpti_totals totals_of(const struct cpti_batch *batch)
{
    const cpt_weight weight = batch->weight;

    return (struct cpti_totals){
        .self = multiplied(weight, batch->self_ns, batch->self_squares),
        .inclusive = multiplied(weight, batch->inclusive_ns, batch->inclusive_squares),
        .present_squared = cpti_wide_product((cpti_u128)weight * weight, batch->count),
        .present_weight = (cpti_u128)weight * batch->count,
        .present_count = batch->count};
}

/* Adds those. */
static void cube_totals(struct cpti_totals *totals, const struct cpti_batch *batch)
{
    const struct cpti_wide self = cpti_wide_of(batch->self_cubes);
    const struct cpti_wide inclusive = cpti_wide_of(batch->inclusive_cubes);

    cpti_sums_cube(&totals->self, &self, batch->weight);
    cpti_sums_cube(&totals->inclusive, &inclusive, batch->weight);
}

cpt_status cpti_node_reserve_wide(struct cpt_tree *tree, uint32_t index)
{
    struct cpti_stack *stack = &tree->stacks[index];
    cpt_status status = CPT_OK;

    if (stack->retired != 0) {
        return CPT_OK;
    }
    if (tree->retired_free != 0) {
        stack->retired = tree->retired_free;
        tree->retired_free = (uint32_t)tree->retired[stack->retired].count;
    } else {
        status = cpt_alloc_grow(tree->alloc, (void **)&tree->retired,
                                &tree->retired_capacity, tree->retired_count + 2,
                                (size_t)CPT_TREE_NODES_MAX + 2, sizeof *tree->retired);
        if (status != CPT_OK) {
            return CPT_NO_MEMORY;
        }
        stack->retired = (uint32_t)++tree->retired_count;
    }
    tree->retired[stack->retired] = (struct cpti_retired){0};
    return CPT_OK;
}

void cpti_node_deinit(struct cpt_tree *tree, uint32_t index)
{
    const uint32_t retired = tree->stacks[index].retired;

    if (!tree->is_bare) {
        cpti_histogram_deinit(&tree->nodes[index].histogram, tree->alloc);
    }
    if (retired != 0) {
        tree->retired[retired].count = tree->retired_free;
        tree->retired_free = retired;
    }
}

void cpti_node_add_wide(struct cpt_tree *tree, uint32_t index,
                        const struct cpti_totals *totals)
{
    struct cpti_node *node = &tree->nodes[index];
    struct cpti_retired *retired = &tree->retired[tree->stacks[index].retired];

    assert(tree->stacks[index].retired != 0);
    add_sums(&retired->self, &totals->self);
    add_sums(&retired->inclusive, &totals->inclusive);
    cpti_wide_add(&retired->squared, &totals->present_squared);
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
        totals = totals_of(&node->batch);
        cube_totals(&totals, &node->batch);
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
    const struct cpti_wide cubed = cpti_wide_times(squared, weight);

    if (tree->request_count == 0 || weight < tree->weight_min) {
        tree->weight_min = weight;
    }
    if (weight > tree->weight_max) {
        tree->weight_max = weight;
    }
    tree->request_count += count;
    tree->weight += (cpti_u128)weight * count;
    cpti_wide_add(&tree->weight_squared, &squared);
    cpti_wide_add(&tree->weight_cubed, &cubed);
}

/* --- One request --- */

/* Whether the sums have room for one more request of a time that a batch takes. */
static inline bool has_headroom(const struct cpti_batch *batch)
{
    return batch->inclusive_ns <= UINT64_MAX - CPTI_BATCH_TIME_MAX &&
           (uint64_t)((batch->inclusive_squares | batch->inclusive_cubes) >> 64) <=
               UINT64_MAX / 2;
}

static inline uint32_t guess_of(const struct cpti_node *node, uint32_t bucket)
{
    return cpti_histogram_guess(&node->histogram, bucket, node->min_ns, node->max_ns);
}

cpt_status cpti_node_reserve(struct cpt_tree *tree, uint32_t index, cpt_weight weight,
                             uint64_t inclusive_ns, uint16_t *near)
{
    struct cpti_node *node = &tree->nodes[index];
    const uint32_t bucket = cpti_histogram_index(inclusive_ns);

    if (node->batch.weight != weight || !has_headroom(&node->batch)) {
        const cpt_status status = retire(tree, index, weight);

        if (status != CPT_OK) {
            return status;
        }
    }
    if (inclusive_ns > CPTI_BATCH_TIME_MAX &&
        cpti_node_reserve_wide(tree, index) != CPT_OK) {
        return CPT_NO_MEMORY;
    }
    *near = (uint16_t)guess_of(node, bucket);
    if (!cpti_histogram_has_room(&node->histogram, bucket)) {
        return cpti_histogram_reserve(&node->histogram, tree->alloc, 1);
    }
    cpti_histogram_fetch(&node->histogram, *near);
    return CPT_OK;
}

/* One request whose cube is too large for the batch. */
static void add_long(struct cpt_tree *tree, uint32_t index, uint64_t self_ns,
                     uint64_t inclusive_ns)
{
    const cpt_weight weight = tree->nodes[index].batch.weight;
    const cpti_u128 self = (cpti_u128)self_ns * self_ns;
    const cpti_u128 inclusive = (cpti_u128)inclusive_ns * inclusive_ns;
    const struct cpti_wide self_cube = cpti_wide_product(self, self_ns);
    const struct cpti_wide inclusive_cube = cpti_wide_product(inclusive, inclusive_ns);
    struct cpti_totals totals = {
        .self = multiplied(weight, self_ns, self),
        .inclusive = multiplied(weight, inclusive_ns, inclusive),
        .present_squared = cpti_wide_of((cpti_u128)weight * weight),
        .present_weight = weight,
        .present_count = 1,
        .min_ns = inclusive_ns,
        .max_ns = inclusive_ns};

    cpti_sums_cube(&totals.self, &self_cube, weight);
    cpti_sums_cube(&totals.inclusive, &inclusive_cube, weight);
    cpti_node_add_wide(tree, index, &totals);
}

static inline void add_to_batch(struct cpti_batch *batch, uint64_t self_ns,
                                uint64_t inclusive_ns)
{
    const cpti_u128 self = (cpti_u128)self_ns * self_ns;
    const cpti_u128 inclusive = (cpti_u128)inclusive_ns * inclusive_ns;

    batch->self_ns += self_ns;
    batch->self_squares += self;
    batch->self_cubes += self * self_ns;
    batch->inclusive_ns += inclusive_ns;
    batch->inclusive_squares += inclusive;
    batch->inclusive_cubes += inclusive * inclusive_ns;
    batch->count++;
}

void cpti_node_add(struct cpt_tree *tree, uint32_t index, uint64_t self_ns,
                   uint64_t inclusive_ns, uint32_t near)
{
    struct cpti_node *node = &tree->nodes[index];
    const struct cpti_batch *batch = &node->batch;
    const uint32_t bucket = cpti_histogram_index(inclusive_ns);

    if (inclusive_ns > CPTI_BATCH_TIME_MAX) {
        add_long(tree, index, self_ns, inclusive_ns);
    } else {
        add_to_batch(&node->batch, self_ns, inclusive_ns);
    }
    cpti_histogram_add_near(&node->histogram, bucket, batch->weight, near);
    node->min_ns = inclusive_ns < node->min_ns ? inclusive_ns : node->min_ns;
    node->max_ns = inclusive_ns > node->max_ns ? inclusive_ns : node->max_ns;
}

/* --- Many requests of one weight --- */

static bool takes(const struct cpti_batch *batch, const struct cpti_batch *more)
{
    cpti_u128 sum = 0;
    uint64_t time_ns = 0;

    return batch->weight == more->weight &&
           !__builtin_add_overflow(batch->self_squares, more->self_squares, &sum) &&
           !__builtin_add_overflow(batch->inclusive_squares, more->inclusive_squares,
                                   &sum) &&
           !__builtin_add_overflow(batch->self_cubes, more->self_cubes, &sum) &&
           !__builtin_add_overflow(batch->inclusive_cubes, more->inclusive_cubes,
                                   &sum) &&
           !__builtin_add_overflow(batch->self_ns, more->self_ns, &time_ns) &&
           !__builtin_add_overflow(batch->inclusive_ns, more->inclusive_ns, &time_ns);
}

static void add_batch(struct cpti_batch *batch, const struct cpti_batch *more)
{
    batch->self_ns += more->self_ns;
    batch->self_squares += more->self_squares;
    batch->self_cubes += more->self_cubes;
    batch->inclusive_ns += more->inclusive_ns;
    batch->inclusive_squares += more->inclusive_squares;
    batch->inclusive_cubes += more->inclusive_cubes;
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
    cpti_histogram_add(&node->histogram, cpti_histogram_index(low_ns), batch->weight,
                       batch->count);
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
    const struct cpti_node *more = cpti_node_at(other, from);
    const uint32_t more_retired = other->stacks[from].retired;

    if (more->batch.weight == 0) {
        return CPT_OK; /* it has no requests */
    }
    if (is_unused(tree, index)) {
        node->batch.weight = more->batch.weight;
    } else if (more->batch.count != 0 && !takes(&node->batch, &more->batch) &&
               retire(tree, index, more->batch.weight) != CPT_OK) {
        return CPT_NO_MEMORY;
    }
    if ((more_retired != 0 && cpti_node_reserve_wide(tree, index) != CPT_OK) ||
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
    const struct cpti_node *more = cpti_node_at(other, from);
    const uint32_t more_retired = other->stacks[from].retired;

    if (more->batch.weight == 0) {
        return;
    }
    if (more->batch.count != 0) {
        assert(takes(&node->batch, &more->batch));
        add_batch(&node->batch, &more->batch);
    }
    node->min_ns = more->min_ns < node->min_ns ? more->min_ns : node->min_ns;
    node->max_ns = more->max_ns > node->max_ns ? more->max_ns : node->max_ns;
    if (more_retired != 0) {
        const struct cpti_retired *old = &other->retired[more_retired];
        const struct cpti_totals totals = {old->self,   old->inclusive, old->squared,
                                           old->weight, old->count,     more->min_ns,
                                           more->max_ns};

        cpti_node_add_wide(tree, index, &totals);
    }
    cpti_histogram_merge(&node->histogram, &more->histogram, more->batch.weight);
}

/* --- Totals --- */

struct cpti_totals cpti_node_totals(const struct cpt_tree *tree, uint32_t index,
                                    bool has_cubes)
{
    const struct cpti_node *node = cpti_node_at(tree, index);
    const uint32_t own = tree->stacks[index].retired;
    struct cpti_totals totals = totals_of(&node->batch);

    if (has_cubes) {
        cube_totals(&totals, &node->batch);
    }
    if (own != 0) {
        const struct cpti_retired *retired = &tree->retired[own];

        add_sums(&totals.self, &retired->self);
        add_sums(&totals.inclusive, &retired->inclusive);
        cpti_wide_add(&totals.present_squared, &retired->squared);
        totals.present_weight += retired->weight;
        totals.present_count += retired->count;
    }
    totals.min_ns = totals.present_count != 0 ? node->min_ns : 0;
    totals.max_ns = node->max_ns;
    return totals;
}

struct cpti_wide cpti_node_self_wx(const struct cpt_tree *tree, uint32_t index)
{
    const struct cpti_node *node = cpti_node_at(tree, index);
    const uint32_t own = tree->stacks[index].retired;
    struct cpti_wide wx =
        cpti_wide_of((cpti_u128)node->batch.weight * node->batch.self_ns);

    if (own != 0) {
        cpti_wide_add(&wx, &tree->retired[own].self.wx);
    }
    return wx;
}

struct cpti_wide cpti_node_inclusive_wx(const struct cpt_tree *tree, uint32_t index)
{
    const struct cpti_node *node = cpti_node_at(tree, index);
    const uint32_t own = tree->stacks[index].retired;
    struct cpti_wide wx =
        cpti_wide_of((cpti_u128)node->batch.weight * node->batch.inclusive_ns);

    if (own != 0) {
        cpti_wide_add(&wx, &tree->retired[own].inclusive.wx);
    }
    return wx;
}

cpti_u128 cpti_node_weight(const struct cpt_tree *tree, uint32_t index)
{
    const struct cpti_node *node = cpti_node_at(tree, index);
    const uint32_t own = tree->stacks[index].retired;

    return (cpti_u128)node->batch.weight * node->batch.count +
           (own != 0 ? tree->retired[own].weight : 0);
}

uint64_t cpti_node_count(const struct cpt_tree *tree, uint32_t index)
{
    const struct cpti_node *node = cpti_node_at(tree, index);
    const uint32_t own = tree->stacks[index].retired;

    return node->batch.count + (own != 0 ? tree->retired[own].count : 0);
}

/* @wwwxxx / @weight³, which is a whole number of at most 256 bits. */
static struct cpti_wide divided(struct cpti_wider wwwxxx, cpt_weight weight)
{
    struct cpti_wide cubes = {{0}};

    for (int i = 0; i < 3; i++) {
        (void)cpti_wider_reduce(&wwwxxx, weight);
    }
    for (size_t i = 0; i < CPTI_WIDE_LIMBS; i++) {
        cubes.limb[i] = wwwxxx.limb[i];
    }
    return cubes;
}

void cpti_node_cubes(const struct cpt_tree *tree, uint32_t index,
                     struct cpti_wide *self, struct cpti_wide *inclusive)
{
    const struct cpti_node *node = cpti_node_at(tree, index);
    const uint32_t own = tree->stacks[index].retired;

    *self = cpti_wide_of(node->batch.self_cubes);
    *inclusive = cpti_wide_of(node->batch.inclusive_cubes);
    if (own != 0 && tree->weight_min != 0) {
        const struct cpti_retired *retired = &tree->retired[own];
        const struct cpti_wide old_self =
            divided(retired->self.wwwxxx, tree->weight_min);
        const struct cpti_wide old_inclusive =
            divided(retired->inclusive.wwwxxx, tree->weight_min);

        cpti_wide_add(self, &old_self);
        cpti_wide_add(inclusive, &old_inclusive);
    }
}
