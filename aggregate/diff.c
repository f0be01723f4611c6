/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * diff.c - which stacks changed between two samples
 *
 * Both trees are laid over each other: their stacks go into a third tree, which has no
 * sums but gives every stack one number, its parent and its texts. Each row then takes
 * its two means, which are independent, so their variances add:
 *
 *      error² = e_base² + e_new²
 *      degrees = error⁴ / (e_base⁴ / (n_base - 1) + e_new⁴ / (n_new - 1))
 *
 * with e the standard error of a mean and n the effective sample size; a stack that a
 * tree lacks has mean 0 and error 0 there. Not here: the choice of what is significant
 * among many rows.
 *
 * Cost: O(n log n) for n stacks, and an inverse of Student's distribution for each.
 */
#include "aggregate/cpt_diff.h"

#include "aggregate/tree_node.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct cpt_diff {
    const struct cpt_alloc *alloc;
    struct cpt_tree *stacks;
    struct cpt_diff_row total;
    struct cpt_diff_row *rows;
    uint32_t row_count;
};

/* --- One row --- */

static double degrees_of(const struct cpt_mean *base, const struct cpt_mean *other)
{
    const double b = base->error_ns * base->error_ns;
    const double o = other->error_ns * other->error_ns;
    double below = 0;

    /* as shares of the larger, so that no fourth power overflows or vanishes */
    const double scale = b > o ? b : o;
    const double bs = scale > 0 ? b / scale : 0;
    const double os = scale > 0 ? o / scale : 0;

    if (bs > 0) {
        below += bs * bs / (base->effective_count - 1);
    }
    if (os > 0) {
        below += os * os / (other->effective_count - 1);
    }
    return below > 0 ? (bs + os) * (bs + os) / below : INFINITY;
}

static struct cpt_change change_of(const struct cpt_mean *base,
                                   const struct cpt_mean *other, double confidence)
{
    struct cpt_change change = {.base_ns = base->mean_ns,
                                .new_ns = other->mean_ns,
                                .delta_ns = other->mean_ns - base->mean_ns,
                                .error_ns = hypot(base->error_ns, other->error_ns)};
    double half = INFINITY;

    if (!isfinite(change.error_ns) || base->effective_count <= 1 ||
        other->effective_count <= 1) {
        change.degrees = 0;
        change.p_value = 1;
    } else if (change.error_ns == 0) {
        half = 0;
        change.degrees = INFINITY;
        change.p_value = change.delta_ns == 0 ? 1 : 0;
    } else {
        change.degrees = degrees_of(base, other);
        half = change.error_ns *
               cpt_student_quantile(0.5 + confidence / 2, change.degrees);
        change.p_value = 2 * cpt_student_cdf(-fabs(change.delta_ns) / change.error_ns,
                                             change.degrees);
    }
    change.low_ns = change.delta_ns - half;
    change.high_ns = change.delta_ns + half;
    return change;
}

/* The statistics of a stack that no request of @tree had. */
static struct cpt_stats absent(const struct cpt_tree *tree)
{
    struct cpt_stats stats = cpt_stats_of(tree, CPT_TREE_ROOT);
    const struct cpt_mean zero = {.effective_count = stats.inclusive.effective_count,
                                  .error_ns =
                                      cpt_tree_request_count(tree) < 2 ? INFINITY : 0};

    return (struct cpt_stats){.self = zero, .inclusive = zero, .is_rare = 1};
}

static struct cpt_diff_row row_of(uint32_t node, const struct cpt_stats *base,
                                  const struct cpt_stats *other, double confidence)
{
    return (struct cpt_diff_row){
        .node = node,
        .self = change_of(&base->self, &other->self, confidence),
        .inclusive = change_of(&base->inclusive, &other->inclusive, confidence),
        .base_presence = base->presence,
        .new_presence = other->presence,
        .base_present_count = base->present_count,
        .new_present_count = other->present_count,
        .is_rare = base->is_rare && other->is_rare,
    };
}

