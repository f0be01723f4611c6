/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tree_branch.c - the sums of nodes, checked and added up while a tree is read
 *
 * A node's inclusive times are in the bytes only as squares and cubes; the rest is the
 * sum of the nodes below. So each node on the branch collects the sums of the nodes
 * that have ended below it, and is complete when the next node lies elsewhere:
 *
 *      (all)            depth 0   sums of A so far
 *      '- A             depth 1   sums of A1 so far
 *         '- A1         depth 2   sums of A2
 *            |- A2      depth 3   ended
 *            '- B1      depth 3   read last
 *
 * Nearly always all requests weigh the same. Then the sums of a node are divided back
 * into a batch (see tree_sums.c), which is quicker to add and to check.
 */
#include "aggregate/tree/tree_branch.h"

/* --- Sums of requests that all weigh the same --- */

/* Divides @wide by @divisor; returns the remainder. */
static uint64_t divide(struct cpti_wide *wide, uint64_t divisor)
{
    uint64_t rest = 0;

    for (size_t i = CPTI_WIDE_LIMBS; i-- > 0;) {
        const cpti_u128 part = (cpti_u128)rest << 64 | wide->limb[i];

        if (rest != 0) {
            wide->limb[i] = (uint64_t)(part / divisor);
            rest = (uint64_t)(part % divisor);
        } else if (wide->limb[i] != 0) { /* one machine instruction divides these */
            rest = wide->limb[i] % divisor;
            wide->limb[i] /= divisor;
        }
    }
    return rest;
}

/* Whether @wide is a multiple of @weight with a quotient of at most 64 bits, which is
 * then in @time_ns. */
static bool is_time(struct cpti_wide wide, cpt_weight weight, uint64_t *time_ns)
{
    if (divide(&wide, weight) != 0 || cpti_wide_bits(&wide) > 64) {
        return false;
    }
    *time_ns = wide.limb[0];
    return true;
}

/* The same for the square of @weight and 128 bits. */
static bool is_square(struct cpti_wide wide, cpt_weight weight, cpti_u128 *squares)
{
    if (divide(&wide, weight) != 0 || divide(&wide, weight) != 0 ||
        (wide.limb[2] | wide.limb[3]) != 0) {
        return false;
    }
    *squares = (cpti_u128)wide.limb[1] << 64 | wide.limb[0];
    return true;
}

/* Whether the cubes of a node fit a batch; then @batch has them. */
static bool take_cubes(const struct cpti_branch_node *node, struct cpti_batch *batch)
{
    const uint64_t *self = node->self_cubes.limb;
    const uint64_t *inclusive = node->inclusive_cubes.limb;

    batch->self_cubes = (cpti_u128)self[1] << 64 | self[0];
    batch->inclusive_cubes = (cpti_u128)inclusive[1] << 64 | inclusive[0];
    return (self[2] | self[3] | inclusive[2] | inclusive[3]) == 0;
}

/* Whether the cubes of a batch are within the bounds of cubes_fit(). */
static bool batch_cubes_fit(const struct cpti_batch *batch,
                            const struct cpti_totals *totals)
{
    const cpti_u128 min_ns = totals->min_ns;
    const cpti_u128 max_ns = totals->max_ns;
    cpti_u128 bound = 0;

    return (__builtin_mul_overflow(batch->self_squares, max_ns, &bound) ||
            batch->self_cubes <= bound) &&
           (__builtin_mul_overflow(batch->inclusive_squares, max_ns, &bound) ||
            batch->inclusive_cubes <= bound) &&
           !__builtin_mul_overflow(batch->inclusive_squares, min_ns, &bound) &&
           batch->inclusive_cubes >= bound &&
           batch->self_cubes >= batch->self_squares &&
           batch->inclusive_cubes >= batch->inclusive_squares &&
           batch->self_cubes <= batch->inclusive_cubes;
}

/* Whether all requests of a node have one weight, their sums fit a batch, and these are
 * within the bounds of sums_fit() and cubes_fit(). @batch then has them, except for the
 * inclusive times of the nodes below. */
static bool take_batch(const struct cpt_tree *tree, const struct cpti_branch_node *node,
                       bool is_root, struct cpti_batch *batch)
{
    const struct cpti_totals *totals = &node->totals;
    const cpt_weight weight = tree->weight_min;
    const cpti_u128 max_ns = totals->max_ns;
    const struct cpti_wide *wwx = &totals->self.wwx;
    struct cpti_wide wwx_wanted;
    cpti_u128 most = 0;

    *batch = (struct cpti_batch){.count = totals->present_count, .weight = weight};
    if (weight != tree->weight_max || weight == 0 ||
        !is_time(totals->self.wx, weight, &batch->self_ns) ||
        !is_square(totals->self.wwxx, weight, &batch->self_squares) ||
        !is_square(totals->inclusive.wwxx, weight, &batch->inclusive_squares) ||
        !take_cubes(node, batch)) {
        return false;
    }
    batch->inclusive_ns = batch->self_ns;
    wwx_wanted = cpti_wide_times(totals->self.wx, weight);
    return cpti_wide_compare(&wwx_wanted, wwx) == 0 &&
           batch->self_ns <= (is_root ? 0 : batch->count * max_ns) &&
           batch->self_squares <= batch->self_ns * max_ns &&
           batch->self_squares <= batch->inclusive_squares &&
           (__builtin_mul_overflow(max_ns * max_ns, (cpti_u128)tree->request_count,
                                   &most) ||
            batch->inclusive_squares <= most) &&
           (tree->lacks_cubes || batch_cubes_fit(batch, totals));
}

