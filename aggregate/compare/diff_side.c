/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * diff_side.c - what one side of a diff says about a stack; see diff_side.h
 *
 * The stacks of all trees go into one bare tree, which gives every stack one number.
 * Each part keeps a map from these numbers to those of its trees; the sums stay there.
 */
#include "aggregate/compare/diff_side.h"

#include "aggregate/compare/change.h"
#include "aggregate/tree/tree_node.h"

#include <math.h>

/* --- A stack --- */

/* The statistics of a stack that no request of @tree had. */
static struct cpt_stats absent(const struct cpt_tree *tree)
{
    const struct cpt_stats stats = cpt_stats_of(tree, CPT_TREE_ROOT);
    const struct cpt_mean zero = {.effective_count = stats.inclusive.effective_count,
                                  .error_ns =
                                      cpt_tree_request_count(tree) < 2 ? INFINITY : 0};

    return (struct cpt_stats){.self = zero, .inclusive = zero, .is_rare = 1};
}

/* The errors of a node by cluster; no cluster has a stack that the sample lacks. */
static struct cpt_cluster_error error_at(const struct cpt_cluster_error *errors,
                                         const uint32_t *map, uint32_t node)
{
    return map[node] == CPT_TREE_NONE ? (struct cpt_cluster_error){0}
                                      : errors[map[node]];
}

/* Replaces the errors of @stats by those of the clusters. */
static void use_clusters(const struct cpti_diff_part *part, uint32_t node,
                         struct cpt_stats *stats)
{
    struct cpt_cluster_error error = error_at(part->errors, part->map, node);

    if (part->inclusive != NULL && node != CPT_TREE_ROOT) {
        const struct cpt_cluster_error inclusive =
            error_at(part->inclusive_errors, part->inclusive_map, node);

        error.inclusive_ns = inclusive.inclusive_ns;
        error.inclusive_skewness = inclusive.inclusive_skewness;
    }
    cpt_clusters_apply(&part->summary, &error, stats);
}

static struct cpt_stats part_stats(const struct cpti_diff_part *part, uint32_t node)
{
    struct cpt_stats stats = part->map[node] == CPT_TREE_NONE
                                 ? part->absent
                                 : cpt_stats_of(part->tree, part->map[node]);

    if (part->inclusive != NULL && node != CPT_TREE_ROOT) {
        const struct cpt_mean self = stats.self;

        stats = part->inclusive_map[node] == CPT_TREE_NONE
                    ? part->absent
                    : cpt_stats_of(part->inclusive, part->inclusive_map[node]);
        stats.self = self;
    }
    if (part->clusters != NULL) {
        use_clusters(part, node, &stats);
    }
    return stats;
}

/* A weighted sum of independent means, while it is added up. */
struct blend {
    double mean_ns;
    double squares; /* Σ share² error² */
    double cubes;   /* Σ share³ error³ skewness */
    double fourths; /* Σ share⁴ error⁴ / (n - 1), for the degrees of freedom */
    double count;   /* Σ n */
};

static void blend_add(struct blend *blend, const struct cpt_mean *mean, double share)
{
    const double square = share * share * mean->error_ns * mean->error_ns;

    blend->mean_ns += share * mean->mean_ns;
    blend->squares += square;
    if (square > 0) {
        blend->cubes += square * share * mean->error_ns * mean->skewness;
        blend->fourths += square * square / (mean->effective_count - 1);
    }
    blend->count += mean->effective_count;
}

static struct cpt_mean blend_mean(const struct blend *blend)
{
    const double degrees = blend->squares * blend->squares / blend->fourths;

    return (struct cpt_mean){
        .mean_ns = blend->mean_ns,
        .error_ns = sqrt(blend->squares),
        .skewness = blend->squares > 0
                        ? blend->cubes / blend->squares / sqrt(blend->squares)
                        : NAN,
        .effective_count =
            blend->fourths > 0 && isfinite(degrees) ? degrees + 1 : blend->count};
}

/*
 * The independent units of @part: requests, or clusters. Of pooled clusters this is an
 * estimate of their number before that. Values fall into G groups at random, so the
 * squares of the groups' weights tell those of the clusters' weights:
 *
 *      E Σ W_g² = (1 - 1/G) Σ W_c² + W²/G        units = W² / Σ W_c²
 *
 * with an error of √(2/(G - 1)), 9 %. A group has the variance of many clusters, which
 * says nothing about a sample of few.
 */
static double units_of(const struct cpti_diff_part *part)
{
    const double requests = part->absent.inclusive.effective_count;
    const double groups = CPT_CLUSTERS_POOLED;
    double rest;

    if (part->clusters == NULL) {
        return requests;
    }
    if (!part->summary.are_pooled) {
        return part->summary.effective_count;
    }
    rest = 1 / part->summary.effective_count - 1 / groups;
    return rest > 0 ? fmax(part->summary.effective_count,
                           fmin(requests, (1 - 1 / groups) / rest))
                    : requests;
}

/* The statistics of a stack in one stratum of both samples. */
static void part_pair(const struct cpti_side *sides, size_t part, uint32_t node,
                      struct cpt_stats pair[2])
{
    double units[2];

    for (size_t i = 0; i < 2; i++) {
        pair[i] = part_stats(&sides[i].parts[part], node);
        units[i] = units_of(&sides[i].parts[part]);
    }
    cpti_change_share_variance(&pair[0].self, &pair[1].self, units[0], units[1]);
    cpti_change_share_variance(&pair[0].inclusive, &pair[1].inclusive, units[0],
                               units[1]);
}

