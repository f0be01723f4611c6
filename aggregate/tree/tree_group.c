/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tree_group.c - groups of requests whose times were added up elsewhere
 *
 * A database groups rows and returns sums, not requests. If the requests of a group
 * have one weight w, all sums that a node keeps follow from Σx, Σx² and Σx³:
 *
 *      Σwx = w Σx     Σw²x = w² Σx     Σw²x² = w² Σx²     Σw³x³ = w³ Σx³   …
 *
 * and if their inclusive times lie in one bucket, the histogram follows, too. So groups
 * give the same tree as their requests, bit for bit.
 */
#include "aggregate/tree/tree_node.h"

#include <assert.h>

/* Bits of the largest sums of CPT_TREE_REQUESTS_MAX times, squares and cubes. */
enum {
    SUM_BITS = 56 + 48,
    SQUARES_BITS = 2 * 56 + 48,
    CUBES_BITS = 3 * 56 + 48,
    CUBES_LIMBS = 4
};

static struct cpti_wide wide_of(const uint64_t *limbs, size_t count)
{
    struct cpti_wide wide = {{0}};

    for (size_t i = 0; i < count; i++) {
        wide.limb[i] = limbs[i];
    }
    return wide;
}

static struct cpti_node_sums sums_of(const struct cpt_tree_group_sums *from,
                                     const uint64_t *cubes, cpt_weight weight)
{
    const struct cpti_wide wx = cpti_wide_times(wide_of(from->sum, 2), weight);
    const struct cpti_wide wxx = cpti_wide_times(wide_of(from->squares, 3), weight);
    const struct cpti_wide xxx = wide_of(cubes, CUBES_LIMBS);
    struct cpti_node_sums sums = {.wx = wx,
                                  .wwx = cpti_wide_times(wx, weight),
                                  .wwxx = cpti_wide_times(wxx, weight)};

    cpti_sums_cube(&sums, &xxx, weight);
    return sums;
}

static bool sums_are_bounded(const struct cpt_tree_group_sums *sums,
                             const uint64_t *cubes)
{
    const struct cpti_wide sum = wide_of(sums->sum, 2);
    const struct cpti_wide squares = wide_of(sums->squares, 3);
    const struct cpti_wide third = wide_of(cubes, CUBES_LIMBS);

    return cpti_wide_bits(&sum) <= SUM_BITS &&
           cpti_wide_bits(&squares) <= SQUARES_BITS &&
           cpti_wide_bits(&third) <= CUBES_BITS;
}

/* Whether the times have cubes that were not given. */
static bool lacks_cubes(const struct cpt_tree_group_sums *sums, const uint64_t *cubes)
{
    return (sums->sum[0] | sums->sum[1]) != 0 &&
           (cubes[0] | cubes[1] | cubes[2] | cubes[3]) == 0;
}

static bool is_valid(const struct cpt_tree_group *group)
{
    return group->count != 0 && group->weight >= CPT_WEIGHT_ONE &&
           group->weight <= CPT_WEIGHT_MAX && group->min_ns <= group->max_ns &&
           group->max_ns <= CPT_TREE_TIME_MAX &&
           cpti_histogram_index(group->min_ns) == cpti_histogram_index(group->max_ns) &&
           sums_are_bounded(&group->self, group->self_cubes) &&
           sums_are_bounded(&group->inclusive, group->inclusive_cubes);
}

/* Whether the sums are small enough for a batch. */
static bool is_batch(const struct cpt_tree_group *group)
{
    return group->self.sum[1] == 0 && group->inclusive.sum[1] == 0 &&
           (group->self.squares[2] | group->inclusive.squares[2] |
            group->self_cubes[2] | group->self_cubes[3] | group->inclusive_cubes[2] |
            group->inclusive_cubes[3]) == 0;
}

static cpti_u128 low_limbs(const uint64_t *limbs)
{
    return (cpti_u128)limbs[1] << 64 | limbs[0];
}

static cpt_status add_batch(struct cpt_tree *tree, uint32_t node,
                            const struct cpt_tree_group *group)
{
    const struct cpti_batch batch = {
        .self_squares = low_limbs(group->self.squares),
        .inclusive_squares = low_limbs(group->inclusive.squares),
        .self_cubes = low_limbs(group->self_cubes),
        .inclusive_cubes = low_limbs(group->inclusive_cubes),
        .self_ns = group->self.sum[0],
        .inclusive_ns = group->inclusive.sum[0],
        .count = group->count,
        .weight = group->weight};
    const cpt_status status = cpti_node_reserve_batch(tree, node, &batch);

    if (status == CPT_OK) {
        cpti_node_add_batch(&tree->nodes[node], &batch, group->min_ns, group->max_ns);
    }
    return status;
}

/* Adds sums that are too large for a batch; reserving an empty batch makes the node
 * take this weight. */
static cpt_status add_wide(struct cpt_tree *tree, uint32_t node,
                           const struct cpt_tree_group *group)
{
    const struct cpti_batch none = {.weight = group->weight};
    const struct cpti_totals totals = {
        .self = sums_of(&group->self, group->self_cubes, group->weight),
        .inclusive = sums_of(&group->inclusive, group->inclusive_cubes, group->weight),
        .present_squared = cpti_wide_times(
            cpti_wide_of((cpti_u128)group->weight * group->weight), group->count),
        .present_weight = (cpti_u128)group->weight * group->count,
        .present_count = group->count,
        .min_ns = group->min_ns,
        .max_ns = group->max_ns};

    if (cpti_node_reserve_batch(tree, node, &none) != CPT_OK ||
        cpti_node_reserve_wide(tree, node) != CPT_OK) {
        return CPT_NO_MEMORY;
    }
    cpti_node_add_wide(tree, node, &totals);
    cpti_histogram_add(&tree->nodes[node].histogram,
                       cpti_histogram_index(group->min_ns), group->weight,
                       group->count);
    return CPT_OK;
}

uint32_t cpt_tree_bucket(uint64_t time_ns)
{
    return cpti_histogram_index(time_ns);
}

cpt_status cpt_tree_node_add(struct cpt_tree *tree, uint32_t parent,
                             struct cpt_bytes name, unsigned kind, uint32_t *node)
{
    assert(parent < tree->node_count);
    if (name.bytes > CPT_NAME_BYTES_MAX || kind > UINT16_MAX) {
        return CPT_INVALID;
    }
    return cpti_tree_child(tree, parent, name, kind, node);
}

cpt_status cpt_tree_group_add(struct cpt_tree *tree, uint32_t node,
                              const struct cpt_tree_group *group)
{
    cpt_status status = CPT_OK;

    assert(node < tree->node_count);
    if (!is_valid(group)) {
        return CPT_INVALID;
    }
    if (group->count > CPT_TREE_REQUESTS_MAX - cpti_node_count(tree, node)) {
        return CPT_LIMIT;
    }
    status =
        is_batch(group) ? add_batch(tree, node, group) : add_wide(tree, node, group);
    if (status != CPT_OK) {
        return status;
    }
    if (node == CPT_TREE_ROOT) {
        cpti_tree_count(tree, group->weight, group->count);
    }
    if (lacks_cubes(&group->self, group->self_cubes) ||
        lacks_cubes(&group->inclusive, group->inclusive_cubes)) {
        tree->lacks_cubes = true;
    }
    return CPT_OK;
}