/* --- Sums of any requests --- */

static bool sums_fit(const struct cpt_tree *tree, const struct cpti_totals *totals,
                     bool is_root)
{
    const struct cpti_wide weight = cpti_wide_of(totals->present_weight);
    const struct cpti_wide squared =
        cpti_wide_times(tree->weight_squared, totals->max_ns);

    return cpti_wide_is_between(&totals->self.wx, &weight, 0,
                                is_root ? 0 : totals->max_ns) &&
           cpti_wide_is_between(&totals->self.wwx, &totals->self.wx, tree->weight_min,
                                tree->weight_max) &&
           cpti_wide_is_between(&totals->self.wwxx, &totals->self.wwx, 0,
                                is_root ? 0 : totals->max_ns) &&
           cpti_wide_compare(&totals->self.wwxx, &totals->inclusive.wwxx) <= 0 &&
           cpti_wide_is_between(&totals->inclusive.wwxx, &squared, 0, totals->max_ns);
}

/* Whether the sums with w³ are possible, beside those that sums_fit() has checked. As
 * times are whole numbers, no sum of squares exceeds that of cubes. */
static bool cubes_fit(const struct cpt_tree *tree, const struct cpti_totals *totals,
                      bool is_root)
{
    const int squared =
        cpti_wide_compare(&totals->present_squared, &tree->weight_squared);
    const struct cpti_node_sums *self = &totals->self;
    const struct cpti_node_sums *inclusive = &totals->inclusive;
    const struct cpti_wide weight = cpti_wide_of(totals->present_weight);
    const struct cpti_wider self_wwxx = cpti_wider_of(&self->wwxx);
    const struct cpti_wider inclusive_wwxx = cpti_wider_of(&inclusive->wwxx);
    const uint64_t low = tree->weight_min;
    const uint64_t high = tree->weight_max;

    return cpti_wide_is_between(&totals->present_squared, &weight, low, high) &&
           (is_root ? squared == 0 : squared <= 0) &&
           cpti_wide_is_between(&self->wwwx, &self->wwx, low, high) &&
           cpti_wider_is_between(&self->wwwxx, &self_wwxx, low, high) &&
           cpti_wider_is_between(&self->wwwxxx, &self->wwwxx, 1, totals->max_ns) &&
           cpti_wider_is_between(&inclusive->wwwxx, &inclusive_wwxx, low, high) &&
           cpti_wider_is_between(&inclusive->wwwxxx, &inclusive->wwwxx,
                                 totals->min_ns != 0 ? totals->min_ns : 1,
                                 totals->max_ns) &&
           cpti_wider_compare(&self->wwwxx, &inclusive->wwwxx) <= 0 &&
           cpti_wider_compare(&self->wwwxxx, &inclusive->wwwxxx) <= 0;
}

/* Sets the sums with w³ if all requests weigh the same. Whether they fit. */
static bool multiply_cubes(const struct cpt_tree *tree, struct cpti_branch_node *node)
{
    enum { CUBES_BITS = 3 * 56 + 48 };

    struct cpti_totals *totals = &node->totals;
    const cpt_weight weight = tree->weight_min;

    if (weight != tree->weight_max) {
        return true;
    }
    totals->present_squared =
        cpti_wide_times(cpti_wide_of(totals->present_weight), weight);
    cpti_sums_cube(&totals->self, &node->self_cubes, weight);
    cpti_sums_cube(&totals->inclusive, &node->inclusive_cubes, weight);
    return cpti_wide_bits(&node->self_cubes) <= CUBES_BITS &&
           cpti_wide_bits(&node->inclusive_cubes) <= CUBES_BITS;
}

bool cpti_extremes_fit(const struct cpti_histogram *histogram,
                       const struct cpti_totals *totals, bool is_root)
{
    if (histogram->count == 0) {
        return totals->min_ns == 0 && totals->max_ns == 0;
    }
    return cpti_histogram_bucket(histogram, 0, 1).index ==
               cpti_histogram_index(totals->min_ns) &&
           cpti_histogram_bucket(histogram, histogram->count - 1U, 1).index ==
               cpti_histogram_index(totals->max_ns) &&
           (is_root || totals->min_ns != 0);
}