/* --- All rows --- */

/* Adds the stacks of @tree; map[n] is the node of @tree for node n of @stacks, or
 * CPT_TREE_NONE. */
static cpt_status lay_over(struct cpt_tree *stacks, const struct cpt_tree *tree,
                           uint32_t *map, uint32_t *to_stacks)
{
    cpt_status status = CPT_OK;

    to_stacks[CPT_TREE_ROOT] = CPT_TREE_ROOT;
    map[CPT_TREE_ROOT] = CPT_TREE_ROOT;
    for (uint32_t i = 1; i < tree->node_count && status == CPT_OK; i++) {
        const struct cpti_node *node = &tree->nodes[i];

        status = cpti_tree_child(stacks, to_stacks[node->parent],
                                 cpt_tree_name(tree, i), node->kind, &to_stacks[i]);
        if (status == CPT_OK) {
            map[to_stacks[i]] = i;
        }
    }
    return status;
}

/* A row on its way to its place. */
struct placed {
    struct cpt_diff_row row;
    uint32_t place; /* among the stacks in their order */
};

static int by_difference(const void *left, const void *right)
{
    const struct placed *a = left;
    const struct placed *b = right;
    const double a_size = fabs(a->row.self.delta_ns);
    const double b_size = fabs(b->row.self.delta_ns);

    if (a_size != b_size) {
        return a_size > b_size ? -1 : 1;
    }
    return a->place < b->place ? -1 : 1;
}

static cpt_status make_rows(struct cpt_diff *diff, const struct cpt_tree *base,
                            const struct cpt_tree *other, uint32_t *const maps[2],
                            double confidence)
{
    const struct cpt_stats absent_base = absent(base);
    const struct cpt_stats absent_other = absent(other);
    struct cpt_tree_walk *walk =
        cpt_tree_walk_new(diff->alloc, diff->stacks, CPT_TREE_BY_NAME);
    struct placed *placed =
        cpt_alloc_array(diff->alloc, NULL, diff->stacks->node_count, sizeof *placed);
    const cpt_status status = walk == NULL || placed == NULL ? CPT_NO_MEMORY : CPT_OK;

    for (uint32_t i = 0; status == CPT_OK && i < cpt_tree_walk_count(walk); i++) {
        const uint32_t node = cpt_tree_walk_row(walk, i)->node;
        const struct cpt_stats in_base = maps[0][node] == CPT_TREE_NONE
                                             ? absent_base
                                             : cpt_stats_of(base, maps[0][node]);
        const struct cpt_stats in_other = maps[1][node] == CPT_TREE_NONE
                                              ? absent_other
                                              : cpt_stats_of(other, maps[1][node]);

        placed[i] = (struct placed){row_of(node, &in_base, &in_other, confidence), i};
    }
    if (status == CPT_OK) {
        diff->total = placed[0].row;
        diff->row_count = cpt_tree_walk_count(walk) - 1;
        qsort(placed + 1, diff->row_count, sizeof *placed, by_difference);
        for (uint32_t i = 0; i < diff->row_count; i++) {
            diff->rows[i] = placed[i + 1].row;
        }
    }
    cpt_tree_walk_free(walk);
    cpt_alloc_free(diff->alloc, placed);
    return status;
}

