/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* report_rows.c - the rows of cpt report; see report_rows.h */
#include "tool/print/report_rows.h"

#include "tool/base/output.h"
#include "tool/folds/group_time.h"
#include "aggregate/cpt_tree.h"

#include <math.h>
#include <stdlib.h>

/* --- Stacks --- */

static bool add_stacks(struct cpti_report_rows *rows)
{
    struct cpt_tree_walk *walk = cpt_tree_walk_new(NULL, rows->whole, CPT_TREE_BY_TIME);

    if (walk == NULL) {
        return false;
    }
    rows->latency_ns = cpt_tree_walk_row(walk, 0)->inclusive_ns;
    rows->rows = calloc(cpt_tree_walk_count(walk), sizeof *rows->rows);
    for (uint32_t i = 1; i < cpt_tree_walk_count(walk) && rows->rows != NULL; i++) {
        const struct cpt_tree_row *row = cpt_tree_walk_row(walk, i);

        rows->rows[rows->count++] = (struct cpti_report_row){
            row->node, row->node, row->depth, i, row->self_ns, row->inclusive_ns};
    }
    cpt_tree_walk_free(walk);
    return rows->rows != NULL;
}

/* --- Groups --- */

/* Adds all groups: both walks go by name, and what has own time is in the second. */
static void join(struct cpti_report_rows *rows, const struct cpt_tree_walk *self_walk,
                 const struct cpt_tree_walk *whole_walk)
{
    uint32_t next = 1;

    for (uint32_t i = 1; i < cpt_tree_walk_count(whole_walk); i++) {
        const uint32_t node = cpt_tree_walk_row(whole_walk, i)->node;
        struct cpti_report_row *row = &rows->rows[rows->count++];
        int order = -1;

        *row = (struct cpti_report_row){
            .node = node, .self_node = CPT_TREE_NONE, .depth = 1, .place = i};
        while (next < cpt_tree_walk_count(self_walk) &&
               (order = cpt_tree_stack_compare(rows->self,
                                               cpt_tree_walk_row(self_walk, next)->node,
                                               rows->whole, node)) < 0) {
            next++;
        }
        if (order == 0) {
            row->self_node = cpt_tree_walk_row(self_walk, next)->node;
            row->self_ns = cpt_tree_walk_row(self_walk, next)->self_ns;
        }
        row->inclusive_ns = cpti_group_inclusive_ns(rows->self, rows->whole, node,
                                                    row->self_ns, rows->latency_ns);
    }
}

/* Most own time first, then most time with what is below. */
static int by_self(const void *left, const void *right)
{
    const struct cpti_report_row *a = left;
    const struct cpti_report_row *b = right;

    if (a->self_ns != b->self_ns) {
        return a->self_ns > b->self_ns ? -1 : 1;
    }
    if (a->inclusive_ns != b->inclusive_ns) {
        return a->inclusive_ns > b->inclusive_ns ? -1 : 1;
    }
    return (a->place > b->place) - (a->place < b->place);
}

static bool add_groups(struct cpti_report_rows *rows)
{
    struct cpt_tree_walk *self_walk =
        cpt_tree_walk_new(NULL, rows->self, CPT_TREE_BY_NAME);
    struct cpt_tree_walk *whole_walk =
        cpt_tree_walk_new(NULL, rows->whole, CPT_TREE_BY_NAME);

    if (self_walk != NULL && whole_walk != NULL) {
        rows->latency_ns = cpt_tree_walk_row(self_walk, 0)->inclusive_ns;
        rows->rows = calloc(cpt_tree_walk_count(whole_walk), sizeof *rows->rows);
    }
    if (rows->rows != NULL) {
        join(rows, self_walk, whole_walk);
        qsort(rows->rows, rows->count, sizeof *rows->rows, by_self);
    }
    cpt_tree_walk_free(self_walk);
    cpt_tree_walk_free(whole_walk);
    return rows->rows != NULL;
}

/* --- Errors by cluster --- */

static int find_errors(const struct cpt_clusters *clusters, const struct cpt_tree *tree,
                       struct cpt_cluster_error **errors)
{
    *errors = calloc(cpt_tree_node_count(tree), sizeof **errors);
    return cpti_status_exit(*errors != NULL
                                ? cpt_clusters_errors(NULL, clusters, tree, *errors)
                                : CPT_NO_MEMORY);
}

static int find_all_errors(struct cpti_report_rows *rows)
{
    const struct cpti_views *views = rows->views;
    int status = CPTI_EXIT_DONE;

    if (views->cluster_key == NULL) {
        return CPTI_EXIT_DONE;
    }
    status = find_errors(views->clusters[rows->by], rows->self, &rows->self_errors);
    if (status == CPTI_EXIT_DONE && rows->by != CPTI_BY_STACK) {
        status = find_errors(views->inclusive_clusters[rows->by], rows->whole,
                             &rows->whole_errors);
    }
    return status;
}