bool cpti_branch_node_init(const struct cpt_tree *tree, struct cpti_branch_node *last)
{
    const bool is_root = last->node == CPT_TREE_ROOT;

    last->is_batch = take_batch(tree, last, is_root, &last->batch);
    if (last->is_batch) {
        return true;
    }
    last->batch.inclusive_ns = 0;
    last->totals.inclusive.wx = last->totals.self.wx;
    last->totals.inclusive.wwx = last->totals.self.wwx;
    if (!sums_fit(tree, &last->totals, is_root)) {
        return false;
    }
    if (tree->lacks_cubes) {
        return true;
    }
    if (!multiply_cubes(tree, last)) {
        return false;
    }
    last->totals.inclusive.wwwx = last->totals.self.wwwx;
    return cubes_fit(tree, &last->totals, is_root);
}

/* --- Nodes whose nodes below have all been read --- */

/* Adds the inclusive time in the batch, multiplied out, to the totals. */
static void multiply_out(struct cpti_branch_node *node, cpt_weight weight)
{
    const struct cpti_wide wx = cpti_wide_product(weight, node->batch.inclusive_ns);
    const struct cpti_wide wwx = cpti_wide_times(wx, weight);

    cpti_wide_add(&node->totals.inclusive.wx, &wx);
    cpti_wide_add(&node->totals.inclusive.wwx, &wwx);
    node->batch.inclusive_ns = 0;
    node->is_batch = false;
}

/* Adds the inclusive sums of a node to those of the node above. */
static void add_above(struct cpti_branch_node *above,
                      const struct cpti_branch_node *node, cpt_weight weight)
{
    if (node->is_batch &&
        node->batch.inclusive_ns > UINT64_MAX - above->batch.inclusive_ns) {
        multiply_out(above, weight);
    }
    if (node->is_batch) {
        above->batch.inclusive_ns += node->batch.inclusive_ns;
        return;
    }
    cpti_wide_add(&above->totals.inclusive.wx, &node->totals.inclusive.wx);
    cpti_wide_add(&above->totals.inclusive.wwx, &node->totals.inclusive.wwx);
    cpti_wide_add(&above->totals.inclusive.wwwx, &node->totals.inclusive.wwwx);
    above->is_batch = false;
}

/* Whether the time of a node is what its extremes allow. */
static bool time_fits(const struct cpti_branch_node *node)
{
    const struct cpti_totals *totals = &node->totals;
    const cpti_u128 count = totals->present_count;
    const struct cpti_wide weight = cpti_wide_of(totals->present_weight);

    if (node->is_batch) {
        return count * totals->min_ns <= node->batch.inclusive_ns &&
               node->batch.inclusive_ns <= count * totals->max_ns;
    }
    return cpti_wide_is_between(&totals->inclusive.wx, &weight, totals->min_ns,
                                totals->max_ns);
}

/* Whether a node has a larger Σw² than the one above; equal weights imply it. */
static bool squares_exceed(const struct cpt_tree *tree, const struct cpti_totals *node,
                           const struct cpti_totals *above)
{
    return tree->weight_min != tree->weight_max &&
           cpti_wide_compare(&node->present_squared, &above->present_squared) > 0;
}

/* Stores the sums of a node in the tree. */
static cpt_status store_sums(struct cpt_tree *tree, const struct cpti_branch_node *from)
{
    struct cpti_node *node = &tree->nodes[from->node];

    if (from->totals.present_count == 0) {
        return CPT_OK;
    }
    if (from->is_batch) {
        node->batch = from->batch;
        node->min_ns = from->totals.min_ns;
        node->max_ns = from->totals.max_ns;
        return CPT_OK;
    }
    if (cpti_node_reserve_wide(tree, from->node) != CPT_OK) {
        return CPT_NO_MEMORY;
    }
    cpti_node_add_wide(tree, from->node, &from->totals);
    return CPT_OK;
}

cpt_status cpti_branch_end(struct cpt_tree *tree, struct cpti_branch *branch)
{
    struct cpti_branch_node *last = &branch->nodes[branch->depth];
    const struct cpti_totals *totals = &last->totals;
    struct cpti_branch_node *above = last;

    if (!last->is_batch) {
        multiply_out(last, tree->weight_min);
        (void)multiply_cubes(tree, last);
    }
    if (branch->depth != 0) {
        above = &branch->nodes[--branch->depth];
        add_above(above, last, tree->weight_min);
    }
    if ((!time_fits(last) || totals->present_count > above->totals.present_count ||
         totals->present_weight > above->totals.present_weight ||
         squares_exceed(tree, totals, &above->totals) ||
         totals->max_ns > above->totals.max_ns) &&
        last->node < branch->contradictory) {
        branch->contradictory = last->node;
    }
    return store_sums(tree, last);
}