static cpt_status compare(struct cpt_diff *diff, const struct cpt_tree *base,
                          const struct cpt_tree *other, double confidence)
{
    /* the union has at most the nodes of both */
    const size_t node_count = base->node_count + other->node_count;
    const size_t larger =
        base->node_count > other->node_count ? base->node_count : other->node_count;
    uint32_t *to_stacks = cpt_alloc_array(diff->alloc, NULL, larger, sizeof *to_stacks);
    uint32_t *const maps[2] = {
        cpt_alloc_array(diff->alloc, NULL, node_count, sizeof **maps),
        cpt_alloc_array(diff->alloc, NULL, node_count, sizeof **maps)};
    cpt_status status = CPT_NO_MEMORY;

    if (to_stacks != NULL && maps[0] != NULL && maps[1] != NULL) {
        for (size_t i = 0; i < node_count; i++) {
            maps[0][i] = CPT_TREE_NONE;
            maps[1][i] = CPT_TREE_NONE;
        }
        status = lay_over(diff->stacks, base, maps[0], to_stacks);
        if (status == CPT_OK) {
            status = lay_over(diff->stacks, other, maps[1], to_stacks);
        }
    }
    if (status == CPT_OK) {
        diff->rows = cpt_alloc_array(diff->alloc, NULL, diff->stacks->node_count,
                                     sizeof *diff->rows);
        status = diff->rows == NULL ? CPT_NO_MEMORY
                                    : make_rows(diff, base, other, maps, confidence);
    }
    cpt_alloc_free(diff->alloc, to_stacks);
    cpt_alloc_free(diff->alloc, maps[0]);
    cpt_alloc_free(diff->alloc, maps[1]);
    return status;
}

/* --- Public --- */

static cpt_status check(const struct cpt_tree *base, const struct cpt_tree *other,
                        const struct cpt_diff_options *options, struct cpt_error *error)
{
    if (cpt_tree_request_count(base) == 0 || cpt_tree_request_count(other) == 0) {
        return cpt_error_set(error, CPT_INVALID, 0, "the %s side has no requests",
                             cpt_tree_request_count(base) == 0 ? "base" : "new");
    }
    if (!(options->confidence > 0 && options->confidence < 1)) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "the confidence is %g, it has to be between 0 and 1",
                             options->confidence);
    }
    return CPT_OK;
}

cpt_status cpt_diff_new(const struct cpt_alloc *alloc, const struct cpt_tree *base,
                        const struct cpt_tree *new_tree,
                        const struct cpt_diff_options *options, struct cpt_diff **diff,
                        struct cpt_error *error)
{
    const struct cpt_tree_options stacks = {.struct_bytes = sizeof stacks,
                                            .nodes_max = CPT_TREE_NODES_MAX};
    struct cpt_diff_options own;
    struct cpt_diff *made = NULL;
    cpt_status status = cpt_options_read(&own, sizeof own, options, error);

    if (status != CPT_OK) {
        return status;
    }
    if (own.confidence == 0) {
        own.confidence = 0.95;
    }
    status = check(base, new_tree, &own, error);
    if (status != CPT_OK) {
        return status;
    }
    made = cpt_alloc_zeroed(alloc, sizeof *made);
    if (made == NULL) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
    }
    made->alloc = alloc;
    made->stacks = cpt_tree_new(alloc, &stacks);
    status = made->stacks == NULL ? CPT_NO_MEMORY
                                  : compare(made, base, new_tree, own.confidence);
    if (status != CPT_OK) {
        cpt_diff_free(made);
        return cpt_error_set(error, status, 0, "%s", cpt_status_sentence(status));
    }
    *diff = made;
    return CPT_OK;
}

void cpt_diff_free(struct cpt_diff *diff)
{
    if (diff == NULL) {
        return;
    }
    cpt_tree_free(diff->stacks);
    cpt_alloc_free(diff->alloc, diff->rows);
    cpt_alloc_free(diff->alloc, diff);
}

uint32_t cpt_diff_row_count(const struct cpt_diff *diff)
{
    return diff->row_count;
}

const struct cpt_diff_row *cpt_diff_row_at(const struct cpt_diff *diff, uint32_t index)
{
    assert(index < diff->row_count);
    return &diff->rows[index];
}

const struct cpt_diff_row *cpt_diff_total(const struct cpt_diff *diff)
{
    return &diff->total;
}

const struct cpt_tree *cpt_diff_tree(const struct cpt_diff *diff)
{
    return diff->stacks;
}