/* Puts the errors of the cluster means into the statistics of a row. */
static void use_clusters(const struct cpti_report_rows *rows, uint32_t self_node,
                         uint32_t node, struct cpt_stats *stats)
{
    const struct cpt_clusters_summary summary =
        cpt_clusters_summary(rows->views->clusters[rows->by]);
    struct cpt_cluster_error error = {0};

    if (self_node != CPT_TREE_NONE) {
        error = rows->self_errors[self_node];
    }
    if (rows->whole_errors != NULL && node != CPT_TREE_ROOT) {
        error.inclusive_ns = rows->whole_errors[node].inclusive_ns;
        error.inclusive_skewness = rows->whole_errors[node].inclusive_skewness;
        error.effective_count = rows->whole_errors[node].effective_count;
    }
    cpt_clusters_apply(&summary, &error, stats);
}

/* --- Both --- */

int cpti_report_rows_init(struct cpti_report_rows *rows, const struct cpt_tree *tree,
                          const struct cpti_views *views, enum cpti_by by)
{
    const bool is_stack = by == CPTI_BY_STACK;

    *rows = (struct cpti_report_rows){
        .by = by,
        .views = views,
        .self = is_stack ? tree : views->self[by],
        .whole = is_stack ? tree : views->inclusive[by],
    };
    if (!(is_stack ? add_stacks(rows) : add_groups(rows))) {
        return cpti_failed("out of memory");
    }
    return find_all_errors(rows);
}

void cpti_report_rows_deinit(struct cpti_report_rows *rows)
{
    free(rows->rows);
    free(rows->self_errors);
    free(rows->whole_errors);
    *rows = (struct cpti_report_rows){0};
}

/* The mean of a group without time of its own. */
static struct cpt_mean no_time(const struct cpt_tree *tree)
{
    return (struct cpt_mean){
        .effective_count = cpt_stats_of(tree, CPT_TREE_ROOT).inclusive.effective_count,
        .error_ns = cpt_tree_request_count(tree) < 2 ? INFINITY : 0};
}

struct cpt_stats cpti_report_row_stats(const struct cpti_report_rows *rows,
                                       const struct cpti_report_row *row)
{
    struct cpt_stats stats = cpt_stats_of(rows->whole, row->node);

    if (rows->by != CPTI_BY_STACK) { /* its self time there is that with all below */
        stats.self = row->self_node != CPT_TREE_NONE
                         ? cpt_stats_of(rows->self, row->self_node).self
                         : no_time(rows->self);
    }
    if (rows->self_errors != NULL) {
        use_clusters(rows, row->self_node, row->node, &stats);
    }
    return stats;
}

struct cpt_stats cpti_report_latency(const struct cpti_report_rows *rows)
{
    struct cpt_stats stats = cpt_stats_of(rows->self, CPT_TREE_ROOT);

    if (rows->self_errors != NULL) {
        use_clusters(rows, CPT_TREE_ROOT, CPT_TREE_ROOT, &stats);
    }
    return stats;
}

struct cpt_gain cpti_report_row_gain(const struct cpti_report_rows *rows,
                                     const struct cpti_report_row *row)
{
    return row->self_node != CPT_TREE_NONE ? cpt_gain_of(rows->self, row->self_node)
                                           : (struct cpt_gain){0};
}

/* --- Ranks --- */

/* A row to be ranked. */
struct ranked {
    uint64_t inclusive_ns;
    uint32_t index;
};

/* By time with all below it. A row comes after those above it, which have no less. */
static int by_time(const void *left, const void *right)
{
    const struct ranked *a = left;
    const struct ranked *b = right;

    if (a->inclusive_ns != b->inclusive_ns) {
        return a->inclusive_ns > b->inclusive_ns ? -1 : 1;
    }
    return (a->index > b->index) - (a->index < b->index);
}

bool cpti_report_rows_rank(const struct cpti_report_rows *rows, uint32_t *ranks)
{
    struct ranked *all = calloc((size_t)rows->count + 1, sizeof *all);

    for (uint32_t i = 0; i < rows->count && all != NULL; i++) {
        /* groups are in the order of their ranks */
        all[i] = (struct ranked){
            rows->by == CPTI_BY_STACK ? rows->rows[i].inclusive_ns : 0, i};
    }
    if (all != NULL) {
        qsort(all, rows->count, sizeof *all, by_time);
        for (uint32_t i = 0; i < rows->count; i++) {
            ranks[all[i].index] = i;
        }
    }
    free(all);
    return all != NULL;
}