/* The same for both whole samples, if the strata were mixed by their shares. */
void cpti_sides_pair(const struct cpti_side *sides, uint32_t node,
                     struct cpt_stats pair[2])
{
    struct blend self[2] = {{0}};
    struct blend inclusive[2] = {{0}};

    if (sides->part_count == 1) {
        part_pair(sides, 0, node, pair);
        return;
    }
    pair[0] = pair[1] = (struct cpt_stats){0};
    for (size_t part = 0; part < sides->part_count; part++) {
        const double share = sides->parts[part].share;
        struct cpt_stats stats[2];

        part_pair(sides, part, node, stats);
        for (size_t i = 0; i < 2; i++) {
            blend_add(&self[i], &stats[i].self, share);
            blend_add(&inclusive[i], &stats[i].inclusive, share);
            pair[i].presence += share * stats[i].presence;
            pair[i].present_count += stats[i].present_count;
            pair[i].present_effective_count += stats[i].present_effective_count;
        }
    }
    for (size_t i = 0; i < 2; i++) {
        pair[i].self = blend_mean(&self[i]);
        pair[i].inclusive = blend_mean(&inclusive[i]);
    }
}

double cpti_side_count(const struct cpti_side *side)
{
    double count = 0;

    for (size_t i = 0; i < side->part_count; i++) {
        count += side->parts[i].absent.inclusive.effective_count;
    }
    return count;
}

double cpti_side_unit_count(const struct cpti_side *side)
{
    return side->parts->clusters != NULL ? units_of(side->parts)
                                         : cpti_side_count(side);
}

double cpti_side_clusters_with(const struct cpti_side *side, uint32_t node)
{
    const struct cpti_diff_part *part = side->parts;
    double count = error_at(part->errors, part->map, node).effective_count;

    if (part->inclusive != NULL && node != CPT_TREE_ROOT) {
        count = fmax(count, error_at(part->inclusive_errors, part->inclusive_map, node)
                                .effective_count);
    }
    return count;
}

/* --- Maps --- */

/* Turns the map of @count nodes of a tree around: by the nodes of @stacks. */
static cpt_status invert(const struct cpt_alloc *alloc, const struct cpt_tree *stacks,
                         uint32_t **map, size_t count)
{
    uint32_t *inverse = cpt_alloc_array(alloc, NULL, stacks->node_count, sizeof **map);

    if (inverse == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < stacks->node_count; i++) {
        inverse[i] = CPT_TREE_NONE;
    }
    for (uint32_t i = 0; i < count; i++) {
        inverse[(*map)[i]] = i;
    }
    cpt_alloc_free(alloc, *map);
    *map = inverse;
    return CPT_OK;
}

/* Adds a tree of a part to @stacks; (*map)[n] becomes the node for its node n. */
static cpt_status add_tree(const struct cpt_alloc *alloc, struct cpt_tree *stacks,
                           const struct cpt_tree *tree, uint32_t **map)
{
    if (tree == NULL) {
        return CPT_OK;
    }
    *map = cpt_alloc_array(alloc, NULL, tree->node_count, sizeof **map);
    return *map == NULL ? CPT_NO_MEMORY : cpti_tree_add_stacks(stacks, tree, *map);
}

/* The errors of all nodes of a tree by cluster. */
static cpt_status find_errors(const struct cpt_alloc *alloc,
                              const struct cpt_clusters *clusters,
                              const struct cpt_tree *tree,
                              struct cpt_cluster_error **errors)
{
    if (clusters == NULL || tree == NULL) {
        return CPT_OK;
    }
    *errors = cpt_alloc_array(alloc, NULL, tree->node_count, sizeof **errors);
    return *errors == NULL ? CPT_NO_MEMORY
                           : cpt_clusters_errors(alloc, clusters, tree, *errors);
}

static cpt_status find_part_errors(const struct cpt_alloc *alloc,
                                   struct cpti_diff_part *part)
{
    cpt_status status = find_errors(alloc, part->clusters, part->tree, &part->errors);

    if (part->clusters != NULL) {
        part->summary = cpt_clusters_summary(part->clusters);
    }
    return status == CPT_OK ? find_errors(alloc, part->inclusive_clusters,
                                          part->inclusive, &part->inclusive_errors)
                            : status;
}

/* What remains to be done when @stacks has all stacks. */
static cpt_status complete(const struct cpt_alloc *alloc, const struct cpt_tree *stacks,
                           struct cpti_diff_part *part)
{
    cpt_status status = invert(alloc, stacks, &part->map, part->tree->node_count);

    if (status == CPT_OK && part->inclusive != NULL) {
        status =
            invert(alloc, stacks, &part->inclusive_map, part->inclusive->node_count);
    }
    part->absent = absent(part->tree);
    return status == CPT_OK ? find_part_errors(alloc, part) : status;
}

cpt_status cpti_parts_map(const struct cpt_alloc *alloc, struct cpt_tree *stacks,
                          struct cpti_diff_part *parts, size_t count)
{
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < count && status == CPT_OK; i++) {
        status = add_tree(alloc, stacks, parts[i].tree, &parts[i].map);
        if (status == CPT_OK) {
            status =
                add_tree(alloc, stacks, parts[i].inclusive, &parts[i].inclusive_map);
        }
    }
    for (size_t i = 0; i < count && status == CPT_OK; i++) {
        status = complete(alloc, stacks, &parts[i]);
    }
    return status;
}

void cpti_part_deinit(struct cpti_diff_part *part, const struct cpt_alloc *alloc)
{
    cpt_alloc_free(alloc, part->map);
    cpt_alloc_free(alloc, part->inclusive_map);
    cpt_alloc_free(alloc, part->errors);
    cpt_alloc_free(alloc, part->inclusive_errors);
}
